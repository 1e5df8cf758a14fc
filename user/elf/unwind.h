/* SPDX-License-Identifier: MIT */
/*
 * unwind: may the stack be walked by return addresses while functions of a file are on it?
 *
 * In: an image; out: whether an exception of C++ or a panic of Rust can pass through its functions,
 * or their stack be moved (Go). A return probe replaces the return address of a function that runs;
 * what then walks the stack ends the program ("terminate called"). When in doubt it is so.
 * Specification: ebpf.md 11.3.
 */
#ifndef USER_ELF_UNWIND_H
#define USER_ELF_UNWIND_H

#include <stdbool.h>

#include "user/elf/elf_file.h"

bool image_unwinds(const struct image *image);

#endif
