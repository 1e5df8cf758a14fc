#!/bin/bash
# SPDX-License-Identifier: MIT
#
# --cgroup: threads are in the trace while they are in the cgroup or below it, also those that are
# moved there and away, which ends their stream and begins it again.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

# shellcheck disable=SC2016 # the other shell expands it
[ -e namespace ] || exec unshare --mount --propagation private bash -c \
	'cd "$1" && mkdir namespace groups && mount -t cgroup2 none groups && exec "$2"' - "$T" "$0" ||
	skip "no cgroups of version 2"
G=$T/groups/ovni-test.$$
mkdir -p "$G/inner" "$G.other" || skip "no cgroup can be made here"
trap 'rmdir "$G/inner" "$G" "$G.other"' EXIT

# Naps in the cgroup, in one below it, in another one, and in the first again.
cat >wanders.sh <<'E2'
naps() {
	echo $$ >"$1/cgroup.procs"
	read -r up _ </proc/uptime
	for ((i = 0; i < 5; i++)); do read -rt 0.01 _ <>fifo; done
	echo "$2=$up"
}
naps "$1" first; naps "$1/inner" inner; naps "$1.other" other; naps "$1" again
echo "pid=$$"
E2
mkfifo fifo
"$RECORDER" -o out --cgroup "$G" >out.log 2>&1 &
recorder=$!
wait_recording out $recorder
bash wanders.sh "$G" >out.report
bash -c 'exec sleep 0.02' # is in no cgroup of ours
kill -INT $recorder
wait $recorder || complain "--cgroup: $(cat out.log)"
judge out
facts out <<'E2'
stream = trace.thread(said["pid"])
check([s.pid for s in trace.streams] == [said["pid"]], "streams:", trace.streams)
ends = [e.mcv for e in stream.events if e.mcv in ("OHx", "OHe")]
check(ends == ["OHx", "OHe", "OHx", "OHe"], "lives:", ends)
away = stream.of("OHx")[1].clock - stream.of("OHe")[0].clock
check(away > 30_000_000, "five naps of 10 ms in another cgroup took", away, "ns")
E2

# Another process moves a program with several threads into the cgroup and out again, mostly while they
# sleep: a thread is in the trace from when it next runs in the cgroup until it next runs elsewhere.
monotonic() { python3 -c 'import time; print(time.clock_gettime_ns(time.CLOCK_MONOTONIC))'; }
switches() { # of each thread of $moved, ascending by tid
	local task
	for task in /proc/"$moved"/task/*; do
		sed -n 's/^voluntary_ctxt_switches:[^0-9]*//p' "$task/status"
	done | tail -n +2 # the leader waits for the others
}
have_run() { # FILE: each thread twice since then
	[ "$(paste "$1" <(switches) | awk '$2 >= $1 + 2' | wc -l)" = 3 ]
}
WORKLOAD_REPORT=$T/moved.report "$WORKLOADS/sleepers" -n 3 -u 2000 -s 100000 &
moved=$!
wait_until has_threads $moved 4 || complain "no threads"
"$RECORDER" -o moved --cgroup "$G" >moved.log 2>&1 &
recorder=$!
wait_recording moved $recorder
for place in "$G" "$G.other"; do
	echo "to_${place##*.}=$(monotonic)" | sed "s/to_$$=/in=/; s/to_other=/out=/" >>moved.report
	echo $moved >"$place/cgroup.procs"
	switches >were
	wait_until have_run were || complain "the threads do not run"
	echo "after=$(monotonic)" | sed "s/after/after_${place##*.}/; s/after_$$/after_in/; s/after_other/after_out/" >>moved.report
done
switches >were
wait_until have_run were # outside, recorded by nobody
kill -KILL $moved
wait $moved 2>/dev/null
kill -INT $recorder
wait $recorder || complain "moved: $(cat moved.log)"
judge moved
facts moved <<'E2'
threads = trace.threads(said["main"])
check(len(threads) == 3, "threads that ran in the cgroup:", threads)
for thread in threads:
    begin, end = (thread.of(mcv) for mcv in ("OHx", "OHe"))
    check(len(begin) == len(end) == 1, thread, begin, end)
    check(said["in"] <= begin[0].clock <= said["after_in"], thread, begin, said)
    check(said["out"] <= end[0].clock <= said["after_out"], thread, end, said)
E2

# By its path below the mount point; as a link; a path that is no cgroup.
try 1 'no such cgroup' "$RECORDER" -d 100ms -o none --cgroup "$G.none"
try 1 'no such cgroup' "$RECORDER" -d 100ms -o none --cgroup "$T"
"$RECORDER" -q -d 100ms -o empty --cgroup "$G/inner/" || complain "an empty cgroup: status $?"
judge empty
finish
