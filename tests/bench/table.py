#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
table: the results of record.sh as tables.

In: lines "LOAD TRACER ROUND VALUE BYTES LOST"; out: per load the median of each tracer, and what
it adds to (ping-pong, ns) or leaves of (sysbench, share) the run without a tracer of the
same round; whether the targets of the project are met.
"""
import statistics
import sys

LIMIT_NS, SPREAD, LIMIT_LEFT = 400, 1.05, 0.70
OURS = ("none", "ours", "summary", "flight")  # the others are peers

results = {}
for line in open(sys.argv[1], encoding="ascii"):
    load, tracer, turn, value, size, lost = line.split()
    if float(value) <= 0:
        sys.exit(f"bench: {load} with {tracer} gave no result in round {turn}")
    results.setdefault(load, {}).setdefault(tracer, []).append(
        (float(value), int(size), int(lost)))

median = statistics.median
targets = []


def middle(values):
    """The median and half the distance between the outer values."""
    return median(values), (max(values) - min(values)) / 2


if "pingpong" in results:
    runs = results["pingpong"]
    base = [v for v, _, _ in runs["none"]] if "none" in runs else None
    print("pinned ping-pong, ns per switch")
    print(f"  {'tracer':<18}{'ns':>8}{'added':>9}{'+-':>7}{'ratio':>8}{'MB':>9}{'lost':>10}")
    added = {}
    for tracer, values in runs.items():
        if base and tracer != "none":
            added[tracer] = [v - b for (v, _, _), b in zip(values, base)]
    ours = median(added["ours"]) if "ours" in added else None
    for tracer, values in runs.items():
        text = f"  {tracer:<18}{median(v for v, _, _ in values):>8.0f}"
        if tracer in added:
            mid, spread = middle(added[tracer])
            text += f"{mid:>9.0f}{spread:>7.0f}"
            text += f"{mid / ours:>8.2f}" if ours else f"{'':>8}"
            text += f"{median(s for _, s, _ in values) / 1e6:>9.1f}"
            text += f"{max(n for _, _, n in values):>10}"
        print(text)
    if ours is not None:
        if "summary" in added:
            ratio = median(s / o for s, o in zip(added["summary"], added["ours"]) if o > 0)
            print(f"summary mode adds {ratio:.2f} of what full mode adds")
        peers = {t: median(a) for t, a in added.items() if t not in OURS}
        targets.append((f"adds {ours:.0f} ns to a switch, at most {LIMIT_NS} wanted (within 5 %)",
                        ours <= LIMIT_NS * SPREAD))
        if peers:
            best = min(peers, key=peers.get)
            targets.append((f"adds less than the best peer ({best}: {peers[best]:.0f} ns)",
                            ours < peers[best]))
    print()

if "sysbench" in results:
    runs = results["sysbench"]
    base = [v for v, _, _ in runs["none"]] if "none" in runs else None
    print("sysbench threads --threads=4, work left")
    print(f"  {'tracer':<18}{'events/s':>10}{'left':>8}{'+-':>7}{'MB':>9}{'lost':>10}")
    left = {}
    for tracer, values in runs.items():
        text = f"  {tracer:<18}{median(v for v, _, _ in values):>10.0f}"
        if base:
            left[tracer] = [v / b for (v, _, _), b in zip(values, base)]
            mid, spread = middle(left[tracer])
            text += f"{mid:>8.3f}{spread:>7.3f}"
        if tracer != "none":
            text += f"{median(s for _, s, _ in values) / 1e6:>9.1f}"
            text += f"{max(n for _, _, n in values):>10}"
        print(text)
    if "ours" in left:
        ours = median(left["ours"])
        peers = {t: median(a) for t, a in left.items() if t not in OURS}
        targets.append((f"leaves {ours:.3f} of the work, at least {LIMIT_LEFT:.2f} wanted",
                        ours >= LIMIT_LEFT))
        if peers:
            best = max(peers, key=peers.get)
            targets.append((f"leaves more than the best peer ({best}: {peers[best]:.3f})",
                            ours > peers[best]))
    print()

for text, met in targets:
    print(f"  {'met   ' if met else 'MISSED'}  {text}")
