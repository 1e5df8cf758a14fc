#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-report critical: a path worked out by hand, with every way to go on; parts of the time; the sums; a
# thread that must be chosen; a loss; and on random schedules (report_critical.py) the rules of why.md, part
# D: the segments are adjacent and add up to the window, each is in the state that the events say, and the
# path goes on with the waker or creator wherever that one ran, or with the owner of the lock (--owners). Two
# threads that wake each other 332,000 times: linear, a million events in less than 2 s.
set -eu
. "$S/tests/golden/tools_lib.sh"
cd "$T"
same() { # OPTIONS: compares from, to, tid, state, reason and by with standard input
	cat >want
	report critical "$@" --csv trace >got || fail "critical $* failed"
	sed 1d got | cut -d , -f 1,2,6,8,9,10 | diff - want || fail "critical $*"
}
# stage (2) works up to 400 and wakes worker (3), whose wake-up has a later clock; worker needs a mutex, which
# holder (4) gives it after a sleep of its own; worker wakes main (1). Thread 9 has no stream.
make_trace trace <<'E'
thread n 1 1 ovni.require={"ovni":"1.1.0","bpf":"1.0.0"} bpf.name="main"
0 OHx i32:0 i32:-1 u64:0
10 OHC i32:0 i32:3 u64:0
20 OHp u16:1 i32:2
100000 OHw i32:3
100010 OHr
100015 OHp u16:6 i32:9
100015 OHw i32:-1
100018 OHr
100030 OHe
thread n 1 2 bpf.name="stage"
0 OHx i32:1 i32:-1 u64:0
400 OHp u16:1 i32:0
120000 OHw i32:-2
120010 OHr
120020 OHe
thread n 1 3 bpf.name="worker"
14 OHx i32:2 i32:-1 u64:0
30 OHp u16:1 i32:0
460 OHw i32:2
460 OHr
500 OHp u16:1 i32:0
90000 OHw i32:4
90020 OHr
99000 OHp u16:1 i32:0
150000 OHw i32:-2
150010 OHr
150020 OHe
thread n 1 4 bpf.name="holder"
5 OHx i32:3 i32:-1 u64:0
40 OHp u16:1 i32:0
80000 OHw i32:-2
80040 OHr
90010 OHp u16:3 i32:0
150000 OHw i32:9
150010 OHr
150020 OHe
E
same --tid 1 <<'E'
0,5,4,not recorded,,
5,40,4,running,,
40,80000,4,asleep,sleeping,interrupt
80000,80040,4,runnable,woken,interrupt
80040,90000,4,running,,
90000,90020,3,runnable,woken,holder (4)
90020,99000,3,running,,
99000,100000,1,wake-up,,worker (3)
100000,100010,1,runnable,woken,worker (3)
100010,100015,1,running,,
100015,100018,1,runnable,preempted,9
100018,100030,1,running,,
E
# Before the holder the path is that of stage, whose run ended 60 ns before the wake-up. A part begins or ends
# inside of a segment.
same --tid 3 --from 300 --to 500 <<'E'
300,400,2,running,,
400,460,3,wake-up,,stage (2)
460,500,3,running,,stage (2)
E
same --tid 1 --from 50000 --to 85000 <<'E'
50000,85000,1,asleep,sleeping,
E
# A thread without a stream, and an interrupt: the path goes on with the own sleep.
same --tid 4 --from 100000 <<'E'
100000,150000,4,asleep,io,9
150000,150010,4,runnable,woken,9
150010,150020,4,running,,
E
# A newborn comes from its creator.
same --tid 3 --to 20 <<'E'
0,10,1,running,,
10,14,3,runnable,newborn,main (1)
14,20,3,running,,
E

# In Paraver: type 311, of each thread while the path is in it.
"$B/bin/ovni-emu" -q -a --critical 1 -o views trace || fail "ovni-emu --critical: status $?"
grep ':311:' views/thread.prv | diff - <(printf '2:0:1:1:%s\n' 4:0:311:1 4:90000:311:0 3:90000:311:1 3:99000:311:0 \
	1:99000:311:1 1:100030:311:0) || fail "type 311"
grep -qx '1  *On the critical path' views/thread.pcf || fail "no label of type 311"
[ -s views/cfg/thread/critical-path.cfg ] || fail "no view of the critical path"
"$B/bin/ovni-emu" -q -a -o without trace || fail "ovni-emu: status $?"
grep -v ':311:' views/thread.prv | cmp - without/thread.prv || fail "--critical changes other lines"
[ ! -e without/cfg/thread/critical-path.cfg ] || fail "a view that shows nothing"
status=0; "$B/bin/ovni-emu" --critical 77 -o none trace 2>said || status=$?
{ [ $status = 1 ] && grep -q -- '--critical 77: trace has no such thread (ovni-info lists them)$' said; } ||
	fail "ovni-emu --critical 77: status $status: $(cat said)"
status=0; "$B/bin/ovni-emu" --critical 1 --compat trace 2>said || status=$?
{ [ $status = 2 ] && grep -q -- '--critical: excludes --compat' said; } || fail "--compat: status $status: $(cat said)"

