#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A trace of 400 threads, whose order a thread of its own finds: ovni-emu -j3 writes what -j1 writes, of a part and of a
# damaged trace, too; ovni-report and ovni-view give the same findings, and say once where the trace is damaged.
set -u
cd "$T" || exit 1
failed=0
fail() {
	echo "wrong: $*"
	failed=1
}
"$B/tests/bench/generate" wide 300000 wide 400 16 >/dev/null || exit 1
[ "$(find wide -name stream.obs | wc -l)" = 400 ] || fail "not 400 streams"
cp -r wide damaged
stream=$(find damaged -name stream.obs | sort | sed -n 200p)
cut=$(($(stat -c %s "$stream") / 2 - 5))
truncate -s $cut "$stream"

# how many threads does it start?
threads() { # COMMAND...
	strace -f -e trace=clone,clone3 -o calls "$@" >/dev/null 2>&1
	grep -cE 'clone3?\(' calls
}
if ! command -v strace >/dev/null; then
	echo "no strace: the threads are not counted"
elif [ "$(nproc --all)" -gt 1 ]; then
	one=$(threads "$B/bin/ovni-emu" -q -j1 -o traced wide) three=$(threads "$B/bin/ovni-emu" -q -j3 -o traced wide)
	[ "$one" = 0 ] && [ "$three" = 2 ] || fail "ovni-emu started $one and $three threads, not 0 and 2"
	[ "$(threads "$B/bin/ovni-report" wide)" = 1 ] || fail "ovni-report plays alone"
fi

same() { # TRACE OPTION...
	rm -rf j1 j3
	"$B/bin/ovni-emu" -j1 -o j1 "${@:2}" "$1" >/dev/null 2>said1
	local status=$?
	"$B/bin/ovni-emu" -j3 -o j3 "${@:2}" "$1" >/dev/null 2>said3
	[ $status = $? ] || fail "$*: status $status with one thread, another one with three"
	diff <(sed 's/ in [0-9.]* s.*//' said1) <(sed 's/ in [0-9.]* s.*//' said3) || fail "$*: other messages"
	for file in thread.prv cpu.prv thread.row; do
		cmp j1/$file j3/$file || fail "$*: $file"
	done
}
same wide
[ -s j3/thread.prv ] || fail "no output"
same wide --from 10ms --to 20ms
same damaged
grep -q 'stream ends inside an event' said3 || fail "damage: $(cat said3)"
same damaged --tolerant

"$B/bin/ovni-view" -q -o page.html wide || fail "ovni-view"
python3 -B - "$S" "$B/bin" <<'E2' || failed=1
import sys
sys.path.insert(0, sys.argv[1] + "/tests/golden")
import view_page
page = view_page.Page("page.html")
assert page.meta["findings"], "no findings"
view_page.compare_findings(page, sys.argv[2], "wide")
E2
"$B/bin/ovni-report" damaged >/dev/null 2>said
[ $? = 1 ] && [ "$(grep -c 'stream ends inside an event' said)" = 1 ] || fail "ovni-report, damaged: $(cat said)"
exit $failed
