#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-report blocked: sleeps by reason, call, object and waker of a short trace, and of random schedules
# (report_blocked.py); a thread that sleeps on more objects than it has rows; names of descriptors that a
# terminal would obey.
set -eu
. "$S/tests/golden/tools_lib.sh"
cd "$T"
make_trace trace <<'END'
thread n 1 1 bpf.name="a" bpf.session.machine="x86_64" bpf.fds=[{"fd":3,"name":"/data","from":1000,"to":9000}]
1000 OHx i32:0 i32:-1 u64:0
1100 OHp u16:3 i32:0 u16:74 u64:3
1150 OHw i32:-2
1150 OHr
1200 OHp u16:3 i32:0 u16:74 u64:3
1400 OHw i32:-2
1400 OHr
1500 OHp u16:1 i32:0 u16:202 u64:64
1600 OHw i32:2
1600 OHr
1700 OHp u16:1 i32:0 u16:202 u64:128
1790 OHw i32:2
1900 OHr
2000 OHp u16:1 i32:0 u16:35
3000 OHw i32:0
3000 OAs i32:-1
3000 OHr
3000 OHe
thread n 1 2 bpf.name="b"
1000 OHx i32:1 i32:-1 u64:0
3000 OHe
END
report blocked --csv trace | cut -d , -f 2,6- >got || fail "blocked"
cat >want <<'END'
tid,state,reason,times,time,percent,max,max_at,call,waker,from,woken_from
1,asleep,sleeping,1,1000,50.000,1000,1000,nanosleep,still asleep,,
1,asleep,io,2,250,12.500,200,200,fsync(3 = /data),interrupt,,
1,asleep,sleeping,1,100,5.000,100,500,futex(0x40),b (2),,
1,asleep,sleeping,1,90,4.500,90,700,futex(0x80),b (2),,
END
diff want got || fail "blocked"
report blocked --top 1 trace >got || fail "text"
grep -q '^a (1) .* nanosleep  *still asleep$' got || fail "text"
report blocked --by comm trace >got || fail "by"

# A thread that waits for 5,000 futexes has 1,024 rows for them, and one for the rest.
python3 -c '
print("thread n 1 1 bpf.session.machine=\"x86_64\"\n1 OHx i32:0 i32:-1 u64:0")
for i in range(1, 5001):
    print("%d OHp u16:1 i32:0 u16:202 u64:%d\n%d OHw i32:-2\n%d OHr" % (10 * i, 4 * i, 10 * i + 5, 10 * i + 5))
print("60000 OHe")' | make_trace many
report blocked --csv many >got || fail "many objects"
[ "$(grep -c ',interrupt,,$' got)" = 1024 ] || fail "many objects: $(grep -c ',interrupt,,$' got) rows"
grep -q ',asleep,sleeping,3976,19880,.*,futex,several,,$' got || fail "many objects: the rest"

# The overview names the call of most of the uninterruptible sleep.
make_trace long <<'END'
thread n 1 1 bpf.name="a" bpf.session.machine="x86_64" bpf.fds=[{"fd":3,"name":"/data","from":0,"to":9000000000}]
1000000000 OHx i32:0 i32:-1 u64:0
1100000000 OHp u16:3 i32:0 u16:74 u64:3
1300000000 OHw i32:-2
1300000000 OHr
1400000000 OHp u16:3 i32:0 u16:0 u64:3
1450000000 OHw i32:-2
1450000000 OHr
1500000000 OHp u16:3 i32:0 u16:74 u64:3
1700000000 OHw i32:-2
1700000000 OHr
1800000000 OHp u16:2 i32:0 u16:58
1900000000 OHw i32:-2
1900000000 OHr
2000000000 OHe
END
report --json long >got || fail "overview"
python3 - got <<'END' || fail "overview"
import json, sys
findings = {f["kind"]: f for f in json.load(open(sys.argv[1]))["findings"]}
assert findings["io"]["call"] == "fsync(3 = /data)" and findings["io"]["numbers"]["call_ns"] == 400000000, findings
assert findings["io"]["text"] == ("a (1) waited for I/O 45.0 % of 1.000 s: 450.000 ms in 3 sleeps, at most 200.000 ms; "
                                  "400.000 ms of it in fsync(3 = /data)"), findings
assert findings["uninterruptible"]["text"].endswith("not for I/O; 100.000 ms of it in vfork"), findings
END

# A name of 4,000 bytes with all that a terminal obeys: its text is one line, in each output.
python3 - hostile_fds <<'END'
import json, sys
name = "/x\x1b[31m\r\n\t\x07\x7f\u202e\u009b" + "W" * 3980
open(sys.argv[1], "w").write(json.dumps([{"fd": 3, "name": name, "from": 0, "to": 9000}], separators=(",", ":")))
END
make_trace hostile <<END
thread n 1 1 bpf.name="a" bpf.session.machine="x86_64" bpf.fds=$(cat hostile_fds)
1000 OHx i32:0 i32:-1 u64:0
1100 OHp u16:3 i32:0 u16:74 u64:3
1150 OHw i32:-2
1150 OHr
3000 OHe
END
for kind in why blocked; do
	for form in "" --csv --json; do
		# shellcheck disable=SC2086
		report $kind $form hostile >"$kind$form" || fail "$kind $form of a hostile name"
	done
done
"$B/bin/ovni-dump" hostile >dump && "$B/bin/ovni-dump" --json hostile >dump--json || fail "ovni-dump of a hostile name"
for form in "" --csv; do
	[ "$(wc -l <"blocked$form")" = 2 ] || fail "blocked $form of a hostile name: more than one line"
done
grep -q 'fsync(3 = /x\\x1b\[31m\\x0d\\x0a\\x09\\x07\\x7f.*WWW)' blocked || fail "the name is not shown"
python3 - why* blocked* dump* <<'END' || fail "a control character"
import sys
for path in sys.argv[1:]:
    text = open(path, "rb").read().decode()
    acts = {c for c in text if ord(c) < 32 and c != "\n" or 127 <= ord(c) < 160}
    assert not acts, (path, acts)
    assert path.startswith("dump") or "W" * 3980 in text, path
END

mkdir random
python3 -B "$S/tests/golden/report_blocked.py" "$B/bin/ovni-report" "$T"
