/* SPDX-License-Identifier: MIT */
/*
 * critical_rows: type 311, the critical path to the end of a thread (--critical).
 *
 *   main     ████░░░░░░░░░░░░░░░░░░░░░░░░▒██      the path: 1 in the row of one thread
 *   worker   ░░░░▒███▒▒████░░░░░░░░░░░░░░         at each moment
 *   writer   ░░░░░░░░░░░░░░█████████████▒░░
 *
 * In: a walk of the whole trace before the emulation (critical_path.h), of the thread in the
 * options; out: its segments, written between the lines of events, in the order of time. Invariant:
 * the times of all rows add up to the path. Memory: that of critical_path.h during the walk, then
 * two clocks for each segment. Specification: why.md, parts C and D.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "emu/emulation.h"
#include "trace/analysis/critical_path.h"
#include "trace/base/array.h"
#include "trace/base/log.h"

static const struct channel_page page = CHANNEL_PAGE(311, "Thread: on the critical path", SINGLE,
						     ANY, SKIP, .alone = true, .cpu = CPU_NONE);

struct part {		  /* of the path, in one thread */
	int64_t from, to; /* ns since the first event */
	uint32_t stream;
};

struct critical {
	struct part *parts; /* in the order of time */
	size_t n, next;
	bool open; /* the present one has begun */
	uint32_t channel;
};

static int step(void *arg, const struct intervals *intervals, uint32_t stream,
		const struct event *ev)
{
	return critical_path_step(arg, intervals, stream, ev);
}

/* The stream of the only thread with the number in the options; -1 after one message. */
static int64_t find_thread(const struct emulator *emu, const struct source *source)
{
	int64_t found = -1, tid = (int64_t)emu->opt->critical;

	for (size_t i = 0; i < source->trace.nstreams; i++) {
		if (!source->owners[i].thread || source->owners[i].tid != tid)
			continue;
		if (found >= 0) {
			log_error("--critical %" PRIi64 ": several threads of %s have this number",
				  tid, emu->opt->trace);
			return -1;
		}
		found = (int64_t)i;
	}
	if (found < 0)
		log_error("--critical %" PRIi64 ": %s has no such thread (ovni-info lists them)",
			  tid, emu->opt->trace);
	return found;
}

/* Keeps the segments, those of one thread that follow each other as one part. */
static int keep(struct critical *c, const struct critical_path *path, int64_t start)
{
	for (size_t i = 0; i < path->nsegments; i++) {
		const struct critical_segment *segment = &path->segments[i];
		struct part *part = c->n ? &c->parts[c->n - 1] : NULL;

		if (!part || part->stream != segment->stream) {
			part = ARRAY_ADD(c->parts, c->n);
			if (!part)
				return log_no_memory("for the critical path");
			part->from = segment->from - start;
			part->stream = segment->stream;
		}
		part->to = segment->to - start;
	}
	return 0;
}

static int find_path(struct critical *c, const struct emulator *emu, const struct source *source)
{
	static const struct interval_listener listener = {.event = step};
	int64_t from, to, stream = find_thread(emu, source);
	struct intervals intervals = {0};
	struct critical_path path;
	int err = -EINVAL;

	if (stream < 0)
		return err;
	err = critical_path_init(&path, source, INT64_MIN, INT64_MAX);
	path.owners = emu->opt->owners;
	if (!err)
		err = intervals_walk(&intervals, source, &listener, &path);
	if (!err)
		err = critical_path_finish(&path, &intervals);
	if (!err && critical_path_life(&path, (uint32_t)stream, &from, &to)) {
		err = critical_path_find(&path, &intervals.walk, (uint32_t)stream, intervals.first,
					 to);
		if (!err)
			err = keep(c, &path, emu->player.clocks[1]); /* the root */
	}
	intervals_fini(&intervals);
	critical_path_fini(&path);
	return err;
}

int critical_prepare(struct emulator *emu)
{
	struct source source;
	int channel, err;

	emu->critical_next = INT64_MAX;
	if (!emu->opt->critical)
		return 0;
	emu->critical = calloc(1, sizeof(*emu->critical));
	if (!emu->critical)
		return log_no_memory("for the critical path");
	channel = model_add_channel(emu, &page);
	if (channel < 0)
		return channel;
	emu->critical->channel = (uint32_t)channel;
	if (channel_add_label(&emu->channels[channel], 1, "On the critical path"))
		return log_no_memory("for the critical path");
	err = source_open(&source, emu->opt->trace);
	source.trace.fixes = emu->fixes;
	if (!err)
		err = find_path(emu->critical, emu, &source);
	source.trace.fixes = NULL;
	source_close(&source);
	if (!err && emu->critical->n)
		emu->critical_next = emu->critical->parts[0].from;
	return err;
}

int critical_show(struct emulator *emu, int64_t until)
{
	struct critical *c = emu->critical;
	struct channel *ch = &emu->channels[c->channel];
	struct prv_time time = emu->time;

	for (; c->next < c->n && emu->critical_next <= until; c->open = !c->open) {
		const struct part *part = &c->parts[c->next];
		const struct thread *th = emu->sys.thread_of_stream[part->stream];
		int err = prv_begin(&emu->thread_prv);

		if (err)
			return err;
		time.now = emu->critical_next;
		prv_line(&emu->thread_prv, &th->row, &time, &ch->type, !c->open);
		ch->used = true;
		c->next += c->open;
		if (!c->open)
			emu->critical_next = part->to;
		else
			emu->critical_next = c->next < c->n ? part[1].from : INT64_MAX;
	}
	return 0;
}

void critical_fini(struct emulator *emu)
{
	if (emu->critical)
		free(emu->critical->parts);
	free(emu->critical);
}
