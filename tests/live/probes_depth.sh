#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Deeper than the kernel follows returns (64), and deeper than a stack of marks goes (512): every
# call is counted, the stacks are balanced, and missing returns are reported.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

record hundred command -u "$WORKLOADS/calls:leaf,recurse" -- calls -n 4 -d 100
judge hundred
facts hundred <<'E'
from calls import *
main = trace.thread(said["main"])
n = count(main)
check(n["recurse"] == 400 and n["leaf"] == 4, "calls", n)
outer = tree(main)
check(len(outer) == 4, "outermost calls", [str(c) for c in outer])
deepest = [max(c.depth for c in flat([o])) for o in outer]
check(deepest == [100] * 4, "depths", deepest)
E
expect "all calls are counted" grep -qE ' 400 +.* recurse$' hundred.log
expect "the missed returns are told" grep -q 'calls ended without a return' hundred.log

record thousand command -u "$WORKLOADS/calls:leaf,recurse" -- calls -n 2 -d 1000
judge thousand
facts thousand <<'E'
from calls import *
main = trace.thread(said["main"])
n = count(main)
check(n["recurse"] + n["leaf"] == 2 * 512, "calls", n)
E
expect "all calls are counted" grep -qE ' 2000 +.* recurse$' thousand.log
expect "what was too deep is told" grep -q 'the stack of a trace holds at most 512' thousand.log
finish
