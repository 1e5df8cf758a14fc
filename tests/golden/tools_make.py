#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
tools_make: writes a trace from a description that one can read.

    tools_make.py DIR <description

    thread LOOM PID TID [KEY=JSON ...]   starts a stream; a dotted KEY adds to its metadata,
                                         KEY= removes it
    CLOCK MCV [TYPE:VALUE ...]           an event; TYPE is i8 ... u64, str (text and NUL)
    CLOCK MCV+ [TYPE:VALUE ...]          a jumbo event
    raw HEX                              bytes as they are
    # ...                                a remark

In a description `_` stands for a blank in a text. Metadata: a thread of application 1,
finished; the first one of a loom declares 4 CPUs.
"""
import json
import os
import struct
import sys

WORLD = 0x44000000  # MPI_COMM_WORLD of MPICH
SYNCHRONISING = ("MAg", "MAr", "MAa", "MCb", "MEs", "MEb")
COMMUNICATOR = r'ovni.mark.64={"title":"MPI\u0020communicator","chan_type":"single"}'
CODES = {"i8": "b", "u8": "B", "i16": "h", "u16": "H", "i32": "i", "u32": "I", "i64": "q", "u64": "Q"}


def put(meta, key, text):
    *path, last = key.split(".")
    for name in path:
        meta = meta.setdefault(name, {})
    if text:
        meta[last] = json.loads(text)
    else:
        meta.pop(last, None)


def metadata(loom, pid, tid, first, changes):
    meta = {"version": 3, "ovni": {
        "lib": {"version": "0", "commit": "test"}, "part": "thread", "tid": tid, "pid": pid,
        "loom": loom, "app_id": 1, "require": {"ovni": "1.1.0"}, "finished": 1}}
    if first:
        meta["ovni"]["loom_cpus"] = [{"index": i, "phyid": i} for i in range(4)]
    for change in changes:
        put(meta, *change.split("=", 1))
    return meta


def with_communicators(lines, choose=lambda: WORLD):
    """The same description, as --api mpi records it: synchronising collectives have their communicator."""
    out, thread, known = [], None, False
    for line in lines:
        words = line.split()
        if words[:1] == ["thread"]:
            thread, known = len(out), False
        elif words[1:2] and words[1] in SYNCHRONISING:
            if not known:
                out[thread] += " " + COMMUNICATOR
                known = True
            out.append("%s OM= i64:%d i32:64" % (words[0], choose()))
        out.append(line)
    return out


def payload(words):
    out = b""
    for word in words:
        kind, value = word.split(":", 1)
        if kind == "str":
            out += value.replace("_", " ").encode() + b"\0"
        else:
            out += struct.pack("<" + CODES[kind], int(value, 0))
    return out


def event(clock, mcv, data):
    jumbo = mcv.endswith("+") and len(mcv) == 4
    flags = 0x13 if jumbo else len(data) - 1 if data else 0
    assert jumbo or len(data) in range(17) and len(data) != 1, (mcv, data)
    head = struct.pack("<B3sq", flags, mcv[:3].encode("latin-1"), clock)
    return head + (struct.pack("<I", len(data)) if jumbo else b"") + data


def main(trace, lines):
    out, looms = None, set()
    for line in lines:
        words = line.split()
        if not words or words[0] == "#":
            continue
        if words[0] == "thread":
            loom, pid, tid = words[1], int(words[2]), int(words[3])
            folder = os.path.join(trace, "loom." + loom, "proc.%d" % pid, "thread.%d" % tid)
            os.makedirs(folder)
            with open(os.path.join(folder, "stream.json"), "w", encoding="utf-8") as file:
                json.dump(metadata(loom, pid, tid, loom not in looms, words[4:]), file)
            looms.add(loom)
            if out:
                out.close()
            out = open(os.path.join(folder, "stream.obs"), "wb")
            out.write(b"ovni" + struct.pack("<I", 1))
        elif words[0] == "raw":
            out.write(bytes.fromhex("".join(words[1:])))
        else:
            out.write(event(int(words[0]), words[1], payload(words[2:])))
    if out:
        out.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.stdin)
