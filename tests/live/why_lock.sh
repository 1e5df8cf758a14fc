#!/bin/bash
# SPDX-License-Identifier: MIT
#
# --why=lock: a wait on a futex has its object and the owner of the lock, for each kind of lock whose owner
# glibc stores; objects without an owner, and words that only look like a mutex, have none. The report
# locks adds up to the time asleep in futex that the report why has.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

cat >locks.py <<'E'
import json, sys
import struct
from facts import *
name, path, wait, translated, blocker = *sys.argv[1:5], sys.argv[5] == "yes"
trace, lines = Trace(path), report(name + ".report")
phases = [l for l in lines if "phase" in l]
check(len(phases) == 21, "only", len(phases), "phases")
check(trace.session.get("locks") is True, "the session does not say that it has owners of locks")
# also the process that it makes begins with its name
holder = min((t for t in trace.streams if "holder" in t.names and t.pid == t.tid), key=lambda t: t.events[0].clock)
if translated == "yes":  # in a PID namespace the program has other numbers than the trace
    check(holder.tid != 1, "the holder has number 1 in the trace, too")
    owners = [e.owner() for t in trace.streams for e in t.of(wait)]
    print(f"{name}: {owners.count(holder.tid)} waits for locks of the holder, {owners.count(-1)} without owner")
    check(owners.count(holder.tid) >= 12, "the holder owns only", owners.count(holder.tid), "locks")
    check(1 not in owners, "an owner has the number that the program has for it")
    sys.exit(verdict())
judged = exact = 0
seen = []  # the phases of the waiters that were judged
for line in lines:
    if "of" not in line:
        continue
    phase = next(p for p in phases if p["phase"] == line["of"])
    waiter = trace.thread(line["waiter"])
    mine = [e for e in waiter.events if line["begin"] < e.clock < line["end"]]
    if any(e.mcv in ("OHp", "KCO") and struct.unpack("<H", e.data[:2])[0] == 11 for e in mine) or \
       any(e.ends_unknown() for e in mine):
        continue  # a switch that the kernel did not report
    waits, hidden = [], False
    for i, e in enumerate(mine):
        call = e.call() if e.mcv in ("OHp", "KCO") else None
        if call and call[1] is not None and phase["from"] <= call[1] < phase["from"] + phase["size"]:
            ends = [w for w in mine[i:] if w.mcv == wait]
            hidden |= not ends  # the kernel reported its run only later
            runs = [r for r in waiter.events if r.clock >= e.clock and r.mcv in ("OHr", "KCI")]
            waits += [(e, ends[0], runs[0])] if ends else []
    if hidden:
        continue
    judged += 1
    seen.append(line["of"])
    # one wait; a signal or a lock that was taken by another waiter may make it several
    check(waits, waiter, "does not wait in", phase["phase"], mine)
    if not waits:
        continue
    exact += len(waits) == 1
    first, end, run = waits[0]
    check(end.owner() == phase["owner"], phase["phase"], waiter, "owner", end.owner(), "not", phase["owner"])
    # the clocks of switches are exact, those of wake-ups are computed
    check(run.clock - first.clock >= 10_000_000, phase["phase"], "waits only", run.clock - first.clock)
    check(run.clock >= phase["dropped"], phase["phase"], "runs before the release:", run.clock, phase["dropped"])
    if end.clock < phase["dropped"]:
        print(f"{name}: {phase['phase']}: woken {phase['dropped'] - end.clock} ns before the release")
print(f"{name}: {judged} waiters judged, {exact} with exactly one wait")
check(judged >= 20, "only", judged, "waiters could be judged")
check(exact >= judged - 3, "only", exact, "waiters wait once")

# locks of the kernel, where it says on which one a task sleeps (from Linux 6.16 or 6.17 on, by configuration)
found = {}
for line in lines:
    if "kernel" not in line or line["kernel"] == "none" or not blocker:
        continue
    waiter = trace.thread(line["waiter"])
    mine = [e for e in waiter.events if line["begin"] < e.clock < line["end"]]
    if any(e.mcv in ("OHp", "KCO") and e.data[0] == 11 or e.ends_unknown() for e in mine):
        continue
    sleeps = [i for i, e in enumerate(mine) if e.mcv in ("OHp", "KCO") and e.data[0] == 2 and e.call() and
              e.call()[0] in (1, 64)]  # in write(), of x86-64 and arm64
    check(len(sleeps) == 1, line, "sleeps", len(sleeps), "times uninterruptibly in write():", mine)
    for i in sleeps:
        number = mine[i].call()[1]
        check(number is not None and number >> 63, line, "has no kernel lock", mine[i].call())
        end = [e for e in mine[i:] if e.mcv == wait]
        check(end and end[0].owner() == line["holder"], line, "owner", end and end[0].owner())
        found[line["kernel"]] = number
check(len(set(found.values())) == len(found), "two locks have one number", found)
print(f"{name}: {len(found)} locks of the kernel")

locks, why = json.load(open(name + ".locks")), json.load(open(name + ".why"))
of_kernel = [r for r in locks if r["pid"] is None]
locks = [r for r in locks if r["pid"] is not None]
total, asleep = sum(r["total"] for r in of_kernel), sum(r["time"] for r in why if r["call"].endswith(", kernel lock"))
check(total == asleep, "locks of the kernel have", total, "ns, why has", asleep)
for number in found.values():
    rows = [r for r in of_kernel if r["object"] == "kernel lock %x" % (number & ~(1 << 63))]
    check(len(rows) == 1 and rows[0]["owner"] > 0 and rows[0]["waits"] >= 1, "kernel lock", rows)
