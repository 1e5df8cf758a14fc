/* SPDX-License-Identifier: MIT */
/* carry: copies data of old statistics to new ones (see carry.h). */
#include "tools/loom/export/carry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/log.h"

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

static int carry_counters(struct loom_carry *c)
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
		};
	}
	c->carried.rows = c->rows;
	c->carried.invocations = c->invocations;
	return 0;
}

static int carry_account(struct loom_carry *c)
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
	if (!e->of_core)
		return 0;
	c->cores = calloc(UINT16_MAX + 1, sizeof(*c->cores));
	if (!c->cores)
		return -ENOMEM;
	for (uint32_t core = 0; core <= UINT16_MAX; core++) {
		if (e->of_core[core])
			c->cores[c->carried.ncores++] =
				(struct loom_core_drops){core, e->of_core[core]};
	}
	c->carried.cores = c->cores;
	return 0;
}

int loom_carry_load(struct loom_carry *c, int dirfd, const char *path, struct loom_controls *chosen)
{
	struct loom_violations findings = {.report = loom_violation_ignore};
	int err;

	memset(c, 0, sizeof(*c));
	err = run_stats_load(&c->perf, dirfd, path, &findings);
	if (err == -EBADMSG || findings.counts[LOOM_ERROR] > 0) {
		log_warn("%s: cannot be understood (see 'ovni-loom check'): counters are those of "
			 "the "
			 "records alone",
			 path);
		return 0;
	}
	if (err)
		return err;
	err = carry_counters(c);
	if (err)
		goto out;
	err = carry_account(c);
	if (err)
		goto out;
	err = loom_controls_narrow(chosen, &c->perf.controls);
	if (err)
		goto out;
	if (c->carried.of && (uint64_t)c->carried.of * (chosen->of ? chosen->of : 1) > UINT32_MAX) {
		log_error("%s: the run was sampled already, and 1 of so many records has no words",
			  path);
	out:
		return -ERANGE;
	}
	if (err)
		log_no_memory("while carrying %s over", path);
	return err;
}

void loom_carry_forget_counters(struct loom_carry *c)
{
	c->carried.nrows = c->carried.ninvocations = 0;
}

void loom_carry_free(struct loom_carry *c)
{
	run_stats_free(&c->perf);
	free(c->cores);
	free(c->invocations);
	free(c->rows);
	memset(c, 0, sizeof(*c));
}
