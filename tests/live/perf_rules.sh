#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What the recorder counts adds up: perf.json of real recordings, in full and in summary, periodic,
# sampled, filtered, of all threads and of some, keeps every rule of ovni-loom check; one
# nanosecond more does not.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"
loom=$B/bin/ovni-loom

kept() { # FILE: every rule
	"$loom" check --strict "$1" >checked 2>&1 || complain "$1: $(cat checked)"
	grep -qx 'verdict valid' checked || complain "$1: no verdict: $(cat checked)"
}

counted() { # NAME FILE OPTION... -- COMMAND...: records, and judges the file
	local name=$1 file=$2
	shift 2
	"$RECORDER" -o "$name" "$@" >"$name.log" 2>&1 || complain "$name: status $?: $(cat "$name.log")"
	kept "$file"
}

counted full full/perf.json -- "$WORKLOADS/threads" -n 50
counted summary summary.perf.json --mode summary -- "$WORKLOADS/processes" -n 20
counted often often/perf.json --interval 20ms -- "$WORKLOADS/sleepers"
counted sampled sampled/perf.json --sample 1/2 -- "$WORKLOADS/processes" -n 20
counted filtered filtered/perf.json --events switch -- "$WORKLOADS/pingpong" -n 1000
counted all all/perf.json -a -d 300ms

"$loom" stats full/perf.json >table 2>&1 || complain "stats: $(cat table)"
grep -q '^thread ' table && grep -q '^cpu ' table || complain "stats: no rows: $(cat table)"
grep -q 'of which 0 do not follow' table || complain "stats: $(cat table)"

# The rules see a nanosecond.
python3 - full/perf.json <<'PYTHON'
import re
text = open("full/perf.json").read()
at = text.rindex('"scope": "thread"')
changed = re.sub(r'"active_ns": (\d+)', lambda m: '"active_ns": %d' % (int(m.group(1)) + 1), text[at:], count=1)
open("changed.perf.json", "w").write(text[:at] + changed)
PYTHON
"$loom" check changed.perf.json >checked 2>&1
expect "a nanosecond more: status 1" [ $? = 1 ]
for rule in P4 P5; do
	expect "a nanosecond more: rule $rule: $(cat checked)" grep -q "^  error $rule " checked
done
finish
