#!/bin/bash
# SPDX-License-Identifier: MIT
#
# --last, the flight recorder: saves the newest at the end, on SIGUSR1 and on a trigger, each time a
# normal trace; discarded old records are reported, and are no loss; losses in the window are.
# needs: root alone
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

look() { # NAME/NUMBER, Python on standard input
	judge "$1"
	rm -f "$1.emu"
	: >"${1%/*}.report.none"
	{
		cat <<-'E'
			import sys
			from facts import *
			trace = Trace(sys.argv[1])
			s = trace.session
			length = int(s["t1"]) - int(s["t0"])
			# a wake-up is in the record of the switch that follows it
			kinds = [k for cpu in s["account"] for name, k in cpu.items()
			         if isinstance(k, dict) and name != "wake"]
			def total(what): return sum(int(k.get(what, 0)) for k in kinds)
			check_account(s)
			check(s["on_full"] == "drop-old", "on_full is", s["on_full"])
			events = [e for t in trace.streams for e in t.events]
			early = [e for e in events if e.clock < int(s["t0"])]
			check(not early, len(early), "events are before the window")
			# all that was taken out of the rings in the window is in the trace, and nothing else
			marks = int(s["counts"]["records"]) - total("written")
			check(0 <= marks <= int(s["counts"]["outside"]) + total("lost"), "records", marks)
		E
		cat
		echo 'verdict()'
	} >"${1%/*}.py"
	python3 "${1%/*}.py" "$1" || complain "$1: facts"
}

# The end of the target saves the last 200 ms of some 900, in which the machine must not stop.
at_end() {
	record ended command --last 200ms -- switcher -n 4 -u 900000
	look ended/0001 <<'E'
check(s["stopped_by"] == "target", s["stopped_by"])
check(length >= 200_000_000, "only", length, "ns are kept")
check(min(total("aged"), total("written")) > 100, total("aged"), "aged,", total("written"), "written")
check(total("lost") == 0, "lost", total("lost"))
mine = [t for t in trace.streams if t.names[-1].startswith("sw-")]
check(len(mine) == 4, len(mine), "of 4 threads are there with their names")
for t in mine:
    # each was there before the window, and is entered at its start in the state that it was in
    check(t.events[0].mcv == "OHx" and t.events[0].clock == int(s["t0"]), t, t.events[0])
    check(len(t.leaves("sleeping")) > 20, t, "slept only", len(t.leaves("sleeping")), "times")
E
}
attempts 3 at_end

# The newest megabyte of much more, without a loss.
record small command -v --last 1h,1M -- storm -n 4 -l 20000
look small/0001 <<'E'
check(total("lost") == 0, "lost", total("lost"))
check(total("aged") > 10000, "only", total("aged"), "aged")
check(4000 < total("written") < 25000, "a megabyte holds", total("written"), "records")
E

expect "the session says so, too" grep -q '"policy": "drop-old", "bytes": 4194304, "keep_ns": 3600000000000, "keep_bytes": 1048576' small/stats.json
expect "what is taken in is not called written" grep -q '^ovni-bpf: events  *seen  *taken in  *filtered' small.log
expect "too little memory is told" grep -q 'the memory holds .* instead of 3600.000 s' small.log

# On request, twice; records that are still kept are in both.
"$RECORDER" --comm 'sleep*' --last 30s -o asked >asked.log 2>&1 &
recorder=$!
wait_recording asked $recorder
for n in 1 2; do
	"$WORKLOADS/sleepers" -s 50 >/dev/null
	kill -USR1 $recorder
	wait_until grep -q "asked/000$n: .*(request)" asked.log || complain "no save $n: $(cat asked.log)"
done
kill -INT $recorder
wait $recorder || complain "asked: status $?"
expect "threads of several traces are not added up" grep -q 'CPUs, 3 traces with [0-9]* streams, ' asked.log
for n in 1 2 3; do
	look asked/000$n <<E
