#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
views: do the Paraver files of a trace say what its events say, and what ovni-report says?

    views.py BUILD TRACE [PV-TEXT]      (PV-TEXT: a program that prints the numbers of a view in Paraver)

In: a trace that ovni-emu takes; out: a line per comparison, status 1 if one differs. The truth is
computed from the events by a walk of its own. It is compared, to the nanosecond, with the time that each
value of a type fills in the lines of ovni-emu, with ovni-report, and with the tables of Paraver.
"""
import collections
import json
import os
import re
import subprocess
import sys

from facts import WHY, Trace, check, verdict

HERE = os.path.dirname(os.path.abspath(__file__))
SPEC = os.path.join(HERE, "..", "..", "docs", "spec", "models.md")
RUNNING, PAUSED, DEAD, COOLING, WARMING = 1, 2, 3, 4, 5
STATES = {"OHx": RUNNING, "OHr": RUNNING, "OHp": PAUSED, "OHw": WARMING, "OHc": COOLING, "OHe": DEAD}
STAYED_RUNNABLE = (6, 7, 12)    # reasons: preempted, yielded, throttled
UNKNOWN = 20
LASTING = 320
LOST = 92
# folder of the configurations, file, type of the reference, events that enter and leave its regions
MODELS = {"M": ("mpi/function", 25), "P": ("openmp/subsystem", 50), "D": ("nodes/subsystem", 30),
          "T": ("tampi/subsystem", 20), "V": ("nosv/subsystem", 13), "6": ("nanos6/subsystem", 37)}
MARKS = {0: "ovni/function", 80: "pthread/call", 81: "pthread/held"}


def regions():
    """{MCV: (type, value, enters)} of all models, from the tables of the specification."""
    found = {}
    with open(SPEC, encoding="utf-8") as file:
        for line in file:
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if len(cells) != 4 or not cells[2].isdigit():
                continue
            for column, enters in ((0, True), (1, False)):
                for mcv in re.findall(r"`(\S{3})`", cells[column]):
                    found[mcv] = (MODELS[mcv[0]][1], int(cells[2]), enters)
    return found


class Times(collections.defaultdict):
    """{(row, type, value): ns}, and the number of intervals that take time."""

    def __init__(self):
        super().__init__(int)
        self.bursts = collections.Counter()
        self.now = {}           # (row, type): (since, value)

    def set(self, clock, row, kind, value):
        since, old = self.now.get((row, kind), (clock, 0))
        if value == old:
            return
        if old:
            self[row, kind, old] += clock - since
            self.bursts[row, kind, old] += clock > since
        self.now[row, kind] = (clock, value)

    def end(self, clock):
        for (row, kind), (_, value) in list(self.now.items()):
            if value:
                self.set(clock, row, kind, 0)

    def of(self, kind):
        """{(row, value): ns} of one type, without what takes no time."""
        return {(row, value): ns for (row, t, value), ns in self.items() if t == kind and ns}


def in_prv(path):
    """The times that the lines of a .prv say, and its duration."""
    times = Times()
    with open(path, encoding="utf-8") as file:
        duration = int(re.search(r":(\d{20})_ns:", next(file)).group(1))
        for line in file:
            fields = line.rstrip("\n").split(":")
            if fields[0] == "2":
                for i in range(6, len(fields), 2):
                    times.set(int(fields[5]), int(fields[4]), int(fields[i]), int(fields[i + 1]))
    times.end(duration)
    return times, duration


def walk(stream, row, first, times, spans):
    """
    Adds the times of a thread; spans: {(type, value): [calls, ns of the outermost, is inside another,
    has another inside]}. Returns how long it waited for a CPU at the end of the trace, in vain.
    """
    reason, alive, cpu, woken, cut = 0, False, -1, 0, 0
    stacks = collections.defaultdict(list)      # type -> [(value, clock)]
    kinds = regions()
    for e in stream.events:
        now = e.clock - first
        if e.mcv in STATES:
            times.set(now, row, 4, STATES[e.mcv])
            alive = e.mcv != "OHe"
        if e.mcv in ("OHx", "OAs"):
            cpu = e.ints("iiQ" if e.mcv == "OHx" else "i")[0]
        elif e.mcv == "OHw":
            woken = now
        elif e.mcv == "OHr" and cpu == -1:
            cut += now - woken
        if e.mcv == "OHp":
            # another program's trace has no reason
            reason = e.data[0] | e.data[1] << 8 if len(e.data) >= 6 else 0
            if len(e.data) >= 6 and not 1 <= reason <= STAYED_RUNNABLE[-1]:
                reason = UNKNOWN
            times.set(now, row, 300, reason)
            times.set(now, row, 324, (40 if reason in STAYED_RUNNABLE else 10) + (reason or UNKNOWN))
        elif e.mcv == "OHw" and reason not in STAYED_RUNNABLE:
            times.set(now, row, 324, 2)
        elif e.mcv in ("OHx", "OHr", "OHe"):
            reason = 0
            times.set(now, row, 300, 0)
            times.set(now, row, 324, int(alive))
        kind, value, enters = kinds.get(e.mcv, (None, None, None))
        if e.mcv in ("OM[", "OM]"):
            value, number = e.ints("qi")
            kind, enters = (None if number == LOST else 100 + number), e.mcv == "OM["
        if kind:
            stack = stacks[kind]
            if enters:
                spans[kind, value][2] |= bool(stack)
                if stack:
                    spans[kind, stack[-1][0]][3] = True
                stack.append((value, now))
            elif stack:
                value, since = stack.pop()
                span = spans[kind, value]
                span[0] += 1
                span[1] += 0 if any(v == value for v, _ in stack) else now - since
        for kind, stack in stacks.items():
            times.set(now, row, LASTING + kind, stack[-1][0] if stack and alive else 0)
    return cut


def labels(path):
    """{type: {label: value}} of a .pcf; the last type of some that share values has them all."""
    found, types = {}, []
    with open(path, encoding="utf-8") as file:
        for line in file:
            line = line.rstrip("\n")
            if line == "EVENT_TYPE":
                types, values = [], {}
            elif re.match(r"0 \d+ ", line) and types is not None:
                types.append(int(line.split()[1]))
                found[types[-1]] = values
            elif line == "VALUES":
                continue
            elif types and re.match(r"-?\d+ +\S", line):
                value, label = line.split(None, 1)
                values[label.strip()] = int(value)
    return found


def rows(path):
    with open(path, encoding="utf-8") as file:
        return [line.rstrip("\n") for line in file][4:]


class Paraver:
    """The tables of one trace, as Paraver computes them."""

    def __init__(self, program, folder, view):
        self.program, self.folder, self.view = program, folder, view
        self.rows = {name.strip(): i for i, name in enumerate(rows(f"{folder}/{view}.row"), 1)}
        self.labels = labels(f"{folder}/{view}.pcf")

    def table(self, cfg, kind):
        """{(row, value): number}, without zeros; columns are labels or values of the type."""
        said = subprocess.run([self.program, f"{self.folder}/{self.view}.prv",
                               f"{self.folder}/cfg/{self.view}/{cfg}.cfg", "-npr"],
                              stdout=subprocess.PIPE, check=False)
        check(said.returncode == 0, "Paraver fails on", cfg)
        lines = [line.split("\t") for line in said.stdout.decode().split("\n\n")[0].split("\n")]
        found = {}
        for name, *cells in lines[1:]:
            for column, cell in zip(lines[0][1:], cells):
                if column and float(cell):
                    value = self.labels.get(kind, {}).get(column.strip())
                    value = int(column.split()[-1]) if value is None else value
                    found[self.rows[name.strip()], value] = float(cell)
        return found


def same(what, ours, theirs, unit=1, slack=0.51):
    """Two tables are the same; theirs is in `unit` ns."""
    for key in sorted(set(ours) | set(theirs)):
        check(abs(ours.get(key, 0) - theirs.get(key, 0) * unit) <= slack,
              what, key, ours.get(key, 0), "is not", theirs.get(key, 0) * unit)
    print(f"{what}: {len(ours)} times, {sum(ours.values()) / 1e9:.6f} s in all" if unit != 1000 else
          f"{what}: {[round(value / 1000, 3) for value in ours.values()]}")


def tid_of(name):
    """Of "solver rank 3 (1234)" or "TH 1.1234"."""
    return int(re.search(r"[.(](\d+)\)?$", name).group(1))


def report(build, name, trace):
    return json.loads(subprocess.run([build + "/bin/ovni-report", "--json", name, trace],
                                     stdout=subprocess.PIPE, check=True).stdout)


def main(build, trace_path, paraver=None):
    views = trace_path.rstrip("/") + ".views"
    subprocess.run([build + "/bin/ovni-emu", "-q", "-l", "-o", views, trace_path], check=True)
    trace = Trace(trace_path)
    streams = sorted(trace.streams, key=lambda s: (s.pid, s.tid))    # rows of one loom without ranks
    names = rows(views + "/thread.row")
    check([tid_of(name) for name in names] == [s.tid for s in streams], "the rows are", names)
    first = min(s.events[0].clock for s in streams)
    truth, spans = Times(), collections.defaultdict(lambda: [0, 0, False, False])
    cut = {row: walk(stream, row, first, truth, spans) for row, stream in enumerate(streams, 1)}
    lines, duration = in_prv(views + "/thread.prv")
    truth.end(duration)
    check(duration == max(s.events[-1].clock for s in streams) - first, "duration", duration)
    shown = {4, 300, 324} | {LASTING + kind for kind, _ in spans if not 192 < kind < 200}
    for kind in sorted(shown):
        same(f"type {kind} in thread.prv", truth.of(kind), lines.of(kind))
        check(kind < LASTING or truth.of(kind), "nothing is in type", kind)

    # ovni-report: waits and running of threads; wall and on-CPU time of functions. Emulators draw the last
    # known state where the kernel did not report a switch; ovni-report calls that time unknown.
    unknown = {row for row, stream in enumerate(streams, 1)
               if any(e.ends_unknown() for e in stream.events) or stream.leaves("lost")}
    print(f"{len(unknown)} of {len(streams)} threads have times that are not known")
    latency = {tid_of(entry["thread"]): entry for entry in report(build, "latency", trace_path)}
    for row, (name, stream) in enumerate(zip(names, streams), 1):
        entry = latency.get(stream.tid, {"run_time": 0, "wait_time": 0})
        if row in unknown:
            check(lines[row, 4, RUNNING] >= entry["run_time"], name, "ran", lines[row, 4, RUNNING], entry)
            continue
        check(lines[row, 4, RUNNING] == entry["run_time"], name, "ran", lines[row, 4, RUNNING], entry)
        check(lines[row, 4, WARMING] - cut[row] == entry["wait_time"],
              name, "waited", lines[row, 4, WARMING], "in vain", cut[row], entry)
    print(f"ovni-report latency: {len(latency)} threads")
    compare_why(report(build, "why", trace_path), streams, lines, cut, unknown)
    known = labels(views + "/thread.pcf")
    functions = {(entry["function"], entry["type"]): entry for entry in report(build, "func", trace_path)}
    hidden = 0
    for (label, kind_name), entry in functions.items():
        found = [(kind, value) for kind, value in spans
                 if known.get(kind, {}).get(label) == value and
                 (not kind_name.islower() or kind < 100) and (kind < 192 or kind > 199)]
        check(found, "ovni-report func knows", label, "alone")
        for kind, value in found[:1]:
            calls, wall, _, encloses = spans[kind, value]
            check((calls, wall) == (entry["calls"], entry["wall"]), label, (calls, wall), entry)
            # inner states hide it
            drawn = sum(lines[row, LASTING + kind, value] for row in range(1, len(names) + 1))
            check(drawn == entry["self"], label, "is drawn for", drawn, "ns", entry)
            check(encloses or drawn == entry["wall"], label, "encloses nothing", entry)
            if kind == 25 and not encloses:     # the reference shows it only while the thread runs
                drawn = sum(lines[row, kind, value] for row in range(1, len(names) + 1))
                check(drawn >= entry["on_cpu"] if unknown else drawn == entry["on_cpu"],
                      label, "is drawn on the CPU for", drawn, entry)
            hidden += entry["wall"] - entry["on_cpu"]
    print(f"ovni-report func: {len(functions)} functions, {hidden / 1e9:.6f} s of them off the CPU")

    # CPUs: the truth is the stays of the threads
    cpus = [i for i, name in enumerate(rows(views + "/cpu.row"), 1) if not name.startswith("vCPU")]
    phyids = {c["index"]: c["phyid"] for s in streams for c in s.meta["ovni"].get("loom_cpus", [])}
    row_of = {index: sorted(phyids.values()).index(phyid) + 1 for index, phyid in phyids.items()}
    pids = sorted({s.pid for s in streams})
    on_cpu = collections.Counter()
    for row, stream in enumerate(streams, 1):
        for stay in stream.stays:
            if stay.cpu >= 0 and stay.end > stay.start:
                ns = stay.end - stay.start
                on_cpu[row_of[stay.cpu], 321, pids.index(stream.pid) + 1] += ns
                on_cpu[row_of[stay.cpu], 322, row] += ns
                on_cpu[row_of[stay.cpu], 3, 1] += ns
    cpu_lines, _ = in_prv(views + "/cpu.prv")
    for kind in (3, 321, 322):
        same(f"type {kind} in cpu.prv",
             {(row, value): ns for (row, k, value), ns in on_cpu.items() if k == kind},
             {key: ns for key, ns in cpu_lines.of(kind).items() if key[0] in cpus})
    busy = collections.Counter()
    for entry in report(build, "cpu", trace_path):
        if entry["pieces"] is not None:         # else idle, or threads without a stream
            busy[row_of[{v: k for k, v in phyids.items()}[entry["cpu"]]], 1] += entry["time"]
    drawn = {key: ns for key, ns in cpu_lines.of(3).items() if key[0] in cpus}
    if unknown:
        check(all(ns <= drawn.get(key, 0) for key, ns in busy.items()), "ovni-report cpu", busy, drawn)
    else:
        same("ovni-report cpu", busy, drawn)

    tables = {kind: {} for _, kind in SLEEPS}
    for (row, kind, value), ns in asleep_in_prv(views + "/thread.prv", tables).items():
        tables[kind][row, value] = ns
    said = reported_sleeps(build, trace_path, streams, known)
    for _, kind in SLEEPS:
        same(f"asleep by type {kind}, and by ovni-report", judged(tables[kind], unknown), judged(said[kind], unknown))
    compare_critical(build, trace_path, streams, views, unknown, paraver)
    if paraver:
        threads = Paraver(paraver, views, "thread")
        for cfg, kind in SLEEPS if trace.session.get("calls") or any(said.values()) else ():
            if os.path.exists(f"{views}/cfg/thread/{cfg}-time.cfg"):
                same(f"Paraver: {cfg}-time", judged(said[kind], unknown),
                     judged(threads.table(cfg + "-time", kind), unknown), 1e6)
            else:
                check(not said[kind], "there is no view", cfg)
        compare_with_paraver(paraver, views, lines, cpu_lines, duration, spans, cpus)
        compare_wakers(paraver, views, report(build, "wake", trace_path), {streams[row - 1].tid for row in unknown})
    verdict()


# configurations of sleeps, and their types: the call, its object, the owner of the lock
SLEEPS = (("call", 304), ("object", 305), ("lock-owner", 306))


def judged(table, unknown):
    return {key: ns for key, ns in table.items() if ns and key[0] not in unknown}


def asleep_in_prv(path, kinds):
    """{(row, type, value): ns while the row is Paused}, of the types `kinds`."""
    found, now, since = collections.Counter(), {}, {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            fields = line.rstrip("\n").split(":")
            if fields[0] != "2":
                continue
            row, clock = int(fields[4]), int(fields[5])
            for kind in kinds if now.get((row, 4)) == PAUSED else ():
                if now.get((row, kind)):
                    found[row, kind, now[row, kind]] += clock - since[row]
            since[row] = clock
            now.update({(row, int(fields[i])): int(fields[i + 1]) for i in range(6, len(fields), 2)})
    return found


def reported_sleeps(build, trace, streams, known):
    """{type: {(row, value): ns}} of ovni-report blocked; of owners from the events."""
    found = {kind: collections.Counter() for _, kind in SLEEPS}
    rows_of = {stream.tid: row for row, stream in enumerate(streams, 1)}
    by_object = collections.Counter()
    for entry in report(build, "blocked", trace):
        if not entry["call"]:
            continue
        row, (name, objects) = rows_of[entry["tid"]], re.match(r"([^(,]*)[(,]? ?(.*?)\)?$", entry["call"]).groups()
        found[304][row, known[304][name]] += entry["time"]
        if not objects:
            continue
        shown = objects.replace("[", "(").replace("]", ")")  # Paraver leaves out what is in square brackets
        label = shown if objects.startswith("kernel lock") else "process " + shown if name.startswith("wait") else \
            next(text for text in known[305] if re.fullmatch("(descriptor )?" + re.escape(shown) + r", .* \(%d\)" % entry["pid"], text))
        found[305][row, known[305][label]] += entry["time"]
        by_object[objects, None if "lock" in objects else entry["pid"]] += entry["time"]
    for entry in report(build, "locks", trace):
        check(by_object[entry["object"], entry["pid"]] == entry["total"], "ovni-report locks:", entry,
              "blocked:", by_object[entry["object"], entry["pid"]])
    owner_of = {int(text.split("(")[-1].rstrip(")")): value for text, value in known.get(306, {}).items()
                if text.split("(")[-1].rstrip(")").isdigit()}
    for row, stream in enumerate(streams, 1):
        for e, end in zip(stream.events, stream.events[1:]):
            if e.mcv == "OHp" and e.call() and end.mcv == "OHw" and end.owner():
                found[306][row, owner_of[end.owner()] if end.owner() > 0 else 4] += end.clock - e.clock
    return found


def compare_critical(build, trace, streams, views, unknown, program):
    """Type 311 of the thread that ends last against ovni-report critical; all other lines stay."""
    tid, out = max(streams, key=lambda s: s.events[-1].clock).tid, views + ".critical"
    subprocess.run([build + "/bin/ovni-emu", "-q", "-l", "--critical", str(tid), "-o", out, trace], check=True)
    with open(views + "/thread.prv", encoding="utf-8") as plain, open(out + "/thread.prv", encoding="utf-8") as more:
        check(plain.readlines()[1:] == [line for line in more if ":311:" not in line][1:], "--critical changes other lines")
    said = subprocess.run([build + "/bin/ovni-report", "critical", "--json", "--tid", str(tid), trace],
                          stdout=subprocess.PIPE, check=False)
    rows_of = {stream.tid: row for row, stream in enumerate(streams, 1)}
    on_path, runs = collections.Counter(), collections.Counter()
    for entry in json.loads(said.stdout):
        on_path[rows_of[entry["tid"]], 1] += entry["time"]
        if entry["state"] == "running":
            runs[rows_of[entry["tid"]], 1] += entry["time"]
    same("type 311 and ovni-report critical", judged(on_path, ()), in_prv(out + "/thread.prv")[0].of(311))
    if program:
        table = Paraver(program, out, "thread").table("critical-path-time", 324)
        same("Paraver: running on the critical path", judged(runs, unknown),
             judged({key: ms for key, ms in table.items() if key[1] == 1}, unknown), 1e6)


def compare_why(entries, streams, lines, cut, unknown):
    """Type 324 against ovni-report why, which also has the wait of a newborn thread."""
    rows_of = {stream.tid: row for row, stream in enumerate(streams, 1)}
    said = collections.Counter()
    for entry in entries:
        state, reason = entry["state"], entry["reason"]
        if reason == "newborn":
            continue
        number = WHY.index(reason) if reason in WHY else 0
        value = {"running": 1, "asleep": 10 + (number or UNKNOWN), "unknown": 10 + UNKNOWN,
                 "runnable": 2 if reason == "woken" else 40 + number}[state]
        said[rows_of[entry["tid"]], value] += entry["time"]
    drawn = collections.Counter()
    for (row, value), ns in lines.of(324).items():  # what was lost is not known, either
        drawn[row, 10 + UNKNOWN if value == 10 + WHY.index("lost") else value] += ns
    for row in range(1, len(streams) + 1):
        check(abs(sum(ns for (r, _), ns in said.items() if r == row) + cut[row] -
                  sum(ns for (r, _), ns in drawn.items() if r == row)) == 0, "row", row, "lasts longer")
    judged = {row for row in range(1, len(streams) + 1) if not cut[row] and row not in unknown}
    same("ovni-report why", {key: ns for key, ns in drawn.items() if key[0] in judged},
         {key: ns for key, ns in said.items() if ns and key[0] in judged})


def compare_wakers(program, views, entries, unknown):
    """Wake-ups and their latencies, by woken thread and waker, against ovni-report wake."""
    paraver = Paraver(program, views, "thread")
    row_of = {tid_of(name): row for name, row in paraver.rows.items()}
    value_of = {tid_of(label): value for label, value in paraver.labels[302].items() if "(" in label
                and label[-2].isdigit()}
    entries = [entry for entry in entries if tid_of(entry["woken"]) not in unknown]
    keys = [(row_of[tid_of(entry["woken"])], 3 if entry["waker"] == "interrupt" else
             value_of.get(tid_of(entry["waker"]))) for entry in entries
            if entry["waker"] == "interrupt" or "(" in entry["waker"]]
    known = [entry for entry in entries if entry["waker"] == "interrupt" or "(" in entry["waker"]]
    for cfg, name in (("wake-up-latency", "wait_avg"), ("wake-up-latency-maximum", "wait_max")):
        ours = {key: entry[name] for key, entry in zip(keys, known) if entry[name]}
        theirs = paraver.table(cfg, 302)
        same("Paraver: " + cfg, ours, {key: ms for key, ms in theirs.items() if key in ours}, 1e6, 1)


def compare_with_paraver(program, views, lines, cpu_lines, duration, spans, cpus):
    threads, by_cpu = Paraver(program, views, "thread"), Paraver(program, views, "cpu")
    for cfg, kind in (("state-time", 4), ("activity-time", 324), ("why-time", 300)):
        same("Paraver: " + cfg, lines.of(kind), threads.table(cfg, kind), 1e6)
    for kind in {kind for kind, _ in spans}:
        cfg = {**dict(MODELS.values()), **{v: 100 + k for k, v in MARKS.items()}}
        for name in [name for name, number in cfg.items() if number == kind]:
            same(f"Paraver: {name}-time", lines.of(LASTING + kind),
                 threads.table(name + "-time", LASTING + kind), 1e6)
    for cfg, kind in (("process-time", 321), ("thread-time", 322)):
        same("Paraver: cpu/" + cfg, {k: v for k, v in cpu_lines.of(kind).items() if k[0] in cpus},
             {k: v for k, v in by_cpu.table(cfg, kind).items() if k[0] in cpus}, 1e6)
    busy = {k: v for k, v in by_cpu.table("busy", 3).items() if k[0] in cpus}
    same("Paraver: cpu/busy in %",
         {(row, 1): 1e5 * cpu_lines[row, 3, 1] / duration for row in cpus if cpu_lines[row, 3, 1]},
         {key: percent for key, percent in busy.items() if key[1] == 1}, 1000, 0.01)
    same("Paraver: cpu/busy, idle in %",
         {(row, 0): 1e5 * (duration - cpu_lines[row, 3, 1]) / duration for row in cpus},
         {key: percent for key, percent in busy.items() if key[1] == 0}, 1000, 0.01)
    waits = {(row, v): n for (row, k, v), n in lines.bursts.items() if k == 4 and v == WARMING and n}
    average = {key: ns for key, ns in threads.table("runnable-average", 4).items() if key[1] == WARMING}
    same("Paraver: runnable-average", {(row, v): lines[row, 4, v] / n
                                       for (row, v), n in waits.items()}, average, 1e6)


if __name__ == "__main__":
    main(*sys.argv[1:])
