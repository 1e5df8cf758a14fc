#!/bin/bash
# SPDX-License-Identifier: MIT
#
# --counters: software events of each run against the program's own count of page faults and the run
# times of the trace; of a command, attached, of the whole machine, rotated, in a flight recorder, and cut.
# An event that the machine does not have is refused in one sentence. Without the option there is no
# program of it.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

# Touches pages and sleeps in between, in two threads; prints the faults in each loop as the kernel counts them.
cat >faults.py <<'P'
import mmap, os, resource, sys, threading, time
gate = sys.argv[2] if len(sys.argv) > 2 else None
out = open(sys.argv[1], "w")
print("ready=1", file=out, flush=True)
while gate and not os.path.exists(gate): time.sleep(0.005)
def count():
    u = resource.getrusage(resource.RUSAGE_THREAD)
    return u.ru_minflt + u.ru_majflt
def loop(pages, each):
    m = mmap.mmap(-1, pages * 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    m.madvise(mmap.MADV_NOHUGEPAGE)
    before = count()
    for i in range(pages):
        m[i * 4096] = 1
        if i % each == each - 1: time.sleep(0.0002)
    print(f"tid={threading.get_native_id()} faults={count() - before} pages={pages}", file=out, flush=True)
threads = [threading.Thread(target=loop, args=a) for a in ((4000, 40), (2000, 100))]
for t in threads: t.start()
for t in threads: t.join()
P

cat >judge.py <<'P'
import struct, sys
from facts import *
trace, expected = Trace(sys.argv[1]), {int(l["tid"]): int(l["faults"]) for l in report(sys.argv[2]) if "tid" in l}
names = [c["name"] for c in trace.session["counters"]]
check(names == ["page-faults", "task-clock", "context-switches"], names)
for c in trace.session["counters"]:
    check(0 < int(c["enabled"]) == int(c["running"]), "software events are never multiplexed:", c)
compared = runs = without = more = apart = off = 0
for stream in trace.streams:
    check(stream.meta["ovni"]["require"].get("nosv") and [stream.meta["nosv"]["hwc"][str(i)]["name"] for i in range(3)] == names,
          stream.path, "declares", stream.meta.get("nosv"))
    begin = values = None
    faults = switches = missing = 0
    for e in stream.events:
        if e.mcv in ("OHx", "OHr"):
            begin, values = e.clock, None
        elif e.mcv == "VWC":
            found = struct.unpack("<3q", e.data[-24:])
            values = [a + b for a, b in zip(values, found)] if values else list(found)
            check(min(found) >= 0, stream.path, "has", found)
        elif e.mcv in ("OHp", "OHe") and begin is not None:
            ran = e.clock - begin
            if ran == 0:  # a thread that sleeps at the beginning of the window
                continue
            runs += 1
            if not values:
                without += 1
                missing += 1
                continue
            faults, switches = faults + values[0], switches + values[2]
            apart = max(apart, abs(values[1] - ran) - ran // 50)
            # the clock is read at the switch, as the events are; programs of ours, and the hypervisor, may be in between
            off += abs(values[1] - ran) >= 50_000 + ran / 50 and not e.ends_unknown()
    if stream.tid in expected and not missing:
        compared += 1
        more = max(more, faults - expected[stream.tid])
        # in the trace also what the thread does before and after its loop: 4 or 5 faults
        check(expected[stream.tid] <= faults < expected[stream.tid] + 20, stream.path, "had", expected[stream.tid], "faults in its loop, and the trace has", faults)
        check(switches > 15, stream.path, "had", switches, "switches")
print(f"{sys.argv[1]}: {runs} runs, {without} without values, {compared} threads compared, at most {more} faults more; task-clock off by at most {apart} ns")
check(runs > 60 and without < 3 + runs / 20, without, "of", runs, "runs have no values")
check(off <= 2 + runs // 100, off, "of", runs, "runs are not as long as their task-clock")
check(compared >= int(sys.argv[3]), "only", compared, "threads could be compared")
verdict()
P

events=page-faults,task-clock,cs
one_command() {
	rm -rf command
	"$RECORDER" -o command --counters $events -- python3 faults.py command.said >command.log 2>&1 || complain "command: $(cat command.log)"
	python3 judge.py command command.said 1 || complain "command: the counters"
}
attempts 3 one_command
: >command.report
judge command

whole_machine() {
	rm -rf all
	"$RECORDER" -o all -a --counters $events -- python3 faults.py all.said >all.log 2>&1 || complain "all: $(cat all.log)"
	python3 judge.py all all.said 1 || complain "all: the counters"
}
attempts 3 whole_machine

attached() {
	local target recorder
	rm -rf pid pid.log pid.gate pid.said
	python3 faults.py pid.said pid.gate &
	target=$!
	wait_until test -s pid.said
	"$RECORDER" -o pid -p $target --counters $events >pid.log 2>&1 &
	recorder=$!
	wait_recording pid $recorder
	: >pid.gate
	wait $target
	wait $recorder || complain "pid: $(cat pid.log)"
	python3 judge.py pid pid.said 1 || complain "pid: the counters"
}
attempts 3 attached

# Several traces, and a flight recorder: each trace is accepted and declares its counters.
"$RECORDER" -o rotated --counters $events --rotate 100ms -- sh -c 'for i in 1 2 3; do python3 faults.py rotated.said; done' >rotated.log 2>&1 || complain "rotated: $(cat rotated.log)"
"$RECORDER" -o flight --counters $events --last 1s -- python3 faults.py flight.said >flight.log 2>&1 || complain "flight: $(cat flight.log)"
parts=0
for part in rotated/0* flight/0*; do
	"$B/bin/ovni-check" --strict "$part" >part.log 2>&1 || complain "$part: $(cat part.log)"
	oracle_judge "$part"
	"$B/bin/ovni-dump" "$part" >dump.txt || complain "$part: ovni-dump: $?"
	grep -q VWC dump.txt && parts=$((parts + 1))
done
[ $parts -ge 3 ] || complain "only $parts parts have counters"

# A part keeps them.
"$B/bin/ovni-cut" -o part --from +30ms --to +60ms command >cut.log 2>&1 || [ $? = 3 ] || complain "cut: $(cat cut.log)"
"$B/bin/ovni-dump" part | grep -q VWC || complain "part: no counters"
oracle_judge part

# Paraver has a type and a view for each.
"$EMULATOR" -q -o views command >emu.log 2>&1 || [ $? = 3 ] || complain "emu: $(cat emu.log)"
for i in 0 1 2; do grep -q ":20$i:" views/thread.prv || complain "thread.prv has no type 20$i"; done
for name in page-faults task-clock context-switches; do [ -s "views/cfg/thread/nosv/hwc-$name.cfg" ] || complain "no view of $name"; done

# An event that the machine does not have.
if ! "$RECORDER" -o pmu --counters cycles -- true >pmu.log 2>&1; then
	grep -q 'cannot count cycles.*no PMU.*page-faults' pmu.log || complain "cycles: $(cat pmu.log)"
	[ "$(grep -c error pmu.log)" = 1 ] || complain "cycles: $(cat pmu.log)"
	[ ! -e pmu/stats.json ] || complain "cycles: a trace is left"
fi

# What is not asked for is not loaded, and the others have the same instructions.
program_lengths call
mv len.call.txt without.txt
program_lengths call --counters $events
python3 - <<'E' || complain "the programs with and without --counters"
def programs(name):
    return {program: int(size) for program, size in (line.split() for line in open(name))}
without, counting = programs("without.txt"), programs("len.call.txt")
assert set(counting) - set(without) == {"counters_switch", "counters_snapshot"}, (without, counting)
assert all(counting[name] == size for name, size in without.items()), (without, counting)
E
finish
