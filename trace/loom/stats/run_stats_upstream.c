/* SPDX-License-Identifier: MIT */
/*
 * run_stats_upstream: the statistics that upstream's simulators write: two forms of JSON, and text.
 *
 * In: a file, out: struct run_stats. Their files have no version: keys that are not known are of
 * other versions, and are skipped.
 * Specification: loom.md 5, 12.
 */
#include "trace/loom/stats/run_stats_load.h"

#include <string.h>

#include "trace/base/units.h"

#define BIT(counter) (1u << STATS_##counter)
#define SUM(counter)                                                                               \
	offsetof(struct run_stats, sums) + STATS_##counter * sizeof(struct stats_number)

static bool read_node(struct stats_loader *l, const struct token *v)
{
	static const struct field fields[] = {
		{"nodeIndex", FIELD_ID, IN(stats_snapshot, hw_node_id)},
		{"activeCycles", FIELD_COUNTER, .at = STATS_ACTIVE_CYCLES},
		{"stallCyclesIn", FIELD_COUNTER, .at = STATS_STALL_CYCLES_IN},
		{"stallCyclesOut", FIELD_COUNTER, .at = STATS_STALL_CYCLES_OUT},
		{"tokensIn", FIELD_COUNTER, .at = STATS_TOKENS_IN},
		{"tokensOut", FIELD_COUNTER, .at = STATS_TOKENS_OUT},
		{"configWrites", FIELD_COUNTER, .at = STATS_CONFIG_WRITES},
		{"utilization", FIELD_METRIC, .at = STATS_M_UTILIZATION},
		{"inputStallRatio", FIELD_METRIC, .at = STATS_M_INPUT_STALL},
		{"outputStallRatio", FIELD_METRIC, .at = STATS_M_OUTPUT_STALL},
		{"throughputProxy", FIELD_METRIC, .at = STATS_M_THROUGHPUT},
	};
	struct stats_snapshot *s = stats_new_snapshot(l, l->element_at);
	uint64_t seen;

	if (!s || !stats_read_fields(l, v, fields, COUNT(fields), s, &seen))
		return false;
	if (!(seen & 1))
		return tokens_refuse(&l->t, "this node has no nodeIndex");
	stats_require_counters(l, ALL_COUNTERS & ~BIT(TOTAL_CYCLES));
	return true;
}

static bool read_overhead(struct stats_loader *l, const struct token *v)
{
	l->p->has_config_overhead = true;
	return stats_read_real(l, v, &l->p->config_overhead);
}

bool stats_load_legacy(struct stats_loader *l, const struct token *v)
{
	static const struct field summary[] = {
		{"nodeCount", FIELD_NUMBER, IN(run_stats, node_count)},
		{"totalActiveCycles", FIELD_NUMBER, .at = SUM(ACTIVE_CYCLES)},
		{"totalStallInCycles", FIELD_NUMBER, .at = SUM(STALL_CYCLES_IN)},
		{"totalStallOutCycles", FIELD_NUMBER, .at = SUM(STALL_CYCLES_OUT)},
		{"totalTokensIn", FIELD_NUMBER, .at = SUM(TOKENS_IN)},
		{"totalTokensOut", FIELD_NUMBER, .at = SUM(TOKENS_OUT)},
		{"totalConfigWrites", FIELD_NUMBER, .at = SUM(CONFIG_WRITES)},
		{"configOverheadRatio", OTHER(read_overhead)},
		{"traceEventCount", FIELD_NUMBER, IN(run_stats, event_count)},
	};
	static const struct field fields[] = {
		{"success", .type = FIELD_BOOL},
		{"termination", .type = FIELD_TEXT},
		{"errorMessage", .type = FIELD_TEXT},
		{"totalCycles", FIELD_NUMBER, IN(run_stats, total_cycles)},
		{"configCycles", FIELD_NUMBER, IN(run_stats, config_cycles)},
		{"executionCycles", FIELD_NUMBER, IN(run_stats, execution_cycles)},
		{"nodePerf", ARRAY_OF(read_node)},
		{"summary", OBJECT_OF(summary)},
	};
	uint64_t seen;

	if (!stats_read_fields(l, v, fields, COUNT(fields), l->p, &seen))
		return false;
	/* all versions have these; the first ones had fewer other keys */
	stats_require_number(l, &l->p->total_cycles, "totalCycles");
	stats_require_number(l, &l->p->config_cycles, "configCycles");
	stats_require_number(l, &l->p->execution_cycles, "executionCycles");
	return true;
}

