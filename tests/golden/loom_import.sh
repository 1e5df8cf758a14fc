#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-loom import: node states and invocations of every vector are the expected ones beside it, and
# the trace passes the strict emulation. Small runs of our own cover the rest.
set -u
loom=$B/bin/ovni-loom emu=$B/bin/ovni-emu
states=$S/tests/golden/loom_states.py
make=$S/tests/golden/loom_make.py
vectors=$CONFORMANCE/loom
export PYTHONDONTWRITEBYTECODE=1
status=0

wrong() {
	echo "$*"
	status=1
}

# lost RUN: its statistics declare that records were dropped
lost() { grep -qs '"dropped": [1-9]' "${1%.trace.bin}.perf.json" "$1/run.perf.json"; }

# imports, RUN EXPECTED OPTIONS...: the states are those of the file EXPECTED; status 3 if it lost records
imports() {
	local run=$1 expected=$2 out code=0 want=0
	out=$T/out.$RANDOM$RANDOM
	shift 2
	lost "$run" && want=3
	"$loom" import "$run" -o "$out" "$@" 2>"$T/said" || code=$?
	[ $code = $want ] || {
		wrong "$run $*: status $code, not $want"
		cat "$T/said"
		return
	}
	[ $want = 0 ] || grep -q "the simulator dropped [1-9][0-9]* records\{0,1\}" "$T/said" || wrong "$run: does not say what it lost"
	"$emu" -l "$out" 2>"$T/emu" || [ $? = "$want" ] || {
		wrong "$run $*: the emulator does not take it"
		cat "$T/emu"
	}
	python3 "$states" "$out" >"$T/states" || wrong "$run $*: unreadable"
	diff "$expected" "$T/states" || wrong "$run $*: other states"
	rm -rf "$out"
}

# refuses STATUS WORDS RUN OPTIONS...: with that status and these words, and nothing is left
refuses() {
	local code=$1 words=$2
	shift 2
	rm -rf "$T/refused"
	"$loom" import "$@" -o "$T/refused" 2>"$T/said"
	[ $? = "$code" ] || wrong "$*: not status $code"
	grep -q -- "$words" "$T/said" || {
		wrong "$*: does not say '$words':"
		cat "$T/said"
	}
	[ "$code" != 1 ] || [ ! -e "$T/refused" ] || wrong "$*: leaves $(ls "$T/refused")"
}

