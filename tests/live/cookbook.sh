#!/bin/bash
# SPDX-License-Identifier: MIT
#
# docs/cookbook.md: for each of its problems, a program that has it, recorded with the command of
# the recipe. The overview must name the cause, with numbers within 2 % of the program's own count;
# time that the trace calls unknown, or that a hypervisor stole, may be missing or added. Other load on
# the machine may be a culprit, too: each number is compared with the same thread's own.
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

# Records with COMMAND, and compares its overview by the lines of Python on standard input. Unknown and
# stolen time widen what is right (recipes.py); if a number is wrong, the program is recorded again.
recipe() { # NAME COMMAND...
	{ echo "from recipes import *"; cat; echo "verdict()"; } >"$1.py"
	echo "== $1"
	attempts 4 once "$@"
}

once() { # NAME COMMAND...
	rm -rf "$1" "$1.report"
	"${@:2}" </dev/null
	"$B/bin/ovni-report" "./$1" --json >"$1.json" || complain "$1: ovni-report ended with $?"
	"$B/bin/ovni-report" why "$1" --json -n 0 >"$1.why" || complain "$1: ovni-report why ended with $?"
	if [[ " $* " = *" --why=io "* ]]; then
		"$B/bin/ovni-report" io "$1" --json -n 0 >"$1.io" || complain "$1: ovni-report io ended with $?"
	fi
	if [[ " $* " = *" --counters "* ]]; then
		"$B/bin/ovni-report" perf "$1" --json -n 0 >"$1.perf" || complain "$1: ovni-report perf ended with $?"
	fi
	"$B/bin/ovni-report" preempt "$1" --json -n 0 >"$1.culprits" || complain "$1: ovni-report preempt ended with $?"
	python3 "$1.py" "$1" || complain "$1: the overview"
}

# Records `problems NAME ARG...`.
problem() { # NAME [OPTION...] -- [ARG...]
	local name=$1 options=()
	shift
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	recipe "$name" record "$name" command "${options[@]}" -- problems "$name" "$@"
}

problem imbalance -- <<'P'
team = {line["tid"]: line["ran"] for line in lines if "ran" in line}
most = max(team, key=team.get)
n = finding("imbalance", pid=said["main"], by=most)
ran("the busiest thread", n["most_ns"], team[most], [most])
ran("the sum", n["mean_ns"] * len(team), sum(team.values()), team)
check(n["threads"] == len(team), n["threads"], "threads in the team")
P

problem convoy --api pthread -- -r 30 <<'P'
team = [line["tid"] for line in lines if "held" in line]
n = finding("lock", pid=said["main"])
slept("asleep for the mutex", n["time_ns"], total("slept"), team)
times("sleeps", n["count"], total("sleeps"), team)
check(n["threads"] == 4, n["threads"], "threads held it")
check(n["asleep_ns"] > 0.8 * n["by_ns"] - unknown(team), "the holders slept", n["asleep_ns"], "of", n["by_ns"])
P

problem oversubscription -a -- <<'P'
team = [line["tid"] for line in lines if "waited" in line]
n = finding("shared-cpu", pid=said["main"])
waited("waits for a CPU", n["time_ns"], total("waited"), team)
ran("for threads of the same process", n["by_ns"], 3 * total("ran"), team, 3)
P

problem neighbour -a -- <<'P'
n = finding("neighbour", who=said["latcrit"], by=said["noisy"])
waited("waits for a CPU", n["time_ns"], said["waited"], [said["latcrit"]])
ran("the neighbour ran meanwhile", n["run_ns"], said["ran"], [said["latcrit"], said["noisy"]])
P

problem inversion --api pthread -- -r 15 <<'P'
high, middle, low = ([line for line in lines if name in line][0] for name in ("high", "middle", "low"))
n = finding("inversion", by=low["low"])
slept("asleep for the mutex", n["time_ns"], high["slept"], [high["high"]])
waited("the holder waited", n["wait_ns"], low["waited"], [low["low"]])
ran("the holder ran", n["run_ns"], low["ran"], [low["low"]])
n = finding("shared-cpu", who=low["low"], by=middle["middle"])
ran("the culprit ran", n["run_ns"], middle["ran"], [low["low"], middle["middle"]])
P

# The same without probes: the lock, its owner, and the priorities of all three.
recipe inversion-why record inversion-why command --why=lock,prio -- problems inversion -r 15 <<'P'
high, middle, low = ([line for line in lines if name in line][0] for name in ("high", "middle", "low"))
n = finding("owner", who=high["high"], by=low["low"])
slept("asleep for the mutex", n["time_ns"], high["slept"], [high["high"]])
waited("the holder waited", n["wait_ns"], low["waited"], [low["low"]])
ran("the holder ran", n["run_ns"], low["ran"], [low["low"]])
found = [f for f in load("json")["findings"] if f["kind"] == "owner"][0]
check(found["lock"] == "mutex", "the lock is", found["lock"])
for text in ("the owner had SCHED_OTHER nice -20", f"middle ({middle['middle']}), which ran meanwhile, SCHED_FIFO 1",
             f"high ({high['high']}), which slept longest, SCHED_FIFO 2"):
    check(text in found["text"], "no", text, "in", found["text"])
