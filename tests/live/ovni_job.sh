#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-job beside the ranks of an MPI program, in a Slurm of two nodes, whose clocks are 1000 s apart: under srun, and
# under mpirun. Each rank is recorded once, by its node, also one that lives 5 ms, and no process of another user or
# another job; clocks are corrected to the truth.
# needs: root alone
# long: needs Slurm
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"
. "$S/tests/live/job_lib.sh"
ovni_job_cluster

# ---- srun ----
start t
# of another user, with the same environment; and of ours, with that of another job
printf '#!/bin/sh\nexec env SLURM_STEP_ID=9 SLURM_PROCID=7 SLURM_NTASKS=8 SLURMD_NODENAME=n1 "$@"\n' >forge && chmod +x forge
setpriv --reuid=65534 --clear-groups ./forge sleep 0.2
SLURM_JOB_ID=999 ./forge sleep 0.2
ranks ./app 100 7 >out 2>log
ended 7 "the status of the application" log
wait $job
ended 0 "ovni-job" t.log
expect "its last line: $(cat t.log)" grep -q 'nodes=2 nodes_complete=2 ranks=4 ranks_recorded=4 clock_bound_ns=[1-9]' t.log
judge_job t "srun" <<'P'
said = {int(line.split()[1]): line.split()[2:] for line in open("out")}
check(ranks == {"n1": {0, 1}, "n2": {2, 3}}, "ranks:", dict(ranks))
for rank, (host, pid) in said.items():
    check(pids[rank] == {int(pid)}, rank, "is", pid, "but recorded:", pids[rank])
check(len(processes) == 4, "other processes:", processes)
check(job["nodes"] == 2, job)
for name, node in nodes.items():
    check(node["state"] == "complete" and node["lost"] == "0" and node["ranks"] == 4, name, node)
rows = [line.split() for line in open("t/clock-offsets.txt")][1:]
check([row[1] for row in rows] == ["n1", "n2"], rows)
for row in rows:
    true = truth[row[1]] - truth["n1"]
    check(int(row[6]) > int(row[5]), row)
    for offset in int(row[2]), int(row[7]):
        check(abs(offset - true) <= int(row[8]) < 100000, row, "true:", true)
verdict()
P
"$EMULATOR" -q t >emu.log 2>&1
ended 0 "the emulator accepts it" emu.log
"$B/bin/ovni-check" t >check.log 2>&1
ended 0 "and ovni-check" check.log

# ---- ranks that live 5 ms; an option for the recorder ----
printf 'int usleep(unsigned);\nint main(void) { usleep(5000); return 3; }\n' | gcc -x c -o short - || exit 1
start short.t -- --why=none
ranks ./short >out 2>log
ended 3 "ranks of 5 ms" log
wait $job
ended 0 "short.t" short.t.log
judge_job short.t "ranks of 5 ms" <<'P'
check(ranks == {"n1": {0, 1}, "n2": {2, 3}}, "ranks:", dict(ranks))
check(len(processes) == 4, processes)
verdict()
P
expect "the option" grep -q -- '--why=none' <("$B/bin/ovni-info" short.t)

# ---- mpirun ----
cat >both <<X
#!/bin/bash
timeout 120 mpirun --map-by ppr:1:node "$B/bin/ovni-job" -o m >m.log 2>&1 &
until grep -qs '"recording"' m/node/n1.json && grep -qs '"recording"' m/node/n2.json; do sleep 0.1; done
mpirun ./app 20 0 || exit 9
wait %1
X
chmod +x both
(unset SLURM_JOB_ID && timeout 200 salloc -N2 --ntasks-per-node=2 ./both >out 2>log)
ended 0 "ovni-job and the application under mpirun" m.log
judge_job m "mpirun" <<'P'
check(ranks == {"n1": {0, 1}, "n2": {2, 3}}, "ranks:", dict(ranks))
check(len(processes) == 4, "other processes:", processes)
verdict()
P

# ---- the streams on the local disk until the end ----
mkdir spool
start spooled -- --spool spool
ranks ./short >out 2>log
ended 3 "with a spool" log
wait $job
ended 0 "with a spool: ovni-job" spooled.log
judge_job spooled "with a spool" <<'P'
check(ranks == {"n1": {0, 1}, "n2": {2, 3}}, "ranks:", dict(ranks))
check(len(open("spooled/clock-offsets.txt").readlines()) == 3, "the clocks of both nodes")
verdict()
P
expect "nothing is left there: $(find spool)" [ "$(ls spool)" = "" ]

# ---- a directory that is not empty, of no step of this job ----
mv t before && mkdir t && cp -r before/loom.n1 t && cp -r t alone
record_job t >log 2>&1
ended 1 "a directory that is not empty" log
expect "by name: $(cat log)" [ "$(grep -c "'t' exists, and is not empty" log)" = 1 ]
expect "not touched" diff -r alone t
finish
