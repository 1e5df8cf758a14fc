#!/bin/bash
# SPDX-License-Identifier: MIT
#
# --why=stack=both: the frames of user code of long sleeps, all of them and in their order, in programs whose chains
# of calls are known: C without frame pointers, through libpthread, recursive, in a signal handler, in a library
# that was loaded later, C++, static, Python, and in processes that end at once; compared with gdb, too. Short sleeps have none; what is cut is marked;
# a killed recorder, repair, rotation, parts. live/why_user_copy runs it as on a kernel before 6.18.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"
copied=1 # at the switch-out, 3.5 KiB; with task work 16 KiB
[ -z "${FAULT_BTF:-}" ] && grep -qwE 'bpf_task_work_schedule_resume(_impl)?' /proc/kallsyms && copied=0
export copied

cat >chain.c <<'E'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
#define OUT __attribute__((noinline, noclone))
#define KEEP asm volatile("" ::: "memory") /* no tail call */
long ms = 300;
OUT void nap(void) { struct timespec t = {ms / 1000, ms % 1000 * 1000000}; while (nanosleep(&t, &t)) KEEP; KEEP; }
OUT void three(void) { nap(); KEEP; }
OUT void two(int n) { volatile char room[100]; room[n] = 1; three(); KEEP; room[n] = 2; }
OUT void one(void) { two(3); KEEP; }
OUT void *run_plain(void *a) { one(); KEEP; return a; }
pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
OUT void take(void) { pthread_mutex_lock(&pool_lock); KEEP; pthread_mutex_unlock(&pool_lock); }
OUT void *run_lock(void *a) { take(); KEEP; return a; }
OUT void rec(int n) { if (n) rec(n - 1); else nap(); KEEP; }
OUT void *run_rec(void *a) { rec(60); KEEP; return a; }
OUT void deep(int n) { volatile char room[2000]; room[n] = 1; if (n) deep(n - 1); else nap(); room[n] = 2; }
OUT void *run_deep(void *a) { deep(20); KEEP; return a; }
OUT void on_signal(int s) { (void)s; nap(); KEEP; }
OUT void *run_signal(void *a) { signal(SIGUSR1, on_signal); pthread_kill(pthread_self(), SIGUSR1); KEEP; return a; }
#ifndef STATIC
OUT void *run_plugin(void *a)
{
	void *library = dlopen("./plugin.so", RTLD_NOW);
	void (*plugin)(void) = library ? (void (*)(void))dlsym(library, "plugin_work") : NULL;

	if (plugin) plugin();
	KEEP;
	return a;
}
#endif
OUT void *run_short(void *a)
{
	struct timespec t = {0, 200000};
	for (int i = 0; i < 100; i++) nanosleep(&t, NULL);
	return a;
}
static void *named(void *arg)
{
	void **a = arg;
	void *b;

	prctl(PR_SET_NAME, a[0]);
	b = ((void *(*)(void *))a[1])(NULL);
	KEEP;
	return b;
}
int main(int argc, char **argv)
{
	static void *kinds[][2] = {{"plain", run_plain}, {"lock", run_lock}, {"rec", run_rec}, {"deep", run_deep},
				   {"signal", run_signal}, {"short", run_short},
#ifndef STATIC
				   {"plugin", run_plugin},
#endif
	};
	pthread_t threads[10];
	unsigned n = sizeof(kinds) / sizeof(kinds[0]);

	if (argc > 1) sscanf(argv[1], "%ld", &ms);
	pthread_mutex_lock(&pool_lock);
	for (unsigned i = 0; i < n; i++) pthread_create(&threads[i], NULL, named, kinds[i]);
	printf("pid=%d\n", getpid());
	fflush(stdout);
	nap();
	pthread_mutex_unlock(&pool_lock);
	for (unsigned i = 0; i < n; i++) pthread_join(threads[i], NULL);
	ms = argc > 2 ? 5000 : 20; /* so that all is taken while the process lives */
	nap();
	return 0;
}
E
cat >plugin.c <<'E'
#include <time.h>
__attribute__((noinline)) static void plugin_nap(void) { struct timespec t = {0, 300000000}; nanosleep(&t, 0); asm volatile("" ::: "memory"); }
void plugin_work(void) { plugin_nap(); asm volatile("" ::: "memory"); }
E
cat >pool.cc <<'E'
#include <time.h>
namespace ns {
struct Pool {
	template <typename A, typename B> __attribute__((noinline)) int take(A a, B b) {
		struct timespec t = {0, 200000000};
		nanosleep(&t, 0);
		asm volatile("" ::: "memory");
		return (int)(a + b);
	}
};
}
__attribute__((noinline)) static int worker(ns::Pool &pool, int n) { int x = n ? worker(pool, n - 1) : pool.take<int, long>(1, 2l); asm volatile("" ::: "memory"); return x + 1; }
int main() { ns::Pool pool; try { if (worker(pool, 2) < 0) throw 1; } catch (int) { return 1; } worker(pool, 2); worker(pool, 0); return 0; }
E
plain=(-O2 -fomit-frame-pointer -fno-optimize-sibling-calls -fno-inline -fno-ipa-cp -fno-ipa-sra)
gcc "${plain[@]}" -g -o chain chain.c -lpthread -ldl && gcc "${plain[@]}" -shared -fPIC -o plugin.so plugin.c &&
	gcc "${plain[@]}" -DSTATIC -static -o fixed chain.c -lpthread && g++ "${plain[@]}" -g -o pool pool.cc || skip "no compiler"
