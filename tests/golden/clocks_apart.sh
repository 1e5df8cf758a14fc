#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Clocks of nodes that run apart: ovni-report, ovni-view, ovni-export, the library and ovni-emu make the same of a trace
# whose nodes are 1000 s and 50 ppm apart, with its clock-offsets.txt, as of the trace on one clock: byte for byte. So do
# selections by time and the traces of ovni-cut, ovni-check --repair and ovni-convert. The drift of one node changes: it was measured
# between both ends, too. Without the table they differ, and the programs say that it is missing.
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
	for words in ovni-cut "ovni-check --repair" "ovni-convert --modernise"; do
		both "$words" bash -c "rm -rf copy && '$bin'/$words -o copy t >said || [ \$? = 3 ] && '$bin/ovni-report' timehist copy"
	done
	nm "$B/libovni-trace.a" | grep -q __asan || both "the library" env PYTHONPATH="$S/trace/lib" OVNI_TRACE_LIBRARY="$B/libovni-trace.so.1" python3 -c '
import ovni_trace
with ovni_trace.open("t") as trace:
    for one in list(trace.events()) + list(trace.intervals(calls=True)):
        print(one)'
done

# Measurements between both ends that are damaged are an error, by their file.
refused() { # WHAT PATTERN
	local words
	for words in ovni-report "ovni-emu -o out"; do
		read -ra words <<<"$words"
		"$bin/${words[0]}" "${words[@]:1}" apart/t >got 2>&1 && fail "${words[0]} takes $1"
		[ "$(grep -c "error: node/c.json: .*$2" got)" = 1 ] || fail "${words[0]} does not say what is wrong with $1: $(cat got)"
	done
}
cp apart/t/node/c.json points
damage() { python3 -c '
import json, sys
data = json.load(open("points"))
points = data["clock_points"]
exec(sys.argv[1])
json.dump(data, open("apart/t/node/c.json", "w"))' "$1"; }
for words in 'points[0], points[1] = points[1], points[0]' 'points.append(points[-1])' 'points[0]["clock"] = str(10**12)' \
	'points[2]["clock"] = str(10**16)' 'points[1]["clock"] = str(-2**63)'; do
	damage "$words"
	refused "$words" 'not in order, or drift by more than 1000 ppm'
done
damage 'points[1]["offset"] = str(int(points[0]["offset"]) - 10001)' # in 10 ms
refused "a drift of 1000.1 ppm" 'measurement 3 and the one before it.*1000 ppm'
damage 'points[1]["offset"] = str(int(points[0]["offset"]) - 10000)'
"$bin/ovni-report" latency apart/t >got 2>&1 || [ $? = 3 ] || fail "a drift of 1000 ppm: $(cat got)"
for words in '"\x1b[1m"' None '"1e3"' 1e300 '[]' '"99999999999999999999"' '{}'; do
	damage "points[1]['offset'] = $words"
	refused "$words" 'measurement 2 has no clock, offset and bound'
done
damage 'points[1] = 7'
refused "a number" 'measurement 2 has no clock'
damage 'data["clock_points"] = points[0]'
refused "an object" 'not a list of at most 10000'
damage 'data["clock_points"] = points * 3334'
refused "10,002 measurements" 'not a list of at most 10000'
"$bin/ovni-emu" -q --compat -o out apart/t || [ $? = 3 ] || fail "--compat reads the measurements"
"$bin/ovni-check" --repair -o uncopied apart/t >said 2>&1 || [ $? = 3 ] || fail "ovni-check --repair: $(cat said)"
grep -q 'the copy has no clock_points' said || fail "ovni-check --repair does not say what is not copied: $(cat said)"
damage 'data["clock_points"] = []'
"$bin/ovni-report" latency apart/t >got 2>said || [ $? = 3 ] || fail "no measurements: $(cat said)"
cp points apart/t/node/c.json
"$bin/ovni-report" latency apart/t 2>said | cmp -s - got && fail "the measurements change nothing"

# Steps of a job have the measurements of one host in files of their own; one that is too near another does not count.
python3 -c '
import json
points = json.load(open("points"))["clock_points"]
near = dict(points[2], clock=str(int(points[2]["clock"]) + 1000), offset=str(int(points[2]["offset"]) + 500))
json.dump({"clock_points": points[1:2]}, open("apart/t/node/c.json", "w"))
json.dump({"app_id": 2, "clock_points": [points[2], near, points[0]]}, open("apart/t/node/c.app2.json", "w"))'
both "ovni-report timehist of two steps" "$bin/ovni-report" timehist t
rm apart/t/node/c.app2.json

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
