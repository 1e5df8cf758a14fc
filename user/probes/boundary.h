/* SPDX-License-Identifier: MIT */
/*
 * boundary: does an instruction begin at this byte of a function?
 *
 * In: the code of a function up to there; out: yes, no, or that it cannot be told. A breakpoint in
 * the middle of an instruction changes the program.
 */
#ifndef USER_PROBES_BOUNDARY_H
#define USER_PROBES_BOUNDARY_H

#include <stddef.h>
#include <stdint.h>

enum boundary { BOUNDARY_YES, BOUNDARY_NO, BOUNDARY_UNKNOWN };

/* Follows the instructions from the first byte of `code` to `bytes`, one after the other. */
enum boundary boundary_at(const uint8_t *code, size_t bytes);

#endif
