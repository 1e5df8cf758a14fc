#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Every end of ovni-bpf --job in a Slurm of two nodes: a recorder is killed, a node has no privilege, a disk is full,
# the job is signalled, interrupted once or cancelled, a rank is late, two jobs run at once. The
# application ends with its own status, the other node is complete, and the missing node is named.
# needs: root alone
# long: needs Slurm
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"
. "$S/tests/live/job_lib.sh"
job_cluster 2 1000
job() { timeout 120 srun -N2 -n4 --ntasks-per-node=2 "$RECORDER" --job -o "$@"; }

# ---- a recorder is killed ----
job killed -- ./app 20 4 "$T/go.killed" >killed.out 2>killed.log &
srun=$!
wait_for "the ranks of killed have begun" began killed.out
wait_for "both nodes record" both_record killed
kill -KILL "$(recorder_of killed n2)"
wait_for "the file of the node says so" is killed/node/n2.json incomplete
: >go.killed
wait $srun
ended 4 "killed: the application goes on, with its status" killed.log
expect "killed: the other node is complete" [ "$(state killed/node/n1.json)" = complete ]
missing killed 'node n2 is incomplete since [0-9]*[.][0-9]* s of its recording: the recorder was killed by signal 9'
expect "killed: since a clock of the node: $(cat killed/node/n2.json)" python3 -c 'import json
node = json.load(open("killed/node/n2.json"))
assert 0 < int(node["since"]) - int(node["begin"]["clock"]) < 120e9'

# ---- a node without privilege ----
timeout 120 srun -N2 -n4 --ntasks-per-node=2 ./weak "$RECORDER" --job -o weak.t -- ./app 20 6 >out 2>log
ended 6 "weak: the status" log
expect "weak: all ranks run" began out
expect "weak: one node is complete" [ "$(state weak.t/node/n1.json)" = complete ]
expect "weak: the other has failed: $(cat log)" [ "$(state weak.t/node/n2.json)" = failed ]
missing weak.t 'node n2 is failed: .*; ranks 2-3 of 4 are not recorded'

# ---- a disk is full: no file of the recorder may have more than 8 KiB ----
timeout 120 srun -N2 -n4 --ntasks-per-node=2 ./small "$RECORDER" --job -o small.t -- sh -c 'ulimit -S -f unlimited; exec ./app 400 2' >out 2>log
ended 2 "small: the status" log
expect "small: one node is complete" [ "$(state small.t/node/n1.json)" = complete ]
missing small.t 'node n2 is incomplete: '

# ---- signalled, and cancelled: SIGTERM, and SIGKILL after KillWait ----
for how in --signal=TERM --signal=INT --state=RUNNING; do
	name=cancel${how##*=}
	job "$name" -- ./app 20 0 "$T/never" >"$name.out" 2>log &
	srun=$!
	wait_for "$name: the ranks begin" began "$name.out"
	wait_for "$name: both nodes record" both_record "$name"
	recorders=$(recorder_of "$name" n1; recorder_of "$name" n2)
	scancel $how "$(squeue -h -o %i | head -n 1)"
	for pid in $recorders; do wait_for "$name: the recorder $pid ends" gone "$pid"; done
	wait $srun
	expect "$name: srun failed" [ $? != 0 ]
	for node in n1 n2; do
		if is "$name/node/$node.json" complete; then
			echo "$name: $node is complete"
		else
			missing "$name" "of node $node has not ended\|node $node is incomplete"
		fi
	done
done

# ---- one Ctrl-C: srun asks for another one, and the recording goes on ----
job once -- ./app 20 4 "$T/go.once" >once.out 2>once.log &
srun=$!
wait_for "the ranks of once have begun" began once.out
wait_for "once: both nodes record" both_record once
kill -INT "$(pgrep -o -f '^srun .* -o once -- ./app')"
wait_for "once: srun asks for another one" grep -q 'one more within' once.log
sleep 1.5 # a second Ctrl-C counts within a second
expect "once: both nodes still record" both_record once
: >go.once
wait $srun
ended 4 "once: the application ends with its own status" once.log
for node in n1 n2; do expect "once: $node is complete" is once/node/$node.json complete; done
judge_job once "once: all ranks" <<'P'
check(sorted(pids) == [0, 1, 2, 3], pids)
verdict()
P

# ---- two jobs at once on the same nodes ----
job a -- ./app 100 0 >a.out 2>a.log &
first=$!
job b -- ./app 100 0 >b.out 2>b.log
ended 0 "two jobs" b.log
wait $first
ended 0 "two jobs" a.log
for trace in a b; do
	said=$trace judge_job $trace "two jobs: $trace" <<'P'
said = {int(line.split()[1]): int(line.split()[3]) for line in open(os.environ["said"] + ".out")}
check({rank: {pid} for rank, pid in said.items()} == pids and None not in ranks["n1"] | ranks["n2"], said, pids)
verdict()
P
done

# ---- a rank is late ----
cat >late <<'X'
#!/bin/sh
[ "$SLURM_PROCID" != 3 ] || while [ ! -e go.late ]; do sleep 0.1; done
exec "$@"
X
chmod +x late
timeout 120 srun -N2 -n4 --ntasks-per-node=2 ./late "$RECORDER" --job --job-timeout 2s -o late.t -- sh -c '[ $SLURM_PROCID = 3 ] && touch done.late; [ $SLURM_PROCID != 2 ] || { touch go.late; while [ ! -e done.late ]; do sleep 0.1; done; }; exit 3' >out 2>log
ended 3 "late: the status" log
expect "late: it says so: $(cat log)" grep -q 'rank 3 is not recorded' log
"$EMULATOR" -q late.t >emu.log 2>&1
expect "late: named: $(cat emu.log)" grep -q 'rank 3 of 4 is not recorded' emu.log

finish
