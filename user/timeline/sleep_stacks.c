/* SPDX-License-Identifier: MIT */
#include "user/timeline/sleep_stacks.h"

#include <stdio.h>
#include <stdlib.h>

#include "trace/base/array.h"
#include "trace/base/hash.h"
#include "trace/ovni/stack_file.h"
#include "user/host/kernel_symbols.h"

struct sleep_stacks {
	const struct kernel_symbols *symbols;
	struct hash numbers; /* minus 1, by the addresses */
	uint32_t different;
	uint64_t bytes;	    /* of all lines */
	struct bytes lines; /* not yet taken */
};

struct sleep_stacks *sleep_stacks_new(const struct kernel_symbols *symbols)
{
	struct sleep_stacks *stacks = calloc(1, sizeof(*stacks));

	if (stacks)
		stacks->symbols = symbols;
	return stacks;
}

void sleep_stacks_free(struct sleep_stacks *stacks)
{
	if (!stacks)
		return;
	hash_free(&stacks->numbers);
	bytes_free(&stacks->lines);
	free(stacks);
}

/* Appends the line of a new stack. False without memory, or if the file would be too large. */
static bool put_line(struct sleep_stacks *stacks, const struct record_stack *record, uint32_t n)
{
	size_t before = stacks->lines.size;
	char text[KERNEL_SYMBOL_MAX];
	int len;

	if (!stacks->bytes)
		bytes_put(&stacks->lines, STACK_FILE_HEAD, sizeof(STACK_FILE_HEAD) - 1);
	len = snprintf(text, sizeof(text), "%u\t", stacks->different + 1);
	bytes_put(&stacks->lines, text, (size_t)len);
	for (uint32_t i = 0; i < n; i++) {
		size_t size =
			kernel_symbols_text(stacks->symbols, record->kernel[i], text, sizeof(text));

		if (i)
			bytes_u8(&stacks->lines, STACK_FRAME_END);
		bytes_put(&stacks->lines, text, size);
	}
	if (record->head.flags & STACK_CUT) {
		bytes_u8(&stacks->lines, STACK_FRAME_END);
		bytes_put(&stacks->lines, STACK_FRAME_CUT, sizeof(STACK_FRAME_CUT) - 1);
	}
	bytes_u8(&stacks->lines, '\n');
	if (stacks->lines.failed ||
	    stacks->bytes + stacks->lines.size - before > STACK_FILE_WRITTEN_MAX) {
		stacks->lines.failed = false;
		stacks->lines.size = before;
		return false;
	}
	stacks->bytes += stacks->lines.size - before;
	return true;
}

uint32_t sleep_stacks_number(struct sleep_stacks *stacks, const struct record_stack *record)
{
	uint32_t n = record->nkernel < STACK_KERNEL_MAX ? record->nkernel : STACK_KERNEL_MAX, *at;

	at = n ? hash_at(&stacks->numbers,
			 hash_key_of(record->kernel, n * sizeof(record->kernel[0])))
	       : NULL;
	if (!at)
		return 0;
	if (*at == HASH_NONE) {
		if (!put_line(stacks, record, n))
			return 0;
		*at = stacks->different++;
	}
	return *at + 1;
}

char *sleep_stacks_take_lines(struct sleep_stacks *stacks, size_t *size)
{
	char *lines = stacks->lines.size ? (char *)stacks->lines.data : NULL;

	*size = stacks->lines.size;
	if (lines)
		stacks->lines = (struct bytes){0};
	return lines;
}

uint32_t sleep_stacks_different(const struct sleep_stacks *stacks)
{
	return stacks->different;
}