/* Reads a key of a module beside its names; `key` is NULL at its end. */
static bool read_module_key(void *arg, struct tokens *t, const char *key,
			    const struct loom_module *m)
{
	static const struct field fields[] = {
		{"active_cycles", FIELD_COUNTER, .at = STATS_ACTIVE_CYCLES},
		{"stall_cycles_in", FIELD_COUNTER, .at = STATS_STALL_CYCLES_IN},
		{"stall_cycles_out", FIELD_COUNTER, .at = STATS_STALL_CYCLES_OUT},
		{"tokens_in", FIELD_COUNTER, .at = STATS_TOKENS_IN},
		{"tokens_out", FIELD_COUNTER, .at = STATS_TOKENS_OUT},
		{"config_writes", FIELD_COUNTER, .at = STATS_CONFIG_WRITES},
		{"dynamic_utilization", FIELD_METRIC, .at = STATS_M_UTILIZATION},
	};
	struct stats_loader *l = arg;

	if (!l->snapshot && !stats_new_snapshot(l, inflow_offset(&l->in)))
		return false;
	if (!key) {
		l->snapshot->hw_node_id = m->hw_node_id;
		l->snapshot->has_core = !m->any_core;
		l->snapshot->core_id = m->core_id;
		stats_require_counters(l, ALL_COUNTERS & ~BIT(TOTAL_CYCLES) & ~BIT(CONFIG_WRITES));
		l->snapshot = NULL;
		return true;
	}
	for (size_t i = 0; i < COUNT(fields); i++) {
		if (!strcmp(key, fields[i].key))
			return stats_read_field(l, &fields[i], l->snapshot);
	}
	return tokens_skip(t);
}

static bool read_modules(struct stats_loader *l, const struct token *v)
{
	if (v->type != TOKEN_ARRAY)
		return tokens_refuse(&l->t, "the modules must be an array");
	return loom_modules_read(&l->p->modules, &l->t, read_module_key, l);
}

bool stats_load_gem5(struct stats_loader *l, const struct token *v)
{
	static const struct field fields[] = {
		{"success", .type = FIELD_BOOL},
		{"termination", .type = FIELD_TEXT},
		{"total_cycles", FIELD_NUMBER, IN(run_stats, total_cycles)},
		{"kernel_cycles", FIELD_NUMBER, IN(run_stats, kernel_cycles)},
		{"modules", OTHER(read_modules)},
	};
	uint64_t seen;

	if (!stats_read_fields(l, v, fields, COUNT(fields), l->p, &seen))
		return false;
	stats_require_number(l, &l->p->total_cycles, "total_cycles");
	stats_require_number(l, &l->p->kernel_cycles, "kernel_cycles");
	return true;
}

/* ---- upstream's text ---- */

/* Parses a decimal number without a suffix, or reports P2. */
static struct stats_number parse_counter(struct stats_loader *l, const char *key, const char *text)
{
	struct stats_number n = {.v = 0};

	n.given = !units_parse_number(text, &n.v);
	if (!n.given)
		stats_no_counter(l, key);
	return n;
}

/* Reads a line of the run. *known is set for a key that only statistics have. */
static bool run_line(struct stats_loader *l, const char *key, const char *value, bool *known)
{
	static const struct field numbers[] = {
		{"total_cycles", FIELD_NUMBER, IN(run_stats, total_cycles)},
		{"config_cycles", FIELD_NUMBER, IN(run_stats, config_cycles)},
		{"total_config_writes", FIELD_NUMBER, .at = SUM(CONFIG_WRITES)},
		{"trace_event_count", FIELD_NUMBER, IN(run_stats, event_count)},
		{"perf_snapshot_count", FIELD_NUMBER, IN(run_stats, snapshot_count)},
	};

	*known |= !strcmp(key, "success") || !strcmp(key, "termination");
	for (size_t i = 0; i < COUNT(numbers); i++) {
		struct stats_number *n = (struct stats_number *)((char *)l->p + numbers[i].at);

		if (strcmp(key, numbers[i].key) != 0)
			continue;
		if (n->given)
			return tokens_refuse(&l->t, "a key twice");
		*n = parse_counter(l, key, value);
		break;
	}
	return true; /* other keys are of other versions */
}

