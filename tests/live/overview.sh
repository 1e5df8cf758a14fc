#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The overview of real recordings with a known cause: the thread that takes the CPU of a periodic
# thread, the holder of a mutex, the thread of a team with most of the work. The numbers are
# compared with those of the threads themselves and of the kernel (schedstat).
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

overview() { # NAME <<E: Python lines with `doc`, the JSON, `said` of each tid, find(KIND), check(), near()
	"$B/bin/ovni-report" "$1" --json >"$1.json" 2>"$1.said"
	case $? in 0 | 3) ;; *) complain "$1: $(cat "$1.said")" ;; esac
	"$B/bin/ovni-report" "$1" >"$1.txt" 2>&1
	{
		cat <<'E'
import json, sys
doc = json.load(open(sys.argv[1] + ".json"))
lines = [dict(word.split("=", 1) for word in line.split()) for line in open(sys.argv[1] + ".report")]
threads = {thread["tid"]: thread for thread in doc["threads"]}
failed = []
def check(ok, *words):
    if not ok:
        failed.append(" ".join(str(word) for word in words))
def find(kind, tid=None):
    return next((f for f in doc["findings"] if f["kind"] == kind and tid in (None, f["who"]["tid"])), None)
# Stolen time counts as run time of a thread, and not as its CPU time.
stolen = sum(cpu.get("steal_ns", 0) for cpu in doc["cpus"])
def near(a, b, *words):  # 2 %, and 10 ms for what ran while times were read
    check(abs(a - b) <= 0.02 * max(a, b) + 10_000_000 + stolen, *words, a, "is not near", b)
E
		cat
		cat <<'E'
import subprocess
for f in doc["findings"]:
    shown = subprocess.run("$B/bin/" + f["command"], shell=True, capture_output=True, text=True)
    check(shown.returncode == 0 and shown.stdout.count("\n") > 1, f["command"], "fails:", shown)
E
		echo 'for text in failed: print(text)'
		echo 'sys.exit(bool(failed))'
	} >judge.py
	python3 judge.py "$1" >"$1.judged" 2>&1 || complain "$1: $(cat "$1.judged" "$1.txt")"
}

# Repairs make times uncertain: then only causes are judged, not times.
noisy() {
	record noisy all -- problems neighbour -t 1500
	overview noisy <<'E'
latcrit = next(line for line in lines if "latcrit" in line)
noisy = next(line for line in lines if "noisy" in line)
victim, culprit = threads[int(latcrit["latcrit"])], threads[int(noisy["noisy"])]
if not doc["repairs"]:
    near(victim["run_ns"], int(latcrit["cpu_ns"]), "latcrit ran")
    near(culprit["run_ns"], int(noisy["cpu_ns"]), "noisy ran")
    near(victim["wait_ns"], int(latcrit["wait_ns"]), "latcrit waited")
    near(culprit["wait_ns"], int(noisy["wait_ns"]), "noisy waited")
found = find("neighbour", victim["tid"])
check(found, "no neighbour is found")
# on a busy machine other threads may have had more of the CPU
if culprit["run_ns"] > (doc["duration_ns"] - victim["run_ns"]) / 2:
    check(found and found["by"]["tid"] == culprit["tid"], "noisy is not found:", found)
if found:
    check(found["numbers"]["run_ns"] <= found["numbers"]["by_ns"] <= found["numbers"]["time_ns"]
          == victim["wait_ns"], "the parts:", found)
E
}

convoy() {
	record convoy command --api pthread -- team -n 3 -w 0 -m 0 -l 10000 -r 10
	overview convoy <<'E'
workers = [line for line in lines if "held_ns" in line]
# The threads of the command alone are recorded: the CPUs have their time, by the threads' own clocks,
# and the rest is not called busy.
if not doc["repairs"]:
    near(sum(cpu["threads_ns"] for cpu in doc["cpus"]), sum(t["run_ns"] for t in doc["threads"]), "the CPUs ran threads")
ran = sum(threads[int(w["tid"])]["run_ns"] for w in workers)
if not doc["repairs"]:
    near(ran, sum(int(w["cpu_ns"]) for w in workers), "the workers ran")
for cpu in doc["cpus"]:
    check("idle_ns" not in cpu and "other_ns" not in cpu, "idle time is not known:", cpu)
    check(cpu["threads_ns"] + cpu["other_or_idle_ns"] + cpu["unknown_ns"] == cpu["window_ns"], "the parts:", cpu)
text = open(sys.argv[1] + ".txt").read()
check("recorded %" in text and "busy %" not in text, text)
found = find("lock")
check(found and found["by"]["tid"] in [int(w["tid"]) for w in workers], "no lock is found:", found)
if found and not doc["repairs"]:
    n = found["numbers"]
    held = sum(int(w["held_ns"]) for w in workers)
    # a hold may have no waiter, while a thread waits for a CPU
    check(0.4 * held <= n["by_ns"] <= 1.02 * held + 10_000_000, "held", held, "not", n["by_ns"])
    check(n["by_ns"] == n["run_ns"] + n["wait_ns"] + n["asleep_ns"], "the parts of the holds:", n)
    check(n["asleep_ns"] >= 0.5 * n["by_ns"], "the holder slept:", n)
    # of three threads two can wait; the last one sleeps less than the hold
    check(0.4 * n["by_ns"] <= n["time_ns"] <= 2.1 * n["by_ns"], "others slept:", n)
E
}

unequal() {
	record unequal command -- team -n 2 -w 200 -m 600
	overview unequal <<'E'
workers = [line for line in lines if "held_ns" in line]
found = find("imbalance")
# where the threads mostly wait for a CPU, that is the finding
if found or max(int(w["cpu_ns"]) for w in workers) > doc["duration_ns"] / 2:
    check(found and found["who"]["pid"] == int(lines[0]["main"]), "no imbalance is found:", found)
if found and not doc["repairs"]:
    times = [int(w["cpu_ns"]) for w in workers]
    near(found["numbers"]["most_ns"], max(times), "the busiest")
    near(found["numbers"]["mean_ns"], sum(times) / 2, "the mean")
    check(found["by"]["tid"] == int(max(workers, key=lambda w: int(w["cpu_ns"]))["tid"]), "who:", found)
E
}

# A hypervisor that takes a CPU from one thread alone makes the threads unequal.
equal() {
	record equal command -- team -n 2 -w 300 -m 0
	overview equal <<'E'
check(not find("imbalance") and not find("lock"), "found:", doc["findings"])
E
}

for name in noisy convoy unequal equal; do attempts 3 $name; done
finish
