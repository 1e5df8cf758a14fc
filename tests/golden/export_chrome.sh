#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-export --chrome: the JSON has the intervals, runs, calls, wake-ups, marks and losses of the tables, each to the
# ns, on tracks that nest and have names: of made traces, a part, and traces of other programs; hostile names
# stay texts; a trace that is too large, damage, a full disk, and outputs that must not be replaced leave nothing.
# longer: a quarter of the conformance vectors
set -eu
fail() { echo "$1"; cat "$T/said"; exit 1; }
export_() { # WANTED_STATUS ARGUMENTS...
	local want=$1 status=0
	shift
	"$B/bin/ovni-export" "$@" >"$T/said" 2>&1 || status=$?
	[ $status = "$want" ] || fail "ovni-export $*: status $status, expected $want"
}
agree() { # WANTED WANTED_STATUS ARGUMENTS...
	local wanted=$1 status=$2
	shift 2
	rm -rf t.json t-csv
	export_ "$status" --chrome -o t.json "$@"
	export_ "$status" --csv -o t-csv "$@"
	python3 -B "$S/tests/golden/chrome_file.py" t.json t-csv >said 2>&1 || fail "$*"
	[ -z "$wanted" ] || [ "$(cat said)" = "$wanted" ] || fail "$*: expected $wanted"
}
cd "$T"
make() { python3 "$S/tests/golden/tools_make.py" "$1"; }
make trace <"$S/tests/golden/export_trace.txt"
agree '37 states, 16 runs, 6 calls, 6 wake-ups agree with the tables' 3 trace
agree '' 3 --from 2050 --to 4460 trace
agree '' 3 --comm 'b*' trace
# calls that do not nest, begin together, or have no length; hostile names; a run that moves
make odd <<'END'
thread n 1 1 bpf.name="</script>\"\\\u001b[2J\u2028" ovni.mark={"0":{"title":"\"},{","chan_type":"stack","labels":{"1":"a\u0001b","2":"\ud83d\ude00"}},"5":{"title":"Level","chan_type":"single","labels":{"3":"three"}}}
1000 OHx i32:0 i32:-1 u64:0
1000 OM[ i64:1 i32:0
1000 OM[ i64:2 i32:0
1100 OM[ i64:9 i32:0
1100 OM] i64:9 i32:0
1200 OM] i64:1 i32:0
1300 OM[ i64:1 i32:0
1400 OM] i64:2 i32:0
1450 MS[
1450 OM[ i64:3 i32:0
1500 OM] i64:1 i32:0
1500 OM= i64:3 i32:5
1600 OM] i64:3 i32:0
1700 OAs i32:1
1800 MS]
2000 OHe
thread n 1 2
1500 OHx i32:1 i32:-1 u64:0
1900 OHe
END
sed -i 's/script/scr\xffipt/' odd/loom.n/proc.1/thread.1/stream.json
agree '3 states, 3 runs, 6 calls, 0 wake-ups agree with the tables' 0 odd
# a sleep has its system call
make calls <<'END'
thread n 1 1 bpf.session.machine="x86_64" bpf.fds=[{"fd":3,"name":"/a\"\u001b","from":"1","to":"9000"}]
1000 OHx i32:0 i32:-1 u64:0
1100 OHp u16:1 i32:0 u16:0 u64:3
1200 OHw i32:0
1300 OHr
1400 OHp u16:1 i32:0
END
agree '4 states, 2 runs, 0 calls, 1 wake-ups agree with the tables' 0 calls
grep -q '"reason":"sleeping","call":"read(3 = /a\\"\\\\x1b)"}' t.json || fail "the system call of a sleep"
make details <"$S/tests/golden/export_details.txt"
agree '12 states, 6 runs, 0 calls, 2 wake-ups agree with the tables' 0 details
grep -q '"call":"futex","lock_owner_tid":2}' t.json || fail "the owner of a lock"
names=(syn-random-06 syn-kernel-switches syn-nodes-tampi-mpi-nosv-random syn-fail-meta-string-tid)
[ -z "${LONG:-}" ] || mapfile -t names < <(cd "$CONFORMANCE/emu" && ls | awk 'NR % 4 == 0')
for name in "${names[@]}"; do
	rm -f t.json
	status=0
	"$B/bin/ovni-export" --chrome -o t.json "$CONFORMANCE/emu/$name/trace" >said 2>&1 || status=$?
	[ ! -e t.json ] || agree '' $status "$CONFORMANCE/emu/$name/trace"
done

# A limit: nothing is written above it, and the sentence has what to do.
awk 'BEGIN { print "thread n 1 1\n1000 OHx i32:0 i32:-1 u64:0"
	for (i = 0; i < 20000; i++) print 2000 + 10 * i " MS[\n" 2005 + 10 * i " MS]"; print "900000 OHe" }' | make long
agree '1 states, 1 runs, 20000 calls, 0 wake-ups agree with the tables' 0 long
export_ 1 --chrome --limit 1M long
grep -q 'error: long: the JSON file would be larger than 1 MB: choose a part with --from, --to or --comm, write --perfetto, or allow more with --limit$' said &&
	[ ! -e long.json ] || fail "the limit"
agree '' 0 long --to 50000
export_ 0 --chrome --limit 1M --to 50000 -o part.json long
export_ 2 --csv --limit 1M long
# Damage: the part before it; no events; outputs that are not regular files; a full disk, at the begin and later.
cp -r trace cut
truncate -s -5 cut/loom.n/proc.1/thread.7/stream.obs
export_ 1 --chrome -o cut.json cut
grep -q 'the file ends where the trace is damaged' said || fail "damage"
python3 -c 'import json; assert json.load(open("cut.json"))["otherData"]["damaged"] == 1' || fail "damage in the file"
make none <<<'thread n 1 1'
export_ 1 --chrome none
grep -q 'no event to export' said && [ ! -e none.json ] || fail "no event"
mkdir folder
ln -s elsewhere link
for output in folder link /dev/null absent/file; do
	export_ 1 --chrome -o $output trace
	grep -q "cannot write '$output'" said || fail "$output"
done
rmdir folder && [ ! -e elsewhere ] || fail "an output was followed or replaced"
for blocks in 0 1000; do
	echo old >old.json
	(
		trap '' XFSZ
		ulimit -f $blocks
		status=0
		"$B/bin/ovni-export" --chrome -o old.json long >said.$blocks 2>&1 || status=$?
		[ $status = 1 ]
	) || fail "a full disk"
	case $blocks in 0) said=said.1000 ;; esac
	[ "$(cat old.json)" = old ] || fail "half a file"
done
grep -q "cannot write 'old.json': File too large" said.1000 || fail "$said: $(cat said.1000)"
[ "$(find . -name '*.part')" = '' ] || fail "half a file is left"
