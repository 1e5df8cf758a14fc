#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-top: counts by event, thread and CPU; of a damaged trace, the events before the damage.
set -eu
top() { "$B/bin/ovni-top" "$@" 2>"$T/said"; }
. "$S/tests/golden/tools_lib.sh"
same() { diff "$T/want" "$T/got" || fail "$1"; }

make_trace "$T/a" <<'END'
thread n 1 1
10 OHx i32:0 i32:-1 u64:0
20 OB.
30 OB.
40 OAs i32:2
50 OB.
60 OHe
thread n 1 2
15 OHx i32:-1 i32:-1 u64:0
35 OB.
45 OAr i32:3 i32:1
65 OHe
END
top "$T/a" >"$T/got" || fail "it failed"
printf '%s\n' 'OB.          4' 'OHe          2' 'OHx          2' 'OAr          1' \
	'OAs          1' >"$T/want"
same "counts by event"
top --by thread "$T/a" >"$T/got"
printf '%s\n' '         6  loom.n/proc.1/thread.1' '         4  loom.n/proc.1/thread.2' >"$T/want"
same "counts by thread"
# Thread 1 goes from CPU 0 to 2, thread 2 moves it on to 3 at 45.
top --by cpu "$T/a" >"$T/got"
printf '%s\n' '         4  n  virtual' '         3  n  0' '         2  n  3' '         1  n  2' >"$T/want"
same "counts by CPU"
top --json --by cpu "$T/a" | python3 -c '
import json, sys
rows = json.load(sys.stdin)
assert rows[0] == {"loom": "n", "cpu": "virtual", "count": 4}, rows
assert sum(row["count"] for row in rows) == 10, rows' || fail "JSON by CPU"
top --json "$T/a" | python3 -c '
import json, sys
rows = json.load(sys.stdin)
assert rows[0] == {"mcv": "OB.", "count": 4}, rows' || fail "JSON by event"

# One stream is cut at 30: later events of the other one do not count.
truncate -s -20 "$T/a/loom.n/proc.1/thread.1/stream.obs"
printf 'OB' >>"$T/a/loom.n/proc.1/thread.1/stream.obs"
status=0; top "$T/a" >"$T/got" || status=$?
[ $status = 1 ] || fail "a cut stream gives status $status"
grep -q 'thread.1.*inside an event\|thread.1.*ends' "$T/said" || fail "it does not say where it stopped"
grep -q '^OHe' "$T/got" && fail "events after the damage were counted"
grep -qx 'OB.          3' "$T/got" || fail "events before the damage were not counted: $(cat "$T/got")"
mkdir "$T/none"
if top "$T/none" >"$T/got"; then fail "a directory without streams is a trace"; fi
[ ! -s "$T/got" ] || fail "a directory without streams has events"
