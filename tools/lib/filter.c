/* SPDX-License-Identifier: MIT */
#include "tools/lib/filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/log.h"

static void *append(struct argp_state *state, void *array, size_t n, size_t size)
{
	void *grown = realloc(array, (n + 1) * size);

	if (!grown)
		argp_failure(state, STATUS_FAILED, ENOMEM, "options");
	return grown;
}

error_t filter_option(struct filter *f, int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case 0x100:
		if (!*arg || (strlen(arg) > 3 && !strchr(arg, '*')))
			argp_error(state, "--mcv takes up to three characters, not '%s'", arg);
		f->patterns = append(state, f->patterns, f->npatterns, sizeof(*f->patterns));
		f->patterns[f->npatterns++] = arg;
		return 0;
	case 0x101:
		f->tids = append(state, f->tids, f->ntids, sizeof(*f->tids));
		f->tids[f->ntids++] = usage_int(state, "--tid", arg, 0, INT32_MAX);
		return 0;
	case 0x102:
		f->pids = append(state, f->pids, f->npids, sizeof(*f->pids));
		f->pids[f->npids++] = usage_int(state, "--pid", arg, 0, INT32_MAX);
		return 0;
	case 0x103:
		f->looms = append(state, f->looms, f->nlooms, sizeof(*f->looms));
		f->looms[f->nlooms++] = arg;
		return 0;
	case 0x104:
		f->from = usage_moment(state, "--from", arg);
		return 0;
	case 0x105:
		f->to = usage_moment(state, "--to", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static bool among(const int64_t *list, size_t n, int64_t v)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == v)
			return true;
	return n == 0;
}

static bool among_looms(const struct filter *f, const char *loom)
{
	for (size_t i = 0; i < f->nlooms; i++)
		if (loom && !strcmp(f->looms[i], loom))
			return true;
	return f->nlooms == 0;
}

bool filter_ids(const struct filter *f, int64_t pid, int64_t tid)
{
	return among(f->tids, f->ntids, tid) && among(f->pids, f->npids, pid);
}

int filter_start(struct filter *f, const struct source *source, bool *active)
{
	size_t n = source->trace.nstreams;
	int64_t start = 0;

	f->streams = calloc(n + 1, sizeof(*f->streams));
	f->seen = calloc(1, sizeof(*f->seen));
	if (!f->streams || !f->seen) {
		return log_no_memory("while filtering %zu streams", n);
	}
	for (size_t i = 0; i < n; i++) {
		const struct owner *owner = &source->owners[i];

		f->streams[i] =
			filter_ids(f, owner->pid, owner->tid) && among_looms(f, owner->loom);
	}
	if (f->from.relative || f->to.relative)
		(void)source_start(source, &start); /* without events nothing is compared */
	f->first = f->from.given ? moment_clock(&f->from, start) : INT64_MIN;
	f->last = f->to.given ? moment_clock(&f->to, start) : INT64_MAX;
	*active = f->npatterns || f->nlooms || f->ntids || f->npids || f->from.given || f->to.given;
	return 0;
}

void filter_free(struct filter *f)
{
	free(f->patterns);
	free(f->looms);
	free(f->tids);
	free(f->pids);
	free(f->streams);
	event_map_free(f->seen);
	memset(f, 0, sizeof(*f));
}

static bool matches(const char *pattern, uint32_t mcv)
{
	for (int shift = 16; shift >= 0; shift -= 8, pattern++) {
		if (*pattern == '*' && !pattern[1])
			return true;
		if (*pattern != '?' && (uint8_t)*pattern != (uint8_t)(mcv >> shift))
			return false;
	}
	return !*pattern || !strcmp(pattern, "*");
}

bool filter_mcv(struct filter *f, uint32_t mcv)
{
	uint64_t *word = event_map_word(f->seen, mcv);

	if (word && *word)
		return *word == 2;
	for (size_t i = 0; i < f->npatterns; i++) {
		if (matches(f->patterns[i], mcv)) {
			if (word)
				*word = 2;
			return true;
		}
	}
	if (word)
		*word = 1;
	return false;
}
