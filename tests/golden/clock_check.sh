#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-emu counts the collectives of all ranks that contradict the clocks: random jobs of several nodes, whose table of
# offsets is wrong by known amounts, against a model: the number, the largest, its ranks, beyond the bounds of the table
# or without one. The communicators are those of --api mpi, of functions of C or Fortran, or of --api mpi-messages:
# collectives of others than MPI_COMM_WORLD are left out; without communicators each counts as one of all ranks. Nothing is said with missing ranks, or with sampled calls.
# longer: more random jobs
set -eu
cd "$T"
cat >model.py <<'PY'
import ctypes, json, os, random, re, struct, subprocess, sys
sys.path.insert(0, os.environ["S"] + "/tests/golden")
import tools_make

EMU, LONG = os.environ["B"] + "/bin/ovni-emu", bool(os.environ.get("LONG"))
KINDS = (("MCb", "MCB"), ("MAr", "MAR"), ("MAa", "MAA"))
START = 5000 * 10**9


def job(rnd, groups=False, nnodes=None):
    """Nodes with errors of their clocks and bounds; per rank its node, and enter and leave of each collective.
    groups: False, True (each is of two groups), or a function that chooses for each call."""
    nnodes = nnodes or rnd.randrange(2, 5)
    nodes = [(rnd.randrange(-4000, 4000), rnd.randrange(3000)) for _ in range(nnodes)]
    ranks = [rnd.randrange(nnodes) for _ in range(rnd.randrange(nnodes, 9))]
    ranks[:nnodes] = range(nnodes)
    ready, calls = [START + 10000] * len(ranks), []
    for k in range(rnd.randrange(1, 12)):
        kind = rnd.choice(KINDS)
        enter = [r + rnd.randrange(1, 30000) for r in ready]
        split = groups(rnd) if callable(groups) else groups
        members = [[i for i in range(len(ranks)) if i % 2 == side] for side in (0, 1)] if split else [range(len(ranks))]
        leave = [0] * len(ranks)
        for team in members:
            for i in team:
                leave[i] = max(enter[j] for j in team) + rnd.randrange(3, 2000)
        calls.append((kind, enter, leave, split) if callable(groups) else (kind, enter, leave))
        ready = [r + 20 for r in leave]
    return nodes, ranks, calls


MARKS = json.dumps({"56": {"title": "MPI messages", "chan_type": "stack", "labels": {
    "1": "MPI_Barrier of MPICH", "2": "MPI_Allreduce of MPICH", "3": "MPI_Alltoall of MPICH"}},
    "64": {"title": "MPI communicator", "chan_type": "single"}}, separators=(",", ":")).replace(" ", "\\u0020")


def write(trace, nodes, ranks, calls, table, meta="", missing=(), communicators="C",
          init=("%d MUi", "%d MUI")):
    """communicators: "C" or "Fortran", of --api mpi; "messages", of --api mpi-messages; or "". init: the first calls."""
    lines = []
    meta += " ovni.mark=" + MARKS if communicators == "messages" else ""
    meta += " " + tools_make.COMMUNICATOR if communicators in ("C", "Fortran") else ""
    for i, node in enumerate(ranks):
        if i in missing:
            continue
        off = nodes[node][0]
        lines.append('thread n%d %d %d ovni.require.mpi="1.0.0" bpf.rank=%d bpf.nranks=%d%s' % (
            node, 10 + i, 10 + i, i, len(ranks), meta))
        lines.append("%d OHx i32:-1 i32:-1 u64:0" % (START + off))
        lines += [line % (START + off + 10 + k) for k, line in enumerate(init)]
        for (begin, end), enter, leave, *split in calls:
            # its communicator: MPI_COMM_WORLD, or another one
            at, to = enter[i] + off, leave[i] + off
            comm = "OM= i64:%d i32:64" % (0x84000001 if split and split[0] else 0x44000000)
            if communicators in ("C", "messages"):
                lines.append("%d %s" % (at, comm))
            if communicators == "messages":
                lines.append("%d OM[ i64:%d i32:56" % (at, KINDS.index((begin, end)) + 1))
            # a function within it, which is no call of its own, and a message beside it
            lines += ["%d %s" % (enter[i] + off, begin)]
            if communicators == "Fortran":  # which calls the function of C
                lines.append("%d %s" % (at + 2, comm))
            lines += ["%d MSs" % to, "%d MSS" % (leave[i] + off),
                      "%d %s" % (leave[i] + off, end)]
            if communicators == "messages":
                lines.append("%d OM] i64:%d i32:56" % (to, KINDS.index((begin, end)) + 1))
            lines += ["%d MS[" % (leave[i] + off + 5), "%d MS]" % (leave[i] + off + 6)]
        lines.append("%d OHe" % (calls[-1][2][i] + off + 100))
    subprocess.run(["rm", "-rf", trace])
    tools_make.main(trace, lines)
    if table:  # in which all clocks are equal
        with open(trace + "/clock-offsets.txt", "w", encoding="utf-8") as file:
            file.write("rank hostname offset_median offset_mean offset_std\n" + "".join(
                "%d n%d 0 0 0 1 9 0 %d\n" % (n, n, nodes[n][1]) for n in range(len(nodes))))


