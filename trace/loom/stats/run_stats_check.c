/* SPDX-License-Identifier: MIT */
/*
 * run_stats_check: checks statistics by themselves. In: run_stats; out: violations of ratios and
 * counters, totals and sums, cycles and windows, and of the counts of events.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/hash.h"
#include "trace/loom/stats/run_stats.h"

#define LLU(v) ((unsigned long long)(v))

typedef unsigned __int128 u128; /* for sums of 64-bit numbers */

struct check {
	const struct run_stats *p;
	struct loom_violations *f;
	struct hash invocations; /* by their ids */
};

static uint64_t value(const struct stats_snapshot *s, enum stats_counter c)
{
	return stats_has(s, c) ? s->counters[c] : 0;
}

/* ---- P3 ---- */

/* Upstream prints six significant digits, loom-perf nine. */
bool stats_agrees(const struct run_stats *p, double have, double want)
{
	double off = fabs(have - want);

	if (isnan(have) || isnan(want))
		return isnan(have) && isnan(want);
	if (p->form == STATS_LOOM)
		return off <= 1e-6 * fabs(want) || off <= 1e-12;
	return off <= 5e-6 * fabs(want) || off <= 5e-7;
}

static void check_ratio(const struct check *c, const struct stats_snapshot *s, const char *name,
			double have, double want)
{
	struct loom_place place = stats_place(c->p, s);
	char called[96] = "summary";

	if (stats_agrees(c->p, have, want))
		return;
	if (s)
		stats_called(s, called, sizeof(called));
	if (isnan(have))
		loom_violation_add(c->f, LOOM_P3, &place, "%s %s null but counters give %.9g",
				   called, name, want);
	else if (isnan(want))
		loom_violation_add(c->f, LOOM_P3, &place, "%s %s %.9g but nothing was active",
				   called, name, have);
	else
		loom_violation_add(c->f, LOOM_P3, &place, "%s %s %.9g but counters give %.9g",
				   called, name, have, want);
}

void stats_wanted(const struct run_stats *p, const struct stats_snapshot *s,
		  double out[STATS_NMETRICS])
{
	u128 busy = (u128)value(s, STATS_ACTIVE_CYCLES) + value(s, STATS_STALL_CYCLES_IN) +
		    value(s, STATS_STALL_CYCLES_OUT);

	stats_derive(s->counters, value(s, STATS_TOTAL_CYCLES), out);
	if (p->form == STATS_LEGACY) {
		out[STATS_M_UTILIZATION] = stats_ratio(value(s, STATS_ACTIVE_CYCLES), busy);
		out[STATS_M_INPUT_STALL] = stats_ratio(value(s, STATS_STALL_CYCLES_IN), busy);
		out[STATS_M_OUTPUT_STALL] = stats_ratio(value(s, STATS_STALL_CYCLES_OUT), busy);
		if (isnan(out[STATS_M_THROUGHPUT]))
			out[STATS_M_THROUGHPUT] = 0; /* upstream has 0 instead of null */
	}
	if (p->form == STATS_GEM5)
		out[STATS_M_UTILIZATION] =
			stats_ratio(value(s, STATS_ACTIVE_CYCLES), p->kernel_cycles.v);
}

/* True if a metric and all counters that it depends on are there (P2 reports missing ones). */
bool stats_announces(const struct run_stats *p, const struct stats_snapshot *s, enum stats_metric m)
{
	static const uint64_t sources[STATS_NMETRICS] = {
		[STATS_M_UTILIZATION] = 1u << STATS_ACTIVE_CYCLES,
		[STATS_M_INPUT_STALL] = 1u << STATS_STALL_CYCLES_IN,
		[STATS_M_OUTPUT_STALL] = 1u << STATS_STALL_CYCLES_OUT,
		[STATS_M_THROUGHPUT] = 1u << STATS_ACTIVE_CYCLES | 1u << STATS_TOKENS_OUT,
		[STATS_M_CONFIG_OVERHEAD] = 1u << STATS_CONFIG_WRITES,
	};

	if (!(s->has_metric >> m & 1))
		return false;
	if (p->form == STATS_LOOM && !stats_has(s, STATS_TOTAL_CYCLES))
		return false;
	return (s->has_counter & sources[m]) == sources[m];
}

