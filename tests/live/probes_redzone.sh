#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A nop of five bytes inside a function is refused: a probe there corrupts the program on Linux
# 6.18. As the first instruction of a function it is fine.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"
[ "$(uname -m)" = x86_64 ] || skip "not an x86-64 machine"

at=$WORKLOADS/redzone
record safe command -u "$at:inner+5,entered" -- redzone -n 2000
expect "it is said" grep -q 'inner.* is not probed: it is a nop of five bytes' safe.log
expect "nothing is wrong" grep -q 'wrong_inner=0 wrong_entered=0' safe.report
judge safe
facts safe <<'E'
from calls import *
main = trace.thread(said["main"])
check(count(main) == {"entered": said["times"]}, "calls", count(main))
E

# The same if it is all that was asked for.
wanted_status=1
record none command -u "$at:inner+5" -- redzone -n 10
wanted_status=0

# The danger itself.
record danger command --unsafe-nop5 -u "$at:inner+5" -- redzone -n 2000
judge danger
if [ "$(uname -r | awk -F. '{ print ($1 > 6 || ($1 == 6 && $2 >= 18)) }')" = 1 ]; then
	grep -q 'wrong_inner=0 ' danger.report &&
		echo "this kernel no longer corrupts what is below the stack pointer"
fi
facts danger <<'E'
from calls import *
hits = values(trace.thread(said["main"]), "Point")
check(len(hits) == said["times"], len(hits), "hits of the point, of", said["times"])
E
finish
