#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
efficiency_make: the worked examples of efficiency.md 5, as traces.

    efficiency_make.py DIR      writes DIR/A, DIR/B, DIR/C and DIR/D

Clocks are 10^12 ns + 1000 times the number of the example. `comm`: the communicator of collectives, if they have one.
"""
import os
import sys

import tools_make

ZERO = 10**12


def short(text, cpu=0):
    """Events as in efficiency.md: `110 OHp 6,99`, `0 OHx`, `110.001 OHx 0`."""
    lines = []
    for one in text.replace("\n", " ").split("`"):
        words = one.split()
        if len(words) < 2:
            continue
        clock, mcv, args = ZERO + round(float(words[0]) * 1000), words[1], words[2:]
        payload = ""
        if mcv == "OHx":
            payload = "i32:%s" % (args[0] if args else cpu)
        elif mcv == "OHp":
            why, taker, *unknown = args[0].split(",")  # for so many us before it, the state is not known
            payload = "u16:%s i32:%s" % (why, taker) + "".join(" u64:%d" % (1000 * int(us)) for us in unknown)
        elif mcv in ("OHw", "OAs"):
            payload = "i32:%s" % args[0]
        elif mcv in ("OM[", "OM]"):
            payload = "i64:%s i32:%s" % tuple(args[0].split(","))
        lines.append("%d %s %s" % (clock, mcv, payload))
    return lines


def thread(loom, pid, tid, text, cpu=0, rank=None, nranks=None, meta="", comm=0):
    models = {"O": "", "M": "ovni.require.mpi=\"1.0.0\" ", "P": "ovni.require.openmp=\"1.2.1\" "}
    used = "".join(models[m] for m in models if any(" %s" % m in one[1:] and one.split()[1][0] == m
                                                    for one in text.split("`") if len(one.split()) > 1))
    if rank is not None:
        meta += " bpf.rank=%d bpf.nranks=%d" % (rank, nranks)
    lines = ["thread %s %d %d ovni.require.bpf=\"1.0.0\" %s%s" % (loom, pid, tid, used, meta)] + short(text, cpu)
    return tools_make.with_communicators(lines, lambda: comm) if comm else lines


def example_a():
    lines = []
    for rank, useful in enumerate((800, 600, 400, 200)):
        lines += thread("ab"[rank // 2], 10 + rank, 10 + rank,
                        "`0 OHx`, `1 MUi`, `10 MUI`, `%d MAr`, `1010 MAR`, `1010 MUf`, `1020 MUF`, `1030 OHe`"
                        % (10 + useful), rank % 2, rank, 4)
    return lines


def example_b():
    r0 = """`0 OHx`, `1 MUi`, `10 MUI`, `110 OHp 6,99`, `110 OHw -1`, `210 OHr`, `410 OHp 3,0`, `460 OHw -2`,
            `460 OHr`, `810 MAr`, `1010 MAR`, `1010 MUf`, `1020 MUF`, `1030 OHe`"""
    r1 = """`0 OHx`, `1 MUi`, `10 MUI`, `810 MAr`, `811 OHp 1,0`, `1009 OHw 10`, `1009 OHr`, `1010 MAR`,
            `1010 MUf`, `1020 MUF`, `1030 OHe`"""
    noise = "`110.001 OHx 0`, `209.999 OHp 1,10`, `1029 OHw -2`, `1029 OAs -1`, `1029 OHr`, `1030 OHe`"
    return thread("a", 10, 10, r0, 0, 0, 2) + thread("a", 11, 11, r1, 1, 1, 2) + \
        thread("a", 99, 99, noise, meta='bpf.name="noise"')


def example_c():
    lines = []
    for rank, (x, y) in enumerate(((710, 610), (810, 810))):
        lines += thread("ab"[rank], 10, 10, """`0 OHx`, `1 MUi`, `10 MUI`, `210 PCf`, `210 PMu`, `%d PMU`,
            `810 PCF`, `910 MAr`, `1010 MAR`, `1010 MUf`, `1020 MUF`, `1030 OHe`""" % x, 0, rank, 2)
        lines += thread("ab"[rank], 10, 11, """`5 OHx`, `6 OHp 1,0`, `210 OHw 10`, `210 OHr`, `210 PMu`,
            `%d PMU`, `%d OHp 1,0`, `1021 OHw 10`, `1021 OHr`, `1022 OHe`""" % (y, y), 1)
    return lines


def example_d(marks=False):
    lines = []
    for rank, (p, q, out) in enumerate(((400, 300, "`100 OHp 6,-1`, `100 OHw -1`, `200 OHr`"),
                                        (300, 450, "`500 OHp 6,-1`, `500 OHw -1`, `550 OHr`"))):
        one = "`%d MAr`, `420 MAR`" % (10 + p)
        two = "`%d MAr`, `880 MAR`" % (420 + q)
        begin, end = (("`%d OM[ %d,7`", "`%d OM] %d,7`") if marks else ("", ""))
        text = "`0 OHx`, `1 MUi`, `10 MUI`, " + (begin % (10, 5) if marks else "")
        text += out + "," + one if rank == 0 else one
        text += (end % (420, 5) + begin % (420, 6) if marks else "")
        text += two if rank == 0 else out + "," + two
        text += (end % (880, 6) if marks else "") + "`880 MUf`, `890 MUF`, `900 OHe`"
        lines += thread("a", 10 + rank, 10 + rank, text, rank, rank, 2,
                        'ovni.mark.7={"title":"Step","chan_type":"stack","labels":{"5":"first","6":"second"}}'
                        if marks else "")
    return lines


EXAMPLES = {"A": example_a, "B": example_b, "C": example_c, "D": example_d,
            "marks": lambda: example_d(True)}

if __name__ == "__main__":
    for name, make in EXAMPLES.items():
        tools_make.main(os.path.join(sys.argv[1], name), make())
