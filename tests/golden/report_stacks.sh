#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The stacks of long sleeps: folded lines worked out by hand, whose times add up to those of why; numbers in
# ovni-dump, Paraver 307, a part of a trace and a merged trace; numbers without a line, and damaged files.
set -eu
. "$S/tests/golden/tools_lib.sh"
cd "$T"
dump() { "$B/bin/ovni-dump" "$@"; }
check() { "$B/bin/ovni-check" "$@"; }
emu() { "$B/bin/ovni-emu" "$@"; }
cut_trace() { "$B/bin/ovni-cut" "$@"; }
merge() { "$B/bin/ovni-merge" "$@"; }
report_loud() { "$B/bin/ovni-report" "$@"; }
stacks() { printf 'ovni-bpf stacks 1\n%b' "$1"; } # LINES

make_trace trace <<'E'
thread n 1 1 bpf.name="one" bpf.session.machine="x86_64" ovni.require.bpf="1.0.0"
0 OHx i32:0 i32:-1 u64:0
100000 OHp u16:1 i32:0 u16:202 u64:16
400000 OHw i32:2 i32:7 u32:1 u32:0
410000 OHr
500000 OHp u16:1 i32:0
700000 OHw i32:2 i32:0 u32:3 u32:0
710000 OHr
800000 OHp u16:2 i32:0
801999 OHw i32:2
802000 OHr
900000 OHp u16:1 i32:0
950000 OHw i32:2 u64:500
950100 OHr
1000000 OHe
thread n 1 2 bpf.name="two" ovni.require.bpf="1.0.0"
0 OHx i32:1 i32:-1 u64:0
100000 OHp u16:1 i32:0
150000 OHw i32:0 i32:0 u32:3 u32:0
160000 OHr
200000 OHp u16:6 i32:0
200000 OHw i32:-1
300000 OHr
400000 OHp u16:1 i32:0
480000 OHw i32:0 i32:0 u32:9 u32:0
480000 OHr
1000000 OHe
E
stacks '1\tfutex_wait+0x8;do_futex+0x1;entry+0x7\n2\tunused+0x1\n3\tpipe_read+0x1[m];entry+0x7;[cut]\n' >trace/stacks
report stacks trace >got
diff - got <<'E' || fail "the folded lines"
two (2);[cut];entry_[k];pipe_read_[k] 50
one (1);entry_[k];do_futex_[k];futex_wait_[k] 300
two (2);[not known] 80
one (1);[cut];entry_[k];pipe_read_[k] 200
one (1);[no stack] 1
E
report why --json trace >got.why
python3 - <<'E' || fail "the sum"
import json
us = sum(int(l.rsplit(" ", 1)[1]) for l in open("got"))
asleep = sum(r["time"] for r in json.load(open("got.why")) if r["state"] == "asleep")
assert us == asleep // 1000, (us, asleep)
E
report stacks --tid 2 --from 120000 trace >got
diff - got <<'E' || fail "a part of the time of a thread"
two (2);[cut];entry_[k];pipe_read_[k] 30
two (2);[not known] 80
E
report stacks --by all trace | grep -q '^all threads;entry_\[k\];do_futex' || report stacks --by all trace | grep -q 'entry_\[k\];do_futex' ||
	fail "--by all: $(report stacks --by all trace)"
report stacks --svg trace >svg
report flame --stacks --svg trace | cmp - svg || fail "flame --stacks is another picture"
grep -q 'futex_wait' svg || fail "the picture lacks a function"

