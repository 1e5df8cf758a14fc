#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Where the trace goes: `ovni`, with the one before kept as `ovni.old`; an explicit folder
# that exists only with --force and only if it holds a trace; never through a symbolic link.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

streams() { find "$1" -name stream.json | wc -l; }

mkdir day && cd day || exit 1
for turn in 1 2 3; do
	"$RECORDER" -- "$WORKLOADS/sleepers" -n $turn -s 3 >log 2>&1 || complain "turn $turn: $(cat log)"
done
[ "$(streams ovni)" = 4 ] || complain "ovni has $(streams ovni) streams instead of 4"
[ "$(streams ovni.old)" = 3 ] || complain "ovni.old has $(streams ovni.old) streams instead of 3"
cd .. || exit 1

# A recording without threads, or killed at its beginning, does not hinder the next one.
mkdir night && cd night || exit 1
for options in '--comm nobody' '-a --last 10s' '--mode summary --interval 20ms -a'; do
	rm -f night.log
	# shellcheck disable=SC2086 # words
	"$RECORDER" $options >night.log 2>&1 &
	recorder=$!
	wait_recording night $recorder
	sleep 0.1
	kill -KILL $recorder 2>/dev/null
	wait $recorder
	# shellcheck disable=SC2086 # words
	"$RECORDER" $options -d 50ms >log 2>&1 || complain "after one that was killed: $options: $(cat log)"
done
cd .. || exit 1

"$RECORDER" -o out -- "$WORKLOADS/sleepers" -n 1 -s 3 >log 2>&1 || complain "-o: $(cat log)"
"$RECORDER" -o out -- "$WORKLOADS/sleepers" -n 2 -s 3 >log 2>&1 && complain "-o replaced a trace"
[ "$(streams out)" = 2 ] || complain "a refused recording changed the trace"
"$RECORDER" --force -o out -- "$WORKLOADS/sleepers" -n 2 -s 3 >log 2>&1 ||
	complain "--force: $(cat log)"
[ "$(streams out)" = 3 ] || complain "--force left $(streams out) streams instead of 3"
judge out

# Links: as the folder itself, and planted inside the trace that --force replaces.
mkdir elsewhere && echo keep >elsewhere/file
ln -s elsewhere link
"$RECORDER" -o link -- true >log 2>&1 && complain "the output went through a link"
"$RECORDER" --force -o link -- true >log 2>&1 && complain "--force went through a link"
mkdir evening && cd evening || exit 1
ln -s ../elsewhere ovni
"$RECORDER" -- true >log 2>&1
[ ! -L ovni ] || [ "$(ls ../elsewhere)" = file ] || complain "the default folder went through a link"
cd .. || exit 1
rm -rf "out/loom.$(uname -n)" && ln -s ../elsewhere "out/loom.$(uname -n)"
"$RECORDER" --force -o out -- true >log 2>&1
[ "$(ls elsewhere)" = file ] && [ "$(cat elsewhere/file)" = keep ] ||
	complain "what a link points to was changed"

# --dry-run prints the plan and does nothing.
"$RECORDER" --dry-run -o dry -- true >log 2>&1 || complain "--dry-run: $(cat log)"
expect "--dry-run says where" grep -q dry log
expect "--dry-run leaves nothing" [ ! -e dry ]

# --emulate writes the files for Paraver; -q prints nothing.
"$RECORDER" --emulate -o seen -- "$WORKLOADS/sleepers" -n 1 -s 3 >log 2>&1 ||
	complain "--emulate: $(cat log)"
for file in thread.prv thread.pcf thread.row cpu.prv cpu.pcf cpu.row cfg; do
	expect "--emulate" [ -e seen/$file ]
done
"$RECORDER" -q --emulate -o -dashed -- true >log 2>&1 || complain "-q --emulate: $(cat log)"
expect "-q --emulate says nothing: $(cat log)" [ ! -s log ]
expect "a name that looks like an option" [ -s ./-dashed/thread.prv ]
"$RECORDER" -q -o quiet -- true >log 2>&1 || complain "-q: $(cat log)"
expect "-q says nothing" [ ! -s log ]
# The last line consists of words for any name, and is not cut for long ones.
long=$(printf 'n%.0s' {1..200})
mkdir -p "$long/$long/$long/$long/$long"
for name in $'a b\nc\\d\xff' "$long/$long/$long/$long/$long/out"; do
	"$RECORDER" -o "$name" -- true >log 2>&1 || complain "-o $name: $(cat log)"
	tail -n 1 log | grep -qE '^ovni-bpf: recorded dir=[^ ]+( [a-z_]+=[a-z0-9.-]+){19}$' ||
		complain "the last line with -o '$name': $(tail -n 1 log)"
done
expect "the name is escaped" [ -d $'a b\nc\\d\xff' ]

# Under umask 000 nobody else may write what is written: traces, files for Paraver, counters, and
# these while the recording goes on.
mkdir open && cd open || exit 1
open_umask() { (umask 000 && exec "$RECORDER" "$@" >>log 2>&1); }
open_umask --emulate -o one --interval 20ms -- "$WORKLOADS/sleepers" -n 1 -s 10 || complain "umask 000: $(cat log)"
open_umask -a -d 300ms --rotate 100ms -o several || complain "umask 000: $(cat log)"
umask 000
"$RECORDER" -a --mode summary --interval 20ms -o counted >>log 2>&1 &
recorder=$!
umask 022
wait_until [ -s counted.stats.json.part ] || complain "no snapshots: $(cat log)"
find . -name '*.part' -perm /022 >parts
expect "others may write the snapshots" [ ! -s parts ]
kill -INT $recorder
wait $recorder || complain "umask 000: $(cat log)"
rm log parts
for file in one/thread.prv one/stats.json several/0002 several/stats.json counted.stats.json; do
	expect "umask 000" [ -e $file ]
done
find . -perm /022 ! -type l ! -path . >others
expect "others may write: $(head others)" [ ! -s others ]
cd .. || exit 1

# A trace without a thread says why.
"$RECORDER" --comm 'nothing-is-so' -d 50ms -o nothing >log 2>&1 || complain "nothing: $(cat log)"
expect "an empty trace is explained" grep -q -- '--all-threads' log
finish
