/* SPDX-License-Identifier: MIT */
#include "trace/loom/stats/run_stats.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/log.h"
#include "trace/loom/stats/run_stats_load.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define LLU(v)	     ((unsigned long long)(v))

#define COUNTER_NAME(name, key) [STATS_##name] = #key,
const char *const stats_counter_names[STATS_NCOUNTERS] = {STATS_COUNTERS(COUNTER_NAME)};
#define METRIC_NAME(name, key) [STATS_M_##name] = #key,
const char *const stats_metric_names[STATS_NMETRICS] = {STATS_METRICS(METRIC_NAME)};

_Static_assert(STATS_NCOUNTERS <= 64, "a bit for each counter");
_Static_assert(STATS_NMETRICS <= 16, "a bit for each metric");

const char *stats_form_name(enum stats_form form)
{
	static const char *const names[] = {
		[STATS_UNKNOWN] = "unknown", [STATS_LEGACY] = "legacy",	 [STATS_TEXT] = "text",
		[STATS_GEM5] = "gem5",	     [STATS_LOOM] = "loom-perf",
	};

	return names[form];
}

/* ---- fields ---- */

bool stats_read_members(struct stats_loader *l, const struct stats_field *fields, size_t n,
			void *to, uint64_t *seen)
{
	const char *key;
	int more;

	*seen = 0;
	while ((more = tokens_key(&l->t, &key)) > 0) {
		size_t i = 0;

		while (i < n && strcmp(key, fields[i].key) != 0)
			i++;
		if (i == n) {
			if (!tokens_skip(&l->t))
				return false;
			continue;
		}
		if (*seen & 1ull << i)
			return tokens_refuse(&l->t, "a key twice in one object");
		*seen |= 1ull << i;
		if (!fields[i].read(l, (char *)to + fields[i].offset, fields[i].key))
			return false;
	}
	return more == 0;
}

bool stats_read_object(struct stats_loader *l, const struct stats_field *fields, size_t n, void *to,
		       uint64_t *seen)
{
	struct token v;

	if (!tokens_value(&l->t, &v))
		return false;
	if (v.type != TOKEN_OBJECT)
		return tokens_refuse(&l->t, "this must be an object");
	return stats_read_members(l, fields, n, to, seen);
}

bool stats_read_array(struct stats_loader *l, bool (*element)(struct stats_loader *l))
{
	struct token v;
	int more;

	if (!tokens_value(&l->t, &v))
		return false;
	if (v.type != TOKEN_ARRAY)
		return tokens_refuse(&l->t, "this must be an array");
	while ((more = tokens_element(&l->t)) > 0) {
		if (!element(l))
			return false;
	}
	return more == 0;
}

bool stats_read_choice(struct stats_loader *l, const char *const *names, size_t n,
		       const char *wrong, int *which)
{
	struct token v;

	if (!tokens_value(&l->t, &v))
		return false;
	for (size_t i = 0; v.type == TOKEN_STRING && i < n; i++) {
		if (!strcmp(v.text, names[i])) {
			*which = (int)i;
			return true;
		}
	}
	return tokens_refuse(&l->t, wrong);
}

/* Reports P2: the value of `key` is not a counter. */
static void no_counter(struct stats_loader *l, const char *key)
{
	struct loom_place place = {l->perf->path, LOOM_NOWHERE, inflow_tell(&l->in)};
	char name[64] = "";

	if (l->snapshot)
		stats_called(l->snapshot, name, sizeof(name));
	loom_violation_add(l->findings, LOOM_P2, &place,
			   "%s%s%s is not an integer from 0 to 2^64 - 1", name, *name ? ": " : "",
			   key);
}

/* Reads a counter; *given is true for a valid one. Skips arrays and objects. */
static bool counter(struct stats_loader *l, const char *key, uint64_t *out, bool *given)
{
	struct token v;

	*given = false;
	if (!tokens_value(&l->t, &v))
		return false;
	if (token_fits(&v, UINT64_MAX)) {
		*out = v.integer;
		*given = true;
		return true;
	}
	no_counter(l, key);
	if (v.type == TOKEN_ARRAY || v.type == TOKEN_OBJECT)
		return tokens_leave(&l->t);
	return true;
}

bool stats_number(struct stats_loader *l, void *to, const char *key)
{
	struct stats_number *n = to;

	return counter(l, key, &n->v, &n->given);
}

