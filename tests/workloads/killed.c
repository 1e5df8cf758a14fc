/* SPDX-License-Identifier: MIT */
/*
 * killed: a child with running and sleeping threads that dies of SIGKILL.
 */
#include <signal.h>

#include "workload.h"

static long nthreads = 4, msec = 50;
static int born[2];

static const struct knob knobs[] = {
	{'n', &nthreads, "threads of the child beside the first"},
	{'t', &msec, "time before the kill, ms"},
	{0, NULL, NULL},
};

static void *live(void *arg)
{
	long number = (long)(intptr_t)arg;
	pid_t tid = gettid();

	name_thread("%s-%ld", number % 2 ? "sleeps" : "spins", number);
	must(write(born[1], &tid, sizeof(tid)) == sizeof(tid), "write to the pipe");
	for (;;) {
		if (number % 2)
			sleep_for(3600 * 1000 * MSEC);
		else
			spin_for(MSEC);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pid_t pid, tid;
	int status;
	long i;

	workload_begin(argc, argv, knobs);
	must(!pipe(born), "pipe");
	pid = fork();
	must(pid >= 0, "fork");
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (i = 1; i <= nthreads; i++)
			start_thread(live, (void *)(intptr_t)i);
		live((void *)(intptr_t)0);
	}
	for (i = 0; i <= nthreads; i++) {
		must(read(born[0], &tid, sizeof(tid)) == sizeof(tid), "read from the pipe");
		say("tid=%d", tid);
	}
	sleep_for(msec * MSEC);
	must(!kill(pid, SIGKILL), "SIGKILL");
	must(waitpid(pid, &status, 0) == pid, "waitpid");
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		fail("child %d ended with 0x%x instead of SIGKILL", pid, (unsigned)status);
	say("pid=%d threads=%ld", pid, nthreads + 1);
	return 0;
}
