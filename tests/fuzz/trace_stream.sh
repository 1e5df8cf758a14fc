#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The reader of streams, mapped and by windows, has the same events as a plain decoding, for any
# bytes.
# longer: for 30 seconds, not 3
set -eu
. "$S/tests/fuzz/lib.sh"
need_fuzzer
mkdir "$T/seeds"
python3 - "$T/seeds" "$CONFORMANCE" <<'PYTHON'
import glob, os, struct, sys
seeds, vectors = sys.argv[1:]
header = b"ovni" + struct.pack("<I", 1)

def event(mcv, clock, payload=b""):
    return bytes([len(payload) - 1 if payload else 0]) + mcv + struct.pack("<q", clock) + payload

def jumbo(mcv, clock, data):
    return b"\x13" + mcv + struct.pack("<qI", clock, len(data)) + data

def save(name, *streams):
    with open(os.path.join(seeds, name), "wb") as out:
        for s in streams:
            out.write(struct.pack("<H", min(len(s), 65535)) + s)

one = header + event(b"OHx", 5, struct.pack("<iiQ", 1, -1, 7)) + event(b"OHp", 9, struct.pack("<Hi", 6, 0)) \
    + event(b"OHw", 9, struct.pack("<i", -2)) + event(b"OHe", 12)
two = header + jumbo(b"VYc", 5, struct.pack("<I", 1) + b"label\0") + jumbo(b"VWC", 8, struct.pack("<qq", 1, 2)) \
    + event(b"OM[", 9, struct.pack("<qi", 3, 7))
save("empty", header)
save("one", one)
save("two", one, two)
save("cut", one[:-3], two[:-1])
save("long", header + b"".join(event(b"OB.", i, bytes(i % 15 + 2)) for i in range(600)))
save("large", header + jumbo(b"VYc", 1, bytes(9000)) + event(b"OHe", 2))
save("zeros", header + bytes(48))
save("backwards", header + event(b"OB.", 5) + event(b"OB.", 3))
for i, path in enumerate(sorted(glob.glob(vectors + "/emu/syn-*/trace/**/stream.obs", recursive=True))[:200]):
    data = open(path, "rb").read()
    if len(data) < 2000:
        save("vector%d" % i, data)
PYTHON
mapfile -t sources < <(module trace/base trace/ovni trace/catalog)
LDLIBS="-lcjson -lm -lseccomp" build_fuzzer trace_stream "${sources[@]}"
run_fuzzer trace_stream "$(share 2)" -max_len=20000
FUZZ_WINDOWS=1 run_fuzzer trace_stream "$(share 2)" -max_len=20000
