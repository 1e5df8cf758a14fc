#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-merge: the kernel's switches are woven into the program's streams; boundaries move by the
# tolerance at most, beyond that intervals are split; nothing is dropped and all is valid.
set -eu
merge() { rm -rf "$T/o"; status=0; "$B/bin/ovni-merge" -o "$T/o" "$@" >"$T/said" 2>&1 || status=$?; }
. "$S/tests/golden/tools_lib.sh"
says() { grep -qF -- "$1" "$T/said" || fail "it does not say: $1"; }
same() {
	sed 's/  */ /g; s/ *$//' >"$T/want"
	"$B/bin/ovni-dump" -x -s "$T/o" | sed 's/  loom.\([^.]*[^ ]*\).proc.[0-9]*.thread/ \1/; s/^ *//; s/  */ /g; s/ *$//' >"$T/got"
	diff "$T/want" "$T/got" || fail "$1"
	"$B/bin/ovni-check" --strict -q "$T/o" >"$T/said" || fail "$1: not valid"
}
nosv='ovni.require={"ovni":"1.1.0","nosv":"2.7.0"}'
# The second thread is in the program's trace alone. VS] was read 300 after the KCO, VU[ 501, VU] 300
# before the KCI; the tolerance is 500.
make_trace "$T/p" <<END
thread h.1 1 1 $nosv
1000 OHx i32:0 i32:-1 u64:0
1200 VS[
2300 VS]
4001 VU[
5700 VU]
9000 OHe
thread h.1 1 2 $nosv
1000 OHx i32:1 i32:-1 u64:0
3000 OHe
END
make_trace "$T/k" <<'END'
thread h 1 1 bpf.name="solver" bpf.names={"77":"cron"} ovni.require={"ovni":"1.1.0","kernel":"1.0.0"}
900 KCI i32:0
950 OHx i32:-1 i32:-1 u64:0
990 KCO u16:1 i32:0
995 KCI i32:0
2000 KCO u16:6 i32:77
3000 KCI i32:1
3500 KCO u16:1 i32:0
6000 KCI i32:0
9500 KCO u16:10 i32:0
9600 KCI i32:0
9600 OHe
thread h 8 8 bpf.name="other"
100 OHx i32:-1 i32:-1 u64:0
200 KCO u16:1 i32:0
9600 KCI i32:0
9600 OHe
END
sed -i 's/"require": {"ovni": "1.1.0"}/"require": {"ovni": "1.1.0", "kernel": "1.0.0"}/' "$T/k/loom.h/proc.8/thread.8/stream.json"
merge -t 500 "$T/p" "$T/k"
[ $status = 0 ] || fail "it failed"
says "1 thread merged, 1 only of the program, 0 only of the kernel"
says "2 boundaries moved (300 ns at most), 1 split"
same "merged" <<'END'
990 KCO h.1.1  :01:00:00:00:00:00
995 KCI h.1.1  :00:00:00:00
1000 OHx h.1.1  :00:00:00:00:ff:ff:ff:ff:00:00:00:00:00:00:00:00
1200 VS[ h.1.1
2300 VS] h.1.1
2300 KCO h.1.1  :06:00:4d:00:00:00
3000 KCI h.1.1  :01:00:00:00
3500 KCO h.1.1  :01:00:00:00:00:00
4001 KCI h.1.1  :00:00:00:00
4001 VU[ h.1.1
4001 KCO h.1.1  :01:00:00:00:00:00
5700 KCI h.1.1  :00:00:00:00
5700 VU] h.1.1
9000 OHe h.1.1
9500 KCO h.1.1  :0a:00:00:00:00:00
9600 KCI h.1.1  :00:00:00:00
1000 OHx h.1.2  :01:00:00:00:ff:ff:ff:ff:00:00:00:00:00:00:00:00
3000 OHe h.1.2
END
python3 - "$T/o/loom.h.1/proc.1/thread.1/stream.json" <<'END' || fail "the metadata"
import json, sys
meta = json.load(open(sys.argv[1]))
assert meta["ovni"]["require"] == {"ovni": "1.1.0", "nosv": "2.7.0", "kernel": "1.0.0", "bpf": "1.0.0"}, meta
assert meta["bpf"]["name"] == "solver" and meta["bpf"]["names"] == {"77": "cron"}, meta
assert meta["merge"] == {"kernel_events": "10", "moved": "2", "split": "1", "tolerance": "500"}, meta
END
# Threads that only the kernel saw, as a second loom.
merge --others "$T/p" "$T/k"
[ $status = 0 ] || fail "--others failed"
[ -f "$T/o/loom.h.bpf/proc.8/thread.8/stream.obs" ] || fail "the other thread is missing"
"$B/bin/ovni-check" --strict -q "$T/o" >"$T/said" || fail "--others: not valid"

