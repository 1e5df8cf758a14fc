#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Clocks at both ends of 64 bits, in one stream and between streams: every tool ends with one of its
# exit statuses, and no sum or difference overflows (in the sanitized build).
# longer: with the sanitized build
set -u
bin=$B/bin
[ -n "${BSAN:-}" ] && [ -x "$BSAN/bin/ovni-dump" ] && bin=$BSAN/bin
least=-9223372036854775800 most=9223372036854775800
"$S/tests/golden/tools_make.py" "$T/t" <<END
thread n 1 1 ovni.mark={"0":{"title":"F","chan_type":"stack"}}
$least OHx i32:0 i32:-1 u64:0
$least OM[ i64:1 i32:0
$least OHp u16:6 i32:2
$most OHw i32:2
$most OHr
$most OM] i64:1 i32:0
$most OHe
thread n 1 2
$least OHx i32:1 i32:-1 u64:0
$most OHp u16:1 i32:0
$most OHw i32:1
$least OHr
$most OHe
END
failed=0
try() { # TOOL ARG...
	rm -rf "$T/c" && cp -r "$T/t" "$T/c"
	"$bin/ovni-$1" "${@:2}" "$T/c" >"$T/said" 2>&1
	local status=$?
	if [ $status -gt 3 ] || grep -q 'runtime error' "$T/said"; then
		echo "ovni-$*: status $status"
		tail -n 5 "$T/said"
		failed=1
	fi
}
for kind in overview timeline latency preempt wake timehist cpu func flame; do
	try report "$kind"
done
try report flame --svg
for by in thread cpu mcv; do
	try top --by "$by"
done
try dump
try dump -s
try info
try info --json
try check
try sort
try sort --all
try cut -o "$T/cut" --from +1s
try view -o "$T/view.html"
try view --from +1s -o "$T/view.html"
try export --perfetto -o "$T/export.pftrace"
try export --csv -o "$T/export.csv"
try export --sqlite -o "$T/export.sqlite"
try export --perfetto --from +1s -o "$T/export.pftrace"
try emu -q -o "$T/out"
try emu -q --tolerant -o "$T/out"
try merge -o "$T/merged" "$T/t"
try pallas export "$T/archive"
exit $failed
