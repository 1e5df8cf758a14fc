#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
cfgtrace: writes the smallest trace that makes the emulator describe everything we have views of.

    cfgtrace.py DIR

One thread that runs for a while, as ovni-bpf would have recorded it (`require.bpf`): it has
a probe (mark type 0), the map pthread (80, 81), a gap (mark type 92), the marks of an accelerator
(93 to 99), a hardware counter and permission for every
breakdown. All models come with the emulator's option -a.
"""
import json
import os
import struct
import sys

META = {
    "version": 3,
    "ovni": {
        "lib": {"version": "0", "commit": "test"}, "part": "thread", "tid": 7, "pid": 7,
        "loom": "node", "app_id": 1, "require": {"ovni": "1.1.0", "bpf": "1.0.0"},
        "loom_cpus": [{"index": 0, "phyid": 0}, {"index": 1, "phyid": 1}], "finished": 1,
        "mark": {
            "0": {"title": "Function", "chan_type": "stack", "labels": {"1": "main"}},
            "80": {"title": "Pthread", "chan_type": "stack"},
            "81": {"title": "Pthread mutexes held", "chan_type": "stack"},
            "92": {"title": "Events lost", "chan_type": "stack"},
            "93": {"title": "Accel: node state", "chan_type": "single", "labels": {
                "1": "outside invocation", "2": "idle", "3": "fire", "4": "route",
                "5": "stalled on input", "6": "stalled on output", "7": "error"}},
            "94": {"title": "Accel: route", "chan_type": "single"},
            "95": {"title": "Accel: invocation", "chan_type": "single"},
            "96": {"title": "Accel: epoch", "chan_type": "single"},
            "97": {"title": "Accel: configuration word", "chan_type": "single"},
            "98": {"title": "Accel: device error", "chan_type": "single"},
            "99": {"title": "Accel: extension record", "chan_type": "single"},
        },
    },
    "nosv": {"can_breakdown": True, "hwc": {"0": {"name": "INSTRUCTIONS"}}},
}

EVENTS = [
    (b"OHx", 10, struct.pack("<iiQ", 0, -1, 0)),
    (b"OM[", 20, struct.pack("<qi", 1, 0)),
    (b"OM]", 30, struct.pack("<qi", 1, 0)),
    (b"OHp", 40, struct.pack("<Hi", 1, 0)),
    (b"OHw", 50, struct.pack("<i", -2)),
    (b"OHr", 60, b""),
    (b"OHe", 70, b""),
]


def main(trace):
    folder = os.path.join(trace, "loom.node", "proc.7", "thread.7")
    os.makedirs(folder)
    with open(os.path.join(folder, "stream.json"), "w", encoding="utf-8") as file:
        json.dump(META, file)
    with open(os.path.join(folder, "stream.obs"), "wb") as file:
        file.write(b"ovni" + struct.pack("<I", 1))
        for mcv, clock, payload in EVENTS:
            size = len(payload) - 1 if payload else 0
            file.write(struct.pack("<B3sQ", size, mcv, clock) + payload)


if __name__ == "__main__":
    main(sys.argv[1])
