#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Every part of --why at once, with --counters: each way to record, and each program that reads, changes or converts
# a trace, take all of it; the real ovniemu accepts each trace, and has the same lines as ovni-emu. A part that is not
# asked for costs nothing: its programs are not loaded, and the others are as long as with --why=none.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

parts=(--why='lock,stack=kernel,100us,wakers,preempted,irq,2us,io,prio' --counters 'page-faults,task-clock')

# Threads that wait for locks, the disk and each other.
cat >load.sh <<'E'
for workload in chain locks disk; do "$WORKLOADS/$workload"; done
E
export WORKLOADS
unset WORKLOAD_REPORT
load() { bash load.sh >/dev/null; }

# Has the trace events of each part?
have() { # TRACE PART...
	local trace=$1 part
	shift
	for part in "$@"; do
		grep -qE "$part" "$trace.dump" || complain "$trace has no $part"
	done
}

through_all() { # TRACE PART...
	local trace=$1
	judge "$trace"
	"$B/bin/ovni-check" -q "$trace" >"$trace.check" 2>&1 || [ $? = 3 ] || complain "$trace: ovni-check: $(tail -n 3 "$trace.check")"
	"$B/bin/ovni-dump" "$trace" >"$trace.dump" 2>"$trace.log2" || [ $? = 3 ] || complain "$trace: ovni-dump: $(cat "$trace.log2")"
	have "$@"
	run() { # PROGRAM...
		"$B/bin/$1" "${@:2}" >"$trace.log2" 2>&1 || [ $? = 3 ] || complain "$trace: $*: $(tail -n 3 "$trace.log2")"
	}
	run ovni-emu -q -o "$trace.views" "$trace"
	run ovni-view -o "$trace.html" "$trace"
	run ovni-export --perfetto -o "$trace.pftrace" "$trace"
	run ovni-export --sqlite -o "$trace.db" "$trace"
	run ovni-report "$trace"
	for report in why blocked latency locks io stacks counters preempt; do run ovni-report $report "$trace"; done
	[ -s "$trace.html" ] && [ -s "$trace.pftrace" ] && [ -s "$trace.db" ] || complain "$trace: a file is empty"
	run ovni-cut -o "$trace.part" --from +20ms "$trace"
	judge "$trace.part"
}

everything=('type 91' 'type 90' 'type 89' 'VWC' 'stack [0-9]' 'woken by stack' 'owner' 'interrupts took')
on_disk && everything+=('at sector')
"$RECORDER" -o command "${parts[@]}" -- bash load.sh >command.log 2>&1 || complain "command: $(tail -n 5 command.log)"
through_all command "${everything[@]}"

"$RECORDER" -o all -a "${parts[@]}" >all.log 2>&1 &
recorder=$!
wait_recording all $recorder
load
kill -INT $recorder
wait $recorder || complain "all: $(tail -n 5 all.log)"
through_all all "${everything[@]}"

mkfifo gate
bash -c 'read -r _ <gate; . ./load.sh' >/dev/null &
target=$!
"$RECORDER" -o pid "${parts[@]}" -p $target >pid.log 2>&1 &
recorder=$!
wait_recording pid $recorder
echo >gate
wait $target
wait $recorder || complain "pid: $(tail -n 5 pid.log)"
through_all pid 'type 90' 'type 89' 'VWC' 'interrupts took'

"$RECORDER" -o rotated --rotate 200ms "${parts[@]}" -- bash load.sh >rotated.log 2>&1 || complain "rotated: $(tail -n 5 rotated.log)"
count=0
for part in rotated/0*; do
	judge "$part"
	count=$((count + 1))
done
[ $count -gt 1 ] || complain "rotated: only $count traces"

"$RECORDER" -o flight --last 300ms "${parts[@]}" -- bash load.sh >flight.log 2>&1 || complain "flight: $(tail -n 5 flight.log)"
for part in flight/0*; do
	[ -d "$part" ] || complain "flight: no trace"
	judge "$part"
