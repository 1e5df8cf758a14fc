#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
emu_make: a trace written by hand, as text, made into streams.

    emu_make.py TEXT DIR

    # a comment
    thread 11 of 10 in n1 cpus 0:0 1:1 require nosv=2.7.0 bpf=1.0.0
    json {"bpf": {"name": "a"}}                 more metadata of that thread, merged
    100 OHx i32:0 i32:-1 u64:0                  clock, event, payload
    110 VYc+ u32:1 str:task                     a jumbo event: + and its data
    raw 00ff                                    bytes as they are

CPUs are index:phyid. Every thread has the model ovni 1.1.0 and application 1.
"""
import json
import os
import struct
import sys

PACK = {"u8": "<B", "i8": "<b", "u16": "<H", "i16": "<h", "u32": "<I", "i32": "<i", "u64": "<Q",
        "i64": "<q"}


def merge(into, more):
    for key, value in more.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            merge(into[key], value)
        else:
            into[key] = value


def payload(words):
    out = b""
    for word in words:
        kind, _, value = word.partition(":")
        out += value.encode() + b"\0" if kind == "str" else struct.pack(PACK[kind], int(value, 0))
    return out


def event(clock, mcv, data):
    jumbo = mcv.endswith("+")
    head = mcv[:3].encode() + struct.pack("<q", clock)
    if jumbo:
        return bytes([0x13]) + head + struct.pack("<I", len(data)) + data
    return bytes([len(data) - 1 if data else 0]) + head + data


def thread_of(words):
    tid, pid, loom = int(words[0]), int(words[2]), words[4]
    meta = {"version": 3, "ovni": {
        "lib": {"version": "0", "commit": "0"}, "part": "thread", "tid": tid, "pid": pid,
        "loom": loom, "app_id": 1, "require": {"ovni": "1.1.0"}, "finished": 1}}
    section = None
    for word in words[5:]:
        if word in ("cpus", "require"):
            section = word
        elif section == "cpus":
            index, phyid = word.split(":")
            meta["ovni"].setdefault("loom_cpus", []).append(
                {"index": int(index), "phyid": int(phyid)})
        else:
            name, version = word.split("=")
            meta["ovni"]["require"][name] = version
    return "loom.%s/proc.%d/thread.%d" % (loom, pid, tid), meta


def main(text, top):
    streams, path = {}, None
    for number, line in enumerate(open(text, encoding="utf-8"), 1):
        line = line.split("#")[0].strip()
        words = line.split()
        if not words:
            continue
        try:
            if words[0] == "thread":
                path, meta = thread_of(words[1:])
                streams.setdefault(path, (meta, bytearray(b"ovni" + struct.pack("<I", 1))))
            elif words[0] == "json":
                merge(streams[path][0], json.loads(line[4:]))
            elif words[0] == "raw":
                streams[path][1].extend(bytes.fromhex(words[1]))
            else:
                streams[path][1].extend(event(int(words[0]), words[1], payload(words[2:])))
        except (ValueError, KeyError, IndexError, struct.error) as problem:
            sys.exit("%s:%d: %s" % (text, number, problem))
    for path, (meta, data) in streams.items():
        os.makedirs(os.path.join(top, path))
        with open(os.path.join(top, path, "stream.json"), "w", encoding="utf-8") as out:
            json.dump(meta, out, indent=1)
        with open(os.path.join(top, path, "stream.obs"), "wb") as out:
            out.write(data)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: %s TEXT DIR" % sys.argv[0])
    main(sys.argv[1], sys.argv[2])
