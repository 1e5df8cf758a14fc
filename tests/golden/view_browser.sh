#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The page of ovni-view in a real browser, a headless Chromium, by real events of mouse, wheel and
# keys: no error of a script and nothing refused by the content policy; sums equal to ovni-report;
# pixels of states, gaps and short runs; selection, measure, search, links; hostile names; styles that
# the browser does not know; pages that are cut or damaged, and a browser that is too old. VIEW_SHOTS=DIR keeps pictures.
# long: starts a browser and waits for its pictures
set -eu
if ! command -v chromium >/dev/null || ! command -v chromedriver >/dev/null; then
	echo "no chromium or no chromedriver: the page is not looked at"
	exit 77
fi
cd "$T"
make_trace() { python3 "$S/tests/golden/tools_make.py" "$1"; }
make_trace small <<'END'
thread n 1 7 bpf.name="busy" bpf.session={"lost":"5"} ovni.mark={"0":{"title":"Function","chan_type":"stack","labels":{"1":"solve","2":"inner"}}}
0 OHx i32:0 i32:-1 u64:0
1000000 OM[ i64:1 i32:0
1500000 OM[ i64:2 i32:0
1800000 OM] i64:2 i32:0
2000000 OHp u16:6 i32:8
2000000 OHw i32:-1
3000000 OAs i32:1
3000000 OHr
3500000 OM] i64:1 i32:0
4000000 OHp u16:1 i32:0
6000000 OHw i32:8
6500000 OHr
7000000 OHp u16:3 i32:0
8000000 OHw i32:-2
8000001 OHr
8100000 OM[ i64:5 i32:92
8800000 OM] i64:5 i32:92
10000000 OHe
thread n 1 8 bpf.name="</script><script>alert(1)</script><img_src=x_onerror=alert(2)>"
0 OHx i32:-1 i32:-1 u64:0
0 OHp u16:0 i32:0
1000000 OHw i32:7
2000001 OAs i32:0
2000001 OHr
7000000 OHp u16:2 i32:0
9000000 OHp u16:2 i32:0
9000000 OHw i32:7
10000000 OAs i32:-1
10000000 OHr
10000000 OHe
thread n 1 9 bpf.name="\u202eevil\u001b[31m"
5000000 OHx i32:3 i32:7 u64:0
5002000 OHp u16:1 i32:0
10000000 OHe
END
# What --why=irq, lock, stack and prio record, and nine values of a call.
make_trace details <<'END'
thread n 1 1 bpf.name="waiter" bpf.session={"calls":true,"machine":"x86_64","locks":true} ovni.mark={"90":{"title":"Priority","chan_type":"single","labels":{"62":"SCHED_OTHER\u0020nice\u00200","171":"SCHED_FIFO\u002050"}},"89":{"title":"Allowed\u0020CPUs","chan_type":"single","labels":{"1":"0-1"}},"56":{"title":"MPI\u0020messages","chan_type":"stack","labels":{"1":"MPI_Send"}},"60":{"title":"partner","chan_type":"single"},"61":{"title":"tag","chan_type":"single"},"62":{"title":"count","chan_type":"single"},"63":{"title":"datatype","chan_type":"single"},"64":{"title":"communicator","chan_type":"single"},"65":{"title":"request","chan_type":"single"},"66":{"title":"source","chan_type":"single"},"67":{"title":"key","chan_type":"single"},"68":{"title":"color","chan_type":"single"}}
0 OHx i32:0 i32:-1 u64:0
100 OM= i64:62 i32:90
100 OM= i64:1 i32:89
1000000 OHp u16:1 i32:0 u16:202 u64:4096
4000000 OHw i32:2 i32:2 u32:7 u32:0
4000000 OHr u32:300
4000100 OM= i64:171 i32:90
5000000 OM= i64:100 i32:60
5000000 OM= i64:101 i32:61
5000000 OM= i64:102 i32:62
5000000 OM= i64:103 i32:63
5000000 OM= i64:104 i32:64
5000000 OM= i64:105 i32:65
5000000 OM= i64:106 i32:66
5000000 OM= i64:107 i32:67
5000000 OM= i64:108 i32:68
5000000 OM[ i64:1 i32:56
6000000 OM= i64:5 i32:60
6000000 OM] i64:1 i32:56
6100000 OHp u16:6 i32:0
6100000 OHw i32:-1
6900000 OHr u32:2000 u32:0 u32:7 u32:0
7000000 OHe
thread n 1 2 bpf.name="owner" ovni.mark={"89":{"title":"Allowed\u0020CPUs","chan_type":"single","labels":{"1":"0-1"}}}
0 OHx i32:1 i32:-1 u64:0
100 OM= i64:1 i32:89
7000000 OHe
END
printf 'ovni-bpf stacks 1\n7\tfutex_wait+0x1;do_futex+0x2\n' >details/stacks
# Counters of nOS-V: 0 throughout, and always 7.
for tid in 1 2; do
	printf '%s\n' "thread n 1 $tid ovni.require={\"ovni\":\"1.1.0\",\"nosv\":\"2.6.0\"} nosv.hwc={\"0\":{\"name\":\"misses\"}} nosv.can_breakdown=false" \
		"0 OHx i32:$tid i32:-1 u64:0" "1000 VWC+ i64:$((tid == 2 ? 7 : 0))" "5000000 VWC+ i64:$((tid == 2 ? 7 : 0))" "10000000 OHe"
