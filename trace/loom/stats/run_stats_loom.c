/* SPDX-License-Identifier: MIT */
/*
 * run_stats_loom: statistics in the form loom-perf.
 *
 * In: JSON with its version, out: struct run_stats with the controls of the recording.
 * Specification: loom.md 5, 12.
 */
#include "trace/loom/stats/run_stats_load.h"

#include <string.h>

#include "trace/base/array.h"

static bool read_version(struct stats_loader *l, const struct token *v)
{
	return (token_fits(v, 1) && v->integer == 1) ||
	       tokens_refuse(&l->t, "an unsupported version of the schema (1 is known)");
}

static bool check_mode(struct stats_loader *l, const struct token *v)
{
	return v->type == TOKEN_NULL ||
	       (v->type == TOKEN_STRING &&
		(!strcmp(v->text, "full") || !strcmp(v->text, "summary"))) ||
	       tokens_refuse(&l->t, "a mode is full or summary");
}

static bool read_clock(struct stats_loader *l, const struct token *v)
{
	static const struct field fields[] = {
		{"period_ps", FIELD_NUMBER, IN(run_stats, period_ps)}};
	uint64_t seen;

	if (!stats_read_fields(l, v, fields, COUNT(fields), l->p, &seen))
		return false;
	l->p->bad_period = seen && l->p->period_ps.v == 0;
	if (l->p->period_ps.given && l->p->bad_period)
		stats_found(l->findings, l->p, NULL, LOOM_P2, "clock.period_ps is 0");
	return true;
}

static bool read_kind(struct stats_loader *l, const struct token *v)
{
	uint8_t kind;

	if (v->type != TOKEN_STRING || !loom_kind_parse(v->text, v->len, &kind))
		return tokens_refuse(&l->t, "no such kind of record");
	loom_controls_add_kind(&l->p->controls, kind);
	return true;
}

static bool read_core(struct stats_loader *l, const struct token *v)
{
	if (!token_fits(v, UINT16_MAX))
		return tokens_refuse(&l->t, "a core is a number from 0 to 65535");
	if (loom_controls_add_core(&l->p->controls, (uint16_t)v->integer) < 0)
		return tokens_no_memory(&l->t);
	return true;
}

static bool read_chosen_node(struct stats_loader *l, const struct token *v)
{
	const char *wrong;

	if (v->type != TOKEN_STRING && v->type != TOKEN_NUMBER)
		wrong = "a node is a number or \"CORE:NODE\"";
	else if (strchr(v->text, ','))
		wrong = "one node for each element";
	else
		wrong = loom_controls_nodes(&l->p->controls, v->text);
	return !wrong || tokens_refuse(&l->t, wrong);
}

static bool read_sampling(struct stats_loader *l, const struct token *v)
{
	static const struct field fields[] = {
		{"keep", FIELD_ID, IN(loom_controls, keep)},
		{"of", FIELD_ID, IN(loom_controls, of)},
	};
	struct loom_controls *c = &l->p->controls;
	uint64_t seen;

	if (v->type == TOKEN_NULL)
		return true;
	if (v->type != TOKEN_OBJECT)
		return tokens_refuse(&l->t, "sampling must be an object or null");
	if (!stats_read_fields(l, v, fields, COUNT(fields), c, &seen))
		return false;
	if (seen != 3 || c->keep > c->of || c->of == 0)
		return tokens_refuse(&l->t, "sampling keeps K of N, with K from 0 to N");
	l->p->samples = c->keep < c->of;
	return true;
}

/* ---- events ---- */

/* An object of counts; `put` gets each of them with its key. */
static bool read_breakdown(struct stats_loader *l, const struct token *counts, uint64_t *sum,
			   bool *given, bool (*put)(struct stats_loader *, const char *, uint64_t))
{
	struct token v;
	const char *key;
	int more;

	if (counts->type == TOKEN_NULL)
		return true;
	if (counts->type != TOKEN_OBJECT)
		return tokens_refuse(&l->t, "this must be an object of counts");
	*given = true;
	while ((more = tokens_key(&l->t, &key)) > 0) {
		char name[64];

		if (strlen(key) >= sizeof(name))
			return tokens_refuse(&l->t, "this name is too long");
		memcpy(name, key, strlen(key) + 1);
		if (!tokens_value(&l->t, &v))
			return false;
		if (!token_fits(&v, UINT64_MAX))
			return tokens_refuse(&l->t, "a count is an integer from 0 on");
		if (__builtin_add_overflow(*sum, v.integer, sum))
			return tokens_refuse(&l->t, "these counts exceed 64 bits");
		if (!put(l, name, v.integer))
			return false;
	}
	return more == 0;
}

