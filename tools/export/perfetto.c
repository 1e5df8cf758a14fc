/* SPDX-License-Identifier: MIT */
/*
 * perfetto: a trace as a file for Perfetto.
 *
 * In: the walk over a trace (intervals.h); out: one file, or one of each part: parts are files that
 * stand alone. This file writes clocks, machines, processes and threads, decides what an event
 * means for the scheduling (perfetto_sched.h) and the slices (perfetto_slices.h), and begins and
 * ends parts. Specification: perfetto.md.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/export/formats.h"
#include "tools/export/perfetto_sched.h"
#include "tools/export/perfetto_slices.h"
#include "tools/export/task_bodies.h"
#include "trace/analysis/function_calls.h"
#include "trace/analysis/thread_times.h"
#include "trace/ovni/stack_file.h"
#include "trace/states/waits.h"
#include "trace/base/array.h"
#include "trace/base/log.h"
#include "trace/base/text.h"

#define SUFFIX	     ".pftrace"
#define CLOCK_LIMIT  (1ll << 62) /* ns */
#define LARGE	     100000000	 /* bytes: browsers take long for more */
#define KERNEL_OTHER "5.11" /* of traces that do not say it: what a state means follows from it */
#define KTHREADD     2

struct exported_thread { /* of a stream */
	uint32_t part;	 /* in whose process tree it is */
	bool begun, ended, freed;
	bool virtual; /* its last run was on the virtual CPU */
	bool gap;     /* a mark of lost events is open, */
	int64_t gap_at;
	uint64_t gap_count;
	size_t renames; /* that are written or passed */
};

struct exporter {
	struct export_request *request;
	struct subjects subjects;
	struct perfetto_file file;
	struct perfetto_sched sched;
	struct perfetto_slices slices;
	struct exported_thread *threads;
	struct task_bodies tasks;
	struct thread_times times;
	struct stack_table stacks;
	uint32_t *alive;	/* of each process: threads that have not ended */
	uint64_t *gaps;		/* of each loom: events lost, by the marks */
	uint32_t part;		/* the number of the present one, from 1 */
	bool open;		/* a part is */
	struct new_file *ended; /* the parts before it: they have no names yet */
	uint32_t nended;
	bool done;	     /* the last part has ended */
	int64_t first, last; /* clocks of the wanted part of the trace */
	int64_t now;
	uint64_t bytes; /* of the finished parts */
};

/* ---- processes and threads ---- */

/* Of a newborn, `creator` is the stream of its creator, whose process must be the parent: with
 * another one the reader makes a second process of the pid. Else it is NO_SUBJECT. */
static void put_process(struct bytes *b, const struct subjects *s, uint32_t stream,
			uint32_t creator)
{
	const struct subject_thread *thread = &s->threads[stream];
	const struct subject_process *process = &s->processes[thread->process];
	const char *name =
		process->leader == NO_SUBJECT ? thread->name : s->threads[process->leader].name;
	int32_t parent = process->parent;
	size_t part = pb_begin(b, 1);

	if (thread->kernel)
		parent = KTHREADD;
	if (creator != NO_SUBJECT && s->threads[creator].process != thread->process)
		parent = s->processes[s->threads[creator].process].number;

	pb_uint(b, 1, (uint64_t)process->number);
	if (parent)
		pb_uint(b, 2, (uint64_t)parent);
	for (size_t i = 0; i < process->ncommand; i++)
		pb_text(b, 3, process->command[i]);
	if (!process->ncommand)
		pb_text(b, 3, name);
	if (process->ncommand < 2) /* the name of a process of one word ends at its first blank */
		pb_text(b, 3, "");
	pb_end(b, part);
}

static void put_thread(struct bytes *b, const struct subjects *s, uint32_t stream)
{
	const struct subject_thread *thread = &s->threads[stream];
	size_t part = pb_begin(b, 2);

	pb_uint(b, 1, (uint64_t)thread->number);
	pb_text(b, 2, thread->name);
	pb_uint(b, 3, (uint64_t)s->processes[thread->process].number);
	pb_end(b, part);
}

