#!/bin/bash
# SPDX-License-Identifier: MIT
#
# docs/tutorial.md: the commands of its sections 1 to 4, as they stand there. The overview names the thread that waits for a
# CPU, and the one that had it.
# needs: root alone
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"
[ -e /sys/devices/system/cpu/cpu1 ] || skip "one CPU"
sudo() { "$@"; }
PATH=$B/bin:$PATH
# shellcheck disable=SC2016 # the marks of Markdown
sed '/^```/,/^```/d' "$S/docs/tutorial.md" | sed -n '/^## 1\./,/^## 5\./s/^    //p' >commands
grep -c . commands | grep -qx 12 || complain "not the 12 commands of the tutorial: $(cat commands)"
n=0
while read -r command; do
	n=$((n + 1)) status=0
	eval "$command" >"said.$n" 2>&1 </dev/null || status=$?
	[ $status = 0 ] || [ $status = 3 ] || complain "'$command' ended with $status: $(tail -n 5 "said.$n")"
	cat "said.$n" >>all
done <commands
kill %1 2>/dev/null # the loop
grep -qE '^1\. gzip \([0-9]+\) waited' all || complain "no finding about gzip: $(grep -A2 '^[0-9]\. ' all)"
tr '\n' ' ' <all | grep -qE '1\. gzip [^_]* sh \([0-9]+\).*2\. ' || complain "sh is not named: $(grep -A2 '^[0-9]\. ' all)"
grep -qE '^gzip \([0-9]+\) +sh \([0-9]+\) ' all || complain "preempt does not name sh"
grep -q '^valid: ' all || complain "ovni-check does not say that the trace is valid"
for file in first.html first.pftrace first/thread.prv; do
	[ -s "$file" ] || complain "no $file"
done
finish
