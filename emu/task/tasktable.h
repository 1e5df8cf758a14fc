/* SPDX-License-Identifier: MIT */
/*
 * tasktable: finds one of millions of tasks by its id.
 *
 * In: the ids of a task and a body; out: its entry, mostly with one access to memory: the entries
 * are the slots of a hash table with open addressing, in which neighbouring ids, close in time, are
 * neighbours. It is at most three quarters full: a task takes 21 to 43 bytes. (A table of
 * trace/base/hash.h has the indices of entries, and takes three times as much.) The hash has a
 * secret seed, since ids come from traces.
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

struct task_table {
	struct task *tasks; /* NULL while empty; for free() */
	size_t n, room;	    /* room is a power of two */
};

/* Chooses the seed of all tables; once, before any other call. */
void task_table_seed(void);

/* Returns the entry, or NULL. The pointer is valid as long as table->room stays the same. */
struct task *task_table_find(const struct task_table *table, uint32_t id, uint32_t body);

/*
 * Adds an entry with all other fields zero. Returns NULL out of memory, or if it exists already
 * (*exists is then true).
 */
struct task *task_table_add(struct task_table *table, uint32_t id, uint32_t body, bool *exists);

#endif