# Their marks: a type that means something else gets a free number; in one that both have, "solve"
# takes the program's value, and "io", whose value is that of "solve" there, a new one.
make_trace "$T/pm" <<'END'
thread h.1 1 1 ovni.mark={"0":{"title":"Phase","chan_type":"single","labels":{"1":"init"}},"3":{"title":"Function","chan_type":"stack","labels":{"1":"main","2":"solve"}}}
1000 OHx i32:0 i32:-1 u64:0
1100 OM= i64:1 i32:0
1200 OM[ i64:2 i32:3
1300 OM] i64:2 i32:3
9000 OHe
END
make_trace "$T/km" <<'END'
thread h 8 8 ovni.mark={"0":{"title":"Calls","chan_type":"stack","labels":{"1":"poll"}},"3":{"title":"Function","chan_type":"stack","labels":{"1":"solve","2":"io","5":"exit"}},"92":{"title":"Events\u0020lost","chan_type":"stack"}}
100 OHx i32:-1 i32:-1 u64:0
110 OM[ i64:1 i32:0
120 OM[ i64:1 i32:3
130 OM[ i64:2 i32:3
140 OM[ i64:5 i32:3
150 OM[ i64:9 i32:3
160 OM[ i64:7 i32:92
170 OM] i64:7 i32:92
180 OM] i64:9 i32:3
190 OM] i64:5 i32:3
200 OM] i64:2 i32:3
210 OM] i64:1 i32:3
220 OM] i64:1 i32:0
9600 OHe
thread h 1 1 ovni.require={"ovni":"1.1.0","kernel":"1.0.0"}
900 KCI i32:0
950 OHx i32:-1 i32:-1 u64:0
9500 KCO u16:10 i32:0
9600 KCI i32:0
9600 OHe
END
merge --others "$T/pm" "$T/km"
[ $status = 0 ] || fail "marks: status $status"
"$B/bin/ovni-check" --strict -q "$T/o" >"$T/said" || fail "marks: not valid"
"$B/bin/ovni-emu" -q -l "$T/o" 2>"$T/said" || fail "marks: does not emulate"
python3 - "$T/o/loom.h.bpf/proc.8/thread.8" <<'END' || fail "marks: as above"
import json, struct, sys
mark = json.load(open(sys.argv[1] + "/stream.json"))["ovni"]["mark"]
assert mark == {"1": {"title": "Calls", "chan_type": "stack", "labels": {"1": "poll"}},
                "3": {"title": "Function", "chan_type": "stack", "labels": {"2": "solve", "6": "io", "5": "exit"}},
                "92": {"title": "Events lost", "chan_type": "stack"}}, mark
data = open(sys.argv[1] + "/stream.obs", "rb").read()
marks = [struct.unpack("<qi", data[at + 12:at + 24]) for at in range(8, len(data)) if data[at:at + 4] == b"\x0bOM["]
assert marks == [(1, 1), (2, 3), (6, 3), (5, 3), (9, 3), (7, 92)], marks
END

# Threads of the kernel's trace alone keep their priorities and the time of interrupts; those of both have the
# program's marks.
PRIO='ovni.mark={"90":{"title":"Priority","chan_type":"single","labels":{"61":"SCHED_OTHER\u0020nice\u00200","161":"SCHED_FIFO\u002040"}}}'
make_trace "$T/pw" <<'END'
thread h.1 1 1 ovni.mark={"90":{"title":"Phase","chan_type":"single","labels":{"1":"init"}}}
1000 OHx i32:0 i32:-1 u64:0
1100 OM= i64:1 i32:90
9000 OHe
END
make_trace "$T/kw" <<END
thread h 1 1 $PRIO ovni.require={"ovni":"1.1.0","kernel":"1.0.0"}
900 KCI i32:0
950 OHx i32:-1 i32:-1 u64:0
960 OM= i64:61 i32:90
9500 KCO u16:10 i32:0
9600 KCI i32:0
9600 OHe
thread h 8 8 $PRIO bpf.session.irq=true
1000 OHx i32:-1 i32:-1 u64:0
1000 OHp u16:1 i32:0
1100 OHw i32:-2
1105 OHr
1105 OM= i64:161 i32:90
1300 OHp u16:1 i32:0
1400 OHw i32:-2
1400 OHr u32:77
1500 OHe u32:20
END
merge --others "$T/pw" "$T/kw"
[ $status = 0 ] || fail "priorities: status $status"
"$B/bin/ovni-report" latency --by priority --csv "$T/o" 2>"$T/said" | cut -d , -f 1,7-9 >"$T/got"
diff - "$T/got" <<'END' || fail "the priorities and waits of a merged trace"
thread,run_time,waits,wait_time
SCHED_FIFO 40,295,2,5
priority unknown,8000,0,0
END
"$B/bin/ovni-report" why --csv "$T/o" 2>"$T/said" | grep -q '^8,8,8,,,running,,2,295,.*,97,$' || fail "the time of interrupts of a merged trace"
"$B/bin/ovni-dump" "$T/o" 2>"$T/said" | grep 'thread.1 .* mark' >"$T/got"
[ "$(grep -c 'type 90 to 1$' "$T/got")" = 1 ] && [ "$(wc -l <"$T/got")" = 1 ] || fail "the marks of a merged thread: $(cat "$T/got")"
merge "$T/p" "$T/k"

