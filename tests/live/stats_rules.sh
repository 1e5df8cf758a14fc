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
