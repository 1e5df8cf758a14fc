/* SPDX-License-Identifier: MIT */
/*
 * ovni-merge: the trace that a program wrote with libovni and its kernel trace, as one trace.
 *
 *   program's trace ──┐
 *                     ├──► one stream per thread: the program's events, KCO and KCI
 *   kernel trace  ──┘    (ovni-bpf --kernel-model)
 *
 * In: two traces of one node; out: the first one with the KCO and KCI of the second. Threads of the
 * kernel trace alone are left out or, on request, make a second loom of the host (with its marks).
 *
 *   program   ── a ─────── b ── c ───────── d ──
 *   kernel    ────── KCO ───────────── KCI ─────
 *
 * While a thread is off the CPU the models ovni and nosv accept no event. Such an event inside the
 * interval moves its boundary by at most the tolerance, since the two clocks are not read at the
 * same moment; further inside, the interval is split: KCI, event, KCO.
 * Invariants: no event of the program is dropped; the output is not finished before its last byte.
 * Specification: event-mapping.md, "Next to libovni".
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/lib/mapped_stream.h"
#include "tools/lib/metadata_subset.h"
#include "tools/lib/replace_file.h"
#include "tools/merge/marks.h"
#include "trace/base/array.h"
#include "trace/base/cli.h"
#include "trace/base/log.h"
#include "trace/base/text.h"
#include "trace/catalog/catalog.h"
#include "trace/ovni/stack_file.h"
#include "trace/ovni/trace.h"
#include "trace/states/sleep_call.h"

#define BUFFER_BYTES (256 << 10)

/* One machine with another name in each trace. */
struct renamed_loom {
	const char *program, *kernel;
	size_t program_size; /* of the first name, which "=" ends */
};

struct renamed_looms { /* --loom */
	struct renamed_loom *list;
	size_t n;
};

struct options {
	const char *program, *kernel, *out;
	uint64_t tolerance; /* ns */
	bool others;
	struct renamed_looms looms;
};

struct merge {
	const struct options *options;
	struct source program, kernel;
	int out_fd;
	const char *path; /* of the stream that is written */
	uint8_t *buffer;
	size_t size;
	bool *used;		   /* merged streams of the kernel trace */
	struct merge_marks *marks; /* of both traces */
	struct json *first;	   /* metadata of the first stream, written at the end */
	struct stack_table stacks; /* of the kernel trace */
	uint32_t stacks_before;	   /* the last number of a stack of the program */
	bool named;		   /* the output has the names of the kernel trace */
	int64_t recorder_ns;	   /* offset of the recorder's time namespace */
	uint64_t merged, alone, events, moved, split, others;
	int64_t most_moved;
};

/* ---- options ---- */

/* --loom A=B */
static int take_loom(const struct cli_option *option, const char *text, void *to)
{
	struct renamed_looms *looms = to;
	const char *equals = strchr(text, '=');
	struct renamed_loom *added;

	if (!equals || equals == text || !equals[1])
		return cli_refuse(option, text,
				  "this must be the name in PROGRAM, \"=\", the name "
				  "in KERNEL");
	added = ARRAY_ADD(looms->list, looms->n);
	if (!added)
		return log_no_memory("for the names of looms");
	*added = (struct renamed_loom){text, equals + 1, (size_t)(equals - text)};
	return 0;
}

#define TO(member) offsetof(struct options, member)

static const struct cli_option cli_options[] = {
	{"output", 'o', "DIR", cli_text, TO(out), "new directory of the trace (PROGRAM.merged)"},
	{"tolerance", 't', "NS", cli_number, TO(tolerance),
	 "largest difference between the clocks of the two (1000)", .max = INT64_MAX / 4},
	{"others", 'a', NULL, cli_flag, TO(others),
	 "put threads that only the kernel saw into a second loom, HOST.bpf"},
	{"loom", 0, "A=B", take_loom, TO(looms),
	 "the loom or host A of PROGRAM is B in KERNEL; may be repeated"},
	{0},
};

