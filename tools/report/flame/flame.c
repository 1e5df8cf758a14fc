/* SPDX-License-Identifier: MIT */
/*
 * report flame: the time of the threads by stack of functions, for flame graphs.
 *
 *   solver (1200);worker (1204);solve;MPI_Recv 8888001
 *
 * One line for each stack that has time of its own, in ns: without the time of functions that it
 * calls. This is the form of flamegraph.pl, inferno and speedscope; --svg and --html draw it here.
 * The times are those of `func`, but a call that the trace or --from and --to cut counts as well,
 * with the part that is seen.
 */
#include "tools/report/flame/flame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/array.h"
#include "trace/base/log.h"
#include "trace/base/text.h"

#define SVG_LEAST  12000  /* 0.1 pixel */
#define HTML_LEAST 100000 /* the page can be enlarged */

struct open_call {
	uint32_t name, frame;
};

const char *const flame_time_words[] = {
	[FLAME_WALL] = "wall time",	    [FLAME_CPU] = "time on a CPU",
	[FLAME_RUNNABLE] = "runnable time", [FLAME_THROTTLED] = "throttled time",
	[FLAME_ASLEEP] = "time asleep",
};

int64_t flame_own(const struct flame *flame, const struct flame_frame *frame)
{
	static const enum time_class classes[] = {
		[FLAME_CPU] = CLASS_RUNNING,
		[FLAME_RUNNABLE] = CLASS_RUNNABLE,
		[FLAME_THROTTLED] = CLASS_THROTTLED,
		[FLAME_ASLEEP] = CLASS_ASLEEP,
	};
	int64_t ns = 0;

	if (flame->time != FLAME_WALL)
		return frame->own[classes[flame->time]];
	for (int i = 0; i < TIME_CLASSES; i++)
		ns = clock_sum(ns, frame->own[i]);
	return ns;
}

/* ---- the tree ---- */

int64_t flame_add_name(struct flame *flame, struct flame_name name)
{
	struct flame_name *new = ARRAY_ADD(flame->names, flame->nnames);

	if (!new)
		return -ENOMEM;
	*new = name;
	return new - flame->names;
}

static int64_t add_frame(struct flame *flame, uint32_t parent, uint32_t name)
{
	struct flame_frame *new = ARRAY_ADD(flame->frames, flame->nframes);

	if (!new)
		return -ENOMEM;
	*new = (struct flame_frame){.parent = parent, .name = name};
	if (new != flame->frames)
		new->depth = flame->frames[parent].depth + 1;
	return new - flame->frames;
}

/* The frame of `name` below `parent`, or -ENOMEM. */
int64_t flame_frame_below(struct flame *flame, uint32_t parent, uint32_t name)
{
	uint32_t last = flame->frames[parent].last, *at;
	int64_t new;

	if (last && flame->frames[last].name == name)
		return last;
	if (flame->frames[parent].depth >= FLAME_DEPTH) {
		flame->deep = true;
		return parent;
	}
	at = hash_at(&flame->by_parent, (struct hash_key){.a = parent, .c = name});
	if (!at)
		return -ENOMEM;
	if (*at == HASH_NONE) {
		new = add_frame(flame, parent, name);
		if (new < 0)
			return new;
		*at = (uint32_t) new;
	}
	flame->frames[parent].last = *at;
	return *at;
}

/* The number of the name of a function that is called in `frame`, or -ENOMEM. */
static int64_t name_of(struct flame *flame, uint32_t frame, const struct function *f)
{
	uint32_t last = flame->frames[frame].last, *at;
	int64_t new;

	if (last && function_same(&flame->names[flame->frames[last].name].function, f))
		return flame->frames[last].name;
	at = hash_at(&flame->by_function,
		     (struct hash_key){.a = (uint64_t)f->value, .c = (uint32_t)f->type});
	if (!at)
		return -ENOMEM;
	if (*at != HASH_NONE)
		return *at;
	new = flame_add_name(flame, (struct flame_name){.function = *f});
	if (new >= 0)
		*at = (uint32_t) new;
	return new;
}

/* Adds the labels of the groups. Returns the number of the first one, or -ENOMEM. */
static int64_t add_groups(struct flame *flame, const struct groups *groups)
{
	size_t first = flame->nnames;

	for (size_t i = 0; i < groups->n; i++) {
		char *label = strdup(groups->list[i].label);

		if (!label || flame_add_name(flame, (struct flame_name){.label = label}) < 0) {
			free(label);
			return -ENOMEM;
		}
	}
	return (int64_t)first;
}

/* Adds a level of frames: those of the groups of the chosen threads. */
int flame_add_level(const struct report *report, struct flame *flame, struct flame_track *tracks,
		    enum group_by by)
{
	struct groups groups = {0};
	int64_t first, frame;
	int err = groups_init(&groups, report->source, by);

