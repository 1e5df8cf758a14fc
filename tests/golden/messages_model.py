#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
messages_model: random MPI programs, run by a model of its own, and their traces with --api mpi-messages.

Blocking and nonblocking calls, from any source, with any tag, with and without a status. `pairs` has the messages, each
with its send and its receive; `rows` the figures of each pair of ranks.
"""
import json
import os
import random
import subprocess
import sys

ANY, ANY_TAG, WORLD, INT, IGNORED = -2, -1, 0x44000000, 0x4C000405, None
LABELS = {1: "MPI_Send", 2: "MPI_Ssend", 3: "MPI_Isend", 4: "MPI_Recv", 5: "MPI_Irecv", 6: "MPI_Wait", 7: "MPI_Sendrecv", 8: "MPI_Waitall"}
SEND, SSEND, ISEND, RECV, IRECV, WAIT, SENDRECV, WAITALL = LABELS


class Program:
    """n ranks; a message arrives `late` ns after its send, by pair of ranks."""

    def __init__(self, seed, n, steps, statuses, late):
        self.rnd, self.n = random.Random(seed), n
        self.events = [["0 OHx i32:%d i32:-1 u64:0" % r] for r in range(n)]
        self.state = [None] * n     # of a blocked rank: the operation that it waits for
        self.pending = [[] for _ in range(n)]
        self.posted = [[] for _ in range(n)]   # receives without a message
        self.arrived = [[] for _ in range(n)]  # messages without a receive
        self.moving, self.late, self.pairs, self.calls = [], late, [], {}
        self.rows, self.clock, self.requests = {}, 0, 100
        for _ in range(steps):
            self.clock += 10
            self.deliver()
            ready = [r for r in range(n) if not self.state[r]]
            if ready:
                self.step(self.rnd.choice(ready), statuses)
        while self.moving:
            self.clock += 10
            self.deliver()
        for send, receive in self.pairs:
            self.count(send, receive)
        for r in range(n):
            self.events[r].append("%d OHe" % (self.clock + 1000))

    def mark(self, rank, clock, kind, value, letter="="):
        self.events[rank].append("%d OM%s i64:%d i32:%d" % (clock, letter, value or -2147483648, kind))

    def enter(self, rank, call, values):
        for kind, value in values:
            self.mark(rank, self.clock, kind, value)
        self.mark(rank, self.clock, 56, call, "[")
        return {"rank": rank, "call": call, "enter": self.clock}

    def leave(self, op, clock):
        self.state[op["rank"]] = None
        self.mark(op["rank"], clock, 56, op["call"], "]")
        for kind, value in op.get("back", []):
            self.mark(op["rank"], clock, kind, value)
        for part in op["parts"]:
            part["from"], part["to"], part["over"] = op["enter"], clock, True
            if part["send"] and op["call"] >= SENDRECV:
                part["from"] = None  # it may have waited for another message

    def begin(self, rank, call, send, peer, tag, size=0):
        return {"rank": rank, "call": call, "send": send, "peer": peer, "tag": tag, "bytes": size, "posted": self.clock,
                "partner": None, "over": False, "status": False}

    def send(self, op):
        self.moving.append((self.clock + self.late(op["rank"], op["peer"]), op))

    def deliver(self):
        self.moving.sort(key=lambda m: m[0])
        while self.moving and self.moving[0][0] <= self.clock:
            op = self.moving.pop(0)[1]
            for receive in self.posted[op["peer"]]:
                if receive["peer"] in (ANY, op["rank"]) and receive["tag"] in (ANY_TAG, op["tag"]):
                    self.posted[op["peer"]].remove(receive)
                    self.pair(op, receive)
                    break
            else:
                self.arrived[op["peer"]].append(op)

    def receive(self, op):
        for send in self.arrived[op["rank"]]:
            if op["peer"] in (ANY, send["rank"]) and op["tag"] in (ANY_TAG, send["tag"]):
                self.arrived[op["rank"]].remove(send)
                self.pair(send, op)
                return
        self.posted[op["rank"]].append(op)

    def pair(self, send, receive):
        send["partner"], receive["partner"] = receive, send
        self.pairs.append((send, receive))
        row = self.rows.setdefault((send["rank"], send["peer"]), [0] * 6)
        row[0] += 1
        row[1] += send["bytes"]
        for part in (send, receive):
            self.wake(part["rank"])

    def wake(self, rank):
        self.clock += 3
        waits = self.state[rank]
        if waits and all(part["partner"] or (part["send"] and part["call"] != SSEND) for part in waits["parts"]):
            self.status(waits)
            self.leave(waits, self.clock)

    def status(self, op):
        part = op["parts"][-1]
        if not part["send"] and part["status"] and op["call"] != WAITALL:
            op["back"] = [(66, part["partner"]["rank"])] + ([(67, part["partner"]["tag"])] if op["call"] != SENDRECV else [])

    def count(self, send, receive):
        row = self.rows[send["rank"], send["peer"]]
        late = min(send["posted"], receive["to"]) - receive["from"] if receive["over"] else 0
        if late > 0: # a call that waits for several counts once
            key = send["rank"], send["peer"], receive["from"]
            row[2], row[3] = row[2] + 1, row[3] + max(0, late - self.calls.get(key, 0))
            self.calls[key] = max(late, self.calls.get(key, 0))
        if send["over"] and send["from"] is not None and send["to"] >= receive["posted"] > send["from"]:
            row[4], row[5] = row[4] + 1, row[5] + receive["posted"] - send["from"]

    def step(self, rank, statuses):
        rnd = self.rnd
        peer, tag, size = rnd.choice([r for r in range(self.n) if r != rank]), rnd.randint(0, 2), rnd.randint(0, 9)
        source, wanted = rnd.choice([peer, ANY]), rnd.choice([rnd.randint(0, 2), ANY_TAG])
        call = rnd.choice([SEND, SEND, SSEND, ISEND, ISEND, RECV, IRECV, IRECV, WAIT, WAITALL, SENDRECV])
        there = [s for s in self.arrived[rank] if source in (ANY, s["rank"]) and wanted in (ANY_TAG, s["tag"])]
        if call in (RECV, SENDRECV) and not there and rnd.random() < 0.8:
            call = rnd.choice([SEND, IRECV])  # or all ranks wait for each other soon
        if call == SSEND and rnd.random() < 0.8:
            call = ISEND
        out = [(62, size), (63, INT), (60, peer), (61, tag)]
        if call == WAIT:
            if not self.pending[rank]:
                return
            part = self.pending[rank][rnd.randrange(len(self.pending[rank]))]
            if not part["send"] and not part["partner"] and rnd.random() < 0.9:
                return
            self.pending[rank].remove(part)
            op = self.enter(rank, call, [(65, part["request"])])
            op["parts"] = [part]
        elif call == WAITALL:
            parts = self.pending[rank][:7]
            if not parts or any(not part["send"] and not part["partner"] for part in parts) and rnd.random() < 0.7:
                return
            self.pending[rank] = self.pending[rank][7:]
            op = self.enter(rank, call, [(62, len(parts))] + [(65, part["request"]) for part in parts])
            op["parts"] = parts
        elif call in (SEND, SSEND, ISEND):
            op = self.enter(rank, call, out + [(64, WORLD)])
            op["parts"] = [self.begin(rank, call, True, peer, tag, 4 * size)]
        elif call == SENDRECV:
            op = self.enter(rank, call, out + [(58, source), (57, wanted), (64, WORLD)])
            op["parts"] = [self.begin(rank, call, True, peer, tag, 4 * size), self.begin(rank, call, False, source, wanted)]
        else:
            op = self.enter(rank, call, [(60, source), (61, wanted), (64, WORLD)])
            op["parts"] = [self.begin(rank, call, False, source, wanted)]
        parts = op["parts"]
        if call not in (WAIT, WAITALL):
            parts[-1]["status"] = statuses(rnd)
        if call in (ISEND, IRECV):
            self.requests += 1
            parts[0]["request"] = self.requests
            self.pending[rank].append(parts[0])
            op["back"], op["parts"] = [(65, self.requests)], []
            self.leave(op, self.clock + 1)
        else:
            self.state[rank] = op
        for part in parts if call not in (WAIT, WAITALL) else []:
            self.send(part) if part["send"] else self.receive(part)
        self.clock += 2
        self.deliver()
        self.wake(rank)


def write(name, program):
    marks = {"56": {"title": "MPI\\u0020messages", "chan_type": "stack",
                    "labels": {str(v): t + "\\u0020of\\u0020MPICH" for v, t in LABELS.items()}}}
    for kind in (57, 58, 60, 61, 62, 63, 64, 65, 66, 67):
        marks[str(kind)] = {"title": "value", "chan_type": "single"}
    text = json.dumps(marks, separators=(",", ":")).replace("\\\\u", "\\u")
    lines = []
    for rank, events in enumerate(program.events):
        meta = 'ovni.require={"ovni":"1.1.0","bpf":"1.0.0"} ovni.rank=%d ovni.nranks=%d ovni.mark=%s' % (rank, program.n, text)
        lines += ["thread n %d %d %s" % (rank + 10, rank + 10, meta)] + events
    subprocess.run([sys.executable, os.path.dirname(__file__) + "/tools_make.py", name], input="\n".join(lines) + "\n", text=True, check=True)