static void check_metrics(const struct check *c, const struct stats_snapshot *s)
{
	double want[STATS_NMETRICS];

	stats_wanted(c->p, s, want);
	for (int m = 0; m < STATS_NMETRICS; m++) {
		if (stats_announces(c->p, s, (enum stats_metric)m))
			check_ratio(c, s, stats_metric_names[m], s->metrics[m], want[m]);
	}
}

/* ---- P4 ---- */

static void check_sums(const struct check *c)
{
	const struct run_stats *p = c->p;

	for (int k = 0; k < STATS_NCOUNTERS; k++) {
		u128 sum = 0;
		bool whole = p->sums[k].given && (p->form != STATS_TEXT || p->nsnapshots > 0);

		for (size_t i = 0; i < p->nsnapshots; i++) {
			sum += value(&p->snapshots[i], (enum stats_counter)k);
			whole &= stats_has(&p->snapshots[i], (enum stats_counter)k);
		}
		if (whole && sum != p->sums[k].v)
			stats_found(c->f, c->p, NULL, LOOM_P4,
				    "summary total of %s %llu but nodes sum to %s%llu",
				    stats_counter_names[k], LLU(p->sums[k].v),
				    sum >> 64 ? "more than 64 bits: 2^64 * n + " : "", LLU(sum));
	}
	if (p->node_count.given && p->node_count.v != p->nsnapshots)
		stats_found(c->f, c->p, NULL, LOOM_P4, "nodeCount %llu but %zu nodes are listed",
			    LLU(p->node_count.v), p->nsnapshots);
	if (p->snapshot_count.given && p->snapshot_count.v != p->nsnapshots)
		stats_found(c->f, c->p, NULL, LOOM_P4,
			    "perf_snapshot_count %llu but %zu nodes are listed",
			    LLU(p->snapshot_count.v), p->nsnapshots);
	if (p->first_cycle.given && p->end_cycle.given && p->window_cycles.given &&
	    (p->end_cycle.v < p->first_cycle.v ||
	     p->end_cycle.v - p->first_cycle.v != p->window_cycles.v))
		stats_found(c->f, c->p, NULL, LOOM_P4,
			    "window: total %llu but it goes from %llu to %llu",
			    LLU(p->window_cycles.v), LLU(p->first_cycle.v), LLU(p->end_cycle.v));
}

/* Sorts snapshots by core and cycle, into groups of one core and cycle. */
static int by_core_and_cycle(const void *a, const void *b)
{
	const struct stats_snapshot *x = *(const struct stats_snapshot *const *)a;
	const struct stats_snapshot *y = *(const struct stats_snapshot *const *)b;

#define ORDER(member)                                                                              \
	do {                                                                                       \
		if (x->member != y->member)                                                        \
			return x->member < y->member ? -1 : 1;                                     \
	} while (0)
	ORDER(core_id);
	ORDER(epoch_id);
	ORDER(invocation_id);
	ORDER(cycle);
#undef ORDER
	if (x->scope != y->scope)
		return x->scope == STATS_CORE ? -1 : 1;
	if (x->hw_node_id != y->hw_node_id)
		return x->hw_node_id < y->hw_node_id ? -1 : 1;
	return x < y ? -1 : x > y;
}

static bool same_group(const struct stats_snapshot *x, const struct stats_snapshot *y)
{
	return x->core_id == y->core_id && x->epoch_id == y->epoch_id &&
	       x->invocation_id == y->invocation_id && x->cycle == y->cycle;
}

/* Compares the core with its nodes: tokens are sums; configuration writes may be of the core alone.
 */
static void check_core(const struct check *c, const struct stats_snapshot *core,
		       const struct stats_snapshot *const *nodes, size_t n)
{
	static const enum stats_counter summed[] = {STATS_TOKENS_IN, STATS_TOKENS_OUT,
						    STATS_CONFIG_WRITES};

	for (size_t k = 0; k < 3 && n > 0; k++) {
		u128 sum = 0;
		uint64_t have = value(core, summed[k]);

		if (!stats_has(core, summed[k]))
			continue;
		for (size_t i = 0; i < n; i++)
			sum += value(nodes[i], summed[k]);
		if (sum > have ||
		    (sum != have && summed[k] != STATS_CONFIG_WRITES && !c->p->controls.by_node))
			stats_found(c->f, c->p, core, LOOM_P4, "%s %llu but nodes sum to %llu",
				    stats_counter_names[summed[k]], LLU(have), LLU(sum));
	}
}

