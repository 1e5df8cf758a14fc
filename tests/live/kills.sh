#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Kills (SIGKILL) spread over the whole life of the recorder (start, recording, saving, finalizing), in each
# mode: a command, a process, the machine, --interval, mode summary, a flight recorder with SIGUSR1, a
# rotation, --emulate, --why=call, --why=lock, --html, --perfetto. At a random moment from the start on, at one after the recording has begun, and before
# a random act on files. What is left is never called complete unless all of it is there; ovni-check
# --repair mends it, and says that it is incomplete; no program that it has started outlives the recorder, none
# of their outputs is half written; the next recorder of this mode starts in the same place, and its trace is complete.
# KILLS=500 does so many; KILL_SEED chooses them.
# needs: root early
# long: live/crash and live/killed_summary kill recorders in make check
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"
KILLS=${KILLS:-24}
RANDOM=${KILL_SEED:-1}
CHECK=$B/bin/ovni-check
faults=$B/tests/faults/faults.so
modes=(command pid machine interval summary flight rotate emulate call lock html perfetto)
declare -A acts usual wholes mends nones kills

# The recorder of a mode, in the background as $recorder, with the environment of $1.
start() { # ENVIRONMENT MODE OPTION...
	local options=(-a -d 120ms) before=$1
	shift
	rm -f k.log # of the recorder before: it says that it records
	case $1 in
	command) options=(--flush-interval 10ms -- "$WORKLOADS/sleepers" -n 2 -s 60) ;;
	emulate) options=(--emulate -- "$WORKLOADS/sleepers" -n 2 -s 30) ;;
	call) options=(--why=call --flush-interval 10ms -- "$WORKLOADS/calls") ;;
	lock) options=(--why=lock --flush-interval 10ms -- "$WORKLOADS/locks") ;;
	html) options=(--html -- "$WORKLOADS/sleepers" -n 2 -s 30) ;;
	perfetto) options=(--perfetto k.pftrace -- "$WORKLOADS/sleepers" -n 2 -s 30) ;;
	pid) options=(--flush-interval 10ms -p "$target" -d 120ms) ;;
	machine) options+=(--flush-interval 10ms) ;;
	interval) options+=(--interval 10ms --flush-interval 10ms) ;;
	summary) options+=(--interval 10ms --mode summary) ;;
	flight) options=(-a --last 100ms) ;;
	rotate) options=(-a --rotate 100ms -d 350ms --flush-interval 10ms) ;;
	esac
	# shellcheck disable=SC2086 # several variables
	env $before "$RECORDER" "${@:2}" -o k "${options[@]}" >k.log 2>&1 &
	recorder=$!
}

# Two saves, and the end, of a flight recorder that records.
drive() { # MODE PID
	local i
	[ "$1" = flight ] || return 0
	wait_until recording k "$2"
	for i in USR1 USR1 INT; do
		sleep 0.05
		kill -$i "$2" 2>/dev/null || return 0
	done
}

# A trace after the kill.
look() { # TRACE TEXT
	local before said=$1.said
	"$CHECK" -q "$1" >"$said" 2>&1
	before=$?
	if [ $before = 0 ]; then
		python3 -c "import sys
sys.path[:0] = sys.argv[1:3]
import mutations
missing = mutations.lacks(sys.argv[3])
if missing: sys.exit(missing)" "$S/tests/fuzz" "$S/tests/golden" "$1" >lacks 2>&1 && grep -rqs '"t1"' "$1" --include=stream.json ||
			complain "$2: $1 is called complete: $(cat lacks)"
		wholes[$mode]=$((${wholes[$mode]:-0} + 1))
		return
	fi
	"$CHECK" --repair -o mended "$1" >"$said" 2>&1
	[ $? = 3 ] || complain "$2: $1: --repair: $(tail -n 5 "$said")"
	grep -q '^valid, but incomplete' "$said" || complain "$2: $1: mended, and not called incomplete: $(tail -n 2 "$said")"
	[ ! -e "$1/stats.json.part" ] || [ "$(grep -c '"scope": "run"' "$1/stats.json.part")" -lt 2 ] || [ -e mended/stats.json ] ||
		complain "$2: $1: its statistics are not mended"
	judge mended
	rm -rf mended*
	mends[$mode]=$((${mends[$mode]:-0} + 1))
}

started() { ps -eo pid,args | grep -E "[o]vni-(emu|view|export).* ($T/)?k( |$)"; }
none_left() { [ -z "$(started)" ]; }

# A page or a file for Perfetto is there whole, or under another name.
same_file() { # FILE TEXT COMMAND...
	[ -e "$1" ] || return 0
	"${@:3}" -q -o again k >k.said 2>&1
	cmp "$1" again || complain "$2: a partial $1: $(stat -c %s "$1" again | xargs): $(cat k.said)"
	rm -f again
}

