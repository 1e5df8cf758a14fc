/* SPDX-License-Identifier: MIT */
/*
 * elf_answer: the bytes that a child process (elf_child.h) sends to its parent.
 *
 * Invariant: an answer is as untrusted as the file that the child reads: all bytes and strings that
 * are taken lie inside of it; the caller must check their meaning.
 */
#ifndef USER_ELF_ELF_ANSWER_H
#define USER_ELF_ELF_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "trace/base/array.h"

struct elf_answer {
	struct bytes bytes;
	size_t at; /* the next byte to take */
};

/* In the child: appends a string with its NUL. */
static inline void elf_answer_put_string(struct bytes *bytes, const char *text)
{
	bytes_put(bytes, text, strlen(text) + 1);
}

/* Takes the next `size` bytes, in the order of writing. False: there are no more. */
static inline bool elf_answer_take(struct elf_answer *answer, void *to, size_t size)
{
	if (answer->bytes.size - answer->at < size)
		return false;
	memcpy(to, answer->bytes.data + answer->at, size);
	answer->at += size;
	return true;
}

/* Takes the next string, which lives as long as the answer. NULL: there are no more. */
static inline char *elf_answer_take_string(struct elf_answer *answer)
{
	size_t left = answer->bytes.size - answer->at;
	char *text = left ? (char *)answer->bytes.data + answer->at : NULL;
	char *end = left ? memchr(text, '\0', left) : NULL;

	if (!end)
		return NULL;
	answer->at += (size_t)(end - text) + 1;
	return text;
}

static inline void elf_answer_free(struct elf_answer *answer) /* also of a zeroed struct */
{
	bytes_free(&answer->bytes);
	answer->at = 0;
}

#endif
