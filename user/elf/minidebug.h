/* SPDX-License-Identifier: MIT */
/*
 * minidebug: the compressed symbols that some distributions leave in stripped files
 * (.gnu_debugdata).
 *
 * In: an image; out: the image of the small ELF file in it, in memory. What does not unpack, or
 * becomes too large, is not there.
 */
#ifndef USER_ELF_MINIDEBUG_H
#define USER_ELF_MINIDEBUG_H

#include <stdbool.h>

#include "user/elf/elf_file.h"

bool minidebug_open(struct image *debug, const struct image *image);

#endif