# Frames of user code: below those of the kernel; equal stacks have one line; the later line of a number holds.
cp -r trace user
stacks '1\tfutex_wait+0x8;entry+0x7\n3\t=1\n9\t=1\n3\t=1;take@prog+0x12@pool.c:40;ns::f<int, long>@lib+x.so+0x9;[libc.so.6+0x27]@93ac;_start@prog+0x1\n9\t=3\n' >user/stacks
report stacks user >got
diff - got <<'X' || fail "the folded lines of user code"
two (2);_start;[libc.so.6+0x27];ns::f<int, long>;take;entry_[k];futex_wait_[k] 130
one (1);entry_[k];futex_wait_[k] 300
one (1);_start;[libc.so.6+0x27];ns::f<int, long>;take;entry_[k];futex_wait_[k] 200
one (1);[no stack] 1
X
dump user >got || true
grep -q '^ *480000 .*stack 9 (take <- ns::f<int, long> <- \[libc.so.6+0x27\])$' got || fail "dump: $(grep stack got)"
report flame --stacks --svg user | grep -q '>take' || fail "the picture lacks a function of user code"
emu -o views-user user >/dev/null 2>&1 || true
grep -A 30 '^0 307' views-user/thread.pcf >got || fail "Paraver has no 307: $(ls views-user)"
[ "$(grep -c 'take <- ns::f<int, long>' got)" = 1 ] || fail "Paraver: equal stacks have two values: $(cat got)"
# The place of each sleep: the first frame that is not of the C library, with its line, and its caller.
report blocked --csv user | cut -d , -f 2,6-8,9,15- >got || fail "blocked"
diff - got <<'X' || fail "the places of blocked"
tid,state,reason,times,time,from,woken_from
1,asleep,sleeping,1,300000,,
1,asleep,sleeping,1,200000,"take (pool.c:40) <- ns::f<int, long>",
2,asleep,sleeping,2,130000,"take (pool.c:40) <- ns::f<int, long>",
1,unknown,lost,1,50100,,
1,asleep,uninterruptible,1,1999,,
X
cp -r user places
stacks '1\tfutex_wait+0x8;nanosleep@libc.so.6+0x1\n3\t=1;pthread_mutex_lock@libc.so.6+0x12@lock.c:9;[ld-linux-x86-64.so.2+0x27]@93ac;clock@libpthread-2.31.so+0x2;ns::take(int)@prog+0x12;[cut]\n9\t[no_kernel_stack];nanosleep@libc.so.6+0x1;idle@prog+0x1@a.c:3;[libc.so.6+0x27]@93ac\n' >places/stacks
report why --csv places | cut -d , -f 2,6-9,15- | grep asleep | sort >got || fail "why"
diff - got <<'X' || fail "the places of why: no line, no caller, the C library alone, or as caller"
1,asleep,sleeping,1,200000,ns::take(int)
1,asleep,sleeping,1,300000,
1,asleep,uninterruptible,1,1999,
2,asleep,sleeping,1,50000,ns::take(int)
2,asleep,sleeping,1,80000,idle (a.c:3)
X
# Waits for a CPU of a preempted thread (--why=preempted): a row of each place, which add up to its waits.
make_trace waits <<'E'
thread n 1 1 bpf.name="one" bpf.session.machine="x86_64" ovni.require.bpf="1.0.0"
0 OHx i32:0 i32:-1 u64:0
1000 OHp u16:6 i32:0
1000 OHw i32:-1
4000 OHr u32:0 u32:0 u32:3 u32:0
5000 OHp u16:6 i32:0
5000 OHw i32:-1
6000 OHr
7000 OHp u16:6 i32:0
7000 OHw i32:-1
9000 OHr u32:0 u32:0 u32:3 u32:0
9500 OHe
E
cp user/stacks waits/stacks
report why --csv waits | cut -d , -f 2,6-9,11,15- >got || fail "why: waits"
diff - got <<'X' || fail "the places of waits"
tid,state,reason,times,time,max,from
1,runnable,preempted,2,5000,3000,"take (pool.c:40) <- ns::f<int, long>"
1,running,,4,3500,1000,
1,runnable,preempted,1,1000,1000,
X
cut_trace -o part-user --from 350000 user >/dev/null 2>&1 || true
dump part-user >got 2>&1 || true
grep -q 'stack 9 (take <- ' got || fail "cut: $(cat got part-user/stacks)"

# The waker of a sleep: a thread, an interrupt; a stack without one.
cp -r user wakers
stacks '1\tfutex_wait+0x8;entry+0x7\t5\n3\t=1\n5\ttimer+0x1;irq+0x2;asm+0x3\n6\tfutex_wake+0x5\n3\t=1;take@prog+0x12@pool.c:40;ns::f<int, long>@lib+x.so+0x9\t6\n6\t=6x\n' >wakers/stacks
report blocked wakers >got 2>&1 && fail "a damaged line is accepted"
stacks '1\tfutex_wait+0x8;entry+0x7\t5\n3\t=1\n5\ttimer+0x1;irq+0x2;asm+0x3\n7\tfutex_wake+0x5\n6\t=7;put@prog+0x15@pool.c:44;main@prog+0x1\n9\t=1;take@prog+0x12@pool.c:40;ns::f<int, long>@lib+x.so+0x9\t6\n3\t=9\n' >wakers/stacks
report blocked --csv wakers | cut -d , -f 2,6-8,9,15- >got || fail "blocked"
diff - got <<'X' || fail "the places of wakers"
tid,state,reason,times,time,from,woken_from
1,asleep,sleeping,1,300000,,timer <- irq
1,asleep,sleeping,1,200000,"take (pool.c:40) <- ns::f<int, long>",
2,asleep,sleeping,1,80000,"take (pool.c:40) <- ns::f<int, long>",put (pool.c:44) <- main
1,unknown,lost,1,50100,,
2,asleep,sleeping,1,50000,"take (pool.c:40) <- ns::f<int, long>",
1,asleep,uninterruptible,1,1999,,
X
report stacks wakers >got
diff - got <<'X' || fail "the folded lines of wakers"
two (2);ns::f<int, long>;take;entry_[k];futex_wait_[k] 50
one (1);entry_[k];futex_wait_[k];[woken by];timer_[k];irq_[k];asm_[k] 300
two (2);ns::f<int, long>;take;entry_[k];futex_wait_[k];[woken by];futex_wake_[k];put;main 80
one (1);ns::f<int, long>;take;entry_[k];futex_wait_[k] 200
one (1);[no stack] 1
X
dump wakers >got || true
grep -q '^ *480000 .*stack 9 (take <- ns::f<int, long>), woken by stack 6 (put <- main)$' got || fail "dump: $(grep stack got)"
cut_trace -o part-wakers --from 350000 wakers >/dev/null 2>&1 || true
dump part-wakers >got 2>&1 || true
grep -q 'stack 9 (take <- ns::f<int, long>), woken by stack 6 (put <- main)' got || fail "cut: $(cat got part-wakers/stacks)"

