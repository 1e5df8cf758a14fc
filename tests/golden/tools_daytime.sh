#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The time of day of a trace: ovni-info shows it, and --from and --to take it, in all tools that have
# them, also across midnight; the time that a hypervisor stole from each CPU.
set -eu
. "$S/tests/golden/tools_lib.sh"
# The recording begins at 23:59:58.5 in a time zone one hour east of UTC, at the clock 1000, and lasts 4 s.
made() { # NAME [MORE]
	make_trace "$T/$1" <<END
thread n 1 1 bpf.name="a" bpf.session.version="1" bpf.session.t0="1000" bpf.session.t1="4000001000" bpf.session.stopped_by="trigger" bpf.session.trigger="latency>5ms" bpf.session.boot_id="9b3e" ${2-}
1000 OHx i32:0 i32:-1 u64:0
500001000 OHp u16:1 i32:0
1500000999 OHw i32:0
1500001000 OHr
2000001000 OHp u16:1 i32:0
3000001000 OHw i32:0
3000001000 OHr
4000001000 OHe
END
}
begin='"begin":{"clock":"1000","ns":"1795388398500000000"}'
end='"end":{"clock":"4000001000","ns":"1795388402500000000"}'
made day "bpf.session.realtime={$begin,$end,\"error_ns\":\"30\",\"utc_offset\":3600} bpf.session.cpus=[{\"cpu\":4,\"index\":0,\"steal\":\"120000000\"},{\"cpu\":5,\"index\":1,\"steal\":\"40000000\"},{\"cpu\":6,\"index\":2}]"

"$B/bin/ovni-info" "$T/day" >"$T/got" 2>"$T/said" || fail "ovni-info"
for line in 'when        2026-11-22 23:59:58.500000 +0100 to 2026-11-23 00:00:02.500000 +0100' \
	'boot        9b3e' 'ended by    trigger: latency>5ms' \
	'stolen      0.16 s of 8.00 s of the CPUs (2.00 %), most from CPU 4: 0.12 s'; do
	grep -qxF "$line" "$T/got" || fail "ovni-info: no line: $line"
done
"$B/bin/ovni-info" --json "$T/day" | python3 -c '
import json, sys
s = json.load(sys.stdin)["session"]
assert s["realtime"]["begin"] == {"clock": "1000", "ns": "1795388398500000000",
                                  "local": "2026-11-22 23:59:58.500000 +0100"}, s
assert s["realtime"]["end"]["ns"] == "1795388402500000000" and "step_ns" not in s["realtime"], s
assert s["steal"] == [{"cpu": 4, "ns": "120000000"}, {"cpu": 5, "ns": "40000000"}], s
assert s["trigger"] == "latency>5ms" and s["boot_id"] == "9b3e", s' || fail "ovni-info --json"

# Steal is a column where some CPU has it, and a line below the text, of the whole recording only.
cpu() { "$B/bin/ovni-report" cpu --csv "$@" "$T/day" 2>"$T/said"; }
cpu >"$T/got" || fail "ovni-report cpu"
grep -qx 'loom,cpu,who,time,percent,pieces,steal' "$T/got" || fail "cpu: the columns"
grep -qx 'n,0,other threads or idle,[0-9]*,[0-9.]*,,120000000' "$T/got" || fail "cpu: the steal of CPU 0"
grep -qx 'n,2,other threads or idle,[0-9]*,[0-9.]*,,' "$T/got" || fail "cpu: the steal of CPU 2 is not known"
cpu --from +1s >"$T/got" || fail "ovni-report cpu --from"
head -n 1 "$T/got" | grep -qx 'loom,cpu,who,time,percent,pieces' || fail "cpu: the steal of a part"
"$B/bin/ovni-report" cpu --json "$T/day" | python3 -c '
import json, sys
rows = json.load(sys.stdin)
assert {(r["cpu"], r["steal"]) for r in rows} == {(0, 120000000), (1, 40000000), (2, None), (3, None)}, rows' ||
	fail "cpu --json"
