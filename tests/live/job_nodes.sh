#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-job on four Slurm nodes, whose clocks are 1000 s apart: each offset is within its bound of the truth, the
# emulated job lasts as long as its ranks did by their own clocks, no rank leaves a collective before another one
# enters it, and each node has its ranks.
# needs: root alone
# long: needs Slurm
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"
. "$S/tests/live/job_lib.sh"
[ -x "$B/bin/ovni-job" ] || skip "no ovni-job here (it needs MPI)"
job_cluster 4 1000
mpicc -O1 -o timed -x c - <<'C' || skip "mpicc does not work here"
#include <mpi.h>
#include <stdio.h>
#include <time.h>
static long long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}
int main(int argc, char **argv)
{
	long long begin = now();
	double value = 1, sum;
	char host[MPI_MAX_PROCESSOR_NAME];
	int rank, n;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Get_processor_name(host, &n);
	for (int more = 1, i = 0; more; i++) {
		for (int k = 0; k < 300000; k++)
			value += k * 1e-9;
		MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		more = now() - begin < 5000000000LL; /* as rank 0 has it */
		MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	printf("rank %d %s %lld %lld\n", rank, host, begin, now());
	return 7;
}
C
export SLURM_OVERLAP=1 # as srun --overlap
salloc -N4 --ntasks-per-node=2 --no-shell 2>salloc.log || { cat salloc.log; exit 1; }
SLURM_JOB_ID=$(sed -n 's/.*job allocation \([0-9]*\)$/\1/p' salloc.log)
export SLURM_JOB_ID
timeout 200 srun -N4 -n4 --ntasks-per-node=1 "$B/bin/ovni-job" -o t -- --api mpi --api mpi-messages >t.log 2>&1 &
job=$!
recording() { [ "$(cat t/node/n[1-4].json 2>/dev/null | grep -c '"recording"')" = 4 ]; }
wait_for "four nodes record: $(cat t.log)" recording
timeout 120 srun -N4 -n8 --ntasks-per-node=2 ./timed >out 2>log
ended 7 "the status of the application" log
wait $job
ended 0 "ovni-job" t.log
expect "its last line: $(cat t.log)" grep -q 'nodes=4 nodes_complete=4 ranks=8 ranks_recorded=8 clock_bound_ns=[1-9]' t.log
"$EMULATOR" -q t >emu.log 2>&1
ended 0 "the emulator accepts it" emu.log
expect "no collective contradicts the clocks: $(cat emu.log)" [ ! -s emu.log ]
"$B/bin/ovni-report" messages t >messages.log # of whose calls the communicators are known
judge_job t "four nodes" <<'P'
import re
said = {int(line.split()[1]): line.split()[2:] for line in open("out")}
check(ranks == {"n%d" % (k + 1): {2 * k, 2 * k + 1} for k in range(4)}, "ranks:", dict(ranks))
check(len(processes) == 8, "other processes:", processes)
for name, node in nodes.items():
    check(node["state"] == "complete" and node["lost"] == "0" and node["ranks"] == 8, name, node)
rows = [line.split() for line in open("t/clock-offsets.txt")][1:]
check([row[1] for row in rows] == ["n1", "n2", "n3", "n4"], rows)
for row in rows:
    true = truth[row[1]] - truth["n1"]
    check(int(row[6]) > int(row[5]), row)
    for offset in int(row[2]), int(row[7]):
        check(abs(offset - true) <= int(row[8]) < 10000000, row, "true:", true)
# by the ranks' own clocks, without the time from their exec to main() and from there to their end, which is up to
# 0.2 s on a busy machine; the bounds of the clocks are up to 4 ms there
begin = min(int(b) + truth[host] for host, b, _ in said.values())
end = max(int(e) + truth[host] for host, _, e in said.values())
lasts = int(re.search(r":(\d+)_ns:", open("t/thread.prv").readline())[1])
print("the ranks say %.3f s, the emulated job has %.3f s" % ((end - begin) / 1e9, lasts / 1e9))
check(0 <= lasts - (end - begin) < 0.01 * (end - begin) + 500e6, lasts, end - begin)
verdict()
P
# the path to the end goes over several nodes, and adds up
"$B/bin/ovni-report" efficiency --json t >efficiency.json
ended 0 "ovni-report efficiency" efficiency.json
scancel "$SLURM_JOB_ID"
finish