static bool node_value(struct stats_loader *l, struct stats_snapshot *s, const char *key,
		       const char *value, bool *named)
{
	static const struct {
		const char *key;
		enum stats_counter counter;
	} counters[] = {
		{"active", STATS_ACTIVE_CYCLES},       {"stall_in", STATS_STALL_CYCLES_IN},
		{"stall_out", STATS_STALL_CYCLES_OUT}, {"tokens_in", STATS_TOKENS_IN},
		{"tokens_out", STATS_TOKENS_OUT},      {"config_writes", STATS_CONFIG_WRITES},
	};
	uint64_t v;

	if (!strcmp(key, "node")) {
		if (units_parse_number(value, &v) || v > UINT32_MAX)
			return tokens_refuse(&l->t, "a node is a number of 32 bits");
		s->hw_node_id = (uint32_t)v;
		*named = true;
		return true;
	}
	for (size_t i = 0; i < COUNT(counters); i++) {
		if (strcmp(key, counters[i].key) != 0)
			continue;
		stats_set_counter(s, counters[i].counter, parse_counter(l, key, value));
		break;
	}
	return true;
}

/* Parses "node=2 active=4 ..."; a blank may precede a value. */
static bool node_line(struct stats_loader *l, char *line)
{
	struct stats_snapshot *s = stats_new_snapshot(l, inflow_offset(&l->in));
	bool named = false;
	char *at = line;

	l->snapshot = NULL;
	if (!s)
		return false;
	while (*at) {
		char *key = at, *value = strchr(at, '='), *end;

		if (!value)
			return tokens_refuse(&l->t, "the line of a node consists of KEY=VALUE");
		*value++ = '\0';
		value += strspn(value, " \t");
		end = value + strcspn(value, " \t");
		at = end + strspn(end, " \t");
		*end = '\0';
		if (!node_value(l, s, key, value, &named))
			return false;
	}
	if (!named)
		return tokens_refuse(&l->t, "the line of a node starts with node=");
	l->snapshot = s;
	stats_require_counters(l, ALL_COUNTERS & ~BIT(TOTAL_CYCLES));
	l->snapshot = NULL;
	return true;
}

static bool text_line(struct stats_loader *l, char *line, bool *in_nodes, bool *known)
{
	char *colon;

	line += strspn(line, " \t");
	if (!*line)
		return true;
	if (!strcmp(line, "[node_perf]")) {
		*in_nodes = true;
		return true;
	}
	if (*in_nodes)
		return node_line(l, line);
	colon = strchr(line, ':');
	if (!colon)
		return tokens_refuse(&l->t,
				     "not a known form of statistics: neither JSON nor lines "
				     "\"key: value\"");
	*colon++ = '\0';
	return run_line(l, line, colon + strspn(colon, " \t"), known);
}

bool stats_load_text(struct stats_loader *l)
{
	struct run_stats *p = l->p;
	char line[LOOM_LINE_BYTES];
	bool in_nodes = false, known = false;
	int more;

	tokens_init(&l->t, &l->in);
	while ((more = loom_line_next(&l->in, line)) > 0) {
		if (!text_line(l, line, &in_nodes, &known))
			return false;
	}
	if (more < 0)
		return tokens_refuse(&l->t,
				     "not a known form of statistics: neither JSON nor text");
	if (l->in.error)
		return false;
	if (!p->total_cycles.given && !known)
		return tokens_refuse(&l->t, "not a known form of statistics");
	p->form = STATS_TEXT;
	stats_require_number(l, &p->total_cycles, "total_cycles");
	stats_require_number(l, &p->config_cycles, "config_cycles");
	return true;
}
