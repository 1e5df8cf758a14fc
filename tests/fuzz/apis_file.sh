#!/bin/bash
# SPDX-License-Identifier: MIT
#
# No text makes the reader of API files crash, and accepted files keep its invariants.
# long: other fuzzers cover the promises
set -eu
. "$S/tests/fuzz/lib.sh"
need_fuzzer
mkdir "$T/seeds"
python3 - "$T/seeds" "$S" <<'PYTHON'
import os, sys
seeds, top = sys.argv[1:]
head = b'{"api": 1, "title": "t", "marks": {"7": {"title": "a", "chan_type": "stack"}, "8": {"title": "b", "chan_type": "single"}},' \
       b'"parts": [{"libraries": ["l*"], "program": true, "spellings": ["{name}", "p{lower}_", "{upper}"], "functions": ['
texts = [b'{"symbols": "f", "during": "MS["}',
         b'{"symbols": ["f", "G"], "first": true, "entry": [{"end": "PI["}], "during": {"mark": 7, "label": "x"}, "note": "n"}',
         b'{"symbols": "f", "return": [{"begin": "PI[", "if": "zero"}, {"set": {"mark": 8}}]}, {"symbols": "g", "during": "PWc"}']
for i, text in enumerate(texts):
    open(os.path.join(seeds, "text%d" % i), "wb").write(head + text + b']}]}')
for name in "pthread", "nosv":
    open(os.path.join(seeds, name), "wb").write(open("%s/user/apis/%s.json" % (top, name), "rb").read())
open(os.path.join(os.path.dirname(seeds), "words"), "w").write("".join('"%s"\n' % w.replace('"', '\\"') for w in
    '"api" "map" "title" "marks" "chan_type" "parts" "libraries" "program" "spellings" "functions" "symbols" "first" "entry" "during" '
    '"return" "note" "begin" "end" "set" "if" "zero" "nonzero" "mark" "label" "PI[" {name} {lower} {upper}'.split()))
PYTHON
mapfile -t sources < <(module user/apis/api_file.c user/probes/{action,site_value}.c trace/base trace/ovni trace/catalog)
LDLIBS="-lcjson -lm -lseccomp" build_fuzzer apis_file "${sources[@]}"
run_fuzzer apis_file "$FUZZ_SECONDS" -max_len=8192 -dict="$T/words"
