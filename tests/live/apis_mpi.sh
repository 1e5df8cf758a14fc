#!/bin/bash
# SPDX-License-Identifier: MIT
#
# --api mpi: an unmodified MPI program of four ranks, started by mpirun and recorded as a whole.
# Strict emulation with the model mpi accepts it, each rank has as many calls of each function as it
# counted, its collectives have their communicator, the ranks are in the metadata, and what the library lacks is listed
# once. Then the ranks
# alone, of which each has a rank; the same from Fortran; and a library that nobody has.
# needs: root
# long: needs MPI
set -u
. "$S/tests/live/lib.sh"
command -v mpicc >/dev/null && command -v mpirun >/dev/null || skip "there is no MPI (openmpi-bin, libopenmpi-dev)"
mpicc -O2 -o ring "$S/tests/workloads/runtimes/ring.c" || { echo "mpicc fails"; exit 1; }
# as Debian's OpenMPI wants it of root, on few CPUs
launch=(mpirun --allow-run-as-root --oversubscribe)
"${launch[@]}" -n 2 ./ring 1 >first 2>&1 || { cat first; skip "mpirun does not work here"; }

record_output whole --api mpi -- "${launch[@]}" -n 4 ./ring 20
judge whole
facts whole <<'E'
from apis import *
functions = {"MPI_Init": "MUi", "MPI_Finalize": "MUf", "MPI_Send": "MS[", "MPI_Recv": "MR[",
             "MPI_Allreduce": "MAr", "MPI_Barrier": "MCb", "MPI_Irecv": "Mr[", "MPI_Wait": "MW["}
leaves = {"MUi": "MUI", "MUf": "MUF", "MS[": "MS]", "MR[": "MR]", "MAr": "MAR", "MCb": "MCB",
          "Mr[": "Mr]", "MW[": "MW]"}
check(sorted(line["rank"] for line in lines) == [0, 1, 2, 3], "the program said", lines)
for line in lines:
    streams = trace.threads(line["pid"])
    n = counts(streams)
    check_counts(n, [(mcv, leaves[mcv], line[name]) for name, mcv in functions.items()])
    communicators = sum(n.pop(key) for key in list(n) if key.startswith("MPI communicator: "))
    check(communicators == line["MPI_Allreduce"] + line["MPI_Barrier"], "rank", line["rank"], "communicators:", communicators)
    check(sum(n.values()) == 2 * sum(line[name] for name in functions),
          "rank", line["rank"], "has other events:", n)
    first = [s for s in streams if "rank" in s.bpf]
    check(first and all(s.bpf["rank"] == line["rank"] and s.bpf["nranks"] == 4 for s in first),
          "rank", line["rank"], "of 4 is not in the metadata:", [s.bpf.get("rank") for s in streams])
check_required(trace, "mpi", "1.0.0")
# mpirun has no rank, so that no process of the loom may say one
check(not any("rank" in s.meta["ovni"] for s in trace.streams), "some processes have ovni.rank")
check(any(s.program in ("mpirun", "orterun", "prterun") for s in trace.streams), "mpirun is not recorded")
E
library=$(ldd ring | awk '/libmpi\.so/ {print $3}')
if ! nm -D "$library" | grep -q ' MPI_Isendrecv$'; then
	grep -q '^ovni-bpf: info: --api mpi: 2 of 55 names were not found: MPI_Isendrecv, MPI_Isendrecv_replace$' whole.log ||
		complain "what $library lacks is not listed: $(cat whole.log)"
fi
[ "$(grep -c 'not found' whole.log)" -le 1 ] || complain "what was not found is said more than once"
"$B/bin/ovni-report" func whole >func.txt 2>&1
"$B/bin/ovni-dump" whole >dump.txt 2>&1
for word in MPI_Allreduce MPI_Barrier; do
	grep -q "$word" func.txt || complain "ovni-report func does not know $word: $(head -n 20 func.txt)"
	grep -q "begins $word" dump.txt || complain "ovni-dump does not know $word"
done

# The views of the model are there, and have something to show: type 25 with the name of the function.
for view in thread cpu; do
	[ -e "whole/cfg/$view/mpi/function.cfg" ] || complain "there is no view of the functions of MPI by $view"
	grep -q '^27 .*MPI_Allreduce' "whole/$view.pcf" || complain "$view.pcf does not name MPI_Allreduce"
	grep -q '^2:.*:25:27\b' "whole/$view.prv" || complain "$view.prv has no MPI_Allreduce"
	python3 "$S/tests/golden/cfgcheck.py" --pcf "whole/$view.pcf" whole/cfg/$view/mpi/*.cfg || complain "the views by $view"
done
# The drawn states agree with the events and ovni-report, also off the CPU.
paraver=$ORACLES/paraver/pv-text # its numbers, too, where it is
[ -x "$paraver" ] || paraver=
python3 "$S/tests/live/views.py" "$B" whole ${paraver:+"$paraver"} >views.txt 2>&1 || complain "the views: $(cat views.txt)"

# Every process that is recorded has a rank: the loom says them.
record_output ranks --comm ring --api mpi -- "${launch[@]}" -n 2 ./ring 5
judge ranks
facts ranks <<'E'
for line in lines:
    said = [(s.meta["ovni"]["rank"], s.meta["ovni"]["nranks"]) for s in trace.threads(line["pid"])
            if "rank" in s.meta["ovni"]]
    check(said == [(line["rank"], 2)], "process", line["pid"], "says the ranks", said)
E

# From Fortran: OpenMPI's functions call those for C, and the inner pair is not written.
if command -v mpif90 >/dev/null && command -v gfortran >/dev/null; then
	mpif90 -o ringf "$S/tests/workloads/runtimes/ring.f90" || complain "mpif90 fails"
	record_output fortran --api mpi -- "${launch[@]}" -n 2 ./ringf
	judge fortran
	facts fortran <<'E'
from apis import *
n = counts(trace.streams)
total = {name: sum(line[name] for line in lines)
         for name in ("MPI_Send", "MPI_Recv", "MPI_Allreduce", "MPI_Barrier")}
check(total["MPI_Send"] == 10, "the program said", lines)
check_counts(n, [("MS[", "MS]", total["MPI_Send"]), ("MR[", "MR]", total["MPI_Recv"]),
                 ("MAr", "MAR", total["MPI_Allreduce"]), ("MCb", "MCB", total["MPI_Barrier"]),
                 ("MUi", "MUI", 2)])
E
else
	echo "no gfortran: the entry points for Fortran are checked against the API file by tests/unit/apis_file.c alone"
fi

# A process with nothing of it: said, not fatal.
record_output nothing --api nosv -- /bin/true
judge nothing
grep -q 'warning: --api nosv: found none of its functions' nothing.log || complain "nothing was found, and not said: $(cat nothing.log)"
finish
