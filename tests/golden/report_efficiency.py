#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
report_efficiency: ovni-report efficiency against a model of its own, on random programs.

    report_efficiency.py OVNI-REPORT DIR [SEED [N]]

A program has ranks on nodes, with teams, regions, calls of MPI (also in each other and in regions),
barriers and tasks, marks, and threads that lose their CPU at any time. The model knows what each
thread does in each interval between two events, and adds intervals up: efficiency.md 1 and 2, read
word by word. Times must agree in ns, factors in 6 decimals, and the invariants must hold.
"""
import collections
import json
import os
import random
import shutil
import subprocess
import sys

import tools_make


class Thread:
    def __init__(self, tid):
        self.tid, self.events = tid, []  # (clock, order, text)
        self.stays = []   # (clock, state)
        self.places = []  # (clock, word): open and close of stacks, in order

    def put(self, clock, text):
        self.events.append((clock, len(self.events), text))


def states(rng, thread, first, last):
    """A random life: running, then waits and sleeps."""
    now = first
    thread.put(now, "OHx i32:%d" % (thread.tid % 4))
    thread.stays.append((now, "run"))
    while True:
        now += rng.choice((3, 50, 700, 4000))
        if now >= last - 20:
            break
        if rng.random() < 0.4:
            thread.put(now, "OHp u16:6 i32:%d" % rng.choice((0, -1, 77)))
            thread.put(now, "OHw i32:-1")
            thread.stays.append((now, "wait"))
        else:
            thread.put(now, "OHp u16:%d i32:0" % rng.choice((1, 2, 3)))
            thread.stays.append((now, "sleep"))
            now += rng.choice((1, 90, 2500))
            if now >= last - 10:
                now = last - 10
            thread.put(now, "OHw i32:-2")
            thread.stays.append((now, "wait"))
        now += rng.choice((1, 20, 900))
        now = min(now, last - 5)
        thread.put(now, "OHr")
        thread.stays.append((now, "run"))
    thread.put(last, "OHe")
    thread.stays.append((last, "dead"))


def region(rng, threads, begin, end, mpi):
    """The master's region, and the work of each thread in it."""
    threads[0].put(begin, "PCf")
    threads[0].places.append((begin, "+fork"))
    for number, t in enumerate(threads):
        if number and rng.random() < 0.15:
            continue  # not of this region
        now = begin + rng.randrange(0, max(1, (end - begin) // 4))
        stop = rng.randrange(now, end) + 1
        t.put(now, "PMu")
        t.places.append((now, "+work"))
        while stop - now > 40 and rng.random() < 0.7:
            a = rng.randrange(now, stop - 20)
            b = rng.randrange(a, stop)
            kind = rng.choice(("PBb PBB idle", "PIa PIA idle", "PTt PTT idle", "PWs PWS same") +
                              (("MR[ MR] mpi",) if mpi and not number else ()))
            enter, leave, word = kind.split()
            t.put(a, enter)
            t.places.append((a, "+" + word))
            if word == "idle" and b - a > 4 and rng.random() < 0.5:
                c, d = sorted((rng.randrange(a, b), rng.randrange(a, b)))
                t.put(c, "PT[")
                t.places.append((c, "+work"))
                t.put(d, "PT]")
                t.places.append((d, "-work"))
            t.put(b, leave)
            t.places.append((b, "-" + word))
            now = b
        t.put(stop, "PMU")
        t.places.append((stop, "-work"))
    threads[0].put(end, "PCF")
    threads[0].places.append((end, "-fork"))


def program(rng):
    nranks = rng.randint(1, 4)
    teams = rng.random() < 0.5
    only = rng.random() < 0.5  # collectives alone
    ranks = []
    base = 10**9
    lengths = [rng.choice((300, 2000, 9000)) for _ in range(rng.randint(1, 6))]
    for rank in range(nranks):
        threads = [Thread(100 * rank + 100 + i) for i in range(rng.randint(1, 3) if teams else 1)]
        master = threads[0]
        begin, marks = base + 100 + rng.randrange(60), []
        master.put(begin - 50, "MUi")
        master.put(begin, "MUI")
        master.places.append((begin, "open"))
        now, phase_end = begin, base + 200
        for length in lengths:
            phase_end += length
            mark = rng.choice((None, 5, 6))
            if mark:
                master.put(now, "OM[ i64:%d i32:7" % mark)
                marks.append((now, mark))
            if teams and rng.random() < 0.7:
                a = rng.randrange(now, max(now + 1, phase_end - length // 2))
                b = rng.randrange(a, phase_end - 10)
                if b > a:
                    region(rng, threads, a, b, not only)
                    now = b
            enter = rng.randrange(now, phase_end - 5)
            leave = phase_end + rng.randrange(5)
            function = "MAr MAR" if only else rng.choice(("MAr MAR", "MR[ MR]", "MS[ MS]"))
            enters, leaves = function.split()
            master.put(enter, enters)
            master.places.append((enter, "+mpi"))
            if not only and rng.random() < 0.3:
                inner = rng.randrange(enter, leave)
                master.put(inner, "MCb")
                master.put(inner, "MCB")
            master.put(leave, leaves)
            master.places.append((leave, "-mpi"))
            now = leave
            if mark:
                master.put(now, "OM] i64:%d i32:7" % mark)
                marks.append((now, None))
            now += rng.randrange(3)
            phase_end += 10
        end = now + rng.randrange(50)
        master.put(end, "MUf")
        master.places.append((end, "close"))
        master.put(end + 30, "MUF")
        for number, t in enumerate(threads):
            states(rng, t, base + (rng.randrange(80) if number else rng.randrange(40)), end + 60)
        ranks.append((threads, begin, end, marks))
    return ranks, rng.randint(1, 2), lengths


def write(folder, ranks, nodes):
    lines = []
    for rank, (threads, _, _, _) in enumerate(ranks):
        for t in threads:
            lines.append('thread n%d %d %d bpf.rank=%d bpf.nranks=%d ovni.require.mpi="1.0.0" '
                         'ovni.require.openmp="1.2.1"' %
                         (rank % nodes, threads[0].tid, t.tid, rank, len(ranks)))
            lines += ["%d %s" % (clock, text) for clock, _, text in sorted(t.events)]
    tools_make.main(folder, tools_make.with_communicators(lines))


# ---- the model ----

def at(stays, clock):
    word = "unknown"
    for start, state in stays:
        if start > clock:
            break
        word = state
    return word


class Stack:
    """The place of a thread after each clock."""

    def __init__(self, thread):
        self.changes, stack, depth, inside = [], [], 0, False
        fork = False
        for clock, word in thread.places:
            if word in ("open", "close"):
                inside = word == "open"
            elif word[1:] == "mpi":
                depth += 1 if word[0] == "+" else -1
            elif word[1:] == "fork":
                fork = word[0] == "+"
            elif word[0] == "+":
                stack.append(word[1:] == "work" or (word == "+same" and bool(stack) and stack[-1]))
            else:
                stack.pop()
            self.changes.append((clock, (inside, depth > 0, fork, bool(stack) and stack[-1])))

    def at(self, clock):
        value = (False, False, False, False)
        for start, after in self.changes:
            if start > clock:
                break
            value = after
        return value


def rank_times(threads, begin, end, phase_at):
    """{phase: times}; phase None is the whole window."""
    out = collections.defaultdict(lambda: {"units": {}, "window": 0, "I": 0, "S": 0, "L": 0, "D": 0,
                                           "parts": collections.defaultdict(lambda: [0, {}])})
    stacks = {t.tid: Stack(t) for t in threads}
    members = [t for t in threads if t is threads[0] or any(w == "+work" for _, w in t.places)]
    cuts = {begin, end}
    for t in threads:
        cuts |= {c for c, _ in t.stays} | {c for c, _ in t.places}
    cuts |= set(phase_at.cuts)
    cuts = sorted(c for c in cuts if begin <= c <= end)
    forks = [c for c, w in threads[0].places if w == "+fork"]
    for a, b in zip(cuts, cuts[1:]):
        _, mpi, fork, _ = stacks[threads[0].tid].at(a)
        number = sum(1 for c in forks if c <= a)
        for phase in {None, phase_at(a)}:
            if phase == "none":
                continue
            o = out[phase]
            o["window"] += b - a
            part = o["parts"][(number, phase_at.visit(a) if phase is not None else 0)] if fork else None
            if part:
                part[0] += b - a
            for t in members:
                unit = o["units"].setdefault(t.tid, collections.Counter())
                _, in_mpi, _, works = stacks[t.tid].at(a)
                state = at(t.stays, a)
                if in_mpi:
                    place = "mpi"
                elif not fork and t is threads[0]:
                    place = "useful"
                elif fork and works:
                    place = "useful"
                else:
                    place = None
                if place:
                    unit[place] += b - a
                    unit[place, state] += b - a
                    if part:
                        part[1][t.tid] = part[1].get(t.tid, 0) + b - a
                elif not fork:
                    o["I" if mpi else "S"] += b - a
    for o in out.values():
        for length, busy in o["parts"].values():
            idle = [length - busy.get(t.tid, 0) for t in members]
            o["L"] += sum(idle) - len(idle) * min(idle)
            o["D"] += len(idle) * min(idle)
        o["team"] = len(members)
    return out


class Phases:
    def __init__(self, marks):
        self.marks, self.cuts = marks, [c for c, _ in marks]

    def visit(self, clock):
        return sum(1 for c, _ in self.marks if c <= clock)

    def __call__(self, clock):
        word = at([(c, v) for c, v in self.marks], clock)
        return "none" if word in (None, "unknown") else word


class Slices:
    def __init__(self, begin, end, every):
        self.begin, self.every = begin, every
        self.cuts = list(range(begin, end + every, every))

    def visit(self, clock):
        return (clock - self.begin) // self.every

    __call__ = visit


def factors(ranks, nodes):
    """The formulas of efficiency.md 2. ranks: the times of each."""
    total = collections.Counter()
    units = []
    for o in ranks:
        for key in "ISLD":
            total[key] += o[key]
        total["T"] += o["team"]
        for u in o["units"].values():
            total.update(u)
            units.append(u)
    e = max(o["window"] for o in ranks)
    rest = [sum(u["useful"] for u in o["units"].values()) + o["S"] + o["L"] + o["D"] for o in ranks]
    v = [x / o["team"] for x, o in zip(rest, ranks)]
    by_node = [[i for i in range(len(ranks)) if i % nodes == n] for n in range(nodes)]
    node = [sum(rest[i] for i in group) / sum(ranks[i]["team"] for i in group) for group in by_node if group]
    useful, run = total["useful"], total["useful", "run"]
    wait = total["useful", "wait"]
    out = {"mpi_parallel_efficiency": (sum(rest), total["T"] * e),
           "mpi_load_balance": (sum(rest), total["T"] * max(v)),
           "mpi_communication_efficiency": (max(v), e),
           "load_balance_in_nodes": (max(node), max(v)),
           "load_balance_between_nodes": (sum(rest), total["T"] * max(node)),
           "parallel_efficiency": (useful, total["T"] * e),
           "load_balance": (useful, total["T"] * max(u["useful"] for u in units)),
           "communication_efficiency": (max(u["useful"] for u in units), e),
           "on_cpu_efficiency": (run, useful), "os_efficiency": (run, run + wait),
           "blocking_efficiency": (run + wait, useful),
           "true_parallel_efficiency": (run, total["T"] * e),
           "true_load_balance": (run, total["T"] * max(u["useful", "run"] for u in units)),
           "mpi_on_cpu": (total["mpi", "run"], total["mpi"]),
           "mpi_runnable": (total["mpi", "wait"], total["mpi"]),
           "openmp_parallel_efficiency": (useful, sum(rest)),
           "openmp_serial_efficiency": (useful + total["D"] + total["L"], sum(rest)),
           "openmp_load_balance": (useful + total["D"], useful + total["D"] + total["L"]),
           "openmp_scheduling_efficiency": (useful, useful + total["D"])}
    return {name: part / whole if whole else None for name, (part, whole) in out.items()}, total


def stars(ranks):
    """TE* and OS loss, if all calls are collectives."""
    calls = [[(a, b) for (a, x), (b, y) in zip(threads[0].places, threads[0].places[1:])
              if x == "+mpi" and y == "-mpi"] for threads, _, _, _ in ranks]
    transfer = wait = loss = 0
    froms = [begin for _, begin, _, _ in ranks]
    for k in range(len(calls[0]) + 1):
        inside = [c[k] for c in calls] if k < len(calls[0]) else None
        to = [i[1] for i in inside] if inside else [end for _, _, end, _ in ranks]
        if inside:
            last = max(i[0] for i in inside)
            if min(to) < last:
                return None
            transfer += max(to) - last
            wait += sum(last - i[0] for i in inside)
        most, own = 0, 0
        for (threads, begin, end, _), a, b in zip(ranks, froms, to):
            times = rank_times(threads, a, b, Phases([]))[None] if b > a else {"units": {}}
            for u in times["units"].values():
                most = max(most, u["useful"])
                own = max(own, u["useful"] - u["useful", "wait"])
        loss += most - own
        froms = to
    return transfer, wait, loss


def near(a, b):
    return a is b or (a is not None and b is not None and abs(a - b) < 1.01e-6)


def compare(what, got, ranks, nodes, forked, unknown_ok):
    want, total = factors(ranks, nodes)
    times = got["times"]
    named = {"useful": total["useful"], "useful_run": total["useful", "run"],
             "useful_wait": total["useful", "wait"], "useful_sleep": total["useful", "sleep"],
             "useful_unknown": total["useful", "unknown"], "mpi": total["mpi"],
             "mpi_run": total["mpi", "run"], "mpi_wait": total["mpi", "wait"],
             "idle_in_mpi": total["I"], "serial": total["S"], "imbalance": total["L"],
             "scheduling": total["D"]}
    for name, value in named.items():
        assert times[name] == value, (what, name, times[name], value)
    bound = total["useful", "unknown"] * 100 > total["useful"]
    for name, value in want.items():
        if not forked and name.startswith("openmp"):
            value = None
        if bound and name in ("on_cpu_efficiency", "os_efficiency", "blocking_efficiency",
                              "true_parallel_efficiency", "true_load_balance"):
            value = None
        assert near(got["metrics"][name], value), (what, name, got["metrics"][name], value)
        assert (got["metrics"][name] is None) == (name in got["unavailable"]), (what, name)
    for r in got["ranks"]:
        t = r["times"]
        whole = sum(t[n] for n in ("useful", "mpi", "idle_in_mpi", "serial", "imbalance", "scheduling"))
        assert whole == r["team"] * r["window"], (what, "the sum of rank", r)
        assert sum(t["useful_" + n] for n in ("run", "wait", "sleep", "unknown")) == t["useful"], (what, r)


def report(program, trace, *options):
    done = subprocess.run([program, "efficiency", "--json", *options, trace], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def judge(reporter, folder, seed):
    rng = random.Random(seed)
    ranks, nodes, _ = program(rng)
    nodes = min(nodes, len(ranks))
    trace = os.path.join(folder, "trace")
    shutil.rmtree(trace, ignore_errors=True)
    write(trace, ranks, nodes)
    forked = any(w == "+fork" for threads, _, _, _ in ranks for t in threads for _, w in t.places)
    only = {text.split()[0] for threads, _, _, _ in ranks for t in threads for _, _, text in t.events
            if text[0] == "M" and text[1] != "U"} <= {"MAr", "MAR", "MCb", "MCB"}  # MCb is inside another call

    got = report(reporter, trace)
    times = [rank_times(threads, begin, end, Phases(marks))[None] for threads, begin, end, marks in ranks]
    compare("whole %d" % seed, got, times, nodes, forked, True)
    if got["culprits"] is not None:
        assert sum(c["ns"] for c in got["culprits"]) == got["times"]["useful_wait"], \
            (seed, got["culprits"], got["times"])
    star = stars(ranks) if only else None
    assert (got["metrics"]["transfer_estimate"] is None) == (star is None), (seed, got["unavailable"], star)
    if star:
        e = got["window"]
        assert near(got["metrics"]["transfer_estimate"], (e - star[0]) / e), (seed, star)
        assert near(got["metrics"]["os_loss"], star[2] / e), (seed, star, got["metrics"]["os_loss"])
        mpi = got["times"]["mpi"]
        assert near(got["metrics"]["wait_for_last"], star[1] / mpi if mpi else None), (seed, star)

    got = report(reporter, trace, "--phase", "mark:7")
    by_phase = [rank_times(threads, begin, end, Phases(marks)) for threads, begin, end, marks in ranks]
    phases = {p for one in by_phase for p in one if p is not None}
    assert {int(p["value"]) for p in got["phases"]} == phases, (seed, phases)
    for p in got["phases"]:
        mine = []
        for one, (threads, _, _, _) in zip(by_phase, ranks):
            empty = {"units": {}, "window": 0, "I": 0, "S": 0, "L": 0, "D": 0, "team": one[None]["team"]}
            mine.append(one.get(int(p["value"]), empty))
        if max((u["useful"] for o in mine for u in o["units"].values()), default=0):
            compare("mark %s %d" % (p["value"], seed), p, mine, nodes, forked, True)

    every = rng.choice((1000, 1500, 5000))
    first = min(begin for _, begin, _, _ in ranks)
    got = report(reporter, trace, "--every", "%dns" % every)
    by_slice = [rank_times(threads, begin, end, Slices(first, end, every))
                for threads, begin, end, _ in ranks]
    assert sum(p["times"]["useful"] for p in got["phases"]) == got["times"]["useful"], seed
    for p in got["phases"]:
        mine = []
        for one in by_slice:
            empty = {"units": {}, "window": 0, "I": 0, "S": 0, "L": 0, "D": 0, "team": one[None]["team"]}
            mine.append(one.get(int(p["value"]), empty))
        if max((u["useful"] for o in mine for u in o["units"].values()), default=0):
            compare("slice %s %d" % (p["value"], seed), p, mine, nodes, forked, True)
    return forked, bool(star)


def main():
    reporter, folder = sys.argv[1:3]
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    n = int(sys.argv[4]) if len(sys.argv) > 4 else 40
    seen = collections.Counter()
    for seed in range(first, first + n):
        forked, star = judge(reporter, folder, seed)
        seen["forked"] += forked
        seen["stars"] += star
    assert n < 20 or (seen["forked"] and seen["stars"]), seen
    print("%d programs, %d with regions, %d with collectives alone" % (n, seen["forked"], seen["stars"]))


if __name__ == "__main__":
    main()
