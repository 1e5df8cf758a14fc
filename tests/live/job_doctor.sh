#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-bpf doctor --job under srun, in a Slurm of three nodes: one line for each node, with its name and its kernel; the
# node that cannot record comes first when the lines are sorted, with the reason and the remedy, and its process alone
# ends with status 1. A recording of the same nodes agrees: that node has failed, the others are complete.
# needs: root alone
# long: needs Slurm
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"
. "$S/tests/live/job_lib.sh"
job_cluster 3 1000
cat >second <<'X2'
#!/bin/sh
[ "$(hostname)" = n2 ] || exec "$@"
exec setpriv --bounding-set -bpf,-perfmon,-sys_admin "$@"
X2
chmod +x second
doctor() { timeout 60 srun -N3 -n3 --ntasks-per-node=1 "$@" "$RECORDER" doctor --job >doctor.out 2>doctor.log; }
kernel=$(uname -r)

doctor
ended 0 "all nodes can record" doctor.log
sort -r doctor.out >sorted
for node in n1 n2 n3; do
	expect "a line of $node: $(cat sorted)" [ "$(grep -c "^\(fine\|less\) *$node: Linux $kernel" sorted)" = 1 ]
done
expect "nothing else: $(cat sorted)" [ "$(wc -l <sorted)" = 3 ]

doctor ./second
ended 1 "one node cannot" doctor.log
expect "the node: $(cat doctor.log)" grep -q 'n2: task 1: Exited with exit code 1' doctor.log
expect "it alone" [ "$(grep -c 'Exited with exit code' doctor.log)" = 1 ]
sort -r doctor.out >sorted
cat sorted
expect "three lines: $(cat sorted)" [ "$(wc -l <sorted)" = 3 ]
expect "n2 comes first, with reason and remedy" eval 'head -n 1 sorted | grep -q "^stop  n2: Linux $kernel: CAP_BPF: .*; do: ."'
expect "the others can" [ "$(grep -c '^\(fine\|less\)  n[13]: ' sorted)" = 2 ]

timeout 120 srun -N3 -n3 --ntasks-per-node=1 ./second "$RECORDER" --job -o t -- ./app 20 5 >out 2>log
ended 5 "the program runs" log
for node in n1 n2 n3; do
	state=$(sed -n 's/^ *"state": "\(.*\)",/\1/p' "t/node/$node.json")
	wanted=complete
	[ $node != n2 ] || wanted=failed
	expect "a recording agrees: $node is $state, not $wanted" [ "$state" = $wanted ]
done
finish
