#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-pallas export: the messages of random MPI programs are records of MPI, at the clocks, with the partners, tags,
# bytes and requests of the model that ran the programs, each in the region of its call; they add up to what
# ovni-report messages says. The archive obeys the rules, and its import is the trace, byte for byte. Of messages by
# hand: communicators that the program makes have numbers; one whose bytes are not known has no record. Collectives by
# hand have their operation, communicator, root and bytes.
set -eu
cd "$T"
cat >model.py <<'E2'
import json, os, random, re, struct, subprocess, sys
S, B = os.environ["S"], os.environ["B"]
sys.path.insert(0, S + "/tests/golden")
import messages_model as model

LAYOUT = {"MPI_SEND": "<IIIQ", "MPI_RECV": "<IIIQ", "MPI_ISEND": "<IIIQQ", "MPI_IRECV": "<IIIQQ",
          "MPI_ISEND_COMPLETE": "<Q", "MPI_IRECV_REQUEST": "<Q"}
COLLECTIVES = {"MPI_COLLECTIVE_BEGIN": "<", "MPI_COLLECTIVE_END": "<IIIQQ"}
CALLS = {"MPI_SEND": "Send Ssend Sendrecv", "MPI_RECV": "Recv Sendrecv", "MPI_ISEND": "Isend", "MPI_IRECV": "Wait Waitall",
         "MPI_ISEND_COMPLETE": "Wait Waitall", "MPI_IRECV_REQUEST": "Irecv"}


def pallas(*words):
    return subprocess.run([B + "/bin/ovni-pallas", *words], check=True, capture_output=True, text=True)


def streams(trace):
    return {os.path.relpath(os.path.join(path, "stream.obs"), trace): open(os.path.join(path, "stream.obs"), "rb").read()
            for path, _, files in os.walk(trace) if "stream.obs" in files}


def records(archive, layout=LAYOUT):
    out = []
    for line in pallas("print", "--tsv", archive).stdout.splitlines()[1:]:
        _, thread, time, _, name, payload = line.split("\t")
        if name in layout:
            out.append((int(thread), int(time), name, *struct.unpack(layout[name], bytes.fromhex(payload.strip("-")))))
    return out


def regions(archive):
    """Each record is in the region of a call that makes such a record."""
    open_calls = []
    for line in pallas("print", "--threads", archive).stdout.splitlines():
        if m := re.search(r"(Enter|Leave) \d+ \((.*)\)$", line):
            assert m[1] == "Enter" or open_calls.pop() == m[2], line
            if m[1] == "Enter":
                open_calls.append(m[2])
        elif (m := re.search(r"(MPI_\w+)\(", line)) and m[1] in CALLS:
            assert open_calls[-1].split(" ")[0][4:] in CALLS[m[1]].split(), (line, open_calls)


def export(name, *options):
    archive = name + "".join(options) + ".pallas"
    said = pallas("export", *options, name, archive).stderr
    pallas("check", archive)
    regions(archive)
    if not options:
        pallas("import", name + ".pallas", name + ".back")
        assert streams(name) == streams(name + ".back"), name
    return said


def expected(program):
    out = []
    for send, receive in program.pairs:
        a, b, tag, size = send["rank"], send["peer"], send["tag"], send["bytes"]
        if send["call"] == model.ISEND:
            out.append((a, send["posted"], "MPI_ISEND", b, 0, tag, size, send["request"]))
            if send["over"]:
                out.append((a, send["to"], "MPI_ISEND_COMPLETE", send["request"]))
        elif send["over"]:
            out.append((a, send["posted"], "MPI_SEND", b, 0, tag, size))
        if receive["call"] == model.IRECV:
            out.append((b, receive["posted"], "MPI_IRECV_REQUEST", receive["request"]))
            if receive["over"]:
                out.append((b, receive["to"], "MPI_IRECV", a, 0, tag, size, receive["request"]))
        elif receive["over"]:
            out.append((b, receive["to"], "MPI_RECV", a, 0, tag, size))
    return out


