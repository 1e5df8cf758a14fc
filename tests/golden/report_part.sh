#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-report --loom, --ranks, --tid: streams of nodes of which nothing is asked are not opened, and the report is that of
# the whole trace: of which all streams are opened, because their metadata do not have their first and last clocks.
set -u
cd "$T" || exit 1
failed=0
fail() {
	echo "wrong: $*"
	failed=1
}
report=$B/bin/ovni-report
# 4 nodes, a rank of 64 threads each
"$B/tests/bench/generate" job 20000 job 256 >/dev/null || exit 1
cp -r job whole
python3 - <<'E2' || exit 1
import glob, json
for path in glob.glob("whole/loom.*/proc.*/thread.*/stream.json"):
    meta = json.load(open(path))
    del meta["bpf"]["first"], meta["bpf"]["last"], meta["bpf"]["bytes"]
    json.dump(meta, open(path, "w"))
E2
cp -r job few
for node in 0 1 3; do find few/loom.n000$node -name stream.obs -delete; done
compared=0
same() { # REPORT OPTION...
	"$report" "$@" whole >want 2>want.said
	local status=$?
	"$report" "$@" few >got 2>got.said || fail "$*: $(cat got.said)"
	[ $status = 0 ] || fail "$*: the whole: $(cat want.said)"
	[ "$(sed 's/whole/few/' want.said)" = "$(cat got.said)" ] || fail "$*: $(cat got.said)"
	sed -i 's/^whole/few/' want
	cmp -s want got || fail "$*: $(diff want got | head -n 5)"
	[ "$(wc -l <want)" -gt 1 ] && compared=$((compared + 1))
}
tid=$(basename "$(find few/loom.n0002 -name 'thread.*' | sort | head -n 1)" | sed 's/thread.//')
for kind in latency "latency --histogram" "latency --by process" preempt wake "wake --period" why blocked locks func flame \
	stacks timehist; do
	for how in "--loom n0002" "--ranks 2" "--ranks 2-2 --from +10ms --to +30ms" "--loom n0002 --tid $tid"; do
		case "$kind" in flame | stacks | "latency --by process") format='' ;; *) format=--csv ;; esac
		# shellcheck disable=SC2086 # words
		same $kind $how $format
	done
done
# the rows of the nodes, one by one, are those of the job
for kind in latency why blocked; do
	"$report" $kind --csv whole | sed 1d | sort >want
	for node in 0 1 2 3; do
		"$report" $kind --csv --loom n000$node job | sed 1d
	done | sort >got
	[ -s want ] && cmp -s want got || fail "$kind: the nodes do not add up: $(diff want got | head -n 3)"
done
echo "$compared reports with rows"
[ $compared -gt 30 ] || fail "too few reports have rows"
# ranks of two nodes, CPUs, messages and paths need other nodes
for what in "latency --ranks 1,2" latency "cpu --ranks 2" "timeline --loom n0002" critical "critical --loom n0002 --tid $tid" "messages --loom n0002"; do
	# shellcheck disable=SC2086 # words
	"$report" $what few >got 2>said && fail "$what: a missing stream was not missed"
done
"$report" latency --ranks 5-x job >got 2>said
[ $? = 2 ] && grep -qF "a list of ranks is as in 0-3,7" said || fail "--ranks 5-x: $(cat said)"
"$report" latency --ranks 900 job >got 2>said
grep -q "job has no thread for --ranks (ovni-info lists its threads)" said || fail "--ranks 900: $(cat said)"
"$report" overview --ranks 1 job >got 2>said
[ $? = 2 ] || fail "overview --ranks: $(cat said)"
exit $failed
