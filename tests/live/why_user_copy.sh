#!/bin/bash
# SPDX-License-Identifier: MIT
#
# --why=stack=both where the kernel has no task work (before Linux 6.18), which tests/faults/btf.c hides: the stacks
# are copied at the switch-out. The tests of user stacks, wakers and preempted threads hold; reports name the same
# functions and lines as with task work; a sleep that began before the recording is counted; a real-time kernel is
# refused.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"
hidden=bpf_task_work_schedule_resume=,bpf_task_work_schedule_resume_impl=
before() { FAULT_BTF=$hidden LD_PRELOAD=$B/tests/faults/btf.so "$@"; } # as on a kernel before 6.18

for test in why_user_stack why_wakers why_preempted; do
	mkdir $test
	T=$T/$test before "$S/tests/live/$test.sh" >$test.log 2>&1 || complain "$test: $? $(tail -n 30 $test.log)"
done
cd why_user_stack || exit 1 # its programs

# The answers of both ways: the same places, and the same stacks, but for what is cut.
answers() { # NAME
	"$B/bin/ovni-report" blocked --json -n 0 "$1" >"$1.blocked" || complain "$1: blocked: $?"
	"$B/bin/ovni-report" stacks "$1" >"$1.stacks" || complain "$1: stacks: $?"
	"$B/bin/ovni-report" flame --stacks --svg "$1" >"$1.svg" || complain "$1: flame: $?"
}
cat >same.py <<'E'
import json, re, sys
# The sleep of the command at the gate of the recorder began before the recording.
def places(name):
    rows = [r for r in json.load(open(name + ".blocked")) if r["from"] and r["state"] == "asleep" and r["time"] > 100 * 10**6]
    return {(r["name"], r["from"], r["call"]) for r in rows}
def stacks(name):
    """The functions of the program in each stack that is not cut."""
    lines = [l.rsplit(" ", 1) for l in open(name + ".stacks")]
    found = {tuple(f for f in frames.split(";")[1:] if not f.endswith("_[k]"))
             for frames, us in lines if int(us) > 100_000 and "[cut]" not in frames}
    return {s for s in found if s and "command_start" not in s}
def drawn(name):
    return {f for f in ("nap", "one", "two", "three", "take", "rec", "run_rec", "run_lock", "plugin_work", "main", "_start")
            if re.search(r">%s\b|\b%s [(,]" % (f, f), open(name + ".svg").read())}
wrong = 0
for what in (places, stacks, drawn):
    copied, now = what("copied"), what("now")
    missing = {x for x in now - copied if "on_signal" not in str(x)}  # the frame of a signal may not fit into the copy
    print(what.__name__, len(copied), "and", len(now), "copied alone:", copied - now, "now alone:", missing)
    wrong += bool(copied - now or missing) or len(copied) < 5
sys.exit(wrong)
E
before record_output copied --why=stack=both -- ./chain 300
if grep -qwE 'bpf_task_work_schedule_resume(_impl)?' /proc/kallsyms; then
	record_output now --why=stack=both -- ./chain 300
	answers copied
	answers now
	python3 same.py || complain "the two ways differ"
fi

# A sleep that began before the recording has no frames of user code, and is counted; the next one has.
cat >older.py <<'E'
import os, sys, time
gate = os.open(sys.argv[1], os.O_RDONLY)
os.read(gate, 1)
time.sleep(0.02)
os._exit(0)  # at once: its mappings were read at the begin of the recording
E
mkfifo older.gate
python3 older.py older.gate &
target=$!
exec 8>older.gate
in_read() { grep -q '^0 ' "/proc/$target/syscall"; }
wait_until in_read
before "$RECORDER" -o older --why=stack=both -p $target >older.log 2>&1 &
recorder=$!
wait_recording older $recorder
sleep 0.05 # longer than the limit
echo >&8
exec 8>&-
wait $target
wait $recorder || complain "older: $(cat older.log)"
grep -q '1 stack has no frames of user code: .*or the sleep began before the recording' older.log || complain "older: $(cat older.log)"
cat >older-judge.py <<'E'
from user import *
stacks = Stacks("older")
frames = [n for n in stacks.names("python3") if n]
check(len(frames) == 1 and "_start" in frames[0][-2:], "the sleep in the recording:", frames)
check(int(stacks.trace.session["stacks"]["user_unknown"]) == 1, stacks.trace.session["stacks"])
sys.exit(verdict())
E
copied=1 python3 older-judge.py || complain "older: the frames"

# Maps of this way alone. The doctor, and the plan. A real-time kernel, by the type of its spin locks, is refused.
make_own_maps
before "$RECORDER" -o maps --why=stack=both -- ./own_maps >maps.log 2>&1
grep -q 'task_storage.*user_copies' maps.log || complain "no storage of copies: $(cat maps.log)"
grep -q 'user_stack_slot' maps.log && complain "slots of task work: $(cat maps.log)"
"$RECORDER" -o kernel-maps --why=stack -- ./own_maps >maps.log 2>&1
grep -q 'user_copies' maps.log && complain "--why=stack has a storage of copies: $(cat maps.log)"
before "$RECORDER" doctor | tr -s ' \n' ' ' | grep -q 'less user stacks recorded .* copied at each sleep' || complain "doctor: $(before "$RECORDER" doctor)"
before "$RECORDER" --dry-run --why=stack=user -a | grep -q 'up to 3584, copied at each sleep' || complain "--dry-run"
hidden=$hidden,spinlock=swait_queue_head
before "$RECORDER" -o rt --why=stack=both -- true >rt.log 2>&1
[ $? = 1 ] && grep -q 'need Linux 5.15 or newer, and 6.18 on a real-time kernel' rt.log || complain "rt: $(cat rt.log)"
[ ! -e rt ] || complain "a refused recording left a trace"
before "$RECORDER" -o rt --why=stack -- true >rt.log 2>&1 || complain "rt, kernel stacks: $(cat rt.log)"
finish
