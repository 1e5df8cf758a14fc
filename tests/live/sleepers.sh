#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Sleepers are woken by the timer's interrupt, never by the thread that it interrupted.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

for mode in command pid all; do
	record $mode $mode sleepers
	judge $mode
	facts $mode <<'E'
tids = [line["tid"] for line in lines if "sleeps" in line]
check(len(tids) == 4, "sleepers:", tids)
for tid in tids:
    thread = trace.thread(tid)
    # A thread that is preempted after it has set its timer sleeps for less, or not at all.
    threes = list(zip([None] + thread.stays, thread.stays, thread.stays[1:]))
    slept = [(s, n) for _, s, n in threes if s.why == "sleeping" and n.start - s.end > 500_000]
    whole = [(s, n) for p, s, n in threes if (s, n) in slept and (p is None or p.why != "preempted")]
    voluntary = [line["voluntary"] for line in lines if line.get("tid") == tid][0]
    left = len(thread.leaves("sleeping")) + len(thread.leaves("uninterruptible"))
    check(near(left, voluntary, 0.02, 3), thread, "left to sleep", left, "times, the kernel says", voluntary)
    check(len(whole) >= said["sleeps"] // 4, thread, "slept undisturbed only", len(whole), "times")
    # The waker is unknown where the timer interrupted PID 1, in whose context no BPF program runs here.
    by_timer = [n for s, n in slept if n.waker == INTERRUPT]
    check(all(n.waker in (INTERRUPT, 0) for s, n in slept), thread, "was woken by", {n.waker for s, n in slept})
    check(len(by_timer) >= len(slept) // 2, thread, "was woken by an interrupt", len(by_timer),
          "times of", len(slept))
    # An interrupt or the hypervisor may delay a thread between its timer and its switch, too.
    early = [n.woken for s, n in whole if n.woken - s.end < said["usec"] * 1000 - 100_000]
    check(len(early) <= max(2, len(whole) // 50), thread, "woke up too early", len(early), "times of", len(whole))
E
done
finish
