/* SPDX-License-Identifier: MIT */
/*
 * ovni-merge: what a program wrote with libovni, and what the kernel saw of it, in one trace.
 *
 *   program's trace ──┐
 *                     ├──► one stream per thread: the program's events, KCO and KCI
 *   kernel's trace  ──┘    (ovni-bpf --kernel-model)
 *
 * In: two traces of one node; out: the first one with the kernel's events woven in
 * (merge_streams.h). Threads that only the kernel saw are left out or, on request, are a second
 * loom of the host. Specification: event-mapping.md, "Next to libovni".
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/lib/metadata_subset.h"
#include "tools/lib/mapped_stream.h"
#include "tools/merge/merge_marks.h"
#include "trace/ovni/trace_input.h"
#include "tools/lib/usage.h"
#include "tools/merge/merge_streams.h"
#include "trace/catalog/catalog.h"
#include "trace/base/log.h"

#define BUFFER_BYTES (256 << 10)

struct options {
	const char *program, *kernel, *out;
	int64_t tolerance;
	bool others;
};

struct merge {
	const struct options *options;
	struct source program, kernel;
	int out_fd;
	const char *path; /* of the stream that is written */
	uint8_t *buffer;
	size_t size;
	bool *used;		   /* streams of the kernel's trace */
	struct merge_marks *marks; /* of the others, next to those of the program */
	bool named;		   /* some stream has the names of the kernel's trace */
	uint64_t merged, alone, events, moved, split, others;
	int64_t most_moved;
};