# The sums: the same time, and as many rows as there are kinds.
report critical --tid 1 --sum --csv trace >got || fail "--sum failed"
python3 - <<'E' || fail "--sum"
import csv
rows = list(csv.DictReader(open("got")))
assert sum(int(r["time"]) for r in rows) == 100030 and sum(int(r["times"]) for r in rows) == 12, rows
first = rows[0]
assert (first["thread"], first["state"], first["time"], first["max_at"]) == ("holder (4)", "asleep", "79960", "40"), first
E
# People see short segments together, and the sums.
report critical --tid 1 trace >got || fail "text"
grep -q 'The path to main (1) has 100.030 us in 12 segments, with 2 hops to a waker or creator:$' got || fail "foot"
grep -q '^18.992 us running, 73 ns runnable, 79.960 us asleep, 1.000 us in wake-ups, 0 ns unknown, 5 ns not recorded.$' got ||
	fail "sums in the foot"
[ "$(grep -c '[0-9] short segments' got)" = 2 ] || fail "short segments"

# The main thread of a process is chosen; of several threads, none.
report critical trace --csv >one && report critical trace --csv --tid 1 | cmp - one || fail "the main thread"
cp -r trace nameless
python3 - <<'E' # streams of no loom
import glob, json
for path in glob.glob("nameless/loom.*/*/*/stream.json"):
    doc = json.load(open(path))
    del doc["ovni"]["loom"]
    json.dump(doc, open(path, "w"))
E
report critical nameless --csv | cmp - one || fail "threads of no loom"
status=0; report critical trace --comm '[sw]*' >got || status=$?
{ [ $status = 1 ] && grep -q 'ends in one thread, and 2 are selected' said; } || fail "two threads: status $status"
status=0; report critical trace --tid 77 >got || status=$?
{ [ $status = 1 ] && grep -q 'has no thread for --tid' said && [ "$(wc -l <said)" = 1 ]; } || fail "no thread: status $status"
status=0; report critical trace --tid 3 --from 150020 >got || status=$?
{ [ $status = 1 ] && grep -q 'has no time in the window' said; } || fail "no time: status $status"
# A damage is the only error, also where it leaves the thread no time.
make_trace backwards <<'E'
thread n 1 1
1000 OHx i32:0 i32:-1 u64:0
900 OHe
E
status=0; report critical --sum backwards >got || status=$?
{ [ $status = 1 ] && [ "$(grep -c 'error: ' said)" = 1 ] && grep -q 'clock goes backwards' said; } || fail "a damage: $(cat said)"
status=0; report why --sum trace >got || status=$?
[ $status = 2 ] || fail "why --sum: status $status"

# A thread is woken by one that never runs, beside 150,000 waits of that one within 300 us: 4 s of CPU time if each
# wake-up looks through the waits of 100 us.
awk 'BEGIN { for (tid = 1; tid <= 2; tid++) { print "thread n 1 " tid; print "1000 OHx i32:" tid - 1 " i32:-1 u64:0"
	if (tid == 2) print "1050 OHp u16:6 i32:0"
	for (i = 900000; i < 1200000; i += 2) if (tid == 1) printf "%d OHp u16:6 i32:0\n%d OHw i32:2\n%d OHr\n", i, i + 1, i + 1
		else printf "%d OHw i32:0\n%d OHp u16:6 i32:0\n", i, i + 1
	print "1300000 OHe" } }' | make_trace hostile
(ulimit -t 2 && report critical hostile --tid 1 >got) || fail "a hostile trace takes too long"
grep -q '1.149 ms running, 0 ns runnable, 150.000 us asleep' got || fail "a hostile trace"

# Time that a loss makes unknown is in the path as such.
make_trace lossy <<'E'
thread n 1 1 bpf.session={"lost":"5"}
1000 OHx i32:0 i32:-1 u64:0
1500 OHp u16:1 i32:0
3000 OHr u64:1500
3500 OHp u16:1 i32:0 u64:100
3600 OHw i32:-2
3600 OHr
4000 OHe
E
status=0; report critical lossy --csv >got || status=$?
[ $status = 3 ] || fail "a lossy trace: status $status"
sed 1d got | cut -d , -f 1,2,8,9 | diff - <(printf '%s\n' 0,500,running, 500,2000,unknown,lost 2000,2400,running, \
	2400,2500,unknown,lost 2500,2600,asleep,sleeping 2600,3000,running,) || fail "a lossy trace"

# A damaged trace in which no thread, or one of two, must be chosen: one message, about the damage.
make_trace damaged <<'E'
thread n 1 1
1000 OHx i32:0 i32:-1 u64:0
2000 OHe
thread n 2 2
1000 OHx i32:1 i32:-1 u64:0
2000 OHe
E
truncate -s -1 damaged/loom.n/proc.1/thread.1/stream.obs
for threads in 2 0; do
	[ $threads != 0 ] || sed -i 's/"thread"/"part"/' damaged/loom.n/proc.*/thread.*/stream.json
	status=0; report critical damaged 2>said || status=$?
	[ $status = 1 ] && [ "$(grep -c error: said)" = 1 ] && grep -q "stream ends inside an event" said ||
		fail "a damaged trace with $threads threads: status $status, $(cat said)"
done

python3 -B "$S/tests/golden/report_critical.py" "$B/bin/ovni-report" "$T"
python3 -B "$S/tests/golden/critical_linear.py" "$B/bin/ovni-report" "$T"
