#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The tools of Pallas ($ORACLES) open the archives that `ovni-pallas export` makes of the traces in
# tests/golden/emu, and print the same events as `ovni-pallas print`; archives that the library of Pallas writes, too.
# long: needs programs of other projects
set -u
real=$ORACLES/pallas/pallas
[ -x "$real" ] || { echo "there is no pallas in $ORACLES"; exit 77; }
wrong=0 archives=0
complain() { echo "wrong: $*"; wrong=1; }

for text in "$S"/tests/golden/emu/*.txt; do
	name=$(basename "$text" .txt)
	rm -rf trace archive
	"$S/tests/golden/emu_make.py" "$text" trace || exit 1
	"$B/bin/ovni-pallas" export trace archive 2>/dev/null || continue
	archives=$((archives + 1))
	"$real" info archive/main.pallas >info 2>&1 || complain "$name: pallas info: $(tail -n 2 info)"
	"$real" print archive/main.pallas >theirs 2>said || complain "$name: pallas print: $(tail -n 2 said)"
	"$B/bin/ovni-pallas" print archive >ours 2>/dev/null
	[ "$(wc -l <theirs)" -gt 1 ] || complain "$name: pallas prints nothing"
	diff theirs ours >differences || complain "$name: other events: $(head -n 5 differences)"
done
# Archives of the library of Pallas: the same events as its own program prints, and every call at its times. A thread
# that recorded nothing, at which its programs end, changes nothing.
for compression in None ZSTD; do
	rm -rf real empty
	"$S/tests/golden/pallas_real.py" "$(dirname "$real")/lib/libpallas.so" real $compression >calls || complain "the library of Pallas"
	"$real" print real/main.pallas >theirs 2>said || complain "real $compression: $(tail -n 2 said)"
	"$B/bin/ovni-pallas" print real >ours || complain "real $compression: status $?"
	[ "$(wc -l <theirs)" -gt 20000 ] && diff theirs ours >differences || complain "real $compression: other events: $(head -n 5 differences)"
	EMPTY=1 "$S/tests/golden/pallas_real.py" "$(dirname "$real")/lib/libpallas.so" empty $compression >/dev/null
	"$B/bin/ovni-pallas" print empty >ours 2>said || complain "empty $compression: $(cat said)"
	cmp theirs ours || complain "an empty thread changes the events"
	"$B/bin/ovni-pallas" stats empty | grep -q "'empty': 0 events" || complain "no empty thread in the statistics"
	archives=$((archives + 2))
done
echo "$archives archives"
[ $archives -gt 3 ] || complain "too few archives"
exit $wrong
