/* SPDX-License-Identifier: MIT */
#include "tools/check/diagnostics.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trace/base/log.h"

static const char *const severity_names[SEVERITY_COUNT] = {"error", "warning", "note"};

static void keep(struct diagnostics *f, enum severity severity, char *text)
{
	if (f->n == f->room) {
		size_t room = f->room ? 2 * f->room : 16;
		struct diagnostic *list = realloc(f->list, room * sizeof(*list));

		if (!list) {
			free(text);
			f->nomem = true;
			return;
		}
		f->list = list;
		f->room = room;
	}
	if (!text) {
		f->nomem = true;
		return;
	}
	for (size_t i = 0; i < f->n; i++) { /* said by two that look at the same */
		if (f->list[i].severity <= severity && !strcmp(f->list[i].text, text)) {
			free(text);
			return;
		}
		if (i > 256)
			break;
	}
	f->list[f->n++] = (struct diagnostic){severity, text};
	f->counts[severity]++;
}

void diagnostics_add(struct diagnostics *f, enum severity severity, const char *fmt, ...)
{
	char *text;
	va_list args;

	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		text = NULL;
	va_end(args);
	keep(f, severity, text);
}

void diagnostics_free(struct diagnostics *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->list[i].text);
	free(f->list);
	memset(f, 0, sizeof(*f));
}

int diagnostics_catch(struct diagnostics *f)
{
	int err;

	f->stderr_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	f->caught_fd = memfd_create("findings", MFD_CLOEXEC);
	if (f->stderr_fd >= 0 && f->caught_fd >= 0 && dup2(f->caught_fd, STDERR_FILENO) >= 0)
		return 0;
	err = -errno;
	log_error("cannot catch messages: %s", strerror(-err));
	return err;
}

/* "ovni-check: error: TEXT" */
static void take_line(struct diagnostics *f, char *line, enum severity most)
{
	char *level = strstr(line, ": "), *text;
	enum severity severity;

	text = level ? strstr(level + 2, ": ") : NULL;
	if (!text)
		return;
	*text = '\0';
	for (severity = 0; severity < SEVERITY_NOTE; severity++)
		if (!strcmp(level + 2, severity_names[severity]))
			break;
	if (severity == SEVERITY_NOTE)
		return;
	keep(f, severity < most ? most : severity, strdup(text + 2));
}

void diagnostics_caught(struct diagnostics *f, enum severity most)
{
	char *line = NULL;
	size_t size = 0;
	FILE *file;

	dup2(f->stderr_fd, STDERR_FILENO);
	close(f->stderr_fd);
	lseek(f->caught_fd, 0, SEEK_SET);
	file = fdopen(f->caught_fd, "r");
	if (!file) {
		close(f->caught_fd);
		f->nomem = true;
		return;
	}
	while (getline(&line, &size, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		take_line(f, line, most);
	}
	f->nomem = f->nomem || !feof(file);
	free(line);
	fclose(file);
}

void diagnostics_print(const struct diagnostics *f, struct printer *out, bool notes)
{
	for (size_t i = 0; i < f->n; i++) {
		if (f->list[i].severity == SEVERITY_NOTE && !notes)
			continue;
		printer_format(out, "%s: ", severity_names[f->list[i].severity]);
		printer_escaped(out, f->list[i].text, strlen(f->list[i].text));
		printer_text(out, "\n");
	}
}

void diagnostics_print_json(const struct diagnostics *f, struct printer *out)
{
	printer_text(out, "[");
	for (size_t i = 0; i < f->n; i++) {
		printer_format(out, "%s\n  {\"severity\":\"%s\",\"text\":", i ? "," : "",
			       severity_names[f->list[i].severity]);
		printer_json_string(out, f->list[i].text, strlen(f->list[i].text));
		printer_text(out, "}");
	}
	printer_text(out, f->n ? "\n ]" : "]");
}