after() { # TEXT
	local stream trace
	wait_until none_left || complain "$1: a program has outlived the recorder: $(started)"
	same_file k.html "$1" "$B/bin/ovni-view"
	same_file k.pftrace "$1" "$B/bin/ovni-export" --perfetto
	if [ $mode = summary ]; then
		if [ -e k.stats.json ]; then
			"$CHECK" -q k.stats.json >k.said 2>&1 || complain "$1: a partial k.stats.json: $(cat k.said)"
			wholes[$mode]=$((${wholes[$mode]:-0} + 1))
		elif [ -s k.stats.json.part ]; then
			"$CHECK" --repair -o mended.stats.json k.stats.json.part >k.said 2>&1
			[ $? = 3 ] || grep -q 'no whole snapshot' k.said || complain "$1: --repair: $(cat k.said)"
			mends[$mode]=$((${mends[$mode]:-0} + 1))
			rm -f mended.stats.json
		else
			nones[$mode]=$((${nones[$mode]:-0} + 1))
		fi
		return
	fi
	find k -path '*/loom.*' -name stream.json 2>/dev/null | sed 's|/loom\..*||' | sort -u >traces
	[ -s traces ] || nones[$mode]=$((${nones[$mode]:-0} + 1))
	while read -r trace; do
		look "$trace" "$1"
		if [ -e "$trace/thread.prv" ]; then
			"$EMULATOR" -q -o emulated "$trace" || complain "$1: the emulated trace is refused"
			for stream in thread.prv cpu.prv; do
				# a file without a first line, or without its duration, does not look whole
				[ -e "$trace/$stream" ] && head -n 1 "$trace/$stream" | grep -q '_ns:.*)$' &&
					! head -n 1 "$trace/$stream" | grep -q ':0*_ns:' || continue
				cmp <(sed '1s/([^)]*)//' "$trace/$stream") <(sed '1s/([^)]*)//' emulated/$stream) ||
					complain "$1: a partial $stream: $(head -n 1 "$trace/$stream"), $(stat -c %s "$trace/$stream" emulated/$stream | xargs)"
			done
			rm -rf emulated
		fi
	done <traces
}

next() { # TEXT
	local status=0
	start "" $mode --force
	drive $mode $recorder
	wait $recorder || status=$?
	[ $status = 0 ] || complain "$1: the next recorder: status $status: $(tail -n 3 k.log)"
	find k k.stats.json* -name '*.part' -o -name '.next' 2>/dev/null >left
	[ ! -s left ] || complain "$1: the next recorder leaves $(cat left)"
	for trace in k k/0*; do
		[ $mode != summary ] || trace=k.stats.json
		[ -d "$trace/loom.$(hostname)" ] || [ $mode = summary ] || ls -d "$trace"/loom.* >/dev/null 2>&1 || continue
		"$CHECK" -q "$trace" >k.said 2>&1 || complain "$1: the next trace: $(tail -n 3 k.said)"
	done
}

"$WORKLOADS/switcher" -n 1 -u 4000000000 >/dev/null 2>&1 &
target=$!
trap 'kill $target' EXIT
for mode in "${modes[@]}"; do # without a kill: the acts, and the usual time
	rm -rf k* count
	began=$(date +%s%N)
	start "LD_PRELOAD=$faults FAULT_PROGRAM=ovni-bpf FAULT_KIND=files FAULT_AT=0 FAULT_COUNT=$PWD/count" $mode
	drive $mode $recorder
	wait $recorder || complain "$mode without a kill: $(cat k.log)"
	usual[$mode]=$((($(date +%s%N) - began) / 1000))
	acts[$mode]=$(cat count)
	echo "$mode: ${acts[$mode]} acts on files in $((${usual[$mode]} / 1000)) ms"
done
done=0
for ((point = 0; done < KILLS && point < 3 * KILLS && wrong < 10; point++)); do
	mode=${modes[point % ${#modes[@]}]}
	usec=$(((RANDOM * 32768 + RANDOM) % usual[$mode]))
	act=$(((RANDOM * 32768 + RANDOM) % acts[$mode] + 1))
	rm -rf k*
	case $((point / ${#modes[@]} % 3)) in
	0)
		text="$mode, $usec us after its start"
		start "" $mode
		drive $mode $recorder &
		driver=$!
		sleep "$(printf '%d.%06d' $((usec / 1000000)) $((usec % 1000000)))"
		;;
	1)
		usec=$((usec / 2))
		text="$mode, $usec us after the recording began"
		start "" $mode
		drive $mode $recorder &
		driver=$!
		wait_until recording k $recorder
		sleep "$(printf '%d.%06d' $((usec / 1000000)) $((usec % 1000000)))"
		;;
	2)
		text="$mode, before act $act"
		start "LD_PRELOAD=$faults FAULT_PROGRAM=ovni-bpf FAULT_KIND=files FAULT_ERROR=kill FAULT_AT=$act" $mode
		drive $mode $recorder &
		driver=$!
		;;
	esac
	{
		[ $((point / ${#modes[@]} % 3)) = 2 ] || kill -KILL $recorder
		wait $recorder
		status=$?
		wait $driver
	} 2>/dev/null
	text="kill $point ($text)"
	if [ $status = 137 ]; then
		done=$((done + 1))
		kills[$mode]=$((${kills[$mode]:-0} + 1))
	elif [ $status != 0 ]; then
		complain "$text: status $status: $(tail -n 3 k.log)"
	fi
	after "$text"
	[ $((point % 2)) = 0 ] || next "$text"
done
mended=0 # of a few kills of one mode perhaps none
for mode in "${modes[@]}"; do
	mended=$((mended + ${mends[$mode]:-0}))
	echo "$mode: ${kills[$mode]:-0} kills: ${mends[$mode]:-0} mended, ${wholes[$mode]:-0} complete, ${nones[$mode]:-0} without a stream"
done
expect "some were mended" [ $mended -gt 0 ]
echo "$done kills, $wrong wrong"
expect "all kills" [ $done = "$KILLS" ]
finish
