# SPDX-License-Identifier: MIT
"""
parts: do the traces of one session (--rotate) fit together?

    parts.py NAME [AT_LEAST]

In: the folder of a session, NAME.log and NAME.report of the switcher. Each part begins where the
one before ends, accounts add up to what the recorder told, and each thread of the workload
has left its CPU as often in all of them as the kernel has counted.
"""
import os
import sys

from facts import Trace, check, check_account, report, verdict

name = sys.argv[1]
names = sorted(n for n in os.listdir(name) if n != "stats.json")
traces = [Trace(os.path.join(name, n)) for n in names]
with open(name + ".log", encoding="utf-8") as f:
    last = dict(w.split("=", 1) for w in f.read().strip().split("\n")[-1].split() if "=" in w)

check(names == [f"{i:04}" for i in range(1, len(names) + 1)], "parts are called", names)
check(len(names) >= int(sys.argv[2]), "only", len(names), "parts")
check(int(last["parts"]) == len(names), last["parts"], "parts are told, there are", len(names))

seen = told = outside = events = 0
for number, trace in enumerate(traces, 1):
    s = trace.session
    check(s["part"] == number, "part", number, "calls itself", s["part"])
    check_account(s)
    check(int(s["lost"]) == 0, "lost", s["lost"])
    if number > 1:
        before = traces[number - 2].session
        check(s["t0"] == before["t1"], "part", number, "does not begin where the last one ends")
        check(before["stopped_by"] in ("rotation", "request"), before["stopped_by"])
    n = sum(len(t.events) for t in trace.streams)
    check(n == int(s["counts"]["events"]), "part", number, "has", n, "events")
    events += n
    seen += sum(int(cpu["switch"]["written"]) for cpu in s["account"] if "switch" in cpu)
    told += int(s["counts"]["switches"])
    outside += int(s["counts"]["outside"])
check(events == int(last["events"]), "parts have", events, "events, told are", last["events"])
# Events outside are before the first part, after the last, or in two parts.
check(told <= seen <= told + outside, "the parts tell", told, "switches of", seen)

lines = [line for line in report(name + ".report") if "leaves" in line]
check(lines, "the workload says nothing")
for line in lines:
    clocks = [e.clock for trace in traces for stream in trace.streams if stream.tid == line["tid"]
              for e in stream.of("OHp") if e.ints("Hi")[0] not in (0, 11)]
    least = sum(1 for c in clocks if c < line["from"])
    most = sum(1 for c in clocks if c < line["to"])
    check(least <= line["leaves"] <= most, "thread", line["tid"], "left its CPU", line["leaves"],
          "times, the parts have", least, "to", most)

# Functions that are entered before a part are open from its beginning on.
if any("mark" in stream.meta["ovni"] for trace in traces for stream in trace.streams):
    from calls import tree
    reopened = 0
    for line in lines:
        steps, entered = 0, False
        for trace in traces:
            t0 = int(trace.session["t0"])
            for stream in trace.streams:
                if stream.tid != line["tid"]:
                    continue
                for call in tree(stream):
                    check(call.label == "steady", stream, "is in", call)
                    check(not entered or call.start == t0, stream, "enters again", call)
                    reopened += entered
                    entered = True
                    steps += sum(1 for c in call.calls if c.label == "step" and c.start > t0)
        check(steps == line["steps"], "thread", line["tid"], "has", steps, "steps of", line["steps"])
    check(reopened, "no function goes on in the next part")
print(f"{len(names)} parts, {told} switches, leaves of threads",
      " ".join(str(line["leaves"]) for line in lines))
verdict()
