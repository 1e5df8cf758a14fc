#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-report flame: folded stacks worked out by hand, and their sums equal to func and why, to the
# ns; groups, parts of the trace, calls that are cut, not nested, or too deep; names that would break
# a folded line, XML or a page; widths of the picture. flame_browser.sh looks at the page.
set -eu
. "$S/tests/golden/tools_lib.sh"
cd "$T"
agree() { python3 -B "$S/tests/golden/report_flame.py" "$B/bin/ovni-report" "$@" >said 2>&1 || fail "$*"; }
same() { # OPTIONS: compares the folded stacks with standard input
	LC_ALL=C sort >want
	report flame "$@" trace >got || fail "flame $* failed"
	LC_ALL=C sort got | diff want - || fail "flame $*"
}
make_trace trace <<'END'
thread n 1 1 bpf.name="a;b" ovni.mark={"0":{"title":"Function","chan_type":"stack","labels":{"1":"<script>alert('x&y')</script>","2":"g;h","3":"solve\u001b\uffff12","4":"step\u00207"}}}
1000 OHx i32:0 i32:-1 u64:0
1100 OM[ i64:1 i32:0
1150 OM[ i64:2 i32:0
1200 OHp u16:6 i32:9
1200 OHw i32:-1
1500 OHr
1550 OM] i64:2 i32:0
1560 OM[ i64:1 i32:0
1570 OM] i64:1 i32:0
1600 OM] i64:1 i32:0
1700 OHp u16:1 i32:2
2500 OHw i32:2
2600 OHr
2610 OM[ i64:3 i32:0
2650 MS[
2660 PIa
2700 PIA
2750 MS]
2755 OM[ i64:4 i32:0
2756 OM] i64:4 i32:0
2760 OM] i64:3 i32:0
3000 OHe
thread n 1 2 bpf.name="b"
1000 OHx i32:-1 i32:-1 u64:0
1000 OHp u16:1 i32:0
1650 OHw i32:1
1660 OAs i32:0
1701 OHr
2001 OM[ i64:2 i32:0
2101 OM[ i64:1 i32:0
2201 OM] i64:2 i32:0
2401 OHp u16:12 i32:0
2401 OHw i32:-1
2501 OHr
2601 OM] i64:1 i32:0
2701 OHp u16:3 i32:0
2801 OHw i32:-2
3000 OAs i32:-1
3000 OHr
3000 OHe
END
f="<script>alert('x&y')</script>" s='solve\x1b￿12' # U+FFFF stands there
same <<END
a:b (1);a:b (1) 1350
a:b (1);a:b (1);$f 90
a:b (1);a:b (1);$f;g:h 400
a:b (1);a:b (1);$f;$f 10
a:b (1);a:b (1);$s 49
a:b (1);a:b (1);$s;MPI_Send 60
a:b (1);a:b (1);$s;MPI_Send;Critical: Acquiring 40
a:b (1);a:b (1);$s;step_7 1
a:b (1);b (2) 1400
a:b (1);b (2);g:h 100
a:b (1);b (2);g:h;$f 100
a:b (1);b (2);$f 400
END
same --time runnable --comm b <<END
a:b (1);b (2) 250
END
same --time throttled --by process <<END
a:b (1);$f 100
END
# Cut by the window: MPI_Send begins before, solve ends after it.
same --from 2700 --to 2758 --by rank --tid 1 <<END
no rank;$s 7
no rank;$s;MPI_Send 50
no rank;$s;step_7 1
END
agree trace
agree trace --by process
agree trace --by all
agree trace --comm b

# Of no time, of a thread outside the filter: no line. A name that ends with a number.
[ -z "$(report flame --time asleep --from 1100 --to 1200 --tid 1 trace)" ] || fail "lines without time"
make_trace number <<'END'
thread n 1 1 ovni.mark={"0":{"title":"Function","chan_type":"stack","labels":{"1":"step\u002012"}}}
1000 OHx i32:0 i32:-1 u64:0
1100 OM[ i64:1 i32:0
1101 OM] i64:1 i32:0
3000 OHe
END
report flame number | grep -qx '1;1;step_12 1' || fail "a number at the end of a name"

# Deeper than 1000 frames: the time is not lost, and the lines stay short.
{
	echo 'thread n 1 1'
	echo '0 OHx i32:0 i32:-1 u64:0'
	seq 1 3000 | sed 's/.*/& OM[ i64:& i32:0/'
	echo '4000 OHp u16:1 i32:0'
	echo '5000 OHe'
} | make_trace deep
report flame deep >got || fail "flame of deep calls failed"
grep -q 'calls deeper than 1000 frames count for the frame at that depth' said || fail "nothing about the depth"
awk '{ sum += $NF } END { exit sum != 5000 }' got || fail "time is lost in deep calls"
awk -F';' 'NF > most { most = NF } END { exit most != 1000 }' got || fail "depth of the lines"

# A damaged trace: the part before the damage, and status 1. An incomplete one: status 3.
cp -r trace damaged
truncate -s -5 damaged/loom.n/proc.1/thread.2/stream.obs
status=0; report flame damaged >got || status=$?
{ [ $status = 1 ] && grep -q ';g:h 400$' got; } || fail "a damaged trace: status $status"
make_trace lossy <<'END'
thread n 1 1 bpf.session={"lost":"5"}
1000 OHx i32:0 i32:-1 u64:0
3000 OHe
END
status=0; report flame lossy >got || status=$?
{ [ $status = 3 ] && grep -q 'lost 5 events' said; } || fail "an incomplete trace: status $status"
# Options of flame are for flame.
for wrong in 'latency --svg' 'func --time cpu' 'flame --svg --html' 'flame --json' 'flame --csv' \
	'flame --top 3'; do
	# shellcheck disable=SC2086
	status=0; report $wrong trace >/dev/null || status=$?
	[ $status = 2 ] || fail "$wrong: status $status"
done
