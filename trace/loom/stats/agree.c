/* SPDX-License-Identifier: MIT */
#include "trace/loom/stats/agree.h"

#include <stdio.h>

#include "trace/loom/stats/run_stats.h"

#define LLU(v) ((unsigned long long)(v))

const struct loom_row *loom_agree_row(const struct loom_tally *t, const struct run_stats *p,
				      const struct stats_snapshot *s)
{
	const struct loom_invocation *v;

	if (p->form != STATS_LOOM && !s->has_core)
		return loom_tally_last_row(t, s->hw_node_id);
	v = loom_counters_find(t->counters, s->core_id,
			       p->form == STATS_LOOM ? s->epoch_id : t->last_epoch,
			       p->form == STATS_LOOM ? s->invocation_id : t->last_invocation);
	return v ? loom_counters_row(t->counters, v, s->scope == STATS_CORE, s->hw_node_id) : NULL;
}

/* True if a run was cut: an invocation goes on after its last snapshot, and no end is listed. */
static bool is_cut(const struct loom_tally *t, const struct run_stats *p)
{
	for (size_t i = 0; p->form == STATS_LOOM && !p->ninvocations && i < p->nsnapshots; i++) {
		const struct stats_snapshot *s = &p->snapshots[i];
		const struct loom_invocation *v =
			loom_counters_find(t->counters, s->core_id, s->epoch_id, s->invocation_id);

		if (s->is_last && v && v->end > s->cycle)
			return true;
	}
	return false;
}

const char *loom_agree_obstacle(const struct loom_tally *t, const struct run_stats *p,
				const struct loom_agree_options *o)
{
	if (run_stats_leaves_out(p) || o->leaves_out)
		return "records were filtered, sampled out or dropped";
	if (p->joins_cores)
		return "the statistics join several cores";
	if (o->without_start > 0)
		return "an invocation has no start: records may have been filtered";
	if (t->refused > 0)
		return "records are out of order";
	if (is_cut(t, p))
		return "the run was cut after its last snapshot";
	return NULL;
}

static const struct {
	enum stats_counter counter;
	size_t offset; /* in the row */
	uint8_t kind;
	const char *what;
} compared[] = {
	{STATS_ACTIVE_CYCLES, offsetof(struct loom_row, active), LOOM_NODE_FIRE, "activity"},
	{STATS_STALL_CYCLES_IN, offsetof(struct loom_row, stall_in), LOOM_NODE_STALL_IN,
	 "an input stall"},
	{STATS_STALL_CYCLES_OUT, offsetof(struct loom_row, stall_out), LOOM_NODE_STALL_OUT,
	 "an output stall"},
};

/* Compares one snapshot; reports differences to `findings` unless it is NULL. Returns their number.
 */
static uint64_t compare(const struct loom_tally *t, const struct run_stats *p,
			const struct stats_snapshot *s, struct loom_violations *findings)
{
	const struct loom_row *row = loom_agree_row(t, p, s);
	static const struct loom_row nothing;
	uint64_t differences = 0;

	if (!s->is_last)
		return 0;
	if (!row)
		row = &nothing;
	for (size_t i = 0; i < 3; i++) {
		uint64_t have = *(const uint64_t *)((const char *)row + compared[i].offset);
		/* stalls are counted by all producers, but not all of them record them */
		bool written = i == 0 || t->of_kind[compared[i].kind] > 0;

		if (!written || !stats_has(s, compared[i].counter) ||
		    have == s->counters[compared[i].counter])
			continue;
		differences++;
		if (findings)
			stats_found(findings, p, s, LOOM_P6,
				    "%llu cycles with %s in the trace, %s %llu", LLU(have),
				    compared[i].what, stats_counter_names[compared[i].counter],
				    LLU(s->counters[compared[i].counter]));
	}
	return differences;
}

uint64_t loom_agree_differences(const struct loom_tally *t, const struct run_stats *p)
{
	uint64_t n = 0;

	for (size_t i = 0; i < p->nsnapshots; i++)
		n += compare(t, p, &p->snapshots[i], NULL);
	return n;
}

void loom_agree(const struct loom_tally *t, const struct run_stats *p,
		const struct loom_agree_options *o, struct loom_violations *findings)
{
	struct stats_number announced = p->form == STATS_LOOM ? p->events.written : p->event_count;
	/* upstream's counters are of the last run alone */
	uint64_t have =
		p->form == STATS_LOOM ? t->of_kind[LOOM_CONFIG_WRITE] : o->last_config_writes;
	uint64_t want;

	if (announced.given && announced.v != t->records)
		stats_found(findings, p, NULL, LOOM_P8,
			    "%llu records are announced but the trace holds %llu", LLU(announced.v),
			    LLU(t->records));
	if (!run_stats_leaves_out(p) && !o->leaves_out && o->without_start == 0 &&
	    (!o->is_json || t->of_kind[LOOM_CONFIG_WRITE] > 0) &&
	    run_stats_config_writes(p, &want) && have != want)
		stats_found(findings, p, NULL, LOOM_P9,
			    "%llu configuration writes but %llu CONFIG_WRITE records", LLU(want),
			    LLU(have));
	if (loom_agree_obstacle(t, p, o))
		return;
	for (size_t i = 0; i < p->nsnapshots; i++)
		compare(t, p, &p->snapshots[i], findings);
}
