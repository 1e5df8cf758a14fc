#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
picture: an emulated trace in, a drawing of it out, without Paraver.

    docs/picture.py [--from MS] [--to MS] [--rows N] TRACEDIR >picture.svg

Draws the CPUs (who runs: event type 2 of cpu.prv) above the threads (their state: type 4 of
thread.prv), the N busiest, with the wake-ups as lines if the trace has them. A column stands
for a piece of time and shows what took most of it, so nothing shorter than a column can be
trusted. (ovni-report timeline does the same as text, from the trace itself.)
"""
import argparse
import bisect
import os
import re
import sys
from collections import defaultdict
from xml.sax.saxutils import escape

RUNNING, WARMING = 1, 5
WAKE_UP = 1  # tag of a communication
PAUSED, COOLING = 2, 4
STATES = {RUNNING: ("Running", "#3cb44b"), WARMING: ("Warming: runnable, waits for a CPU", "#f58230"),
          PAUSED: ("Paused: asleep", "#d9d9d9"), COOLING: ("Cooling", "#aaffc3")}
PALETTE = ["#4363d8", "#911eb4", "#42d4f4", "#f032e6", "#9a6324", "#469990", "#e6194b", "#808000",
           "#000075", "#ffe119", "#800000", "#dcbeff", "#fabed4"]    # none that a state has


class View:
    """One .prv: for each row and event type of interest, times and values from then on."""

    def __init__(self, trace, name, types):
        self.rows = {}
        self.arrows = []  # wake-ups: (row, time, row, time)
        with open(os.path.join(trace, name + ".prv"), encoding="ascii") as f:
            self.end = int(re.search(r"\):(\d+)_ns", f.readline())[1])
            for line in f:
                fields = line.rstrip("\n").split(":")
                if fields[0] == "3" and int(fields[14]) == WAKE_UP:
                    self.arrows.append(tuple(int(fields[i]) for i in (4, 5, 10, 11)))
                if fields[0] != "2":
                    continue
                row, time = int(fields[4]), int(fields[5])
                for kind, value in zip(map(int, fields[6::2]), map(int, fields[7::2])):
                    if kind in types:
                        times, values = self.rows.setdefault((row, kind), ([], []))
                        times.append(time)
                        values.append(value)
        with open(os.path.join(trace, name + ".row"), encoding="utf-8") as f:
            lines = [line.rstrip("\n") for line in f]
        at = next(i for i, line in enumerate(lines) if line.startswith("LEVEL THREAD"))
        self.names = [name.strip() for name in lines[at + 1:]]

    def pieces(self, row, kind, start, end):
        """The values of a row within [start, end): (from, to, value)."""
        times, values = self.rows.get((row, kind), ([], []))
        i = max(bisect.bisect_right(times, start) - 1, 0)
        for i in range(i, len(times)):
            begin = max(times[i], start)
            stop = min(times[i + 1] if i + 1 < len(times) else end, end)
            if begin >= end:
                break
            if stop > begin:
                yield begin, stop, values[i]


def tid_of(name):
    """The tid in the name of a thread's row: "TH 1.TID", or "name (TID)"."""
    return int(re.search(r"(\d+)\)?$", name)[1])


def columns(view, row, kind, start, end, width):
    """For each column: value -> time that the row had it."""
    result = [{} for _ in range(width)]
    step = (end - start) / width
    for begin, stop, value in view.pieces(row, kind, start, end):
        at = int((begin - start) / step)
        while at < width and begin < stop:
            edge = min(stop, start + (at + 1) * step)
            result[at][value] = result[at].get(value, 0) + edge - begin
            begin, at = edge, at + 1
    return result


class Rows:
    """The rows of one event type of a .prv, from 0."""

    def __init__(self, folder, view, kind):
        self.view, self.kind = View(folder, view, {kind}), kind
        self.names, self.end = self.view.names, self.view.end

    def intervals(self, row, begin, end):
        """What lies within [begin, end): (begin, end, value), value never 0."""
        return [piece for piece in self.view.pieces(row + 1, self.kind, begin, end) if piece[2]]

    def dominant(self, row, begin, end, n):
        """For each of n columns of [begin, end): the value that has most of it, or 0."""
        step = (end - begin) / n
        for column in columns(self.view, row + 1, self.kind, begin, end, n):
            column.pop(0, None)
            yield max(column, key=column.get) if sum(column.values()) >= 0.05 * step else 0


def runs(values):
    """[a, a, b] -> (0, 2, a), (2, 3, b)"""
    begin = 0
    for i in range(1, len(values) + 1):
        if i == len(values) or values[i] != values[begin]:
            yield begin, i, values[begin]
            begin = i


