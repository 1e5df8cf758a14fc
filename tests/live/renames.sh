#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A thread that changes its name keeps all its names, in their order, each with its clock;
# also the one that another thread gave it.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

for mode in command pid all; do
	record $mode $mode renames
	judge $mode
	facts $mode <<'E'
tids = [line["tid"] for line in lines if "changes" in line]
check(len(tids) == 2, "threads:", tids)
for number, tid in enumerate(tids):
    thread = trace.thread(tid)
    wanted = [f"t{number}-{i}" for i in range(said["changes"] - 1)] + [f"t{number}-outside"]
    names = [n for n in thread.names if n != "renames"]
    check(names == wanted, thread, "has the names", names)
    clocks = [clock for clock, _ in thread.renames]
    check(clocks == sorted(clocks), thread, "was renamed at", clocks)
E
done
finish
