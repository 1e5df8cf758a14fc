# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# job_lib: for the tests of parallel jobs, which source it after lib.sh.
#
#   job_cluster [NODES [STEP]]   starts Slurm (tests/slurm.sh) and builds ./app; skips where that fails
#   judge_job TRACE WHAT <<E     Python lines with `nodes` (node/*.json by name), `job` (job.json), `ranks`
#                                (of the processes of each loom), `trace` (all streams), and check()
#   plain_looms TRACE            ./plain: the looms alone, and the first five columns of the table
#   agree_plain                  the emulator and the reference make the same of ./plain
#   ovni_job_cluster             a cluster and an allocation for ovni-job: record_job, ranks, start
#
# Programs that start another one, which has a problem on the second node: ./weak, without the capabilities for
# eBPF; ./small, whose files may have 8 KiB at most.
#
# ./app LOOPS STATUS [GO]: computes and calls MPI_Allreduce, and prints "rank R HOST PID" at its begin. With GO
# it goes on until the file GO exists.

job_cluster() {
	command -v mpicc >/dev/null && command -v mpirun >/dev/null || skip "no MPI here"
	mpicc -O1 -o app -x c - <<'C' || skip "mpicc does not work here"
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int rank, loops = argc > 1 ? atoi(argv[1]) : 20, more;
	volatile double x = 1;
	double sum, value;
	char host[64];
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	gethostname(host, sizeof(host));
	printf("rank %d %s %d\n", rank, host, getpid());
	fflush(stdout);
	do {
		for (int i = 0; i < loops; i++) {
			for (int k = 0; k < 500000; k++)
				x += k * 1e-9;
			value = x;
			MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		}
		more = argc > 3 && access(argv[3], F_OK);
		MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
	} while (more);
	MPI_Finalize();
	return argc > 2 ? atoi(argv[2]) : 0;
}
C
	cluster=$(mktemp -u /tmp/ovni-slurm.XXXXXX)
	"$S/tests/slurm.sh" start "$cluster" "$@" 2>slurm.log
	case $? in
	0) ;;
	77) rm -rf "$cluster"; skip "$(cat slurm.log)" ;;
	*) cat slurm.log; exit 1 ;;
	esac
	trap '"$S/tests/slurm.sh" stop "$cluster"; rm -rf "$cluster"' EXIT
	. "$cluster/env"
}

plain_looms() { # TRACE
	mkdir plain && cp -r "$1"/loom.* plain
	awk '{print $1, $2, $3, $4, $5}' "$1/clock-offsets.txt" >plain/clock-offsets.txt
}

agree_plain() {
	if [ ! -x "$ORACLES/ovni/ovniemu" ]; then
		echo "no ovniemu here: not compared with the reference"
		return
	fi
	"$EMULATOR" -q --compat -l plain >emu.log 2>&1
	ended 0 "--compat" emu.log
	mkdir ours && mv plain/*.prv ours
	"$ORACLES/ovni/ovniemu" -l plain >emu.log 2>&1
	ended 0 "the reference accepts it" emu.log
	for file in thread.prv cpu.prv; do
		expect "the same $file as the reference" cmp <(sed '1s/([^)]*)//' ours/$file) <(sed '1s/([^)]*)//' plain/$file)
	done
}

judge_job() {
	{ cat "$S/tests/live/job_facts.py" && cat; } >job_facts.script
	python3 job_facts.script "$1" "$cluster/truth" || complain "$2"
}

wait_for() { # TEXT COMMAND...
	local text=$1
	shift
	wait_until "$@" || { complain "$text: never"; return 1; }
}

# ended STATUS TEXT LOG: the command before it ended with STATUS; a command substitution in its words would
# change that.
ended() {
	local status=$?
	expect "$2: status $status: $(cat "$3")" [ $status = "$1" ]
}

# Of a job on the nodes n1 and n2, with two ranks on each.
state() { sed -n 's/^ *"state": "\(.*\)",/\1/p' "$1" 2>/dev/null; }
is() { [ "$(state "$1")" = "$2" ]; }
both_record() { is "$1/node/n1.json" recording && is "$1/node/n2.json" recording; }
began() { [ "$(grep -c '^rank' "$1")" = 4 ]; }
recorder_of() { sed -n 's/^ *"pid": \([0-9]*\),$/\1/p' "$1/node/$2.json" | head -n 1; } # TRACE NODE
gone() { ! kill -0 "$1" 2>/dev/null; }
missing() { # TRACE PATTERN: the emulator ends with 3, and says so
	rm -rf missing.out
	"$EMULATOR" -q --tolerant -o missing.out "$1" >emu.log 2>&1
	ended 3 "$1" emu.log
	expect "$1: named: $(cat emu.log)" grep -q "$2" emu.log
}

# ovni_job_cluster: a cluster of two nodes, an allocation ($SLURM_JOB_ID) of both, and these functions for it.
ovni_job_cluster() {
	[ -x "$B/bin/ovni-job" ] || skip "no ovni-job here (it needs MPI)"
	job_cluster 2 1000
	export SLURM_OVERLAP=1 # as srun --overlap
	salloc -N2 --ntasks-per-node=2 --no-shell 2>salloc.log || { cat salloc.log; exit 1; }
	SLURM_JOB_ID=$(sed -n 's/.*job allocation \([0-9]*\)$/\1/p' salloc.log)
	export SLURM_JOB_ID
}
record_job() { # TRACE [WRAPPER] OPTION...: ovni-job on both nodes; its status is that of srun
	timeout 120 srun -N2 -n2 --ntasks-per-node=1 ${wrapper:-} "${program:-$B/bin/ovni-job}" -o "$@"
}
ranks() { timeout 60 srun -N2 -n4 --ntasks-per-node=2 "$@"; }
start() { # TRACE OPTION...: in the background, until both nodes record; $job is its pid
	record_job "$@" >"$1.log" 2>&1 &
	# shellcheck disable=SC2034 # for the test
	job=$!
	wait_for "both nodes record $1: $(cat "$1.log")" both_record "$1"
}

cat >weak <<'X'
#!/bin/sh
[ "$(hostname)" = n1 ] || exec setpriv --bounding-set -bpf,-perfmon,-sys_admin "$@"
exec "$@"
X
cat >small <<'X'
#!/bin/bash
[ "$(hostname)" = n1 ] || ulimit -S -f 8
exec "$@"
X
chmod +x weak small