static void put_packet(struct exporter *x, const struct subject_loom *loom)
{
	perfetto_file_put(&x->file, loom->number + 1, loom->number);
}

/* A thread that the first process tree does not have. */
static void name_thread(struct exporter *x, uint32_t stream, int64_t clock, uint32_t creator)
{
	struct bytes *b = &x->file.packet;
	size_t tree;

	if (!x->open || x->threads[stream].part == x->part)
		return;
	x->threads[stream].part = x->part;
	pb_uint(b, PACKET_TIMESTAMP, (uint64_t)clock);
	tree = pb_begin(b, PACKET_PROCESS_TREE);
	put_process(b, &x->subjects, stream, creator);
	put_thread(b, &x->subjects, stream);
	pb_end(b, tree);
	put_packet(x, &x->subjects.looms[x->subjects.threads[stream].loom]);
}

/* Whether the next event of a stream is the birth of its thread, by a thread of the trace. */
static bool is_born_later(const struct exporter *x, uint32_t stream)
{
	const struct event *first = &x->request->source->streams[stream].ev;
	int32_t creator;

	if (x->threads[stream].begun || !first->size || event_mcv(first) != MCV('O', 'H', 'x') ||
	    first->payload_size < 8 || get_i32(first->payload) < 0)
		return false;
	creator = get_i32(first->payload + 4);
	return creator > 0 && state_walk_find(&x->subjects.walk, stream, creator) >= 0;
}

static bool is_in_tree(const struct exporter *x, uint32_t stream)
{
	const struct exported_thread *t = &x->threads[stream];

	if (!x->request->filter->streams[stream] || t->ended || is_born_later(x, stream))
		return false;
	return t->begun || x->subjects.threads[stream].same == stream;
}

static void put_tree(struct exporter *x, uint32_t loom, int64_t clock)
{
	struct subjects *s = &x->subjects;
	struct bytes *b = &x->file.packet;
	bool kernel = false;
	size_t tree, part;

	pb_uint(b, PACKET_TIMESTAMP, (uint64_t)clock);
	tree = pb_begin(b, PACKET_PROCESS_TREE);
	for (uint32_t i = 0; i < s->source->trace.nstreams; i++) {
		const struct subject_thread *thread = &s->threads[i];
		uint32_t leader = s->processes[thread->process].leader;

		if (thread->loom != loom || !is_in_tree(x, i))
			continue;
		x->threads[i].part = x->part;
		kernel |= thread->kernel;
		if (leader == i || leader == NO_SUBJECT || !is_in_tree(x, leader))
			put_process(b, s, i, NO_SUBJECT);
		put_thread(b, s, i);
	}
	if (kernel) {
		part = pb_begin(b, 1);
		pb_uint(b, 1, KTHREADD);
		pb_text(b, 3, "kthreadd");
		pb_end(b, part);
	}
	pb_end(b, tree);
	put_packet(x, &s->looms[loom]);
}

/* ---- machines ---- */

static void put_clock(struct bytes *b, unsigned id, int64_t clock)
{
	size_t part = pb_begin(b, 1);

	pb_uint(b, 1, id);
	pb_uint(b, 2, (uint64_t)clock);
	pb_end(b, part);
}

static void put_machine(struct exporter *x, uint32_t number, int64_t clock)
{
	const struct subject_loom *loom = &x->subjects.looms[number];
	struct bytes *b = &x->file.packet;
	uint32_t cpus = 0;
	size_t part, names;

	pb_uint(b, PACKET_FLAGS, FLAG_BEGIN);
	part = pb_begin(b, PACKET_CLOCKS);
	put_clock(b, CLOCK_BOOT_ID, clock);
	put_clock(b, CLOCK_MONOTONIC_ID, clock);
	pb_uint(b, 2, CLOCK_MONOTONIC_ID);
	pb_end(b, part);
	put_packet(x, loom);

	for (size_t i = 0; i < x->subjects.ncpus; i++)
		cpus += x->subjects.cpus[i].loom == number;
	part = pb_begin(b, PACKET_SYSTEM);
	names = pb_begin(b, 1);
	pb_text(b, 1, "Linux");
	pb_text(b, 2, loom->shown);
	pb_text(b, 3, loom->kernel ? loom->kernel : KERNEL_OTHER);
	if (loom->machine)
		pb_text(b, 4, loom->machine);
	pb_end(b, names);
	pb_uint(b, 8, cpus);
	pb_text(b, 17, loom->shown);
	pb_end(b, part);
	put_packet(x, loom);
	put_tree(x, number, clock);
}

