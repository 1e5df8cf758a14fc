#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The last line of standard error is the one for scripts: with --emulate, when the command outlives
# the recording, when a signal ends the waiting for it, and in every mode; and its values are true.
# The table of event counts is there with -v, after a loss, and when events were filtered that nobody
# asked to leave out. Numbers agree with their nouns.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

last() { # NAME PATTERN: the last line of NAME.log, which is the only one for scripts
	expect "$1: one line for scripts" [ "$(grep -c '^ovni-bpf: recorded ' "$1.log")" = 1 ]
	tail -n 1 "$1.log" | grep -qE "^ovni-bpf: recorded $2" ||
		complain "$1: the last line is not '$2': $(tail -n 3 "$1.log")"
}
record_as() { # STATUS NAME OPTION...
	local want=$1 name=$2 got=0
	shift 2
	"$RECORDER" -o "$name" "$@" >"$name.out" 2>"$name.log" || got=$?
	[ $got = "$want" ] || complain "$name: status $got instead of $want: $(cat "$name.log")"
}
table() { grep -q '^ovni-bpf: events  *seen ' "$1.log"; }

# The command outlives the recording, and says something when it ends.
late='exec 3>&2; sleep 1; echo late >&2; exit 7'
record_as 0 outlived -d 100ms -- bash -c "$late"
last outlived 'dir=outlived .* stop=duration command=7 status=0 '
expect "its end is told" grep -q '^ovni-bpf: the command exited with status 7$' outlived.log
expect "the command has said it before" [ "$(grep -nx late outlived.log | cut -d : -f 1)" -lt \
	"$(wc -l <outlived.log)" ]
record_as 0 sized --max-size 64K -- "$WORKLOADS/storm" -l 10000
last sized 'dir=sized .* stop=size command=0 status=0 '

# The files for Paraver are made before it; so is a failure of that.
record_as 0 emulated --emulate -- "$WORKLOADS/sleepers" -n 1 -s 3
last emulated 'dir=emulated .* command=0 status=0 '
record_as 0 both --emulate -d 100ms -- bash -c "$late"
last both 'dir=both .* stop=duration command=7 status=0 '
mkdir beside
cp "$RECORDER" beside/ovni-bpf
printf '#!/bin/sh\necho no views >&2\nexit 5\n' >beside/ovni-emu
chmod +x beside/ovni-emu
real=$RECORDER
RECORDER=$T/beside/ovni-bpf
record_as 1 views --emulate -- "$WORKLOADS/sleepers" -n 1 -s 3
last views 'dir=views .* command=0 status=1 '
expect "what the emulator says" grep -qx 'no views' views.log

# A signal ends the emulator, or the waiting for the command, and the line is there.
printf '#!/bin/sh\necho emulates >&2\nexec sleep 60\n' >beside/ovni-emu
interrupted() { # NAME WORDS: SIGTERM once WORDS are in its log; leaves $status
	wait_until grep -qs "$2" "$1.log" || complain "$1: does not say '$2': $(cat "$1.log")"
	kill -TERM $recorder
	status=0
	wait $recorder || status=$?
}
"$RECORDER" -o stopped --emulate -d 100ms -a >stopped.log 2>&1 &
recorder=$!
interrupted stopped '^emulates$'
expect "an emulator that is stopped: status $status" [ $status = 1 ]
last stopped 'dir=stopped .* stop=duration command=none status=1 '
RECORDER=$real
"$RECORDER" -o waited -d 100ms -- sleep 60 >waited.log 2>&1 &
recorder=$!
interrupted waited 'waiting for its end'
expect "waiting that is stopped: status $status" [ $status = 0 ]
last waited 'dir=waited .* stop=duration command=signal-15 status=0 '
"$RECORDER" -o deaf -d 100ms -- bash -c 'trap "" TERM; echo $$ >deaf.pid; while sleep 0.05; do :; done' >deaf.log 2>&1 &
recorder=$!
interrupted deaf 'waiting for its end'
expect "a command that goes on: status $status" [ $status = 0 ]
last deaf 'dir=deaf .* stop=duration command=running status=0 '
kill -KILL "$(cat deaf.pid)"

# A second signal ends the recorder at once, and the last line has it.
interrupt_twice twice
status=0
wait $recorder || status=$?
[ $status -le 128 ] || last twice "dir=twice .* status=signal-$((status - 128)) "
expect "a second signal: status $status" [ $status -gt 128 ]

# Every mode, details, and a loss.
record_as 0 summary --mode summary -d 100ms -a
last summary 'dir=summary.stats.json .* mode=summary '
record_as 0 off --mode off -- bash -c 'echo late >&2; exit 4'
last off 'mode=off command=4 status=0$'
record_as 0 loud -v -d 200ms -a
last loud 'dir=loud .* status=0 '
record_as 0 turned --rotate 100ms -d 500ms -a
last turned 'dir=turned .* parts=[0-9]* '
record_as 0 quiet -q -d 100ms -a
expect "-q has none" [ ! -s quiet.log ]
wanted_status=3
"$RECORDER" -o lossy -b 4K -- "$WORKLOADS/storm" -n 8 -l 5000 >lossy.out 2>lossy.log || status=$?
wanted_status=0
last lossy '.* lost=[1-9][0-9]* .* status=3 '

# The table: not for filters that were asked for, nor where nothing was filtered.
for name in outlived emulated turned; do
	table $name && complain "$name: event counts that nobody needs: $(cat $name.log)"
done
expect "the table with -v" table loud
expect "the table after a loss" table lossy
record_as 0 nobody --comm 'nothing-is-so' -d 100ms
expect "the table when nothing is left" table nobody
grep -hvE '^ovni-bpf: recorded (dir|mode)=' ./*.log | grep -E '\b1 (threads|events|records|repairs|streams|CPUs|traces|probes|hits|runs|calls)\b' &&
	complain "a number does not agree with its noun"
record_as 0 one -C 0 -t $$ --events switch -d 100ms
expect "one CPU" grep -q ' on 1 CPU, ' one.log
finish
