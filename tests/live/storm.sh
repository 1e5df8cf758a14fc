#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A storm of futex waits and wakes: every sleep ends with a wake-up that is known, although
# waking often begins before the sleeper has left the CPU.
# needs: root
# long: live/truth records the same workload
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

for mode in command pid all; do
	record $mode $mode storm -l 500
	judge $mode
	facts $mode <<'E'
tids = [line["tid"] for line in lines if "laps" in line]
check(len(tids) == 8, "threads:", tids)
sleeps = known = in_time = 0
for tid in tids:
    thread = trace.thread(tid)
    for s, n in zip(thread.stays, thread.stays[1:]):
        if s.why == "sleeping":
            sleeps += 1
            known += n.waker not in (0, None)
            in_time += n.woken is not None and s.end <= n.woken <= n.start
check(sleeps >= 8 * said["laps"] * 0.3, "they slept", sleeps, "times")
check(known >= 0.995 * sleeps, "the waker is known", known, "times of", sleeps)
check(in_time == sleeps, "the wake-up is between sleep and run", in_time, "times of", sleeps)
wakers = {n.waker for tid in tids for n in trace.thread(tid).stays if n.waker}
check(wakers & set(tids), "they never woke each other")
E
done
finish