/* Checks P4 and P11 in the snapshots of a co-simulation. */
static int check_groups(const struct check *c)
{
	size_t n = c->p->nsnapshots, start = 0;
	const struct stats_snapshot **sorted = calloc(n ? n : 1, sizeof(*sorted));
	char called[96];

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		sorted[i] = &c->p->snapshots[i];
	qsort(sorted, n, sizeof(*sorted), by_core_and_cycle);
	for (size_t i = 1; i <= n; i++) {
		if (i < n && same_group(sorted[i - 1], sorted[i])) {
			if (sorted[i - 1]->scope == sorted[i]->scope &&
			    sorted[i - 1]->hw_node_id == sorted[i]->hw_node_id) {
				struct loom_place place = stats_place(c->p, sorted[i]);

				loom_violation_add(c->f, LOOM_P11, &place,
						   "two snapshots of %s at cycle %llu",
						   stats_called(sorted[i], called, sizeof(called)),
						   LLU(sorted[i]->cycle));
			}
			continue;
		}
		if (sorted[start]->scope == STATS_CORE)
			check_core(c, sorted[start], sorted + start + 1, i - start - 1);
		start = i;
	}
	free(sorted);
	return 0;
}

static struct hash_key invocation_key(uint64_t id, uint32_t epoch, uint16_t core)
{
	return (struct hash_key){id, epoch, core};
}

/* Finds the invocations by their ids. */
static int index_invocations(struct check *c)
{
	for (size_t i = 0; i < c->p->ninvocations; i++) {
		const struct stats_invocation *v = &c->p->invocations[i];
		uint32_t *at = hash_at(&c->invocations,
				       invocation_key(v->invocation_id, v->epoch_id, v->core_id));

		if (!at)
			return -ENOMEM;
		*at = (uint32_t)i;
	}
	return 0;
}

/* Checks the window of a snapshot, from the start of its invocation to its cycle. */
static void check_window(const struct check *c, const struct stats_snapshot *s)
{
	uint32_t at = hash_get(&c->invocations,
			       invocation_key(s->invocation_id, s->epoch_id, s->core_id));
	const struct stats_invocation *v;
	uint64_t end = s->cycle;

	if (at == HASH_NONE || !stats_has(s, STATS_TOTAL_CYCLES))
		return;
	v = &c->p->invocations[at];
	if (end > v->end_cycle)
		end = v->end_cycle;
	if (end < v->start_cycle || end - v->start_cycle != value(s, STATS_TOTAL_CYCLES))
		stats_found(c->f, c->p, s, LOOM_P4,
			    "total_cycles %llu but its invocation goes from %llu to %llu",
			    LLU(value(s, STATS_TOTAL_CYCLES)), LLU(v->start_cycle), LLU(end));
}

/* ---- P5 ---- */

/* The window of the nodes of upstream. */
static struct stats_number upstream_window(const struct run_stats *p)
{
	struct stats_number window = p->execution_cycles;

	if (p->form == STATS_GEM5)
		return p->kernel_cycles.given ? p->kernel_cycles : p->total_cycles;
	if (p->form == STATS_TEXT && p->total_cycles.given) {
		window = p->total_cycles;
		window.v -= p->config_cycles.v < window.v ? p->config_cycles.v : window.v;
	}
	return window.given ? window : p->total_cycles;
}

struct stats_number stats_window(const struct run_stats *p, const struct stats_snapshot *s)
{
	if (p->form == STATS_LOOM)
		return (struct stats_number){value(s, STATS_TOTAL_CYCLES),
					     stats_has(s, STATS_TOTAL_CYCLES)};
	return upstream_window(p);
}

static void check_fit(const struct check *c, const struct stats_snapshot *s)
{
	u128 accounted = (u128)value(s, STATS_ACTIVE_CYCLES) + value(s, STATS_STALL_CYCLES_IN) +
			 value(s, STATS_STALL_CYCLES_OUT);
	struct stats_number window = stats_window(c->p, s);

	if (window.given && accounted > window.v)
		stats_found(c->f, c->p, s, LOOM_P5, "%llu accounted cycles in a window of %llu",
			    LLU(accounted), LLU(window.v));
}

