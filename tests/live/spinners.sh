#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Two spinners on one CPU leave it only because they are preempted; together they never
# have more than the CPU.
# needs: root alone
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

for mode in command pid all; do
	record $mode $mode spinners -t 400
	judge $mode
	facts $mode <<'E'
tids = [line["tid"] for line in lines if "tid" in line]
check(len(tids) == 2, "spinners:", tids)
total = 0
for tid in tids:
    thread = trace.thread(tid)
    ran, stays = 0, []
    for stay in thread.stays: # before it is pinned it runs for far less than 5 ms
        if ran > 5_000_000:
            stays.append(stay)
        ran += 0 if stay.why == "lost" else stay.end - stay.start # nobody knows how long
    left = [s.why for s in stays[:-1]]
    check(left.count("preempted") >= 10, thread, "was preempted", left.count("preempted"), "times")
    check(left.count("preempted") >= 0.9 * len(left), thread, "left as", set(left))
    check(all(s.cpu == trace.cpu(said["cpu"]) for s in stays), thread, "was on another CPU")
    total += sum(s.end - s.start for s in stays)
    waiting = [e for e in thread.of("OHw") if e.ints("i") == (-1,)]
    runnable = len(thread.leaves("preempted")) + len(thread.leaves("yielded"))
    check(len(waiting) == runnable, thread, "stayed runnable", len(waiting), "times, left so",
          runnable, "times")
check(total <= said["msec"] * 1_010_000, "together they ran", total, "ns")
check(total >= said["msec"] * 10_000, "together they ran only", total, "ns")
E
done
finish
