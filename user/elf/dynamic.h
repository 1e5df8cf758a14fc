/* SPDX-License-Identifier: MIT */
/*
 * dynamic: what a file tells the dynamic linker: its own name, and which libraries it needs.
 *
 * In: an image (section headers are not needed); out: names, as the file has them.
 */
#ifndef USER_ELF_DYNAMIC_H
#define USER_ELF_DYNAMIC_H

#include <stdbool.h>
#include <stddef.h>

#include "user/elf/elf_file.h"

struct dynamic {
	const char *soname;  /* NULL: none */
	const char *rpath;   /* NULL: none */
	const char *runpath; /* NULL: none */
	const char **needed;
	size_t nneeded;
	char *strings; /* where all of them lie */
};

/* Reads it. False if the file has nothing of the kind (a static program), or it is damaged, or
 * without memory; then all is empty. */
bool dynamic_read(struct dynamic *dynamic, const struct image *image);
void dynamic_free(struct dynamic *dynamic);

#endif
