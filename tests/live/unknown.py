# SPDX-License-Identifier: MIT
"""
unknown: do the reports of a recording with losses call the same times unknown as its statistics?

    unknown.py BIN TRACE

In: a trace with its stats.json, in which the recorder added up the times of each thread from its
records; out: they are those that ovni-report why and the overview compute from the events, to 1 ns
for each switch, and of each CPU. A thread that was off its CPU at T0, or that is first seen later, may
differ in its time up to its first known switch (event-mapping.md, "Which states a loss makes
unknown"); most of these threads must agree, and all others.
"""
import collections
import json
import subprocess
import sys

from facts import Trace, check, verdict

CLASSES = {"running": "active_ns", "runnable": "runnable_ns", "throttled": "runnable_ns",
           "asleep": "blocked_ns"}


def report(*args):
    ran = subprocess.run([sys.argv[1] + "/ovni-report", *args, sys.argv[2], "--json"],
                         capture_output=True, text=True, check=False)
    check(ran.returncode == 3, args, "ended with", ran.returncode, ran.stderr)
    return json.loads(ran.stdout)


def classes_of(row):
    """The class of the statistics; a newborn's wait is in none."""
    if row["state"] == "unknown":
        return "unknown_ns" if row["reason"] == "lost" else "blocked_ns"
    return None if row["reason"] == "newborn" else CLASSES[row["state"]]


trace = Trace(sys.argv[2])
t0 = int(trace.session["t0"])
with open(sys.argv[2] + "/stats.json", encoding="utf-8") as file:
    counted, cpus = collections.defaultdict(collections.Counter), {}
    for s in json.load(file)["snapshots"]:
        if s["scope"] == "thread":
            counted[s["pid"], s["tid"]].update({k: s[k] for k in ("total_ns", "unknown_ns", *CLASSES.values())})
        elif s["scope"] == "cpu":
            cpus[s["cpu"]] = s
ours, stays = collections.defaultdict(collections.Counter), collections.Counter()
for row in report("why", "-n", "0"):
    key = row["pid"], row["tid"]
    if classes_of(row):
        ours[key][classes_of(row)] += row["time"]
    stays[key] += row["times"]
overview = report()

late = {(s.pid, s.tid) for s in trace.streams for e in s.of("OHx")[:1]
        if e.clock > t0 or e.ints("iiQ")[0] == -1}
compared = total = 0
for key, times in ours.items():
    room = stays[key] + 1
    agrees = all(abs(times[name] - counted[key][name]) <= room
                 for name in ("unknown_ns", "active_ns", "runnable_ns", "blocked_ns"))
    if not counted[key]:  # no switch of it was recorded
        check(key in late or set(times) <= {"unknown_ns", "active_ns"}, "thread", key, dict(times), "without statistics")
        continue
    check(agrees or key in late, "thread", key, dict(times), "by the statistics", dict(counted[key]), "stays", room)
    compared += agrees
    total += times["unknown_ns"] * agrees
check(compared * 2 > len(ours), "only", compared, "of", len(ours), "threads agree")

seen = {(t["pid"], t["tid"]): t for t in overview["threads"]}
for key, times in ours.items():
    use = seen[key]
    check(use["unknown_ns"] == times["unknown_ns"], "thread", key, "unknown in the overview", use["unknown_ns"],
          "by why", times["unknown_ns"])
    check(use["life_ns"] == use["run_ns"] + use["wait_ns"] + use["throttled_ns"] + use["asleep_ns"] +
          use["unknown_ns"], "thread", key, "the parts:", use)
index = {int(c["cpu"]): c for c in trace.session["cpus"]}
for cpu, s in cpus.items():
    ns = [c["unknown_ns"] for c in overview["cpus"] if c["cpu"] == index[cpu]["index"]]
    # a thread enters a CPU 1 ns after the switch, and may be known to run there before the next record
    check(len(ns) == 1 and -s["switches"] <= s["unknown_ns"] - ns[0] <= 1_000_000 + 0.02 * s["unknown_ns"], "CPU", cpu, "unknown in the overview", ns, "by the statistics", s["unknown_ns"])

# Two parts of the recording have the unknown time of the whole; what no stream has a clock for may be in both.
middle = f"+{overview['duration_ns'] // 2}ns"
parts = [report("--to", middle), report("--from", middle)]
for whole, one, other in zip(overview["cpus"], parts[0]["cpus"], parts[1]["cpus"]):
    both = one["unknown_ns"] + other["unknown_ns"]
    check(0.95 * whole["unknown_ns"] - 1_000_000 <= both <= 2 * whole["unknown_ns"] + 1_000_000, "CPU", whole["cpu"],
          "unknown", whole["unknown_ns"], "in the parts", one["unknown_ns"], other["unknown_ns"])

check(total > 0 or any(s["unknown_ns"] for s in cpus.values()), "nothing is unknown")
print(f"{compared} of {len(ours)} threads and {len(cpus)} CPUs agree: unknown for", total, "and",
      [s["unknown_ns"] for s in cpus.values()], "ns")
verdict()
