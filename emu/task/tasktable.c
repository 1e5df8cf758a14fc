/* SPDX-License-Identifier: MIT */
/* tasktable: finds tasks by their ids (see tasktable.h). */
#include "emu/task/tasktable.h"

#include <stdlib.h>
#include <sys/random.h>

#define GROUP 8	  /* neighbouring ids with the same hash */
#define FIRST 256 /* entries; a power of two */

static uint64_t seed;

void task_table_seed(void)
{
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
		seed = 0x9e3779b97f4a7c15ULL; /* no entropy yet, early after boot */
}

/* The entry of the task, or the free entry for it. */
static struct task *place(const struct task_table *table, uint32_t id, uint32_t body)
{
	uint64_t h = ((uint64_t)body << 32 | id / GROUP) ^ seed;
	size_t mask = table->room - 1, i;

	h = (h ^ h >> 32) * 0xd6e8feb86659fd93ULL;
	h = (h ^ h >> 32) * 0xd6e8feb86659fd93ULL;
	i = ((h ^ h >> 32) * GROUP + id % GROUP) & mask;
	while (table->tasks[i].used && (table->tasks[i].id != id || table->tasks[i].body != body))
		i = (i + 1) & mask;
	return &table->tasks[i];
}

struct task *task_table_find(const struct task_table *table, uint32_t id, uint32_t body)
{
	struct task *task = table->room ? place(table, id, body) : NULL;

	return task && task->used ? task : NULL;
}

static bool grow(struct task_table *table)
{
	struct task_table larger = {.n = table->n, .room = table->room ? 2 * table->room : FIRST};

	larger.tasks = calloc(larger.room, sizeof(*larger.tasks));
	if (!larger.tasks)
		return false;
	for (size_t i = 0; i < table->room; i++) {
		const struct task *task = &table->tasks[i];

		if (task->used)
			*place(&larger, task->id, task->body) = *task;
	}
	free(table->tasks);
	*table = larger;
	return true;
}

struct task *task_table_add(struct task_table *table, uint32_t id, uint32_t body, bool *exists)
{
	struct task *task = table->room ? place(table, id, body) : NULL;

	*exists = task && task->used;
	if (*exists)
		return NULL;
	if (table->n >= table->room / 4 * 3) {
		if (!grow(table))
			return NULL;
		task = place(table, id, body);
	}
	*task = (struct task){.id = id, .body = body, .used = 1};
	table->n++;
	return task;
}
