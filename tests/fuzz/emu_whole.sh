#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The whole emulator in one process, whatever streams, metadata and clock offsets: a verdict, never a
# crash, and the same one without output. Seeds: the hand-made traces, and small conformance vectors.
# long: other fuzzers cover the promises
set -eu
. "$S/tests/fuzz/lib.sh"
need_fuzzer
mkdir "$T/seeds" "$T/made"
for text in "$S"/tests/golden/emu/*.txt; do
	"$S/tests/golden/emu_make.py" "$text" "$T/made/$(basename "$text" .txt)"
done
python3 - "$T" "$CONFORMANCE" "$S" <<'PYTHON'
import glob, os, re, struct, sys
top, vectors, source = sys.argv[1:]
STREAMS = 4

def seed(name, trace, flags):
    paths = sorted(glob.glob(trace + "/**/stream.json", recursive=True))
    if len(paths) > STREAMS:
        return False
    out = bytes([flags])
    for i, path in enumerate(paths):
        for j, file in enumerate((path, os.path.dirname(path) + "/stream.obs")):
            data = open(file, "rb").read() if os.path.exists(file) else b""
            if len(data) > 6000:
                return False
            out += struct.pack("<BH", 2 * i + j, len(data)) + data
    offsets = trace + "/clock-offsets.txt"
    if os.path.exists(offsets):
        data = open(offsets, "rb").read()
        out += struct.pack("<BH", 2 * STREAMS, len(data)) + data
    open(os.path.join(top, "seeds", name), "wb").write(out)
    return True

made = 0
for i, trace in enumerate(sorted(glob.glob(top + "/made/*"))):
    for flags in 0, 1, 2 | 4, 8 | 32:
        made += seed("made%d-%d" % (i, flags), trace, flags)
for i, trace in enumerate(sorted(glob.glob(vectors + "/emu/*/trace"))):
    made += seed("vector%d" % i, trace, i % 64)
if made < 8:
    sys.exit("only %d seeds" % made)

# The events and keys of the catalogue, for the mutations.
words = set()
for path in glob.glob(source + "/trace/catalog/*.c"):
    words |= set(re.findall(r'"([A-Z6][^"\\]{2})"', open(path).read()))
words |= {"ovni", "require", "loom_cpus", "phyid", "index", "finished", "mark", "chan_type", "labels",
          "can_breakdown", "nranks", "rank", "version", "part", "thread"}
with open(top + "/words", "w") as out:
    for word in sorted(words):
        out.write('"%s"\n' % word)
PYTHON
build_emu_fuzzer emu_whole
run_fuzzer emu_whole "$FUZZ_SECONDS" -max_len=30000 -dict="$T/words"
