# SPDX-License-Identifier: MIT
"""
stats: do the counters of a full recording agree with its streams, and with another recorder's?

    stats.py TRACE [SUMMARY.stats.json [PID]]

In: a trace with its stats.json; out: each thread's times computed again from its events, held
against the counters to the nanosecond. One switch has one clock: who leaves does so at t, who enters
is written at t + 1. Where only some CPUs are recorded, a stream ends and begins with the stays of its
thread there; what is between is unknown to the counters. Then the figures of a recorder in mode
summary that saw the same run: counts must be equal, times nearly, since each recorder reads the clock
for itself. With PID, of a system-wide recording, of the threads of that process alone.
"""
import json
import os
import sys
from collections import Counter

from facts import Trace, check, verdict

NEAR_NS = 200_000  # for each switch: two programs at one tracepoint run one after the other
BLOCKED = {0: "before", 1: "sleeping", 2: "uninterruptible", 3: "io", 4: "stopped", 5: "traced",
           8: "parked", 9: "idle"}


def load(path):
    with open(path, encoding="utf-8") as f:
        perf = json.load(f)
    check(perf["schema"] == "ovni-bpf-stats" and perf["unit"] == "ns", path, "is something else")
    return perf, [s for s in perf["snapshots"] if "interval" not in s]


def from_stream(stream, t0):
    """The time of a thread by state, from its stream."""
    sums = Counter()
    why = at = state = cpu = None
    for e in stream.events:
        clock = e.clock
        if e.mcv == "OHx":
            cpu = e.ints("iiQ")[0]
            at, state = (clock if clock == t0 else clock - 1), "active_ns"
            begin = at
        elif e.mcv == "OHp":
            why = e.ints("Hi")[0]
            if cpu != -1:
                sums[state] += clock - at
                sums["switches_preempted" if why in (6, 7, 12) else "switches_voluntary"] += 1
                sums["yields"] += why == 7
            at, state = clock, "blocked"
        elif e.mcv == "OHw":
            waker = e.ints("i")[0]
            if waker != -1:
                sums[BLOCKED[why]] += clock - at
                sums["blocked_ns"] += clock - at
                sums["wakeups"] += waker != 0 and clock != t0
                at = clock
            state = "runnable_ns"
        elif e.mcv == "OAs":
            to = e.ints("i")[0]
            sums["migrations"] += cpu >= 0 and to >= 0
            cpu = to
        elif e.mcv == "OHr":
            if cpu == -1:  # the end, at its own clock
                sums[state] += clock - at
                at, state = clock, "active_ns"
                continue
            if at == clock:  # woken, nobody knows when: that event is at the switch, too
                sums["blocked_ns"] -= 1
                sums[BLOCKED[why]] -= 1
                at -= 1
            sums[state] += clock - 1 - at
            at, state = clock - 1, "active_ns"
        elif e.mcv == "OHe":
            sums[state] += clock - at
            sums["total_ns"] += clock - begin
    return sums


trace = Trace(sys.argv[1])
perf, snapshots = load(os.path.join(sys.argv[1], "stats.json"))
threads = [s for s in snapshots if s["scope"] == "thread"]
t0 = int(trace.session["t0"])
check(perf["window"]["first_cycle"] == t0, "another window")
check(perf["window"]["end_cycle"] == int(trace.session["t1"]), "another window")

by_thread = {}
for s in threads:
    key = (s["pid"], s["tid"])
    sums = by_thread.setdefault(key, Counter())
    sums.update({k: v for k, v in s.items() if isinstance(v, int) and k not in ("pid", "tid", "clock")})
    sums.update(s["blocked"])
process = int(sys.argv[3]) if len(sys.argv) > 3 else None
exact = process or not int(trace.session["lost"]) and not int(trace.session["counts"]["repairs"])
check(exact, "there were repairs or losses: this run shows nothing")
names = ["total_ns", "active_ns", "runnable_ns", "blocked_ns", "switches_voluntary",
         "switches_preempted", "yields", "wakeups", "migrations", *BLOCKED.values()]
by_thread = {k: v for k, v in by_thread.items() if process in (None, k[0])}
streams = {(s.pid, s.tid): from_stream(s, t0) for s in trace.streams if process in (None, s.pid)}
check(streams, "no thread of", process)
check(set(streams) == set(by_thread), "streams and counters are of different threads:",
      set(streams) - set(by_thread), set(by_thread) - set(streams))
cores = perf["controls"]["cores"]
for key in set(streams) & set(by_thread):
    check(cores or not by_thread[key]["unknown_ns"], "thread", key, "was somewhere unknown")
    by_thread[key]["total_ns"] -= by_thread[key]["unknown_ns"]
    for name in names:
        check(streams[key][name] == by_thread[key][name], "thread", key, name, "streams:",
              streams[key][name], "counters:", by_thread[key][name])

cpus = {s["cpu"]: s for s in snapshots if s["scope"] == "cpu"}
check(set(cpus) == set(cores or cpus), "counted are", set(cpus), "of the CPUs", cores)
for cpu in (c for c in trace.session["cpus"] if c["cpu"] in cpus and not process):
    mine = cpus[cpu["cpu"]]
    for name, use in (("active_ns", "thread"), ("other_ns", "other"), ("idle_ns", "idle"),
                      ("unknown_ns", "unknown")):
        check(mine[name] == int(cpu["ns"][use]), "CPU", cpu["cpu"], name, mine[name], "timeline:",
              cpu["ns"][use])

if len(sys.argv) > 2:
    other, snapshots = load(sys.argv[2])
    check(other["mode"] == "summary", other["mode"])
    window = perf["window"]
    theirs = {}
    for s in snapshots:
        if s["scope"] == "thread":
            theirs.setdefault((s["pid"], s["tid"]), Counter()).update(
                {k: v for k, v in s.items() if isinstance(v, int)})
    theirs = {k: v for k, v in theirs.items() if process in (None, k[0])}
    check(set(theirs) == set(by_thread), "the modes know different threads:",
          set(theirs) ^ set(by_thread))
    for key in set(theirs) & set(by_thread):
        mine, their = by_thread[key], theirs[key]
        for name in ("switches_voluntary", "switches_preempted", "yields", "wakeups", "migrations"):
            # With -C, the wake-up of a thread that then runs elsewhere is in the summary alone.
            elsewhere = 1 if cores and name == "wakeups" else 0
            check(0 <= their[name] - mine[name] <= elsewhere, "thread", key, name, "full:", mine[name],
                  "summary:", their[name])
        switches = mine["switches_voluntary"] + mine["switches_preempted"] + 1
        for name in ("active_ns", "runnable_ns"):
            check(abs(mine[name] - their[name]) <= NEAR_NS * switches, "thread", key, name,
                  "full:", mine[name], "summary:", their[name], "in", switches, "switches")
print(f"{len(streams)} threads agree")
verdict()
