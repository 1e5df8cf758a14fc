#!/bin/bash
# SPDX-License-Identifier: MIT
#
# --why=stack: each sleep from the limit on has the kernel stack that /proc/PID/stack has meanwhile, a
# shorter one none; what the limits per second leave out is counted. Names, raw addresses without
# CAP_SYSLOG, the folded report against the report why, Paraver 307, a killed recorder, parts, merging.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

# Each child sleeps once in another call. While it does, its parent reads where.
cat >sleeps.py <<'E'
import fcntl, os, select, sys, threading, time
N = 0.4
def pipe(): os.read(os.pipe()[0], 1)
def lock(): l = threading.Lock(); l.acquire(); l.acquire(timeout=N)
def file_lock():
    fcntl.lockf(os.open("locked", os.O_RDWR | os.O_CREAT), fcntl.LOCK_EX)
def child():
    pid = os.fork()
    if not pid: time.sleep(N); os._exit(0)
    os.wait()
def epoll(): e = select.epoll(); e.poll(N)
kinds = {"nap": lambda: time.sleep(N), "pipe": pipe, "lock": lock, "flock": file_lock, "child": child, "epoll": epoll,
         "poll": lambda: select.poll().poll(N * 1000), "select": lambda: select.select([], [], [], N)}
held = os.open("locked", os.O_RDWR | os.O_CREAT)
fcntl.lockf(held, fcntl.LOCK_EX)
out = open(sys.argv[1], "w")
for name, sleep in kinds.items():
    feed = os.pipe()
    pid = os.fork()
    if not pid:
        open("/proc/self/comm", "w").write(name)
        if name == "pipe":
            os.read(feed[0], 1)
        else:
            sleep()
        os._exit(0)
    time.sleep(N / 2)
    state = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0]
    frames = [l.split()[1].rsplit("+", 1)[0] for l in open(f"/proc/{pid}/stack")]
    print(f"kind={name} tid={pid} state={state} frames={','.join(frames)}", file=out, flush=True)
    if name == "pipe":
        os.write(feed[1], b"x")
    if name == "flock":
        fcntl.lockf(held, fcntl.LOCK_UN)
    os.waitpid(pid, 0)
for _ in range(300):  # around the limit of 1 ms
    time.sleep(0.0005)
    time.sleep(0.0012)
E

cat >stacks.py <<'E'
import sys
from facts import *
name, limit, wake, leave = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
trace = Trace(name)
text = open(name + "/stacks", encoding="ascii").read()
check(text.startswith("ovni-bpf stacks 1\n") and text.endswith("\n"), "the file of stacks is not whole")
stacks = {int(n): frames.split(";") for n, frames in (l.split("\t") for l in text.splitlines()[1:])}
names = {n: [f.split("+")[0] for f in frames] for n, frames in stacks.items()}
check(len(set(map(tuple, stacks.values()))) == len(stacks), "a stack is there twice")
session = trace.session["stacks"]
check(int(session["limit_ns"]) == limit, "the session has the limit", session)
check(int(session["different"]) == len(stacks), "the session has", session, "and the file", len(stacks))
long = short = with_stack = without = 0
for t in trace.streams:
    for e, end in zip(t.of(leave), t.of(wake)):
        with_stack += end.stack() != 0
        check(not end.stack() or end.stack() in stacks, t, "has an unknown stack", end.stack())
        if e.ints("Hi")[0] in (0, 6, 7, 11, 12) or end.ends_unknown() or wake != "OHw":
            continue
        slept = end.clock - e.clock
        if slept < limit - 20_000:  # the event may be some ns after the switch
            short += 1
            check(not end.stack(), t, "slept", slept, "and has stack", end.stack())
        elif slept > limit + 20_000:
            long += 1
            without += not end.stack()
left_out = int(session["left_out"])
print(f"{name}: {long} long sleeps, {without} of them without a stack, {left_out} left out; {short} short ones; "
      f"{len(stacks)} stacks of {with_stack} sleeps")
check(int(session["sleeps"]) == with_stack, "the session counts", session["sleeps"], "sleeps with a stack")
# a sleep may end while the window closes
check(without <= left_out + 3, "sleeps without a stack that were not left out:", without - left_out)
if len(sys.argv) > 5:  # what /proc had
    judged = 0
    for line in report(sys.argv[5]):
        if line["state"] != "S" or not line["frames"]:
            continue
        t = trace.thread(line["tid"])
        seen = [names[e.stack()] for e in t.of(wake) if e.stack()]
        judged += 1
        check(line["frames"].split(",") in seen, line["kind"], "slept in", line["frames"], "and the trace has", seen)
    print(f"{name}: {judged} stacks compared with /proc")
    check(judged >= 7, "only", judged, "sleeps could be compared")
sys.exit(verdict())
E

stacks_of() { # NAME LIMIT-NS [REPORT]
	python3 stacks.py "$1" "$2" OHw OHp ${3:+"$3"} || complain "$1: the stacks"
}

