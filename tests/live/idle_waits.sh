#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Column cpu_idle of ovni-report latency: how long a CPU on which a waiting thread may run was idle meanwhile, as counted
# from the switches and wake-ups of ftrace. Spinners pinned to one CPU: nothing; a wake-up storm: never more than the wait; a
# thread that changes its CPUs: by the set of each wait.
# needs: root alone
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"
[ "$(nproc)" -ge 2 ] || skip "needs 2 CPUs"

cat >change_cpus.py <<'E'
import os, sys, threading, time
cpus = sorted(os.sched_getaffinity(0))
out = open(sys.argv[1], "w")
def spin(seconds, cpu):
    os.sched_setaffinity(0, {cpu})
    end = time.monotonic() + seconds
    while time.monotonic() < end: pass
def changer():
    for turn in range(40):
        some = set(cpus) if turn % 2 else {cpus[0]}
        begin = time.monotonic_ns()
        os.sched_setaffinity(0, some)
        print(f"set={'+'.join(map(str, some))} changer={threading.get_native_id()} from={begin} at={time.monotonic_ns()}", file=out)
        for _ in range(10): time.sleep(0.001)
# another process keeps the first CPU busy; the second one is idle at times
child = os.fork()
if not child:
    spin(0.8, cpus[0])
    os._exit(0)
changer()
os.waitpid(child, 0)
E
cat >judge.py <<'E'
import struct, subprocess
t0, t1 = int(trace.session["t0"]), int(trace.session["t1"])
data = open(name + ".seen", "rb").read()
(n,) = struct.unpack_from("<Q", data, 8)
records = sorted(struct.iter_unpack("<QBBHiiiII", data[16:16 + 32 * n]))
changes = {}  # of a thread: its sets from a clock on
for line in lines:
    if "pinned" in line: changes.setdefault(line["tid"], [(0, None)]).append((line["pinned"], {0}))
    if "changer" in line:
        changes.setdefault(line["changer"], [(0, None)]).append((line["at"], {int(c) for c in str(line["set"]).split("+")}))
tids = set(changes) | {s.tid for s in trace.streams if s.bpf.get("name", "").startswith("storm-")}
# Idle times of each CPU, and the begin of the one that goes on. The kernel hides some switches away from idle CPUs from all
# tracers: such a time ends somewhere before the next switch, in doubt.
idle, since, doubt = {}, {}, {}
waits, waiting = {}, {}
for clock, kind, _, cpu, _, a, b, state, _ in records:
    if kind == 1 and a in tids and a not in waiting:
        waiting[a] = clock
    if kind != 0:
        continue
    if cpu in since:
        (doubt if a else idle).setdefault(cpu, []).append((since.pop(cpu), clock))
    if b == 0:
        since[cpu] = clock
    elif a == 0 and not idle.get(cpu) and not doubt.get(cpu):
        idle[cpu] = [(t0, clock)]
    waiting.pop(a, None)
    if a in tids and state in (0, 0x100): waiting[a] = clock
    if b in tids and b in waiting:
        waits.setdefault(b, []).append((waiting.pop(b), clock))
for cpu, clock in since.items():
    doubt.setdefault(cpu, []).append((clock, t1))
def idle_in(idle, begin, end, cpus):
    pieces = sorted((max(x, begin), min(y, end)) for c, list_ in idle.items() if cpus is None or c in cpus for x, y in list_ if x < end and y > begin)
    total, upto = 0, begin
    for x, y in pieces:
        total += max(0, y - max(x, upto))
        upto = max(upto, y)
    return total
rows = json.loads(subprocess.run([os.environ["B"] + "/bin/ovni-report", "latency", "--json", name], stdout=subprocess.PIPE, check=True).stdout)
compared = certain = 0
for row in rows:
    tid = row["tid"]
    if row["cpu_idle"] is not None:
        check(0 <= row["cpu_idle"] <= row["wait_time"], row["thread"], "has", row["cpu_idle"], "of", row["wait_time"])
    if tid not in tids or row["cpu_idle"] is None:
        continue
    mine = [w for w in waits.get(tid, []) if w[0] > t0 and w[1] < t1]
    # a wait in which the set changes is not known
    moves = [(line["from"], line["at"]) for line in lines if line.get("changer") == tid]
    mine = [(b, e) for b, e in mine if not any(since < e and until > b for since, until in moves)]
    sets = changes.get(tid, [(0, None)])
    truth, hidden = (sum(idle_in(times, b, e, [s for at, s in sets if at <= b][-1]) for b, e in mine) for times in (idle, doubt))
    slack = 0.02 * truth + 1000 * len(mine) + 50000
    certain += hidden < slack
    compared += 1
    print(f"{name}: {row['thread']}: {row['waits']} waits, {row['wait_time']} ns, CPU idle {row['cpu_idle']}, ftrace {len(mine)} waits, {truth}, in doubt {hidden}")
    # the clock of a wake-up is a little earlier here; where the kernel hides switches, ftrace lacks waits, too
    unseen = 0.05 * row["wait_time"] if hidden else 0
    check(truth - slack <= row["cpu_idle"] and row["cpu_idle"] <= truth + hidden + slack + unseen,
          row["thread"], "has", row["cpu_idle"], "ftrace", truth, "in doubt", hidden)
check(compared >= least and certain >= certain_least, "only", compared, "threads compared,", certain, "without hidden switches")
E
# Compares with ftrace at least LEAST threads, of which CERTAIN have no hidden switch in their waits.
idle_of() { # NAME LEAST CERTAIN COMMAND...
	local name=$1 least=$2 certain=$3 tracer
	shift 3
	rm -rf "$name" "$name.report"
	"$B/tests/live/ftrace" -b 64 "$name.seen" >"$name.ftrace" 2>&1 &
	tracer=$!
	wait_until grep -q ready "$name.ftrace" || skip "no ftrace: $(cat "$name.ftrace")"
	WORKLOAD_REPORT=$T/$name.report "$RECORDER" -o "$name" -a --why=prio -- "$@" >"$name.log" 2>&1 || complain "$name: $(cat "$name.log")"
	kill -INT "$tracer"
	wait "$tracer" || complain "$name: $(cat "$name.ftrace")"
	: >>"$name.report"
	facts "$name" < <(echo "least, certain_least = $least, $certain"; cat judge.py)
	rm -f "$name.seen"
}
attempts 5 idle_of spinners 2 1 taskset -c 0,1 "$WORKLOADS/spinners" -t 300 -p 20
attempts 5 idle_of storm 4 0 "$WORKLOADS/storm" -l 500
attempts 5 idle_of changer 1 0 python3 change_cpus.py changer.report
finish
