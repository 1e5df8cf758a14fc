#!/bin/bash
# SPDX-License-Identifier: MIT
#
# --api pthread, and an API file of the user: marks with titles and labels, as many as the program
# counts; a mutex is held from lock to unlock. Functions that a library lacks are listed, and a
# mistake in an API file is reported with its line, before anything is recorded.
# needs: root
# longer: compares the numbers of Paraver, too
set -u
. "$S/tests/live/lib.sh"
gcc -O2 -g -o pt "$S/tests/workloads/runtimes/pthread.c" -lpthread || { echo "gcc fails"; exit 1; }

record_output calls --api pthread -- ./pt 30
judge calls
facts calls <<'E'
from apis import *
w = lines[0]
n = counts(trace.threads(w["pid"]))
# the C library takes a mutex of its own when it makes a thread
own = n["Pthread: mutex lock"] - w["locks"]
check(0 <= own <= 20, "the C library itself has locked", own, "times")
calls = {"mutex lock": w["locks"] + own, "mutex unlock": w["unlocks"] + own, "mutex trylock": w["trylocks"],
         "condition wait": w["waits"], "condition signal": w["signals"],
         "barrier wait": w["barriers"], "thread create": w["creates"], "thread join": w["joins"]}
check(w["tried"] == 1 and w["waits"] > 0, "the program said", w)
check_counts(n, [(f"Pthread: {label}", f"Pthread: {label}/", times) for label, times in calls.items()])
# got by a lock, a trylock that worked, and each time a wait is over
held = "Pthread mutexes held: mutex held"
check_counts(n, [(held, held + "/", w["locks"] + own + w["tried"] + w["waits"])])
for s in trace.threads(w["pid"]):
    depth = 0
    for e in s.events:
        if e.mcv in ("OM[", "OM]") and e.ints("qi")[1] == 81:
            depth += 1 if e.mcv == "OM[" else -1
            check(0 <= depth <= 1 + (own > 0), s, "holds", depth, "mutexes")
