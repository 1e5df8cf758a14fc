#!/bin/bash
# SPDX-License-Identifier: MIT
#
# --why=irq: the time that interrupt handlers take from each run, and from each CPU by kind, equal to what
# the kernel's own tracer has at the same handlers. A storm of timer interrupts on one of two CPUs is the
# overview's finding, by its name; the other CPU has none of it.
# needs: root alone
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"
[ "$(nproc)" -ge 2 ] || skip "needs 2 CPUs"

cat >irqs.py <<'E'
import struct, subprocess
B = os.environ["B"]
KINDS = ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"]
OTHERS = {2: "local timer", 3: "irq work", 4: "call function", 5: "call function single", 6: "reschedule"}
session = trace.session
t0, t1 = int(session["t0"]), int(session["t1"])
check(session.get("irq") is True, "the session does not say that it has interrupts")
# A hypervisor that takes the CPU inside a handler may do so between the two instruments' clocks: such a handler
# is longer than 1 ms.
# At its entry, the tracer's own work comes before ours and counts as its handler's: 0.1 to 0.2 us, and some 0.6 us on
# a CPU with few handlers, whose caches have forgotten it.
def own_work(handlers): return handlers * (250 if handlers > 5000 else 1000)
data = open(name + ".seen", "rb").read()
(n,) = struct.unpack_from("<Q", data, 8)
by_cpu = {}
for r in struct.iter_unpack("<QBBHiiiII", data[16:16 + 32 * n]):
    by_cpu.setdefault(r[3], []).append(r)
kinds, runs, times, stolen = {}, {}, {}, {}  # ns by (CPU, kind) in the window; runs of threads: [enters, leaves, ns taken]
for cpu, records in by_cpu.items():
    stack, since, on, ksoftirqd = [], 0, None, False
    for clock, kind, _, _, current, a, b, _, _ in records:
        if kind == 0:
            if on:
                runs.setdefault(on[0], []).append((on[1], clock, on[2]))
            on, stack = [b, clock, 0], []
        if kind not in (6, 7):
            continue
        if stack:
            ns = max(0, min(clock, t1) - max(since, t0))
            kinds[cpu, stack[-1]] = kinds.get((cpu, stack[-1]), 0) + ns
            stolen[cpu] = stolen.get(cpu, 0) + (ns if ns > 1e6 else 0)
            if on:
                on[2] += clock - since
        since = clock
        what = "softirq " + KINDS[a] if b == 0 else "irq %d" % a if b == 1 else OTHERS[b]
        if kind == 6:
            stack.append(what)
            times[cpu, what] = times.get((cpu, what), 0) + 1
        elif stack:
            stack.pop()
ours_of = {}
for account in session["cpus"]:
    cpu, ours = account["cpu"], {}
    for irq in account["interrupts"]:
        words = irq["kind"].split()
        ours[" ".join(words[:2]) if words[0] == "irq" and words[1] != "work" else irq["kind"]] = int(irq["ns"])
    theirs = {k: v for (c, k), v in kinds.items() if c == cpu and v}
    total, truth = sum(ours.values()), sum(theirs.values())
    ours_of[cpu] = ours
    handlers = sum(v for (c, k), v in times.items() if c == cpu)
    stolen.setdefault(cpu, 0)
    print(f"{name}: CPU {cpu}: {total} ns, ftrace {truth} ({(total / truth - 1) * 100:+.2f} %), {handlers} handlers")
    check(abs(total - truth) <= 0.01 * truth + own_work(handlers) + 20e3 + stolen[cpu], "CPU", cpu, "has", total, "ns, ftrace", truth, ours, theirs)
    for kind in set(ours) | set(theirs):
        a, b = ours.get(kind, 0), theirs.get(kind, 0)
        check(abs(a - b) <= 0.02 * b + 20e3 + 2 * own_work(times.get((cpu, kind), 0)) + stolen[cpu], "CPU", cpu, kind, a, "ns, ftrace", b)
check(sum(sum(o.values()) for o in ours_of.values()) > 0, "no interrupts at all")

taken = {}
for stream in trace.streams:
    taken[stream.tid] = sum(e.interrupts() for e in stream.events)
    total = sum(s.end - s.start for s in stream.stays)
    check(taken[stream.tid] <= total, stream.tid, "lost", taken[stream.tid], "ns of", total)
everything = sum(sum(o.values()) for o in ours_of.values())
check(sum(taken.values()) <= everything * 1.001 + 1e6, "threads lost", sum(taken.values()), "ns of", everything)

tids = {k: l[k] for l in lines for k in ("flooded", "quiet") if k in l}
# A run whose end the kernel did not report, to us or to its own tracer, has no time of interrupts.
for who, tid in tids.items():
    ran = sum(s.end - s.start for s in trace.thread(tid).stays)
    theirs = sum(min(end, t1) - max(begin, t0) for begin, end, ns in runs.get(tid, []) if begin < t1 and end > t0)
    if any(e.ends_unknown() for e in trace.thread(tid).events) or abs(ran - theirs) > 0.02 * ran:
        open(name + ".hidden", "w").write(who)
        print(f"{name}: the kernel hid a switch of {who}: its runs are not compared")
        verdict()
        sys.exit()
