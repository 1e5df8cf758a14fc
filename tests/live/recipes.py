# SPDX-License-Identifier: MIT
"""
recipes: the overview of a recording beside what the program itself counted.

In: NAME.json, NAME.why and NAME.culprits, the JSON of the overview, of `ovni-report why` and of
`preempt`, and NAME.report, the lines that the program said; out: a line for each number, and status
1 if one of them is wrong. Right is 2 % around an interval: from the truth without the time for which
the trace says that it does not know the state of the thread (unknown), to the truth; and the time
that the hypervisor stole from the CPUs meanwhile is run time in a trace, but not on the program's
clocks. Without unknown and stolen time the interval is the truth.
"""
import collections
import json
import re
import sys

from facts import check, report, verdict


def load(what):
    with open(f"{sys.argv[1]}.{what}", encoding="utf-8") as file:
        return json.load(file)


doc = load("json")
lines = report(sys.argv[1] + ".report")
said = {k: v for line in lines for k, v in line.items()}
stolen = sum(cpu.get("steal_ns", 0) for cpu in doc["cpus"])

# by tid: time for which its state, or that of the CPU that it waited for, is unknown; the number of them
_unknown, _stays = collections.Counter(), collections.Counter()
for _row in load("why"):
    if _row["state"] == "unknown" and _row["reason"] == "lost":
        _unknown[_row["tid"]] += _row["time"]
        _stays[_row["tid"]] += _row["times"]
for _row in load("culprits"):
    _tid = re.search(r"\((\d+)\)$", _row["victim"])
    if _row["culprit"] == "not recorded" and _tid:
        _unknown[int(_tid[1])] += _row["ran"]


def total(key):
    """The sum of what all threads said."""
    values = [line[key] for line in lines if key in line]
    check(values, "no thread said", key)
    return sum(values)


def finding(kind, **wanted):
    """The only finding of a kind of these threads: who=TID, by=TID, pid=PID of `who`."""
    found = []
    for f in doc["findings"]:
        facts = {"who": f.get("who", {}).get("tid"), "by": f.get("by", {}).get("tid"),
                 "pid": f.get("who", {}).get("pid")}
        if f["kind"] == kind and all(facts[k] == v for k, v in wanted.items()):
            found.append(f)
    if len(found) != 1:
        print("wrong:", len(found), "findings", kind, wanted, "among")
        for f in doc["findings"]:
            print("  ", f["kind"], f["text"])
        sys.exit(1)
    print("overview:", found[0]["text"])
    return found[0]["numbers"]


def unknown(tids):
    return sum(_unknown[tid] for tid in tids)


def near(what, ours, truth, less=0, more=0):
    """The truth is exact, but the trace may have `less` or `more`."""
    off = 100 * (ours - truth) / truth if truth else 0
    room = f"; by unknown and stolen time {truth - less} to {truth + more}" if less or more else ""
    print(f"  {what}: overview {ours}, truth {truth} ({off:+.2f} %){room}")
    check(truth > 0, what, "is 0")
    check(0.98 * (truth - less) <= ours <= 1.02 * (truth + more), what, "is", ours, "in the overview, not",
          truth, f"(-{less}, +{more})")


def ran(what, ours, truth, tids, copies=1):
    """Time on a CPU, which `copies` threads count."""
    near(what, ours, truth, unknown(tids), copies * stolen)


def waited(what, ours, truth, tids):
    """Time that the scheduler counted, whose clock may stand still while time is stolen."""
    near(what, ours, truth, unknown(tids) + stolen, stolen)


def slept(what, ours, truth, tids):
    """Wall time without the time by the program's CPU clock and without waits."""
    near(what, ours, truth, unknown(tids) + stolen)


def times(what, ours, truth, tids):
    """Sleeps: one that is unknown is missing."""
    near(what, ours, truth, sum(_stays[tid] for tid in tids))


def between(what, ours, least, most, tids):
    """For a truth that the program cannot know better."""
    print(f"  {what}: overview {ours}, truth {least} to {most}; unknown {unknown(tids)}, stolen {stolen}")
    check(0.98 * (least - unknown(tids) - stolen) <= ours <= 1.02 * most, what, "is", ours,
          "in the overview, not", least, "to", most)