done

# With the trace that the program writes itself; the kernel model excludes io and counters.
"$RECORDER" --kernel-model --why=lock,stack,wakers,preempted,irq,prio -o kernel -- "$B/tests/live/ovniwriter" own 3 50 >kernel.log 2>&1 || complain "kernel: $(cat kernel.log)"
"$B/bin/ovni-merge" -o both own kernel >merge.log 2>&1 || complain "ovni-merge: $(cat merge.log)"
judge both

# The programs of each part alone, and of two together, beside those of none.
for why in none call lock prio irq io stack prio,io io,irq; do program_lengths $why; done
program_lengths stack,wakers
program_lengths stack,preempted
mv len.none.txt len.base.txt
program_lengths none --counters page-faults
mv len.none.txt len.counters.txt
mv len.base.txt len.none.txt
python3 - <<'E' || complain "the lengths of programs"
def programs(part): return {name: int(n) for name, n in (line.split() for line in open(f"len.{part}.txt"))}
none, call = programs("none"), programs("call")
# a program that a part brings along is loaded with that part alone, but for that of switches with parts
loaded = {part: set(programs(part)) for part in ("none", "call", "lock", "prio", "irq", "io", "stack", "counters")}
base = loaded["none"] | loaded["call"]
extra = {part: names - base for part, names in loaded.items()}
print({part: sorted(names) for part, names in extra.items() if names})
parts = {part for part, names in extra.items() if "record_switch_parts" in names}
assert parts == {"prio", "irq", "io", "stack"}, parts
for part, names in extra.items():
    others = set().union(*(extra[other] for other in extra if other != part)) - {"record_switch_parts"}
    assert not names & others, (part, names & others)
for part in ("prio", "irq", "io", "stack", "counters"):
    assert extra[part], part
# that program has the instructions of the parts that are asked for: their lengths add up
at_switch = {part: programs(part)["record_switch_parts"] for part in ("prio", "irq", "io", "stack", "prio,io", "io,irq")}
print("bytes of the program at switches:", at_switch)
assert all(n > call["record_switch_calls"] for n in at_switch.values()), at_switch
assert at_switch["prio,io"] > at_switch["io"] < at_switch["io,irq"], at_switch
assert at_switch["prio,io"] - at_switch["prio"] == at_switch["io,irq"] - at_switch["irq"], at_switch
# and the others are as long as without it, but for the switch, the iterator, of irq and prio programs that may be
# interrupted, and of lock those that forget an owner
switches = ("record_switch", "iterate_tasks")
in_task = ("task_newtask", "task_rename", "sched_process")
longer = {"prio": in_task, "lock": ("sched_process",)}
for part in ("call", "lock", "prio", "io", "counters"):
    mine = programs(part)
    for name in none:
        if name in mine and not name.startswith(switches + longer.get(part, ())):
            assert mine[name] == none[name], (part, name, mine[name], none[name])
    if part == "counters":
        assert all(mine[name] == none[name] for name in none), part
for part in ("irq", "io"):
    mine = programs(part)
    allowed = in_task if part == "irq" else ()
    assert all(mine[n] == call[n] for n in call if n in mine and not n.startswith(allowed)), part
# wakers bring along one program, and only the switch is longer
stack, wakers = programs("stack"), programs("stack,wakers")
assert set(wakers) - set(stack) == {"stack_waking"} and set(stack) < set(wakers), (stack, wakers)
assert all(wakers[n] == stack[n] for n in stack if not n.startswith("record_switch")), "wakers"
preempted = programs("stack,preempted")
assert set(preempted) == set(stack), (stack, preempted)
assert all(preempted[n] == stack[n] for n in stack if not n.startswith("record_switch")), "preempted"
switch = [n for n in stack if n.startswith("record_switch")]
assert len(switch) == 1 and min(wakers[switch[0]], preempted[switch[0]]) > stack[switch[0]], "wakers"
E
finish
