#!/bin/bash
# SPDX-License-Identifier: MIT
#
# --why=call: each sleep has the system call that the program was in, by name, with the file of its
# descriptor; a stop and a continued call included. Without it no event has a call.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

cat >calls.py <<'E'
import json, os, sys
from facts import *
name, path = sys.argv[1:]
trace, lines = Trace(path), report(name + ".report")
main = [l["sleeper"] for l in lines if "sleeper" in l][0]
phases = [l for l in lines if "call" in l]
check(len(phases) >= 9, "only", len(phases), "phases")
thread = trace.thread(main)
check(trace.session.get("calls") is True, "the session does not say that it has calls")
events = [json.loads(line) for line in open(name + ".dump")]
events = [e for e in events if e["stream"].endswith("/thread.%d" % main)]
named = judged = 0
for phase in phases:
    mine = [e for e in events if phase["begin"] < int(e["clock"]) < phase["end"]]
    why = [e["args"]["why"] for e in mine]
    if 11 in why:  # a switch that the kernel did not report
        continue
    disk = phase["call"] in ("fsync", "pread64", "fault")  # may sleep for anything, or not at all
    wanted_why = (1, 2, 3) if disk else (2,) if phase["call"] == "vfork" else (1,)
    asleep = [e for e in mine if e["args"]["why"] in wanted_why]
    wanted = phase["call"].replace("32-bit_", "32-bit ")
    judged += 1
    check(asleep or disk, "no sleep in", wanted, mine)
    for e in asleep:
        text = e.get("call", "?")
        if disk and text.split("(")[0] in ("pwrite64", "fault"):
            continue
        check(text.split("(")[0] == wanted, "a sleep in", wanted, "is shown as", text)
        if phase["fd"] < 0 or "(" not in text:
            check(phase["fd"] < 0, "no descriptor in", text)
            continue
        number, _, file = text.split("(", 1)[1].rstrip(")").partition(" = ")
        check(int(number) == phase["fd"], "descriptor", phase["fd"], "is shown as", text)
        wanted_file = phase["file"].replace("anon_inode:", "")
        if file:
            check(wanted_file in (file, "[" + file + "]"), text, "is", phase["file"])
            named += 1
    for e in mine:
        if e["args"]["why"] in (4, 5, 6, 7, 12):
            check("call" not in e, "a thread that does not sleep has a call", e)
    if 4 in why:  # stopped and continued: the call goes on
        check(len(asleep) >= 2, "the continued call has no sleep", mine)
check(judged >= 6, "only", judged, "phases could be judged")
check(named >= 1, "no descriptor has a name")
rows = [r for r in json.load(open(name + ".why")) if r["tid"] == main]
begins = [e.clock for t in trace.streams for e in t.of("OHC") if e.ints("iQ")[1] == main] + [thread.events[0].clock]
life, total = thread.events[-1].clock - begins[0], sum(r["time"] for r in rows)
print(f"{name}: {judged} of {len(phases)} phases, {named} descriptors named; rows {total} ns, life {life} ns")
check(total == life, "the rows do not add up to", life, rows)
calls = {r["call"].split("(")[0] for r in rows if r["state"] == "asleep"}
check("restart_syscall" not in calls, "the continued call has lost its name")
check({"clock_nanosleep", "ppoll"} <= calls, "the report lacks calls:", calls)
sys.exit(verdict())
E

# The sleeps of each phase by `ovni-report blocked`, with those that the kernel counted for the thread:
# voluntary switches, and the time that it neither ran nor waited for a CPU. Stolen time is in neither. A
# switch that the kernel does not report may be missed in a phase or two.
cat >counts.py <<'E'
import json, os, subprocess, sys
from facts import *
name, path = sys.argv[1:]
lines = report(name + ".report")
main = [l["sleeper"] for l in lines if "sleeper" in l][0]
phases = [l for l in lines if "call" in l]
disk = ("fsync", "pread64", "fault")
wrong_count, wrong_time = [], []
for phase in phases:
    ran = subprocess.run([os.environ["B"] + "/bin/ovni-report", "blocked", "--json", "--tid", str(main), "--from",
                          str(phase["begin"]), "--to", str(phase["end"]), path], stdout=subprocess.PIPE, check=False)
    rows = json.loads(ran.stdout)
    times, ns = sum(r["times"] for r in rows), sum(r["time"] for r in rows)
    truth = phase["end"] - phase["begin"] - phase["cpu"] - phase["waited"]
    named = sum(r["times"] for r in rows if r["call"].split("(")[0].replace(" ", "_") == phase["call"])
    wanted = phase["calls"] * (2 if phase["phase"] == 6 else 1)  # stopped and continued: it sleeps twice
    print("%-16s %3d sleeps, %3d counted; %10d ns, %10d by the clock; %d in it, of %d" % (
        phase["call"], times, phase["sleeps"], ns, truth, named, wanted))
    if times != phase["sleeps"] or (phase["call"] not in disk and named != wanted):
        wrong_count.append(phase["call"])
    if not truth * 0.9 - 2e6 <= ns <= truth * 1.02 + 1e6:
        wrong_time.append(phase["call"])
check(len(phases) >= 13, "only", len(phases), "phases")
check(len(wrong_count) <= 2, "the sleeps differ in", wrong_count)
check(len(wrong_time) <= 2, "the times differ in", wrong_time)
sys.exit(verdict())
E
counted() {
	record counted command --why=call -- asleep -n 10
	judge counted
	python3 counts.py counted counted >counts.out || complain "the counts: $(cat counts.out)"
}
attempts 3 counted
cat counts.out

