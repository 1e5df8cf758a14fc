#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Unmodified programs, recorded with --api and exported to Pallas, show their loops with their
# iterations: the five tasks that one thread makes in each region of an OpenMP program, the critical
# section that is met for each of the four iterations of a chunk, and the rounds of an MPI program. With
# --calls they are exact. With the scheduler in between a thread that is preempted inside breaks a
# loop in two, so that not all executions have all iterations, but none has more.
# needs: root
# long: needs MPI
set -u
. "$S/tests/live/lib.sh"
gcc -O2 -g -fopenmp -o program "$S/tests/workloads/runtimes/openmp.c" || { echo "gcc -fopenmp fails"; exit 1; }
pallas=$B/bin/ovni-pallas
cat >loops.py <<'E'
import re, sys


def loops(path):
    """What repeats: executions, iterations, least and greatest number in one execution; of all threads."""
    found = {}
    for line in open(path):
        # executed, iterations, per execution (least to greatest), regular, min, mean, max, what repeats
        m = re.match(r"\s*(\d+)\s+(\d+)\s+(\d+)(?: \((\d+) to (\d+)\))?\s+[\d.]+%\s+\d+\s+\d+\s+\d+\s+(.*)$", line)
        if m:
            new = int(m[1]), int(m[2]), int(m[4] or m[3]), int(m[5] or m[3])
            e, i, l, g = found.get(m[6], (0, 0, new[2], 0))
            found[m[6]] = e + new[0], i + new[1], min(l, new[2]), max(g, new[3])
    return found
E

export_to() { # ARCHIVE TRACE [OPTION...]
	local archive=$1 trace=$2
	shift 2
	"$pallas" export "$@" "$trace" "$archive" 2>export.log || complain "export of $trace: $(cat export.log)"
	"$pallas" check "$archive" >check.log 2>&1 || complain "check of $archive: $(head -n 5 check.log)"
	"$pallas" stats --loops "$archive" >"$archive.loops" || complain "stats --loops $archive"
}

record_output trace --api openmp -- ./program 30
judge trace
export_to calls trace --calls
python3 - <<'E' || { complain "the loops of the calls"; head -n 30 calls.loops; }
from loops import *
found = loops("calls.loops")
wanted = {"Task: Scheduling": (30, 150, 5, 5),
          "Critical: Acquiring, Critical: Section, Critical: Releasing": (300, 1200, 4, 4)}
for what, figures in wanted.items():
    print(what, "is", found.get(what), "wanted", figures)
sys.exit(any(found.get(what) != figures for what, figures in wanted.items()))
E
export_to all trace
python3 - <<'E' || { complain "the loops of all events"; head -n 30 all.loops; }
from loops import *
found = loops("all.loops")
executed, iterations, least, greatest = found.get("Task: Scheduling", (0, 0, 0, 0))
print("Task: Scheduling", executed, iterations, least, greatest)
sys.exit(not (greatest == 5 and 75 <= iterations <= 150))
E

# An archive without all events comes back as marks.
"$pallas" import calls back 2>import.log || complain "import: $(cat import.log)"
judge back

if command -v mpicc >/dev/null && command -v mpirun >/dev/null && mpicc -O2 -o ring "$S/tests/workloads/runtimes/ring.c"; then
	record_output ranks --api mpi -- mpirun --allow-run-as-root --oversubscribe -n 4 ./ring 20
	judge ranks
	export_to rings ranks --calls
	python3 - <<'E' || { complain "the loops of an MPI program"; grep -v '^thread.*mpirun' rings.loops | head -n 40; }
from loops import *
# every fourth round has another call: four rounds repeat, in each of the four ranks
found = {what: figures for what, figures in loops("rings.loops").items() if "MPI_Irecv" in what}
print(found)
sys.exit(sum(executed for executed, _, _, _ in found.values()) != 4 or
         any(least != 4 or greatest != 4 for _, _, least, greatest in found.values()))
E
else
	echo "there is no MPI (openmpi-bin, libopenmpi-dev): its loops are not tried"
fi
finish
