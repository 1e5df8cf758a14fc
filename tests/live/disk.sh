#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A thread that waits for the disk leaves as waiting for I/O.
# needs: root
# long: live/truth records the same workload
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"
on_disk || skip "the scratch folder is in memory: nothing waits for a disk"

for mode in command pid all; do
	record $mode $mode disk
	judge $mode
	facts $mode <<'E'
thread = trace.thread(said["tid"])
waits, least = thread.leaves("io"), said["waits"] * (0.9 if said["direct"] else 0.4)
check(said["waits"] > 0, "the workload never waited in", said["accesses"], "accesses")
check(len(waits) >= least, thread, "waited for I/O", len(waits), "times, left its CPU to wait",
      said["waits"], "times")
E
done
finish
