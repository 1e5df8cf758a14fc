/* SPDX-License-Identifier: MIT */
/* loom_writer: records a run of a simulator (see loom_writer.h). */
#include "trace/loom/write/loom_writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "trace/base/array.h"
#include "trace/loom/stats/counters.h"
#include "trace/loom/write/loom_channel.h"
#include "trace/loom/write/run_output.h"
#include "trace/loom/write/run_stats_write.h"
#include "trace/loom/write/settings.h"

#define BUFFER_RECORDS 65536
#define CHUNK_BYTES    (1u << 18)
#define NO_CORE	       UINT32_MAX
#define MAX_RECORDS    (SIZE_MAX / sizeof(struct loom_record))

static const char contradiction[] =
	"the options contradict each other, or the name of the run is empty";
/* The reason why the last run of this thread was refused. */
static _Thread_local char refusal[256];

/* A record of the present cycle, with the number of its call. */
struct held {
	struct loom_record record;
	uint64_t call;
};

struct loom_writer {
	struct loom_writer_options options;
	struct loom_settings settings; /* of the environment */
	int fd;			       /* of the trace file; -1 in mode summary or with a channel */
	int channel;		       /* to a recorder; -1: to files */
	int error;		       /* first error */
	bool stuck;		       /* the trace file or the channel has failed */
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

static int put_header(const struct loom_writer *w)
{
	return w->options.as == LOOM_AS_LTRC ? run_output_header(w->fd, w->records) : 0;
}

/* Writes encoded records. */
static int put_records(const struct loom_writer *w, size_t size)
{
	if (w->channel >= 0)
		return channel_send(w->channel, CHANNEL_RECORDS, w->chunk, size);
	return run_output_write(w->fd, w->chunk, size);
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
	size_t size = channel_record_size(w->options.as), fit = CHUNK_BYTES / size;

	while (w->used && !w->stuck) {
		size_t n = w->used < fit ? w->used : fit, at = w->first;
		int err;

		for (size_t i = 0; i < n; i++) {
			loom_encode(&w->buffer[at], w->chunk + i * size,
				    w->options.as == LOOM_AS_NATURAL48);
			at = at + 1 == w->options.buffer_records ? 0 : at + 1;
		}
		err = put_records(w, n * size);
		if (err) {
			/* the file may end inside a record: append nothing more */
			w->stuck = true;
			if (w->fd >= 0 && ftruncate(w->fd, (off_t)w->bytes))
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
	if (w->used) {
		drop_first(w, w->used);
		return w->error;
	}
	if (w->channel >= 0 && !w->stuck)
		return fail(w, channel_send_counts(w->channel, CHANNEL_COUNTS, &w->account));
	return 0;
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

	if (!w->buffer) /* mode summary */
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
	err = w->buffer ? flush_records(w) : 0;
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

int loom_writer_anchor(struct loom_writer *w, uint32_t epoch_id, uint64_t invocation_id,
		       int64_t clock_ns)
{
	struct timespec now;
	int err;

	if (!w)
		return 0;
	if (w->options.statistics == LOOM_STATISTICS_LEGACY)
		return -ENOTSUP;
	if (clock_ns < 0)
		return -EINVAL;
	if (!clock_ns) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		clock_ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
	}
	err = loom_counters_anchor(w->counters, epoch_id, invocation_id, (uint64_t)clock_ns);
	return err == -ENOMEM ? fail(w, err) : err;
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
	if (w->out)
		fclose(w->out);
	if (w->fd >= 0)
		close(w->fd);
	if (w->channel >= 0)
		close(w->channel);
	loom_settings_free(&w->settings);
	loom_counters_free(w->counters);
	free(w->dropped_by_core);
	free(w->buffer);
	free(w->chunk);
	free(w->cycle);
	free(w);
}

/* The text of the statistics goes into a channel: the write function of its FILE. */
static ssize_t put_text(void *arg, const char *text, size_t size)
{
	struct loom_writer *w = arg;
	int err = w->stuck ? w->error : channel_send(w->channel, CHANNEL_TEXT, text, size);

	if (!err)
		return (ssize_t)size;
	w->stuck = true;
	errno = -fail(w, err);
	return 0;
}

/* Marks the text so far as a whole piece: a recorder can end the document there. */
static void put_whole(struct loom_writer *w)
{
	if (w->channel < 0 || fflush(w->out) || w->stuck)
		return;
	if (fail(w, channel_send(w->channel, CHANNEL_WHOLE, NULL, 0)))
		w->stuck = true;
}

static void put_snapshot(void *arg, const struct loom_invocation *v, const struct loom_row *row)
{
	struct loom_writer *w = arg;

	/* the row of the core is the first one of a snapshot (counters.h) */
	if (w->channel >= 0 && row->whole_core) {
		/* a recorder can end here: all rows are there, and their records */
		if (w->summary.any)
			put_whole(w);
		if (w->buffer && w->options.on_full == LOOM_BLOCK)
			flush_records(w);
	}
	run_stats_write_row(&w->summary, v, row);
}

/* Creates the file of the statistics before the run, to fail early. */
static int create_summary(struct loom_writer *w, const char *run, bool legacy)
{
	int err = legacy ? run_output_forget(run, LOOM_PERF_SUFFIX) : 0, fd;

	if (err)
		return err;
	err = w->options.mode == LOOM_SUMMARY ? run_output_forget(run, LOOM_TRACE_SUFFIX) : 0;
	if (err)
		return err;
	fd = run_output_create(run, legacy ? LOOM_LEGACY_SUFFIX : LOOM_PERF_SUFFIX);
	if (fd < 0)
		return fd;
	w->out = fdopen(fd, "w");
	if (!w->out)
		close(fd);
	return w->out ? 0 : -ENOMEM;
}

static int open_summary(struct loom_writer *w, const char *run)
{
	bool legacy = w->options.statistics == LOOM_STATISTICS_LEGACY;
	int err = 0;

	if (w->channel >= 0)
		w->out = fopencookie(w, "w", (cookie_io_functions_t){.write = put_text});
	else
		err = create_summary(w, run, legacy);
	if (!w->out)
		return err ? err : -ENOMEM;
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
		loom_counters_every(w->counters, w->options.snapshot_cycles, put_snapshot, w);
	put_whole(w);
	return w->error;
}

/* Creates the trace file, or connects to the recorder. */
static int open_records(struct loom_writer *w, const char *run)
{
	const struct loom_writer_options *o = &w->options;
	struct channel_hello hello = {o->mode, o->as, o->statistics};
	int err;

	if (w->settings.channel) {
		w->channel = channel_connect(w->settings.channel, &hello);
		return w->channel < 0 ? w->channel : 0;
	}
	if (o->mode != LOOM_FULL)
		return 0;
	w->fd = run_output_create(run, LOOM_TRACE_SUFFIX);
	if (w->fd < 0)
		return w->fd;
	w->bytes = o->as == LOOM_AS_LTRC ? LOOM_HEADER_SIZE : 0;
	err = put_header(w);
	if (!err && lseek(w->fd, (off_t)w->bytes, SEEK_SET) < 0)
		err = -errno;
	return err;
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
	if (o->mode == LOOM_FULL) {
		w->buffer = malloc(o->buffer_records * sizeof(*w->buffer));
		w->chunk = malloc(CHUNK_BYTES);
		if (!w->buffer || !w->chunk)
			return -ENOMEM;
	}
	err = open_records(w, run);
	return err ? err : open_summary(w, run);
}

/* Applies the settings of the user, which take the place of those of the simulator. */
static int apply_settings(struct loom_writer *w)
{
	const char *text = secure_getenv(LOOM_SETTINGS_VARIABLE);
	char why[128];
	int err = text ? loom_settings_parse(&w->settings, text, why, sizeof(why)) : 0;

	if (err == -EINVAL)
		snprintf(refusal, sizeof(refusal), "%s: %s", LOOM_SETTINGS_VARIABLE, why);
	if (err)
		return err;
	if (w->settings.has_mode)
		w->options.mode = w->settings.mode;
	if (w->settings.has_controls)
		w->options.controls = &w->settings.controls;
	return 0;
}

int loom_writer_open(struct loom_writer **w, const char *run,
		     const struct loom_writer_options *options)
{
	static const struct loom_writer_options everything;
	struct loom_writer *made;
	int err;

	*w = NULL;
	snprintf(refusal, sizeof(refusal), "%s", contradiction);
	if (!run || !*run)
		return -EINVAL;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	made->options = options ? *options : everything;
	made->fd = -1;
	made->channel = -1;
	made->core = NO_CORE;
	err = apply_settings(made);
	if (!err)
		err = check_options(&made->options);
	if (!err && made->options.mode != LOOM_OFF)
		err = prepare(made, run);
	if (err || made->options.mode == LOOM_OFF)
		writer_free(made);
	else
		*w = made;
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

/* Completes the files, or waits until the recorder has done so. */
static int finish(struct loom_writer *w)
{
	int err;

	if (w->channel >= 0) {
		fail(w, put_summary(w));
		/* without it, the recorder knows that the run is incomplete */
		err = w->error ? 0 : channel_send_counts(w->channel, CHANNEL_END, &w->account);
		return err || w->error ? err : channel_wait(w->channel);
	}
	if (w->fd >= 0) {
		fail(w, put_header(w));
		err = close(w->fd) ? -errno : 0;
		w->fd = -1;
		fail(w, err);
	}
	return put_summary(w);
}

int loom_writer_close(struct loom_writer *w, struct loom_account *account)
{
	int err;

	if (account)
		*account = loom_writer_account(w);
	if (!w)
		return 0;
	fail(w, commit_cycle(w));
	if (w->buffer)
		fail(w, flush_records(w));
	fail(w, finish(w));
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
		return *refusal ? refusal : contradiction;
	case -ENOENT:
		return "there is no such node or directory";
	case -ECONNREFUSED:
		return "no recorder listens at the channel (see ovni-loom record)";
	case -EPIPE:
		return "the recorder of the channel has ended";
	default:
		return strerror(error < 0 ? -error : error);
	}
}
