/* SPDX-License-Identifier: MIT */
/*
 * report stacks: the time asleep by stack, for off-CPU flame graphs; with --time runnable the time
 * waiting for a CPU, whose stacks --why=preempted records.
 *
 *   worker (1204);entry_SYSCALL_64_after_hwframe_[k];do_syscall_64_[k];...;futex_wait_[k] 90021
 *
 * One line for each thread and stack, the outermost function first, in us. Sleeps without a stack,
 * which are shorter than the limit of --why=stack or above its rate, have the frame [no stack]: so
 * the times of a thread add up to its time asleep, as report why has it, and to that of sleeps with
 * a stack that began before the recording. With the stacks of wakers (--why=stack,wakers), that of
 * the waker stands above the sleep, behind the frame [woken by], its innermost function first. The
 * tree is that of report flame.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/flame/flame.h"
#include "trace/base/array.h"
#include "trace/base/log.h"
#include "trace/ovni/stack_file.h"
#include "trace/states/sleep_call.h"

#define NO_STACK "[no stack]"
#define UNKNOWN	 "[not known]" /* the file does not have the number */
#define WAKER	 "[woken by]"

struct walk {
	struct report *report;
	struct flame flame;
	struct flame_track *tracks; /* of each stream */
	struct stack_table stacks;
	struct hash by_name,
		leaf_of;	/* frames of flame.names by text; flame.frames by track and line */
	const struct event *ev; /* the present one; NULL: the walk has ended */
	uint64_t sleeps, without;
	int err;
};

/* The number of a name of a function, or -ENOMEM. */
static int64_t name_of(struct walk *w, const char *text, size_t len, bool user)
{
	struct hash_key key = hash_key_of(text, len);
	struct flame_name name = {0};
	uint32_t *at;
	int64_t number;

	key.c ^= user;
	at = hash_at(&w->by_name, key);
	if (!at)
		return -ENOMEM;
	if (*at != HASH_NONE)
		return *at;
	name.label = strndup(text, len);
	name.type = strdup(user ? FLAME_USER : FLAME_KERNEL);
	number = name.label && name.type ? flame_add_name(&w->flame, name) : -ENOMEM;
	if (number < 0) {
		free(name.label);
		free(name.type);
		return number;
	}
	*at = (uint32_t)number;
	return number;
}

/* The frame of a name below `frame`, or -ENOMEM. */
static int64_t add_frame(struct walk *w, int64_t frame, const char *text, size_t len, bool user)
{
	int64_t name = name_of(w, text, len, user);

	return name < 0 ? name : flame_frame_below(&w->flame, (uint32_t)frame, (uint32_t)name);
}

/* The frames of a waker above those of the sleep, which it ended: the innermost first. */
static int64_t add_waker(struct walk *w, int64_t frame, const struct stack_line *line)
{
	size_t at = 0, len;
	const char *text;

	if (line)
		frame = add_frame(w, frame, WAKER, strlen(WAKER), false);
	while (line && frame >= 0 && (len = stack_line_frame(line, &at, &text)))
		frame = add_frame(w, frame, text, stack_frame_name(text, len),
				  stack_frame_is_user(text, len));
	return frame;
}

/* The frame of a stack below `frame`, or -ENOMEM. */
static int64_t add_stack(struct walk *w, int64_t frame, const struct stack_line *line)
{
	struct part {
		const char *text;
		size_t len;
	} *parts = NULL;
	size_t n = 0, at = 0, len;
	const char *text;

	while ((len = stack_line_frame(line, &at, &text))) {
		struct part *added = ARRAY_ADD(parts, n);

		if (!added) {
			frame = -ENOMEM;
			break;
		}
		*added = (struct part){text, len};
	}
	while (n-- > 0 && frame >= 0) { /* from the outermost one on */
		const struct part *part = &parts[n];

		frame = add_frame(w, frame, part->text, stack_frame_name(part->text, part->len),
				  stack_frame_is_user(part->text, part->len));
	}
	free(parts);
	return frame < 0 ? frame : add_waker(w, frame, stack_line_waker(&w->stacks, line));
}

