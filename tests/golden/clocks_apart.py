#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
clocks_apart: a trace of three nodes on one clock, and the same with the clocks that the nodes would have.

    clocks_apart.py DIR SEED     writes DIR/same/t, whose table has no offset, and DIR/apart/t

The clock of b is 1000 s ahead and 50 ppm fast, that of c 1000 s behind, with a drift that changes: it was measured five
times. A corrected clock of DIR/apart/t is, to the ns, that of DIR/same/t: a clock that runs fast has a reading for each ns.
"""
import json
import os
import random
import shutil
import struct
import sys

import tools_make

START, LENGTH, TEN_MINUTES = 5000 * 10**9, 50 * 10**6, 600 * 10**9
BEGIN = 4900 * 10**9


def measured(offset, *pieces):
    """The measurements of a node, its clock and the offset: at BEGIN, and at the end of each piece of that length and
    growth of the offset."""
    points = [(BEGIN - offset, offset)]
    for length, growth in pieces:
        points.append((points[-1][0] + length, points[-1][1] + growth))
    return points


CLOCKS = {"a": measured(0, (TEN_MINUTES, 0)), "b": measured(-1000 * 10**9, (TEN_MINUTES, -30 * 10**6)),
          # c: 99, 900, 0 and 250 ppm fast; the second to fourth measurement are within the trace
          "c": measured(1000 * 10**9, (START - BEGIN + 15 * 10**6, -99 * 10**5), (10 * 10**6, -9000), (15 * 10**6, 0),
                        (TEN_MINUTES, -150 * 10**6))}
SAME = {node: measured(0, (TEN_MINUTES, 0)) for node in "abc"}


def corrected(node, clock):
    """As job.md 4.4 has it."""
    points = CLOCKS[node]
    piece = max([0] + [k for k in range(len(points) - 1) if points[k][0] <= clock])
    (begin, offset), (end, last) = points[piece:piece + 2]
    return clock + offset + (last - offset) * (clock - begin) // (end - begin)


def reading(node, clock):
    """The clock of the node at a time."""
    offset = CLOCKS[node][0][1]
    low, high = clock - offset - 10**9, clock - offset + 10**9
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if corrected(node, middle) < clock else (low, middle)
    assert corrected(node, low) == clock
    return low


def table(nodes):
    lines = ["rank hostname offset_median offset_mean offset_std begin end offset_end bound"]
    for rank, (node, points) in enumerate(nodes.items()):
        (begin, offset), (end, last) = points[0], points[-1]
        lines.append("%d %s %d %d.0 0.0 %d %d %d %d" % (rank, node, offset, offset, begin, end, last, 40 * (rank > 0)))
    return "\n".join(lines) + "\n"


def write_points(trace, nodes):
    """The measurements between the first and the last one."""
    for node, points in nodes.items():
        if len(points) > 2:
            os.makedirs(trace + "/node", exist_ok=True)
            with open("%s/node/%s.json" % (trace, node), "w", encoding="utf-8") as file:
                json.dump({"clock_points": [{"clock": str(c), "offset": str(o), "bound": "40"} for c, o in points[1:-1]]}, file)


def metadata(node, meta):
    """Moves the clocks in the metadata of a stream."""
    bpf = meta["bpf"]
    places = [(one, key) for name in ("fds", "futexes", "renames") for one in bpf.get(name, []) for key in ("from", "to", "clock")]
    if "session" in bpf:
        session = bpf["session"]
        places += [(session, "t0"), (session, "t1")]
        places += [(session["realtime"][end], "clock") for end in ("begin", "end")]
    for one, key in places:
        if key in one:
            one[key] = str(reading(node, int(one[key])))


def move(trace, node):
    for top, _, files in os.walk(os.path.join(trace, "loom." + node)):
        if "stream.obs" not in files:
            continue
        with open(top + "/stream.obs", "rb") as file:
            data = bytearray(file.read())
        at = 8
        while at < len(data):
            size = data[at] & 15
            size = 12 + (size + 1 if size else 0)
            if data[at] & 16:
                size = 16 + struct.unpack_from("<I", data, at + 12)[0]
            struct.pack_into("<q", data, at + 4, reading(node, struct.unpack_from("<q", data, at + 4)[0]))
            at += size
        with open(top + "/stream.obs", "wb") as file:
            file.write(data)
        with open(top + "/stream.json", encoding="utf-8") as file:
            meta = json.load(file)
        metadata(node, meta)
        with open(top + "/stream.json", "w", encoding="utf-8") as file:
            json.dump(meta, file)


def text(value):
    return json.dumps(value, separators=(",", ":")).replace(" ", "_")


def session():
    realtime = {"utc_offset": 3600, "error_ns": 20}
    for end, clock in (("begin", START), ("end", START + LENGTH)):
        realtime[end] = {"clock": str(clock), "ns": str(1790000000 * 10**9 + clock)}
    return {"t0": str(START), "t1": str(START + LENGTH), "lost": "0", "streams": "9", "locks": True, "irq": True,
            "options": ["--why=lock"], "realtime": realtime, "kernel": "6.1", "machine": "x"}


def thread(rnd, node, rank, tid, peers):
    """A rank and its helpers: runs, waits, sleeps in calls, lost times, functions of MPI."""
    rank_meta = " bpf.rank=%d bpf.nranks=3" % rank if tid == 10 + 10 * rank else ""
    fds = [{"fd": 3, "name": "/data/%d" % k, "from": str(START + k * 10**7), "to": str(START + k * 10**7 + 9 * 10**6)}
           for k in range(5)]
    meta = [{"clock": str(START), "name": "first"}] + [{"clock": str(START + k * 10**7), "name": "name %d" % k} for k in (1, 2, 3)]
    lines = ["thread %s %d %d ovni.require.bpf=\"1.0.0\" ovni.require.mpi=\"1.0.0\" bpf.name=\"w%d\" bpf.events=\"0\" bpf.fds=%s "
             "bpf.futexes=%s bpf.renames=%s%s%s" % (
                 node, 10 + 10 * rank, tid, tid, text(fds), text([{"address": "64", "from": str(START), "name": "lock_one"}]),
                 text(meta), rank_meta, " bpf.session=" + text(session()) if rank_meta else "")]
    clock, cpu = START + rnd.randrange(1000), tid % 4
    lines.append("%d OHx i32:%d i32:-1 u64:0" % (clock, cpu))
    mpi = bool(rank_meta)
    if mpi:
        lines += ["%d MUi" % (START + 2000), "%d MUI" % (START + 3000)]
    clock, n = START + 3000, 0
    barriers = [START + 10**7 * k for k in range(1, 5)]
    while clock < START + LENGTH - 10**6:
        clock += rnd.randrange(1000, 400000)
        if mpi and barriers and clock > barriers[0]:
            end = barriers.pop(0) + 10**6
            lines += ["%d MCb" % clock, "%d MCB" % (end + rnd.randrange(1000))]
            clock = end + 2000
            continue
        why, n = rnd.choice((1, 2, 3, 6, 6)), n + 1
        taker = rnd.choice(peers)
        kind = rnd.random()
        if kind < 0.4:
            rest = ""
        elif kind < 0.6 or why == 6:
            rest = " u64:%d" % rnd.randrange(900)  # ns before it, of which the state is not known
        else:
            rest = " u16:0 u64:3" if kind < 0.8 else " u16:202 u64:64"  # read() of a file, a lock
        lines.append("%d OHp u16:%d i32:%d%s" % (clock, why, taker if why == 6 else 0, rest))
        if why != 6:
            clock += rnd.randrange(1000, 300000)
        lines.append("%d OHw i32:%d" % (clock, -1 if why == 6 else rnd.choice(peers)))
        clock += rnd.randrange(1, 100000)
        lines.append("%d OHr" % clock)
    if mpi:
        lines += ["%d MUf" % (START + LENGTH - 9000), "%d MUF" % (START + LENGTH - 8000)]
        clock = max(clock, START + LENGTH - 7000)
    lines.append("%d OHe" % (START + LENGTH))
    return lines


def main():
    top, rnd = sys.argv[1], random.Random(int(sys.argv[2]))
    lines = []
    for rank, node in enumerate("abc"):
        tids = [10 + 10 * rank + k for k in range(3)]
        for tid in tids:
            lines += thread(rnd, node, rank, tid, tids)
    for kind in ("same", "apart"):
        shutil.rmtree(os.path.join(top, kind), ignore_errors=True)
        os.makedirs(os.path.join(top, kind))
        trace = os.path.join(top, kind, "t")
        tools_make.main(trace, tools_make.with_communicators(lines))
        if kind == "apart":
            for node in "bc":
                move(trace, node)
        with open(os.path.join(trace, "clock-offsets.txt"), "w", encoding="utf-8") as file:
            file.write(table(CLOCKS if kind == "apart" else SAME))
        write_points(trace, CLOCKS if kind == "apart" else SAME)


if __name__ == "__main__":
    main()
