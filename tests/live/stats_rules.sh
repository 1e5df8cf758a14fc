#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The statistics of real recordings add up: in full and in summary mode, periodic, sampled, filtered,
# of all threads and of some. ovni-check finds no error, and finds one nanosecond too much.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

counted() { # NAME FILE OPTION... -- COMMAND...: records, and checks the file
	local name=$1 file=$2
	shift 2
	"$RECORDER" -o "$name" "$@" >"$name.log" 2>&1 || complain "$name: status $?: $(cat "$name.log")"
	"$B/bin/ovni-check" --strict "$file" >checked 2>&1 || complain "$name: $(cat checked)"
	grep -q '^valid: ' checked || complain "$name: no verdict: $(cat checked)"
}

counted full full/stats.json -- "$WORKLOADS/threads" -n 50
counted summary summary.stats.json --mode summary -- "$WORKLOADS/processes" -n 20
counted often often/stats.json --interval 20ms -- "$WORKLOADS/sleepers"
counted sampled sampled/stats.json --sample 1/2 -- "$WORKLOADS/processes" -n 20
counted filtered filtered/stats.json --events switch -- "$WORKLOADS/pingpong" -n 1000
counted all all/stats.json -a -d 300ms

# Where only some threads are recorded, idle time is not known: no ratio is made of it.
python3 - <<'PYTHON' >judged 2>&1 || complain "idle time: $(cat judged)"
import json
for name, known in (("full/stats.json", False), ("summary.stats.json", False), ("all/stats.json", True)):
    doc = json.load(open(name))
    assert doc["idle_known"] is known, (name, doc["idle_known"])
    for line in (s for s in doc["snapshots"] if s["scope"] == "cpu"):
        of_idle = [line["metrics"][key] for key in ("utilization", "traced_share", "input_stall_ratio")]
        assert (None in of_idle) != known and (known or not line["idle_ns"]), (name, line)
PYTHON

# The check sees a nanosecond.
python3 - full/stats.json <<'PYTHON'
import re
text = open("full/stats.json").read()
at = text.rindex('"scope": "thread"')
changed = re.sub(r'"active_ns": (\d+)', lambda m: '"active_ns": %d' % (int(m.group(1)) + 1), text[at:], count=1)
open("changed.stats.json", "w").write(text[:at] + changed)
PYTHON
"$B/bin/ovni-check" changed.stats.json >checked 2>&1
expect "a nanosecond more: status 1" [ $? = 1 ]
for finding in 'the states add up to' 'active_ns .* but the threads sum to'; do
	expect "a nanosecond more: $finding: $(cat checked)" grep -q "^error: changed.stats.json: .*$finding" checked
done
finish
