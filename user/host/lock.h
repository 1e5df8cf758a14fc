/* SPDX-License-Identifier: MIT */
/*
 * lock: a lock between the draining thread, which has a real-time priority, and a thread that has
 * none: while it is held, its holder has the priority of those that wait, so that a busy machine
 * cannot keep the draining thread waiting.
 */
#ifndef USER_HOST_LOCK_H
#define USER_HOST_LOCK_H

#include <pthread.h>

/* For pthread_mutex_destroy(). */
static inline void lock_init(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	if (pthread_mutex_init(lock, &attr)) /* a kernel without such futexes */
		pthread_mutex_init(lock, NULL);
	pthread_mutexattr_destroy(&attr);
}

#endif
