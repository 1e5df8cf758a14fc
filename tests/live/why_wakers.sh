#!/bin/bash
# SPDX-License-Identifier: MIT
#
# --why=stack,wakers: a sleep that ends has the stack of its waker, of a thread with its functions of user code, of an
# interrupt with those of the kernel; as many of each function as the program counts. In reports, exports, parts,
# rotated traces and saved windows. Not asked for: nothing of it is loaded.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"
parts=stack=both,wakers

# The main thread wakes the sleeper from two functions, and counts. The sleeper counts its waits that are long by its own clock.
cat >pair.c <<'E'
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
#define OUT __attribute__((noinline, noclone))
#define KEEP asm volatile("" ::: "memory") /* no tail call */
enum { ROUNDS = 8 }; /* with both ways less than the 20 stacks of a second */
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
int turn, feed_pipe[2];
long released, fed, long_takes, long_eats;
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1e3 + t.tv_nsec / 1e6; }
OUT void nap(void) { struct timespec t = {0, 10000000}; nanosleep(&t, 0); KEEP; }
OUT void take(int n) { pthread_mutex_lock(&lock); while (turn < n) pthread_cond_wait(&turned, &lock); pthread_mutex_unlock(&lock); KEEP; }
OUT void release(void) { pthread_mutex_lock(&lock); turn++; pthread_mutex_unlock(&lock); pthread_cond_signal(&turned); released++; KEEP; }
OUT void feed(void) { fed += write(feed_pipe[1], "x", 1); KEEP; }
OUT void eat(void) { char x; if (read(feed_pipe[0], &x, 1) != 1) KEEP; KEEP; }
static void *sleeper(void *a)
{
	prctl(PR_SET_NAME, "sleeper");
	for (int i = 1; i <= ROUNDS; i++) { double t = now(); take(i); long_takes += now() - t > 3; }
	for (int i = 0; i < ROUNDS; i++) { double t = now(); eat(); long_eats += now() - t > 3; }
	return a;
}
OUT void giver(void) { for (int i = 0; i < ROUNDS; i++) { nap(); release(); } KEEP; }
OUT void feeder(void) { for (int i = 0; i < ROUNDS; i++) { nap(); feed(); } KEEP; }
int main(int argc, char **argv)
{
	pthread_t t;
	if (pipe(feed_pipe)) return 1;
	pthread_create(&t, 0, sleeper, 0);
	giver();
	feeder();
	pthread_join(t, 0);
	printf("released=%ld fed=%ld long_takes=%ld long_eats=%ld\n", released, fed, long_takes, long_eats);
	fflush(stdout);
	for (int i = 0; i < (argc > 1 ? 100 : 2); i++) nap(); /* its files are read while it lives */
	return argv == 0;
}
E
gcc -O2 -g -fomit-frame-pointer -fno-optimize-sibling-calls -o pair pair.c -lpthread || skip "no compiler"

cat >wakers.py <<'E'
import collections, sys
from facts import *
name, user = sys.argv[1], "both" in sys.argv[2]
trace = Trace(name)
lines = {}
for line in open(name + "/stacks", encoding="ascii").read().splitlines()[1:]:
    number, frames, *waker = line.split("\t")
    lines[int(number)] = frames, int(waker[0]) if waker else 0
def resolve(number):
    text = lines[number][0]
    if not text.startswith("="):
        return text.split(";")
    of, *more = text[1:].split(";")
    return resolve(int(of)) + more
def own(frames): return [f.split("@")[0] for f in frames if f.count("@") > 1 and f.split("@")[1].startswith("pair+")]
said = {k: v for line in report(name + ".report") for k, v in line.items()}
main = next(t for t in trace.streams if t.bpf["name"] == "pair" and t.tid == t.pid)
sleeper = next(t for t in trace.streams if t.bpf["name"] == "sleeper")
got, kernel, sleeps = collections.Counter(), collections.Counter(), 0
for e in sleeper.of("OHw"):
    if not e.stack():
        continue
    waker = lines[e.stack()][1]
    sleeps += 1
    check(waker, "a sleep has no stack of its waker", lines[e.stack()])
    frames = resolve(waker) if waker else []
    check(not [f for f in frames if f.startswith(("bpf_", "__bpf", "__traceiter", "try_to_wake"))], "frames of the recorder", frames)
    if e.ints("i")[0] != main.tid:
        continue
    kernel["futex" if any(f.startswith("futex_wake") for f in frames) else "pipe" if any("pipe_write" in f for f in frames) else "other"] += 1
    got[tuple(own(frames))] += 1
    here = own(resolve(e.stack()))
    if user:
        pairs = {("take", "sleeper"): ["release", "giver", "main"], ("eat", "sleeper"): ["feed", "feeder", "main"]}
        check(own(frames) == pairs.get(tuple(here[:2])), "asleep in", here, "woken from", own(frames))
print(name, said, dict(got), dict(kernel))
check(said["long_takes"] <= kernel["futex"] <= said["released"], "wakers in futex_wake", kernel, said)
check(said["long_eats"] <= kernel["pipe"] <= said["fed"] and said["long_eats"] >= 4, "wakers in pipe_write", kernel, said)
if user:
    check(sum(n for chain, n in got.items() if "release" in chain) == kernel["futex"], got, kernel)
    check(sum(n for chain, n in got.items() if "feed" in chain) == kernel["pipe"], got, kernel)