/* ---- parts ---- */

/* The name of a part: "trace-1.pftrace"; for free(). NULL without memory. */
static char *part_name(const char *output, uint32_t part)
{
	size_t length = strlen(output), end = strlen(SUFFIX);

	if (length > end && strcmp(output + length - end, SUFFIX) == 0)
		return xasprintf("%.*s-%" PRIu32 "%s", (int)(length - end), output, part, SUFFIX);
	return xasprintf("%s-%" PRIu32, output, part);
}

static int begin_part(struct exporter *x, int64_t clock)
{
	const struct export_request *request = x->request;
	char *name;
	int err;

	x->part++;
	name = request->split ? part_name(request->output, x->part) : strdup(request->output);
	if (!name)
		return log_no_memory("for the name of the output");
	err = perfetto_file_open(&x->file, name, x->ended);
	free(name);
	if (err)
		return err;
	x->open = true;
	for (uint32_t number = 0; number < x->subjects.nlooms; number++)
		for (uint32_t i = 0; i < x->subjects.nlooms; i++)
			if (x->subjects.looms[i].number == number)
				put_machine(x, i, clock);
	perfetto_sched_begin(&x->sched, clock);
	perfetto_slices_begin(&x->slices, clock);
	return 0;
}

static int end_part(struct exporter *x, int64_t clock)
{
	struct new_file *added;
	int err;

	perfetto_slices_end(&x->slices, clock);
	perfetto_sched_end(&x->sched, clock);
	x->open = false;
	if (x->sched.lack || x->slices.lack)
		return log_no_memory("while exporting %s", x->request->path);
	err = perfetto_file_finish(&x->file);
	if (err)
		return err;
	x->bytes += x->file.size;
	added = ARRAY_ADD(x->ended, x->nended);
	if (!added)
		return log_no_memory("while exporting %s", x->request->path);
	*added = x->file.file;
	x->file.file = (struct new_file){0};
	return 0;
}

/* All parts get their names when the last one is complete, the first part last: an export that is
 * killed leaves no part that seems to be the whole trace. */
static int name_parts(struct exporter *x)
{
	int err = 0;

	for (uint32_t i = x->nended; i > 0 && !err; i--)
		err = new_file_finish(&x->ended[i - 1]);
	return err;
}

/* An earlier export with more parts leaves parts that this one does not replace. */
static void report_older_parts(const struct exporter *x)
{
	char *next = x->request->split ? part_name(x->request->output, x->part + 1) : NULL;

	if (next && !access(next, F_OK))
		log_warn("%s is a part of an earlier export: remove it and those that follow",
			 next);
	free(next);
}

/* Losses that no mark has: nothing was recorded after them. */
static void put_last_gaps(struct exporter *x, int64_t clock)
{
	for (uint32_t i = 0; i < x->subjects.nlooms; i++)
		if (x->subjects.looms[i].lost > x->gaps[i])
			perfetto_slices_gap(&x->slices, i, NO_SUBJECT, x->now, clock,
					    x->subjects.looms[i].lost - x->gaps[i]);
}

/* The names that the thread got up to now. */
static void take_renames(struct exporter *x, uint32_t stream, int64_t clock)
{
	const struct subject_thread *thread = &x->subjects.threads[stream];
	size_t *next = &x->threads[stream].renames;

	for (; *next < thread->nrenames && thread->renames[*next].clock <= clock; ++*next)
		perfetto_slices_renamed(&x->slices, stream, thread->renames[*next].clock,
					thread->renames[*next].name);
}

