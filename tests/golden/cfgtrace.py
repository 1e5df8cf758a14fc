#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
cfgtrace: writes the smallest trace with all that we have views of.

    cfgtrace.py DIR

One thread that runs for a while, as ovni-bpf would have recorded it (`require.bpf`): it has
a region of every model, a task of every runtime, a probe (mark type 0), the API pthread (80, 81),
priorities (89, 90), a long interrupt (91), a gap
(mark type 92), the marks of an accelerator (93 to 99), a sleep on a lock with a stack, a run with an interrupt, a sleep with a request, a hardware counter and
permission for every breakdown.
"""
import json
import os
import struct
import sys

META = {
    "version": 3,
    "ovni": {
        "lib": {"version": "0", "commit": "test"}, "part": "thread", "tid": 7, "pid": 7,
        "rank": 0, "nranks": 1,
        "loom": "node", "app_id": 1, "require": {
            "ovni": "1.1.0", "bpf": "1.0.0", "kernel": "1.0.0", "mpi": "1.0.0", "nodes": "1.0.0",
            "tampi": "1.0.0", "openmp": "1.1.0", "nosv": "2.6.0", "nanos6": "1.1.0"},
        "loom_cpus": [{"index": 0, "phyid": 0}, {"index": 1, "phyid": 1}], "finished": 1,
        "mark": {
            "0": {"title": "Function", "chan_type": "stack", "labels": {"1": "main"}},
            "80": {"title": "Pthread", "chan_type": "stack"},
            "81": {"title": "Pthread mutexes held", "chan_type": "stack"},
            "89": {"title": "Allowed CPUs", "chan_type": "single", "labels": {"1": "0-1"}},
            "90": {"title": "Priority", "chan_type": "single", "labels": {"1": "SCHED_IDLE"}},
            "91": {"title": "Interrupt", "chan_type": "stack", "labels": {"1": "local timer"}},
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
    "bpf": {"session": {"machine": "x86_64", "irq": True, "io": True}},
    "nosv": {"can_breakdown": True, "hwc": {"0": {"name": "INSTRUCTIONS"}}},
}

CREATE_TYPE = struct.pack("<I", 1) + b"type\0"
CREATE_TASK = struct.pack("<II", 1, 1)
TASK = struct.pack("<I", 1)
BODY = struct.pack("<II", 1, 0)


def mark(value, number):
    return struct.pack("<qi", value, number)


# A jumbo event has a '+' behind its three characters.
EVENTS = [("OHx", struct.pack("<iiQ", 0, -1, 0)), ("OF[", b""), ("OF]", b""), ("KCO", b""), ("KCI", b"")]
EVENTS += [(mcv, b"") for mcv in ("MW[", "MW]", "DR[", "DR]", "TCi", "TCI", "PBf", "PBF", "VSh", "VSf",
                                  "VPr", "VPp", "6C[", "6C]", "6Hl", "6HL", "6Pr", "6Pp")]
EVENTS += [("VWC+", struct.pack("<q", 1000)),
           ("POc+", CREATE_TYPE), ("PPc", CREATE_TASK), ("PPx", TASK), ("PPe", TASK),
           ("VYc+", CREATE_TYPE), ("VTc", CREATE_TASK), ("VTx", BODY), ("VTe", BODY),
           ("6Yc+", CREATE_TYPE), ("6Tc", CREATE_TASK), ("6Tx", TASK), ("6Te", TASK)]
EVENTS += [(mcv, mark(1, number)) for number in (0, 80, 81, 91, 92) for mcv in ("OM[", "OM]")]
EVENTS += [("OM=", mark(1, number)) for number in (89, 90)]
EVENTS += [("OM=", mark(1, number)) for number in range(93, 100)]
EVENTS += [("OHp", struct.pack("<HiHQ", 1, 0, 202, 4096)), ("OHw", struct.pack("<iiII", -2, -1, 1, 0)), ("OHr", struct.pack("<I", 5))]
EVENTS += [("OHp", struct.pack("<Hi", 3, 0)), ("OHw", struct.pack("<iiII", -2, 0, 0, 9)), ("OHr", struct.pack("<IIQ", 0, 8 << 20, 8))]
EVENTS += [("OHe", b"")]


def main(trace):
    folder = os.path.join(trace, "loom.node", "proc.7", "thread.7")
    os.makedirs(folder)
    with open(os.path.join(folder, "stream.json"), "w", encoding="utf-8") as file:
        json.dump(META, file)
    with open(os.path.join(trace, "stacks"), "w", encoding="ascii") as file:
        file.write("ovni-bpf stacks 1\n1\tfutex_wait+0x8\n")
    with open(os.path.join(folder, "stream.obs"), "wb") as file:
        file.write(b"ovni" + struct.pack("<I", 1))
        for number, (mcv, payload) in enumerate(EVENTS):
            size = len(payload) - 1 if payload else 0
            if mcv.endswith("+"):
                size, payload = 0x13, struct.pack("<I", len(payload)) + payload
            file.write(struct.pack("<B3sQ", size, mcv[:3].encode(), 10 * number) + payload)


if __name__ == "__main__":
    main(sys.argv[1])
