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
	uint32_t number, kernel, user, waker;
};

struct sleep_stacks {
	const struct kernel_symbols *symbols;
	struct user_stacks *user; /* NULL: user code is not recorded */
	struct hash numbers;	  /* minus 1, by the addresses */
	struct hash with_user;	  /* numbers by those of the kernel's part and of the text */
	struct hash with_waker;	  /* numbers by those of the stack and of the waker's */
	uint32_t last, different;
	uint64_t user_asked, user_known; /* sleeps and wakers */
	uint64_t wakers;		 /* sleeps with the stack of their waker */
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
	hash_free(&stacks->with_waker);
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

/* Leaves out the frames of a waker that are not its own: at the beginning those of this recorder
 * and of the wake-up itself, at the end the code that an interrupt has interrupted. *n are left,
 * from the returned one on; without names all. */
static uint32_t own_frames(const struct sleep_stacks *stacks, const struct record_stack *record,
			   uint32_t *n, bool *cut)
{
	static const char wakeup[] = "try_to_wake_up+", entry[] = "asm_"; /* of x86 */
	bool interrupt = (int32_t)record->tid == WAKER_INTERRUPT;
	char text[KERNEL_SYMBOL_MAX];
	uint32_t first = 0;

	for (uint32_t i = 0; i < *n; i++) {
		size_t size =
			kernel_symbols_text(stacks->symbols, record->kernel[i], text, sizeof(text));

		if (!first && size >= sizeof(wakeup) && !memcmp(text, wakeup, sizeof(wakeup) - 1))
			first = i + 1;
		if (interrupt && size >= sizeof(entry) && !memcmp(text, entry, sizeof(entry) - 1)) {
			*n = i + 1;
			*cut = false;
		}
	}
	*n -= first;
	return first;
}

/* Appends the line of a new stack of the kernel, of n addresses. */
static bool put_kernel(struct sleep_stacks *stacks, const uint64_t *kernel, uint32_t n, bool cut)
{
	size_t before = begin_line(stacks, stacks->last + 1);
	char text[KERNEL_SYMBOL_MAX];

	for (uint32_t i = 0; i < n; i++) {
		size_t size = kernel_symbols_text(stacks->symbols, kernel[i], text, sizeof(text));

		if (i)
			bytes_u8(&stacks->lines, STACK_FRAME_END);
		bytes_put(&stacks->lines, text, size);
	}
	if (cut && n) {
		bytes_u8(&stacks->lines, STACK_FRAME_END);
		bytes_put(&stacks->lines, STACK_FRAME_CUT, sizeof(STACK_FRAME_CUT) - 1);
	}
	if (!n)
		bytes_put(&stacks->lines, STACK_FRAME_NONE, sizeof(STACK_FRAME_NONE) - 1);
	return end_line(stacks, before);
}

/* Appends "=of", the frames of user code behind it, unless `text` is NULL, and the number of the
 * stack of the waker, unless it is 0. */
static bool put_same(struct sleep_stacks *stacks, uint32_t number, uint32_t of, const char *text,
		     uint32_t waker)
{
	size_t before = begin_line(stacks, number);
	char same[16];
	int len = snprintf(same, sizeof(same), "%c%u", STACK_LINE_SAME, of);

	bytes_put(&stacks->lines, same, (size_t)len);
	if (text) {
		bytes_u8(&stacks->lines, STACK_FRAME_END);
		bytes_put(&stacks->lines, text, strlen(text));
	}
	if (waker) {
		len = snprintf(same, sizeof(same), "\t%u", waker);
		bytes_put(&stacks->lines, same, (size_t)len);
	}
	return end_line(stacks, before);
}

/* The number of the kernel's part of a stack; of one without it, too. 0: none. */
static uint32_t kernel_number(struct sleep_stacks *stacks, const struct record_stack *record)
{
	uint32_t n = record->nkernel < STACK_KERNEL_MAX ? record->nkernel : STACK_KERNEL_MAX, *at;
	const uint64_t *kernel = (const uint64_t *)record->kernel;
	bool cut = record->head.flags & STACK_CUT;

	if (record->head.flags & STACK_WAKER)
		kernel += own_frames(stacks, record, &n, &cut);
	if (!n && !record->number)
		return 0;
	at = hash_at(&stacks->numbers, hash_key_of(kernel, n * sizeof(kernel[0])));
	if (!at)
		return 0;
	if (*at == HASH_NONE) {
		if (!put_kernel(stacks, kernel, n, cut))
			return 0;
		*at = stacks->last++;
		stacks->different++;
	}
	return *at + 1;
}

/* The number of a stack together with that of its waker. */
static uint32_t pair_number(struct sleep_stacks *stacks, uint32_t kernel, uint32_t waker)
{
	uint32_t *at = hash_at(&stacks->with_waker, (struct hash_key){.a = kernel, .b = waker});

	if (!at)
		return kernel;
	if (*at == HASH_NONE) {
		if (!put_same(stacks, stacks->last + 1, kernel, NULL, waker))
			return kernel;
		*at = ++stacks->last;
	}
	return *at;
}

uint32_t sleep_stacks_number(struct sleep_stacks *stacks, const struct record_stack *record,
			     uint32_t waker)
{
	uint32_t kernel = kernel_number(stacks, record);
	struct open_stack *open;

	if (!kernel)
		return 0;
	stacks->wakers += waker != 0;
	if (!record->number || !stacks->user)
		return waker ? pair_number(stacks, kernel, waker) : kernel;
	/* its user code is not known yet, and if this process is killed never will be */
	open = put_same(stacks, stacks->last + 1, kernel, NULL, waker)
		       ? ARRAY_ADD(stacks->open, stacks->nopen)
		       : NULL;
	if (!open)
		return kernel;
	*open = (struct open_stack){++stacks->last, kernel, record->number, waker};
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
		put_same(stacks, open->number, *at, NULL, open->waker);
	} else if (put_same(stacks, open->number, open->kernel, text, open->waker)) {
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

uint64_t sleep_stacks_bytes(const struct sleep_stacks *stacks)
{
	return stacks->bytes;
}

uint32_t sleep_stacks_different(const struct sleep_stacks *stacks)
{
	return stacks->different;
}

uint64_t sleep_stacks_wakers(const struct sleep_stacks *stacks)
{
	return stacks->wakers;
}

uint64_t sleep_stacks_user(const struct sleep_stacks *stacks, uint64_t *unknown)
{
	*unknown = stacks->user_asked - stacks->user_known;
	return stacks->user_asked;
}