static int finish(struct exporter *x, const struct intervals *intervals)
{
	int64_t end = x->subjects.t1 > x->now ? x->subjects.t1 : x->now;
	int err;

	if (!x->part) {
		log_error("%s: no event in the part that is asked for", x->request->path);
		return -ENODATA;
	}
	if (end > x->last)
		end = x->last;
	if (end < x->now)
		end = x->now;
	if (end > CLOCK_LIMIT)
		end = CLOCK_LIMIT;
	if (!x->done)
		put_last_gaps(x, end);
	thread_times_finish(&x->times, intervals);
	for (uint32_t i = 0; i < x->request->source->trace.nstreams; i++)
		if (x->request->filter->streams[i])
			take_renames(x, i, end);
	err = end_part(x, end);
	return err ? err : name_parts(x);
}

/* ---- events ---- */

/* The threads with the id of this one have ended: Linux uses it again. */
static void free_same(struct exporter *x, uint32_t stream, int64_t clock)
{
	for (uint32_t i = x->subjects.threads[stream].same; i != stream;
	     i = x->subjects.threads[i].same) {
		struct exported_thread *t = &x->threads[i];
		int64_t left = x->sched.threads[i].left;

		if (!t->begun)
			continue;
		if (!t->freed)
			perfetto_sched_free(&x->sched, i, left + 1);
		t->freed = t->ended = true;
		perfetto_sched_reuse(&x->sched, i, clock);
	}
}

static void begin_thread(struct exporter *x, uint32_t stream, int64_t clock)
{
	x->threads[stream].begun = true;
	if (x->threads[stream].part == x->part && x->open)
		return;
	free_same(x, stream, clock);
	name_thread(x, stream, clock, NO_SUBJECT);
}

static void create_thread(struct exporter *x, const struct intervals *intervals, uint32_t stream,
			  const struct event *ev)
{
	int64_t child = wait_newborn(intervals, stream, ev);

	if (child < 0 || !x->request->filter->streams[child] ||
	    x->subjects.looms[x->subjects.threads[child].loom].accelerator ||
	    get_i32(x->request->source->streams[child].ev.payload) < 0)
		return;
	if (x->threads[child].begun) { /* another life of this pid and tid, in one stream */
		perfetto_sched_free(&x->sched, (uint32_t)child, x->sched.threads[child].left + 1);
		perfetto_sched_reuse(&x->sched, (uint32_t)child, ev->clock);
		x->threads[child].part = 0;
	}
	free_same(x, (uint32_t)child, ev->clock);
	perfetto_sched_newborn(&x->sched, stream, (uint32_t)child, ev->clock);
	name_thread(x, (uint32_t)child, ev->clock + 1, stream);
}

/* The thread of a stream has ended: its tid is free. So is the pid once all threads of the process
 * have ended. */
static void end_thread(struct exporter *x, uint32_t stream, int64_t clock)
{
	struct subject_thread *thread = &x->subjects.threads[stream];
	const struct subject_process *process = &x->subjects.processes[thread->process];
	int64_t left = x->sched.threads[stream].left;
	uint32_t gone = stream;

	x->threads[stream].ended = true;
	x->alive[thread->process]--;
	if (process->leader == stream ||
	    (process->leader != NO_SUBJECT && x->threads[process->leader].ended &&
	     !x->threads[process->leader].freed)) {
		if (process->leader != stream) {
			x->threads[stream].freed = true;
			perfetto_sched_free(&x->sched, stream, (left > clock ? left : clock) + 1);
		}
		if (x->alive[thread->process])
			return;
		gone = process->leader;
	}
	x->threads[gone].freed = true;
	perfetto_sched_free(&x->sched, gone, (left > clock ? left : clock) + 1 + (gone != stream));
}

static bool is_last_event(const struct stream *stream)
{
	return stream->base_offset + (uint64_t)(stream->at - stream->base) >= stream->size;
}