done | make_trace zero
# One run of 2 us in an hour.
make_trace hour <<'END'
thread n 1 1 bpf.name="short"
0 OHx i32:-1 i32:-1 u64:0
0 OHp u16:1 i32:0
1800000000000 OHw i32:-2
1800000000000 OAs i32:0
1800000000001 OHr
1800000002001 OHp u16:1 i32:0
3600000000000 OHe
END
# Ten threads on two CPUs take turns; every wake-up has a waker.
python3 - <<'PYTHON' | make_trace turns
import random
random.seed(7)
events = {tid: ["0 OHx i32:-1 i32:-1 u64:0", "0 OHp u16:1 i32:0"] for tid in range(100, 110)}
asleep, at, now = {tid: 0 for tid in events}, [10, 20], 0
for turn in range(6000):
    cpu = at.index(min(at))
    now = at[cpu]
    free = [tid for tid, since in asleep.items() if since < now]
    if not free:
        at[cpu] += 5000
        continue
    tid = random.choice(free)
    woken = random.randint(asleep[tid], now)
    length = random.choice((300, 5000, 40000, 900000))
    why = random.choice((1, 1, 2, 3))
    events[tid] += ["%d OHw i32:%d" % (woken, random.choice(list(events) + [-2, 0])), "%d OAs i32:%d" % (now + 1, cpu),
                    "%d OHr" % (now + 1), "%d OHp u16:%d i32:0" % (now + length, why)]
    asleep[tid] = now + length
    at[cpu] = now + length + random.choice((1, 1, 2000))
last = max(asleep.values()) + 1000
for tid, lines in events.items():
    print('thread n 1 %d bpf.name="turn%d"' % (tid, tid), *lines, "%d OHe" % last, sep="\n")
PYTHON
make_trace costly <"$S/tests/golden/view_costly.txt"
# A path by hand: main waits for worker, worker for stage and then for holder, which sleeps; a newborn; calls of sleeps.
make_trace path <<'END'
thread n 1 1 bpf.name="main" bpf.session={"calls":true,"machine":"x86_64"}
0 OHx i32:0 i32:-1 u64:0
10 OHC i32:0 i32:3 u64:0
20 OHp u16:1 i32:2 u16:202 u64:4096
100000 OHw i32:3
100010 OHr
100030 OHe
thread n 1 2 bpf.name="stage"
0 OHx i32:1 i32:-1 u64:0
400 OHp u16:1 i32:0
120000 OHw i32:-2
120010 OHr
120020 OHe
thread n 1 3 bpf.name="worker"
14 OHx i32:2 i32:-1 u64:0
30 OHp u16:1 i32:0
460 OHw i32:2
460 OHr
500 OHp u16:1 i32:0
90000 OHw i32:4
90020 OHr
99000 OHp u16:1 i32:0
150000 OHw i32:-2
150010 OHr
150020 OHe
thread n 1 4 bpf.name="holder" bpf.fds=[{"fd":3,"name":"/data/<b>x","from":"0","to":"150000"}]
5 OHx i32:3 i32:-1 u64:0
40 OHp u16:3 i32:0 u16:0 u64:3
80000 OHw i32:-2
80040 OHr
90010 OHp u16:3 i32:0 u16:0 u64:3
150000 OHw i32:-2
150010 OHr
150020 OHe
thread n 1 5 bpf.name="early"
0 OHx i32:-1 i32:-1 u64:0
0 OHp u16:1 i32:-1 u16:232 u64:4
150020 OHe
END
# Random schedules: births, preemption, wake-ups by all kinds of wakers, with clocks that are late.
python3 -B - "$S/tests/golden" <<'PYTHON'
import sys
sys.path.insert(0, sys.argv[1])
import report_critical, tools_make
for seed in range(1, 7):
    threads, _ = report_critical.schedule(seed)
    tools_make.main("random%d" % seed, [line for t in threads.values() for line in ("thread n 1 %d" % t.tid, *t.lines)])
