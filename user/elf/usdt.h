/* SPDX-License-Identifier: MIT */
/*
 * usdt: the probes that a program declares itself (sys/sdt.h, SystemTap's notes).
 *
 * In: a file; out: its probes, one for each site (a probe may have several). Damaged notes and
 * probes outside of the code are left out.
 * Invariant: sorted by provider, name and offset.
 */
#ifndef USER_ELF_USDT_H
#define USER_ELF_USDT_H

#include <stddef.h>
#include <stdint.h>

#include "user/elf/elf_child.h"
#include "user/elf/elf_file.h"

struct usdt_probe {
	const char *provider, *name;
	const char *arguments; /* usdt_argument.h */
	uint64_t address, offset;
	uint64_t semaphore; /* file offset of the counter of listeners; 0: none */
};

struct usdt_probes {
	struct usdt_probe *list;
	size_t count;
	struct elf_answer answer; /* has the strings */
};

/* Reads the probes. Returns 0, also for a file without probes, or the error of elf_child_run(). */
int usdt_read(struct usdt_probes *probes, const struct elf_file *file)
	__attribute__((warn_unused_result));
void usdt_free(struct usdt_probes *probes);

/* The address of a variable that the file defines, as arguments of probes name it. 0, -ENOENT, or
 * the error of elf_child_run(). */
int usdt_symbol(const struct elf_file *file, const char *name, uint64_t *address)
	__attribute__((warn_unused_result));

#endif
