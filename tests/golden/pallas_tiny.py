#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the annotated archive of pallas.md 24, without our own writer.

    pallas_tiny.py DIR [KEY=VALUE...]

One thread: THREAD_BEGIN at 1000, three calls of `work`, THREAD_END at 1193. Each KEY=VALUE breaks it:
version, compression, encoding, root, iterations, looped (token), depth (extra levels around),
timestamps (first time of E1), duration (of S1), names, nthreads, location, parent. calls=N makes N calls, all in one sub-array; empty=1 adds a thread without events, with the
bytes that the reference writer writes.
"""
import os
import struct
import sys

U32, U64 = "<I", "<Q"


def u32(*values):
    return b"".join(struct.pack(U32, v & 0xffffffff) for v in values)


def u64(*values):
    return b"".join(struct.pack(U64, v) for v in values)


class Data:
    def __init__(self):
        self.bytes = b""

    def chunk(self, values):
        at = len(self.bytes)
        self.bytes += u64(8 * len(values), *values)
        return at


def times(data, values):
    return u64(len(values), 1, len(values), values[0], values[-1], data.chunk(values))


def durations(data, values):
    stats = [min(values), max(values), sum(values) // len(values)]
    return u64(len(values), 1, *stats, len(values), *stats, data.chunk(values))


def main(top, *pairs):
    o = dict(pair.split("=") for pair in pairs)
    number = lambda key, default: int(o.get(key, default), 0)
    enter, leave = [number("timestamps", "1100"), 1130, 1161], [1110, 1141, 1173]
    empty = number("empty", "0")
    lasts = [number("duration", "10"), 11, 12]
    calls, end = number("calls", "3"), 1193
    if calls != 3:
        enter, lasts = [1100 + 30 * i for i in range(calls)], [5 + i * i % 23 for i in range(calls)]
        leave = [a + b for a, b in zip(enter, lasts)]
        end = leave[-1] + 20
    os.makedirs(top + "/archive_0/thread_0")

    def write(name, data):
        with open(os.path.join(top, name), "wb") as f:
            f.write(data)

    strings = [b"app", b"main", b"work"][:number("names", "3")]
    write("main.pallas", bytes([number("version", "20")])
          + u32(number("compression", "0"), number("encoding", "0")) + u64(5) + u32(2) + u64(100)
          + u32(1) + u64(len(strings))
          + b"".join(u32(i, len(s) + 1) + s + b"\0" for i, s in enumerate(strings))
          + u64(1) + u32(0, 2) + u64(0, 0, 0) + u64(1) + u32(0, 0, -1) + u64(0, 0))
    write("archive_0/archive.pallas", u32(0, number("nthreads", "1")) + u64(0, 0, 0, 0, 0, 0)
          + u64(1 + empty) + u32(number("location", "0"), 1, number("parent", "0")) + u32(1, 1, 0) * empty + u64(0))

    events, sequences = Data(), Data()
    entry = lambda record, payload, at: (u32(record) + bytes([5 + len(payload)]) + payload + u64(0)
                                         + times(events, at))
    levels = number("depth", "0")
    table = (entry(35, b"", [1000]) + entry(2, u32(0), enter) + entry(3, u32(0), leave)
             + entry(37, b"", [end]) + u64(4) + u32(0, 1, 2, 3))
    block = lambda kind, tokens, d, x, s: (u32(kind) + u64(len(tokens)) + u32(*tokens)
                                           + durations(sequences, d) + durations(sequences, x)
                                           + times(sequences, s))
    root_of = 3 + levels - 1 if levels else 2
    table += block(0, [root_of << 2 | 2], [end - 1000], [0], [1000])
    table += block(0, [1 << 2 | 1, 2 << 2 | 1], lasts, lasts, enter)
    table += block(1, [0 << 2 | 1, 0 << 2 | 3, 3 << 2 | 1], [end - 1000], [sum(lasts)], [1000])
    for level in range(levels):
        table += block(1, [(2 + level) << 2 | 2], [end - 1000], [sum(lasts)], [1000])
    table += u64(3 + levels) + u32(*range(3 + levels))
    table += u32(number("looped", "6"), number("iterations", str(calls))) + u64(1) + u64(1) + u32(0)
    write("archive_0/thread_0/thread.pallas",
          u32(0, 0) + u64(4, 3 + levels, 1) + u32(number("root", "0")) + u64(1000) + table)
    write("archive_0/thread_0/event_durations.dat", events.bytes)
    write("archive_0/thread_0/sequence_durations.dat", sequences.bytes)
    if empty:
        os.makedirs(top + "/archive_0/thread_1")
        write("archive_0/thread_1/thread.pallas", u32(1, 0) + u64(0, 1, 0) + u32(0, -1, -1) + u64(0) + u32(0) + u64(0, 1)
              + u32(0) + u64(0))
        for name in "event", "sequence":
            write("archive_0/thread_1/%s_durations.dat" % name, b"")


main(*sys.argv[1:])
