#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-loom export: with the kept files the way back is equal byte for byte; without them the
# states are equal; a recording of threads becomes a run whose lengths add up. All that is written is
# valid, without a warning.
set -u
loom=$B/bin/ovni-loom
states=$S/tests/golden/loom_states.py
vectors=$CONFORMANCE/loom
export PYTHONDONTWRITEBYTECODE=1
status=0 losses=0

wrong() {
	echo "$*"
	status=1
}

run() { # ARGUMENTS: must succeed; 3 if something is known to be lost
	local code=0
	"$loom" "$@" 2>"$T/said" || code=$?
	if [ $code = 3 ] && grep -q "is incomplete: .*\(dropped by the producers of Loom runs\|the recorder lost\)" "$T/said"; then
		losses=$((losses + 1))
	elif [ $code = 3 ] && [ "$1" = import ] && grep -q "the simulator dropped [1-9][0-9]* records\{0,1\}" "$T/said"; then
		:
	elif [ $code != 0 ]; then
		wrong "ovni-loom $*: failed"
		cat "$T/said"
	fi
}

valid() { # RUN: no error, no warning
	"$loom" check --strict "$1" >"$T/verdict" 2>&1 || {
		wrong "$1: not valid"
		cat "$T/verdict"
	}
}

# again FILE-OR-FOLDER EXPECTED OPTIONS...: import without keeping, export, import: equal states
again() {
	local from=$1 expected=$2
	shift 2
	rm -rf "$T/again"* && run import --no-keep "$from" -o "$T/again.trace" "$@"
	run export "$T/again.trace" -o "$T/again"
	valid "$T/again"
	run import "$T/again" -o "$T/again.second"
	python3 "$states" "$T/again.second" >"$T/states"
	diff "$expected" "$T/states" || wrong "$from: other states after a way without the kept files"
}

# same FOLDER FILES...: import, export: each file is equal
same() {
	local from=$1 file
	shift
	rm -rf "$T/same"* && run import "$from" -o "$T/same.trace"
	run export "$T/same.trace" -o "$T/same"
	for file; do
		cmp "$file" "$T/same${file##*/run}" || wrong "$file: not the same bytes"
	done
}

python3 "$S/tests/golden/loom_make.py" "$T/own" || exit 1
echo "kept: byte for byte"
for expected in "$T"/own/*.states; do
	name=${expected##*/}
	mkdir -p "$T/kept" && rm -f "$T"/kept/*
	cp "${expected%.states}.trace.bin" "$T/kept/run.trace.bin"
	options=()
	[ "${name%.states}" = edge ] && options=(--style edge)
	files=("$T/kept/run.trace.bin")
	if [ -e "${expected%.states}.perf.json" ]; then
		cp "${expected%.states}.perf.json" "$T/kept/run.perf.json"
		files+=("$T/kept/run.perf.json")
	fi
	same "$T/kept" "${files[@]}"
done

echo "not kept: equal states"
for expected in "$T"/own/*.states; do
	own=${expected%.states}
	options=()
	[ -e "$own.options" ] && read -ra options <"$own.options"
	case ${own##*/} in
	empty) continue ;; # nothing to tell
	esac
	again "$own.trace.bin" "$expected" "${options[@]}"
done

echo "what is left out is counted"
run import "$T/own/ranks.trace.bin" -o "$T/some.trace"
run export "$T/some.trace" -o "$T/some" --kinds NODE_FIRE,INVOCATION_START,INVOCATION_DONE --sample 1/2
grep -q "seen 11 written 4 filtered 6 sampled_out 1 dropped 0" "$T/said" || {
	wrong "another account:"
	cat "$T/said"
}
"$loom" check "$T/some" >"$T/verdict" || { wrong "filtered: not valid"; cat "$T/verdict"; }
"$loom" dump "$T/some.trace.bin" | grep -c NODE_FIRE | grep -qx 2 || wrong "not half of the fires"

