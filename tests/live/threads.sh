#!/bin/bash
# SPDX-License-Identifier: MIT
#
# 1,000 threads of one process: each has a stream with its name and its creator. 20,000 that
# come and go as fast as they can: none is lost.
# needs: root alone
# long: live/many_threads has as many
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

for mode in command pid all; do
	n=100
	[ $mode = command ] && n=1000
	record $mode $mode threads -n $n
	judge $mode
	facts $mode <<'E'
threads = {line["tid"]: line["thread"] for line in lines if "thread" in line}
check(len(threads) == said["threads"], len(threads), "threads were reported")
main = trace.thread(said["pid"], said["pid"])
births = [e.ints("iQ")[1] for e in main.of("OHC")]
check(sorted(births) == sorted(threads), "births and threads differ")
streams = {s.tid: s for s in trace.threads(said["pid"])}
check(len(streams) == said["threads"] + 1, "the process has", len(streams), "streams")
for tid, number in threads.items():
    thread = streams[tid]
    check(thread.names[-1] == f"thr-{number}", thread, "is called", thread.names)
    check(thread.events[0].mcv == "OHx" and thread.events[0].ints("iiQ")[1] == main.tid,
          thread, "begins with", thread.events[0])
    check(len(thread.leaves("sleeping")) >= 3, thread, "slept too little")
E
done
many=20000
record fast command threads -n "$many" -j 50 -s 0
judge fast
streams=$(find fast -name stream.json | wc -l)
expect "$many threads and the first have a stream each" [ "$streams" = $((many + 1)) ]
finish
