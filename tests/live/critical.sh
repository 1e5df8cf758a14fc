#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-report critical of stages that wake each other (tests/workloads/chain): the path goes back from the main
# thread over stage 2 and stage 1 to the holder of the mutex, and over its sleep, not over the work of stage 0;
# without the holder over all stages. The segments add up to the window; at each moment that the program
# itself names, the path is in the thread that had it, and the run time of a stage is at least the CPU time
# that it counted. The kernel does not report all switches on some machines: such a recording is made anew.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

cat >judge.py <<'E'
import json, sys
lines = [dict(w.split("=", 1) for w in line.split()) for line in open(sys.argv[1] + ".report")]
rows, first = json.load(open(sys.argv[1] + ".path")), int(sys.argv[2])
said = {line["thread"]: line for line in lines if "thread" in line}
main = int(said["main"]["tid"])
held = "holder" in said
wrong = []
def check(ok, *words):
    if not ok:
        wrong.append(" ".join(map(str, words)))
check(rows[-1]["tid"] == main, "the path ends in", rows[-1])
check(all(a["to"] == b["from"] and a["time"] == a["to"] - a["from"] for a, b in zip(rows, rows[1:])), "gaps")
check(sum(r["time"] for r in rows) == rows[-1]["to"] - rows[0]["from"], "the sum")
if any(r["state"] == "unknown" for r in rows[1:]):
    print("a switch is missing:", wrong)
    sys.exit(1 if wrong else 9)
def sums(thread, state):
    return sum(r["time"] for r in rows if r["tid"] == int(said[thread]["tid"]) and r["state"] == state)
order = []
for r in rows:
    name = next((n for n, line in said.items() if int(line["tid"]) == r["tid"]), "?")
    if order[-1:] != [name]:
        order.append(name)
print(order)
# each stage got its turn from the one before, so that its end is on the path
stages = ["stage0", "stage1", "stage2"]
tail = ["holder", "stage1", "stage2", "main"] if held else stages + ["main"]
check([n for n in order[1:] if n in tail][-len(tail):] == tail, "the path is", order)
for name in tail[:-1]:
    if name == "stage1" and held:
        continue # it said so before it wanted the mutex
    at = int(said[name]["to"]) - first
    row = next((r for r in rows if r["from"] <= at < r["to"]), {"tid": 0})
    check(row["tid"] == int(said[name]["tid"]), name, "ended at", at, "but the path is in", row)
if held:
    check("stage0" not in order, "stage 0 is in the path:", order)
    slept = sums("holder", "asleep")
    print("the holder slept", slept, "ns of the path; it was asked for 60 ms and more")
    check(slept >= 60_000_000, "the holder slept", slept)
for name in (["stage2"] if held else stages):
    ran = sums(name, "running")
    print(name, "ran", ran, "ns of the path; it counted", said[name]["cpu_ns"])
    check(ran >= int(said[name]["cpu_ns"]) * 0.98 - 1_000_000, name, "ran only", ran)
for text in wrong:
    print(text)
sys.exit(bool(wrong))
E

for held in 1 0; do
	for ((try = 0; try < 8; try++)); do
		rm -rf "chain$held"
		record "chain$held" pid chain -m $held
		read -r pid to < <(sed -n 's/^thread=main tid=\([0-9]*\) to=\([0-9]*\) .*/\1 \2/p' "chain$held.report")
		first=$("$B/bin/ovni-dump" "chain$held" | sed -n '1s/^ *\([0-9]*\) .*/\1/p')
		"$B/bin/ovni-report" critical "chain$held" --tid "$pid" --to "$to" --json >"chain$held.path" 2>said
		[ -s "chain$held.path" ] || { complain "critical: $(cat said)"; break; }
		judged=0
		python3 judge.py "chain$held" "$first" >"chain$held.judged" || judged=$?
		cat "chain$held.judged"
		[ $judged = 9 ] && continue
		[ $judged = 0 ] || complain "chain$held: $(cat "chain$held.path")"
		break
	done
	[ $try -lt 8 ] || skip "the kernel does not report all switches in any run"
done
judge chain1

# The overview of a recorded command has the sums of the path to the end of the command, with -a, too.
# Then the report also follows threads that are not of the command.
path() { # NAME [OPTION... --]
	record "$1" command "${@:2}" chain -m 1
	"$B/bin/ovni-report" "$1" --json >"$1.overview" 2>said || [ $? = 3 ] || complain "$1: the overview: $(cat said)"
	tid=$(sed -n 's/^thread=main tid=\([0-9]*\) .*/\1/p' "$1.report")
	"$B/bin/ovni-report" critical "$1" --tid "$tid" --json -n 0 >"$1.path" 2>said || [ $? = 3 ] || complain "$1: critical: $(cat said)"
	"$B/bin/ovni-report" "$1" >"$1.text" 2>/dev/null
	tr -s '\n ' ' ' <"$1.text" | grep -q "Why [^ ]* ($tid) ended no sooner: " || complain "$1: no path in $(cat "$1.text")"
	python3 - "$1" "$tid" <<'E' || complain "$1: the path in the overview"
import collections, json, sys
name, tid = sys.argv[1], int(sys.argv[2])
doc, rows = json.load(open(name + ".overview")), json.load(open(name + ".path"))
path = doc["path"]
born = next(i for i, r in enumerate(rows) if r["tid"] == tid)  # before, the path is in its creator
sums, threads = collections.Counter(), collections.Counter()
for r in rows[born:]:
    state = r["state"] if r["state"] in ("running", "runnable", "throttled", "asleep") else "unknown"
    sums[state] += r["time"]
    threads[r["tid"]] += r["time"]
keys = {"running": "run_ns", "runnable": "wait_ns", "throttled": "throttled_ns", "asleep": "asleep_ns", "unknown": "unknown_ns"}
print(name, path["text"])
print(name, "critical:", dict(sums), "largest:", threads.most_common(1))
assert path["end"]["tid"] == tid, path
life = next(t["life_ns"] for t in doc["threads"] if t["tid"] == tid)
newborn = life - sum(path[key] for key in keys.values())  # it may have waited before its first event
assert 0 <= newborn < 50_000_000, (life, path)
if name == "beside":
    sys.exit()
assert all(path[key] == sums[state] for state, key in keys.items()), (path, sums)
assert threads[path["most"]["tid"]] == max(threads.values()) == sum(path["most"][key] for key in keys.values()), (path, threads)
E
}
path alone
path beside -a --
finish
