#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-report locks: a queue worked out by hand, with owners that change, an object without an owner, the same
# address in another process, a wait that does not end, a wait in a gap, and parts of the time; names of
# threads that are control characters; owners that no thread has. The totals are the futex time of why.
set -eu
. "$S/tests/golden/tools_lib.sh"
cd "$T"
same() { # OPTIONS: compares the columns from address on with standard input
	cat >want
	report locks "$@" --csv trace >got || fail "locks $* failed"
	sed 1d got | cut -d , -f 2,4- | diff - want || fail "locks $*"
	report locks "$@" --json trace >got.locks
	report why "$@" --json trace >got.why
	python3 - <<'E' || fail "locks $*: the totals"
import json
locks, why = json.load(open("got.locks")), json.load(open("got.why"))
total, asleep = sum(r["total"] for r in locks), sum(r["time"] for r in why if r["call"] == "futex")
assert total == asleep, (total, asleep)
E
}
# 202 is futex on x86-64. Thread 2 waits for 0x10 of thread 1 from 100 to 400, 3 from 200 to 600 behind it,
# of thread 1, too, and then of 2 from 700 to 750; 3 waits for 0x20, which has no owner, to the end.
make_trace trace <<'E'
thread n 1 1 ovni.require.bpf="1.0.0" bpf.name="hold\u001ber" bpf.session.machine="x86_64"
0 OHx i32:0 i32:-1 u64:0
1000 OHe
thread n 1 2 ovni.require.bpf="1.0.0" bpf.name="two"
0 OHx i32:1 i32:-1 u64:0
100 OHp u16:1 i32:3 u16:202 u64:16
400 OHw i32:1 i32:1
410 OHr
1000 OHe
thread n 1 3 ovni.require.bpf="1.0.0" bpf.name="three"
0 OHx i32:-1 i32:-1 u64:0
200 OHp u16:1 i32:0 u16:202 u64:16
600 OHw i32:2 i32:1
610 OHr
700 OHp u16:1 i32:0 u16:202 u64:16
750 OHw i32:2 i32:2
760 OHr
800 OHp u16:1 i32:0 u16:202 u64:32
1000 OHw i32:0 i32:-1
1000 OAs i32:-1
1000 OHr
1000 OHe
thread n 5 5 ovni.require.bpf="1.0.0" bpf.name="other"
0 OHx i32:-1 i32:-1 u64:0
300 OHp u16:1 i32:0 u16:202 u64:16
500 OHw i32:2 i32:77
500 OHr
600 OHp u16:1 i32:0 u16:202 u64:16
700 OHw i32:2 u64:50
700 OHr
1000 OHe
E
same <<'E'
0x10,1,3,750,400,200,2,2,1,1,93.333,"hold\x1ber (1) 93 %, two (2) 7 %"
0x10,5,1,200,200,300,1,1,0,77,100.000,77 100 %
0x20,1,1,200,200,800,1,1,0,,,
E
# a part of the time, and of the threads
same --from 300 --to 650 <<'E'
0x10,1,2,400,300,300,2,2,1,1,100.000,hold\x1ber (1) 100 %
0x10,5,1,200,200,300,1,1,0,77,100.000,77 100 %
E
same --tid 3 <<'E'
0x10,1,2,450,400,200,1,1,0,1,88.888,"hold\x1ber (1) 89 %, two (2) 11 %"
0x20,1,1,200,200,800,1,1,0,,,
E
report locks trace >text
grep -q '^0x10  *hold' text || fail "the first row is not the longest: $(cat text)"
! grep -q $'\033' text || fail "a name reaches the terminal with its control character"
grep -q '0x20 ' text || fail "the text lacks an object"

# In Paraver: an arrow from each owner with a stream, from the begin of the sleep to the wake-up; type 311 of the
# path by owners. The real Paraver adds up the arrows' times: thread by owner.
"$B/bin/ovni-emu" -q --arrows --critical 2 --owners -o views trace || fail "ovni-emu: status $?"
grep '^3:.*:3$' views/thread.prv | cut -d : -f 5,6,11,12,14,15 | sort >got
sort <<'E' | diff - got || fail "arrows from owners"
1:100:2:400:300:3
1:200:3:600:400:3
2:700:3:750:50:3
E
grep ':311:' views/thread.prv | cut -d : -f 5- | diff - <(printf '%s\n' 1:0:311:1 1:400:311:0 2:400:311:1 2:1000:311:0) ||
	fail "the path by owners"
for view in lock-owner-arrows lock-owners; do
	[ -s views/cfg/thread/$view.cfg ] || fail "no view $view"
done
"$B/bin/ovni-emu" -q -o plain_views trace || fail "ovni-emu: status $?"
! grep -q '^3:' plain_views/thread.prv || fail "arrows without --arrows"

# A trace without the calls of sleeps.
make_trace plain <<'E'
thread n 1 1
0 OHx i32:0 i32:-1 u64:0
100 OHp u16:1 i32:0
400 OHw i32:2
410 OHr
1000 OHe
E
report locks plain >text
grep -q 'no wait on a futex' text || fail "locks does not say why it is empty: $(cat text)"
