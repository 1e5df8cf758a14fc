/* SPDX-License-Identifier: MIT */
/*
 * findings_path: why the command of a recording ended no sooner: the critical path to the end of
 * its main thread, added up by state, and its thread with the most time.
 *
 * In: the events of the command's threads alone, so that a path that leaves them goes on with the
 * sleep before (critical_path.h); out: findings.path. Its times add up to the life of the main
 * thread, in ns. Memory: 24 bytes for each change of state, of at most FINDING_PATH_EVENTS events.
 */
#include "trace/analysis/findings_rules.h"

#include <errno.h>
#include <stdlib.h>

#include "trace/analysis/critical_path.h"

/* The process that the recorder started; HASH_NONE: none, or not known. */
static uint32_t find_root(const struct findings *f)
{
	uint32_t root = HASH_NONE;

	for (uint32_t p = 0; p < f->nprocesses; p++) {
		uint32_t parent = findings_parent(f, p);

		if (f->processes[p].recorder)
			continue;
		if (f->targets ? parent == HASH_NONE || !f->processes[parent].started
			       : parent != HASH_NONE)
			continue;
		if (root != HASH_NONE)
			return HASH_NONE;
		root = p;
	}
	return root;
}

int findings_begin_path(struct findings *f)
{
	const struct owner *owners = f->source->owners;
	uint32_t root = find_root(f);
	int err;

	if (!f->state->ended || f->part || root == HASH_NONE)
		return 0;
	for (uint32_t i = 0; i < f->source->trace.nstreams; i++)
		if (f->threads[i].process == root && owners[i].tid == owners[i].pid) {
			f->path.known = true;
			f->path.end = i;
		}
	if (!f->path.known)
		return 0;
	f->state->path = calloc(1, sizeof(*f->state->path));
	if (!f->state->path)
		return -ENOMEM;
	err = critical_path_init(f->state->path, f->source, INT64_MIN, INT64_MAX);
	if (!err)
		f->state->path->times.unsummed = true;
	return err;
}

void findings_end_path(struct findings *f)
{
	if (f->state->path)
		critical_path_fini(f->state->path);
	free(f->state->path);
	f->state->path = NULL;
}

int findings_take_path(struct findings *f, const struct intervals *intervals, uint32_t stream,
		       const struct event *ev)
{
	if (f->targets && !f->processes[f->threads[stream].process].target)
		return 0;
	if (f->path.events++ < FINDING_PATH_EVENTS)
		return critical_path_step(f->state->path, intervals, stream, ev);
	findings_end_path(f);
	return 0;
}

static void add_segment(struct finding_path *path, const struct critical_segment *segment,
			bool most)
{
	int64_t ns = clock_distance(segment->from, segment->to);
	enum time_class class =
		segment->kind == CRITICAL_STATE ? time_use_class(segment->use) : CLASS_UNKNOWN;

	path->ns[class] = clock_sum(path->ns[class], ns);
	if (most)
		path->most_ns[class] = clock_sum(path->most_ns[class], ns);
}

int findings_of_path(struct findings *f, const struct intervals *intervals)
{
	struct critical_path *path = f->state->path;
	int64_t *sums = f->state->sums, from, to;
	int err;

	if (!path)
		return 0;
	err = critical_path_finish(path, intervals);
	if (err)
		return err;
	if (!critical_path_life(path, f->path.end, &from, &to)) {
		f->path.known = false;
		return 0;
	}
	err = critical_path_find(path, &intervals->walk, f->path.end, from, to);
	if (err)
		return err;
	f->path.most = f->path.end;
	for (size_t i = 0; i < path->nsegments; i++) {
		const struct critical_segment *s = &path->segments[i];

		sums[s->stream] = clock_sum(sums[s->stream], clock_distance(s->from, s->to));
		if (sums[s->stream] > sums[f->path.most])
			f->path.most = s->stream;
	}
	for (size_t i = 0; i < path->nsegments; i++) {
		const struct critical_segment *s = &path->segments[i];

		add_segment(&f->path, s, s->stream == f->path.most);
		sums[s->stream] = 0;
	}
	f->path.complete = true;
	return 0;
}