"$B/bin/ovni-report" cpu "$T/day" | tail -n 2 >"$T/got"
diff - "$T/got" <<'END' || fail "cpu: the lines about steal"
of these times, the hypervisor took 120.000 ms from CPU 0
of these times, the hypervisor took 40.000 ms from CPU 1
END
! "$B/bin/ovni-report" cpu "$T/day" | head -n 1 | grep -q steal || fail "cpu: steal is a column of the text"

# --from and --to, by the number of selected events.
dump() { "$B/bin/ovni-dump" "$@" 2>"$T/said"; }
selects() { # EVENTS OPTION...
	local want=$1
	shift
	dump "$@" "$T/day" >"$T/got" || fail "$*: status $?"
	[ "$(grep -c OH "$T/got")" = "$want" ] || fail "$*: not $want events"
}
selects 8 --from 23:59:58
selects 8 --from 23:59:58.5
selects 7 --from 23:59:58.500000001
selects 6 --from 23:59:59.1
selects 5 --from 00:00:00
selects 4 --from 00:00:00 --to 00:00:02
selects 2 --to 23:59:59
selects 4 --to 00:00:00
selects 3 --to 23:59:59.999999999
selects 8 --to 00:00:03
selects 0 --from 00:00:03
"$B/bin/ovni-report" timehist --csv --from 00:00:00 "$T/day" >"$T/got" 2>"$T/said" || fail "ovni-report"
[ "$(grep -c 'a (1)' "$T/got")" = 2 ] || fail "ovni-report timehist --from"
"$B/bin/ovni-cut" --from 00:00:00 --to 00:00:02 -o "$T/cut" "$T/day" >"$T/got" 2>&1 || fail "ovni-cut"
"$B/bin/ovni-check" "$T/cut" >"$T/got" 2>&1 || [ $? = 3 ] || fail "the part is not valid"
dump "$T/cut" >"$T/got"
first=$(grep -o -m 1 '1500001000\|1.500000000' "$T/got" || true)
[ "$first" ] || fail "the part does not begin at midnight"
dump --from 00:00:02 "$T/cut" >"$T/got" || fail "the part has no time of day"

# Text that is no time of day.
refuses() { # STATUS SENTENCE OPTION... TRACE
	local status=0 want=$1 text=$2
	shift 2
	dump "$@" >"$T/got" || status=$?
	[ $status = "$want" ] && grep -qF -- "$text" "$T/said" && [ "$(grep -c . "$T/said")" = 1 ] ||
		fail "$*: status $status"
}
for wrong in 24:00:00 12:60:00 12:00:60 1:02:03 12:00 12:00:0 12:00:00. 12:00:00.1234567891 12:00:00s +12:00:00 \
	-1:00:00 12:00:00.5x :: 12:00:00:00; do
	refuses 2 'as in 03:12:05 or 03:12:05.250' --from=$wrong "$T/day"
done
made none
refuses 1 'the trace has no time of day' --from 12:00:00 "$T/none"
"$B/bin/ovni-info" "$T/none" >"$T/got" 2>&1
! grep -q '^when\|^stolen' "$T/got" || fail "ovni-info says when, and cannot know"
made wrong 'bpf.session.realtime={"begin":{"clock":"x"}}'
refuses 1 'the trace has no time of day' --to 12:00:00 "$T/wrong"
made long "bpf.session.realtime={$begin,\"end\":{\"clock\":\"180000000001000\",\"ns\":\"1795568398500000000\"}}"
refuses 1 'more than once' --from 00:00:00 "$T/long"
made step "bpf.session.realtime={$begin,$end,\"step_ns\":\"-3600000000000\",\"utc_offset\":3600}"
dump --from 00:00:00 "$T/step" >"$T/got" || fail "a clock that was set"
grep -qF 'was set by -3600.000000 s during the recording' "$T/said" || fail "nobody says that the clock was set"
"$B/bin/ovni-info" "$T/step" >"$T/got"
grep -qF 'was set by -3600.000000 s meanwhile' "$T/got" || fail "ovni-info: nobody says that the clock was set"
made killed "bpf.session.realtime={$begin,\"utc_offset\":3600}"
dump --from 00:00:00 "$T/killed" >"$T/got" || fail "a recording without an end"
[ "$(grep -c OH "$T/got")" = 5 ] || fail "a recording without an end: the events"