bool stats_counter_value(struct stats_loader *l, enum stats_counter which, const char *key)
{
	bool given;

	if (!counter(l, key, &l->snapshot->counters[which], &given))
		return false;
	l->snapshot->has_counter |= (uint64_t)given << which;
	l->snapshot->bad_counter |= (uint64_t)!given << which;
	return true;
}

bool stats_real(struct stats_loader *l, void *to, const char *key)
{
	double *out = to;
	struct token v;

	(void)key;
	if (!tokens_value(&l->t, &v))
		return false;
	if (v.type == TOKEN_NULL)
		*out = NAN;
	else if (v.type == TOKEN_NUMBER)
		*out = token_real(&v);
	else
		return tokens_refuse(&l->t, "this must be a number or null");
	return true;
}

bool stats_metric_value(struct stats_loader *l, enum stats_metric which, const char *key)
{
	if (!stats_real(l, &l->snapshot->metrics[which], key))
		return false;
	l->snapshot->has_metric |= (uint16_t)(1u << which);
	return true;
}

bool stats_text(struct stats_loader *l, void *to, const char *key)
{
	char **out = to;
	struct token v;

	(void)key;
	if (!tokens_value(&l->t, &v))
		return false;
	if (v.type == TOKEN_NULL)
		return true;
	if (v.type != TOKEN_STRING)
		return tokens_refuse(&l->t, "this must be a string");
	free(*out);
	*out = strdup(v.text);
	return *out ? true : tokens_no_memory(&l->t);
}

bool stats_bool(struct stats_loader *l, void *to, const char *key)
{
	struct token v;

	(void)key;
	if (!tokens_value(&l->t, &v))
		return false;
	if (v.type != TOKEN_BOOL)
		return tokens_refuse(&l->t, "this must be true or false");
	*(bool *)to = v.truth;
	return true;
}

static bool identifier(struct stats_loader *l, uint64_t most, uint64_t *out)
{
	struct token v;

	if (!tokens_value(&l->t, &v))
		return false;
	if (!token_fits(&v, most))
		return tokens_refuse(&l->t,
				     "this must be an integer that is not negative and fits its "
				     "field");
	*out = v.integer;
	return true;
}

bool stats_u64(struct stats_loader *l, void *to, const char *key)
{
	(void)key;
	return identifier(l, UINT64_MAX, to);
}

bool stats_u32(struct stats_loader *l, void *to, const char *key)
{
	uint64_t v = 0;

	(void)key;
	if (!identifier(l, UINT32_MAX, &v))
		return false;
	*(uint32_t *)to = (uint32_t)v;
	return true;
}

bool stats_u16(struct stats_loader *l, void *to, const char *key)
{
	uint64_t v = 0;

	(void)key;
	if (!identifier(l, UINT16_MAX, &v))
		return false;
	*(uint16_t *)to = (uint16_t)v;
	return true;
}

struct stats_snapshot *stats_new_snapshot(struct stats_loader *l)
{
	struct run_stats *p = l->perf;

	if (p->nsnapshots == l->snapshot_room) {
		size_t room = l->snapshot_room ? 2 * l->snapshot_room : 16;
		struct stats_snapshot *list = reallocarray(p->snapshots, room, sizeof(*list));

		if (!list) {
			tokens_no_memory(&l->t);
			return NULL;
		}
		p->snapshots = list;
		l->snapshot_room = room;
	}
	l->snapshot = &p->snapshots[p->nsnapshots++];
	memset(l->snapshot, 0, sizeof(*l->snapshot));
	l->snapshot->offset = inflow_tell(&l->in);
	return l->snapshot;
}

const char *stats_called(const struct stats_snapshot *s, char *out, size_t size)
{
	int n = 0;

	if (s->has_core)
		n = snprintf(out, size, "core %u epoch %" PRIu32 " inv %" PRIu64 " ", s->core_id,
			     s->epoch_id, s->invocation_id);
	if (n < 0 || (size_t)n >= size)
		return out;
	if (s->scope == STATS_CORE)
		snprintf(out + n, size - (size_t)n, "all nodes");
	else
		snprintf(out + n, size - (size_t)n, "node %" PRIu32, s->hw_node_id);
	return out;
}

struct loom_place stats_place(const struct run_stats *p, const struct stats_snapshot *s)
{
	return (struct loom_place){p->path, LOOM_NOWHERE, s ? s->offset : LOOM_NOWHERE};
}

