#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A recording ends at Ctrl-C, SIGTERM, SIGHUP, after its duration, at its size, or with its
# target, and is whole each time; the trace says why it ended. A second Ctrl-C ends it at once.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

look() { # NAME WHY
	judge "$1"
	: >>"$1.report"
	facts "$1" <<E
check(trace.session["stopped_by"] == "$2", "stopped by", trace.session["stopped_by"])
check(int(trace.session["t1"]) > int(trace.session["t0"]), "the window is empty")
E
}

for signal in INT TERM HUP; do
	"$RECORDER" -a -b 32M -o by-$signal >by-$signal.log 2>&1 &
	recorder=$!
	wait_recording by-$signal $recorder
	sleep 0.2
	kill -$signal $recorder
	wait $recorder || complain "SIG$signal: status $?: $(tail -n 3 by-$signal.log)"
	look by-$signal signal
done

# Through nohup it outlives its terminal; a signal that a shell ignores for its background still
# ends it.
nohup "$RECORDER" -a -b 32M -o nohup >nohup.log 2>&1 &
recorder=$!
wait_recording nohup $recorder
kill -HUP $recorder
sleep 0.1
expect "SIGHUP is ignored" kill -INT $recorder
wait $recorder || complain "nohup: status $?: $(tail -n 3 nohup.log)"
look nohup signal

"$RECORDER" -a -b 32M -d 500ms -o duration >duration.log 2>&1 || complain "-d: $(cat duration.log)"
look duration duration
facts duration <<'E'
length = int(trace.session["t1"]) - int(trace.session["t0"])
check(500_000_000 <= length < 5_000_000_000, "-d 500ms took", length, "ns")
E

WORKLOAD_REPORT=$T/size.report "$RECORDER" -b 64M --max-size 256K -o size -- \
	"$WORKLOADS/storm" -l 20000 >size.log 2>&1
status=$?
[ $status = 0 ] || complain "--max-size: status $status: $(cat size.log)"
look size size
bytes=$(find size -name stream.obs -printf '%s\n' | awk '{ n += $1 } END { print n }')
expect "--max-size 256K holds" [ "$bytes" -gt 200000 ]
# The trace has some 18 MB. On a busy machine the recorder waits for a CPU: large buffers hold the
# records.
expect "--max-size 256K holds" [ "$bytes" -lt 8000000 ]
wait_until ended "$(sed -n 's/.* main=//p' size.report)" || complain "the command goes on for long"

start_waiting sleepers -s 20 >/dev/null
"$RECORDER" -p $target -o target >target.log 2>&1 &
recorder=$!
wait_recording target $recorder
open_gate
wait $recorder || complain "-p: $(cat target.log)"
look target target
wait $target || complain "-p: the workload failed"

# The exit status of the command is printed and stored, ours stays 0; so with a signal.
"$RECORDER" -o seven -- sh -c 'exit 7' >seven.log 2>&1 || complain "exit 7: status $?"
expect "the command's status is printed" grep -qw 7 seven.log
: >seven.report
facts seven <<'E'
check(trace.session["command"] == {"status": 7}, "command:", trace.session["command"])
E
"$RECORDER" -o ninth -- sh -c 'kill -KILL $$' >ninth.log 2>&1 || complain "SIGKILL: status $?"
: >ninth.report
facts ninth <<'E'
check(trace.session["command"]["signal"] == 9, "command:", trace.session["command"])
E

# timeout(1) sends a signal twice, to the process and to its group: that is one. If the machine let
# the sender wait in between, it is tried again.
for turn in 1 2 3 4 5; do
	"$RECORDER" -a -b 32M -o pair >pair.log 2>&1 &
	recorder=$!
	wait_recording pair $recorder
	python3 - $recorder <<'E' && break
import os, signal, sys, time
begin = time.monotonic()
os.kill(int(sys.argv[1]), signal.SIGTERM)
time.sleep(0.005)
os.kill(int(sys.argv[1]), signal.SIGTERM)
sys.exit(time.monotonic() - begin > 0.1)
E
	wait $recorder
	rm -rf pair pair.log
done
wait $recorder || complain "a signal that is sent twice, turn $turn: status $?: $(tail -n 3 pair.log)"
look pair signal

# Both signals wait until it continues, so the second one comes before it could have stopped.
interrupt_twice twice
start=$(date +%s%N)
wait $recorder
status=$?
expect "a second signal ends it with a status of its own" [ $status -gt 3 ]
expect "a second signal ends it at once" [ $(($(date +%s%N) - start)) -lt 2000000000 ]
finish
