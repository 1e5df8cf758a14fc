/* SPDX-License-Identifier: MIT */
/*
 * lookup2: the value of a task type, from Bob Jenkins' hash of 1996 (public domain algorithm).
 *
 * In: a label; out: its value. Invariant: a label has the same value, and so the same colour, in
 * all traces.
 * Specification: models.md 3.
 */
#ifndef EMU_TASK_LOOKUP2_H
#define EMU_TASK_LOOKUP2_H

#include <stddef.h>
#include <stdint.h>

uint32_t lookup2(const void *bytes, size_t size);

/* Value in Paraver of a task type with this label: 1000 to 2^31 - 1 (or 999 more). */
uint32_t lookup2_type_value(const char *label, size_t size);

#endif
