/* SPDX-License-Identifier: MIT */
/*
 * run_stats_loom: reads statistics of our own schema, loom-perf (loom.md 5.4): clock, window,
 * controls, events, invocations, snapshots. Out: run_stats.
 */
#include <stdlib.h>
#include <string.h>

#include "trace/loom/stats/run_stats_load.h"

#define COUNT(array)  (sizeof(array) / sizeof((array)[0]))
#define AT(member)    offsetof(struct run_stats, member)
#define EVENT(member) offsetof(struct stats_account, member)
#define SNAP(member)  offsetof(struct stats_snapshot, member)

static bool read_version(struct stats_loader *l, void *to, const char *key)
{
	struct token v;

	(void)to;
	(void)key;
	if (!tokens_value(&l->t, &v))
		return false;
	return token_fits(&v, 1) && v.integer == 1
		       ? true
		       : tokens_refuse(&l->t, "an unsupported version of the schema (1 is known)");
}

static bool read_clock(struct stats_loader *l, void *to, const char *key)
{
	static const struct stats_field fields[] = {{"period_ps", stats_number, AT(period_ps)}};
	struct loom_place place = stats_place(l->perf, NULL);
	uint64_t seen;

	(void)key;
	if (!stats_read_object(l, fields, COUNT(fields), to, &seen))
		return false;
	l->perf->bad_period = (seen & 1) && l->perf->period_ps.v == 0;
	if (l->perf->period_ps.given && l->perf->bad_period)
		loom_violation_add(l->findings, LOOM_P2, &place, "clock.period_ps is 0");
	return true;
}

static bool read_style(struct stats_loader *l, void *to, const char *key)
{
	int style;

	(void)to;
	(void)key;
	if (!stats_read_choice(l, loom_style_names, LOOM_STYLES,
			       "an unknown record_style (cycle, edge and span are known)", &style))
		return false;
	l->perf->style = (enum loom_style)style;
	l->perf->has_style = true;
	return true;
}

static bool read_window(struct stats_loader *l, void *to, const char *key)
{
	static const struct stats_field fields[] = {
		{"first_cycle", stats_number, AT(first_cycle)},
		{"end_cycle", stats_number, AT(end_cycle)},
		{"total_cycles", stats_number, AT(window_cycles)},
	};
	uint64_t seen;

	(void)key;
	return stats_read_object(l, fields, COUNT(fields), to, &seen);
}

/* ---- controls ---- */

/* A list of `put`, or null. */
static bool read_list(struct stats_loader *l,
		      bool (*put)(struct stats_loader *, const struct token *))
{
	struct token v;
	int more;

	if (!tokens_value(&l->t, &v))
		return false;
	if (v.type == TOKEN_NULL)
		return true;
	if (v.type != TOKEN_ARRAY)
		return tokens_refuse(&l->t, "this must be a list or null");
	while ((more = tokens_element(&l->t)) > 0) {
		if (!tokens_value(&l->t, &v) || !put(l, &v))
			return false;
	}
	return more == 0;
}

static bool put_kind(struct stats_loader *l, const struct token *v)
{
	uint8_t kind;

	if (v->type != TOKEN_STRING || !loom_kind_parse(v->text, v->len, &kind))
		return tokens_refuse(&l->t, "no such kind of record");
	loom_controls_add_kind(&l->perf->controls, kind);
	return true;
}

static bool put_core(struct stats_loader *l, const struct token *v)
{
	if (!token_fits(v, UINT16_MAX))
		return tokens_refuse(&l->t, "a core is a number from 0 to 65535");
	if (loom_controls_add_core(&l->perf->controls, (uint16_t)v->integer) < 0)
		return tokens_no_memory(&l->t);
	return true;
}

static bool put_node(struct stats_loader *l, const struct token *v)
{
	const char *wrong = NULL;

	if (v->type != TOKEN_STRING && v->type != TOKEN_NUMBER)
		wrong = "a node is a number or \"CORE:NODE\"";
	else if (strchr(v->text, ','))
		wrong = "one node for each element";
	else
		wrong = loom_controls_nodes(&l->perf->controls, v->text);
	return wrong ? tokens_refuse(&l->t, wrong) : true;
}

