#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-report latency: the part of each thread's waits in which a CPU that it may use was idle, of random
# schedules in which threads get other sets, equal to a count of each ns by a model of its own; not known without the sets of CPUs, of a
# recording of some threads, and never while events are lost.
set -eu
cd "$T"
cat >model.py <<'END'
import csv, io, json, os, random, subprocess, sys
S, B = os.environ["S"], os.environ["B"]


def schedule(seed, known=True, sets=True, loss=None):
    rnd = random.Random(seed)
    ncpus, nthreads, end = rnd.randint(1, 4), rnd.randint(2, 7), 2000
    tids = [10 + i for i in range(nthreads)]
    allowed = {t: sorted(rnd.sample(range(ncpus), rnd.randint(1, ncpus))) for t in tids}
    labels = {t: {"1": allowed[t]} for t in tids}
    events = {t: ["0 OHx i32:-1 i32:-1 u64:0"] + (["0 OM= i64:1 i32:89"] if sets else []) + ["0 OHp u16:1 i32:-1"]
              for t in tids}
    state, where, since = {t: "asleep" for t in tids}, {t: -1 for t in tids}, {}
    on = [None] * ncpus
    busy = [[False] * (end + 1) for _ in range(ncpus)]  # by ns
    entered, waits = [0] * ncpus, []

    def enter(tid, cpu, clock):
        if where[tid] != cpu:
            events[tid].append("%d OAs i32:%d" % (clock, cpu))
        events[tid].append("%d OHr" % clock)
        if sets and rnd.random() < 0.2:  # the recorder sees a new set in the run after a wait, which is not known
            allowed[tid] = sorted({cpu} | set(rnd.sample(range(ncpus), rnd.randint(1, ncpus))))
            labels[tid][str(len(labels[tid]) + 1)] = allowed[tid]
            events[tid].append("%d OM= i64:%d i32:89" % (clock, len(labels[tid])))
        else:
            waits.append((tid, since[tid], clock, allowed[tid]))
        state[tid], where[tid], on[cpu], entered[cpu] = "runs", cpu, tid, clock

    clock = 0
    while clock < end - 60:
        clock += rnd.randint(3, 25)
        cpu = rnd.randrange(ncpus)
        ready = [t for t in tids if state[t] == "waits" and cpu in allowed[t]]
        if rnd.random() < 0.4:
            asleep = [t for t in tids if state[t] == "asleep"]
            if asleep:
                t = rnd.choice(asleep)
                events[t].append("%d OHw i32:-2" % clock)
                state[t], since[t] = "waits", clock
        elif on[cpu] is None:
            if ready:
                enter(rnd.choice(ready), cpu, clock)
        else:
            t, why = on[cpu], rnd.choice([1, 6])
            taker = rnd.choice(ready) if ready and rnd.random() < 0.6 else None
            events[t].append("%d OHp u16:%d i32:%d" % (clock, why, taker or 0))
            state[t], on[cpu] = "asleep", None
            if why == 6:
                events[t].append("%d OHw i32:-1" % clock)
                state[t], since[t] = "waits", clock
            for ns in range(entered[cpu], clock + (taker is not None)):
                busy[cpu][ns] = True
            if taker:
                enter(taker, cpu, clock + 1)
    clock = end
    for cpu in range(ncpus):
        for ns in range(entered[cpu], clock if on[cpu] else 0):
            busy[cpu][ns] = True
    for t in tids:
        if state[t] == "asleep":
            events[t].append("%d OHw i32:0" % clock)
        if state[t] != "runs":
            events[t] += ["%d OAs i32:-1" % clock, "%d OHr" % clock]
        events[t].append("%d OHe" % clock)
    if loss:
        t = tids[0]
        events[t] = sorted(events[t] + ["%d OM[ i64:5 i32:92" % loss[0], "%d OM] i64:5 i32:92" % loss[1]],
                           key=lambda e: int(e.split()[0]))
    lines = []
    for i, t in enumerate(tids):
        meta = ['ovni.require={"ovni":"1.1.0","bpf":"1.0.0"}']
        marks = {"89": {"title": "Allowed_CPUs", "chan_type": "single", "labels": {
            value: ",".join(str(c + 4) for c in cpus) for value, cpus in labels[t].items()}}}
        if loss:
            marks["92"] = {"title": "Events_lost", "chan_type": "stack"}
        if sets or loss:
            meta.append("ovni.mark=" + json.dumps(marks, separators=(",", ":")))
        if i == 0:
            cpus = [{"index": c, "cpu": c + 4, "ns": {"unknown": "0", "idle": "1", "other": "0"}} for c in range(ncpus)]
            dump = lambda v: json.dumps(v, separators=(",", ":"))
            meta += ['bpf.session.t0="0"', 'bpf.session.t1="%d"' % end, 'bpf.session.lost="%d"' % (5 if loss else 0),
                     "bpf.session.idle_known=" + dump(known), "bpf.session.cpus=" + dump(cpus),
                     "ovni.loom_cpus=" + dump([{"index": c, "phyid": c + 4} for c in range(ncpus)])]
        lines += ["thread n %d %d %s" % (t, t, " ".join(meta))] + events[t]
    want = {}
    for t, begin, stop, cpus in waits:
        want[t] = want.get(t, 0) + sum(any(not busy[c][ns] for c in cpus) for ns in range(begin, stop))
    return lines, want, {t: sum(b - a for u, a, b, _ in waits if u == t) for t in want}


def report(name, lines):
    subprocess.run([sys.executable, S + "/tests/golden/tools_make.py", name], input="\n".join(lines) + "\n", text=True, check=True)
    got = subprocess.run([B + "/bin/ovni-report", "latency", "--csv", name], stdout=subprocess.PIPE, text=True, check=False)
    assert got.returncode in (0, 3), got
    return {int(r["tid"]): r["cpu_idle"] for r in csv.DictReader(io.StringIO(got.stdout))}


some = 0
for seed in range(60):
    lines, want, waited = schedule(seed)
    got = report("random%d" % seed, lines)
    for tid, ns in want.items():
        assert got[tid] == str(ns) and ns <= waited[tid], (seed, tid, "is", got[tid], "not", ns, "of", waited[tid])
        some += 0 < ns < waited[tid]
assert some > 60, some
for seed in range(5):
    lines, want, waited = schedule(seed, known=False)
    assert set(report("part%d" % seed, lines).values()) == {""}, "a recording of some threads"
    lines, want, waited = schedule(seed, sets=False)
    assert set(report("none%d" % seed, lines).values()) == {""}, "no sets of CPUs"
    lines, want, waited = schedule(seed, loss=(1, 1999))
    got = report("lost%d" % seed, lines)
    assert all(got[t] in ("", "0") or int(got[t]) <= 1 for t in want), (seed, got)
print("60 schedules equal,", some, "threads with a part of their waits")
END
PYTHONDONTWRITEBYTECODE=1 python3 model.py
