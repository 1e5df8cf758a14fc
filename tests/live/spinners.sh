#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Two spinners on one CPU leave it only because they are preempted; together they never
# have more than the CPU.
# needs: root
# long: live/truth records the same workload
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

for mode in command pid all; do
	record $mode $mode spinners -t 300 -p 20
	judge $mode
	facts $mode <<'E'
tids = [line["tid"] for line in lines if "tid" in line]
check(len(tids) == 2, "spinners:", tids)
total = 0
for tid in tids:
    thread = trace.thread(tid)
    said_by = [line for line in lines if line.get("tid") == tid][0]
    stays = [s for s in thread.stays if s.start > said_by["pinned"]]
    left = [s.why for s in stays[:-1]]
    preempted = len(thread.leaves("preempted"))
    check(near(preempted, said_by["involuntary"], 0.02, 3), thread, "was preempted", preempted,
          "times, the kernel says", said_by["involuntary"])
    check(left.count("preempted") >= 0.9 * len(left), thread, "left as", set(left))
    # a thread whose return the kernel did not report ends on the virtual CPU
    check(all(s.cpu in (trace.cpu(said["cpu"]), -1) for s in stays), thread, "was on another CPU")
    check(sum(s.cpu == -1 for s in stays) <= 1, thread, "was on the virtual CPU again and again")
    total += sum(s.end - s.start for s in stays)
    waiting = [e for e in thread.of("OHw") if e.ints("i") == (-1,)]
    runnable = len(thread.leaves("preempted")) + len(thread.leaves("yielded"))
    check(len(waiting) == runnable, thread, "stayed runnable", len(waiting), "times, left so",
          runnable, "times")
check(total <= said["usec"] * 1_010, "together they ran", total, "ns")
check(total >= said["usec"] * 10, "together they ran only", total, "ns")
E
done
finish
