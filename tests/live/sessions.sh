#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-bpf session: started from a shell that ends; found, queried, and stopped from others. Each
# failure has a message, and nothing is left behind.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

n=test-$$
session() { "$RECORDER" session "$@"; }
trap 'for i in a b c d e f g; do session stop $n-$i >/dev/null 2>&1; done; rm -rf "${P:-$T/none}"' EXIT

try() { # STATUS PATTERN COMMAND...
	local want=$1 pattern=$2 got=0
	shift 2
	"$@" >said 2>&1 </dev/null || got=$?
	[ $got = "$want" ] || complain "$*: status $got instead of $want: $(cat said)"
	grep -qE -- "$pattern" said || complain "$*: does not say '$pattern': $(cat said)"
}

field() { session status "$1" --json | python3 -c "import json, sys; print(json.load(sys.stdin)['$2'])"; }

# A flight recorder, from a shell that has ended.
bash -c '"$0" session start "$1" --comm "sleep*" --last 30s -o flight' "$RECORDER" $n-a >said 2>&1 ||
	complain "start: $(cat said)"
expect "start says where" grep -q "session $n-a: recording to $T/flight" said
pid=$(field $n-a pid)
expect "it has a terminal session of its own" [ "$(awk '{ print $6 }' "/proc/$pid/stat")" != \
	"$(awk '{ print $6 }' /proc/$$/stat)" ]
expect "it has no terminal" [ "$(awk '{ print $7 }' "/proc/$pid/stat")" = 0 ]
expect "it keeps no directory busy" [ "$(readlink "/proc/$pid/cwd")" = / ]
try 1 'already running' session start $n-a -a
try 0 'keeps +flight recorder' session status $n-a
session status $n-a --json | grep -q '"threads"' && complain "a flight recorder counts threads that it has not looked for"
agree() { # NAME: what both tell of it is the same
	{ session list --json && session status "$1" --json; } 2>/dev/null | python3 -c '
import json, sys
text = sys.stdin.read()
listed, end = json.JSONDecoder().raw_decode(text)
status = json.loads(text[end:])
line = [l for l in listed["sessions"] if l["session"] == status["session"]][0]
sys.exit(any(status[key] != value for key, value in line.items()) or len(line) < 4)'
}
expect "status and list agree" agree $n-a
try 0 "$n-a +running +$pid +$T/flight" session list
session list >/dev/full 2>said && complain "list: a full device is not noticed"
session status $n-a --json >/dev/full 2>said && complain "status: a full device is not noticed"
"$WORKLOADS/sleepers" -s 50 >/dev/null
try 0 "^$T/flight/0001\$" session save $n-a
judge flight/0001
expect "the workload is in what was saved" [ "$(find flight/0001 -name stream.obs | wc -l)" -ge 1 ]
expect "one trace is told" [ "$(field $n-a traces)" = 1 ]
expect "records are told" [ "$(field $n-a records)" -gt 50 ]
expect "none is lost" [ "$(field $n-a lost)" = 0 ]
try 0 'recorded dir=.*parts=2' session stop $n-a
judge flight/0002
try 1 'no session' session status $n-a
try 1 'no session' session stop $n-a

# Rotation: save begins a new trace.
try 0 recording session start $n-b --comm 'sleep*' --rotate 1h -o rotated
"$WORKLOADS/sleepers" -s 20 >/dev/null
try 0 "^$T/rotated/0001\$" session save $n-b
expect "it goes on" [ "$(field $n-b state)" = running ]
"$WORKLOADS/sleepers" -s 20 >/dev/null
try 0 'parts=2' session stop $n-b
judge rotated/0001
judge rotated/0002

# One trace, which ends by itself: it is reported once, and then forgotten. Its messages are in its
# log.
try 0 recording session start $n-c -a -d 500ms -o single
try 1 'nothing to save' session save $n-c
gone() { session list | grep -qE "^$1 +$2"; }
wait_until gone $n-c 'ended \(0\)' || complain "it did not end: $(session list)"
try 1 'has ended' session status $n-c
expect "status and list agree at the end" agree $n-c
try 1 'state +ended \(0\)' session status $n-c
try 0 'recorded dir=.*stop=duration.*status=0' session stop $n-c
judge single
try 1 'no session' session stop $n-c