class Picture:
    def __init__(self, options):
        self.threads = Rows(options.trace, "thread", 4)
        self.cpus = Rows(options.trace, "cpu", 2)
        self.begin = options.begin * 1e6
        self.end = min(options.end * 1e6 if options.end else self.threads.end, self.threads.end)
        if self.begin >= self.end:
            sys.exit("nothing lies between --from and --to")
        work = {}
        for row in range(len(self.threads.names)):
            work[row] = sum(e - b for b, e, value in
                            self.threads.intervals(row, self.begin, self.end)
                            if value in (RUNNING, WARMING))
        busiest = sorted(work, key=work.get, reverse=True)[:options.rows]
        self.rows = sorted(row for row in busiest if work[row] > 0)
        self.cpu_rows = [row for row in range(len(self.cpus.names))
                         if self.cpus.intervals(row, 0, self.cpus.end)]
        self.name_of = {tid_of(name): name for name in self.threads.names}
        spent = defaultdict(float)
        for row in self.cpu_rows:
            for first, last, value in self.cpus.intervals(row, self.begin, self.end):
                spent[value] += last - first
        self.order = sorted(spent, key=lambda t: -spent[t])

    def label(self, row):
        return self.threads.names[row]

    def span(self):
        return "%g ms to %g ms" % (self.begin / 1e6, round(self.end / 1e6, 3))

    def svg(self, width=960, left=150, high=16, gap=4):
        plot = width - left - 10
        out, y = [], 26

        def text(x, y_, words, anchor="start", size=11):
            out.append('<text x="%d" y="%d" text-anchor="%s" font-size="%d">%s</text>' %
                       (x, y_, anchor, size, escape(words)))

        def bar(x0, x1, y_, colour, title):
            out.append('<rect x="%d" y="%d" width="%d" height="%d" fill="%s"><title>%s</title>'
                       '</rect>' % (left + x0, y_, x1 - x0, high, colour, escape(title)))

        def x_of(time):
            return left + (time - self.begin) / (self.end - self.begin) * plot

        colour = {tid: PALETTE[i % len(PALETTE)] for i, tid in enumerate(self.order)}
        text(left, 14, "who runs on each CPU, and the state of each thread, from " + self.span())
        for row in self.cpu_rows:
            text(left - 16, y + 12, self.cpus.names[row].strip(), "end")
            values = list(self.cpus.dominant(row, self.begin, self.end, plot))
            for first, last, tid in runs(values):
                if tid:
                    bar(first, last, y, colour[tid], self.name_of.get(tid, str(tid)))
            y += high + gap
        y += 10
        place = {}
        for row in self.rows:
            place[row] = y
            tid = tid_of(self.label(row))
            text(left - 16, y + 12, self.label(row), "end")
            if tid in colour:
                out.append('<rect x="%d" y="%d" width="8" height="%d" fill="%s"/>' %
                           (left - 12, y, high, colour[tid]))
            values = list(self.threads.dominant(row, self.begin, self.end, plot))
            for first, last, state in runs(values):
                if state in STATES:
                    bar(first, last, y, STATES[state][1], STATES[state][0])
            y += high + gap
        shown = [(source - 1, sent, target - 1, received)
                 for source, sent, target, received in self.threads.view.arrows
                 if source - 1 in place and target - 1 in place
                 and self.begin <= sent and received < self.end]
        if len(shown) <= 400:
            for source, sent, target, received in shown:
                out.append('<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="#333" '
                           'stroke-width="0.6"/>' % (x_of(sent), place[source] + high // 2,
                                                     x_of(received), place[target] + high // 2))
        y += 8
        x = left
        for state in (RUNNING, WARMING, PAUSED):
            name, fill = STATES[state]
            out.append('<rect x="%d" y="%d" width="12" height="12" fill="%s"/>' % (x, y, fill))
            text(x + 16, y + 10, name)
            x += 36 + 6 * len(name)
        if shown and len(shown) <= 400:
            text(x, y + 10, "lines: wake-ups")
        y += 24
        return ('<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" '
                'font-family="sans-serif">\n<rect width="100%%" height="100%%" fill="white"/>\n%s\n'
                "</svg>\n" % (width, y, width, y, "\n".join(out)))


def main():
    parser = argparse.ArgumentParser(description="draws an emulated trace")
    parser.add_argument("--from", dest="begin", type=float, default=0.0, metavar="MS")
    parser.add_argument("--to", dest="end", type=float, default=None, metavar="MS")
    parser.add_argument("--rows", type=int, default=12, help="threads shown, the busiest")
    parser.add_argument("trace")
    options = parser.parse_args()
    sys.stdout.write(Picture(options).svg())


if __name__ == "__main__":
    main()
