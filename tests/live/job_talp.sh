#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-report efficiency beside TALP (of DLB, in $ORACLES), which measures the same run, in a Slurm of two nodes with clocks
# 1000 s apart: 4 ranks that work 1 : 1.5 : 2 : 2.5. Without the time of DLB itself the factors agree within 0.02, also the load balance in and between the nodes, and the
# useful time of each rank within 2 % of the elapsed time.
# needs: root alone
# long: needs Slurm
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"
. "$S/tests/live/job_lib.sh"
[ -e "$ORACLES/dlb/lib/libdlb_mpi.so" ] || skip "no DLB here ($ORACLES/dlb)"
job_cluster 2 1000
mpicc -O2 -o balance "$S/tests/workloads/runtimes/balance.c" || { echo "mpicc fails"; exit 1; }
sync() { timeout 60 srun -N2 -n2 --ntasks-per-node=1 "$B/bin/ovni-sync" --append t >sync.log 2>&1 || complain "ovni-sync: $(cat sync.log)"; }
sync
cat >measured <<X2
#!/bin/sh
export LD_PRELOAD=$ORACLES/dlb/lib/libdlb_mpi.so
export DLB_ARGS="--talp --talp-summary=pop-metrics,process --talp-output-file=$PWD/dlb.json"
exec ./balance "\$@"
X2
chmod +x measured
timeout 200 srun -N2 -n4 --ntasks-per-node=2 "$RECORDER" --job --api mpi -o t -- ./measured 300 3 >out 2>log
ended 0 "the job" log
sync
[ -s dlb.json ] || { complain "TALP wrote nothing: $(cat log)"; finish; }
"$B/bin/ovni-report" efficiency --json t >e.json 2>e.log || complain "efficiency: $(cat e.log)"
cat >judge.py <<'E'
import json, sys
wrong = []
def check(ok, *words):
    if not ok:
        wrong.append(" ".join(map(str, words)))
e, t = json.load(open("e.json")), json.load(open("dlb.json"))
m, ranks = e["metrics"], {r["rank"]: r["times"] for r in e["ranks"]}
pop, process = t["Application"]["Global"], t["Process"]["Global"]
check(pop["numMpiRanks"] == 4 and sorted(ranks) == [0, 1, 2, 3], "ranks:", pop, ranks)
useful = {p["rank"]: p["usefulTime"] for p in process}
most, total = max(useful.values()), pop["numMpiRanks"] * pop["elapsedTime"]
node = max(useful[0] + useful[1], useful[2] + useful[3]) / 2
theirs = {"parallel_efficiency": sum(useful.values()) / total, "load_balance": sum(useful.values()) / 4 / most,
          "communication_efficiency": most / pop["elapsedTime"],
          "load_balance_in_nodes": node / most, "load_balance_between_nodes": sum(useful.values()) / 4 / node}
for metric, key in (("parallel_efficiency", "parallelEfficiency"), ("load_balance", "mpiLoadBalance"),
                    ("communication_efficiency", "mpiCommunicationEfficiency")):
    check(abs(theirs[metric] - pop[key]) < 0.0101, "TALP prints", key, pop[key], "and its times give", theirs[metric])
# Our windows have what DLB itself does at the end of MPI_Init, seconds on a busy machine; the program says its own
# window. The factors of the report are those of its times, and without that time those of TALP.
said = {v["rank"]: v for v in ({k: int(x) for k, x in (w.split("=") for w in line.split() if "=" in w)} for line in open("out")) if "rank" in v}
window = {r["rank"]: r["window"] for r in e["ranks"]}
def factors(u, elapsed):
    most, node = max(u.values()), max(u[0] + u[1], u[2] + u[3]) / 2
    return {"parallel_efficiency": sum(u.values()) / 4 / elapsed, "load_balance": sum(u.values()) / 4 / most,
            "communication_efficiency": most / elapsed, "load_balance_in_nodes": node / most,
            "load_balance_between_nodes": sum(u.values()) / 4 / node}
whole = factors({r: t["useful"] for r, t in ranks.items()}, max(window.values()))
own = {r: t["useful"] - (window[r] - said[r]["window"]) for r, t in ranks.items()}
ours = factors(own, max(v["window"] for v in said.values()))
for metric, value in theirs.items():
    print("%s: TALP %.3f, ours %.3f, with DLB's own time %.3f" % (metric, value, ours[metric], m[metric]))
    check(abs(m[metric] - whole[metric]) < 1e-5, metric, "is", m[metric], "and its times give", whole[metric])
    check(abs(ours[metric] - value) <= 0.02, metric, "TALP has", value, "ours is", ours[metric])
for p in process:
    mine = own[p["rank"]]
    print("rank %d: useful %.1f ms, TALP %.1f ms" % (p["rank"], mine / 1e6, p["usefulTime"] / 1e6))
    check(abs(mine - p["usefulTime"]) < 0.02 * p["elapsedTime"], "rank", p["rank"], "useful", mine, p["usefulTime"])
print("TALP prints", {k: v for k, v in pop.items() if "alance" in k or "fficiency" in k})
print(*["wrong: " + w for w in wrong], sep="\n")
sys.exit(len(wrong) > 0)
E
python3 judge.py || complain "the factors"
# it finds a wrong factor, and a wrong rank
sed 's/"load_balance": *[0-9.]*/"load_balance": 0.5/' e.json >kept && mv e.json right && mv kept e.json
python3 judge.py >judged && complain "a wrong load balance is not found"
expect "by name: $(cat judged)" grep -q '^wrong: load_balance is 0.5' judged
finish
