#!/bin/bash
# SPDX-License-Identifier: MIT
#
# No text makes the reader of metadata crash; an accepted document can be written, and is accepted
# again.
# longer: for 30 seconds, not 3
set -eu
. "$S/tests/fuzz/lib.sh"
need_fuzzer
mkdir "$T/seeds"
python3 - "$T/seeds" "$CONFORMANCE" <<'PYTHON'
import glob, os, sys
seeds, vectors = sys.argv[1:]
texts = [b'{"version": 3, "ovni": {"part": "thread", "tid": 7, "finished": 1, "loom_cpus": [{"index": 0}]}}',
         b'{/* a */"a": 1 // b\n, "c": "/* \\" */"} trailing', b'[1, -2.5e3, 1e308, true, null, "\\u00e9\\ud83d\\ude42"]',
         b'{"a": 1, "a": 2}', b'\xef\xbb\xbf{}', b'[1, ]', b'[[[[[[[[]]]]]]]]', b'"\\u0000"', b'[012, 1e999, 0x1]',
         b'{"t0": "18446744073709551615", "n": "\xff\xc3\xa9"}', b'', b'{"": {"": 0}}']
for i, text in enumerate(texts):
    open(os.path.join(seeds, "text%d" % i), "wb").write(text)
for i, path in enumerate(sorted(glob.glob(vectors + "/emu/syn-*/trace/**/stream.json", recursive=True))[::9]):
    open(os.path.join(seeds, "vector%d" % i), "wb").write(open(path, "rb").read())
PYTHON
LDLIBS="-lcjson -lm" build_fuzzer trace_json "$S"/trace/base/{json,log,text}.c "$S"/trace/base/files/{beneath,input}.c
run_fuzzer trace_json "$FUZZ_SECONDS" -max_len=4096