run() { # NAME OPTION...
	local name=$1
	shift
	record_output "$name" "$@" -- python3 sleeps.py "$name.kinds"
}

# The folded times of a thread add up to its time asleep, but for parts of 1 us of each line.
folded() { # NAME
	"$B/bin/ovni-report" stacks "$1" >"$1.folded" || complain "$1: ovni-report stacks: $?"
	"$B/bin/ovni-report" why --json -n 0 "$1" >"$1.why" || complain "$1: ovni-report why: $?"
	python3 - "$1" <<'E' || complain "$1: the folded stacks"
import collections, json, sys
lines = [l.rsplit(" ", 1) for l in open(sys.argv[1] + ".folded")]
us, n = collections.Counter(), collections.Counter()
for frames, time in lines:
    us[frames.split(";")[0]] += int(time)
    n[frames.split(";")[0]] += 1
times = {"asleep": collections.Counter(), "unknown": collections.Counter()}
for row in json.load(open(sys.argv[1] + ".why")):
    if row["state"] in times:
        times[row["state"]][row["thread"]] += row["time"]
bad = {t: us[t] for t in us if not times["asleep"][t] // 1000 - n[t] - 1 <= us[t] <=
       (times["asleep"][t] + times["unknown"][t]) // 1000}
print(f"{sys.argv[1]}: {len(lines)} lines, {sum(us.values())} us; wrong: {bad} {times}")
sys.exit(bool(bad) or len(lines) < 5)
E
}

run command --why=stack
stacks_of command 1000000 command.kinds
judge command
folded command
run tracepoint --why=lock,stack=kernel,1ms --wakeup-clock tracepoint
stacks_of tracepoint 1000000 tracepoint.kinds
judge tracepoint
run cpus --why=stack -C "$(cat /sys/devices/system/cpu/online)"
stacks_of cpus 1000000 cpus.kinds

"$B/bin/ovni-dump" command >dump.txt || complain "ovni-dump: $?"
grep -q 'stack [0-9]* (hrtimer_nanosleep <- ' dump.txt || complain "ovni-dump shows no names"
"$EMULATOR" -o views command >emu.log 2>&1
grep -A 30 '^0 307' views/thread.pcf | grep -q 'hrtimer_nanosleep <- ' || complain "Paraver has no names of 307"
grep -q ':307:' views/thread.prv || complain "thread.prv has no type 307"
"$B/bin/ovni-report" flame --stacks --svg command >flame.svg || complain "flame: $?"
grep -q 'hrtimer_nanosleep' flame.svg || complain "the flame graph lacks a function"

# 100 us; above the rates the rest is counted.
cat >many.py <<'E'
import threading, time
def nap():
    end = time.monotonic() + 3.5
    while time.monotonic() < end:
        time.sleep(0.0004)
threads = [threading.Thread(target=nap) for _ in range(80)]
for t in threads: t.start()
for t in threads: t.join()
E
record_output many --why=stack,100us -- python3 many.py
stacks_of many 100000
python3 - <<'E' || complain "many: the rates"
import collections, sys
from facts import *
trace = Trace("many")
total, most = collections.Counter(), 0
for t in trace.streams:
    own = collections.Counter()
    runs = iter(t.of("OHr"))
    for e in t.of("OHw"):
        if e.stack():
            run = next(r for r in runs if r.clock >= e.clock)
            own[run.clock // 10**9] += 1
    total += own
    most = max([most, *own.values()])
print("stacks by second", dict(total), "of one thread at most", most)
check(most <= 21, "a thread has", most, "stacks in a second")  # one may count for the second before
check(900 <= max(total.values()) <= 1010, "stacks by second:", total)
check(int(trace.session["stacks"]["left_out"]) > 100, trace.session["stacks"])
sys.exit(verdict())
E
grep -q 'long sleeps have no stack: at most 1000' many.log || complain "the recorder does not say that stacks were left out"

# Without CAP_SYSLOG (if the kernel hides its addresses then): addresses, and one message.
less=(setpriv --bounding-set -syslog --inh-caps -syslog)
if "${less[@]}" head -n 1 /proc/kallsyms | grep -q '^0* '; then
	"${less[@]}" "$RECORDER" -o bare --why=stack -- sleep 0.05 >bare.log 2>&1 || complain "bare: $(cat bare.log)"
	[ "$(grep -c 'stacks have addresses instead of names' bare.log)" = 1 ] || complain "bare: no message: $(cat bare.log)"
	grep -qP '\t0x[0-9a-f]+;' bare/stacks || complain "bare: no addresses: $(cat bare/stacks)"
	! grep -q nanosleep bare/stacks || complain "bare: names"
else
	echo "this kernel shows its addresses without CAP_SYSLOG, too"
fi

# A killed recorder leaves whole lines, with those of all numbers that it has written.
"$RECORDER" -o killed --why=stack --flush-interval 100ms -- python3 sleeps.py killed.kinds >killed.log 2>&1 &
recorder=$!
naps() { grep -q nanosleep killed/stacks 2>/dev/null; }
wait_until naps || complain "killed: no line is written"
sleep 1
kill -9 $recorder
wait $recorder 2>/dev/null
[ "$(tail -c 1 killed/stacks | od -An -tx1 | tr -d ' ')" = 0a ] || complain "killed: the last line is not whole"
"$B/bin/ovni-check" --repair -o repaired killed >repair.log 2>&1
[ $? = 3 ] || complain "killed: cannot repair: $(cat repair.log)"
grep -q 'stack that is not known' repair.log && complain "killed: $(cat repair.log)"
"$B/bin/ovni-dump" repaired >dump.txt 2>/dev/null
grep -q 'stack [0-9]* (hrtimer_nanosleep' dump.txt || complain "repaired: no stack"

# Each of several traces has the stacks that it uses; so has a saved window, and a part.
run rotated --why=stack --rotate 1s
for part in rotated/0*; do
	"$B/bin/ovni-check" "$part" >part.log 2>&1 || [ $? = 3 ] || complain "$part: $(cat part.log)"
	grep 'stack that is not known' part.log && complain "$part: a stack is not known"
done
[ "$(grep -l nanosleep rotated/0*/stacks | wc -l)" -ge 2 ] || complain "rotated: $(ls rotated/0*)"
"$RECORDER" -o flight --why=stack --last 10s -- python3 sleeps.py flight.kinds >flight.log 2>&1 &
recorder=$!
wait_recording flight $recorder
wait_until test -s flight.kinds
sleep 1.5
kill -USR1 $recorder
wait $recorder || complain "flight: $(cat flight.log)"
for part in flight/0*; do
	grep -q nanosleep "$part/stacks" || complain "flight: no stack: $(ls "$part")"
	"$B/bin/ovni-dump" "$part" 2>/dev/null | grep 'stack [0-9]* (not known)' && complain "flight: a stack is not known"
done
"$B/bin/ovni-cut" -o part --from +1s --to +2s command >cut.log 2>&1 || [ $? = 3 ] || complain "cut: $(cat cut.log)"
"$B/bin/ovni-dump" part >dump.txt
numbers() { grep -o 'stack [0-9]*' "$1" | sort -u | cut -d ' ' -f 2 | sort -n; }
[ "$(numbers dump.txt)" = "$(sed 1d part/stacks | cut -f 1)" ] || complain "cut: $(numbers dump.txt) of $(cat part/stacks)"
[ "$(numbers dump.txt | wc -l)" -lt "$(sed 1d command/stacks | wc -l)" ] || complain "cut: keeps all stacks"

# With the kernel model, KCI has it.
run model --why=stack --kernel-model
python3 stacks.py model 1000000 KCI KCO || complain "model: the stacks"

# A thread that still sleeps at the end has its stack: where does it hang?
cat >hang.py <<'E'
import os, signal, threading, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
r, w = os.pipe()
threading.Thread(target=lambda: os.read(r, 1), daemon=True).start()
time.sleep(0.3)
threading.Thread(target=lambda: (time.sleep(0.3), os.kill(os.getppid(), signal.SIGINT))).start()
time.sleep(4)
E
record_output hang --why=stack -- python3 hang.py
facts hang <<'E'
text = dict(l.rstrip("\n").split("\t") for l in open("hang/stacks") if "\t" in l)
ends = [text.get(str(t.of("OHw")[-1].stack()), "") for t in trace.streams if t.of("OHw")]
print("asleep at the end in", ends)
check(any("pipe_read+" in e for e in ends), "the thread that hangs in read has no stack", ends)
check(any("nanosleep+" in e for e in ends), "the thread that sleeps to the end has no stack", ends)
E

# What is not asked for is not there: neither in the programs nor in the trace.
has_stacks() { # NAME WHY PROGRAM: does the program in the kernel take stacks?
	"$RECORDER" -o "$1" --why="$2" -- bpftool prog dump xlated name "$3" >"$1.xlated" 2>&1
	grep -q ' exit$' "$1.xlated" || complain "$2: no instructions: $(tail -n 3 "$1.xlated")"
	grep -q 'call bpf_get_task_stack\|get_task_stack' "$1.xlated"
}
has_stacks insn-stack stack record_switch_parts || complain "--why=stack: the program takes no stacks"
has_stacks insn-lock lock record_switch_calls && complain "--why=lock: the program takes stacks"
has_stacks insn-none none record_switch && complain "--why=none: the program takes stacks"
run none --why=call
[ ! -e none/stacks ] || complain "without --why=stack there is a file of stacks"
facts none <<'E'
check(not [e for t in trace.streams for e in t.of("OHw") if e.stack()], "without --why=stack there are stacks")
check("stacks" not in trace.session, "the session claims to have stacks")
E
finish