total, asleep = sum(r["total"] for r in locks), sum(r["time"] for r in why if r["call"].split("(")[0] == "futex")
print(f"{name}: {len(locks)} objects, {total} ns; why has {asleep} ns in futex")
check(total == asleep, "the objects do not add up")
waits = sum(r["times"] for r in why if r["call"].split("(")[0] == "futex")
check(sum(r["waits"] for r in locks) == waits, "the waits do not add up to", waits)
pool = next(p for p in phases if p["phase"] == "mutex")
rows = [r for r in locks if int(r["address"], 16) == pool["from"] and r["pid"] == holder.pid]
check(len(rows) == 1, "the mutex has", len(rows), "rows")
for r in rows if seen.count("mutex") == pool["waiters"] else []:
    check(r["owner"] == holder.tid and r["owner_percent"] == 100, "the owner of the mutex is", r)
    check(r["threads"] == 3 and r["most"] == 3 and r["queued"] == 2, "the queue of the mutex is", r)
    check(r["longest"] >= 5_000_000, "the longest wait is", r["longest"])
sys.exit(verdict())
E

blocker=no
PATH=$PATH:/usr/sbin bpftool btf dump file /sys/kernel/btf/vmlinux >btf.txt
# a member of task_struct, not of a small struct
grep -q "'blocker' .*bits_offset=[0-9]\{4\}" btf.txt && blocker=yes

# The locks in the trace TRACE of the workload that has written NAME.report.
locks_of() { # NAME TRACE [END-OF-WAIT [TRANSLATED]]
	"$B/bin/ovni-report" locks --json "$2" >"$1.locks" || complain "$1: ovni-report locks: status $?"
	"$B/bin/ovni-report" why --json "$2" >"$1.why" || complain "$1: ovni-report why: status $?"
	python3 locks.py "$1" "$2" "${3:-OHw}" "${4:-no}" $blocker || complain "$1: the locks"
}

record command command --why=lock -- locks
judge command
locks_of command command
record pid pid --why=lock --wakeup-clock tracepoint -- locks
judge pid
locks_of pid pid
record all all --why=lock -- locks
judge all
locks_of all all
"$B/bin/ovni-cut" -o cut command >cut.log 2>&1 || complain "ovni-cut: $(cat cut.log)"
cp command.report cut.report
locks_of cut cut

"$B/bin/ovni-dump" command >dump.txt || complain "ovni-dump: status $?"
grep -q 'slept on a lock of thread' dump.txt || complain "ovni-dump shows no owner"
grep -q 'slept on an object without an owner' dump.txt || complain "ovni-dump shows no wait without an owner"

# In a PID namespace a program stores the numbers of that namespace: its main thread is 1.
export WORKLOAD_REPORT=$T/inside.report
rm -f inside.report
"$RECORDER" -o inside --why=lock -- unshare --pid --fork --mount-proc "$WORKLOADS/locks" >inside.log 2>&1 ||
	complain "inside: ovni-bpf ended with $?: $(tail -n 5 inside.log)"
unset WORKLOAD_REPORT
locks_of inside inside OHw yes

# Some CPUs, the kernel model, a flight recorder, and all parts of a rotation.
record cpus command -C "0-$(($(nproc) - 1))" --why=lock -- locks
judge cpus
locks_of cpus cpus
record kernel command --kernel-model --why=lock -- locks
judge kernel
locks_of kernel kernel KCI
record flight command --last 30s --why=lock -- locks
locks_of flight "$(dirname "$(find flight -name 'loom.*' | head -n 1)")"
record rotated command --rotate 100ms --why=lock -- locks
python3 - rotated/*/ <<'E' || complain "the parts of a rotation"
import collections, json, os, subprocess, sys
from facts import *
owners, total, asleep = collections.Counter(), 0, 0
def ran(name, part):
    said = subprocess.run([os.environ["B"] + "/bin/ovni-report", name, "--json", part], stdout=subprocess.PIPE, check=False)
    return json.loads(said.stdout)
names = collections.defaultdict(set)
for part in sys.argv[1:]:
    for t in Trace(part).streams:
        names[t.tid] |= set(t.names)
        owners.update(e.owner() for e in t.of("OHw"))
    total += sum(r["total"] for r in ran("locks", part))
    asleep += sum(r["time"] for r in ran("why", part) if r["call"].startswith("futex") or "kernel lock" in r["call"])
held = sum(n for tid, n in owners.items() if "holder" in names[tid])
print(f"rotated: {len(sys.argv) - 1} parts, {held} waits for locks of the holder, {owners[-1]} without owner")
check(len(sys.argv) > 2 and held >= 12, "owners", owners)
check(total == asleep, "the parts have", total, "ns, why has", asleep)
sys.exit(verdict())
E

# Without the option no event has an owner.
record none command --why=call -- locks
facts none <<'E'
check(not [e for t in trace.streams for e in t.of("OHw") if e.owner()], "without --why=lock there are owners")
check("locks" not in trace.session, "the session claims to have owners of locks")
E
finish
