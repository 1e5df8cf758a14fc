/* SPDX-License-Identifier: MIT */
/* loom_writer: records a run of a simulator (see loom_writer.h). */
#include "trace/loom/write/loom_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/base/array.h"
#include "trace/loom/stats/counters.h"
#include "trace/loom/write/run_stats_write.h"

#define BUFFER_RECORDS 65536
#define CHUNK_BYTES    (1u << 18)
#define NO_CORE	       UINT32_MAX
#define MAX_RECORDS    (SIZE_MAX / sizeof(struct loom_record))

/* A record of the present cycle, with the number of its call. */
struct held {
	struct loom_record record;
	uint64_t call;
};

struct loom_writer {
	struct loom_writer_options options;
	int fd;	    /* of the trace file; -1 in mode summary */
	int error;  /* first error */
	bool stuck; /* the trace file has failed */
	struct loom_account account;
	struct loom_counters *counters;
	FILE *out; /* the statistics */
	struct run_stats_writer summary;
	uint64_t dropped_by_kind[256];
	uint64_t *dropped_by_core;
	uint32_t core; /* of the last record, or NO_CORE */
	/* a ring of options.buffer_records */
	struct loom_record *buffer;
	size_t first, used;
	uint8_t *chunk;		 /* encoded records to write */
	uint64_t records, bytes; /* in the file */
	struct held *cycle;	 /* with sort_cycles: the records of the present cycle */
	size_t held, slots;	 /* `slots` never shrinks */
};

/* ---- the trace file ---- */

static size_t record_size(const struct loom_writer *w)
{
	return w->options.as == LOOM_AS_NATURAL48 ? LOOM_NATURAL_SIZE : LOOM_PACKED_SIZE;
}

