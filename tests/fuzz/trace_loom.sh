#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The Loom reader, the checks of its records and the statistics beside them, on any bytes.
# long: other fuzzers cover the promises
set -eu
. "$S/tests/fuzz/lib.sh"
need_fuzzer
mkdir "$T/seeds"
"$S/tests/golden/loom_runs.py" "$T/runs"
python3 - "$T/seeds" "$T/runs" "$CONFORMANCE" <<'PYTHON'
import glob, os, re, struct, sys
seeds, runs, vectors = sys.argv[1:]
keys = set()
for folder in sorted(glob.glob(runs + "/*/") + glob.glob(vectors + "/loom/*/")):
    traces, perfs = [b""], [b""]
    for path in sorted(glob.glob(folder + "/*")):
        data = open(path, "rb").read()
        name = os.path.basename(path)
        if name.startswith("expected") or name.endswith(".md") or len(data) > 8000:
            continue
        (perfs if "perf" in name or "stat" in name else traces).append(data)
    keys.update(key for perf in perfs for key in re.findall(rb'"\w+":', perf))
    for i, perf in enumerate(perfs[:3]):
        name = os.path.basename(folder.rstrip("/"))
        with open(os.path.join(seeds, "%s%d" % (name, i)), "wb") as out:
            out.write(struct.pack("<H", len(traces[-1])) + traces[-1] + perf)
            if traces[-1]:  # and alone: what a recorder writes
                open(out.name + "p", "wb").write(b"\0\0" + perf)
with open(seeds + "/../keys", "w", encoding="ascii") as out:  # words that bytes alone do not find
    out.writelines('"%s"\n' % key.decode("ascii").replace('"', '\\"') for key in sorted(keys))
PYTHON
mapfile -t sources < <(module trace/base trace/ovni trace/catalog trace/loom)
LDLIBS="-lcjson -lm -lseccomp" build_fuzzer trace_loom "${sources[@]}"
run_fuzzer trace_loom "$FUZZ_SECONDS" -max_len=20000 -dict="$T/keys"
