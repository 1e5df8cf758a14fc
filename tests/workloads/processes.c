/* SPDX-License-Identifier: MIT */
/*
 * processes: many short-lived processes, each forked, exec'd, and gone.
 *
 * A child executes this program again (with -x 0 it does not), names itself child-N, and exits with
 * status N modulo 128, which its parent checks.
 */
#include "workload.h"

static long nprocesses = 2000, parallel = 4, execs = 1, child = -1;

static const struct knob knobs[] = {
	{'n', &nprocesses, "processes"},
	{'j', &parallel, "alive at once"},
	{'x', &execs, "1: each child executes a program"},
	{'c', &child, "be the child of this number"},
	{0, NULL, NULL},
};

static void be_child(long number)
{
	name_thread("child-%ld", number);
	_exit((int)(number % 128));
}

static pid_t start_child(long number)
{
	char text[24];
	pid_t pid;

	snprintf(text, sizeof(text), "%ld", number);
	pid = fork();
	must(pid >= 0, "fork");
	if (pid == 0) {
		if (!execs)
			be_child(number);
		execl("/proc/self/exe", "processes", "-c", text, (char *)NULL);
		fail("exec: %s", strerror(errno));
	}
	say("child=%ld pid=%d", number, pid);
	return pid;
}

int main(int argc, char **argv)
{
	pid_t *pids;
	long i;

	workload_begin(argc, argv, knobs);
	if (child >= 0)
		be_child(child);
	if (nprocesses < 1 || parallel < 1)
		fail("-n and -j take 1 or more");
	pids = calloc((size_t)nprocesses, sizeof(*pids));
	must(pids != NULL, "calloc");
	for (i = 0; i < nprocesses + parallel; i++) {
		if (i >= parallel && i - parallel < nprocesses)
			reap(pids[i - parallel], (int)((i - parallel) % 128));
		if (i < nprocesses)
			pids[i] = start_child(i);
	}
	free(pids);
	say("processes=%ld parent=%d", nprocesses, getpid());
	return 0;
}
