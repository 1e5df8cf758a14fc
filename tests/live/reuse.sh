#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Processes that follow each other under one pid share one stream: it ends and begins again.
# needs: root alone
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"
"$WORKLOADS/reuse" -n 2 >/dev/null 2>&1 || skip "a pid cannot be chosen here (clone3 with set_tid)"

for mode in command pid all; do
	record $mode $mode reuse
	judge $mode
	facts $mode <<'E'
thread = trace.thread(said["pid"], said["pid"])
begins, ends = thread.of("OHx"), thread.of("OHe")
check(len(begins) == len(ends) == said["lives"], thread, "has", len(begins), "lives")
for begin, end in zip(begins[1:], ends):
    check(begin.clock > end.clock, thread, "begins before it has ended")
for life in range(said["lives"]):
    check(f"life-{life}" in thread.names, thread, "has the names", thread.names)
E
done
finish
