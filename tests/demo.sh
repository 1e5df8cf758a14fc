#!/bin/bash
# SPDX-License-Identifier: MIT
#
# `sudo make demo`: records a small parallel program for a few seconds, emulates the trace, and
# shows the results.
#
#   tests/demo.sh [BUILD]      the trace is left in BUILD/demo, its page in BUILD/demo.html
set -u
B=${1:-build}
S=$(cd "$(dirname "$0")/.." && pwd)
cd "$B" || exit 1
B=$PWD
trace=demo

if [ -t 1 ] && [ "${TERM:-dumb}" != dumb ]; then
	bold=$'\033[1m' plain=$'\033[0m'
else
	bold='' plain=''
fi
title() { printf '\n%s%s%s\n\n' "$bold" "$1" "$plain"; }
shown() { printf '  $ %s\n' "$*"; }

rm -rf "$trace" "$trace.html"
title "1. Record: a program with a pool of four workers, on $(nproc) CPUs, as it is"
shown "ovni-bpf --html -o $trace -- tests/workloads/phases"
WORKLOAD_MAIN=reported "$B/bin/ovni-bpf" --html -o "$trace" -- "$B/tests/workloads/phases" -t 3000 || {
	status=$?
	echo "demo: the recording failed with status $status" >&2
	[ $status = 3 ] || exit $status
}

title "2. Emulate: from thread events to Paraver"
shown "ovni-emu -l $trace"
"$B/bin/ovni-emu" -l "$trace" 2>"$B/demo.log" || {
	cat "$B/demo.log" >&2
	echo "demo: the emulation failed" >&2
	exit 1
}

title "3. What came of it"
PYTHONDONTWRITEBYTECODE=1 python3 "$S/tests/demo.py" "$trace" "$B" || exit 1

title "4. Look: the whole recording, then a tenth of a second of it"
shown "ovni-report timeline $trace"
"$B/bin/ovni-report" timeline --no-pager "$trace"
echo
shown "ovni-report timeline --from +1s --to +1.1s $trace"
"$B/bin/ovni-report" timeline --no-pager --from +1s --to +1.1s "$trace"

title "5. Where did the time go?"
shown "ovni-report $trace"
"$B/bin/ovni-report" --no-pager "$trace"

title "6. Look at all of it in a browser: no network, no server"
[ -s "$trace.html" ] || { echo "demo: there is no page" >&2; exit 1; }
printf '  %s\n' "file://$B/$trace.html"
