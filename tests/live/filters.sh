#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The chosen threads are in the trace, and nothing else: threads, processes and their children,
# CPUs, names, the recorder itself.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

# -t: one thread of several.
"$WORKLOADS/sleepers" -s 1000000 >/dev/null &
target=$!
wait_until has_threads $target 5 || complain "the workload has not started its threads"
tid=$(find /proc/$target/task -mindepth 1 -maxdepth 1 -printf '%f\n' | sort -n | tail -n 1)
"$RECORDER" -t "$tid" -o thread >thread.log 2>&1 &
recorder=$!
wait_recording thread $recorder
kill $target
wait $recorder || complain "-t: $(cat thread.log)"
judge thread
: >thread.report
facts thread <<E
check([s.tid for s in trace.streams] == [$tid], "streams:", trace.streams)
E

# --no-follow: the process alone. Without it (processes.sh) the children are there.
record alone command --no-follow -- processes -n 20
judge alone
facts alone <<'E'
check([s.pid for s in trace.streams] == [said["parent"]], "streams:", trace.streams)
check(len(trace.thread(said["parent"]).of("OHC")) == 20, "births are told")
E

# -C: the events of one CPU; a thread that leaves it ends there.
if [ "$(nproc)" -gt 1 ]; then
	record cpu command -C 1 -- hopper -n 200
	judge cpu
	facts cpu <<'E'
thread = trace.thread(said["tid"])
check(all(s.cpu in (trace.cpu(1), -1) for s in thread.stays), "was seen on another CPU")
begins = len(thread.of("OHx"))
check(near(begins, said["hops"] / 2, 0.1, 5), "began", begins, "times in", said["hops"], "hops")
E
fi

# --comm: threads by name, also one that takes the name later.
record names all --comm 'sleeper-[12]' -- sleepers -s 50
judge names
facts names <<'E'
names = sorted({s.names[-1] for s in trace.streams})
check(names == ["sleeper-1", "sleeper-2"], "names:", names)
E

# The recorder: in system-wide traces, except with --no-self.
record self all sleepers -s 20
judge self
facts self <<'E'
ours = trace.threads(recorder)
check(ours, "the recorder is not in its own trace")
check(any(s.bpf.get("kernel_thread") for s in trace.streams), "there are no kernel threads")
check(not [s for s in trace.streams if s.tid == 0], "the idle task has a stream")
E
record hidden all --no-self -- sleepers -s 20
judge hidden
facts hidden <<'E'
ours = trace.threads(recorder)
check(not ours, "the recorder is in the trace:", ours)
other = sum(int(cpu["ns"]["other"]) for cpu in trace.session["cpus"])
check(other > 0, "the time of the recorder is accounted as idle")
E

# --all-threads: all existing threads, also those that never ran. Some machines hide the threads of
# PID 1 from BPF, its iterators included.
threads() { ps -eLo pid=,tid=,stat= | awk '$1 != 1 && $3 !~ /^[XZ]/ { print $2 }' | sort; } # zombies have ended
threads >before
"$RECORDER" -a --all-threads -d 100ms -o every >every.log 2>&1 || complain "--all-threads"
threads | comm -12 before - >stayed # threads of other tests come and go
judge every
find every -name stream.json ! -path '*/proc.1/*' | sed 's/.*thread\.\([0-9]*\).*/\1/' | sort | comm -12 stayed - >written
stayed=$(wc -l <stayed) written=$(wc -l <written)
expect "$stayed threads were there before and after --all-threads, which wrote $written of them" [ "$written" -ge $((stayed * 9 / 10)) ]
expect "that is many: $stayed" [ "$stayed" -ge 20 ]
finish
