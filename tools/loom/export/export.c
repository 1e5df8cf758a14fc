/* SPDX-License-Identifier: MIT */
/*
 * export: the export command: converts an ovni trace into Loom files.
 *
 *   imported run with kept files     its files, byte for byte; or their records, in another layout,
 *                                    filtered, sampled
 *   imported run without them        records that give equal states (loom_export_marks)
 *   recording of threads             the scheduler as an accelerator (loom_export_schedule)
 *
 * Specification: loom.md 9.5.
 */
#include "tools/loom/export/export.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/loom/run/keep_files.h"
#include "trace/base/status.h"
#include "trace/base/log.h"
#include "trace/base/text.h"
#include "trace/loom/run_reader.h"
#include "trace/loom/run_files.h"
#include "trace/loom/stats/run_stats.h"

#define SCHEDULE_PERIOD_PS 1000000 /* 1 us */

/* ---- the writer ---- */

static bool chooses(const struct loom_export *x)
{
	return loom_controls_filter(&x->o->chosen) || loom_controls_samples(&x->o->chosen);
}

static int no_memory(const struct loom_export *x)
{
	return log_no_memory("while exporting %s", x->o->run);
}

/* The option that statistics of upstream cannot express, or NULL. */
static const char *unsayable(const struct loom_export *x)
{
	const struct loom_carried *c = x->as.carried;

	if (chooses(x) || (c && (c->of || c->filtered || c->sampled_out || c->dropped)))
		return "filters, sampling and drops";
	return x->as.style == LOOM_STYLE_CYCLE ? NULL : "records that last longer than a cycle";
}

int loom_export_open(struct loom_export *x, struct loom_writer **w)
{
	int err;

	if (x->o->legacy && unsayable(x)) {
		log_error("%s: upstream's statistics cannot express %s: leave out --statistics",
			  x->o->run, unsayable(x));
		return -EINVAL;
	}
	x->as.statistics = x->o->legacy ? LOOM_STATISTICS_LEGACY : LOOM_STATISTICS_OURS;
	x->as.producer = "ovni-loom export";
	x->as.period_ps = x->clock.period_ps;
	x->as.controls = x->o->legacy ? NULL : &x->o->chosen;
	x->as.as = LOOM_AS_LTRC;
	if (x->o->layout == LOOM_PACKED38)
		x->as.as = LOOM_AS_PACKED38;
	if (x->o->layout == LOOM_NATURAL48)
		x->as.as = LOOM_AS_NATURAL48;
	err = loom_writer_open(w, x->o->output, &x->as);
	if (err)
		log_error("cannot create '%s.trace.bin': %s", x->o->output, strerror(-err));
	return err;
}

int loom_export_put(struct loom_export *x, struct loom_writer *w, const struct loom_record *r)
{
	char room[8];
	int err = loom_writer_event(w, r);

	if (err == -EPROTO && x->o->legacy && r->core_id != x->core)
		log_error("%s: upstream's statistics are of one core, and this run has several: "
			  "leave out --statistics",
			  x->o->run);
	else if (err == -ERANGE || err == -EPROTO)
		log_error("%s: the %s of core %u in cycle %" PRIu64
			  " breaks the order of records; see 'ovni-loom check'",
			  x->o->run, loom_kind_name(r->event_kind, room), r->core_id, r->cycle);
	else if (err)
		log_error("cannot write '%s.trace.bin': %s", x->o->output, strerror(-err));
	x->core = r->core_id;
	return err;
}

int loom_export_close(struct loom_export *x, struct loom_writer *w, int err)
{
	struct loom_account a;
	int failed;

	if (!w)
		return err;
	failed = loom_writer_close(w, &a);
	if (failed && !err)
		log_error("cannot write '%s.%s': %s", x->o->output,
			  x->o->legacy ? "stat" : "perf.json", strerror(-failed));
	if (err)
		return err;
	if (!failed)
		log_info("%s: seen %" PRIu64 " written %" PRIu64 " filtered %" PRIu64
			 " sampled_out %" PRIu64 " dropped %" PRIu64,
			 x->o->output, a.seen, a.written, a.filtered, a.sampled_out, a.dropped);
	return err ? err : failed;
}

