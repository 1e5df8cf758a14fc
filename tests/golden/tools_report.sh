#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-report: the figures of each report for a short trace, worked out by hand.
set -eu
. "$S/tests/golden/tools_lib.sh"
same() { # REPORT [OPTIONS]: compares the CSV with standard input
	local name=$1
	shift
	cat >"$T/want"
	report "$name" --csv "$@" "$T/t" >"$T/got" || fail "$name failed"
	diff "$T/want" "$T/got" || fail "report $name"
}
make_trace "$T/t" <<'END'
thread n 1 1 bpf.name="a" bpf.names={"9":"cron"} bpf.session.t0="1000" bpf.session.t1="3000" bpf.session.cpus=[{"index":0,"ns":{"unknown":"100","idle":"500","other":"200","thread":"1200"}}] ovni.mark={"0":{"title":"Function","chan_type":"stack","labels":{"1":"f","2":"g,h"}}}
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
2650 MS[
2660 PIa
2700 PIA
2750 MS]
3000 OHe
thread n 1 2 bpf.name="b"
1000 OHx i32:-1 i32:-1 u64:0
1000 OHp u16:1 i32:0
1650 OHw i32:1
1660 OAs i32:0
1701 OHr
2001 OAs i32:1
2401 OHp u16:3 i32:0
2501 OHw i32:-2
3000 OAs i32:-1
3000 OHr
3000 OHe
END
# Thread 1 ran 200 + 200 + 400 and waited 300 and 100; thread 2 ran 300 + 400, waited 51.
same latency <<'END'
thread,tid,pid,name,rank,runs,run_time,waits,wait_time,wait_avg,wait_p50,wait_p99,wait_max,max_at,cpu_idle
a (1),1,1,a,,3,800,2,400,200,101,300,300,500,
b (2),2,1,b,,1,700,1,51,51,51,51,51,701,
END
# CPU 0 ran thread 1 while thread 2 waited on it, 1660 to 1701; other times of threads that are not in
# the trace, as its session says, and CPU 1 is not in the session. Of cron only the number is known.
same preempt <<'END'
victim,culprit,waits,ran,percent,first,max,max_at,victim_priority,culprit_priority
b (2),not recorded,2,509,92.545,0,499,1501,,
a (1),not recorded,2,400,100.000,0,300,200,,
b (2),a (1),1,41,7.454,0,41,650,,
a (1),cron (9),,,,1,,,,
END
# All waits of all threads, by a group of victims and a group of culprits: 400 + 550.
same preempt --by all <<'END'
victim,culprit,waits,ran,percent,first,max,max_at,victim_priority,culprit_priority
all threads,not recorded,4,909,95.684,0,499,1501,,
all threads,all threads,1,41,4.315,0,41,650,,
all threads,cron (9),,,,1,,,,
END
same wake <<'END'
waker,woken,times,wait_avg,wait_max,max_at
a (1),b (2),1,51,51,701
b (2),a (1),1,100,100,1600
END
same timehist <<'END'
time,cpu,thread,sleep,wait,run,why,next,waker
200,0,a (1),,,200,preempted,cron (9),
700,0,a (1),0,300,200,sleeping,b (2),
1401,1,b (2),,51,700,io,idle,a (1)
2000,0,a (1),800,100,400,exited,unknown,b (2)
END
same cpu <<'END'
loom,cpu,who,time,percent,pieces
n,0,a (1),800,40.000,3
n,0,b (2),300,15.000,1
n,0,idle,600,30.000,
n,0,other threads,200,10.000,
n,0,unknown (lost),100,5.000,
n,1,b (2),400,20.000,1
n,1,other threads or idle,1600,80.000,
n,2,other threads or idle,2000,100.000,
n,3,other threads or idle,2000,100.000,
END
# A part of the window: idle time is no longer distinguished from the time of other threads.
same cpu --from +600ns --to 2800 <<'END'
loom,cpu,who,time,percent,pieces
n,0,a (1),300,25.000,2
n,0,b (2),300,25.000,1
n,0,other threads or idle,500,41.666,
n,0,unknown (lost),100,8.333,
n,1,b (2),400,33.333,1
n,1,other threads or idle,800,66.666,
n,2,other threads or idle,1200,100.000,
n,3,other threads or idle,1200,100.000,
END
# f is 500 long, 300 of it preempted; its inner call is counted and takes no time. The threads lived
# 2000 each.
same func <<'END'
function,type,calls,wall,self,percent,on_cpu,runnable,throttled,asleep,unknown,max,max_at
f,Function,2,500,100,12.500,200,300,0,0,0,500,100
"g,h",Function,1,400,400,10.000,100,300,0,0,0,400,150
MPI_Send,mpi function,1,100,100,2.500,100,0,0,0,0,100,1650
Critical: Acquiring,openmp subsystem,1,40,40,1.000,40,0,0,0,0,40,1660
END
same func --by thread --top 1 <<'END'
thread,function,type,calls,wall,self,percent,on_cpu,runnable,throttled,asleep,unknown,max,max_at
a (1),f,Function,2,500,100,25.000,200,300,0,0,0,500,100
END
same func --by rank --top 1 <<'END'
thread,function,type,calls,wall,self,percent,on_cpu,runnable,throttled,asleep,unknown,max,max_at
no rank,f,Function,2,500,100,12.500,200,300,0,0,0,500,100
END
# A life is 2000; b is known to be asleep from its first event on.
same why <<'END'
thread,tid,pid,name,rank,state,reason,times,time,percent,max,max_at,call,interrupts,from
b (2),2,1,b,,running,,1,700,35.000,700,701,,,
b (2),2,1,b,,asleep,sleeping,1,650,32.500,650,0,,,
b (2),2,1,b,,runnable,woken,2,550,27.500,499,1501,,,
b (2),2,1,b,,asleep,io,1,100,5.000,100,1401,,,
a (1),1,1,a,,running,,3,800,40.000,400,1600,,,
a (1),1,1,a,,asleep,sleeping,1,800,40.000,800,700,,,
a (1),1,1,a,,runnable,preempted,1,300,15.000,300,200,,,
a (1),1,1,a,,runnable,woken,1,100,5.000,100,1500,,,
END
same why --by process --comm '[ab]' --from +200ns --to +300ns <<'END'
thread,tid,pid,name,rank,state,reason,times,time,percent,max,max_at,call,interrupts,from
a (1),,1,a,,runnable,preempted,1,100,50.000,100,200,,,
a (1),,1,a,,asleep,sleeping,1,100,50.000,100,200,,,
END
same latency --by comm --comm 'b*' <<'END'
thread,tid,pid,name,rank,runs,run_time,waits,wait_time,wait_avg,wait_p50,wait_p99,wait_max,max_at,cpu_idle
b,,,b,,1,700,1,51,51,51,51,51,701,
END
same latency --histogram <<'END'
thread,from,to,waits,percent
all threads,32,64,1,33.333
all threads,64,128,1,33.333
all threads,128,256,0,0.000
all threads,256,512,1,33.333
END
same wake --period <<'END'
thread,tid,pid,name,rank,periods,min,avg,p50,p99,max,max_at
END
same latency --sort thread --reverse --top 1 <<'END'
thread,tid,pid,name,rank,runs,run_time,waits,wait_time,wait_avg,wait_p50,wait_p99,wait_max,max_at,cpu_idle
b (2),2,1,b,,1,700,1,51,51,51,51,51,701,
END
same latency --tid 2 --from +1us --to 2900 <<'END'
thread,tid,pid,name,rank,runs,run_time,waits,wait_time,wait_avg,wait_p50,wait_p99,wait_max,max_at,cpu_idle
b (2),2,1,b,,1,700,1,51,51,51,51,51,701,
END
report timehist --json "$T/t" | python3 -c '
import json, sys
rows = json.load(sys.stdin)
assert len(rows) == 4 and rows[0]["sleep"] is None and rows[3]["waker"] == "b (2)", rows' || fail "JSON"
report latency "$T/t" >"$T/got"
grep -q '^a (1)  *1  *3  *800 ns  *2  *400 ns  *200 ns' "$T/got" || { cat "$T/got"; fail "the table"; }
status=0; report nothing "$T/t" >/dev/null || status=$?
[ $status = 2 ] || fail "an unknown report gives status $status"
status=0; report latency --sort nothing "$T/t" >/dev/null || status=$?
[ $status = 2 ] || fail "an unknown column gives status $status"

