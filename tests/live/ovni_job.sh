#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-job beside the ranks of an MPI program, in a Slurm of two nodes, whose clocks are 1000 s apart: under srun, and
# under mpirun. Each rank is recorded once, by its node, also one that lives 5 ms, and no process of another user or
# another job; clocks are corrected to the truth. Then every end: a recorder is killed, or gets several signals, a node
# has no privilege, a disk is full, a recorder is late, ovni-job is signalled, interrupted, cancelled, or left behind by
# its script. The application ends with its own status, and the missing node is named.
# needs: root alone
# long: needs Slurm
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"
. "$S/tests/live/job_lib.sh"
[ -x "$B/bin/ovni-job" ] || skip "no ovni-job here (it needs MPI)"
job_cluster 2 1000
export SLURM_OVERLAP=1 # as srun --overlap
salloc -N2 --ntasks-per-node=2 --no-shell 2>salloc.log || { cat salloc.log; exit 1; }
SLURM_JOB_ID=$(sed -n 's/.*job allocation \([0-9]*\)$/\1/p' salloc.log)
export SLURM_JOB_ID
record_job() { # TRACE [WRAPPER] OPTION...: ovni-job on both nodes; its status is that of srun
	timeout 120 srun -N2 -n2 --ntasks-per-node=1 ${wrapper:-} "${program:-$B/bin/ovni-job}" -o "$@"
}
ranks() { timeout 60 srun -N2 -n4 --ntasks-per-node=2 "$@"; }
state() { sed -n 's/^ *"state": "\(.*\)",/\1/p' "$1" 2>/dev/null; }
is() { [ "$(state "$1")" = "$2" ]; }
recording() { is "$1/node/n1.json" recording && is "$1/node/n2.json" recording; }
began() { [ "$(grep -c '^rank' "$1")" = 4 ]; }
recorder_of() { sed -n 's/^ *"pid": \([0-9]*\),$/\1/p' "$1/node/$2.json" | head -n 1; } # TRACE NODE
gone() { ! kill -0 "$1" 2>/dev/null; }
missing() { # TRACE PATTERN: the emulator ends with 3, and says so
	"$EMULATOR" -q --tolerant "$1" >emu.log 2>&1
	ended 3 "$1" emu.log
	expect "$1: named: $(cat emu.log)" grep -q "$2" emu.log
}
start() { # TRACE OPTION...: in the background, until both nodes record; $job is its pid
	record_job "$@" >"$1.log" 2>&1 &
	job=$!
	wait_for "both nodes record $1: $(cat "$1.log")" recording "$1"
}

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

# ---- a directory that is not empty ----
cp -r t before
record_job t >log 2>&1
ended 1 "a directory that is not empty" log
expect "by name: $(cat log)" [ "$(grep -c "'t' exists, and is not empty" log)" = 1 ]
expect "not touched" diff -r before t

# ---- a recorder is killed ----
start killed
ranks ./app 20 4 "$T/go.killed" >killed.out 2>log &
srun=$!
wait_for "the ranks of killed have begun" began killed.out
wait_for "the file of the node has its ranks" grep -q '"rank": 3' killed/node/n2.json
kill -KILL "$(recorder_of killed n2)"
: >go.killed
wait $srun
ended 4 "killed: the application goes on, with its status" log
wait $job
ended 3 "killed: ovni-job" killed.log
expect "killed: named: $(cat killed.log)" grep -q 'node n2 is incomplete: the recorder was killed by signal 9$' killed.log
expect "killed: the other node is complete" is killed/node/n1.json complete
missing killed 'node n2 is incomplete: the recorder was killed by signal 9'

# ---- several signals, from the launcher, its daemons and scripts: each from another process ----
start signals
ranks ./app 20 3 "$T/go.signals" >signals.out 2>log &
srun=$!
wait_for "the ranks of signals have begun" began signals.out
recorders=$(recorder_of signals n1; recorder_of signals n2)
for ((i = 0; i < 5; i++)); do
	# shellcheck disable=SC2086 # pids
	env kill -TERM $recorders 2>/dev/null
done
for pid in $recorders; do wait_for "signals: the recorder $pid ends" gone "$pid"; done
: >go.signals
wait $srun
ended 3 "signals: the application goes on" log
wait $job
ended 0 "signals: ovni-job" signals.log
for node in n1 n2; do expect "signals: $node is complete, not $(state signals/node/$node.json)" is "signals/node/$node.json" complete; done

# ---- a node without privilege; a full disk: no file of the recorder may have more than 8 KiB ----
wrapper=./weak record_job weak.t --job-timeout 5s >weak.t.log 2>&1 &
job=$!
wait_for "one node records" is weak.t/node/n1.json recording
ranks ./app 20 6 >out 2>log
ended 6 "weak: the status" log
wait $job
ended 3 "weak: ovni-job" weak.t.log
expect "weak: one node is complete" is weak.t/node/n1.json complete
expect "weak: the other has failed: $(cat weak.t.log)" is weak.t/node/n2.json failed
expect "weak: no offset of a node without streams" [ "$(grep -c n2 weak.t/clock-offsets.txt)" = 0 ]
missing weak.t 'node n2 is failed: .*; ranks 2-3 of 4 are not recorded'
export wrapper=./small
start small.t
unset wrapper
ranks ./app 400 2 >out 2>log
ended 2 "small: the status" log
wait $job
ended 3 "small: ovni-job" small.t.log
expect "small: one node is complete" is small.t/node/n1.json complete
missing small.t 'node n2 is incomplete: '

