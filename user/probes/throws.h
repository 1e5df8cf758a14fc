/* SPDX-License-Identifier: MIT */
/*
 * throws: can an exception pass through the functions of a file?
 *
 * In: an ELF file; out: whether it may have functions that are left by an exception of C++, a panic
 * of Rust or the like. When in doubt it can: a return probe there could end the program.
 * Specification: ebpf.md 11.3.
 */
#ifndef USER_PROBES_THROWS_H
#define USER_PROBES_THROWS_H

#include <stdbool.h>

/* true also for a file that cannot be read. */
bool file_throws(const char *path);

#endif
