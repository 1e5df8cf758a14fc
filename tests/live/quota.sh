#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A CPU quota: the time for which the kernel says that it stopped the threads of a cgroup is in waits
# of the reason "throttled", and without a quota there is none.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

. "$S/tests/live/cpu_group.sh"

trap clean_up EXIT
find_group || skip "no CPU controller of cgroups can be used here"
[ "$version" = 2 ] && [ ! -e "$group/cpu.max" ] && { echo +cpu >"${group%/*}/cgroup.subtree_control" ||
	skip "the CPU controller of $group cannot be enabled"; }
set_quota 2000 2>/dev/null || skip "this kernel has no CPU quotas"

# Every thread of the group is recorded, from before it is put there: all of `throttled` is theirs.
quota_run() { # NAME MODE QUOTA [OPTION...]
	local name=$1 mode=$2
	set_quota "$3" || complain "the quota cannot be set"
	# shellcheck disable=SC2016 # the other shell expands it
	printf '%s\n' '#!/bin/bash' "echo \$\$ >'$group/cgroup.procs'" "exec '$WORKLOADS/spinners' \"\$@\"" >enter
	chmod +x enter
	before=$(throttled_ns)
	WORKLOADS=$T record "$name" "$mode" "${@:4}" -- enter -n 2 -t 1000 -c -1
	throttled=$(($(throttled_ns) - before))
	echo "throttled=$throttled" >>"$name.report"
}

full() { # MODE
	local mode=$1
	quota_run "$mode" "$mode" 2000
	judge "$mode"
	facts "$mode" <<'E'
spinners = [trace.thread(line["tid"]) for line in lines if "tid" in line]
check(said["throttled"] > 500_000_000, "the kernel throttled for", said["throttled"], "ns only")
# The kernel counts a CPU of the group once, however many of its threads wait there.
waits = {}
for thread in trace.threads(spinners[0].pid):
    stays = thread.stays
    for a, b in zip(stays, stays[1:]):
        if a.why == "throttled":
            waits.setdefault(a.cpu, []).append((a.end, b.start))
            check(b.waker == -1 and b.woken == a.end, thread, "was woken from being throttled:", b.woken, b.waker)
# The time before a repair is unknown.
lost = sum(b.start - a.end for t in spinners for a, b in zip(t.stays, t.stays[1:]) if a.why == "lost")
covered = 0
for intervals in waits.values():
    until = 0
    for start, end in sorted(intervals):
        covered += max(0, end - max(start, until))
        until = max(until, end)
print(f"throttled: kernel {said['throttled']} ns, trace {covered} ns, in {sum(map(len, waits.values()))} waits")
check(covered >= 0.9 * (said["throttled"] - lost), covered, "ns of waits are called throttled, of", said["throttled"])
others = sum(len(t.leaves("throttled")) for t in trace.streams if t.pid != spinners[0].pid)
check(not others, others, "waits of threads without a quota are called throttled")
E
	"$B/bin/ovni-report" "$mode" >overview || complain "$mode: the overview: status $?"
	grep -q "throttled by the CPU quota of [^ ]*/${group##*/}: " overview ||
		complain "$mode: the overview does not name the cgroup ${group##*/}: $(cat overview)"
	# All tools have it.
	"$B/bin/ovni-dump" "$mode" >dump.log && grep -q 'throttled by a CPU quota' dump.log ||
		complain "$mode: ovni-dump does not say it"
	grep -q '^12  *throttled by a CPU quota$' "$mode/thread.pcf" || complain "$mode: thread.pcf has no label"
	awk -F: '$1 == 2 { for (i = 7; i < NF; i += 2) if ($i == 300 && $(i + 1) == 12) n++ } END { exit !n }' \
		"$mode/thread.prv" || complain "$mode: thread.prv has no wait of type 300, value 12"
	"$B/bin/ovni-report" timehist "$mode" | grep -qw throttled || complain "$mode: timehist does not say it"
	"$B/bin/ovni-check" --strict "$mode" >check.log 2>&1 || complain "$mode: ovni-check: $(tail -n 3 check.log)"
	"$B/bin/ovni-report" counters --json "$mode" >counters.json
	python3 - counters.json "$mode.report" <<'E' || complain "$mode: the counters do not say it"
import json, sys
sums = json.load(open(sys.argv[1]))[0]
told = int([w for w in open(sys.argv[2]).read().split() if w.startswith("throttled=")][-1].split("=")[1])
print("counters: throttled", sums["throttled"], "of", sums["runnable"], "ns runnable")
sys.exit(not 0.9 * (told - sums["unknown"]) <= sums["throttled"] <= sums["runnable"])
E
}

# Summary mode adds up the same, by both of its programs.
summary() { # MODE
	local mode=$1
	set_quota 2000
	quota_run "$mode-summary" "$mode" 2000 --mode summary
	"$B/bin/ovni-report" counters --json "$mode-summary.stats.json" >counters.json &&
		python3 - counters.json "$throttled" <<'E' || complain "$mode: the summary does not say it: $(cat "$mode-summary.log")"
import json, sys
sums, told = json.load(open(sys.argv[1]))[0], int(sys.argv[2])
print("summary: throttled", sums["throttled"], "of", sums["runnable"], "ns runnable; kernel", told)
sys.exit(not 0.9 * (told - sums["unknown"]) <= sums["throttled"] <= sums["runnable"])
E
}

for mode in command all; do
	attempts 3 full $mode
	attempts 3 summary $mode
done

# Without a quota there is none, however often the threads are preempted.
quota_run free command none
facts free <<'E'
stays = sum(len(s.stays) for s in trace.streams)
throttled = sum(len(s.leaves("throttled")) for s in trace.streams)
check(said["throttled"] == 0, "the kernel throttled without a quota")
check(stays > 10 and not throttled, throttled, "of", stays, "stays end as throttled, without a quota")
E
finish
