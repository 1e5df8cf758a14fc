# SPDX-License-Identifier: MIT
"""
facts: what a trace tells, for the live tests to look at.

In: the folder of a trace; out: streams with their metadata, events, and the stays of
their thread on CPUs. A small reader of its own, for traces of some 100,000 events.
check() collects what is wrong; verdict() ends the program with status 1 if anything was.
"""
import json
import os
import struct
import sys

WHY = ["unknown", "sleeping", "uninterruptible", "io", "stopped", "traced", "preempted",
       "yielded", "parked", "idle", "dead", "lost", "throttled"]
INTERRUPT = -2

_wrong = []


def check(condition, *text):
    if not condition:
        _wrong.append(" ".join(str(t) for t in text))


def verdict():
    for text in _wrong[:20]:
        print("wrong:", text)
    sys.exit(1 if _wrong else 0)


class Event:
    __slots__ = ("clock", "mcv", "data")

    def __init__(self, clock, mcv, data):
        self.clock, self.mcv, self.data = clock, mcv, data

    def ints(self, layout):
        """The payload as little-endian numbers; "" events give ()."""
        size = struct.calcsize("<" + layout)
        known = len(self.data) - self._unknown_bytes(size) - self._call_bytes() - self._owner_bytes() - self._irq_bytes()
        check(known == size, self.mcv, "has", len(self.data), "bytes, not", size)
        return struct.unpack("<" + layout, self.data[:size]) if known == size else None

    def _call_bytes(self):
        return len(self.data) - 6 if self.mcv in ("OHp", "KCO") and len(self.data) in (8, 16) else 0

    def _irq_bytes(self):
        return 4 if self.mcv in ("OHr", "OHe") and len(self.data) == 4 else 0

    def interrupts(self):
        """ns that interrupts took from the run before; 0: none, or not recorded."""
        value, = struct.unpack("<I", self.data) if self._irq_bytes() else (0,)
        return (value & 0x7fffffff) << 10 if value >> 31 else value

    def _owner_bytes(self):
        return {8: 4, 16: 12}.get(len(self.data), 0) if self.mcv in ("OHw", "KCI") else 0

    def stack(self):
        """The number of the stack in which the thread slept, of an OHr that of a wait for a CPU; 0: none."""
        if self.mcv == "OHr" and len(self.data) == 16:
            return 0 if struct.unpack("<I", self.data[4:8])[0] else struct.unpack("<Q", self.data[8:16])[0]
        return struct.unpack("<I", self.data[8:12])[0] if self._owner_bytes() == 12 else 0

    def owner(self):
        """The owner of the lock on which the thread slept: a tid, -1 none, 0 not known."""
        return struct.unpack("<i", self.data[4:8])[0] if self._owner_bytes() else 0

    def call(self):
        """Number and first argument (or None) of the system call of a sleep; None: not known."""
        if not self._call_bytes():
            return None
        number, = struct.unpack("<H", self.data[6:8])
        return number, struct.unpack("<Q", self.data[8:])[0] if len(self.data) == 16 else None

    def _unknown_bytes(self, size):
        return 8 if self.ends_unknown() and len(self.data) == size + 8 else 0

    def ends_unknown(self):
        """Its last 8 bytes are the length of a time that is not known (event-mapping.md, "Losses")."""
        sizes = {"OHp": 6, "OHw": 4, "OHr": 0, "OHe": 0, "KCO": 6, "KCI": 4}
        return self.mcv in sizes and len(self.data) == sizes[self.mcv] + 8

    def __repr__(self):
        return f"{self.mcv}@{self.clock}"


class Stay:
    """One time on a CPU: index -1 is the virtual one, `why` None if it ended with OHe."""

    def __init__(self, start, cpu):
        self.start, self.cpu = start, cpu
        self.end = self.why = self.taker = None
        self.woken = self.waker = None  # by the OHw before it


