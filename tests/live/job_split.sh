#!/bin/bash
# SPDX-License-Identifier: MIT
#
# --api mpi on two Slurm nodes, of a program with communicators of its own: the collectives of one node are not taken for
# those of all ranks. With right clocks ovni-emu says nothing, and ovni-report efficiency has no estimates with a star; of
# MPI_COMM_WORLD alone it has them; and if the clocks are wrong, ovni-emu says so. A collective of a copy of
# MPI_COMM_WORLD counts with --api mpi-messages. Fortran, too.
# needs: root alone
# long: needs Slurm
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"
. "$S/tests/live/job_lib.sh"
job_cluster 2 1000
mpicc -O1 -o split -x c - <<'C' || skip "mpicc does not work here"
/* split KINDS: 12 rounds of work and, for each letter, a collective of the node (n), of all ranks (w), of a copy (c) */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv)
{
	volatile double x = 1;
	double value = 1, sum;
	MPI_Comm node, copy;
	int rank;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_split(MPI_COMM_WORLD, rank / 2, 0, &node); /* as MPI_Comm_split_type, if its nodes were machines */
	MPI_Comm_dup(MPI_COMM_WORLD, &copy);
	for (int i = 0; i < 12; i++) {
		for (int k = 0; k < 3000000 * (1 + rank / 2); k++)
			x += k * 1e-9;
		if (strchr(argv[1], 'n'))
			MPI_Barrier(node);
		if (strchr(argv[1], 'w'))
			MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		if (strchr(argv[1], 'c'))
			MPI_Barrier(copy);
	}
	MPI_Finalize();
	return 0;
}
C
record() { # TRACE KINDS [OPTIONS]
	local trace=$1 kinds=$2 program=./split
	shift 2
	[ "$kinds" != fortran ] || program=./splitf
	for step in 1 2; do
		timeout 60 srun -N2 -n2 --ntasks-per-node=1 "$B/bin/ovni-sync" --append "$trace" >sync.log 2>&1 || complain "ovni-sync: $(cat sync.log)"
		[ $step = 2 ] || timeout 120 srun -N2 -n4 --ntasks-per-node=2 "$RECORDER" --job -o "$trace" "$@" -- $program "$kinds" >out 2>log ||
			complain "$trace: $(cat log)"
	done
	"$EMULATOR" -q "$trace" >"$trace.emu" 2>&1
	ended 0 "$trace: the emulator" "$trace.emu"
	"$B/bin/ovni-report" efficiency --json "$trace" >"$trace.json" 2>efficiency.log || complain "$trace: efficiency: $(cat efficiency.log)"
	python3 -c 'import json, sys
e = json.load(open(sys.argv[1]))
print("transfer", e["metrics"]["transfer_estimate"], e["unavailable"].get("transfer_estimate", ""))' "$trace.json" >"$trace.star"
	echo "$trace: $(cat "$trace.star" "$trace.emu")"
}
quiet() { expect "$1: right clocks contradict nothing: $(cat "$1.emu")" [ "$(grep -c contradict "$1.emu")" = 0 ]; }
no_stars() { # TRACE REASON
	expect "$1: no estimates: $(cat "$1.star")" grep -q "^transfer None $2" "$1.star"
}

# ---- of each node and of all ranks ----
record node nw --api mpi
quiet node
no_stars node "a collective has a communicator that is not MPI_COMM_WORLD"
record known nw --api mpi --api mpi-messages
quiet known
for name in MPI_Allreduce MPI_Barrier; do # both APIs have the function, and neither loses it
	expect "known: $name is recorded as a message, too" grep -q "\"$name\"" known/loom.n1/proc.*/thread.*/stream.json
done
expect "known: nothing is lost: $(cat log)" [ "$(grep -c 'of its functions' log)" = 0 ]
no_stars known "not all calls are collectives of all ranks"
record alone n --api mpi
quiet alone

# ---- of all ranks alone: with the estimates, and a warning if the table is wrong by 1 ms ----
stars() { expect "$1: estimates: $(cat "$1.star")" grep -q "^transfer [01]\." "$1.star"; }
wrong() {
	awk -v CONVFMT=%.0f '$2 == "n2" { $3 += 5000000; $8 += 5000000 } { print }' "$1/clock-offsets.txt" >table && cp table "$1/clock-offsets.txt"
	"$EMULATOR" -q "$1" >emu.log 2>&1
	expect "$1: wrong clocks are not said: $(cat emu.log)" grep -q 'the clocks contradict [0-9]* of 12 collectives of all ranks' emu.log
}
record world w --api mpi
quiet world
stars world
wrong world
record copy cw --api mpi --api mpi-messages
quiet copy
stars copy
record copy2 cw --api mpi
quiet copy2
no_stars copy2 "a collective has a communicator that is not MPI_COMM_WORLD"
wrong copy2
if command -v mpif90 >/dev/null && command -v gfortran >/dev/null; then
	cat >fortran.f90 <<'F'
program split
  use mpi
  integer :: err, i, k, rank
  real(8) :: x, value, total
  call MPI_Init(err)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, err)
  x = 1
  do i = 1, 12
    do k = 1, 3000000 * (1 + rank / 2)
      x = x + sin(k * 1d-9)
    end do
    value = x
    call MPI_Allreduce(value, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, err)
  end do
  call MPI_Finalize(err)
  if (total < 0) print *, total
end program
F
	mpif90 -O1 -o splitf fortran.f90 || complain "mpif90 fails"
	record fortran fortran --api mpi
	quiet fortran
	stars fortran
	wrong fortran
else
	echo "no gfortran: not tried from Fortran"
fi
finish
