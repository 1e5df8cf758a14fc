/* SPDX-License-Identifier: MIT */
/*
 * timeline_kit: a recorder without a kernel and without a disk, for the tests of user/.
 *
 * In: synthetic records; out: their streams as text, kept in memory by a writer whose files are the
 * functions below, and the verdict of a checker that shares nothing with the code under test: it
 * has its own table of states and its own rules for a valid trace (emulator.md 6 and 9, models.md 1
 * and 2).
 */
#ifndef TESTS_UNIT_TIMELINE_KIT_H
#define TESTS_UNIT_TIMELINE_KIT_H

/* Not every test uses all of it. */
#pragma GCC diagnostic ignored "-Wunused-function"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/ovni/event.h"
#include "trace/base/json.h"
#include "trace/ovni/stream.h"
#include "user/config/session_info.h"
#include "user/timeline/threads.h"
#include "user/timeline/timeline.h"
#include "user/host/topology.h"
#include "user/writer/writer.h"

/* ---- files in memory ---- */

struct kit_stream {
	char *path;
	uint8_t *events; /* without a header */
	size_t size;
	char *meta;	    /* text of the last stream.json */
	unsigned described; /* how often it was written */
};

static struct {
	struct kit_stream *all;
	size_t n, room;
	bool drop_events; /* count, but do not keep (long sessions) */
	unsigned broken;  /* events after the stream was said to be finished */
	unsigned long calls;
	unsigned long fail_at; /* this call fails, 0: none */
	int fail_with;
} kit_disk;

static int kit_disk_fails(void)
{
	return ++kit_disk.calls == kit_disk.fail_at ? kit_disk.fail_with : 0;
}

/* The newest are looked for first: most calls are about them. */
static struct kit_stream *kit_find(const char *path)
{
	for (size_t i = kit_disk.n; i-- > 0;)
		if (!strcmp(kit_disk.all[i].path, path))
			return &kit_disk.all[i];
	return NULL;
}

static int kit_put_meta(struct kit_stream *s, const struct json *meta)
{
	free(s->meta);
	s->meta = json_text(meta);
	s->described++;
	return s->meta ? 0 : -ENOMEM;
}

static int kit_put_events(struct kit_stream *s, const void *events, size_t size)
{
	if (!kit_disk.drop_events && size) {
		s->events = realloc(s->events, s->size + size);
		memcpy(s->events + s->size, events, size);
	}
	s->size += size;
	return 0;
}

static int kit_store(int fd, const char *path, const struct json *meta, const void *events,
		     size_t size)
{
	struct kit_stream *s;
	int err = kit_disk_fails();

	(void)fd;
	if (err)
		return err;
	if (kit_disk.n == kit_disk.room) {
		kit_disk.room = kit_disk.room ? kit_disk.room * 2 : 64;
		kit_disk.all = realloc(kit_disk.all, kit_disk.room * sizeof(*kit_disk.all));
	}
	s = &kit_disk.all[kit_disk.n++];
	memset(s, 0, sizeof(*s));
	s->path = strdup(path);
	kit_put_events(s, events, size);
	return kit_put_meta(s, meta);
}

static int kit_create(int fd, const char *path, const struct json *meta)
{
	return kit_store(fd, path, meta, NULL, 0);
}

static int kit_append(int fd, const char *path, const void *events, size_t size)
{
	struct kit_stream *s = kit_find(path);
	int err = kit_disk_fails();

	(void)fd;
	if (err || !s)
		return err ? err : -ENOENT;
	/* Events appended to a finished stream must leave it finished. */
	if (strstr(s->meta, "finished") &&
	    memcmp((const char *)events + size - EVENT_HEADER_SIZE, "\0OHe", 4) &&
	    memcmp((const char *)events + size - EVENT_HEADER_SIZE - 8, "\7OHe", 4))
		kit_disk.broken++;
	return kit_put_events(s, events, size);
}

static int kit_describe(int fd, const char *path, const struct json *meta)
{
	struct kit_stream *s = kit_find(path);
	int err = kit_disk_fails();

	(void)fd;
	if (err || !s)
		return err ? err : -ENOENT;
	return kit_put_meta(s, meta);
}

