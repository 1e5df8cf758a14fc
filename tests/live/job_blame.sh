#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A job on two Slurm nodes with clocks 1000 s apart, in which rank 3 has the most work and shares its CPU with a process
# that is not of the job, and rank 0 sends late: ovni-report names all three, with the figures that the program itself
# counted: useful and waiting time of each rank, the wait for the sender, the factors of POP in and between the nodes. The
# critical path goes from rank 1 over its late sender, and over the last rank of the barrier on the other node.
# needs: root alone
# long: needs Slurm
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"
. "$S/tests/live/job_lib.sh"
job_cluster 2 1000
mpicc -O1 -o blame -x c - <<'C' || skip "mpicc does not work here"
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static long long now(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}
static long long delay(void) /* time that the thread waited for a CPU */
{
	unsigned long long ran, waited = 0;
	FILE *f = fopen("/proc/thread-self/schedstat", "r");
	if (!f || fscanf(f, "%llu %llu", &ran, &waited) != 2)
		exit(1);
	fclose(f);
	return (long long)waited;
}
int main(int argc, char **argv)
{
	long long worked = 0, took = 0, waited = 0, sender = 0, at, in;
	int rank;
	cpu_set_t one;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	CPU_ZERO(&one);
	CPU_SET(atoi(argv[1]), &one);
	if (rank == 3 && sched_setaffinity(0, sizeof(one), &one))
		return 1;
	for (int i = 0; i < 20; i++) {
		long long begin = now(CLOCK_MONOTONIC), cpu = now(CLOCK_THREAD_CPUTIME_ID), before = delay();
		while (now(CLOCK_THREAD_CPUTIME_ID) - cpu < 10000000LL * (rank + 1))
			;
		if (rank == 0)
			usleep(i == 19 ? 3000000 : 20000);
		worked += now(CLOCK_THREAD_CPUTIME_ID) - cpu;
		waited += delay() - before;
		took += now(CLOCK_MONOTONIC) - begin;
		at = now(CLOCK_MONOTONIC);
		if (rank == 0)
			MPI_Send(&at, 1, MPI_LONG_LONG, 1, i, MPI_COMM_WORLD);
		if (rank == 1) {
			MPI_Recv(&in, 1, MPI_LONG_LONG, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			sender += in > at ? in - at : 0; /* both are on one node */
		}
		if (i < 19)
			MPI_Barrier(MPI_COMM_WORLD);
	}
	printf("rank %d pid %d worked %lld took %lld waited %lld sender %lld\n", rank, getpid(), worked, took, waited, sender);
	fflush(stdout);
	if (rank == 1)
		sleep(1); /* the last to come to the end, after rank 0 sent late */
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
C
cpu=$(taskset -cp $$ | sed 's/.*[-,: ]//')
cp "$(command -v bash)" neighbour
nice -n -10 taskset -c "$cpu" ./neighbour -c 'while :; do :; done' &
hog=$!
trap 'kill "$hog"; "$S/tests/slurm.sh" stop "$cluster"; rm -rf "$cluster"' EXIT
sync() { timeout 60 srun -N2 -n2 --ntasks-per-node=1 "$B/bin/ovni-sync" --append t >sync.log 2>&1 || complain "ovni-sync: $(cat sync.log)"; }
sync
timeout 200 srun -N2 -n4 --ntasks-per-node=2 "$RECORDER" --job --api mpi --api mpi-messages -o t -- ./blame "$cpu" >out 2>log
ended 0 "the job" log
sync
cat out
pid() { sed -n "s/^rank $1 pid \([0-9]*\) .*/\1/p" out; }
"$B/bin/ovni-report" efficiency --json t >e.json 2>e.log || complain "efficiency: $(cat e.log)"
"$B/bin/ovni-report" efficiency t >e.txt 2>e.log
"$B/bin/ovni-report" messages --json t >m.json 2>m.log || complain "messages: $(cat m.log)"
"$B/bin/ovni-report" preempt --json t >p.json 2>p.log || complain "preempt: $(cat p.log)"
"$B/bin/ovni-report" t >o.txt 2>o.log
"$B/bin/ovni-report" critical --json --pid "$(pid 1)" t >c.json 2>c.log || complain "critical: $(cat c.log)"
cat >blame.py <<'E2'
import json
wrong = []
def check(ok, *words):
    if not ok:
        wrong.append(" ".join(map(str, words)))
said = {}
for line in open("out"):
    w = line.split()
    said[int(w[1])] = {k: int(v) for k, v in zip(w[2::2], w[3::2])}
e = json.load(open("e.json"))
m, ranks = e["metrics"], {r["rank"]: r for r in e["ranks"]}
check(sorted(said) == sorted(ranks) == [0, 1, 2, 3], "ranks:", sorted(ranks))
# useful time has what the program does between the sections, too: printing, reading of schedstat
near = lambda a, b, least: abs(a - b) < 0.02 * b + least
for r, own in said.items():
    t = ranks[r]["times"]
    more = 1e9 if r == 1 else 0  # its sleep at the end
    check(near(t["useful"] - more, own["took"], 20e6), "rank", r, "useful", t["useful"], own)
    check(near(t["useful_run"] + t["useful_unknown"] / 2, own["worked"], 15e6 + t["useful_unknown"] / 2), "rank", r, "ran", t["useful_run"], own)
    check(near(t["useful_wait"], own["waited"], 15e6 + t["useful_unknown"]), "rank", r, "waited", t["useful_wait"], own)
    print("rank", r, {k: t[k] for k in ("useful", "useful_run", "useful_wait", "useful_unknown")}, own)
# the factors of the times that the program counted
u = [said[r]["took"] + (1e9 if r == 1 else 0) for r in range(4)]
lb = sum(u) / 4 / max(u)
lb_in = max(u[0] + u[1], u[2] + u[3]) / 2 / max(u)
for key, want in (("load_balance", lb), ("load_balance_in_nodes", lb_in),
                  ("load_balance_between_nodes", lb / lb_in)):
    check(key in m and m[key] is not None and abs(m[key] - want) < 0.02, key, m.get(key), "wanted", want)
    print(key, m.get(key), "the program says", round(want, 4))
# imbalance: rank 3 has the most work
ran = {r: ranks[r]["times"]["useful_run"] for r in ranks}
check(max(ran, key=ran.get) == 3, "the most work:", ran)
# the noisy neighbour
culprits = {c["class"]: c for c in e["culprits"]}
check(sum(c["ns"] for c in e["culprits"]) == e["times"]["useful_wait"], "culprits do not add up")
# a trace of a job knows of other processes only the name of the one that took the CPU
takers = [p for p in json.load(open("p.json")) if "(%d)" % said[3]["pid"] in p["victim"]]
kernel = ("rcu_", "kworker", "migration", "ksoftirqd", "kthread", "kcompactd", "khugepaged")
others = [p for p in takers if "blame" not in p["culprit"] and not p["culprit"].startswith(kernel)]
# other processes of a busy machine may have been there more often
took = sorted(others, key=lambda p: -(p["first"] or 0))[:3]
check([p for p in took if "neighbour" in p["culprit"]], "who took the CPU of rank 3:", took)
print("rank 3 lost its CPU to", took)
print("culprits", e["culprits"])
# the late sender: both clocks are those of one node
pair = next(p for p in json.load(open("m.json")) if (p["from"], p["to"]) == (0, 1))
check(pair["messages"] == 20 and near(pair["receiver_waited"], said[1]["sender"], 5e6), "late sender", pair, said[1])
print("rank 1 waited for rank 0", pair["receiver_waited"], "it says", said[1]["sender"])
# the critical path
rows = json.load(open("c.json"))
check(all(a["to"] == b["from"] for a, b in zip(rows, rows[1:])), "gaps")
check(sum(r["time"] for r in rows) == rows[-1]["to"] - rows[0]["from"], "the sum")
rank_of = {own["pid"]: r for r, own in said.items()}
late = [r for r in rows if r["reason"] == "late sender"]
last = [r for r in rows if r["reason"] == "last in collective"]
check(rows[-1]["pid"] == said[1]["pid"], "it ends in", rows[-1])
check(late and late[-1]["by"].endswith("(%d)" % said[0]["pid"]), "no late sender", late)
check(last, "no collective")
at = [rank_of.get(r["pid"]) for r in rows]
per = {r: sum(x["time"] for x, k in zip(rows, at) if k == r) for r in ranks}
print("path by rank", per, len(late), "late senders", len(last), "collectives")
# the two ranks with the most work, one of them beside the neighbour, are the last in most barriers; rank 0 sleeps at the end
check(per[2] + per[3] > per[0] - 3e9 + per[1], "the ranks of the slow node", per)
check(sum(x["time"] for x, k in zip(rows, at) if k == 0 and x["state"] == "asleep") > 2.9e9, "rank 0 sleeps", per)
for text in wrong:
    print("wrong:", text)
raise SystemExit(len(wrong) > 0)
E2
python3 blame.py || complain "the three are not named with the program's figures"
cat e.txt; sed -n 1,30p o.txt
finish
