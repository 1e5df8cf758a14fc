#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-report of a run against perf's records of the same run: per thread the number of runs differs
# by 1 at most, and the run time by 20 us per run at most. The runs are counted from the switches
# that perf recorded, since perf sched timehist leaves out the time that a thread runs after perf
# has seen its exit. On some virtual machines perf, like ftrace, misses switches from the idle task,
# which the recorder sees, so no CPU is left idle; still, a thread of which perf has fewer runs is
# compared if they are few, and then only in that we must not have less than perf has.
# needs: root alone
set -eu
[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
command -v perf >/dev/null || { echo "perf is not installed"; exit 77; }
# so that no CPU is ever idle
for cpu in $(seq 0 $(($(nproc) - 1))); do
	nice -n 19 taskset -c "$cpu" timeout 60 sh -c 'while :; do :; done' 2>/dev/null &
	trap 'kill $(jobs -p) 2>/dev/null || :' EXIT
done
# A hypervisor may stop a CPU between the two readings of one switch, and perf may lose events: a run that
# differs is recorded again, twice at most.
run() {
	rm -rf "$T/perf.data" "$T/trace"
	perf sched record -q -a -o "$T/perf.data" -- "$B/bin/ovni-bpf" -o "$T/trace" -- \
		"$B/tests/workloads/sleepers" >"$T/said" 2>&1 || { cat "$T/said"; return 1; }
	[ -s "$T/perf.data" ] || { echo "perf cannot record the scheduler here: $(tail -n 1 "$T/said")"; exit 77; }
	perf script -i "$T/perf.data" -F time,event,trace --ns >"$T/perf.txt" 2>/dev/null
	"$B/bin/ovni-report" latency --json "$T/trace" >"$T/ours.json"
	python3 - "$T/perf.txt" "$T/ours.json" <<'END'
import collections, json, re, sys
runs, time = collections.Counter(), collections.Counter()
since = {}
for line in open(sys.argv[1], errors="replace"):
    # 7364.322706123: sched:sched_switch: a:32388 [120] S ==> b:7 [120], or prev_pid=... next_pid=...
    found = re.match(r"\s*(\d+)\.(\d+):\s+sched:sched_switch:\s+(.*)", line)
    if not found:
        continue
    now = int(found[1]) * 10**9 + int(found[2].ljust(9, "0"))
    pids = re.findall(r"(?:prev_pid=|next_pid=)(\d+)", found[3]) or \
        re.findall(r":(\d+) \[", found[3])
    out, into = map(int, pids[:2])
    since[into] = now
    if out in since:
        runs[out] += 1
        time[out] += now - since.pop(out)
wrong = compared = 0
for row in json.load(open(sys.argv[2])):
    tid = int(re.search(r"(\d+)\)?$", row["thread"])[1])
    if not row["thread"].startswith("sleeper-"):
        continue # the main thread ran before the recorder's window, too
    compared += 1
    off = abs(row["run_time"] - time[tid])
    print("%s: %d runs, perf %d; %d ns, perf %d ns" % (row["thread"], row["runs"], runs[tid],
                                                     row["run_time"], time[tid]))
    missed = row["runs"] - runs[tid]
    if 1 < missed <= row["runs"] // 3:
        wrong += row["run_time"] + 20000 * row["runs"] < time[tid]
    elif abs(missed) > 1 or off > 20000 * max(row["runs"], 1):
        wrong += 1
sys.exit("%d of %d threads differ" % (wrong, compared) if wrong or not compared else None)
END
}
run || run || run