static char kit_lines[8192]; /* of the only file of text */

static int kit_append_text(int fd, const char *name, const void *lines, size_t size)
{
	size_t have = strlen(kit_lines);

	(void)fd;
	(void)name;
	if (have + size >= sizeof(kit_lines))
		return -ENOSPC;
	memcpy(kit_lines + have, lines, size);
	kit_lines[have + size] = '\0';
	return 0;
}

static const struct writer_files kit_files = {kit_create, kit_append, kit_describe, kit_store,
					      kit_append_text};

static void kit_forget(void)
{
	for (size_t i = 0; i < kit_disk.n; i++) {
		free(kit_disk.all[i].path);
		free(kit_disk.all[i].events);
		free(kit_disk.all[i].meta);
	}
	free(kit_disk.all);
	kit_lines[0] = '\0';
	memset(&kit_disk, 0, sizeof(kit_disk));
}

/* Writes the kept streams as a trace into the empty directory `fd`. */
static void kit_save(int fd)
{
	for (size_t i = 0; i < kit_disk.n; i++) {
		const struct kit_stream *s = &kit_disk.all[i];
		struct json *meta = json_parse(s->meta, strlen(s->meta), s->path);

		assert_non_null(meta);
		assert_int_equal(stream_store(fd, s->path, meta, s->events, s->size), 0);
		json_free(meta);
	}
}

/* ---- a recorder ---- */

struct kit {
	struct session_info info;
	struct topology topology;
	struct writer *writer;
	struct threads *threads;
	struct timeline *timeline;
	struct timeline_counts counts; /* after kit_close() */
	struct timeline_cpu cpus[16];
	size_t ncpus;
	unsigned indices; /* of the loom, with the CPUs that appeared */
	int err;	  /* of timeline_close(), then of the writer */
};

static uint64_t kit_stack_ns; /* of the next kit: stacks are recorded */

static void kit_open(struct kit *kit, const char *cpus, struct timeline_options options)
{
	struct writer_options writer_options = {.trace_fd = -1, .files = &kit_files};

	kit_forget(); /* left by a failed test */
	memset(kit, 0, sizeof(*kit));
	kit->info = (struct session_info){.loom = "node",
					  .machine = "x86_64",
					  .mode = "full",
					  .stack_ns = kit_stack_ns,
					  .command_status = -1,
					  .lost = SESSION_UNKNOWN};
	assert_int_equal(topology_parse(&kit->topology, cpus), 0);
	kit->writer = writer_start(&writer_options);
	assert_non_null(kit->writer);
	kit->threads = threads_new(kit->writer, &kit->info, &kit->topology);
	assert_non_null(kit->threads);
	kit->timeline = timeline_new(&options, kit->threads, &kit->topology);
	assert_non_null(kit->timeline);
}

static void kit_close(struct kit *kit, uint64_t t1)
{
	int err;

	timeline_stop(kit->timeline, t1);
	kit->err = timeline_close(kit->timeline);
	kit->counts = *timeline_counts(kit->timeline);
	for (size_t i = 0; i < 16 && i < kit->threads->session.ncpus; i++)
		kit->cpus[kit->ncpus++] = kit->threads->session.cpus[i];
	writer_sync(kit->writer); /* descriptions look at the timeline until here */
	timeline_free(kit->timeline);
	err = writer_finish(kit->writer);
	if (!kit->err)
		kit->err = err;
	threads_free(kit->threads);
	kit->indices = kit->topology.ncpus;
	topology_free(&kit->topology);
}

/* ---- records ---- */

struct who {
	uint32_t id, tid, pid;
};

static const struct who idle = {0, 0, 0};

static int kit_give(struct kit *kit, unsigned cpu, const void *record)
{
	return timeline_record(kit->timeline, cpu, record);
}

