#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A directory that holds several traces, as --rotate leaves it: every tool refuses it in one sentence
# that names the traces. One trace of several looms, of several processes, or with each loom in a
# directory of its own is no such directory.
set -eu
make_trace() { # DIR LOOM...: a trace of two processes in each loom
	local dir=$1 loom
	shift
	for loom; do
		printf 'thread %s %d %d\n1000 OHx i32:0 i32:-1 u64:0\n2000 OHe\n' "$loom" 1 1 "$loom" 2 2 |
			sed '5s/i32:0/i32:1/'
	done | python3 "$S/tests/golden/tools_make.py" "$dir"
}
wrong=0
refused() { # TEXT COMMAND...
	local text=$1 status=0
	shift
	"$B/bin/$1" "${@:2}" >out 2>&1 </dev/null || status=$?
	if [ $status != 1 ] || [ "$(grep -cF "$text" out)" != 1 ] || [ "$(grep -c error: out)" != 1 ]; then
		echo "$*: status $status: $(cat out)"
		wrong=1
	fi
	rm -rf new
}
for i in 1 2 3; do make_trace "r/000$i" n; done
all='r holds 3 traces; choose one of them: r/0001, r/0002, r/0003'
for report in latency preempt wake timehist cpu func flame; do refused "$all" ovni-report $report r; done
refused "$all" ovni-dump r
refused "$all" ovni-top r
refused "$all" ovni-view r
refused "$all" ovni-export --perfetto r
refused "$all" ovni-export --csv r
refused "$all" ovni-export --chrome r
refused "$all" ovni-sort r
refused "$all" ovni-sort -c r
refused "$all" ovni-check r
[ "$(cat out)" = "ovni-check: error: $all" ] || { cat out; wrong=1; } # and no verdict
refused "$all" ovni-check --repair r
refused "$all" ovni-info r
refused "$all" ovni-cut --from +1us -o new r
refused "$all" ovni-merge -o new r r/0001
refused "$all" ovni-merge -o new r/0001 r
refused "$all" ovni-convert -o new r
refused "$all" ovni-emu r
"$B/bin/ovni-emu" --compat r >out 2>&1 && { echo "--compat accepts a thread twice"; wrong=1; }
grep -q "holds 3 traces" out && { echo "--compat refuses what the reference reads"; wrong=1; }
refused "$all" ovni-pallas export r new
refused "$all" ovni-loom export -o new r

# With a slash, with a trace in the directory itself, and more than a screenful of them.
refused "$all" ovni-dump r/
make_trace r n
refused 'r holds 4 traces; choose one of them: r/0001, r/0002, r/0003, r/loom.n' ovni-dump r
"$B/bin/ovni-dump" r/loom.n >out || wrong=1
make_trace many/0101 n m
for i in $(seq 102 130); do cp -r many/0101 "many/0$i"; done
refused 'many/0120 and 10 more' ovni-dump many

# No such directories.
make_trace one a b
make_trace apart/x a
make_trace apart/y b
for trace in one apart r/0002 r/loom.n; do
	[ "$("$B/bin/ovni-dump" $trace | wc -l)" -ge 4 ] || { echo "$trace is refused"; wrong=1; }
done
"$B/bin/ovni-emu" apart >out 2>&1 || { cat out; wrong=1; }
exit $wrong