static bool put_dropped_kind(struct stats_loader *l, const char *name, uint64_t n)
{
	uint8_t kind;

	if (!loom_kind_parse(name, strlen(name), &kind))
		return tokens_refuse(&l->t, "no such kind of record");
	l->p->events.of_kind[kind] = n;
	return true;
}

static bool put_dropped_core(struct stats_loader *l, const char *name, uint64_t n)
{
	struct stats_account *e = &l->p->events;
	const char *wrong;

	if (n == 0)
		return true;
	wrong = strspn(name, "0123456789") != strlen(name)
			? "a core is a number from 0 to 65535"
			: loom_controls_cores(&e->dropped_cores, name);
	if (wrong)
		return tokens_refuse(&l->t, wrong);
	if (!e->of_core)
		e->of_core = calloc(LOOM_CORES, sizeof(*e->of_core));
	if (!e->of_core)
		return tokens_no_memory(&l->t);
	e->of_core[strtoul(name, NULL, 10)] = n;
	return true;
}

static bool read_by_kind(struct stats_loader *l, const struct token *v)
{
	struct stats_account *e = &l->p->events;

	return read_breakdown(l, v, &e->of_kinds, &e->by_kind, put_dropped_kind);
}

static bool read_by_core(struct stats_loader *l, const struct token *v)
{
	struct stats_account *e = &l->p->events;

	return read_breakdown(l, v, &e->of_cores, &e->by_core, put_dropped_core);
}

static bool read_events(struct stats_loader *l, const struct token *v)
{
	static const struct field fields[] = {
		{"seen", FIELD_NUMBER, IN(stats_account, seen)},
		{"written", FIELD_NUMBER, IN(stats_account, written)},
		{"filtered", FIELD_NUMBER, IN(stats_account, filtered)},
		{"sampled_out", FIELD_NUMBER, IN(stats_account, sampled_out)},
		{"dropped", FIELD_NUMBER, IN(stats_account, dropped)},
		{"dropped_full", FIELD_NUMBER, IN(stats_account, dropped_full)},
		{"dropped_size", FIELD_NUMBER, IN(stats_account, dropped_size)},
		{"dropped_user", FIELD_NUMBER, IN(stats_account, dropped_user)},
		{"dropped_by_kind", OTHER(read_by_kind)},
		{"dropped_by_core", OTHER(read_by_core)},
	};
	uint64_t seen;

	l->p->events.given = true;
	if (!stats_read_fields(l, v, fields, COUNT(fields), &l->p->events, &seen))
		return false;
	for (size_t i = 0; i < 5; i++) { /* the breakdowns may be missing */
		if (!(seen >> i & 1))
			stats_found(l->findings, l->p, NULL, LOOM_P2, "events: no %s",
				    fields[i].key);
	}
	return true;
}

/* ---- invocations, snapshots ---- */

static bool read_invocation(struct stats_loader *l, const struct token *token)
{
	static const char *const statuses[] = {
		[STATS_DONE] = "done", [STATS_ERROR] = "error", [STATS_CUT] = "cut"};
	static const struct field fields[] = {
		{"core_id", FIELD_ID, IN(stats_invocation, core_id)},
		{"epoch_id", FIELD_ID, IN(stats_invocation, epoch_id)},
		{"invocation_id", FIELD_ID, IN(stats_invocation, invocation_id)},
		{"start_cycle", FIELD_ID, IN(stats_invocation, start_cycle)},
		{"end_cycle", FIELD_ID, IN(stats_invocation, end_cycle)},
		{"status", FIELD_CHOICE, .at = offsetof(struct stats_invocation, status),
		 .size = COUNT(statuses), .names = statuses,
		 .wrong = "a status is done, error or cut"},
		{"host_clock_ns", FIELD_ID, IN(stats_invocation, host_clock_ns)},
	};
	enum { REQUIRED = 6 };
	struct stats_invocation v = {.core_id = 0}, *to;
	uint64_t seen;

	if (!stats_read_fields(l, token, fields, COUNT(fields), &v, &seen))
		return false;
	if ((seen | 1u << REQUIRED) != (1u << COUNT(fields)) - 1)
		return tokens_refuse(&l->t, "this invocation lacks one of core_id, epoch_id, "
					    "invocation_id, start_cycle, end_cycle, status");
	if (v.end_cycle < v.start_cycle)
		return tokens_refuse(&l->t, "this invocation ends before it starts");
	to = ARRAY_ADD(l->p->invocations, l->p->ninvocations);
	if (!to)
		return tokens_no_memory(&l->t);
	*to = v;
	return true;
}

