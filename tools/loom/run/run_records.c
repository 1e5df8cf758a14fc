/* SPDX-License-Identifier: MIT */
#include "tools/loom/run/run_records.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "trace/base/log.h"
#include "trace/loom/stats/agree.h"
#include "trace/loom/run_reader.h"

enum loom_style run_records_style(const struct loom_options *o, const struct run_stats *perf)
{
	if (o->has_style)
		return o->style;
	return perf && perf->has_style ? perf->style : LOOM_STYLE_CYCLE;
}

struct declared {
	const struct loom_options *o;
	const struct run_stats *perf;
};

static bool may_lack(void *arg, uint8_t kind, uint16_t core)
{
	const struct declared *d = arg;

	if (!loom_controls_filters_pass(&d->o->declared, kind, core, 0))
		return true;
	return d->perf && run_stats_may_lack(d->perf, kind, core);
}

/* Reads all records. */
static int walk(struct run_records *r, struct run_reader *reader, struct record_order *order,
		bool chain)
{
	struct loom_chain links = {0};
	struct loom_record e;
	int got, err;

	while ((got = run_reader_next(reader, &e)) > 0) {
		struct loom_place place = run_reader_place(reader);
		bool restarts = false;

		if (chain) {
			err = loom_chain_record(&links, &e);
			if (err < 0) {
				log_error("%s: record %llu: chained, its cycle exceeds 64 bits",
					  place.file, (unsigned long long)place.record);
				return err;
			}
			restarts = err;
		}
		err = order ? record_order_add(order, &place, &e, restarts) : 0;
		if (err < 0)
			return err;
		err = loom_tally_add(&r->tally, &e);
		if (err < 0)
			return err;
	}
	return got;
}

static int read_trace(struct run_records *r, struct run_reader *reader,
		      const struct loom_options *o, const struct run_files *run,
		      const struct run_stats *perf, bool judge, struct loom_violations *findings)
{
	struct run_reader_options how = {.layout = o->layout};
	struct declared declared = {o, perf};
	struct record_order *order = NULL;
	int err = run_reader_open(reader, run->trace_at, run->trace, &how, findings);

	r->form = reader->form;
	r->damaged = reader->is_damaged;
	if (err)
		return err == -EBADMSG ? 0 : err;
	r->readable = true;
	if (judge) {
		order = record_order_new(findings);
		if (!order)
			return -ENOMEM;
	}
	err = walk(r, reader, order, o->chain);
	r->damaged = reader->is_damaged;
	r->modules = reader->modules; /* moved */
	reader->modules = (struct loom_modules){.list = NULL};
	if (err)
		goto out;
	if (order) {
		record_order_finish(order, may_lack, &declared);
		r->without_start = record_order_without_start(order);
		r->last_config_writes = record_order_last_config_writes(order);
	}
out:
	record_order_free(order);
	return err;
}

int run_records_read(struct run_records *r, const struct loom_options *o,
		     const struct run_files *run, const struct run_stats *perf,
		     enum loom_style style, bool judge, struct loom_violations *findings)
{
	struct run_reader reader = {0};
	int err;

	*r = (struct run_records){.form = LOOM_UNKNOWN};
	err = loom_tally_init(&r->tally, style);
	if (err)
		goto out;
	if (run->trace)
		err = read_trace(r, &reader, o, run, perf, judge, findings);
	if (err)
		goto out;
	err = loom_tally_finish(&r->tally);
out:
	run_reader_close(&reader);
	if (err == -ENOMEM)
		log_no_memory("while reading %s", run->name);
	return err;
}

void run_records_fini(struct run_records *r)
{
	loom_tally_fini(&r->tally);
	loom_modules_free(&r->modules);
}

int run_records_try_edge(struct run_records *r, const struct loom_options *o,
			 const struct run_files *run, const struct run_stats *perf)
{
	struct loom_violations said = {.report = loom_violation_ignore};
	struct run_records edge;
	uint64_t stalls =
		r->tally.of_kind[LOOM_NODE_STALL_IN] + r->tally.of_kind[LOOM_NODE_STALL_OUT];
	int err;

	if (o->has_style || !perf || perf->has_style || stalls == 0 ||
	    loom_agree_differences(&r->tally, perf) == 0)
		return 0;
	err = run_records_read(&edge, o, run, perf, LOOM_STYLE_EDGE, false, &said);
	if (err || loom_agree_differences(&edge.tally, perf) > 0) {
		run_records_fini(&edge);
		return err;
	}
	edge.without_start = r->without_start;
	edge.last_config_writes = r->last_config_writes;
	run_records_fini(r);
	*r = edge;
	return 1;
}