static const struct argp_option argp_options[] = {
	{"output", 'o', "DIR", 0, "Where to (PROGRAM.merged); it must not exist", 0},
	{"tolerance", 't', "NS", 0, "How far the clocks of the two may differ (1000)", 0},
	{"others", 'a', NULL, 0, "Threads that only the kernel saw make a second loom, HOST.bpf",
	 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 'o':
		options->out = arg;
		return 0;
	case 't':
		options->tolerance = usage_int(state, "--tolerance", arg, 0, INT64_MAX / 4);
		return 0;
	case 'a':
		options->others = true;
		return 0;
	case ARGP_KEY_ARG:
		if (!options->program)
			options->program = arg;
		else if (!options->kernel)
			options->kernel = arg;
		else
			argp_error(state, "two traces, not three: '%s' is too much", arg);
		return 0;
	case ARGP_KEY_END:
		if (!options->kernel)
			argp_error(state,
				   "which two traces? That of the program, then the kernel's");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- whose is whose ---- */

/* Looms of one host: their names up to the first dot are the same. */
static bool same_host(const char *a, const char *b)
{
	size_t n = a ? strcspn(a, ".") : 0;

	return a && b && n == strcspn(b, ".") && !memcmp(a, b, n);
}

static int64_t counterpart(const struct merge *m, const struct owner *owner)
{
	for (size_t i = 0; i < m->kernel.trace.nstreams; i++) {
		const struct owner *other = &m->kernel.owners[i];

		if (other->tid == owner->tid && other->pid == owner->pid &&
		    same_host(owner->loom, other->loom))
			return (int64_t)i;
	}
	return -1;
}

/* The clock of a process in a time namespace is ours plus an offset, which the first stream of
 * the process tells. */
static int clock_offset(const struct merge *m, size_t i, int64_t *offset)
{
	*offset = 0;
	for (size_t k = 0; k < m->kernel.trace.nstreams; k++) {
		struct json *meta;
		const char *text;

		if (m->kernel.owners[k].pid != m->kernel.owners[i].pid)
			continue;
		meta = trace_metadata(&m->kernel.trace, k);
		if (!meta)
			return -EINVAL;
		text = json_string(json_get(meta, "bpf.monotonic_offset"));
		if (text)
			*offset = strtoll(text, NULL, 10);
		json_free(meta);
		if (*offset)
			break;
	}
	return 0;
}

/* ---- writing ---- */

static int flush(struct merge *m)
{
	int err = m->size ? stream_append(m->out_fd, m->path, m->buffer, m->size) : 0;

	m->size = 0;
	return err;
}

static int put(void *arg, const void *bytes, size_t size)
{
	struct merge *m = arg;
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
	int err = -ENOMEM;

	m->path = path;
	if (meta && json_put_int(meta, "version", 3))
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
		return "it ends inside an event; ovni-check --repair can mend it";
	case -EEXIST:
		return "it has events of the kernel already";
	default:
		return strerror(-err);
	}
}

/* ---- one stream ---- */

static int describe(struct merge *m, size_t i, int64_t with, const struct merge_streams *w)
{
	struct json *meta = trace_metadata(&m->program.trace, i), *kernel = NULL;
	bool ok = meta;
	int err;

	if (ok && with >= 0) {
		const struct catalog_model *model = catalog_model('K');

		kernel = trace_metadata(&m->kernel.trace, (size_t)with);
		ok = kernel && !metadata_add(meta, kernel, "bpf.name") &&
		     json_put_string(meta, "ovni.require.kernel", model->version) &&
		     json_put_string(meta, "ovni.require.bpf", "1.0.0") &&
		     json_put_u64(meta, "merge.kernel_events", w->kernel_events) &&
		     json_put_u64(meta, "merge.moved", w->moved) &&
		     json_put_u64(meta, "merge.split", w->split) &&
		     json_put_i64(meta, "merge.tolerance", w->tolerance);
		json_free(kernel);
	}
	/* once: what the threads are called that took the CPU */
	for (size_t k = 0; ok && with >= 0 && !m->named && k < m->kernel.trace.nstreams; k++) {
		kernel = trace_metadata(&m->kernel.trace, k);
		ok = kernel && !metadata_add(meta, kernel, "bpf.names");
		json_free(kernel);
	}
	m->named |= with >= 0;
	err = ok ? stream_describe(m->out_fd, m->program.trace.streams[i], meta) : -ENOMEM;
	json_free(meta);
	return err;
}

static int merge_stream(struct merge *m, size_t i)
{
	int64_t with = counterpart(m, &m->program.owners[i]);
	struct merge_streams w = {.tolerance = m->options->tolerance, .put = put, .arg = m};
	struct mapped_stream program = {0}, kernel = {0};
	int err = mapped_stream_open(&program, m->program.trace.fd, m->program.trace.streams[i]);

	if (!err && with >= 0) {
		err = mapped_stream_open(&kernel, m->kernel.trace.fd,
					 m->kernel.trace.streams[(size_t)with]);
		m->used[with] = true;
		if (!err)
			err = clock_offset(m, (size_t)with, &w.offset);
	}
	if (!err)
		err = begin(m, m->program.trace.streams[i]);
	w.program = &program;
	w.kernel = &kernel;
	if (!err && with >= 0)
		err = merge_streams(&w);
	else if (!err)
		err = put(m, program.base + STREAM_HEADER_SIZE, program.size - STREAM_HEADER_SIZE);
	if (!err)
		err = flush(m);
	if (!err &&
	    (!mapped_stream_sound(&program) || (with >= 0 && !mapped_stream_sound(&kernel))))
		err = -EIO;
	if (!err)
		err = describe(m, i, with, &w);
	if (err)
		log_error("%s: cannot merge: %s", m->program.trace.streams[i], reason(err));
	if (w.moved || w.split)
		log_info("%s: %llu boundaries moved (%lld ns at most), %llu intervals split",
			 m->program.trace.streams[i], (unsigned long long)w.moved,
			 (long long)w.most_moved, (unsigned long long)w.split);
	m->merged += with >= 0;
	m->alone += with < 0;
	m->events += w.kernel_events;
	m->moved += w.moved;
	m->split += w.split;
	m->most_moved = w.most_moved > m->most_moved ? w.most_moved : m->most_moved;
	mapped_stream_close(&program);
	mapped_stream_close(&kernel);
	return err;
}

/* ---- threads that only the kernel saw ---- */

static int describe_other(struct merge *m, size_t i, const char *loom)
{
	struct json *meta = metadata_subset(&m->kernel, m->used, i);
	int err = meta && json_put_string(meta, "ovni.loom", loom) ? 0 : -ENOMEM;

	if (!err)
		err = merge_marks_declare(m->marks, meta);
	if (!err)
		err = stream_describe(m->out_fd, m->path, meta);
	json_free(meta);
	return err;
}

/* The present event, marks with their new numbers. */
static int put_other(struct merge *m, const struct mapped_stream *image)
{
	uint8_t bytes[EVENT_SIZE_MAX];
	const struct event *ev = &image->ev;

	if (ev->jumbo)
		return put(m, image->at - ev->size, ev->size);
	memcpy(bytes, image->at - ev->size, ev->size);
	merge_marks_event(m->marks, ev, bytes);
	return put(m, bytes, ev->size);
}

static int copy_other(struct merge *m, size_t i)
{
	const struct owner *owner = &m->kernel.owners[i];
	int host = (int)strcspn(owner->loom ?: "", ".");
	struct mapped_stream image = {0};
	char *path = NULL, *loom = NULL;
	int err = -ENOMEM, more;

	if (asprintf(&loom, "%.*s.bpf", host, owner->loom ?: "") < 0)
		loom = NULL;
	if (loom && asprintf(&path, "loom.%s/proc.%lld/thread.%lld", loom, (long long)owner->pid,
			     (long long)owner->tid) < 0)
		path = NULL;
	if (loom && path)
		err = mapped_stream_open(&image, m->kernel.trace.fd, m->kernel.trace.streams[i]);
	if (!err)
		err = begin(m, path);
	while (!err && (more = mapped_stream_step(&image)) != 0)
		err = more < 0 ? more : put_other(m, &image);
	if (!err)
		err = flush(m);
	if (!err)
		err = describe_other(m, i, loom);
	if (err)
		log_error("%s: cannot copy: %s", m->kernel.trace.streams[i], reason(err));
	m->others += !err;
	mapped_stream_close(&image);
	free(path);
	free(loom);
	return err;
}

/* Takes in what the streams of one trace declare, those of `only` or all. */
static int take_marks(struct merge *m, const struct source *source, enum marks_side side,
		      const bool *only)
{
	int err = 0;

	for (size_t i = 0; i < source->trace.nstreams && !err; i++) {
		struct json *meta;

		if (only && !only[i])
			continue;
		meta = trace_metadata(&source->trace, i);
		err = meta ? merge_marks_take(m->marks, side, meta) : -EINVAL;
		json_free(meta);
	}
	return err;
}

static int settle_marks(struct merge *m)
{
	int err = -ENOMEM;

	m->marks = merge_marks_new();
	if (m->marks)
		err = take_marks(m, &m->program, MARKS_FIRST, NULL);
	if (!err)
		err = take_marks(m, &m->kernel, MARKS_SECOND, m->used);
	if (!err)
		err = merge_marks_settle(m->marks);
	if (err == -ENOSPC)
		log_error("%s: no number of a mark is free for those of the kernel's trace: merge "
			  "without --others",
			  m->options->program);
	return err;
}

static int copy_others(struct merge *m)
{
	size_t n = m->kernel.trace.nstreams;
	int err;

	/* from here on `used` is what is kept of the kernel's trace for its metadata */
	for (size_t i = 0; i < n; i++)
		m->used[i] = !m->used[i];
	err = settle_marks(m);
	for (size_t i = 0; i < n && !err; i++)
		if (m->used[i])
			err = copy_other(m, i);
	return err;
}

static int run(struct merge *m)
{
	int err = source_open(&m->program, m->options->program);

	if (!err)
		err = source_open(&m->kernel, m->options->kernel);
	if (err)
		return err;
	m->used = calloc(m->kernel.trace.nstreams + 1, sizeof(*m->used));
	m->buffer = malloc(BUFFER_BYTES);
	if (!m->used || !m->buffer)
		return -ENOMEM;
	if (mkdir(m->options->out, 0777) == 0)
		m->out_fd = open(m->options->out, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (m->out_fd < 0) {
		err = -errno;
		log_error("%s: cannot make it: %s", m->options->out, strerror(-err));
		return err;
	}
	for (size_t i = 0; i < m->program.trace.nstreams && !err; i++)
		err = merge_stream(m, i);
	if (!err && !m->merged)
		log_warn("no thread is in both traces: are they of the same run and host?");
	else if (!err && !m->events)
		log_warn("%s: no KCO or KCI; was it recorded with --kernel-model?",
			 m->options->kernel);
	if (!err && m->options->others)
		err = copy_others(m);
	if (!err)
		log_info(
			"%s: %llu threads merged, %llu only the program's, %llu only the kernel's; "
			"%llu events of the kernel, %llu boundaries moved (%lld ns at most), %llu "
			"split",
			m->options->out, (unsigned long long)m->merged,
			(unsigned long long)m->alone, (unsigned long long)m->others,
			(unsigned long long)m->events, (unsigned long long)m->moved,
			(long long)m->most_moved, (unsigned long long)m->split);
	return err;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		argp_options,
		parse,
		"PROGRAM KERNEL",
		"Put what the kernel saw of a program's threads into the trace that it wrote.\v"
		"  ovni-bpf --kernel-model -o kernel -- ./program    # writes ./ovni itself\n"
		"  ovni-merge -o both ovni kernel && ovni-emu both",
		NULL,
		NULL,
		NULL};
	struct options options = {.tolerance = 1000};
	struct merge merge = {
		.options = &options, .out_fd = -1, .program.trace.fd = -1, .kernel.trace.fd = -1};
	char *out = NULL;
	int err;

	usage_parse(&argp, "ovni-merge", argc, argv, &options);
	if (!options.out) {
		options.out = out = usage_beside(options.program, ".merged");
		if (!out)
			return STATUS_FAILED;
	}
	err = run(&merge);
	if (err == -ENOMEM)
		log_error("no memory to merge");
	source_close(&merge.program);
	source_close(&merge.kernel);
	if (merge.out_fd >= 0)
		close(merge.out_fd);
	free(merge.used);
	merge_marks_free(merge.marks);
	free(merge.buffer);
	free(out);
	return err ? STATUS_FAILED : STATUS_COMPLETE;
}
