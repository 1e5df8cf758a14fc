#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
loom_schedule: a small recording of threads, and the records that it must become.

    loom_schedule.py DIR      writes DIR (an ovni trace) and DIR.expected (a listing)

Two CPUs, three threads: 11 runs, is preempted, moves and ends; 12 was asleep when the window
opened, loses events, and is alive at its end; 13 lives twice and shorter than a cycle.
Clocks in ns; a cycle is 1 us.
"""
import json
import os
import struct
import sys

US = 1000


def on(cpu):
    return b"OHx", struct.pack("<iiQ", cpu, -1, 0)


def to(cpu):
    return b"OAs", struct.pack("<i", cpu)


LOST = (b"OM[", struct.pack("<qi", 5, 92))
FOUND = (b"OM]", struct.pack("<qi", 5, 92))
SLEEP, WAKE, RUN, DIE = (b"OHp", struct.pack("<Hi", 1, 0)), (b"OHw", b""), (b"OHr", b""), (b"OHe", b"")

THREADS = {
    11: [(10 * US + 400, on(0)), (15 * US + 900, SLEEP), (15 * US + 900, WAKE), (18 * US, to(1)),
         (18 * US + 1, RUN), (20 * US, DIE)],
    12: [(10 * US, on(-1)), (10 * US, SLEEP), (14 * US, WAKE), (16 * US, to(1)), (16 * US, RUN),
         (17 * US, LOST), (17 * US + 600, SLEEP), (17 * US + 600, FOUND), (30 * US, WAKE),
         (30 * US, to(-1)), (30 * US, RUN), (30 * US, DIE)],
    13: [(21 * US, on(0)), (21 * US + 1, DIE), (22 * US, on(1)), (24 * US + 999, DIE)],
}

EXPECTED = """layout ltrc
records 21
0 10.0 epoch=1 inv=1 core=0 node=11 INVOCATION_START arg0=0 arg1=0
1 10.1 epoch=1 inv=1 core=0 node=11 NODE_FIRE arg0=5 arg1=0
2 10.2 epoch=1 inv=2 core=2 node=12 INVOCATION_START arg0=0 arg1=0
3 10.3 epoch=1 inv=2 core=2 node=12 NODE_STALL_IN arg0=4 arg1=0
4 14.0 epoch=1 inv=2 core=2 node=12 NODE_STALL_OUT arg0=2 arg1=0
5 15.0 epoch=1 inv=1 core=0 node=11 NODE_STALL_IN arg0=0 arg1=0
6 15.1 epoch=1 inv=1 core=0 node=11 NODE_STALL_OUT arg0=3 arg1=0
7 16.0 epoch=1 inv=2 core=1 node=12 NODE_FIRE arg0=1 arg1=0
8 17.0 epoch=1 inv=2 core=1 node=12 DEVICE_ERROR arg0=5 arg1=0
9 17.1 epoch=1 inv=2 core=1 node=12 NODE_STALL_IN arg0=13 arg1=0
10 18.0 epoch=1 inv=1 core=1 node=11 ROUTE_USE arg0=0 arg1=1
11 18.1 epoch=1 inv=1 core=1 node=11 NODE_FIRE arg0=2 arg1=0
12 20.0 epoch=1 inv=1 core=1 node=11 INVOCATION_DONE arg0=0 arg1=0
13 21.0 epoch=1 inv=3 core=0 node=13 INVOCATION_START arg0=0 arg1=0
14 21.1 epoch=1 inv=3 core=0 node=13 NODE_FIRE arg0=0 arg1=0
15 21.2 epoch=1 inv=3 core=0 node=13 INVOCATION_DONE arg0=0 arg1=0
16 22.0 epoch=1 inv=4 core=1 node=13 INVOCATION_START arg0=0 arg1=0
17 22.1 epoch=1 inv=4 core=1 node=13 NODE_FIRE arg0=2 arg1=0
18 24.0 epoch=1 inv=4 core=1 node=13 INVOCATION_DONE arg0=0 arg1=0
19 30.0 epoch=1 inv=2 core=1 node=12 NODE_STALL_OUT arg0=0 arg1=0
20 30.1 epoch=1 inv=2 core=1 node=12 INVOCATION_DONE arg0=0 arg1=0
"""


def main(top):
    for tid, events in THREADS.items():
        folder = os.path.join(top, "loom.node", "proc.%d" % tid, "thread.%d" % tid)
        os.makedirs(folder)
        meta = {"version": 3, "ovni": {
            "lib": {"version": "0", "commit": "test"}, "part": "thread", "tid": tid, "pid": tid,
            "loom": "node", "app_id": 1, "require": {"ovni": "1.1.0"}, "finished": 1,
            "loom_cpus": [{"index": 0, "phyid": 0}, {"index": 1, "phyid": 1}],
            "mark": {"92": {"title": "Events lost", "chan_type": "stack"}}}}
        with open(os.path.join(folder, "stream.json"), "w", encoding="utf-8") as file:
            json.dump(meta, file)
        with open(os.path.join(folder, "stream.obs"), "wb") as file:
            file.write(b"ovni" + struct.pack("<I", 1))
            for clock, (mcv, payload) in events:
                size = len(payload) - 1 if payload else 0
                file.write(struct.pack("<B3sQ", size, mcv, clock) + payload)
    with open(top + ".expected", "w", encoding="utf-8") as file:
        file.write(EXPECTED)


if __name__ == "__main__":
    main(sys.argv[1])
