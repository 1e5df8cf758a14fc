#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Pallas archives, written and read: events per second, bytes per event, peak memory. The workloads are
# described in pallas.c; gaps are drawn evenly from 1 to 1000 ns, compression is zstd. Twice the
# events have to take twice the time.
#
#   tests/bench/pallas.sh BUILD [EVENTS] [SEED]
set -eu
cd "$(dirname "$0")/../.."
B=${1:-build} events=${2:-10000000} seed=${3:-1}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/pallas-bench.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
pallas=$B/bin/ovni-pallas

size() { find "$1" -type f -printf '%s\n' | awk '{ s += $1 } END { print s }'; }
seconds() { # COMMAND...: wall-clock time of it
	local start end
	start=$(date +%s%N)
	"$@" >/dev/null
	end=$(date +%s%N)
	awk "BEGIN { print ($end - $start) / 1e9 }"
}

for load in nested flat irregular tree; do
	n=$events
	[ $load = tree ] && n=$((events / 10))
	for times in 1 2; do
		rm -rf "$scratch/a"
		"$B/tests/bench/pallas" $load $((n * times)) "$scratch/a" "$seed"
		awk "BEGIN { printf \"  %.2f bytes/event\\n\", $(size "$scratch/a") / ($n * $times) }"
	done
	rm -rf "$scratch/a"
	"$B/tests/bench/pallas" $load "$n" "$scratch/a" "$seed" >/dev/null
	t=$(seconds "$pallas" print "$scratch/a")
	awk "BEGIN { printf \"  print: %.2f s, %.1f M events/s\\n\", $t, $n / $t / 1e6 }"
	printf '  stats: %s s of %s bytes of thread.pallas\n' "$(seconds "$pallas" stats "$scratch/a")" \
		"$(stat -c %s "$scratch/a/archive_0/thread_0/thread.pallas")"
	"$pallas" check "$scratch/a"
done