/* ---- merging ---- */

/* The next record of a source. */
struct head {
	struct loom_record record;
	size_t source;
};

static bool before(const struct head *a, const struct head *b)
{
	if (a->record.cycle != b->record.cycle)
		return a->record.cycle < b->record.cycle;
	return a->source < b->source;
}

/* Restores the heap after a change of element `i`, which may be too high. */
static void sink(struct head *heap, size_t n, size_t i)
{
	struct head moving = heap[i];

	while (2 * i + 1 < n) {
		size_t child = 2 * i + 1;

		if (child + 1 < n && before(&heap[child + 1], &heap[child]))
			child++;
		if (!before(&heap[child], &moving))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = moving;
}

int loom_export_merge(struct loom_export *x, struct loom_writer **w, void *sources, size_t n,
		      size_t size, loom_next_fn next, loom_complete_fn complete)
{
	struct head *heap = calloc(n + 1, sizeof(*heap));
	size_t used = 0;
	int err;

	if (!heap)
		return no_memory(x);
	for (size_t i = 0; i < n; i++) {
		err = next((char *)sources + i * size, &heap[used].record);
		if (err < 0)
			goto out;
		heap[used].source = i;
		used += err > 0;
	}
	for (size_t i = used / 2; i-- > 0;)
		sink(heap, used, i);
	err = *w ? 0 : loom_export_open(x, w);
	if (err)
		goto out;
	while (used > 0) {
		void *source = (char *)sources + heap[0].source * size;
		struct loom_record r = heap[0].record;

		err = complete(x, source, &r) ? loom_export_put(x, *w, &r) : 0;
		if (err)
			goto out;
		err = next(source, &heap[0].record);
		if (err < 0)
			goto out;
		if (err == 0)
			heap[0] = heap[--used];
		sink(heap, used, 0);
	}
	err = 0;
out:
	free(heap);
	return err;
}

/* ---- the kept files ---- */

static bool rewrites(const struct loom_export *x)
{
	return x->o->layout != LOOM_UNKNOWN || x->o->legacy || chooses(x);
}

/* The path of a kept file in the trace, beside the processes of its loom, or NULL. */
static char *kept_path(const struct loom_export *x, const char *key)
{
	const char *name = json_string(json_get(x->run, key));
	const char *slash = strrchr(x->run_path, '/');

	if (!name)
		return NULL;
	if (strchr(name, '/') || !slash)
		return strdup(name); /* an unsafe path fails at opening */
	for (slash--; slash > x->run_path && *slash != '/'; slash--)
		;
	return xasprintf("%.*s%s%s", (int)(slash - x->run_path), x->run_path,
			 slash > x->run_path ? "/" : "", name);
}

/* `empty`: makes the file, and does not copy it yet. */
static int return_file(struct loom_export *x, const char *kept, bool empty)
{
	const char *name = basename(kept), *end = name + run_files_stem(name);
	/* RUN with the end of the old name */
	char *path = xasprintf("%s%s", x->o->output, *end ? end : ".trace.bin");
	int err;

	if (!path)
		return no_memory(x);
	err = empty ? keep_files_empty(path)
		    : keep_files_return(x->trace.fd, x->trace.path, kept, path);
	if (!err && !empty)
		log_info("%s: the kept file %s", path, kept);
	free(path);
	return err;
}

/* ---- the kept statistics ---- */

/*
 * Data of the statistics of a run that is rewritten: earlier losses, and counters from before any
 * loss, which the records do not have: tokens, unrecorded stalls.
 */
struct carry {
	struct run_stats perf;
	struct loom_carried carried;
	struct loom_invocation *invocations;
	struct loom_carried_row *rows;
};

static struct loom_carried_row row_of(const struct stats_snapshot *s, bool has_ids)
{
	const uint64_t *n = s->counters;
	uint64_t total = n[STATS_TOTAL_CYCLES];

	return (struct loom_carried_row){
		.has_ids = has_ids,
		.v = {.core = s->core_id,
		      .epoch = s->epoch_id,
		      .id = s->invocation_id,
		      .start = s->cycle > total ? s->cycle - total : 0,
		      .end = s->cycle},
		.row = {.whole_core = s->scope == STATS_CORE,
			.node = s->hw_node_id,
			.active = n[STATS_ACTIVE_CYCLES],
			.stall_in = n[STATS_STALL_CYCLES_IN],
			.stall_out = n[STATS_STALL_CYCLES_OUT],
			.tokens_in = n[STATS_TOKENS_IN],
			.tokens_out = n[STATS_TOKENS_OUT],
			.config_writes = n[STATS_CONFIG_WRITES]},
	};
}

static int carry_counters(struct carry *c)
{
	const struct run_stats *p = &c->perf;

	c->rows = calloc(p->nsnapshots + 1, sizeof(*c->rows));
	c->invocations = calloc(p->ninvocations + 1, sizeof(*c->invocations));
	if (!c->rows || !c->invocations)
		return -ENOMEM;
	for (size_t i = 0; i < p->nsnapshots && !p->joins_cores; i++)
		c->rows[c->carried.nrows++] = row_of(&p->snapshots[i], p->form == STATS_LOOM);
	for (size_t i = 0; i < p->ninvocations; i++) {
		const struct stats_invocation *v = &p->invocations[i];

		c->invocations[c->carried.ninvocations++] = (struct loom_invocation){
			.core = v->core_id,
			.epoch = v->epoch_id,
			.id = v->invocation_id,
			.start = v->start_cycle,
			.end = v->end_cycle,
			.done = v->status == STATS_DONE,
			.failed = v->status == STATS_ERROR,
			.host_clock_ns = v->host_clock_ns,
		};
	}
	c->carried.rows = c->rows;
	c->carried.invocations = c->invocations;
	return 0;
}

static void carry_account(struct carry *c)
{
	const struct stats_account *e = &c->perf.events;

	c->carried.filtered = e->filtered.v;
	c->carried.sampled_out = e->sampled_out.v;
	c->carried.dropped = e->dropped.v;
	if (c->perf.samples) {
		c->carried.keep = c->perf.controls.keep;
		c->carried.of = c->perf.controls.of;
	}
	if (e->by_kind)
		c->carried.dropped_by_kind = e->of_kind;
	c->carried.dropped_by_core = e->of_core;
}

/*
 * Reads the kept statistics, and restricts the chosen filters to theirs. Warns about unknown
 * statistics, which carry no data. Returns 0, or -errno after a message.
 */
static int carry_load(struct carry *c, struct loom_export *x, const char *path)
{
	struct loom_violations findings = {.report = loom_violation_ignore};
	struct loom_controls *chosen = &x->o->chosen;
	int err = run_stats_load(&c->perf, x->trace.fd, path, &findings);

	if (err == -EBADMSG || findings.counts[LOOM_ERROR] > 0) {
		log_warn(
			"%s: unreadable statistics (see 'ovni-loom check'): the counters come from "
			"the records alone",
			path);
		return 0;
	}
	if (err)
		return err;
	carry_account(c);
	if (carry_counters(c) || loom_controls_narrow(chosen, &c->perf.controls))
		return log_no_memory("while carrying %s over", path);
	if (c->carried.of && (uint64_t)c->carried.of * (chosen->of ? chosen->of : 1) > UINT32_MAX) {
		log_error("%s: the run is sampled already: the product of both ratios exceeds 32 "
			  "bits",
			  path);
		return -ERANGE;
	}
	return 0;
}

static void carry_free(struct carry *c)
{
	run_stats_free(&c->perf);
	free(c->invocations);
	free(c->rows);
}

/* Rewrites the records of the kept file, with the data of its statistics. */
static int rewrite(struct loom_export *x, const char *kept, const char *perf)
{
	const char *form = json_string(json_get(x->run, "accel.run.form"));
	struct run_reader_options how = {.layout = form ? loom_layout_parse(form) : LOOM_UNKNOWN};
	struct loom_violations findings = {.report = NULL};
	struct run_reader reader;
	struct loom_writer *w = NULL;
	struct loom_chain chain = {.off = false};
	struct carry carry = {.rows = NULL};
	struct loom_record r;
	int err, got = 1;

	err = run_reader_open(&reader, x->trace.fd, kept, &how, &findings);
	if (err)
		goto out;
	if (perf) {
		err = carry_load(&carry, x, perf);
		x->as.carried = &carry.carried;
	}
	if (err)
		goto out;
	err = loom_export_open(x, &w);
	if (err)
		goto out;
	while ((got = run_reader_next(&reader, &r)) > 0) {
		err = loom_chain_step(&chain, &r);
		if (err)
			log_error("%s/%s: record %" PRIu64 ": cycles out of order; see 'ovni-loom "
				  "check'",
				  x->trace.path, kept, reader.index);
		else
			err = loom_export_put(x, w, &r);
		if (err)
			goto out;
	}
	if (!got && reader.is_damaged)
		err = -EBADMSG; /* after violations */
out:
	if (chain.parts) /* the counters are of unshifted cycles */
		carry.carried.nrows = carry.carried.ninvocations = 0;
	err = loom_export_close(x, w, err ? err : got);
	carry_free(&carry);
	x->as.carried = NULL;
	run_reader_close(&reader);
	return err;
}

/* Reads the anchors of the run, if it has some. Returns 0, -EINVAL for damaged ones, or -ENOMEM. */
static int read_anchors(struct loom_export *x)
{
	const struct json *list = json_get(x->run, "accel.run.anchors"), *c;
	uint64_t end = 0;
	size_t n = 0;

	if (!list)
		return 0;
	x->anchors = calloc(json_count(list) + 1, sizeof(*x->anchors));
	if (!x->anchors)
		return -ENOMEM;
	for (c = json_first(list); c; c = json_next(c), n++) {
		if (!json_u64(json_key(c, "cycle"), &x->anchors[n].cycle) ||
		    !json_i64(json_key(c, "clock"), &x->anchors[n].clock))
			return -EINVAL;
	}
	json_u64(json_get(x->run, "accel.run.end_cycle"), &end);
	return n ? run_clock_anchor(&x->clock, x->anchors, n, end) : 0;
}

static int export_run(struct loom_export *x)
{
	const char *style = json_string(json_get(x->run, "accel.run.record_style"));
	char *trace = kept_path(x, "accel.run.sidecar.trace");
	char *perf = kept_path(x, "accel.run.sidecar.perf");
	int err = 0;

	for (int i = 0; style && i < LOOM_STYLES; i++) {
		if (strcmp(style, loom_style_names[i]) == 0)
			x->as.style = (enum loom_style)i;
	}
	if (!json_u64(json_get(x->run, "accel.run.period_ps"), &x->clock.period_ps) ||
	    !json_i64(json_get(x->run, "accel.run.base"), &x->clock.base) || !x->clock.period_ps ||
	    x->clock.base < 0 || read_anchors(x)) {
		log_error("%s/%s: the description of the run is damaged", x->trace.path,
			  x->run_path);
		err = -EBADMSG;
	} else if (!trace || x->o->no_keep) {
		x->carried.dropped = x->dropped;
		x->as.carried = &x->carried;
		err = loom_export_marks(x);
	} else if (rewrites(x)) {
		err = rewrite(x, trace, perf);
	} else {
		/* the trace last: while it is empty this is no run */
		err = perf ? return_file(x, trace, true) : 0;
		if (perf && !err)
			err = return_file(x, perf, false);
		if (!err)
			err = return_file(x, trace, false);
	}
	free(trace);
	free(perf);
	return err;
}

/* ---- the loom ---- */

/* Appends the name of a loom to the choices in a message. */
static void add_name(char *text, size_t size, const char *name)
{
	size_t len = strlen(text);

	if (!strstr(text, name) && len < size)
		snprintf(text + len, size - len, "%s%s", len ? ", " : "", name);
}

/*
 * Chooses the loom, and lists its streams: the named one, else the only imported run, or the only
 * loom of the trace.
 */
static int choose(struct loom_export *x)
{
	const char *runs[2] = {NULL, NULL}, *looms[2] = {NULL, NULL}, *chosen = x->o->loom;
	char names[512] = "";
	size_t n = x->trace.nstreams;
	char **of = calloc(n + 1, sizeof(*of));
	int err = 0;

	x->streams = calloc(n + 1, sizeof(*x->streams));
	if (!of || !x->streams) {
		err = no_memory(x);
		goto out;
	}
	for (size_t i = 0; i < n; i++) {
		struct json *meta = trace_metadata(&x->trace, i);
		const char *loom = json_string(json_get(meta, "ovni.loom"));
		const char **list = json_get(meta, "accel.run") ? runs : looms;
		bool plain = !json_get(meta, "accel");
		struct stream stream = {0};

		if (!meta) {
			err = -EINVAL;
			goto out;
		}
		of[i] = loom ? strdup(loom) : NULL;
		if (of[i] && (plain || list == runs)) {
			add_name(names, sizeof(names), of[i]);
			list[list[0] && strcmp(list[0], of[i]) != 0] = of[i];
		}
		err = stream_open(&stream, x->trace.fd, x->trace.streams[i]);
		if (!err)
			whole_take(&x->whole, x->trace.fd, x->trace.streams[i], meta, &stream,
				   false);
		stream_close(&stream);
		json_free(meta);
		if (err)
			goto out;
	}
	if (!chosen && !runs[1])
		chosen = runs[0];
	if (!chosen && !runs[0] && !looms[1])
		chosen = looms[0];
	if (!chosen) {
		log_error(*names ? "%s: choose one of its looms with --loom: %s"
				 : "%s: no stream of a thread in it%s",
			  x->trace.path, names);
		err = -EINVAL;
		goto out;
	}
	for (size_t i = 0; i < n; i++) {
		if (of[i] && strcmp(of[i], chosen) == 0)
			x->streams[x->nstreams++] = i;
	}
	if (!x->nstreams) {
		log_error("%s: there is no loom '%s' in it, but %s", x->trace.path, chosen, names);
		err = -ENOENT;
	}
out:
	for (size_t i = 0; of && i < n; i++)
		free(of[i]);
	free(of);
	return err;
}

/* Reads the metadata of the run and its losses from the streams. */
static int find_run(struct loom_export *x)
{
	for (size_t i = 0; i < x->nstreams; i++) {
		struct json *meta = trace_metadata(&x->trace, x->streams[i]);
		uint64_t dropped;

		if (!meta)
			return -EINVAL;
		if (json_u64(json_get(meta, "accel.run.dropped"), &dropped))
			x->dropped += dropped;
		if (!x->run && json_get(meta, "accel.run")) {
			x->run = meta;
			x->run_path = x->trace.streams[x->streams[i]];
		} else {
			json_free(meta);
		}
	}
	return 0;
}

int loom_export(struct loom_options *o)
{
	struct loom_export x = {.o = o};
	int err, status;

	err = trace_open(&x.trace, o->run);
	if (err)
		return STATUS_FAILED;
	err = choose(&x);
	if (err)
		goto out;
	err = find_run(&x);
	if (err)
		goto out;
	if (x.run) {
		err = export_run(&x);
	} else {
		x.clock.period_ps = o->period_ps ? o->period_ps : SCHEDULE_PERIOD_PS;
		err = loom_export_schedule(&x);
	}
out:
	/* a recording without a total of its losses has marks of them */
	if (!x.whole.lost)
		x.whole.lost = x.lost;
	status = err ? STATUS_FAILED : whole_report(&x.whole, o->run);
	json_free(x.run);
	free(x.anchors);
	free(x.streams);
	trace_close(&x.trace);
	return status;
}