static const struct cli cli = {
	.name = "ovni-merge",
	.operands = "PROGRAM KERNEL",
	.about = "Add the scheduling of a program's threads, recorded in the kernel, to the trace "
		 "that the program wrote.",
	.options = cli_options,
	.notes = "Examples:\n"
		 "  # record a program that writes ./ovni itself\n"
		 "  ovni-bpf --kernel-model -o kernel -- ./program\n\n"
		 "  # both in one trace, and its Paraver files\n"
		 "  ovni-merge -o both ovni kernel && ovni-emu both",
};

/* ---- the same thread in both traces ---- */

/* Is `name`, of `size` bytes, the name of the loom, or of its host: the part before the first dot?
 */
static bool is_named(const char *loom, const char *name, size_t size)
{
	return !strncmp(loom, name, size) && (!loom[size] || loom[size] == '.');
}

/* Are these looms of one host: by the parts before the first dot, or by --loom? */
static bool same_host(const struct merge *m, const char *program, const char *kernel)
{
	const struct renamed_looms *looms = &m->options->looms;

	for (size_t i = 0; i < looms->n; i++) {
		const struct renamed_loom *l = &looms->list[i];

		if (is_named(program, l->program, l->program_size))
			return is_named(kernel, l->kernel, strlen(l->kernel));
	}
	return *program && is_named(kernel, program, strcspn(program, "."));
}

static int64_t counterpart(const struct merge *m, const struct owner *owner)
{
	for (size_t i = 0; i < m->kernel.trace.nstreams; i++) {
		const struct owner *other = &m->kernel.owners[i];

		if (other->tid == owner->tid && other->pid == owner->pid &&
		    same_host(m, owner->loom, other->loom))
			return (int64_t)i;
	}
	return -1;
}

/* Is a thread in both traces? Else says why not. */
static bool have_common(const struct merge *m)
{
	const struct source *program = &m->program, *kernel = &m->kernel;
	bool host = false;

	for (size_t i = 0; i < program->trace.nstreams; i++) {
		if (counterpart(m, &program->owners[i]) >= 0)
			return true;
		for (size_t k = 0; k < kernel->trace.nstreams && !host; k++)
			host = same_host(m, program->owners[i].loom, kernel->owners[k].loom);
	}
	if (host || !program->trace.nstreams || !kernel->trace.nstreams)
		log_error("no thread is in both traces: are %s and %s of the same run?",
			  m->options->program, m->options->kernel);
	else
		log_error("no thread is in both traces: %s is of the loom %s, %s of %s; if that is "
			  "one machine, add --loom %s=%s",
			  m->options->program, program->owners[0].loom, m->options->kernel,
			  kernel->owners[0].loom, program->owners[0].loom, kernel->owners[0].loom);
	return false;
}

/* The number in the text with this key, or 0. */
static int64_t offset_in(struct json *meta, const char *key)
{
	const char *text = json_string(json_get(meta, key));

	return text ? strtoll(text, NULL, 10) : 0;
}

/* Finds the offset of the recorder's time namespace, in the stream of the session. */
static int find_recorder_offset(struct merge *m)
{
	for (size_t i = 0; i < m->kernel.trace.nstreams && !m->recorder_ns; i++) {
		struct json *meta = trace_metadata(&m->kernel.trace, i);

		if (!meta)
			return -EINVAL;
		m->recorder_ns = offset_in(meta, "bpf.session.monotonic_offset");
		json_free(meta);
	}
	return 0;
}

/* The clock of a process in a time namespace is that of the kernel plus an offset, which is in the
 * first stream of the process. That of the recorder has an offset, too. */
