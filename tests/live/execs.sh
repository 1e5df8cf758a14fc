#!/bin/bash
# SPDX-License-Identifier: MIT
#
# exec: by the leader, the stream continues; by another thread, also after the leader's end, the
# caller's stream ends and the leader's begins again.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

for mode in command pid all; do
	for by in 0 1 2; do
		record by-$by-$mode $mode execs -m $by -n 4
		judge by-$by-$mode
		facts by-$by-$mode <<'E'
execs = [line for line in lines if "exec" in line]
check(len(execs) == 4, len(execs), "execs were reported")
pid = said["pid"]
leader = trace.thread(pid, pid)
callers = [line["caller"] for line in execs if line["caller"] != pid]
begins, ends = leader.of("OHx"), leader.of("OHe")
check(len(begins) == len(ends) == len(callers) + 1,
      leader, "begins", len(begins), "times and ends", len(ends), "times")
for caller in callers:
    thread = trace.thread(caller, pid)
    check(len(thread.of("OHe")) == 1, thread, "ends", len(thread.of("OHe")), "times")
    # events of one ns get clocks 1 ns apart
    heirs = [e.clock for e in begins if e.clock >= thread.events[-1].clock - 2]
    check(heirs and heirs[0] - thread.events[-1].clock < 2_000_000_000,
          thread, "has no heir: it ended at", thread.events[-1].clock, "begins", begins)
check(all(s.events[-1].mcv == "OHe" for s in trace.threads(pid)), "a thread did not end")
E
	done
done
finish
