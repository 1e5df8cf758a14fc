/* SPDX-License-Identifier: MIT */
/*
 * diagnostics: the errors, warnings and notes of a check, in the order in which they were found.
 *
 * In: texts with a severity, and the messages of the log while it is captured; out: lines or a JSON
 * array. An error makes a trace invalid; warnings and notes do not.
 * Invariant: a text that could not be kept sets `nomem`, so that an incomplete list never counts as
 * a clean one.
 */
#ifndef TOOLS_CHECK_DIAGNOSTICS_H
#define TOOLS_CHECK_DIAGNOSTICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/lib/printer.h"

enum severity { SEVERITY_ERROR, SEVERITY_WARNING, SEVERITY_NOTE, SEVERITY_COUNT };

struct diagnostic {
	enum severity severity;
	char *text;
	uint64_t hash; /* of the text */
};

struct diagnostics {
	struct diagnostic *list;
	size_t n;
	size_t counts[SEVERITY_COUNT];
	bool nomem;	       /* some texts are missing */
	enum severity highest; /* of captured messages */
};

void diagnostics_add(struct diagnostics *d, enum severity severity, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Moves the diagnostics of `from` to the end of `d`, with at most the severity `highest`; frees
 * `from`. */
void diagnostics_move(struct diagnostics *d, struct diagnostics *from, enum severity highest);
void diagnostics_free(struct diagnostics *d);

/* From here to diagnostics_release() errors and warnings of the log become diagnostics of at most
 * the severity `highest`; its other messages are dropped. */
void diagnostics_capture(struct diagnostics *d, enum severity highest);
void diagnostics_release(void);

void diagnostics_print(const struct diagnostics *d, struct printer *out, bool notes);
void diagnostics_print_json(const struct diagnostics *d, struct printer *out); /* an array */

#endif
