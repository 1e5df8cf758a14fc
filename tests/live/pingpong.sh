#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Two threads that alternate strictly: each blocks once a round, is woken by the other, and
# is where it was pinned; on one CPU and across two.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

look() { # NAME
	judge "$1"
	facts "$1" <<'E'
from collections import Counter
a, b = trace.thread(said["tid_a"]), trace.thread(said["tid_b"])
rounds = said["rounds"]
for me, other, letter in ((a, b, "a"), (b, a, "b")):
    # A thread that is preempted between its write and its read need not sleep in that round. The
    # kernel's own counts say how often it did.
    cpu = said["cpu_" + letter]
    slept, preempted = len(me.leaves("sleeping")), len(me.leaves("preempted"))
    check(near(slept, said["voluntary_" + letter], 0.01, 5), me, "slept", slept, "times, the kernel says",
          said["voluntary_" + letter])
    check(near(preempted, said["involuntary_" + letter], 0.01, 5), me, "was preempted", preempted,
          "times, the kernel says", said["involuntary_" + letter])
    check(slept > 20, me, "slept only", slept, "times in", rounds, "rounds")
    woken = [s for s in me.stays if s.waker == other.tid]
    check(near(len(woken), slept), me, "slept", slept, "times and was woken by", other, len(woken), "times, of",
          Counter(s.waker for s in me.stays))
    work = me.stays[10:]
    check(all(s.cpu == trace.cpu(cpu) for s in work[:-1]), me, "was not always on CPU", cpu)
    check(all(s.woken is None or s.woken <= s.start for s in me.stays), me, "ran before its wake-up")
if said["cpu_a"] == said["cpu_b"]:
    # The one that sleeps is woken by a turn of the other.
    turns = sorted((s.start, t.tid, s.why) for t in (a, b) for s in t.stays)[20:-20]
    same = sum(1 for x, y in zip(turns, turns[1:]) if x[1] == y[1] and x[2] == "sleeping")
    check(same <= 10, same, "of", len(turns), "turns did not alternate")
    # On a busy machine other threads may take the CPU as well.
    entries = {s.start for s in b.stays}
    taken = [s for s in a.leaves("sleeping") if s.taker == b.tid]
    follows = [s for s in a.leaves("sleeping") if s.end + 1 in entries]
    check(taken == follows, "b took the CPU of a", len(taken), "times, and entered", len(follows), "times")
    check(len(taken) > 5, "b took the CPU of a only", len(taken), "times")
E
}

for mode in command pid all; do
	record pinned-$mode $mode pingpong -n 1000
	look pinned-$mode
	[ "$(nproc)" -gt 1 ] || continue
	record across-$mode $mode pingpong -n 500 -a 0 -b 1
	look across-$mode
done
finish
