/* SPDX-License-Identifier: MIT */
/*
 * elf_child: reads untrusted files with libelf and libdw in a child process without privileges.
 *
 * In: a function that reads files which are open already; out: its answer. The libraries may crash
 * or loop on a damaged file: that ends the child, and the caller gets an error. The child gives up
 * its user, groups and capabilities, and has limits of memory and time.
 */
#ifndef USER_ELF_ELF_CHILD_H
#define USER_ELF_ELF_CHILD_H

#include "user/elf/elf_answer.h"

typedef void (*elf_child_work)(struct elf_answer *answer, void *arg);

/* Runs `work` in a child. 0 with the answer, which elf_answer_free() frees; -ENOEXEC: the child
 * crashed, or exceeded its limits; or another -errno. */
int elf_child_run(elf_child_work work, void *arg, struct elf_answer *answer)
	__attribute__((warn_unused_result));

/* The end of a sentence about a file for which elf_child_run() returned `err`. NULL: -ENOMEM. */
const char *elf_child_error(int err);

#endif
