/* SPDX-License-Identifier: MIT */
/* tasktable: finds tasks by their ids (see tasktable.h). */
#include "emu/task/tasktable.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define GROUP	  8 /* neighbouring ids with the same hash */
#define GROUPS	  (TASK_BLOCK / GROUP)
#define FULL	  (TASK_BLOCK * 3 / 4)
#define DEPTH_MAX 30

static uint64_t seed;

void task_table_seed(void)
{
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
		seed = 0x9e3779b97f4a7c15ULL; /* no entropy yet, early after boot */
}

/* One to one on 64 bits: different groups never have the same hash. */
static uint64_t hash(uint32_t id, uint32_t body)
{
	uint64_t h = ((uint64_t)body << 32 | id / GROUP) ^ seed;

	h = (h ^ h >> 32) * 0xd6e8feb86659fd93ULL;
	h = (h ^ h >> 32) * 0xd6e8feb86659fd93ULL;
	return h ^ h >> 32;
}

static size_t upper(uint64_t h, uint32_t depth)
{
	return depth ? (size_t)(h >> (64 - depth)) : 0;
}

/* The entry of the task in the block, or the free entry for it. */
static struct task *place(struct task_block *block, uint64_t h, uint32_t id, uint32_t body)
{
	uint32_t i = (uint32_t)(h % GROUPS) * GROUP + id % GROUP;

	while (block->tasks[i].used && (block->tasks[i].id != id || block->tasks[i].body != body))
		i = (i + 1) % TASK_BLOCK;
	return &block->tasks[i];
}

struct task *task_table_find(const struct task_table *table, uint32_t id, uint32_t body)
{
	uint64_t h = hash(id, body);
	struct task *task;

	if (!table->directory)
		return NULL;
	task = place(table->directory[upper(h, table->depth)], h, id, body);
	return task->used ? task : NULL;
}

static bool double_directory(struct task_table *table)
{
	size_t n = (size_t)1 << table->depth;
	struct task_block **directory;

	if (table->depth == DEPTH_MAX)
		return false;
	directory = malloc(2 * n * sizeof(struct task_block *));
	if (!directory)
		return false;
	for (size_t i = 0; i < n; i++)
		directory[2 * i] = directory[2 * i + 1] = table->directory[i];
	free(table->directory);
	table->directory = directory;
	table->depth++;
	return true;
}

/* Splits the block of `h` by one more bit of the hash. */
static bool split(struct task_table *table, uint64_t h)
{
	struct task_block *old = table->directory[upper(h, table->depth)], *halves[2];
	size_t first, span;

	if (old->depth == table->depth && !double_directory(table))
		return false;
	halves[0] = calloc(1, sizeof(*old));
	halves[1] = calloc(1, sizeof(*old));
	if (!halves[0] || !halves[1]) {
		free(halves[0]);
		free(halves[1]);
		return false;
	}
	halves[0]->depth = halves[1]->depth = old->depth + 1;
	for (size_t i = 0; i < TASK_BLOCK; i++) {
		const struct task *task = &old->tasks[i];
		uint64_t th = hash(task->id, task->body);
		struct task_block *half = halves[upper(th, old->depth + 1) & 1];

		if (!task->used)
			continue;
		*place(half, th, task->id, task->body) = *task;
		half->n++;
	}
	span = (size_t)1 << (table->depth - old->depth - 1); /* entries of each half */
	first = upper(h, old->depth) << (table->depth - old->depth);
	for (size_t i = 0; i < 2 * span; i++)
		table->directory[first + i] = halves[i / span];
	free(old);
	table->moves++;
	return true;
}

static bool make_first(struct task_table *table)
{
	table->directory = malloc(sizeof(struct task_block *));
	if (!table->directory)
		return false;
	table->directory[0] = calloc(1, sizeof(struct task_block));
	if (table->directory[0])
		return true;
	free(table->directory);
	table->directory = NULL;
	return false;
}

struct task *task_table_add(struct task_table *table, uint32_t id, uint32_t body, bool *exists)
{
	uint64_t h = hash(id, body);
	struct task_block *block;
	struct task *task;

	*exists = false;
	if (!table->directory && !make_first(table))
		return NULL;
	block = table->directory[upper(h, table->depth)];
	task = place(block, h, id, body);
	if (task->used) {
		*exists = true;
		return NULL;
	}
	if (__builtin_expect(block->n >= FULL, 0)) {
		do {
			if (!split(table, h))
				return NULL;
			block = table->directory[upper(h, table->depth)];
		} while (block->n >= FULL);
		task = place(block, h, id, body);
	}
	*task = (struct task){.id = id, .body = body, .used = 1};
	block->n++;
	table->n++;
	return task;
}

void task_table_fini(struct task_table *table)
{
	size_t n = table->directory ? (size_t)1 << table->depth : 0;
	struct task_block *last = NULL;

	for (size_t i = 0; i < n; i++) {
		if (table->directory[i] != last)
			free(last);
		last = table->directory[i];
	}
	free(last);
	free(table->directory);
	memset(table, 0, sizeof(*table));
}
