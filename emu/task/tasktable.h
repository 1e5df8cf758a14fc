/* SPDX-License-Identifier: MIT */
/*
 * tasktable: tasks by their numbers, millions of them.
 *
 * One probe finds a task: the hash chooses a block through a small directory, and the place in
 * it. Neighbouring ids share a block, as they do in time. A block that is three quarters
 * full is split in two, so the table grows by blocks and nothing else ever moves: about
 * 30 bytes a task. The hash has a secret seed, since ids come from traces.
 */
#ifndef EMU_TASK_TASKTABLE_H
#define EMU_TASK_TASKTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct task { /* of a task (body 0), or of one body of a parallel task */
	uint32_t id, body;
	uint32_t type; /* of a task type: place of its label; else the value that Paraver shows */
	uint8_t state; /* the owner's */
	uint8_t flags; /* the owner's */
	uint8_t used;
};
_Static_assert(sizeof(struct task) == 16, "memory per task");

#define TASK_BLOCK 256 /* tasks */

struct task_block {
	uint32_t n;
	uint32_t depth; /* bits of the hash that all tasks here have in common */
	struct task tasks[TASK_BLOCK];
};

struct task_table {
	struct task_block **directory; /* by the upper `depth` bits; NULL while empty */
	uint32_t depth;
	uint32_t moves; /* times that tasks have changed their place */
	uint64_t n;
};

/* Chooses the seed of all tables; once, before any other call. */
void task_table_seed(void);

/* The task, or NULL. The pointer holds as long as table->moves stays the same. */
struct task *task_table_find(const struct task_table *table, uint32_t id, uint32_t body);

/*
 * Adds a task, all zero but for id and body. NULL without memory, or if it is there already
 * (*exists).
 */
struct task *task_table_add(struct task_table *table, uint32_t id, uint32_t body, bool *exists);

void task_table_fini(struct task_table *table);

#endif
