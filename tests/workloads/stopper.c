/* SPDX-License-Identifier: MIT */
/*
 * stopper: a child that works and is stopped and continued by its parent.
 *
 * The child has two threads, one that spins and one that sleeps a lot; both
 * stop each time. At the end it is terminated.
 */
#include <signal.h>

#include "workload.h"

static long stops = 5, msec = 20;

static const struct knob knobs[] = {
	{'n', &stops, "stops"},
	{'t', &msec, "time stopped, and time running, ms"},
	{0, NULL, NULL},
};

static void *sleep_a_lot(void *arg)
{
	(void)arg;
	name_thread("sleeps");
	for (;;)
		sleep_for(200000);
	return NULL;
}

static void work(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	name_thread("spins");
	start_thread(sleep_a_lot, NULL);
	for (;;)
		spin_for(MSEC);
}

int main(int argc, char **argv)
{
	int status;
	pid_t pid;
	long i;

	workload_begin(argc, argv, knobs);
	pid = fork();
	must(pid >= 0, "fork");
	if (pid == 0)
		work();
	for (i = 0; i < stops; i++) {
		sleep_for(msec * MSEC);
		must(!kill(pid, SIGSTOP), "SIGSTOP");
		must(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status), "stop");
		sleep_for(msec * MSEC);
		must(!kill(pid, SIGCONT), "SIGCONT");
		must(waitpid(pid, &status, WCONTINUED) == pid && WIFCONTINUED(status), "continue");
	}
	sleep_for(msec * MSEC);
	must(!kill(pid, SIGTERM), "SIGTERM");
	must(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status), "end by a signal");
	say("pid=%d stops=%ld", pid, stops);
	return 0;
}
