#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A thread that hops between CPUs: each hop is one OAs, written while it does not run.
# needs: root
# long: live/truth records the same workload
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"
[ "$(nproc)" -gt 1 ] || skip "needs two CPUs"

for mode in command pid all; do
	record $mode $mode hopper -n 500
	judge $mode
	facts $mode <<'E'
thread = trace.thread(said["tid"])
moves = thread.of("OAs")
check(near(len(moves), said["hops"]), thread, "moved", len(moves), "times in", said["hops"], "hops")
cpu = None
for e in thread.events:
    if e.mcv == "OHx":
        cpu = e.ints("iiQ")[0]
    elif e.mcv == "OAs":
        check(e.ints("i")[0] != cpu, thread, "moved to where it was at", e.clock)
        cpu = e.ints("i")[0]
E
done
finish