/* `why` 0 for idle and those that are not wanted. */
static struct record_switch rec_switch(uint64_t clock, struct who prev, unsigned why,
				       struct who next)
{
	return (struct record_switch){
		.head = {.clock = clock, .kind = RECORD_SWITCH, .why = (__u16)why, .id = prev.id},
		.prev_tid = prev.tid,
		.prev_pid = prev.pid,
		.next_id = next.id,
		.next_tid = next.tid,
		.next_pid = next.pid,
	};
}

static struct record_task rec_task(uint64_t clock, enum task_cause cause, uint32_t context,
				   struct who who, const char *comm)
{
	struct record_task r = {
		.head = {.clock = clock, .kind = RECORD_TASK, .flags = (__u8)cause, .id = context},
		.id = who.id,
		.tid = who.tid,
		.pid = who.pid,
		.old_tid = who.tid,
		.creator_tid = -1,
		.flags = who.id ? TASK_FLAG_TRACED : 0,
	};

	snprintf(r.comm, sizeof(r.comm), "%s", comm);
	return r;
}

static struct record_task rec_birth(uint64_t clock, struct who creator, struct who child)
{
	struct record_task r = rec_task(clock, TASK_BORN, creator.id, child, "born");

	r.creator_tid = (int32_t)creator.tid;
	r.parent_pid = child.pid == child.tid ? creator.pid : 0;
	return r;
}

static struct record_exit rec_exit(uint64_t clock, struct who who, uint32_t code)
{
	return (struct record_exit){
		.head = {.clock = clock, .kind = RECORD_EXIT, .id = who.id},
		.tid = who.tid,
		.pid = who.pid,
		.exit_code = code,
		.id = who.id,
	};
}

static struct record_snapshot rec_snapshot(uint64_t clock, enum snapshot_phase phase,
					   struct who who)
{
	return (struct record_snapshot){
		.head = {.clock = clock,
			 .kind = RECORD_SNAPSHOT,
			 .flags = (__u8)phase,
			 .id = who.id},
		.tid = who.tid,
		.pid = who.pid,
	};
}

static struct record_lost rec_lost(uint64_t clock, uint64_t first, uint64_t count)
{
	return (struct record_lost){
		.head = {.clock = clock, .kind = RECORD_LOST},
		.kinds[EVENT_SWITCH] = count,
		.first_clock = first,
		.count = count,
	};
}

/* ---- streams as text ---- */

static struct kit_stream *kit_stream(uint32_t pid, uint32_t tid)
{
	char path[128];

	snprintf(path, sizeof(path), "loom.node/proc.%u/thread.%u", pid, tid);
	return kit_find(path);
}

/* One event a line: "1000 OHx 0 -1 0". For the caller to free. */
static char *kit_text(const struct kit_stream *s)
{
	const uint8_t *at = s->events, *end = at + s->size;
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	struct event ev;
	ssize_t n;

	for (; (n = event_decode(&ev, at, end)) > 0; at += n) {
		const uint8_t *p = ev.payload;

		fprintf(f, "%" PRId64 " %c%c%c", ev.clock, ev.model, ev.category, ev.value);
		switch (event_mcv(&ev)) {
		case MCV('O', 'H', 'x'):
			fprintf(f, " %d %d %" PRIu64, get_i32(p), get_i32(p + 4), get_u64(p + 8));
			break;
		case MCV('O', 'H', 'p'):
		case MCV('K', 'C', 'O'):
			fprintf(f, " %u %d", get_u16(p), get_i32(p + 2));
			break;
		case MCV('O', 'H', 'w'):
		case MCV('O', 'A', 's'):
		case MCV('K', 'C', 'I'):
			fprintf(f, " %d", get_i32(p));
			break;
		case MCV('O', 'H', 'C'):
			fprintf(f, " %d %" PRIu64, get_i32(p), get_u64(p + 4));
			break;
		case MCV('O', 'M', '['):
		case MCV('O', 'M', ']'):
		case MCV('O', 'M', '='):
			fprintf(f, " %" PRId64 " %d", get_i64(p), get_i32(p + 8));
			break;
		}
		fputc('\n', f);
	}
	fclose(f);
	assert_int_equal(n, 0);
	return text;
}