# The calls in the trace TRACE of the workload that has written NAME.report.
calls_of() { # NAME TRACE
	local main
	main=$(sed -n 's/^sleeper=//p' "$1.report") # of all threads of the machine
	"$B/bin/ovni-dump" --json --mcv OHp --tid "$main" "$2" >"$1.dump" || complain "$1: ovni-dump: status $?"
	"$B/bin/ovni-report" why --json --tid "$main" "$2" >"$1.why" || complain "$1: ovni-report why: status $?"
	python3 calls.py "$1" "$2" || complain "$1: the calls"
}

mode() { # MODE OPTION...
	record "$1" "$1" "${@:2}" --why=call -- asleep
	judge "$1"
	calls_of "$1" "$1"
}
attempts 3 mode command
attempts 3 mode pid --wakeup-clock tracepoint
attempts 3 mode all

some_cpus() {
	record cpus command -C "0-$(($(nproc) - 1))" -- asleep
	judge cpus
	calls_of cpus cpus
}
attempts 3 some_cpus

# A part that is not asked for costs nothing: without calls the program at switches is another one, shorter
# than that with calls, which is shorter than that with owners; beside the iterator at the start, and with owners the
# programs at exits and at exec, which forget them, no other program differs.
for why in none call lock; do program_lengths $why; done
python3 - <<'E' || complain "the lengths of programs: $(tail -n 99 len.*.txt)"
programs = [dict(line.split() for line in open("len." + why + ".txt")) for why in ("none", "call", "lock")]
switch = [int(p.pop(next(name for name in p if name.startswith("record_switch")))) for p in programs]
print("bytes of the program at switches:", *switch)
assert len(programs[0]) > 8 and switch[0] < switch[1] < switch[2], switch
tasks = [int(p.pop("iterate_tasks")) for p in programs] # reads the calls of threads that sleep already
assert tasks[0] < tasks[1] == tasks[2], tasks
for name in ("sched_process_exit", "sched_process_exec"):
    forgets = [int(p.pop(name)) for p in programs]
    assert forgets[0] == forgets[1] < forgets[2], (name, forgets)
assert programs[0] == programs[1] == programs[2], programs
E

# Paraver: type 304 with the names that occur.
"$B/bin/ovni-emu" command >emu.log 2>&1 || [ $? = 3 ] || complain "ovni-emu: $(tail -n 2 emu.log)"
found=0 # a switch that the kernel does not report has no call
for call in read ppoll epoll_wait futex accept clock_nanosleep; do
	grep -q "^[0-9]* *$call\$" command/thread.pcf && found=$((found + 1))
done
[ $found -ge 4 ] || complain "thread.pcf has only $found of 6 calls: $(grep -A 12 '^0 304' command/thread.pcf)"
grep -q ':304:' command/thread.prv || complain "thread.prv has no type 304"

# Cut traces keep them.
"$B/bin/ovni-cut" -o cut command >cut.log 2>&1 || complain "ovni-cut: $(cat cut.log)"
cp command.report cut.report
calls_of cut cut

# Rotation, and a flight recorder.
SOME='in (read|accept|epoll_wait|futex)\('
record rotated command --rotate 400ms --why=call -- asleep
for part in rotated/*/; do
	judge "${part%/}"
	"$B/bin/ovni-dump" --mcv OHp "$part"
done >rotated.dump
grep -qE "$SOME" rotated.dump || complain "the parts of a rotation have no call"
record flight command --last 30s --why=call -- asleep
"$B/bin/ovni-dump" --mcv OHp "$(dirname "$(find flight -name 'loom.*' | head -n 1)")" >flight.dump
grep -qE "$SOME" flight.dump || complain "the flight recorder has no call: $(find flight)"

# With the kernel model, and without calls.
record kernel command --kernel-model --why=call -- asleep
"$B/bin/ovni-dump" --mcv KCO kernel >kernel.dump
grep -qE "$SOME" kernel.dump || complain "KCO has no call"
judge kernel
record none command --why=none -- asleep
facts none <<'E'
check(not [e for t in trace.streams for e in t.of("OHp") if e.call()], "without there are calls")
check(not [t for t in trace.streams if "fds" in t.bpf], "without there are names")
E

# Frozen in user code (cgroup v2): asleep, in no call, and in no fault.
frozen=$(findmnt -nt cgroup2 -o TARGET | head -n 1)/ovni-frozen.$$
if mkdir "$frozen" 2>/dev/null && [ -e "$frozen/cgroup.freeze" ]; then
	# shellcheck disable=SC2016 # for the shell that is recorded
	record_output frozen --why=call -- bash -c 'bash -c "while :; do :; done" & echo $! >'"$frozen"'/cgroup.procs
		sleep 0.1; echo 1 >'"$frozen"'/cgroup.freeze; sleep 0.3; echo 0 >'"$frozen"'/cgroup.freeze; sleep 0.1; kill $!; wait'
	"$B/bin/ovni-report" blocked --json -n 0 frozen >frozen.json || [ $? = 3 ] || complain "frozen: blocked"
	python3 - <<'E' || complain "a frozen thread: $(cat frozen.json)"
import json
longest = max((r for r in json.load(open("frozen.json")) if r["call"] != "clock_nanosleep" and not (r["call"] or "").startswith("wait4")),
              key=lambda r: r["max"])
print("frozen:", longest)
assert longest["reason"] == "sleeping" and not longest["call"] and 200_000_000 < longest["max"] < 3_000_000_000, longest
E
else
	echo "no freezer of cgroup v2 here"
fi
rmdir "$frozen" 2>/dev/null
finish
