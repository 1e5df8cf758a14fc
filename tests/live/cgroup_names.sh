#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Each stream has the cgroup that the kernel shows for its thread, and reports add up by cgroup: two
# programs in cgroups of their own share a CPU, and each is the culprit of the waits of the other one.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"
. "$S/tests/live/cpu_group.sh"

clean() {
	[ -d "${group:-}" ] && rmdir "$group/a b" "$group/c"
	clean_up
}
trap clean EXIT
find_group && mkdir "$group/a b" "$group/c" || skip "no CPU controller of cgroups can be used here"

# The kernel's own words, after the move: the line of the controller cpu, or that of version 2.
cat >enter <<E2
#!/bin/bash
echo \$\$ >"$group/\$1/cgroup.procs"
line=\$(grep -E '^[0-9]+:([^:]*,)?cpu(,[^:]*)?:' /proc/\$\$/cgroup || grep '^0::' /proc/\$\$/cgroup)
echo "{\"pid\": \$\$, \"cgroup\": \"\${line#*:*:}\"}" >>truth.json
exec '$WORKLOADS/spinners' -n 1 -t 300 -p 3 -c -2
E2
chmod +x enter
# Both must want the CPU at the same time.
both() {
	rm -rf out truth.json
	record_output out -a -- bash -c './enter "a b" & ./enter c; wait'
	judge out
	"$B/bin/ovni-info" --json out >info.json || complain "ovni-info: status $?"
	for by in thread cgroup; do
		"$B/bin/ovni-report" why --by "$by" --json -n 0 out >"why.$by.json" || complain "why --by $by: status $?"
		"$B/bin/ovni-report" preempt --by "$by" --json -n 0 out >"preempt.$by.json" || complain "preempt --by $by: status $?"
	done
	python3 - <<'E2' || complain "the cgroups of the trace"
import json
def load(name):
    return json.load(open(name, encoding="utf-8"))
truth = {t["pid"]: t["cgroup"] for t in map(json.loads, open("truth.json", encoding="utf-8"))}
info = load("info.json")
of = {(t["pid"], t["tid"]): t.get("cgroup", "cgroup unknown") for t in info["threads"]}
label = {f'{t["name"]} ({t["tid"]})': of[t["pid"], t["tid"]] for t in info["threads"]}
assert len(truth) == 2, truth
for pid, path in truth.items():
    process = [p for p in info["processes"] if p["name"] == str(pid)][0]
    print("cgroup of", pid, ": kernel", path, "trace", process.get("cgroup"))
    assert process["cgroup"] == path and of[pid, pid] == path, (process, path)
def times(rows, key):
    sums = {}
    for row in rows:
        at = key(row), row["state"], row["reason"]
        sums[at] = sums.get(at, 0) + row["time"]
    return sums
by_thread = times(load("why.thread.json"), lambda row: of[row["pid"], row["tid"]])
by_cgroup = times(load("why.cgroup.json"), lambda row: row["thread"])
assert by_thread == by_cgroup, (by_thread, by_cgroup)
def charges(rows):
    sums = {}
    for row in rows:
        at = label.get(row["victim"], row["victim"]), label.get(row["culprit"], row["culprit"])
        sums[at] = sums.get(at, 0) + (row["ran"] or 0)
    return sums
threads, groups = charges(load("preempt.thread.json")), charges(load("preempt.cgroup.json"))
assert threads == groups, (threads, groups)
a, b = truth.values()
print(a, "waited", groups[a, b], "ns for", b, "which waited", groups[b, a], "ns")
assert groups[a, b] > 0 and groups[b, a] > 0
E2
}
attempts 3 both
finish
