#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The annotated archive of the specification, made byte by byte, is read as it says; each rule and
# pitfall that is broken in it (sections 16, 21, 22) is named, in one sentence and without a crash.
set -u
pallas=$B/bin/ovni-pallas
tiny=$S/tests/golden/pallas_tiny.py
status=0

"$tiny" good || exit 1
"$pallas" print good >out || status=1
diff - out <<'EOF' || status=1
            Timestamp
          0.000001000      main    THREAD_BEGIN()
          0.000001100      main    Enter 0 (work)
          0.000001110      main    Leave 0 (work)
          0.000001130      main    Enter 0 (work)
          0.000001141      main    Leave 0 (work)
          0.000001161      main    Enter 0 (work)
          0.000001173      main    Leave 0 (work)
          0.000001193      main    THREAD_END()
EOF
"$pallas" print --threads good/main.pallas >out || status=1
grep -qx '          0.000001193    THREAD_END()' out || status=1
"$pallas" stats --tsv good >out || status=1
diff - out <<'EOF' || status=1
#archive	thread	sequence	name	type	count	min	max	mean	excl_min	excl_max	excl_mean
0	0	S0	Sequence_0	BLOCK	1	193	193	193	0	0	0
0	0	S1	work	BLOCK	3	10	12	11	10	12	11
0	0	S2	thread	LOOP	1	193	193	193	33	33	33
EOF
"$pallas" check good >out || status=1

broken() { # COMMAND MESSAGE KEY=VALUE...
	local command=$1 message=$2 code
	shift 2
	rm -rf bad
	"$tiny" bad "$@" || exit 1
	"$pallas" "$command" bad >out 2>&1
	code=$?
	if [ $code != 1 ] || ! grep -q -- "$message" out; then
		echo "$*: status $code, not 1 with '$message':"; cat out; status=1
	fi
}

broken print 'ABI version 21' version=21
broken print 'ABI version 15: this program reads versions 16 to 20' version=15
broken print 'size of the chunk does not fit' compression=2
broken print 'zstd frame is damaged' compression=5
broken print 'compressed with SZ' compression=3
broken print 'encoding Masking with the lossy compression Histogram' compression=2 encoding=1
broken print 'compression 9 is not known' compression=9
broken print 'LeadingZeroes' encoding=2
broken print 'zstd frame is damaged' compression=1
broken check 'sequence 0 (entry 0) has 1 elements, its grammar makes 0' root=2
broken print 'root is sequence 7' root=7
broken check '^R9: .*location has no name' names=1
broken check '^R9: .*region 0' names=2
broken check '^R6: .*2 threads, but 1 locations' nthreads=2
broken check '^R7: .*location 0 belongs to group 4' parent=4
broken print 'cannot open' location=5
broken print 'which is no sequence' looped=5
broken print 'which is no sequence' looped=3
broken print 'contains itself' looped=10
broken print 'its grammar makes 2' iterations=2
broken print 'no iterations' iterations=0
broken check '^R12: .*levels' depth=100
broken check '^R15: .*earlier than the event before' timestamps=900
broken check '^R15: .* duration 0 of sequence 1 is 9, not 10' duration=9

# What needs no data file is exact in a lossy archive.
"$pallas" stats --tsv good >want
for compression in 2 3 4 5; do
	rm -rf lossy; "$tiny" lossy compression=$compression
	"$pallas" stats --tsv lossy >out 2>err && [ ! -s err ] && cmp want out || { cat err; status=1; }
	"$pallas" check lossy >out 2>err && grep -q 'durations are not checked: the compression' err || { cat out err; status=1; }
	[ $compression = 3 ] || { "$pallas" import lossy never 2>err; [ $? = 1 ] && grep -q "cannot import 'lossy': the compression" err; } || { cat err; status=1; }
	"$pallas" stats --from 0 lossy >out 2>err; [ $? = 1 ] && grep -q 'approximate times\|compressed with SZ' err || { cat out err; status=1; }
done

# The deepest grammar that the reference readers stand is no violation (root, sequences, a loop).
rm -rf bad; "$tiny" bad depth=96; "$pallas" check bad >out 2>&1 || { cat out; status=1; }

# A thread that recorded nothing is an empty thread: not damaged, and no event more or less.
"$tiny" empty empty=1 nthreads=2
for command in "print" "print --tsv" "print --attributes" "stats --tsv"; do
	# shellcheck disable=SC2086 # words
	"$pallas" $command good >want && "$pallas" $command empty >out 2>err && [ ! -s err ] && cmp want out ||
		{ echo "$command of an empty thread:"; cat out err; status=1; }
done
"$pallas" info empty >out 2>err && [ ! -s err ] && grep -Eq '^ +0 +1 main +- +- +0 ' out || { cat out err; status=1; }
"$pallas" stats empty >out && grep -q "^thread 1 of archive 0 'main': 0 events, 0 ns" out || { cat out; status=1; }
"$pallas" check empty >out 2>&1; [ $? = 1 ] && grep -q '^R3: archive_0/thread_1: the thread has no events' out || { cat out; status=1; }
"$pallas" import empty silent 2>err && "$B/bin/ovni-emu" -l silent >err 2>&1 || { cat err; status=1; }
"$B/bin/ovni-dump" silent | grep -c ' 1000  OH[xe]  loom.pallas/proc.1/thread.2 ' | grep -qx 2 || { echo "the empty thread of the trace"; status=1; }

# Missing files and files that are something else.
rm -rf bad; cp -R good bad; rm bad/archive_0/thread_0/event_durations.dat
"$pallas" check bad >out 2>&1; grep -q '^R5' out || { echo "R5 is not seen"; status=1; }
"$pallas" stats bad >/dev/null || { echo "stats need a data file"; status=1; }
rm bad/archive_0/archive.pallas; mkfifo bad/archive_0/archive.pallas
"$pallas" info bad >out 2>&1; grep -q 'not a regular file' out || { cat out; status=1; }
"$pallas" print --memory 1K good >out 2>&1; grep -q -- '--memory' out || { cat out; status=1; }
mkdir nothing; "$pallas" info nothing 2>out; [ $? = 1 ] || status=1
grep -q 'no main file' out || { cat out; status=1; }

# An archive of others becomes a trace that emulates, with every event in it.
"$pallas" import good trace 2>err || { cat err; status=1; }
grep -q ' 8 events of 1 thread$' err || { cat err; status=1; }
"$B/bin/ovni-emu" -l trace >err 2>&1 || { cat err; status=1; }
"$B/bin/ovni-dump" trace >out || status=1
grep -c 'OM' out | grep -qx 8 || { cat out; status=1; }
grep -q '1110  OM\]' out || status=1
exit $status
