#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-pallas recode: a copy of each conformance archive has the same events, statistics and grammar in every compression and
# encoding, and the copy of a copy in the compression of the archive has its data files byte for byte.
set -u
pallas=$B/bin/ovni-pallas
status=0 identical=0
complain() { echo "wrong: $*"; status=1; }

for name in tiny loop1000 procs2x2 irregular attributes synced; do
	archive=$CONFORMANCE/pallas/$name/archive expected=$CONFORMANCE/pallas/$name/expected
	for options in "" "--level none" "--masking" "--level none --masking" "--level 9"; do
		rm -rf copy back
		# shellcheck disable=SC2086 # words
		"$pallas" recode $options "$archive" copy 2>err || complain "$name: $options: $(cat err)"
		"$pallas" print copy >out 2>err && cmp out "$expected/print.txt" || complain "$name: $options: print: $(cat err)"
		"$pallas" info --grammar copy | cmp - "$expected/grammar.txt" || complain "$name: $options: grammar"
		"$pallas" check "$archive" >want; "$pallas" check copy >have 2>err
		diff <(sed 's/^.*archives,/archives,/' want) <(sed 's/^.*archives,/archives,/' have) || complain "$name: $options: check"
		"$pallas" info "$archive" | grep -q '^compression None.*encoding None' || continue
		"$pallas" recode --level none copy back || complain "$name: the way back"
		diff -r "$archive/archive_0" back/archive_0 || complain "$name: $options: another archive"
		identical=$((identical + 1))
	done
done
[ $identical -ge 10 ] || complain "only $identical archives came back"

# Our own archives share chunks; a copy is not larger.
"$S/tests/golden/pallas_calls.py" trace model.json
"$pallas" export trace ours 2>/dev/null
rm -rf copy
"$pallas" recode ours copy && diff -r ours copy >/dev/null || complain "the copy of our own archive differs"

# Sub-arrays larger than ours, with the memory that they need, which comes from the budget.
"$S/tests/golden/pallas_tiny.py" large calls=150000
for options in "" "--level none" "--masking" "--level 9"; do
	rm -rf copy back
	# shellcheck disable=SC2086 # words
	"$pallas" recode $options large copy 2>err || complain "large: $options: $(cat err)"
	"$pallas" check copy >said 2>&1 || complain "large: $options: $(cat said)"
	"$pallas" recode --level none copy back && diff -r large/archive_0 back/archive_0 || complain "large: $options: another archive"
done
"$pallas" recode --memory 16M large copy.16 || complain "16M are enough for 150000 elements"
"$pallas" recode --memory 8M large copy.8 2>err; [ $? = 1 ] && grep -q 'a sub-array of 150000 elements needs more than the [0-9]* bytes that the memory budget leaves; give more with --memory' err ||
	complain "8M: $(cat err)"

# A copy shows nothing approximate as exact, overwrites nothing, and one that fails cannot be opened.
"$S/tests/golden/pallas_tiny.py" lossy compression=2
"$pallas" recode lossy never 2>err; [ $? = 1 ] && grep -q 'lossy: the compression Histogram keeps only approximate times' err || complain "lossy: $(cat err)"
[ -e never ] && complain "lossy: there is a copy"
"$pallas" recode ours copy 2>err; [ $? = 1 ] && grep -q "cannot create 'copy': File exists" err || complain "$(cat err)"
cp -r ours broken && truncate -s 0 broken/archive_0/thread_1/event_durations.dat
"$pallas" recode broken half 2>err; [ $? = 1 ] && [ -d half ] && [ ! -e half/main.pallas ] || complain "a failed copy: $(cat err)"
exit $status
