#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The traces of tests/golden/emu in our programs and in those of the ovni project ($ORACLES): the
# emulators give the same verdict and the same .prv and .row files, `ovni-dump -x` and `ovni-top` print
# the same, `ovni-sort` writes the same streams.
# long: needs programs of other projects
set -u
real=$ORACLES/ovni
[ -x "$real/ovniemu" ] || { echo "there is no ovniemu in $ORACLES"; exit 77; }
wrong=0 verdicts=0
complain() { echo "wrong: $*"; wrong=1; }

same_files() { # FOLDER FOLDER: .prv without the date in its first line, .row
	local file
	for file in thread.prv cpu.prv thread.row cpu.row; do
		cmp <(sed '1s/([^)]*)//' "$1/$file") <(sed '1s/([^)]*)//' "$2/$file") || return 1
	done
}

for text in "$S"/tests/golden/emu/*.txt; do
	name=$(basename "$text" .txt)
	rm -rf trace theirs ours
	"$S/tests/golden/emu_make.py" "$text" trace || exit 1
	cp -r trace theirs
	cp -r trace ours
	"$real/ovniemu" -l theirs >theirs.log 2>&1
	expected=$?
	"$B/bin/ovni-emu" --compat -l ours >ours.log 2>&1
	status=$?
	[ $status = $expected ] || complain "$name: status $status, ovniemu $expected: $(tail -n 2 ours.log)"
	if [ $expected = 0 ]; then
		verdicts=$((verdicts + 1))
		same_files theirs ours || complain "$name: other output of the emulator"
	fi
	cmp <("$real/bin/ovnidump" -x trace 2>/dev/null) <("$B/bin/ovni-dump" -x trace 2>/dev/null) ||
		complain "$name: ovni-dump -x"
	cmp <("$real/bin/ovnitop" trace 2>/dev/null) <("$B/bin/ovni-top" trace 2>/dev/null) ||
		complain "$name: ovni-top"
	rm -rf theirs ours
	cp -r trace theirs
	cp -r trace ours
	"$real/bin/ovnisort" theirs >theirs.log 2>&1
	expected=$?
	"$B/bin/ovni-sort" ours >ours.log 2>&1
	[ $? = $expected ] || complain "$name: ovni-sort: another status: $(tail -n 2 ours.log)"
	[ $expected != 0 ] || diff -r theirs ours || complain "$name: ovni-sort"
done
echo "$verdicts traces are valid for both"
[ $verdicts -gt 3 ] || complain "too few traces"
exit $wrong
