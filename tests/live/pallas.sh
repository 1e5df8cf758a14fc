#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A recording becomes a Pallas archive and comes back: two threads that pass a token ten thousand
# times. The archive obeys the rules, statistics count every time off the CPU without the data
# files, the waiting shows as a loop, and the trace that comes back is the one that went in.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"
pallas=$B/bin/ovni-pallas

timeout 60 "$RECORDER" -o trace -- "$B/tests/workloads/pingpong" >log 2>&1 || complain "$(tail -n 3 log)"
"$pallas" export trace archive 2>err || complain "export: $(cat err)"
"$pallas" check archive >out 2>&1 || complain "check: $(head -n 5 out)"
"$pallas" import archive back 2>err || complain "import: $(cat err)"
(cd trace && find . -name stream.obs) | while read -r path; do
	cmp "trace/$path" "back/$path" || exit 1
done || complain "other events came back"
"$B/bin/ovni-emu" -l back >err 2>&1 || complain "emulation: $(cat err)"

find archive -name '*.dat' -delete
pauses=$("$B/bin/ovni-dump" trace | awk '$2 == "OHp"' | wc -l)
counted=$("$pallas" stats archive | awk '/Off the CPU/ { n += $1 } END { print n + 0 }')
[ "$counted" = "$pauses" ] || complain "stats count $counted times off the CPU, the trace has $pauses"
"$pallas" stats --loops archive | grep -q 'Off the CPU: sleeping' || complain "no loop of waiting"
finish
