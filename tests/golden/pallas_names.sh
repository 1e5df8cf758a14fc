#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-pallas export: task types have their names and hardware counters are attributes with theirs, not bytes in hexadecimal;
# and every event comes back byte for byte, also two task types with the same sentence, and jumbo events without one.
set -eu
cd "$T"
python3 - <<'END'
import json, os, struct
path = "trace/loom.n/proc.1/thread.1"
os.makedirs(path)
json.dump({"version": 3, "ovni": {"lib": {"version": "0", "commit": "0"}, "part": "thread", "tid": 1, "pid": 1, "loom": "n",
                                  "app_id": 1, "require": {"ovni": "1.1.0", "nosv": "2.5.0"}, "finished": 1,
                                  "loom_cpus": [{"index": 0, "phyid": 0}]},
           "nosv": {"hwc": {"0": {"name": "CYCLES"}, "1": {"name": "INSTR\u001b"}}}}, open(path + "/stream.json", "w"))
events = [b"VYc" + struct.pack("<I", 1) + b"solve\0",
          b"VYc" + struct.pack("<I", 2) + b"a\x02\0", b"VYc" + struct.pack("<I", 2) + b"a\\x02\0",  # one sentence
          b"VYc" + struct.pack("<I", 2) + b"a\\x02\0tail",
          b"VYc" + struct.pack("<I", 3) + b"no end", b"zz+" + b"\1\2\3", b"VWC" + b"odd", b"VWC"]
events += [b"VWC" + struct.pack("<qqq", i, -i << 40, 7) for i in range(300)]
events += [b"VWC" + struct.pack("<200q", *range(200))]  # more than a list holds
with open(path + "/stream.obs", "wb") as f:
    f.write(b"ovni" + struct.pack("<I", 1))
    for i, event in enumerate(events):
        f.write(b"\x13" + event[:3] + struct.pack("<qI", 1000 + i, len(event) - 3) + event[3:])
END
"$B/bin/ovni-pallas" export trace archive 2>err || { cat err; exit 1; }
"$B/bin/ovni-pallas" print archive >events
"$B/bin/ovni-pallas" print --attributes archive >attributes
"$B/bin/ovni-pallas" check archive
"$B/bin/ovni-pallas" import archive back 2>err || { cat err; exit 1; }
cmp trace/loom.n/proc.1/thread.1/stream.obs back/loom.n/proc.1/thread.1/stream.obs
grep -q '    VYc+ creates the task type 1 labelled "solve"$' events || { echo "the name of a task type"; cat events; exit 1; }
[ "$(grep -c '    VWC+ reads the hardware counters$' events)" = 300 ] || { echo "counters"; cat events; exit 1; }
# two of one sentence, three without one, the odd, the empty and the long counters
[ "$(grep -c '    jumbo ' events)" -le 7 ] || { echo "jumbo:"; grep jumbo events; exit 1; }
python3 - <<'END'
import re
want = [(i, "CYCLES=%d; INSTR\\x1b=%d; 2=7" % (i, -i << 40)) for i in range(300)]
have = [(int(m[1]), m[2]) for m in re.finditer(r"\t(\d+)\t(CYCLES=.*)$", open("attributes").read(), re.M)]
assert have == want, have[:3]
END
[ "$("$B/bin/ovni-pallas" info --definitions archive | grep -c "^  string ")" -lt 30 ] || { echo "too many strings"; exit 1; }
