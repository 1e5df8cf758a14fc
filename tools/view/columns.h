/* SPDX-License-Identifier: MIT */
/*
 * columns: a block of the page: the same field of many entries side by side, which deflates well.
 *
 *   u32 number of columns; of each column u32 bytes, u32 numbers; then the columns
 *
 * In: entries, field by field; out: the bytes of a section (page_file.h). Integers are LEB128, but
 * the first bytes of all numbers of a column come first, then their second bytes, and so on: bytes
 * of one kind deflate better. Signed ones are zigzag. Specification: view.md 8.
 */
#ifndef TOOLS_VIEW_COLUMNS_H
#define TOOLS_VIEW_COLUMNS_H

#include "tools/view/page_file.h"

#define COLUMNS_MOST 10

struct columns {
	struct bytes of[COLUMNS_MOST]; /* LEB128, number by number */
	size_t entries;
	struct bytes block; /* scratch */
};

/* `value` is below 128: a number of one byte. */
static inline void column_byte(struct columns *columns, unsigned column, uint8_t value)
{
	bytes_u8(&columns->of[column], value);
}

static inline void column_number(struct columns *columns, unsigned column, uint64_t value)
{
	struct bytes *b = &columns->of[column];
	uint8_t text[10];
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		text[n++] = (uint8_t)(value | 0x80);
	text[n++] = (uint8_t)value;
	bytes_put(b, text, n);
}

static inline void column_signed(struct columns *columns, unsigned column, int64_t value)
{
	column_number(columns, column, (uint64_t)value << 1 ^ -(uint64_t)(value < 0));
}

/* Adds the block of the first `n` columns to the page, and empties them. Returns 0, or -ENOMEM
 * after one message. */
int columns_flush(struct columns *columns, unsigned n, struct page_file *page, const char *kind)
	__attribute__((warn_unused_result));
void columns_fini(struct columns *columns);

#endif