# A loss is the status of stop.
try 0 recording session start $n-d -a -b 4K -o lossy
"$WORKLOADS/storm" -n 8 -l 5000 >/dev/null
try 3 'events were LOST' session stop $n-d
judge lossy

# One that only counts answers, too.
try 0 recording session start $n-d -a --mode summary -o counted
try 0 'keeps +counters' session status $n-d
try 1 'nothing to save' session save $n-d
try 0 'mode=summary' session stop $n-d

# A command is recorded to its end.
WORKLOAD_REPORT=$T/command.report session start $n-e -o command -- "$WORKLOADS/sleepers" -s 30 >said 2>&1 ||
	complain "command: $(cat said)"
wait_until gone $n-e 'ended \(0\)' || complain "the command did not end: $(session list)"
# Another user may own the files of a session, and write anything there.
printf '\033[31mforged\n' >>"/run/ovni-bpf/$n-e/log"
sed -i 's|"output": "|&\\u001b[31m|' "/run/ovni-bpf/$n-e/info"
plain() { ! grep -q $'\033' said; }
try 0 "$n-e .*x1b\[31m/" session list
expect "list escapes" plain
try 1 'output .*x1b\[31m/' session status $n-e
expect "status escapes" plain
try 0 'the command exited with status 0' session stop $n-e
expect "stop escapes" plain
judge command

# A session that cannot begin has a message and its status, and leaves nothing.
try 1 'exists: choose another' session start $n-f -a -o command
try 1 'no session' session status $n-f
try 2 'no target' session start $n-f -o nothing
try 2 'letters' session start 'a/b' -a
try 2 'begins with' session start ../up -a
try 2 'NAME is missing' session start
try 2 'COMMAND is missing' session
try 2 'unknown command' session begin $n-f
try 2 'unexpected argument' session status $n-f and more
try 2 'dry-run' session start $n-f -a --dry-run

# Killed: this is noticed, its trace can be mended, and its name is free again.
try 0 recording session start $n-g -a -o killed
pid=$(field $n-g pid)
kill -9 "$pid"
wait_until gone $n-g dead || complain "nobody sees that it is dead: $(session list)"
try 1 'was killed' session status $n-g
try 0 recording session start $n-g -a -o killed2
try 0 'recorded dir' session stop $n-g
judge killed2

# A stopped one (SIGSTOP) is not waited for, by however many: its queue has room for 16. When it goes
# on, the requests have done no harm.
try 0 recording session start $n-g --comm 'sleep*' -o stopped
pid=$(field $n-g pid)
kill -STOP "$pid"
asked=()
for request in save stop status{,,,,,,,,,,,,,,,,,}; do
	timeout 60 "$RECORDER" session $request $n-g >>stopped.said 2>&1 &
	asked+=($!)
done
for one in "${asked[@]}"; do
	wait "$one"
	status=$?
	[ $status = 1 ] || complain "a stopped session: status $status"