cat >py.py <<'E'
import time
def f(n): return time.sleep(0.2) if n == 0 else f(n - 1)
f(12)
f(12)
f(1)
E

cat >user.py <<'E'
import os, sys
from facts import *
copied = os.environ["copied"] == "1"
class Stacks:
    """The frames of user code of the sleeps of a trace, by name of the thread: lists of lists."""
    def __init__(self, name):
        self.trace, lines, self.of = Trace(name), {}, {}
        for line in open(name + "/stacks", encoding="ascii").read().splitlines()[1:]:
            number, frames = line.split("\t")
            lines[int(number)] = frames
        def resolve(number):
            text = lines[number]
            if not text.startswith("="):
                return text.split(";")
            of, *more = text[1:].split(";")
            return resolve(int(of)) + more
        for t in self.trace.streams:
            for e in t.of("OHw"):
                if e.stack():
                    frames = resolve(e.stack())
                    self.of.setdefault(t.bpf["name"], []).append([f for f in frames if "@" in f or f == "[cut]"])
    def names(self, thread):
        return [[f.split("@")[0] for f in frames] for frames in self.of.get(thread, [])]
    def own(self, thread, files):
        """The names of the frames of these files alone, of each stack."""
        return [[f.split("@")[0] for f in frames if f.count("@") and f.split("@")[1].split("+0x")[0] in files]
                for frames in self.of.get(thread, [])]
chains = {"plain": ["nap", "three", "two", "one", "run_plain", "named"], "lock": ["take", "run_lock", "named"],
          "rec": ["nap"] + ["rec"] * 61 + ["run_rec", "named"], "signal": ["nap", "on_signal", "run_signal", "named"],
          "plugin": ["plugin_nap", "plugin_work", "run_plugin", "named"]}
E

record_output command --why=stack=both -- ./chain 300
cat >judge.py <<'E'
from user import *
stacks = Stacks(sys.argv[1])
for kind, chain in chains.items():
    got = stacks.own(kind, ("chain", "plugin.so"))
    check(chain in got, kind, "must be", chain, "and is", got, stacks.names(kind))
    if not copied or kind != "signal":  # the frame of a signal has all registers
        check(not any("[cut]" in n for n in stacks.names(kind)), kind, "is cut", stacks.of.get(kind))
