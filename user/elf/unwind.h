/* SPDX-License-Identifier: MIT */
/*
 * unwind: the stack unwinding of a file: whether it happens, and the functions that its tables
 * know.
 *
 * unwind_throws(): can an exception of C++ or a panic of Rust pass through the functions of the
 * file, or can Go move their stack? A return probe replaces the return address of a running
 * function; a walk of the stack then ends the program ("terminate called"). In doubt the answer is
 * yes.
 * unwind_frame_at(): begin and size of a function, by .eh_frame, which strip leaves.
 * Specification: ebpf.md 11.3.
 */
#ifndef USER_ELF_UNWIND_H
#define USER_ELF_UNWIND_H

#include <stdbool.h>

#include "user/elf/elf_file.h"

/* 0 or the error of elf_child_run(). */
int unwind_throws(const struct elf_file *file, bool *throws) __attribute__((warn_unused_result));

struct unwind_frame {
	uint64_t begin, size; /* address; bytes */
};

/* The function around an address, unless it is of the PLT. False: there is none, or the file cannot
 * be read. */
bool unwind_frame_at(const struct elf_file *file, uint64_t address, struct unwind_frame *frame);

#endif
