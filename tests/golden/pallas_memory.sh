#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The memory budget holds: an archive whose times take ten times as much is printed within it, as
# the kernel counts it, and yields the same text as with plenty; a budget that cannot do is refused.
set -u
pallas=$B/bin/ovni-pallas
python3 - trace <<'END' || exit 1
import json, os, random, struct, sys
random.seed(1)
path = sys.argv[1] + "/loom.n/proc.1/thread.1"
os.makedirs(path)
labels = {str(v): "f%d" % v for v in range(1, 41)}
json.dump({"version": 3, "ovni": {"lib": {"version": "0", "commit": "0"}, "part": "thread", "tid": 1, "pid": 1,
           "loom": "n", "app_id": 1, "require": {"ovni": "1.1.0"}, "finished": 1,
           "loom_cpus": [{"index": 0, "phyid": 0}],
           "mark": {"0": {"title": "F", "chan_type": "stack", "labels": labels}}}},
          open(path + "/stream.json", "w"))
clock, out = 0, [b"ovni" + struct.pack("<I", 1)]
for i in range(300000):
    # In order, so that the grammar is small and the times are all there is.
    value = 1 + i % 40
    for what in b"[]":
        clock += random.randrange(1, 1000000)
        out.append(bytes((11, 79, 77, what)) + struct.pack("<qqi", clock, value, 0))
open(path + "/stream.obs", "wb").write(b"".join(out))
END
"$pallas" export trace archive 2>err || { cat err; exit 1; }
"$pallas" print archive | md5sum >want
python3 - "$pallas" want <<'END'
import hashlib, re, subprocess, sys
for megabytes in (7, 9, 16):
    digest, peak = hashlib.md5(), 0
    with subprocess.Popen([sys.argv[1], "print", "--memory", "%dM" % megabytes, "archive"],
                          stdout=subprocess.PIPE) as child:
        # It waits for us to read on, so its greatest size so far can be asked for.
        while text := child.stdout.read(1 << 18):
            digest.update(text)
            found = re.search(r"VmHWM:\s*(\d+)", open("/proc/%d/status" % child.pid).read())
            peak = int(found.group(1)) if found else peak
    if child.returncode or digest.hexdigest() != open(sys.argv[2]).read().split()[0]:
        sys.exit("%d MB: another text" % megabytes)
    if not 1000 < peak <= megabytes * 1024:
        sys.exit("%d MB: took %d kB" % (megabytes, peak))
END
status=$?
"$pallas" print --memory 64K archive >out 2>err && { echo "64K were enough"; status=1; }
grep -q -- '--memory' err || { cat err; status=1; }
exit $status