void stats_want(struct stats_loader *l, const struct stats_snapshot *s, uint64_t wanted)
{
	struct loom_place place = stats_place(l->perf, s);
	uint64_t missing = wanted & ~(s->has_counter | s->bad_counter);
	char name[64];

	for (int c = 0; c < STATS_NCOUNTERS; c++) {
		if (missing >> c & 1)
			loom_violation_add(l->findings, LOOM_P2, &place, "%s: no %s",
					   stats_called(s, name, sizeof(name)),
					   stats_counter_names[c]);
	}
}

/* ---- which form ---- */

/* Finds the form from the keys of the document. */
static bool find_json_form(struct stats_loader *l)
{
	static const struct {
		const char *key;
		enum stats_form form;
	} keys[] = {
		{"nodePerf", STATS_LEGACY},    {"totalCycles", STATS_LEGACY},
		{"kernel_cycles", STATS_GEM5}, {"config_load", STATS_GEM5},
		{"total_cycles", STATS_GEM5},
	};
	struct token v;
	const char *key;
	int more;

	tokens_init(&l->t, &l->in);
	if (!tokens_value(&l->t, &v))
		return false;
	if (v.type != TOKEN_OBJECT)
		return tokens_refuse(&l->t, "no statistics: they are an object");
	while ((more = tokens_key(&l->t, &key)) > 0) {
		bool is_schema = !strcmp(key, "schema");

		for (size_t i = 0; i < COUNT(keys) && l->perf->form == STATS_UNKNOWN; i++) {
			if (!strcmp(key, keys[i].key))
				l->perf->form = keys[i].form;
		}
		if (!is_schema) {
			if (!tokens_skip(&l->t))
				return false;
			continue;
		}
		if (!tokens_value(&l->t, &v))
			return false;
		if (v.type == TOKEN_STRING &&
		    (!strcmp(v.text, "ovni-bpf-stats") || !strcmp(v.text, "ovni-bpf-perf")))
			return tokens_refuse(&l->t,
					     "the statistics of a recording: see ovni-check and "
					     "ovni-report counters");
		if (v.type != TOKEN_STRING || strcmp(v.text, "loom-perf") != 0)
			return tokens_refuse(&l->t, "an unknown schema (loom-perf is known)");
		l->perf->form = STATS_LOOM;
	}
	if (more < 0 || !tokens_end(&l->t))
		return false;
	if (l->perf->form == STATS_UNKNOWN)
		return tokens_refuse(&l->t, "no form of statistics that is known");
	inflow_seek(&l->in, 0);
	tokens_init(&l->t, &l->in);
	return true;
}

/* Sorts snapshots by object and cycle. */
static int by_thing(const void *a, const void *b)
{
	const struct stats_snapshot *x = *(struct stats_snapshot *const *)a;
	const struct stats_snapshot *y = *(struct stats_snapshot *const *)b;

#define ORDER(member)                                                                              \
	do {                                                                                       \
		if (x->member != y->member)                                                        \
			return x->member < y->member ? -1 : 1;                                     \
	} while (0)
	ORDER(scope);
	ORDER(core_id);
	ORDER(epoch_id);
	ORDER(invocation_id);
	ORDER(hw_node_id);
	ORDER(cycle);
#undef ORDER
	return x < y ? -1 : x > y;
}

static bool same_thing(const struct stats_snapshot *x, const struct stats_snapshot *y)
{
	return x->scope == y->scope && x->core_id == y->core_id && x->epoch_id == y->epoch_id &&
	       x->invocation_id == y->invocation_id && x->hw_node_id == y->hw_node_id;
}