echo "other layouts"
for layout in packed38 natural48 ltrc; do
	run export "$T/some.trace" -o "$T/as.$layout" --layout $layout
	as=()
	[ $layout = ltrc ] || as=(--layout "$layout")
	"$loom" dump "${as[@]}" "$T/as.$layout.trace.bin" | sed '1d; s/ @[0-9]*//' >"$T/listing.$layout"
	cmp "$T/listing.$layout" "$T/listing.packed38" || wrong "$layout: other records"
done
[ "$(stat -c %s "$T/as.packed38.trace.bin")" = $((11 * 38)) ] || wrong "packed38: another size"
[ "$(stat -c %s "$T/as.natural48.trace.bin")" = $((11 * 48)) ] || wrong "natural48: another size"
cmp "$T/as.ltrc.trace.bin" "$T/own/ranks.trace.bin" || wrong "ltrc: not the bytes that it came from"

echo "upstream's statistics"
run export "$T/some.trace" -o "$T/stat" --statistics legacy
[ -e "$T/stat.stat" ] && [ ! -e "$T/stat.perf.json" ] || wrong "legacy: other files"
valid "$T/stat"
"$loom" stats "$T/stat" | grep -qx "statistics: legacy" || wrong "legacy: another form"
cmp "$T/stat.trace.bin" "$T/own/ranks.trace.bin" || wrong "legacy: other records"
run import "$T/stat" -o "$T/stat.trace"
run export "$T/stat.trace" -o "$T/stat.again" --statistics legacy --layout ltrc
cmp "$T/stat.stat" "$T/stat.again.stat" || wrong "legacy: other counters the second time"
"$loom" export "$T/some.trace" -o "$T/stat" --statistics legacy --sample 1/2 2>"$T/said" && wrong "legacy: sampled"
grep -q "cannot express filters, sampling and drops: leave out --statistics" "$T/said" || { wrong "legacy:"; cat "$T/said"; }

echo "counters and what was left out are carried over"
mkdir -p "$T/left"
python3 - "$T/left/run" <<'END'
import json, struct, sys
def record(cycle, node, kind):
    return struct.pack("<QIQHIBBHII", cycle, 1, 2**63 + 5, 0, node, kind, 0, 0, 0, 0)
records = [record(3, 0, 5)] + [record(c, 5, 0) for c in (3, 4, 5)] + [record(20, 0, 6)]
open(sys.argv[1] + ".trace.bin", "wb").write(b"LTRC" + struct.pack("<IQ", 1, 5) + b"".join(records))
row = {"cycle": 20, "epoch_id": 1, "invocation_id": 2**63 + 5, "core_id": 0, "hw_node_id": 5,
       "total_cycles": 17, "active_cycles": 9, "stall_cycles_in": 6, "stall_cycles_out": 1,
       "tokens_in": 2**60 + 1, "tokens_out": 8, "config_writes": 0}
core = {k: v for k, v in row.items() if k != "hw_node_id"}
json.dump({"schema": "loom-perf", "version": 1, "producer": "x", "mode": "full",
           "clock": {"period_ps": 2000}, "record_style": "cycle",
           "window": {"first_cycle": 3, "end_cycle": 21, "total_cycles": 18},
           "controls": {"kinds": ["NODE_FIRE", "INVOCATION_START", "INVOCATION_DONE"], "cores": [0, 1],
                        "nodes": [5, "0:6"], "sampling": {"keep": 1, "of": 3},
                        "buffer": {"policy": "drop-new", "records": 4}},
           "events": {"seen": 20, "written": 5, "filtered": 8, "sampled_out": 5, "dropped": 2,
                      "dropped_by_kind": {"NODE_FIRE": 2}, "dropped_by_core": {"0": 2}},
           "invocations": [{"core_id": 0, "epoch_id": 1, "invocation_id": 2**63 + 5,
                            "start_cycle": 3, "end_cycle": 20, "status": "done"}],
           "snapshots": [core, row]}, open(sys.argv[1] + ".perf.json", "w"))
