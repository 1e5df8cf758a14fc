#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
loom_stats: compares what `ovni-loom stats --json` prints with the metrics of a conformance vector.

    loom_stats.py EXPECTED.txt STATS.json
"""
import json
import re
import sys

NODE = re.compile(
    r"  (?:core (\d+) epoch (\d+) inv (\d+) )?(node (\d+)|all nodes): active (\d+) stall_in (\d+) "
    r"stall_out (\d+) other (-?\d+) of (\d+); util (\S+) in_stall (\S+) out_stall (\S+) "
    r"throughput (\S+)(?: config (\S+))?$")
RUN = re.compile(r"  run: total_cycles (\d+) config_cycles (\d+) config_writes (\d+) config_overhead (\S+)$")


def expected(path):
    rows, run, inside = [], None, False
    for line in open(path):
        line = line.rstrip("\n")
        if line.startswith("metrics"):
            inside = True
        elif inside and line.startswith("  "):
            found = NODE.match(line)
            if found:
                rows.append(found.groups())
            elif RUN.match(line):
                run = RUN.match(line).groups()
            else:
                sys.exit("%s: not understood: %s" % (path, line))
        else:
            inside = False
    return rows, run


def printed(value, like):
    if value is None:
        return "-"
    return "%.6f" % value if re.fullmatch(r"\d+\.\d{6}", like) else "%.9g" % value


def main(expected_path, stats_path):
    rows, run = expected(expected_path)
    stats = json.load(open(stats_path))
    have = [r for r in stats["rows"] if r["statistics"]]
    wrong = []
    if len(have) != len(rows):
        wrong.append("%d rows, not %d" % (len(have), len(rows)))
    for core, epoch, inv, _, node, *numbers in rows:
        ratios, numbers = numbers[5:], [int(n) for n in numbers[:5]]
        match = [r for r in have if r["hw_node_id"] == (None if node is None else int(node)) and (
            core is None or (r["core_id"], r["epoch_id"], r["invocation_id"]) == (
                int(core), int(epoch), int(inv)))]
        found = False
        for r in match:
            s, m = r["statistics"], r["statistics"]["metrics"]
            counters = [s["active_cycles"], s["stall_cycles_in"], s["stall_cycles_out"]]
            counters += [s["total_cycles"] - sum(counters), s["total_cycles"]]
            names = ["utilization", "input_stall_ratio", "output_stall_ratio", "throughput", "config_overhead"]
            metrics = [printed(m[n], like) for n, like in zip(names, ratios) if like is not None]
            found |= counters == numbers and metrics == [r for r in ratios if r is not None]
        if not found:
            wrong.append("no row like node %s of core %s: %s %s" % (node, core, numbers, ratios))
    if run:
        have = (str(stats["total_cycles"]), str(stats["config_writes"]), "%.6f" % stats["config_overhead"])
        if have != (run[0], run[2], run[3]):
            wrong.append("run: %s, not %s" % (have, run))
    if not rows and not run:
        wrong.append("nothing to compare")
    if wrong:
        sys.exit("\n".join(wrong))


main(*sys.argv[1:])