/* The thread of a stream may be on another CPU now. */
static void follow(struct exporter *x, const struct intervals *intervals, uint32_t stream,
		   int64_t clock, bool gone)
{
	const struct interval_thread *now = &intervals->threads[stream];
	struct sched_thread *t = &x->sched.threads[stream];
	uint32_t cpu = NO_SUBJECT;

	if (x->subjects.looms[x->subjects.threads[stream].loom].accelerator)
		return;
	if (now->on && now->interval.cpu >= 0)
		cpu = perfetto_sched_cpu(&x->sched, stream, now->interval.cpu);
	/* the last events of a stream end the thread with the window; they are no wake-up */
	if (now->on && cpu == NO_SUBJECT && t->woken && t->woken_at == clock)
		t->woken = false;
	if (cpu == t->cpu)
		return;
	if (t->cpu != NO_SUBJECT)
		perfetto_sched_leave(&x->sched, stream, clock,
				     now->on ? OFF_CPU_YIELDED : now->interval.why,
				     &now->interval.call, gone);
	if (cpu != NO_SUBJECT)
		perfetto_sched_enter(&x->sched, stream, cpu, clock);
}

static void take_state(struct exporter *x, const struct intervals *intervals, uint32_t stream,
		       const struct event *ev)
{
	/* at the end of the window a thread that is about to end still lives */
	bool dies = ev->value == 'e' && ev->clock != x->subjects.t1;
	bool ends = dies && x->subjects.threads[stream].exits &&
		    is_last_event(&x->request->source->streams[stream]);

	switch (ev->value) {
	case 'C':
		create_thread(x, intervals, stream, ev);
		return;
	case 'w':
		if (!intervals->threads[stream].on)
			perfetto_sched_wake(&x->sched, stream, ev->clock,
					    ev->payload_size >= 4 ? get_i32(ev->payload) : 0);
		return;
	case 'e':
		perfetto_slices_close(&x->slices, stream, ev->clock);
		break;
	default:
		break;
	}
	follow(x, intervals, stream, ev->clock, dies);
	if (ends)
		end_thread(x, stream, ev->clock);
}

static void take_gap(struct exporter *x, const struct intervals *intervals, uint32_t stream,
		     const struct event *ev)
{
	struct exported_thread *t = &x->threads[stream];
	uint32_t loom = x->subjects.threads[stream].loom, cpu = NO_SUBJECT;
	int32_t index = intervals->walk.threads[stream].cpu;

	if (ev->value == '[' && !t->gap) {
		t->gap = true;
		t->gap_at = ev->clock;
		t->gap_count = get_u64(ev->payload);
	}
	if (ev->value != ']' || !t->gap)
		return;
	t->gap = false;
	if (t->gap_count > CLOCK_LIMIT) /* of a damaged trace */
		t->gap_count = CLOCK_LIMIT;
	if (x->gaps[loom] < CLOCK_LIMIT)
		x->gaps[loom] += t->gap_count;
	if (index >= 0 && !x->subjects.looms[loom].accelerator)
		cpu = perfetto_sched_cpu(&x->sched, stream, index);
	perfetto_slices_gap(&x->slices, loom, cpu, t->gap_at, ev->clock, t->gap_count);
	if (cpu != NO_SUBJECT)
		perfetto_sched_lost(&x->sched, cpu);
}

/* A value holds until the next one of its track. */
static void set_value(struct exporter *x, struct slice_track *track, int64_t clock, int64_t value,
		      const char *label)
{
	if (track && track->depth)
		perfetto_slices_pop(&x->slices, track, clock, track->open[0].value);
	if (track)
		perfetto_slices_push(&x->slices, track, clock, value, label);
}

/* A single mark: a number is a counter, a value with a label a slice, both also an argument of the
 * call that begins or ends here. */
static void take_single(struct exporter *x, uint32_t stream, const struct event *ev)
{
	int64_t value = get_i64(ev->payload);
	int32_t type = get_i32(ev->payload + 8);
	const char *title = mark_labels_title(&x->subjects.labels, type);
	const char *label = mark_labels_value(&x->subjects.labels, type, value);
	struct slice_track *track;

	if (type < 0)
		return;
	track = perfetto_slices_track(&x->slices, stream, type, 1);
	if (mark_labels_any(&x->subjects.labels, type) ||
	    x->subjects.looms[x->subjects.threads[stream].loom].accelerator) {
		set_value(x, track, ev->clock, value, label);
		return;
	}
	if (value == MARK_ZERO && label)
		value = 0;
	if (track)
		perfetto_slices_count(&x->slices, track, ev->clock, value);
	if (title)
		perfetto_slices_note(&x->slices, stream, ev->clock, title, value, NULL);
}

