/* SPDX-License-Identifier: MIT */
/*
 * table: arrays that grow at their end, and where the search for a key in the slots of one begins.
 *
 * What is entered keeps its index, which 32 bits hold; a pointer into the array holds until it
 * grows.
 */
#ifndef TRACE_BASE_ARRAY_H
#define TRACE_BASE_ARRAY_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define LOOM_TABLE_FIRST 64
#define LOOM_TABLE_MOST	 (UINT32_MAX / 2)

/* Makes room for one entry of `size` bytes more in the array *table points to: 0 or -ENOMEM. */
static inline int loom_table_grow(void *table, size_t *room, size_t used, size_t size)
{
	void **at = table, *more;
	size_t wanted = *room ? 2 * *room : LOOM_TABLE_FIRST;

	if (used < *room)
		return 0;
	more = used < LOOM_TABLE_MOST ? realloc(*at, wanted * size) : NULL;
	if (!more)
		return -ENOMEM;
	*at = more;
	*room = wanted;
	return 0;
}

/* Two numbers as one in which every bit of both shows. */
static inline uint64_t loom_table_hash(uint64_t a, uint64_t b)
{
	uint64_t h = (a ^ b * 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu;

	return h ^ h >> 32;
}

#endif
