#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-check: names each fault and its place, continues after the first one, reports missing and
# lost events, and compares the sum of the times of each CPU with the window.
set -eu
check() { status=0; "$B/bin/ovni-check" "$@" >"$T/got" 2>"$T/said" || status=$?; }
. "$S/tests/golden/tools_lib.sh"
has() { grep -qF -- "$1" "$T/got" || fail "missing: $1"; }
expect() { [ "$status" = "$1" ] || fail "status $status, not $1: $2"; }
make() { make_trace "$T/t"; }
a=loom.n/proc.1/thread.1

make <<'END'
thread n 1 1
10 OHx i32:0 i32:-1 u64:0
20 OHr
30 Zab
40 OAs
45 KCI
50 OHp
END
check "$T/t"
expect 1 "many faults"
has "error: $a: event OHr at byte 36"
has "event OHr at byte 36, clock 20, is no legal change of the thread's state"
has "event Zab at byte 48, clock 30, is not known to any model"
has "event OAs at byte 60, clock 40, lacks arguments"
has "event KCI at byte 72, clock 45, leaves a region that is not open"
has "$a: its thread is Paused at the end, not dead"
has "invalid: 1 stream, 6 events"

make <<'END'
thread n 1 1 ovni.loom= ovni.lib=5 ovni.finished=0
10 OHx i32:0 i32:-1 u64:0
20 OHe
END
check "$T/t"
expect 1 "bad metadata"
has "$a: ovni.loom must be a string"
has "$a: ovni.lib.version must be a string"
has "the stream is not finished"

# Stacks that are left open: a warning, with --strict an error.
nosv='ovni.require={"ovni":"1.1.0","nosv":"2.7.0"}'
make <<END
thread n 1 1 $nosv
10 OHx i32:0 i32:-1 u64:0
20 VS[
90 OHe
END
check "$T/t"
expect 0 "an open stack"
has "warning: $a: thread 1 ended with 1 stacked"
has "1 region is never left; VS[ entered the last one"
has "completeness cannot be verified"
check --strict "$T/t"
expect 1 "an open stack with --strict"
has "error: $a: thread 1 ended with 1 stacked"

# A trace of ours: the times of the CPUs add up, losses and missing events are reported.
ours() { # EVENTS LOST
	make <<END
thread n 1 1 bpf.events="$1" bpf.name="w" bpf.session.t0="1000" bpf.session.t1="2000" bpf.session.lost="$2" bpf.session.cpus=[{"cpu":0,"index":0,"ns":{"unknown":"50","idle":"300","other":"150","thread":"500"}}]
1000 OHx i32:0 i32:-1 u64:0
1400 OHp u16:1 i32:0
1800 OHw i32:-2
1900 OHr
2000 OHe
END
}
ours 5 0
check "$T/t"
expect 0 "a complete trace"
has "CPU 0 of n: 100 % of 1.000 us = 50.00 threads + 30.00 idle + 15.00 other + 5.00 unknown"
has "CPU 1 of n: 100 % of 1.000 us = 0.00 threads + 100.00 other threads or idle + 0.00 unknown"
has "0 warnings; complete"
ours 7 0
check "$T/t"
expect 3 "missing events"
has "2 of the 7 events that were written to it are missing"
ours 5 12
check --json "$T/t"
expect 3 "lost events"
python3 - "$T/got" <<'END' || fail "JSON"
import json, sys
answer = json.load(open(sys.argv[1]))
assert answer["valid"] and answer["status"] == 3 and answer["lost"] == 12, answer
assert answer["cpus"][0] == {"loom": "n", "cpu": 0, "window": 1000, "threads": 500, "idle": 300,
                             "other": 150, "unknown": 50, "twice": 0}, answer["cpus"]
for cpu in answer["cpus"]:
    assert ("idle" in cpu) == (cpu["cpu"] == 0) != ("other_or_idle" in cpu), cpu
    assert sum(cpu.get(part, 0) for part in ("threads", "idle", "other", "other_or_idle", "unknown")) == cpu["window"]
END

# Nothing is written by a check.
cp -r "$T/t" "$T/before"
chmod -R a-w "$T/t"
check "$T/t"
diff -r "$T/t" "$T/before" || fail "a check has changed the trace"
chmod -R u+w "$T/t"
check "$T/nowhere"
expect 1 "no such trace"
grep -q "error: .*nowhere" "$T/said" && [ ! -s "$T/got" ] || fail "no such trace: a verdict"
