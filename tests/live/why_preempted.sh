#!/bin/bash
# SPDX-License-Identifier: MIT
#
# --why=preempted: a long wait for a CPU of a thread that was preempted has the stack of the thread: two spinners on one
# CPU, each in its function, as often as they see it themselves. Reports, tables, parts; asked for alone.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"
parts=stack=both,preempted

cat >spin.c <<'E'
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#define OUT __attribute__((noinline, noclone))
#define KEEP asm volatile("" ::: "memory") /* no tail call */
static pthread_barrier_t begun;
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1e3 + t.tv_nsec / 1e6; }
static double ran(void) { struct timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return t.tv_sec * 1e3 + t.tv_nsec / 1e6; }
static long taken(void) { struct rusage u; getrusage(RUSAGE_THREAD, &u); return u.ru_nivcsw; }
/* Spins for 40 ms of its own time, so it is preempted as often on a busy machine. A gap of 2 ms in which the CPU was taken from it is a long wait. */
#define SPINNER(color) \
	OUT void spin_##color(long *waits, long *all) \
	{ \
		double last = now(), t, until = ran() + 40; \
		long first = taken(), seen = first; \
		for (; ran() < until; last = t) { \
			t = now(); \
			if (t - last > 2) { long n = taken(); *waits += n > seen; seen = n; } \
		} \
		*all = taken() - first; \
		KEEP; \
	} \
	OUT void *run_##color(void *a) \
	{ \
		long waits = 0, all = 0; \
		prctl(PR_SET_NAME, #color); \
		pthread_barrier_wait(&begun); \
		spin_##color(&waits, &all); \
		printf("thread=" #color " waits=%ld taken=%ld\n", waits, all); \
		return a; \
	}
SPINNER(red)
SPINNER(blue)
int main(void)
{
	struct timespec t = {0, 50000000};
	pthread_t threads[2];
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	pthread_barrier_init(&begun, 0, 2);
	pthread_create(&threads[0], 0, run_red, 0);
	pthread_create(&threads[1], 0, run_blue, 0);
	pthread_join(threads[0], 0);
	pthread_join(threads[1], 0);
	fflush(stdout);
	return nanosleep(&t, 0); /* its files are read while it lives */
}
E
gcc -O2 -g -fomit-frame-pointer -fno-optimize-sibling-calls -o spin spin.c -lpthread || skip "no compiler"
cat >spin.py <<'E'
import sys
from facts import *
name, user = sys.argv[1], "both" in sys.argv[2]
trace = Trace(name)
lines = dict(l.split("\t")[:2] for l in open(name + "/stacks", encoding="ascii").read().splitlines()[1:])
def resolve(number):
    text = lines[str(number)]
    if not text.startswith("="):
        return text.split(";")
    of, *more = text[1:].split(";")
    return resolve(int(of)) + more
left_out = int(trace.session["stacks"]["left_out"])
total = 0
for line in report(name + ".report"):
    if "waits" not in line:
        continue
    t = next(t for t in trace.streams if t.bpf["name"] == line["thread"])
    stacks = [e for e in t.of("OHr") if e.stack()]
    total += len(stacks)
    right = 0
    for e in stacks:
        frames = resolve(e.stack())
        own = [f.split("@")[0] for f in frames if f.count("@") > 1 and f.split("@")[1].startswith("spin+")]
        right += own[-2:] == ["spin_" + line["thread"], "run_" + line["thread"]]
        check(any("@" not in f for f in frames), "no frame of the kernel", frames)
    print(name, line, len(stacks), "stacks,", right, "in the function;", left_out, "left out")
    check(line["waits"] <= len(stacks) + left_out, line["thread"], "waited", line["waits"], "times, stacks:", len(stacks))
    check(3 <= len(stacks) <= line["taken"] + 2, line["thread"], "has", len(stacks), "stacks, and its CPU was taken", line["taken"], "times")
    # the barrier before and the output after it are other places
    check(not user or right >= len(stacks) - 3, line["thread"], "is in other functions", len(stacks) - right)
session = trace.session["stacks"]
check(session["preempted"] is True and int(session["waits"]) >= total, session)
sys.exit(verdict())
E
record_once() {
	rm -rf command
	record_output command --why=$parts -- ./spin
	python3 spin.py command $parts || complain "the waits"
}
attempts 3 record_once
judge command
"$B/bin/ovni-check" command >check.log 2>&1 || complain "check: $(cat check.log)"
"$B/bin/ovni-report" stacks --time runnable command >folded || complain "stacks: $?"
"$B/bin/ovni-report" stacks command >asleep || complain "stacks: $?"
grep -q '^red .*;\[no stack\] \|^red ' folded || complain "folded: $(cat folded)"
"$B/bin/ovni-export" --sqlite -o command.db command || complain "sqlite: $?"
python3 - $parts <<'E' || complain "the answers"
import collections, sqlite3, sys
def of(name, function):
    return sum(int(l.rsplit(" ", 1)[1]) for l in open(name) if l.startswith("red ") and function in l)
db = sqlite3.connect("command.db")
ns = db.execute("""SELECT SUM(duration_ns) FROM intervals JOIN threads USING (thread) WHERE name = 'red' AND reason = 'preempted'
                   AND stack IN (SELECT stack FROM stacks WHERE function = 'spin_red' OR function LIKE 'exit_to_user%' OR function LIKE '%sysvec%')""").fetchone()[0]
print("red waits in its function", of("folded", "spin_red"), "us, by the table", ns)
if "both" in sys.argv[1]:
    assert of("folded", ";spin_red") > 5000 and not of("asleep", "spin_red"), (open("folded").read(), open("asleep").read())
assert ns and ns > 5e6, ns
E
"$B/bin/ovni-cut" -o part --from +40ms command >cut.log 2>&1 || [ $? = 3 ] || complain "cut: $(cat cut.log)"
"$B/bin/ovni-dump" part | grep -q 'OHr .*stack [0-9]* (' || complain "cut: no stack of a wait"
judge part
record_output model --why=$parts --kernel-model -- ./spin
judge model
record_output none --why=stack -- ./spin
"$B/bin/ovni-dump" none | grep 'OHr .*stack [0-9]' && complain "without preempted a wait has a stack"
finish
