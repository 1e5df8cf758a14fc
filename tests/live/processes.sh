#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Thousands of short-lived processes: each has its stream, its names, its exit status, and its
# creator with its birth; none is lost.
# needs: root alone
# longer: 2,000 processes, not 500
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

look() { # NAME
	judge "$1"
	facts "$1" <<'E'
children = {line["pid"]: line["child"] for line in lines if "child" in line}
check(len(children) == said["processes"], len(children), "children were reported")
parent = trace.thread(said["parent"])
births = {e.ints("iQ")[1] for e in parent.of("OHC")}
check(births == set(children), "births and children differ by", births ^ set(children))
for pid, number in children.items():
    child = trace.thread(pid, pid)
    begin = child.of("OHx")
    check(begin and begin[0].ints("iiQ")[1:] == (parent.tid, parent.pid),
          child, "was begun by", begin and begin[0].ints("iiQ"))
    check(len(child.of("OHe")) == 1 and child.events[-1].mcv == "OHe", child, "did not end")
    check(f"child-{number}" in child.names, child, "has the names", child.names)
    check(child.exit == (number % 128, None), child, "exited with", child.exit)
E
}

for mode in command pid all; do
	n=200
	[ $mode = command ] && n=$(longer 2000 500)
	record $mode $mode processes -n $n
	look $mode
done
finish
