/* SPDX-License-Identifier: MIT */
/*
 * mark_labels: the texts that a trace has for the numbers of its marks and counters.
 *
 * In: the metadata of each stream; out: the title of a type of marks, the label of a value, and the
 * name of a hardware counter of nOS-V, from the first stream that has it. Texts are printable
 * UTF-8. Specification: models.md 1.4.
 */
#ifndef TRACE_STATES_MARK_LABELS_H
#define TRACE_STATES_MARK_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/base/hash.h"
#include "trace/base/json.h"

#define MARK_ZERO (-2147483648LL) /* the value 0 of an argument (event-mapping.md) */

struct mark_labels { /* zeroed: none */
	char **texts;
	size_t n;
	struct hash by_key;
};

/* Adds those of one stream. Returns 0 or -ENOMEM. */
int mark_labels_add(struct mark_labels *labels, const struct json *meta)
	__attribute__((warn_unused_result));
void mark_labels_free(struct mark_labels *labels);

/* The label of a value, or the title of its type; NULL: none. Until mark_labels_free(). */
const char *mark_labels_value(const struct mark_labels *labels, int32_t type, int64_t value);
const char *mark_labels_title(const struct mark_labels *labels, int32_t type);
/* Whether a value of the type has a label; else its values are numbers. The label of MARK_ZERO does
 * not count. */
bool mark_labels_any(const struct mark_labels *labels, int32_t type);
/* The name of a hardware counter, or NULL. */
const char *mark_labels_counter(const struct mark_labels *labels, uint32_t index);

#endif
