/* SPDX-License-Identifier: MIT */
#include "user/timeline/sleep_stacks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/array.h"
#include "trace/base/hash.h"
#include "trace/ovni/stack_file.h"
#include "user/host/kernel_symbols.h"
#include "user/stacks/user_stacks.h"

struct open_stack { /* the frames of user code are not known yet */
	uint32_t number, kernel, user;
};

struct sleep_stacks {
	const struct kernel_symbols *symbols;
	struct user_stacks *user; /* NULL: user code is not recorded */
	struct hash numbers;	  /* minus 1, by the addresses */
	struct hash with_user;	  /* numbers by those of the kernel's part and of the text */
	uint32_t last, different;
	uint64_t user_asked, user_known; /* sleeps */
	uint64_t bytes;			 /* of all lines */
	struct bytes lines;		 /* not yet taken */
	struct open_stack *open;
	size_t nopen;
};

struct sleep_stacks *sleep_stacks_new(const struct kernel_symbols *symbols,
				      struct user_stacks *user)
{
	struct sleep_stacks *stacks = calloc(1, sizeof(*stacks));

	if (stacks)
		stacks->symbols = symbols;
	if (stacks)
		stacks->user = user;
	return stacks;
}

void sleep_stacks_free(struct sleep_stacks *stacks)
{
	if (!stacks)
		return;
	hash_free(&stacks->numbers);
	hash_free(&stacks->with_user);
	free(stacks->open);
	bytes_free(&stacks->lines);
	free(stacks);
}

/* Begins a line. Returns the bytes before it, for end_line(). */
static size_t begin_line(struct sleep_stacks *stacks, uint32_t number)
{
	size_t before = stacks->lines.size;
	char text[16];
	int len;

	if (!stacks->bytes)
		bytes_put(&stacks->lines, STACK_FILE_HEAD, sizeof(STACK_FILE_HEAD) - 1);
	len = snprintf(text, sizeof(text), "%u\t", number);
	bytes_put(&stacks->lines, text, (size_t)len);
	return before;
}

/* False without memory, or if the file would be too large: there is no line then. */
static bool end_line(struct sleep_stacks *stacks, size_t before)
{
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

/* Appends the line of a new stack of the kernel. */
static bool put_kernel(struct sleep_stacks *stacks, const struct record_stack *record, uint32_t n)
{
	size_t before = begin_line(stacks, stacks->last + 1);
	char text[KERNEL_SYMBOL_MAX];

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
	if (!n)
		bytes_put(&stacks->lines, STACK_FRAME_NONE, sizeof(STACK_FRAME_NONE) - 1);
	return end_line(stacks, before);
}

/* Appends "=of", and the frames of user code behind it, unless `text` is NULL. */
static bool put_same(struct sleep_stacks *stacks, uint32_t number, uint32_t of, const char *text)
{
	size_t before = begin_line(stacks, number);
	char same[16];
	int len = snprintf(same, sizeof(same), "%c%u", STACK_LINE_SAME, of);

	bytes_put(&stacks->lines, same, (size_t)len);
	if (text) {
		bytes_u8(&stacks->lines, STACK_FRAME_END);
		bytes_put(&stacks->lines, text, strlen(text));
	}
	return end_line(stacks, before);
}

/* The number of the kernel's part of a stack; of one without it, too. 0: none. */
static uint32_t kernel_number(struct sleep_stacks *stacks, const struct record_stack *record)
{
	uint32_t n = record->nkernel < STACK_KERNEL_MAX ? record->nkernel : STACK_KERNEL_MAX, *at;

	if (!n && !record->number)
		return 0;
	at = hash_at(&stacks->numbers, hash_key_of(record->kernel, n * sizeof(record->kernel[0])));
	if (!at)
		return 0;
	if (*at == HASH_NONE) {
		if (!put_kernel(stacks, record, n))
			return 0;
		*at = stacks->last++;
		stacks->different++;
	}
	return *at + 1;
}

uint32_t sleep_stacks_number(struct sleep_stacks *stacks, const struct record_stack *record)
{
	uint32_t kernel = kernel_number(stacks, record);
	struct open_stack *open;

	if (!kernel || !record->number || !stacks->user)
		return kernel;
	/* its user code is not known yet, and if this process is killed never will be */
	open = put_same(stacks, stacks->last + 1, kernel, NULL)
		       ? ARRAY_ADD(stacks->open, stacks->nopen)
		       : NULL;
	if (!open)
		return kernel;
	*open = (struct open_stack){++stacks->last, kernel, record->number};
	stacks->user_asked++;
	return open->number;
}

/* Writes the line of a stack whose frames of user code are known. */
static void put_user(struct sleep_stacks *stacks, const struct open_stack *open, uint32_t id,
		     const char *text)
{
	uint32_t *at = hash_at(&stacks->with_user, (struct hash_key){.a = open->kernel, .b = id});

	if (!at)
		return;
	if (*at != HASH_NONE) {
		put_same(stacks, open->number, *at, NULL);
	} else if (put_same(stacks, open->number, open->kernel, text)) {
		*at = open->number;
		stacks->different++;
	}
}

/* Writes the lines of the stacks whose frames of user code have become known. */
static void close_open(struct sleep_stacks *stacks)
{
	size_t left = 0;

	for (size_t i = 0; i < stacks->nopen; i++) {
		const struct open_stack *open = &stacks->open[i];
		enum user_stack_state state;
		const char *text;
		uint32_t id;

		state = user_stacks_find(stacks->user, open->user, &id, &text);
		stacks->user_known += state == USER_STACK_KNOWN;
		if (state == USER_STACK_KNOWN)
			put_user(stacks, open, id, text);
		else if (state == USER_STACK_PENDING)
			stacks->open[left++] = *open;
	}
	/* the room of the array follows from its count: it may only grow */
	if (!left) {
		free(stacks->open);
		stacks->open = NULL;
	} else if (left < stacks->nopen) {
		struct open_stack *list = NULL;
		size_t n = 0;

		for (size_t i = 0; i < left; i++) {
			struct open_stack *added = ARRAY_ADD(list, n);

			if (!added)
				break; /* the others stay without user code */
			*added = stacks->open[i];
		}
		free(stacks->open);
		stacks->open = list;
		left = n;
	}
	stacks->nopen = left;
}

void sleep_stacks_settle(struct sleep_stacks *stacks)
{
	if (stacks->nopen)
		user_stacks_settle(stacks->user);
}

char *sleep_stacks_take_lines(struct sleep_stacks *stacks, size_t *size)
{
	char *lines;

	if (stacks->nopen)
		close_open(stacks);
	lines = stacks->lines.size ? (char *)stacks->lines.data : NULL;

	*size = stacks->lines.size;
	if (lines)
		stacks->lines = (struct bytes){0};
	return lines;
}

uint32_t sleep_stacks_different(const struct sleep_stacks *stacks)
{
	return stacks->different;
}

uint64_t sleep_stacks_user(const struct sleep_stacks *stacks, uint64_t *unknown)
{
	*unknown = stacks->user_asked - stacks->user_known;
	return stacks->user_asked;
}
