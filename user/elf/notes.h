/* SPDX-License-Identifier: MIT */
/*
 * notes: the notes of an ELF file (build id, USDT probes), one after the other.
 *
 * In: an image that may have been made to harm; out: notes that lie whole in their section (or,
 * without sections, in their segment).
 */
#ifndef USER_ELF_NOTES_H
#define USER_ELF_NOTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/elf/elf_file.h"

struct note {
	uint32_t type;
	const char *name;     /* ended by NUL */
	const uint8_t *bytes; /* a NUL follows them, not counted */
	size_t size;
};

/* Calls `visit` for each note, until it returns false. What it is shown is gone afterwards. */
void notes_walk(const struct image *image, bool (*visit)(const struct note *note, void *arg),
		void *arg);

#endif
