/* SPDX-License-Identifier: MIT */
#include "tools/check/diagnostics.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/array.h"
#include "trace/base/hash.h"
#include "trace/base/log.h"

static const char *const severity_names[SEVERITY_COUNT] = {"error", "warning", "note"};

#define COMPARED_MOST 256 /* texts that a new one is compared with */

/* True if the text is among the first ones already: two readers of a file report the same. */
static bool known(const struct diagnostics *d, enum severity severity, const char *text,
		  uint64_t hash)
{
	for (size_t i = 0; i < d->n && i < COMPARED_MOST; i++)
		if (d->list[i].hash == hash && d->list[i].severity <= severity &&
		    !strcmp(d->list[i].text, text))
			return true;
	return false;
}

/* Takes the ownership of `text`; NULL is a text without memory. */
static void keep(struct diagnostics *d, enum severity severity, char *text)
{
	uint64_t hash = text ? hash_key_of(text, strlen(text)).a : 0;
	struct diagnostic *added;

	if (text && known(d, severity, text, hash)) {
		free(text);
		return;
	}
	added = text ? ARRAY_ADD(d->list, d->n) : NULL;
	if (!added) {
		d->nomem = true;
		free(text);
		return;
	}
	*added = (struct diagnostic){severity, text, hash};
	d->counts[severity]++;
}

void diagnostics_add(struct diagnostics *d, enum severity severity, const char *fmt, ...)
{
	char *text;
	va_list args;

	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		text = NULL;
	va_end(args);
	keep(d, severity, text);
}

void diagnostics_move(struct diagnostics *d, struct diagnostics *from, enum severity highest)
{
	for (size_t i = 0; i < from->n; i++) {
		enum severity severity = from->list[i].severity;

		keep(d, severity < highest ? highest : severity, from->list[i].text);
		from->list[i].text = NULL;
	}
	d->nomem |= from->nomem;
	diagnostics_free(from);
}

void diagnostics_free(struct diagnostics *d)
{
	for (size_t i = 0; i < d->n; i++)
		free(d->list[i].text);
	free(d->list);
	memset(d, 0, sizeof(*d));
}

static void keep_message(void *to, enum log_level level, const char *text)
{
	struct diagnostics *d = to;
	enum severity severity = level == LOG_ERROR ? SEVERITY_ERROR : SEVERITY_WARNING;

	if (level == LOG_ERROR || level == LOG_WARN)
		keep(d, severity < d->highest ? d->highest : severity, strdup(text));
}

void diagnostics_capture(struct diagnostics *d, enum severity highest)
{
	d->highest = highest;
	log_divert(keep_message, d);
}

void diagnostics_release(void)
{
	log_divert(NULL, NULL);
}

void diagnostics_print(const struct diagnostics *d, struct printer *out, bool notes)
{
	for (size_t i = 0; i < d->n; i++) {
		if (d->list[i].severity == SEVERITY_NOTE && !notes)
			continue;
		printer_format(out, "%s: ", severity_names[d->list[i].severity]);
		printer_escaped(out, d->list[i].text, strlen(d->list[i].text));
		printer_text(out, "\n");
	}
}

void diagnostics_print_json(const struct diagnostics *d, struct printer *out)
{
	printer_text(out, "[");
	for (size_t i = 0; i < d->n; i++) {
		printer_format(out, "%s\n  {\"severity\":\"%s\",\"text\":", i ? "," : "",
			       severity_names[d->list[i].severity]);
		printer_json_string(out, d->list[i].text, strlen(d->list[i].text));
		printer_text(out, "}");
	}
	printer_text(out, d->n ? "\n ]" : "]");
}
