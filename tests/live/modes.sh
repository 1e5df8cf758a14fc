#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Modes: off loads and writes nothing; summary and full count the same for the same run, and the
# counters of full are, to the nanosecond, what its streams tell.
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

# Off: the command alone, our exit status, nothing on the disk.
"$RECORDER" --mode off -o off -- sh -c 'exit 3' >off.log 2>&1
expect "off: our exit status" [ $? = 0 ]
expect "off: how it ended is told" grep -q 'mode=off command=3 status=0' off.log
expect "off: nothing is written" [ -z "$(find . -name 'off*' ! -name off.log)" ]
"$RECORDER" --mode off -a >off.log 2>&1
expect "off: goes with a command" [ $? = 2 ]

# Summary beside full, on the same workload. PID 1 of some machines takes a CPU unseen: then there are
# repairs, and the run shows nothing.
both() { # [-C CPU] WORKLOAD...
	local target sum full choice=()
	[ "$1" != -C ] || { choice=(-C "$2") && shift 2; }
	rm -rf sum.perf.json gate full full.log sum.log
	mkfifo gate
	WORKLOAD_REPORT=$T/report WORKLOAD_GATE=$T/gate "$WORKLOADS/$1" "${@:2}" >/dev/null &
	target=$!
	"$RECORDER" --mode summary -o sum "${choice[@]}" -p $target >sum.log 2>&1 &
	sum=$!
	"$RECORDER" -o full "${choice[@]}" -p $target >full.log 2>&1 &
	full=$!
	wait_recording sum $sum
	wait_recording full $full
	: >gate
	wait $target
	wait $sum || complain "$*: summary ended with $?: $(cat sum.log)"
	wait $full || complain "$*: full ended with $?: $(cat full.log)"
	grep -q 'lost=0 missed=0 repairs=0' full.log
}

# With -C, a thread that goes elsewhere is unknown to both until it is back.
[ "$(nproc)" -gt 1 ] && hop='-C 1 hopper -n 200' || hop=
for workload in 'pingpong -n 3000' 'hopper -n 200' 'threads -n 50' 'processes -n 20' sleepers execs ${hop:+"$hop"}; do
	for ((try = 0; try < 8; try++)); do
		# shellcheck disable=SC2086 # words
		both $workload && break
	done
	[ $try -lt 8 ] || skip "PID 1 gets in the way of every run"
	judge full
	expect "$workload: summary writes one file" [ "$(echo sum*)" = "sum.log sum.perf.json" ]
	python3 "$S/tests/live/perf.py" full sum.perf.json ||
		complain "$workload: the modes do not agree"
	"$B/bin/ovni-check" --strict full >check.log 2>&1 || complain "$workload: $(cat check.log)"
	grep -q 'perf.json' check.log && complain "$workload: not held against the streams: $(cat check.log)"
done
finish
