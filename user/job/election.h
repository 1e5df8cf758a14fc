/* SPDX-License-Identifier: MIT */
/*
 * election: the processes of a job on one node find each other.
 *
 * In: the job key; out: one of them listens, all others have registered with it. The name is a
 * socket in the abstract namespace of user, job and host: nothing of it stays after a crash. The
 * kernel tells the user id and the pid of each side (SO_PEERCRED).
 * Specification: job.md 4.1, steps 1 to 3.
 */
#ifndef USER_JOB_ELECTION_H
#define USER_JOB_ELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/config/job_members.h"

/* The answer to a process that registers. */
enum job_answer {
	JOB_RECORDED = 'R',	/* the recorder has begun: it is a member */
	JOB_NOT_RECORDED = 'N', /* the recorder has failed */
	JOB_LATE = 'L',		/* the recorder had begun before */
	JOB_SILENCE = 0,	/* none within the time, or the listener has ended */
};

struct election {
	int listener; /* -1: closed */
	int *peers;   /* connections of the processes that have registered */
	size_t npeers;
	struct job_members *members; /* these, and the caller's own process */
};

/*
 * Binds the name. Returns 1 and an open election; 0 where another process has been elected, with
 * its answer in *answer: after at most `timeout_ns` if it cannot be reached, and twice that if it
 * waits for others; or -errno after one message.
 */
int election_enter(struct election *election, const char *key, const char *host, int32_t rank,
		   uint64_t timeout_ns, enum job_answer *answer);

/* Adds the caller's own process, then waits until `expected` processes (-1: not known) have
 * registered, or for `timeout_ns`. 0 or -errno after one message. */
int election_gather(struct election *election, uint32_t own_pid, int32_t own_rank, int32_t expected,
		    uint64_t timeout_ns);

/* Answers all that have registered, and closes their connections. */
void election_answer(struct election *election, enum job_answer answer);

/* Answers those that have come since. */
void election_refuse_late(struct election *election);

void election_close(struct election *election);

#endif
