#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Two threads that yield the CPU to each other leave as yielded, and those that are forced
# off it as preempted: the two differ.
# needs: root
# long: live/truth records the same workload
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

for mode in command pid all; do
	record $mode $mode yielder -y 1000
	judge $mode
	facts $mode <<'E'
tids = [line["tid"] for line in lines if "yields" in line]
for tid in tids:
    thread = trace.thread(tid)
    yields, preempted = len(thread.leaves("yielded")), len(thread.leaves("preempted"))
    if trace.session.get("yields_unknown"):
        check(yields == 0, "yields are told although they cannot be")
        continue
    check(yields >= 0.7 * said["yields"], thread, "yielded", yields, "times")
    # A thread that is forced off the CPU inside its system call counts as yielded, too.
    check(yields <= 1.1 * said["yields"] + 5, thread, "yielded", yields, "times")
    check(preempted <= 0.05 * said["yields"] + 50, thread, "was preempted", preempted, "times")
E
done
finish