echo "runs of our own"
python3 "$make" "$T/own" || exit 1
for expected in "$T"/own/*.states; do
	run=${expected%.states}
	options=()
	[ -e "$run.options" ] && read -ra options <"$run.options"
	imports "$run.trace.bin" "$expected" "${options[@]}"
done

echo "lanes have rows of their own"
"$loom" import "$T/own/lanes.trace.bin" -o "$T/lanes" --lanes 2>"$T/said" || wrong "--lanes: $(cat "$T/said")"
"$emu" -l "$T/lanes" 2>"$T/said" || wrong "--lanes: not emulated: $(cat "$T/said")"
sed '1,/LEVEL THREAD/d' "$T/lanes/thread.row" >"$T/rows"
printf '%s\n' "core 0 control (1)" "core 0 node 1 (3)" "core 0 node 1 lane 0 (4)" \
	"core 0 node 1 lane 2 (5)" | diff - "$T/rows" || wrong "--lanes: rows"
for lane in 3:2=8,4=65536,5=8,6=65536 4:3=9,4=65536,5=7,6=65536; do # row: ns = value
	grep "^2:0:1:1:${lane%%:*}:" "$T/lanes/thread.prv" | grep -o '[0-9]*:.*194:[0-9]*' |
		sed 's/^2:0:1:1:[0-9]*:\([0-9]*\):.*194:/\1=/' | grep -v "^0=" | grep -v "=0$" |
		paste -sd, >"$T/lane"
	echo "${lane#*:}" | diff - "$T/lane" || wrong "--lanes: row ${lane%%:*}"
done
"$loom" import "$T/own/edge.trace.bin" -o "$T/edge" --lanes --style edge 2>"$T/said" && wrong "--lanes with edge"
grep -q -- "--lanes: in style edge" "$T/said" || wrong "does not say why"

echo "what cannot be shown is refused"
refuses 1 "record 1: cycle 9223372036854775807 lies beyond .* --clock-period 999ps" \
	"$T/own/far.bin" --clock-period 1ns --base 0
refuses 1 "cycle 18446744073709551615 lies beyond .*, whatever the period" "$T/own/last.bin" --clock-period 1ps
refuses 1 "cycle 4611686018427387903 lies beyond .* --clock-period 1999ps" \
	"$T/own/reach.bin" --style span --clock-period 4ns --base 0
"$loom" import "$T/own/reach.bin" --style span --clock-period 1999ps --base 0 -o "$T/reach" 2>"$T/said" ||
	wrong "the period that is said to fit: $(cat "$T/said")"
refuses 1 "(rule P1); --perf - ignores" "$T/own/broken.trace.bin"
"$loom" import "$T/own/broken.trace.bin" --perf - -o "$T/broken" 2>"$T/said" || wrong "--perf -: $(cat "$T/said")"
"$loom" import "$T/own/clock.trace.bin" -o "$T/clock" 2>"$T/said" || wrong "a period that is none: not imported"
grep -q "clock.period_ps is not a positive integer: assuming 1 ns" "$T/said" || wrong "a period that is none: in silence"
refuses 1 "cycle 3 comes after 5 within one invocation" "$T/own/back.bin"
refuses 1 "leave --no-chain out" "$T/own/parts.trace.bin" --no-chain
refuses 1 "no trace, only statistics" "$T/own/summary.perf.json"
refuses 2 "a period is a time" "$T/own/idle.trace.bin" --clock-period 1.2345ns
refuses 2 "a frequency is" "$T/own/idle.trace.bin" --clock-freq 0Hz
refuses 2 "choose cycle, edge or span" "$T/own/idle.trace.bin" --style often

echo "a damaged file is shown up to the damage, with status 3"
rm -rf "$T/damaged"
"$loom" import "$T/own/cut.bin" -o "$T/damaged" 2>"$T/said"
[ $? = 1 ] || wrong "a cut file: not status 1"
"$emu" -l "$T/damaged" 2>"$T/emu" || { wrong "a cut file: not emulated"; cat "$T/emu"; }
python3 "$states" "$T/damaged" | grep -q "^  0 1 1 2 fire$" || wrong "a cut file: states"

echo "nodes have the names of a file, by either option"
printf '0 1 alpha\n' >"$T/names"
for option in --names --nodes; do
	rm -rf "$T/named"
	"$loom" import "$T/own/frequency.trace.bin" -o "$T/named" $option "$T/names" 2>"$T/said" ||
		wrong "$option: $(cat "$T/said")"
	grep -q '"accel.name": *"alpha"\|"name": *"alpha"' "$T"/named/loom.*/proc.1/thread.3/stream.json ||
		wrong "$option: no name"
	"$loom" stats --csv "$T/own/frequency.trace.bin" $option "$T/names" | grep -q ',1,"alpha",records' ||
		wrong "$option: no name in stats"
done
refuses 1 "cannot open '.*no-such-file'" "$T/own/frequency.trace.bin" --nodes "$T/no-such-file"

echo "the same run twice is not mixed up"
"$loom" import "$T/own/idle.trace.bin" -o "$T/twice" 2>/dev/null || wrong "not imported"
"$loom" import "$T/own/idle.trace.bin" -o "$T/twice" 2>"$T/said" && wrong "imported over itself"
grep -q "is there already: .* --name" "$T/said" || wrong "does not say what to do"
"$loom" import "$T/own/idle.trace.bin" -o "$T/twice" --name again 2>/dev/null || wrong "--name"
"$emu" -l "$T/twice" 2>/dev/null || wrong "two runs: not emulated"

if [ ! -d "$vectors" ]; then
	echo "no $vectors: the vectors are not tried"
	exit $status
fi
echo "the vectors"
n=0
for expected in "$vectors"/*/expected-states.txt; do
	imports "${expected%/*}" "$expected"
	n=$((n + 1))
done
grep -lqs '"dropped": [1-9]' "$vectors"/*/run.perf.json || wrong "no vector that has lost records"
[ $n -ge 9 ] || wrong "only $n vectors with states"
for case in layout-natural48 layout-packed38; do # the same run in other layouts
	imports "$vectors/$case" "$vectors/single-core/expected-states.txt"
done
for case in "$vectors"/*/; do # never a crash; valid traces or none
	rm -rf "$T/any"
	"$loom" import "$case" -o "$T/any" >/dev/null 2>"$T/said"
	code=$?
	lost "$case" && [ $code = 3 ] && code=0
	[ $code -le 1 ] || wrong "$case: status $code"
	[ $code = 0 ] || [ -s "$T/said" ] || wrong "$case: fails in silence"
	[ $code != 0 ] || "$emu" -l "$T/any" 2>/dev/null || { [ $? = 3 ] && lost "$case"; } || wrong "$case: not emulated"
done
exit $status
