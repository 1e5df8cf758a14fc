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
    threads, owners = {1: Thread(1, now)}, {}
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
                t.put(now, "OHp u16:1 i32:0 u16:202 u64:16", "asleep sleeping")
                ran.append((now, t.tid))
        elif t.state == "asleep sleeping":
            running = [u.tid for u in threads.values() if u.state == "running"]
            recent = [tid for clock, tid in ran[-3:] if tid != t.tid]
            by = random.choice(running or [-2]) if random.random() < 0.6 else \
                random.choice(recent + [-2, 0, 99])
            owner = random.choice([-1, 0, 99] + 3 * list(threads))
            if owner > 0 and owner != t.tid:
                owners[t.tid, t.states[-1][0]] = owner
            t.put(now, "OHw i32:%d i32:%d" % (by, owner if owner != t.tid else -1), "runnable woken", by)
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
    return threads, owners


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


OWNERS_MOST = 16


def path(all_stays, tid, start, end, owners=None):
    """The rules of why.md, part D. owners: {(tid, clock at which it falls asleep): owner}, or None."""
    return backward(all_stays, tid, start, end, owners, 0, set())[::-1]


def backward(all_stays, tid, start, end, owners, depth, seen):
    out, now = [], end
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
        owner = owners.get((tid, low)) if owners and state.startswith("asleep") else None
        if owner in all_stays and depth < OWNERS_MOST and (owner, now) not in seen:
            low = max(low, start)
            out += backward(all_stays, owner, low, now, owners, depth + 1, seen)
            now = low
            continue
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
    return out


def chain(n):
    """Threads that sleep from 100 to 1000 on locks of each other, each of the next one; the last one owns its own."""
    lines = []
    for tid in range(1, n + 1):
        owner = min(tid + 1, n)
        lines += ["thread n 1 %d" % tid, "0 OHx i32:0 i32:-1 u64:0", "100 OHp u16:1 i32:0 u16:202 u64:%d" % (16 * tid),
                  "1000 OHw i32:-2 i32:%d" % owner, "1000 OHr", "1001 OHe"]
    return lines


def check_chain(program, trace):
    for n, last in ((3, 3), (17, 17), (20, 17)):
        shutil.rmtree(trace, ignore_errors=True)
        tools_make.main(trace, chain(n))
        run = subprocess.run([program, "critical", "--owners", "--json", "--tid", "1", trace], capture_output=True,
                             text=True, check=True)
        got = [(r["from"], r["to"], r["tid"], r["state"]) for r in json.loads(run.stdout)]
        want = [(0, 100, 1, "running"), (100, 1000, last, "asleep"), (1000, 1001, 1, "running")]
        if got != want:
            sys.exit("a chain of %d: %s, not %s" % (n, got, want))


def main(program, folder):
    checked = hops = changed = 0
    check_chain(program, os.path.join(folder, "chain"))
    for seed in range(1, 41):
        threads, owners = schedule(seed)
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
            follow = bool(checked % 2)
            run = subprocess.run([program, "critical", "--json", "--tid", str(tid), "--from", str(start), trace] +
                                 ["--owners"] * follow, capture_output=True, text=True, check=False)
            if run.returncode:
                sys.exit("seed %d, thread %d: %s" % (seed, tid, run.stderr))
            got = [(r["from"] + first, r["to"] + first, r["tid"], (r["state"] + " " + r["reason"]).strip())
                   for r in json.loads(run.stdout)]
            want = path(all_stays, tid, start, end, owners if follow else None)
            changed += follow and want != path(all_stays, tid, start, end)
            if got != want:
                at = next((i for i, (a, b) in enumerate(zip(got, want)) if a != b), min(len(got), len(want)))
                sys.exit("seed %d, thread %d: segment %d is %s, not %s" % (seed, tid, at, got[at:at + 2], want[at:at + 2]))
            if sum(b - a for a, b, _, _ in got) != end - start:
                sys.exit("seed %d, thread %d: the segments do not add up" % (seed, tid))
            checked += 1
            hops += sum(a[2] != b[2] for a, b in zip(got, got[1:]))
    print("%d paths, %d hops; owners change %d of them" % (checked, hops, changed))
    sys.exit(not (checked > 80 and hops > 1000 and changed > 20))


if __name__ == "__main__":
    main(*sys.argv[1:])