done
expect "its process is named: $(cat stopped.said)" [ "$(grep -c "session $n-g does not answer: its process $pid is stopped (kill -CONT $pid continues it)" stopped.said)" -ge 10 ]
expect "each request ends with a message: $(cat stopped.said)" \
	[ "$(grep -c 'does not answer: \(its process\|too many\)' stopped.said)" = ${#asked[@]} ]
kill -CONT "$pid"
session stop $n-g >said 2>&1
status=$?
expect "it ends, perhaps with a loss: $(cat said)" [ $status = 0 -o $status = 3 ]

# Through sudo it is the caller's: the trace, and the right to ask. Another user has neither. (The
# build may lie where only root can go.)
P=$(mktemp -d /tmp/ovni-public.XXXXXX) && chmod 755 "$P" && install -m 755 "$RECORDER" "$P/recorder"
install -d -o 12345 -g 12345 "$P/out"
SUDO_UID=12345 SUDO_GID=12345 "$RECORDER" session start $n-a -a -b 32M -o "$P/out/trace" >said 2>&1 ||
	complain "as a user: $(cat said)"
as() { setpriv --reuid "$1" --regid "$1" --clear-groups --inh-caps=-all -- "$P/recorder" session "${@:2}"; }
try 0 'state +running' as 12345 status $n-a
try 1 'another user' as 12346 status $n-a
try 1 'another user' as 12346 stop $n-a
expect "the place is the user's" [ "$(stat -c '%u %a' "/run/ovni-bpf/$n-a")" = '12345 700' ]
try 0 'recorded dir' as 12345 stop $n-a
expect "the trace is the user's" [ -z "$(find "$P/out/trace" ! -user 12345)" ]
try 0 recording session start $n-a -a -o roots # what is left of the user's is not in the way
try 0 'recorded dir' session stop $n-a
expect "nothing is left" [ ! -e "/run/ovni-bpf/$n-a" ]

# A user with the capabilities has sessions of his own, below XDG_RUNTIME_DIR.
install -d -m 700 -o 12345 -g 12345 "$P/runtime"
own() {
	XDG_RUNTIME_DIR=$P/runtime setpriv --reuid 12345 --regid 12345 --clear-groups \
		--inh-caps=-all,+bpf,+perfmon --ambient-caps=-all,+bpf,+perfmon -- "$P/recorder" session "$@"
}
try 0 recording own start $n-a -a -o "$P/out/own"
expect "it is there" [ "$(stat -c '%u %a' "$P/runtime/ovni-bpf/$n-a")" = '12345 700' ]
try 0 "$n-a +running" own list
try 1 'no session' session status $n-a
try 0 'recorded dir' own stop $n-a
expect "nothing is left of it" [ -z "$(find "$P/runtime" -name $n-a)" ]
chmod 770 "$P/runtime"
try 1 'other users own it' own start $n-a -a -o "$P/out/never"

# Without such a directory the message says how to get one. A program with capabilities of its own
# does not trust XDG_RUNTIME_DIR.
chmod 700 "$P/runtime"
nowhere() { setpriv --reuid 12345 --regid 12345 --clear-groups "${caps[@]}" -- "$@" session start $n-a -a -o "$P/out/never"; }
caps=(--inh-caps=-all,+bpf,+perfmon --ambient-caps=-all,+bpf,+perfmon)
try 1 "'/run/user/12345' does not exist \(log in, .* loginctl enable-linger 12345; or start the session with sudo" \
	nowhere env -u XDG_RUNTIME_DIR "$P/recorder"
install -m 755 "$RECORDER" "$P/capable"
caps=(--inh-caps=-all)
if python3 -c 'import os, struct, sys
os.setxattr(sys.argv[1], "security.capability", struct.pack("<5I", 0x2000001, 0, 0, 0xc0, 0))' "$P/capable"; then
	try 1 "'/run/user/12345' does not exist; a program with capabilities does not trust XDG_RUNTIME_DIR \(log in, .* or start the session with sudo" \
		nowhere env XDG_RUNTIME_DIR="$P/runtime" "$P/capable"
else
	echo "no file capabilities here"
fi

# A place that others could have had a hand in is not used.
mkdir "$T/elsewhere"
ln -s "$T/elsewhere" "/run/ovni-bpf/$n-a"
try 1 'cannot create the session directory' session start $n-a -a -o never
rm "/run/ovni-bpf/$n-a"
mkdir -m 777 "/run/ovni-bpf/$n-a"
: >"/run/ovni-bpf/$n-a/theirs"
try 1 'other users own it' session start $n-a -a -o never
rm -r "/run/ovni-bpf/$n-a"
expect "nothing was recorded" [ ! -e never ]

# In the foreground, with no more power than the unit for systemd leaves it.
capabilities=-all$(sed -n 's/^CapabilityBoundingSet=//p' "$S/user/systemd/ovni-bpf@.service" |
	tr '[:upper:]' '[:lower:]' | sed 's/\(^\| \)cap_/,+/g')
setpriv --bounding-set "$capabilities" --inh-caps=-all --no-new-privs -- \
	"$RECORDER" session run $n-a --comm 'sleep*' --last 30s -o bounded >bounded.log 2>&1 &
recorder=$!
wait_recording bounded $recorder
"$WORKLOADS/sleepers" -s 20 >/dev/null
try 0 "^$T/bounded/0001\$" session save $n-a
kill -TERM $recorder
wait $recorder || complain "run: status $?: $(cat bounded.log)"
judge bounded/0001
finish
