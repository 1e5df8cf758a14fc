#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A process stopped and continued: its threads leave as stopped, that often and that long.
# needs: root
# long: live/truth records the same workload
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

for mode in command pid all; do
	record $mode $mode stopper -n 5 -t 40
	judge $mode
	facts $mode <<'E'
threads = trace.threads(said["pid"])
check(len(threads) == 2, "the child has", len(threads), "streams")
for thread in threads:
    stops = [(s.end, n.start) for s, n in zip(thread.stays, thread.stays[1:]) if s.why == "stopped"]
    # A thread that is preempted on its way to the stop may miss one on a busy machine.
    check(said["stops"] - 1 <= len(stops) <= said["stops"], thread, "was stopped", len(stops), "times")
    for begin, end in stops:
        check(30_000_000 < end - begin < 500_000_000, thread, "was stopped for", end - begin, "ns")
E
done
finish
