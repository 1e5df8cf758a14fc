/* SPDX-License-Identifier: MIT */
/*
 * marks: the user events (marks) of two traces that become one.
 *
 * In: the declarations of both traces under ovni.mark; out: new numbers for the types and values of
 * the second trace that differ in the first, for its metadata and events. A type of the same title
 * and kind in both stays one type. In it, a label that the first trace has under another value
 * takes that value, and a value with another label there gets a new value. Other types of the same
 * number get a free number.
 * Invariant: no value of a type has two labels afterwards, and none is 0.
 * Specification: models.md 1.4; event-mapping.md, "User probes and marks".
 */
#ifndef TOOLS_MERGE_MARKS_H
#define TOOLS_MERGE_MARKS_H

#include "trace/base/json.h"
#include "trace/ovni/event.h"

struct merge_marks;

enum marks_side { MARKS_FIRST, MARKS_SECOND };

/* NULL if out of memory. merge_marks_free() frees it; it takes NULL, too. */
struct merge_marks *merge_marks_new(void);
void merge_marks_free(struct merge_marks *marks);

/* Adds the declarations of one stream; ignores members of a wrong type (ovni-check reports them).
 * Returns 0 or -ENOMEM. */
int merge_marks_take(struct merge_marks *marks, enum marks_side side, const struct json *meta);

/* Chooses the new numbers, after the last stream. Returns 0, -ENOMEM, or -ENOSPC if no number of a
 * type is free. */
int merge_marks_settle(struct merge_marks *marks);

/* Renumbers the declarations in the metadata of a stream of the second trace. Returns 0 or -ENOMEM. */
int merge_marks_declare(const struct merge_marks *marks, struct json *meta);

/* Renumbers one event of the second trace if it is a mark: `bytes` is a writable copy of ev->size bytes. */
void merge_marks_event(const struct merge_marks *marks, const struct event *ev, uint8_t *bytes);

#endif
