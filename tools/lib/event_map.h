/* SPDX-License-Identifier: MIT */
/*
 * event_map: a 64-bit word for each event code (MCV), found by two look-ups without a hash.
 *
 * In: an MCV; out: its word. An untrusted trace may have any three bytes; usual ones have a dozen
 * pairs of model and category, so the second level exists only for these: 2 KiB each.
 */
#ifndef TOOLS_LIB_EVENT_MAP_H
#define TOOLS_LIB_EVENT_MAP_H

#include <stdint.h>
#include <stdlib.h>

struct event_map {
	uint64_t *leaf[1 << 16]; /* by model and category, each of 256 values */
};

/* The word of `mcv`, 0 before it was first written; NULL without memory. */
static inline uint64_t *event_map_word(struct event_map *map, uint32_t mcv)
{
	uint64_t **leaf = &map->leaf[mcv >> 8 & 0xffff];

	if (__builtin_expect(!*leaf, 0)) {
		*leaf = calloc(256, sizeof(**leaf));
		if (!*leaf)
			return NULL;
	}
	return *leaf + (mcv & 0xff);
}

static inline void event_map_free(struct event_map *map)
{
	if (!map)
		return;
	for (unsigned i = 0; i < 1 << 16; i++)
		free(map->leaf[i]);
	free(map);
}

#endif