static int clock_offset(const struct merge *m, size_t i, int64_t *offset)
{
	int64_t process = 0;

	for (size_t k = 0; k < m->kernel.trace.nstreams && !process; k++) {
		struct json *meta;

		if (m->kernel.owners[k].pid != m->kernel.owners[i].pid)
			continue;
		meta = trace_metadata(&m->kernel.trace, k);
		if (!meta)
			return -EINVAL;
		process = offset_in(meta, "bpf.monotonic_offset");
		json_free(meta);
	}
	return __builtin_sub_overflow(process, m->recorder_ns, offset) ? -ERANGE : 0;
}

/* ---- writing ---- */

static int flush(struct merge *m)
{
	int err = m->size ? stream_append(m->out_fd, m->path, m->buffer, m->size) : 0;

	m->size = 0;
	return err;
}

static int put(struct merge *m, const void *bytes, size_t size)
{
	int err = 0;

	if (m->size + size > BUFFER_BYTES)
		err = flush(m);
	if (err || size > BUFFER_BYTES)
		return err ? err : stream_append(m->out_fd, m->path, bytes, size);
	memcpy(m->buffer + m->size, bytes, size);
	m->size += size;
	return 0;
}

static int begin(struct merge *m, const char *path)
{
	struct json *meta = json_new_object();
	int err;

	m->path = path;
	json_put_int(meta, "version", 3);
	err = stream_create(m->out_fd, path, meta);
	json_free(meta);
	return err;
}

static const char *reason(int err)
{
	switch (err) {
	case -ERANGE:
		return "its clocks are not in order; run ovni-sort first";
	case -EBADMSG:
		return "not every event is whole; ovni-check --repair can repair it";
	case -EEXIST:
		return "it has kernel events already";
	default:
		return strerror(-err);
	}
}

/* ---- the events of one thread ---- */

/* The streams of one thread in both traces. */
struct pair {
	struct merge *merge;
	struct mapped_stream program, kernel; /* other kernel events are skipped */
	int64_t offset;	   /* ns, added to the kernel's clocks (time namespace of the process) */
	int64_t tolerance; /* ns */

	uint64_t kernel_events, moved, split;
	int64_t most_moved; /* ns */
};

#define OUT MCV('K', 'C', 'O')
#define IN  MCV('K', 'C', 'I')

/* The next event of one input. */
struct side {
	struct mapped_stream *stream;
	bool has;
	int64_t clock;
	const uint8_t *bytes;
};

struct interval { /* off the CPU */
	bool open;
	uint8_t out[EVENT_SIZE_MAX], in[EVENT_SIZE_MAX]; /* the K events that bound it */
	size_t out_size, in_size;
	int64_t seen;	  /* clock of the KCO */
	int64_t from, to; /* present begin; end, INT64_MAX without a KCI */
	bool written;	  /* its KCO is in the output */
};

static int step(struct side *side, int64_t offset)
{
	int64_t last = side->clock;
	bool had = side->has;
	int err = mapped_stream_step(side->stream);

	side->has = err > 0;
	if (err <= 0)
		return err;
	if (__builtin_add_overflow(side->stream->ev.clock, offset, &side->clock))
		return -ERANGE;
	side->bytes = side->stream->at - side->stream->ev.size;
	return had && side->clock < last ? -ERANGE : 0;
}

static int next_program(struct side *side)
{
	int err = step(side, 0);

	if (err || !side->has)
		return err;
	return side->stream->ev.model == 'K' ? -EEXIST : 0;
}

/* Steps to the next KCO or KCI. */
static int next_kernel(struct pair *w, struct side *side)
{
	int err;

	do {
		err = step(side, w->offset);
		if (err || !side->has)
			return err;
	} while (event_mcv(&side->stream->ev) != OUT && event_mcv(&side->stream->ev) != IN);
	return 0;
}

/* Gives the stack of an event of the kernel trace, `bytes`, its number in the new trace. One that
 * is not known has none there. */
