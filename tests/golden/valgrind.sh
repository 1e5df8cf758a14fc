#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The emulator and the tools on small inputs, good and bad, under valgrind: nothing is read that was
# not written, nothing out of bounds, and no memory is lost.
# A breakpoint of a user probe would end a program with SIGTRAP here, since valgrind runs a copy of the
# code: no test that attaches probes may run at the same time.
# needs: alone
# long: valgrind is slow
set -u
command -v valgrind >/dev/null || { echo "no valgrind"; exit 77; }
make() { "$S/tests/golden/tools_make.py" "$1"; }
make "$T/good" <<'END'
thread n 1 1 ovni.mark={"0":{"title":"Function","chan_type":"stack","labels":{"1":"f"}}} ovni.require={"ovni":"1.1.0","mpi":"1.0.0","kernel":"1.0.0"}
10 OHx i32:0 i32:-1 u64:0
20 OM[ i64:1 i32:0
22 MS[
24 MS]
30 OM] i64:1 i32:0
40 OHe
thread n 1 2
15 OHx i32:1 i32:-1 u64:0
25 OHp u16:1 i32:0
35 OHw i32:1
36 OAs i32:0
41 OHr
45 OHe
END
make "$T/other" <<'END'
thread m 1 2
12 OHx i32:0 i32:-1 u64:0
42 OHe
END
make "$T/allowed" <<'END'
thread n 1 1 ovni.mark={"89":{"title":"Allowed_CPUs","chan_type":"single","labels":{"1":"0,2-3","2":"x"}}} ovni.loom_cpus=[{"index":0,"phyid":0}]
10 OHx i32:0 i32:-1 u64:0
12 OM= i64:1 i32:89
15 OHp u16:6 i32:0
20 OHw i32:-1
25 OHr
40 OHe
END
make "$T/broken" <<'END'
thread n 1 1 ovni.finished=
10 OHx i32:0 i32:-1 u64:0
20 OHp
raw 0f 4f
END
mkdir "$T/nothing"

wrong=0
try() { # STATUS TOOL ARGUMENT...
	local want=$1 tool=$2
	shift 2
	(cd "$T" && valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite \
		"$B/bin/ovni-$tool" "$@") >"$T/said" 2>&1
	local status=$?
	if [ $status != "$want" ]; then
		echo "ovni-$tool $*: status $status instead of $want"
		head -n 30 "$T/said"
		wrong=1
	fi
}
try 0 emu -l good
try 0 emu -b -j 2 --arrows --gz -o emulated good
try 1 emu -l -o refused broken
try 3 emu nothing
try 0 check good
try 3 check --repair -o mended broken
try 0 dump good
try 0 top good
try 0 info good
for report in overview timeline latency preempt wake cpu func timehist flame; do
	try 0 report $report good
done
try 0 report latency allowed
try 0 cut --from 20ns -o part good
try 0 merge --loom n=m -o both good other
try 0 sort good
try 0 pallas export good archive
try 0 export --csv -o tables good
try 0 pallas info archive
try 0 events
exit $wrong
