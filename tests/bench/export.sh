#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-export on 10 million events, of 64 threads and of 10,000: time against ovni-emu -j1, and memory, of --perfetto,
# --sqlite and --csv; size of the files, and bytes per switch with its wake-up:
# tests/bench/export.sh [BUILD [EVENTS [ROUNDS]]]
#
# Bounds: --perfetto is at least as fast as ovni-emu -j1; each within 512 MB; 17 bytes per switch.
set -eu
cd "$(dirname "$0")/../.."
B=$(realpath "${1:-build}")
events=${2:-10000000} rounds=${3:-3}
T=$(mktemp -d "${SHM:-/dev/shm}/export-bench.XXXXXX")
trap 'rm -rf "$T"' EXIT
make -s "B=$B" "$B/bin/ovni-emu" "$B/bin/ovni-export" "$B/tests/bench/generate"

measured() { python3 tests/bench/measured.py "$@"; }

for kind in sched wide; do
	"$B/tests/bench/generate" $kind "$events" "$T/$kind" >/dev/null
	for ((i = 0; i < rounds; i++)); do
		printf '%-6s %-24s %s\n' $kind "ovni-emu -j1" "$(measured "$B/bin/ovni-emu" -q -j1 -o "$T/out" "$T/$kind")"
		for format in perfetto sqlite csv; do
			rm -rf "$T/out"
			printf '%-6s %-24s %s, %s MB\n' $kind "ovni-export --$format" \
				"$(measured "$B/bin/ovni-export" -q --$format -o "$T/out" "$T/$kind")" "$(du -sm "$T/out" | cut -f1)"
		done
		rm -rf "$T/out"
	done
	switches=$("$B/bin/ovni-export" --perfetto -o "$T/file" "$T/$kind" 2>&1 | sed -n 's/.*: \([0-9]*\) switches.*/\1/p')
	bytes=$(stat -c %s "$T/file")
	awk -v k=$kind -v b="$bytes" -v n="$switches" 'BEGIN { printf "%-6s %.1f MB, %d switches, %.2f bytes each\n", k, b / 1e6, n, b / n }'
	rm -rf "${T:?}/$kind" "$T/file"
done
