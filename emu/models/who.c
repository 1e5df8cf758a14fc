/* SPDX-License-Identifier: MIT */
/* who: threads that appear in payloads (see who.h). */
#include "emu/models/who.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GROUP	   8 /* neighbouring tids lie together */
#define FIRST_ROOM 64

int whos_init(struct whos *whos, const struct system *sys)
{
	memset(whos, 0, sizeof(*whos));
	whos->looms = sys->looms;
	whos->ntables = sys->nlooms;
	whos->tables = calloc(sys->nlooms + 1ul, sizeof(*whos->tables));
	return whos->tables ? 0 : -ENOMEM;
}

void whos_fini(struct whos *whos)
{
	for (uint32_t i = 0; whos->tables && i < whos->ntables; i++)
		free(whos->tables[i].entries);
	free(whos->tables);
	free(whos->list);
}

static struct who_entry *find(const struct who_table *table, int32_t tid)
{
	uint32_t group = (uint32_t)tid / GROUP * 2654435761u >> 7;
	uint32_t i = (group * GROUP + (uint32_t)tid % GROUP) & (table->room - 1);

	while (table->entries[i].tid && table->entries[i].tid != tid)
		i = (i + 1) & (table->room - 1);
	return &table->entries[i];
}

static int grow(struct who_table *table)
{
	struct who_table old = *table;

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

static int add(struct whos *whos, struct who_table *table, const struct loom *loom, int32_t tid,
	       uint32_t *number)
{
	if (2 * (table->n + 1) > table->room && grow(table))
		return -ENOMEM;
	if (whos->n == whos->room) {
		uint32_t room = whos->room ? 2 * whos->room : FIRST_ROOM;
		struct who *list = realloc(whos->list, room * sizeof(*list));

		if (!list)
			return -ENOMEM;
		whos->list = list;
		whos->room = room;
	}
	*number = whos->n++;
	whos->list[*number] = (struct who){loom, loom_find_thread(loom, tid), tid};
	*find(table, tid) = (struct who_entry){tid, *number};
	table->n++;
	return 0;
}

int who_is(struct whos *whos, const struct loom *loom, int32_t tid, uint32_t *number)
{
	struct who_table *table = &whos->tables[loom - whos->looms];
	const struct who_entry *entry;

	*number = WHO_NONE;
	if (tid <= 0 || tid > WHO_TID_MAX)
		return 0;
	if (table->room) {
		entry = find(table, tid);
		if (entry->tid) {
			*number = entry->number;
			return 0;
		}
	}
	return add(whos, table, loom, tid, number);
}