class Stream:
    def __init__(self, path):
        self.path = path
        with open(os.path.join(path, "stream.json"), encoding="utf-8") as f:
            self.meta = json.load(f)
        self.pid, self.tid = self.meta["ovni"]["pid"], self.meta["ovni"]["tid"]
        self.bpf = self.meta.get("bpf", {})
        self.events = list(self._read(os.path.join(path, "stream.obs")))
        self.stays = list(self._stays())

    @staticmethod
    def _read(path):
        with open(path, "rb") as f:
            data = f.read()
        check(data[:8] == b"ovni\1\0\0\0", path, "has no header")
        at = 8
        while at < len(data):
            flags, mcv, clock = struct.unpack_from("<B3sQ", data, at)
            at += 12
            size = (flags & 15) + 1 if flags & 15 else 0
            if flags & 16:
                size = 4 + struct.unpack_from("<I", data, at)[0]
            check(at + size <= len(data), path, "is cut short")
            yield Event(clock, mcv.decode("latin-1"), data[at:at + size])
            at += size

    def _stays(self):
        cpu, stay, woken = None, None, None
        for e in self.events:
            if e.mcv == "OHx":
                cpu = e.ints("iiQ")[0]
                stay, woken = Stay(e.clock, cpu), None
            elif e.mcv == "OAs":
                cpu = e.ints("i")[0]
            elif e.mcv == "OHw":
                woken = e
            elif e.mcv == "OHr":
                stay = Stay(e.clock, cpu)
                if woken:
                    stay.woken, stay.waker = woken.clock, woken.ints("i")[0]
            elif e.mcv in ("OHp", "OHe"):
                stay.end = e.clock
                if e.mcv == "OHp":
                    why, stay.taker = e.ints("Hi")
                    stay.why = WHY[why] if why < len(WHY) else why
                yield stay
                stay = woken = None

    @property
    def renames(self):
        """What it was called: (clock, name), in order; the clock is 0 if it had one name."""
        if "renames" in self.bpf:
            return [(int(r["clock"]), r["name"]) for r in self.bpf["renames"]]
        return [(0, self.bpf["name"])] if "name" in self.bpf else []

    @property
    def names(self):
        return [name for _, name in self.renames]

    @property
    def exit(self):
        """The status that it returned, and None; or None, and the signal that ended it."""
        exit = self.bpf.get("exit", {})
        return exit.get("status"), exit.get("signal")

    def of(self, mcv):
        return [e for e in self.events if e.mcv == mcv]

    def leaves(self, why):
        return [s for s in self.stays if s.why == why]

    def __repr__(self):
        return f"thread {self.pid}/{self.tid}"


class Trace:
    def __init__(self, path):
        found = [d for d, _, files in os.walk(path) if "stream.json" in files]
        self.streams = [Stream(d) for d in sorted(found)]
        check(self.streams, path, "has no streams")
        programs = {s.pid: s.bpf["executable"] for s in self.streams if "executable" in s.bpf}
        for s in self.streams:
            s.program = os.path.basename(programs.get(s.pid, ""))

    def threads(self, pid):
        return [s for s in self.streams if s.pid == pid]

    def thread(self, tid, pid=None):
        found = [s for s in self.streams if s.tid == tid and pid in (None, s.pid)]
        check(len(found) == 1, "thread", tid, "has", len(found), "streams")
        return found[0] if found else sys.exit(verdict())

    def cpu(self, phyid):
        """The index of the CPU that the kernel calls `phyid`."""
        for s in self.streams:
            for cpu in s.meta["ovni"].get("loom_cpus", []):
                if cpu["phyid"] == phyid:
                    return cpu["index"]
        return None

    def meta(self, key):
        """The first value of "bpf.KEY" in any stream."""
        for s in self.streams:
            if key in s.bpf:
                return s.bpf[key]
        return None

    @property
    def session(self):
        return self.meta("session")


def session_of(path):
    """The metadata of the session, without reading any events."""
    for folder, _, files in os.walk(path):
        if "stream.json" in files:
            with open(os.path.join(folder, "stream.json"), encoding="utf-8") as f:
                session = json.load(f).get("bpf", {}).get("session")
            if session:
                return session
    sys.exit(f"{path} has no session")


def check_account(session):
    """Every event that a program was called for is written, filtered, sampled away, lost, or no
    more kept by a flight recorder."""
    check(session["account"], "there is no account")
    for cpu in session["account"]:
        for kind, n in cpu.items():
            if isinstance(n, dict):
                rest = int(n["seen"]) - sum(int(n.get(k, 0)) for k in (
                    "written", "filtered", "sampled", "lost", "aged"))
                check(rest == 0, "CPU", cpu["cpu"], kind, "does not add up by", rest, n)


def report(path):
    """The lines that a workload said, as dictionaries; numbers are ints."""
    lines = []
    with open(path, encoding="utf-8") as f:
        for line in f:
            words = dict(w.split("=", 1) for w in line.split() if "=" in w)
            lines.append({k: int(v) if v.lstrip("-").isdigit() else v for k, v in words.items()})
    return lines


def near(value, wanted, share=0.02, spare=20):
    """Counts agree up to a share and a few: other work of the machine comes in between."""
    return abs(value - wanted) <= wanted * share + spare
