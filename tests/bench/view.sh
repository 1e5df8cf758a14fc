#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-view on 10 million events: time against ovni-emu -j1, memory, size; then how fast a headless
# Chromium opens and draws the page: tests/bench/view.sh [BUILD [EVENTS [ROUNDS]]]
#
# Bounds (view.md 7): the writer, with findings, is at least as fast as ovni-emu -j1 and within 512 MB, 8 bytes of the
# page per run, opened within 3 s, 33 ms a frame.
set -eu
cd "$(dirname "$0")/../.."
B=$(realpath "${1:-build}")
events=${2:-10000000} rounds=${3:-3}
T=$(mktemp -d "${SHM:-/dev/shm}/view-bench.XXXXXX")
trap 'rm -rf "$T"' EXIT
make -s "B=$B" "$B/bin/ovni-emu" "$B/bin/ovni-view" "$B/bin/ovni-top" "$B/tests/bench/generate"

measured() { python3 tests/bench/measured.py "$@"; }

for kind in sched wide; do
	"$B/tests/bench/generate" $kind "$events" "$T/$kind" >/dev/null
	for ((i = 0; i < rounds; i++)); do
		printf '%-6s ovni-emu -j1  %s\n' $kind "$(measured "$B/bin/ovni-emu" -q -j1 -o "$T/out" "$T/$kind")"
		printf '%-6s without findings %s\n' $kind "$(measured "$B/bin/ovni-view" --no-findings -o "$T/$kind.html" "$T/$kind")"
		printf '%-6s ovni-view     %s\n' $kind "$(measured "$B/bin/ovni-view" -o "$T/$kind.html" "$T/$kind")"
		rm -rf "$T/out"
	done
	# a thread leaves its CPU once for each OHp and OHe
	leaves=$("$B/bin/ovni-top" "$T/$kind" 2>/dev/null | awk '$1 == "OHp" || $1 == "OHe" { n += $2 } END { print n }')
	bytes=$(stat -c %s "$T/$kind.html")
	awk -v k=$kind -v b="$bytes" -v n="$leaves" 'BEGIN {
		printf "%-6s %.1f MB, %d runs, %.2f bytes a run\n", k, b / 1e6, n, b / n }'
	if command -v chromium >/dev/null && command -v chromedriver >/dev/null; then
		mkdir "$T/browser.$kind"
		python3 -B tests/bench/view.py "$T/$kind.html" "$T/browser.$kind"
	else
		echo "no chromium or no chromedriver: opening and drawing are not measured"
	fi
	rm -rf "${T:?}/$kind"
done
