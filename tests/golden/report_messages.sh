#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-report messages: random MPI programs, run by a model of its own: blocking and nonblocking calls, from any
# source, with any tag, with and without a status. The messages and waits of each pair of ranks are those of the
# model; messages that overtake those of other ranks are counted, and nothing is lost behind them.
set -eu
cd "$T"
cat >model.py <<'E'
import csv, io, os, random, subprocess, sys
S, B = os.environ["S"], os.environ["B"]
sys.path.insert(0, S + "/tests/golden")
from messages_model import Program, write


def report(name):
    run = lambda *more: subprocess.run([B + "/bin/ovni-report", "messages", *more, name], stdout=subprocess.PIPE, text=True, check=True).stdout
    rows = {(int(r["from"]), int(r["to"])): [int(r[c] or 0) for c in
            ("messages", "bytes", "late_senders", "receiver_waited", "late_receivers", "sender_waited")]
            for r in csv.DictReader(io.StringIO(run("--csv")))}
    return rows, run()


def foot(text, phrase):
    found = [line for line in text.splitlines() if phrase in line]
    return int(found[0].split()[0]) if found else 0


ORDER = "while several had sent"
ignored = lambda rnd: rnd.random() < 0.5
messages = ordered = waits = overtaken = 0
for seed in range(80):
    rnd = random.Random(seed)
    program = Program(seed, rnd.randint(2, 5), 300, ignored if seed % 4 else lambda rnd: True, lambda a, b: 0)
    write("at_once%d" % seed, program)
    rows, text = report("at_once%d" % seed)
    assert rows == program.rows, (seed, rows, program.rows)
    assert "without a send" not in text or foot(text, "without a send") < 40, text
    messages += sum(r[0] for r in rows.values())
    waits += sum(r[2] + r[4] for r in rows.values())
    ordered += foot(text, ORDER)
for seed in range(40):
    delays = random.Random(seed)
    delay = {}
    program = Program(seed, 4, 300, ignored, lambda a, b: delay.setdefault((a, b), delays.randint(0, 60)))
    write("late%d" % seed, program)
    rows, text = report("late%d" % seed)
    same = rows == program.rows
    overtaken += not same
    assert same or foot(text, ORDER), (seed, "wrong, and nothing said", rows, program.rows)
print(messages, "messages,", waits, "waits,", ordered, "in the order of the sends,", overtaken, "of 40 with overtaking differ")
assert messages > 3000 and waits > 200 and ordered > 100 and overtaken
E
PYTHONDONTWRITEBYTECODE=1 python3 model.py
