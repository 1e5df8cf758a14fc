#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-bpf --job of a user without privileges, in a Slurm of two nodes: the recorder has the file capabilities cap_bpf and
# cap_perfmon. Each rank is recorded once, by its node, the files are the user's, and without the capabilities the
# application runs all the same.
# needs: root alone
# long: needs Slurm
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"
. "$S/tests/live/job_lib.sh"
command -v setcap >/dev/null || skip "no setcap here (libcap2-bin)"
P=$(mktemp -d /tmp/ovni-public.XXXXXX) || exit 1 # the scratch folder is root's alone
chmod 755 "$P"
job_cluster 2 1000
trap '"$S/tests/slurm.sh" stop "$cluster"; rm -rf "$cluster" "$P"' EXIT
mkdir "$P/mine"
chown 65534:65534 "$P/mine"
install -m 755 "$RECORDER" app "$P"
install -m 755 "$RECORDER" "$P/without"
setcap cap_bpf,cap_perfmon+ep "$P/ovni-bpf" || skip "no file capabilities in /tmp"
user() { # RECORDER TRACE STATUS: the application as nobody
	(cd "$P/mine" && HOME=$P/mine TMPDIR=$P/mine setpriv --reuid=65534 --regid=65534 --clear-groups timeout 120 \
		srun -N2 -n4 --ntasks-per-node=2 "$P/$1" --job -o "$2" -- "$P/app" 100 "$3")
}
user ovni-bpf t 7 >out 2>log
ended 7 "the status of the application" log
expect "no recorder says anything: $(cat log)" [ "$(grep -vc '^srun: ' log)" = 0 ]
mv "$P/mine/t" t
judge_job t "a user" <<'P'
said = {int(line.split()[1]): line.split()[2:] for line in open("out")}
check(len(said) == 4, said)
check(ranks == {"n1": {0, 1}, "n2": {2, 3}}, "ranks:", dict(ranks))
for rank, (host, pid) in said.items():
    check(pids[rank] == {int(pid)}, rank, "is", pid, "but recorded:", pids[rank])
for name, node in nodes.items():
    check(node["state"] == "complete" and node["lost"] == "0", name, node)
verdict()
P
others=$(find t ! -user 65534 -print -quit)
expect "all files are the user's: $others" [ -z "$others" ]
"$B/bin/ovni-check" t >check.log 2>&1
ended 0 "ovni-check" check.log

user without weak 6 >out 2>log
ended 6 "without the capabilities: the status" log
expect "each rank ran" [ "$(grep -c '^rank' out)" = 4 ]
expect "the reason: $(cat log)" grep -q 'CAP_BPF\|cap_bpf\|permission' log
finish
