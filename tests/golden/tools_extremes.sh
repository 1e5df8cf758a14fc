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
# Marks of types below 0, which no trace may have: they are no functions.
"$S/tests/golden/tools_make.py" "$T/negative" <<END
thread n 1 1
1000 OHx i32:0 i32:-1 u64:0
1100 OM[ i64:1 i32:-2147483648
1200 OM[ i64:5 i32:-86
1300 OM] i64:5 i32:-86
1400 OM] i64:1 i32:-2147483648
2000 OHe
END
for kind in func flame; do
	"$bin/ovni-report" $kind "$T/negative" >"$T/said" 2>&1 || { echo "report $kind of negative types: status $?: $(cat "$T/said")"; failed=1; }
done
# Threads that were on a CPU with a great index, and metadata with 100,000 CPUs: memory and time follow the
# size of the trace. (The sanitizers need address space.)
python3 - "$T/cpus" <<'END'
import json, os, struct, sys
for tid in range(1, 1001):
    stream = "%s/loom.n/proc.1/thread.%d" % (sys.argv[1], tid)
    os.makedirs(stream)
    with open(stream + "/stream.json", "w") as file:
        cpus = {"loom_cpus": [{"index": i, "phyid": i} for i in range(100000)]} if tid == 1 else {}
        json.dump({"version": 3, "ovni": {"lib": {"version": "1", "commit": "c"}, "part": "thread", "tid": tid, "pid": 1,
                                          "loom": "n", "app_id": 1, "require": {"ovni": "1.1.0"}, "finished": 1, **cpus}}, file)
    with open(stream + "/stream.obs", "wb") as file:
        file.write(b"ovni\1\0\0\0")
        for n, cpu in enumerate((8191, 65535)):
            file.write(struct.pack("<B3sqiiQB3sq", 15, b"OHx", 10**6 * n + 10 * tid, cpu, -1, 0, 0, b"OHe", 10**6 * n + 10 * tid + 5))
END
for kind in cpu overview; do
	(ulimit -v 700000 && ulimit -t 10 && exec "$B/bin/ovni-report" $kind "$T/cpus") >"$T/said" 2>&1
	status=$?
	[ $status -le 1 ] && ! grep -q 'out of memory' "$T/said" || { echo "report $kind of great indices: status $status"; tail -n 2 "$T/said"; failed=1; }
done
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
