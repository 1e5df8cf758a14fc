/* SPDX-License-Identifier: MIT */
/*
 * merge_marks: the user events of two traces that become one.
 *
 * In: what the streams of both declare under ovni.mark; out: new numbers for the types and values
 * of the second one where they mean something else in the first, for its metadata and events.
 * A type of the same title and kind in both stays one type; in it, a label that the first has
 * under another value takes that value, and a value that has another label there gets a
 * new one. Other types that clash get a free number. Invariant: after it no value of a
 * type has two labels, and none is 0.
 * Specification: models.md 1.4; event-mapping.md, "User probes and marks".
 */
#ifndef TOOLS_MERGE_MERGE_MARKS_H
#define TOOLS_MERGE_MERGE_MARKS_H

#include "trace/ovni/event.h"
#include "trace/base/json.h"

struct merge_marks;

struct merge_marks *merge_marks_new(void); /* NULL without memory */
void merge_marks_free(struct merge_marks *marks);

enum marks_side { MARKS_FIRST, MARKS_SECOND };

/* Takes in what one stream declares. Returns 0 or -ENOMEM. What is of a wrong type is left to those
 * who check traces. */
int merge_marks_take(struct merge_marks *marks, enum marks_side side, const struct json *meta)
	__attribute__((warn_unused_result));

/* After the last stream: gives the new numbers. Returns 0, -ENOMEM, or -ENOSPC if no
 * number of a type is free. */
int merge_marks_settle(struct merge_marks *marks) __attribute__((warn_unused_result));

/* Renumbers what the metadata of a stream of the second trace declares. Returns 0 or -ENOMEM. */
int merge_marks_declare(const struct merge_marks *marks, struct json *meta)
	__attribute__((warn_unused_result));

/* Renumbers one of its events: `bytes` are a writable copy of it, of ev->size bytes. What is not
 * a mark is left alone. */
void merge_marks_event(const struct merge_marks *marks, const struct event *ev, uint8_t *bytes);

#endif