static bool read_kinds(struct stats_loader *l, void *to, const char *key)
{
	(void)to;
	(void)key;
	return read_list(l, put_kind);
}

static bool read_cores(struct stats_loader *l, void *to, const char *key)
{
	(void)to;
	(void)key;
	return read_list(l, put_core);
}

static bool read_nodes(struct stats_loader *l, void *to, const char *key)
{
	(void)to;
	(void)key;
	return read_list(l, put_node);
}

static bool read_sampling(struct stats_loader *l, void *to, const char *key)
{
	static const struct stats_field fields[] = {
		{"keep", stats_u32, offsetof(struct loom_controls, keep)},
		{"of", stats_u32, offsetof(struct loom_controls, of)},
	};
	struct loom_controls *c = &l->perf->controls;
	struct token v;
	uint64_t seen;

	(void)to;
	(void)key;
	if (!tokens_value(&l->t, &v))
		return false;
	if (v.type == TOKEN_NULL)
		return true;
	if (v.type != TOKEN_OBJECT)
		return tokens_refuse(&l->t, "sampling must be an object or null");
	if (!stats_read_members(l, fields, COUNT(fields), c, &seen))
		return false;
	if (seen != 3 || c->keep > c->of || c->of == 0)
		return tokens_refuse(&l->t, "sampling keeps K of N, with K from 0 to N");
	l->perf->samples = c->keep < c->of;
	return true;
}

static bool read_controls(struct stats_loader *l, void *to, const char *key)
{
	static const struct stats_field fields[] = {
		{"kinds", read_kinds, 0},
		{"cores", read_cores, 0},
		{"nodes", read_nodes, 0},
		{"sampling", read_sampling, 0},
	};
	uint64_t seen;

	(void)key;
	return stats_read_object(l, fields, COUNT(fields), to, &seen);
}

/* ---- events ---- */

/* An object of counts; `put` gets each of them with its key. */
static bool read_breakdown(struct stats_loader *l, uint64_t *sum, bool *given,
			   bool (*put)(struct stats_loader *, const char *, uint64_t))
{
	struct token v;
	const char *key;
	int more;

	if (!tokens_value(&l->t, &v))
		return false;
	if (v.type == TOKEN_NULL)
		return true;
	if (v.type != TOKEN_OBJECT)
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
	l->perf->events.of_kind[kind] = n;
	return true;
}

static bool put_dropped_core(struct stats_loader *l, const char *name, uint64_t n)
{
	struct stats_account *e = &l->perf->events;
	const char *wrong;

	if (n == 0)
		return true;
	wrong = strspn(name, "0123456789") != strlen(name)
			? "a core is a number from 0 to 65535"
			: loom_controls_cores(&e->dropped_cores, name);
	if (wrong)
		return tokens_refuse(&l->t, wrong);
	if (!e->of_core)
		e->of_core = calloc(UINT16_MAX + 1, sizeof(*e->of_core));
	if (!e->of_core)
		return tokens_no_memory(&l->t);
	e->of_core[strtoul(name, NULL, 10)] = n;
	return true;
}

static bool read_by_kind(struct stats_loader *l, void *to, const char *key)
{
	struct stats_account *e = &l->perf->events;

	(void)to;
	(void)key;
	return read_breakdown(l, &e->of_kinds, &e->by_kind, put_dropped_kind);
}

static bool read_by_core(struct stats_loader *l, void *to, const char *key)
{
	struct stats_account *e = &l->perf->events;

	(void)to;
	(void)key;
	return read_breakdown(l, &e->of_cores, &e->by_core, put_dropped_core);
}