static void renumber_stack(struct merge *m, const struct event *ev, uint8_t *bytes)
{
	uint32_t number = sleep_stack(ev);
	struct stack_line *line = number ? stack_table_find(&m->stacks, number) : NULL;

	if (!number)
		return;
	number = line && number <= UINT32_MAX - m->stacks_before ? number + m->stacks_before : 0;
	if (number)
		line->used = true;
	memcpy(bytes + EVENT_HEADER_SIZE + SLEEP_STACK_AT, &number, sizeof(number));
}

static int put_at(struct pair *w, uint8_t *bytes, size_t size, int64_t clock)
{
	memcpy(bytes + 4, &clock, sizeof(clock));
	w->kernel_events++;
	return put(w->merge, bytes, size);
}

static bool needs_cpu(const struct event *ev)
{
	const struct catalog_model *model = catalog_model((char)ev->model);

	return model && !model->out_of_cpu;
}

/* Reads the interval from the present KCO to its KCI. */
static int take_interval(struct pair *w, struct side *kernel, struct interval *iv)
{
	static const uint8_t bare[EVENT_HEADER_SIZE] = {0, 'K', 'C', 'I'};
	int err;

	if (kernel->stream->ev.size > sizeof(iv->out))
		return -EBADMSG;
	iv->open = true;
	iv->written = false;
	iv->from = iv->seen = kernel->clock;
	iv->to = INT64_MAX;
	iv->out_size = kernel->stream->ev.size;
	memcpy(iv->out, kernel->bytes, iv->out_size);
	iv->in_size = sizeof(bare);
	memcpy(iv->in, bare, sizeof(bare));
	do {
		err = next_kernel(w, kernel); /* a repeated KCO has no effect */
		if (err || !kernel->has)
			return err;
	} while (event_mcv(&kernel->stream->ev) == OUT);
	if (kernel->stream->ev.size > sizeof(iv->in))
		return -EBADMSG;
	iv->to = kernel->clock;
	iv->in_size = kernel->stream->ev.size;
	memcpy(iv->in, kernel->bytes, iv->in_size);
	renumber_stack(w->merge, &kernel->stream->ev, iv->in);
	return next_kernel(w, kernel);
}

static void count_moved(struct pair *w, int64_t by)
{
	w->moved++;
	if (by > w->most_moved)
		w->most_moved = by;
}

/* Writes the KCO of the interval, once. */
static int write_out(struct pair *w, struct interval *iv)
{
	if (iv->written)
		return 0;
	iv->written = true;
	return put_at(w, iv->out, iv->out_size, iv->from);
}

/* Writes an event that needs the CPU in the middle of the interval: KCI, event, KCO. */
static int split_interval(struct pair *w, struct side *program, struct interval *iv)
{
	int64_t clock = program->clock;
	int err = put_at(w, iv->in, iv->in_size, clock);

	if (err)
		return err;
	err = put(w->merge, program->bytes, program->stream->ev.size);
	if (err)
		return err;
	if (iv->to != INT64_MAX && clock_distance(clock, iv->to) <= w->tolerance) {
		count_moved(w, clock_distance(clock, iv->to)); /* it came back at this event */
		iv->open = false;
		return 0;
	}
	w->split++;
	iv->from = clock;
	return put_at(w, iv->out, iv->out_size, clock);
}

/* Writes one event of the program that is strictly inside the interval. */
static int put_inside(struct pair *w, struct side *program, struct interval *iv)
{
	const struct event *ev = &program->stream->ev;
	int64_t clock = program->clock;
	int err;

	if (needs_cpu(ev) && !iv->written && clock_distance(iv->seen, clock) <= w->tolerance) {
		count_moved(w, clock_distance(iv->seen, clock)); /* the KCO comes after the event */
		iv->from = clock;
		return put(w->merge, program->bytes, ev->size);
	}
	err = write_out(w, iv);
	if (err)
		return err;
	if (needs_cpu(ev))
		return split_interval(w, program, iv);
	return put(w->merge, program->bytes, ev->size);
}

