/* SPDX-License-Identifier: MIT */
/*
 * lifecycle: records of what becomes of a task: born, renamed, another program, wanted or
 * not, exiting.
 *
 * Inside the timeline. In: RECORD_TASK and RECORD_EXIT; out: OHC, names, parents, streams that
 * begin or end with them. Switches are timeline.c's affair, and so is the last one.
 * All return 0 or -errno after one message.
 */
#ifndef USER_TIMELINE_LIFECYCLE_H
#define USER_TIMELINE_LIFECYCLE_H

#include "user/timeline/cpu_state.h"

/* In the window. An exit is taken before it, too. */
int lives_task(struct timeline *tl, struct cpu *cpu, const struct record_task *r);
int lives_exit(struct timeline *tl, struct cpu *cpu, const struct record_exit *r);

/*
 * The task in whose context a record was made, ready and proven to run on `cpu`; *out is NULL if
 * there is none with a stream, or it is not known who it is. `pid` is of one not met before,
 * `tid` is 0 if the record does not tell it.
 */
int lives_context(struct timeline *tl, struct cpu *cpu, const struct record_head *head,
		  uint32_t pid, uint32_t tid, struct task **out);

/* Takes the slot of a wanted task into use, unless it is; *out is the task. */
int lives_admit(struct timeline *tl, const struct record_task *r, struct task **out);
/* What a record tells of a task in use, but for its tid. */
int lives_learn(struct timeline *tl, struct task *task, const struct record_task *r);
/* A task that is not wanted, or no more. */
int lives_unwanted(struct timeline *tl, const struct record_task *r);

#endif
