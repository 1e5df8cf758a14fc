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

struct elf_answer {
	char *bytes;
	size_t size, room;
	size_t at;    /* the next byte to take */
	bool no_room; /* out of memory */
};

/* Append bytes, or a string. */
void elf_answer_put(struct elf_answer *answer, const void *bytes, size_t size);
void elf_answer_put_string(struct elf_answer *answer, const char *text);

/* Take the next `size` bytes, or the next string, in the order of writing. False, NULL: there are
 * no more. Strings live as long as the answer. */
bool elf_answer_take(struct elf_answer *answer, void *bytes, size_t size);
char *elf_answer_take_string(struct elf_answer *answer);

void elf_answer_free(struct elf_answer *answer); /* also of a zeroed struct */

#endif
