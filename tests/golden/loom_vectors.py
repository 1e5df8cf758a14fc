#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
loom_vectors: holds ovni-loom against what stands beside each conformance vector: the listing, the
findings (severity and rule, each as often), the verdict, the metrics, and the exit status.

    loom_vectors.py OVNI-LOOM VECTORS
"""
import glob
import json
import os
import re
import subprocess
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


def rows_differ(rows, stats):
    wrong = []
    have = [r for r in stats["rows"] if r["statistics"]]
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
    return wrong


def metrics_differ(path, text):
    rows, run = expected(path)
    stats = json.loads(text)
    wrong = rows_differ(rows, stats)
    if run:
        have = (str(stats["total_cycles"]), str(stats["config_writes"]), "%.6f" % stats["config_overhead"])
        if have != (run[0], run[2], run[3]):
            wrong.append("run: %s, not %s" % (have, run))
    if not rows and not run:
        wrong.append("nothing to compare")
    return wrong


def findings(lines):
    """Of a text: "error O4" for each, sorted, and the verdict."""
    found, verdict, inside = [], None, False
    for line in lines:
        if line == "findings":
            inside = True
        elif inside and line.startswith("verdict "):
            return sorted(found), line[8:]
        elif inside and line.startswith("  ") and line != "  none":
            found.append(" ".join(line.split()[:2]))
    return sorted(found), verdict


counts = dict.fromkeys(["listings", "verdicts", "metrics"], 0)


def judge(loom, vector):
    def run(*argv):
        done = subprocess.run([loom, *argv, vector], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        return done.returncode, done.stdout, done.stderr

    path = vector + "/expected.txt"
    lines = open(path).read().splitlines()
    want, verdict = findings(lines)
    wrong = []
    if lines[0] != "no trace file":
        listing = lines[:lines.index("findings")]
        _, out, _ = run("dump")
        if [line for line in out.splitlines() if not line.startswith("declared ")] != listing:
            wrong.append("the listing differs")
        counts["listings"] += 1
    for form in [], ["--json"]:
        status, out, said = run("check", *form)
        if form:
            doc = json.loads(out)
            have = sorted("%(severity)s %(rule)s" % f for f in doc["findings"]), doc["verdict"]
        else:
            have = findings(out.splitlines())
        if have != (want, verdict):
            wrong.append("check %s: %s, not %s" % (form, have, (want, verdict)))
        if status != (verdict == "invalid") or said:
            wrong.append("check %s: status %d, and says: %s" % (form, status, said))
        counts["verdicts"] += 1
    if any(line.startswith("metrics") for line in lines):
        _, out, _ = run("stats", "--json")
        wrong += metrics_differ(path, out)
        counts["metrics"] += 1
    return wrong


def main(loom, vectors):
    bad = False
    for vector in sorted(glob.glob(vectors + "/*/")):
        for text in judge(loom, vector):
            print("%s: %s" % (os.path.basename(vector.rstrip("/")), text))
            bad = True
    print(counts)
    # a folder that has lost its vectors shows nothing
    sys.exit(bad or counts["listings"] < 26 or counts["verdicts"] < 56 or counts["metrics"] < 27)


main(*sys.argv[1:])
