#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
loom_states: an imported Loom run (an ovni trace) in, invocations and node states in cycles out.

    loom_states.py DIR

Reads the streams by itself, with nothing of ours, and prints what the states files of the
Loom vectors hold: `core begin end epoch invocation`, then `core node begin end state`.
"""
import json
import os
import struct
import sys

STATE, ROUTE, INVOCATION, EPOCH = 93, 94, 95, 96
NAMES = {2: "idle", 3: "fire", 4: "route", 5: "stall_in", 6: "stall_out", 7: "error"}


def streams(top):
    for folder, _, names in sorted(os.walk(top)):
        if "stream.json" in names:
            with open(os.path.join(folder, "stream.json"), encoding="utf-8") as file:
                meta = json.load(file)
            with open(os.path.join(folder, "stream.obs"), "rb") as file:
                yield meta, file.read()


def events(data):
    assert data[:8] == b"ovni\x01\x00\x00\x00"
    at = 8
    while at < len(data):
        size = data[at] & 15
        size = size + 1 if size else 0
        clock = struct.unpack_from("<q", data, at + 4)[0]
        yield data[at + 1:at + 4].decode(), clock, data[at + 12:at + 12 + size]
        at += 12 + size


def marks(data):
    last = 0
    for mcv, clock, payload in events(data):
        assert clock >= last
        last = clock
        if mcv == "OM=":
            value, mark = struct.unpack("<qi", payload)
            yield clock, mark, value


def main(top):
    found = list(streams(top))
    accel = [(meta, data) for meta, data in found if "accel" in meta]
    run = next(meta["accel"]["run"] for meta, _ in accel if "run" in meta["accel"])
    period, base = int(run["period_ps"]), int(run["base"])

    def cycle(clock):
        return -(-(clock - base) * 1000 // period)

    invocations, states = [], []
    for meta, data in accel:
        core, node = meta["accel"]["core_id"], meta["accel"].get("hw_node_id")
        labels = meta["ovni"].get("mark", {}).get(str(INVOCATION), {}).get("labels", {})
        shown, since, epoch = None, 0, None
        for clock, mark, value in marks(data):
            now = cycle(clock)
            if mark == EPOCH:
                epoch = value - 1
            if node is None and mark == INVOCATION:
                if shown is not None and now > since:
                    invocations.append((core, since, now) + shown)
                shown, since = None, now
                if value != 1:
                    shown = (epoch, int(labels[str(value)].split()[1]))
            if node is not None and mark == STATE:
                if shown in NAMES and now > since:
                    states.append((core, node, since, now, NAMES[shown]))
                shown, since = value, now
        if node is not None and shown in NAMES and cycle(clock_of_end(data)) > since:
            states.append((core, node, since, cycle(clock_of_end(data)), NAMES[shown]))
        if node is None and shown is not None and cycle(clock_of_end(data)) > since:
            invocations.append((core, since, cycle(clock_of_end(data))) + shown)
    print("invocations: core begin end epoch invocation")
    for row in sorted(invocations):
        print(" ", *row)
    print("node states: core node begin end state (cycles, end exclusive)")
    for row in sorted(states):
        print(" ", *row)


def clock_of_end(data):
    return max(clock for mcv, clock, _ in events(data) if mcv == "OHe")


if __name__ == "__main__":
    main(sys.argv[1])
