#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-view: the data of a page, decoded, are the runs, stays and calls of ovni-report, each to the
# ns, of a made trace, of parts of it, and of traces of other programs; losses, points and names;
# hostile names; a damaged trace, a full disk, and outputs that must not be replaced.
set -eu
fail() { echo "$1"; cat "$T/said"; exit 1; }
view() { # WANTED_STATUS ARGUMENTS...
	local want=$1 status=0
	shift
	"$B/bin/ovni-view" "$@" >"$T/said" 2>&1 || status=$?
	[ $status = "$want" ] || fail "ovni-view $*: status $status, expected $want"
}
agree() { python3 -B "$S/tests/golden/view_page.py" "$1" "$B/bin" "${@:2}" >"$T/said" 2>&1 || fail "$*"; }
cd "$T"
python3 "$S/tests/golden/tools_make.py" trace <<'END'
thread n 1 7 bpf.name="busy" bpf.session={"lost":"5"} ovni.mark={"0":{"title":"Function","chan_type":"stack","labels":{"1":"solve","2":"inner"}},"5":{"title":"level","chan_type":"single","labels":{"-7":"low<b>","x":"bad","9":"high"}}} bpf.names={"99":"outside"}
1000 OHx i32:0 i32:-1 u64:0
1500 OM[ i64:1 i32:0
1600 OM[ i64:2 i32:0
1700 OM[ i64:1 i32:0
1800 OM] i64:1 i32:0
1900 OM] i64:2 i32:0
2000 OHp u16:6 i32:8
2000 OHw i32:-1
3000 OAs i32:1
3000 OHr
3100 OAs i32:2
3200 OHC i32:2 u64:9
3300 OHp u16:3 i32:99
4000 OHw i32:-2
4100 OHr
4150 OM= i64:-7 i32:5
4200 OHp u16:7 i32:0
4200 OHw i32:-1
4300 OHr
4400 OM[ i64:5 i32:92
4450 OM[ i64:1 i32:0
4500 OHp u16:11 i32:-1
4600 OM] i64:5 i32:92
4700 OHw i32:0
4701 OHr
5000 OHp u16:12 i32:99
5000 OHw i32:-1
6000 OHr
7000 OHp u16:1 i32:0
7100 OHw i32:8
7200 OHr
7300 OHe
thread n 1 8 bpf.name="</script><script>alert(1)</script>"
1000 OHx i32:-1 i32:-1 u64:0
1000 OHp u16:0 i32:0
1800 OHw i32:7
2001 OAs i32:0
2001 OHr
2500 OHp u16:1 i32:0
2600 OHw i32:99
2700 OHr
2700 OHp u16:2 i32:7
2800 OHw i32:7
9000 OAs i32:-1
9000 OHr
9000 OHe
thread n 1 9 bpf.name="<!--<img_src=x_onerror=alert(1)>\u001b[31m\u202e"
3900 OHx i32:3 i32:7 u64:0
4000 OHe
4100 OHx i32:3 i32:7 u64:0
8999 OHp u16:5 i32:0
thread m 1 7 bpf.name="second_loom"
2000 OHx i32:0 i32:-1 u64:0
2100 KCO u16:6 i32:8
2300 KCI i32:1
2400 KCO u16:1 i32:0
2500 OM[ i64:1 i32:0
2800 KCI i32:0
9500 OHe
END
view 3 trace
[ -s trace.html ] && grep -q 'warning: trace is incomplete: the recorder lost 5 events' said || fail "losses"
agree trace.html trace
[ "$(cat said)" = '14 runs, 30 stays, 5 calls, 0 findings (0 with a time) agree with ovni-report' ] || fail "the counts"
for part in "1550 3150" "2700 2700" "3050 3060"; do
	# shellcheck disable=SC2086 # two clocks
	agree trace.html trace $part
	view 3 --from "${part% *}" --to "${part#* }" -o part.html trace
	# shellcheck disable=SC2086 # two clocks
	agree part.html trace $part
done
view 3 --small --comm 'busy*' -o busy.html trace
python3 -B - "$S/tests/golden" <<'PYTHON' || fail "the content of the pages"
import base64, hashlib, re, sys
sys.path.insert(0, sys.argv[1])
from view_page import Page

page, part = Page("trace.html"), Page("busy.html")
assert page.gaps == [(0, 3, 3400, 3600, 5)] or page.gaps[0][2:] == (3400, 3600, 5), page.gaps
assert [point[1:] for point in page.points] == [(5, 3150, -7)], page.points
assert page.meta["marks"] == [{"type": 5, "title": "level", "labels": [
    {"value": "-7", "label": "low<b>"}, {"value": "9", "label": "high"}]}], page.meta["marks"]
assert sorted(page.meta["others"]) == ["8", "outside (99)"], page.meta["others"]
assert page.meta["lost"] == "5" and page.meta["looms"] == ["m", "n"] and not page.meta["damaged"]
assert len({run.thread for run in part.runs}) == 1 and part.runs
# the overview has all ns
assert sum(page.meta["busy"]["ns"]) == sum(run.end - run.begin for run in page.runs if page.meta["cpus"][run.cpu]["cpu"] >= 0)
waits = ("runnable", "throttled")
assert sum(page.meta["runnable"]["ns"]) == sum(
    end - begin for _, use, begin, end in page.all_stays() if page.meta["uses"][use]["state"] in waits)
# nothing from the trace stands in the HTML but base64, and the policy allows this script and style alone
text = open("trace.html", encoding="utf-8").read()
assert "alert(" not in text and "onerror" not in text and "<!--" not in text
assert page.meta["threads"][2]["name"].startswith("</script><script>alert(1)"), page.meta["threads"]
assert "\x1b" not in str([thread["name"] for thread in page.meta["threads"]])
scripts = re.findall(r"<script>(.*?)</script>", text, re.S)
styles = re.findall(r"<style>(.*?)</style>", text, re.S)
assert len(scripts) == len(styles) == 1
for kind, content in ("script", scripts[0]), ("style", styles[0]):
    digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
    assert "%s-src 'sha256-%s'" % (kind, digest) in text, kind
assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\(|new Function|\son\w+=|https?:", text)
PYTHON

# Values of ovni-bpf --counters are of a run: from its begin to its end; those of nOS-V last until the next one.
for ours in true false; do
	python3 "$S/tests/golden/tools_make.py" counted <<END
thread n 1 7 bpf.name="a" bpf.counters=$ours ovni.require={"ovni":"1.1.0","nosv":"2.6.0"} nosv.hwc={"0":{"name":"cycles"}} nosv.can_breakdown=false
1000 OHx i32:0 i32:-1 u64:0
1500 VWC+ i64:100
1600 OHp u16:1 i32:0
1800 OHw i32:0
2000 OHr
2200 VWC+ i64:-1
2300 OHe
END
	view 0 -o counted.html counted
	agree counted.html counted
	python3 -B - "$S/tests/golden" <<'PYTHON' >>counted.txt
import sys
sys.path.insert(0, sys.argv[1])
from view_page import Page
print([point[1:] for point in Page("counted.html").points])
PYTHON
	rm -r counted
done
[ "$(cat counted.txt)" = '[(100, 0, 100), (100, 500, 0), (100, 1000, -1), (100, 1200, 0)]
[(100, 500, 100), (100, 1200, -1)]' ] || fail "counters: $(cat counted.txt)"

# Traces of other programs, of all models.
for name in syn-random-06 syn-kernel-switches syn-nodes-tampi-mpi-nosv-random; do
	view 0 -o v.html "$CONFORMANCE/emu/$name/trace"
	agree v.html "$CONFORMANCE/emu/$name/trace"
done

# System calls of sleeps: times by call are those of ovni-report; a newborn has its creator.
python3 "$S/tests/golden/tools_make.py" calls <<'END'
thread n 1 1 bpf.name="reader" bpf.session={"calls":true,"machine":"x86_64"} bpf.fds=[{"fd":3,"name":"/data","from":"1000","to":"90000"}]
1000 OHx i32:0 i32:-1 u64:0
2000 OHp u16:3 i32:0 u16:0 u64:3
5000 OHw i32:-2
5100 OHr
6000 OHp u16:1 i32:0 u16:202 u64:4096
7000 OHw i32:2
7100 OHr
7200 OHC i32:0 i32:3 u64:0
8000 OHp u16:3 i32:0 u16:0 u64:4
8500 OHw i32:-2
8500 OHr
9000 OHp u16:3 i32:0 u16:0 u64:3
9900 OHw i32:-2
9900 OHr
10000 OHe
thread n 1 2 bpf.name="waker"
1000 OHx i32:1 i32:-1 u64:0
9000 OHp u16:2 i32:0 u16:65535
9500 OHw i32:-2
9500 OHr
10000 OHe
thread n 1 3 bpf.name="child"
7400 OHx i32:2 i32:-1 u64:0
10000 OHe
thread n 1 4 bpf.name="sleeper" bpf.fds=[{"fd":5,"name":"/old","from":"1000","to":"2000"},{"fd":5,"name":"/new","from":"6000","to":"9000"}]
1000 OHx i32:-1 i32:-1 u64:0
1000 OHp u16:1 i32:-1 u16:0 u64:5
2500 OHw i32:-2
2600 OHr
3000 OHp u16:3 i32:0 u16:0 u64:5
8000 OHw i32:-2
8100 OHr
9000 OHp u16:1 i32:0 u16:202 u64:4096
10000 OHe
END
view 0 calls
agree calls.html calls
python3 -B - "$S/tests/golden" <<'PYTHON' || fail "system calls and creators in the page"
import sys
sys.path.insert(0, sys.argv[1])
from view_page import CREATED, Page

page = Page("calls.html")
calls = [page.meta["sleep_calls"][run.call] for run in page.runs if run.call is not None]
assert sorted(calls) == ["fault", "futex", "futex", "read(3 = /data)", "read(3 = /data)", "read(4)", "read(5)"], calls
# of a thread that sleeps at the begin of the trace, and of one whose descriptor got its name in the sleep
stays = [(stay.begin, page.meta["sleep_calls"][stay.call]) for stay in page.stays if stay.call >= 0 and page.name(stay.thread) == "sleeper (4)"]
assert stays == [(0, "read(5 = /old)"), (2000, "read(5 = /new)"), (8000, "futex")], stays
child, = [run for run in page.runs if run.wake == CREATED]
assert (page.name(child.thread), page.name(child.waker), child.latency, child.begin) == ("child (3)", "reader (1)", 200, 6400), child
PYTHON

# What --why=irq, lock and stack record: the time of interrupts of a run, the owner and the stack of a sleep. A sleep
# before the detail of a part has none in its page.
make_details() {
	python3 "$S/tests/golden/tools_make.py" "$1" <"$S/tests/golden/export_details.txt"
	printf 'ovni-bpf stacks 1\n7\tfutex_wait+0x1;do_futex+0x2\n8\t=7\n' >"$1/stacks"
}
make_details details
view 0 details
agree details.html details
view 0 --from 6500 -o later.html details
make_details torn
printf 'no stacks\n' >torn/stacks
view 1 torn
python3 -B - "$S/tests/golden" <<'PYTHON' || fail "details"
import sys
sys.path.insert(0, sys.argv[1])
from view_page import Page

def told(name):
    page = Page(name)
    return sorted((page.name(thread), "irq owner stack".split()[kind], at, value if kind == 0 else page.name(value) if kind == 1
                   else page.meta["stacks"][value]) for thread, kind, at, value in page.details)

stack = "futex_wait <- do_futex"
locks = [("waiter (1)", "owner", 1000, "owner (2)"), ("waiter (1)", "owner", 5000, "99")]
irqs = [("waiter (1)", "irq", 1000, 300), ("waiter (1)", "irq", 7000, 50), ("waiter (1)", "irq", 9000, 1024)]
# the last one is that of a wait for a CPU
stacks = [("owner (2)", "stack", 2000, stack), ("waiter (1)", "stack", 1000, stack), ("waiter (1)", "stack", 7000, stack)]
assert told("details.html") == sorted(locks + irqs + stacks), told("details.html")
assert Page("details.html").meta["stacks"] == [stack]
assert told("later.html") == sorted(locks[1:] + irqs[1:] + stacks[2:]), told("later.html")
assert told("torn.html") == sorted(locks + irqs), told("torn.html")
PYTHON

# Seven bytes of the page for each run (7.3 with numbers side by side, 6.4 now), also of 2,000 threads on 64 CPUs that wake each other.
python3 - <<'PYTHON' | python3 "$S/tests/golden/tools_make.py" many
import random
random.seed(1)
lines, on, off, now = {tid: [] for tid in range(1, 2001)}, {}, {}, 1000
for cpu in range(64):
    on[cpu] = cpu + 1
    lines[cpu + 1].append("%d OHx i32:%d i32:-1 u64:0" % (now, cpu))
for turn in range(24000):
    now += 50 + random.randrange(500)
    cpu, tid = random.randrange(64), random.randrange(1, 2001)
    if tid in on.values():
        continue
    old, on[cpu] = on[cpu], tid
    if not lines[tid]:
        lines[tid].append("%d OHx i32:%d i32:-1 u64:0" % (now + 1, cpu))
    else:
        if off[tid] == 1:
            lines[tid].append("%d OHw i32:%d" % (now - 20, random.choice(list(on.values()))))
        lines[tid] += ["%d OAs i32:%d" % (now + 1, cpu), "%d OHr" % (now + 1)]
    off[old] = random.choice((1, 1, 6))
    lines[old].append("%d OHp u16:%d i32:%d" % (now, off[old], tid))
    if off[old] == 6:
        lines[old].append("%d OHw i32:-1" % now)
first = True
for tid, events in lines.items():
    cpus = ' ovni.loom_cpus=[%s]' % ",".join('{"index":%d,"phyid":%d}' % (i, i) for i in range(64)) if first else ""
    first = False
    print("thread n 1 %d%s" % (tid, cpus), *events, sep="\n")
PYTHON
view 0 --no-findings many

# Levels of the rows of two blocks of runs, which go on where the block before ends.
python3 - <<'PYTHON' | python3 "$S/tests/golden/tools_make.py" levels
import random
random.seed(2)
lines, on, off, now = {tid: ["1000 OHx i32:%d i32:-1 u64:0" % (0 if tid < 3 else -1)] for tid in (1, 2, 3)}, 1, {2: 1, 3: 1}, 1000
for tid in (2, 3):
    lines[tid].append("1000 OHp u16:1 i32:0")
for turn in range(70000):
    now += 50 + random.randrange(500)
    tid = random.choice(sorted(off))
    if off.pop(tid) == 1:
        lines[tid].append("%d OHw i32:%d" % (now - 20, on))
    lines[tid] += ["%d OAs i32:0" % (now + 1)] * (turn < 9) + ["%d OHr" % (now + 1)]
    off[on] = random.choice((1, 1, 6))
    lines[on].append("%d OHp u16:%d i32:%d" % (now, off[on], tid))
    if off[on] == 6:
        lines[on].append("%d OHw i32:-1" % now)
    on = tid
for tid, events in lines.items():
    print("thread n 1 %d%s" % (tid, ' ovni.loom_cpus=[{"index":0,"phyid":0}]' if tid == 1 else ""), *events, sep="\n")
PYTHON
view 0 --no-findings levels
python3 -B - "$S/tests/golden" <<'PYTHON' || fail "levels"
import sys
sys.path.insert(0, sys.argv[1])
import view_page

page = view_page.Page("levels.html")
assert view_page.compare_levels(page) == 8, page.levels
for row in (0, 1, 2):
    first, second = (level for level in page.levels if level[:2] == (row, False))
    assert first[2] + first[3] * (len(first[4]) - 1) < second[2] <= first[2] + first[3] * len(first[4]), (first[:4], second[:4])
PYTHON
python3 -B - "$S/tests/golden" <<'PYTHON' || fail "the size of a page"
import re, sys
sys.path.insert(0, sys.argv[1])
from view_page import Page

runs = len(Page("many.html").runs)
size = sum(len(text) for text in re.findall('data-kind="runs">([^<]*)<', open("many.html", encoding="utf-8").read()))
print("%.2f bytes a run" % (size / runs))
assert runs > 20000 and size / runs < 7, (size, runs)
PYTHON

# Hardware counters of nOS-V: names and values as the reference shows them.
view 0 -o v.html "$CONFORMANCE/emu/suite-nosv-hwc/trace"
python3 -B - "$S/tests/golden" "$CONFORMANCE/emu/suite-nosv-hwc/expected" <<'PYTHON' || fail "the counters of nOS-V"
import re, sys
sys.path.insert(0, sys.argv[1])
from view_page import Page

page = Page("v.html")
names = dict(re.findall(r"^0 +(2\d\d) +(\S+)$", open(sys.argv[2] + "/thread.pcf").read(), re.M))
assert {str(m["type"] + 100): m["title"] for m in page.meta["marks"]} == names and len(names) == 2, page.meta["marks"]
want = [tuple(map(int, found)) for found in
        re.findall(r"^2:0:1:1:1:(\d+):(2\d\d):(-?\d+)$", open(sys.argv[2] + "/thread.prv").read(), re.M)]
got = [(at, 100 + kind, value) for _, kind, at, value in page.points]
# the emulator sets them to 0 when the thread begins and ends
assert sorted(got) == sorted(w for w in want if 0 < w[0] < page.meta["end"]) and len(got) == 22, (got, want)
PYTHON

# Findings: a thread waits, on a CPU that another one has and that is idle; a thread of a process sleeps for I/O.
make_trace() { python3 "$S/tests/golden/tools_make.py" "$1"; }
make_trace costly <"$S/tests/golden/view_costly.txt"
view 0 costly
agree costly.html costly
[ "$(cat said)" = '7 runs, 12 stays, 0 calls, 4 findings (3 with a time) agree with ovni-report' ] || fail "findings"
view 0 --no-findings -o without.html costly
python3 -B - "$S/tests/golden" <<'PYTHON' || fail "the places of the findings"
import sys
sys.path.insert(0, sys.argv[1])
from view_page import Page

page, ms = Page("costly.html"), 1000000
places = [(f["kind"], f.get("thread", f.get("cpu")), f["begin"] // ms, f["end"] // ms, f["exact"]) for f in page.meta["findings"]]
tids = [thread["tid"] for thread in page.meta["threads"]]
want = {("neighbour", tids.index("11"), 100, 400, True), ("idle-cpu", tids.index("11"), 100, 400, True),
        ("io", tids.index("31"), 200, 900, True), ("steal", [cpu["cpu"] for cpu in page.meta["cpus"]].index(0), 0, 1000, False)}
assert set(places) == want, places
assert "findings" not in Page("without.html").meta and "overview" not in Page("without.html").meta
PYTHON

# Damage: the part before it; a limit; no events; outputs that are not regular files; a full disk.
cp -r trace cut
truncate -s -5 cut/loom.n/proc.1/thread.7/stream.obs
view 1 cut
grep -q 'the page ends where the trace is damaged' said || fail "damage"
[ "$(grep -c 'stream ends inside an event' said)" = 1 ] || fail "the walk for the findings must not repeat the message"
python3 -B -c 'import sys; sys.path.insert(0, sys.argv[1]); import view_page
assert view_page.Page("cut.html").meta["damaged"]' "$S/tests/golden" || fail "the page of a damaged trace"
printf 'thread n 1 1\n' | python3 "$S/tests/golden/tools_make.py" none
view 1 none
grep -q 'none: no event to show' said && [ ! -e none.html ] || fail "no event"
mkdir folder.html
view 1 -o folder.html trace
view 1 -o /dev/null trace
view 1 -o absent/page.html trace
ln -s elsewhere link.html
view 1 -o link.html trace
[ ! -e elsewhere ] || fail "a link was followed"
echo old >old.html
(
	trap '' XFSZ
	ulimit -f 8
	status=0
	"$B/bin/ovni-view" -o old.html trace >small 2>&1 || status=$?
	[ $status = 1 ] && grep -q "cannot write 'old.html'" small
) || fail "a full disk"
[ "$(cat old.html)" = old ] && [ "$(find . -name '*.part')" = '' ] || fail "half a page is left"
view 2 -o
