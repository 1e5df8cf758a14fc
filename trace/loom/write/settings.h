/* SPDX-License-Identifier: MIT */
/*
 * settings: the mode, the filters, the sampling and the channel of a run, as a text of its user.
 *
 *     mode=full;kinds=fire,start,done;cores=0,2-5;nodes=7,1:4;sample=1/10;channel=PATH
 *
 * In: the text of the environment variable OVNI_LOOM; out: the settings. Invariant: a text is
 * accepted as a whole, or refused with a reason. Specification: loom.md 7, 11.
 */
#ifndef TRACE_LOOM_WRITE_SETTINGS_H
#define TRACE_LOOM_WRITE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "trace/loom/write/loom_writer.h"

#define LOOM_SETTINGS_VARIABLE "OVNI_LOOM"

struct loom_settings { /* zero it to start */
	bool has_mode, has_controls;
	enum loom_mode mode;
	struct loom_controls controls;
	char *channel; /* NULL: files */
};

/* Parses `text`. Returns 0; or -EINVAL with the reason in `why`, such as "sample=3/2: K/N, ...";
 * or -ENOMEM. loom_settings_free() may follow in all cases. */
int loom_settings_parse(struct loom_settings *s, const char *text, char *why, size_t size)
	__attribute__((warn_unused_result));
void loom_settings_free(struct loom_settings *s);

#endif