/* Marks final snapshots: upstream has only these. */
static int mark_last(struct run_stats *p)
{
	struct stats_snapshot **sorted;

	for (size_t i = 0; i < p->nsnapshots; i++)
		p->snapshots[i].is_last = p->form != STATS_LOOM;
	if (p->form != STATS_LOOM || p->nsnapshots == 0)
		return 0;
	sorted = calloc(p->nsnapshots, sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < p->nsnapshots; i++)
		sorted[i] = &p->snapshots[i];
	qsort(sorted, p->nsnapshots, sizeof(*sorted), by_thing);
	for (size_t i = 0; i < p->nsnapshots; i++)
		sorted[i]->is_last =
			i + 1 == p->nsnapshots || !same_thing(sorted[i], sorted[i + 1]);
	free(sorted);
	return 0;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Looks for a node that is listed twice without a core (P11). */
static int find_joins(struct run_stats *p)
{
	uint32_t *nodes;
	size_t n = 0;

	if (p->form == STATS_LOOM || p->nsnapshots < 2)
		return 0;
	nodes = calloc(p->nsnapshots, sizeof(*nodes));
	if (!nodes)
		return -ENOMEM;
	for (size_t i = 0; i < p->nsnapshots; i++) {
		if (!p->snapshots[i].has_core)
			nodes[n++] = p->snapshots[i].hw_node_id;
	}
	qsort(nodes, n, sizeof(*nodes), by_number);
	for (size_t i = 1; i < n && !p->joins_cores; i++) {
		p->joins_cores = nodes[i] == nodes[i - 1];
		p->joined_node = nodes[i];
	}
	free(nodes);
	return 0;
}

static bool load(struct stats_loader *l)
{
	int c;

	while ((c = inflow_look(&l->in)) == ' ' || c == '\t' || c == '\n' || c == '\r')
		inflow_skip(&l->in, 1);
	if (c != '{' && c != '[') {
		tokens_init(&l->t, &l->in);
		return stats_load_text(l);
	}
	if (!find_json_form(l))
		return false;
	return l->perf->form == STATS_LOOM ? stats_load_ours(l) : stats_load_json(l);
}

int run_stats_load(struct run_stats *p, int dirfd, const char *path,
		   struct loom_violations *findings)
{
	struct stats_loader l = {.perf = p, .findings = findings};
	int err;

	memset(p, 0, sizeof(*p));
	p->path = strdup(path);
	if (!p->path) {
		log_no_memory("while reading %s", path);
		return -ENOMEM;
	}
	err = inflow_open(&l.in, dirfd, path);
	if (!err && !load(&l)) {
		err = l.in.error ? l.in.error : l.t.no_memory ? -ENOMEM : -EBADMSG;
		if (l.t.no_memory)
			log_no_memory("while reading %s", path);
		if (err == -EBADMSG) {
			struct loom_place place = {p->path, LOOM_NOWHERE, l.t.where};

			loom_violation_add(findings, LOOM_P1, &place, "byte %llu: %s",
					   LLU(l.t.where), l.t.why ? l.t.why : "damaged");
		}
	}
	inflow_close(&l.in);
	if (!err && (mark_last(p) < 0 || find_joins(p) < 0)) {
		log_no_memory("while reading %s", path);
		err = -ENOMEM;
	}
	return err;
}

void run_stats_free(struct run_stats *p)
{
	free(p->path);
	free(p->producer);
	free(p->mode);
	free(p->termination);
	free(p->error_message);
	free(p->invocations);
	free(p->snapshots);
	loom_controls_free(&p->controls);
	loom_controls_free(&p->events.dropped_cores);
	free(p->events.of_core);
	loom_modules_free(&p->modules);
	memset(p, 0, sizeof(*p));
}

/* ---- missing records ---- */

bool run_stats_leaves_out(const struct run_stats *p)
{
	const struct stats_account *e = &p->events;

	return p->controls.by_kind || p->controls.by_core || p->controls.by_node || p->samples ||
	       e->filtered.v > 0 || e->sampled_out.v > 0 || e->dropped.v > 0;
}

bool run_stats_may_lack(const struct run_stats *p, uint8_t kind, uint16_t core)
{
	const struct stats_account *e = &p->events;
	const struct loom_controls *d = &e->dropped_cores;

	if (!loom_controls_filters_pass(&p->controls, kind, core, 0) || p->samples)
		return true;
	if (e->dropped.v == 0 || (e->of_kinds > 0 && e->of_kind[kind] == 0))
		return false;
	return !d->by_core || loom_controls_filters_pass(d, kind, core, 0);
}

static double ratio(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0.0;
}

void stats_derive(const uint64_t counters[STATS_NCOUNTERS], uint64_t total,
		  double out[STATS_NMETRICS])
{
	uint64_t active = counters[STATS_ACTIVE_CYCLES];

	out[STATS_M_UTILIZATION] = ratio(active, total);
	out[STATS_M_INPUT_STALL] = ratio(counters[STATS_STALL_CYCLES_IN], total);
	out[STATS_M_OUTPUT_STALL] = ratio(counters[STATS_STALL_CYCLES_OUT], total);
	out[STATS_M_THROUGHPUT] = active ? ratio(counters[STATS_TOKENS_OUT], active) : (double)NAN;
	out[STATS_M_CONFIG_OVERHEAD] = ratio(counters[STATS_CONFIG_WRITES], total);
}
