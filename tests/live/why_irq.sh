#!/bin/bash
# SPDX-License-Identifier: MIT
#
# --why=irq: the time that interrupt handlers take from each run, and from each CPU by kind, equal to what
# the kernel's own tracer has at the same handlers. A storm of timer interrupts on one of two CPUs is the
# overview's finding, by its name; the other CPU has none of it. Single handlers longer than the limit are marks
# of the thread that they interrupted, those of ftrace and no others; probes record at the same time. A network flood
# has the softirqs that /proc/softirqs counts.
# needs: root alone
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"
[ "$(nproc)" -ge 2 ] || skip "needs 2 CPUs"

cat >irqs.py <<'E'
import bisect, struct, subprocess
B = os.environ["B"]
KINDS = ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"]
OTHERS = {2: "local timer", 3: "irq work", 4: "call function", 5: "call function single", 6: "reschedule"}
session = trace.session
t0, t1 = int(session["t0"]), int(session["t1"])
check(session.get("irq") is True, "the session does not say that it has interrupts")
# A hypervisor that takes the CPU inside a handler may do so between the two instruments' clocks: such a handler
# is longer than 1 ms.
# At its entry, the tracer's own work comes before ours and counts as its handler's: 0.1 to 0.2 us, and 0.6 to 0.8 us
# where the caches have forgotten it: on a CPU with few handlers, or one that others keep busy.
def own_work(handlers): return handlers * 1000
data = open(name + ".seen", "rb").read()
(n,) = struct.unpack_from("<Q", data, 8)
by_cpu = {}
for r in struct.iter_unpack("<QBBHiiiII", data[16:16 + 32 * n]):
    by_cpu.setdefault(r[3], []).append(r)
single = {}  # of each thread: (begin, end, kind, CPU)
kinds, runs, times, stolen = {}, {}, {}, {}  # ns by (CPU, kind) in the window; runs of threads: [enters, leaves, ns taken]
for cpu, records in by_cpu.items():
    stack, since, on, begins = [], 0, None, []
    for clock, kind, _, _, current, a, b, _, _ in records:
        if kind == 0:
            if on:
                runs.setdefault(on[0], []).append((on[1], clock, on[2]))
            on, stack, begins = [b, clock, 0], [], []
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
            begins.append(clock)
            times[cpu, what] = times.get((cpu, what), 0) + 1
        elif stack:
            single.setdefault(current, []).append((begins.pop(), clock, stack.pop(), cpu))
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
        # the host may stop the CPU between the two readings of a handler
        check(abs(a - b) <= 0.02 * b + 100e3 + 2 * own_work(times.get((cpu, kind), 0)) + stolen[cpu], "CPU", cpu, kind, a, "ns, ftrace", b)
check(sum(sum(o.values()) for o in ours_of.values()) > 0, "no interrupts at all")

# Single handlers. The tracer's clock and ours are read one after the other, and what the tracer does in between (it wakes
# its reader by an interrupt to itself, a trap of a virtual machine) makes some handlers longer or shorter for one of them.
limit, slack = int(session["interrupts"]["limit_ns"]), 3000
marked = compared = equal = long = missing = 0
def kind_of(label): return label if label.split()[0] != "irq" or label == "irq work" else " ".join(label.split()[:2])
class Handlers:
    """Those of one thread: handlers of one kind follow one another, so that order by begin is order by end."""
    def __init__(self, handlers):
        self.of = {}
        for h in sorted(handlers):
            self.of.setdefault(h[2], []).append(h)
    def overlapping(self, m):
        """Those of the kind of m that overlap it."""
        kind = self.of.get(m[2], [])
        first = bisect.bisect_right(kind, m[0], key=lambda h: h[1])
        return kind[first:bisect.bisect_left(kind, m[1], key=lambda h: h[0])]
