#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni -> Pallas -> ovni keeps every event, payload, clock and metadata: stream.obs comes back byte
# for byte. The archive obeys the rules, its import emulates as the trace did; exporting the
# import again gives identical files. The traces are those of the emulator's golden tests and,
# where they are at hand, of the conformance vectors.
# longer: 60 conformance vectors, not 12
set -u
pallas=$B/bin/ovni-pallas
status=0 trips=0
fail() { echo "$name: $*"; status=1; }

trip() { # NAME TRACE
	local name=$1 trace=$2
	rm -rf archive back again
	if ! "$pallas" export "$trace" archive 2>err; then
		# A trace that the emulator refuses may be refused, with a reason.
		grep -q 'error: .' err || fail "export fails without a reason"
		return
	fi
	trips=$((trips + 1))
	"$pallas" check archive >out 2>&1 || { fail "the archive breaks rules"; head out; }
	if ! "$pallas" import archive back 2>err; then
		fail "import fails: $(cat err)"
		return
	fi
	(cd "$trace" && find . -name stream.obs | sort) >want
	(cd back && find . -name stream.obs | sort) >have
	cmp -s want have || fail "other streams"
	while read -r path; do
		cmp "$trace/$path" "back/$path" || fail "$path differs"
		python3 - "$trace/${path%obs}json" "back/${path%obs}json" <<'PY' || fail "metadata differ"
import json, sys
sys.exit(json.load(open(sys.argv[1])) != json.load(open(sys.argv[2])))
PY
	done <want
	"$pallas" export back again 2>/dev/null && diff -r archive again >/dev/null ||
		fail "the second export differs"
}

for text in "$S"/tests/golden/emu/*.txt; do
	name=$(basename "$text" .txt)
	rm -rf trace
	"$S/tests/golden/emu_make.py" "$text" trace || exit 1
	trip "$name" trace
	if "$B/bin/ovni-emu" -l trace 2>/dev/null; then
		"$B/bin/ovni-emu" -l back 2>err || { cat err; fail "the import does not emulate"; }
		cmp trace/thread.prv back/thread.prv || fail "another picture"
	fi
done
[ $trips -ge 4 ] || fail "only $trips traces made the trip"

while read -r top; do
	trip "$(basename "$(dirname "$top")")" "$top"
done < <(find "$CONFORMANCE/emu" -name stream.json -printf '%h\n' |
	sed 's,/loom\..*,,' | sort -u | head -n "$([ "$LONG" ] && echo 60 || echo 12)")

# The archive of an incomplete trace has everything in the trace, and status 3.
lossy() { # NAME METADATA SENTENCE
	local name=$1 command from=trace to=archive code
	rm -rf trace archive back
	printf 'thread 1 of 1 in n cpus 0:0\njson %s\n10 OHx i32:0 i32:-1 u64:0\n20 OHe\n' "$2" >lossy.txt
	"$S/tests/golden/emu_make.py" lossy.txt trace || exit 1
	for command in export import; do
		"$pallas" $command $from $to 2>err
		code=$?
		[ $code = 3 ] || fail "$command: status $code, not 3"
		grep -q "warning: $from is incomplete: $3" err || { cat err; fail "$command: another sentence"; }
		from=archive to=back
	done
	cmp trace/loom.n/proc.1/thread.1/stream.obs back/loom.n/proc.1/thread.1/stream.obs ||
		fail "another stream"
}
lossy recorder '{"bpf": {"session": {"lost": "7"}}}' "the recorder lost 7 events"
lossy crash '{"bpf": {"recovered": {"by": "x"}}}' "a repair closed 1 stream after a crash"
lossy simulator '{"accel": {"run": {"dropped": "9"}}}' "9 records were dropped by the producers of Loom runs"
# The clocks of several nodes are corrected: those of the generated job are 7 ns apart, of which 1 is its offset.
rm -rf trace archive back
"$B/tests/bench/generate" job 1000 trace 192 >/dev/null && "$pallas" export trace archive 2>err && "$pallas" import archive back 2>>err ||
	{ cat err; fail "a job"; }
for node in 0 1 2; do
	"$B/bin/ovni-dump" "back/loom.n000$node/proc.1000/thread.1000" 2>/dev/null | sed -n 's/^ *\([0-9]*\) *OHx.*/\1/p'
done | paste -sd' ' >firsts
[ "$(cat firsts)" = "1000000000 1000000006 1000000012" ] || fail "clocks of a job: $(cat firsts)"
echo "$trips traces made the trip"
exit $status
