#!/bin/bash
# SPDX-License-Identifier: MIT
#
# --api openmp: unmodified programs on libgomp (GCC) and, if it is there, on libomp (clang). Strict
# emulation accepts the traces, and there are as many critical sections, chunks, barriers, regions and
# tasks as the program has met; a critical section is waited for, held, and left.
# needs: root
# long: needs the OpenMP library of clang
set -u
. "$S/tests/live/lib.sh"

look() { # NAME
	judge "$1"
	facts "$1" <<'E'
from apis import *
n = counts(trace.streams)
w = lines[0]
check(len(lines) == 1 and w["sum"] == 1, "the program said", lines)
check_required(trace, "openmp", "1.2.1")
regions = w["regions"] * w["threads"]
check_counts(n, [
    ("PCf", "PCF", w["regions"]),
    ("PIa", "PIA", w["criticals"]), ("PI[", "PI]", w["criticals"]), ("PIr", "PIR", w["criticals"]),
    ("PWc", "PWC", w["chunks"]), ("PWy", "PWY", regions), ("PBb", "PBB", w["barriers"]),
    ("PTt", "PTT", w["taskwaits"]), ("PTs", "PTS", w["tasks"])])
if name.startswith("gomp"):
    # the threads decide which one runs the single construct; tasks are functions like the region's
    check_counts(n, [("PWi", "PWI", regions), ("PMu", "PMU", regions + w["tasks"])])
else:
    check_counts(n, [("PWi", "PWI", w["singles"]), ("PTa", "PTA", w["tasks"]),
                     ("PMu", "PMU", regions), ("PT[", "PT]", w["tasks"])])
# waited for, then held, then left: in this order in each thread
for s in trace.threads(w["pid"]):
    order = [e.mcv for e in s.events if e.mcv[:2] == "PI"]
    check(order == ["PIa", "PIA", "PI[", "PI]", "PIr", "PIR"] * (len(order) // 6),
          s, "has critical sections out of order")
E
}

gcc -O2 -g -fopenmp -o gomp.exe "$S/tests/workloads/runtimes/openmp.c" || { echo "gcc -fopenmp fails"; exit 1; }
record_output gomp --api openmp -- ./gomp.exe 10
look gomp
"$B/bin/ovni-report" func gomp >func.txt 2>&1
grep -q 'Critical: Section' func.txt || complain "ovni-report func does not know critical sections: $(head -n 20 func.txt)"
"$B/bin/ovni-dump" gomp >dump.txt
grep -q 'begins acquiring the lock of a critical section' dump.txt || complain "ovni-dump"
for view in thread cpu; do
	grep -q '^2:.*:50:8\b' gomp/$view.prv || complain "$view.prv has no critical section"
	python3 "$S/tests/golden/cfgcheck.py" --pcf gomp/$view.pcf gomp/cfg/$view/openmp/*.cfg || complain "the views by $view"
done
# The drawn states agree with the events and ovni-report, also off the CPU.
paraver=$ORACLES/paraver/pv-text # its numbers, too, where it is
[ -x "$paraver" ] || paraver=
python3 "$S/tests/live/views.py" "$B" gomp ${paraver:+"$paraver"} >views.txt 2>&1 || complain "the views: $(cat views.txt)"

# The runtime as a part of the program itself.
gcc -static -O2 -g -fopenmp -o gomp-static.exe "$S/tests/workloads/runtimes/openmp.c" 2>static.log || complain "gcc -static: $(cat static.log)"
# Each of its functions of the compiler's is a mark of -u as well as a state of the API file.
record_output gomp-static --api openmp -u './gomp-static.exe:main._omp_fn.*,GOMP_barrier' -- ./gomp-static.exe 5
look gomp-static
facts gomp-static <<'E'
from apis import *
w = lines[0]
check_counts(counts(trace.streams), [
    ("Function: main._omp_fn.0", "Function: main._omp_fn.0/", w["regions"] * w["threads"]),
    ("Function: main._omp_fn.1", "Function: main._omp_fn.1/", w["tasks"])])
E

if clang -O2 -g -fopenmp -o llvm.exe "$S/tests/workloads/runtimes/openmp.c" 2>clang.log; then
	record_output llvm --api openmp -- ./llvm.exe 10
	look llvm
else
	echo "clang cannot build for OpenMP here (libomp-dev): libomp is not tried"
fi

# Attached while the program runs: regions that are open at the beginning and the end are balanced.
./gomp.exe 100000000 >endless &
target=$!
record_output attached --api openmp -p $target -d 300ms
kill $target
wait $target
judge attached
"$B/bin/ovni-dump" attached >dump.txt
grep -q 'begins a fork call' dump.txt || complain "no region is in the trace of a program attached to"
finish
