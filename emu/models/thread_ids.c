/* SPDX-License-Identifier: MIT */
/* thread_ids: numbers of threads in payloads (see thread_ids.h). */
#include "emu/models/thread_ids.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GROUP	   8 /* neighbouring tids are side by side */
#define FIRST_ROOM 64

int thread_ids_init(struct thread_ids *ids, const struct system *sys)
{
	memset(ids, 0, sizeof(*ids));
	ids->looms = sys->looms;
	ids->ntables = sys->nlooms;
	ids->tables = calloc(sys->nlooms + 1ul, sizeof(*ids->tables));
	return ids->tables ? 0 : -ENOMEM;
}

void thread_ids_fini(struct thread_ids *ids)
{
	for (uint32_t i = 0; ids->tables && i < ids->ntables; i++)
		free(ids->tables[i].entries);
	free(ids->tables);
	free(ids->list);
}

static struct thread_ids_entry *find(const struct thread_ids_table *table, int32_t tid)
{
	uint32_t group = (uint32_t)tid / GROUP * 2654435761u >> 7;
	uint32_t i = (group * GROUP + (uint32_t)tid % GROUP) & (table->room - 1);

	while (table->entries[i].tid && table->entries[i].tid != tid)
		i = (i + 1) & (table->room - 1);
	return &table->entries[i];
}

static int grow(struct thread_ids_table *table)
{
	struct thread_ids_table old = *table;

	table->room = old.room ? 2 * old.room : FIRST_ROOM;
	table->entries = calloc(table->room, sizeof(*table->entries));
	if (!table->entries) {
		*table = old;
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < old.room; i++)
		if (old.entries[i].tid)
			*find(table, old.entries[i].tid) = old.entries[i];
	free(old.entries);
	return 0;
}

static int add(struct thread_ids *ids, struct thread_ids_table *table, const struct loom *loom,
	       int32_t tid, uint32_t *number)
{
	if (2 * (table->n + 1) > table->room && grow(table))
		return -ENOMEM;
	if (ids->n == ids->room) {
		uint32_t room = ids->room ? 2 * ids->room : FIRST_ROOM;
		struct known_thread *list = realloc(ids->list, room * sizeof(*list));

		if (!list)
			return -ENOMEM;
		ids->list = list;
		ids->room = room;
	}
	*number = ids->n++;
	ids->list[*number] = (struct known_thread){loom, loom_find_thread(loom, tid), tid};
	*find(table, tid) = (struct thread_ids_entry){tid, *number};
	table->n++;
	return 0;
}

int thread_ids_get(struct thread_ids *ids, const struct loom *loom, int32_t tid, uint32_t *number)
{
	struct thread_ids_table *table = &ids->tables[loom - ids->looms];
	const struct thread_ids_entry *entry;

	*number = THREAD_ID_NONE;
	if (tid <= 0 || tid > TID_MAX)
		return 0;
	if (table->room) {
		entry = find(table, tid);
		if (entry->tid) {
			*number = entry->number;
			return 0;
		}
	}
	return add(ids, table, loom, tid, number);
}