	if (err)
		goto out;
	first = add_groups(flame, &groups);
	if (first < 0)
		err = -ENOMEM;
	for (size_t i = 0; i < report->source->trace.nstreams && err == 0; i++) {
		if (!report->filter->streams[i])
			continue;
		frame = flame_frame_below(flame, tracks[i].frame, (uint32_t)first + groups.of[i]);
		tracks[i].base = tracks[i].frame = (uint32_t)frame;
		err = frame < 0 ? (int)frame : 0;
	}
out:
	groups_free(&groups);
	return err;
}

/* ---- the walk ---- */

/* The time of the thread since the last call counts for its present frame. */
static void settle(struct flame *flame, struct flame_track *t, const int64_t now[TIME_CLASSES])
{
	int64_t *own = flame->frames[t->frame].own;

	for (int i = 0; i < TIME_CLASSES; i++) {
		own[i] = clock_sum(own[i], clock_distance(t->seen[i], now[i]));
		t->seen[i] = now[i];
	}
}

static int enter(struct flame *flame, struct flame_track *t, const struct function *f, bool counts)
{
	struct open_call *calls = stack_more(t->calls, t->depth, &t->room, sizeof(*calls));
	int64_t name = name_of(flame, t->frame, f), frame;

	if (!calls)
		return -ENOMEM;
	t->calls = calls;
	if (name < 0)
		return (int)name;
	frame = flame_frame_below(flame, t->frame, (uint32_t)name);
	if (frame < 0)
		return (int)frame;
	if (frame != t->frame)
		flame->frames[frame].calls += counts;
	t->frame = (uint32_t)frame;
	calls[t->depth++] = (struct open_call){(uint32_t)name, (uint32_t)frame};
	return 0;
}

/* The innermost call of the function ends; calls inside it continue without it. */
static int leave(struct flame *flame, struct flame_track *t, const struct function *f)
{
	size_t i = t->depth;
	int64_t frame;

	while (i > 0 && !function_same(&flame->names[t->calls[i - 1].name].function, f))
		i--;
	if (!i)
		return 0; /* entered before the trace begins */
	t->depth--;
	memmove(t->calls + i - 1, t->calls + i, (t->depth - (i - 1)) * sizeof(*t->calls));
	for (i--; i < t->depth; i++) {
		frame = flame_frame_below(flame, i ? t->calls[i - 1].frame : t->base,
					  t->calls[i].name);
		if (frame < 0)
			return (int)frame;
		t->calls[i].frame = (uint32_t)frame;
	}
	t->frame = t->depth ? t->calls[t->depth - 1].frame : t->base;
	return 0;
}

struct walk {
	struct report *report;
	struct flame *flame;
	struct flame_track *tracks;
};

static int event(void *arg, const struct intervals *intervals, uint32_t stream,
		 const struct event *ev)
{
	const struct walk *w = arg;
	struct flame_track *t = &w->tracks[stream];
	int64_t now[TIME_CLASSES];
	struct function f;
	enum catalog_action action = function_event(ev, &f);

	thread_times_step(&w->flame->times, intervals, stream, ev);
	if ((action != ACTION_PUSH && action != ACTION_POP) || !w->report->filter->streams[stream])
		return 0;
	thread_times_read(&w->flame->times, stream, ev->clock, now);
	settle(w->flame, t, now);
	return action == ACTION_PUSH
		       ? enter(w->flame, t, &f, report_wants(w->report, stream, ev->clock))
		       : leave(w->flame, t, &f);
}

void flame_add_up(struct flame *flame)
{
	for (size_t i = flame->nframes; i-- > 0;) {
		struct flame_frame *frame = &flame->frames[i], *parent;

		frame->total = clock_sum(frame->total, flame_own(flame, frame));
		parent = &flame->frames[frame->parent];
		if (i)
			parent->total = clock_sum(parent->total, frame->total);
	}
}

/* Adds the time after the last calls, the names of functions, and the totals. */
static int finish(const struct walk *w, const struct intervals *intervals)
{
	struct flame *flame = w->flame;

	thread_times_finish(&flame->times, intervals);
	for (size_t i = 0; i < w->report->source->trace.nstreams; i++)
		if (w->report->filter->streams[i])
			settle(flame, &w->tracks[i], flame->times.threads[i].classes);
	for (size_t i = 0; i < flame->nnames; i++) {
		struct flame_name *name = &flame->names[i];

		if (name->label)
			continue; /* a group */
		function_names(w->report->source, &name->function, &name->label, &name->type);
		if (!name->label || !name->type)
			return -ENOMEM;
	}
	flame_add_up(flame);
	return 0;
}

/* ---- folded stacks ---- */