# Merged and kernel-model streams: KCO and KCI decide.
make_trace "$T/t" <<'END'
thread n 1 1 bpf.name="a"
10 OHx i32:0 i32:-1 u64:0
20 KCO u16:6 i32:9
50 KCI i32:0
60 OHp
70 KCO u16:1 i32:0
90 KCI i32:0
95 OHr
99 OHe
END
same timehist <<'END'
time,cpu,thread,sleep,wait,run,why,next,waker
10,0,a (1),,,10,preempted,9,
60,0,a (1),30,,20,sleeping,idle,
89,0,a (1),20,,9,exited,unknown,
END

# A CPU quota stops a thread: the thread that came next did not drive it out.
make_trace "$T/t" <<'END'
thread n 1 1 bpf.name="a"
10 OHx i32:0 i32:-1 u64:0
20 OHp u16:12 i32:9
20 OHw i32:-1
50 OHr
99 OHe
END
same timehist <<'END'
time,cpu,thread,sleep,wait,run,why,next,waker
10,0,a (1),,,10,throttled,9,
89,0,a (1),0,30,49,exited,unknown,
END
same preempt <<'END'
victim,culprit,waits,ran,percent,first,max,max_at,victim_priority,culprit_priority
a (1),CPU quota,1,30,100.000,0,30,10,,
END
# Periods from wake-up to wake-up (a yield is none), and a first taker that runs for a tenth of the wait.
make_trace "$T/t" <<'END'
thread n 1 1 bpf.name="timer"
1000 OHx i32:0 i32:-1 u64:0
1010 OHp u16:1 i32:0
2000 OHw i32:-2
2005 OHr
2010 OHp u16:7 i32:0
2010 OHw i32:-1
2500 OHr
2510 OHp u16:1 i32:0
3000 OHw i32:-2
3007 OHr
3010 OHp u16:1 i32:0
4100 OHw i32:-2
4107 OHr
4110 OHe
END
same wake --period <<'END'
thread,tid,pid,name,rank,periods,min,avg,p50,p99,max,max_at
timer (1),1,1,timer,,2,1000,1050,1007,1100,1100,3100
END
{
	cpus='bpf.session.cpus=[{"index":0,"ns":{"unknown":"0","idle":"1","other":"0"}}]'
	at() { for i in $(seq 0 19); do awk -v base=$((i * 20000000)) '{$1 += base; print}' <<<"$1"; done; }
	echo "thread n 1 1 bpf.name=\"victim\" $cpus"
	echo '1 OHx i32:0 i32:-1 u64:0'
	at $'1000 OHp u16:6 i32:2\n1000 OHw i32:-1\n11001001 OHr'
	echo '400000000 OHe'
	echo 'thread n 2 2 bpf.name="first"'
	echo '1 OHx i32:-1 i32:-1 u64:0'
	echo '1 OHp u16:1 i32:0'
	at $'900 OHw i32:-2\n1001 OAs i32:0\n1001 OHr\n1001000 OHp u16:1 i32:3' | sed '2!{/OAs/d}'
	echo $'400000000 OHw i32:0\n400000000 OAs i32:-1\n400000000 OHr\n400000000 OHe'
	echo 'thread n 3 3 bpf.name="hog"'
	echo '1 OHx i32:-1 i32:-1 u64:0'
	echo '1 OHp u16:1 i32:0'
	at $'950 OHw i32:-2\n1001001 OAs i32:0\n1001001 OHr\n11001000 OHp u16:1 i32:1' | sed '2!{/OAs/d}'
	echo $'400000000 OHw i32:0\n400000000 OAs i32:-1\n400000000 OHr\n400000000 OHe'
} | make_trace "$T/t"
same preempt --tid 1 <<'END'
victim,culprit,waits,ran,percent,first,max,max_at,victim_priority,culprit_priority
victim (1),hog (3),20,200000020,90.909,0,10000001,999,,
victim (1),first (2),20,20000000,9.090,20,1000000,999,,
END