def at_random():
    kinds, unfinished = {}, 0
    for seed in range(30):
        rnd = random.Random(seed)
        program = model.Program(seed, rnd.randint(2, 5), 300, lambda rnd: True, lambda a, b: 0)
        name = "random%d" % seed
        model.write(name, program)
        said = export(name)
        got = records(name + ".pallas")
        assert sorted(got) == sorted(expected(program)), (seed, sorted(set(got) ^ set(expected(program))))
        missing = sum((send["call"] != model.ISEND or not send["over"]) and not send["over"] for send, _ in program.pairs) + \
            sum(not receive["over"] for _, receive in program.pairs)
        assert bool(re.search("^.*%d sends? (or|and) receives? ha" % missing, said, re.M)) == bool(missing), (seed, missing, said)
        report = json.loads(subprocess.run([B + "/bin/ovni-report", "messages", "--json", name], check=True,
                                           capture_output=True, text=True).stdout)
        sums = {}
        for record in got:
            if record[2] in ("MPI_SEND", "MPI_ISEND"):
                n, size = sums.get((record[0], record[3]), (0, 0))
                sums[record[0], record[3]] = n + 1, size + record[6]
        left_out = [(s["rank"], s["peer"]) for s, _ in program.pairs if s["call"] != model.ISEND and not s["over"]]
        for row in report:
            pair = row["from"], row["to"]
            if pair not in left_out:
                assert sums.pop(pair) == (row["messages"], row["bytes"] or 0), (seed, row)
        assert set(sums) <= set(left_out), sums
        for record in got:
            kinds[record[2]] = kinds.get(record[2], 0) + 1
        unfinished += missing
    print(", ".join("%d %s" % (kinds[k], k) for k in sorted(kinds)), "and", unfinished, "unfinished")
    assert set(kinds) == set(LAYOUT) and min(kinds.values()) > 100 and unfinished
    # without the events of the scheduler, the records are there, too
    export("random1", "--calls")
    assert records("random1--calls.pallas") == records("random1.pallas")


def by_hand():
    """Rank 1 receives two messages, and one of a datatype of the program, in copies of MPI_COMM_WORLD."""
    labels = {1: "MPI_Send", 2: "MPI_Recv", 3: "MPI_Comm_dup"}
    mark = lambda clock, kind, value, letter="=": "%d OM%s i64:%d i32:%d" % (clock, letter, value or -2147483648, kind)
    lines = []
    for rank in 0, 1:
        meta = {"56": {"title": "MPI\\u0020messages", "chan_type": "stack",
                       "labels": {str(v): t + "\\u0020of\\u0020MPICH" for v, t in labels.items()}},
                **{str(k): {"title": "value", "chan_type": "single"} for k in range(57, 70)}}
        lines += ["thread n%d 7 7 ovni.rank=%d ovni.nranks=2 ovni.mark=%s" % (
            rank, rank, json.dumps(meta, separators=(",", ":")).replace("\\\\u", "\\u")), "0 OHx i32:0 i32:-1 u64:0"]
        for i, handle in enumerate((77, 88)):
            lines += [mark(10 * i + 5, 64, model.WORLD), mark(10 * i + 5, 56, 3, "["), mark(10 * i + 6, 56, 3, "]"),
                      mark(10 * i + 6, 68, handle + rank)]
        for i, (comm, datatype) in enumerate(((77, model.INT), (88, model.INT), (model.WORLD, 0x8C000001))):
            at = 100 * i + 100 + 20 * rank
            comm += rank * (comm < 1000)
            lines += [mark(at, k, v) for k, v in ((62, 3), (63, datatype), (60, 1 - rank), (61, 5 + i), (64, comm))]
            lines += [mark(at, 56, 1 + rank, "["), mark(at + 50, 56, 1 + rank, "]")]
        lines.append("900 OHe")
    subprocess.run([sys.executable, S + "/tests/golden/tools_make.py", "hand"], input="\n".join(lines) + "\n", text=True, check=True)
    said = export("hand")
    got = records("hand.pallas")
    comms = [record[4] for record in got if record[2] == "MPI_SEND"]
    assert len(set(comms)) == 2, got
    assert got == [(0, 100, "MPI_SEND", 1, comms[0], 5, 12), (0, 200, "MPI_SEND", 1, comms[1], 6, 12),
                   (1, 170, "MPI_RECV", 0, comms[0], 5, 12), (1, 270, "MPI_RECV", 0, comms[1], 6, 12)], got
    assert "1 message of a derived datatype has no record" in said and "4 records of MPI" in said, said
    text = pallas("print", "hand.pallas").stdout
    assert "MPI_SEND(dest=1, comm=%d, tag=5, len=12)" % comms[0] in text, text
    assert re.findall(r"^ +(\d+) (MPI_\w+)$", pallas("stats", "hand.pallas").stdout, re.M) == [("2", "MPI_SEND"), ("2", "MPI_RECV")]
    assert "(MPI_RECV)" in pallas("info", "--grammar", "hand.pallas").stdout


