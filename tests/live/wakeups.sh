#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Wake-ups: the scheduler's clock agrees with the tracepoint in the same run (--wakeup-clock), and a
# thread that was woken and still waits when the window closes is written as it is counted, though
# it runs before the tasks are read.
# needs: root alone
# long: live/truth compares both clocks with ftrace
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

both() { # WORKLOAD...
	local scheduler tracepoint target
	rm -rf gate scheduler tracepoint ./*.log
	mkfifo gate
	WORKLOAD_REPORT=$T/report WORKLOAD_GATE=$T/gate "$WORKLOADS/$1" "${@:2}" >/dev/null &
	target=$!
	"$RECORDER" -o scheduler -p "$target" --wakeup-clock scheduler >scheduler.log 2>&1 &
	scheduler=$!
	"$RECORDER" -o tracepoint -p "$target" --wakeup-clock tracepoint >tracepoint.log 2>&1 &
	tracepoint=$!
	wait_recording scheduler "$scheduler"
	wait_recording tracepoint "$tracepoint"
	: >gate
	wait "$target"
	wait "$scheduler" || complain "$*: the recorder ended with $?: $(cat scheduler.log)"
	wait "$tracepoint" || complain "$*: the recorder ended with $?: $(cat tracepoint.log)"
	whole scheduler && whole tracepoint
}

# PID 1 of some machines takes a CPU unseen: then a run shows nothing.
whole() { grep -q 'lost=0 missed=0 repairs=0' "$1.log"; }

same() { # WORKLOAD...
	local try
	for ((try = 0; try < 8; try++)); do
		both "$@" && break
	done
	[ "$try" -lt 8 ] || skip "PID 1 gets in the way of every run"
	if ! grep -q '"wakeup_clock":[ ]*"scheduler"' -r scheduler --include=stream.json; then
		echo "no clock of the scheduler on this kernel: nothing to compare"
		finish
	fi
	expect "$*: the other clock is told" grep -q '"wakeup_clock":[ ]*"tracepoint"' -r tracepoint \
		--include=stream.json
	B=$B python3 "$S/tests/live/wakeups.py" scheduler tracepoint || complain "$*"
}

attempts 3 same pingpong -n 1000
attempts 3 same sleepers -s 50
attempts 3 same storm -l 200

# A summary of the machine has a program there only with the option.
attached() { # CLOCK
	"$RECORDER" -v -a --mode summary --wakeup-clock "$1" -d 10ms -o "summary-$1" 2>&1 |
		sed -n 's/.*info: \([0-9]*\) programs attached.*/\1/p'
}
few=$(attached scheduler)
many=$(attached tracepoint)
[ "${few:-0}" -gt 0 ] && [ "${many:-0}" -gt "$few" ] ||
	complain "a summary attaches ${few:-no} programs, with the tracepoint ${many:-none}"

# Many that wait for long: threads that only sleep, but the CPUs are others'.
WORKLOAD_REPORT=$T/report nice -n 19 "$WORKLOADS/sleepers" -n 40 -s 100000 -u 1500 >/dev/null &
load=($!)
for ((i = 0; i < 2 * $(nproc); i++)); do
	sh -c 'while :; do :; done' &
	load+=($!)
done
held=0
for ((try = 0; try < 12 && held < 5; try++)); do
	rm -rf waiting
	"$RECORDER" -a -d 40ms -o waiting >waiting.log 2>&1 || complain "status $?: $(cat waiting.log)"
	whole waiting || continue
	held=$((held + 1))
	"$B/bin/ovni-check" --strict waiting >check.log 2>&1 || complain "at the end: $(grep error: check.log)"
done
kill "${load[@]}"
wait "${load[@]}" 2>/dev/null
[ $held -gt 0 ] || skip "PID 1 gets in the way of every run"
finish
