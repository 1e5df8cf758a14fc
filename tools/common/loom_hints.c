/* SPDX-License-Identifier: MIT */
/* loom_hints: what the statistics of a Loom run tell of its trace (see loom_hints.h). */
#include "tools/common/loom_hints.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/log.h"

/* Statistics may be lines of text as well: these tell nothing of nodes. */
static bool is_json(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char text[256];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return fd < 0; /* json_load() says why it cannot be opened */
	text[n] = '\0';
	return text[strspn(text, " \t\r\n")] == '{';
}

int loom_hints_load(struct loom_hints *h, const char *path)
{
	const char *style;
	int64_t period;

	*h = (struct loom_hints){.period_ps = 0};
	if (!path || !is_json(path))
		return 0;
	h->doc = json_load(AT_FDCWD, path);
	if (!h->doc)
		return -EBADMSG;
	period = json_int(json_get(h->doc, "clock.period_ps"));
	if (period > 0)
		h->period_ps = (uint64_t)period;
	else if (json_is_number(json_get(h->doc, "clock.period_ps")))
		log_warn("%s: clock.period_ps is no positive number: 1 ns is taken", path);
	if (json_int(json_get(h->doc, "events.dropped")) > 0)
		h->dropped = (uint64_t)json_int(json_get(h->doc, "events.dropped"));
	style = json_string(json_get(h->doc, "record_style"));
	for (int i = 0; style && i < LOOM_STYLES; i++) {
		if (strcmp(style, loom_style_names[i]) == 0) {
			h->style = (enum loom_style)i;
			h->has_style = true;
		}
	}
	if (style && !h->has_style) {
		log_error("%s: the record_style '%s' is not known; say what holds with --style "
			  "cycle, edge or span",
			  path, style);
		return -EBADMSG;
	}
	return 0;
}

void loom_hints_free(struct loom_hints *h)
{
	json_free(h->doc);
	h->doc = NULL;
}

/* A node number, or -1. */
static int64_t node_number(const struct json *row, const char *key)
{
	const struct json *node = json_key(row, key);
	int64_t n = json_int(node);

	return json_is_number(node) && n >= 0 && n <= UINT32_MAX ? n : -1;
}

/* Has every node of the core that has records its place in the list? */
static bool covers(const struct loom_survey *s, uint32_t core, const uint32_t *list, size_t n)
{
	for (size_t i = 0; i < s->nnodes; i++) {
		bool found = s->nodes[i].core != core || !s->nodes[i].evidence;

		for (size_t k = 0; !found && k < n; k++)
			found = list[k] == s->nodes[i].node;
		if (!found)
			return false;
	}
	return true;
}

static int by_number(const void *a, const void *b)
{
	const uint16_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Rows without a core: list[0 .. n), in the order of the file. */
static int unnamed(struct loom_survey *s, const uint32_t *list, size_t n, bool *doubtful)
{
	size_t starts = 0, ncores = 0, k = 0;
	uint16_t *cores = calloc(s->ncores + 1, sizeof(*cores));
	int err = 0;

	if (!cores)
		return -ENOMEM;
	for (size_t i = 0; i < s->ncores; i++) {
		if (s->cores[i].used)
			cores[ncores++] = s->cores[i].id;
	}
	qsort(cores, ncores, sizeof(*cores), by_number);
	for (size_t i = 0; i < n; i++)
		starts += i == 0 || list[i] <= list[i - 1];
	*doubtful = n > 0 && starts != ncores;
	for (size_t i = 0, end; !*doubtful && ncores > 1 && i < n; i = end, k++) {
		for (end = i + 1; end < n && list[end] > list[end - 1]; end++)
			;
		*doubtful = !covers(s, s->core_of[cores[k]], list + i, end - i);
	}
	k = 0;
	for (size_t i = 0; !err && !*doubtful && i < n; i++) {
		k += i > 0 && list[i] <= list[i - 1];
		err = loom_survey_add_node(s, cores[k], list[i]);
	}
	free(cores);
	return err;
}

/* Does the file say that records were left out? */
static bool leaves_out(const struct loom_hints *h)
{
	return json_number(json_get(h->doc, "events.filtered")) > 0 ||
	       json_number(json_get(h->doc, "events.sampled_out")) > 0 ||
	       json_number(json_get(h->doc, "events.dropped")) > 0;
}

int loom_hints_nodes(const struct loom_hints *h, struct loom_survey *s, bool *doubtful)
{
	static const struct {
		const char *table, *node;
	} forms[] = {
		{"snapshots", "hw_node_id"}, {"nodePerf", "nodeIndex"}, {"modules", "hw_node_id"}};
	int err = 0;

	*doubtful = false;
	if (leaves_out(h))
		return 0;
	for (size_t form = 0; !err && h->doc && form < sizeof(forms) / sizeof(forms[0]); form++) {
		const struct json *table = json_key(h->doc, forms[form].table);
		uint32_t *list = malloc((json_count(table) + 1) * sizeof(*list));
		size_t n = 0;

		if (!list)
			return -ENOMEM;
		for (const struct json *row = json_first(table); row && !err;
		     row = json_next(row)) {
			int64_t node = node_number(row, forms[form].node);
			int64_t core = node_number(row, "core_id");

			if (node >= 0 && core >= 0 && core <= UINT16_MAX)
				err = loom_survey_add_node(s, (uint16_t)core, (uint32_t)node);
			else if (node >= 0)
				list[n++] = (uint32_t)node;
		}
		if (!err && n)
			err = unnamed(s, list, n, doubtful);
		free(list);
	}
	return err;
}
