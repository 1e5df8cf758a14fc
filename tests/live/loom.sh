#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A recording becomes a Loom run, with the same states of threads as its streams. With cycles of 1
# ns the lengths of running, waiting and sleeping of every thread are equal to the nanosecond, with
# the default of 1 us they add up to its life; both runs are valid without a warning. Then the run
# is imported beside the recording that it came from.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"
loom=$B/bin/ovni-loom

timeout 60 "$RECORDER" -o trace -- "$B/tests/workloads/pingpong" >log 2>&1 || complain "$(tail -n 3 log)"
cp -r trace before
for period in 1ns 1us; do
	"$loom" export trace -o run.$period --clock-period $period 2>err ||
		[ $? = 3 ] || complain "export: $(cat err)" # 3: the recorder lost events
	"$loom" check --strict run.$period >verdict 2>&1 || complain "$period: $(tail -n 5 verdict)"
	"$loom" dump run.$period.trace.bin >listing.$period || complain "dump"
done
diff -r before trace || complain "the export changed the recording (its stats.json too is of its own schema)"

cat >compare.py <<'END'
import collections, glob, json, re, struct, sys
STATES = {"x": "NODE_FIRE", "r": "NODE_FIRE", "p": "NODE_STALL_IN", "w": "NODE_STALL_OUT",
          "c": "NODE_FIRE"}
want, lives, moves = collections.Counter(), 0, 0
for name in glob.glob("trace/**/stream.json", recursive=True):
    tid = json.load(open(name))["ovni"]["tid"]
    data = open(name[:-4] + "obs", "rb").read()
    at, state, since, cpu = 8, None, 0, -1
    while at < len(data):
        n = data[at] & 15
        n = n + 1 if n else 0
        mcv, clock = data[at + 1:at + 4].decode(), struct.unpack_from("<q", data, at + 4)[0]
        jumbo = data[at] & 16
        if mcv[:2] == "OH" and mcv[2] != "C":
            if state:
                want[tid, state] += clock - since
            state, since = STATES.get(mcv[2]), clock
            lives += mcv[2] == "x"
        if mcv in ("OHx", "OAs"):
            to = struct.unpack_from("<i", data, at + 12)[0]
            moves += mcv == "OAs" and to >= 0 and cpu >= 0 and to != cpu
            cpu = to if to >= 0 or mcv == "OHx" else cpu
        at += 12 + (4 + struct.unpack_from("<I", data, at + 12)[0] if jumbo else n)
for period in ("1ns", "1us"):
    got, count, last = collections.Counter(), collections.Counter(), 0
    begins, ends, sums = {}, {}, collections.Counter()
    for line in open("listing." + period):
        m = re.match(r"\d+ @\d+ (\d+)\.\d+ epoch=1 inv=(\d+) core=\d+ node=(\d+) (\w+) .* arg0=(\d+) arg1=(\d+)", line)
        if not m:
            continue
        cycle, inv, node, kind = int(m[1]), int(m[2]), int(m[3]), m[4]
        length = int(m[5]) + (int(m[6]) << 32)
        assert cycle >= last, line
        last = cycle
        count[kind] += 1
        if kind.startswith("NODE"):
            got[node, kind] += length
            sums[inv] += length
        if kind == "INVOCATION_START":
            begins[inv] = cycle
        if kind == "INVOCATION_DONE":
            ends[inv] = cycle
    assert count["INVOCATION_START"] == count["INVOCATION_DONE"] == lives, (count, lives)
    assert count["ROUTE_USE"] == moves, (count, moves)
    assert sorted(begins) == list(range(1, lives + 1))
    for inv in begins:
        assert sums[inv] == ends[inv] - begins[inv], (period, inv, sums[inv], ends[inv] - begins[inv])
    if period == "1ns":
        assert +got == +want, (got, want)
print(lives, "lives,", moves, "moves,", sum(want.values()), "ns")
END
python3 compare.py || complain "the run is not what the streams say"

# The recorder counts in the kernel, the run is made of its events: both times a thread runs as long,
# but that an event which follows another on its CPU is a nanosecond later.
cat >counters.py <<'END'
import collections, json
perf, run = json.load(open("trace/stats.json")), json.load(open("run.1ns.perf.json"))
FROM = {"active_cycles": "active_ns", "stall_cycles_out": "runnable_ns", "stall_cycles_in": "blocked_ns"}
have, want, cores = collections.Counter(), collections.Counter(), 0
for s in run["snapshots"]:
    if "hw_node_id" in s:
        have.update({(s["hw_node_id"], to): s[key] for key, to in FROM.items()})
    else:
        cores += s["active_cycles"]
steps = collections.Counter(int(line.split(" node=")[1].split()[0])
                            for line in open("listing.1ns") if " node=" in line)
unknown = set()
for s in perf["snapshots"]:
    if s["scope"] == "thread" and not s.get("interval"):
        want.update({(s["tid"], to): s[to] for to in FROM.values()})
        if s["unknown_ns"]:
            unknown.add(s["tid"])
compared = 0
for (tid, what), ns in want.items():
    if tid in unknown and what != "active_ns":
        continue # what it did before its first event
    assert abs(have[tid, what] - ns) <= steps[tid], (tid, what, have[tid, what], ns, steps[tid])
    compared += 1
assert compared >= 6, compared
active = sum(ns for (_, what), ns in have.items() if what == "active_ns")
assert active == cores, (active, cores)
print(compared, "counters of stats.json,", active, "ns on all cores")
END
if grep -q "lost=0 missed=0 repairs=0" log; then
	python3 counters.py || complain "the run is not what stats.json says"
fi

"$loom" import run.1us -o trace 2>err || complain "import: $(cat err)"
"$EMULATOR" -l trace >err 2>&1 || complain "both on one page: $(cat err)"
! grep "looms" err || complain "the accelerator counts as a machine with a clock of its own"
# the streams of the accelerator are not in stats.json, whose threads are those of the recorder
if grep -q "lost=0 missed=0 repairs=0" log; then
	"$B/bin/ovni-check" --strict trace >err 2>&1 || complain "a recording with an accelerator: $(cat err)"
	! grep '^warning' err || complain "a warning about the accelerator"
fi
"$loom" export trace -o again 2>err || complain "export of the imported run: $(cat err)"
cmp run.1us.trace.bin again.trace.bin || complain "other records came back"
cmp run.1us.perf.json again.perf.json || complain "other statistics came back"
finish
