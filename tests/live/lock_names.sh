#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The futexes of a program have names: variables, their members and elements (of a program without debug
# information offsets), the heap, stacks, shared memory, and the end of a thread, as the program and nm say; in ovni-report locks, blocked and why, in Paraver, in a cut trace, and in the parts
# of a rotation. The overview names the lock, its owner, and the call in which that sleeps. With --why=none
# there are no names.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

cat >names.py <<'E'
import json, os, subprocess, sys
from facts import *
name, path, owners = sys.argv[1:]
def ran(*words):
    return json.loads(subprocess.run([os.environ["B"] + "/bin/ovni-report", *words, "--json", path],
                                     stdout=subprocess.PIPE, check=False).stdout)
places = {l["kind"]: l for l in report(name + ".report") if "kind" in l}
check(len(places) == 8, "only", len(places), "locks")
nm = {}
for line in subprocess.run(["nm", "split_locks" if name == "split" else os.environ["B"] + "/tests/workloads/named_locks"], stdout=subprocess.PIPE,
                           check=True).stdout.decode().split("\n"):
    words = line.split()
    if len(words) == 3:
        nm[words[2]] = int(words[0], 16)
bias = places["bss"]["address"] - nm["zeroed_lock"]
part = places["part"]["address"] - bias - nm["filled_pool"]
element = places["array"]["address"] - bias - nm["local_locks"]
check(0 < part < 16 and 0 < element < 100, "the layout differs", part, element)
def at(kind):
    return f"{places[kind]['address']:#x}"
members = name not in ("stripped", "shared", "split")
wanted = {"bss": "zeroed_lock", "part": "filled_pool.lock" if members else f"filled_pool+{part:#x}",
          "array": "local_locks[1]" if members else f"local_locks+{element:#x}",
          "heap": "heap " + at("heap"), "stack": "stack " + at("stack"),
          "thread_stack": f"stack of thread {places['thread_stack']['holder']} {at('thread_stack')}",
          "file": os.path.realpath("mapped.locks") + f"+{element:#x}", "anonymous": "/dev/zero+0x0"}
locks = {int(r["address"], 16): r for r in ran("locks") if r["address"]}
blocked, why = ran("blocked"), ran("why")
for kind, line in places.items():
    row = locks.get(line["address"])
    check(row and row["object"] == wanted[kind], kind, "is", row and row["object"], "not", wanted[kind])
    if not row:
        continue
    for rows in (blocked, why):
        times = sum(r["time"] for r in rows if r["call"] == f"futex({wanted[kind]})")
        check(times == row["total"], kind, "waits", times, "not", row["total"])
    if owners == "yes":
        check(row["owner"] == line["holder"], kind, "owner", row)
# the overview: the three longest, with what the holder did meanwhile
found = [f for f in ran()["findings"] if f["kind"] == "owner"] if owners == "yes" else []
check(owners != "yes" or len(found) == 3, len(found), "findings of locks")
totals = {r["object"]: r for r in locks.values()}
for f in found:
    n, row = f["numbers"], totals[f["lock"]]
    check(n["time_ns"] == row["total"] and n["count"] == row["waits"], f["text"], row)
    check(n["asleep_ns"] + n["run_ns"] + n["wait_ns"] == n["time_ns"], "does not add up:", f["text"])
    check(f["by"]["tid"] == row["owner"] and f.get("call") == "clock_nanosleep", f)
    check(n["call_ns"] >= 290_000_000, "the holder slept only", n["call_ns"], f["text"])
# pthread_join of a thread that sleeps: at the end of its memory, not on its stack
ends = [o for o in totals if o and o.startswith("end of a thread ")]
check(ends and all(int(o.split()[-1], 16) not in [l["address"] for l in places.values()] for o in ends), "ends of threads", ends)
stacks = [o for o in totals if o and o.startswith("stack of thread ")]
check(name == "all" or stacks == [wanted["thread_stack"]], "stacks of threads:", stacks)
print(f"{name}: {len(places)} locks with names, and", *ends)
sys.exit(verdict())
E

names_of() { # NAME TRACE [OWNERS]
	python3 names.py "$1" "$2" "${3:-no}" || complain "$1: the names"
}

# Again, if the kernel hid the switch at which a holder fell asleep: its sleep has no call then.
named() {
	rm -rf command
	record command command --why=lock -- named_locks
	judge command
	names_of command command yes
}
attempts 3 named
record all all -- named_locks
names_of all all
"$B/bin/ovni-emu" -q -o views command || [ $? = 3 ] || complain "ovni-emu fails"
# Paraver has its own use for square brackets
for name in zeroed_lock filled_pool.lock 'local_locks(1)'; do
	grep -qF " $name, named_locks (" views/thread.pcf || complain "Paraver has no $name"
done
"$B/bin/ovni-dump" command >dumped
grep -q 'futex(filled_pool.lock)' dumped || complain "ovni-dump has no filled_pool.lock: $(grep -m1 futex dumped)"
"$B/bin/ovni-cut" -o cut command >cut.log 2>&1 || complain "ovni-cut: $(cat cut.log)"
cp command.report cut.report
names_of cut cut yes
record_copy() { # NAME: of the program NAME_locks
	rm -rf "$1"
	"$B/bin/ovni-bpf" -q -o "$1" -- "./$1_locks" >"$1.report" 2>"$1.log" || [ $? = 3 ] || complain "$(cat "$1.log")"
	names_of "$1" "$1"
}
strip -g -o stripped_locks "$WORKLOADS/named_locks" || complain "strip fails"
attempts 3 record_copy stripped
# The types are in a .dwo that is not there: offsets, no failure.
gcc -D_GNU_SOURCE -std=gnu11 -O2 -g -gsplit-dwarf -pthread -o split_locks "$S/tests/workloads/named_locks.c" && rm ./*.dwo || complain "gcc -gsplit-dwarf fails"
attempts 3 record_copy split
# Debug information made smaller by dwz; in the second program parts of it are in a file of its own: offsets, no wrong name.
if command -v dwz >/dev/null; then
	for copy in dwz shared other; do cp "$WORKLOADS/named_locks" ${copy}_locks; done
	dwz dwz_locks || complain "dwz fails"
	attempts 3 record_copy dwz
	dwz -m common.debug shared_locks other_locks || complain "dwz -m fails"
	attempts 3 record_copy shared
else
	echo "dwz is not there"
fi
record rotated command --rotate 700ms -- named_locks
for part in rotated/*/; do "$B/bin/ovni-report" locks "$part"; done >rotated.locks
for name in zeroed_lock filled_pool.lock 'local_locks[1]' /dev/zero+0x0; do
	grep -qF "$name" rotated.locks || complain "no part of the rotation has $name: $(cat rotated.locks)"
done
record none command --why=none -- named_locks
facts none <<'E'
check(not [t for t in trace.streams if "futexes" in t.bpf], "without calls there are names of futexes")
E
finish
