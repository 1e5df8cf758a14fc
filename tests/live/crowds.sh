#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Crowds, with the default buffer: 20,000 threads that live, nearly all of them asleep while some wake up
# again and again; many thousands of processes that live a moment; and minutes of switches, as fast as two threads can
# make them, in a rotation. The recording starts soon, and the memory of the recorder follows the threads,
# not the time. Nothing is lost where the machine gives the recorder a CPU in time: of 1,000 events at most
# one may be lost, and is reported.
#
# PROCESSES (30000) and SECONDS_LONG (60) change how many and how long; CROWDS has the parts to run.
# needs: root alone
# long: it takes minutes
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

needs_room_for_threads 24000 ovni-crowds
crowd=
clean_up() {
	[ -z "$crowd" ] || kill -KILL "$crowd" 2>/dev/null
	rm -rf "$shm"
}
trap clean_up EXIT

now_ms() { echo $(($(date +%s%N) / 1000000)); }
memory_kib() { sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$1/status"; }
figure() { # NAME: of the last line, FILE
	sed -n "s/^ovni-bpf: recorded .* $1=\([0-9]*\).*/\1/p" "$2"
}
hardly_any_lost() { # NAME, STATUS of the recorder
	local lost records
	lost=$(figure lost "$1.log")
	records=$(figure records "$1.log")
	if [ "$lost" = 0 ]; then
		[ "$2" = 0 ] || complain "$1: status $2: $(tail -n 3 "$1.log")"
		return
	fi
	echo "$1: $lost events lost beside $records records"
	[ "$2" = 3 ] || complain "$1: status $2: $(tail -n 3 "$1.log")"
	[ $((lost * 1000)) -le "$records" ] || complain "$1: $lost events are lost: $(tail -n 3 "$1.log")"
}
start() { # NAME OPTION...: leaves $recorder, and $started, ms
	local before
	before=$(now_ms)
	"$RECORDER" -o "$shm/$1" "${@:2}" >"$1.log" 2>&1 &
	recorder=$!
	wait_recording "$1" $recorder
	started=$(($(now_ms) - before))
}
stop() { # NAME
	kill -INT $recorder
	status=0
	wait "$recorder" || status=$?
	hardly_any_lost "$1" "$status"
}

# How soon a recording starts without the crowd, and what it needs.
start alone -a
alone_ms=$started
"$WORKLOADS/sleepers" -n 50 -s 50 >/dev/null
alone_kib=$(memory_kib "$recorder")
stop alone

# With the crowd, which sleeps until it is killed: all threads of the machine, then those of the crowd.
asleep() {
	"$WORKLOADS/sleepers" -n 20000 -s 1 -u 1000000000 >/dev/null &
	crowd=$!
	wait_until has_threads "$crowd" 20001 || complain "the crowd has not come: $(find "/proc/$crowd/task" -maxdepth 1 | wc -l)"
	for way in "all -a" "process -p $crowd" "streams -a --all-threads"; do
		read -r name options <<<"$way"
		# shellcheck disable=SC2086 # several words
		start "$name" $options
		"$WORKLOADS/sleepers" -n 50 -s 200 >"$name.report"
		kib=$(memory_kib "$recorder")
		stop "$name"
		echo "$name: recording after $started ms (alone $alone_ms), $(((kib - alone_kib) * 1024 / 20000)) bytes a thread"
		expect "$name: the recording starts within 2 s" [ "$started" -lt $((2000 + 3 * alone_ms)) ]
		expect "$name: a thread needs less than 4 KiB" [ $(((kib - alone_kib) / 20000)) -lt 4 ]
		judge "$shm/$name"
	done
	expect "each of the crowd has a stream" \
		[ "$(find "$shm/streams/loom.$(uname -n)/proc.$crowd" -name stream.json | wc -l)" = 20001 ]
	kill -KILL "$crowd"
	wait "$crowd" 2>/dev/null
	crowd=
}

# Processes that live a moment.
processes() {
	local processes=${PROCESSES:-30000}
	start short -a
	WORKLOAD_REPORT=$T/short.report "$WORKLOADS/processes" -n "$processes" -j 16 -x 0 || complain "short: the processes failed"
	kib=$(memory_kib "$recorder")
	stop short
	echo "$processes processes: $(((kib - alone_kib) * 1024 / processes)) bytes a process"
	expect "a process that has ended needs less than 4 KiB" [ $(((kib - alone_kib) / processes)) -lt 4 ]
	[ "$(figure lost short.log)" = 0 ] || return
	python3 - "$shm/short" short.report <<'E' || complain "short: processes"
import os
import sys
pids = [int(w[4:]) for line in open(sys.argv[2]) for w in line.split() if w.startswith("pid=") and "child=" in line]
have = {int(d[5:]) for loom in os.scandir(sys.argv[1]) if loom.is_dir()
        for d in os.listdir(loom.path) if d.startswith("proc.")}
missing = set(pids) - have
print(len(pids), "processes,", len(set(pids)), "process ids,", len(missing), "of them missing in the trace")
sys.exit(bool(missing) or not pids)
E
}

# Minutes of switches.
minutes() {
	local seconds=${SECONDS_LONG:-60} load threads least=999999999 most=0 part
	start minutes -a -d "${seconds}s" --rotate 5s --keep 2
	timeout "$seconds" "$WORKLOADS/pingpong" -n 1000000000 -a -1 -b -1 >/dev/null &
	load=$!
	for ((i = 0; i < seconds - 2; i++)); do
		sleep 1
		ended "$recorder" && break
		[ "$i" -ge 15 ] || continue # until each kind of buffer was used once
		kib=$(memory_kib "$recorder")
		[ "${kib:-$least}" -ge "$least" ] || least=$kib
		[ "${kib:-0}" -le "$most" ] || most=$kib
	done
	wait "$load"
	status=0
	wait "$recorder" || status=$?
	hardly_any_lost minutes "$status"
	grep -E 'switches|events=' minutes.log | tail -n 3
	threads=$(grep -o '"scope": *"thread"' "$shm/minutes/stats.json" | wc -l) # of a busy machine, many
	echo "$seconds s: memory between $least and $most KiB after 15 s, $threads threads"
	expect "memory is constant, but for the threads" [ $((most - least)) -lt $((16384 + threads)) ]
	for part in "$shm"/minutes/0*; do judge "$part"; done
}

for part in ${CROWDS:-asleep processes minutes}; do
	"$part"
	rm -rf "${shm:?}"/*
done
finish
