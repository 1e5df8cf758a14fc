#!/bin/bash
# SPDX-License-Identifier: MIT
#
# -a with a command records the whole machine while the command runs. A trigger may be limited to a
# process, a thread or a name; it warns if the history before it is short; --on-trigger runs a
# program on each saved trace, as the calling user, and a failure of it is reported and loses
# nothing.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

# The whole machine: the workload is not the command, and the command ends the recording, though its
# child still runs.
"$WORKLOADS/sleepers" -n 1 -s 100000 -u 5000 >/dev/null 2>&1 &
other=$!
trap 'kill $other 2>/dev/null' EXIT
"$RECORDER" -a -o all -- bash -c 'sleep 0.3; sleep 20 & echo $! >child; exit 6' >all.out 2>all.log ||
	complain "-a with a command: status $?: $(cat all.log)"
kill "$(cat child)" || complain "the child of the command has ended: it took too long"
tail -n 1 all.log | grep -q 'stop=target command=6 status=0 ' ||
	complain "-a with a command: $(tail -n 1 all.log)"
: >all.report
facts all <<E
check(trace.session["stopped_by"] == "target", trace.session["stopped_by"])
check(trace.session["command"] == {"status": 6}, trace.session["command"])
length = int(trace.session["t1"]) - int(trace.session["t0"])
check(length < 15_000_000_000, "it went on for", length)
pids = {t.pid for t in trace.streams if t.events}
check($other in pids, "the other workload is not there")
names = [n for t in trace.streams for n in t.names]
check("bash" in names and "sleep" in names, "the command is not there", names)
E
judge all
"$RECORDER" -a -d 100ms -o short -- sleep 1 >short.out 2>short.log || complain "-d: $(cat short.log)"
tail -n 1 short.log | grep -q 'stop=duration command=0 ' ||
	complain "-a, -d and a command: $(tail -n 1 short.log)"
try 2 'needs -p or a command' "$RECORDER" -a --no-follow -- true
try 2 'give only one target' "$RECORDER" -a -p $$ -- true

# The program that runs on a trigger: its only argument is the path of a complete trace.
cat >told <<'E'
#!/bin/bash
echo "told $#: $1, uid $(id -u), $(grep ^CapEff /proc/self/status), input: $(readlink /proc/$$/fd/0)"
"$CHECK" -q "$1" >>"$T/verdicts" 2>&1
exit "${TOLD_STATUS:-0}"
E
chmod +x told
export CHECK=$B/bin/ovni-check T
two_spin() { "$WORKLOADS/spinners" >/dev/null; }
start() { # NAME TRIGGER OPTION...: a flight recorder of the spinners
	local name=$1 trigger=$2
	shift 2
	"$RECORDER" --comm 'spinner*' --last 100ms --trigger "$trigger" -o "$name" "$@" >"$name.log" 2>&1 &
	recorder=$!
	wait_recording "$name" $recorder
}
stop() { # NAME
	kill -INT $recorder
	wait $recorder || complain "$1: status $?: $(cat "$1.log")"
}
start met 'latency>500us,comm=spinner-1' --on-trigger ./told
two_spin
wait_until grep -q 'told 1: met/' met.log || complain "it was not told: $(cat met.log)"
stop met
met=$(sed -n 's/.*(trigger: thread \([0-9]*\) of .*/\1/p' met.log | sort -u)
expect "one thread met it: $met" [ "$(wc -w <<<"$met")" = 1 ]
first=$(sed -n 's|^told 1: met/\([0-9]*\),.*|\1|p' met.log | head -n 1)
judge "met/$first"
rm -f "met/$first.emu"
python3 - "met/$first" "$met" <<'E' || complain "thread $met is not spinner-1"
import sys
from facts import *
mine = [t for t in Trace(sys.argv[1]).streams if t.tid == int(sys.argv[2])]
sys.exit(not (mine and "spinner-1" in mine[0].names))
E
expect "each trace that it saved is told" [ "$(grep -c '^told ' met.log)" = "$(grep -c '(trigger: ' met.log)" ]
expect "it runs as we do, and reads nothing: $(grep ^told met.log)" \
	grep -q "^told 1: met/$first, uid 0, .*, input: /dev/null\$" met.log
