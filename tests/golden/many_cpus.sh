#!/bin/bash
# SPDX-License-Identifier: MIT
#
# 192 and 512 CPUs, which this machine need not have: a program writes the records into the rings, and the
# recorder makes a trace of them. Each switch arrives once, in its order, on its CPU, while the rings are
# full of records and while records keep coming; and where rings are too small, all losses are counted.
set -u
cd "$T" || exit 1
export PYTHONPATH=$S/tests/live PYTHONDONTWRITEBYTECODE=1
wrong=0
complain() {
	echo "wrong: $*"
	wrong=1
}

cat >compare.py <<'E'
import sys
from facts import *
name = sys.argv[1]
figures = dict(word.split("=") for word in open(name + ".log").read().split())
trace = Trace(name)
want, n = {}, 0
for line in open(name + ".truth"):
    clock, tid, way, cpu = line.split()
    stays = want.setdefault(int(tid), [])
    if way == "out":
        check(stays and stays[-1][1] == int(cpu) and stays[-1][2] is None, "bad truth:", line)
        stays[-1][2] = int(clock)
        n += 1
    else:
        stays.append([0 if way == "first" else int(clock), int(cpu), None])
got = {}
t0, t1 = int(trace.session["t0"]), int(trace.session["t1"])
for s in trace.streams:
    got[s.tid] = [[0 if x.start == t0 else x.start, x.cpu, None if x.end == t1 else x.end]
                  for x in s.stays if x.cpu >= 0]
for tid in sorted(want | got):
    a, b = want.get(tid, []), got.get(tid, [])
    check(a == b, "thread", tid, "ran", a[:4], "and the trace has", b[:4])
check(n == int(sys.argv[2]), n, "switches were made")
check(int(trace.session["counts"]["switches"]) == n, "counts:", trace.session["counts"])
for key in "lost", "repairs", "late":
    check(figures[key] == "0", key, figures[key])
print(name, n, "switches of", len(want), "threads are the same")
verdict()
E

many() { # NAME CPUS SWITCHES RATE RING [TRUTH]
	"$B/tests/golden/many_cpus" "$@" >"$1.log" 2>"$1.err" || complain "$1: $(cat "$1.err")"
	[ ! -s "$1.err" ] || complain "$1: $(cat "$1.err")"
	"$B/bin/ovni-emu" -l "$1" >emu.log 2>&1 || { [ $? = 3 ] && grep -q "$1 is incomplete: the recorder lost [0-9]* events$" emu.log; } ||
		complain "$1: ovni-emu: $(tail -n 3 emu.log)"
}

for run in '512 40 0' '192 40 1000'; do
	read -r cpus switches rate <<<"$run"
	name=cpus$cpus
	many "$name" "$cpus" "$switches" "$rate" 16384 "$name.truth"
	python3 compare.py "$name" $((switches * cpus)) || complain "$name"
	"$B/bin/ovni-check" --strict "$name" >check.log 2>&1 || complain "$name: $(tail -n 3 check.log)"
done

# 100 switches need 4800 bytes; a ring of 4096 has no space for all of them.
many small 192 100 0 4096
lost=$(sed -n 's/.* lost=\([0-9]*\) .*/\1/p' small.log)
python3 - "$lost" <<'E' || complain "small"
import sys
from facts import *
session, lost = session_of("small"), int(sys.argv[1])
check_account(session)
seen = sum(int(cpu[kind]["seen"]) for cpu in session["account"] for kind in ("switch", "wake"))
written = sum(int(cpu[kind]["written"]) for cpu in session["account"] for kind in ("switch", "wake"))
check(seen == 2 * 192 * 100, seen, "events were seen")
check(lost == seen - written == int(session["lost"]) and lost > 0, lost, "lost of", seen, "-", written)
print(f"{lost} of {seen} events are lost")
verdict()
E
"$B/bin/ovni-check" --strict small >check.log 2>&1
[ $? = 3 ] || complain "ovni-check: $(tail -n 3 check.log)"
exit $wrong
