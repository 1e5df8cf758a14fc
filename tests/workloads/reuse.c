/* SPDX-License-Identifier: MIT */
/*
 * reuse: processes that follow each other with one and the same pid (clone3 with
 * set_tid, which needs CAP_CHECKPOINT_RESTORE), named life-0, life-1, ...
 */
#include <linux/sched.h>
#include <signal.h>
#include <sys/syscall.h>

#include "workload.h"

static long lives = 5, msec = 2;

static const struct knob knobs[] = {
	{'n', &lives, "processes with the same pid"},
	{'t', &msec, "life of each, ms"},
	{0, NULL, NULL},
};

static pid_t fork_as(pid_t pid)
{
	struct clone_args args = {.exit_signal = SIGCHLD};

	if (pid) {
		args.set_tid = (uint64_t)(uintptr_t)&pid;
		args.set_tid_size = 1;
	}
	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

int main(int argc, char **argv)
{
	pid_t pid = 0, got;
	long i;

	workload_begin(argc, argv, knobs);
	for (i = 0; i < lives; i++) {
		got = fork_as(pid);
		must(got >= 0, "clone3 with a given pid");
		if (got == 0) {
			name_thread("life-%ld", i);
			spin_for(msec * MSEC);
			sleep_for(msec * MSEC);
			_exit((int)i);
		}
		if (pid && got != pid)
			fail("asked for process %d, got %d", pid, got);
		pid = got;
		reap(pid, (int)(i & 127));
	}
	say("pid=%d lives=%ld", pid, lives);
	return 0;
}
