#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A thread that waits for the disk leaves as waiting for I/O.
# needs: root alone
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

for mode in command pid all; do
	record $mode $mode disk
	judge $mode
	facts $mode <<'E'
thread = trace.thread(said["tid"])
waits = thread.leaves("io")
check(len(waits) >= 0.5 * said["accesses"], thread, "waited for I/O", len(waits), "times in",
      said["accesses"], "accesses")
E
done
finish