static int write_all(int fd, const uint8_t *at, size_t size)
{
	while (size) {
		ssize_t n = write(fd, at, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

static int put_header(const struct loom_writer *w)
{
	uint8_t header[LOOM_HEADER_SIZE] = LOOM_MAGIC;
	uint32_t version = htole32(LOOM_VERSION);
	uint64_t count = htole64(w->records);

	if (w->options.as != LOOM_AS_LTRC)
		return 0;
	memcpy(header + 4, &version, sizeof(version));
	memcpy(header + 8, &count, sizeof(count));
	if (pwrite(w->fd, header, sizeof(header), 0) != (ssize_t)sizeof(header))
		return errno ? -errno : -EIO;
	return 0;
}

/* Creates RUN with a suffix, without following a symbolic link at the end of the path. */
static int create(const char *run, const char *suffix)
{
	char *path;
	struct stat st;
	int fd, err;

	if (asprintf(&path, "%s%s", run, suffix) < 0)
		return -ENOMEM;
	fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644);
	err = fd < 0 ? -errno : 0;
	free(path);
	if (err)
		return err;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || ftruncate(fd, 0)) {
		err = errno ? -errno : -EINVAL;
		close(fd);
	}
	return err ? err : fd;
}

/* Removes a file of an earlier run that would look like a part of this one. */
static int forget(const char *run, const char *suffix)
{
	char *path;
	int err;

	if (asprintf(&path, "%s%s", run, suffix) < 0)
		return -ENOMEM;
	err = unlink(path) && errno != ENOENT ? -errno : 0;
	free(path);
	return err;
}

/* ---- counts ---- */

static void drop(struct loom_writer *w, const struct loom_record *r)
{
	w->account.dropped++;
	w->dropped_by_kind[r->event_kind]++;
	w->dropped_by_core[r->core_id]++;
}

static int fail(struct loom_writer *w, int err)
{
	if (err && !w->error)
		w->error = err;
	return err;
}

/* ---- the buffer ---- */

static void drop_first(struct loom_writer *w, size_t n)
{
	for (; n; n--) {
		drop(w, &w->buffer[w->first]);
		w->first = (w->first + 1) % w->options.buffer_records;
		w->used--;
	}
}

/* Writes the buffered records. */
static int flush_records(struct loom_writer *w)
{
	size_t size = record_size(w), fit = CHUNK_BYTES / size;

	while (w->used && !w->stuck) {
		size_t n = w->used < fit ? w->used : fit, at = w->first;
		int err;

		for (size_t i = 0; i < n; i++) {
			loom_encode(&w->buffer[at], w->chunk + i * size,
				    w->options.as == LOOM_AS_NATURAL48);
			at = at + 1 == w->options.buffer_records ? 0 : at + 1;
		}
		err = write_all(w->fd, w->chunk, n * size);
		if (err) {
			/* the file may end inside a record: append nothing more */
			w->stuck = true;
			if (ftruncate(w->fd, (off_t)w->bytes))
				fail(w, -errno);
			fail(w, err);
			break;
		}
		w->records += n;
		w->bytes += n * size;
		w->account.written += n;
		w->first = at;
		w->used -= n;
	}
	if (!w->used)
		return 0;
	drop_first(w, w->used);
	return w->error;
}

static int keep(struct loom_writer *w, const struct loom_record *r)
{
	size_t room = w->options.buffer_records, at;
	int err = 0;

	if (w->used == room && w->options.on_full == LOOM_BLOCK)
		err = flush_records(w);
	if (w->stuck || (w->used == room && w->options.on_full == LOOM_DROP_NEW)) {
		drop(w, r);
		return err;
	}
	if (w->used == room)
		drop_first(w, 1);
	at = w->first + w->used;
	w->buffer[at < room ? at : at - room] = *r;
	w->used++;
	return err;
}

static int commit(struct loom_writer *w, const struct loom_record *r)
{
	int decision = LOOM_PASSES;

	if (w->fd < 0)
		decision = LOOM_FILTERED;
	else if (w->options.controls)
		decision = loom_controls_decide(w->options.controls, r);
	switch (decision) {
	case LOOM_PASSES:
		return keep(w, r);
	case LOOM_FILTERED:
		w->account.filtered++;
		return 0;
	case LOOM_SAMPLED_OUT:
		w->account.sampled_out++;
		return 0;
	default:
		drop(w, r);
		return decision;
	}
}

/* ---- the order within a cycle ---- */

static int rank(uint8_t kind)
{
	switch (kind) {
	case LOOM_CONFIG_WRITE:
		return 0;
	case LOOM_INVOCATION_START:
		return 1;
	case LOOM_DEVICE_ERROR:
		return 3;
	case LOOM_INVOCATION_DONE:
		return 4;
	default:
		return 2;
	}
}

static int by_rank(const void *a, const void *b)
{
	const struct held *x = a, *y = b;
	const struct loom_record *p = &x->record, *q = &y->record;

	/* the end of one epoch precedes the start of the next one */
	if (p->epoch_id != q->epoch_id)
		return p->epoch_id < q->epoch_id ? -1 : 1;
	/* before cores: a core may depend on the start and end of another */
	if (rank(p->event_kind) != rank(q->event_kind))
		return rank(p->event_kind) - rank(q->event_kind);
	if (p->core_id != q->core_id)
		return p->core_id < q->core_id ? -1 : 1;
	if (rank(p->event_kind) == 2 && p->hw_node_id != q->hw_node_id)
		return p->hw_node_id < q->hw_node_id ? -1 : 1;
	if (rank(p->event_kind) == 2 && p->lane != q->lane)
		return p->lane - q->lane;
	return x->call < y->call ? -1 : 1;
}

static int commit_cycle(struct loom_writer *w)
{
	int err = 0;

	if (w->held > 1)
		qsort(w->cycle, w->held, sizeof(*w->cycle), by_rank);
	for (size_t i = 0; i < w->held; i++) {
		int failed = commit(w, &w->cycle[i].record);

		err = err ? err : failed;
	}
	w->held = 0;
	return err;
}

static int hold(struct loom_writer *w, const struct loom_record *r)
{
	int err = 0;

	if (w->held && w->cycle[0].record.cycle != r->cycle)
		err = commit_cycle(w);
	if (w->held == w->slots && !ARRAY_ADD(w->cycle, w->slots)) {
		drop(w, r);
		return -ENOMEM;
	}
	w->cycle[w->held] = (struct held){*r, w->held};
	w->held++;
	return err;
}

int loom_writer_flush(struct loom_writer *w)
{
	int err;

	if (!w)
		return 0;
	err = w->fd >= 0 ? flush_records(w) : 0;
	if (fflush(w->out) && !err)
		err = -errno;
	return fail(w, err);
}

int loom_writer_event(struct loom_writer *w, const struct loom_record *r)
{
	int err;

	if (!w)
		return 0;
	if (w->options.statistics == LOOM_STATISTICS_LEGACY && w->core != NO_CORE &&
	    w->core != r->core_id)
		err = -EPROTO;
	else
		err = loom_counters_add(w->counters, r);
	if (err) {
		w->account.refused++;
		return err;
	}
	w->core = r->core_id;
	w->account.seen++;
	return fail(w, w->options.sort_cycles ? hold(w, r) : commit(w, r));
}

int loom_writer_node(struct loom_writer *w, uint16_t core, uint32_t node)
{
	return w ? fail(w, loom_counters_node(w->counters, core, node)) : 0;
}

int loom_writer_tokens(struct loom_writer *w, uint16_t core, uint32_t node, uint64_t in,
		       uint64_t out)
{
	return w ? loom_counters_tokens(w->counters, core, node, in, out) : 0;
}

struct loom_account loom_writer_account(const struct loom_writer *w)
{
	return w ? w->account : (struct loom_account){.seen = 0};
}

/* ---- begin and end ---- */

static int check_options(const struct loom_writer_options *o)
{
	if ((unsigned)o->mode > LOOM_OFF || (unsigned)o->as > LOOM_AS_NATURAL48 ||
	    (unsigned)o->style >= LOOM_STYLES || (unsigned)o->on_full > LOOM_DROP_OLD ||
	    (unsigned)o->statistics > LOOM_STATISTICS_LEGACY)
		return -EINVAL;
	/* the statistics of upstream cannot express these */
	if (o->statistics == LOOM_STATISTICS_LEGACY &&
	    (o->controls || o->on_full != LOOM_BLOCK || o->style != LOOM_STYLE_CYCLE ||
	     o->snapshot_cycles))
		return -EINVAL;
	return o->buffer_records > MAX_RECORDS ? -EINVAL : 0;
}

static void writer_free(struct loom_writer *w)
{
	if (w->fd >= 0)
		close(w->fd);
	if (w->out)
		fclose(w->out);
	loom_counters_free(w->counters);
	free(w->dropped_by_core);
	free(w->buffer);
	free(w->chunk);
	free(w->cycle);
	free(w);
}

/* Creates the file of the statistics before the run, to fail early. */
static int open_summary(struct loom_writer *w, const char *run)
{
	bool legacy = w->options.statistics == LOOM_STATISTICS_LEGACY;
	int err = legacy ? forget(run, ".perf.json") : 0, fd;

	if (err)
		return err;
	err = w->options.mode == LOOM_SUMMARY ? forget(run, ".trace.bin") : 0;
	if (err)
		return err;
	fd = create(run, legacy ? ".stat" : ".perf.json");
	if (fd < 0)
		return fd;
	w->out = fdopen(fd, "w");
	if (!w->out) {
		close(fd);
		return -ENOMEM;
	}
	w->summary = (struct run_stats_writer){
		.out = w->out,
		.options = &w->options,
		.account = &w->account,
		.counters = w->counters,
		.dropped_by_kind = w->dropped_by_kind,
		.dropped_by_core = w->dropped_by_core,
	};
	if (!legacy)
		run_stats_write_begin(&w->summary);
	if (w->options.snapshot_cycles)
		loom_counters_every(w->counters, w->options.snapshot_cycles, run_stats_write_row,
				    &w->summary);
	return 0;
}

static int prepare(struct loom_writer *w, const char *run)
{
	struct loom_writer_options *o = &w->options;
	int err;

	if (!o->buffer_records)
		o->buffer_records = BUFFER_RECORDS;
	if (o->controls)
		o->controls->session_passes = true;
	w->counters = loom_counters_new(o->style, true);
	w->dropped_by_core = calloc(LOOM_CORES, sizeof(*w->dropped_by_core));
	if (!w->counters || !w->dropped_by_core)
		return -ENOMEM;
	if (o->mode != LOOM_FULL)
		return open_summary(w, run);
	w->buffer = malloc(o->buffer_records * sizeof(*w->buffer));
	w->chunk = malloc(CHUNK_BYTES);
	if (!w->buffer || !w->chunk)
		return -ENOMEM;
	w->fd = create(run, ".trace.bin");
	if (w->fd < 0)
		return w->fd;
	err = put_header(w);
	w->bytes = o->as == LOOM_AS_LTRC ? LOOM_HEADER_SIZE : 0;
	if (err)
		return err;
	if (lseek(w->fd, (off_t)w->bytes, SEEK_SET) < 0)
		return -errno;
	return open_summary(w, run);
}

int loom_writer_open(struct loom_writer **w, const char *run,
		     const struct loom_writer_options *options)
{
	static const struct loom_writer_options everything;
	int err;

	*w = NULL;
	if (!options)
		options = &everything;
	err = run && *run ? check_options(options) : -EINVAL;
	if (err || options->mode == LOOM_OFF)
		return err;
	*w = calloc(1, sizeof(**w));
	if (!*w)
		return -ENOMEM;
	(*w)->options = *options;
	(*w)->fd = -1;
	(*w)->core = NO_CORE;
	err = prepare(*w, run);
	if (err) {
		writer_free(*w);
		*w = NULL;
	}
	return err;
}

static int put_summary(struct loom_writer *w)
{
	int err = loom_counters_finish(w->counters);

	if (err)
		goto out;
	err = w->options.statistics == LOOM_STATISTICS_LEGACY ? run_stats_write_legacy(&w->summary)
							      : run_stats_write_end(&w->summary);
out:
	if (fclose(w->out) && !err)
		err = errno ? -errno : -EIO;
	w->out = NULL;
	return err;
}

int loom_writer_close(struct loom_writer *w, struct loom_account *account)
{
	int err;

	if (account)
		*account = loom_writer_account(w);
	if (!w)
		return 0;
	fail(w, commit_cycle(w));
	if (w->fd >= 0)
		fail(w, flush_records(w));
	if (w->fd >= 0) {
		fail(w, put_header(w));
		if (close(w->fd))
			fail(w, -errno);
		w->fd = -1;
	}
	fail(w, put_summary(w));
	if (account)
		*account = w->account;
	err = w->error;
	writer_free(w);
	return err;
}

const char *loom_writer_strerror(int error)
{
	switch (error) {
	case 0:
		return "no error";
	case -ERANGE:
		return "the cycle is lower than that of the record before";
	case -EPROTO:
		return "the record breaks the order of its invocation";
	case -EINVAL:
		return "the options contradict each other, or the name of the run is empty";
	case -ENOENT:
		return "there is no such node or directory";
	default:
		return strerror(error < 0 ? -error : error);
	}
}