static bool read_events(struct stats_loader *l, void *to, const char *key)
{
	static const struct stats_field fields[] = {
		{"seen", stats_number, EVENT(seen)},
		{"written", stats_number, EVENT(written)},
		{"filtered", stats_number, EVENT(filtered)},
		{"sampled_out", stats_number, EVENT(sampled_out)},
		{"dropped", stats_number, EVENT(dropped)},
		{"dropped_full", stats_number, EVENT(dropped_full)},
		{"dropped_size", stats_number, EVENT(dropped_size)},
		{"dropped_user", stats_number, EVENT(dropped_user)},
		{"dropped_by_kind", read_by_kind, 0},
		{"dropped_by_core", read_by_core, 0},
	};
	static const char *const wanted[] = {"seen", "written", "filtered", "sampled_out",
					     "dropped"};
	struct loom_place place = stats_place(l->perf, NULL);
	uint64_t seen;

	(void)to;
	(void)key;
	l->perf->events.given = true;
	if (!stats_read_object(l, fields, COUNT(fields), &l->perf->events, &seen))
		return false;
	for (size_t i = 0; i < COUNT(wanted); i++) {
		if (!(seen >> i & 1))
			loom_violation_add(l->findings, LOOM_P2, &place, "events: no %s",
					   wanted[i]);
	}
	return true;
}

/* ---- invocations ---- */

static bool read_status(struct stats_loader *l, void *to, const char *key)
{
	static const char *const names[] = {
		[STATS_DONE] = "done", [STATS_ERROR] = "error", [STATS_CUT] = "cut"};
	int which;

	(void)key;
	if (!stats_read_choice(l, names, COUNT(names), "a status is done, error or cut", &which))
		return false;
	*(enum stats_status *)to = (enum stats_status)which;
	return true;
}

static bool read_invocation(struct stats_loader *l)
{
	static const struct stats_field fields[] = {
		{"core_id", stats_u16, offsetof(struct stats_invocation, core_id)},
		{"epoch_id", stats_u32, offsetof(struct stats_invocation, epoch_id)},
		{"invocation_id", stats_u64, offsetof(struct stats_invocation, invocation_id)},
		{"start_cycle", stats_u64, offsetof(struct stats_invocation, start_cycle)},
		{"end_cycle", stats_u64, offsetof(struct stats_invocation, end_cycle)},
		{"status", read_status, offsetof(struct stats_invocation, status)},
	};
	struct run_stats *p = l->perf;
	struct stats_invocation *v;
	uint64_t seen;

	if (p->ninvocations == l->invocation_room) {
		size_t room = l->invocation_room ? 2 * l->invocation_room : 16;
		struct stats_invocation *list = reallocarray(p->invocations, room, sizeof(*list));

		if (!list)
			return tokens_no_memory(&l->t);
		p->invocations = list;
		l->invocation_room = room;
	}
	v = &p->invocations[p->ninvocations];
	memset(v, 0, sizeof(*v));
	if (!stats_read_object(l, fields, COUNT(fields), v, &seen))
		return false;
	if (seen != (1u << COUNT(fields)) - 1)
		return tokens_refuse(&l->t, "this invocation lacks one of core_id, epoch_id, "
					    "invocation_id, start_cycle, end_cycle, status");
	if (v->end_cycle < v->start_cycle)
		return tokens_refuse(&l->t, "this invocation ends before it starts");
	p->ninvocations++;
	return true;
}

static bool read_invocations(struct stats_loader *l, void *to, const char *key)
{
	(void)to;
	(void)key;
	return stats_read_array(l, read_invocation);
}

/* ---- snapshots ---- */

static bool read_counter(struct stats_loader *l, void *to, const char *key)
{
	(void)to;
	for (int c = 0; c < STATS_NCOUNTERS; c++) {
		if (!strcmp(key, stats_counter_names[c]))
			return stats_counter_value(l, (enum stats_counter)c, key);
	}
	return tokens_skip(&l->t);
}

static bool read_metric(struct stats_loader *l, void *to, const char *key)
{
	(void)to;
	for (int m = 0; m < STATS_NMETRICS; m++) {
		if (!strcmp(key, stats_metric_names[m]))
			return stats_metric_value(l, (enum stats_metric)m, key);
	}
	return tokens_skip(&l->t);
}

