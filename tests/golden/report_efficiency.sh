#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-report efficiency: the worked examples of efficiency.md 5, to three decimals, as text, JSON and CSV, by phases, from parts,
# and accepted by the real ovniemu in lint mode where it is; every row of section 6 (efficiency_refusals.py); random programs against
# a model (report_efficiency.py); options that exclude each other, a damaged trace, and one with losses.
# longer: more random programs
set -eu
. "$S/tests/golden/tools_lib.sh"
cd "$T"
export PYTHONDONTWRITEBYTECODE=1
py() { python3 "$S/tests/golden/$1" "${@:2}" >got 2>&1 || fail "$*"; }
try() { # STATUS PATTERN ARG...: ovni-report ends with this status and message
	local want=$1 pattern=$2 is=0
	shift 2
	report "$@" >got || is=$?
	[ $is = "$want" ] && grep -q -- "$pattern" said || fail "ovni-report $*: status $is"
}
mkdir examples
py efficiency_make.py examples
if [ -x "$ORACLES/ovni/ovniemu" ]; then
	for example in examples/*; do
		cp -r "$example" oracle
		"$ORACLES/ovni/ovniemu" -l oracle >got 2>&1 || fail "ovniemu -l refuses $example"
		rm -rf oracle
	done
else
	echo "there is no ovniemu in $ORACLES: the examples are not given to it"
fi
py efficiency_examples.py "$B/bin/ovni-report" "$B/bin/ovni-cut" "$T/examples"
mkdir refused random
py efficiency_refusals.py "$B/bin/ovni-report" "$T/refused"
py report_efficiency.py "$B/bin/ovni-report" "$T/random" "${SEED:-1}" "$([ "$LONG" ] && echo 400 || echo 40)"
cat got

# The overview, and the page beside it, have the same factors in a sentence.
said_of() { report --json "$@" | sed -n 's/^ *"efficiency": "\(.*\)",$/\1/p'; }
[ "$(said_of examples/B)" = "2 ranks: parallel efficiency 0.800 = load balance 1.000 x communication 0.800; on a CPU for 0.906 of the \
useful time, true load balance 0.906" ] || fail "the overview of B: $(said_of examples/B)"
[ "$(said_of refused/early)" = "1 rank: parallel efficiency not available: the recording ended before MPI_Finalize of rank 0 (--window \
recording takes the recorded part)" ] || fail "the overview of a part: $(said_of refused/early)"
[ -z "$(said_of refused/no-calls)" ] || fail "the overview of a trace without MPI"
COLUMNS=200 report examples/B | grep -q '^2 ranks: parallel efficiency 0.800 = ' || fail "the text of the overview"
"$B/bin/ovni-view" -o page.html examples/B 2>said || fail "ovni-view"
py view_page.py page.html "$B/bin" examples/B

# Options.
d=examples/D
try 2 'not mark:TYPE' efficiency --phase mark:x $d
try 2 'only one of --phase and --every' efficiency --phase collectives --every 1ms $d
try 2 'only efficiency has it' latency --every 1ms $d
try 2 'not talp' efficiency --model pop $d
try 2 'not recording' efficiency --window all $d
try 2 'the report is of all threads' efficiency --tid 10 $d
make_trace long <<'END'
thread n 1 1 ovni.require.mpi="1.0.0" bpf.rank=0
0 OHx i32:0
1 MUi
2 MUI
1000000000 MUf
1000000001 MUF
1000000002 OHe
END
try 1 'more than 10000 phases' efficiency --every 1us long

# Many ranks: the least and the most useful, and the median; -n 0 has all.
# shellcheck disable=SC2016 # the backticks are the notation of efficiency.md
PYTHONPATH=$S/tests/golden python3 -c '
from efficiency_make import thread
for r in range(40):
    print("\n".join(thread("a", 10 + r, 10 + r, "`0 OHx`, `1 MUi`, `10 MUI`, `%d MAr`, `1010 MAR`, `1010 MUf`, `1020 MUF`, `1030 OHe`" % (100 + 20 * r), 0, r, 40)))' >lines
make_trace many <lines
report efficiency many >got
[ "$(awk '$2 == "a" { printf "%s ", $1 }' got)" = "0 1 2 3 20 36 37 38 39 " ] || fail "the rows of 40 ranks"
[ "$(report efficiency -n 0 many | awk '$2 == "a"' | wc -l)" = 40 ] || fail "-n 0"
[ "$(report efficiency --csv many | wc -l)" = 41 ] || fail "--csv"

# A trace with losses: status 3. A damaged one: the part before the damage, status 1.
cp -r $d lossy
sed -i 's/"bpf": {/"bpf": {"events": "3", "session": {"t0": "1", "t1": "2000000000000", "lost": "7", "streams": "1"}, /' lossy/loom.a/proc.10/thread.10/stream.json
try 3 'incomplete' efficiency lossy
grep -q '^True parallel efficiency' got || fail "a lossy trace has no report"
cp -r $d damaged
printf '\0\0\0' >>damaged/loom.a/proc.11/thread.11/stream.obs
try 1 'proc.11' efficiency damaged
