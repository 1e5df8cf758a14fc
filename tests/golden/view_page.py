#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
view_page: reads the data of a page of ovni-view back, and compares it with ovni-report.

    view_page.py PAGE BIN TRACE            compares runs, stays and calls of the page with the
                                           reports of BIN/ovni-report, each number of ns
    view_page.py PAGE BIN TRACE FROM TO    the stays between these clocks, cut there

The format is that of docs/spec/view.md 8. A page that does not keep to it raises an error.
"""
import base64
import collections
import csv
import io
import json
import re
import struct
import subprocess
import sys
import zlib

CUT, MOVES = 13, 14
DEAD, RUNNABLE = 10, (6, 7, 12)
GAP, STAY, CALL, GAP_USUAL, RECENT = 16, 32, 64, 1, 120
NONE, STAYED, INTERRUPT, UNKNOWN, LAST, BEFORE, ACTOR, SINCE, MOVED, CREATED = range(10)

Run = collections.namedtuple("Run", "thread cpu begin end why wake latency waker next stays call")
Stay = collections.namedtuple("Stay", "thread use begin end call")  # call: -1 if not known
Call = collections.namedtuple("Call", "thread function depth begin end inner returned")


class Column:
    def __init__(self, data, n):
        """The first bytes of all numbers, then the second bytes of those that have one, ..."""
        self.values, self.at = [0] * n, 0
        left, begin, shift = range(n), 0, 0
        while left:
            for i, byte in zip(left, data[begin:begin + len(left)], strict=True):
                self.values[i] |= (byte & 127) << shift
            left, begin, shift = [i for i, byte in zip(left, data[begin:]) if byte > 127], begin + len(left), shift + 7
        assert begin == len(data), (begin, len(data))

    def number(self):
        self.at += 1
        return self.values[self.at - 1]

    def signed(self):
        value = self.number()
        return value >> 1 ^ -(value & 1)

    def more(self):
        return self.at < len(self.values)


def columns(data, n):
    count, = struct.unpack_from("<I", data)
    assert count == n, (count, n)
    sizes = struct.unpack_from("<%dI" % (2 * n), data, 4)
    at, out = 4 + 8 * n, []
    for size, numbers in zip(sizes[::2], sizes[1::2]):
        out.append(Column(data[at:at + size], numbers))
        at += size
    assert at == len(data)
    return out


def sections(path):
    text = open(path, encoding="utf-8").read()
    for kind, data in re.findall(r'<script type="application/octet-stream" data-kind="(\w+)">([\w+/=]*)</script>', text):
        yield kind, zlib.decompress(base64.b64decode(data, validate=True))


def read_runs(data):
    head, kinds, codes, threads, wakers, nexts, gaps, durations, latencies, calls = columns(data, 10)
    recent_wakers = {}
    while head.more():
        cpu, n, at = head.number(), head.number(), head.number()
        recent, runs = [], []
        for i in range(n):
            kind, code = kinds.number(), codes.number()
            wake, follows = code & 15, code >> 4
            gap = gaps.signed() if kind & GAP else GAP_USUAL if i else 0
            place = threads.number()
            if place < RECENT:
                thread = recent.pop(place)
            else:
                thread = place - RECENT
                del recent[RECENT - 1:]
            recent.insert(0, thread)
            begin = at + gap
            at = begin + durations.number()
            latency = latencies.number() if wake in (INTERRUPT, UNKNOWN, LAST, BEFORE, ACTOR, SINCE, CREATED) else None
            waker = None
            last = recent_wakers.get(thread, (None, None))
            if wake == LAST:
                waker = last[0]
            elif wake == BEFORE:
                waker = last[1]
                recent_wakers[thread] = (last[1], last[0])
            elif wake == ACTOR:
                waker = wakers.number()
                recent_wakers[thread] = (waker, last[0])
            elif wake == CREATED:
                waker = wakers.number()
            assert wake not in (LAST, BEFORE, ACTOR) or waker is not None
            taker = nexts.number() if follows == 3 else ("idle", None, "follows")[follows]
            runs.append(Run(thread, cpu, begin, at, kind & 15, wake, latency, waker, taker, bool(kind & STAY),
                            calls.number() if kind & CALL else None))
        for i, run in enumerate(runs):
            yield run._replace(next=runs[i + 1].thread) if run.next == "follows" else run
    assert not any(c.more() for c in (kinds, codes, threads, wakers, nexts, gaps, durations, latencies, calls))


def read_stays(data):
    threads, uses, begins, durations, calls = columns(data, 5)
    at = 0
    while threads.more():
        at += begins.signed()
        yield Stay(threads.number(), uses.number(), at, at + durations.number(), calls.number() - 1)
    assert not any(c.more() for c in (uses, begins, durations, calls))


def read_calls(data):
    threads, functions, depths, ends, durations = columns(data, 5)
    at = 0
    while threads.more():
        at += ends.signed()
        depth = depths.number()
        yield Call(threads.number(), functions.number(), depth >> 2, at - durations.number(), at, bool(depth & 2),
                   bool(depth & 1))


def read_levels(data):
    """(row, of a CPU, begin, ns of a piece, [{use or thread: share of 127}])"""
    heads, counts, whats, shares = columns(data, 4)
    while heads.more():
        row, begin, width, n = (heads.number() for _ in range(4))
        pieces = [{whats.number(): shares.number() for _ in range(counts.number())} for _ in range(n)]
        yield row // 2, row % 2 == 1, begin, width, pieces
    assert not any(c.more() for c in (counts, whats, shares))


class Page:
    def __init__(self, path):
        self.meta, self.runs, self.stays, self.calls, self.points, self.gaps, self.levels = None, [], [], [], [], [], []
        self.details = [] # (thread, 0 interrupts, 1 owner, 2 stack; clock, value)
        for kind, data in sections(path):
            if kind == "trace":
                self.meta = json.loads(data.decode("utf-8"))
            elif kind == "runs":
                self.runs += read_runs(data)
            elif kind == "levels":
                self.levels += read_levels(data)
            elif kind == "stays":
                self.stays += read_stays(data)
            elif kind == "calls":
                self.calls += read_calls(data)
            elif kind == "points":
                threads, types, ats, lows, highs = columns(data, 5)
                at = 0
                while threads.more():
                    at += ats.signed()
                    value = highs.number() << 32 | lows.number()
                    self.points.append((threads.number(), types.signed(), at, value >> 1 ^ -(value & 1)))
            elif kind == "details":
                threads, kinds, ats, values = columns(data, 4)
                at = 0
                while threads.more():
                    at += ats.signed()
                    self.details.append((threads.number(), kinds.number(), at, values.number()))
            elif kind == "gaps":
                threads, cpus, begins, durations, counts = columns(data, 5)
                while threads.more():
                    begin = begins.number()
                    self.gaps.append((threads.number(), cpus.number() - 1, begin, begin + durations.number(),
                                      counts.number()))
            else:
                raise ValueError("a section of the kind " + kind)
        counts = self.meta["counts"]
        for kind in ("runs", "stays", "calls", "points", "gaps", "details"):
            assert counts[kind] == len(getattr(self, kind)), (kind, counts, len(getattr(self, kind)))
        self.use = {(u["state"], u["reason"]): i for i, u in enumerate(self.meta["uses"])}

    def name(self, actor):
        """As ovni-report names a thread."""
        threads = self.meta["threads"]
        if actor >= len(threads):
            return self.meta["others"][actor - len(threads)]
        thread = threads[actor]
        return "%s (%s)" % (thread["name"], thread["tid"]) if thread["name"] else thread["tid"]

    def all_stays(self):
        """(thread, use, begin, end): the written stays, the runs, and those that follow from runs."""
        yield from (stay[:4] for stay in self.stays)
        by_thread = collections.defaultdict(list)
        for run in self.runs:
            by_thread[run.thread].append(run)
        running, asleep = self.use["running", ""], self.meta["asleep"]
        for thread, runs in by_thread.items():
            runs.sort(key=lambda run: (run.begin, run.end))
            before = open_at = None
            for run in runs:
                if run.wake != MOVED:
                    open_at = run.begin
                if before and run.wake != MOVED and not run.stays and before.why != DEAD:
                    runnable = before.why in RUNNABLE
                    wake = run.begin
                    if run.latency is not None:
                        wake -= run.latency
                    elif run.wake == STAYED or runnable:
                        wake = before.end
                    wake = max(wake, before.end)
                    if wake > before.end:
                        yield thread, asleep + before.why % CUT, before.end, wake
                    if run.begin > wake:
                        cause = {6: ("runnable", "preempted"), 7: ("runnable", "yielded"), 12: ("throttled", "")}
                        yield (thread, self.use[cause.get(before.why, ("runnable", "woken"))], wake, run.begin)
                if run.why != MOVES and run.end > open_at:
                    yield thread, running, open_at, run.end
                before = run
            if before.why == MOVES: # the page ends inside of the interval
                yield thread, running, open_at, before.end


def report(bin_dir, *args):
    done = subprocess.run([bin_dir + "/ovni-report", *args, "--csv"], capture_output=True, check=False)
    assert done.returncode in (0, 3), done  # 3: of a trace with losses
    return list(csv.DictReader(io.StringIO(done.stdout.decode("utf-8"))))


def compare(what, page, truth):
    if page == truth:
        return
    page, truth = collections.Counter(page), collections.Counter(truth)
    sys.exit("%s: only in the page: %s\nonly in the report: %s" % (
        what, list((page - truth).items())[:5], list((truth - page).items())[:5]))


def compare_runs(page, bin_dir, trace):
    mine, before, moving = [], {}, {}
    for run in sorted(page.runs, key=lambda run: (run.begin, run.end)):
        if run.wake == MOVED: # one interval of the report
            first = moving.pop(run.thread)
            run = run._replace(begin=first.begin, wake=first.wake, latency=first.latency, waker=first.waker)
        if run.why == MOVES:
            moving[run.thread] = run
            continue
        wait = None if run.wake == CREATED else run.latency
        if run.wake == STAYED:
            wait = run.begin - before[run.thread].end
        before[run.thread] = run
        waker = page.name(run.waker) if run.waker is not None and run.wake != CREATED else "interrupt" if run.wake == INTERRUPT else ""
        cpu = page.meta["cpus"][run.cpu]["cpu"]
        taker = "unknown" if run.next is None else run.next if run.next == "idle" else page.name(run.next)
        mine.append((run.end, str(cpu) if cpu >= 0 else "", page.name(run.thread), "" if wait is None else str(wait),
                     run.end - run.begin, "running" if run.why == CUT else page.meta["why"][run.why], taker, waker))
    theirs = [(int(r["time"]), r["cpu"], r["thread"], r["wait"], int(r["run"]), r["why"], r["next"],
               r["waker"] if r["wait"] else "") for r in report(bin_dir, "timehist", trace)]
    compare("runs", sorted(mine), sorted(theirs))
    return len(mine)


def compare_stays(page, bin_dir, trace, window=()):
    sums = collections.defaultdict(lambda: [0, 0, 0])
    options = ["--from", str(window[0]), "--to", str(window[1])] if window else []
    calls = {(run.thread, run.end): page.meta["sleep_calls"][run.call] for run in page.runs if run.call is not None}
    calls.update({(stay.thread, stay.begin): page.meta["sleep_calls"][stay.call] if stay.call >= 0 else "" for stay in page.stays})
    for thread, use, begin, end in page.all_stays():
        call = calls.get((thread, begin), "") if page.meta["uses"][use]["state"] in ("asleep", "unknown") else ""
        if window:
            begin, end = (min(max(t + int(page.meta["origin"]), window[0]), window[1]) for t in (begin, end))
        if end <= begin:
            continue
        entry = sums[thread, page.meta["uses"][use]["state"], page.meta["uses"][use]["reason"], call]
        entry[0] += 1
        entry[1] += end - begin
        entry[2] = max(entry[2], end - begin)
    mine = [(page.name(key[0]),) + key[1:] + tuple(entry) for key, entry in sums.items()]
    theirs = [(r["thread"], r["state"], r["reason"], r.get("call", ""), int(r["times"]), int(r["time"]), int(r["max"]))
              for r in report(bin_dir, "why", *options, trace)]
    compare("stays", sorted(mine), sorted(theirs))
    return sum(entry[0] for entry in sums.values())


def compare_calls(page, bin_dir, trace):
    sums = collections.defaultdict(lambda: [0, 0])
    for call in page.calls:
        if not call.returned:
            continue
        function = page.meta["functions"][call.function]
        entry = sums[call.thread, function["label"], function["title"]]
        entry[0] += 1
        entry[1] += 0 if call.inner else call.end - call.begin
    mine = [(page.name(key[0]),) + key[1:] + tuple(entry) for key, entry in sums.items()]
    theirs = [(r["thread"], r["function"], r["type"], int(r["calls"]), int(r["wall"]))
              for r in report(bin_dir, "func", "--by", "thread", trace)]
    compare("calls", sorted(mine), sorted(theirs))
    return len(page.calls)


def pieces_of(stays, begin, width, n):
    """ns of each use in n pieces of the time, from (use, begin, end)."""
    pieces = [collections.Counter() for _ in range(n)]
    for use, start, end in stays:
        for i in range(max(0, (start - begin) // width), min(n, max((end - 1 - begin) // width, (start - begin) // width) + 1)):
            pieces[i][use] += max(1, min(end, begin + (i + 1) * width) - max(start, begin + i * width))
    return pieces


def compare_levels(page):
    """The shares are those of the stays of threads, and of the runs of CPUs, and each time above 0 has a share."""
    threads, cpus = collections.defaultdict(list), collections.defaultdict(list)
    for thread, use, begin, end in page.all_stays():
        threads[thread].append((use, begin, end))
    for run in page.runs:
        cpus[run.cpu].append((run.thread, run.begin, run.end))
    for row, of_cpu, begin, width, pieces in page.levels:
        last = max(end for _, _, end in (cpus if of_cpu else threads)[row])
        truth = pieces_of((cpus if of_cpu else threads)[row], begin, width, len(pieces))
        for i, (mine, want) in enumerate(zip(pieces, truth)):
            where = (row, of_cpu, begin, width, i, len(pieces), mine, want)
            if of_cpu: # the busiest, and all of the busy time
                assert len(mine) == min(1, len(want)), where
                want = {thread: sum(want.values()) for thread in mine}
            assert i + 1 == len(pieces) or set(mine) == set(want), where
            for what, share in mine.items():
                least, most = want[what] * 127 // width - 1, want[what] * 127 // width + 1
                assert 1 <= share <= 127 and (least <= share or i + 1 == len(pieces)) and share <= max(1, most), where
        assert begin + width * (len(pieces) - 1) < last
    return len(page.levels)


def compare_findings(page, bin_dir, trace):
    """The findings and the overview are those of ovni-report, and each place is a stay of the page."""
    done = subprocess.run([bin_dir + "/ovni-report", "--json", trace], capture_output=True, check=False)
    assert done.returncode in (0, 3), done
    truth, mine = json.loads(done.stdout), page.meta["findings"]
    compare("findings", [(f["text"], f["command"], f["cost"]) for f in mine],
            [(f["text"], f["command"], f["cost_ns"]) for f in truth["findings"][:100]])
    compare("efficiency", [page.meta["overview"].get("efficiency")], [truth.get("efficiency")])
    compare("CPUs", [(c["loom"], c["cpu"], c["window"], c["unknown"]) for c in page.meta["overview"]["cpus"]],
            [(c["loom"], c["cpu"], c["window_ns"], c["unknown_ns"]) for c in truth["cpus"]])
    threads = page.meta["overview"]["threads"]
    compare("threads", [(page.meta["threads"][t["thread"]]["tid"], t["run"], t["waited"], t["asleep"], t["runs"]) for t in threads],
            [(str(t["tid"]), t["run_ns"], t["wait_ns"] + t["throttled_ns"], t["asleep_ns"], t["runs"])
             for t in truth["threads"][:len(threads)]])
    assert page.meta["overview"]["notes"] == truth["not_recorded"], page.meta["overview"]
    stays, exact = {(thread, begin, end) for thread, _, begin, end in page.all_stays()}, 0
    for finding in mine:
        exact += finding["exact"]
        assert not finding["exact"] or finding["kind"] == "jitter" or (
            finding["thread"], finding["begin"], finding["end"]) in stays, finding
        assert 0 <= finding["begin"] <= finding["end"] <= page.meta["end"], finding
    return len(mine), exact


def main(path, bin_dir, trace, *window):
    page = Page(path)
    if window:
        print("%d stays agree with ovni-report" % compare_stays(page, bin_dir, trace, [int(t) for t in window]))
        return
    compare_levels(page)
    print("%d runs, %d stays, %d calls, %d findings (%d with a time) agree with ovni-report" % (
        compare_runs(page, bin_dir, trace), compare_stays(page, bin_dir, trace), compare_calls(page, bin_dir, trace),
        *compare_findings(page, bin_dir, trace)))


if __name__ == "__main__":
    main(*sys.argv[1:])
