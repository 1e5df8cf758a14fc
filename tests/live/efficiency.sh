#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-report efficiency of an unmodified MPI program whose ranks work 1 : 1.5 : 2 : 2.5: the times of each rank are those that
# it counted itself, and true load balance is the known 0.700. Under a CPU hog on the CPU of the ranks the load balance by wall
# time is not, and the hog is named as the culprit of 90 % of the waits. With a CPU quota of 50 % the OS efficiency is near 0.5,
# and the quota is the culprit. With OpenMP the factors are those of a known example. TALP, measuring the same run, has the same factors, if it is in $ORACLES.
# needs: root alone
# long: needs MPI
set -u
. "$S/tests/live/lib.sh"
. "$S/tests/live/cpu_group.sh"
command -v mpicc >/dev/null && command -v mpirun >/dev/null || skip "there is no MPI (openmpi-bin, libopenmpi-dev)"
mpicc -O2 -o balance "$S/tests/workloads/runtimes/balance.c" || { echo "mpicc fails"; exit 1; }
launch=(mpirun --allow-run-as-root --oversubscribe --bind-to none)
"${launch[@]}" -n 2 ./balance 1 >first 2>&1 || { cat first; skip "mpirun does not work here"; }
hog=
trap '[ "$hog" ] && kill "$hog" 2>/dev/null; clean_up' EXIT

efficiency() { # NAME, Python on standard input; e: the report
	local code=0
	"$B/bin/ovni-report" efficiency --json "$1" >"$1.json" 2>"$1.err" || code=$?
	[ $code = 0 ] || complain "$1: ovni-report efficiency: status $code: $(cat "$1.err")"
	facts "$1" < <(
		echo 'import json'
		echo 'e = json.load(open(name + ".json"))'
		echo 'm, ranks = e["metrics"], e["ranks"]'
		echo 'waits = {c["class"]: c for c in e["culprits"]}'
		echo 'waited = e["times"]["useful_wait"]'
		cat
		echo 'check(sum(c["ns"] for c in e["culprits"]) == waited, "the culprits do not add up to", waited, e["culprits"])'
	)
	"$B/bin/ovni-report" efficiency "$1" >"$1.txt"
}

# The times are those of the program. A repair hides some of them: they are unknown.
own='
ran = {line["rank"]: line for line in lines if "rank" in line}
check(sorted(ran) == [r["rank"] for r in ranks] and len(ran) == size, "ranks:", ranks)
for r in ranks:
    t, line = r["times"], ran[r["rank"]]
    low, high = line["worked"] - t["useful_unknown"], line["worked"]
    check(0.98 * low - 2e6 <= t["useful_run"] <= 1.02 * high + 10e6, "rank", r["rank"], "ran", t["useful_run"], "it says", line)
    check(abs(t["mpi"] - line["mpi"]) < 0.01 * line["mpi"] + 5e6, "rank", r["rank"], "was in MPI", t["mpi"], "it says", line)
    check(abs(r["window"] - line["window"]) < 0.01 * line["window"] + 20e6, "rank", r["rank"], "window", r["window"], line)
    parts = t["useful"] + t["mpi"] + t["idle_in_mpi"] + t["serial"] + t["imbalance"] + t["scheduling"]
    check(parts == r["window"] * r["team"], "rank", r["rank"], "the parts are", parts, "of", r["window"])
'

plain() {
	rm -rf plain
	record_output plain -a --api mpi -- "${launch[@]}" -n 4 ./balance 100 2
	judge plain
	efficiency plain <<E
size = 4
$own
check(m["true_load_balance"] is not None and abs(m["true_load_balance"] - 0.7) < 0.01, "true load balance", m)
print("true load balance", m["true_load_balance"], "by wall time", m["load_balance"], "OS efficiency", m["os_efficiency"])
E
}

# Runs a program in the group.
# shellcheck disable=SC2016 # the other shell expands it
printf '%s\n' '#!/bin/bash' 'echo $$ >"$GROUP/cgroup.procs"' 'exec "$@"' >enter.sh
chmod +x enter.sh

