#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Priorities (--why=prio) in reports: `latency --by priority` has each wait under the priority of the run
# that ends it, also where the thread changes it, ovni-merge has renumbered the marks, or a priority has no label; the
# overview names those of a priority inversion.
set -eu
. "$S/tests/golden/tools_lib.sh"
cd "$T"
PRIO='ovni.mark={"90":{"title":"Priority","chan_type":"single","labels":{"61":"SCHED_OTHER\u0020nice\u00200","141":"SCHED_FIFO\u002020","161":"SCHED_FIFO\u002040"}}}'
MOVED='ovni.mark={"90":{"title":"Phase","chan_type":"single","labels":{"61":"cold"}},"7":{"title":"Priority","chan_type":"single","labels":{"3":"SCHED_FIFO\u002040"}}}'

# a waits 10 ns as nice 0, then 20 and 40 as FIFO 40, 80 with a value that has no label; b waits 5 as FIFO 40; c 1, unknown.
make_trace trace <<END
thread n 1 1 bpf.name="a" $PRIO
1000 OHx i32:0 i32:-1 u64:0
1000 OM= i64:61 i32:90
1100 OHp u16:1 i32:0
1200 OHw i32:-2
1210 OHr
1300 OHp u16:1 i32:0
1380 OHw i32:-2
1400 OHr
1400 OM= i64:161 i32:90
1500 OHp u16:1 i32:0
1560 OHw i32:-2
1600 OHr
1700 OHp u16:1 i32:0
1720 OHw i32:-2
1800 OHr
1801 OM= i64:9 i32:90
2000 OHe
thread n 1 2 bpf.name="b" $MOVED
1000 OHx i32:1 i32:-1 u64:0
1000 OM= i64:61 i32:90
1000 OM= i64:3 i32:7
1100 OHp u16:1 i32:0
1200 OHw i32:-2
1205 OHr
2000 OHe
thread n 1 3 bpf.name="c"
1000 OHx i32:2 i32:-1 u64:0
1100 OHp u16:1 i32:0
1200 OHw i32:-2
1201 OHr
2000 OHe
END
report latency --by priority --csv trace | cut -d , -f 1,6- >got || fail "latency"
cat >want <<'END'
thread,runs,run_time,waits,wait_time,wait_avg,wait_p50,wait_p99,wait_max,max_at,cpu_idle
priority unknown,3,1099,2,81,40,1,80,80,800,
SCHED_FIFO 40,4,1095,3,65,21,20,40,40,600,
SCHED_OTHER nice 0,2,190,1,10,10,10,10,10,210,
END
diff want got || fail "latency"
report latency --by priority --histogram trace >got || fail "the histogram"
grep -q '^SCHED_FIFO 40 ' got || fail "the histogram: $(cat got)"
status=0
"$B/bin/ovni-report" preempt --by priority trace >got 2>&1 || status=$?
[ $status = 2 ] && grep -q 'only latency those of a priority' got || fail "preempt: status $status: $(cat got)"

# The owner of a mutex (nice 0) waits while middle (FIFO 20) has its CPU, and high (FIFO 40) sleeps.
make_trace inversion <<END
thread n 1 1 bpf.name="low" bpf.session.locks=true bpf.session.machine="x86_64" ovni.loom_cpus=[{"index":0,"phyid":0},{"index":1,"phyid":1}] $PRIO
0 OHx i32:0 i32:-1 u64:0
0 OM= i64:61 i32:90
10000000 OHp u16:6 i32:3
10000000 OHw i32:-1
410000000 OHr
420000000 OHp u16:1 i32:0
420000001 OHw i32:-2
420000001 OHr
1000000000 OHe
thread n 1 2 bpf.name="high" bpf.futexes=[{"address":"16","from":"6000000","name":"lock"}] $PRIO
0 OHx i32:1 i32:-1 u64:0
0 OM= i64:161 i32:90
5000000 OHp u16:1 i32:0 u16:202 u64:16
420000000 OHw i32:1 i32:1
420000000 OHr
1000000000 OHe
thread n 3 3 bpf.name="middle" $PRIO
0 OHx i32:-1 i32:-1 u64:0
0 OHp u16:1 i32:0
10000000 OHw i32:-2
10000001 OAs i32:0
10000001 OHr
10000002 OM= i64:141 i32:90
409999999 OHe
END
COLUMNS=600 report inversion >got || fail "the overview"
grep -q 'for the lock lock, which low (1) had; .* a priority inversion, if the thread that ran is less urgent than those that slept; the owner had SCHED_OTHER nice 0, .*middle.*, which ran meanwhile, SCHED_FIFO 20, high (2).*, which slept longest, SCHED_FIFO 40$' got ||
	{ cat got; fail "the inversion"; }

# The priorities of victim and culprit; of several threads in a row, none.
report preempt --csv inversion | cut -d , -f 1,2,4,9,10 >got || fail "preempt"
diff got - <<'END' || fail "preempt: the priorities"
victim,culprit,ran,victim_priority,culprit_priority
low (1),middle (3),400000000,SCHED_OTHER nice 0,SCHED_FIFO 20
middle (3),not recorded,1,SCHED_FIFO 20,
END
report preempt --by process --csv inversion | sed 1d | cut -d , -f 9,10 >got || fail "preempt --by process"
diff got - <<'END' || fail "preempt --by process"
,
,
END
make_trace plain <<'END'
thread n 1 1
0 OHx i32:0 i32:-1 u64:0
10 OHp u16:6 i32:3
10 OHw i32:-1
40 OHr
50 OHe
END
report preempt plain >got || fail "preempt"
grep -q 'not recorded' got && ! grep -q priority got || fail "columns of priorities that nobody recorded: $(cat got)"
