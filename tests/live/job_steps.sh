#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Several steps of one job into one directory, in a Slurm of two nodes whose clocks are 1000 s apart: one after the
# other, and two at the same time. Each is an application of its own, with the same rank numbers, and one incomplete
# node of a step is named; the reference accepts the whole. A step of another job is refused, also where its
# recorder fails before it has seen the directory. ovni-job adds a step, too.
# needs: root alone
# long: needs Slurm
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"
. "$S/tests/live/job_lib.sh"
ovni_job_cluster
sync() { timeout 60 srun -N2 -n2 --ntasks-per-node=1 "$B/bin/ovni-sync" --append t >sync.log 2>&1 || complain "ovni-sync: $(cat sync.log)"; }
step() { timeout 120 srun -N2 -n4 --ntasks-per-node=2 ${wrapper:-} "$RECORDER" --job --api mpi -o "$@"; }

# ---- one step, then two at the same time, until both record ----
sync
step t -- ./app 20 3 >out1 2>log
ended 3 "the first step" log
cp -r t first
step t -- ./app 20 4 "$T/go" >out2 2>log2 &
one=$!
step t -- ./app 20 5 "$T/go" >out3 2>log3 &
two=$!
for node in n1 n2; do
	for app in app2 app3; do wait_for "$app of $node records" is t/node/$node.$app.json recording; done
done
: >go
wait $one
ended 4 "the second step" log2
wait $two
ended 5 "the third step" log3
sync
grep -hv '^srun: ' log log2 log3 && complain "messages of the recorders"
for file in $(cd first && find . -type f ! -name clock-offsets.txt); do
	expect "the first step is not touched: $file" cmp "first/$file" "t/$file"
done
cat >judge <<'P'
keys = set()
for app in range(1, 4):
    dot = "" if app == 1 else f".app{app}"
    job = json.load(open(f"t/job{dot}.json"))
    keys.add(job["key"])
    check(job["nodes"] == 2 and job["ranks"] == 4, job)
    check(ranks["n1" + dot] == {0, 1} and ranks["n2" + dot] == {2, 3}, app, dict(ranks))
    for name in "n1" + dot, "n2" + dot:
        check(nodes[name]["state"] == "complete" and nodes[name]["app_id"] == app, name, nodes.get(name))
check(len(keys) == 3 and len(nodes) == 6, keys, nodes)
said = [{tuple(line.split()[1::2]) for line in open(f"out{i}")} for i in (1, 2, 3)]
for app, loom in (1, "n1"), (2, "n1.app2"), (3, "n1.app3"):
    mine = {(str(rank), str(pid)) for (at, pid), rank in processes.items() if at == loom}
    check(any(mine < one for one in said), loom, mine, said)
for top, _, files in os.walk("t"):
    if "stream.json" in files:
        ovni = json.load(open(top + "/stream.json"))["ovni"]
        check(ovni["app_id"] == int((ovni["loom"].split(".app") + ["1"])[1]), top, ovni)
verdict()
P
judge_job t "three steps" <judge
"$EMULATOR" -q -l t >emu.log 2>&1
ended 0 "the emulator accepts it" emu.log
"$B/bin/ovni-check" t >check.log 2>&1
ended 0 "ovni-check" check.log
"$B/bin/ovni-info" t >info.log
expect "ovni-info: $(cat info.log)" grep -q '6 of 6 nodes complete, 12 of 12 ranks recorded' info.log
expect "ovni-info has the clock of a further step: $(cat info.log)" grep -q ' n2.app3 *2-3 .* us *complete' info.log
"$B/bin/ovni-report" efficiency t >report.log 2>&1
ended 0 "ovni-report" report.log
expect "it names the applications: $(cat report.log)" grep -q 'those of 3 applications' report.log
"$B/bin/ovni-cut" --loom n1.app2 --loom n2.app2 -o cut t >cut.log 2>&1
ended 0 "ovni-cut takes one out" cut.log
"$B/bin/ovni-report" efficiency cut >report.log 2>&1
expect "and the report is of that one: $(cat report.log)" grep -q '2 nodes, 4 ranks' report.log
plain_looms t
agree_plain

# ---- a recorder of the fourth step is killed ----
cp -r t three && rm -f go
step t -- ./app 20 6 "$T/go" >out4 2>log &
job=$!
for node in n1 n2; do wait_for "app4 of $node records" is t/node/$node.app4.json recording; done
kill -KILL "$(recorder_of t n2.app4)"
wait_for "the file of the node says so" is t/node/n2.app4.json incomplete
: >go
wait $job
ended 6 "a killed recorder: the application goes on" log
for node in n1 n1.app2 n2 n2.app2 n1.app4; do expect "$node is complete" is t/node/$node.json complete; done
missing t 'node n2.app4 is incomplete since [0-9]*[.][0-9]* s of its recording: the recorder was killed by signal 9'
rm -r t && mv three t
rm t/node/n2.app3.json
missing t '1 of 2 nodes of application 3 left nothing; ranks 2-3 of 4 of application 3 are not recorded'

# ---- another job: refused, also by a recorder that fails before it has seen the directory ----
cp -r t before
(unset SLURM_JOB_ID && step t -- ./app 1 7) >out 2>log
ended 7 "another job runs" log
expect "its step is refused: $(cat log)" grep -q 'trace of another job' log
expect "and nothing is touched" diff -r t before
(unset SLURM_JOB_ID && wrapper=./weak step t -- ./app 1 7) >out 2>log
ended 7 "another job without privileges runs" log
expect "and nothing is touched: $(cat log)" diff -r t before

# ---- ovni-job, twice ----
for app in 1 2; do
	record_job j >j.log 2>&1 &
	job=$!
	dot=$([ $app = 1 ] || echo .app$app)
	for node in n1 n2; do wait_for "ovni-job $app: $node: $(cat j.log)" is j/node/$node$dot.json recording; done
	ranks ./app 5 0 >out 2>log
	ended 0 "the ranks of ovni-job $app" log
	wait $job
	ended 0 "ovni-job $app" j.log
done
expect "the last line has all: $(cat j.log)" grep -q 'nodes_complete=4 ranks=8 ranks_recorded=8' j.log
"$EMULATOR" -q -l j >emu.log 2>&1
ended 0 "the emulator accepts both" emu.log
(unset SLURM_JOB_ID && timeout 60 srun -N2 -n2 --ntasks-per-node=1 "$B/bin/ovni-job" -o j) >log 2>&1
ended 1 "ovni-job of another job" log
expect "is refused: $(cat log)" grep -q 'not empty' log
finish
