/* SPDX-License-Identifier: MIT */
/*
 * elf_child: reads untrusted files with libelf and libdw in a child process without privileges.
 *
 * In: an open file and a function that reads it; out: its answer. The libraries may crash or loop
 * on a damaged file: that ends the child, and the caller gets an error. The child gives up its
 * user, groups and capabilities, and has limits of memory and time.
 */
#ifndef USER_ELF_ELF_CHILD_H
#define USER_ELF_ELF_CHILD_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "trace/base/array.h"

/* The bytes that the child sends. They are as untrusted as the file: all bytes and strings that are
 * taken lie inside of them; the caller must check their meaning. */
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
static inline bool elf_answer_get(struct elf_answer *answer, void *to, size_t size)
{
	if (answer->bytes.size - answer->at < size)
		return false;
	memcpy(to, answer->bytes.data + answer->at, size);
	answer->at += size;
	return true;
}

/* Takes the next string, which lives as long as the answer. NULL: there are no more. */
static inline char *elf_answer_get_string(struct elf_answer *answer)
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

/* In a new child process that reads untrusted files: gives up its user, groups and capabilities,
 * sets the limits of memory and (0: none) of CPU time, and, unless `fd` is -1, closes all other
 * descriptors but the standard ones. It ends with its parent. */
void elf_child_confine(int fd, unsigned cpu_seconds);

/* `elf` is the file as libelf sees it, NULL: it is none. The function appends to `answer`. */
typedef void (*elf_child_work)(struct bytes *answer, Elf *elf, void *arg);

/* Runs `work` for an open file in a child. 0 with the answer, which elf_answer_free() frees;
 * -ENOEXEC: the child crashed, or exceeded its limits; or another -errno. */
int elf_child_run(int fd, elf_child_work work, void *arg, struct elf_answer *answer)
	__attribute__((warn_unused_result));

/* Returns the text that follows the name of a file in a message, for an error of elf_child_run().
 * NULL: -ENOMEM. */
const char *elf_child_error(int err);

#endif
