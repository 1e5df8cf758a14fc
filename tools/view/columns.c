/* SPDX-License-Identifier: MIT */
#include "tools/view/columns.h"

#include <string.h>

#include "trace/base/log.h"

#define LEB_BYTES_MOST 10 /* of 64 bits */

/* Appends the column, all first bytes before all second ones. Returns the number of numbers. */
static uint32_t put_column(struct bytes *block, const struct bytes *column)
{
	size_t at[LEB_BYTES_MOST + 1] = {0}; /* counts, then where the next byte of a kind goes */
	uint8_t *to = bytes_more(block, column->size);
	unsigned kind = 0;
	uint32_t numbers;

	for (size_t i = 0; to && i < column->size; i++) {
		at[kind + 1]++;
		kind = column->data[i] & 0x80 ? kind + 1 : 0;
	}
	numbers = (uint32_t)at[1];
	if (to && numbers && numbers == column->size) { /* all have one byte */
		memcpy(to, column->data, numbers);
		return numbers;
	}
	for (kind = 1; kind <= LEB_BYTES_MOST; kind++)
		at[kind] += at[kind - 1];
	kind = 0;
	for (size_t i = 0; to && i < column->size; i++) {
		to[at[kind]++] = column->data[i];
		kind = column->data[i] & 0x80 ? kind + 1 : 0;
	}
	return numbers;
}

int columns_flush(struct columns *columns, unsigned n, struct page_file *page, const char *kind)
{
	struct bytes *block = &columns->block;
	uint32_t head[COLUMNS_MOST][2];
	bool failed = false;

	if (!columns->entries)
		return 0;
	block->size = 0;
	bytes_u32(block, n);
	bytes_more(block, n * sizeof(head[0]));
	for (unsigned i = 0; i < n; i++) {
		head[i][0] = (uint32_t)columns->of[i].size;
		head[i][1] = put_column(block, &columns->of[i]);
		failed |= columns->of[i].failed;
		columns->of[i].size = 0;
	}
	columns->entries = 0;
	if (failed || block->failed)
		return log_no_memory("for the page");
	memcpy(block->data + sizeof(n), head, n * sizeof(head[0]));
	return page_file_add(page, kind, block->data, block->size);
}

void columns_fini(struct columns *columns)
{
	for (unsigned i = 0; i < COLUMNS_MOST; i++)
		bytes_free(&columns->of[i]);
	bytes_free(&columns->block);
}
