/* SPDX-License-Identifier: MIT */
/*
 * array: arrays and byte buffers that grow at their end.
 *
 * An array is a pointer and a count, both zero at first, and belongs to the caller (free()). Its
 * capacity follows from the count: 8, 16, 32, ... So it must only grow through ARRAY_ADD() or
 * array_more(). Pointers into it are valid until it grows; indices fit in 32 bits.
 */
#ifndef TRACE_BASE_ARRAY_H
#define TRACE_BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ARRAY_FIRST 8		     /* elements; a power of two */
#define ARRAY_MOST  (UINT32_MAX / 2) /* elements */

#define ARRAY_LINE 64 /* bytes of a line of the cache */
#define ARRAY_HUGE (2u << 20)

/* Returns `n` zeroed elements of `size` bytes. For random access, they begin at a line of the
 * cache, and a large array is in huge pages. NULL without memory. The caller frees it. */
static inline void *array_lines(size_t n, size_t size)
{
	size_t bytes = n * size, unit = bytes < ARRAY_HUGE / 8 ? ARRAY_LINE : ARRAY_HUGE;
	void *list;

	if (bytes / size != n || bytes > SIZE_MAX / 2)
		return NULL;
	bytes = (bytes + unit) & ~(unit - 1);
	list = aligned_alloc(unit, bytes);
	if (list && unit == ARRAY_HUGE)
		madvise(list, bytes, MADV_HUGEPAGE);
	return list ? memset(list, 0, bytes) : NULL;
}

/* Returns `list` with room for one more element of `size` bytes after `used`, or NULL without
 * memory: `list` is then still valid. */
static inline void *array_more(void *list, size_t used, size_t size)
{
	if (used && (used < ARRAY_FIRST || (used & (used - 1))))
		return list;
	if (used >= ARRAY_MOST)
		return NULL;
	return reallocarray(list, used ? 2 * used : ARRAY_FIRST, size);
}

/* The same for a list that also shrinks, and so keeps its capacity in *room, 0 at first. */
static inline void *stack_more(void *list, size_t used, uint32_t *room, size_t size)
{
	uint32_t more = *room ? 2 * *room : ARRAY_FIRST;

	if (used < *room)
		return list;
	if (used >= ARRAY_MOST)
		return NULL;
	list = reallocarray(list, more, size);
	if (list)
		*room = more;
	return list;
}

/* Appends an element and counts it: its address, to be filled in by the caller; NULL without
 * memory. `list` and `n` are lvalues. */
#define ARRAY_ADD(list, n)                                                                         \
	({                                                                                         \
		__typeof__(list) array_grown = array_more((list), (n), sizeof(*(list)));           \
		if (array_grown)                                                                   \
			(list) = array_grown;                                                      \
		array_grown ? &(list)[(n)++] : NULL;                                               \
	})

/* Zeroed elements of one size for random access, which stay until pool_free(). Its chunks grow from
 * 64 KiB to huge pages: single ones of malloc() would miss the TLB each time. All zero at first. */
struct pool {
	uint8_t **chunks;
	size_t n, used, room; /* chunks; bytes of the last one */
};

/* Returns an element of `size` bytes, at most 32 KiB, or NULL without memory. */
static inline void *pool_take(struct pool *pool, size_t size)
{
	uint8_t **chunk;

	if (pool->room - pool->used < size) {
		size_t room = pool->n < 4 ? (size_t)ARRAY_HUGE >> (5 - pool->n) : ARRAY_HUGE;

		chunk = ARRAY_ADD(pool->chunks, pool->n);
		if (!chunk)
			return NULL;
		*chunk = array_lines(room / ARRAY_LINE - 1, ARRAY_LINE);
		pool->used = 0;
		pool->room = *chunk ? room - ARRAY_LINE : 0;
	}
	if (!pool->room)
		return NULL;
	pool->used += size;
	return pool->chunks[pool->n - 1] + pool->used - size;
}

static inline void pool_free(struct pool *pool)
{
	for (size_t i = 0; i < pool->n; i++)
		free(pool->chunks[i]);
	free(pool->chunks);
	*pool = (struct pool){0};
}

/* Returns the list of `*n` pointers, with more of them (NULL) if `number` is not below *n; NULL
 * without memory: the list is then still valid. */
static inline void *pages_more(void *list, size_t *n, size_t number)
{
	size_t more = *n ? *n : 64;

	if (number < *n)
		return list;
	while (more <= number)
		more *= 2;
	list = reallocarray(list, more, sizeof(void *));
	if (!list)
		return NULL;
	memset((char *)list + *n * sizeof(void *), 0, (more - *n) * sizeof(void *));
	*n = more;
	return list;
}

/* Page `number` of a list of pages, made of zeroed bytes if there is none; NULL without memory. The
 * caller frees the pages and the list. `pages` and `n` are lvalues, zero at first. */
#define ARRAY_PAGE(pages, n, number)                                                               \
	({                                                                                         \
		size_t page_number = (number);                                                     \
		__typeof__(pages) page_list = pages_more((pages), &(n), page_number);              \
		if (page_list) {                                                                   \
			(pages) = page_list;                                                       \
			if (!page_list[page_number])                                               \
				page_list[page_number] = calloc(1, sizeof(**page_list));           \
		}                                                                                  \
		page_list ? page_list[page_number] : NULL;                                         \
	})

/* A byte buffer. A failed growth is remembered, so that the caller checks once at the end. */
struct bytes {
	uint8_t *data;
	size_t size, room;
	bool failed; /* out of memory */
};

/* Appends `size` bytes for the caller to fill in; NULL without memory. */
static inline void *bytes_more(struct bytes *b, size_t size)
{
	uint8_t *data;

	if (size > b->room - b->size) {
		size_t room = b->room ? 2 * b->room : 64;

		while (room - b->size < size)
			room *= 2;
		data = realloc(b->data, room);
		if (!data) {
			b->failed = true;
			return NULL;
		}
		b->data = data;
		b->room = room;
	}
	b->size += size;
	return b->data + b->size - size;
}

static inline void bytes_put(struct bytes *b, const void *data, size_t size)
{
	void *to = bytes_more(b, size);

	if (to && size)
		memcpy(to, data, size);
}

static inline void bytes_u8(struct bytes *b, uint8_t v)
{
	bytes_put(b, &v, sizeof(v));
}

static inline void bytes_u32(struct bytes *b, uint32_t v)
{
	bytes_put(b, &v, sizeof(v));
}

static inline void bytes_u64(struct bytes *b, uint64_t v)
{
	bytes_put(b, &v, sizeof(v));
}

static inline void bytes_free(struct bytes *b)
{
	free(b->data);
	*b = (struct bytes){0};
}

#endif