/* The frame of the sleep that the present event ends, or -ENOMEM. */
static int64_t frame_of(struct walk *w, uint32_t base)
{
	uint32_t number = w->ev ? sleep_stack(w->ev) : 0, *at;
	struct stack_line *line = number ? stack_table_find(&w->stacks, number) : NULL;
	int64_t frame;

	if (!line) {
		const char *text = number ? UNKNOWN : NO_STACK;

		return add_frame(w, base, text, strlen(text), false);
	}
	at = hash_at(&w->leaf_of, (struct hash_key){.a = base, .b = number});
	if (!at)
		return -ENOMEM;
	if (*at == HASH_NONE) {
		frame = add_stack(w, base, line);
		if (frame < 0)
			return frame;
		*at = (uint32_t)frame;
	}
	return *at;
}

/* A stay ends; if it is a sleep, the present event has its stack. */
static void stay(void *arg, uint32_t stream, enum time_use use, int64_t begin, int64_t end)
{
	struct walk *w = arg;
	enum time_class class;
	int64_t frame, *own;

	/* a sleep since before the recording has no reason, but may have a stack */
	class = w->flame.time == FLAME_RUNNABLE ? CLASS_RUNNABLE : CLASS_ASLEEP;
	if (use == TIME_LOST || !w->report->filter->streams[stream] || w->err ||
	    (time_use_class(use) != class &&
	     (class == CLASS_RUNNABLE || use < TIME_ASLEEP || !(w->ev && sleep_stack(w->ev)))))
		return;
	frame = frame_of(w, w->tracks[stream].base);
	if (frame < 0) {
		w->err = (int)frame;
		return;
	}
	own = &w->flame.frames[frame].own[class];
	*own = clock_sum(*own, clock_distance(begin, end));
	w->flame.frames[frame].calls++;
	w->sleeps++;
	w->without += !w->ev || !sleep_stack(w->ev);
}

static int event(void *arg, const struct intervals *intervals, uint32_t stream,
		 const struct event *ev)
{
	struct walk *w = arg;

	w->ev = ev;
	thread_times_step(&w->flame.times, intervals, stream, ev);
	return w->err;
}

static int walk(struct walk *w, const char *path)
{
	static const struct interval_listener listener = {.event = event};
	struct report *report = w->report;
	struct intervals intervals = {0};
	int err =
		flame_add_level(report, &w->flame, w->tracks, report->by ? report->by : BY_THREAD);
	int walked;

	if (err)
		return err;
	walked = intervals_walk(&intervals, report->source, &listener, w);
	/* of a damaged trace, the part before the damage */
	err = walked == -ENOMEM || !intervals.threads ? walked : 0;
	if (err)
		goto out;
	w->ev = NULL;
	thread_times_finish(&w->flame.times, &intervals);
	flame_add_up(&w->flame);
	err = w->err ? w->err : flame_output(report, &w->flame, path, 1000);
	if (!err && w->sleeps && w->sleeps == w->without)
		log_warn("%s: no %s has a stack (ovni-bpf --why=%s records them)", path,
			 w->flame.time == FLAME_RUNNABLE ? "wait for a CPU" : "sleep",
			 w->flame.time == FLAME_RUNNABLE ? "preempted" : "stack");
	err = err ? err : walked;
out:
	intervals_fini(&intervals);
	return err;
}

static int print(struct report *report, const char *path)
{
	struct walk w = {.report = report,
			 .flame.time = report->flame_time == FLAME_RUNNABLE ? FLAME_RUNNABLE
									    : FLAME_ASLEEP};
	int err = flame_begin(&w.flame, report);

	if (err)
		goto out;
	w.flame.times.stay = stay;
	w.flame.times.arg = &w;
	w.flame.times.unsummed = true;
	err = -ENOMEM;
	w.tracks = calloc(report->source->trace.nstreams + 1, sizeof(*w.tracks));
	if (!w.tracks)
		goto out;
	err = stack_table_load(&w.stacks, report->source->trace.fd, path);
	if (!err)
		err = walk(&w, path);
out:
	free(w.tracks);
	stack_table_free(&w.stacks);
	hash_free(&w.by_name);
	hash_free(&w.leaf_of);
	flame_fini(&w.flame);
	return err;
}

const struct report_kind report_stacks = {
	.name = "stacks",
	.by = BY_THREAD,
	.print = print,
};
