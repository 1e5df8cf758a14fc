#!/bin/bash
# SPDX-License-Identifier: MIT
#
# An unmodified OpenMP program, recorded with --map openmp and exported to Pallas, shows its loops: the
# five tasks that one thread makes in each region, and the critical section that is met for each of
# the four iterations of a chunk. (A thread that is preempted inside breaks a loop in two: so not all
# executions have all iterations, but none has more.)
set -u
. "$S/tests/live/lib.sh"
gcc -O2 -g -fopenmp -o program "$S/tests/workloads/runtimes/openmp.c" || { echo "gcc -fopenmp fails"; exit 1; }
record_output trace --map openmp -- ./program 30
judge trace
"$B/bin/ovni-pallas" export trace archive 2>export.log || complain "export: $(cat export.log)"
"$B/bin/ovni-pallas" check archive >check.log 2>&1 || complain "check: $(head -n 5 check.log)"
"$B/bin/ovni-pallas" stats --loops archive >loops.txt || complain "stats --loops"
python3 - <<'E' || { complain "loops"; head -n 30 loops.txt; }
import re, sys

found = {}      # what repeats: executions, iterations, greatest number in one execution
for line in open("loops.txt"):
    # executed, iterations, per execution (least to greatest), regular, min, mean, max, what repeats
    m = re.match(r"\s*(\d+)\s+(\d+)\s+(\d+)(?: \((\d+) to (\d+)\))?\s+[\d.]+%\s+\d+\s+\d+\s+\d+\s+(.*)$", line)
    if m:
        executed, iterations, most, what = int(m[1]), int(m[2]), int(m[5] or m[3]), m[6]
        e, i, g = found.get(what, (0, 0, 0))
        found[what] = e + executed, i + iterations, max(g, most)


def loop(what, most, total):
    """It repeats `most` times at the most, once at least; mostly so in a program that does it `total` times."""
    executed, iterations, greatest = found.get(what, (0, 0, 0))
    print(f"{what}: {executed} loops, {iterations} iterations, {greatest} at the most")
    return greatest == most and total / 2 <= iterations <= total


fine = loop("Task: Scheduling", 5, 30 * 5)
# one section begins where the other ends: which of the three states is first is the grammar's choice
rotations = ["Critical: Acquiring, Critical: Section, Critical: Releasing",
             "Critical: Section, Critical: Releasing, Critical: Acquiring",
             "Critical: Releasing, Critical: Acquiring, Critical: Section"]
fine &= any(loop(what, 4, 30 * 40) for what in rotations)
sys.exit(not fine)
E
finish
