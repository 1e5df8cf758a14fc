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

#include "user/elf/elf_answer.h"

/* `elf` is the file as libelf sees it, NULL: it is none. The function appends to `answer`. */
typedef void (*elf_child_work)(struct bytes *answer, Elf *elf, void *arg);

/* Runs `work` for an open file in a child. 0 with the answer, which elf_answer_free() frees;
 * -ENOEXEC: the child crashed, or exceeded its limits; or another -errno. */
int elf_child_run(int fd, elf_child_work work, void *arg, struct elf_answer *answer)
	__attribute__((warn_unused_result));

/* The end of a sentence about a file for which elf_child_run() returned `err`. NULL: -ENOMEM. */
const char *elf_child_error(int err);

#endif
