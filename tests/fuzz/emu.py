#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
emu: random traces for the emulator, valid and damaged (called by emu.sh).

    emu.py OVNI-EMU FOLDER SECONDS [VECTORS]

A valid trace comes from a walk: threads of random looms go through legal states, move, push and
pop in every model, run tasks; all end with empty stacks. A damaged one has bytes changed, cut
out or put in, in streams, metadata or the table of clock offsets.
"""
import glob
import gzip
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import time

emu, top, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
vectors = sys.argv[4] if len(sys.argv) > 4 else ""

# Some enter/leave pairs of each model, the thread states that accept them, and whether the
# top of the stack may be repeated.
RUNNING, ACTIVE = ("running",), ("running", "cooling", "warming")
PAIRS = {
    "nosv": (ACTIVE, True, ["VS[ VS]", "VSN VSn", "VU[ VU]", "VAl VAL", "VHw VHW"]),
    "nanos6": (ACTIVE, False, ["6C[ 6C]", "6S[ 6S]", "6W[ 6W]", "6Bw 6BW"]),
    "openmp": (RUNNING, True, ["PBf PBF", "PIa PIA", "PT[ PT]"]),
    "nodes": (RUNNING, False, ["DR[ DR]", "DT[ DT]"]),
    "tampi": (RUNNING, False, ["TCi TCI", "TRt TRT"]),
    "mpi": (RUNNING, False, ["MW[ MW]", "MS[ MS]", "MAr MAR"]),
}
VERSIONS = {"nosv": "2.7.0", "nanos6": "1.1.0", "openmp": "1.2.1", "nodes": "1.0.0", "tampi": "1.0.0",
            "mpi": "1.0.0", "kernel": "1.0.0", "bpf": "1.0.0"}
MOVES = {"unknown": "x", "running": "epc", "cooling": "ep", "paused": "rw", "warming": "r", "dead": "x"}
BECOMES = {"x": "running", "e": "dead", "p": "paused", "c": "cooling", "w": "warming", "r": "running"}


def event(mcv, clock, data=b"", jumbo=False):
    head = mcv.encode() + struct.pack("<q", clock)
    if jumbo:
        return b"\x13" + head + struct.pack("<I", len(data)) + data
    return bytes([len(data) - 1 if data else 0]) + head + data


class Thread:
    def __init__(self, loom, pid, tid, ncpus):
        self.loom, self.pid, self.tid, self.ncpus = loom, pid, tid, ncpus
        self.state, self.cpu, self.out, self.stacks = "unknown", None, False, {}
        self.bodies = []  # nosv tasks on the stack: [task, body, running]
        self.data = bytearray(b"ovni" + struct.pack("<I", 1))


class Trace:
    """A walk over all threads of a random machine."""

    def __init__(self):
        self.models = [m for m in list(PAIRS) + ["kernel", "bpf"] if random.random() < 0.5]
        self.clock = random.choice((0, 5, 10**15))
        self.threads, self.busy, self.tasks = [], set(), {}
        for number in range(random.randint(1, 3)):
            loom, ncpus = "n%d.%d" % (number % 2, number), random.randint(1, 4)
            for pid in range(1, random.randint(2, 3)):
                for tid in range(random.randint(1, 4)):
                    self.threads.append(Thread(loom, pid, 10 * pid + tid, ncpus))
        self.marks = {str(t): {"title": "m%d" % t, "chan_type": random.choice(("stack", "single"))}
                      for t in random.sample(range(100), random.randint(0, 3))}
        self.hwc = random.randint(0, 2) if "nosv" in self.models else 0
        self.rank = random.random() < 0.3

    def put(self, th, mcv, data=b"", jumbo=False):
        th.data += event(mcv, self.clock, data, jumbo)

    def free_cpu(self, th):
        cpu = random.randint(-1, th.ncpus - 1)
        return None if (th.loom, cpu) in self.busy else cpu

    def enter(self, th, cpu):
        th.cpu = cpu
        if cpu >= 0:
            self.busy.add((th.loom, cpu))

    def leave(self, th):
        self.busy.discard((th.loom, th.cpu))

    def change_state(self, th):
        move = random.choice(MOVES[th.state])
        if move == "x":
            cpu = self.free_cpu(th)
            if cpu is None:
                return
            self.enter(th, cpu)
            self.put(th, "OHx", struct.pack("<iiQ", cpu, -1, 0))
        elif move == "r":
            if (th.loom, th.cpu) in self.busy:
                return
            self.enter(th, th.cpu)
            self.put(th, "OHr")
        else:
            if move == "e" and (any(th.stacks.values()) or th.bodies or random.random() < 0.8):
                return
            if th.state == "running":
                self.leave(th)
            data = b""
            if "bpf" in self.models:
                data = {"p": struct.pack("<Hi", random.randint(0, 12), random.choice((-1, 0, 11, 99))),
                        "w": struct.pack("<i", random.choice((-2, -1, 0, 10, 98)))}.get(move, b"")
            self.put(th, "OH" + move, data)
            if move == "e":
                th.cpu = None
        th.state = BECOMES[move]

    def move(self, th):
        cpu = self.free_cpu(th)
        if th.state not in ACTIVE or (cpu is None and th.state == "running"):
            return
        if cpu is None:
            cpu = random.randint(-1, th.ncpus - 1)
        if th.state == "running":
            self.leave(th)
            self.enter(th, cpu)
        th.cpu = cpu
        self.put(th, "OAs", struct.pack("<i", cpu))

    def pair(self, th):
        model = random.choice([m for m in self.models if m in PAIRS] or ["nosv"])
        if model not in self.models:
            return
        states, repeats, pairs = PAIRS[model]
        stack = th.stacks.setdefault(model, [])
        if th.state not in states or (th.out and model == "nosv"):
            return
        if stack and random.random() < 0.5:
            if stack[-1] != "body":
                self.put(th, stack.pop()[4:])
            return
        pair = random.choice(pairs)
        if not stack or repeats or stack[-1][:3] != pair[:3]:
            stack.append(pair)
            self.put(th, pair[:3])

    def task(self, th):
        if "nosv" not in self.models or th.state not in ACTIVE or th.out:
            return
        key, top = (th.loom, th.pid), th.bodies[-1] if th.bodies else None
        made = self.tasks.setdefault(key, {})
        stack = th.stacks.setdefault("nosv", [])
        if not made:
            self.put(th, "VYc", struct.pack("<I", 1) + b"type\0", True)
            made[0] = None
        what = random.randrange(4)
        if what == 0:
            made[len(made)] = "new"
            self.put(th, "VTc", struct.pack("<II", len(made) - 1, 1))
        elif what == 1 and (not top or not top[1]):
            ready = [t for t in made if t and made[t] == "new"]
            if ready:
                made[ready[0]] = "on"
                th.bodies.append([ready[0], True])
                stack.append("body")
                self.put(th, "VTx", struct.pack("<II", ready[0], 0))
        elif what == 2 and top:
            self.put(th, "VTp" if top[1] else "VTr", struct.pack("<II", top[0], 0))
            top[1] = not top[1]
        elif what == 3 and top and top[1] and stack[-1] == "body":
            th.bodies.pop()
            stack.pop()
            made[top[0]] = "new"
            self.put(th, "VTe", struct.pack("<II", top[0], 0))

    def other(self, th):
        if self.marks and not th.out:
            t = random.choice(list(self.marks))
            stack = th.stacks.setdefault("mark" + t, [])
            value = random.choice((1, 2, -7, 1 << 40))
            if self.marks[t]["chan_type"] == "single":
                self.put(th, "OM=", struct.pack("<qi", value, int(t)))
            elif stack and random.random() < 0.5:
                self.put(th, "OM]", struct.pack("<qi", stack.pop(), int(t)))
            else:
                stack.append(value)
                self.put(th, "OM[", struct.pack("<qi", value, int(t)))
        if self.hwc and th.state in ACTIVE and not th.out:
            self.put(th, "VWC", b"".join(struct.pack("<q", random.choice((0, 5, 1 << 50)))
                                         for _ in range(self.hwc)), True)
        if "kernel" in self.models and random.random() < 0.3:
            self.put(th, "KCI" if th.out else "KCO")
            th.out = not th.out
        if not th.out and random.random() < 0.2:
            self.put(th, random.choice(("OB.", "OBx", "OU[", "OHC")))

    def close(self, th):
        """Brings the thread to its end with empty stacks."""
        if th.out:
            self.put(th, "KCI")
        if th.state in ("unknown", "dead"):
            self.put(th, "OHx", struct.pack("<i", -1))
        elif th.state != "running":
            if th.state == "cooling":
                self.put(th, "OHp")
                th.state = "paused"
            if th.state == "paused":
                self.put(th, "OHw")
            self.put(th, "OAs", struct.pack("<i", -1))
            self.put(th, "OHr")
        else:
            self.leave(th)
        for model, stack in th.stacks.items():
            while stack:
                item = stack.pop()
                if item == "body":
                    task, runs = th.bodies.pop()
                    if not runs:
                        self.put(th, "VTr", struct.pack("<II", task, 0))
                    self.put(th, "VTe", struct.pack("<II", task, 0))
                elif model.startswith("mark"):
                    self.put(th, "OM]", struct.pack("<qi", item, int(model[4:])))
                else:
                    self.put(th, item[4:])
        self.put(th, "OHe")

    def write(self, folder):
        seen = set()
        for th in self.threads:
            meta = {"version": 3, "ovni": {
                "lib": {"version": "0", "commit": "0"}, "part": "thread", "tid": th.tid,
                "pid": th.pid, "loom": th.loom, "app_id": 1 + th.pid, "finished": 1,
                "require": dict({"ovni": "1.1.0"}, **{m: VERSIONS[m] for m in self.models})}}
            if self.marks:
                meta["ovni"]["mark"] = self.marks
            if self.rank:
                meta["ovni"].update(rank=th.pid, nranks=10)
            if th.loom not in seen:
                meta["ovni"]["loom_cpus"] = [{"index": i, "phyid": 3 * i} for i in range(th.ncpus)]
            seen.add(th.loom)
            if "nosv" in self.models:
                meta["nosv"] = {"can_breakdown": True,
                                "hwc": {str(i): {"name": "c%d" % i} for i in range(self.hwc)}}
            if "bpf" in self.models:
                meta["bpf"] = {"name": "t%d" % th.tid, "names": {"99": "other"}}
            path = "%s/loom.%s/proc.%d/thread.%d" % (folder, th.loom, th.pid, th.tid)
            os.makedirs(path)
            with open(path + "/stream.json", "w", encoding="utf-8") as out:
                json.dump(meta, out)
            with open(path + "/stream.obs", "wb") as out:
                out.write(th.data)
        with open(folder + "/clock-offsets.txt", "w", encoding="utf-8") as out:
            out.write("rank hostname offset_median offset_mean offset_std\n")
            for host in sorted({th.loom.split(".")[0] for th in self.threads}):
                out.write("0 %s %d 0.0 0.0\n" % (host, random.choice((0, 3, 100))))


def make_valid(folder):
    trace, th = Trace(), None
    for _ in range(random.choice((5, 50, 500))):
        th, last = random.choice(trace.threads), th
        # at equal clocks of two threads, their order would be the heap's, not ours
        trace.clock += random.choice((0 if th is last else 1, 1, 7, 1000))
        step = random.choice((trace.change_state, trace.change_state, trace.move, trace.pair,
                              trace.pair, trace.task, trace.other))
        if th.out and step in (trace.change_state, trace.move):
            continue
        step(th)
    for th in trace.threads:
        trace.clock += 1
        trace.close(th)
    trace.write(folder)


VALUES = [b"\0", b"\xff", b"\x10", b"\x1f", b"\xff\xff\xff\x7f", b"\0\0\0\x80", b'"', b"{", b"}", b"-1",
          b"1e999", b"null", b"[]", b"OHx", b"OHe", b"KCO", b"VTx"]


def damage(folder):
    files = [f for f in glob.glob(folder + "/**/*", recursive=True) if os.path.isfile(f)]
    for path in random.sample(files, min(len(files), random.choice((1, 1, 2, 5)))):
        with open(path, "rb") as source:
            data = bytearray(source.read())
        for _ in range(random.choice((1, 1, 2, 10))):
            at, how = random.randrange(len(data) + 1), random.randrange(6)
            if how == 0 and data:
                data[at % len(data)] ^= 1 << random.randrange(8)
            elif how == 1:
                value = random.choice(VALUES)
                data[at:at + len(value)] = value
            elif how == 2:
                del data[at:at + random.choice((1, 4, 12, 100))]
            elif how == 3:
                data[at:at] = random.randbytes(random.choice((1, 4, 12)))
            elif how == 4 and path.endswith(".obs"):  # events in another order
                other = random.randrange(len(data) + 1)
                data[at:at] = data[other:other + 24]
            elif how == 5:
                del data[at:]
        with open(path, "wb") as out:
            out.write(data)


def run(trace, *options):
    """(status, error lines, {file: bytes}) of an emulation."""
    out = top + "/out"
    shutil.rmtree(out, ignore_errors=True)
    os.mkdir(out)
    result = subprocess.run([emu, "-q", "-o", out] + list(options) + [trace], timeout=60,
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, check=False)
    said = result.stderr.decode("utf-8", "replace")
    if result.returncode not in (0, 1, 3) or "Sanitizer" in said or "runtime error" in said:
        fail("status %d with %s\n%s" % (result.returncode, options, said[-3000:]))
    errors = [line for line in said.splitlines() if "error:" in line]
    if result.returncode == 3 and "incomplete" not in said and "not complete" not in said:
        fail("status %d with %s\n%s" % (result.returncode, options, said[-3000:]))
    files = {}
    for path in glob.glob(out + "/*.*"):
        name = os.path.basename(path)
        data = open(path, "rb").read()
        files[name[:-3] if name.endswith(".gz") else name] = \
            gzip.decompress(data) if name.endswith(".gz") else data
    return result.returncode, errors, files


def fail(what):
    kept = os.environ.get("KEEP")
    if kept:
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(top + "/trace", kept)
    sys.exit("SEED=%d: %s" % (seed, what))


def stock(files):
    """Without what only our traces have: types from 300 on, and names."""
    return {name: [line for line in data.split(b"\n") if name.endswith(".prv") and
                   not (line.startswith(b"2:") and int(line.split(b":")[6]) >= 300)]
            for name, data in files.items()}


def check_valid(trace):
    flags = ["-l"] + (["-b"] if random.random() < 0.7 else [])
    status, errors, files = run(trace, *flags)
    if status:
        fail("a valid trace is refused: %s" % errors)
    for option in ("-j2", "-j4", "--gz", "--tolerant"):
        if run(trace, option, *flags) != (0, [], files):
            fail("the output differs with %s" % option)
    if stock(run(trace, "--compat", *flags)[2]) != stock(files):
        fail("stock lines differ with --compat")
    if run(trace, "--arrows", *flags)[0]:
        fail("refused with --arrows")


def check_damaged(trace):
    flags = [f for f in ("-b", "-a", "--arrows") if random.random() < 0.4]
    status, errors, files = run(trace, *flags)
    if len(errors) > 1 and not all("end" in e or "task types" in e for e in errors):
        fail("more than one error: %s" % errors)
    if (status == 1) != bool(errors): # 3: what it misses was said
        fail("status %d and errors %s" % (status, errors))
    if run(trace, "-j3", *flags) != (status, errors, files):
        fail("another result with -j3")
    if status != 1 and run(trace, "--tolerant", *flags)[2] != files:
        fail("another output with --tolerant")
    run(trace, "--tolerant", "-l", *flags)


seeds = [d for d in sorted(glob.glob(vectors + "/*/trace")) if vectors and
         sum(map(os.path.getsize, glob.glob(d + "/**/stream.obs", recursive=True))) < 20000]
start, rounds = time.monotonic(), 0
base = int(os.environ.get("SEED", "0"))
while time.monotonic() - start < seconds and (not base or not rounds):
    rounds += 1
    seed = base or rounds
    random.seed(seed)
    trace = top + "/trace"
    shutil.rmtree(trace, ignore_errors=True)
    if seeds and random.random() < 0.4:
        shutil.copytree(random.choice(seeds), trace)
    else:
        make_valid(trace)
        if random.random() < 0.5:
            check_valid(trace)
    damage(trace)
    check_damaged(trace)
print("%d traces" % rounds)
