#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-report perf: the sums of a made trace, worked out by hand: of threads, processes, functions (by share of time, and
# of whole runs), of runs without values, and of a part; a trace without perf events, and damaged ones.
set -eu
. "$S/tests/golden/tools_lib.sh"
cd "$T"
same() { # ARGUMENTS...: the expected output is standard input
	"$B/bin/ovni-report" perf "$@" >got 2>err || fail "ovni-report perf $*: $(cat err)"
	diff - got || fail "ovni-report perf $*"
}
names='bpf.counters=true nosv.hwc={"0":{"name":"cycles"},"1":{"name":"instructions"}} nosv.can_breakdown=false ovni.require={"ovni":"1.1.0","nosv":"2.6.0"}'
marks='ovni.mark={"0":{"title":"Function","chan_type":"stack","labels":{"1":"f","2":"g"}}}'
make_trace trace <<END
thread n 1 1 bpf.name="a" $names $marks
1000 OHx i32:0 i32:-1 u64:0
1200 OM[ i64:1 i32:0
1500 VWC+ i64:500 i64:1000
1510 OHp u16:1 i32:0
2000 OHw i32:0
2100 OHr
2300 VWC+ i64:200 i64:-1
2300 OHp u16:1 i32:0
2400 OHw i32:0
2500 OHr
2600 OM] i64:1 i32:0
2900 OHp u16:1 i32:0
3000 OHw i32:0
3100 OHr
3200 OM[ i64:1 i32:0
3250 OM[ i64:1 i32:0
3300 OM] i64:1 i32:0
3350 OM[ i64:2 i32:0
3400 OM] i64:2 i32:0
3500 OM] i64:1 i32:0
3600 VWC+ i64:500 i64:1000
3600 OHe
thread n 1 2 bpf.name="b" $names $marks
1000 OHx i32:1 i32:-1 u64:0
1500 VWC+ i64:400 i64:900
2000 VWC+ i64:600 i64:830
2000 OHe
END
# Thread a: runs of 510, 200, 400 (without values) and 500 ns. The second run lies in f, and its instructions are not known.
same --csv trace <<'END'
thread,tid,pid,name,rank,event,counted,per_second,per_cycle,run_time,not_counted
a (1),1,1,a,,cycles,1200,991735537,,1610,400
b (2),2,1,b,,cycles,1000,1000000000,,1000,0
a (1),1,1,a,,instructions,2000,1980198019,,1610,600
b (2),2,1,b,,instructions,1730,1730000000,1.730000,1000,0
END
same --csv --by process trace <<'END'
thread,tid,pid,name,rank,event,counted,per_second,per_cycle,run_time,not_counted
a (1),,1,a,,cycles,2200,995475113,,2610,400
a (1),,1,a,,instructions,3730,1855721393,,2610,600
END
# f: 300 of the first 500 ns and the 10 behind, all of 200, 100 without values, 300 of 500, the inner call not twice.
same --csv --functions trace <<'END'
function,type,event,counted,whole,per_second,per_cycle,run_time,not_counted
f,Function,cycles,800,200,987654320,,910,100
g,Function,cycles,50,0,1000000000,,50,0
f,Function,instructions,1200,0,1967213114,,910,300
g,Function,instructions,100,0,2000000000,2.000000,50,0
END
same --csv --tid 2 --to 1600 trace <<'END'
thread,tid,pid,name,rank,event,counted,per_second,per_cycle,run_time,not_counted
b (2),2,1,b,,cycles,400,800000000,,500,0
b (2),2,1,b,,instructions,900,1800000000,2.250000,500,0
END
same trace -n 2 <<'END'
thread            event                  counted    per second  per cycle    run time  not counted
a (1)             cycles                    1200     991735537          -    1.610 us       400 ns
b (2)             cycles                    1000    1000000000          -    1.000 us         0 ns
END
# The run time is that of latency.
"$B/bin/ovni-report" latency --csv trace | grep -q '^a (1),.*,4,1610,' || fail "the run time of latency"
# Others: no perf events, those of nOS-V itself, values of another number, a damaged trace.
refuses() { # TRACE SENTENCE
	! "$B/bin/ovni-report" perf "$1" >got 2>err || fail "$1: succeeded"
	grep -qF "$2" err && [ "$(grep -c error err)" = 1 ] || fail "$1: $(cat err)"
}
make_trace none <<<'thread n 1 1 bpf.name="a"'
refuses none "error: none has no perf events: ovni-bpf --counters records them"
refuses "$CONFORMANCE/emu/suite-nosv-hwc/trace" "has no perf events"
make_trace odd <<END
thread n 1 1 bpf.name="a" $names
1000 OHx i32:0 i32:-1 u64:0
1100 VWC+ i64:5
1200 VWC+ i64:9223372036854775807 i64:9223372036854775807
1201 VWC+ i64:9223372036854775807 i64:0
1300 OHp u16:1 i32:0
1400 VWC+ i64:5 i64:5
1500 OHw i32:0
1600 OHr
1600 OHe
END
same --csv odd <<'END'
thread,tid,pid,name,rank,event,counted,per_second,per_cycle,run_time,not_counted
a (1),1,1,a,,cycles,9223372036854775807,9223372036854775807,,300,0
a (1),1,1,a,,instructions,9223372036854775807,9223372036854775807,1.000000,300,0
END
cp -r trace cut
truncate -s -5 cut/loom.n/proc.1/thread.1/stream.obs
refuses cut "stream ends inside an event"
grep -q '^b (2) *cycles *1000' got || fail "a damaged trace: $(cat got)"
status=0
"$B/bin/ovni-report" func --functions trace 2>err || status=$?
[ $status = 2 ] && grep -q 'only perf has values by function' err || fail "func --functions: $status"