static void assert_stream(uint32_t pid, uint32_t tid, const char *want)
{
	struct kit_stream *s = kit_stream(pid, tid);
	char *got;

	if (!s)
		fail_msg("no stream of thread %u of process %u", tid, pid);
	got = kit_text(s);
	assert_string_equal(got, want);
	free(got);
}

/* ---- the checker ---- */

struct kit_interval {
	int32_t cpu;
	int64_t from, to;
	size_t stream;
};

struct kit_check {
	struct kit_interval *running; /* on physical CPUs */
	size_t n, room;
	uint64_t events;
	int64_t lost; /* of the marks */
};

enum { NONE = '-', RUN = 'R', PAUSE = 'P', DEAD = 'D', WARM = 'W' };

#define KIT_FAIL(s, ...)                                                                           \
	do {                                                                                       \
		print_error("%s: ", (s)->path);                                                    \
		print_error(__VA_ARGS__);                                                          \
		print_error("\n%s%s\n", kit_text(s), (s)->meta);                                   \
		fail();                                                                            \
	} while (0)

static void kit_ran(struct kit_check *c, int32_t cpu, int64_t from, int64_t to, size_t stream)
{
	if (cpu < 0)
		return;
	if (c->n == c->room) {
		c->room = c->room ? c->room * 2 : 1024;
		c->running = realloc(c->running, c->room * sizeof(*c->running));
	}
	c->running[c->n++] = (struct kit_interval){cpu, from, to, stream};
}

static struct {
	int64_t value[512];
	int depth;
} kit_stacks[94];

/* A mark must be declared, of this kind, and a stack's value have a label. */
static void kit_declared(struct kit_stream *s, const struct json *marks, const struct event *ev,
			 const char *kind)
{
	char type[16], value[32];
	const struct json *mark;

	if (ev->payload_size != 12 || !get_i64(ev->payload))
		KIT_FAIL(s, "bad mark at %" PRId64, ev->clock);
	snprintf(type, sizeof(type), "%d", get_i32(ev->payload + 8));
	snprintf(value, sizeof(value), "%" PRId64, get_i64(ev->payload));
	mark = json_key(marks, type);
	if (!mark || strcmp(json_string(json_key(mark, "chan_type")), kind) ||
	    (!strcmp(kind, "stack") && !json_key(json_key(mark, "labels"), value)))
		KIT_FAIL(s, "mark %s of type %s is not declared", value, type);
}

static void kit_push(struct kit_stream *s, const struct json *marks, const struct event *ev,
		     bool push)
{
	int64_t value;
	int32_t type;

	kit_declared(s, marks, ev, "stack");
	value = get_i64(ev->payload);
	type = get_i32(ev->payload + 8);
	if (type < 0 || type > 91)
		KIT_FAIL(s, "mark of type %d", type);
	if (push && kit_stacks[type].depth < 512)
		kit_stacks[type].value[kit_stacks[type].depth++] = value;
	else if (push || !kit_stacks[type].depth ||
		 kit_stacks[type].value[--kit_stacks[type].depth] != value)
		KIT_FAIL(s, "marks %d are unbalanced at %" PRId64, type, ev->clock);
}

/* A state of mpi (92) or openmp (93): entered by [ or a small letter, left by ] or the capital. */
static void kit_state(struct kit_stream *s, const struct json *meta, const struct event *ev,
		      bool running)
{
	bool mpi = ev->model == 'M',
	     push = ev->value == '[' || (ev->value & 0x20 && ev->value != ']');
	int64_t key = ev->category << 8 | (ev->value == ']' ? '[' : ev->value | 0x20);
	int slot = mpi ? 92 : 93, *depth = &kit_stacks[slot].depth;

	if (ev->value == '[')
		key = ev->category << 8 | '[';
	if (!json_get(meta, mpi ? "ovni.require.mpi" : "ovni.require.openmp") || !running)
		KIT_FAIL(s, "%c%c%c at %" PRId64, ev->model, ev->category, ev->value, ev->clock);
	if (push && mpi && *depth && kit_stacks[slot].value[*depth - 1] == key)
		KIT_FAIL(s, "two equal states at %" PRId64, ev->clock);
	if (push && *depth < 512)
		kit_stacks[slot].value[(*depth)++] = key;
	else if (push || !*depth || kit_stacks[slot].value[--*depth] != key)
		KIT_FAIL(s, "states are unbalanced at %" PRId64, ev->clock);
}