# A move that is known at the switch-in: a woken thread was queued there since its wake-up, and one
# that the stopper drove out at once; another one waited on its old CPU.
{
	echo 'thread n 1 1 bpf.name="moved" bpf.session.cpus=[{"index":0,"ns":{"unknown":"0","other":"0"}},{"index":1,"ns":{"unknown":"0","other":"0"}}]'
	printf '%s\n' '1 OHx i32:0 i32:-1 u64:0' '100 OHp u16:1 i32:2' '200 OHw i32:-2' '301 OAs i32:1' '301 OHr' \
		'400 OHp u16:6 i32:4' '400 OHw i32:-1' '501 OAs i32:0' '501 OHr' \
		'600 OHp u16:6 i32:2' '600 OHw i32:-1' '701 OAs i32:1' '701 OHr' '800 OHe'
	echo 'thread n 2 2 bpf.name="on0"'
	printf '%s\n' '101 OHx i32:0 i32:-1 u64:0' '500 OHp u16:1 i32:1' '600 OHw i32:-2' '601 OHr' '800 OHe'
	echo 'thread n 3 3 bpf.name="on1"'
	printf '%s\n' '1 OHx i32:1 i32:-1 u64:0' '300 OHp u16:1 i32:1' '400 OHw i32:-2' '411 OHr' '700 OHe'
	echo 'thread n 4 4 bpf.name="migration/1"'
	printf '%s\n' '1 OHx i32:-1 i32:-1 u64:0' '1 OHp u16:1 i32:0' '400 OHw i32:-2' '401 OAs i32:1' '401 OHr' '410 OHe'
} | make_trace "$T/t"
same preempt --tid 1 <<'END'
victim,culprit,waits,ran,percent,first,max,max_at,victim_priority,culprit_priority
moved (1),on0 (2),2,202,66.666,1,101,399,,
moved (1),on1 (3),1,101,33.333,0,101,199,,
moved (1),migration/1 (4),0,0,0.000,1,0,,,
END
sed -i 's/"migration\/1"/"stopped"/' "$T"/t/loom.n/proc.4/thread.4/stream.json
same preempt --tid 1 --comm moved --sort culprit <<'END'
victim,culprit,waits,ran,percent,first,max,max_at,victim_priority,culprit_priority
moved (1),on0 (2),1,101,33.333,1,101,599,,
moved (1),on1 (3),2,192,63.366,0,101,199,,
moved (1),stopped (4),1,10,3.300,1,10,399,,
END

