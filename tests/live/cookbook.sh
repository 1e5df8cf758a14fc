#!/bin/bash
# SPDX-License-Identifier: MIT
#
# docs/cookbook.md: for each of its problems, a program that has it, recorded with the command of
# the recipe. The overview must name the cause, with numbers within 2 % of the program's own count,
# or name the limit of the trace. Other load on the machine may be a culprit, too: each number is
# compared with the same thread's own.
# needs: root alone
# long: records eleven programs; live/overview names the main causes
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"
# Other programs hardly get a CPU that those of the test want: by nice, and by that of a session of
# its own where the scheduler shares the CPUs between sessions.
[ "$(ps -o sid= -p $$ | tr -d ' ')" = $$ ] || exec setsid -w "$0"
renice -n -20 -p $$ >/dev/null || skip "the test needs a high priority"
[ ! -e /proc/self/autogroup ] || echo -20 >/proc/self/autogroup
[ -r /proc/self/schedstat ] || skip "this kernel does not say how long a thread waited for a CPU"

judged=0

# Some virtual machines do not report all switches; the recorder counts such time of a thread, or of
# the CPU that it waits for, as unknown. A hypervisor that takes much of a CPU delays threads that
# would not wait otherwise. Records again, a few times, if that befell the threads of the program.
stolen() { awk '$1 == "cpu" { printf "%.0f", $9 * 10000000 }' /proc/stat; }
record_known() { # NAME COMMAND...
	local name=$1 i before
	shift
	for i in 1 2 3 4; do
		rm -rf "$name" "$name.report"
		before=$(stolen)
		"$@" </dev/null
		"$B/bin/ovni-report" counters "$name" --json >"$name.counters" &&
			"$B/bin/ovni-report" preempt "$name" --json >"$name.culprits" &&
			python3 - "$name" $(($(stolen) - before)) <<-'P' && return
			import json, re, sys
			name, stolen = sys.argv[1], int(sys.argv[2])
			numbers = set(re.findall(r"=(\d+)", open(name + ".report").read()))
			tid = lambda label: re.search(r"\((\d+)\)$", label)
			lives = {}
			for row in json.load(open(name + ".counters")):
			    n = tid(row["thread"])
			    if not n or n[1] not in numbers:
			        continue
			    lives[n[1]] = row["life"]
			    if row["unknown"] > 0.005 * row["life"]:
			        sys.exit(f"{row['thread']}: {row['unknown']} of {row['life']} ns are unknown")
			for row in json.load(open(name + ".culprits")):
			    n = tid(row["victim"])
			    if row["culprit"] == "not recorded" and n and n[1] in lives and row["ran"] > 0.005 * lives[n[1]]:
			        sys.exit(f"{row['victim']} waited {row['ran']} ns for unknown threads")
			if lives and stolen > 0.05 * max(lives.values()):
			    sys.exit(f"the hypervisor took {stolen} ns of the CPUs")
			P
	done
	echo "$name: not judged: the kernel did not report all switches, or the hypervisor took the CPUs"
	return 1
}

# Records `problems NAME ARG...`, and compares its overview by the lines of Python on standard input.
recipe() { # NAME [OPTION...] -- [ARG...]
	local name=$1 options=()
	shift
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	echo "== $name"
	record_known "$name" record "$name" command "${options[@]}" -- problems "$name" "$@" && compare "$name"
}

compare() { # NAME
	{ echo "from recipes import *"; cat; echo "verdict()"; } >"$1.py"
	"$B/bin/ovni-report" "$1" --json >"$1.json" || complain "$1: ovni-report ended with $?"
	python3 "$1.py" "$1" || complain "$1: the overview"
	judged=$((judged + 1))
}

recipe imbalance -- <<'P'
ran = [line["ran"] for line in lines if "ran" in line]
n = finding("imbalance", pid=said["main"], by=[line["tid"] for line in lines if line.get("ran") == max(ran)][0])
near("the busiest thread", n["most_ns"], max(ran))
near("the mean", n["mean_ns"], sum(ran) / len(ran))
check(n["threads"] == len(ran), n["threads"], "threads in the team")
P

recipe convoy --api pthread -- -r 30 <<'P'
n = finding("lock", pid=said["main"])
near("asleep for the mutex", n["time_ns"], total("slept"))
near("sleeps", n["count"], total("sleeps"))
check(n["threads"] == 4, n["threads"], "threads held it")
check(n["asleep_ns"] > 0.8 * n["by_ns"], "the holders slept", n["asleep_ns"], "of", n["by_ns"])
P

recipe oversubscription -a -- <<'P'
n = finding("shared-cpu", pid=said["main"])
near("waits for a CPU", n["time_ns"], total("waited"))
near("for threads of the same process", n["by_ns"], 3 * total("ran"))
P

