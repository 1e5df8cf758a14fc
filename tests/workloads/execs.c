/* SPDX-License-Identifier: MIT */
/*
 * execs: a process that executes itself again and again, also from a thread that is
 * not its leader, in which case the caller takes the leader's tid.
 *
 * Each generation has two more threads that sleep; they and, in the modes 1 and 2, the
 * leader die at the exec.
 */
#include "workload.h"

enum { BY_LEADER, BY_THREAD, AFTER_LEADER };

static long mode = BY_LEADER, generations = 5, pid, msec = 5;

static const struct knob knobs[] = {
	{'m', &mode, "exec 0: by the leader, 1: by a thread, 2: by one after the leader's end"},
	{'n', &generations, "execs to come"},
	{'t', &msec, "time before each, ms"},
	{'p', &pid, "the process of the first generation"},
	{0, NULL, NULL},
};

static void *idle(void *arg)
{
	(void)arg;
	for (;;)
		sleep_for(MSEC);
	return NULL;
}

static void exec_again(void)
{
	char m[24], n[24], t[24], p[24];

	spin_for(msec * MSEC / 2);
	sleep_for(msec * MSEC / 2);
	say("exec=%ld pid=%d caller=%d", generations, getpid(), gettid());
	snprintf(m, sizeof(m), "%ld", mode);
	snprintf(n, sizeof(n), "%ld", generations - 1);
	snprintf(t, sizeof(t), "%ld", msec);
	snprintf(p, sizeof(p), "%ld", pid);
	execl("/proc/thread-self/exe", "execs", "-m", m, "-n", n, "-t", t, "-p", p, (char *)NULL);
	fail("exec: %s", strerror(errno));
}

static void *exec_in_thread(void *arg)
{
	(void)arg;
	name_thread("caller-%ld", generations);
	exec_again();
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t caller;

	workload_begin(argc, argv, knobs);
	if (!pid)
		pid = getpid();
	if (pid != getpid() || pid != gettid())
		fail("was process %ld, is process %d, thread %d", pid, getpid(), gettid());
	if (generations == 0) {
		spin_for(msec * MSEC);
		say("pid=%ld done", pid);
		return 0;
	}
	start_thread(idle, NULL);
	start_thread(idle, NULL);
	if (mode == BY_LEADER)
		exec_again();
	caller = start_thread(exec_in_thread, NULL);
	if (mode == AFTER_LEADER)
		pthread_exit(NULL);
	join_thread(caller);
	fail("the exec of a thread came back");
}