P

if on_disk; then
WORKLOAD_REPORT=none "$WORKLOADS/problems" data || complain "there is no file to read"
problem io -a --why=io -- <<'P'
n = finding("io", who=said["tid"])
requests = [row for row in load("io") if row["tid"] == said["tid"] and row["device"]]
times("requests", sum(row["sleeps"] for row in requests), said["sleeps"], [said["tid"]])
check(all(row["reads"] and not row["writes"] for row in requests), "reads:", requests)
times("sleeps", n["count"], said["sleeps"], [said["tid"]])
slept("asleep", n["time_ns"], said["slept"], [said["tid"]])
P

problem faults -a --counters major-faults,minor-faults -- <<'P'
perf = {row["event"]: row for row in load("perf") if row["tid"] == said["tid"]}
# a run of which the kernel hid a switch has no values, and a fault each
times("major faults", perf["major-faults"]["counted"], said["faults"], [said["tid"]])
n = finding("io", who=said["tid"])
times("sleeps", n["count"], said["sleeps"], [said["tid"]])
print("  major faults:", said["faults"], "(some find their page read already), minor:", perf["minor-faults"]["counted"])
# to leave a CPU and to come back takes 1 us, which is neither in the sleep nor in the CPU time
between("asleep", n["time_ns"], said["slept"] - 1000 * said["sleeps"], said["slept"], [said["tid"]])
P
else
	echo "io, faults: not judged: the scratch folder is in memory"
fi

problem jitter -a -- <<'P'
who = [said["ticker"]]
n = finding("jitter", who=said["ticker"])
# where the thread gets the CPU in an unknown time, two periods are one
near("the worst period", n["most_ns"], said["worst"], 0, unknown(who))
waited("waits for a CPU in it", n["wait_ns"], said["worst_waited"], who)
near("late", n["time_ns"], said["late_ns"], unknown(who), unknown(who))
check(abs(n["count"] - said["late"]) <= (unknown(who) > 0), "late", n["count"], "times, not", said["late"])
n = finding("neighbour", pid=said["main"], by=said["burst"])
ran("the culprit ran", n["run_ns"], said["waited"], [said["ticker"], said["burst"]])
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
	recipe quota record_quota <<-'P'
	n = finding("quota", who=said["spinner"])
	# the kernel leaves out how long the thread waited for a CPU after that
	between("stopped", n["time_ns"], said["throttled"], said["stopped"], [said["spinner"]])
	P
else
	echo "no quota: no CPU controller of cgroups can be used here"
fi

if command -v mpicc >/dev/null && mpicc -O2 -o late_sender "$S/tests/workloads/runtimes/late_sender.c" 2>/dev/null; then
	launch=(mpirun --allow-run-as-root --oversubscribe -n 2 ./late_sender)
	recipe late record_output late --api mpi --api mpi-messages -- "${launch[@]}" <<-'P'
	ranks = [[line for line in lines if line.get("rank") == r] for r in (0, 1)]
	late = ranks[1][0]["pid"]
	n = finding("late-rank", who=ranks[0][0]["pid"], by=late)
	calls = [(line["begin"], line["end"]) for line in ranks[0][1:]]
	outside = [(a["end"], b["begin"]) for a, b in zip(ranks[1], ranks[1][1:])]
	near("in MPI", n["time_ns"], sum(end - begin for begin, end in calls))
	near("meanwhile the other one worked", n["by_ns"], sum(
	    max(0, min(a, d) - max(b, c)) for b, a in calls for c, d in outside), unknown([late]))
	check(n["threads"] == 1, n["threads"], "ranks waited")
	n = finding("late-sender", who=ranks[0][0]["pid"], by=late)
	near("waited for late messages", n["time_ns"], sum(
	    max(0, min(sent["begin"], received["end"]) - received["begin"]) for received, sent in zip(ranks[0][2:], ranks[1][2:])))
	check(n["count"] == len(ranks[0]) - 2, n["count"], "late messages")
	P
else
	echo "no late sender: there is no MPI"
fi

# The time of interrupts is in no event: the overview says so.
"$B/bin/ovni-report" neighbour >text && grep -q 'not recorded:.*the time of interrupts' <(tr '\n' ' ' <text) ||
	complain "the overview does not say that interrupts are not recorded"
finish