naps = 0
for e in main.of("OHw"):
    if e.stack() and e.ints("i")[0] == -2:
        frames = resolve(lines[e.stack()][1])
        naps += 1
        check(any(f.startswith("hrtimer_wakeup+") for f in frames), "a nap ends by", frames)
        check(not own(frames), "an interrupt has functions of the program", frames)
        inner = [f.startswith("asm_") for f in frames]
        check(not any(inner[:-1]), "an interrupt has the code that it has interrupted", frames)
check(naps >= 10, "only", naps, "naps were ended by an interrupt with a stack")
session = trace.session["stacks"]
check(session["wakers"] is True and int(session["woken"]) >= sleeps + naps and int(session["woken"]) <= int(session["sleeps"]), session)
sys.exit(verdict())
E
all_ways() { # OPTIONS OF --why
	rm -rf command
	record_output command --why="$1" -- ./pair
	python3 wakers.py command "$1" || complain "$1: the wakers"
}
attempts 3 all_ways $parts
judge command
"$B/bin/ovni-check" command >check.log 2>&1 || complain "command: $(cat check.log)"

# The answers.
"$B/bin/ovni-report" blocked --json -n 0 command >blocked.json || complain "blocked: $?"
"$B/bin/ovni-report" stacks command >folded || complain "stacks: $?"
"$B/bin/ovni-export" --sqlite -o command.db command || complain "sqlite: $?"
"$B/bin/ovni-export" --perfetto -o command.pftrace command || complain "perfetto: $?"
"$B/bin/ovni-view" -o command.html command || complain "view: $?"
cat >answers.py <<'E'
import json, sqlite3, sys
user = "both" in sys.argv[1]
rows = [r for r in json.load(open("blocked.json")) if r["name"] == "sleeper" and r["woken_from"]]
folded = open("folded").read()
line = [n + 1 for n, text in enumerate(open("pair.c")) if "OUT void release(" in text][0]
if user:
    assert any(r["from"].startswith("take (pair.c:") and r["woken_from"] == "release (pair.c:%d) <- giver" % line for r in rows), rows
    assert ";take;" in folded and ";[woken by];" in folded and ";release;giver;main;" in folded, folded
else:
    assert any("futex_wake" in r["woken_from"] or r["woken_from"].startswith("wake_up_q <- ") for r in rows), rows
naps = [r for r in json.load(open("blocked.json")) if r["name"] == "pair" and r["waker"] == "interrupt"]
assert any(r["woken_from"].startswith("hrtimer_wakeup <- ") for r in naps), naps
db = sqlite3.connect("command.db")
wakers = db.execute("""SELECT DISTINCT s.function FROM intervals i JOIN threads t USING (thread) JOIN stacks s ON s.stack = i.waker_stack
                       WHERE t.name = 'sleeper' AND i.state = 'asleep'""").fetchall()
for function in (("release", "feed", "main") if user else ("futex_wake", "vfs_write")):
    assert (function,) in wakers, (function, wakers)
assert b"waker_stack" in open("command.pftrace", "rb").read()
E
python3 answers.py $parts || complain "the answers"
woken='stack [0-9]* (.*), woken by stack [0-9]* (.*\(release\|wake_up_q\|futex_wake\)'
"$B/bin/ovni-dump" command | grep -q "$woken" || complain "ovni-dump shows no waker"

# Parts of it have the stacks that they use, and those of their wakers.
whole() { # TRACE
	"$B/bin/ovni-check" "$1" >part.log 2>&1 || [ $? = 3 ] || complain "$1: $(cat part.log)"
	grep 'stack that is not known' part.log && complain "$1: a stack is not known"
	"$B/bin/ovni-dump" "$1" 2>/dev/null | grep -q 'woken by stack' || complain "$1: no wakers"
}
"$B/bin/ovni-cut" -o part --from +30ms command >cut.log 2>&1 || [ $? = 3 ] || complain "cut: $(cat cut.log)"
whole part
judge part
record_output rotated --why=$parts --rotate 100ms -- ./pair
cat rotated/0*/stacks | grep -q '	[0-9=]*[^	]*	[0-9]*$' || complain "rotated: no wakers"
for dir in rotated/0*; do [ -d "$dir" ] || continue; judge "$dir"; "$B/bin/ovni-check" "$dir" >part.log 2>&1 || [ $? = 3 ] || complain "$dir: $(cat part.log)"; done
"$RECORDER" -o flight --why=$parts --last 10s -- ./pair long >flight.out 2>flight.log &
recorder=$!
wait_until grep -qs fed flight.out
kill -USR1 $recorder
wait $recorder || complain "flight: $(cat flight.log)"
for dir in flight/0*; do [ ! -d "$dir" ] || whole "$dir"; done
"$RECORDER" -o everything --why=$parts -a -- ./pair >everything.report 2>everything.log || complain "all: $(cat everything.log)"
whole everything
judge everything
mkfifo gate
bash -c 'read -r _ <gate; ./pair' >pid.out &
target=$!
"$RECORDER" -o pid --why=$parts -p $target >pid.log 2>&1 &
recorder=$!
wait_recording pid $recorder
echo >gate
wait $target
wait $recorder || complain "pid: $(cat pid.log)"
whole pid
record_output tracepoint --why=$parts --wakeup-clock tracepoint -- ./pair
whole tracepoint
"$RECORDER" --kernel-model --why=$parts -o kernel -- "$B/tests/live/ovniwriter" own 3 50 >kernel.log 2>&1 || complain "kernel: $(cat kernel.log)"
"$B/bin/ovni-merge" -o both own kernel >merge.log 2>&1 || complain "merge: $(cat merge.log)"
judge both
grep -q '	[0-9]*$' both/stacks && "$B/bin/ovni-check" both >part.log 2>&1 || [ $? = 3 ] || complain "merge: $(cat part.log)"
finish
