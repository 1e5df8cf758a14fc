/* SPDX-License-Identifier: MIT */
/*
 * run_stats_json: reads statistics of upstream in JSON. In: camelCase keys with nodePerf, or
 * modules of the gem5 device; out: run_stats.
 */
#include <math.h>
#include <string.h>

#include "trace/loom/stats/run_stats_load.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define AT(member)   offsetof(struct run_stats, member)
#define SUM(counter) (AT(sums) + (counter) * sizeof(struct stats_number))

/* ---- legacy ---- */

static const struct {
	const char *key;
	enum stats_counter counter;
} node_counters[] = {
	{"activeCycles", STATS_ACTIVE_CYCLES},
	{"stallCyclesIn", STATS_STALL_CYCLES_IN},
	{"stallCyclesOut", STATS_STALL_CYCLES_OUT},
	{"tokensIn", STATS_TOKENS_IN},
	{"tokensOut", STATS_TOKENS_OUT},
	{"configWrites", STATS_CONFIG_WRITES},
};

static const struct {
	const char *key;
	enum stats_metric metric;
} node_metrics[] = {
	{"utilization", STATS_M_UTILIZATION},
	{"inputStallRatio", STATS_M_INPUT_STALL},
	{"outputStallRatio", STATS_M_OUTPUT_STALL},
	{"throughputProxy", STATS_M_THROUGHPUT},
};

static bool node_counter(struct stats_loader *l, void *to, const char *key)
{
	(void)to;
	for (size_t i = 0; i < COUNT(node_counters); i++) {
		if (!strcmp(key, node_counters[i].key))
			return stats_counter_value(l, node_counters[i].counter, key);
	}
	return tokens_skip(&l->t);
}

static bool node_metric(struct stats_loader *l, void *to, const char *key)
{
	(void)to;
	for (size_t i = 0; i < COUNT(node_metrics); i++) {
		if (!strcmp(key, node_metrics[i].key))
			return stats_metric_value(l, node_metrics[i].metric, key);
	}
	return tokens_skip(&l->t);
}

#define NODE_COUNTERS                                                                              \
	(1u << STATS_ACTIVE_CYCLES | 1u << STATS_STALL_CYCLES_IN | 1u << STATS_STALL_CYCLES_OUT |  \
	 1u << STATS_TOKENS_IN | 1u << STATS_TOKENS_OUT | 1u << STATS_CONFIG_WRITES)

static bool node(struct stats_loader *l)
{
	static const struct stats_field fields[] = {
		{"nodeIndex", stats_u32, offsetof(struct stats_snapshot, hw_node_id)},
		{"activeCycles", node_counter, 0},
		{"stallCyclesIn", node_counter, 0},
		{"stallCyclesOut", node_counter, 0},
		{"tokensIn", node_counter, 0},
		{"tokensOut", node_counter, 0},
		{"configWrites", node_counter, 0},
		{"utilization", node_metric, 0},
		{"inputStallRatio", node_metric, 0},
		{"outputStallRatio", node_metric, 0},
		{"throughputProxy", node_metric, 0},
	};
	struct stats_snapshot *s = stats_new_snapshot(l);
	uint64_t seen;

	if (!s || !stats_read_object(l, fields, COUNT(fields), s, &seen))
		return false;
	if (!(seen & 1))
		return tokens_refuse(&l->t, "this node has no nodeIndex");
	stats_want(l, s, NODE_COUNTERS);
	return true;
}

static bool nodes(struct stats_loader *l, void *to, const char *key)
{
	bool ok = stats_read_array(l, node);

	(void)to;
	(void)key;
	l->snapshot = NULL;
	return ok;
}

static bool overhead(struct stats_loader *l, void *to, const char *key)
{
	(void)to;
	l->perf->has_config_overhead = true;
	return stats_real(l, &l->perf->config_overhead, key);
}

static bool summary(struct stats_loader *l, void *to, const char *key)
{
	static const struct stats_field fields[] = {
		{"nodeCount", stats_number, AT(node_count)},
		{"totalActiveCycles", stats_number, SUM(STATS_ACTIVE_CYCLES)},
		{"totalStallInCycles", stats_number, SUM(STATS_STALL_CYCLES_IN)},
		{"totalStallOutCycles", stats_number, SUM(STATS_STALL_CYCLES_OUT)},
		{"totalTokensIn", stats_number, SUM(STATS_TOKENS_IN)},
		{"totalTokensOut", stats_number, SUM(STATS_TOKENS_OUT)},
		{"totalConfigWrites", stats_number, SUM(STATS_CONFIG_WRITES)},
		{"configOverheadRatio", overhead, 0},
		{"traceEventCount", stats_number, AT(event_count)},
	};
	uint64_t seen;

	(void)to;
	(void)key;
	return stats_read_object(l, fields, COUNT(fields), l->perf, &seen);
}

