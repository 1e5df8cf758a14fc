# SPDX-License-Identifier: MIT
"""wakeups: holds what two recorders told of the same wake-ups together.

usage: wakeups.py SCHEDULER TRACEPOINT

Two traces of the same processes at the same time, by the clocks of --wakeup-clock. Each stay on a
CPU that both tell must have come from a wake-up in both, or in neither. The scheduler's clock is
that of the queue, which is between sched_waking and sched_wakeup: it may be earlier by what an
interrupt to another CPU takes, or later by what a thread takes to be moved while it waits, seldom.
"""
import bisect
import json
import os
import subprocess
import sys

SAME_STAY = 30000  # ns; the programs of both recorders see a switch one after the other
NEAR = 20000  # ns; the median is, all but one in FEW are
FEW = 20


def stays(trace):
    """By stream: clocks of a stay's begin, of the wake-up before it or None, of the last end."""
    dump = subprocess.run([os.path.join(os.environ["B"], "bin", "ovni-dump"), "-j", "--mcv", "OH*", trace],
                          check=True, capture_output=True, text=True).stdout
    found, last = {}, {}
    for event in map(json.loads, dump.splitlines()):
        of, clock = event["stream"], int(event["clock"])
        paused, woken = last.get(of, (None, None))
        if event["mcv"] == "OHp":
            last[of] = clock, None
        elif event["mcv"] == "OHw":
            last[of] = paused, clock
        elif event["mcv"] == "OHr" and paused:
            found.setdefault(of, []).append((clock, woken, paused))
    return found


def main():
    queue, program = stays(sys.argv[1]), stays(sys.argv[2])
    apart, alone = [], []
    for stream in queue.keys() & program.keys():
        begins = [stay[0] for stay in program[stream]]
        for begin, woken, paused in queue[stream]:
            after = bisect.bisect(begins, begin)
            i = min((i for i in (after - 1, after) if 0 <= i < len(begins)), key=lambda i: abs(begins[i] - begin))
            if abs(begins[i] - begin) > SAME_STAY:
                continue
            _, also_woken, also_paused = program[stream][i]
            if abs(paused - also_paused) > SAME_STAY:
                continue  # one window began in between
            if (woken is None) != (also_woken is None):
                alone.append((stream, begin, woken, also_woken))
            elif woken is not None:
                apart.append(woken - also_woken)
    apart.sort()
    if len(apart) < 100:
        sys.exit(f"only {len(apart)} wake-ups are in both")
    far = sum(abs(ns) > NEAR for ns in apart)
    print(f"{len(apart)} wake-ups: apart by {apart[0]} to {apart[-1]} ns, median {apart[len(apart) // 2]}, "
          f"{far} by more than {NEAR}")
    for stream, begin, woken, also_woken in alone[:5]:
        print(f"{stream}: at {begin} woken at {woken}, or at {also_woken}")
    if alone or far > len(apart) // FEW or abs(apart[len(apart) // 2]) > NEAR:
        sys.exit(f"the clocks do not agree; {len(alone)} wake-ups are in one alone")


main()
