#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Check 4 of job.md 6: ovni-job on four Slurm nodes, whose clocks are 1000 s apart. Each offset is within its printed
# bound of the truth, and the bounds are below 100 us; the emulated job lasts as long as its ranks did by their own clocks,
# within 1 %; no rank leaves an MPI_Allreduce before all have entered it, beyond the bounds; each node has its ranks. A
# busy machine gives ovni-job priority, and gets three jobs: bounds and duration must hold in one of them, all else in each. Then the same judge finds
# damage: a shifted offset, a large bound, a wrong duration, a contradiction.
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
	long long begin = now(), before;
	double value = 1, sum;
	char host[MPI_MAX_PROCESSOR_NAME], name[32];
	int rank, n;
	FILE *calls;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Get_processor_name(host, &n);
	snprintf(name, sizeof(name), "calls.%d", rank);
	calls = fopen(name, "w");
	for (int more = 1; more;) {
		for (int k = 0; k < 1000000; k++)
			value += k * 1e-9;
		before = now();
		MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		fprintf(calls, "%lld %lld\n", before, now());
		more = now() - begin < 20000000000LL; /* as rank 0 has it */
		MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
	}
	fclose(calls);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	printf("rank %d %s %lld %lld\n", rank, host, begin, now());
	return 7;
}
C
cat >judge.py <<'P'
"""Words on stdout, one line for each finding: "near: ..." for those that a busy machine may cause."""
import os
import re

trace = Trace(folder)
said = {int(line.split()[1]): line.split()[2:] for line in open("out")}
check(ranks == {"n%d" % (k + 1): {2 * k, 2 * k + 1} for k in range(4)}, "ranks:", dict(ranks))
check(len(processes) == 8, "other processes:", processes)
for name, node in nodes.items():
    check(node["state"] == "complete" and node["lost"] == "0" and node["ranks"] == 8, name, node)
rows = {words[1]: [int(float(w)) for w in words[2:]] for words in (line.split() for line in open(folder + "/clock-offsets.txt")) if words[0] != "rank"}
check(sorted(rows) == ["n1", "n2", "n3", "n4"], rows)
for host, (first, _, _, begin, end, last, bound) in rows.items():
    true = truth[host] - truth["n1"]
    check(end > begin, host, rows[host])
    for offset in first, last:
        check(abs(offset - true) <= bound, "offset of", host, "is", offset, "+-", bound, "true:", true)
    check(bound < 100000, "near: bound of", host, bound, "ns")
    print("%s: %+d and %+d ns from the truth, bound %d ns" % (host, first - true, last - true, bound))


def correct(host, clock):
    first, _, _, begin, end, last, _ = rows[host]
    return clock + first + (last - first) * (clock - begin) // (end - begin)


# the calls, by the programs and by the trace
enters, leaves = [], []
for rank, (host, _, _) in sorted(said.items()):
    own = [tuple(map(int, line.split())) for line in open("calls.%d" % rank)]
    events = [e for stream in trace.threads(min(pids[rank])) for e in stream.events if e.mcv in ("MAr", "MAR")]
    got = list(zip([e.clock for e in events if e.mcv == "MAr"], [e.clock for e in events if e.mcv == "MAR"]))
    check(len(got) == len(own) > 20, "rank", rank, "made", len(own), "calls, recorded:", len(got))
    for (before, after), (enter, leave) in zip(own, got):
        check(before <= enter <= leave <= after, "rank", rank, "the call", before, after, "is recorded as", enter, leave)
    enters.append([(correct(host, enter), rows[host][6]) for enter, _ in got])
    leaves.append([(correct(host, leave), rows[host][6]) for _, leave in got])