# Rank after rank works on one CPU, beside the hog; the group has nearly all of that CPU.
hogged() {
	local cpu
	cpu=$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/')
	rm -f turns
	./enter.sh "$WORKLOADS/spinners" -n 1 -t 100000 -c "$cpu" >/dev/null 2>&1 &
	hog=$!
	rm -rf hogged
	record_output hogged -a --api mpi -- ./enter.sh "${launch[@]}" -n 4 ./balance 200 1 "$PWD/turns" "$cpu"
	kill "$hog"
	wait "$hog" 2>/dev/null
	hog=
	efficiency hogged <<E
size = 4
$own
check(m["true_load_balance"] is not None and abs(m["true_load_balance"] - 0.7) < 0.01, "true load balance", m)
check(abs(m["load_balance"] - 0.7) > 0.05, "the load balance by wall time is that of the work, too:", m)
culprit = waits["other process"]
check(culprit["most"].startswith("spinner-0"), "the culprit is", culprit)
check(culprit["most_ns"] >= 0.9 * waited, "the hog had", culprit["most_ns"], "of", waited, e["culprits"])
print("true load balance", m["true_load_balance"], "by wall time", m["load_balance"], "the hog had %.3f of the waits" %
      (culprit["most_ns"] / waited))
E
	grep -q '^other process .*spinner-0' hogged.txt || complain "the text does not name the hog: $(cat hogged.txt)"
}

# A rank may use half a CPU.
quota() {
	set_quota 25000
	rm -rf quota
	record_output quota -a --api mpi -- ./enter.sh "${launch[@]}" -n 1 ./balance 1000 1
	set_quota none
	efficiency quota <<E
size = 1
$own
check(m["os_efficiency"] is not None and 0.42 < m["os_efficiency"] < 0.54, "OS efficiency", m["os_efficiency"])
check(waits["CPU quota"]["ns"] >= 0.85 * waited, "the quota had", waits["CPU quota"], "of", waited, e["culprits"])
print("OS efficiency", m["os_efficiency"], "the quota had %.3f of the waits" % (waits["CPU quota"]["ns"] / waited))
E
}

# TALP computes its factors in the same run. The edges of its windows differ by some ms.
talp() {
	rm -rf dlb.json talp
	record_output talp --api mpi -- "${launch[@]}" -x LD_PRELOAD="$ORACLES/dlb/lib/libdlb_mpi.so" \
		-x DLB_ARGS="--talp --talp-summary=pop-metrics,process --talp-output-file=$PWD/dlb.json" -n 4 ./balance 200 2
	[ -s dlb.json ] || { complain "TALP wrote nothing: $(cat talp.report)"; return; }
	efficiency talp <<E
t = json.load(open("dlb.json"))
pop = t["Application"]["Global"]
total = pop["numMpiRanks"] * pop["elapsedTime"]
process = t["Process"]["Global"]
useful = [p["usefulTime"] for p in process]
theirs = {"parallel_efficiency": sum(useful) / total, "mpi_parallel_efficiency": sum(useful) / total,
          "load_balance": sum(useful) / len(useful) / max(useful), "communication_efficiency": max(useful) / pop["elapsedTime"]}
for metric, key in (("parallel_efficiency", "parallelEfficiency"), ("load_balance", "mpiLoadBalance"),
                    ("communication_efficiency", "mpiCommunicationEfficiency")):
    check(abs(theirs[metric] - pop[key]) < 0.0101, "TALP prints", key, pop[key], "and its times give", theirs[metric])
for metric, value in theirs.items():
    print("%s: TALP %.3f, ours %.3f" % (metric, value, m[metric]))
    check(abs(m[metric] - value) <= 0.02, metric, "TALP has", value, "ours is", m[metric])
for p in process:
    mine = [r for r in ranks if r["rank"] == p["rank"]][0]["times"]
    check(abs(mine["useful"] - p["usefulTime"]) < 0.02 * p["elapsedTime"], "rank", p["rank"], "useful", mine["useful"], p["usefulTime"])
E
}