static void kit_check_stream(struct kit_check *c, size_t i, int ncpus)
{
	struct kit_stream *s = &kit_disk.all[i];
	const uint8_t *at = s->events, *end = at + s->size;
	struct json *meta = json_parse(s->meta, strlen(s->meta), s->path);
	bool is_kernel = json_get(meta, "ovni.require.kernel");
	bool has_marks = json_get(meta, "ovni.mark.92");
	const struct json *marks = json_get(meta, "ovni.mark");
	bool out_of_cpu = false;
	int64_t stack[8], last = 0, since = 0;
	uint64_t told = 0;
	int depth = 0, state = NONE;
	int32_t cpu = -2, other;
	struct event ev;
	ssize_t n;

	if (json_int(json_get(meta, "ovni.finished")) != 1)
		KIT_FAIL(s, "not finished");
	if (!json_string(json_get(meta, "ovni.require.ovni")) ||
	    json_int(json_get(meta, "version")) != 3)
		KIT_FAIL(s, "no requirement or version");
	if (!json_u64(json_get(meta, "bpf.events"), &told))
		KIT_FAIL(s, "no count of events");
	memset(kit_stacks, 0, sizeof(kit_stacks));
	for (; (n = event_decode(&ev, at, end)) > 0; at += n) {
		uint32_t mcv = event_mcv(&ev);

		c->events++;
		told--;
		if (ev.clock < last)
			KIT_FAIL(s, "clock falls to %" PRId64, ev.clock);
		last = ev.clock;
		if (ev.model == 'K' ? !is_kernel : out_of_cpu)
			KIT_FAIL(s, "%c%c%c at %" PRId64 " while out of the CPU", ev.model,
				 ev.category, ev.value, ev.clock);
		switch (mcv) {
		case MCV('O', 'H', 'x'):
			other = get_i32(ev.payload);
			if ((state != NONE && state != DEAD) || other < -1 || other >= ncpus)
				KIT_FAIL(s, "OHx at %" PRId64 " in %c", ev.clock, state);
			state = RUN;
			cpu = other;
			since = ev.clock;
			break;
		case MCV('O', 'H', 'e'):
		case MCV('O', 'H', 'p'):
			if (state != RUN)
				KIT_FAIL(s, "leaves at %" PRId64 " in %c", ev.clock, state);
			kit_ran(c, cpu, since, ev.clock, i);
			state = ev.value == 'e' ? DEAD : PAUSE;
			break;
		case MCV('O', 'H', 'w'):
			if (state != PAUSE)
				KIT_FAIL(s, "OHw at %" PRId64 " in %c", ev.clock, state);
			state = WARM;
			break;
		case MCV('O', 'H', 'r'):
			if (state != PAUSE && state != WARM)
				KIT_FAIL(s, "OHr at %" PRId64 " in %c", ev.clock, state);
			state = RUN;
			since = ev.clock;
			break;
		case MCV('O', 'A', 's'):
			other = get_i32(ev.payload);
			if (state != WARM || ev.payload_size != 4 || other < -1 || other >= ncpus)
				KIT_FAIL(s, "OAs at %" PRId64 " in %c", ev.clock, state);
			cpu = other;
			break;
		case MCV('O', 'H', 'C'):
			if (state != RUN)
				KIT_FAIL(s, "OHC at %" PRId64 " in %c", ev.clock, state);
			break;
		case MCV('O', 'B', '.'):
			break;
		case MCV('O', 'M', '['):
			if (get_i32(ev.payload + 8) != 92) {
				kit_push(s, marks, &ev, true);
				break;
			}
			if (!has_marks || ev.payload_size != 12 || get_i64(ev.payload) <= 0 ||
			    get_i32(ev.payload + 8) != 92 || depth == 8)
				KIT_FAIL(s, "bad mark at %" PRId64, ev.clock);
			stack[depth++] = get_i64(ev.payload);
			c->lost += get_i64(ev.payload);
			break;
		case MCV('O', 'M', '='):
			kit_declared(s, marks, &ev, "single");
			break;
		case MCV('O', 'M', ']'):
			if (get_i32(ev.payload + 8) != 92) {
				kit_push(s, marks, &ev, false);
				break;
			}
			if (!depth || stack[--depth] != get_i64(ev.payload))
				KIT_FAIL(s, "unbalanced mark at %" PRId64, ev.clock);
			break;
		case MCV('K', 'C', 'O'):
			if (out_of_cpu)
				KIT_FAIL(s, "KCO twice at %" PRId64, ev.clock);
			out_of_cpu = true;
			break;
		case MCV('K', 'C', 'I'):
			if (!out_of_cpu)
				KIT_FAIL(s, "KCI first at %" PRId64, ev.clock);
			out_of_cpu = false;
			break;
		case MCV('V', 'W', 'C'): /* the reference refuses it elsewhere */
			if (state != RUN)
				KIT_FAIL(s, "VWC not running at %" PRId64, ev.clock);
			break;
		default:
			if (ev.model == 'M' || ev.model == 'P') {
				kit_state(s, meta, &ev, state == RUN);
				break;
			}
			KIT_FAIL(s, "unknown event %c%c%c", ev.model, ev.category, ev.value);
		}
	}
	if (n < 0)
		KIT_FAIL(s, "cut short");
	if (state != DEAD)
		KIT_FAIL(s, "ends in %c", state);
	if (told)
		KIT_FAIL(s, "%" PRId64 " events are told and not there", (int64_t)told);
	if (depth || out_of_cpu)
		KIT_FAIL(s, "unbalanced at its end");
	for (int type = 0; type < 94; type++)
		if (kit_stacks[type].depth)
			KIT_FAIL(s, "marks %d are unbalanced at its end", type);
	json_free(meta);
}

