/* SPDX-License-Identifier: MIT */
/*
 * target_process: the processes or threads that the user named, and whether they still live.
 *
 * A named one is held by a descriptor, so that its number cannot come to mean another one
 * without notice. (Threads have no such descriptor on older kernels; they are looked up in /proc.)
 */
#ifndef USER_HOST_TARGET_PROCESS_H
#define USER_HOST_TARGET_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct target {
	const uint32_t *pids; /* the caller's, npids of them */
	size_t npids;
	bool threads;
	int *fds; /* by place in pids; -1: none */
};

/* Finds them all. 0, or -errno after one message (the first that does not exist). `pids` must
 * outlive the target. */
int target_find(struct target *target, const uint32_t *pids, size_t npids, bool threads)
	__attribute__((warn_unused_result));

/* Does any of them live? */
bool target_lives(const struct target *target);

void target_close(struct target *target); /* also of a zeroed struct */

#endif
