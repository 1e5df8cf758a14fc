#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A process killed by SIGKILL: the streams of all its threads, running or asleep, end.
# needs: root
# long: live/truth records the same workload
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

for mode in command pid all; do
	record $mode $mode killed
	judge $mode
	facts $mode <<'E'
tids = [line["tid"] for line in lines if "tid" in line]
threads = trace.threads(said["pid"])
check({s.tid for s in threads} == set(tids) and len(tids) == said["threads"],
      "threads", tids, "streams", threads)
for thread in threads:
    check(thread.events[-1].mcv == "OHe" and len(thread.of("OHe")) == 1, thread, "did not end")
leader = trace.thread(said["pid"])
check(leader.exit == (None, 9), leader, "ended with", leader.exit)
E
done
finish