static bool read_metrics(struct stats_loader *l, void *to, const char *key)
{
#define METRIC_FIELD(name, metric) {#metric, read_metric, 0},
	static const struct stats_field fields[] = {STATS_METRICS(METRIC_FIELD)};
	uint64_t seen;

	(void)key;
	return stats_read_object(l, fields, COUNT(fields), to, &seen);
}

enum { F_CYCLE, F_EPOCH, F_INVOCATION, F_CORE, F_NODE };

#define COUNTER_FIELD(name, counter) {#counter, read_counter, 0},
static const struct stats_field snapshot_fields[] = {
	[F_CYCLE] = {"cycle", stats_u64, SNAP(cycle)},
	[F_EPOCH] = {"epoch_id", stats_u32, SNAP(epoch_id)},
	[F_INVOCATION] = {"invocation_id", stats_u64, SNAP(invocation_id)},
	[F_CORE] = {"core_id", stats_u16, SNAP(core_id)},
	[F_NODE] = {"hw_node_id", stats_u32, SNAP(hw_node_id)},
	{"metrics", read_metrics, 0},
	STATS_COUNTERS(COUNTER_FIELD)};

#define ALL_COUNTERS ((1ull << STATS_NCOUNTERS) - 1)

/* Reports missing ids and counters. */
static void want_all(struct stats_loader *l, struct stats_snapshot *s, uint64_t seen)
{
	struct loom_place place = stats_place(l->perf, s);

	s->has_core = seen >> F_CORE & 1;
	s->scope = seen >> F_NODE & 1 ? STATS_NODE : STATS_CORE;
	for (int i = F_CYCLE; i <= F_CORE; i++) {
		if (!(seen >> i & 1))
			loom_violation_add(l->findings, LOOM_P2, &place, "a snapshot has no %s",
					   snapshot_fields[i].key);
	}
	stats_want(l, s, ALL_COUNTERS);
}

static bool read_snapshot(struct stats_loader *l)
{
	struct stats_snapshot *s = stats_new_snapshot(l);
	uint64_t seen;

	if (!s || !stats_read_object(l, snapshot_fields, COUNT(snapshot_fields), s, &seen))
		return false;
	want_all(l, s, seen);
	return true;
}

static bool read_snapshots(struct stats_loader *l, void *to, const char *key)
{
	bool ok = stats_read_array(l, read_snapshot);

	(void)to;
	(void)key;
	l->snapshot = NULL;
	return ok;
}

static bool read_mode(struct stats_loader *l, void *to, const char *key)
{
	if (!stats_text(l, to, key))
		return false;
	if (l->perf->mode && strcmp(l->perf->mode, "full") != 0 &&
	    strcmp(l->perf->mode, "summary") != 0)
		return tokens_refuse(&l->t, "a mode is full or summary");
	return true;
}

bool stats_load_ours(struct stats_loader *l)
{
	static const struct stats_field fields[] = {
		{"version", read_version, 0},
		{"snapshots", read_snapshots, 0},
		{"producer", stats_text, AT(producer)},
		{"mode", read_mode, AT(mode)},
		{"clock", read_clock, 0},
		{"record_style", read_style, 0},
		{"window", read_window, 0},
		{"controls", read_controls, 0},
		{"events", read_events, 0},
		{"invocations", read_invocations, 0},
	};
	struct loom_place place = stats_place(l->perf, NULL);
	uint64_t seen;

	if (!stats_read_object(l, fields, COUNT(fields), l->perf, &seen) || !tokens_end(&l->t))
		return false;
	if (!(seen & 1))
		return tokens_refuse(&l->t, "the schema has no version");
	if (!(seen & 2))
		loom_violation_add(l->findings, LOOM_P2, &place, "no snapshots");
	if (!l->perf->events.given)
		loom_violation_add(l->findings, LOOM_P2, &place, "no account of the events");
	return true;
}