END
valid "$T/left/run"
"$loom" import "$T/left/run" -o "$T/left.trace" 2>/dev/null
run export "$T/left.trace" -o "$T/left.again" --layout natural48 --sample 1/2 --nodes 1:6,5
"$loom" check --strict --layout natural48 "$T/left.again" >"$T/verdict" || { wrong "carried: not valid"; cat "$T/verdict"; }
python3 - "$T/left/run.perf.json" "$T/left.again.perf.json" <<'END' || wrong "not carried over"
import json, sys
before, after = (json.load(open(name)) for name in sys.argv[1:])
for row, kept in zip(after["snapshots"], before["snapshots"]):
    row.pop("metrics")
    assert row == kept, (row, kept)
assert after["invocations"] == before["invocations"] and len(after["snapshots"]) == 2
assert after["clock"] == before["clock"] and after["record_style"] == "cycle"
assert after["controls"]["kinds"] == before["controls"]["kinds"] and after["controls"]["cores"] == [0, 1]
assert after["controls"]["nodes"] == [5] and after["controls"]["sampling"] == {"keep": 1, "of": 6}
assert after["events"] == {"seen": 20, "written": 4, "filtered": 8, "sampled_out": 6, "dropped": 2,
    "dropped_by_kind": {"NODE_FIRE": 2}, "dropped_by_core": {"0": 2}}, after["events"]
END
# without the kept files nobody knows more than how many were dropped
run export "$T/left.trace" -o "$T/left.marks" --no-keep
valid "$T/left.marks"
grep -q '"seen": 7, "written": 5, .*"dropped": 2$' "$T/left.marks.perf.json" ||
	{ wrong "drops are not declared:"; cat "$T/left.marks.perf.json"; }

echo "a recording of threads"
python3 "$S/tests/golden/loom_schedule.py" "$T/host" || exit 1
run export "$T/host" -o "$T/host.run"
valid "$T/host.run"
"$loom" dump "$T/host.run" | sed 's/ @[0-9]*//; s/ flags=0x0000//; s/ lane=0//' |
	diff "$T/host.expected" - || wrong "the schedule became other records"
run export "$T/host" -o "$T/host.ns" --clock-period 1ns
valid "$T/host.ns"

# two of the own run that has dropped records, two of the recording
[ $losses = 6 ] || wrong "$losses of 6 exports tell of what was lost"

echo "which loom"
run import "$T/own/ranks.trace.bin" -o "$T/host" --name first
run export "$T/host" -o "$T/both" # the only imported one
cmp "$T/both.trace.bin" "$T/own/ranks.trace.bin" || wrong "not the imported run"
run export "$T/host" -o "$T/both" --loom node
cmp "$T/both.trace.bin" "$T/host.run.trace.bin" || wrong "not the recording"
losses=0
run import "$T/own/edge.trace.bin" -o "$T/host" --name second
"$loom" export "$T/host" -o "$T/both" 2>"$T/said" && wrong "took one of two"
grep -q -- "--loom: .*loomsim.first, loomsim.second" "$T/said" || { wrong "names:"; cat "$T/said"; }
"$loom" export "$T/host" 2>/dev/null
[ $? = 2 ] || wrong "no name of a run: not status 2"

if [ ! -d "$vectors" ]; then
	echo "no $vectors: the vectors are not tried"
	exit $status
fi
echo "the vectors"
for expected in "$vectors"/*/expected-states.txt; do
	case=${expected%/*}
	files=()
	for file in "$case"/run.*; do
		files+=("$file")
	done
	same "$case" "${files[@]}"
	again "$case" "$expected"
done
[ $losses = 2 ] || wrong "$losses of 2 exports tell of the records that the simulator dropped"
for case in layout-natural48 layout-packed38 spec-all-kinds-natural48 unknown-kind; do
	same "$vectors/$case" "$vectors/$case/run.trace.bin" "$vectors/$case/run.perf.json"
done
exit $status
