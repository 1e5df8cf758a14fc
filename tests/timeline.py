#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
timeline: an emulated trace as text, to see something without Paraver.

    timeline.py [-w COLUMNS] [-s MS] [-l MS] [-n THREADS] TRACE

In: cpu.prv and thread.prv of a trace (ovni-emu), and the names in its stream.json files.
Out: a row for each CPU with the letter of the thread that had most of each column (blank: none
had a fifth of it), a row for each of the busiest threads with its state, and what the letters mean. -s and -l choose
a part: where it starts, how long it is. Colours only on a terminal. (docs/picture.py draws the
same, with what is read here.)
"""
import argparse
import bisect
import json
import os
import re
import sys

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
RUNNING, WARMING = 1, 5
WAKE_UP = 1  # tag of a communication
COLOURS = [32, 36, 33, 35, 34, 31, 92, 96, 93, 95, 94, 91]


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


def thread_names(trace):
    """tid -> its last name and whether it belongs to the system (a kernel thread)."""
    names = {}
    for folder, _, files in os.walk(trace):
        if "stream.json" in files:
            with open(os.path.join(folder, "stream.json"), encoding="utf-8") as f:
                meta = json.load(f)
            bpf, tid = meta.get("bpf", {}), meta["ovni"]["tid"]
            names[tid] = bpf.get("name", f"thread {tid}")
    return names


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


def span(ns):
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.0f} ns"


def main():
    parser = argparse.ArgumentParser(description="An emulated trace as text.")
    parser.add_argument("trace")
    parser.add_argument("-w", dest="width", type=int, default=100, help="columns")
    parser.add_argument("-s", dest="start", type=float, default=0, help="start, ms")
    parser.add_argument("-l", dest="length", type=float, help="length, ms")
    parser.add_argument("-n", dest="threads", type=int, default=8, help="rows of threads")
    args = parser.parse_args()
    colour = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    blocks = "utf" in (sys.stdout.encoding or "").lower()
    run, wait, sleep = "█▒·" if blocks else "#-."

    cpu, thread = View(args.trace, "cpu", {2}), View(args.trace, "thread", {2, 4})
    start = int(args.start * 1e6)
    end = min(cpu.end, start + int(args.length * 1e6)) if args.length else cpu.end
    if not 0 <= start < end:
        sys.exit(f"timeline: the trace is {span(cpu.end)} long; nothing from {span(start)} on")

    busy = {}  # tid -> time on all CPUs in this part
    for row in range(1, len(cpu.names) + 1):
        for begin, stop, tid in cpu.pieces(row, 2, start, end):
            if tid:
                busy[tid] = busy.get(tid, 0) + stop - begin
    order = sorted(busy, key=lambda tid: (-busy[tid], tid))
    letters = {tid: LETTERS[i] if i < len(LETTERS) else "+" for i, tid in enumerate(order)}

    def paint(text, tid):
        if not colour or tid not in letters:
            return text
        return f"\033[{COLOURS[order.index(tid) % len(COLOURS)]}m{text}\033[0m"

    names = thread_names(args.trace)
    margin = max([len(n) for n in cpu.names] + [18])
    print(f"{'':{margin}}  |{span(start):<{args.width // 2}}"
          f"{span(end):>{args.width - args.width // 2}}|   "
          f"one column is {span((end - start) / args.width)}")
    for row, name in enumerate(cpu.names, 1):
        if not any(tid for _, _, tid in cpu.pieces(row, 2, start, end)) and name[0] == "v":
            continue  # nobody was on the virtual CPU
        text = ""
        for column in columns(cpu, row, 2, start, end, args.width):
            tid = max((t for t in column if t), key=column.get, default=0)
            shown = tid and column[tid] >= (end - start) / args.width / 5
            text += paint(letters[tid], tid) if shown else " "
        used = sum(stop - begin for begin, stop, tid in cpu.pieces(row, 2, start, end) if tid)
        print(f"{name:>{margin}}  |{text}| {100 * used / (end - start):3.0f} % busy")

    print()
    rows = {}
    for row in range(1, len(thread.names) + 1):
        rows.setdefault(tid_of(thread.names[row - 1]), row)
    for tid in order[:args.threads]:
        text = ""
        for column in columns(thread, rows[tid], 4, start, end, args.width):
            state = max(column, key=column.get) if column else 0
            text += {RUNNING: run, WARMING: wait}.get(state, sleep if state else " ")
        label = f"{letters[tid]} {names.get(tid, tid)}"
        line = f"{label[-margin:]:>{margin}}  |{text}| {100 * busy[tid] / (end - start):3.0f} %"
        print(paint(line, tid))
    rest = order[args.threads:]
    if rest:
        print(f"{'':{margin}}  and {len(rest)} more: " +
              ", ".join(f"{letters[t]} {names.get(t, t)}" for t in rest[:6]) +
              (", ..." if len(rest) > 6 else ""))
    print(f"{'':{margin}}  {run} running   {wait} runnable, waits for a CPU   {sleep} asleep")


if __name__ == "__main__":
    main()
