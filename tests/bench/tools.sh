#!/bin/bash
# SPDX-License-Identifier: MIT
#
# How fast the tools are that go through whole traces:
#
#   tests/bench/tools.sh [BUILD]
#
# Dump into a pipe, top, and sort of 5 million events in 4 streams, and the overview of 10 million
# events of 64 and of 10,000 threads, and their efficiency as ranks of MPI; each the best of five runs, with the greatest memory. Streams
# are read from the page cache.
set -eu
B=$(cd "${1:-build}" && pwd)
T=$(mktemp -d "${TMPDIR:-/tmp}/ovni-bench.XXXXXX")
trap 'rm -rf "$T"' EXIT
n=5000000

best() { # LABEL GOAL COMMAND: the shortest of five runs; $T/work is remade from $T/keep if there
	local shortest=999 seconds peak=0 kb
	for _ in 1 2 3 4 5; do
		if [ -d "$T/keep" ]; then
			rm -rf "$T/work"
			cp -r "$T/keep" "$T/work"
		fi
		python3 - "$T/result" bash -o pipefail -c "$3" <<'END'
import resource, subprocess, sys, time
start = time.monotonic()
subprocess.check_call(sys.argv[2:], stderr=subprocess.DEVNULL)
seconds = time.monotonic() - start
kb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print("%.4f %d" % (seconds, kb), file=open(sys.argv[1], "w"))
END
		read -r seconds kb <"$T/result"
		shortest=$(awk -v a="$shortest" -v b="$seconds" 'BEGIN { print a < b ? a : b }')
		[ "$kb" -gt "$peak" ] && peak=$kb
	done
	awk -v label="$1" -v goal="$2" -v s="$shortest" -v n=$n -v kb="$peak" 'BEGIN {
		printf "%-44s %8.3f s %8.1f M events/s %6.1f MiB   goal %s\n", label, s, n / s / 1e6, kb / 1024, goal }'
}

"$B/tests/bench/events" "$T/sched" sched 4 $n
"$B/tests/bench/events" "$T/runtime" runtime 4 $n
best "dump, events of a runtime, into a pipe" ">= 15 M/s" "'$B/bin/ovni-dump' '$T/runtime' | cat >/dev/null"
best "dump, events of the recorder, into a pipe" ">= 15 M/s" "'$B/bin/ovni-dump' '$T/sched' | cat >/dev/null"
best "dump -x, into a pipe" "" "'$B/bin/ovni-dump' -x '$T/sched' | cat >/dev/null"
best "top" ">= 40 M/s" "'$B/bin/ovni-top' '$T/sched' >/dev/null"
best "top --by cpu" "" "'$B/bin/ovni-top' --by cpu '$T/sched' >/dev/null"
rm -rf "$T/sched" "$T/runtime"
"$B/tests/bench/events" "$T/keep" regions 4 $n
best "sort, 119 000 regions" "< 0.15 s" "'$B/bin/ovni-sort' '$T/work'"
rm -rf "$T/keep"
"$B/tests/bench/events" "$T/keep" reverse 1 $n
best "sort --all, memory 64M" "" "'$B/bin/ovni-sort' --all --memory 64M '$T/work'"
rm -rf "$T/keep" "$T/work"
n=10000000
for kind in sched wide; do
	"$B/tests/bench/generate" $kind $n "$T/$kind" >/dev/null
	best "overview, $kind" "< 3 s, 256 MiB" "'$B/bin/ovni-report' '$T/$kind' >/dev/null"
	rm -rf "${T:?}/$kind"
done
"$B/tests/bench/generate" ranks $n "$T/ranks" >/dev/null
best "latency, ranks" "" "'$B/bin/ovni-report' latency '$T/ranks' >/dev/null"
best "efficiency, ranks" "< 1.5 times latency" "'$B/bin/ovni-report' efficiency '$T/ranks' >/dev/null"
rm -rf "${T:?}/ranks"