E
for view in thread cpu; do
	grep -q '180 *Pthread$' calls/$view.pcf || complain "$view.pcf has no type 180"
	grep -q 'condition wait$' calls/$view.pcf || complain "$view.pcf does not name the wait"
	python3 "$S/tests/golden/cfgcheck.py" --pcf calls/$view.pcf calls/cfg/$view/pthread/*.cfg || complain "the views by $view"
done
# The drawn states agree with the events and ovni-report, also off the CPU.
paraver=$ORACLES/paraver/pv-text # its numbers, too, where it is
[ "$LONG" ] && [ -x "$paraver" ] || paraver=
python3 "$S/tests/live/views.py" "$B" calls ${paraver:+"$paraver"} >views.txt 2>&1 || complain "the views: $(cat views.txt)"
"$B/bin/ovni-report" func calls >func.txt 2>&1
grep -q 'condition wait' func.txt || complain "ovni-report func: $(head func.txt)"

# An API file of one's own, of a library of one's own, which the program needs.
cat >flow.c <<'C'
int flow_step(int n), flow_lock(void), flow_solve(int n);
void flow_unlock(void);
__attribute__((noinline)) int flow_step(int n) { return n + 1; }
__attribute__((noinline)) int flow_lock(void) { static int n; return n++ % 2; }
__attribute__((noinline)) void flow_unlock(void) { __asm__ volatile(""); }
__attribute__((noinline)) int flow_solve(int n) { return n > 0 ? flow_solve(n - 1) + 1 : 0; }
C
cat >user.c <<'C'
#include <stdio.h>
#include <unistd.h>
int flow_step(int n), flow_lock(void), flow_solve(int n);
void flow_unlock(void);
int main(void)
{
	for (int i = 0; i < 6; i++) {
		flow_step(i);
		if (!flow_lock())
			flow_unlock();
		flow_solve(3);
	}
	printf("steps=6 solves=%d locks=6 got=3 pid=%d\n", 6 * 4, getpid());
	return 0;
}
C
gcc -O1 -g -fno-optimize-sibling-calls -shared -fPIC -Wl,-soname,libflow.so.1 -o libflow.so.1 flow.c &&
	gcc -o user user.c ./libflow.so.1 -Wl,-rpath,"$PWD" || { echo "gcc fails"; exit 1; }
cat >mine.json <<'J'
{   // steps, a lock, and a function that calls itself
    "api": 1, "title": "flow",
    "marks": {"10": {"title": "Phase", "chan_type": "single"}, "11": {"title": "Flow", "chan_type": "stack"}},
    "parts": [{"libraries": "libflow.so*", "functions": [
        {"symbols": "flow_step", "entry": [{"set": {"mark": 10, "label": "step"}}]},
        {"symbols": "flow_s?lve", "during": {"mark": 11}},
        {"symbols": "flow_lock", "during": {"mark": 11, "label": "waits"},
         "return": [{"begin": {"mark": 11, "label": "owns"}, "if": "zero"}]},
        {"symbols": ["flow_unlock", "flow_nothing"], "entry": [{"end": {"mark": 11, "label": "owns"}}]}]}]
}
J
record_output own --api ./mine.json -- ./user
judge own
facts own <<'E'
from apis import *
w = lines[0]
n = counts(trace.threads(w["pid"]))
check_counts(n, [("Phase: step", None, w["steps"]), ("Flow: waits", "Flow: waits/", w["locks"]),
                 ("Flow: owns", "Flow: owns/", w["got"]),
                 ("Flow: flow_solve", "Flow: flow_solve/", w["solves"])])
E
grep -q -- '--api ./mine.json: 1 of 5 names was not found: flow_nothing$' own.log ||
	complain "the missing name is not listed: $(cat own.log)"

# A thread that is in functions when its process ends: all is closed. Marks of -u and of two API files go side
# by side, also in a child that has executed a program.
cat >stuck.c <<'C'
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int flow_solve(int n);
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER, waits = PTHREAD_COND_INITIALIZER;
static int waiting;
static void *wait_for_ever(void *arg)
{
	pthread_mutex_lock(&mutex);
	waiting = 1;
	pthread_cond_signal(&waits);
	for (;;)
		pthread_cond_wait(&never, &mutex);
	return arg;
}
int main(int argc, char **argv)
{
	pthread_t thread;
	if (argc > 1)
		return flow_solve(1) != 1;
	if (fork() == 0) {
		execl("/proc/self/exe", argv[0], "again", (char *)NULL);
		_exit(1);
	}
	pthread_create(&thread, NULL, wait_for_ever, NULL);
	pthread_mutex_lock(&mutex);
	while (!waiting)
		pthread_cond_wait(&waits, &mutex);
	pthread_mutex_unlock(&mutex);
	usleep(20000);
	printf("pid=%d\n", getpid());
	fflush(stdout);
	_exit(0);
}
C
gcc -O1 -g -o stuck stuck.c ./libflow.so.1 -Wl,-rpath,"$PWD" -lpthread || { echo "gcc fails"; exit 1; }
record_output left --api pthread --api ./mine.json -u ./stuck:main,wait_for_ever -- ./stuck
judge left
facts left <<'E'
from apis import *
n = counts(trace.threads(lines[0]["pid"]))
check(n["Function: main"] == 1 and n["Function: main/"] == 1, "main was left", n["Function: main/"], "times")
check_counts(n, [("Function: wait_for_ever", "Function: wait_for_ever/", 1)])
check(n["Pthread: condition wait"] == n["Pthread: condition wait/"] >= 1, "not every wait is closed:", n)
check(n["Pthread mutexes held: mutex held"] == n["Pthread mutexes held: mutex held/"], "not every mutex is given back:", n)
children = [s for s in trace.streams if s.pid != lines[0]["pid"]]
n = counts(children)
check_counts(n, [("Flow: flow_solve", "Flow: flow_solve/", 2), ("Function: main", "Function: main/", 1)])
E

# The functions of nOS-V, by a library that has its names: the model is required, and the trace says
# that it has no breakdown, so that -b is accepted.
cat >tasks.c <<'C'
int nosv_create(void), nosv_submit(int depth), nosv_pause(void), nosv_cond_timedwait(void);
__attribute__((noinline)) int nosv_create(void) { __asm__ volatile(""); return 0; }
__attribute__((noinline)) int nosv_pause(void) { __asm__ volatile(""); return 0; }
__attribute__((noinline)) int nosv_cond_timedwait(void) { __asm__ volatile(""); return 0; }
__attribute__((noinline)) int nosv_submit(int depth) { return depth ? nosv_submit(depth - 1) + nosv_pause() : 0; }
C
cat >worker.c <<'C'
#include <stdio.h>
#include <unistd.h>
int nosv_create(void), nosv_submit(int depth), nosv_pause(void), nosv_cond_timedwait(void);
int main(void)
{
	for (int i = 0; i < 7; i++) {
		nosv_create();
		nosv_submit(2);
		nosv_cond_timedwait();
	}
	printf("creates=7 submits=21 pauses=14 waits=7 pid=%d\n", getpid());
	return 0;
}
C
gcc -O1 -g -fno-optimize-sibling-calls -shared -fPIC -Wl,-soname,libnosv.so.0 -o libnosv.so.0 tasks.c &&
	gcc -o worker worker.c ./libnosv.so.0 -Wl,-rpath,"$PWD" || { echo "gcc fails"; exit 1; }
record_output tasks --api nosv -- ./worker
judge tasks
facts tasks <<'E'
from apis import *
w = lines[0]
check_required(trace, "nosv", "2.7.0")
check_counts(counts(trace.threads(w["pid"])), [
    ("VAr", "VAR", w["creates"]), ("VAs", "VAS", w["submits"]), ("VAp", "VAP", w["pauses"]),
    ("VAo", "VAO", w["waits"])])
check(all(s.meta.get("nosv", {}).get("can_breakdown") is False for s in trace.streams),
      "not all streams say that there is no breakdown")
E
"$EMULATOR" -l -b tasks >breakdown.log 2>&1 || complain "emulation with -b: $(cat breakdown.log)"

# Memory that is missing while API files are read, looked up and joined: said, whichever allocation it is.
with_fault() { # AT
	LD_PRELOAD=$B/tests/faults/faults.so FAULT_PROGRAM=ovni-bpf FAULT_KIND=memory FAULT_ERROR=12 FAULT_AT=$1 \
		FAULT_COUNT=$PWD/count "$RECORDER" --dry-run -u './libflow.so.1:flow_*' --api ./mine.json --api nosv -- ./user >fault.log 2>&1
}
with_fault 0 || complain "without a fault: $(cat fault.log)"
count=$(cat count)
expect "the allocations are counted" [ "${count:-0}" -gt 100 ]
for ((at = 3; at <= count; at += count / 16 + 1)); do
	with_fault $at
	status=$?
	[ $status = 0 ] || grep -q 'ovni-bpf: error:' fault.log || complain "allocation $at of $count fails: status $status without a word"
	[ $status -le 2 ] || complain "allocation $at of $count fails: status $status: $(tail -n 3 fault.log)"
done

refuse() { # TEXT OPTION...: it must fail, and say it
	local text=$1 status=0
	shift
	"$RECORDER" -o bad "$@" -- ./user >refused.log 2>&1 || status=$?
	[ $status = 1 ] || complain "status $status: $*"
	grep -q -- "$text" refused.log || complain "wanted '$text': $(cat refused.log)"
}
sed 's/"entry": \[{"set"/"entri": [{"set"/' mine.json >bad.json
sed 's/"Flow"/"Stream"/' mine.json >other.json
refuse 'bad.json: line 5: a function has no key "entri", only: symbols, first,' --api ./bad.json
refuse '--api mpii: no such API in .*, only: mpi-messages, mpi, nosv, openmp, pthread ' --api mpii
refuse "cannot open './none.json': No such file" --api ./none.json
refuse 'other.json: line 3: the mark 11 is declared otherwise in ./mine.json, line 3' --api ./mine.json --api ./other.json
[ ! -e bad ] || complain "a refused recording leaves a trace"
finish
