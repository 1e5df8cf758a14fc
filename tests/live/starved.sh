#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The recorder gets no CPU: its threads are on one CPU, which a thread of a higher real-time priority keeps,
# while two threads on another CPU switch until the smallest buffer overflows. The report names the
# losses, how long the buffers were not read, and how long of that the recorder waited for a CPU. The truth is the
# clock of the test: within the time in which the other thread had the CPU, the recorder slept 50 ms at most.
# needs: root alone
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

read -r ours other <<<"$(python3 -c 'import os; print(*sorted(os.sched_getaffinity(0))[:2])')"
[ -n "$other" ] || skip "needs two CPUs"
[ -r /proc/self/schedstat ] || skip "the kernel does not count how long a thread waits for a CPU"
chrt -f 50 true 2>/dev/null || skip "no real-time priority here"
taskset -cp "$other" $$ >/dev/null
now_ms() { echo $(($(date +%s%N) / 1000000)); }

mkfifo gate
WORKLOAD_REPORT=$T/report WORKLOAD_GATE=$T/gate "$WORKLOADS/pingpong" -n 20000 -a "$other" -b "$other" &
target=$!
"$RECORDER" -b 64K -o out -p $target >out.log 2>&1 &
recorder=$!
wait_recording out $recorder
taskset -acp "$ours" $recorder >/dev/null
started=$(now_ms)
timeout -s KILL 60 chrt -f 50 taskset -c "$ours" sh -c 'echo $$ >hog.pid; while :; do :; done' 2>/dev/null &
hog=$!
# It has the CPU: two ticks and more were added to its time.
has_run() { [ -s hog.pid ] && [ "$(cut -d ' ' -f 14 "/proc/$(cat hog.pid)/stat")" -ge 2 ]; }
wait_until has_run
began=$(now_ms)
: >gate
wait $target || complain "the program was harmed"
while [ $(($(now_ms) - began)) -lt 400 ]; do sleep 0.02; done
taken=$(($(now_ms) - began))
kill -KILL "$(cat hog.pid)" 2>/dev/null
wait $hog 2>/dev/null
status=0
wait $recorder || status=$?
ended=$(now_ms)
[ $status = 3 ] || complain "status $status instead of 3: $(tail -n 5 out.log)"
read -r unread waited <<<"$(sed -n 's/.* the buffers were not read for \([0-9]*\) ms, of which the recorder waited \([0-9]*\) ms for a CPU$/\1 \2/p' out.log)"
echo "the CPU was taken for $taken ms; not read for ${unread:-?} ms, waited ${waited:-?} ms for a CPU"
if [ -n "${waited:-}" ]; then
	# of one real-time second the kernel gives 50 ms to others
	expect "it waited nearly all the time" [ "$waited" -ge $((taken * 3 / 4 - 60)) ]
	expect "it waited within the time without a read" [ "$waited" -le $((unread + 1)) ]
	expect "nor longer than the test" [ "$unread" -le $((ended - started + 100)) ]
else
	complain "no sentence: $(grep -A6 LOST out.log)"
fi
finish