static int close_interval(struct pair *w, struct interval *iv, int64_t last)
{
	int64_t to = iv->to;
	int err = write_out(w, iv);

	if (to == INT64_MAX)
		to = last > iv->from ? last : iv->from;
	iv->open = false;
	return err ? err : put_at(w, iv->in, iv->in_size, to);
}

/* Writes the next event of the program, and steps. */
static int put_program(struct pair *w, struct side *program, struct interval *iv)
{
	int err;

	if (iv->open)
		err = put_inside(w, program, iv);
	else
		err = put(w->merge, program->bytes, program->stream->ev.size);
	return err ? err : next_program(program);
}

/* Merges the events of one thread. Returns 0, -ERANGE if a stream is not sorted, -EBADMSG if one is
 * cut, -EEXIST if the program has K events, or the error of put(). No message. */
static int merge_pair(struct pair *w)
{
	struct side program = {.stream = &w->program}, kernel = {.stream = &w->kernel};
	struct interval iv = {.open = false};
	int64_t last = INT64_MIN;
	int err = next_program(&program);

	if (err)
		return err;
	err = next_kernel(w, &kernel);
	if (err)
		return err;
	while (program.has || kernel.has || iv.open) {
		bool first = !kernel.has || program.clock <= kernel.clock;

		if (iv.open && (!program.has || program.clock >= iv.to)) {
			err = close_interval(w, &iv, last);
		} else if (program.has && (iv.open || first)) {
			last = program.clock;
			err = put_program(w, &program, &iv);
		} else if (event_mcv(&kernel.stream->ev) == IN) {
			err = next_kernel(w, &kernel); /* the thread is on the CPU already */
		} else {
			err = take_interval(w, &kernel, &iv);
		}
		if (err)
			return err;
	}
	return 0;
}

/* ---- one stream ---- */

/* Adds what readers of system calls need of the session, which the trace does not get. */
static void put_machine(const struct merge *m, struct json *meta, size_t with)
{
	const struct owner *owners = m->kernel.owners;

	for (size_t i = 0; i < m->kernel.trace.nstreams; i++) {
		if (!owners[i].machine || strcmp(owners[i].loom, owners[with].loom) != 0)
			continue;
		json_put_string(meta, "bpf.machine", owners[i].machine);
		if (owners[i].locks)
			json_put_bool(meta, "bpf.locks", true);
		return;
	}
}

/* Adds the metadata of the kernel stream. */
static bool add_metadata(const struct merge *m, struct json *meta, size_t with,
			 const struct pair *w)
{
	static const char *const paths[] = {"bpf.name", "bpf.fds", "bpf.fds_more", "bpf.futexes"};
	struct json *kernel = trace_metadata(&m->kernel.trace, with);
	bool ok = kernel;

	for (size_t i = 0; ok && i < sizeof(paths) / sizeof(paths[0]); i++)
		ok = !metadata_add(meta, kernel, paths[i]);
	put_machine(m, meta, with);
	json_put_string(meta, "ovni.require.kernel", catalog_model('K')->version);
	json_put_string(meta, "ovni.require.bpf", "1.0.0");
	json_put_u64(meta, "merge.kernel_events", w->kernel_events);
	json_put_u64(meta, "merge.moved", w->moved);
	json_put_u64(meta, "merge.split", w->split);
	json_put_i64(meta, "merge.tolerance", w->tolerance);
	json_free(kernel);
	return ok;
}

/* Adds the names of all threads of the kernel trace, for payloads with first takers. */
static bool add_names(const struct merge *m, struct json *meta)
{
	for (size_t i = 0; i < m->kernel.trace.nstreams; i++) {
		struct json *kernel = trace_metadata(&m->kernel.trace, i);
		bool ok = kernel && !metadata_add(meta, kernel, "bpf.names");

		json_free(kernel);
		if (!ok)
			return false;
	}
	return true;
}

/* Writes the metadata of stream i, merged with the kernel stream `with`; -1: none. Those of the
 * first stream are kept until the end: a killed ovni-merge leaves no finished trace. */
