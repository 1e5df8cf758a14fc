#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-report critical through MPI: a path worked out by hand, over a late sender, a late receiver and a
# collective, on two nodes; and random programs, whose paths are those of a model of its own. Segments add up to the
# window. Collectives that are not of all ranks, and clocks that contradict them, are not followed.
# longer: more programs
set -u
cd "$T" || exit 1
cat >model.py <<'E2'
import bisect, json, os, random, shutil, subprocess, sys
sys.path.insert(0, os.environ["S"] + "/tests/golden")
import tools_make
B = os.environ["B"]
WORLD, INT = 0x44000000, 0x4C000405
LABELS = {1: "MPI_Send of MPICH", 2: "MPI_Recv of MPICH"}
SEND, RECV = LABELS
BARRIER = 3
WAITS = ("late sender", "late receiver", "last in collective")


def mark(clock, kind, value, letter="="):
    return "%d OM%s i64:%d i32:%d" % (clock, letter, value or -2147483648, kind)


def sent(clock, end, to, tag=1):
    return [mark(clock, k, v) for k, v in ((62, 1), (63, INT), (60, to), (61, tag), (64, WORLD))] + \
        [mark(clock, 56, SEND, "["), mark(end, 56, SEND, "]")]


def received(clock, end, of, tag=1):
    return [mark(clock, k, v) for k, v in ((62, 1), (63, INT), (60, of), (61, tag), (64, WORLD))] + \
        [mark(clock, 56, RECV, "["), mark(end, 56, RECV, "]")]


def barrier(clock, end, comm):
    return [mark(clock, 64, comm), mark(clock, 56, BARRIER, "["), "%d MCb" % clock, "%d MCB" % end, mark(end, 56, BARRIER, "]")]


def write(name, events, nodes=2, nranks=None, labels=LABELS, comms=True, title="MPI communicator"):
    text = []
    for rank, lines in enumerate(events):
        meta = {"ovni.require": {"ovni": "1.1.0", "bpf": "1.0.0", "mpi": "1.0.0"}, "bpf.name": "rank%d" % rank,
                "ovni.rank": rank, "ovni.nranks": nranks or len(events),
                "ovni.mark": {"56": {"title": "MPI messages", "chan_type": "stack",
                                     "labels": {str(k): v for k, v in labels.items()}},
                              **{str(k): {"title": "value %d" % k, "chan_type": "single"} for k in range(60, 64)},
                              "64": {"title": title, "chan_type": "single"}}}
        text.append("thread n%d %d %d %s" % (rank % nodes, 10 + rank, 10 + rank,
                                             " ".join("%s=%s" % (k, json.dumps(v, separators=(",", ":")).replace(" ", "\\u0020"))
                                                      for k, v in meta.items())))
        lines = sorted(lines, key=lambda x: int(x.split()[0]))
        text += tools_make.with_communicators(["thread", *lines])[1:] if comms else lines
    open(name + ".txt", "w").write("\n".join(text) + "\n")
    shutil.rmtree(name, ignore_errors=True)
    subprocess.run([sys.executable, os.environ["S"] + "/tests/golden/tools_make.py", name],
                   stdin=open(name + ".txt"), check=True)


def report(name, tid, *options):
    run = subprocess.run([B + "/bin/ovni-report", "critical", "--tid", str(tid), "--json", *options, name],
                         capture_output=True, text=True)
    assert run.returncode in (0, 3), run.stderr
    rows = json.loads(run.stdout)
    for a, b in zip(rows, rows[1:]):
        assert a["to"] == b["from"], (name, a, b)
    return [(r["from"], r["to"], r["tid"] - 10, r["state"], r["reason"], r["by"].split(" ")[0]) for r in rows]