check(["nap", "main", "_start"] in stacks.own("chain", ("chain",)), "main:", stacks.own("chain", ("chain",)))
# 20 frames of 2,000 bytes do not fit: cut and marked, and right up to there
deep = stacks.names("deep")
low, high = (1, 2) if copied else (5, 8)
check(deep and deep[0][-1] == "[cut]" and low <= deep[0].count("deep") <= high, "deep:", deep)
# lines: the frame of one() is in the line that has its call
source = open("chain.c").read().splitlines()
at = [f for frames in stacks.of["plain"] for f in frames if f.startswith("one@")][0]
line = at.split("@chain.c:")[1]
check("one(void)" in source[int(line) - 1], "line", line, "of one() is", source[int(line) - 1])
session = stacks.trace.session["stacks"]
print(session, stacks.of["signal"])
check(int(session["user_bytes"]) == (3584 if copied else 16384), session)
check(session["user"] is True and int(session["user_unknown"]) <= (1 if sys.argv[1] == "command" else 2) and int(session["user_sleeps"]) >= 7, session)
# between the handler and the function that it interrupted: the frame of the kernel's trampoline
signal = [n for n in stacks.names("signal") if "on_signal" in n][0]
check(signal.index("run_signal") > signal.index("on_signal") + 1, "no frame of the signal", signal)
sys.exit(verdict())
E
python3 judge.py command || complain "command: the frames"
# The debug information is in a .dwo that is not there: names of the symbol table, and lines, are in the program.
mkdir split
gcc "${plain[@]}" -g -gsplit-dwarf -o split/chain chain.c -lpthread -ldl && rm ./split/*.dwo || complain "gcc -gsplit-dwarf fails"
record_output split.trace --why=stack=both -- split/chain 300
python3 judge.py split.trace || complain "without the .dwo: the frames"
# The answers name the place, with the line of the call.
"$B/bin/ovni-report" why --json command >why.json && "$B/bin/ovni-report" blocked --json command >blocked.json ||
	complain "command: why, blocked: $?"
cat >places.py <<'E'
import json, sys
source = open("chain.c").read().splitlines()
def line_of(text): return [i + 1 for i, line in enumerate(source) if text in line][0]
want = {"plain": "nap (chain.c:%d) <- three" % line_of("OUT void nap("), "rec": "nap (chain.c:%d) <- rec" % line_of("OUT void nap("),
        "lock": "take (chain.c:%d) <- run_lock" % line_of("OUT void take("), "plugin": "plugin_nap <- plugin_work"}
for name in ("why.json", "blocked.json"):
    rows = json.load(open(name))
    for thread, place in want.items():
        longest = max((r for r in rows if r["name"] == thread and r["state"] == "asleep" and r["from"]), key=lambda r: r["time"])
        print(name, thread, longest["time"], longest["call"], longest["from"])
        assert longest["from"] == place and longest["time"] > 100 * 10 ** 6, (name, place, longest)
    short = [r for r in rows if r["name"] == "short"]  # on a busy machine not all are
    assert not [r for r in short if r["from"] and r["max"] < 10**6], "a short sleep has a place"
    assert [r for r in short if not r["from"]], "all sleeps are long"
E
python3 places.py || complain "command: the places: $(cat blocked.json)"
"$B/bin/ovni-check" command >check.log 2>&1 || complain "command: $(cat check.log)"
"$B/bin/ovni-report" stacks command >folded || complain "report stacks: $?"
grep -q 'named;run_plain;one;two;three;nap;.*do_syscall_64_\[k\];' folded || complain "folded: $(cat folded)"
"$B/bin/ovni-report" flame --stacks --html command >flame.html || complain "flame: $?"
grep -q 'run_plain' flame.html || complain "the flame graph lacks a function"
"$B/bin/ovni-dump" command | grep -q 'stack [0-9]* (.*nanosleep <- .*nap' || complain "ovni-dump shows no frames"
judge command

record_output static --why=stack=user -- ./fixed 300
cat >judge.py <<'E'
from user import *
stacks = Stacks("static")
for kind in ("plain", "rec", "signal"):
    got = [[n for n in names if n in chains[kind]] for names in stacks.names(kind)]
    check(chains[kind] in got, kind, "must be", chains[kind], "and is", stacks.names(kind))
check(any("main" in n and n[-1] == "_start" for n in stacks.names("fixed")), "main:", stacks.names("fixed"))
text = open("static/stacks").read()
check("do_syscall_64" not in text and "[no_kernel_stack]" in text, "stack=user has frames of the kernel")
sys.exit(verdict())
E
python3 judge.py || complain "static: the frames"

record_output c++ --why=stack=both -- ./pool
record_output python --why=stack=both -- python3 py.py
cat >judge.py <<'E'
from user import *
pool = Stacks("c++").own("pool", ("pool",))
check(["ns::Pool::take<int, long>", "worker", "worker", "worker", "main", "_start"] in pool, "C++:", pool)
python = Stacks("python").names("python3")
check(any(len(n) >= 10 and n[-1] == "_start" for n in python), "Python:", python)
sys.exit(verdict())
E
python3 judge.py || complain "C++ and Python: the frames"

# A stack that cannot be read is left out, and those after it are read in time: of a process that has ended, nobody
# can read the mappings.
cat >unread.c <<'E'
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
__attribute__((noinline)) void nap(void)
{
	usleep(30000);
	__asm__ volatile("");
}
int main(int argc, char **argv)
{
#ifdef __x86_64__
	char *area = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static const struct timespec time = {0, 10000000};
	int status = 1;

	if (argc > 1) return nap(), 0;
	memset(area + 4096, 1, 4096);
	for (int i = 0; i < 5; i++) /* nanosleep() with the stack pointer at a page; none is below it */
		__asm__ volatile("mov %%rsp, %%rbx; mov %[sp], %%rsp; mov $35, %%eax; xor %%esi, %%esi; syscall; mov %%rbx, %%rsp"
				 : : [sp] "r"(area + 4096), "D"(&time) : "rax", "rbx", "rcx", "rsi", "r11", "memory");
	for (int i = 0; i < 3; i++) {
		if (!fork()) {
			execl(argv[0], argv[0], "nap", NULL);
			_exit(1);
		}
		wait(&status);
	}
	return status;
