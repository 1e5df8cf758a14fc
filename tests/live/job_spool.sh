#!/bin/bash
# SPDX-License-Identifier: MIT
#
# --spool in a Slurm of two nodes: while they record, the streams are on the local disk, and at the end in the
# directory of the job alone. On a full disk, and after the kill of a recorder that copies, they stay there and are
# named, with status 3, and nothing in the directory is half a file. A spool that cannot be used is a failed node.
# needs: root alone
# long: needs Slurm
set -u
cd "$T" || exit 1
[ -e namespace ] || exec unshare --mount --propagation private bash -c \
	'cd "$1" && mkdir namespace disk && mount -t tmpfs -o size=4m none disk && exec "$2"' - "$T" "$0" ||
	exit 1
. "$S/tests/live/lib.sh"
. "$S/tests/live/job_lib.sh"
job_cluster 2 0
mkdir spool
job() { timeout 120 srun -N2 -n4 --ntasks-per-node=2 ${wrapper:-} "$RECORDER" --job --spool spool -o "$@"; }
streams() { find "$1" -name stream.json | wc -l; }
has_streams() { [ "$(streams "$1")" -gt 0 ]; }
spool_of() { ls -d "$T"/spool/ovni-bpf."$1".*; } # NODE

# ---- normal ----
job t -- ./app 20 3 "$T/go" >out 2>log &
srun=$!
wait_for "both nodes record" both_record t
for node in n1 n2; do wait_for "the streams of $node are on its disk" has_streams "$(spool_of $node)"; done
expect "and not in the directory" [ "$(streams t)" = 0 ]
expect "whose file says where: $(cat t/node/n2.json)" grep -q "its streams are in $(spool_of n2)" t/node/n2.json
missing t "of node n2 has not ended.*: its streams are in $(spool_of n2)"
: >go
wait $srun
ended 3 "the status of the application" log
grep -v '^srun: ' log && complain "messages of the recorders"
expect "nothing is left there: $(find spool)" [ "$(ls spool)" = "" ]
expect "nor half a file: $(ls -A t)" [ "$(ls -A t)" = "$(printf '%s\n' job.json loom.n1 loom.n2 node stats.n1.json stats.n2.json)" ]
judge_job t "normal" <<'P'
check(ranks == {"n1": {0, 1}, "n2": {2, 3}}, "ranks:", dict(ranks))
check(all(n["state"] == "complete" and "why" not in n for n in nodes.values()), nodes)
verdict()
P
"$EMULATOR" -q -l t >emu.log 2>&1
ended 0 "the emulator accepts it" emu.log
"$B/bin/ovni-check" t >check.log 2>&1
ended 0 "ovni-check" check.log

# ---- the disk of the directory is full at the end: 64 KiB are left ----
rm go
job disk/t -- ./app 400 4 "$T/go" >out 2>log &
srun=$!
wait_for "both nodes record" both_record disk/t
free=$(($(stat -f -c '%a * %S' disk) - 65536))
head -c $free /dev/zero >disk/fill
: >go
wait $srun
ended 4 "full: the status of the application" log
grep -q 'cannot copy' log || complain "full: no message: $(cat log)"
for node in n1 n2; do
	expect "full: $node is not complete" [ "$(state disk/t/node/$node.json)" != complete ]
done
missing disk/t "its streams are in $T/spool/ovni-bpf"
expect "full: no half of a copy" [ "$(find disk/t -name 'stream.*')" = "" ]
expect "full: the directory of the half is removed" [ "$(ls -A disk/t | grep -c '^\.')" = 0 ]
# copied by hand, nothing is missing but the state
rm disk/fill
for dir in spool/ovni-bpf.*; do cp -r "$dir"/loom.* disk/t; done
missing disk/t 'is incomplete: \|is copying: \|has not ended'
cp -r disk/t byhand
for node in n1 n2; do sed -i 's/"state": ".*"/"state": "complete"/' byhand/node/$node.json; done
"$EMULATOR" -q -l byhand >emu.log 2>&1
ended 0 "full: copied by hand, it is complete" emu.log
rm -r disk/* spool/*

# ---- killed while it copies: a large file gives the time ----
rm go
job killed -- ./app 20 5 "$T/go" >out 2>log &
srun=$!
wait_for "both nodes record" both_record killed
wait_for "the streams of n2 are on its disk" has_streams "$(spool_of n2)"
truncate -s 64G "$(spool_of n2)/loom.n2/large"
: >go
wait_for "n2 copies" is killed/node/n2.json copying
kill -KILL "$(recorder_of killed n2)"
wait $srun
ended 5 "killed: the status of the application" log
expect "killed: the other node is complete" is killed/node/n1.json complete
expect "killed: nothing of it looks like a stream" [ "$("$B/bin/ovni-info" killed | grep -c 'loom *n2')" = 0 ]
expect "killed: only one spool is left" [ "$(ls spool)" = "$(basename "$(spool_of n2)")" ]
missing killed "node n2 is incomplete since [0-9]*[.][0-9]* s of its recording: the recorder was killed by signal 9; its streams are in $(spool_of n2)"
expect "killed: the spool has its streams" has_streams "$(spool_of n2)"
rm -r killed spool/*

# ---- a spool that cannot be used ----
mv spool spool.away
job none -- ./app 1 6 >out 2>log
ended 6 "without a spool the application runs" log
expect "without a spool: named: $(cat log)" grep -q "spool: cannot create a directory in 'spool': No such file" log
expect "without a spool: failed" is none/node/n1.json failed
"$RECORDER" --spool spool -- true >out 2>log
ended 2 "without --job" log
finish
