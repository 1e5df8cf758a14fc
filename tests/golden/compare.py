#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes one schedule twice: as ftrace would see it and as a trace (for compare.sh).

    compare.py FOLDER CHANGE

The trace differs from the schedule by CHANGE; "none" leaves it right. FOLDER gets
`seen` (ftrace.h) and `trace/`. The window is [1000000, 9000000] ns.
"""
import os
import struct
import sys

SWITCH, WAKEUP, WAKING, FORK, EXEC = range(5)
HARDIRQ = 0x08
US = 1000
T0, T1 = 1000 * US, 9000 * US
SLEEP, RUNNABLE, DEAD = 0x01, 0x00, 0x10

folder, change = sys.argv[1:3]

# Two CPUs. 100 sleeps and is woken by 200 and by a timer; 200 is preempted by 300, moves, and
# creates 400, which dies; 300 vanishes unseen (a hole): the CPU is found with 500.
seen = {0: [], 1: []}


def switch(us, cpu, prev, state, nxt):
    seen[cpu].append((us * US, SWITCH, 0, cpu, prev, prev, nxt, state))


def wake(us, cpu, by, tid, flags=0):
    seen[cpu].append((us * US, WAKING, flags, cpu, by, tid, cpu, 0))
    seen[cpu].append((us * US + 500, WAKEUP, flags, cpu, by, tid, cpu, 0))


switch(500, 0, 0, RUNNABLE, 100)
switch(600, 1, 0, RUNNABLE, 200)
switch(2000, 0, 100, SLEEP, 0)
wake(2500, 1, 200, 100)
switch(2600, 0, 0, RUNNABLE, 100)
switch(3000, 1, 200, RUNNABLE, 300)
switch(3100, 0, 100, SLEEP, 200)
seen[0].append((3200 * US, FORK, 0, 0, 200, 200, 400, 0))
wake(3500, 0, 200, 100, HARDIRQ)
switch(3600, 0, 200, RUNNABLE, 100)
switch(4000, 0, 100, SLEEP, 400)
switch(5000, 0, 400, DEAD, 200)
switch(6000, 1, 500, SLEEP, 0)
switch(7000, 0, 200, SLEEP, 0)
seen[1].append((9500 * US, WAKING, 0, 1, 0, 100, 0, 0))

with open(os.path.join(folder, "seen"), "wb") as f:
    records = [r for cpu in (0, 1) for r in seen[cpu]]
    f.write(struct.pack("<8sQ", b"ftrace1\0", len(records)))
    for r in records:
        f.write(struct.pack("<QBBHiiiII", *r, 0))

# The same as events: (us, mcv, payload). A time is the time of ftrace and 300 ns more.
P = {"sleep": struct.pack("<Hi", 1, 0), "preempt": struct.pack("<Hi", 6, 0),
     "lost": struct.pack("<Hi", 11, -1)}
X = lambda cpu: struct.pack("<iiQ", cpu, -1, 0)  # noqa: E731
W = lambda tid: struct.pack("<i", tid)  # noqa: E731
S = W
streams = {
    100: [(1000, "OHx", X(0)), (2000, "OHp", P["sleep"]), (2500.5, "OHw", W(200)),
          (2600, "OHr", b""), (3100, "OHp", P["sleep"]), (3500.5, "OHw", W(-2)),
          (3600, "OHr", b""), (4000, "OHp", P["sleep"]), (9000, "OHw", b""),
          (9000, "OAs", S(-1)), (9000, "OHr", b""), (9000, "OHe", b"")],
    200: [(1000, "OHx", X(1)), (3000, "OHp", P["preempt"]), (3000, "OHw", W(-1)),
          (3100, "OAs", S(0)), (3100, "OHr", b""), (3200, "OHC", struct.pack("<iQ", 0, 400)),
          (3600, "OHp", P["preempt"]), (3600, "OHw", W(-1)), (5000, "OHr", b""),
          (7000, "OHp", P["sleep"]), (9000, "OHw", b""), (9000, "OAs", S(-1)),
          (9000, "OHr", b""), (9000, "OHe", b"")],
    300: [(3000, "OHx", X(1)), (5999.998, "OHp", P["lost"]), (9000, "OHw", b""),
          (9000, "OAs", S(-1)), (9000, "OHr", b""), (9000, "OHe", b"")],
    400: [(4000, "OHx", X(0)), (5000, "OHe", b"")],
    500: [(5999.999, "OHx", X(1)), (6000, "OHp", P["sleep"]), (9000, "OHw", b""),
          (9000, "OAs", S(-1)), (9000, "OHr", b""), (9000, "OHe", b"")],
}

e = streams[100]
if change == "late_by_25_us":
    e[3] = (2625, "OHr", b"")
elif change == "late_by_15_us":
    e[3] = (2615, "OHr", b"")
elif change == "stay_missing":
    del e[2:5]
elif change == "stay_extra":
    e[5:5] = [(3300, "OHw", W(200)), (3300, "OAs", S(1)), (3300, "OHr", b""),
              (3400, "OHp", P["sleep"])]
elif change == "preempted_for_blocked":
    e[4] = (3100, "OHp", P["preempt"])
elif change == "other_sleep":
    e[4] = (3100, "OHp", struct.pack("<Hi", 4, 0))
elif change == "other_cpu":
    e[3:3] = [(2600, "OAs", S(1))]
elif change == "other_waker":
    e[2] = (2500.5, "OHw", W(300))
elif change == "interrupted_for_waker":
    e[5] = (3500.5, "OHw", W(200))
elif change == "wakeup_late":
    e[2] = (2550, "OHw", W(200))
    e[3] = (2600, "OHr", b"")
    e[2] = (2450, "OHw", W(200))
elif change == "thread_missing":
    del streams[400]
elif change == "thread_extra":
    streams[600] = [(3000, "OHx", X(-1)), (3001, "OHp", P["sleep"]), (3002, "OHw", W(0)),
                    (8000, "OAs", S(1)), (8000, "OHr", b""), (8100, "OHe", b"")]
elif change == "hole_not_told":
    streams[300][1] = (5999.998, "OHp", P["sleep"])
elif change == "two_on_a_cpu":
    streams[300][0] = (2999, "OHx", X(1))
elif change != "none":
    sys.exit(f"no change '{change}'")

for tid, events in streams.items():
    path = os.path.join(folder, "trace", "loom.x", f"proc.{tid}", f"thread.{tid}")
    os.makedirs(path)
    with open(os.path.join(path, "stream.obs"), "wb") as f:
        f.write(b"ovni\1\0\0\0")
        for us, mcv, payload in events:
            clock = round(us * US) + (0 if us in (1000, 9000) or us % 1 else 300)
            f.write(struct.pack("<B3sQ", max(len(payload) - 1, 0), mcv.encode(), clock))
            f.write(payload)
