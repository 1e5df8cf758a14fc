/* SPDX-License-Identifier: MIT */
/*
 * frames: where functions begin and end in a file that has no names for them.
 *
 * In: an image; out: the function around an address, by the table that unwinding uses
 * (.eh_frame_hdr), which strip leaves. It is looked into, not read whole.
 */
#ifndef USER_ELF_FRAMES_H
#define USER_ELF_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "user/elf/elf_file.h"

/* The function that the byte at `address` belongs to: where it begins, and its bytes (0: not
 * known). False: none is known. Entries of the PLT are none. */
bool frame_at(const struct image *image, uint64_t address, uint64_t *begin, uint64_t *size);

#endif
