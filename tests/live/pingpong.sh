#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Two threads that alternate strictly: each blocks once a round, is woken by the other, and
# is where it was pinned; on one CPU and across two.
# needs: root alone
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

look() { # NAME
	judge "$1"
	facts "$1" <<'E'
a, b = trace.thread(said["tid_a"]), trace.thread(said["tid_b"])
rounds = said["rounds"]
for me, other, cpu in ((a, b, said["cpu_a"]), (b, a, said["cpu_b"])):
    # On one CPU the one that wakes may be preempted before it has gone to sleep.
    slept, preempted = len(me.leaves("sleeping")), len(me.leaves("preempted"))
    check(slept + preempted >= 0.95 * rounds, me, "left", slept, "+", preempted, "times in", rounds, "rounds")
    check(rounds / 3 <= slept <= rounds + 20, me, "slept", slept, "times in", rounds, "rounds")
    woken = [s for s in me.stays if s.waker == other.tid]
    check(near(len(woken), slept), me, "was woken by", other, len(woken), "times")
    work = me.stays[10:]
    check(all(s.cpu == trace.cpu(cpu) for s in work[:-1]), me, "was not always on CPU", cpu)
    check(all(s.woken is None or s.woken <= s.start for s in me.stays), me, "ran before its wake-up")
if said["cpu_a"] == said["cpu_b"]:
    turns = sorted((s.start, t.tid) for t in (a, b) for s in t.stays)[20:-20]
    same = sum(1 for x, y in zip(turns, turns[1:]) if x[1] == y[1])
    check(same <= len(turns) // 10 + 10, same, "of", len(turns), "turns did not alternate")
    slept = a.leaves("sleeping")
    taken = [s for s in slept if s.taker == b.tid]
    check(near(len(taken), len(slept), 0.3), "b took the CPU of a", len(taken), "of", len(slept),
          "times")
E
}

for mode in command pid all; do
	record pinned-$mode $mode pingpong -n 5000
	look pinned-$mode
	[ "$(nproc)" -gt 1 ] || continue
	record across-$mode $mode pingpong -n 2000 -a 0 -b 1
	look across-$mode
done
finish
