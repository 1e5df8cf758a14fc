#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
loom: what reading, writing and converting Loom runs costs.

    loom.py BUILD [RECORDS]

Each command runs three times, in turns with the `cat` of its input and output into a file; the
median counts. Targets: the import of RECORDS (10 M) takes at most 3 times that cat; twice
the records take at most 2.5 times the time, and no more memory.
"""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

BUILD = os.path.abspath(sys.argv[1])
RECORDS = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000_000
LOOM = BUILD + "/bin/ovni-loom"
TURNS = 3
LIMIT, LINEAR = 3.0, 2.5

targets = []


def run(argv, out=subprocess.DEVNULL):
    """Seconds, of wall clock and of processors, and peak memory in MB."""
    start = time.monotonic()
    child = subprocess.Popen(argv, stdout=out, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 1):
        sys.exit("bench: %s: status %d" % (" ".join(argv), child.returncode))
    return (time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def size(path):
    if os.path.isfile(path):
        return os.path.getsize(path)
    return sum(os.path.getsize(os.path.join(folder, name))
               for folder, _, names in os.walk(path) for name in names)


def files(path):
    if os.path.isfile(path):
        return [path]
    return [os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names]


def measure(argv, reads, writes=None):
    """Medians of the command and of cat over what it reads and writes."""
    own, cat = [], []
    for _ in range(TURNS):
        if writes:
            shutil.rmtree(writes, ignore_errors=True)
        own.append(run(argv))
        copy = "copy"
        with open(copy, "wb") as out:
            cat.append(run(["cat"] + reads + (files(writes) if writes else []), out))
        os.unlink(copy)
    middle = statistics.median
    return [middle(v[i] for v in own) for i in range(3)], [middle(v[i] for v in cat) for i in range(3)]


def line(name, records, own, cat, extra=""):
    print("  %-34s %6.2f s %6.2f s cpu %7.1f MB %7.1f M/s   cat %5.2f s %5.2f s cpu   %4.2f x%s"
          % (name, own[0], own[1], own[2], records / own[0] / 1e6, cat[0], cat[1],
             own[0] / cat[0], extra), flush=True)


def make(name, records, cores, nodes):
    cycles = max(1, records // (cores * nodes))
    seconds, cpu, peak = run([BUILD + "/tests/golden/loomsim", name, str(cycles), str(cores),
                              str(nodes)])
    print("%d cores, %d nodes, %d records of %.1f MB: written in %.2f s, %.2f s cpu, %.1f MB"
          % (cores, cores * nodes, cycles * cores * nodes, size(name + ".trace.bin") / 1e6,
             seconds, cpu, peak), flush=True)
    return [name + ".trace.bin", name + ".perf.json"]


def main():
    commands = {"dump": ["dump"], "check": ["check"], "stats": ["stats"]}
    with tempfile.TemporaryDirectory(prefix="loom-bench.") as scratch:
        os.chdir(scratch)
        for label, cores, nodes in (("few nodes", 4, 16), ("many nodes", 8, 64)):
            print(label)
            imports = {}
            for times in (1, 2):
                reads = make("run", RECORDS * times, cores, nodes)
                for name, argv in commands.items():
                    if times == 1:
                        own, cat = measure([LOOM] + argv + ["run"], reads)
                        line(name, RECORDS, own, cat)
                own, cat = measure([LOOM, "import", "run", "-o", "trace"], reads, "trace")
                line("import" + (" of twice as many" if times == 2 else ""), RECORDS * times, own,
                     cat)
                imports[times] = (own, cat)
                if times == 1:
                    own, cat = measure([LOOM, "export", "trace", "-o", "back", "--no-keep"],
                                       files("trace/loom.loomsim.run"))
                    line("export, from marks", RECORDS, own, cat)
                shutil.rmtree("trace", ignore_errors=True)
            one, two = imports[1], imports[2]
            ratio = one[0][0] / one[1][0]
            targets.append(("%s: import takes %.2f times cat, at most %.0f wanted"
                            % (label, ratio, LIMIT), ratio <= LIMIT))
            targets.append(("%s: twice the records take %.2f times the processor time, at most %.1f "
                            "wanted" % (label, two[0][1] / one[0][1], LINEAR),
                            two[0][1] <= LINEAR * one[0][1]))
            targets.append(("%s: %.1f MB, and %.1f MB for twice the records"
                            % (label, one[0][2], two[0][2]), two[0][2] <= 1.1 * one[0][2] + 1))
        os.chdir("/")
    for text, met in targets:
        print("  %s  %s" % ("met   " if met else "MISSED", text))


if __name__ == "__main__":
    main()