/* nOS-V reads all its hardware counters at once. Those of ovni-bpf --counters are of the present
 * run: from its begin to its end, and 0 behind it. */
static void take_counters(struct exporter *x, const struct intervals *intervals, uint32_t stream,
			  const struct event *ev)
{
	const struct interval_thread *t = &intervals->threads[stream];
	bool of_run = x->request->source->owners[stream].counters && t->on;

	for (uint32_t i = 0; (i + 1) * sizeof(int64_t) <= ev->payload_size; i++) {
		struct slice_track *track = NULL;

		if (mark_labels_counter(&x->subjects.labels, i))
			track = perfetto_slices_track(&x->slices, stream, -ev->model,
						      SLICES_COUNTER + i);
		if (!track)
			continue;
		perfetto_slices_count(&x->slices, track, of_run ? t->interval.start : ev->clock,
				      get_i64(ev->payload + i * sizeof(int64_t)));
		if (of_run)
			perfetto_slices_count(&x->slices, track, ev->clock, 0);
	}
}

static void take_task(struct exporter *x, uint32_t stream, const struct event *ev)
{
	struct task_body body;
	int act = task_bodies_take(&x->tasks, stream, ev, &body);
	struct slice_track *track;

	if (act == -ENOMEM)
		x->slices.lack = true;
	if (act <= TASK_NOTHING)
		return;
	track = perfetto_slices_track(&x->slices, stream, -ev->model, SLICES_TASK);
	if (!track)
		return;
	if (act == TASK_ENDS) {
		perfetto_slices_pop(&x->slices, track, ev->clock, body.number);
		return;
	}
	perfetto_slices_push(&x->slices, track, ev->clock, body.number, body.label);
	if (body.task != TASK_UNKNOWN)
		perfetto_slices_annotate(&x->slices, track, "taskid", body.task);
	if (body.type != TASK_UNKNOWN)
		perfetto_slices_annotate(&x->slices, track, "typeid", body.type);
	if (body.body > 0)
		perfetto_slices_annotate(&x->slices, track, "bodyid", body.body);
}

static void take_region(struct exporter *x, const struct intervals *intervals, uint32_t stream,
			const struct event *ev)
{
	struct function function;
	enum catalog_action action = function_event(ev, &function);
	struct slice_track *track;
	const char *label;

	if (action != ACTION_PUSH && action != ACTION_POP && action != ACTION_SET) {
		if (event_mcv(ev) == MCV('V', 'W', 'C'))
			take_counters(x, intervals, stream, ev);
		return;
	}
	track = perfetto_slices_track(&x->slices, stream, function.type,
				      function.type < 0 ? function.value >> 32 : 0);
	if (!track)
		return;
	if (action == ACTION_POP) {
		perfetto_slices_pop(&x->slices, track, ev->clock, function.value);
		return;
	}
	label = function.type < 0
			? catalog_find(event_mcv(ev), NULL)->label
			: mark_labels_value(&x->subjects.labels, function.type, function.value);
	if (action == ACTION_SET)
		set_value(x, track, ev->clock, function.value, label);
	else
		perfetto_slices_push(&x->slices, track, ev->clock, function.value, label);
}

static void take_mark(struct exporter *x, const struct intervals *intervals, uint32_t stream,
		      const struct event *ev)
{
	if (ev->payload_size < 12)
		return;
	if (get_i32(ev->payload + 8) == MARK_TYPE_LOST)
		take_gap(x, intervals, stream, ev);
	else if (ev->value == '=')
		take_single(x, stream, ev);
	else
		take_region(x, intervals, stream, ev);
}

/* A thread is moved to another CPU by itself, or by another one. */
static void take_move(struct exporter *x, const struct intervals *intervals, uint32_t stream,
		      const struct event *ev)
{
	int64_t moved = stream;

	if (ev->value == 'r')
		moved = ev->payload_size < 8 ? -1
					     : state_walk_find(&intervals->walk, stream,
							       get_i32(ev->payload + 4));
	if (moved >= 0 && x->request->filter->streams[moved])
		follow(x, intervals, (uint32_t)moved, ev->clock, false);
}