static int kit_by_cpu(const void *a, const void *b)
{
	const struct kit_interval *x = a, *y = b;

	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->to > y->to) - (x->to < y->to);
}

/* First clocks within an hour of each other (the gate), for any first stream. */
static void kit_check_gate(void)
{
	int64_t low = INT64_MAX, high = INT64_MIN;

	for (size_t i = 0; i < kit_disk.n; i++) {
		struct kit_stream *s = &kit_disk.all[i];
		struct event ev = {0};

		if (event_decode(&ev, s->events, s->events + s->size) <= 0)
			KIT_FAIL(s, "no events");
		low = ev.clock < low ? ev.clock : low;
		high = ev.clock > high ? ev.clock : high;
	}
	if (kit_disk.n && high - low > 3600ll * 1000000000)
		fail_msg("clock gate: first events %" PRId64 " ns apart", high - low);
}

/*
 * All that makes the trace acceptable. Ties of clocks between streams leave in an order that
 * depends on a heap, so two threads of one CPU must not even touch: one enters after, never
 * at, the clock at which another one leaves.
 */
static struct kit_check kit_check(int ncpus)
{
	struct kit_check c = {0};

	assert_int_equal(kit_disk.broken, 0);
	kit_check_gate();
	for (size_t i = 0; i < kit_disk.n; i++)
		kit_check_stream(&c, i, ncpus);
	if (c.n)
		qsort(c.running, c.n, sizeof(*c.running), kit_by_cpu);
	for (size_t i = 1; i < c.n; i++) {
		const struct kit_interval *a = &c.running[i - 1], *b = &c.running[i];

		if (a->cpu != b->cpu)
			continue;
		if (a->stream == b->stream ? b->from < a->to : b->from <= a->to)
			KIT_FAIL(&kit_disk.all[b->stream],
				 "two threads run on CPU %d at %" PRId64 ": the other is %s\n%s",
				 a->cpu, b->from, kit_disk.all[a->stream].path,
				 kit_text(&kit_disk.all[a->stream]));
	}
	free(c.running);
	c.running = NULL;
	return c;
}

#endif
