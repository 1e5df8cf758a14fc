#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Clocks of nodes that run apart: ovni-report, ovni-view, ovni-export, the library and ovni-emu make the same of a trace
# whose nodes are 1000 s and 50 ppm apart, with its clock-offsets.txt, as of the trace on one clock: byte for byte. So do
# selections by time and the traces of ovni-cut. Without the table they differ, and the programs say that it is missing.
# longer: more random traces
set -eu
. "$S/tests/golden/tools_lib.sh"
cd "$T"
export PYTHONDONTWRITEBYTECODE=1

# both NAME COMMAND...: runs the command in both directories, and compares what it prints
both() {
	local name=$1 kind
	shift
	for kind in same apart; do
		(cd "$T/$kind" && "$@" >"../$kind.out" 2>"../$kind.said") || [ $? = 3 ] || fail "$name of the trace '$kind': $(cat "$T/$kind.said")"
	done
	[ -s same.out ] || fail "$name prints nothing"
	cmp -s same.out apart.out || { diff same.out apart.out | head -20; fail "$name differs"; }
	compared=$((compared + 1))
}
to_stdout() { # FILE COMMAND...
	local file=$1
	shift
	rm -rf "$file"
	"$@" || [ $? = 3 ] || return 1
	cat "$file"
}
compared=0
bin=$B/bin
for seed in $(seq "${SEED:-1}" $((${SEED:-1} + $([ "$LONG" ] && echo 9 || echo 1)))); do
	python3 "$S/tests/golden/clocks_apart.py" "$T" "$seed"
	for words in latency preempt wake why "why --by process" blocked locks efficiency timehist timeline cpu func flame messages overview \
		"latency --json" "latency --histogram" "wake --period" "critical --tid 20" "critical --tid 30 --sum" "efficiency --json" \
		"efficiency --phase collectives" "efficiency --every 5ms" "timehist --tid 21" "timehist --from +10ms --to +20ms" \
		"overview --json" "overview --from +10ms --to +20ms" "timeline --from +1ms --to +3ms" \
		"why --from 5000020000000 --to 5000030000000"; do
		# shellcheck disable=SC2086 # a list of words
		both "ovni-report $words" "$bin/ovni-report" $words t
	done
	both "ovni-export --perfetto" to_stdout out "$bin/ovni-export" -q --perfetto -o out t
	both "ovni-export --chrome" to_stdout out "$bin/ovni-export" -q --chrome -o out t
	both "ovni-export --csv" bash -c "rm -rf out && '$bin/ovni-export' -q --csv -o out t || [ \$? = 3 ] && cat out/*"
	both "ovni-view" to_stdout out "$bin/ovni-view" -q -o out t
	both "ovni-emu" bash -c "rm -rf out && '$bin/ovni-emu' -q --critical 30 --arrows -o out t || [ \$? = 3 ] && cat out/*.prv"
	nm "$B/libovni-trace.a" | grep -q __asan || both "the library" env PYTHONPATH="$S/trace/lib" OVNI_TRACE_LIBRARY="$B/libovni-trace.so.1" python3 -c '
import ovni_trace
with ovni_trace.open("t") as trace:
    for one in list(trace.events()) + list(trace.intervals(calls=True)):
        print(one)'
done

# Without the table the clocks count as equal, which a warning says.
rm apart/t/clock-offsets.txt
"$bin/ovni-report" latency apart/t >got 2>said || [ $? = 3 ] || fail "latency without a table"
grep -q '3 looms without a table of clock offsets: treating their clocks as equal' said || fail "a missing table is not said"
"$bin/ovni-report" latency same/t 2>said | cmp -s - got && fail "the table changes nothing"
grep -q 'table of clock offsets' said && fail "a table is called missing"

# A table that is damaged, or has a host without a loom, is an error of each program.
for wrong in 'rank\n0 a x 0 0\n' 'rank\n0 z 1 0 0\n'; do
	printf '%b' "$wrong" >apart/t/clock-offsets.txt
	for words in ovni-report "ovni-view -o page" "ovni-export --csv -o out"; do
		read -ra words <<<"$words"
		"$bin/${words[0]}" "${words[@]:1}" apart/t >got 2>&1 && fail "${words[0]} takes a wrong table"
		grep -q 'clock-offsets.txt: line 2' got || fail "${words[0]} does not say what is wrong"
	done
done
echo "$compared outputs are the same"
