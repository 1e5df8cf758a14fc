#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A test of the judge of the live tests: compare accepts a trace that agrees with ftrace, and
# refuses it after each of these changes.
set -u

run() { # CHANGE
	mkdir "$T/$1"
	python3 "$S/tests/golden/compare.py" "$T/$1" "$1" || exit 1
	"$B/tests/live/compare" 1000000 9000000 "$T/$1/seen" "$T/$1/trace" >"$T/$1/out" 2>&1
}

status=0
for change in none late_by_15_us; do
	run $change || { echo "refused although right ($change):"; cat "$T/$change/out"; status=1; }
done
grep -q 'wakeups=2 .*holes=1 holes_told=1' "$T/none/out" || { cat "$T/none/out"; status=1; }
for change in late_by_25_us stay_missing stay_extra preempted_for_blocked other_sleep other_cpu \
	other_waker interrupted_for_waker wakeup_late thread_missing thread_extra hole_not_told \
	two_on_a_cpu; do
	run $change && { echo "accepted although wrong: $change"; cat "$T/$change/out"; status=1; }
	grep -q 'stays=\|two entries' "$T/$change/out" ||
		{ echo "no verdict: $change"; cat "$T/$change/out"; status=1; }
done
exit $status
