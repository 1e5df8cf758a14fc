/* SPDX-License-Identifier: MIT */
/*
 * mark_labels: finds the names of marks.
 *
 * In: the metadata of all streams of a trace; out: titles of types and labels of values.
 */
#ifndef TOOLS_PALLAS_MARK_LABELS_H
#define TOOLS_PALLAS_MARK_LABELS_H

#include <stddef.h>
#include <stdint.h>

#include "trace/base/json.h"

struct mark_label {
	int32_t type;
	int64_t value; /* 0: the title of the type, since no mark has this value */
	char *text;
};

struct mark_labels {
	struct mark_label *rows;
	size_t n, room;
};

/* Adds the declarations in the metadata of a stream. Returns 0 or -ENOMEM. */
int mark_labels_add(struct mark_labels *labels, const struct json *meta);
/* Sorts the labels: once, after the last mark_labels_add() and before mark_label(). */
void mark_labels_sort(struct mark_labels *labels);
/* The label of a value, or the title of a type (value 0), or NULL. */
const char *mark_label(const struct mark_labels *labels, int32_t type, int64_t value);
void mark_labels_free(struct mark_labels *labels);

#endif