def collectives():
    """Three ranks; of each call the operation, the root, and the bytes that each rank gives and gets."""
    none, derived, part = 0xFFFFFFFF, 0x8C000001, 55
    kinds = ("Barrier", "Bcast", "Reduce", "Allreduce", "Allgather", "Alltoall", "Scan", "Exscan", "Reduce_scatter_block",
             "Gather", "Comm_split")
    # name, count, datatype, root as the program says it, communicator; (operation, root in the world, [(given, got)])
    calls = (("Barrier", None, None, None, model.WORLD, (0, none, [(0, 0)] * 3)),
             ("Bcast", 5, model.INT, 1, model.WORLD, (1, 1, [(0, 20), (20, 0), (0, 20)])),
             ("Reduce", 2, model.INT, 2, model.WORLD, (12, 2, [(8, 0), (8, 0), (8, 8)])),
             ("Allreduce", 3, model.INT, None, model.WORLD, (11, none, [(12, 12)] * 3)),
             ("Allgather", 3, model.INT, None, model.WORLD, (6, none, [(12, 36)] * 3)),
             ("Alltoall", 3, model.INT, None, model.WORLD, (8, none, [(36, 36)] * 3)),
             ("Scan", 4, model.INT, None, model.WORLD, (14, none, [(16, 16)] * 3)),
             ("Exscan", 4, model.INT, None, model.WORLD, (15, none, [(16, 0), (16, 16), (16, 16)])),
             ("Reduce_scatter_block", 1, model.INT, None, model.WORLD, (16, none, [(12, 4)] * 3)),
             ("Gather", None, None, 0, model.WORLD, None),       # bytes not recorded
             ("Bcast", 5, derived, 1, model.WORLD, None),        # of a datatype of the program
             ("Barrier", None, None, None, 99, None),            # a communicator of an unknown kind
             # ranks 1 and 0, in this order, are 0 and 1 of it; rank 2 is alone in another one
             ("Bcast", 5, model.INT, 0, part, (1, 1, [(0, 20), (20, 0)])),
             ("Alltoall", 1, model.INT, None, part, (8, none, [(8, 8), (8, 8)])))
    mark = lambda clock, kind, value, letter="=": "%d OM%s i64:%d i32:%d" % (clock, letter, value or -2147483648, kind)
    lines, want = [], []
    for rank in range(3):
        meta = {"56": {"title": "MPI\\u0020messages", "chan_type": "stack",
                       "labels": {str(v + 1): "MPI_%s\\u0020of\\u0020MPICH" % t for v, t in enumerate(kinds)}},
                **{str(k): {"title": "value", "chan_type": "single"} for k in range(57, 70)}}
        lines += ["thread n%d 7 7 ovni.rank=%d ovni.nranks=3 ovni.mark=%s" % (
            rank, rank, json.dumps(meta, separators=(",", ":")).replace("\\\\u", "\\u")), "0 OHx i32:0 i32:-1 u64:0"]
        at = 50 + rank
        lines += [mark(at, 64, model.WORLD), mark(at, 69, rank // 2), mark(at, 59, -rank), mark(at, 56, len(kinds), "["),
                  mark(at + 5, 56, len(kinds), "]"), mark(at + 5, 68, part)]
        for i, (name, count, datatype, root, comm, record) in enumerate(calls):
            if comm == part and rank == 2:
                continue
            at = 100 * i + 100 + rank
            lines += [mark(at, kind, value) for kind, value in ((62, count), (63, datatype), (60, root), (64, comm)) if value is not None]
            lines += [mark(at, 56, 1 + kinds.index(name), "["), mark(at + 50, 56, 1 + kinds.index(name), "]")]
            if record:
                want.append((rank, at, "MPI_COLLECTIVE_BEGIN"))
                want.append((rank, at + 50, "MPI_COLLECTIVE_END", record[0], comm == part, record[1], *record[2][rank]))
        lines.append("9000 OHe")
    subprocess.run([sys.executable, S + "/tests/golden/tools_make.py", "all"], input="\n".join(lines) + "\n", text=True, check=True)
    said = export("all")
    got = records("all.pallas", COLLECTIVES)
    world = next(r[4] for r in got if r[2] == "MPI_COLLECTIVE_END" and r[3] == 0)
    got = [r[:4] + (r[4] != world, ) + r[5:] if len(r) > 3 else r for r in got]
    assert sorted(got) == sorted(want), (sorted(set(got) ^ set(want)))
    assert "9 calls of collectives have no record" in said, said
    text = pallas("print", "all.pallas").stdout
    assert "MPI_COLLECTIVE_BEGIN()" in text and "MPI_COLLECTIVE_END(op=1, comm=%d, root=1, sent=20, recv=0)" % world in text
    print(len(got), "records of collectives")


at_random()
by_hand()
collectives()
E2
PYTHONDONTWRITEBYTECODE=1 python3 model.py