PYTHON
# Hostile text in every place that has a name: markup, control characters, marks of direction, 4 KB.
make_trace hostile <<'END'
thread n 7 7
0 OHx i32:0 i32:-1 u64:0
1000000 OM[ i64:1 i32:0
1200000 OM= i64:1 i32:5
1400000 VWC+ i64:5
2000000 OHp u16:6 i32:8
2000000 OHw i32:-1
3000000 OHr
3500000 OM] i64:1 i32:0
4000000 OHp u16:1 i32:0
6000000 OHw i32:8
6500000 OHr
10000000 OHe
thread n 7 8
0 OHx i32:-1 i32:-1 u64:0
2000001 OAs i32:0
2000001 OHr
3000000 OHp u16:2 i32:7
5000000 OAs i32:1
5000001 OHr
10000000 OHe
thread m 9 9
0 OHx i32:0 i32:-1 u64:0
5000000 OHp u16:1 i32:0
9000000 OHw i32:99
9000001 OHr
10000000 OHe
END
python3 - <<'PYTHON'
import glob, json, os
text = "</script><script>document.title='HACKED'</script><img src=x onerror=\"alert(1)\">&amp;'\x1b[31m\x01\u202e\u200f\u2028" + "W" * 4096
for path in glob.glob("hostile/**/stream.json", recursive=True):
    meta = json.load(open(path))
    tid = meta["ovni"]["tid"]
    meta["ovni"].update(loom=text + meta["ovni"]["loom"], rank=10 - tid, nranks=10, mark={
        "0": {"title": text, "chan_type": "stack", "labels": {"1": text}}, "5": {"title": text, "chan_type": "single", "labels": {"1": text}}})
    meta["bpf"] = {"name": str(tid) + text, "cgroup": text, "names": {"99": text}, "session": {
        "lost": "5", "kernel": text, "hostname": text, "options": ["ovni-bpf", text], "t0": "0", "t1": "10000000"}}
    if tid == 8:
        del meta["bpf"]["name"]
        meta["accel"] = {"label": text}
    meta["nosv"] = {"hwc": {"0": {"name": text}}}
    json.dump(meta, open(path, "w"))
os.rename("hostile", "<img src=x onerror=alert(1)>&\u202e")
PYTHON
"$B/bin/ovni-view" -o hostile.html ./'<img'* 2>said || [ $? = 3 ] || { cat said; exit 1; }
# More CPUs than fit into the window.
for cpu in {0..39}; do
	echo "thread n 1 $((cpu + 1)) ovni.loom_cpus=$(python3 -c 'import json; print(json.dumps([{"index": i, "phyid": i} for i in range(40)], separators=(",", ":")))')"
	printf '%s\n' "0 OHx i32:$cpu i32:-1 u64:0" "1000 OHe"
done | make_trace wide
# A recursion of 300 calls.
{
	printf '%s\n' 'thread n 1 1 ovni.mark={"0":{"title":"Function","chan_type":"stack","labels":{"1":"fib"}}}' "0 OHx i32:0 i32:-1 u64:0"
	for depth in {1..300}; do echo "$depth OM[ i64:1 i32:0"; done
	for depth in {1..300}; do echo "$((1000 + depth)) OM] i64:1 i32:0"; done
	echo "2000 OHe"
	printf '%s\n' "thread n 1 2" "0 OHx i32:1 i32:-1 u64:0" "2000 OHe"
} | make_trace deep
for name in small zero hour turns costly wide deep path random{1..6}; do
	status=0
	"$B/bin/ovni-view" "$name" 2>said || status=$?
	[ $status = 0 ] || [ $status = 3 ] || { cat said; exit 1; }
done
cp -r small cut
truncate -s -5 cut/loom.n/proc.1/thread.7/stream.obs
if "$B/bin/ovni-view" cut 2>said; then
	echo "a damaged trace: status 0"
	exit 1
fi
# A recording and a run of an accelerator.
python3 -B "$S/tests/golden/loom_schedule.py" loom
python3 -B "$S/tests/golden/loom_make.py" runs
"$B/bin/ovni-loom" import runs/ranks.trace.bin -o loom --clock-period 500ns
"$B/bin/ovni-view" loom
"$B/bin/ovni-view" details
python3 -B "$S/tests/golden/view_page.py" turns.html "$B/bin" turns
python3 -B "$S/tests/golden/view_browser.py" "$PWD" "$B/bin" "${VIEW_SHOTS:-}"
