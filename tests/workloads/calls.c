/* SPDX-License-Identifier: MIT */
/*
 * calls: functions that call each other, and are left in all possible ways.
 *
 * Callers, numbers of calls and depths are known; the tests probe them. Each mode is a scene.
 */
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "workload.h"

/* A function as it stands here: not inlined, not cloned, with a frame, and a call in it is no jump.
 */
#define PROBED static __attribute__((noinline, noclone, noipa, used))
#define KEEP   asm volatile("" ::: "memory")

static long mode, times = 3, depth = 5;

PROBED long leaf(long n)
{
	KEEP;
	return n + 1;
}

PROBED long recurse(long n)
{
	long result = n > 1 ? recurse(n - 1) : leaf(n);

	KEEP;
	return result + 1;
}

PROBED long branch(long n)
{
	long result = leaf(n);

	KEEP;
	return result + leaf(result);
}

/* ---- left by longjmp ---- */

static jmp_buf back;

PROBED void jumper(void)
{
	KEEP;
	longjmp(back, 1);
}

PROBED void between(void)
{
	jumper();
	KEEP;
}

PROBED void lander(void)
{
	if (!setjmp(back))
		between();
	KEEP;
	leaf(1);
	KEEP;
}

/* ---- a function that ends with a jump to another ---- */

PROBED long tail_target(long n)
{
	KEEP;
	return n * 2;
}

#if defined(__x86_64__)
__attribute__((naked)) PROBED long tail_caller(long n __attribute__((unused)))
{
	asm("push %rbx\n\tpop %rbx\n\tjmp tail_target");
}
#else
PROBED long tail_caller(long n)
{
	return tail_target(n);
}
#endif

/* ---- signal handlers on a stack of their own ---- */

static long handled;
static sigjmp_buf out_of_handler;

PROBED void in_handler(void)
{
	KEEP;
	handled++;
	leaf(handled);
	KEEP;
}

static void handler(int signal)
{
	(void)signal;
	in_handler();
}

PROBED void jump_out(void)
{
	KEEP;
	siglongjmp(out_of_handler, 1);
}

static void jumping_handler(int signal)
{
	(void)signal;
	jump_out();
}

PROBED void interrupted(void)
{
	leaf(0);
	raise(SIGUSR1);
	leaf(0);
	KEEP;
}

PROBED void interrupted_for_good(void)
{
	leaf(0);
	if (!sigsetjmp(out_of_handler, 1))
		raise(SIGUSR2);
	leaf(0);
	KEEP;
}

static void set_handlers(void)
{
	static char memory[64 * 1024]; /* below the stack of the thread */
	stack_t stack = {.ss_sp = memory, .ss_size = sizeof(memory)};
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};

	must(!sigaltstack(&stack, NULL), "sigaltstack");
	must(!sigaction(SIGUSR1, &action, NULL), "sigaction");
	action.sa_handler = jumping_handler;
	must(!sigaction(SIGUSR2, &action, NULL), "sigaction");
}

/* ---- a stack of its own, which is left and entered again (coroutine) ---- */

static ucontext_t here, there;

PROBED void yielding(void)
{
	leaf(1);
	must(!swapcontext(&there, &here), "swapcontext");
	leaf(2);
	KEEP;
}

PROBED void meanwhile(void)
{
	leaf(3);
	KEEP;
}

static void coroutine(void)
{
	yielding();
}

PROBED void resuming(void)
{
	static const size_t bytes = 256 * 1024;
	void *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	must(memory != MAP_FAILED, "mmap");
	must(!getcontext(&there), "getcontext");
	there.uc_stack.ss_sp = memory;
	there.uc_stack.ss_size = bytes;
	there.uc_link = &here;
	makecontext(&there, coroutine, 0);
	must(!swapcontext(&here, &there), "swapcontext");
	meanwhile();
	must(!swapcontext(&here, &there), "swapcontext");
	munmap(memory, bytes);
}

/* ---- left for good ---- */

PROBED void exiting(int status)
{
	KEEP;
	exit(status);
}

PROBED void executing(char **argv)
{
	KEEP;
	execv("/proc/self/exe", argv);
	fail("execv: %s", strerror(errno));
}

PROBED void thread_exiting(void)
{
	KEEP;
	syscall(SYS_exit, 0); /* of this thread alone, without any unwinding */
}

static void *run_thread(void *arg)
{
	(void)arg;
	recurse(2);
	thread_exiting();
	return NULL;
}

/* ---- scenes ---- */

static void scene_fork(void)
{
	pid_t pid;

	recurse(2);
	pid = fork();
	must(pid >= 0, "fork");
	if (!pid) {
		for (long i = 0; i < times; i++)
			recurse(depth);
		_exit(0);
	}
	say("child=%d", pid);
	reap(pid, 0);
	branch(1);
}

static void scene_exec(char **argv)
{
	char *again[] = {argv[0],     (char *)"-m", (char *)"0", (char *)"-n",
			 (char *)"2", (char *)"-d", (char *)"2", NULL};

	executing(again);
}

/* As strict as it gets: read, write, exit and sigreturn. */
static void scene_strict(void)
{
	must(!prctl(PR_SET_SECCOMP, 1 /* strict */), "prctl(PR_SET_SECCOMP)");
	for (long i = 0; i < times; i++)
		recurse(depth);
	syscall(SYS_exit, 0);
}

int main(int argc, char **argv)
{
	const struct knob knobs[] = {
		{'m', &mode,
		 "0 recursion, 1 longjmp, 2 tail call, 3 signal, 4 signal and longjmp, 5 exit, "
		 "6 exec, 7 thread exit, 8 fork, 9 strict seccomp, 10 branches, 11 coroutine"},
		{'n', &times, "how often"},
		{'d', &depth, "how deep"},
		{0, NULL, NULL},
	};

	workload_begin(argc, argv, knobs);
	say("pid=%d times=%ld depth=%ld", getpid(), times, depth);
	set_handlers();
	for (long i = 0; i < times; i++) {
		switch (mode) {
		case 0:
			recurse(depth);
			break;
		case 1:
			lander();
			break;
		case 2:
			tail_caller(i);
			break;
		case 3:
			interrupted();
			break;
		case 4:
			interrupted_for_good();
			break;
		case 10:
			branch(i);
			break;
		case 11:
			resuming();
			break;
		default:
			i = times;
		}
	}
	if (mode == 5)
		exiting(7);
	if (mode == 6)
		scene_exec(argv);
	if (mode == 7)
		join_thread(start_thread(run_thread, NULL));
	if (mode == 8)
		scene_fork();
	if (mode == 9)
		scene_strict();
	return 0;
}
