#!/bin/bash
# SPDX-License-Identifier: MIT
#
# --why=prio: at each moment the trace has the policy, priority, nice value and CPUs that /proc and
# sched_getaffinity() had then, of threads that change their own and those of others, also without a sleep; at each
# switch-in the priority that ftrace saw; an inherited priority. Attached, with the kernel model, rotated, in
# a flight recorder, cut. Without it there is no mark and no program.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

# Each change is followed by a sleep: it shows at the next run. Prints what the kernel says then, with the clock.
cat >changes.py <<'E'
import ctypes, os, sys, threading, time
out, gate = open(sys.argv[1], "w"), sys.argv[2] if len(sys.argv) > 2 else None
all_cpus = os.sched_getaffinity(0) if not gate else set(range(os.cpu_count()))
POLICY = {os.SCHED_OTHER: "SCHED_OTHER", os.SCHED_FIFO: "SCHED_FIFO", os.SCHED_RR: "SCHED_RR", os.SCHED_BATCH: "SCHED_BATCH",
          os.SCHED_IDLE: "SCHED_IDLE"}
def nap(): time.sleep(0.004)
def tell(tid):
    """The label that a mark must have now, from field 18, 19, 41 of stat(5)."""
    before = time.monotonic_ns()
    stat = open(f"/proc/{tid}/stat").read().rsplit(")", 1)[1].split()
    priority, nice, policy = int(stat[15]), int(stat[16]), int(stat[38])
    text = POLICY[policy] + ("" if policy == os.SCHED_IDLE else f" {-1 - priority}" if priority < 0 else f" nice {nice}")
    cpus = sorted(os.sched_getaffinity(tid))
    print(f"tid={tid} before={before} after={time.monotonic_ns()} priority={text.replace(' ', '.')} cpus={'+'.join(map(str, cpus))}",
          file=out, flush=True)
def policy(tid, which, n): os.sched_setscheduler(tid, which, os.sched_param(n))
changes = [
    lambda t: policy(t, os.SCHED_FIFO, 30), lambda t: os.sched_setaffinity(t, {min(all_cpus)}),
    lambda t: policy(t, os.SCHED_RR, 1), lambda t: os.sched_setaffinity(t, {max(all_cpus)}),
    lambda t: policy(t, os.SCHED_RR, 98), lambda t: policy(t, os.SCHED_OTHER, 0),
    lambda t: os.setpriority(os.PRIO_PROCESS, t, 7), lambda t: policy(t, os.SCHED_BATCH, 0),
    lambda t: os.sched_setaffinity(t, all_cpus), lambda t: os.setpriority(os.PRIO_PROCESS, t, -20),
    lambda t: policy(t, os.SCHED_IDLE, 0), lambda t: policy(t, os.SCHED_OTHER, 0),
    lambda t: os.setpriority(os.PRIO_PROCESS, t, 19), lambda t: os.setpriority(os.PRIO_PROCESS, t, 0)]
def hog(n, cpus):
    """Changes its own priority and CPUs without a sleep; a tick comes before it tells."""
    policy(0, os.SCHED_FIFO, n)
    os.sched_setaffinity(0, cpus)
    begin = time.thread_time()
    while time.thread_time() < begin + 0.03: pass
    before = time.monotonic_ns()
    print(f"hog={threading.get_native_id()} n={n} clock={before}", file=out, flush=True)
print("ready=1", file=out, flush=True)
while gate and not os.path.exists(gate): nap()
stop, runs = False, 0
def naps():
    global runs
    while not stop: nap(); runs += 1
begin = time.monotonic()
def own():
    cpu = int(open(f"/proc/self/task/{threading.get_native_id()}/stat").read().rsplit(")", 1)[1].split()[36])
    for n in range(51, 55): hog(n, {cpu} if n % 2 else all_cpus)
    policy(0, os.SCHED_OTHER, 0)
    rounds = 0
    while rounds < 2 or time.monotonic() < begin + 0.7:
        rounds += 1
        for change in changes: change(0); nap(); tell(threading.get_native_id())
worker = threading.Thread(target=own)
worker.start(); worker.join()
sleeper = threading.Thread(target=naps)
sleeper.start()
while time.monotonic() < begin + 1.4:  # of another thread; longer than three parts of a rotation
    for change in changes:
        change(sleeper.native_id)
        before = runs
        while runs < before + 2: nap()
        tell(sleeper.native_id)
