#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
critical_linear: the critical path of two threads that wake each other again and again.

    critical_linear.py OVNI-REPORT DIR

In: traces of 83,000 and of 166,000 rounds (a million events); checked: each wake-up is a hop, the segments add up to
the path, and the CPU time of ovni-report is linear, and below 2 s for the million.
"""
import json
import os
import re
import resource
import struct
import subprocess
import sys

import tools_make

ROUND = 1000  # ns


def event(mcv, clock, layout="", *values):
    data = struct.pack("<" + layout, *values)
    return struct.pack("<B3sq", len(data) - 1 if data else 0, mcv, clock) + data


def write(trace, rounds):
    """Thread 1 runs in the first half of each round, and then wakes 2, which runs in the second half."""
    tools_make.main(trace, ["thread n 1 %d" % tid for tid in (1, 2)])
    for tid in (1, 2):
        other, out = 3 - tid, []
        begin = ROUND // 2 * (tid - 1)
        out.append(event(b"OHx", 0, "iiQ", tid - 1, -1, 0))
        if tid == 2:
            out.append(event(b"OHp", 1, "Hi", 1, 0))
            out.append(event(b"OHw", begin - 1, "i", 1))
            out.append(event(b"OHr", begin))
        for i in range(rounds - 1):
            clock = i * ROUND + begin + ROUND // 2
            out.append(event(b"OHp", clock, "Hi", 1, 0))
            out.append(event(b"OHw", clock + ROUND // 2 - 1, "i", other))
            out.append(event(b"OHr", clock + ROUND // 2))
        out.append(event(b"OHe", (rounds - 1) * ROUND + begin + ROUND // 2))
        with open(os.path.join(trace, "loom.n/proc.1/thread.%d/stream.obs" % tid), "ab") as file:
            file.write(b"".join(out))


def measure(program, trace, rounds):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    said = subprocess.run([program, "critical", "--sum", "--tid", "2", trace], stdout=subprocess.PIPE, check=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    hops = int(re.search(rb", with (\d+) hops", said).group(1))
    if hops != 2 * rounds - 1:
        sys.exit("%d rounds: %d hops" % (rounds, hops))
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(program, folder):
    seconds = []
    for rounds in (83000, 166000):
        trace = os.path.join(folder, "turns%d" % rounds)
        write(trace, rounds)
        said = subprocess.run([program, "critical", "--sum", "--json", "--tid", "2", trace], stdout=subprocess.PIPE, check=True)
        total = sum(row["time"] for row in json.loads(said.stdout))
        if total != rounds * ROUND:
            sys.exit("%d rounds: the segments have %d ns" % (rounds, total))
        # other work on the machine makes a run longer, never shorter
        seconds.append(min(measure(program, trace, rounds) for _ in range(3)))
    print("83,000 rounds: %.2f s, 166,000 rounds: %.2f s" % tuple(seconds))
    sys.exit(not (seconds[1] < 3 * seconds[0] + 0.1 and seconds[1] < 2))


if __name__ == "__main__":
    main(*sys.argv[1:])
