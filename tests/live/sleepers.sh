#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Sleepers are woken by the timer's interrupt, never by the thread that it interrupted.
# needs: root alone
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
    pairs = list(zip(thread.stays, thread.stays[1:]))
    slept = [(s, n) for s, n in pairs if s.why == "sleeping" and n.start - s.end > 500_000]
    check(near(len(slept), said["sleeps"], 0.05, 2), thread, "slept", len(slept), "times")
    by_timer = [n for s, n in slept if n.waker == INTERRUPT]
    check(len(by_timer) >= len(slept) - 3, thread, "was woken by an interrupt", len(by_timer),
          "times of", len(slept), "else by", {n.waker for s, n in slept})
    for s, n in slept:
        check(n.woken - s.end >= said["usec"] * 1000 - 100_000, thread, "woke up too early")
E
done
finish