static int describe(struct merge *m, size_t i, int64_t with, const struct pair *w)
{
	struct json *meta = trace_metadata(&m->program.trace, i);
	int err = -ENOMEM;

	if (!meta)
		goto out;
	if (with >= 0) {
		if (!add_metadata(m, meta, (size_t)with, w))
			goto out;
		if (!m->named && !add_names(m, meta)) /* in one stream */
			goto out;
		m->named = true;
	}
	if (!i) {
		whole_mark(meta, &m->kernel.whole);
		whole_mark(meta, &m->program.whole);
	}
	whole_leave_files(meta);
	err = whole_describe(meta, m->out_fd, m->program.trace.streams[i]);
	if (err)
		goto out;
	if (!i) {
		m->first = meta;
		return 0;
	}
	err = stream_describe(m->out_fd, m->program.trace.streams[i], meta);
out:
	json_free(meta);
	return err;
}

static void count_merged(struct merge *m, size_t i, bool with, const struct pair *w)
{
	if (w->moved || w->split)
		log_info("%s: %llu boundar%s moved (%lld ns at most), %llu interval%s split",
			 m->program.trace.streams[i], (unsigned long long)w->moved,
			 plural(w->moved, "y", "ies"), (long long)w->most_moved,
			 (unsigned long long)w->split, plural(w->split, "", "s"));
	m->merged += with;
	m->alone += !with;
	m->events += w->kernel_events;
	m->moved += w->moved;
	m->split += w->split;
	m->most_moved = w->most_moved > m->most_moved ? w->most_moved : m->most_moved;
}

/* Opens the kernel stream of the same thread. */
static int open_kernel(struct merge *m, size_t with, struct pair *w)
{
	const char *path = m->kernel.trace.streams[with];
	int err = mapped_stream_open(&w->kernel, m->kernel.trace.fd, path);

	m->used[with] = true;
	return err ? err : clock_offset(m, with, &w->offset);
}

static int merge_stream(struct merge *m, size_t i)
{
	const char *path = m->program.trace.streams[i];
	int64_t with = counterpart(m, &m->program.owners[i]);
	struct pair w = {.merge = m, .tolerance = (int64_t)m->options->tolerance};
	int err = mapped_stream_open(&w.program, m->program.trace.fd, path);

	if (err)
		goto out;
	if (with >= 0)
		err = open_kernel(m, (size_t)with, &w);
	if (err)
		goto out;
	err = begin(m, path);
	if (err)
		goto out;
	if (with >= 0)
		err = merge_pair(&w);
	else
		err = put(m, w.program.base + STREAM_HEADER_SIZE,
			  w.program.size - STREAM_HEADER_SIZE);
	if (err)
		goto out;
	err = flush(m);
	if (err)
		goto out;
	if (!mapped_stream_sound(&w.program) || (with >= 0 && !mapped_stream_sound(&w.kernel))) {
		err = -EIO;
		goto out;
	}
	err = describe(m, i, with, &w);
out:
	if (err)
		log_error("%s: cannot merge: %s", path, reason(err));
	count_merged(m, i, with >= 0, &w);
	mapped_stream_close(&w.program);
	mapped_stream_close(&w.kernel);
	return err;
}

/* ---- threads of the kernel trace alone ---- */

/* The session has the numbers of all threads, and the program's streams have some of them now. */
static void correct_session(const struct merge *m, struct json *meta)
{
	uint64_t streams = 0;

	for (size_t i = 0; i < m->kernel.trace.nstreams; i++)
		streams += m->used[i] && m->kernel.owners[i].recorded;
	json_put_u64(meta, "bpf.session.streams", streams);
	whole_leave_files(meta);
}

