#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-report flame of a recording with user probes: the stacks are those of the program, and their
# times add up to those of func and why, to the ns.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"
record calls command -u "$WORKLOADS/calls:leaf,recurse,branch" -- calls -m 8 -n 2 -d 3
status=0
"$B/bin/ovni-report" flame calls >folded 2>said || status=$?
expect "report flame: status $status" grep -qx '[03]' <<<$status
# of both threads, without their names
sed -n 's/^[^;]*;[^;]*;\([a-z;]*\) [0-9]*$/\1/p' folded | LC_ALL=C sort -u >stacks
cat >want <<'E'
branch
branch;leaf
recurse
recurse;recurse
recurse;recurse;leaf
recurse;recurse;recurse
recurse;recurse;recurse;leaf
E
expect "stacks" diff want stacks
expect "sums" python3 -B "$S/tests/golden/report_flame.py" "$B/bin/ovni-report" calls
finish