#else
	(void)argc, (void)argv, (void)nap;
	return 77;
#endif
}
E
gcc -O1 -g -o unread unread.c || complain "gcc: unread.c"
if ./unread; then
	record_output after --why=stack=both,5ms -- ./unread
	grep -q ';nap@unread' after/stacks || complain "after: no stack of a nap: $(cat after/stacks after.log)"
fi

# A thread that serves a userfaultfd, whose memory lies right above its stack: no reading of that stack may touch it.
cat >pager.c <<'E'
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#define PAGES 16
int fd;
char *region;
unsigned asked[PAGES];
void *pager(void *arg)
{
	for (;;) {
		struct pollfd p = {fd, POLLIN, 0};
		struct uffd_msg m;
		struct uffdio_zeropage z = {.range = {.len = 4096}};

		poll(&p, 1, -1);
		if (read(fd, &m, sizeof(m)) != sizeof(m)) continue;
		z.range.start = m.arg.pagefault.address & ~4095ull;
		asked[(z.range.start - (uintptr_t)region) / 4096]++;
		ioctl(fd, UFFDIO_ZEROPAGE, &z);
	}
	return arg;
}
int main(void)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register r = {.range = {.len = PAGES * 4096}, .mode = UFFDIO_REGISTER_MODE_MISSING};
	size_t stack = 1 << 20;
	pthread_attr_t a;
	pthread_t t;
	char *area;

	fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api)) return 77;
	area = mmap(NULL, stack + PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	region = area + stack;
	r.range.start = (uintptr_t)region;
	if (ioctl(fd, UFFDIO_REGISTER, &r)) return 77;
	pthread_attr_init(&a);
	pthread_attr_setstack(&a, area, stack);
	pthread_create(&t, &a, pager, NULL);
	for (int i = PAGES - 1; i >= PAGES / 2; i--) {
		usleep(30000);
		*(volatile char *)(region + i * 4096) = 1;
	}
	for (int i = 0; i < PAGES; i++) printf("%u", asked[i]);
	puts("");
	return 0;
}
E
gcc -O1 -o pager pager.c -lpthread || complain "gcc: pager.c"
if ./pager >/dev/null; then
	record_output paged --why=stack=both,wakers,preempted,5ms -- timeout -s KILL 30 ./pager
	[ "$(grep -x '[01]*' paged.report)" = 0000000011111111 ] || complain "the recorder touches the memory of a userfaultfd: $(cat paged.report paged.log)"
	grep -q ';pager@pager' paged/stacks || complain "paged: no stack of the pager: $(cat paged/stacks)"
