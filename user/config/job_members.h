/* SPDX-License-Identifier: MIT */
/*
 * job_members: the processes of a parallel job on this node, with their ranks.
 *
 * In: processes that have registered (--job), or whose environment meets the rule of ovni-job: by
 * the records of the kernel side at their exec, or in /proc at the beginning. Out: the rank of a
 * process, the list, and how many ranks there are. Any thread may call these.
 * Specification: job.md 4.1, 4.2.
 */
#ifndef USER_CONFIG_JOB_MEMBERS_H
#define USER_CONFIG_JOB_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct job_rule;
struct record_variable;

struct job_member {
	uint32_t pid;
	int32_t rank, size; /* -1: not known */
	bool again;	    /* an earlier one has the same rank: its parent, or another step's */
};

/* NULL without memory, after one message. */
struct job_members *job_members_new(void);
void job_members_free(struct job_members *members);

/* 0, or -ENOMEM after one message. */
int job_members_add(struct job_members *members, uint32_t pid, int32_t rank, int32_t size);

/* Takes a variable of a process; with the last one it is a member. 0, or -ENOMEM after one message.
 */
int job_members_take(struct job_members *members, const struct job_rule *rule,
		     const struct record_variable *record);

/* Adds the processes below `proc` that meet the rule, and calls `found` with each new one. Returns
 * how many there were, or -errno after one message, or what `found` returned if that is not 0. */
int job_members_scan(struct job_members *members, const struct job_rule *rule, const char *proc,
		     int (*found)(void *arg, uint32_t pid), void *arg);

/* The member with this pid; the latest, if the pid was used again. False: it is none. */
bool job_members_find(struct job_members *members, uint32_t pid, struct job_member *member);

/* The number `index`, in the order in which they were added. False: there are no more. */
bool job_members_get(struct job_members *members, size_t index, struct job_member *member);

/* The number of ranks, and the largest size of their jobs (-1: none has one). */
size_t job_members_count(struct job_members *members, int32_t *size);

#endif