/*
 * A name in a folded line: a semicolon would end the frame, and blank and number at the end of the
 * line would be a second value.
 */
static void put_folded(struct printer *out, const char *name)
{
	size_t size = strlen(name), digits = size;
	char *at = printer_room(out, size * 4 + 1), *end;

	if (!at)
		return;
	while (digits > 0 && strchr("0123456789.", name[digits - 1]))
		digits--;
	end = at + text_escape(at, size * 4 + 1, name, size);
	for (char *c = at; c < end; c++)
		if (*c == ';')
			*c = ':';
	if (digits > 0 && digits < size && name[digits - 1] == ' ')
		end[-(ptrdiff_t)(size - digits) - 1] = '_';
	printer_upto(out, end);
}

/* A function of the kernel, as tools for flame graphs mark it; [no stack] is none. */
static bool is_kernel(const struct flame_name *name)
{
	return name->type && !strcmp(name->type, FLAME_KERNEL) && name->label[0] != '[';
}

static void print_folded(const struct flame *flame, struct printer *out, int64_t unit)
{
	uint32_t path[FLAME_DEPTH + 1];

	for (size_t i = 1; i < flame->nframes; i++) {
		int64_t own = flame_own(flame, &flame->frames[i]) / unit;
		uint32_t depth = flame->frames[i].depth, at = (uint32_t)i;

		if (own <= 0)
			continue;
		for (uint32_t k = depth; k-- > 0; at = flame->frames[at].parent)
			path[k] = flame->frames[at].name;
		for (uint32_t k = 0; k < depth; k++) {
			if (k)
				printer_text(out, ";");
			put_folded(out, flame->names[path[k]].label);
			if (is_kernel(&flame->names[path[k]]))
				printer_text(out, "_[k]");
		}
		printer_format(out, " %lld\n", (long long)own);
	}
}

int flame_output(const struct report *report, const struct flame *flame, const char *path,
		 int64_t unit)
{
	struct printer *out = report->table.out;
	int err;

	switch (report->flame_form) {
	case FLAME_SVG:
		return flame_svg(flame, out, path, SVG_LEAST, false);
	case FLAME_HTML:
		printer_bytes(out, flame_page, flame_page_size);
		err = flame_svg(flame, out, path, HTML_LEAST, true);
		printer_text(out, FLAME_PAGE_END);
		return err;
	default:
		print_folded(flame, out, unit);
		return 0;
	}
}

int flame_begin(struct flame *flame, const struct report *report)
{
	struct flame_name all = {.label = strdup("all")};
	int err = thread_times_init(&flame->times, report->source, report->filter->first,
				    report->filter->last);

	if (!err && all.label && add_frame(flame, 0, 0) >= 0 && flame_add_name(flame, all) >= 0)
		return 0;
	free(all.label);
	return -ENOMEM;
}

void flame_fini(struct flame *flame)
{
	for (size_t i = 0; i < flame->nnames; i++) {
		free(flame->names[i].label);
		free(flame->names[i].type);
	}
	free(flame->frames);
	free(flame->names);
	hash_free(&flame->by_parent);
	hash_free(&flame->by_function);
	thread_times_fini(&flame->times);
}

static int print(struct report *report, const char *path)
{
	static const struct interval_listener listener = {.event = event};
	size_t n = report->source->trace.nstreams;
	struct intervals intervals = {0};
	struct flame flame = {.time = report->flame_time};
	struct walk w = {report, &flame, calloc(n + 1, sizeof(*w.tracks))};
	int err = flame_begin(&flame, report);
	int walked = 0;

	if (err)
		goto out;
	flame.times.ahead = true;
	err = -ENOMEM;
	if (!w.tracks)
		goto out;
	if (!report->by || report->by == BY_THREAD) {
		err = flame_add_level(report, &flame, w.tracks, BY_PROCESS);
		if (err)
			goto out;
	}
	err = flame_add_level(report, &flame, w.tracks, report->by ? report->by : BY_THREAD);
	if (err)
		goto out;
	walked = intervals_walk(&intervals, report->source, &listener, &w);
	/* of a damaged trace, the part before the damage */
	err = walked == -ENOMEM || !intervals.threads ? walked : finish(&w, &intervals);
	if (err)
		goto out;
	err = flame_output(report, &flame, path, 1);
	if (flame.deep)
		log_warn("%s: calls deeper than %d frames count for the frame at that depth", path,
			 FLAME_DEPTH);
	if (!err)
		err = walked;
out:
	for (size_t i = 0; w.tracks && i < n; i++)
		free(w.tracks[i].calls);
	free(w.tracks);
	flame_fini(&flame);
	intervals_fini(&intervals);
	return err;
}

const struct report_kind report_flame = {
	.name = "flame",
	.by = BY_THREAD,
	.print = print,
};
