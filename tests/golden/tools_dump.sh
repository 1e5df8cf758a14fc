#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-dump: every argument is shown, unknown events and stray bytes too; filters leave out
# lines and change no other; a damaged tail is printed as far as it goes.
set -eu
dump() { "$B/bin/ovni-dump" "$@" 2>"$T/said"; }
. "$S/tests/golden/tools_lib.sh"
has() { grep -qF -- "$1" "$T/got" || { cat "$T/got"; fail "missing: $1"; }; }

make_trace "$T/a" <<'END'
thread n 1 1
10 OHx i32:3 i32:77 u64:18446744073709551615
20 VYc+ i32:5 str:solve_it
30 Zab i32:258
40 OAs i32:2 u16:513
50 OHp u16:6 i32:4711
50 OHw i32:-1
60 OB. i32:1
70 OAs
90 OHr
100 OHe
thread m 2 2
15 OHx i32:0 i32:-1 u64:0
25 KCO
81234567890123 OHe
END
dump "$T/a" >"$T/got" || fail "it failed"
a=loom.n/proc.1/thread.1 b=loom.m/proc.2/thread.2
has "        10  OHx  $a  begins to execute on CPU 3, created by thread 77, with tag 18446744073709551615"
has "        15  OHx  $b  "
has "solve it"
has "        30  Zab  $a  UNKNOWN +:02:01:00:00"
has " +:01:02" # what OAs has too much
has "        60  OB.  $a  "
has "+:01:00:00:00"
has "        70  OAs  $a  moves itself to CPU ?"
has "81234567890123  OHe  $b  "
cut -c1-10 "$T/got" | sort -nc || fail "not in the order of the clocks"
[ "$(wc -l <"$T/got")" = 13 ] || fail "lines are missing"
cp "$T/got" "$T/all"

dump -s "$T/a" >"$T/got"
sort "$T/got" >"$T/one"; sort "$T/all" >"$T/other"
cmp "$T/one" "$T/other" || fail "--by-stream prints other lines"
[ "$(sed -n 1p "$T/got" | cut -c18-23)" = loom.m ] || fail "--by-stream does not start with the first stream"
dump -x "$T/a" >"$T/got"
has "        20  VYc  $a  :0d:00:00:00:05:00:00:00:73:6f:6c:76:65:20:69:74:00"
has "       100  OHe  $a  "
dump "$T/a/$a" >"$T/got" || fail "a single stream was refused"
has "        30  Zab    UNKNOWN"

filter() { # WHAT FILTER-OF-LINES OPTIONS...
	local what=$1 lines=$2
	shift 2
	dump "$@" "$T/a" >"$T/got" || fail "$what: it failed"
	grep -E -- "$lines" "$T/all" >"$T/want"
	diff "$T/want" "$T/got" || fail "$what"
}
filter "by event" '  OH.  ' --mcv 'OH*'
filter "two patterns" '  (OHx|VYc)  ' --mcv OHx --mcv 'V?c'
filter "by tid" 'thread.2' --tid 2
filter "by pid" 'proc.1/' --pid 1
filter "by loom" 'loom.m' --loom m
filter "event and thread" 'OHx.*thread.1' --mcv OHx --tid 1
filter "from and to" '^ +(20|25|30|40)  ' --from 20 --to 40
filter "since the start" '^ +(20|25|30|40)  ' --from +10ns --to +0.03us
filter "in seconds" '^8' --from 1s

dump --json "$T/a" >"$T/got"
python3 - "$T/got" <<'END' || fail "JSON"
import json, sys
events = [json.loads(line) for line in open(sys.argv[1])]
assert len(events) == 13
assert events[0]["args"] == {"cpu": 3, "creator": 77, "tag": "18446744073709551615"} or \
    events[0]["args"] == {"cpu": 3, "tid": 77, "tag": "18446744073709551615"}, events[0]
assert events[-1]["clock"] == "81234567890123"
unknown = [e for e in events if not e["known"]]
assert [e["mcv"] for e in unknown] == ["Zab"] and unknown[0]["payload"] == "02010000"
END

# A stream that is cut: the events before the cut are printed.
printf '\3OHp\1' >>"$T/a/$a/stream.obs"
status=0; dump "$T/a" >"$T/got" || status=$?
[ $status = 1 ] || fail "a cut stream gives status $status"
has "       100  OHe  $a  "
grep -q "$a.*byte 1[0-9][0-9]" "$T/said" || fail "it does not say where it stopped"
dump -s "$T/a" >"$T/got" && fail "--by-stream accepts a cut stream"
cmp <(sort "$T/got") "$T/other" || fail "--by-stream leaves out what is not damaged"

"$B/bin/ovni-dump" "$T/a" >/dev/full 2>"$T/said" && fail "a full device is no failure"
grep -q "No space" "$T/said" || fail "it does not say that the device is full"
"$B/bin/ovni-version" | grep -q '^model V     nosv 2.7.0$' || fail "ovni-version"
"$B/bin/ovni-version" --json | python3 -c '
import json, sys
v = json.load(sys.stdin)
assert v["models"]["ovni"] == "1.1.0" and v["trace"] == 3, v
assert any("cjson" in path for path in v["libraries"]), v' || fail "ovni-version --json"
