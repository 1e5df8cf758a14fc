#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
report_critical: critical paths of random schedules, judged by the events themselves.

    report_critical.py OVNI-REPORT DIR

A schedule has threads on CPUs that sleep, are woken by threads, interrupts and strangers, are
preempted, born and ended, with wake-up clocks that are late at times. The judge knows the state of each
thread at each clock from its own events, and follows the path forward.
"""
import bisect
import json
import os
import random
import shutil
import subprocess
import sys

import tools_make

WAKING_MOST = 100000


class Thread:
    def __init__(self, tid, clock):
        self.tid, self.lines, self.states = tid, [], []
        self.put(clock, "OHx i32:0 i32:-1 u64:0", "running")

    def put(self, clock, text, state, by=0):
        """States: (clock, state, by); by: a tid, -2 an interrupt, 0 nobody."""
        self.lines.append("%d %s" % (clock, text))
        self.states.append((clock, state, by))

    state = property(lambda self: self.states[-1][1])


def schedule(seed):
    random.seed(seed)
    now, next_tid = 1000, 2
    threads = {1: Thread(1, now)}
    ran = []  # threads in the order in which they left the CPU last
    for _ in range(random.choice((20, 200, 2000))):
        now += random.choice((0, 1, 7, 300, 20000, 150000))
        t = random.choice(list(threads.values()))
        if t.state == "running":
            act = random.random()
            if act < 0.1 and len(threads) < 9:
                delay = random.choice((1, 5, 4000))
                t.lines.append("%d OHC i32:0 i32:%d u64:0" % (now, next_tid))
                child = Thread(next_tid, now + delay)
                child.states.insert(0, (now, "runnable newborn", t.tid))
                threads[next_tid] = child
                next_tid += 1
                now += delay
            elif act < 0.3:
                t.put(now, "OHp u16:6 i32:%d" % random.choice(list(threads)), "runnable preempted")
                t.lines.append("%d OHw i32:-1" % now)
            else:
                t.put(now, "OHp u16:1 i32:0", "asleep sleeping")
                ran.append((now, t.tid))
        elif t.state == "asleep sleeping":
            running = [u.tid for u in threads.values() if u.state == "running"]
            recent = [tid for clock, tid in ran[-3:] if tid != t.tid]
            by = random.choice(running or [-2]) if random.random() < 0.6 else \
                random.choice(recent + [-2, 0, 99])
            t.put(now, "OHw i32:%d" % by, "runnable woken", by)
            if random.random() < 0.3:
                t.put(now, "OHr", "running", by)
        elif t.state.startswith("runnable"):
            t.put(now, "OHr", "running")
    for t in threads.values():
        if t.state != "running":
            if t.state == "asleep sleeping":
                t.put(now, "OHw i32:-2", "runnable woken", -2)
            t.put(now + 1, "OHr", "running")
        t.put(now + 2, "OHe", "")
    return threads


def stays(t):
    """(from, to, state, by): without those of no length; `by` of a wake-up at `from` stays."""
    out, woken = [], {}
    for (a, state, by), (b, _, _) in zip(t.states, t.states[1:]):
        if state.startswith(("runnable woken", "runnable newborn")) or by:
            woken[a] = by
        elif state != "running":
            woken.pop(a, None)
        if b > a:
            out.append((a, b, state, woken.get(a, 0)))
    return out


def path(all_stays, tid, start, end):
    """The rules of why.md, part D."""
    out, now, seen = [], end, set()
    while now > start:
        seen.add((tid, now))
        mine = all_stays[tid]
        at = bisect.bisect_left(mine, (now,)) - 1
        if at < 0 or mine[at][1] < now:
            low = max(start, mine[at][1] if at >= 0 else start)
            out.append((low, now, tid, "not recorded"))
            now = low
            continue
        low, _, state, by = mine[at]
        out.append((max(low, start), now, tid, state))
        now = max(low, start)
        if by <= 0 or by not in all_stays or (by, now) in seen or now <= start:
            continue
        runs = [s for s in all_stays[by] if s[2] == "running" and s[0] <= now]
        if not runs or now - min(runs[-1][1], now) > WAKING_MOST:
            continue
        if runs[-1][1] < now:
            low = max(runs[-1][1], start)
            out.append((low, now, tid, "wake-up"))
            now = low
        tid = by
    return out[::-1]


def main(program, folder):
    checked = hops = 0
    for seed in range(1, 41):
        threads = schedule(seed)
        trace = os.path.join(folder, "random")
        shutil.rmtree(trace, ignore_errors=True)
        tools_make.main(trace, [line for t in threads.values() for line in ("thread n 1 %d" % t.tid, *t.lines)])
        all_stays = {t.tid: stays(t) for t in threads.values()}
        first = min(s[0][0] for s in all_stays.values() if s)
        for tid in random.sample(sorted(threads), min(3, len(threads))):
            if not all_stays[tid]:
                continue
            end = all_stays[tid][-1][1]
            start = random.choice((first, random.randint(first, end)))
            if start >= end:
                continue
            run = subprocess.run([program, "critical", "--json", "--tid", str(tid), "--from", str(start), trace],
                                 capture_output=True, text=True, check=False)
            if run.returncode:
                sys.exit("seed %d, thread %d: %s" % (seed, tid, run.stderr))
            got = [(r["from"] + first, r["to"] + first, r["tid"], (r["state"] + " " + r["reason"]).strip())
                   for r in json.loads(run.stdout)]
            want = path(all_stays, tid, start, end)
            if got != want:
                at = next((i for i, (a, b) in enumerate(zip(got, want)) if a != b), min(len(got), len(want)))
                sys.exit("seed %d, thread %d: segment %d is %s, not %s" % (seed, tid, at, got[at:at + 2], want[at:at + 2]))
            if sum(b - a for a, b, _, _ in got) != end - start:
                sys.exit("seed %d, thread %d: the segments do not add up" % (seed, tid))
            checked += 1
            hops += sum(a[2] != b[2] for a, b in zip(got, got[1:]))
    print("%d paths, %d hops" % (checked, hops))
    sys.exit(not (checked > 80 and hops > 1000))


if __name__ == "__main__":
    main(*sys.argv[1:])
