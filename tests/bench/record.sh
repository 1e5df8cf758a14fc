#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The cost of recording, beside other tracers.
#
#   tests/bench/record.sh BUILD      knobs: ROUNDS=5 SECONDS_EACH=3 TRACERS="none ours ..."
#
# Two loads: a ping-pong of two threads pinned to one CPU, with the tracer kept on another
# (ns of CPU time added to a switch; nothing else of the machine is in it), and `sysbench threads` with four threads on the whole machine
# (work left). Rounds are interleaved, A B C A B C, and each is compared with the
# run without a tracer of the same round; medians are shown. Every tracer records
# switches and wake-ups of the whole machine. What is not installed is said to be missing.
# At the end: the run-time statistics of each of our programs in the kernel.
set -u
cd "$(dirname "$0")/../.." || exit 1
if [ "$(id -u)" != 0 ]; then
	echo "bench: needs root"
	exit 1
fi
# tracefs for ourselves alone: perf and bpftrace want it mounted.
if [ "${BENCH_MOUNTS:-}" != private ]; then
	BENCH_MOUNTS=private exec unshare --mount "$0" "$@"
fi
mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null
TRACEFS=/sys/kernel/tracing
[ -e $TRACEFS/trace_clock ] || { echo "bench: no tracefs"; exit 1; }

B=$(realpath "${1:-build}")
ROUNDS=${ROUNDS:-5}
SECONDS_EACH=${SECONDS_EACH:-3}
LOAD_CPU=0
TRACER_CPU=1
[ "$(nproc)" -gt 1 ] || { echo "bench: needs two CPUs"; exit 1; }

D=$(mktemp -d "${TMPDIR:-/tmp}/ovni-bench.XXXXXX") || exit 1
INSTANCE=$TRACEFS/instances/ovni-bench-$$
tracer=
pin=()
cleanup() {
	[ -z "$tracer" ] || kill "$tracer" 2>/dev/null
	[ ! -d "$INSTANCE" ] || { stop_ftrace; }
	rm -rf "$D"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

wait_for() { # COMMAND...: until it succeeds, 10 s at most
	local i
	for ((i = 0; i < 500; i++)); do
		"$@" && return
		sleep 0.02
	done
	return 1
}

finish_tracer() {
	kill -INT "$tracer" && wait "$tracer" 2>/dev/null
	tracer=
}

# ---- the tracers: have_X (is it here?), start_X (returns once it records), stop_X --------------

have_none() { true; }
start_none() { :; }
stop_none() { :; }

have_ours() { [ -x "$B/bin/ovni-bpf" ]; }
start_ours() {
	"${pin[@]}" "$B/bin/ovni-bpf" -a -o "$D/out" >"$D/log" 2>&1 &
	tracer=$!
	wait_for grep -q 'recording' "$D/log"
}
stop_ours() { finish_tracer; }

have_summary() { have_ours; }
start_summary() {
	mkdir "$D/out"
	"${pin[@]}" "$B/bin/ovni-bpf" --mode summary -a -o "$D/out/run" >"$D/log" 2>&1 &
	tracer=$!
	wait_for grep -q 'recording' "$D/log"
}
stop_summary() { finish_tracer; }

have_flight() { have_ours; }
start_flight() { # its memory holds all of the load: what is measured is keeping, not saving
	"${pin[@]}" "$B/bin/ovni-bpf" -a --last 1min,256M -o "$D/out" >"$D/log" 2>&1 &
	tracer=$!
	wait_for grep -q 'recording' "$D/log"
}
stop_flight() { finish_tracer; }

have_ftrace() { [ -d $TRACEFS/instances ]; }
start_ftrace() {
	local cpu
	mkdir "$INSTANCE" "$D/out" || return
	echo mono >"$INSTANCE/trace_clock"
	echo 4096 >"$INSTANCE/buffer_size_kb"
	readers=()
	for cpu in "$INSTANCE"/per_cpu/cpu*; do
		"${pin[@]}" cat "$cpu/trace_pipe_raw" >"$D/out/${cpu##*/}" 2>/dev/null &
		readers+=($!)
	done
	echo 1 >"$INSTANCE/events/sched/sched_switch/enable"
	echo 1 >"$INSTANCE/events/sched/sched_wakeup/enable"
}
stop_ftrace() {
	echo 0 >"$INSTANCE/tracing_on"
	lost=$(cat "$INSTANCE"/per_cpu/cpu*/stats | awk '/overrun|dropped/ { n += $NF } END { print n }')
	kill "${readers[@]}" 2>/dev/null
	wait "${readers[@]}" 2>/dev/null
	wait_for rmdir "$INSTANCE" 2>/dev/null
}

have_perf() { command -v perf >/dev/null && perf --version >/dev/null 2>&1; }
start_perf() {
	mkdir "$D/out"
	"${pin[@]}" perf record -q -o "$D/out/data" -a -e sched:sched_switch -e sched:sched_wakeup \
		>"$D/log" 2>&1 &
	tracer=$!
	wait_for test -s "$D/out/data" && sleep 0.3
}
stop_perf() { finish_tracer; }

have_perf_sched() { have_perf; }
start_perf_sched() {
	mkdir "$D/out"
	"${pin[@]}" perf sched record -q -o "$D/out/data" >"$D/log" 2>&1 &
	tracer=$!
	wait_for test -s "$D/out/data" && sleep 0.3
}
stop_perf_sched() { finish_tracer; }

have_bpftrace() { command -v bpftrace >/dev/null; }
start_bpftrace() {
	mkdir "$D/out"
	"${pin[@]}" bpftrace -o "$D/out/data" -e "$1" >"$D/log" 2>&1 &
	tracer=$!
	wait_for grep -q Attaching "$D/out/data" "$D/log" 2>/dev/null && sleep 0.5
}

have_bpftrace_count() { have_bpftrace; }
start_bpftrace_count() {
	start_bpftrace 'tracepoint:sched:sched_switch, tracepoint:sched:sched_wakeup
		{ @[probe] = count(); }'
}
stop_bpftrace_count() { finish_tracer; }

have_bpftrace_printf() { have_bpftrace; }
start_bpftrace_printf() {
	start_bpftrace 'tracepoint:sched:sched_switch { printf("%llu s %d %d\n", nsecs,
		args->prev_pid, args->next_pid); }
		tracepoint:sched:sched_wakeup { printf("%llu w %d\n", nsecs, args->pid); }'
}
stop_bpftrace_printf() { finish_tracer; }