def by_hand():
    # rank 0 computes to 1000 and sends; rank 1 waits for it from 200 to 1100, computes to 1500, and is the last in the
    # barrier, in which rank 2 is from 300 on; rank 2 leaves it at 1600 and computes to 2000
    hand = [["0 OHx i32:0 i32:-1 u64:0", *sent(1000, 1010, 1), "1020 MCb", "1590 MCB", "2000 OHe"],
            ["0 OHx i32:0 i32:-1 u64:0", *received(200, 1100, 0), "1500 MCb", "1595 MCB", "2000 OHe"],
            ["0 OHx i32:1 i32:-1 u64:0", "300 MCb", "400 OHp u16:1 i32:0", "1550 OHw i32:10", "1560 OHr", "1600 MCB",
             "2000 OHe"]]
    write("hand", hand)
    got = report("hand", 12)
    want = [(0, 1000, 0, "running", "", ""), (1000, 1500, 1, "running", "late sender", "rank0"),
            (1500, 1550, 2, "asleep", "last in collective", "rank1"), (1550, 1560, 2, "runnable", "woken", "rank0"),
            (1560, 1600, 2, "running", "", ""), (1600, 2000, 2, "running", "", "")]
    # the run of rank 1 is one stay: the end of the call divides it, as it does that of rank 2
    want[1:2] = [(1000, 1100, 1, "running", "late sender", "rank0"), (1100, 1500, 1, "running", "", "")]
    assert got == want, got
    assert report("hand", 12, "--from", "1200", "--to", "1700") == [
        (1200, 1500, 1, "running", "", ""), *want[3:6], (1600, 1700, 2, "running", "", "")]
    os.makedirs("views", exist_ok=True)
    subprocess.run([B + "/bin/ovni-emu", "-q", "--critical", "12", "-o", "views", "hand"], check=True, capture_output=True)
    rows = [(int(x[5]), x[4], int(x[7])) for x in
            (line.split(":") for line in open("views/thread.prv") if line.startswith("2:")) if x[6] == "311"]
    assert [(t, v) for t, _, v in rows] == [(0, 1), (1000, 0), (1000, 1), (1500, 0), (1500, 1), (2000, 0)], rows
    assert len({n for _, n, _ in rows}) == 3, rows
    # rank 0 sends from 100 on; rank 1 computes to 1000 and receives, so rank 0 goes on at 1100; the send that ends
    # at 1400, before the receive of 1450 is posted, has waited for nobody
    write("receiver", [["0 OHx i32:0 i32:-1 u64:0", *sent(100, 1100, 1), *sent(1300, 1400, 1, 2), "2000 OHe"],
                       ["0 OHx i32:0 i32:-1 u64:0", *received(1000, 1090, 0), *received(1450, 1460, 0, 2), "2000 OHe"]])
    got = report("receiver", 10)
    assert got == [(0, 1000, 1, "running", "", ""), (1000, 1100, 0, "running", "late receiver", "rank1"),
                   (1100, 2000, 0, "running", "", "")], got
    # with communicators: ranks 0 and 1 meet in one of their own, which is not followed; all of them in the world
    write("comms", [["0 OHx i32:0 i32:-1 u64:0", *barrier(100, 160, 7), *barrier(500, 620, WORLD), "900 OHe"],
                    ["0 OHx i32:0 i32:-1 u64:0", *barrier(150, 170, 7), *barrier(300, 610, WORLD), "900 OHe"],
                    ["0 OHx i32:1 i32:-1 u64:0", *barrier(600, 630, WORLD), "900 OHe"]], labels={**LABELS, BARRIER: "MPI_Barrier of MPICH"}, comms=False)
    for tid, reached in ((10, 620), (11, 610)):
        got = report("comms", tid)
        assert got == [(0, 600, 2, "running", "", ""), (600, reached, tid - 10, "running", "last in collective", "rank2"),
                       (reached, 900, tid - 10, "running", "", "")], got
    # a barrier whose communicator is not known is not followed
    write("unknown", hand, comms=False)
    assert not [x for x in report("unknown", 12) if x[4] == "last in collective"]
    # in a trace without communicators of collectives it is one of all ranks
    write("none", hand, comms=False, title="value 64")
    assert [x for x in report("none", 12) if x[4] == "last in collective"]
    # with a rank that is not there, or another sequence, the barrier is not followed: rank 2 sleeps
    for name, change in (("absent", {"nranks": 4}), ("other", {}), ("early", {})):
        events = [list(x) for x in hand]
        if name == "other":
            events[0][-3:-1] = ["1020 MAr", "1590 MAR"]
        if name == "early":  # it leaves before rank 1 enters
            events[0][-2] = "1400 MCB"
        write(name, events, **change)
        got = [x for x in report(name, 12) if x[2] != 2]
        assert not [x for x in report(name, 12) if x[4] == "last in collective"], (name, got)
    print("the paths by hand are right")


