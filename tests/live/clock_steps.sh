#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The time of day is set forward and back while a recording runs: the events, their order and the length of
# the window do not change, and the trace says by how much the clock was set. And a recorder in a time
# namespace writes the clock of its namespace, which ovni-sync and libovni read there.
# needs: root alone
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

# Sets the time of day by some ns. "off" has the ns by which it was set in all, to be taken back, and "step"
# those of this time: they are less than asked for if something else ran between reading and setting the time.
cat >step.py <<'E'
import sys, time
def ahead():
    return time.clock_gettime_ns(time.CLOCK_REALTIME) - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
before = ahead()
time.clock_settime_ns(time.CLOCK_REALTIME, time.clock_gettime_ns(time.CLOCK_REALTIME) + int(sys.argv[1]))
step = ahead() - before
print(step, file=open("step", "w"))
off = int(open("off").read()) + step
print(off, file=open("off", "w"))
E
echo 0 >off
set_back() {
	local off
	off=$(cat off)
	[ "${off#-}" -lt 1000000 ] || python3 step.py $((-off))
}
trap set_back EXIT
monotonic() { python3 -c 'import time; print(time.clock_gettime_ns(time.CLOCK_MONOTONIC))'; }
python3 step.py 0 2>/dev/null || skip "the time of day cannot be set here"

for ms in 250 -250; do
	name=by$ms
	{
		echo "before=$(monotonic)"
		mkfifo "$name.gate"
		WORKLOAD_REPORT=$T/$name.said WORKLOAD_GATE=$T/$name.gate "$WORKLOADS/sleepers" -n 4 -s 100 &
		target=$!
		"$RECORDER" -p $target -o $name >$name.log 2>&1 &
		recorder=$!
		wait_recording $name $recorder
		python3 step.py ${ms}000000 # before the sleepers may begin: their end is the end of the recording
		: >"$name.gate"
		wait $target || complain "$name: the workload failed"
		wait $recorder || complain "$name: ovni-bpf ended with $?: $(cat $name.log)"
		echo "after=$(monotonic) step=$(cat step)"
	} >$name.report
	cat $name.said >>$name.report
	judge $name
	facts $name <<'E'
t0, t1 = int(trace.session["t0"]), int(trace.session["t1"])
check(said["before"] < t0 < t1 < said["after"], said, t0, t1)
step = int(trace.session["realtime"].get("step_ns", 0))
print(name, "was set by", said["step"] / 1e6, "ms; the trace says", step / 1e6)
check(abs(step - said["step"]) < 20_000_000, "step_ns:", trace.session["realtime"])
sleepers = [line for line in lines if "sleeps" in line]
check(len(sleepers) == 4, "sleepers:", lines)
for line in sleepers:
    thread = trace.thread(line["tid"])
    # nearly all: a virtual machine may not report each switch (live/sleepers judges that)
    check(len(thread.leaves("sleeping")) > 0.9 * line["sleeps"], thread, len(thread.leaves("sleeping")), line)
    check(all(a.clock <= b.clock for a, b in zip(thread.events, thread.events[1:])), thread, "goes back")
E
	"$B/bin/ovni-info" $name >info.log || complain "ovni-info: $(cat info.log)"
	grep -q 'the clock of the machine was set by' info.log || complain "$name: ovni-info does not say it: $(grep when -A1 info.log)"
	"$B/bin/ovni-check" --strict $name >check.log 2>&1 || complain "$name: $(tail -n 3 check.log)"
done
set_back
off=$(cat off)
expect "the time of day is as before, but for $off ns" [ "${off#-}" -lt 20000000 ]

unshare --time --monotonic 5000 true 2>/dev/null || { echo "no time namespace can be made here"; finish; }
before=$(monotonic)
unshare --time --monotonic 5000 --fork "$RECORDER" -o space -- "$WORKLOADS/sleepers" -n 1 -s 5 >space.report 2>space.log ||
	complain "space: $(cat space.log)"
echo "before=$before after=$(monotonic)" >>space.report
judge space
facts space <<'E'
t0, t1 = int(trace.session["t0"]), int(trace.session["t1"])
ahead = 5000 * 10**9
check(said["before"] + ahead < t0 < t1 < said["after"] + ahead, "not the clocks of the namespace:", said, t0, t1)
check(trace.session["monotonic_offset"] == str(ahead), trace.session.get("monotonic_offset"))
clocks = [e.clock for s in trace.streams for e in s.events]
check(t0 <= min(clocks) and max(clocks) <= t1, min(clocks), max(clocks), t0, t1)
# nothing else has a clock outside of the window: names of descriptors, statistics
for key in ("begin", "end"):
    check(t0 <= int(trace.session["realtime"][key]["clock"]) <= t1, key, trace.session["realtime"])
print("in a time namespace 5000 s ahead: window", t0 - said["before"] - ahead, "ns after a clock in it")
E
finish