# A hybrid program that is asleep instead of computing, so that its factors are known: with both runtimes of OpenMP, and TALP where
# it knows the runtime. A busy machine makes sleeps longer: these bounds are wide.
hybrid() { # gomp|llvm
	local name=$1 preload=()
	rm -rf "$name" dlb.json
	[ "$name" = llvm ] && [ -e "$ORACLES/dlb/lib/libdlb_mpi.so" ] && preload=(-x LD_PRELOAD="$ORACLES/dlb/lib/libdlb_mpi.so"
		-x DLB_ARGS="--ompt --talp --talp-summary=pop-metrics,process --talp-output-file=$PWD/dlb.json")
	record_output "$name" --api mpi --api openmp -- "${launch[@]}" "${preload[@]}" -n 2 "./hybrid-$name" 100 6
	"$B/bin/ovni-report" efficiency --json --model talp "$name" >"$name-talp.json" || complain "$name: --model talp"
	efficiency "$name" <<E
check(len(ranks) == 2 and [r["team"] for r in ranks] == [2, 2], "teams:", ranks)
# in units: U 12 and 15, C and I 1 and 0 each, S 3 and 3, L 1 and 0, of 2 times 9 each
ideal = {"parallel_efficiency": 27 / 36, "mpi_parallel_efficiency": 34 / 36, "mpi_load_balance": 34 / 36,
         "mpi_communication_efficiency": 1, "openmp_parallel_efficiency": 27 / 34, "openmp_serial_efficiency": 28 / 34,
         "openmp_load_balance": 27 / 28, "openmp_scheduling_efficiency": 1}
for metric, value in ideal.items():
    print("$name", metric, "example %.3f, ours %.3f" % (value, m[metric]))
    check(abs(m[metric] - value) < 0.05, metric, "of the example", value, "ours is", m[metric])
check(m["mpi_parallel_efficiency"] * m["openmp_parallel_efficiency"] - m["parallel_efficiency"] < 1e-5, "the product", m)
for r in ranks:
    t = r["times"]
    parts = t["useful"] + t["mpi"] + t["idle_in_mpi"] + t["serial"] + t["imbalance"] + t["scheduling"]
    check(parts == 2 * r["window"], "rank", r["rank"], "the parts are", parts, "of", 2 * r["window"])
if ${#preload[@]}:
    mine = json.load(open("$name-talp.json"))
    dlb = json.load(open("dlb.json"))
    t = dlb["Application"]["Global"]
    # TALP's windows begin earlier and end later: there the master is useful, and the worker serial. On a busy machine that is much.
    more = sum(p["elapsedTime"] for p in dlb["Process"]["Global"]) - sum(r["window"] for r in mine["ranks"])
    ours = mine["times"]
    u, c, l, d = (ours[k] for k in ("useful", "mpi", "imbalance", "scheduling"))
    s = ours["serial"] + ours["idle_in_mpi"]
    m = {"parallel_efficiency": u / (u + c + l + d + s), "openmp_parallel_efficiency": (u + c) / (u + c + l + d + s),
         "openmp_serial_efficiency": (u + c) / (u + c + s), "openmp_load_balance": (u + c + s) / (u + c + s + l),
         "openmp_scheduling_efficiency": (u + c + s + l) / (u + c + s + l + d)}
    for metric, value in m.items():
        check(abs(mine["metrics"][metric] - value) < 1e-5, "--model talp:", metric, mine["metrics"][metric], "its times give", value)
    print("$name: TALP's windows are %.3f s longer, in all" % (more / 1e9))
    u, s = u + more, s + more
    m = {"parallel_efficiency": u / (u + c + l + d + s), "openmp_parallel_efficiency": (u + c) / (u + c + l + d + s),
         "openmp_serial_efficiency": (u + c) / (u + c + s), "openmp_load_balance": (u + c + s) / (u + c + s + l),
         "openmp_scheduling_efficiency": (u + c + s + l) / (u + c + s + l + d)}
    u, c, l, d, s = (t[k] for k in ("usefulTime", "mpiTime", "ompLoadImbalanceTime", "ompSchedulingTime", "ompSerializationTime"))
    theirs = {"parallel_efficiency": u / (u + c + l + d + s), "openmp_parallel_efficiency": (u + c) / (u + c + l + d + s),
              "openmp_serial_efficiency": (u + c) / (u + c + s), "openmp_load_balance": (u + c + s) / (u + c + s + l),
              "openmp_scheduling_efficiency": (u + c + s + l) / (u + c + s + l + d)}
    check(abs(theirs["openmp_parallel_efficiency"] - t["ompParallelEfficiency"]) < 0.0101, "TALP prints", t)
    for metric, value in theirs.items():
        print("$name", metric, "TALP %.3f, ours %.3f" % (value, m[metric]))
        check(abs(m[metric] - value) <= (0.05 if "scheduling" in metric else 0.02), metric, "TALP has", value, "ours is", m[metric])
E
}

attempts 3 plain
mpicc -O2 -g -fopenmp -o hybrid-gomp "$S/tests/workloads/runtimes/hybrid.c" || complain "mpicc -fopenmp fails"
attempts 3 hybrid gomp
if OMPI_CC=clang mpicc -O2 -g -fopenmp -o hybrid-llvm "$S/tests/workloads/runtimes/hybrid.c" 2>clang.log; then
	attempts 3 hybrid llvm
else
	echo "clang cannot build for MPI and OpenMP here (libomp-dev): libomp is not tried"
fi
if find_group; then
	export GROUP=$group
	if [ "$version" = 2 ]; then echo 10000 >"$group/cpu.weight"; else echo 262144 >"$group/cpu.shares"; fi
	attempts 3 hogged
	attempts 3 quota
else
	echo "no CPU controller of cgroups can be used here: the hog and the quota are not tried"
fi
if [ -e "$ORACLES/dlb/lib/libdlb_mpi.so" ]; then
	attempts 3 talp
else
	echo "TALP is not in $ORACLES: not compared"
fi
finish
