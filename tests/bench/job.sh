#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A job of 1,000 nodes with 64 threads each, 2.8 million events, as job.md 5 limits it: tests/bench/job.sh BUILD
# [THREADS [ROUNDS]]. Each program with 1024 descriptors: the least CPU time of ROUNDS (3), the most memory, the output.
# The trace lies in memory (/dev/shm, 0.5 GB).
set -eu
B=$(cd "${1:-build}" && pwd)
threads=${2:-64000} rounds=${3:-3}
T=$(mktemp -d "${SHM:-/dev/shm}/job-bench.XXXXXX")
trap 'rm -rf "$T"' EXIT
"$B/tests/bench/generate" job $((threads * 42)) "$T/trace" "$threads"
cat >"$T/run.py" <<'END'
import os, resource, subprocess, sys
label, threads, rounds, top, *command = sys.argv[1:]
threads, best, most, note = int(threads), 1e9, 0, ""
for _ in range(int(rounds)):
    subprocess.run(["rm", "-rf", top + "/out"], check=True)
    # its own user for the resources: RUSAGE_CHILDREN is of all children so far
    pid = os.fork()
    if not pid:
        resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))
        null = os.open("/dev/null", os.O_WRONLY)
        os.dup2(null, 1), os.dup2(null, 2)
        os.execv(command[0], command)
    _, status, used = os.wait4(pid, 0)
    best = min(best, used.ru_utime + used.ru_stime)
    most = max(most, used.ru_maxrss)
    if os.waitstatus_to_exitcode(status) not in (0, 3):
        note = "  FAILED"
print("%-24s %7.2f s %6.0f us/stream  limit 8 s %s   %7.1f MiB  limit %.0f MiB %s%s" % (
    label, best, best / threads * 1e6, "" if best <= 8 * threads / 64000 else "(!)",
    most / 1024, threads * 4 / 1024 + 64, "" if most / 1024 <= threads * 4 / 1024 + 64 else "(!)", note))
END
run() { python3 "$T/run.py" "$1" "$threads" "$rounds" "$T" "${@:2}"; }
run "ovni-emu -j 1" "$B/bin/ovni-emu" -q -j 1 -o "$T/out" "$T/trace"
run "ovni-emu --looms (2)" "$B/bin/ovni-emu" -q --looms n0001,n0002 -o "$T/out" "$T/trace"
run "ovni-check" "$B/bin/ovni-check" "$T/trace"
for kind in latency preempt efficiency wake why cpu overview; do
	run "ovni-report $kind" "$B/bin/ovni-report" $kind "$T/trace"
done
run "ovni-report --loom (1)" "$B/bin/ovni-report" latency --loom n0001 "$T/trace"
run "ovni-info" "$B/bin/ovni-info" "$T/trace"
run "ovni-view" "$B/bin/ovni-view" -q -o "$T/out" "$T/trace"
