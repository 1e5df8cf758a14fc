#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Events that are left out are left out completely, and counted: kinds of events, sampled threads,
# and events lost in a full ring. The account closes for each CPU and kind, and stats.json adds up.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

adds_up() { # FILE
	"$B/bin/ovni-check" "$1" >"$T/check.log" 2>&1 || [ $? = 3 ] || complain "$1: $(cat "$T/check.log")"
}

# Kinds: programs that none needs are not attached, and listed as off.
record switches command --events switch,exit -- threads -n 20
judge switches
adds_up switches/stats.json
facts switches <<'E'
s = trace.session
check_account(s)
check(s["kinds"] == ["switch", "exit"], s["kinds"])
check(s["kinds_off"] == ["wake", "fork", "exec", "rename", "probe"], s["kinds_off"])
waker = [e for t in trace.streams for e in t.of("OHw") if e.ints("i")[0] not in (0, -1)]
check(not waker, len(waker), "wake-ups have a waker")
check(not [e for t in trace.streams for e in t.of("OHC")], "births are told")
check(len(trace.streams) == 21, len(trace.streams), "streams: children are followed all the same")
check(all(t.bpf.get("name") for t in trace.streams), "threads have no names")
kinds = {k for cpu in s["account"] for k in cpu if k not in ("cpu", "missed")}
check(kinds == {"switch", "exit", "other"}, kinds)
E
record births command --events fork,exec,exit -- threads -n 20
judge births
facts births <<'E'
check_account(trace.session)
check(trace.session["counts"]["switches"] == "0", "switches are told")
born = sum(len(t.of("OHC")) for t in trace.streams)
check(born == 20, born, "births of 20 threads")
E
"$RECORDER" -a --events wake >log 2>&1
expect "wake-ups alone are refused" [ $? = 2 ]

# Sampling: by thread, by a hash that can be computed beforehand, never half of one; streams and
# statistics have the same threads.
record sampled command --sample 1/3 --sample-seed 7 -- threads -n 60
judge sampled
adds_up sampled/stats.json
facts sampled <<'E'
import json
import re

def keeps(number, seed, keep, of):
    mask = 2**64 - 1
    x = number ^ (seed * 0x9e3779b97f4a7c15 & mask)
    for _ in range(2):
        x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93 & mask
    return (x ^ (x >> 32)) % of < keep

check_account(trace.session)
with open(name + "/stats.json", encoding="utf-8") as f:
    perf = json.load(f)
with open(name + ".report", encoding="utf-8") as f:
    tids = {int(tid) for tid in re.findall(r"thread=\d+ tid=(\d+)", f.read())}
check(len(tids) == 60, "reported are", len(tids), "threads of 60")
wanted = {t for t in tids if keeps(t, 7, 1, 3)}
there = {t.tid for t in trace.streams}
check(there & tids == wanted, "recorded:", there, "to be recorded:", wanted)
times = {s["tid"] for s in perf["snapshots"] if s["scope"] == "thread"}
check(times == there, "statistics of:", times, "streams of:", there)
check(perf["controls"]["sampling"] == {"keep": 1, "of": 3, "seed": 7}, perf["controls"])
check(perf["events"]["sampled_out"] > 0, perf["events"])
E

# A full ring: nothing is missing from the account.
wanted_status=3
record full command -b 4K -- storm -n 8 -l 5000
judge full
adds_up full/stats.json
facts full <<'E'
import json
check_account(trace.session)
with open(name + "/stats.json", encoding="utf-8") as f:
    events = json.load(f)["events"]
check(events["dropped_full"] > 0 and events["dropped_user"] == 0, events["dropped_full"])
for line in events["by_core_and_kind"]:
    rest = line["seen"] - line["written"] - line["filtered"] - line["sampled_out"] - line["dropped"]
    check(rest == 0, "does not close:", line)
check(events["dropped"] == sum(events["dropped_by_kind"].values())
      == sum(events["dropped_by_core"].values()), events)
text = open(name + ".log", encoding="utf-8").read()
check("larger buffers help" in text and "cut short" not in text, "another advice")
E
record strict command --strict-drops -b 4K -- storm -n 8 -l 30000
judge strict
expect "it stops at the first loss" grep -q 'stop=drops' strict.log
wanted_status=0

# Snapshots on the way: each adds up by itself, and nothing is left behind.
"$RECORDER" --mode summary --interval 50ms -o way -- "$WORKLOADS/pingpong" -n 40000 >way.log 2>&1 ||
	complain "summary: $(cat way.log)"
adds_up way.stats.json
expect "one file" [ "$(echo way.*)" = "way.log way.stats.json" ]
python3 - <<'E' || complain "snapshots on the way"
import json
with open("way.stats.json", encoding="utf-8") as f:
    perf = json.load(f)
way = [s for s in perf["snapshots"] if "interval" in s and s["scope"] == "thread"]
assert way, "there are none"
last = {}
for s in way:
    parts = s["active_ns"] + s["runnable_ns"] + s["blocked_ns"] + s["unknown_ns"]
    assert parts == s["total_ns"], s
    assert s["active_ns"] >= last.get(s["tid"], 0), s
    last[s["tid"]] = s["active_ns"]
# and a nanosecond more would be seen
end = next(s for s in perf["snapshots"] if "interval" not in s and s["scope"] == "thread")
end["active_ns"] += 1
with open("wrong.stats.json", "w", encoding="utf-8") as f:
    json.dump(perf, f)
E
"$B/bin/ovni-check" wrong.stats.json >check.log 2>&1 && complain "a nanosecond too much is not seen"

# Files that are not ours are not replaced; our own are kept.
echo mine >photo.stats.json
"$RECORDER" --mode summary --force -o photo -- true >log 2>&1 && complain "a stranger's file is replaced"
expect "it stays" [ "$(cat photo.stats.json)" = mine ]
"$RECORDER" --mode summary -o way -- true >log 2>&1 && complain "a chosen file is replaced"
ln -s photo.stats.json link.stats.json
"$RECORDER" --mode summary --force -o link -- true >log 2>&1 && complain "a link is followed"
expect "still mine" [ "$(cat photo.stats.json)" = mine ]
finish
