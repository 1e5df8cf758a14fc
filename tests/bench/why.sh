#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The cost of --why and --counters at a switch, by the kernel's run-time statistics of our programs there (docs/spec/why.md E).
#
#   tests/bench/why.sh BUILD      knobs: ROUNDS=10 PASSES=100000 WHYS="none call lock ..."
#
# The ping-pong on one CPU, the recorder on another, through pipes and through mutexes, with each value of
# --why in turn. Both threads sleep at each switch, so the difference to --why=none is the cost at a sleep.
# The time of an empty program, which is that of the measurement, is taken off each program. Medians of the
# rounds, and of the differences to --why=none and to --why=call of the same round: each part but the counters
# has the calls, too. `copies` is stack=user as on kernels before 6.18 (tests/faults/btf.c).
# shellcheck disable=SC2054 # the commas are those of a list of events
set -u
cd "$(dirname "$0")/../.." || exit 1
[ "$(id -u)" = 0 ] || { echo "bench: needs root"; exit 1; }
[ "$(nproc)" -gt 1 ] || { echo "bench: needs two CPUs"; exit 1; }
B=$(realpath "${1:-build}")
D=$(mktemp -d "${TMPDIR:-/tmp}/ovni-bench.XXXXXX") || exit 1
trap 'rm -rf "$D"' EXIT

measure() { # LOAD ROUND WHAT OPTION...: appends the ns of a run of the programs at switches together
	local load=$1 round=$2 what=$3 options=(--why="$3") hide=()
	[ "$what" != counters ] || options=(--why=none --counters page-faults,task-clock)
	[ "$what" != copies ] || options=(--why=stack=user) hide=(env LD_PRELOAD="$B/tests/faults/btf.so"
		FAULT_BTF=bpf_task_work_schedule_resume=,bpf_task_work_schedule_resume_impl=)
	shift 3
	rm -f "$D/log"
	"$B/tests/bench/bpfstats" >"$D/stats" &
	local stats=$!
	taskset -c 1 "${hide[@]}" "$B/bin/ovni-bpf" "${options[@]}" -a --force -o "$D/out" >"$D/log" 2>&1 &
	local recorder=$!
	until grep -qs recording "$D/log"; do
		kill -0 $recorder 2>/dev/null || { cat "$D/log"; exit 1; }
		sleep 0.05
	done
	"$B/tests/workloads/pingpong" -a 0 -b 0 -n "${PASSES:-100000}" "$@" >/dev/null
	kill -INT $stats
	wait $stats
	kill -INT $recorder
	wait $recorder
	awk -v what="$load $round $what" -v passes="${PASSES:-100000}" '$1 == "empty" { empty = $3 }
		/switch|record_priority/ && $2 > passes { n++; ns += $3 }
		END { if (n && empty) print what, ns - n * empty, n, empty }' "$D/stats" >>"$D/results"
}

for ((round = 1; round <= ${ROUNDS:-10}; round++)); do
	for why in ${WHYS:-none call lock prio irq io stack=user copies counters}; do
		measure pipes $round $why
		measure mutexes $round $why -m 1
	done
done
python3 - "$D/results" <<'E'
import statistics, sys
results, empty = {}, []
for line in open(sys.argv[1], encoding="ascii"):
    load, turn, why, ns, programs, measurement = line.split()
    results.setdefault((load, why), {})[turn] = float(ns)
    empty.append(float(measurement))
print(f"an empty program, taken off each: {statistics.median(empty):.0f} ns")
print(f"{'ping-pong through':<18}{'--why':>9}{'ns':>8}{'more than none':>16}{'than call':>11}{'rounds':>8}")
for (load, why), values in sorted(results.items()):
    more = [statistics.median(v - results[load, base][t] for t, v in values.items() if t in results[load, base])
            for base in ("none", "call")]
    print(f"{load:<18}{why:>9}{statistics.median(values.values()):>8.0f}{more[0]:>16.1f}{more[1]:>11.1f}{len(values):>8}")
E
