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
without_clocks() { # JOB COPY: no stream says what its first and last clock is, so all are opened at once
	cp -r "$1" "$2"
	python3 - "$2" <<'E2'
import glob, json, sys
for path in glob.glob(sys.argv[1] + "/loom.*/proc.*/thread.*/stream.json"):
    meta = json.load(open(path))
    del meta["bpf"]["first"], meta["bpf"]["last"], meta["bpf"]["bytes"]
    json.dump(meta, open(path, "w"))
E2
}
without_clocks job whole || exit 1
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
# all nodes: read one after the other, these reports are those of streams that are all open; so they are with the
# clocks of two nodes corrected, and of a loom in two directories, whose streams do not follow each other
printf 'rank hostname offset_median offset_mean offset_std\n0 n0000 0 0 0\n1 n0001 7000000 0 0\n2 n0002 0 0 0\n3 n0003 -5000 0 0\n' >offsets
cp -r job two && cp -r two/loom.n0001 two/loom.z
rm -r two/loom.n0001/proc.*/thread.*[02468] two/loom.z/proc.*/thread.*[13579]
all() {
	for kind in latency preempt "wake --period"; do
		for how in "" --csv "--by thread --csv" "--from +10ms --to +30ms"; do
			[ "$kind${how%"${how#--by}"}" = "wake --period--by" ] && continue
			# shellcheck disable=SC2086 # words
			"$report" $kind $how -n 0 "$1" >want 2>want.said || fail "$kind $how $1: $(cat want.said)"
			# shellcheck disable=SC2086 # words
			"$report" $kind $how -n 0 "$2" >got 2>got.said || fail "$kind $how $2: $(cat got.said)"
			[ -s want ] && cmp -s want got || fail "$kind $how $2: $(diff want got | head -n 5)"
			[ "$(sed "s/^\(ovni-report: [a-z]*: \)\?$1/$2/" want.said)" = "$(cat got.said)" ] || fail "$kind $how $2: $(cat got.said)"
		done
	done
}
all whole job
cp offsets whole/clock-offsets.txt && cp offsets job/clock-offsets.txt
all whole job
rm whole/clock-offsets.txt job/clock-offsets.txt
without_clocks two apart || exit 1
all apart two
# a damaged stream: an error, and the rows of the other nodes; one that is too short is missed
cp -r job damaged
damaged=$(find damaged/loom.n0001 -name stream.obs | sort | tail -n 1)
python3 - "$damaged" <<'E2' || exit 1
import sys
data = bytearray(open(sys.argv[1], "rb").read())
data[len(data) // 2:len(data) // 2 + 60] = bytes(60)
open(sys.argv[1], "wb").write(data)
E2
"$report" latency --csv damaged >got 2>said
[ $? = 1 ] && grep -q 'error: .*loom.n0001' said || fail "damage: $(cat said)"
for node in 0 2 3; do
	"$report" latency --csv --loom n000$node job | sed 1d | sort >want
	[ "$(sort got | comm -12 - want | wc -l)" = "$(wc -l <want)" ] || fail "damage: rows of n000$node are missing"
done
cp -r job short
truncate -s -100 "$(find short/loom.n0002 -name stream.obs | sort | tail -n 1)"
"$report" latency --csv short >got 2>said
[ $? != 0 ] || fail "a short stream was not missed: $(cat said)"

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
