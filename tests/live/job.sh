#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-bpf --job before the ranks of an MPI program, in a Slurm of two nodes, whose clocks are 5000 s apart,
# beyond the clock gate: under srun, and under mpirun in an allocation. Each rank is recorded once, by its node, and
# nothing else; the application's status is that of srun; clocks are corrected to the truth, and refused without the
# table; the reference reads the looms alone; other directories are refused.
# needs: root alone
# long: needs Slurm
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"
. "$S/tests/live/job_lib.sh"
job_cluster 2 5000
sync() { timeout 60 srun -N2 -n2 --ntasks-per-node=1 "$B/bin/ovni-sync" --append t >sync.log 2>&1 || complain "ovni-sync: $(cat sync.log)"; }

# ---- srun, with the clocks before and after ----
sync
timeout 120 srun -N2 -n4 --ntasks-per-node=2 "$RECORDER" --job -o t -- ./app 100 7 >out 2>log
ended 7 "the status of the application" log
grep -v '^srun: ' log && complain "messages of the recorders"
sync
cat sync.log
judge_job t "srun" <<'P'
said = {int(line.split()[1]): line.split()[2:] for line in open("out")}
check(len(said) == 4, said)
check(ranks == {"n1": {0, 1}, "n2": {2, 3}}, "ranks:", dict(ranks))
for rank, (host, pid) in said.items():
    check(pids[rank] == {int(pid)}, rank, "is", pid, "but recorded:", pids[rank])
check(job["nodes"] == 2 and job["ranks"] == 4 and job["launcher"] == "Slurm, PMIx", job)
for name, node in nodes.items():
    check(node["state"] == "complete" and node["lost"] == "0", name, node)
# the clocks: the difference to n1
rows = [line.split() for line in open("t/clock-offsets.txt")][1:]
check([row[1] for row in rows] == ["n1", "n2"], rows)
for row in rows:
    true = truth[row[1]] - truth["n1"]
    for offset in int(row[2]), int(row[7]):
        check(abs(offset - true) <= int(row[8]) < 1000000, row, "true:", true)
verdict()
P
"$EMULATOR" -q t >emu.log 2>&1
ended 0 "the emulator accepts it" emu.log
ns=$(sed -n '1s/.*:\([0-9]*\)_ns:.*/\1/p' t/thread.prv)
expect "the duration is that of the run: $ns ns" [ "${ns:-0}" -gt 100000000 -a "${ns:-0}" -lt 60000000000 ]
"$B/bin/ovni-info" t >info.log
expect "ovni-info has the nodes: $(cat info.log)" grep -q ' n2 *2-3 .* us *complete' info.log
mv t/clock-offsets.txt table
"$EMULATOR" -q t >emu.log 2>&1
ended 1 "without a table, clocks 5000 s apart are refused" emu.log
expect "by name: $(cat emu.log)" grep -q 'clock offsets.*ovni-sync' emu.log
mv table t/clock-offsets.txt

# ---- as one directory of today's form for each node, and for the reference: five columns, no job.json, no node/ ----
plain_looms t
"$EMULATOR" -q -l plain >emu.log 2>&1
ended 0 "without job.json, node/ and the last four columns" emu.log
agree_plain
mkdir parts parts/part.n1 parts/part.n2
for node in n1 n2; do cp -r t/loom.$node parts/part.$node; done
cp t/clock-offsets.txt parts
"$EMULATOR" -q parts >emu.log 2>&1
ended 0 "part.NODE/loom.NODE" emu.log
"$EMULATOR" -q t >emu.log 2>&1
for file in thread.prv cpu.prv; do
	expect "part.NODE/loom.NODE: the same $file" cmp <(sed '1s/([^)]*)//' t/$file) <(sed '1s/([^)]*)//' parts/$file)
done
rm parts/clock-offsets.txt
"$EMULATOR" -q parts >emu.log 2>&1
ended 1 "part.NODE/loom.NODE without a table" emu.log

# ---- a second run, and another job, into the same directory ----
cp -r t before
timeout 60 srun -N2 -n2 "$RECORDER" --job -o t -- ./app 1 5 >out 2>log
ended 5 "the application of another job runs" log
expect "the directory of another job is refused: $(cat log)" grep -q 'trace of another job' log
expect "and not touched" diff -r t before
mkdir full && touch full/file
timeout 60 srun -N1 -n1 "$RECORDER" --job -o full -- ./app 1 0 >out 2>log
expect "a foreign directory is refused: $(cat log)" grep -q 'not of this job' log
expect "and not touched" [ "$(ls full)" = file ]

# ---- half of a job does not look whole ----
rm t/node/n2.json
"$EMULATOR" -q t >emu.log 2>&1
ended 3 "a node that left nothing" emu.log
expect "named: $(cat emu.log)" grep -q '1 of 2 nodes left nothing; ranks 2-3 of 4 are not recorded' emu.log
cp -r t/loom.n1 loom && sed -i 's/"n1"/"n3"/' $(find loom -name stream.json) && mv loom t/loom.n3 && rm t/clock-offsets.txt
"$EMULATOR" -q t >emu.log 2>&1
ended 1 "a rank in two looms is refused" log
expect "by name: $(cat emu.log)" grep -q 'rank 0 of 4 is in the looms n1 and n3' emu.log

# ---- mpirun in an allocation: SLURM_LOCALID is 0 for all ----
timeout 120 salloc -N2 --ntasks-per-node=2 mpirun "$RECORDER" --job -o m -- ./app 20 0 >out 2>log
ended 0 "mpirun" log
judge_job m "mpirun" <<'P'
check(ranks == {"n1": {0, 1}, "n2": {2, 3}}, "ranks:", dict(ranks))
check(job["launcher"] == "Open MPI" and job["ranks"] == 4, job)
check(all(node["state"] == "complete" for node in nodes.values()), nodes)
verdict()
P
timeout 120 mpirun --oversubscribe -n 4 "$RECORDER" --job -o one -- ./app 20 0 >out 2>log
ended 0 "mpirun on one node" log
judge_job one "mpirun on one node" <<'P'
check(list(ranks.values()) == [{0, 1, 2, 3}], "ranks:", dict(ranks))
verdict()
P
"$RECORDER" --job -o none -- ./app >out 2>log
expect "without a launcher: $(cat log)" grep -q 'no launcher has started' log
finish
