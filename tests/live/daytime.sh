#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The time of day at both ends of each trace is between those before and after the recording, and the
# stolen time of each CPU is not more than /proc/stat counted meanwhile.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

look() { # NAME OPTION... -- COMMAND...
	local name=$1
	rm -rf "$name"
	{ date +before=%s%N; cp /proc/stat "$name.stat0"; } >"$name.times"
	record_output "$@"
	cp /proc/stat "$name.stat1"
	date +after=%s%N >>"$name.times"
}

cat >daytime.py <<'E'
import json
import os
import sys
import time
from facts import *

name = sys.argv[1]
before, after = (int(line.split("=")[1]) for line in open(name + ".times"))


def steal(path):
    fields = (line.split() for line in open(path) if line.startswith("cpu") and line[3].isdigit())
    return {int(f[0][3:]): int(f[8]) * 1_000_000_000 // os.sysconf("SC_CLK_TCK") for f in fields}


begin, end = steal(name + ".stat0"), steal(name + ".stat1")
last, stolen = None, dict.fromkeys(begin, 0)
for part in sys.argv[2:]:
    session = session_of(part)
    realtime = session["realtime"]
    a, b = realtime["begin"], realtime["end"]
    check(a["clock"] == session["t0"] and b["clock"] == session["t1"], "clocks:", realtime)
    check(before < int(a["ns"]) < int(b["ns"]) < after, "times of day:", before, realtime, after)
    apart = int(b["ns"]) - int(a["ns"]) - int(b["clock"]) + int(a["clock"])
    check(abs(apart) <= 2 * int(realtime["error_ns"]) + 1000, "the clocks differ by", apart, "ns")
    check(int(realtime["error_ns"]) < 1_000_000, "error:", realtime["error_ns"], "ns")
    check("step_ns" not in realtime, "the clock was set:", realtime)
    check(realtime["utc_offset"] == time.localtime().tm_gmtoff, "offset:", realtime)
    check(session["boot_id"] == open("/proc/sys/kernel/random/boot_id").read().strip(), "another boot")
    check(last in (None, a), "the traces do not share their ends:", last, a)
    last = b
    for cpu in session["cpus"]:
        if "aged" in name:
            check("steal" not in cpu, "the steal of a past window is told")
        else:
            stolen[cpu["cpu"]] += int(cpu["steal"])
for cpu in begin:
    check(0 <= stolen[cpu] <= end[cpu] - begin[cpu], "CPU", cpu, "stolen:", stolen[cpu], "ns, /proc/stat:",
          end[cpu] - begin[cpu])
told = json.load(open((os.path.dirname(sys.argv[2]) or name) + "/stats.json"))
if "aged" not in name:
    sums = {s["cpu"]: s["steal_ns"] for s in told["snapshots"] if s["scope"] == "cpu"}
    check(sums == stolen, "stats.json:", sums, "traces:", stolen)
check(before < told["window"]["first_realtime_ns"] < told["window"]["end_realtime_ns"] < after, told["window"])
print(name, "stolen:", stolen, "of", {cpu: end[cpu] - begin[cpu] for cpu in begin}, "error:",
      realtime["error_ns"], "ns")
verdict()
E
daytime() { # NAME TRACE...
	python3 daytime.py "$@" || complain "$1: time of day"
}

# A machine that stops while the two clocks are read makes them uncertain.
one() {
	look one -a -d 500ms
	judge one
	daytime one one
}
several() {
	look several -a -d 500ms --rotate 200ms
	daytime several several/00*
}
aged() {
	look aged -a -d 500ms --last 200ms
	daytime aged aged/0001
}
for name in one several aged; do attempts 3 $name; done

# A process is born after a time of day: only the part from there on has its begin. Another one was
# born before.
cat >naps.sh <<'E'
sleep 0.02 & echo "early=$!"; wait
date +middle=%T.%N
sleep 0.02 & echo "late=$!"; wait
E
record_output naps -- bash naps.sh
middle=$(sed -n 's/^middle=//p' naps.report)
for side in from to; do
	"$B/bin/ovni-dump" --$side "$middle" naps >naps.$side || complain "ovni-dump --$side $middle"
	"$B/bin/ovni-cut" --$side "$middle" -o "naps.cut-$side" naps >cut.log 2>&1 || complain "ovni-cut --$side: $(cat cut.log)"
done
early=$(sed -n 's/^early=//p' naps.report) late=$(sed -n 's/^late=//p' naps.report)
begun() { grep "OHx" "naps.$1" | grep -q "/thread.$2 "; }
begun from "$late" || complain "the later process does not begin after $middle"
begun to "$late" && complain "the later process begins before $middle"
begun to "$early" || complain "the earlier process does not begin before $middle"
begun from "$early" && complain "the earlier process begins after $middle"
[ "$(find naps.cut-to -name "proc.$late")" ] && complain "ovni-cut --to has the later process"
[ "$(find naps.cut-from -name "proc.$late")" ] || complain "ovni-cut --from lacks the later process"
"$B/bin/ovni-info" naps >info.log
grep -q "^when  *20[0-9-]* .* $(date +%z) to 20" info.log || complain "ovni-info: $(cat info.log)"
grep -q '^ended by  *target$' info.log || complain "ovni-info: $(cat info.log)"

# In the time zone of the user.
TZ=XYZ-5:30 record_output zone -a -d 100ms
facts zone <<'E'
check(trace.session["realtime"]["utc_offset"] == 19800, trace.session["realtime"])
E
finish
