/* SPDX-License-Identifier: MIT */
/*
 * accel_marks: the marks of an accelerator in an ovni trace.
 *
 * In: states and ids; out: types, titles and values of marks, for import, export and tests. A mark
 * cannot be 0, so values have an offset.
 * Specification: loom.md 9.3; event-mapping.md (types 93 to 99).
 */
#ifndef TOOLS_LOOM_RUN_ACCEL_MARKS_H
#define TOOLS_LOOM_RUN_ACCEL_MARKS_H

#include <stdint.h>

enum loom_mark {
	LOOM_MARK_STATE = 93,	   /* enum loom_state */
	LOOM_MARK_ROUTE = 94,	   /* input + 1, or + 2 from 65535 on */
	LOOM_MARK_INVOCATION = 95, /* id + 2, or the number in the run + 2 if an id is too large */
	LOOM_MARK_EPOCH = 96,	   /* id + 1 */
	LOOM_MARK_CONFIG = 97,	   /* index of the word + 2 */
	LOOM_MARK_ERROR = 98,	   /* code + 1 */
	LOOM_MARK_EXTENSION = 99,  /* kind */
	LOOM_MARK_FIRST = LOOM_MARK_STATE,
	LOOM_MARK_LAST = LOOM_MARK_EXTENSION,
};

#define LOOM_NO_ROUTE	   65536
#define LOOM_NO_INVOCATION 1
#define LOOM_NO_CONFIG	   1
#define LOOM_NO_ERROR	   (-1) /* 1 is the code 0; Paraver does not colour negative values */
#define LOOM_NO_EXTENSION  1

/* The highest invocation id in the range of the mark. */
#define LOOM_INVOCATION_MAX ((uint64_t)INT64_MAX - 2)

static const char *const loom_mark_titles[] __attribute__((unused)) = {
	"Accel: node state",	     "Accel: route",
	"Accel: invocation",	     "Accel: epoch",
	"Accel: configuration word", "Accel: device error",
	"Accel: extension record",
};

static inline int64_t loom_mark_of_input(uint32_t input)
{
	return (int64_t)input + (input >= LOOM_NO_ROUTE - 1 ? 2 : 1);
}

static inline uint32_t loom_input_of_mark(int64_t value)
{
	return (uint32_t)(value - (value > LOOM_NO_ROUTE ? 2 : 1));
}

#endif