# In a gap the state of the thread is not known, although calls return there: f is entered before the
# loss at 300, g runs across it, and h lies in it. A part of a CPU's time has the gap, too; the session
# has 20 more unknown, which may be anywhere in the rest.
make_trace "$T/t" <<'END'
thread n 1 1 bpf.name="a" bpf.session.t0="0" bpf.session.t1="1000" ovni.loom_cpus=[{"index":0,"phyid":0}] bpf.session.cpus=[{"index":0,"ns":{"unknown":"220","idle":"0","other":"180"}}] ovni.mark={"0":{"title":"F","chan_type":"stack","labels":{"1":"f","2":"g","3":"h"}}}
0 OHx i32:0 i32:-1 u64:0
100 OM[ i64:1 i32:0
250 OM[ i64:2 i32:0
350 OM] i64:2 i32:0
360 OM[ i64:3 i32:0
400 OM] i64:3 i32:0
450 OM] i64:1 i32:0
500 OHp u16:1 i32:-1 u64:200
700 OHw i32:-2
700 OHr
1000 OHe
END
same func <<'END'
function,type,calls,wall,self,percent,on_cpu,runnable,throttled,asleep,unknown,max,max_at
f,F,1,350,210,35.000,200,0,0,0,150,350,100
g,F,1,100,100,10.000,50,0,0,0,50,100,250
h,F,1,40,40,4.000,0,0,0,0,40,40,360
END
same cpu --from 200 --to 400 <<'END'
loom,cpu,who,time,percent,pieces
n,0,a (1),100,50.000,1
n,0,other threads or idle,0,0.000,
n,0,unknown (lost),100,50.000,
END
same cpu --from 400 --to 800 <<'END'
loom,cpu,who,time,percent,pieces
n,0,a (1),100,25.000,1
n,0,other threads or idle,180,45.000,
n,0,unknown (lost),120,30.000,
END
same cpu --from 0 --to 300 <<'END'
loom,cpu,who,time,percent,pieces
n,0,a (1),300,100.000,1
n,0,other threads or idle,0,0.000,
END

# What selects nothing is said; the table is empty, and that is no failure.
says() { # WORDS OPTION...
	local words=$1
	shift
	report latency "$T/t" --csv "$@" >"$T/got" || fail "$*: status $?"
	[ "$(wc -l <"$T/got")" = 1 ] || { cat "$T/got"; fail "$*: rows"; }
	grep -qF -- "$words" "$T/said" || { cat "$T/said"; fail "$*: no '$words'"; }
}
says "$T/t has no thread for --tid (ovni-info" --tid 77
says "$T/t has no thread for --tid and --comm (ovni-info" --tid 1 --comm b
says "$T/t has no thread for --loom (ovni-info" --loom nowhere
says 'has no event in the part of --from and --to: it ends ' --from 3600s
says 'has no event in the part of --from and --to: it ends ' --to -1
report latency "$T/t" --csv --tid 1 --from 0 --to +1s >/dev/null || fail "the whole trace as a part"
[ ! -s "$T/said" ] || { cat "$T/said"; fail "the whole trace as a part: a warning"; }
status=0
report latency "$T/t" --from +2ns --to +1ns >"$T/got" || status=$?
[ $status = 1 ] && grep -q -- '--from is later than --to' "$T/said" || { cat "$T/said"; fail "--from after --to: status $status"; }