recipe neighbour -a -- <<'P'
n = finding("neighbour", who=said["latcrit"], by=said["noisy"])
near("waits for a CPU", n["time_ns"], said["waited"])
near("the neighbour ran meanwhile", n["run_ns"], said["ran"])
P

recipe inversion --api pthread -- -r 15 <<'P'
of = lambda name: [line for line in lines if name in line][0]
n = finding("inversion", by=of("low")["low"])
near("asleep for the mutex", n["time_ns"], of("high")["slept"])
near("the holder waited", n["wait_ns"], of("low")["waited"])
near("the holder ran", n["run_ns"], of("low")["ran"])
n = finding("shared-cpu", who=of("low")["low"], by=of("middle")["middle"])
near("the culprit ran", n["run_ns"], of("middle")["ran"])
P

WORKLOAD_REPORT=none "$WORKLOADS/problems" data || complain "there is no file to read"
recipe io -a -- <<'P'
n = finding("io", who=said["tid"])
near("sleeps", n["count"], said["sleeps"])
near("asleep", n["time_ns"], said["slept"])
P

# Much of the time is spent in the kernel, where the hypervisor takes some of it.
record_faults() {
	local before
	before=$(stolen)
	record faults command -a -- problems faults
	echo "stolen=$(($(stolen) - before))" >>faults.report
}
echo "== faults"
record_known faults record_faults && compare faults <<'P'
n = finding("io", who=said["tid"])
near("sleeps", n["count"], said["sleeps"])
print("  major faults:", said["faults"], "(some find their page read already)")
# to leave a CPU and to come back takes 1 us, which is neither in the sleep nor in the CPU time
between("asleep", n["time_ns"], said["slept"] - said["stolen"] - 1000 * said["sleeps"], said["slept"])
P

recipe jitter -a -- <<'P'
n = finding("jitter", who=said["ticker"])
near("the worst period", n["most_ns"], said["worst"])
near("waits for a CPU in it", n["wait_ns"], said["worst_waited"])
near("late", n["time_ns"], said["late_ns"])
check(n["count"] == said["late"], "late", n["count"], "times, not", said["late"])
n = finding("neighbour", pid=said["main"], by=said["burst"])
near("the culprit ran", n["run_ns"], said["waited"])
P

. "$S/tests/live/cpu_group.sh"
trap clean_up EXIT
if find_group && { [ "$version" != 2 ] || [ -e "$group/cpu.max" ]; } && set_quota 20000 2>/dev/null; then
	if [ "$version" = 2 ]; then echo 10000 >"$group/cpu.weight"; else echo 262144 >"$group/cpu.shares"; fi
	# shellcheck disable=SC2016 # the other shell expands it
	printf '%s\n' '#!/bin/bash' "echo \$\$ >'$group/cgroup.procs'" "exec '$WORKLOADS/problems' quota" >enter
	chmod +x enter
	record_quota() {
		local before
		before=$(throttled_ns)
		record_output quota -- ./enter
		echo "throttled=$(($(throttled_ns) - before))" >>quota.report
	}
	echo "== quota"
	record_known quota record_quota && compare quota <<-'P'
	n = finding("quota", who=said["spinner"])
	# the kernel leaves out how long the thread waited for a CPU after that
	between("stopped", n["time_ns"], said["throttled"], said["stopped"])
	P
else
	echo "no quota: no CPU controller of cgroups can be used here"
fi

if command -v mpicc >/dev/null && mpicc -O2 -o late_sender "$S/tests/workloads/runtimes/late_sender.c" 2>/dev/null; then
	echo "== late sender"
	launch=(mpirun --allow-run-as-root --oversubscribe -n 2 ./late_sender)
	record_known late record_output late --api mpi -- "${launch[@]}" && compare late <<-'P'
	ranks = [[line for line in lines if line.get("rank") == r] for r in (0, 1)]
	n = finding("late-rank", who=ranks[0][0]["pid"], by=ranks[1][0]["pid"])
	calls = [(line["begin"], line["end"]) for line in ranks[0][1:]]
	outside = [(a["end"], b["begin"]) for a, b in zip(ranks[1], ranks[1][1:])]
	near("in MPI", n["time_ns"], sum(end - begin for begin, end in calls))
	near("meanwhile the other one worked", n["by_ns"], sum(
	    max(0, min(a, d) - max(b, c)) for b, a in calls for c, d in outside))
	check(n["threads"] == 1, n["threads"], "ranks waited")
	P
else
	echo "no late sender: there is no MPI"
fi

# The time of interrupts is in no event: the overview says so.
"$B/bin/ovni-report" neighbour >text && grep -q 'not recorded:.*the time of interrupts' <(tr '\n' ' ' <text) ||
	complain "the overview does not say that interrupts are not recorded"
[ $judged -ge 5 ] || [ $wrong -gt 0 ] || skip "$((10 - judged)) of 10 programs could not be judged"
finish
