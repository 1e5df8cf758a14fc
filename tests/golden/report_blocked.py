#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
report_blocked: the sleeps of random schedules, added up from the events themselves.

    report_blocked.py OVNI-REPORT DIR

Threads sleep for each reason, in calls of all kinds, on descriptors that change their file, and are
woken by threads, interrupts and strangers. The judge notes each sleep when it makes its events. In
schedules with losses it compares the sums with those of `ovni-report why`, which are judged elsewhere.
"""
import collections
import json
import os
import random
import shutil
import subprocess
import sys

import tools_make

REPORT, DIR = sys.argv[1:3]
REASONS = {1: "sleeping", 2: "uninterruptible", 3: "io", 4: "stopped", 9: "idle"}
UNKNOWN = {0: "", 11: "lost"}
WAKERS = {-2: "interrupt", 99: "99", 0: ""}
HOSTILE = "/x\n\u202e" + "y" * 200
FDS = [{"fd": 3, "name": "/data", "from": 0, "to": 10 ** 12},
       {"fd": 4, "name": "/old", "from": 0, "to": 1000},
       {"fd": 4, "name": "anon_inode:[eventfd]", "from": 3 * 10 ** 10, "to": 10 ** 12},
       {"fd": 5, "name": HOSTILE, "from": 0, "to": 10 ** 12}]


def call():
    """(payload, text) of a call, as OHp has it; the text of descriptor 4 depends on the clock."""
    return random.choice((
        ("", ""),
        (" u16:35", "nanosleep"),
        (" u16:32797", "32-bit pause"),
        (" u16:0 u64:3", "read(3 = /data)"),
        (" u16:74 u64:3", "fsync(3 = /data)"),
        (" u16:0 u64:4", None),
        (" u16:0 u64:5", "read(5 = /x\\x0a\\xe2\\x80\\xae" + "y" * 200 + ")"),
        (" u16:0 u64:77", "read(77)"),
        (" u16:202 u64:%d" % (4096 * random.randint(1, 3)), "futex"),
        (" u16:61 u64:4294967295", "wait4(-1)"),
        (" u16:65535 u64:4198400", "fault(0x401000)"),
    ))


def text_of(payload, text, begin, end):
    if text is None:
        if begin <= 1000:
            return "read(4 = /old)"
        return "read(4 = eventfd)" if end >= 3 * 10 ** 10 or begin + 2 * 10 ** 9 >= 3 * 10 ** 10 else \
            "read(4 = /old)" if begin <= 1000 + 2 * 10 ** 9 else "read(4)"
    if text == "futex":
        return "futex(0x%x)" % int(payload.split(":")[-1])
    return text


def schedule(seed, lossy):
    """The lines of each thread, and its sleeps: (tid, reason, call, begin, end, waker)."""
    random.seed(seed)
    lines, sleeps = {}, []
    end = 0
    for tid in range(1, random.choice((2, 5, 9))):
        now = 1000 + random.randint(0, 50)
        mine = lines[tid] = ["%d OHx i32:0 i32:-1 u64:0" % now]
        for _ in range(random.choice((3, 30, 300))):
            now += random.choice((1, 7, 20000))
            begin, why = now, random.choice(list(REASONS) + [0] + [6] * 3 + [11] * lossy)
            if why == 6:
                mine += ["%d OHp u16:6 i32:0" % now, "%d OHw i32:-1" % now]
            else:
                payload, text = call() if why in (1, 2, 3) else ("", "")
                lost = " u64:%d" % random.randint(1, 50) if lossy and not payload and random.random() < 0.2 else ""
                mine.append("%d OHp u16:%d i32:0%s%s" % (now, why, payload, lost))
                now += random.choice((0, 5, 30000, 10 ** 9, 4 * 10 ** 9))
                waker = random.choice((-2, 99, 0, 1, tid))
                mine.append("%d OHw i32:%d%s" % (now, waker, " u64:3" if lossy and random.random() < 0.1 else ""))
                sleeps.append((tid, why, (payload, text), begin, now, waker))
            now += random.choice((0, 9, 30000))
            mine.append("%d OHr" % now)
        if random.random() < 0.5:
            now += 5
            mine.append("%d OHe" % now)
        else:  # asleep to the end of the trace
            now += 5
            mine.append("%d OHp u16:1 i32:0 u16:0 u64:3" % now)
            sleeps.append((tid, 1, (" u16:0 u64:3", "read(3 = /data)"), now, None, None))
        end = max(end, now)
    return lines, [s[:4] + ((end + 9, "still asleep") if s[4] is None else s[4:]) for s in sleeps], end + 9


def write(path, lines, end, ending):
    out = []
    for tid, mine in lines.items():
        out.append("thread n %d %d bpf.name=\"t%d\" bpf.fds=%s bpf.session.machine=\"x86_64\"" % (
            1 + tid % 2, tid, tid, json.dumps(FDS, separators=(",", ":"))))
        out += mine
        if "OHe" not in mine[-1]:
            out += ["%d OHw i32:0" % end, "%d OAs i32:-1" % end, "%d OHr" % end, "%d OHe" % end] if ending else []
    out += ["thread n 3 100 bpf.name=\"clock\"", "1000 OHx i32:1 i32:-1 u64:0", "%d OHe" % end]
    shutil.rmtree(path, ignore_errors=True)
    tools_make.main(path, out)


def report(kind, path, *options):
    ran = subprocess.run([REPORT, kind, "--json", *options, path], capture_output=True, text=True, check=False)
    assert ran.returncode in (0, 3), ran.stderr
    return json.loads(ran.stdout)


def wanted(sleeps, first, last, key):
    rows = collections.defaultdict(list)
    for tid, why, (payload, text), begin, end, waker in sleeps:
        a, b = max(begin, first), min(end, last)
        if b <= a:
            continue
        if end > last:
            waker = "still asleep"
        by = waker if isinstance(waker, str) else WAKERS.get(waker) if waker in WAKERS else "t%d (%d)" % (waker, waker)
        rows[key(tid), why, text_of(payload, text, a, b), by].append((b - a, a))
    return {k: (len(v), sum(n for n, _ in v), max(n for n, _ in v)) for k, v in rows.items()}


def got(rows, key):
    words = {**{v: k for k, v in REASONS.items()}, **{v: k for k, v in UNKNOWN.items()}}
    return {(r[key], words[r["reason"]], r["call"], r["waker"]): (r["times"], r["time"], r["max"]) for r in rows}


def sums(rows, states=("asleep", "unknown")):
    total = collections.Counter()
    for row in rows:
        if row["state"] in states:
            total[row["tid"]] += row["time"]
    return +total


def main():
    path = os.path.join(DIR, "random")
    compared = 0
    for seed in range(int(os.environ.get("SEEDS", 60))):
        lossy = seed % 3 == 2
        lines, sleeps, end = schedule(seed, lossy)
        write(path, lines, end, seed % 2)
        for options, first, last in (((), 0, 10 ** 18),
                                     (("--from", str(end // 3), "--to", str(end // 2)), end // 3, end // 2)):
            rows = report("blocked", path, *options)
            assert sums(rows) == sums(report("why", path, *options)), (seed, options, "sums")
            if lossy:
                continue
            want = wanted(sleeps, first, last, lambda tid: tid)
            assert got(rows, "tid") == want, (seed, options, set(got(rows, "tid").items()) ^ set(want.items()))
            compared += len(want)
            for by, column, key in (("process", "pid", lambda tid: 1 + tid % 2), ("comm", "name", "t%d".__mod__),
                                    ("all", "thread", lambda tid: "all threads")):
                want = wanted(sleeps, first, last, key)
                assert got(report("blocked", path, "--by", by, *options), column) == want, (seed, options, by)
    print("60 schedules,", compared, "rows")


main()