static int keep_parts(struct exporter *x, int64_t clock)
{
	int err;

	if (clock > x->last) {
		x->done = true;
		return -ECANCELED;
	}
	if (!x->open && clock >= x->first)
		return begin_part(x, x->first > x->subjects.t0 ? x->first : x->subjects.t0);
	if (!x->request->split || x->file.size < x->request->split || clock <= x->now)
		return 0;
	err = end_part(x, clock);
	return err ? err : begin_part(x, clock);
}

/* thread_times: a stay has ended. */
static void take_stay(void *arg, uint32_t stream, enum time_use use, int64_t begin, int64_t end)
{
	struct exporter *x = arg;

	if (!x->request->filter->streams[stream])
		return;
	if (end > x->last)
		end = x->last;
	if (use == TIME_LOST)
		perfetto_slices_unknown(&x->slices, stream, begin, end);
	else if (use != TIME_RUNNING && x->threads[stream].virtual)
		perfetto_slices_state(&x->slices, stream, begin, end, time_use_state(use),
				      time_use_reason(use));
}

/* An event ends a sleep or a wait for a CPU: writes what --why=lock, stack and preempted recorded
 * of it, and what --why=irq recorded of the run before it. Called before the event changes the
 * state of the thread. */
static void take_details(struct exporter *x, const struct intervals *intervals, uint32_t stream,
			 const struct event *ev)
{
	const struct thread_time *t = &x->times.threads[stream];
	const struct stack_line *stack = stack_table_find(&x->stacks, sleep_stack(ev));
	int64_t owner_tid = sleep_lock_owner(ev), owner = -1, from, to;
	int64_t irq_ns = thread_times_interrupts(&x->times, intervals, stream, ev, &from, &to);

	if (irq_ns > 0)
		perfetto_slices_interrupts(&x->slices, stream, from, to, irq_ns);
	if ((owner_tid <= 0 && !stack) || t->use == TIME_RUNNING || t->use >= TIME_LOST)
		return;
	if (owner_tid > 0)
		owner = state_walk_find(&intervals->walk, stream, owner_tid);
	perfetto_slices_off_cpu(&x->slices, stream, t->use >= TIME_ASLEEP, t->since, ev->clock,
				owner >= 0	? x->subjects.threads[owner].name
				: owner_tid > 0 ? "not in the trace"
						: NULL,
				owner_tid, stack, stack_line_waker(&x->stacks, stack));
}

/* A part of a run: the ones on the virtual CPU are no scheduling. */
static int take_span(void *arg, const struct intervals *intervals, uint32_t stream, int32_t cpu,
		     int64_t from, int64_t to)
{
	struct exporter *x = arg;

	(void)intervals;
	if (!x->request->filter->streams[stream])
		return 0;
	x->threads[stream].virtual = cpu < 0;
	if (cpu >= 0)
		return 0;
	x->sched.threads[stream].woken = false; /* it did not wait for a CPU since then */
	perfetto_slices_state(&x->slices, stream, from, to < x->last ? to : x->last,
			      time_use_state(TIME_RUNNING), "");
	return 0;
}

static int take_event(void *arg, const struct intervals *intervals, uint32_t stream,
		      const struct event *ev)
{
	struct exporter *x = arg;
	int err;

	if (ev->clock > CLOCK_LIMIT) {
		log_error("%s: clock %" PRId64 ": Perfetto knows clocks up to %lld",
			  x->request->source->trace.streams[stream], ev->clock, CLOCK_LIMIT);
		return -ERANGE;
	}
	err = keep_parts(x, ev->clock);
	if (err)
		return err;
	x->now = ev->clock;
	if (!x->request->filter->streams[stream])
		return 0;
	if (!x->threads[stream].begun)
		begin_thread(x, stream, ev->clock);
	take_renames(x, stream, ev->clock);
	take_details(x, intervals, stream, ev);
	thread_times_step(&x->times, intervals, stream, ev);
	if (ev->model == 'O' && ev->category == 'H')
		take_state(x, intervals, stream, ev);
	else if (ev->model == 'O' && ev->category == 'M')
		take_mark(x, intervals, stream, ev);
	else if (ev->model == 'O' && ev->category == 'A')
		take_move(x, intervals, stream, ev);
	else if (ev->model == 'K' && ev->category == 'C')
		follow(x, intervals, stream, ev->clock, false);
	else if (ev->model != 'O') {
		take_region(x, intervals, stream, ev);
		take_task(x, stream, ev);
	}
	return x->file.error;
}

