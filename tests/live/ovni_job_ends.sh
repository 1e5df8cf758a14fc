#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Every end of ovni-job in a Slurm of two nodes: a recorder is killed, or gets several signals, a node
# has no privilege, a disk is full, a recorder is late, ovni-job is signalled, interrupted, cancelled, or left behind by
# its script. The application ends with its own status, and the missing node is named.
# needs: root alone
# long: needs Slurm
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"
. "$S/tests/live/job_lib.sh"
ovni_job_cluster

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
expect "killed: named: $(cat killed.log)" grep -q 'node n2 is incomplete since [0-9]*[.][0-9]* s of its recording: the recorder was killed by signal 9$' killed.log
expect "killed: the other node is complete" is killed/node/n1.json complete
missing killed 'node n2 is incomplete since [0-9]*[.][0-9]* s of its recording: the recorder was killed by signal 9'

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