# ---- a recorder that is late: the others begin without it ----
mkdir bin && cp "$B/bin/ovni-job" bin && cat >bin/ovni-bpf <<X
#!/bin/sh
[ "\$(hostname)" = n1 ] || while [ ! -e go.late ]; do sleep 0.1; done
exec $RECORDER "\$@"
X
chmod +x bin/ovni-bpf
program=bin/ovni-job record_job late --job-timeout 2s >late.log 2>&1 &
job=$!
wait_for "one node records" is late/node/n1.json recording
wait_for "ovni-job does not wait for the other one" grep -q 'recording 1 of 2 nodes' late.log
ranks ./app 20 1 "$T/go.app" >late.out 2>log &
srun=$!
wait_for "late: the ranks begin" began late.out
: >go.late
wait_for "the late one records, too" grep -q 'recording 2 of 2 nodes' late.log
: >go.app
wait $srun
ended 1 "late: the status" log
wait $job
ended 0 "late: ovni-job" late.log
judge_job late "late" <<'P'
check(ranks == {"n1": {0, 1}, "n2": {2, 3}}, "ranks:", dict(ranks))
verdict()
P

# ---- ovni-job is signalled, interrupted twice (Ctrl-C), or its job cancelled: the ranks go on, or end with the job ----
step() { squeue -s -h -o '%i %j' | sed -n 's/ ovni-job$//p' | head -n 1; }
for how in TERM INT ctrl-c; do
	start "$how"
	ranks ./app 20 5 "$T/go.$how" >"$how.out" 2>log &
	srun=$!
	wait_for "$how: the ranks begin" began "$how.out"
	recorders=$(recorder_of "$how" n1; recorder_of "$how" n2)
	if [ $how = ctrl-c ]; then # as of a terminal, to all of its processes: twice within a second
		pid=$(pgrep -o -f '^srun .*/ovni-job -o ctrl-c$')
		kill -INT "$pid"; sleep 0.3; kill -INT "$pid"
	else
		scancel --signal=$how "$(step)"
	fi
	wait $job
	status=$?
	for pid in $recorders; do wait_for "$how: the recorder $pid ends" gone "$pid"; done
	: >"go.$how"
	wait $srun
	ended 5 "$how: the application" log
	if [ $how = ctrl-c ]; then
		"$EMULATOR" -q --tolerant "$how" >emu.log 2>&1
		echo "$how: ovni-job ended with $status, nodes: $(state $how/node/n1.json), $(state $how/node/n2.json); the emulator: $?"
	else
		expect "$how: ovni-job ended with $status: $(cat $how.log)" [ $status = 0 ]
		for node in n1 n2; do expect "$how: $node is complete" is "$how/node/$node.json" complete; done
	fi
done
scancel "$SLURM_JOB_ID"
unset SLURM_JOB_ID
all_gone() { [ -z "$(squeue -h)" ]; }
wait_for "the allocation ends" all_gone

# ---- the script ends, or is cancelled: SIGTERM, and SIGKILL after KillWait ----
cat >script <<X
#!/bin/bash
srun -N2 -n2 --ntasks-per-node=1 $B/bin/ovni-job -o "\$1" 2>"\$1.log" &
until grep -qs '"recording"' \$1/node/n1.json && grep -qs '"recording"' \$1/node/n2.json; do sleep 0.1; done
srun -N2 -n4 --ntasks-per-node=2 ./app 20 0 "$T/never" >"\$1.out" &
until [ "\$(grep -c '^rank' "\$1.out")" = 4 ]; do sleep 0.1; done
: >"begun.\$1"
while [ "\$2" = stay ]; do sleep 1; done
X
chmod +x script
for how in leave stay; do
	sbatch -N2 --ntasks-per-node=2 -o "script.$how" script "$how.t" $how >log 2>&1 || complain "$(cat log)"
	wait_for "$how: the ranks begin" [ -e "begun.$how.t" ]
	recorders=$(recorder_of "$how.t" n1; recorder_of "$how.t" n2)
	[ $how = leave ] || scancel "$(squeue -h -o %i | head -n 1)"
	for pid in $recorders; do wait_for "$how: the recorder $pid ends" gone "$pid"; done
	for node in n1 n2; do expect "$how: $node is complete, not $(state $how.t/node/$node.json)" is "$how.t/node/$node.json" complete; done
	"$EMULATOR" -q "$how.t" >emu.log 2>&1
	ended 0 "$how: the emulator" emu.log
	wait_for "$how: the job ends" all_gone
done
finish