static int start(struct exporter *x)
{
	int err = subjects_init(&x->subjects, x->request->source);

	if (err)
		return err;
	x->threads = calloc(x->request->source->trace.nstreams + 1, sizeof(*x->threads));
	x->alive = calloc(x->subjects.nprocesses + 1, sizeof(*x->alive));
	x->gaps = calloc(x->subjects.nlooms + 1, sizeof(*x->gaps));
	if (!x->threads || !x->alive || !x->gaps)
		return log_no_memory("for %zu threads", x->request->source->trace.nstreams);
	for (size_t i = 0; i < x->subjects.nprocesses; i++)
		x->alive[i] = x->subjects.processes[i].threads;
	err = thread_times_init(&x->times, x->request->source, INT64_MIN, INT64_MAX);
	if (err)
		return err;
	err = stack_table_load(&x->stacks, x->request->source->trace.fd, x->request->path);
	if (err == -ENOMEM)
		return err;
	x->request->lacks = err != 0; /* the rest of the file is still of use */
	if (err)
		stack_table_free(&x->stacks);
	x->times.stay = take_stay;
	x->times.arg = x;
	x->times.unsummed = true;
	x->tasks.subjects = &x->subjects;
	err = perfetto_sched_init(&x->sched, &x->subjects, &x->file);
	return err ? err : perfetto_slices_init(&x->slices, &x->subjects, &x->file);
}

static void report(const struct exporter *x)
{
	const char *output = x->request->output;

	if (!x->request->quiet)
		log_info("%s: %" PRIu64 " %s, %" PRIu64 " %s, %" PRIu64 " %s, %.1f MB", output,
			 x->sched.switches, plural(x->sched.switches, "switch", "switches"),
			 x->sched.wakings, plural(x->sched.wakings, "wake-up", "wake-ups"),
			 x->slices.slices, plural(x->slices.slices, "slice", "slices"),
			 (double)x->bytes / 1e6);
	if (x->sched.overlaps)
		log_warn("%s: %" PRIu64 " %s by another thread on the same CPU: Perfetto shows one "
			 "thread at a time",
			 output, x->sched.overlaps,
			 plural(x->sched.overlaps, "run is cut short", "runs are cut short"));
	if (x->part == 1 && x->bytes > LARGE)
		log_warn("%s: %.0f MB are much for a browser: choose a part with --from, --to or "
			 "--comm, or use --split",
			 output, (double)x->bytes / 1e6);
	report_older_parts(x);
}

int export_perfetto(struct export_request *request)
{
	static const struct interval_listener listener = {.event = take_event, .span = take_span};
	struct exporter x = {
		.request = request, .first = request->filter->first, .last = request->filter->last};
	struct intervals intervals = {0};
	int err = start(&x);

	if (err)
		goto out;
	err = intervals_walk(&intervals, request->source, &listener, &x);
	if (err == -ECANCELED && x.done)
		err = 0;
	if (err && x.open && !x.file.error && err != -ENOMEM && err != -ERANGE) {
		request->damaged = true; /* the part before the damage */
		err = 0;
	}
	if (err)
		goto out;
	err = finish(&x, &intervals);
	if (err)
		goto out;
	report(&x);
out:
	intervals_fini(&intervals);
	thread_times_fini(&x.times);
	stack_table_free(&x.stacks);
	task_bodies_fini(&x.tasks);
	perfetto_slices_fini(&x.slices);
	perfetto_sched_fini(&x.sched);
	perfetto_file_abandon(&x.file);
	while (x.nended > 0) /* the first one, which has the directory, last */
		new_file_abandon(&x.ended[--x.nended]);
	free(x.ended);
	free(x.threads);
	free(x.alive);
	free(x.gaps);
	subjects_fini(&x.subjects);
	return err;
}