# A clock in a time namespace.
sed -i 's/"bpf": {/"bpf": {"monotonic_offset": "100000", /' "$T/k/loom.h/proc.1/thread.1/stream.json"
merge "$T/p" "$T/k"
"$B/bin/ovni-dump" --mcv KCO "$T/o" | grep -q '^ *102000  KCO' || fail "the offset of the namespace is not applied"
# The recorder was in one, too: only the difference counts.
sed -i 's/"bpf": {/"bpf": {"session": {"monotonic_offset": "40000"}, /' "$T/k/loom.h/proc.1/thread.1/stream.json"
merge "$T/p" "$T/k"
"$B/bin/ovni-dump" --mcv KCO "$T/o" | grep -q '^ *62000  KCO' || fail "not the difference of the two namespaces is applied"

merge "$T/o" "$T/k"
[ $status = 1 ] || fail "a trace that has K events was merged"
make_trace "$T/u" <<'END'
thread h.1 1 1
1000 OHx i32:0 i32:-1 u64:0
900 OHe
END
merge "$T/u" "$T/k"
[ $status = 1 ] || fail "a trace that is not sorted was merged"
says "run ovni-sort first"

# Another name of the machine, and no thread that is in both.
cp -r "$T/k" "$T/kn"
mv "$T/kn/loom.h" "$T/kn/loom.node-7.cluster"
sed -i 's/"loom": "h"/"loom": "node-7.cluster"/' "$T"/kn/loom.*/proc.*/thread.*/stream.json
merge "$T/p" "$T/kn"
[ $status = 1 ] || fail "another machine: status $status"
says "is of the loom h.1, $T/kn of node-7.cluster; if that is one machine, add --loom h.1=node-7.cluster"
[ ! -e "$T/o" ] || fail "another machine: there is an output"
for names in h=node-7 h.1=node-7.cluster; do
	merge --loom x=y --loom $names "$T/p" "$T/kn"
	[ $status = 0 ] || fail "--loom $names: status $status"
	says "1 thread merged"
done
merge --loom h=node "$T/p" "$T/kn"
[ $status = 1 ] || fail "--loom with a part of the name: status $status"
merge --loom h= "$T/p" "$T/kn"
[ $status = 2 ] || fail "--loom h=: status $status"
says "--loom h=: this must be the name in PROGRAM"
make_trace "$T/kt" <<'END'
thread h 1 9 ovni.require={"ovni":"1.1.0","kernel":"1.0.0"}
100 OHx i32:-1 i32:-1 u64:0
9600 OHe
END
merge "$T/p" "$T/kt"
[ $status = 1 ] || fail "no common thread: status $status"
says "no thread is in both traces: are $T/p and $T/kt of the same run?"

# Calls and owners of a recording, with the names of its descriptors and futexes, and its machine.
make_trace "$T/kc" <<'END'
thread h 1 1 bpf.name="solver" bpf.session.machine="x86_64" bpf.session.locks=true bpf.futexes=[{"address":"16","from":"3600","name":"pool_lock"}] bpf.fds=[{"fd":3,"name":"/data","from":"900","to":"2500"}]
900 KCI i32:0
950 OHx i32:-1 i32:-1 u64:0
2400 KCO u16:1 i32:77 u16:0 u64:3
3000 KCI i32:1
5800 KCO u16:1 i32:0 u16:202 u64:16
8000 KCI i32:0 i32:1
9500 KCO u16:10 i32:0
9600 KCI i32:0
9600 OHe
END
sed -i 's/"require": {"ovni": "1.1.0"}/"require": {"ovni": "1.1.0", "kernel": "1.0.0"}/' "$T/kc/loom.h/proc.1/thread.1/stream.json"
merge "$T/p" "$T/kc"
[ $status = 0 ] || fail "calls: it failed"
for names in 'asleep *sleeping .* read(3 = /data)' 'asleep *sleeping .* futex(pool_lock)'; do
	"$B/bin/ovni-report" why "$T/o" >"$T/got" 2>"$T/said" && grep -q "$names" "$T/got" || fail "why has no '$names'"
done
"$B/bin/ovni-report" locks "$T/o" >"$T/got" && grep -q '^pool_lock *solver (1) *1 *2.200 us .*solver (1) 100 %$' "$T/got" || fail "locks"
