#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The recorder is killed (SIGKILL): before its acts on files, in the middle of its writes, and at
# CRASH_POINTS random moments. It leaves no trace, or one that ovni-check --repair mends; the mended
# trace is accepted by strict emulation and never claims to be complete; no program, no probe, no
# map and no pinned object is left; the traced program notices nothing. Events older than a
# --flush-interval are there.
# needs: root early
# longer: each act and each write, not every third; 100 random moments, not 12
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"
set -o pipefail

POINTS=${CRASH_POINTS:-$(longer 100 12)}
STEP=$(longer 1 3)
SEED=${CRASH_SEED:-$RANDOM}
faults=$B/tests/faults/faults.so
CHECK=$B/bin/ovni-check
RANDOM=$SEED
mended=0 none=0 whole=0

# The trace NAME after a kill. A trace that was finished before the kill may be complete.
look() { # NAME TEXT
	local name=$1 text=$2
	if [ -z "$(find "$name" -name stream.json 2>/dev/null | head -n 1)" ]; then
		none=$((none + 1))
		return
	fi
	rm -rf "$name.repaired"
	if "$CHECK" "$name" >"$name.before" 2>&1; then
		# Only a trace with the account of the session may be called complete.
		grep -rqs '"t1"' "$name" --include=stream.json ||
			complain "$text: taken for complete, and nothing tells what was lost"
		whole=$((whole + 1))
		return
	fi
	"$CHECK" --repair "$name" >"$name.said" 2>&1
	status=$?
	[ $status = 3 ] ||
		complain "$text: --repair: status $status: $(tail -n 5 "$name.said")"
	grep -q '^valid, but incomplete' "$name.said" ||
		complain "$text: mended, and not called incomplete: $(tail -n 2 "$name.said")"
	judge "$name.repaired"
	mended=$((mended + 1))
}

# 1. Before acts, and in the middle of writes.
workload=("$WORKLOADS/sleepers" -n 2 -s 8)
under() { # KIND ERROR AT NAME
	rm -rf "$4"*
	LD_PRELOAD=$faults FAULT_PROGRAM=ovni-bpf FAULT_KIND=$1 FAULT_ERROR=$2 FAULT_AT=$3 \
		FAULT_COUNT=$PWD/count "$RECORDER" -q --flush-interval 20ms -o "$4" -- \
		"${workload[@]}" >"$4.log"
}
export WORKLOAD_REPORT=$T/report
for fault in 'files kill' 'writes short'; do
	rm -f count
	# shellcheck disable=SC2086 # two words
	under $fault 0 counted 2>&1 || complain "without a fault: $(cat counted.log)"
	acts=$(cat count)
	expect "the acts are counted" [ "${acts:-0}" -gt 8 ]
	for ((at = 1; at <= acts; at += STEP)); do
		# shellcheck disable=SC2086 # two words
		under $fault $at point 2>/dev/null
		status=$?
		[ $status != 0 ] || continue # there was less to flush than the first time
		[ $status = 137 ] || complain "$fault at $at: status $status"
		look point "$fault at $at"
	done
	echo "$fault: at each ${STEP}th of $acts acts: $mended mended, $none without a stream, $whole complete"
	expect "some were mended" [ $mended -gt $((acts / STEP / 3)) ]
done

# 2. At random moments. The program is not ours to stop: it ends as if nobody had looked.
held_by() { # PID: the programs, probes (links) and maps that it holds, as "prog 12"
	cat /proc/"$1"/fdinfo/* 2>/dev/null | sed -nE 's/^(prog|link|map)_id:[[:blank:]]*/\1 /p' | sort -u
}
# Lists our objects in the kernel; fails if one disappears while bpftool runs, which then stops.
left_of() { # FILE
	local kind list
	for kind in prog link map; do
		list=$(PATH=$PATH:/usr/sbin:/sbin bpftool "$kind" list 2>/dev/null) || return 1
		sed -nE "s/^([0-9]+): .*/$kind \1/p" <<<"$list"
	done | sort | comm -12 "$1" -
}
gone() { left=$(left_of held) && [ -z "$left" ]; }
begun() { [ -d random ] || ended "$recorder"; }
pinned() { find /sys/fs/bpf -mindepth 1 2>/dev/null | sort; }
mended=0 none=0 whole=0 most=0
workload=("$WORKLOADS/sleepers" -n 2 -s 350)
pinned >pinned.before
for ((point = 1; point <= POINTS; point++)); do
	rm -rf random* report
	mkfifo random.gate
	WORKLOAD_GATE=$PWD/random.gate "${workload[@]}" >/dev/null 2>target.said &
	target=$!
	"$RECORDER" -q --flush-interval 10ms -o random -p $target >random.log 2>&1 &
	recorder=$!
	# one in four at any time from the start; the others once there is a directory to write to
	usec=$((RANDOM * 5)) # up to 164 ms
	[ $((point % 4)) = 0 ] || wait_until begun || complain "point $point: it does not begin"
	: >random.gate
	sleep "$(printf '0.%06d' $usec)"
	held_by $recorder >held
	n=$(wc -l <held)
	[ "$n" -le "$most" ] || { most=$n && cp held most.held; }
	kill -KILL $recorder 2>/dev/null
	wait $recorder 2>/dev/null
	wait_until gone || complain "point $point: left behind: $left"
	wait $target || complain "point $point: the program was harmed: $(cat target.said)"
	[ "$(grep -c 'sleeps=350' report)" = 2 ] || complain "point $point: the program has not done its work"
	look random "point $point (seed $SEED, after $usec us)"
	[ $wrong -lt 5 ] || break
done
pinned | diff pinned.before - || complain "something is left in /sys/fs/bpf"
echo "killed at $POINTS random points (seed $SEED): $mended mended, $none without a stream, $whole complete"
echo "of up to $most programs, probes and maps none was left"
expect "programs, probes and maps were held" [ "$(cut -d ' ' -f 1 most.held | sort -u | wc -l)" = 3 ]
expect "some were mended" [ $mended -gt $((POINTS / 8)) ]

# 3. Events older than an interval before the kill are there: a program that keeps running, a large
# buffer, and few events, so that only the interval causes writes. After two seconds the trace
# reaches to the last of them (50 ms, as long again until the disk has it, and more on a busy
# machine).
"$WORKLOADS/sleepers" -n 1 -s 2000 -u 10000 >/dev/null 2>&1 &
target=$!
"$RECORDER" -q --flush-interval 50ms -o flushed -p $target >flushed.log 2>&1 &
recorder=$!
written() { [ "$(find flushed -name stream.obs -size +0 -exec cat {} + 2>/dev/null | wc -c)" -gt 400 ]; }
wait_until written || complain "--flush-interval wrote nothing: $(cat flushed.log)"
sleep 2
read -r uptime _ </proc/uptime
{
	kill -KILL $recorder
	wait $recorder
} 2>/dev/null
kill $target
wait $target 2>/dev/null
look flushed "--flush-interval"
"$B/bin/ovni-dump" flushed.repaired >dump 2>/dev/null
expect "--flush-interval" [ "$(grep -c OHr dump)" -ge 5 ]
last=$(awk '$1 > last { last = $1 } END { print int(last / 1000000) }' dump)
age=$((${uptime/./}0 - last))
echo "--flush-interval 50ms: the last event is $age ms before the kill"
expect "it reaches to the last interval" [ $age -lt 1000 ]
finish