stop = True
sleeper.join()
# A mutex with priority inheritance: its owner is as urgent as the thread that waits for it.
libc = ctypes.CDLL(None)
mutex, attributes = ctypes.create_string_buffer(64), ctypes.create_string_buffer(64)
libc.pthread_mutexattr_init(attributes)
libc.pthread_mutexattr_setprotocol(attributes, 1)
libc.pthread_mutex_init(mutex, attributes)
locked, asked = threading.Event(), threading.Event()
def low():
    policy(0, os.SCHED_OTHER, 0)
    os.setpriority(os.PRIO_PROCESS, 0, 0)
    libc.pthread_mutex_lock(mutex)
    locked.set()
    asked.wait()
    for _ in range(10): nap()
    print(f"low={threading.get_native_id()}", file=out, flush=True)
    libc.pthread_mutex_unlock(mutex)
    nap()
def high():
    locked.wait()
    policy(0, os.SCHED_FIFO, 40)
    asked.set()
    libc.pthread_mutex_lock(mutex)
    libc.pthread_mutex_unlock(mutex)
threads = [threading.Thread(target=f) for f in (low, high)]
for t in threads: t.start()
for t in threads: t.join()
E

cat >judge.py <<'E'
import re, struct, sys
from facts import *
trace = Trace(sys.argv[1])
t0, t1 = int(trace.session["t0"]), int(trace.session["t1"])
check(trace.session.get("priorities") is True, "the session does not say that it has priorities")
def label(stream, number, value):
    return stream.meta["ovni"]["mark"][str(number)]["labels"][str(value)]
def cpu_list(text):
    return [n for part in text.split(",") for n in range(int(part.split("-")[0]), int(part.split("-")[-1]) + 1)]
def marks(stream, number):
    return [(e.clock, struct.unpack("<qi", e.data)[0]) for e in stream.events
            if e.mcv == "OM=" and struct.unpack("<qi", e.data)[1] == number]
def at(stream, number, clock):
    """The label that holds at the clock; None: none yet."""
    values = [value for when, value in marks(stream, number) if when <= clock]
    return label(stream, number, values[-1]) if values else None
def changes_between(stream, number, first, last):
    return any(first < when <= last for when, _ in marks(stream, number))

def hidden(stream, clock):
    """Is a switch near it one that the kernel did not report, to ftrace neither? Its run has no mark of its own."""
    return any(e.ends_unknown() and abs(e.clock - clock) < 50_000_000 for e in stream.events)

compared = inherited = hogs = ticks = 0
for line in report(sys.argv[2]):
    if "low" in line:
        low = trace.thread(line["low"])
        texts = [label(low, 90, value) for _, value in marks(low, 90)]
        inherited = texts.count("inherited real-time 40")
        check(inherited and texts[-1] == "SCHED_OTHER nice 0", "the owner of the mutex had", texts)
        continue
    if "hog" in line:
        if not t0 < int(line["clock"]) - 40_000_000 < int(line["clock"]) < t1:
            continue
        stream, hogs = trace.thread(line["hog"]), hogs + 1
        check(at(stream, 90, int(line["clock"])) == f"SCHED_FIFO {line['n']}", "the hog has", at(stream, 90, int(line["clock"])),
              "and not", line["n"])
        when = [clock for clock, value in marks(stream, 90) if label(stream, 90, value) == f"SCHED_FIFO {line['n']}"]
        runs = [e.clock for e in stream.events if e.mcv in ("OHr", "OHx", "KCI") and e.clock <= when[0]] if when else []
        ticks += bool(runs) and when[0] - runs[-1] > 100_000 # not at the beginning of a run
        continue
    if "ready" in line or not t0 < int(line["before"]) < int(line["after"]) < t1:
        continue
    stream, clock = trace.thread(line["tid"]), int(line["before"])
    if changes_between(stream, 90, clock, int(line["after"])) or changes_between(stream, 89, clock, int(line["after"])):
        continue
    if hidden(stream, clock):
        continue
    compared += 1
    check(at(stream, 90, clock) == line["priority"].replace(".", " "), line["tid"], "had", line["priority"], "and the trace says",
          at(stream, 90, clock), "at", clock)
    allowed = at(stream, 89, clock)
    check(allowed and cpu_list(allowed) == [int(n) for n in str(line["cpus"]).split("+")], line["tid"], "could run on", line["cpus"],
          "and the trace says", allowed, "at", clock)