else
	echo "no userfaultfd here"
fi

# A thread that sleeps from before the recording to its end, as one that hangs.
sleep 100 &
"$RECORDER" -o hung --why=stack=both --all-threads -p $! -d 300ms >hung.log 2>&1 || complain "hung: $(cat hung.log)"
kill $!
"$B/bin/ovni-report" stacks hung | grep -q '^sleep.*nanosleep.*do_syscall_64_\[k\];.* 3[0-9]*$' || complain "hung: $(cat hung/stacks)"

target() { sed -n 's/^pid=//p' gdb.log; }
sleeping() { # all threads of the program of gdb.log
	[ "$(cat "/proc/$(target)"/task/*/comm 2>/dev/null | grep -cE '^(plain|rec|lock|signal)$')" = 4 ] &&
		! cat "/proc/$(target)"/task/*/status 2>/dev/null | grep -q 'R (running)'
}

# gdb, an independent source: the functions of each thread, while they sleep.
if command -v gdb >/dev/null; then
	"$RECORDER" -o gdb --why=stack=both -- ./chain 3000 >gdb.log 2>&1 &
	recorder=$!
	wait_until sleeping || complain "gdb: the program does not run: $(cat gdb.log)"
	cat >bt.py <<'E'
import gdb
for thread in gdb.selected_inferior().threads():
    thread.switch()
    frame, names = gdb.newest_frame(), []
    while frame:
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):  # they have no frame of their own
            names.append("<signal>" if frame.type() == gdb.SIGTRAMP_FRAME else frame.name() or "??")
        frame = frame.older()
    print("BT", thread.name, *names)
E
	gdb -batch -iex 'set debuginfod enabled off' -ex 'set backtrace past-main on' -x bt.py -p "$(target)" >bt.log 2>&1
	wait $recorder || complain "gdb: $(cat gdb.log)"
	cat >judge.py <<'E'
from user import *
stacks = Stacks("gdb")
theirs = {words[1]: words[2:] for words in map(str.split, open("bt.log")) if words and words[0] == "BT"}
# gdb calls the frame of a signal <signal handler called>, and a function without a symbol ??; aliases differ
def alike(mine, other):
    if copied and mine[-1:] == ["[cut]"]:
        mine = mine[:-1]
        other = other[:len(mine)] if len(mine) >= 4 else []
    return len(mine) == len(other) and all(
        a == b or a.startswith("[") or b.startswith(("??", "<signal")) or a.strip("_") in b or b.strip("_") in a
        for a, b in zip(mine, other))
for kind in ("plain", "lock", "rec", "signal", "chain"):
    ours = stacks.names(kind)
    print(kind, len(theirs.get(kind, [])), "frames of gdb,", [len(o) for o in ours], "of ours")
    known = [b for b in theirs.get(kind, []) if not b.startswith(("??", "<"))]
    check(len(known) >= 4, kind, "gdb knows", known)
    check(any(alike(o, theirs.get(kind, [])) for o in ours), kind, "gdb has", theirs.get(kind), "and we", ours)
sys.exit(verdict())
E
	python3 judge.py || complain "gdb has other frames"
else
	echo "gdb is not there: not compared with it"
fi

# A killed recorder: each number has a line, and those that were walked have frames of user code. The program goes on
# while its first frames are looked for.
"$RECORDER" -o killed --why=stack=both --flush-interval 100ms -- \
	sh -c 'for i in 1 2 3 4 5; do ./chain 700 long; done' >killed.log 2>&1 &
recorder=$!
wait_until grep -qs 'three@' killed/stacks || complain "killed: no frames are written"
kill -9 $recorder
wait $recorder 2>/dev/null
"$B/bin/ovni-check" --repair -o repaired killed >repair.log 2>&1
[ $? = 3 ] || complain "killed: cannot repair: $(cat repair.log)"
grep -q 'stack that is not known' repair.log && complain "killed: $(cat repair.log)"
"$B/bin/ovni-dump" repaired 2>/dev/null | grep -q 'stack [0-9]* (.*nanosleep <- ' || complain "repaired: no frames"

# A thread that sleeps to the end: where does it hang?
"$RECORDER" -o hang --why=stack=both -- ./chain 30000 >gdb.log 2>&1 &
recorder=$!
wait_until sleeping || complain "hang: the program does not run: $(cat gdb.log)"
sleep 0.1 # longer than the limit
kill -INT $recorder
wait $recorder || complain "hang: $(cat gdb.log)"
kill -9 "$(target)"
cat >judge.py <<'E'
from user import *
stacks = Stacks("hang")
for kind in ("plain", "lock", "rec", "signal"):
    check(chains[kind] in stacks.own(kind, ("chain",)), kind, "hangs in", stacks.names(kind))
sys.exit(verdict())
E
python3 judge.py || complain "hang: the frames"

# Each of several traces, and a part, have the frames that they use.
record_output rotated --why=stack=both --rotate 400ms -- ./chain 300
grep -l 'three@' rotated/0*/stacks >/dev/null || complain "rotated: no frames: $(ls rotated/0*)"
for part in rotated/0*; do
	"$B/bin/ovni-check" "$part" >part.log 2>&1 || [ $? = 3 ] || complain "$part: $(cat part.log)"
	grep 'stack that is not known' part.log && complain "$part: a stack is not known"
done
"$B/bin/ovni-cut" -o part --from +100ms command >cut.log 2>&1 || [ $? = 3 ] || complain "cut: $(cat cut.log)"
"$B/bin/ovni-dump" part | grep -q 'stack [0-9]* (.*nanosleep <- ' || complain "cut: no frames"
"$B/bin/ovni-check" part >check.log 2>&1 || [ $? = 3 ] || complain "part: $(cat check.log)"

# Processes that sleep once and end: their mappings were read before. On a busy machine some are read too late; without that
# reading 0 or 1 of 20 are known.
cat >once.c <<'E'
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
__attribute__((noinline)) static void last_nap(void) { struct timespec t = {0, 200000000}; nanosleep(&t, 0); asm volatile("" ::: "memory"); }
int main(int argc, char **argv)
{
	if (argc > 2) {
		last_nap();
		return 0;
	}
	for (int i = 0; i < 20; i++) {
		if (fork()) continue;
		if (argc > 1) execv(argv[0], (char *[]){argv[0], "nap", "once", NULL});
		last_nap();
		_exit(0);
	}
	while (wait(NULL) > 0) ;
}
E
gcc -O1 -o once once.c || exit 1
for how in fork exec; do
	what=()
	[ $how = fork ] || what=(exec)
	record_output once.$how --why=stack=both -- ./once "${what[@]}"
	"$B/bin/ovni-report" blocked -n 0 once.$how >once.log
	known=$(grep -c 'last_nap' once.log)
	echo "$how: $known of 20 processes that end at once have frames"
	[ "$known" -ge 15 ] || complain "once.$how: $(cat once.log)"
done

# While a walk takes long, here because the child that walks is stopped, the mappings of others are read all the same.
cat >slow <<'E'
#!/bin/bash
./once nap once
until walker=$(pgrep -x -P $PPID ovni-elf); do sleep 0.01; done
kill -STOP $walker
./once nap once
./once
kill -CONT $walker
E
chmod +x slow
record_output slow.t --why=stack=both -- ./slow
"$B/bin/ovni-report" blocked -n 0 slow.t >once.log
known=$(grep -c '^once.*last_nap' once.log)
echo "slow walk: $known of 22 have frames"
[ "$known" -ge 17 ] || complain "slow.t: $(cat once.log)"

# What is not asked for is not there: no map, and no frame.
make_own_maps
"$RECORDER" -o kernel --why=stack -- ./own_maps >maps.log 2>&1
grep -q 'array' maps.log && ! grep -q 'user_stack' maps.log || complain "--why=stack has maps of user stacks: $(cat maps.log)"
"$RECORDER" -o both --why=stack=both -- ./own_maps >maps.log 2>&1
grep -q 'user_stack_ring' maps.log || complain "--why=stack=both has no ring: $(cat maps.log)"
grep -qs '@' kernel/stacks && complain "--why=stack has frames of user code"
finish
