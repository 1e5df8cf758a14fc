#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes an ovni trace of three threads with calls, and the events of its model.

    pallas_calls.py DIR MODEL.json

Marks f1 to f9: loops, loops in loops, calls in no order, recursion (f7 calls f7, also around f6), equal clocks, and calls
that are open at the end. The model: thread -> [[time since the first event, "Enter" or "Leave", region]].
"""
import json
import os
import random
import struct
import sys

ROUNDS = 4000
random.seed(7)


def main(top, out):
    model, start = {}, 1000000
    for tid, name in enumerate(("first", "second", "third"), 1):
        events, clock = [], [start + (tid - 1) * 1000]

        def put(what, region):
            events.append((clock[0], what, region))
            clock[0] += random.choice((0, 0, 1, 10, 100, random.randrange(1, 2000)))

        def call(region, *inner):
            put("Enter", region)
            for step in inner:
                step()
            put("Leave", region)

        leaf = lambda region: lambda: call(region)

        def deep(levels):
            call(7, *([lambda: deep(levels - 1)] if levels else [leaf(6), leaf(6)]))

        put("Enter", 9)
        for i in range(ROUNDS // 40):  # regular
            call(1, *[lambda: call(2, leaf(3), leaf(3)) for _ in range(5)], leaf(4))
            if i % 10 == 0:
                deep(i // 10 % 5)
        for i in range(ROUNDS):  # in no order
            region = random.randrange(1, 7)
            inner = [leaf(random.randrange(1, 7)) for _ in range(random.choice((0, 0, 1, 2)))]
            if i % 500 == 0:
                inner.append(lambda: deep(random.randrange(4)))
            call(region, *inner)
        if tid == 2:
            put("Enter", 8)  # stays open, as f9 does
        else:
            put("Leave", 9)
        path = "%s/loom.n/proc.1/thread.%d" % (top, tid)
        os.makedirs(path)
        meta = {"version": 3, "ovni": {"lib": {"version": "0", "commit": "0"}, "part": "thread", "tid": tid, "pid": 1,
                                       "loom": "n", "app_id": 1, "require": {"ovni": "1.1.0"}, "finished": 1,
                                       "loom_cpus": [{"index": 0, "phyid": 0}],
                                       "mark": {"0": {"title": "F", "chan_type": "stack",
                                                      "labels": {str(v): "f%d" % v for v in range(1, 10)}}}},
                "bpf": {"name": name}}
        json.dump(meta, open(path + "/stream.json", "w"))
        with open(path + "/stream.obs", "wb") as f:
            f.write(b"ovni" + struct.pack("<I", 1))
            for time, what, region in events:
                f.write(bytes((11, 79, 77, ord("[" if what == "Enter" else "]"))) + struct.pack("<qqi", time, region, 0))
        model[name] = [(time - start, what, "f%d" % region) for time, what, region in events]
    json.dump(model, open(out, "w"))


main(*sys.argv[1:])