def in_window(h): return h[0] > t0 + 10000 and h[1] < t1 - 10000
for stream in trace.streams:
    labels = stream.meta["ovni"].get("mark", {}).get("91", {}).get("labels", {})
    marks, opened = [], []
    for e in stream.events:
        if e.mcv not in ("OM[", "OM]") or struct.unpack("<i", e.data[8:])[0] != 91:
            continue
        value, = struct.unpack("<q", e.data[:8])
        if e.mcv == "OM[":
            opened.append((e.clock, value))
            continue
        check(opened and opened[-1][1] == value, stream.tid, "leaves", value, "in", opened)
        marks.append((opened.pop()[0], e.clock, kind_of(labels[str(value)])))
    check(not opened, stream.tid, "has open marks", opened)
    marked += len(marks)
    softirqd = stream.bpf.get("name", "").startswith("ksoftirqd/")
    theirs = [h for h in single.get(stream.tid, []) if not (softirqd and h[2].startswith("softirq"))]
    ftrace, ours = Handlers(theirs), Handlers(marks)
    for m in filter(in_window, marks):
        like = ftrace.overlapping(m)
        compared += 1
        equal += any(abs(h[1] - h[0] - m[1] + m[0]) < slack for h in like)
        check(like, stream.tid, m, "is none of ftrace's", theirs[:2])
        check(m[1] - m[0] >= limit, stream.tid, m, "is shorter than the limit")
    if any(e.ends_unknown() for e in stream.events):
        continue
    for h in filter(in_window, theirs):
        if h[1] - h[0] >= limit + slack:
            long += 1
            missing += not ours.overlapping(h)
check(marked == int(session["interrupts"]["marks"]), marked, "marks, the session has", session["interrupts"])
left_out = int(session["interrupts"]["left_out"])
print(f"{name}: {marked} marks from {limit} ns on, {equal} of {compared} as long as in ftrace; {missing} of {long} of ftrace without, left out {left_out}")
check(compared > (10000 if limit < 5000 else 10) and equal >= 0.75 * compared, "only", equal, "of", compared, "marks are as long as in ftrace")
check(missing <= left_out + 3 + 0.03 * long, missing, "of", long, "long handlers have no mark, and", left_out, "were left out")

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
    check(abs(f["numbers"]["by_ns"] - truth) <= 0.01 * truth + own_work(f["numbers"]["count"]) + sum(stolen.values()), "the overview says", f["numbers"], "ftrace", truth)
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
# the program of switches is that with parts, in which the instructions of irq are
assert irq.pop("record_switch_parts") > call.pop("record_switch_calls"), (call, irq)
mine, replaced = set(irq) - set(call), set(call) - set(irq)
print(len(call), "kinds of programs without it, with it", len(irq), "new:", *sorted(mine))
assert "irq_snapshot" in mine and all(name.startswith("irq_") for name in mine), mine
handlers = ("irq_handler", "softirq", "local_timer", "irq_work", "call_function")
assert replaced and all(name.startswith(handlers) for name in replaced), replaced
# in the context of a task a program may be interrupted, and sends the record of the handler then
in_task = ("task_newtask", "task_rename", "sched_process")
assert all(irq[name] == size for name, size in call.items() if name in irq and not name.startswith(in_task)), (call, irq)
E

# Packets through the loopback device of a network of its own, while a probe records the thread that sends them: the
# softirqs of each CPU are as many as /proc/softirqs has, between readings inside and outside of the window.
cat >packets.py <<'E'
import fcntl, os, socket, struct, sys, time
def read_counts(when):
    for kind in "softirqs", "interrupts":
        open(f"{sys.argv[1]}.{kind}.{when}", "w").write(open("/proc/" + kind).read())
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
fcntl.ioctl(s, 0x8914, struct.pack("16sH14s", b"lo", 1, b""))  # SIOCSIFFLAGS: up
to = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
to.bind(("127.0.0.1", 0))
open("/proc/self/comm", "w").write("flood")
read_counts(1)
sent, end = 0, time.monotonic() + 1
while time.monotonic() < end:
    for _ in range(100):
        s.sendto(b"x" * 1000, to.getsockname())
        to.recv(2000)
        sent += 1