class Program:
    """Ranks that compute and sleep, send and receive, and meet in barriers; its own edges."""

    def __init__(self, seed):
        rnd = random.Random(seed)
        n = rnd.choice((2, 3, 5))
        self.n, self.now = n, [rnd.randrange(50) for _ in range(n)]
        self.events = [["%d OHx i32:%d i32:-1 u64:0" % (t, r)] for r, t in enumerate(self.now)]
        self.stays = [[] for _ in range(n)]  # (from, to, state)
        self.begin = list(self.now)
        self.edges = [[] for _ in range(n)]  # (to, at, other, reason)
        for _ in range(rnd.choice((5, 50, 300))):
            step = rnd.random()
            if step < 0.5:
                r = rnd.randrange(n)
                self.compute(r, rnd.choice((1, 50, 3000)))
                if rnd.random() < 0.4:
                    self.sleep(r, rnd.choice((10, 900)))
            elif step < 0.8:
                a, b = rnd.sample(range(n), 2)
                self.message(a, b, rnd)
            else:
                self.barrier(rnd)
        self.end = max(self.now) + 10
        for r in range(n):
            self.run_until(r, self.now[r] + 5)
            self.events[r].append("%d OHe" % self.now[r])

    def run_until(self, r, clock):
        self.now[r] = max(self.now[r], clock)
        if self.begin[r] < self.now[r]:
            self.stays[r].append((self.begin[r], self.now[r], "running"))
        self.begin[r] = self.now[r]

    def compute(self, r, ns):
        self.now[r] += ns

    def sleep(self, r, ns):
        self.run_until(r, self.now[r] + 1)
        start = self.now[r]
        self.now[r] = self.begin[r] = start + ns
        self.stays[r].append((start, start + ns, "asleep"))
        self.events[r] += ["%d OHp u16:1 i32:0" % start, "%d OHw i32:-2" % (start + ns), "%d OHr" % (start + ns)]

    def in_call(self, r, end, rnd):
        """In the call to `end`: spinning, or asleep and woken in it."""
        if end - self.now[r] > 20 and rnd.random() < 0.5:
            self.sleep(r, end - self.now[r] - rnd.randrange(2, 10))
        self.now[r] = max(end, self.now[r])

    def message(self, a, b, rnd):
        tag = rnd.randrange(3)
        self.now[a] += 3
        self.now[b] += 3
        posted, enter = self.now[a], self.now[b]
        end = posted + rnd.randrange(1, 20)
        if rnd.random() < 0.3:  # it waits for the receiver
            end = max(end, enter + rnd.randrange(1, 20))
        self.in_call(a, end, rnd)
        if posted < enter < self.now[a]:
            self.edges[a].append((self.now[a], enter, b, "late receiver"))
        self.events[a] += sent(posted, self.now[a], b, tag)
        leave = max(posted, enter) + rnd.randrange(1, 60)
        if enter < posted:
            self.edges[b].append((leave, posted, a, "late sender"))
        self.in_call(b, leave, rnd)
        leave = self.now[b]
        if enter < posted:
            self.edges[b][-1] = (leave, posted, a, "late sender")
        self.events[b] += received(enter, leave, a, tag)
        self.now[b] += 2

    def barrier(self, rnd):
        enters = []
        for r in range(self.n):
            self.now[r] += 1 + r
            while self.now[r] in [x for x, _ in enters]:
                self.now[r] += 1
            enters.append((self.now[r], r))
        at, last = max(enters)
        for enter, r in enters:
            self.in_call(r, at + rnd.randrange(1, 50), rnd)
            self.events[r] += ["%d MCb" % enter, "%d MCB" % self.now[r]]
            if r != last:
                self.edges[r].append((self.now[r], at, last, "last in collective"))
            self.now[r] += 2

    def path(self, r, end):
        out, now, start = [], end, min(s[0][0] for s in self.stays)
        while now > start:
            mine = self.stays[r]
            at = bisect.bisect_left(mine, (now,)) - 1
            if at < 0:
                out.append((start, now, r, "not recorded", "", ""))
                break
            low, _, state = mine[at]
            edge = next((e for e in self.edges[r] if e[1] < now <= e[0]), None)
            reason = {"running": "", "asleep": "sleeping"}[state]
            if edge and low <= edge[1]:
                out.append((edge[1], now, r, state, edge[3], "rank%d" % edge[2]))
                now, r = edge[1], edge[2]
            else:
                if not edge:  # the end of a call with an edge divides a stay
                    low = max([low] + [e[0] for e in self.edges[r] if e[0] < now])
                out.append((low, now, r, state, reason, "interrupt" if state == "asleep" else ""))
                now = low
        return out[::-1]


def at_random(n):
    hops = {}
    for seed in range(1, n + 1):
        p = Program(seed)
        write("random", p.events)
        r = seed % p.n
        first = min(s[0][0] for s in p.stays)
        got = [(a + first, b + first, *x) for a, b, *x in report("random", 10 + r)]
        want = p.path(r, p.stays[r][-1][1])
        # a sleep may end at the clock of a run: "by" of the run is the waker
        plain = lambda rows: [x[:4] + ((x[4], x[5]) if x[4] in WAITS else ()) for x in rows]
        assert plain(got) == plain(want), (seed, [x for x in zip(plain(got), plain(want)) if x[0] != x[1]][:2], len(got), len(want))
        assert sum(b - a for a, b, *_ in got) == p.stays[r][-1][1] - first
        for x in want:
            hops[x[4]] = hops.get(x[4], 0) + 1
    assert sum(hops[x] for x in WAITS) > 5 * n and hops["late receiver"] > n, hops
    print("%d random programs: %s hops through MPI" % (n, ", ".join("%d %s" % (hops[x], x) for x in WAITS)))


by_hand()
at_random(200 if os.environ.get("LONG") else 40)
E2
exec python3 model.py