static int describe_other(struct merge *m, size_t i, const char *loom)
{
	struct json *meta = metadata_subset(&m->kernel, m->used, i);
	int err = -ENOMEM;

	if (!meta || !json_put_string(meta, "ovni.loom", loom))
		goto out;
	if (json_is_object(json_get(meta, "bpf.session")))
		correct_session(m, meta);
	err = merge_marks_declare(m->marks, meta);
	if (err)
		goto out;
	err = stream_describe(m->out_fd, m->path, meta);
out:
	json_free(meta);
	return err;
}

/* Writes the present event, a mark with its new number. */
static int put_other(struct merge *m, const struct mapped_stream *image)
{
	uint8_t bytes[EVENT_SIZE_MAX];
	const struct event *ev = &image->ev;

	if (ev->jumbo)
		return put(m, image->at - ev->size, ev->size);
	memcpy(bytes, image->at - ev->size, ev->size);
	merge_marks_event(m->marks, ev, bytes);
	renumber_stack(m, ev, bytes);
	return put(m, bytes, ev->size);
}

static int copy_events(struct merge *m, size_t i, const char *path, const char *loom)
{
	struct mapped_stream stream = {0};
	int err, step;

	err = mapped_stream_open(&stream, m->kernel.trace.fd, m->kernel.trace.streams[i]);
	if (err)
		return err;
	err = begin(m, path);
	if (err)
		goto out;
	while ((step = mapped_stream_step(&stream)) > 0) {
		err = put_other(m, &stream);
		if (err)
			goto out;
	}
	err = step;
	if (err)
		goto out;
	err = flush(m);
	if (err)
		goto out;
	err = describe_other(m, i, loom);
out:
	mapped_stream_close(&stream);
	return err;
}

static int copy_other(struct merge *m, size_t i)
{
	const struct owner *owner = &m->kernel.owners[i];
	const char *host = owner->loom;
	char *loom = xasprintf("%.*s.bpf", (int)strcspn(host, "."), host), *path = NULL;
	int err = -ENOMEM;

	if (!loom)
		goto out;
	path = xasprintf("loom.%s/proc.%lld/thread.%lld", loom, (long long)owner->pid,
			 (long long)owner->tid);
	if (!path)
		goto out;
	err = copy_events(m, i, path, loom);
out:
	if (err)
		log_error("%s: cannot copy: %s", m->kernel.trace.streams[i], reason(err));
	m->others += !err;
	free(path);
	free(loom);
	return err;
}

/* Adds the declarations of the streams of one trace, of those in `only` or of all. */
static int add_marks(struct merge *m, const struct source *source, enum marks_side side,
		     const bool *only)
{
	for (size_t i = 0; i < source->trace.nstreams; i++) {
		struct json *meta;
		int err;

		if (only && !only[i])
			continue;
		meta = trace_metadata(&source->trace, i);
		err = meta ? merge_marks_take(m->marks, side, meta) : -EINVAL;
		json_free(meta);
		if (err)
			return err;
	}
	return 0;
}

static int settle_marks(struct merge *m)
{
	int err;

	m->marks = merge_marks_new();
	if (!m->marks)
		return -ENOMEM;
	err = add_marks(m, &m->program, MARKS_FIRST, NULL);
	if (err)
		return err;
	err = add_marks(m, &m->kernel, MARKS_SECOND, m->used);
	if (err)
		return err;
	err = merge_marks_settle(m->marks);
	if (err == -ENOSPC)
		log_error("%s: no free number for the marks of the kernel trace: merge without "
			  "--others",
			  m->options->program);
	return err;
}

static int copy_others(struct merge *m)
{
	size_t n = m->kernel.trace.nstreams;
	int err;

	/* from here on `used` are the other streams, for metadata_subset() */
	for (size_t i = 0; i < n; i++)
		m->used[i] = !m->used[i];
	err = settle_marks(m);
	if (err)
		return err;
	for (size_t i = 0; i < n; i++) {
		err = m->used[i] ? copy_other(m, i) : 0;
		if (err)
			return err;
	}
	return 0;
}

