#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A trace has one writer: a second recorder with the same output is refused with status 1, its
# message names the process that writes there, and it changes nothing; so is ovni-check --repair. A
# killed recorder does not hinder others.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

CHECK=$B/bin/ovni-check
state() { find "$1" -printf '%p %y %i\n' | sort; }

start() { # NAME OPTION...: a recorder that goes on; its log is NAME.log
	local name=$1
	shift
	"$RECORDER" "$@" >"$name.log" 2>&1 &
	recorder=$!
	wait_recording "$name" $recorder
}
stop() { # NAME
	kill -INT $recorder
	wait $recorder || complain "$1: status $?: $(cat "$1.log")"
}
busy() { # PATTERN COMMAND...: is refused by the recorder that goes on
	local pattern=$1
	shift
	try 1 "^ovni-[a-z]+: error: $pattern is in use by ovni-bpf \\(pid $recorder\\): " "$@"
}

# The recorders that go on record this process: the whole of a busy machine would make traces that take
# minutes to remove.
"$WORKLOADS/sleepers" -n 1 -s 1000000 >/dev/null 2>&1 &
target=$!
trap 'kill $target' EXIT

# One trace, of the first recorder.
mkdir day && cd day || exit 1
"$RECORDER" -q -- "$WORKLOADS/sleepers" -n 1 -s 3
mv ovni earlier && cp -r earlier ovni.old && touch ovni.old/loom.mark
start one --flush-interval 10ms -p $target
state ovni.old >before
for options in '-a -d 1s' '-o ovni -a -d 1s' '--force -o ovni -a' '--rotate 1h -o ovni/ -a' '--last 10s -a'; do
	# shellcheck disable=SC2086 # words
	busy ovni "$RECORDER" $options
	# shellcheck disable=SC2086 # words
	busy "$PWD/ovni" "$RECORDER" session start writers-$$ $options
done
# The command of one that is refused never runs.
busy ovni "$RECORDER" -- touch ran
expect "a command that is not recorded does not run" [ ! -e ran ]
busy ovni "$CHECK" --repair ovni
busy ovni "$CHECK" --repair --in-place ovni
busy ovni "$B/bin/ovni-sort" ovni
expect "nothing was repaired" [ ! -e ovni.repaired ]
state ovni.old | diff before - || complain "the trace of two recordings ago was touched"
expect "no other name is used" [ "$(find . -mindepth 1 -maxdepth 1 -type d | sort | tr '\n' ' ')" = \
	"./earlier ./ovni ./ovni.old " ]
# The lock holds after a rename.
mv ovni elsewhere
busy elsewhere "$RECORDER" --force -o elsewhere -a
mv elsewhere ovni
stop one
judge ovni
"$CHECK" --repair ovni >said 2>&1 || complain "a finished trace: $(cat said)"

# Killed: nothing is left of its lock.
start two --flush-interval 10ms -p $target --force -o ovni
has_stream() { find "$1" -name stream.obs -size +0 | grep -q .; }
wait_until has_stream ovni || complain "two writes no stream"
kill -KILL $recorder
wait $recorder 2>/dev/null
"$CHECK" --repair ovni -o mended >said 2>&1
status=$?
expect "the trace of a killed recorder can be repaired: $(cat said)" [ $status = 0 -o $status = 3 ]
"$RECORDER" -d 50ms -a >said 2>&1 || complain "after one that was killed: $(cat said)"
expect "its trace is kept" [ -d ovni.old ]
cd .. || exit 1

# Counters.
start three --mode summary -p $target -o counted
busy counted.stats.json "$RECORDER" --mode summary -a -o counted
busy counted.stats.json "$RECORDER" --mode summary -a --force -o counted
stop three
expect "what is left is the statistics" [ "$(find . -maxdepth 1 -name 'counted*' | tr '\n' ' ')" = ./counted.stats.json\  ]

# Several traces: those that are complete are free, the others are not.
start four -p $target --rotate 1h -o turned
"$WORKLOADS/sleepers" -n 1 -s 20 >/dev/null
kill -USR1 $recorder
wait_until grep -q 'turned/0001: .*(request)' four.log || complain "no second trace: $(cat four.log)"
wait_until [ -d turned/0002 ] || complain "no second directory"
busy turned "$RECORDER" -a --force -o turned
try 1 . "$CHECK" --repair turned
busy turned/0002 "$CHECK" --repair turned/0002
"$CHECK" --repair turned/0001 >said 2>&1 || complain "a complete trace of several: $(cat said)"
stop four
judge turned/0001
start five -p $target --last 10s -o flown
busy flown "$RECORDER" -a --last 10s --force -o flown
stop five

# A user without root's rights has the lock, and is named.
P=$(mktemp -d /tmp/ovni-public.XXXXXX) && chmod 1777 "$P" || exit 1
trap 'kill $target; rm -rf "$P"' EXIT
install -m 755 "$RECORDER" "$P/recorder"
as() { setpriv --reuid 12345 --regid 12345 --clear-groups --inh-caps=-all,+bpf,+perfmon \
	--ambient-caps=-all,+bpf,+perfmon -- "$P/recorder" "$@"; }
as -a -o "$P/out" >six.log 2>&1 &
wait_until grep -q '^ovni-bpf: recording' six.log || complain "as a user: $(cat six.log)"
recorder=$(pgrep -u 12345 -x recorder | head -n 1)
try 1 "is in use by recorder \\(pid $recorder\\): " "$RECORDER" -a --force -o "$P/out"
as -a -o "$P/out" >said 2>&1 && complain "a second one as a user: $(cat said)"
expect "it is told to a user: $(cat said)" grep -q "is in use by recorder (pid $recorder): " said
kill -INT "$recorder"
wait_until ended "$recorder" || complain "the recorder of the user does not end"

# Many at once: one records, the others are refused, and the earlier trace is there once.
mkdir night && cd night || exit 1
one_left() {
	local n=0
	for pid in "${pids[@]}"; do
		ended "$pid" || n=$((n + 1))
	done
	[ $n = 1 ] && grep -q '^ovni-bpf: recording' ./*.log
}
for round in $(seq "$(longer 20 3)"); do
	rm -rf ovni*
	mkdir -p ovni/loom.mark ovni.old/loom.older
	pids=()
	for n in 1 2 3 4 5; do
		"$RECORDER" -a >$n.log 2>&1 &
		pids+=($!)
	done
	wait_until one_left || complain "round $round: $(cat ./*.log)"
	won=0
	for pid in "${pids[@]}"; do
		ended "$pid" || kill -INT "$pid"
		wait "$pid" && won=$((won + 1))
	done
	expect "round $round: one of five records: $(cat ./*.log)" [ $won = 1 ]
	expect "round $round: the others are told: $(cat ./*.log)" [ "$(cat ./*.log |
		grep -c 'ovni\(.old\)\? is in use by ovni-bpf (pid [0-9]*): ')" = 4 ]
	expect "round $round: the earlier trace is kept" [ -d ovni.old/loom.mark ]
	expect "round $round: nothing is left over" [ "$(find . -mindepth 1 -maxdepth 1 -type d | wc -l)" = 2 ]
done
finish