shares = {}
rows = json.loads(subprocess.run([B + "/bin/ovni-report", "why", "--json", name], stdout=subprocess.PIPE, check=True).stdout)
for who, tid in tids.items():
    theirs = sum(ns for begin, end, ns in runs[tid] if t0 < begin and end < t1)
    ran = sum(s.end - s.start for s in trace.thread(tid).stays)
    shares[who] = taken[tid] / ran
    row = [r for r in rows if r["tid"] == tid and r["state"] == "running"][0]
    print(f"{name}: {who} lost {taken[tid]} of {ran} ns ({shares[who] * 100:.2f} %), ftrace {theirs}; report {row['interrupts']}")
    handlers = sum(v for (c, k), v in times.items() if c == [l["cpu"] for l in lines if who in l][0])
    check(abs(taken[tid] - theirs) <= 0.02 * theirs + own_work(handlers) + 20e3 + sum(stolen.values()), who, "lost", taken[tid], "ns, ftrace", theirs)
    check(row["interrupts"] == taken[tid], "the report has", row["interrupts"], "the events", taken[tid])
check(shares["flooded"] > 1.5 * shares["quiet"], "the storm is not on its CPU alone", shares)

cpus = json.loads(subprocess.run([B + "/bin/ovni-report", "cpu", "--json", name], stdout=subprocess.PIPE, check=True).stdout)
for cpu, ours in ours_of.items():
    check({r["interrupts"] for r in cpus if r["cpu"] == cpu} == {sum(ours.values())}, "the report of CPU", cpu)

overview = json.loads(subprocess.run([B + "/bin/ovni-report", "--json", name], stdout=subprocess.PIPE, check=True).stdout)
found = [f for f in overview["findings"] if f["kind"] == "interrupts" and f["who"].get("name") in ("flooded", "interrupts")]
check(found, "the overview does not name the interrupts", [f["text"] for f in overview["findings"]][:6])
for f in found[:1]:
    print(f["text"])
    check(f.get("interrupt") == "local timer" and "local timer took most" in f["text"], "the overview names", f)
    truth = sum(v for (c, k), v in kinds.items() if k == "local timer" and c == f["numbers"].get("cpu", c))
    check(abs(f["numbers"]["by_ns"] - truth) <= 0.02 * truth + sum(stolen.values()), "the overview says", f["numbers"], "ftrace", truth)
    mine = [taken[t] for t in tids.values()] if f["who"]["kind"] == "process" else [taken[tids["flooded"]]]
    check(abs(f["numbers"]["time_ns"] - sum(mine)) <= 1e6, "the overview says", f["numbers"], "the events", taken)
check("interrupts" not in overview["not_recorded"], overview["not_recorded"])
E

storm() { # NAME OPTION...
	local tracer
	"$B/tests/live/ftrace" -i -b 128 "$1.seen" >"$1.ftrace" 2>&1 &
	tracer=$!
	wait_until grep -q ready "$1.ftrace" || skip "no ftrace: $(cat "$1.ftrace")"
	record "$1" all --why=irq "${@:2}" -- interrupts -m 1000 -f 20000 -r 10
	kill -INT "$tracer"
	wait "$tracer" || complain "$1: $(cat "$1.ftrace")"
	judge "$1"
	facts "$1" <irqs.py
	rm -f "$1.seen"
}
# Again, while the kernel hides switches of the two threads.
seen_storm() {
	for try in 1 2 3 4 5 6; do
		rm -rf "$1" "$1.hidden"
		storm "$@"
		[ -e "$1.hidden" ] || return 0
	done
	echo "$1: the kernel hid switches in $try recordings: the sums of the CPUs are compared, those of threads are not"
}
# A part that is not asked for costs nothing: without it none of its programs is loaded, and with it the others are
# the same, but for those around handlers, which it replaces.
program_lengths call
program_lengths irq
python3 - <<'E' || complain "the programs with and without --why=irq"
def programs(name):
    return {program: int(size) for program, size in (line.split() for line in open(name + ".txt"))}
call, irq = programs("len.call"), programs("len.irq")
mine, replaced = set(irq) - set(call), set(call) - set(irq)
print(len(call), "kinds of programs without it, with it", len(irq), "new:", *sorted(mine))
assert {"irq_switch", "irq_snapshot"} <= mine and all(name.startswith("irq_") for name in mine), mine
handlers = ("irq_handler", "softirq", "local_timer", "irq_work", "call_function")
assert replaced and all(name.startswith(handlers) for name in replaced), replaced
assert all(irq[name] == size for name, size in call.items() if name in irq), (call, irq)
E

attempts 3 seen_storm storm
attempts 3 seen_storm tracepoint --wakeup-clock tracepoint
finish
