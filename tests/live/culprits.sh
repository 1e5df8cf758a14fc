#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Culprits: a thread that never stops wanting its CPU waits whenever a rival runs there, so the
# time that ovni-report preempt charges to each rival is the time that the kernel counted for the
# rival, and the sum of the charges is the kernel's run delay of the waiting thread. Of each thread the
# charges add up to its waits, and the rows of ovni-report why to its life, to the nanosecond. A trace
# of the process alone proves the same rivals, and names other threads only as first takers. Where PID 1 takes
# a CPU unseen (some machines), the trace has the time of others for it: then only the trace is compared with itself.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

look() { # MODE
	local mode=$1
	record "$mode" "$mode" rivals
	judge "$mode"
	"$B/bin/ovni-report" preempt --json "$mode" >"$mode.preempt" || complain "$mode: preempt: $?"
	"$B/bin/ovni-report" why --json "$mode" >"$mode.why" || complain "$mode: why: $?"
	facts "$mode" <<'E'
import collections
rows = json.load(open(name + ".preempt"))
lives = json.load(open(name + ".why"))
victim = next(line for line in lines if "starved" in line)
rivals = [line for line in lines if "rival" in line]
label = f"starved ({victim['starved']})"
charged = {r["culprit"]: r for r in rows if r["victim"] == label}
unknown = charged.get("not recorded", {"ran": 0})["ran"] if name == "all" or trace.session["lost"] != "0" else 0

lost = collections.Counter()  # time that the trace calls unknown
for r in lives:
    if r["state"] == "unknown" and r["reason"] == "lost":
        lost[r["tid"]] += r["time"]
seen = not any(int(cpu["repairs"]) or int(cpu["lost"]) for cpu in trace.session["cpus"])
if not seen:
    print(name, "has repairs: not compared with the kernel")

def close(got, want, waits):
    # the kernel's clock of run time stands still in some interrupts; each switch takes some us
    return abs(got - want) <= want * 0.02 + 1000000 + waits * 30000

for rival in rivals:
    row = charged.get(f"rival{rivals.index(rival)} ({rival['rival']})") or next(
        (r for c, r in charged.items() if c.endswith(f"({rival['rival']})")), None)
    check(row, "no charge for", rival)
    if not row:
        continue
    print(name, row["culprit"], "charged", row["ran"], "ns, the kernel counted", rival["ran"], "first", row["first"])
    own = sum(s.end - s.start for s in trace.thread(rival["rival"]).stays)
    # the ns of each switch belongs to one of its two threads
    check(row["ran"] <= own + 2 * row["waits"] + 1000, "charged", row, "but it ran", own, "in the trace")
    hidden = lost[rival["rival"]] + lost[victim["starved"]] + unknown
    check(row["ran"] >= own - hidden or close(row["ran"], own - hidden, row["waits"]),
          "charged", row, "but it ran", own, "in the trace,", hidden, "unknown")
    if close(own, rival["ran"], row["waits"]):
        check(row["ran"] >= rival["ran"] - hidden or close(row["ran"], rival["ran"] - hidden, row["waits"]),
              "charged", row, "but it ran", rival["ran"], "with", hidden, "unknown")
    else:
        print(name, "has", own, "ns for it: a thread was not told")

check(sum(r["first"] for r in charged.values()) > 0, "nobody ever took the CPU first")
# The waits of the victim are its run delay, and those that its stream shows.
total = sum(r["ran"] or 0 for r in charged.values())
print(name, label, "waited", total, "ns, the kernel counted", victim["waited"], "not recorded", unknown)
check(close(total, victim["waited"], sum(r["waits"] or 0 for r in charged.values())) or not seen,
      "waited", total, "but its run delay is", victim["waited"])
check(charged.get("idle", {"ran": 0})["ran"] <= total * 0.02, "idle", charged.get("idle"))

# To the nanosecond: of each thread the charges are its waits.
waits, life = collections.Counter(), collections.Counter()
for r in lives:
    life[r["tid"], r["pid"]] += r["time"]
    if r["state"] in ("runnable", "throttled"):
        waits[r["thread"]] += r["time"]
sums = collections.Counter()
for r in rows:
    sums[r["victim"]] += r["ran"] or 0
for thread in waits | sums:
    check(waits[thread] == sums[thread], thread, "waited", waits[thread], "but is charged", sums[thread])

# ... and the uses of its time its life, from OHx, or OHC, to OHe.
born = {}
for s in trace.streams:
    for e in s.of("OHC"):
        born.setdefault(e.ints("iQ")[1], []).append(e.clock)
for s in trace.streams:
    starts = [e.clock for e in s.of("OHx")]
    if len(starts) != 1 or not s.of("OHe"):
        continue
    begin = min(born.get(s.tid, [starts[0]]) + [starts[0]])
    if len(born.get(s.tid, [])) > 1:
        continue # the tid was used again
    want = s.of("OHe")[0].clock - begin
    check(life[s.tid, s.pid] == want, s, "lived", want, "but its rows add up to", life[s.tid, s.pid])
E
}

attempts 3 look all
attempts 3 look pid
finish