/* ---- P7, P10, P11, P12 ---- */

static void check_execution(const struct check *c)
{
	const struct run_stats *p = c->p;
	uint64_t want;

	if (!p->total_cycles.given || !p->config_cycles.given || !p->execution_cycles.given)
		return;
	want = p->total_cycles.v > p->config_cycles.v ? p->total_cycles.v - p->config_cycles.v : 0;
	if (p->execution_cycles.v != want)
		stats_found(c->f, c->p, NULL, LOOM_P7,
			    "executionCycles %llu but total - configuration is %llu",
			    LLU(p->execution_cycles.v), LLU(want));
}

static void check_account(const struct check *c)
{
	const struct stats_account *e = &c->p->events;
	u128 sum = (u128)e->written.v + e->filtered.v + e->sampled_out.v + e->dropped.v;
	bool breaks = (e->by_kind && e->of_kinds != e->dropped.v) ||
		      (e->by_core && e->of_cores != e->dropped.v);

	if (e->seen.given && e->written.given && sum != e->seen.v)
		stats_found(c->f, c->p, NULL, LOOM_P10,
			    "seen %llu but written %llu + filtered %llu + sampled out %llu + "
			    "dropped %llu",
			    LLU(e->seen.v), LLU(e->written.v), LLU(e->filtered.v),
			    LLU(e->sampled_out.v), LLU(e->dropped.v));
	if (e->dropped_full.given || e->dropped_size.given || e->dropped_user.given)
		breaks |= (u128)e->dropped_full.v + e->dropped_size.v + e->dropped_user.v !=
			  e->dropped.v;
	if (breaks)
		stats_found(c->f, c->p, NULL, LOOM_P10,
			    "the breakdown of the drops does not add up to %llu",
			    LLU(e->dropped.v));
}

static void check_losses(const struct check *c)
{
	const struct stats_account *e = &c->p->events;
	char kinds[256] = "", room[8];
	size_t len = 0;

	for (int k = 0; k < 256 && len + 48 < sizeof(kinds); k++) {
		if (e->of_kind[k] > 0)
			len += (size_t)snprintf(kinds + len, sizeof(kinds) - len, "%s%s %llu",
						len ? ", " : ": ", loom_kind_name((uint8_t)k, room),
						LLU(e->of_kind[k]));
	}
	if (e->dropped.v > 0)
		stats_found(c->f, c->p, NULL, LOOM_P12, "%llu records dropped%s", LLU(e->dropped.v),
			    kinds);
	if (e->sampled_out.v > 0)
		stats_found(c->f, c->p, NULL, LOOM_P12, "%llu records sampled out",
			    LLU(e->sampled_out.v));
	if (e->filtered.v > 0)
		stats_found(c->f, c->p, NULL, LOOM_P12, "%llu records filtered",
			    LLU(e->filtered.v));
}

int run_stats_check(const struct run_stats *p, struct loom_violations *findings)
{
	struct check c = {.p = p, .f = findings};
	int err = index_invocations(&c);

	if (err)
		goto out;
	for (size_t i = 0; i < p->nsnapshots; i++) {
		const struct stats_snapshot *s = &p->snapshots[i];

		check_metrics(&c, s);
		check_fit(&c, s);
		if (p->form == STATS_LOOM)
			check_window(&c, s);
	}
	if (p->has_config_overhead)
		check_ratio(&c, NULL, "configOverheadRatio", p->config_overhead,
			    stats_ratio(p->sums[STATS_CONFIG_WRITES].v, p->total_cycles.v));
	check_sums(&c);
	err = p->form == STATS_LOOM ? check_groups(&c) : 0;
	if (err)
		goto out;
	check_execution(&c);
	check_account(&c);
	if (p->joins_cores)
		stats_found(
			findings, p, NULL, LOOM_P11,
			"node %u is listed twice: the file joins several cores without naming them",
			p->joined_node);
	check_losses(&c);
out:
	hash_free(&c.invocations);
	return err;
}