# ---- the loads: each prints one number ---------------------------------------------------------

have_pingpong() { [ -x "$B/tests/workloads/pingpong" ]; }
run_pingpong() { # ns of CPU time for a pass, which is a switch
	local rounds=$((SECONDS_EACH * 50000))
	"$B/tests/workloads/pingpong" -a $LOAD_CPU -b $LOAD_CPU -w 20000 -n $rounds |
		sed -n 's/.*cpu_ns_per_pass=//p'
}

have_sysbench() { command -v sysbench >/dev/null; }
run_sysbench() { # events a second
	sysbench threads --threads=4 --time="$SECONDS_EACH" run |
		awk '/total time:/ { t = $NF + 0 } /total number of events:/ { n = $NF }
		     END { if (t) printf "%.1f\n", n / t }'
}

# ---- the rounds --------------------------------------------------------------------------------

load=$(cut -d ' ' -f 1 /proc/loadavg)
awk -v busy="$load" 'BEGIN { exit busy < 0.7 }' &&
	echo "bench: the machine is busy (load $load): what sysbench shows means little"

tracers=()
for t in ${TRACERS:-none ours summary flight ftrace perf perf_sched bpftrace_count bpftrace_printf}; do
	if "have_$t"; then tracers+=("$t"); else echo "bench: $t is missing: left out"; fi
done
loads=()
for l in pingpong sysbench; do
	if "have_$l"; then loads+=("$l"); else echo "bench: $l is missing: left out"; fi
done

: >"$D/results"
for load in "${loads[@]}"; do
	pin=()
	[ "$load" = pingpong ] && pin=(taskset -c "$TRACER_CPU")
	for ((round = 1; round <= ROUNDS; round++)); do
		for t in "${tracers[@]}"; do
			[ -t 2 ] && printf '\r%s: round %d of %d, %-16s' "$load" $round "$ROUNDS" "$t" >&2
			lost=0
			rm -rf "$D/out" "$D/log"
			"start_$t" || { echo "bench: $t does not start:"; tail -n 3 "$D/log"; exit 1; }
			value=$("run_$load")
			"stop_$t"
			bytes=$(du -sb "$D/out" 2>/dev/null | cut -f 1)
			[[ $t == ours || $t == flight ]] && lost=$(sed -nE 's/.*\blost[= ]([0-9]+).*/\1/p' "$D/log" | tail -n 1)
			echo "$load $t $round ${value:-0} ${bytes:-0} ${lost:-0}" >>"$D/results"
		done
	done
done
[ -t 2 ] && printf '\r%60s\r' '' >&2
python3 tests/bench/table.py "$D/results" || exit 1

# ---- the cost of our programs by the kernel's count --------------------------------------------

if have_ours && [ -x "$B/tests/bench/bpfstats" ]; then
	rm -rf "$D/out" "$D/log"
	pin=(taskset -c "$TRACER_CPU")
	"$B/tests/bench/bpfstats" >"$D/stats" &
	stats=$!
	sleep 0.1
	start_ours
	run_pingpong >/dev/null
	kill -INT $stats
	wait $stats
	stop_ours
	echo
	cat "$D/stats"
fi

echo
echo "versions"
uname -srm
"$B/bin/ovni-bpf" --version 2>/dev/null | head -n 1
have_perf && perf --version
have_bpftrace && bpftrace --version
have_sysbench && sysbench --version
echo "$(nproc) CPUs: $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)"
