#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
perfetto_file: a second reader of the files of `ovni-export --perfetto`, and their comparison with ovni-report.

    perfetto_file.py FILE TRACE BIN      compares runs, waits and slices with ovni-report
    perfetto_file.py --check FILE...     only checks the structure

Checked on the way: every length and every tag, UTF-8, equal lengths of the arrays of a bundle, rising clocks, a name for
each number before its first use, balanced slices, no switch between a thread and itself without time, a state for all.
"""
import collections
import csv
import glob
import io
import json
import re
import subprocess
import sys

FILLERS = 4194304  # thread ids from here on are no threads of the trace


ZERO = "-2147483648"  # the value 0 of an argument


class Bad(Exception):
    pass


def need(condition, *what):
    if not condition:
        raise Bad(" ".join(map(str, what)))


def varint(data, at):
    value = shift = 0
    while True:
        need(at < len(data) and shift < 70, "a varint ends early, or is too long")
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def fields(data):
    """The fields of a message: {number: [values]}; numbers, or bytes."""
    found, at = collections.defaultdict(list), 0
    while at < len(data):
        tag, at = varint(data, at)
        number, wire = tag >> 3, tag & 7
        need(number > 0, "field 0")
        if wire == 0:
            value, at = varint(data, at)
        elif wire == 2:
            size, at = varint(data, at)
            need(at + size <= len(data), "field", number, "ends after its message")
            value, at = data[at:at + size], at + size
        else:
            raise Bad("wire type %d" % wire)
        found[number].append(value)
    return found


def one(message, number, default=None):
    need(len(message[number]) <= 1, "field", number, "stands twice")
    return message[number][0] if message[number] else default


def text(data):
    return bytes(data).decode("utf-8")


def packed(message, number):
    data, at, values = one(message, number, b""), 0, []
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values


class File:
    """Switches, wake-ups, slices, threads of a file, by machine."""

    def __init__(self, path):
        self.switches = collections.defaultdict(list)  # (machine, cpu): (clock, state, next)
        self.wakings = collections.defaultdict(list)   # (machine, tid): (clock, kind, waker or cpu)
        self.blocked = collections.Counter()           # io_wait
        self.calls = collections.defaultdict(collections.Counter)  # (machine, tid): {text of a system call: sleeps}
        self.born, self.freed = {}, {}                 # (machine, tid): the last clock
        self.births, self.frees = collections.defaultdict(list), collections.defaultdict(list)
        self.threads, self.processes, self.machines = {}, {}, {}
        self.parents = {}                              # pid: that of its parent
        self.tracks = {}                               # uuid: (machine, parent, name, thread)
        self.slices = []                               # (uuid, name, begin, end, annotations)
        self.counters = collections.defaultdict(list)  # (machine, tid, name): (clock, value)
        self.instants = []                          # (machine, tid, name, clock)
        self.lost, self.packets = set(), 0
        self.stacks = {}                            # (machine, tid, begin of a slice): [(function, file, address)], the outermost first
        self.sequences = {}
        self.open = collections.defaultdict(list)
        data, at = open(path, "rb").read(), 0
        while at < len(data):
            need(data[at] == 0x0A, "no packet at byte", at)
            size, at = varint(data, at + 1)
            need(at + size <= len(data), "the last packet is cut")
            self.packet(fields(data[at:at + size]))
            self.packets += 1
            at += size
        need(not any(self.open.values()), "slices without an end")
        self.dead_wakers()
        need(self.packets, "no packet")

    def dead_wakers(self):
        """A number that is free wakes nobody, or the reader makes another thread for it."""
        lives = collections.defaultdict(list)
        for (machine, _), switches in self.switches.items():
            for clock, _, task in switches:
                lives[machine, task].append(clock)
        for (machine, tid), wakings in self.wakings.items():
            for clock, kind, waker in wakings:
                free = self.freed.get((machine, waker)) if kind == "tid" else None
                need(not free or clock <= free or any(free < life <= clock for life in lives[machine, waker]),
                     waker, "wakes", tid, "at", clock, "after its end at", free)

    def packet(self, p):
        sequence, machine = one(p, 10), one(p, 98, 0)
        need(sequence, "a packet without a sequence")
        flags = one(p, 13, 0)
        if flags & 1:
            need(sequence not in self.sequences, "sequence", sequence, "begins twice")
            self.sequences[sequence] = {"machine": machine, "names": {}, "symbols": {}, "stacks": {}, "clock": None, "track": None}
        state = self.sequences.get(sequence)
        need(state, "sequence", sequence, "has not begun")
        need(state["machine"] == machine, "sequence", sequence, "is of two machines")
        self.snapshot(p, state)
        if one(p, 59):
            defaults = fields(one(p, 59))
            need(one(defaults, 58) == 64, "another clock")
            state["track"] = one(fields(one(defaults, 11)), 11)
            need(state["track"] in self.tracks, "a track is not described")
        if one(p, 45):
            system = fields(one(p, 45))
            names = fields(one(system, 1))
            need(text(one(names, 1)) == "Linux" and text(one(names, 3))[:1].isdigit(), "the kernel")
            self.machines[machine] = (text(one(names, 2)), one(system, 8))
        if one(p, 2):
            self.tree(fields(one(p, 2)), machine)
        if one(p, 60):
            self.descriptor(fields(one(p, 60)), machine)
        for symbol in map(fields, fields(one(p, 12))[26] if one(p, 12) else []):
            need(flags & 2 and one(symbol, 1) not in state["symbols"], "a symbol twice, or without its sequence")
            state["symbols"][one(symbol, 1)] = text(one(symbol, 2))
        self.interned_stacks(p, flags, state["stacks"])
        if one(p, 1):
            self.bundle(fields(one(p, 1)), machine, state["symbols"])
        if one(p, 11) is not None:
            self.event(p, fields(one(p, 11)), state)

    def interned_stacks(self, p, flags, known):
        """Names of functions, frames, stacks, paths and files, by kind and number."""
        data = fields(one(p, 12)) if one(p, 12) else {}
        for kind in (5, 6, 7, 17, 19):
            for entry in map(fields, data[kind] if kind in data else []):
                need(flags & 2 and (kind, one(entry, 1)) not in known, "a part of a stack twice, or without its sequence")
                known[kind, one(entry, 1)] = entry

    def stack(self, number, known):
        frames = [known[6, frame] for frame in known[7, number][2]]
        return [(text(one(known[5, one(f, 2)], 2)), text(one(known[17, one(known[19, one(f, 3)], 7)], 2)), one(f, 4, 0)) for f in frames]

    def snapshot(self, p, state):
        if not one(p, 6):
            return
        clocks = {one(c, 1): c for c in map(fields, fields(one(p, 6))[1])}
        if 64 in clocks:
            need(one(clocks[64], 3) == 1 and one(clocks[64], 2) == 0, "the clock of a sequence")
            state["clock"] = one(clocks[3], 2)
        else:
            need(one(clocks[6], 2) == one(clocks[3], 2), "two clocks")

    def tree(self, tree, machine):
        for process in map(fields, tree[1]):
            need(process[3], "a process without a name")
            self.processes[machine, one(process, 1)] = [text(word) for word in process[3]]
            self.parents[one(process, 1)] = one(process, 2, 0)
        for thread in map(fields, tree[2]):
            need((machine, one(thread, 3)) in self.processes, "a thread without a process")
            self.threads[machine, one(thread, 1)] = (one(thread, 3), text(one(thread, 2)))

    def descriptor(self, track, machine):
        thread = fields(one(track, 4)) if one(track, 4) else None
        parent = one(track, 5)
        need(parent is None or parent in self.tracks, "a track before its parent")
        need(one(track, 1) and one(track, 1) not in self.tracks, "a track twice")
        self.tracks[one(track, 1)] = (machine, parent, text(one(track, 2, b"")),
                                      thread and (one(thread, 1), one(thread, 2)), one(track, 8) is not None)

    def place(self, uuid):
        """(machine, tid, name) of a track below that of a thread."""
        machine, parent, name, _, _ = self.tracks[uuid]
        return machine, self.tracks[parent][3][1], name

    def bundle(self, bundle, machine, symbols):
        cpu = one(bundle, 1, 0)
        if one(bundle, 3):
            self.lost.add((machine, cpu))
        for event in map(fields, bundle[2]):
            self.ftrace(event, machine, symbols)
        if not one(bundle, 4):
            return
        compact = fields(one(bundle, 4))
        names = [text(name) for name in compact[5]]
        arrays = [packed(compact, number) for number in (1, 2, 3, 4, 6)]
        need(len({len(a) for a in arrays}) == 1, "arrays of switches of different lengths")
        clock = 0
        for step, state, task, prio, name in zip(*arrays):
            clock += step
            need(clock < 1 << 63, "a clock goes back")
            need(prio == 120 and name < len(names), "a name of a switch")
            before = self.switches[machine, cpu]
            need(not before or before[-1][0] <= clock, "switches of two bundles")
            before.append((clock, state, task))
        arrays = [packed(compact, number) for number in (7, 8, 9, 10, 11, 12)]
        need(len({len(a) for a in arrays}) == 1, "arrays of wake-ups of different lengths")
        clock = 0
        for step, task, _, prio, name, flags in zip(*arrays):
            clock += step
            need(clock < 1 << 63 and prio == 120 and name < len(names), "a wake-up")
            self.wakings[machine, task].append((clock, "interrupt" if flags else "cpu", cpu))

    def ftrace(self, event, machine, symbols):
        clock, task = one(event, 1), one(event, 2)
        if one(event, 20):
            self.wakings[machine, one(fields(one(event, 20)), 2)].append((clock, "tid", task))
        elif one(event, 18):
            reason = fields(one(event, 18))
            self.blocked[one(reason, 3)] += 1
            if one(reason, 2):
                need(one(reason, 2) in symbols, "a symbol without a name")
                self.calls[machine, one(reason, 1)][symbols[one(reason, 2)]] += 1
        elif one(event, 235):
            self.born[machine, one(fields(one(event, 235)), 1)] = clock
            self.births[machine, one(fields(one(event, 235)), 1)].append(clock)
        elif one(event, 240):
            self.freed[machine, one(fields(one(event, 240)), 2)] = clock
            self.frees[machine, one(fields(one(event, 240)), 2)].append(clock)
        else:
            raise Bad("an unknown event of ftrace")

    def event(self, p, event, state):
        need(state["clock"] is None or one(p, 13, 0) & 2, "an event does not need its sequence")
        clock = one(p, 8, 0)
        if state["clock"] is not None:
            clock = state["clock"] = state["clock"] + clock
        uuid = one(event, 11, state["track"])
        need(uuid in self.tracks, "an event on no track")
        for entry in map(fields, fields(one(p, 12))[2] if one(p, 12) else []):
            need(one(entry, 1) not in state["names"], "a name twice")
            state["names"][one(entry, 1)] = text(one(entry, 2))
        notes = {text(one(n, 10)): note_of(n) for n in map(fields, event[4])}
        if one(event, 9) == 4:
            need(self.tracks[uuid][4], "a value on a track that is no counter")
            self.counters[self.place(uuid)].append((clock, signed(one(event, 30))))
            return
        need(not self.tracks[uuid][4], "a slice on a counter")
        if one(event, 9) == 3:
            self.instants.append((*self.place(uuid)[:2], text(one(event, 23)), clock))
        elif one(event, 9) == 1:
            name = state["names"][one(event, 10)] if one(event, 10) else text(one(event, 23))
            if any(name == outer[0] for outer in self.open[uuid]):
                notes["inner"] = 1
            self.open[uuid].append((name, clock, notes))
            if one(event, 56):
                self.stacks[(*self.place(uuid)[:2], clock)] = self.stack(one(event, 56), state["stacks"])
        elif one(event, 9) == 2:
            need(self.open[uuid], "an end without a begin")
            name, begin, before = self.open[uuid].pop()
            need(begin <= clock, "a slice ends before it begins")
            self.slices.append((uuid, name, begin, clock, {**before, **notes}))
        else:
            raise Bad("an event of another type")


def signed(number):
    return number - (1 << 64) if number >> 63 else number


def note_of(annotation):
    if one(annotation, 6) is not None:
        return text(one(annotation, 6))
    if one(annotation, 4) is not None:
        return signed(one(annotation, 4))
    return one(annotation, 3, one(annotation, 2))


class Times:
    """Runs and waits of each thread, as a reader of Perfetto sees them."""

    def __init__(self, file):
        self.runs = collections.defaultdict(list)   # (machine, tid): (begin, end, direct, state)
        self.waits = collections.defaultdict(list)  # ... ns
        self.states = collections.Counter()
        for (machine, cpu), switches in file.switches.items():
            need(len(switches) >= 2 or cpu == 1023, "CPU", cpu, "has no first switch")
            for i in range(1, len(switches) - 1):
                clock, _, task = switches[i]
                end, state, _ = switches[i + 1]
                before = switches[i - 1][2]
                direct = i > 1 and 0 < before < FILLERS
                if task:
                    self.runs[machine, task].append((clock, end, direct, state))
        for key, runs in self.runs.items():
            runs.sort()
            self.count_waits(file, key, runs)

    def count_waits(self, file, key, runs):
        wakings = sorted(file.wakings.get(key, []))
        need(all(a[1] <= b[0] for a, b in zip(runs, runs[1:])), key, "runs twice at a time")
        at = 0
        for i, (begin, end, direct, state) in enumerate(runs):
            if key[1] < FILLERS:
                self.states[state] += 1
            before = runs[i - 1] if i else None
            woken = before[1] if before and before[3] in (0, 256) else None
            while at < len(wakings) and wakings[at][0] < begin:
                need(woken is None, key, "a wake-up at", wakings[at][0], "of a runnable thread")
                need(not before or wakings[at][0] > before[1], key, "a wake-up before the thread left")
                woken = wakings[at][0]
                at += 1
            need(at == len(wakings) or wakings[at][0] >= end, key, "a wake-up of a running thread")
            if woken is not None:
                self.waits[key].append(begin + direct - woken)


def report(tool, *words):
    run = subprocess.run([tool + "/ovni-report", *words], capture_output=True, text=True, check=False)
    need(run.returncode in (0, 3), run.stderr)
    return list(csv.DictReader(io.StringIO(run.stdout)))


def compare(path, trace, tool):
    file = File(path)
    times = Times(file)
    by_tid = collections.defaultdict(lambda: [0, 0, 0, 0])
    for key, runs in times.runs.items():
        if key[1] >= FILLERS:
            continue
        row = by_tid[key[1]]
        row[0] += len(runs)
        row[1] += sum(end - begin - direct for begin, end, direct, _ in runs)
        row[2] += len(times.waits[key])
        row[3] += sum(times.waits[key])
    wanted = collections.defaultdict(lambda: [0, 0, 0, 0])
    for row in report(tool, "latency", "--csv", trace):
        for i, name in enumerate(("runs", "run_time", "waits", "wait_time")):
            wanted[int(row["tid"])][i] += int(row[name] or 0)
    need(set(by_tid) == set(wanted), "threads:", sorted(by_tid), "expected", sorted(wanted))
    lossy = any("records" in notes for *_, notes in file.slices) or repairs(trace)
    unsure = {int(row["tid"]) for row in report(tool, "why", "--csv", trace) if row["reason"] == "lost"}
    for tid, row in by_tid.items():
        if lossy or tid in unsure:  # ovni-report leaves out the times in gaps, and where a switch was not recorded
            need(all(ours >= theirs - 2 * row[2] for ours, theirs in zip(row, wanted[tid])), "times of", tid, row, "expected", wanted[tid])
            continue
        # a wake-up lies between the leave and the enter, so a wait of no time has up to 2 ns
        need(row[:3] == wanted[tid][:3] and abs(row[3] - wanted[tid][3]) <= 2 * row[2],
             "times of", tid, row, "expected", wanted[tid])

    functions, calls = collections.Counter(), collections.Counter()
    for uuid, name, begin, end, notes in file.slices:
        if "open_at_end" in notes or file.tracks[uuid][1] in gaps(file) or uuid in gaps(file):
            continue
        calls[name] += 1
        functions[name] += 0 if "inner" in notes else end - begin
    ours = collections.defaultdict(list)
    for uuid, name, begin, end, _ in file.slices:
        if name == "not recorded":
            ours[file.place(uuid)[1]].append(end - begin)
    theirs = {int(row["tid"]): (int(row["times"]), int(row["time"])) for row in report(tool, "why", "--csv", trace) if row["reason"] == "lost"}
    need({tid: (len(list_), sum(list_)) for tid, list_ in ours.items()} == theirs, "time that was not recorded:", dict(ours), theirs)
    irqs = collections.Counter()
    for uuid, name, _, _, notes in file.slices:
        if name == "interrupts":
            irqs[file.place(uuid)[1]] += notes["ns"]
    theirs = {int(row["tid"]): int(row["interrupts"] or 0) for row in report(tool, "why", "--csv", trace) if row.get("interrupts")}
    need(+irqs == +collections.Counter(theirs), "interrupts:", irqs, theirs)
    compare_values(file, trace, tool)
    compare_calls(file, trace, tool)
    for row in report(tool, "func", "--csv", trace):
        need(calls[row["function"]] == int(row["calls"]), row["function"], calls[row["function"]], row)
        need(functions[row["function"]] == int(row["wall"] or 0), row["function"], functions[row["function"]], row)
        del calls[row["function"]]
    singles = {uuid for uuid, (_, parent, name, _, _) in file.tracks.items()
               if parent and (name in ("not recorded", "state", "idle", "sleep", "wait for a CPU", "interrupts", *labelled(trace)) or name.endswith(" task"))}
    names = {name for uuid, name, *_ in file.slices if uuid in singles}
    need(not set(calls) - names, "slices that ovni-report does not have:", dict(calls))
    return file, times


def metadata(trace):
    return [json.load(open(path, encoding="latin-1")) for path in glob.glob(trace + "/**/stream.json", recursive=True)]


def repairs(trace):
    return any(int(meta.get("bpf", {}).get("repairs", 0)) for meta in metadata(trace))


def types(trace):
    """The types of single marks: {number: (title, whether its values have labels)}; the label of 0 is none."""
    found = {}
    for meta in metadata(trace):
        for number, mark in meta["ovni"].get("mark", {}).items():
            if mark.get("chan_type") == "single":
                some = found.get(int(number), ("", False))[1] or any(value != ZERO for value in mark.get("labels", {}))
                found[int(number)] = (mark["title"], some)
    return found


def labelled(trace):
    return {title for title, labels in types(trace).values() if labels}


def compare_values(file, trace, tool):
    """Counters are the values of marks without labels, notes are values at the begin or the end of their slice."""
    dump = subprocess.run([tool + "/ovni-dump", "--mcv", "OM=", trace], capture_output=True, text=True, check=False).stdout
    wanted, known = collections.defaultdict(list), types(trace)
    for line in dump.splitlines():
        found = re.match(r" *(\d+) +OM= +\S*\.(\d+) +sets the mark of type (\d+) to (-?\d+)", line)
        clock, tid, number, value = map(int, found.groups())
        if number in known and not known[number][1]:
            wanted[tid, known[number][0]].append((clock, 0 if value == int(ZERO) else value))
    hardware = {counter["name"] for meta in metadata(trace) for counter in meta.get("nosv", {}).get("hwc", {}).values()}
    ours = {(tid, name): values for (_, tid, name), values in file.counters.items() if name not in hardware}
    need(ours == dict(wanted), "counters:", ours, dict(wanted))
    for uuid, name, begin, end, notes in file.slices:
        if file.tracks[uuid][2] in ("sleep", "wait for a CPU", "interrupts"):
            continue
        for note, value in notes.items():
            if note not in ("inner", "open_at_end", "records", "reason", "taskid", "typeid", "bodyid"):
                tid = (file.tracks[uuid][3] or file.tracks[file.tracks[uuid][1]][3])[1]
                need({(begin, value), (end, value)} & set(ours.get((tid, note), [])), name, "has", note, value)
    first = min(switches[0][0] for switches in file.switches.values())
    renames = [(meta["ovni"]["tid"], int(change["clock"]), change["name"])
               for meta in metadata(trace) for change in meta.get("bpf", {}).get("renames", [])[1:]]
    shown = [(tid, clock, name) for _, tid, name, clock in file.instants]
    need(sorted(row[:2] for row in shown) == sorted(row[:2] for row in renames if row[1] >= first), "renames:", shown, renames)
    need(all((tid, clock, "renamed to " + name) in shown for tid, clock, name in renames
             if clock >= first and name.isascii() and name.isprintable()), "names:", shown, renames)


def compare_calls(file, trace, tool):
    """Each sleep in a system call has its name, by the events of the trace; not those that began before it."""
    dump = subprocess.run([tool + "/ovni-dump", "--json", "--mcv", "OHp", "--mcv", "KCO", trace], capture_output=True, text=True, check=False).stdout
    first = min(switches[0][0] for switches in file.switches.values())
    wanted = collections.Counter()
    for event in map(json.loads, dump.splitlines()):
        if "call" in event and int(event["clock"]) > first:
            wanted[int(event["stream"].rsplit(".", 1)[1]), event["call"].split("(")[0]] += 1
    ours = collections.Counter()
    for (_, tid), calls in file.calls.items():
        for call, sleeps in calls.items():
            ours[tid, call.split("(")[0]] += sleeps
    need(ours == wanted, "system calls:", ours - wanted, "expected", wanted - ours)


def gaps(file):
    return {uuid for uuid, (_, _, name, _, _) in file.tracks.items() if name == "Events lost"}


def main():
    try:
        if sys.argv[1] == "--check":
            for path in sys.argv[2:]:
                Times(File(path))
            return 0
        file, times = compare(*sys.argv[1:4])
    except (Bad, UnicodeDecodeError, KeyError) as error:
        print("%s: %s" % (sys.argv[1], error))
        return 1
    print("%d runs, %d waits, %d slices agree with ovni-report" % (
        sum(len(r) for k, r in times.runs.items() if k[1] < FILLERS), sum(map(len, times.waits.values())), len(file.slices)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
