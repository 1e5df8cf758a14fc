/* SPDX-License-Identifier: MIT */
/*
 * tasktable: finds one of millions of tasks by its id.
 *
 * In: the ids of a task and a body; out: its entry, with one probe: the hash selects a block
 * through a small directory, and the entry in it. Neighbouring ids, which are close in time, share
 * a block. A block that is three quarters full is split in two: the table grows by blocks, and no
 * other entry moves. A task takes about 30 bytes. The hash has a secret seed, since ids come from
 * traces.
 */
#ifndef EMU_TASK_TASKTABLE_H
#define EMU_TASK_TASKTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct task { /* of a task (body 0), or of one body of a parallel task */
	uint32_t id, body;
	uint32_t type; /* value in Paraver */
	uint8_t state; /* owned by the caller */
	uint8_t flags; /* owned by the caller */
	uint8_t used;
};
_Static_assert(sizeof(struct task) == 16, "memory per task");

#define TASK_BLOCK 256 /* tasks */

struct task_block {
	uint32_t n;
	uint32_t depth; /* number of leading bits that the hashes of its tasks share */
	struct task tasks[TASK_BLOCK];
};

struct task_table {
	struct task_block **directory; /* by the upper `depth` bits; NULL while empty */
	uint32_t depth;
	uint32_t moves; /* number of splits, which move entries */
	uint64_t n;
};

/* Chooses the seed of all tables; once, before any other call. */
void task_table_seed(void);

/* Returns the entry, or NULL. The pointer is valid until table->moves changes. */
struct task *task_table_find(const struct task_table *table, uint32_t id, uint32_t body);

/*
 * Adds an entry with all other fields zero. Returns NULL out of memory, or if it exists already
 * (*exists is then true).
 */
struct task *task_table_add(struct task_table *table, uint32_t id, uint32_t body, bool *exists);

void task_table_fini(struct task_table *table);

#endif
