#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
loom_make: small Loom runs that reach corners of the import, with the states that they have.

    loom_make.py DIR

Writes NAME.trace.bin, NAME.states (what loom_states.py must print) and, where they are needed,
NAME.options; and files that must be refused. States were worked out by hand from loom.md 4.3, 9.3.
"""
import json
import os
import struct
import sys

FIRE, STALL_IN, STALL_OUT, ROUTE, CONFIG, START, DONE, ERROR = range(8)
BIG = 2 ** 63 + 5


def rec(cycle, kind, node=0, core=0, epoch=1, inv=1, lane=0, arg0=0, arg1=0):
    return struct.pack("<QIQHIBBHII", cycle, epoch, inv, core, node, kind, lane, 0, arg0, arg1)


def ltrc(records, count=None):
    return (b"LTRC" + struct.pack("<IQ", 1, len(records) if count is None else count) +
            b"".join(records))


def span(cycle, kind, node, length, **more):
    return rec(cycle, kind, node, arg0=length & 0xffffffff, arg1=length >> 32, **more)


# name: (records, invocations, states, options, statistics)
RUNS = {
    # of several records of one cycle the highest counts; nothing between two fires is one fire
    "ranks": (
        [rec(0, START), rec(0, STALL_IN, 1), rec(0, STALL_OUT, 1), rec(1, STALL_OUT, 1),
         rec(1, ROUTE, 1), rec(2, ROUTE, 1), rec(2, FIRE, 1), rec(3, FIRE, 1), rec(4, FIRE, 1),
         rec(4, ERROR, 1, arg0=262), rec(6, DONE)],
        ["0 0 6 1 1"],
        ["0 1 0 1 stall_out", "0 1 1 2 route", "0 1 2 4 fire", "0 1 4 6 error"], "", None),
    # a core without start and end of its own takes those of another one
    "shared": (
        [rec(2, START), rec(3, FIRE, 1), rec(3, FIRE, 1, core=4), rec(6, DONE)],
        ["0 2 6 1 1", "4 2 6 1 1"],
        ["0 1 2 3 idle", "0 1 3 4 fire", "0 1 4 6 idle", "4 1 2 3 idle", "4 1 3 4 fire",
         "4 1 4 6 idle"], "", None),
    # one invocation ends in the cycle in which the next begins, under the same id
    "adjacent": (
        [rec(0, START), rec(0, FIRE, 1), rec(2, DONE), rec(2, CONFIG, epoch=2),
         rec(2, START, epoch=2), rec(3, FIRE, 1, epoch=2), rec(4, DONE, epoch=2)],
        ["0 0 2 1 1", "0 2 4 2 1"],
        ["0 1 0 1 fire", "0 1 1 3 idle", "0 1 3 4 fire"], "", None),
    # nodes that are in the statistics alone are idle; node 0 of an error is the core
    "idle": (
        [rec(1, START), rec(2, ERROR, arg0=1)],
        ["0 1 3 1 1"], ["0 7 1 3 idle"], "",
        {"schema": "loom-perf", "version": 1, "clock": {"period_ps": 2500},
         "snapshots": [{"core_id": 0, "hw_node_id": 7}]}),
    # the cycles start anew, once after an end, once without one
    "parts": (
        [rec(1, START), rec(4, FIRE, 1), rec(5, DONE), rec(0, START, epoch=2),
         rec(2, FIRE, 1, epoch=2), rec(1, START, epoch=3), rec(2, FIRE, 1, epoch=3),
         rec(3, DONE, epoch=3)],
        ["0 1 5 1 1", "0 5 8 2 1", "0 9 11 3 1"],
        ["0 1 1 4 idle", "0 1 4 5 fire", "0 1 5 7 idle", "0 1 7 8 fire", "0 1 9 10 idle",
         "0 1 10 11 fire"], "", None),
    "edge": (
        [rec(0, START), rec(2, FIRE, 1), rec(5, STALL_IN, 1), rec(5, ROUTE, 2, arg0=3),
         rec(8, FIRE, 2), rec(10, DONE)],
        ["0 0 10 1 1"],
        ["0 1 0 2 idle", "0 1 2 5 fire", "0 1 5 10 stall_in", "0 2 0 5 idle", "0 2 5 8 route",
         "0 2 8 10 fire"], "--style edge", None),
    # spans: a route shows where it outranks a lasting state; the statistics have the style
    "spans": (
        [rec(0, START), span(0, STALL_OUT, 1, 3), span(3, FIRE, 1, 4), rec(4, ROUTE, 1),
         span(7, STALL_IN, 1, 2 ** 33), rec(9, ROUTE, 1), rec(2 ** 33 + 7, DONE)],
        ["0 0 8589934599 1 1"],
        ["0 1 0 3 stall_out", "0 1 3 7 fire", "0 1 7 9 stall_in", "0 1 9 10 route",
         "0 1 10 8589934599 stall_in"], "",
        {"schema": "loom-perf", "version": 1, "record_style": "span"}),
    # ids beyond the mark: numbered, and the label has the id
    "large": (
        [rec(0, START, inv=BIG), rec(0, FIRE, 1, inv=BIG), rec(1, DONE, inv=BIG),
         rec(2, START, inv=3), rec(2, FIRE, 1, inv=3), rec(3, DONE, inv=3)],
        ["0 0 1 1 %d" % BIG, "0 2 3 1 3"], ["0 1 0 1 fire", "0 1 2 3 fire"], "", None),
    # a period that is no whole number of nanoseconds, and one that makes the clock run out
    "period": (
        [rec(0, START), rec(1, FIRE, 1), rec(2, FIRE, 1), rec(7, FIRE, 1), rec(9, DONE)],
        ["0 0 9 1 1"],
        ["0 1 0 1 idle", "0 1 1 3 fire", "0 1 3 7 idle", "0 1 7 8 fire", "0 1 8 9 idle"],
        "--clock-period 1.333ns --base 5s", None),
    "frequency": (
        [rec(0, START), rec(1, FIRE, 1), rec(2, DONE)],
        ["0 0 2 1 1"], ["0 1 0 1 idle", "0 1 1 2 fire"], "--clock-freq 300MHz", None),
    # thread ids do not fit the readable numbers
    "wide": (
        [rec(0, START), rec(0, START, core=65535), rec(0, FIRE, 4294967295, core=65535),
         rec(1, FIRE, 0), rec(2, DONE), rec(2, DONE, core=65535)],
        ["0 0 2 1 1", "65535 0 2 1 1"],
        ["0 0 0 1 idle", "0 0 1 2 fire", "65535 4294967295 0 1 fire",
         "65535 4294967295 1 2 idle"], "", None),
    # two outputs of a switch, from the inputs 6 to 8
    "lanes": (
        [rec(1, START), rec(2, ROUTE, 1, arg0=7), rec(3, ROUTE, 1, arg0=7),
         rec(3, ROUTE, 1, lane=2, arg0=8), rec(5, ROUTE, 1, lane=2, arg0=6),
         rec(5, ROUTE, 1, arg0=7), rec(7, DONE)],
        ["0 1 7 1 1"],
        ["0 1 1 2 idle", "0 1 2 4 route", "0 1 4 5 idle", "0 1 5 6 route", "0 1 6 7 idle"], "",
        None),
    # records were dropped, and that is declared: all there is becomes a trace, with status 3
    "dropped": (
        [rec(0, START), rec(1, FIRE, 1), rec(4, DONE)],
        ["0 0 4 1 1"], ["0 1 0 1 idle", "0 1 1 2 fire", "0 1 2 4 idle"], "",
        {"schema": "loom-perf", "version": 1, "snapshots": [],
         "events": {"seen": 5, "written": 3, "filtered": 0, "sampled_out": 0, "dropped": 2}}),
    "empty": ([], [], [], "", None),
}

OTHERS = {
    "far.bin": ltrc([rec(0, START), rec(2 ** 63 - 1, FIRE, 1)]),
    "last.bin": ltrc([rec(0, START), rec(2 ** 64 - 1, FIRE, 1)]),
    "reach.bin": ltrc([rec(0, START), span(0, FIRE, 1, 2 ** 62)]),
    "clock.trace.bin": ltrc([rec(0, START), rec(1, FIRE, 1), rec(2, DONE)]),
    "clock.perf.json": b'{"schema": "loom-perf", "version": 1, "clock": {"period_ps": 1.5}, "snapshots": []}',
    "broken.trace.bin": ltrc([rec(0, START), rec(1, FIRE, 1), rec(2, DONE)]),
    "broken.perf.json": b'{"schema": "loom-perf", "version": 1,',
    "back.bin": ltrc([rec(0, START), rec(5, FIRE, 1), rec(3, FIRE, 1)]),
    "cut.bin": ltrc([rec(0, START), rec(1, FIRE, 1), rec(2, DONE)])[:-10],
    "summary.perf.json": json.dumps({"schema": "loom-perf", "version": 1, "mode": "summary",
                                     "snapshots": []}).encode(),
}


def main(top):
    os.makedirs(top)
    for name, (records, invocations, states, options, statistics) in RUNS.items():
        with open(os.path.join(top, name + ".trace.bin"), "wb") as file:
            file.write(ltrc(records))
        with open(os.path.join(top, name + ".states"), "w", encoding="utf-8") as file:
            file.write("invocations: core begin end epoch invocation\n")
            file.writelines("  %s\n" % line for line in invocations)
            file.write("node states: core node begin end state (cycles, end exclusive)\n")
            file.writelines("  %s\n" % line for line in states)
        if options:
            with open(os.path.join(top, name + ".options"), "w", encoding="utf-8") as file:
                file.write(options + "\n")
        if statistics:
            with open(os.path.join(top, name + ".perf.json"), "w", encoding="utf-8") as file:
                json.dump(statistics, file)
    for name, data in OTHERS.items():
        with open(os.path.join(top, name), "wb") as file:
            file.write(data)


if __name__ == "__main__":
    main(sys.argv[1])
