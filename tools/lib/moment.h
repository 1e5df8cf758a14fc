/* SPDX-License-Identifier: MIT */
/*
 * moment: a point in time of a trace, as users give it.
 *
 * In: "1204" or "+1.5s": a clock in ns, or the time since the first event of the trace; out: the
 * clock in a trace.
 */
#ifndef TOOLS_LIB_MOMENT_H
#define TOOLS_LIB_MOMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/base/cli.h"

/* ns as ovni-dump prints them, or `relative` to the first event. */
struct moment {
	bool given, relative;
	int64_t ns;
};

/* The parser of an option (trace/base/cli.h). The number may have a unit: s, ms, us or ns. */
int moment_option(const struct cli_option *option, const char *text, void *to);

/* The clock of the moment in a trace whose first event has the clock `start`; clamped. */
int64_t moment_clock(const struct moment *moment, int64_t start);

#endif