expect "what it gets is complete: $(cat verdicts)" [ "$(grep -c '^valid' verdicts)" = "$(grep -c . verdicts)" ]

# Nobody of that name, process or thread.
for limit in comm=nobody-is-so pid=$$ tid=$$; do
	start "none-$limit" "latency>500us,$limit"
	two_spin
	stop "none-$limit"
	grep -q '(trigger: ' "none-$limit.log" && complain "$limit: $(cat "none-$limit.log")"
done
try 1 'there is no process 4194303' "$RECORDER" -a --last 1s --trigger 'latency>1ms,pid=4194303'
try 1 'there is no thread 4194303' "$RECORDER" -a --last 1s --trigger 'latency>1ms,tid=4194303'
try 1 "there is no command './nothing'" "$RECORDER" -a --last 1s --trigger 'latency>1ms' --on-trigger ./nothing
try 2 'needs --trigger' "$RECORDER" -a --last 1s --on-trigger ./told

# A young recording warns that it has less before the trigger than requested; a program that fails
# is reported, and no trace is lost.
TOLD_STATUS=9 "$RECORDER" --comm 'spinner*' --last 1h --trigger 'latency>500us' --on-trigger ./told \
	-o young >young.log 2>&1 &
recorder=$!
wait_recording young $recorder
two_spin
wait_until grep -q 'ended with status 9' young.log || complain "a failure is not told: $(cat young.log)"
stop young
expect "the short history is told" grep -q \
	'warning: --trigger: the recording is young: the trace has [0-9.]* s before the trigger instead of 3600.000 s$' young.log
expect "a failure is told" grep -q "warning: --on-trigger: './told young/0001' ended with status 9" young.log
short='(trigger: thread .* waited .*; history of [0-9.]* s before it instead of 3600.000 s)$'
expect "the line of the trace says it" grep -q "young/0001: .*$short" young.log
"$B/bin/ovni-info" young/0001 >young.info
expect "the trace says it" grep -Eq '^ended by +trigger: thread .*; history of [0-9.]+ s before it instead of 3600.000 s$' young.info
judge young/0001
judge young/0002 # of the end

# One that never ends: a signal ends the waiting for it, and the last line is there.
printf '#!/bin/sh\nexec sleep 60\n' >slow && chmod +x slow
start slowly 'latency>500us' --on-trigger ./slow
two_spin
wait_until grep -q '(trigger: ' slowly.log || complain "no trigger: $(cat slowly.log)"
kill -INT $recorder
wait_until grep -q "waiting for the end of './slow" slowly.log || complain "it does not wait: $(cat slowly.log)"
kill -TERM $recorder
wait $recorder || complain "slowly: status $?: $(cat slowly.log)"
tail -n 1 slowly.log | grep -q '^ovni-bpf: recorded dir=slowly ' || complain "slowly: $(tail -n 2 slowly.log)"

# Through sudo it is the user's program.
P=$(mktemp -d /tmp/ovni-public.XXXXXX) && chmod 1777 "$P" || exit 1
trap 'kill $other 2>/dev/null; rm -rf "$P"' EXIT
sed 's/^"$CHECK".*//' told >"$P/told" && chmod 755 "$P/told"
SUDO_UID=65534 SUDO_GID=65534 "$RECORDER" --comm 'spinner*' --last 100ms --trigger 'latency>500us' \
	--on-trigger "$P/told" -o "$P/out" >user.log 2>&1 &
recorder=$!
wait_recording user $recorder
two_spin
wait_until grep -q '^told 1: ' user.log || complain "as a user: $(cat user.log)"
stop user
expect "it is the user's, without capabilities: $(grep ^told user.log)" grep -qE \
	"^told 1: $P/out/[0-9]*, uid 65534, CapEff:.0000000000000000, " user.log
finish
