#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-view on 10 million events of 64 and of 10,000 threads: time against ovni-emu -j1, memory, size; how fast a headless
# Chromium opens and draws the page; ovni-report and the file for Perfetto of the same traces:
# tests/bench/view.sh [BUILD [EVENTS [ROUNDS]]]. Four minutes on a quiet machine.
#
# The table at the end has each bound of view.md 7 and of the issues See and Answers, what was measured, and "no" where it
# is missed. Times are medians of the rounds, in which the programs take turns; a ratio is the median of the rounds' ratios.
set -eu
cd "$(dirname "$0")/../.."
B=$(realpath "${1:-build}")
events=${2:-10000000} rounds=${3:-3}
T=$(mktemp -d "${SHM:-/dev/shm}/view-bench.XXXXXX")
trap 'rm -rf "$T"' EXIT
make -s "B=$B" "$B/bin/ovni-emu" "$B/bin/ovni-view" "$B/bin/ovni-top" "$B/bin/ovni-report" "$B/bin/ovni-export" "$B/tests/bench/generate"

measured() { # NAME COMMAND...: prints, and appends to $T/NAME: seconds, seconds of CPU, MiB
	local name=$1 line
	shift
	line=$(python3 tests/bench/measured.py "$@")
	printf '%-6s %-22s %s\n' $kind "$name" "$line"
	echo "$line" | tr -d ,a-zA-Z >>"$T/$kind.$name"
}
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
of() { awk -v c="$2" '{ print $c }' "$T/$kind.$1" | median; }
most() { awk '{ print $3 }' "$T/$kind.$1" | sort -n | tail -n 1; }
row() { # WHAT VALUE UNIT BOUND
	printf '%-8s %-44s %10s %-9s %10s  %s\n' "$threads" "$1" "$2" "$3" "$4" \
		"$(awk -v v="$2" -v b="$4" 'BEGIN { print v <= b ? "yes" : "no" }')" >>"$T/table"
}

for kind in sched wide; do
	[ $kind = wide ] && threads=10,000 || threads=64
	"$B/tests/bench/generate" $kind "$events" "$T/$kind" >/dev/null
	for ((i = 0; i < rounds; i++)); do
		measured emu "$B/bin/ovni-emu" -q -j1 -o "$T/out" "$T/$kind"
		measured view "$B/bin/ovni-view" -o "$T/$kind.html" "$T/$kind"
		measured no-findings "$B/bin/ovni-view" --no-findings -o "$T/short.html" "$T/$kind"
		measured report "$B/bin/ovni-report" "$T/$kind"
		rm -rf "$T/out"
	done
	measured perfetto "$B/bin/ovni-export" --perfetto -o "$T/$kind.pftrace" "$T/$kind"
	# a thread leaves its CPU once for each OHp and OHe
	leaves=$("$B/bin/ovni-top" "$T/$kind" 2>/dev/null | awk '$1 == "OHp" || $1 == "OHe" { n += $2 } END { print n }')
	row "page with findings / ovni-emu -j1, time" "$(paste "$T/$kind.view" "$T/$kind.emu" | awk '{ printf "%.2f\n", $1 / $4 }' | median)" "" 1
	row "the same, CPU (two threads)" "$(paste "$T/$kind.view" "$T/$kind.emu" | awk '{ printf "%.2f\n", $2 / $5 }' | median)" "" 2
	row "page without findings / ovni-emu -j1" "$(paste "$T/$kind.no-findings" "$T/$kind.emu" | awk '{ printf "%.2f\n", $1 / $4 }' | median)" "" 1
	row "memory of ovni-view" "$(most view)" MiB 512
	row "page, for each run" "$(awk -v b="$(stat -c %s "$T/$kind.html")" -v n="$leaves" 'BEGIN { printf "%.2f", b / n }')" bytes 8
	row "Perfetto, for each run with its wake-up" "$(awk -v b="$(stat -c %s "$T/$kind.pftrace")" -v n="$leaves" 'BEGIN { printf "%.2f", b / n }')" bytes 17
	row "ovni-report" "$(of report 1)" s 3
	row "memory of ovni-report" "$(most report)" MiB 256
	if command -v chromium >/dev/null && command -v chromedriver >/dev/null; then
		mkdir "$T/browser.$kind"
		python3 -B tests/bench/view.py "$T/$kind.html" "$T/browser.$kind" | tee "$T/browser"
		read -r _ ready frame worst renderer errors < <(tail -n 1 "$T/browser")
		row "the page opens" "$ready" ms 3000
		row "a frame, median of the slowest zoom" "$frame" ms 33
		row "a frame, 95th of 100" "$worst" ms 33.4 # two frames of the screen
		row "memory of the renderer" "$renderer" MiB 700
		row "errors in the console" "$errors" "" 0
	else
		echo "no chromium or no chromedriver: opening and drawing are not measured"
	fi
	rm -rf "${T:?}/$kind"
done
printf '\n%-8s %-44s %10s %-9s %10s  %s\n' threads what measured unit bound met
cat "$T/table"
