#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Runs of co-simulations in every form: records per second and peak memory of dump, check and stats (import and
# export: loom.sh). Twice the records have to take twice the time and the same memory; more nodes may take more.
# Where the machine is busy, the time on the CPU says more than that of the clock.
#
#   tests/bench/loom_forms.sh BUILD [RECORDS]
set -eu
cd "$(dirname "$0")/../.."
B=${1:-build} records=${2:-10000000}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/loom-bench.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
loom=$B/bin/ovni-loom

measure() { # RECORDS NAME COMMAND...: one line
	local n=$1 name=$2 out
	shift 2
	out=$(python3 - "$@" <<'PYTHON'
import os, re, sys, time
start = time.time()
pid = os.fork()
if pid == 0:
    null = os.open("/dev/null", os.O_WRONLY)
    os.dup2(null, 1)
    os.execvp(sys.argv[1], sys.argv[1:])
peak, ended = 0, 0
while not ended:
    # the peak that wait4() gives is at least that of the parent
    found = re.search(r"Name:\s+(?!python).*?VmHWM:\s+(\d+)", open("/proc/%d/status" % pid).read(), re.S)
    peak = int(found.group(1)) if found else peak
    ended, status, usage = os.wait4(pid, os.WNOHANG)
    time.sleep(0.002)
print("%.2f %.2f %d %d" % (time.time() - start, usage.ru_utime + usage.ru_stime, peak,
                           os.waitstatus_to_exitcode(status)))
PYTHON
	)
	# shellcheck disable=SC2086 # four numbers
	set -- $out
	[ "$4" = 0 ] || echo "  $name: status $4"
	awk "BEGIN { printf \"  %-22s %10d records  %7.2f s  cpu %7.2f s  %6.2f M/s  %7d KiB\\n\", \"$name\", $n, $1, $2, $n / $2 / 1e6, $3 }"
}

for form in ltrc natural48 json; do
	n=$records
	[ $form = json ] && n=$((records / 5)) # 190 bytes a record
	echo "$form"
	for times in 1 2; do
		run=$scratch/run.trace.bin
		"$B/tests/bench/loom_forms" $form $((n * times)) "$run"
		if [ $times = 1 ]; then
			measure "$n" cat cat "$run"
			measure "$n" dump "$loom" dump "$run"
			measure "$n" "dump, one node" "$loom" dump --nodes 3 "$run"
		fi
		measure $((n * times)) check "$loom" check "$run"
		measure $((n * times)) stats "$loom" stats "$run"
		rm "$run"
	done
done
echo "ltrc, 5000 nodes"
"$B/tests/bench/loom_forms" ltrc "$records" "$scratch/run.trace.bin" 5000
measure "$records" check "$loom" check "$scratch/run.trace.bin"