repeated = 0
for stream in trace.streams:
    for number in (89, 90):
        values = [value for _, value in marks(stream, number)]
        repeated += sum(a == b for a, b in zip(values, values[1:]))
        asleep = stream.events[0].mcv == "OHx" and struct.unpack("<i", stream.events[0].data[:4])[0] == -1
        ran = any(e.mcv in ("OHp", "KCO") and e.clock > t0 for e in stream.events[2 if asleep else 0:])
        check(values or not ran, stream.path, "has no mark of type", number, stream.events[:8])
check(not repeated, repeated, "marks repeat the one before")
print(f"{sys.argv[1]}: {compared} readings of /proc compared, {inherited} inherited priorities,",
      sum(len(marks(s, 90)) + len(marks(s, 89)) for s in trace.streams), "marks")
print(f"{sys.argv[1]}: {hogs} changes of a thread that runs on, {ticks} marked in the middle of a run")
check(hogs == 0 or ticks > 0, "no change of a thread that runs on was seen before its next run")
check(compared >= int(sys.argv[3]), "only", compared, "readings could be compared")

if len(sys.argv) > 4:  # every switch-in that ftrace saw
    line = re.compile(r" (\d+)\.(\d{6}): sched_switch: .*==> next_comm=.* next_pid=(\d+) next_prio=(-?\d+)")
    prio = {s.tid: [(clock, label(s, 90, value)) for clock, value in marks(s, 90)] for s in trace.streams}
    def kernel(text):
        kind, *rest = text.split()
        if kind == "SCHED_IDLE": return None  # any nice value
        if kind in ("SCHED_FIFO", "SCHED_RR", "inherited"): return 99 - int(rest[-1])
        return 120 + int(rest[-1])
    seen = different = 0
    for text in open(sys.argv[4], errors="replace"):
        m = line.search(text)
        if not m or int(m[3]) not in prio:
            continue
        clock = int(m[1]) * 10**9 + int(m[2]) * 1000
        if not t0 < clock < t1 - 1_000_000:
            continue
        # the mark follows the switch within some us; the readings of a busy machine may be further apart
        near = [value for when, value in prio[int(m[3])] if when <= clock + 20_000][-1:]
        near += [value for when, value in prio[int(m[3])] if clock - 300_000 < when <= clock + 300_000]
        seen += 1
        if not any(kernel(value) in (None, int(m[4])) for value in near):
            different += 1
            check(different > 3, "thread", m[3], "was switched in with", m[4], "and the trace has", near, "at", clock)
    print(f"{sys.argv[1]}: {seen} switches of ftrace compared, {different} differ")
    check(seen > 100 and not different, "of", seen, "switches of ftrace differ", different)
verdict()
E

# The recorder, while ftrace records the same switches in an instance of its own.
with_ftrace() { # FILE COMMAND...
	local file=$1
	shift
	# shellcheck disable=SC2016 # the inner shell expands it
	unshare -m --propagation private bash -c '
		file=$1; shift
		mount -t tracefs none /mnt || exit 77
		at=/mnt/instances/ovni-prio.$$
		mkdir "$at" || exit 77
		echo mono >"$at/trace_clock" && echo 8192 >"$at/buffer_size_kb" && echo 1 >"$at/events/sched/sched_switch/enable"
		"$@"; status=$?
		echo 0 >"$at/tracing_on"
		cat "$at/trace" >"$file"
		rmdir "$at"
		exit $status' - "$file" "$@"
}

with_ftrace command.ftrace "$RECORDER" -o command --why=prio -- python3 changes.py command.said >command.log 2>&1
status=$?
[ $status = 77 ] && skip "no ftrace: $(cat command.log)"
[ $status = 0 ] || complain "command: status $status: $(cat command.log)"
python3 judge.py command command.said 20 command.ftrace || complain "command: the priorities"
judge command

"$RECORDER" -o all -a --why=lock,prio --wakeup-clock tracepoint -- python3 changes.py all.said >all.log 2>&1 || complain "all: $(cat all.log)"
python3 judge.py all all.said 20 || complain "all: the priorities"
judge all