static bool success(struct stats_loader *l, void *to, const char *key)
{
	l->perf->has_success = true;
	return stats_bool(l, to, key);
}

/* Reports P2 for missing keys that all versions have; the first versions had fewer keys. */
static void want_totals(const struct stats_loader *l)
{
	const struct run_stats *p = l->perf;
	const struct {
		const char *key;
		bool given;
	} wanted[] = {
		{"totalCycles", p->total_cycles.given},
		{"configCycles", p->config_cycles.given},
		{"executionCycles", p->execution_cycles.given},
	};
	struct loom_place place = stats_place(p, NULL);

	for (size_t i = 0; i < COUNT(wanted); i++) {
		if (!wanted[i].given)
			loom_violation_add(l->findings, LOOM_P2, &place, "no %s", wanted[i].key);
	}
}

static bool load_legacy(struct stats_loader *l)
{
	static const struct stats_field fields[] = {
		{"success", success, AT(success)},
		{"termination", stats_text, AT(termination)},
		{"errorMessage", stats_text, AT(error_message)},
		{"totalCycles", stats_number, AT(total_cycles)},
		{"configCycles", stats_number, AT(config_cycles)},
		{"executionCycles", stats_number, AT(execution_cycles)},
		{"nodePerf", nodes, 0},
		{"summary", summary, 0},
	};
	uint64_t seen;

	if (!stats_read_object(l, fields, COUNT(fields), l->perf, &seen))
		return false;
	want_totals(l);
	return true;
}

/* ---- gem5 ---- */

static const struct {
	const char *key;
	enum stats_counter counter;
} module_counters[] = {
	{"active_cycles", STATS_ACTIVE_CYCLES},
	{"stall_cycles_in", STATS_STALL_CYCLES_IN},
	{"stall_cycles_out", STATS_STALL_CYCLES_OUT},
	{"tokens_in", STATS_TOKENS_IN},
	{"tokens_out", STATS_TOKENS_OUT},
	{"config_writes", STATS_CONFIG_WRITES},
};

/* Reads a key of a module beside its names; `key` is NULL at its end. */
static bool module_key(void *arg, struct tokens *t, const char *key, const struct loom_module *m)
{
	struct stats_loader *l = arg;

	if (!l->snapshot && !stats_new_snapshot(l))
		return false;
	if (!key) {
		l->snapshot->hw_node_id = m->hw_node_id;
		l->snapshot->has_core = !m->any_core;
		l->snapshot->core_id = m->core_id;
		stats_want(l, l->snapshot,
			   1u << STATS_ACTIVE_CYCLES | 1u << STATS_STALL_CYCLES_IN |
				   1u << STATS_STALL_CYCLES_OUT | 1u << STATS_TOKENS_IN |
				   1u << STATS_TOKENS_OUT);
		l->snapshot = NULL;
		return true;
	}
	for (size_t i = 0; i < COUNT(module_counters); i++) {
		if (!strcmp(key, module_counters[i].key))
			return stats_counter_value(l, module_counters[i].counter,
						   module_counters[i].key);
	}
	if (!strcmp(key, "dynamic_utilization"))
		return stats_metric_value(l, STATS_M_UTILIZATION, "dynamic_utilization");
	return tokens_skip(t);
}

static bool modules(struct stats_loader *l, void *to, const char *key)
{
	struct token v;

	(void)to;
	(void)key;
	if (!tokens_value(&l->t, &v))
		return false;
	if (v.type != TOKEN_ARRAY)
		return tokens_refuse(&l->t, "the modules must be an array");
	return loom_modules_read(&l->perf->modules, &l->t, module_key, l);
}

static bool load_gem5(struct stats_loader *l)
{
	static const struct stats_field fields[] = {
		{"success", success, AT(success)},
		{"termination", stats_text, AT(termination)},
		{"total_cycles", stats_number, AT(total_cycles)},
		{"kernel_cycles", stats_number, AT(kernel_cycles)},
		{"modules", modules, 0},
	};
	struct loom_place place = stats_place(l->perf, NULL);
	uint64_t seen;

	if (!stats_read_object(l, fields, COUNT(fields), l->perf, &seen))
		return false;
	if (!l->perf->total_cycles.given)
		loom_violation_add(l->findings, LOOM_P2, &place, "no total_cycles");
	if (!l->perf->kernel_cycles.given)
		loom_violation_add(l->findings, LOOM_P2, &place, "no kernel_cycles");
	return true;
}

bool stats_load_json(struct stats_loader *l)
{
	bool ok = l->perf->form == STATS_LEGACY ? load_legacy(l) : load_gem5(l);

	return ok && tokens_end(&l->t);
}
