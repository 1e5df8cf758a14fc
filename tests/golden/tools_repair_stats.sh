#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The snapshots that a killed recorder leaves (NAME.stats.json.part, in a trace stats.json.part), cut off at many bytes:
# ovni-check --repair makes statistics of all whole ones, whose sums are right and which no program takes
# for complete; without a whole one it says so. What is not as a recorder writes it is refused.
set -eu
cd "$T"
fail() { echo "$1"; cat said; exit 1; }
cat >make.py <<'E'
import sys

def line(clock, scope, interval, **members):
    text = '{"clock": %d, "scope": "%s", "interval": %d' % (clock, scope, interval)
    return text + "".join(', "%s": %s' % m for m in members.items()) + "},\n"

def times(total, active):
    return dict(total_ns=total, active_ns=active, runnable_ns=0, throttled_ns=0, blocked_ns=total - active,
                unknown_ns=0, switches_voluntary=active, switches_preempted=0, wakeups=active, migrations=0, calls=0)

def snapshot(i):  # two CPUs; two threads that live, and one that has ended
    t = 100 * i
    lines = [line(1000 + t, "run", i, threads=3, **times(3 * t - 30, 9 * i), window_ns=t, cpus=2,
                  cpu_active_ns=9 * i + 1, cpu_other_ns=0, cpu_idle_ns=2 * t - 9 * i - 1, cpu_unknown_ns=0, switches=4 * i,
                  prog_runs=0, prog_ns=0)]
    # the CPUs are read after the threads, and know of one more nanosecond
    for cpu, active in ((0, 4 * i + 1), (1, 5 * i)):
        lines.append(line(1000 + t, "cpu", i, cpu=cpu, total_ns=t, active_ns=active, other_ns=0, idle_ns=t - active,
                          unknown_ns=0, switches=2 * i))
    for tid, active in ((7, 3 * i), (8, 4 * i)):
        lines.append(line(1000 + t, "thread", i, tid=tid, pid=7, comm='"a\\", \\"interval\\": 1"', **times(t, active)))
    return lines

lines = sum((snapshot(i) for i in (1, 2, 3)), [])
open("whole", "w").write("".join(lines))
# where a snapshot has all its CPUs: after its third line
print(*[len("".join(lines[:5 * i + 3])) for i in (0, 1, 2)])
E
read -r first second third <<<"$(python3 make.py)"
size=$(stat -c %s whole)
cat >judge.py <<'E'
import json, sys
doc = json.load(open(sys.argv[2] if len(sys.argv) > 2 else "run.stats.json"))
n = int(sys.argv[1])
end = [s for s in doc["snapshots"] if "interval" not in s]
run = end[0]
assert doc["recovered"]["snapshots"] == n == max(s.get("interval", 0) for s in doc["snapshots"])
assert run["scope"] == "run" and run["clock"] == doc["window"]["end_cycle"] == 1000 + 100 * n
assert doc["window"]["first_cycle"] == 1000
threads = [s for s in end if s["scope"] == "thread"]
for key in ("total_ns", "active_ns", "blocked_ns", "wakeups"):
    assert sum(t[key] for t in threads) + doc["unlisted"][key] == run[key], key
assert len(threads) + doc["unlisted"]["threads"] == run["threads"]
assert all(t["comm"] == 'a", "interval": 1' for t in threads)
E
for ((cut = 0; cut <= size; cut += 331)) do
	n=$(((cut >= first) + (cut >= second) + (cut >= third)))
	head -c $cut whole >run.stats.json.part
	rm -f run.stats.json
	status=0
	"$B/bin/ovni-check" --repair run.stats.json.part >said 2>&1 || status=$?
	if [ $n = 0 ]; then
		[ $status = 1 ] || fail "$cut bytes: status $status"
		grep -q 'no whole snapshot: nothing can be recovered' said || fail "$cut bytes"
		[ ! -e run.stats.json ] || fail "$cut bytes: a file was written"
		continue
	fi
	[ $status = 3 ] || fail "$cut bytes: status $status instead of 3"
	grep -q '^valid, but incomplete: .*a repair closed 1 stream after a crash' said || fail "$cut bytes"
	python3 judge.py $n || fail "$cut bytes: not the $n whole snapshots"
	cmp -n $cut whole run.stats.json.part || fail "the snapshots were changed"
