#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Pallas archives, written and read: events per second, bytes per event, peak memory. The workloads are
# described in pallas.c; gaps are drawn evenly from 1 to 1000 ns, compression is zstd. Twice the
# events have to take twice the time. Where the library of Pallas is at hand ($ORACLES), both writers take the same events
# in turns, with zstd of level 1: ratios are medians of the pairs. That one is slow on loops, so these are fewer events.
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

library=${ORACLES:-../shared/oracles}/pallas/lib/libpallas.so
[ -f "$library" ] || { echo "no library of Pallas in ${ORACLES:-../shared/oracles}: not compared"; exit 0; }
cat >"$scratch/settings" <<'END'
compressionAlgorithm=ZSTD
encodingAlgorithm=None
loopFindingAlgorithm=BasicTruncated
maxLoopLength=100
zstdCompressionLevel=1
timestampStorageAlgorithm=Delta
END
export PALLAS_CONFIG_PATH=$scratch/settings
n=${PAIR_EVENTS:-100000}
printf '\n%-10s %8s %15s %15s %8s %15s %15s\n' "$n events" pairs "ours (M/s)" "Pallas (M/s)" faster "ours (bytes)" "Pallas (bytes)"
for load in nested flat irregular tree; do
	for pair in 1 2 3 4 5; do
		for writer in "" "$library"; do
			rm -rf "$scratch/a"
			"$B/tests/bench/pallas" $load "$n" "$scratch/a" "$seed" ${writer:+"$writer"} |
				sed -E 's/.*: ([0-9]+) events in ([0-9.]+) s: .*/\1 \2/' | tr '\n' ' '
			size "$scratch/a" | tr '\n' ' '
		done
		echo
	done | awk -v workload=$load '
		{ ratio[NR] = ($1 / $2) / ($4 / $5); ours[NR] = $1 / $2; theirs[NR] = $4 / $5; a = $3; b = $6 }
		function median(of, i, k, t) {
			for (i = 1; i <= NR; i++)
				for (k = i + 1; k <= NR; k++)
					if (of[k] < of[i]) { t = of[i]; of[i] = of[k]; of[k] = t }
			return of[int((NR + 1) / 2)]
		}
		END { printf "%-10s %8d %15.2f %15.2f %7.1fx %15d %15d\n", workload, NR, median(ours) / 1e6, median(theirs) / 1e6, median(ratio), a, b }'
done
