/* SPDX-License-Identifier: MIT */
/*
 * usdt: the probes that a program has in itself (sys/sdt.h, SystemTap's notes).
 *
 * In: an image; out: its probes, one for each place (a probe may stand at several). Notes that
 * are damaged or lead outside of the code are left out.
 * Invariant: sorted by provider, name and offset.
 */
#ifndef USER_ELF_USDT_H
#define USER_ELF_USDT_H

#include <stddef.h>
#include <stdint.h>

#include "user/elf/elf_file.h"

struct usdt_probe {
	char *provider, *name;
	char *arguments; /* usdt_argument.h */
	uint64_t address, offset;
	uint64_t semaphore; /* file offset of what counts those who listen; 0: none */
};

struct usdt_probes {
	struct usdt_probe *list;
	size_t count;
};

/* Reads them. 0 (also if there are none) or -ENOMEM. */
int usdt_read(struct usdt_probes *probes, const struct image *image)
	__attribute__((warn_unused_result));
void usdt_free(struct usdt_probes *probes);

#endif