done
"$B/bin/ovni-report" counters run.stats.json >said 2>&1 || [ $? = 3 ] || fail "ovni-report does not read it"
grep -q 'all 3 threads' said || fail "the table lacks the sum"
"$B/bin/ovni-check" --repair run.stats.json.part >said 2>&1 && fail "an existing file was replaced"
grep -q "cannot create 'run.stats.json': File exists" said || fail "an existing file"
"$B/bin/ovni-check" --repair -o other.stats.json run.stats.json.part >said 2>&1 || [ $? = 3 ] || fail "-o"
cmp run.stats.json other.stats.json || fail "-o"
"$B/bin/ovni-check" --repair -o other run.stats.json.part >said 2>&1 && fail "-o with any name"
# Of a recorder in mode full, it is stats.json.part in the trace.
"$S/tests/golden/tools_make.py" trace <<'E'
thread n 1 1 ovni.finished= bpf.name="w"
1000 OHx i32:0 i32:-1 u64:0
1400 OHp u16:1 i32:0
E
for n in 3 0; do
	rm -rf trace.repaired
	head -c $((n ? size : first - 1)) whole >trace/stats.json.part
	status=0
	"$B/bin/ovni-check" --repair trace >said 2>&1 || status=$?
	[ $status = 3 ] || fail "in a trace: status $status"
	if [ $n = 0 ]; then
		[ ! -e trace.repaired/stats.json ] && grep -q 'warning: stats.json.part: no whole snapshot' said || fail "no whole snapshot in a trace"
		continue
	fi
	python3 judge.py 3 trace.repaired/stats.json && grep -q '"mode": "full"' trace.repaired/stats.json || fail "in a trace"
	cp -R trace again
	"$B/bin/ovni-check" --repair --in-place again >said 2>&1 || [ $? = 3 ] || fail "in place"
	cmp again/stats.json trace.repaired/stats.json && [ ! -e again/stats.json.part ] || fail "in place"
done
# The recorder was killed between its last stream and its statistics: only these are incomplete.
"$S/tests/golden/tools_make.py" streams <<'E'
thread n 1 1 bpf.name="w" bpf.session={"lost":"0","hostname":"h","kernel":"6.1.0","t0":"1000","t1":"1400","cpus":[]}
1000 OHx i32:0 i32:-1 u64:0
1400 OHe
E
"$B/bin/ovni-check" streams >said 2>&1 || fail "whole streams"
cp whole streams/stats.json.part
status=0
"$B/bin/ovni-check" --repair streams >said 2>&1 || status=$?
[ $status = 3 ] || fail "whole streams, repaired statistics: status $status"
grep -q 'a repair closed the statistics' said || fail "whole streams, repaired statistics"
grep -q '^valid, but incomplete: ' said || fail "whole streams, repaired statistics"
! grep -q 'another recording' said || fail "statistics that end earlier"
exec 9<run.stats.json.part
flock -x 9
rm run.stats.json
"$B/bin/ovni-check" --repair run.stats.json.part 9>&- >said 2>&1 && fail "repaired while it is written"
grep -q 'that are being written cannot be repaired' said || fail "repaired while it is written"
exec 9<&-
for text in '' 'x' '{"clock": ' '[1]' '{"clock": 1, "scope": "run", "cpus": 0},' '{"clock": 1, "scope": },' \
	'{"clock": 1, "scope": "run", "cpus": 18446744073709551615, "window_ns": -1},'; do
	echo "$text" >run.stats.json.part
	"$B/bin/ovni-check" --repair run.stats.json.part >said 2>&1 && fail "'$text' is accepted"
	[ ! -e run.stats.json ] || fail "'$text': a file was written"
done
rm run.stats.json.part && ln -s /dev/zero run.stats.json.part
"$B/bin/ovni-check" --repair run.stats.json.part >said 2>&1 && fail "a device is accepted"
echo "$((size / 331 + 1)) cuts"