def run(trace, *options):
    done = subprocess.run([EMU, *options, "-o", "out", trace], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [line for line in done.stderr.splitlines() if "contradict" in line], done.stderr


def opened(trace):
    """How often ovni-emu opens the metadata of the first rank, and closes them: inotify merges equal events."""
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.inotify_init1(os.O_NONBLOCK)
    assert libc.inotify_add_watch(fd, os.fsencode(trace + "/loom.n0/proc.10/thread.10/stream.json"), 0x30) > 0, ctypes.get_errno()
    run(trace)
    events = os.read(fd, 65536)
    os.close(fd)
    return len(events) // struct.calcsize("iIII")


def model(nodes, ranks, calls, table):
    """The number of contradictory collectives, and the largest gap, with its ranks."""
    count, worst = 0, (0, )
    for _, enter, leave, *_ in calls:
        out, first = min((leave[i] + nodes[ranks[i]][0], i) for i in range(len(ranks)))
        gaps = []
        for i, node in enumerate(ranks):
            bound = nodes[node][1] + nodes[ranks[first]][1] if table else 0
            late = enter[i] + nodes[node][0]
            if late - out > bound:
                gaps.append((late - out - bound, late - out, first, i))
        count += bool(gaps)
        worst = max([worst] + [max(gaps, key=lambda g: g[0])] if gaps else [worst], key=lambda g: g[0])
    return count, worst


seed, n = int(os.environ.get("SEED") or 1), 200 if LONG else 40
said = quiet = 0
for one in range(seed, seed + n):
    rnd = random.Random(one)
    nodes, ranks, calls = job(rnd)
    table = rnd.random() < 0.7
    write("t", nodes, ranks, calls, table, communicators=rnd.choice(("C", "Fortran")))
    lines, err = run("t")
    count, worst = model(nodes, ranks, calls, table)
    if not count:
        assert not lines, (one, err)
        quiet += 1
        continue
    said += 1
    assert len(lines) == 1, (one, err)
    got = re.search(r"the clocks contradict (\d+) of (\d+) collectives? of all ranks: rank (\d+) on n(\d+) left one ([\d.]+) us "
                    r"before rank (\d+) on n(\d+) entered it, and (.*)", lines[0])
    assert got, lines
    assert int(got[1]) == count and int(got[2]) == len(calls), (one, count, len(calls), lines)
    gap, left, late = round(float(got[5]) * 1000), int(got[3]), int(got[6])
    assert gap == worst[1] and (left, late) == worst[2:], (one, worst, lines)
    assert (int(got[4]), int(got[7])) == (ranks[left], ranks[late]), (one, lines)
    assert ("no table" in got[8]) == (not table), (one, lines)
    assert not run("t", "--compat")[0], one
    write("t", nodes, ranks, calls, table, communicators="")
    assert run("t")[0] == lines, one
print("%d jobs with contradictions, %d without" % (said, quiet))
assert said > 10 and quiet > 3

# Calls that need not be of all ranks: two communicators, with two ranks on a node.
nodes, silent = [(0, 0), (0, 0)], 0
for one in range(seed, seed + 20):
    rnd = random.Random(one)
    _, _, calls = job(rnd, groups=True)
    if len(calls[0][1]) < 4 or len(calls) < 4:
        continue
    ranks = [i // 2 % 2 for i in range(len(calls[0][1]))]
    write("t", nodes, ranks, calls, True)
    assert not run("t")[0], one
    silent += 1
assert silent > 3

# Some calls of each node alone, as of MPI_Comm_split_type: those of all ranks alone count. Without communicators they
# cannot be told from those of all ranks, and look like clocks that are wrong.
wrong = right = 0
for one in range(seed, seed + n):
    rnd = random.Random(one)
    nodes, _, calls = job(rnd, lambda r: r.random() < 0.6, 2)
    ranks = [i % 2 for i in range(len(calls[0][1]))]
    if not any(call[3] for call in calls):
        continue
    write("t", [(0, 0), (0, 0)], ranks, calls, True, communicators="")
    wrong += bool(run("t")[0])
    for how in ("C", "Fortran", "messages"):
        write("t", [(0, 0), (0, 0)], ranks, calls, True, communicators=how)
        assert not run("t")[0], (one, how)
    write("t", nodes, ranks, calls, True, communicators=rnd.choice(("C", "Fortran", "messages")))
    lines, err = run("t")
    count, worst = model(nodes, ranks, [call for call in calls if not call[3]], True)
    assert bool(lines) == bool(count), (one, count, err)
    if count:
        right += 1
        whole = sum(not call[3] for call in calls)
        assert "contradict %d of %d collective" % (count, whole) in lines[0], (one, lines, count, whole)
        assert "rank %d on n%d left one %.3f us before rank %d " % (worst[2], ranks[worst[2]], worst[1] / 1e3, worst[3]) in lines[0], lines
print("%d false warnings without communicators, %d right ones with them" % (wrong, right))
assert wrong > 3 and right > 3

nodes, ranks = [(0, 0), (10**6, 0)], [0, 1]
calls = [(KINDS[0], [START + 1000] * 2, [START + 1500] * 2)]
write("t", nodes, ranks, calls, True)
assert "contradict 1 of 1 collective of all ranks: rank 0 on n0 left one 999.500 us before rank 1 on n1" in run("t")[0][0]

# The check opens the trace for its communicators alone. Without them, opening it twice is for nothing.
once = write("t", nodes, ranks, calls, True, communicators="") or opened("t")
twice = write("t", nodes, ranks, calls, True) or opened("t")
assert 0 < once < twice, (once, twice)

# MPI_Init within another call is not the program's: before it nothing is said.
for how in ("", "C", "messages"):
    write("t", nodes, ranks, calls, True, communicators=how, init=("%d MSs", "%d MUi", "%d MUI", "%d MSS"))
    assert not run("t")[0], how

write("t", nodes, [0, 1, 1], [(KINDS[0], [START + 1000] * 3, [START + 1500] * 3)], True, missing=[2])
assert not run("t")[0]
write("t", nodes, ranks, calls, True, ' bpf.session.account=[{"probe":{"sampled":"1"}}]')
assert not run("t")[0]
PY
PYTHONDONTWRITEBYTECODE=1 python3 model.py
