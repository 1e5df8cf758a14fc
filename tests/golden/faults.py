# SPDX-License-Identifier: MIT
"""
faults: every call of a program that can fail does fail, one a run.

  faults.py BUILD TRACE FOLDER

For the N-th allocation, the N-th of LARGE bytes or more, and the N-th act on files with "no space
left", for FAULTS numbers N spread over all of them (default 12; "all": for every N): the program
ends by itself; it fails with a sentence, or it does exactly what it does without the fault. What
it was given is as it was before.
"""
import os
import shutil
import subprocess
import sys
import time

BUILD, TRACE, FOLDER = sys.argv[1:]
ENOMEM, ENOSPC, EIO = "12", "28", "5"
LARGE = "8192" # buffers that grow
TIMEOUT = 60
LOOM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "loom", "")
FAULTS = os.environ.get("FAULTS") or "12"

# Name, arguments; {in} is a copy of the trace, {out} a name that is free. `inplace`: it changes {in}.
PROGRAMS = [
    ("emu", ["-l", "-o", "{out}", "{in}"]),
    ("check", ["{in}"]),
    ("check", ["--repair", "-o", "{out}", "{broken}"]),
    ("dump", ["{in}"]),
    ("top", ["{in}"]),
    ("info", ["{in}"]),
    ("report", ["{in}"]),
    ("report", ["--json", "{in}"]),
    ("report", ["timeline", "{in}"]),
    ("report", ["latency", "{in}"]),
    ("report", ["cpu", "{in}"]),
    ("report", ["preempt", "{in}"]),
    ("report", ["wake", "{in}"]),
    ("report", ["func", "{in}"]),
    ("report", ["flame", "--html", "{in}"]),
    ("view", ["-o", "{out}", "{in}"]),
    ("cut", ["-o", "{out}", "--from", "20ns", "{in}"]),
    ("merge", ["--loom", "n=m", "-o", "{out}", "{in}", "{other}"]),
    ("pallas", ["export", "{in}", "{out}"]),
    ("export", ["--csv", "-o", "{out}", "{in}"]),
    ("sort", ["{in}"]),
    ("events", []),
    ("loom", ["check", LOOM + "ours"]),
    ("loom", ["check", "--json", LOOM + "json"]),
    ("loom", ["check", "--same-as", LOOM + "json-bare", LOOM + "gem5"]),
    ("loom", ["stats", LOOM + "ours"]),
    ("loom", ["stats", "--csv", "--by", "node", LOOM + "gem5"]),
    ("loom", ["dump", "--sample", "1/2", "--cores", "0", "--nodes", "1", LOOM + "json"]),
    ("loom", ["import", LOOM + "ours", "-o", "{out}"]),
]


def tree(path):
    """All files below a folder with what is in them."""
    found = {}
    for folder, _, names in os.walk(path):
        for name in names:
            full = os.path.join(folder, name)
            with open(full, "rb") as file:
                found[os.path.relpath(full, path)] = file.read()
    return found


class Program:
    def __init__(self, name, arguments):
        self.name = "ovni-" + name
        self.given = {
            "{in}": os.path.join(FOLDER, "in"),
            "{other}": os.path.join(FOLDER, "other"),
            "{broken}": os.path.join(FOLDER, "broken"),
            "{out}": os.path.join(FOLDER, "out"),
        }
        self.arguments = [os.path.join(BUILD, "bin", self.name)] + [
            self.given.get(a, a) for a in arguments]
        self.title = " ".join([self.name] + arguments)

    def run(self, kind, at, error, least):
        env = dict(os.environ, LD_PRELOAD=os.path.join(BUILD, "tests/faults/faults.so"),
                   FAULT_PROGRAM=self.name, FAULT_KIND=kind, FAULT_AT=str(at), FAULT_ERROR=error, FAULT_LEAST=least,
                   FAULT_COUNT=os.path.join(FOLDER, "count"),
                   FAULT_WHERE=os.path.join(FOLDER, "where"))
        if os.path.isdir(self.given["{out}"]):
            shutil.rmtree(self.given["{out}"])
        elif os.path.exists(self.given["{out}"]):
            os.unlink(self.given["{out}"])
        done = subprocess.run(self.arguments, env=env, capture_output=True, timeout=TIMEOUT,
                              check=False)
        return done.returncode, done.stdout, done.stderr

    def place(self):
        """Who made the call that failed."""
        with open(os.path.join(FOLDER, "where"), encoding="ascii") as file:
            places = file.read().split()[:3]
        done = subprocess.run(["addr2line", "-sfe", self.arguments[0]] + places,
                              capture_output=True, text=True, check=False)
        return " < ".join(f"{a} ({b})" for a, b in zip(*[iter(done.stdout.split())] * 2))

    def calls(self):
        with open(os.path.join(FOLDER, "count"), encoding="ascii") as file:
            return int(file.read())


def prepare():
    for name in ("in", "other", "broken"):
        shutil.rmtree(os.path.join(FOLDER, name), ignore_errors=True)
        shutil.copytree(TRACE + "." + name, os.path.join(FOLDER, name))


def inputs():
    return [tree(os.path.join(FOLDER, name)) for name in ("in", "other", "broken")]


def numbers(count):
    """The first, the last, and what lies between."""
    if FAULTS == "all" or count <= int(FAULTS):
        return range(1, count + 1)
    step = (count - 1) / (int(FAULTS) - 1)
    return sorted({1 + int(i * step) for i in range(int(FAULTS))})


def main():
    wrong, runs = [], 0
    for name, arguments in PROGRAMS:
        program = Program(name, arguments)
        if not os.path.exists(program.arguments[0]):
            wrong.append(program.title + ": is not built")
            continue
        for kind, error, least in (("memory", ENOMEM, "0"), ("memory", ENOMEM, LARGE),
                                   ("files", ENOSPC, "0"), ("files", EIO, "0")):
            start = time.monotonic()
            prepare()
            before = inputs()
            status, out, said = program.run(kind, 0, error, least)
            count, files = program.calls(), tree(program.given["{out}"])
            after = inputs()
            if status not in (0, 3):
                wrong.append(f"{program.title}: status {status} without a fault: {said}")
                break
            for at in numbers(count):
                runs += 1
                if after != before:
                    prepare()
                now, text, why = program.run(kind, at, error, least)
                where = f"{program.title}: {kind} {at} of {count}"
                symptom = None
                if now < 0 or now > 3 or now == 2:
                    symptom = f"status {now}"
                elif now == status:
                    said = any(b in text + why for b in (b"out of memory", b"no memory", b"Cannot allocate"))
                    if (text != out or tree(program.given["{out}"]) != files) and not said:
                        symptom = "fails in silence"
                elif not why.strip():
                    symptom = f"status {now} without a word"
                if symptom:
                    wrong.append(f"{where}: {symptom}: {program.place()} {why[-200:]}")
                if after != before and inputs() not in (before, after):
                    wrong.append(f"{where}: its input is neither as before nor as it should be")
            if after == before and inputs() != before:
                wrong.append(f"{program.title}: {kind}: its input has changed")
            print("%-44s %s %5d, %.1f s" % (program.title, kind, count, time.monotonic() - start), flush=True)
    shown = set()
    for text in wrong: # one of each place
        what = text.split(": ", 2)[2] if text.count(": ") > 1 else text
        if what not in shown:
            print("wrong:", text)
        shown.add(what)
    print(len(wrong), "wrong of", runs, "faults")
    return 1 if wrong or runs < 200 else 0


sys.exit(main())