# Attached to a process that is there already: what it has is known from the beginning on.
chrt -f 11 taskset -c 0 python3 changes.py pid.said pid.gate &
target=$!
wait_until test -s pid.said
"$RECORDER" -o pid -p $target --why=prio >pid.log 2>&1 &
recorder=$!
wait_recording pid $recorder
: >pid.gate
wait $target || complain "pid: the program failed"
wait $recorder || complain "pid: $(cat pid.log)"
python3 judge.py pid pid.said 10 || complain "pid: the priorities"
: >pid.report
facts pid <<'E'
main = next(s for s in trace.streams if s.tid == s.pid)
labels = main.meta["ovni"]["mark"]
check(labels["90"]["labels"] == {"132": "SCHED_FIFO 11"}, "the main thread has", labels["90"])
check(list(labels["89"]["labels"].values()) == ["0"], "the main thread may run on", labels["89"])
check(main.events[1].mcv == "OM=" and main.events[1].clock == int(trace.session["t0"]), "its beginning is", main.events[:4])
E

# Each of several traces has it from its beginning on.
"$RECORDER" -o rotated --why=prio --rotate 300ms -- python3 changes.py rotated.said >rotated.log 2>&1 || complain "rotated: $(cat rotated.log)"
parts=0
for part in rotated/0*; do
	"$B/bin/ovni-check" --strict "$part" >part.log 2>&1 || complain "$part: $(cat part.log)"
	: >"$part.report"
	facts "$part" <<'E'
for stream in trace.streams:
    early = [e.mcv for e in stream.events if e.clock == int(trace.session["t0"])]
    # a runnable thread may be a newborn that has never run
    check(not early or "OHw" in early or early.count("OM=") == 2 or trace.session["part"] == 1, stream.path, "begins with", early)
E
	parts=$((parts + 1))
done
[ $parts -ge 3 ] || complain "rotated: $parts parts"

# A priority that was recorded before the history of a flight recorder begins.
mkfifo hold
"$RECORDER" -o flight --why=prio --last 300ms -- bash -c 'chrt -r 21 cat hold & while [ ! -e flight.end ]; do sleep 0.01; done; wait' >flight.log 2>&1 &
recorder=$!
wait_recording flight $recorder
asleep() { pgrep -x -P "$(pgrep -P $recorder -x bash)" cat >cat.pid; } # opens the pipe, which waits for a writer
wait_until asleep || complain "flight: the sleeper does not sleep"
sleep 1 # longer than the history
: >flight.end
: >hold
wait $recorder || complain "flight: $(cat flight.log)"
grep -q '"SCHED_RR 21"' flight/0*/loom.*/proc.*/thread.*/stream.json || complain "flight: the sleeper's priority was forgotten"

"$RECORDER" -o model --why=prio --kernel-model -- python3 changes.py model.said >model.log 2>&1 || complain "model: $(cat model.log)"
python3 judge.py model model.said 20 || complain "model: the priorities"
judge model

# A part begins with the values that hold there.
"$B/bin/ovni-cut" -o part --from +300ms --to +500ms command >cut.log 2>&1 || [ $? = 3 ] || complain "cut: $(cat cut.log)"
"$B/bin/ovni-dump" -s part >dump.txt || complain "part: ovni-dump: $?"
# not each one: a newborn that has never run has none
grep -A 1 ' OHx .*CPU -1' dump.txt | grep -q 'OM=.* type 90 ' || complain "part: no thread begins with a priority: $(grep -A 1 ' OHx ' dump.txt)"

# Paraver has both, also while a thread sleeps, in the rows of threads and of CPUs.
"$EMULATOR" -q -o views command >emu.log 2>&1 || [ $? = 3 ] || complain "emu: $(cat emu.log)"
for type in 190 189 510 509; do
	grep -q ":$type:" views/thread.prv || complain "thread.prv has no type $type"
done
grep -A 20 '^0 190' views/cpu.pcf | grep -q 'SCHED_FIFO 30' || complain "cpu.pcf has no label of 190"
[ -e views/cfg/thread/sched/priority-time.cfg ] || complain "no view of priorities"

# Not asked for: no mark, no program.
"$RECORDER" -v -o none -- sleep 0.1 >none.log 2>&1 || complain "none: $(cat none.log)"
grep -q record_switch_parts none.log && complain "none: a program is loaded"
"$B/bin/ovni-dump" none | grep -q 'OM=' && complain "none: a mark"
finish