/* The stacks of the program come first, with their numbers; only another recorder makes some. */
static int copy_stacks(struct merge *m)
{
	struct stack_table program;
	int err = stack_table_load(&program, m->program.trace.fd, m->options->program);

	for (size_t i = 0; i < program.n; i++)
		program.lines[i].used = true;
	if (!err)
		err = stack_table_write(&program, m->out_fd, 0);
	m->stacks_before = program.n ? program.lines[program.n - 1].number : 0;
	stack_table_free(&program);
	return err ? err : stack_table_load(&m->stacks, m->kernel.trace.fd, m->options->kernel);
}

static int merge_all(struct merge *m)
{
	int err = copy_stacks(m);

	if (err)
		return err;
	for (size_t i = 0; i < m->program.trace.nstreams; i++) {
		err = merge_stream(m, i);
		if (err)
			return err;
	}
	if (!m->events)
		log_warn("%s: no KCO or KCI; was it recorded with --kernel-model?",
			 m->options->kernel);
	err = m->options->others ? copy_others(m) : 0;
	err = err ? err : stack_table_write(&m->stacks, m->out_fd, m->stacks_before);
	if (!err && m->first)
		whole_count_stacks(m->first, m->out_fd);
	return err;
}

static int run(struct merge *m)
{
	int err = source_open(&m->program, m->options->program);

	if (err)
		return err;
	err = source_open(&m->kernel, m->options->kernel);
	if (err)
		return err;
	if (!have_common(m))
		return -ESRCH;
	err = find_recorder_offset(m);
	if (err)
		return err;
	m->used = calloc(m->kernel.trace.nstreams + 1, sizeof(*m->used));
	m->buffer = malloc(BUFFER_BYTES);
	if (!m->used || !m->buffer)
		return -ENOMEM;
	m->out_fd = output_create(m->options->out);
	if (m->out_fd < 0)
		return m->out_fd;
	err = merge_all(m);
	if (err)
		return err;
	err = m->first ? stream_describe(m->out_fd, m->program.trace.streams[0], m->first) : 0;
	if (err) {
		log_error("cannot write the metadata '%s': %s", m->program.trace.streams[0],
			  strerror(-err));
		return err;
	}
	log_info("%s: %llu thread%s merged, %llu only of the program, %llu only of the kernel; "
		 "%llu kernel event%s, %llu boundar%s moved (%lld ns at most), %llu split",
		 m->options->out, (unsigned long long)m->merged, plural(m->merged, "", "s"),
		 (unsigned long long)m->alone, (unsigned long long)m->others,
		 (unsigned long long)m->events, plural(m->events, "", "s"),
		 (unsigned long long)m->moved, plural(m->moved, "y", "ies"),
		 (long long)m->most_moved, (unsigned long long)m->split);
	return 0;
}

int main(int argc, char **argv)
{
	struct options options = {.tolerance = 1000};
	struct merge merge = {
		.options = &options, .out_fd = -1, .program.trace.fd = -1, .kernel.trace.fd = -1};
	char *out, **operands;
	enum status status = STATUS_FAILED, kernel;
	int err;

	operands = cli_parse(&cli, argc, argv, &options);
	options.program = operands[0];
	options.kernel = operands[1];
	options.out = out = output_path(options.out, options.program, ".merged");
	if (!out)
		return STATUS_FAILED;
	err = run(&merge);
	if (err == -ENOMEM)
		log_no_memory("while merging %s", options.program);
	if (!err) {
		status = whole_report(&merge.program.whole, options.program);
		kernel = whole_report(&merge.kernel.whole, options.kernel);
		status = status ? status : kernel;
	}
	source_close(&merge.program);
	source_close(&merge.kernel);
	if (merge.out_fd >= 0)
		close(merge.out_fd);
	json_free(merge.first);
	stack_table_free(&merge.stacks);
	free(merge.used);
	merge_marks_free(merge.marks);
	free(merge.buffer);
	free(options.looms.list);
	free(out);
	return status;
}
