/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/pallas/pallas_command.h"
#include "trace/base/log.h"
#include "trace/base/text.h"

static bool matches(const char *pattern, const char *name)
{
	return strcmp(pattern, name) == 0 || fnmatch(pattern, name, 0) == 0;
}

bool selection_region(const struct selection *s, const char *name)
{
	return !s->region || (name && matches(s->region, name));
}

static bool thread_matches(const struct selection *s, const struct pallas_trace *trace,
			   const struct pallas_thread *t)
{
	char *end;
	unsigned long id = strtoul(s->thread, &end, 10);

	if (end != s->thread && *end == '\0')
		return t->id == id;
	return matches(s->thread, pallas_thread_name(trace, t));
}

static int exclude_threads(const struct selection *s, struct pallas_trace *trace)
{
	bool found = false;

	for (size_t i = 0; i < trace->nthreads; i++) {
		trace->threads[i].excluded = !thread_matches(s, trace, &trace->threads[i]);
		found = found || !trace->threads[i].excluded;
	}
	if (found)
		return 0;
	log_error("%s: no thread has the id or name '%s' (ovni-pallas info lists them)",
		  trace->path, s->thread);
	return -ENOENT;
}

static bool defines(const struct selection *s, const struct pallas_trace *trace,
		    const struct pallas_archive *a)
{
	const struct pallas_definitions *d = a ? &a->part.defs : &trace->part.defs;

	for (size_t i = 0; i < d->nregions; i++) {
		if (selection_region(s, pallas_region(trace, a, d->regions[i].ref)))
			return true;
	}
	return false;
}

static int find_region(const struct selection *s, const struct pallas_trace *trace)
{
	bool found = defines(s, trace, NULL);

	for (size_t i = 0; !found && i < trace->narchives; i++)
		found = defines(s, trace, &trace->archives[i]);
	if (found)
		return 0;
	log_error("%s: no region has the name '%s' (ovni-pallas info --definitions lists them)",
		  trace->path, s->region);
	return -ENOENT;
}

/* The time of the first event: 0 in archives of our export. */
static int find_start(struct pallas_trace *trace, int64_t *start)
{
	uint64_t least = UINT64_MAX;

	*start = 0;
	if (pallas_metadata(&trace->part, PALLAS_KEY_CLOCK))
		return 0;
	for (size_t i = 0; i < trace->nthreads; i++) {
		struct pallas_thread *t = &trace->threads[i];
		int err = pallas_thread_take(trace, t);

		if (err < 0)
			return err;
		if (!err && t->grammar.total_events && t->grammar.first_time < least)
			least = t->grammar.first_time;
		pallas_thread_unload(trace, t);
	}
	*start = least > INT64_MAX ? 0 : (int64_t)least;
	return 0;
}

int selection_start(struct selection *s, struct pallas_trace *trace)
{
	int64_t start = 0, clock;
	int err;

	s->window = s->from.given || s->to.given;
	s->last = UINT64_MAX;
	if (s->from.relative || s->to.relative) {
		err = find_start(trace, &start);
		if (err)
			return err;
	}
	if (s->from.given) {
		err = moment_clock(&s->from, NULL, start, &clock);
		if (err)
			return err;
		s->first = clock < 0 ? 0 : (uint64_t)clock;
	}
	if (s->to.given) {
		err = moment_clock(&s->to, NULL, start, &clock);
		if (err)
			return err;
		s->last = clock < 0 ? 0 : (uint64_t)clock;
	}
	if (s->first > s->last) {
		log_error("the part ends before it begins: --to is before --from");
		return -EINVAL;
	}
	err = s->region ? find_region(s, trace) : 0;
	if (err)
		return err;
	return s->thread ? exclude_threads(s, trace) : 0;
}

bool selection_overlaps(const struct selection *s, const struct pallas_thread *thread)
{
	const struct thread_grammar *g = &thread->grammar;
	uint64_t first = UINT64_MAX, last = 0;

	for (size_t i = 0; i < g->nevents; i++) {
		const struct pallas_vector *v = &g->events[i].times;

		if (v->n && v->min < first)
			first = v->min;
		if (v->n && v->max > last)
			last = v->max;
	}
	return first <= s->last && last >= s->first;
}

bool *selection_calls(const struct selection *s, const struct pallas_trace *trace,
		      const struct pallas_thread *thread, bool selected)
{
	const struct thread_grammar *g = &thread->grammar;
	bool *wanted = calloc(g->nevents + 1, sizeof(*wanted));

	if (!wanted) {
		log_no_memory("for the events of a thread");
		return NULL;
	}
	for (size_t i = 0; i < g->nevents; i++) {
		const struct pallas_event *e = &g->events[i];

		if ((e->record == PALLAS_ENTER || e->record == PALLAS_LEAVE) &&
		    e->payload_size >= 4)
			wanted[i] = !selected ||
				    selection_region(s, pallas_region(trace, thread->archive,
								      get_u32(e->payload)));
	}
	return wanted;
}

static void add_size(const struct pallas_trace *trace, const char *dir, const char *name,
		     uint64_t *bytes, uint64_t *files)
{
	char path[128];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (fstatat(trace->fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode)) {
		*bytes += (uint64_t)st.st_size;
		*files += 1;
	}
}

void selection_report(const struct selection *s, const struct pallas_trace *trace)
{
	uint64_t bytes = 0, files = 0;
	char dir[32];
	struct stat st;

	if (!s->thread && !s->region && !s->window)
		return;
	if (fstatat(trace->fd, trace->main, &st, 0) == 0) {
		bytes += (uint64_t)st.st_size;
		files++;
	}
	for (size_t i = 0; i < trace->narchives; i++) {
		snprintf(dir, sizeof(dir), "archive_%u", trace->archives[i].id);
		add_size(trace, dir, PALLAS_ARCHIVE, &bytes, &files);
	}
	for (size_t i = 0; i < trace->nthreads; i++) {
		add_size(trace, trace->threads[i].path, PALLAS_THREAD, &bytes, &files);
		add_size(trace, trace->threads[i].path, PALLAS_EVENT_DATA, &bytes, &files);
		add_size(trace, trace->threads[i].path, PALLAS_SEQ_DATA, &bytes, &files);
	}
	log_info("%s: read %" PRIu64 " bytes of %" PRIu64 ", of %" PRIu64 " file%s",
		 text_shown(trace->path), trace->bytes_read, bytes, files, plural(files, "", "s"));
}
