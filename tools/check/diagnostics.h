/* SPDX-License-Identifier: MIT */
/*
 * diagnostics: what a checker has to say, in the order in which it was found.
 *
 * An error makes a trace invalid, a warning does not, a note is only said. What the libraries
 * below say on standard error is caught and becomes findings, so that all comes out one way.
 */
#ifndef TOOLS_CHECK_DIAGNOSTICS_H
#define TOOLS_CHECK_DIAGNOSTICS_H

#include <stdbool.h>
#include <stddef.h>

#include "tools/lib/printer.h"

enum severity { SEVERITY_ERROR, SEVERITY_WARNING, SEVERITY_NOTE, SEVERITY_COUNT };

struct diagnostic {
	enum severity severity;
	char *text;
};

struct diagnostics {
	struct diagnostic *list;
	size_t n, room;
	size_t counts[SEVERITY_COUNT];
	bool nomem; /* some could not be kept: never taken for a clean trace */
	/* between diagnostics_catch() and diagnostics_caught() */
	int stderr_fd, caught_fd;
};

void diagnostics_add(struct diagnostics *f, enum severity severity, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void diagnostics_free(struct diagnostics *f);

/* From here on messages of the log are caught. Returns 0 or -errno after one message. */
int diagnostics_catch(struct diagnostics *f) __attribute__((warn_unused_result));
/* Ends that; the messages of the levels error and warning become findings of at most the
 * severity `most` (an error may turn out to be a warning), the others are dropped. */
void diagnostics_caught(struct diagnostics *f, enum severity most);

void diagnostics_print(const struct diagnostics *f, struct printer *out, bool notes);
void diagnostics_print_json(const struct diagnostics *f, struct printer *out); /* an array */

#endif