static bool read_snapshot(struct stats_loader *l, const struct token *v)
{
#define METRIC_FIELD(name, key)	 {#key, FIELD_METRIC, .at = STATS_M_##name},
#define COUNTER_FIELD(name, key) {#key, FIELD_COUNTER, .at = STATS_##name},
	static const struct field metrics[] = {STATS_METRICS(METRIC_FIELD)};
	static const struct field fields[] = {
		{"cycle", FIELD_ID, IN(stats_snapshot, cycle)},
		{"epoch_id", FIELD_ID, IN(stats_snapshot, epoch_id)},
		{"invocation_id", FIELD_ID, IN(stats_snapshot, invocation_id)},
		{"core_id", FIELD_ID, IN(stats_snapshot, core_id)},
		{"hw_node_id", FIELD_ID, IN(stats_snapshot, hw_node_id)},
		{"metrics", OBJECT_OF(metrics)},
		STATS_COUNTERS(COUNTER_FIELD)};
	enum { F_CORE = 3, F_NODE = 4 };
	struct stats_snapshot *s = stats_new_snapshot(l, l->element_at);
	struct loom_place place;
	uint64_t seen;

	if (!s || !stats_read_fields(l, v, fields, COUNT(fields), s, &seen))
		return false;
	place = stats_place(l->p, s);
	s->has_core = seen >> F_CORE & 1;
	s->scope = seen >> F_NODE & 1 ? STATS_NODE : STATS_CORE;
	for (int i = 0; i < F_NODE; i++) {
		if (!(seen >> i & 1))
			loom_violation_add(l->findings, LOOM_P2, &place, "a snapshot has no %s",
					   fields[i].key);
	}
	stats_require_counters(l, ALL_COUNTERS);
	return true;
}

bool stats_load_loom(struct stats_loader *l, const struct token *v)
{
	static const struct field window[] = {
		{"first_cycle", FIELD_NUMBER, IN(run_stats, first_cycle)},
		{"end_cycle", FIELD_NUMBER, IN(run_stats, end_cycle)},
		{"total_cycles", FIELD_NUMBER, IN(run_stats, window_cycles)},
	};
	static const struct field controls[] = {
		{"kinds", LIST_OF(read_kind)},
		{"cores", LIST_OF(read_core)},
		{"nodes", LIST_OF(read_chosen_node)},
		{"sampling", OTHER(read_sampling)},
	};
	enum { F_VERSION, F_SNAPSHOTS, F_STYLE };
	static const struct field fields[] = {
		[F_VERSION] = {"version", OTHER(read_version)},
		[F_SNAPSHOTS] = {"snapshots", ARRAY_OF(read_snapshot)},
		[F_STYLE] = {"record_style", FIELD_CHOICE, .at = offsetof(struct run_stats, style),
			     .size = LOOM_STYLES, .names = loom_style_names,
			     .wrong = "an unknown record_style (cycle, edge and span are known)"},
		{"producer", .type = FIELD_TEXT},
		{"mode", OTHER(check_mode)},
		{"clock", OTHER(read_clock)},
		{"window", OBJECT_OF(window)},
		{"controls", OBJECT_OF(controls)},
		{"events", OTHER(read_events)},
		{"invocations", ARRAY_OF(read_invocation)},
	};
	uint64_t seen;

	if (!stats_read_fields(l, v, fields, COUNT(fields), l->p, &seen) || !tokens_end(&l->t))
		return false;
	l->p->has_style = seen >> F_STYLE & 1;
	if (!(seen >> F_VERSION & 1))
		return tokens_refuse(&l->t, "the schema has no version");
	if (!(seen >> F_SNAPSHOTS & 1))
		stats_found(l->findings, l->p, NULL, LOOM_P2, "no snapshots");
	if (!l->p->events.given)
		stats_found(l->findings, l->p, NULL, LOOM_P2, "no account of the events");
	return true;
}