dump trace >got || true
grep -q '^ *400000 .*slept on a lock of thread 7, stack 1 (futex_wait <- do_futex <- entry)$' got || fail "dump: $(grep stack got)"
grep -q '^ *700000 .* woken by thread 2, stack 3 (pipe_read <- entry <- \[cut\])$' got || fail "dump: $(grep stack got)"
grep -q '^ *480000 .*stack 9 (not known)$' got || fail "dump: $(grep stack got)"
dump --json trace | grep '"clock":"400000"' | grep -q '"stack":1,' || fail "dump --json has no number"

check trace >got || true
grep -q 'warning: 1 sleep or wait for a CPU has a stack that is not known' got || fail "check does not find the number: $(cat got)"

emu trace >/dev/null 2>&1 || fail "ovni-emu"
grep -A 3 '^0 307' trace/thread.pcf | grep -q '^ *1 *futex_wait <- do_futex <- entry$' || fail "Paraver: $(grep -A 5 307 trace/thread.pcf)"
grep -q ':307:1' trace/thread.prv && grep -q ':307:3' trace/thread.prv || fail "thread.prv: $(grep 307 trace/thread.prv)"
grep -q '^2:[0-9:]*:100000:.*307:1' trace/thread.prv && grep -q '^2:[0-9:]*:410000:.*307:0' trace/thread.prv ||
	fail "307 is not from OHp to OHr: $(grep 307 trace/thread.prv)"

# A part has the lines that it uses.
cut_trace -o part --from 450000 --to 750000 trace >/dev/null 2>&1 || fail "ovni-cut"
stacks '3\tpipe_read+0x1[m];entry+0x7;[cut]\n' | cmp - part/stacks || fail "part: $(cat part/stacks)"
cut_trace -o empty --from 720000 --to 750000 trace >/dev/null 2>&1 || fail "ovni-cut"
[ ! -e empty/stacks ] || fail "a part without stacks has a file"

# A merged trace has those of both, with new numbers.
make_trace program <<'E'
thread n 1 1 ovni.require.bpf="1.0.0"
0 OHx i32:0 i32:-1 u64:0
10 OHp u16:1 i32:0
20 OHw i32:0 i32:0 u32:4 u32:0
30 OHr
1000 OHe
E
stacks '4\tof_program+0x1\n' >program/stacks
make_trace kernel <<'E'
thread n 1 1 ovni.require.kernel="1.0.0"
0 OHx i32:-1 i32:-1 u64:0
100 KCO u16:1 i32:0
200 KCI i32:0 i32:0 u32:2 u32:0
300 KCO u16:1 i32:0
400 KCI i32:0 i32:5 u32:8 u32:0
1000 OHe
E
stacks '1\tunused+0x1\n2\tof_kernel+0x1\n' >kernel/stacks
merge -o both program kernel >/dev/null 2>&1 || fail "ovni-merge"
stacks '4\tof_program+0x1\n6\tof_kernel+0x1\n' | cmp - both/stacks || fail "merged: $(cat both/stacks)"
dump both >got
grep -q '^ *20 .*stack 4 (of_program)' got || fail "merged: the program's stack: $(cat got)"
grep -q '^ *200 .*stack 6 (of_kernel)' got || fail "merged: the kernel's stack: $(cat got)"
! grep -q '^ *400 .*stack' got || fail "merged: a stack that is not known has a number: $(cat got)"

# Damaged files: one sentence, and no trace is valid with one.
while read -r says text; do
	printf '%b' "$text" >trace/stacks
	for program in "report_loud stacks" dump "emu" "cut_trace -o x"; do
		rm -rf x
		$program trace >out 2>err && fail "$program takes $text"
		grep -q "${says//_/ }" err || fail "$program: $text: $(cat err)"
	done
	check trace >out 2>&1 && fail "check takes $text"
	grep -q "${says//_/ }" out || fail "check: $text: $(cat out)"
	[ "$(grep -c "${says//_/ }" out)" = 1 ] || fail "check says twice: $(cat out)"
done <<'E'
no_file_of_stacks hello
line_2:_no_number ovni-bpf stacks 1\nx\ta\n
line_3:_its_number_is_0 ovni-bpf stacks 1\n2\ta\n0\tb\n
stack_3:_the_stack_that_it_names_is_not_there ovni-bpf stacks 1\n2\ta\n3\t=4\n
line_2:_a_frame_is_empty_or_has_a_byte ovni-bpf stacks 1\n1\ta\033[2J\n
E
rm trace/stacks
ln -s /etc/passwd trace/stacks
dump trace >out 2>err && fail "dump follows a link"
grep -q 'stacks' err || fail "a link: $(cat err)"
