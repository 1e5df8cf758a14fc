#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A recorder in mode summary with --interval is killed (SIGKILL) at any moment: ovni-check --repair makes
# statistics of all snapshots that were whole, and never calls them complete.
# needs: root
# longer: 20 kills, not 3
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

snapshots() { grep -c '"scope": "run"' run.stats.json.part 2>/dev/null; }
some() { [ "$(snapshots)" -ge "$1" ] 2>/dev/null; }
for ((round = 1; round <= $(longer 20 3); round++)); do
	rm -f run.stats.json*
	"$RECORDER" --mode summary --interval 10ms -a -o run >log 2>&1 &
	recorder=$!
	wait_until some $((3 + round)) || complain "no snapshots: $(cat log)"
	sleep "0.0$((RANDOM % 30))"
	{
		kill -KILL $recorder
		wait $recorder
	} 2>/dev/null
	expect "there are no statistics" [ ! -e run.stats.json ]
	begun=$(snapshots)
	"$B/bin/ovni-check" --repair run.stats.json.part >said 2>&1
	status=$?
	[ $status = 3 ] || complain "round $round: status $status: $(cat said)"
	expect "it is called incomplete" grep -q 'incomplete: a repair closed 1 stream after a crash' said
	kept=$(sed -n 's/.*: \([0-9]*\) snapshots recovered/\1/p' said)
	echo "round $round: $begun snapshots begun, ${kept:-none} recovered"
	expect "all but the last are whole" [ "${kept:-0}" -ge $((begun - 1)) -a "${kept:-0}" -ge $((2 + round)) ]
	"$B/bin/ovni-report" counters run.stats.json >said 2>&1 || [ $? = 3 ] || complain "ovni-report: $(cat said)"
	expect "the sum is in the table" grep -q '^all [0-9]* threads' said
done
finish