early = [k for k in range(min(map(len, enters))) if min(x[k][0] + x[k][1] for x in leaves) < max(x[k][0] - x[k][1] for x in enters)]
check(not early, len(early), "calls of MPI_Allreduce are left before all have entered, first", early[:1])
print("%d calls of MPI_Allreduce in each rank" % len(enters[0]))
# by the ranks' own clocks; it lacks the time from their exec to main() and from there to their end
begin = min(int(b) + truth[host] for host, b, _ in said.values())
end = max(int(e) + truth[host] for host, _, e in said.values())
lasts = int(re.search(r":(\d+)_ns:", open(folder + "/thread.prv").readline())[1])
print("the ranks say %.3f s, the emulated job has %.3f s" % ((end - begin) / 1e9, lasts / 1e9))
check(lasts >= end - begin, "the emulated job is too short:", lasts, end - begin)
check(lasts - (end - begin) < 0.01 * (end - begin), "near: the emulated job lasts", lasts, "the ranks say", end - begin)
check(not os.path.getsize("emu.log"), "the emulator says", open("emu.log").read())
verdict()
P
export SLURM_OVERLAP=1 # as srun --overlap
salloc -N4 --ntasks-per-node=2 --no-shell 2>salloc.log || { cat salloc.log; exit 1; }
SLURM_JOB_ID=$(sed -n 's/.*job allocation \([0-9]*\)$/\1/p' salloc.log)
export SLURM_JOB_ID
recording() { [ "$(cat t/node/n[1-4].json 2>/dev/null | grep -c '"recording"')" = 4 ]; }
found() { cat "$S/tests/live/job_facts.py" judge.py >judge.script; python3 judge.script "$1" "$cluster/truth" >found 2>&1; }
for attempt in 1 2 3; do
	rm -rf t
	timeout 200 srun -N4 -n4 --ntasks-per-node=1 nice -n -20 "$B/bin/ovni-job" -o t -- --api mpi --api mpi-messages >t.log 2>&1 &
	job=$!
	wait_for "four nodes record: $(cat t.log)" recording
	timeout 120 srun -N4 -n8 --ntasks-per-node=2 ./timed >out 2>log
	ended 7 "the status of the application" log
	wait $job
	ended 0 "ovni-job" t.log
	expect "its last line: $(cat t.log)" grep -q 'nodes=4 nodes_complete=4 ranks=8 ranks_recorded=8 clock_bound_ns=[1-9]' t.log
	"$EMULATOR" -q t >emu.log 2>&1
	ended 0 "the emulator accepts it" emu.log
	found t && break
	cat found
	grep '^wrong: ' found | grep -qv '^wrong: near: ' && break
done
cat found
expect "check 4, after $attempt jobs" [ "$(grep -c '^wrong: ' found)" = 0 ]

# ---- the judge finds damage ----
damaged() { # NAME AWK-PROGRAM PATTERN: of the table, in the emulated trace, too
	rm -rf damaged && cp -r t damaged
	awk -v CONVFMT=%.0f "$2 { print }" t/clock-offsets.txt >damaged/clock-offsets.txt
	"$EMULATOR" -q damaged >emu.log 2>&1
	expect "$1 is not found: $(cat found)" eval '! found damaged'
	expect "$1 is not found: $(cat found)" grep -q "^wrong: $3" found
}
damaged "an offset that is 5 ms wrong" '$2 == "n3" { $3 += 5000000; $8 += 5000000 }' 'offset of n3'
damaged "a bound of 0.1 ms" '$2 == "n2" { $9 = 100000 }' 'near: bound of n2 100000'
damaged "a wrong drift" '$2 == "n4" { $8 += 5000000 }' 'offset of n4'
damaged "clocks that contradict a collective" '$2 == "n2" { $3 += 50000000; $8 += 50000000 }' '[0-9]* calls of MPI_Allreduce are left before'
damaged "clocks that contradict a collective, by the emulator," '$2 == "n2" { $3 += 50000000; $8 += 50000000 }' 'the emulator says .*contradict'
damaged "a duration that is 1 s wrong" '$2 == "n4" { $3 += 1000000000; $8 += 1000000000 }' 'near: the emulated job lasts'
"$EMULATOR" -q t >emu.log 2>&1
sed -i '5d' calls.1
expect "a call that is not recorded is found" eval '! found t'
expect "by name: $(cat found)" grep -q '^wrong: rank 1 made' found
"$B/bin/ovni-report" messages t >messages.log # of whose calls the communicators are known
# the path to the end goes over several nodes, and adds up
"$B/bin/ovni-report" efficiency --json t >efficiency.json
ended 0 "ovni-report efficiency" efficiency.json
scancel "$SLURM_JOB_ID"
finish
