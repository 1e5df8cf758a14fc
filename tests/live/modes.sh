#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Modes: off loads and writes nothing; summary and full count the same for the same run, and the
# counters of full agree with its streams to the nanosecond.
# needs: root alone
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

# Off: the command alone, our exit status, nothing on the disk.
"$RECORDER" --mode off -o off -- sh -c 'exit 3' >off.log 2>&1
expect "off: our exit status" [ $? = 0 ]
expect "off: how it ended is told" grep -q 'mode=off command=3 status=0' off.log
expect "off: nothing is written" [ -z "$(find . -name 'off*' ! -name off.log)" ]
"$RECORDER" --mode off -a >off.log 2>&1
expect "off: needs a command" [ $? = 2 ]

# Summary beside full, on the same workload: of the process, and (with -a) of the machine, where summary
# does without programs at wake-ups. PID 1 of some machines takes a CPU unseen: then there are
# repairs, and the run shows nothing.
both() { # process | all | -C CPU, WORKLOAD...
	local sum full scope=$1 choice=()
	[ "$1" != -C ] || { choice=(-C "$2") && shift; }
	shift
	rm -rf sum.stats.json gate full full.log sum.log
	mkfifo gate
	WORKLOAD_REPORT=$T/report WORKLOAD_GATE=$T/gate "$WORKLOADS/$1" "${@:2}" >/dev/null &
	target=$!
	[ "$scope" = all ] && choice=(-a) || choice+=(-p "$target")
	"$RECORDER" --mode summary -o sum "${choice[@]}" >sum.log 2>&1 &
	sum=$!
	"$RECORDER" -o full "${choice[@]}" >full.log 2>&1 &
	full=$!
	wait_recording sum $sum
	wait_recording full $full
	: >gate
	wait "$target"
	# Its threads may still be on their way out.
	[ "$scope" != all ] || kill $sum $full
	wait $sum || complain "$*: summary ended with $?: $(cat sum.log)"
	wait $full || complain "$*: full ended with $?: $(cat full.log)"
	grep -q 'lost=0 missed=0 repairs=0' full.log
}

# With -C, a thread that goes elsewhere is unknown to both until it is back.
[ "$(nproc)" -gt 1 ] && hop='-C 1 hopper -n 200' || hop=
# A scheduler clock that a virtual machine holds back gives one of the two another wait: what differs is
# recorded anew, since a mistake of ours comes again.
agree() { # [PID]
	python3 "$S/tests/live/stats.py" full sum.stats.json "$@" >agreed 2>&1
}
for workload in 'process pingpong -n 3000' 'process hopper -n 200' 'process threads -n 50' \
	'process processes -n 20' 'process sleepers' 'process execs' ${hop:+"$hop"}; do
	unlike=0
	for ((try = 0; try < 8; try++)); do
		# shellcheck disable=SC2086 # words
		both $workload || continue
		agree && break
		cat agreed
		[ $((++unlike)) -lt 3 ] || break
	done
	[ $try -lt 8 ] || skip "PID 1 gets in the way of every run"
	judge full
	expect "$workload: summary writes one file" [ "$(echo sum*)" = "sum.log sum.stats.json" ]
	[ $unlike -lt 3 ] || complain "$workload: the modes do not agree, three times"
	"$B/bin/ovni-check" --strict full >check.log 2>&1 || complain "$workload: $(cat check.log)"
	grep -q 'stats.json' check.log && complain "$workload: not held against the streams: $(cat check.log)"
done
for workload in 'all pingpong -n 3000' 'all threads -n 50'; do
	unlike=0
	for ((try = 0; try < 8; try++)); do
		# shellcheck disable=SC2086 # words
		both $workload || continue
		agree "$target" && break
		cat agreed
		[ $((++unlike)) -lt 3 ] || break
	done
	[ $try -lt 8 ] || skip "PID 1 gets in the way of every run"
	[ $unlike -lt 3 ] || complain "$workload: the modes do not agree, three times"
done
finish