check(s["part"] == $n, s["part"])
check(s["stopped_by"] == ("signal" if $n == 3 else "request"), s["stopped_by"])
check(total("aged") == 0, total("aged"), "aged")
check("sleepers" in [n for t in trace.streams for n in t.names], "the workload is not there")
E
done

# A trigger: two threads that share a CPU make each other wait. --keep leaves the last traces.
"$RECORDER" --comm 'spinner*' --last 100ms --trigger 'latency>500us' --keep 3 -o met >met.log 2>&1 &
recorder=$!
wait_recording met $recorder
"$WORKLOADS/spinners" >/dev/null
wait_until grep -q '(trigger: ' met.log || complain "no trigger: $(cat met.log)"
kill -INT $recorder
wait $recorder || complain "met: status $?"
first=$(sed -n 's|.*met/\([0-9]*\): .*(trigger: .*|\1|p' met.log | tail -n 1)
expect "a trigger's trace is there" [ -d "met/$first" ]
expect "no more than 3 are kept" [ "$(find met -mindepth 1 -maxdepth 1 -type d | wc -l)" -le 3 ]
look "met/$first" <<'E'
check(s["stopped_by"] == "trigger", s["stopped_by"])
words = s["trigger"].split()  # thread TID of process PID waited N ms for a CPU, until CLOCK
tid, pid, waited, until = int(words[1]), int(words[4]), float(words[6]), int(words[-1])
check(waited > 0.5, "waited", waited)
check(int(s["t0"]) < until <= int(s["t1"]), "the trigger is not in the window")
stays = [x for x in trace.thread(tid, pid).stays if until < x.start < until + 1000]
check(len(stays) == 1, "the thread has not entered then:", trace.thread(tid, pid).stays[-3:])
for x in stays:  # of one just born the wait is not shown, of one that waits at T0 a part
    check(x.woken in (None, int(s["t0"])) or abs((until - x.woken) / 1e6 - waited) < 0.001,
          "waited", waited, "ms, the trace has", until - x.woken)
E

# A function that is probed is a trigger; the functions that threads are in at T0 are open there.
called() {
	record called command --last 100ms --trigger raise_alarm \
		-u "$WORKLOADS/switcher:steady,step,raise_alarm" -- switcher -n 2 -u 800000
	look called/0001 <<'E'
from calls import tree
check(s["stopped_by"] == "trigger", s["stopped_by"])
words = s["trigger"].replace(",", "").split()  # thread TID of process PID reached FUNC at CLOCK
check(words[-3] == "raise_alarm", "reached", words[-3])
check(int(s["t0"]) < int(words[-1]) <= int(s["t1"]), "the trigger is not in the window")
mine = [t for t in trace.streams if t.names[-1].startswith("sw-")]
check(len(mine) == 2, len(mine), "of 2 threads are there")
for t in mine:
    top = tree(t)
    check([c.label for c in top] == ["steady"] and top[0].start == int(s["t0"]), t, "is in", top)
    check(len(top[0].calls) > 5, t, "has", len(top[0].calls), "steps")
E
}
attempts 3 called
expect "the end is saved, too" [ -d called/0002 ]
judge called/0002

# The recorder is stopped for two seconds, with a small buffer: losses are counted.
WORKLOAD_REPORT=$T/stopped.report "$RECORDER" -b 64K --last 30s -o stopped -- \
	"$WORKLOADS/switcher" -n 4 -u 3000000 >stopped.log 2>&1 &
recorder=$!
wait_recording stopped $recorder
kill -STOP $recorder
sleep 2
kill -CONT $recorder
wait $recorder
status=$?
expect "a loss ends with status 3" [ $status = 3 ]
look stopped/0001 <<'E'
check(total("lost") > 0, "nothing was lost")
check(int(s["lost"]) >= total("lost"), s["lost"], total("lost"))
pushed = [e.ints("qi")[0] for e in events if e.mcv == "OM["]
check(pushed and sum(pushed) <= int(s["lost"]), "marks tell", pushed, "of", s["lost"])
E
finish