read_counts(2)
print(f"sent={sent} flood={os.getpid()}", file=open(sys.argv[1] + ".report", "w"))
E
cat >flooded.py <<'E'
import struct, subprocess
B = os.environ["B"]
def table(when):
    """Of each CPU: softirqs by name, and device interrupts by number."""
    out = {}
    for path in "softirqs", "interrupts":
        head, *rest = open(f"{name}.{path}.{when}").read().splitlines()
        cpus = [int(c[3:]) for c in head.split()]
        for line in rest:
            word, values = line.split(":")[0].strip(), line.split(":", 1)[1].split()
            if "," in line or (path == "interrupts" and not word.isdigit()):
                continue  # several devices: a handler for each; and what is no line
            for cpu, value in zip(cpus, values):
                out[cpu, ("softirq " if path == "softirqs" else "irq ") + word] = int(value)
    return out
before, begin, end, after = (table(when) for when in range(4))
compared = 0
for account in trace.session["cpus"]:
    cpu = account["cpu"]
    ours = {" ".join(i["kind"].split()[:2]): int(i["times"]) for i in account["interrupts"]}
    for c, kind in end:
        if c != cpu or (kind not in ours and end[c, kind] == begin.get((c, kind))):
            continue
        least, most = (b[c, kind] - a.get((c, kind), 0) for a, b in ((begin, end), (before, after)))
        compared += 1
        # a handler that runs as the recorder reads the sums has been counted by the kernel
        check(least - 1 <= ours.get(kind, 0) <= most, "CPU", cpu, kind, ours.get(kind, 0), "times, /proc says", least, "to", most)
received = sum(int(i["times"]) for a in trace.session["cpus"] for i in a["interrupts"] if i["kind"] == "softirq NET_RX")
check(received >= 0.9 * said["sent"], "NET_RX ran", received, "times for", said["sent"], "packets")
stream = trace.thread(said["flood"])
labels = stream.meta["ovni"]["mark"]["91"]["labels"]
entered = [struct.unpack("<qi", e.data) for e in stream.events if e.mcv == "OM["]
marks = [labels[str(value)] for value, kind in entered if kind == 91]
calls = sum(kind == 0 for value, kind in entered)
left_out = int(trace.session["interrupts"]["left_out"])
print(f"{name}: {compared} counts of /proc compared; NET_RX {received} times for {said['sent']} packets; {marks.count('softirq NET_RX')} marks of it,",
      left_out, "left out,", calls, "calls probed")
check(marks.count("softirq NET_RX") >= 20, "marks are", {m: marks.count(m) for m in set(marks)})
check(calls >= said["sent"], "only", calls, "calls of", said["sent"])
check(left_out <= 0.02 * len(marks) + 20, left_out, "handlers were left out, of", len(marks))
overview = json.loads(subprocess.run([B + "/bin/ovni-report", "--json", name], stdout=subprocess.PIPE, check=True).stdout)
found = [f for f in overview["findings"] if f["kind"] == "interrupts" and f["who"].get("name") == "flood"]
took = sum(e.interrupts() for e in stream.events)
ran = sum(s.end - s.start for s in stream.stays)
# on a busy machine too little for a finding: 5 % of the run, 1 % of the recording
if took > 0.051 * ran and took > 0.0101 * (int(trace.session["t1"]) - int(trace.session["t0"])):
    check(found and found[0].get("interrupt") == "softirq NET_RX" and "softirq NET_RX took most" in found[0]["text"],
          "the overview says", [f["text"] for f in overview["findings"] if f["kind"] == "interrupts"])
else:
    print(f"interrupts took {took} of {ran} ns: too little for a finding")
for f in found[:1]:
    print(f["text"])
    check(abs(f["numbers"]["time_ns"] - took) <= 0.01 * took, "the overview says", f["numbers"], "the events", took)
E
read_counts() { # NAME WHEN
	local kind
	for kind in softirqs interrupts; do cat "/proc/$kind" >"$1.$kind.$2"; done
}
flood() { # NAME
	rm -rf "$1"
	read_counts "$1" 0
	"$RECORDER" -o "$1" -a --why=irq,2us -u libc.so.6:sendto -- unshare -n python3 packets.py "$1" >"$1.log" 2>&1 || complain "$1: $(cat "$1.log")"
	read_counts "$1" 3
	judge "$1"
	facts "$1" <flooded.py
}
attempts 3 flood flood
attempts 3 seen_storm storm --why=irq,3us # each of the storm, too
attempts 3 seen_storm tracepoint --wakeup-clock tracepoint
finish
