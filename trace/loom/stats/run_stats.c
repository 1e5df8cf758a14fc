/* SPDX-License-Identifier: MIT */
/*
 * run_stats: see run_stats.h. Each form is a table of its keys and the types of their values.
 * Unknown keys are skipped, repeated keys are a mistake.
 */
#include "trace/loom/stats/run_stats.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/array.h"
#include "trace/base/files/input.h"
#include "trace/base/hash.h"
#include "trace/base/json_tokens.h"
#include "trace/base/log.h"
#include "trace/base/units.h"

#define LLU(v)	     ((unsigned long long)(v))
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define COUNTER_NAME(name, key) [STATS_##name] = #key,
const char *const stats_counter_names[STATS_NCOUNTERS] = {STATS_COUNTERS(COUNTER_NAME)};
#define METRIC_NAME(name, key) [STATS_M_##name] = #key,
const char *const stats_metric_names[STATS_NMETRICS] = {STATS_METRICS(METRIC_NAME)};

#define BIT(counter) (1u << STATS_##counter)
#define ALL_COUNTERS ((1u << STATS_NCOUNTERS) - 1)

const char *stats_form_name(enum stats_form form)
{
	static const char *const names[] = {
		[STATS_UNKNOWN] = "unknown", [STATS_LEGACY] = "legacy",	 [STATS_TEXT] = "text",
		[STATS_GEM5] = "gem5",	     [STATS_LOOM] = "loom-perf",
	};

	return names[form];
}

struct loader {
	struct run_stats *p;
	struct loom_violations *findings;
	struct inflow in;
	struct tokens t;
	struct stats_snapshot *snapshot; /* the present one */
	uint64_t element_at;		 /* offset of the present element of an array */
};

enum field_type {
	FIELD_ID,      /* an integer of the size of its member */
	FIELD_NUMBER,  /* a struct stats_number */
	FIELD_COUNTER, /* of the present snapshot: `at` is its number */
	FIELD_METRIC,  /* likewise */
	FIELD_CHOICE,  /* one of the `names`, as their index */
	FIELD_TEXT,    /* a string or null, not kept */
	FIELD_BOOL,    /* not kept */
	FIELD_OBJECT,  /* `fields` */
	FIELD_ARRAY,   /* `read` reads each element */
	FIELD_LIST,    /* the same, or null */
	FIELD_OTHER,   /* `read` reads it */
};

/* A key of the JSON object; its value goes into the member at offset `at`. */
struct field {
	const char *key;
	enum field_type type;
	size_t at, size;
	const struct field *fields; /* of an object: `size` of them */
	const char *const *names;   /* of a choice: `size` of them */
	const char *wrong;	    /* of a choice: the mistake */
	bool (*read)(struct loader *l, const struct token *v);
};

/* The place of a member: offset and size. */
#define IN(type, member)                                                                           \
	.at = offsetof(struct type, member), .size = sizeof(((struct type *)0)->member)
#define OBJECT_OF(table)   .type = FIELD_OBJECT, .size = COUNT(table), .fields = (table)
#define ARRAY_OF(function) .type = FIELD_ARRAY, .read = (function)
#define LIST_OF(function)  .type = FIELD_LIST, .read = (function)
#define OTHER(function)	   .type = FIELD_OTHER, .read = (function)
#define SUM(counter)                                                                               \
	offsetof(struct run_stats, sums) + STATS_##counter * sizeof(struct stats_number)

/* ---- values ---- */

static bool read_field(struct loader *l, const struct field *f, void *to);

/* Reads the object that `v` begins. *seen gets a bit for each of the fields that it has. */
static bool read_fields(struct loader *l, const struct token *v, const struct field *fields,
			size_t n, void *to, uint64_t *seen)
{
	const char *key;
	int more;

	*seen = 0;
	if (v->type != TOKEN_OBJECT)
		return tokens_refuse(&l->t, "this must be an object");
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
		if (!read_field(l, &fields[i], to))
			return false;
	}
	return more == 0;
}

static bool read_elements(struct loader *l, const struct field *f)
{
	struct token v;
	int more;

	while ((more = tokens_element(&l->t)) > 0) {
		l->element_at = inflow_offset(&l->in);
		if (!tokens_value(&l->t, &v) || !f->read(l, &v))
			return false;
	}
	l->snapshot = NULL;
	return more == 0;
}

static bool read_choice(struct loader *l, const struct token *v, const struct field *f, int *to)
{
	for (size_t i = 0; v->type == TOKEN_STRING && i < f->size; i++) {
		if (!strcmp(v->text, f->names[i])) {
			*to = (int)i;
			return true;
		}
	}
	return tokens_refuse(&l->t, f->wrong);
}

/* Reports P2: the value of `key` is not a counter. */
static void no_counter(struct loader *l, const char *key)
{
	struct loom_place place = {l->p->path, LOOM_NOWHERE, inflow_offset(&l->in)};
	char name[64] = "";

	if (l->snapshot)
		stats_called(l->snapshot, name, sizeof(name));
	loom_violation_add(l->findings, LOOM_P2, &place,
			   "%s%s%s is not an integer from 0 to 2^64 - 1", name, *name ? ": " : "",
			   key);
}

/* Reads a number; n->given is true for a valid one. Skips arrays and objects. */
static bool read_counter(struct loader *l, const struct token *v, const char *key,
			 struct stats_number *n)
{
	n->given = token_fits(v, UINT64_MAX);
	if (n->given) {
		n->v = v->integer;
		return true;
	}
	no_counter(l, key);
	if (v->type == TOKEN_ARRAY || v->type == TOKEN_OBJECT)
		return tokens_leave(&l->t);
	return true;
}

static void set_counter(struct stats_snapshot *s, size_t counter, struct stats_number n)
{
	s->counters[counter] = n.v;
	s->has_counter |= (uint32_t)n.given << counter;
	s->bad_counter |= (uint32_t)!n.given << counter;
}

/* A real number, or null: NaN. */
static bool read_real(struct loader *l, const struct token *v, double *to)
{
	if (v->type != TOKEN_NULL && v->type != TOKEN_NUMBER)
		return tokens_refuse(&l->t, "this must be a number or null");
	*to = v->type == TOKEN_NULL ? (double)NAN : token_real(v);
	return true;
}

static bool read_overhead(struct loader *l, const struct token *v)
{
	l->p->has_config_overhead = true;
	return read_real(l, v, &l->p->config_overhead);
}

/* Reads the value of a key into its member of `to`. */
static bool read_field(struct loader *l, const struct field *f, void *to)
{
	void *at = (char *)to + f->at;
	struct stats_number n = {.v = 0};
	struct token v;
	uint64_t seen;

	if (f->type == FIELD_ID)
		return tokens_unsigned(&l->t, 8 * (unsigned)f->size, at);
	if (!tokens_value(&l->t, &v))
		return false;
	switch (f->type) {
	case FIELD_NUMBER:
		return read_counter(l, &v, f->key, at);
	case FIELD_COUNTER:
		if (!read_counter(l, &v, f->key, &n))
			return false;
		set_counter(l->snapshot, f->at, n);
		return true;
	case FIELD_METRIC:
		l->snapshot->has_metric |= (uint16_t)(1u << f->at);
		return read_real(l, &v, &l->snapshot->metrics[f->at]);
	case FIELD_CHOICE:
		return read_choice(l, &v, f, at);
	case FIELD_TEXT:
		return v.type == TOKEN_NULL || v.type == TOKEN_STRING ||
		       tokens_refuse(&l->t, "this must be a string");
	case FIELD_BOOL:
		return v.type == TOKEN_BOOL || tokens_refuse(&l->t, "this must be true or false");
	case FIELD_OBJECT:
		return read_fields(l, &v, f->fields, f->size, to, &seen);
	case FIELD_LIST:
		if (v.type != TOKEN_NULL && v.type != TOKEN_ARRAY)
			return tokens_refuse(&l->t, "this must be a list or null");
		return v.type == TOKEN_NULL || read_elements(l, f);
	case FIELD_ARRAY:
		if (v.type != TOKEN_ARRAY)
			return tokens_refuse(&l->t, "this must be an array");
		return read_elements(l, f);
	default:
		return f->read(l, &v);
	}
}

/* ---- snapshots ---- */

/* Appends a snapshot, all zero, that starts at `offset`; NULL out of memory. */
static struct stats_snapshot *new_snapshot(struct loader *l, uint64_t offset)
{
	l->snapshot = ARRAY_ADD(l->p->snapshots, l->p->nsnapshots);
	if (!l->snapshot) {
		tokens_no_memory(&l->t);
		return NULL;
	}
	*l->snapshot = (struct stats_snapshot){.offset = offset, .is_last = true};
	return l->snapshot;
}

const char *stats_called(const struct stats_snapshot *s, char *out, size_t size)
{
	char core[64] = "", node[16] = "";

	if (s->has_core)
		snprintf(core, sizeof(core), "core %u epoch %" PRIu32 " inv %" PRIu64 " ",
			 s->core_id, s->epoch_id, s->invocation_id);
	if (s->scope == STATS_NODE)
		snprintf(node, sizeof(node), "%" PRIu32, s->hw_node_id);
	snprintf(out, size, "%s%s%s", core, s->scope == STATS_CORE ? "all nodes" : "node ", node);
	return out;
}

struct loom_place stats_place(const struct run_stats *p, const struct stats_snapshot *s)
{
	return (struct loom_place){p->path, LOOM_NOWHERE, s ? s->offset : LOOM_NOWHERE};
}

void stats_found(struct loom_violations *f, const struct run_stats *p,
		 const struct stats_snapshot *s, enum loom_rule rule, const char *fmt, ...)
{
	struct loom_place place = stats_place(p, s);
	char text[400], called[96] = "";
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (s)
		stats_called(s, called, sizeof(called));
	loom_violation_add(f, rule, &place, "%s%s%s", called, s ? ": " : "", text);
}

/* Reports P2 for missing counters of the present snapshot. */
static void require_counters(struct loader *l, uint32_t wanted)
{
	uint32_t missing = wanted & ~(l->snapshot->has_counter | l->snapshot->bad_counter);

	for (int c = 0; c < STATS_NCOUNTERS; c++) {
		if (missing >> c & 1)
			stats_found(l->findings, l->p, l->snapshot, LOOM_P2, "no %s",
				    stats_counter_names[c]);
	}
}

/* Reports P2 for a missing number of the run. */
static void require_number(struct loader *l, const struct stats_number *n, const char *key)
{
	if (!n->given)
		stats_found(l->findings, l->p, NULL, LOOM_P2, "no %s", key);
}

/* ---- upstream's JSON ---- */

static bool read_node(struct loader *l, const struct token *v)
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
	struct stats_snapshot *s = new_snapshot(l, l->element_at);
	uint64_t seen;

	if (!s || !read_fields(l, v, fields, COUNT(fields), s, &seen))
		return false;
	if (!(seen & 1))
		return tokens_refuse(&l->t, "this node has no nodeIndex");
	require_counters(l, ALL_COUNTERS & ~BIT(TOTAL_CYCLES));
	return true;
}

static bool load_legacy(struct loader *l, const struct token *v)
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

	if (!read_fields(l, v, fields, COUNT(fields), l->p, &seen))
		return false;
	/* all versions have these; the first ones had fewer other keys */
	require_number(l, &l->p->total_cycles, "totalCycles");
	require_number(l, &l->p->config_cycles, "configCycles");
	require_number(l, &l->p->execution_cycles, "executionCycles");
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
	struct loader *l = arg;

	if (!l->snapshot && !new_snapshot(l, inflow_offset(&l->in)))
		return false;
	if (!key) {
		l->snapshot->hw_node_id = m->hw_node_id;
		l->snapshot->has_core = !m->any_core;
		l->snapshot->core_id = m->core_id;
		require_counters(l, ALL_COUNTERS & ~BIT(TOTAL_CYCLES) & ~BIT(CONFIG_WRITES));
		l->snapshot = NULL;
		return true;
	}
	for (size_t i = 0; i < COUNT(fields); i++) {
		if (!strcmp(key, fields[i].key))
			return read_field(l, &fields[i], l->snapshot);
	}
	return tokens_skip(t);
}

static bool read_modules(struct loader *l, const struct token *v)
{
	if (v->type != TOKEN_ARRAY)
		return tokens_refuse(&l->t, "the modules must be an array");
	return loom_modules_read(&l->p->modules, &l->t, read_module_key, l);
}

static bool load_gem5(struct loader *l, const struct token *v)
{
	static const struct field fields[] = {
		{"success", .type = FIELD_BOOL},
		{"termination", .type = FIELD_TEXT},
		{"total_cycles", FIELD_NUMBER, IN(run_stats, total_cycles)},
		{"kernel_cycles", FIELD_NUMBER, IN(run_stats, kernel_cycles)},
		{"modules", OTHER(read_modules)},
	};
	uint64_t seen;

	if (!read_fields(l, v, fields, COUNT(fields), l->p, &seen))
		return false;
	require_number(l, &l->p->total_cycles, "total_cycles");
	require_number(l, &l->p->kernel_cycles, "kernel_cycles");
	return true;
}

/* ---- upstream's text ---- */

/* Parses a decimal number without a suffix, or reports P2. */
static struct stats_number parse_counter(struct loader *l, const char *key, const char *text)
{
	struct stats_number n = {.v = 0};

	n.given = !units_parse_number(text, &n.v);
	if (!n.given)
		no_counter(l, key);
	return n;
}

/* Reads a line of the run. *known is set for a key that only statistics have. */
static bool run_line(struct loader *l, const char *key, const char *value, bool *known)
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

static bool node_value(struct loader *l, struct stats_snapshot *s, const char *key,
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
		set_counter(s, counters[i].counter, parse_counter(l, key, value));
		break;
	}
	return true;
}

/* Parses "node=2 active=4 ..."; a blank may precede a value. */
static bool node_line(struct loader *l, char *line)
{
	struct stats_snapshot *s = new_snapshot(l, inflow_offset(&l->in));
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
	require_counters(l, ALL_COUNTERS & ~BIT(TOTAL_CYCLES));
	l->snapshot = NULL;
	return true;
}

static bool text_line(struct loader *l, char *line, bool *in_nodes, bool *known)
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

static bool load_text(struct loader *l)
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
	require_number(l, &p->total_cycles, "total_cycles");
	require_number(l, &p->config_cycles, "config_cycles");
	return true;
}

/* ---- loom-perf ---- */

static bool read_version(struct loader *l, const struct token *v)
{
	return (token_fits(v, 1) && v->integer == 1) ||
	       tokens_refuse(&l->t, "an unsupported version of the schema (1 is known)");
}

static bool check_mode(struct loader *l, const struct token *v)
{
	return v->type == TOKEN_NULL ||
	       (v->type == TOKEN_STRING &&
		(!strcmp(v->text, "full") || !strcmp(v->text, "summary"))) ||
	       tokens_refuse(&l->t, "a mode is full or summary");
}

static bool read_clock(struct loader *l, const struct token *v)
{
	static const struct field fields[] = {
		{"period_ps", FIELD_NUMBER, IN(run_stats, period_ps)}};
	uint64_t seen;

	if (!read_fields(l, v, fields, COUNT(fields), l->p, &seen))
		return false;
	l->p->bad_period = seen && l->p->period_ps.v == 0;
	if (l->p->period_ps.given && l->p->bad_period)
		stats_found(l->findings, l->p, NULL, LOOM_P2, "clock.period_ps is 0");
	return true;
}

static bool read_kind(struct loader *l, const struct token *v)
{
	uint8_t kind;

	if (v->type != TOKEN_STRING || !loom_kind_parse(v->text, v->len, &kind))
		return tokens_refuse(&l->t, "no such kind of record");
	loom_controls_add_kind(&l->p->controls, kind);
	return true;
}

static bool read_core(struct loader *l, const struct token *v)
{
	if (!token_fits(v, UINT16_MAX))
		return tokens_refuse(&l->t, "a core is a number from 0 to 65535");
	if (loom_controls_add_core(&l->p->controls, (uint16_t)v->integer) < 0)
		return tokens_no_memory(&l->t);
	return true;
}

static bool read_chosen_node(struct loader *l, const struct token *v)
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

static bool read_sampling(struct loader *l, const struct token *v)
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
	if (!read_fields(l, v, fields, COUNT(fields), c, &seen))
		return false;
	if (seen != 3 || c->keep > c->of || c->of == 0)
		return tokens_refuse(&l->t, "sampling keeps K of N, with K from 0 to N");
	l->p->samples = c->keep < c->of;
	return true;
}

/* ---- events ---- */

/* An object of counts; `put` gets each of them with its key. */
static bool read_breakdown(struct loader *l, const struct token *counts, uint64_t *sum, bool *given,
			   bool (*put)(struct loader *, const char *, uint64_t))
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

static bool put_dropped_kind(struct loader *l, const char *name, uint64_t n)
{
	uint8_t kind;

	if (!loom_kind_parse(name, strlen(name), &kind))
		return tokens_refuse(&l->t, "no such kind of record");
	l->p->events.of_kind[kind] = n;
	return true;
}

static bool put_dropped_core(struct loader *l, const char *name, uint64_t n)
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

static bool read_by_kind(struct loader *l, const struct token *v)
{
	struct stats_account *e = &l->p->events;

	return read_breakdown(l, v, &e->of_kinds, &e->by_kind, put_dropped_kind);
}

static bool read_by_core(struct loader *l, const struct token *v)
{
	struct stats_account *e = &l->p->events;

	return read_breakdown(l, v, &e->of_cores, &e->by_core, put_dropped_core);
}

static bool read_events(struct loader *l, const struct token *v)
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
	if (!read_fields(l, v, fields, COUNT(fields), &l->p->events, &seen))
		return false;
	for (size_t i = 0; i < 5; i++) { /* the breakdowns may be missing */
		if (!(seen >> i & 1))
			stats_found(l->findings, l->p, NULL, LOOM_P2, "events: no %s",
				    fields[i].key);
	}
	return true;
}

/* ---- invocations, snapshots ---- */

static bool read_invocation(struct loader *l, const struct token *token)
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
	};
	struct stats_invocation v = {.core_id = 0}, *to;
	uint64_t seen;

	if (!read_fields(l, token, fields, COUNT(fields), &v, &seen))
		return false;
	if (seen != (1u << COUNT(fields)) - 1)
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

static bool read_snapshot(struct loader *l, const struct token *v)
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
	struct stats_snapshot *s = new_snapshot(l, l->element_at);
	struct loom_place place;
	uint64_t seen;

	if (!s || !read_fields(l, v, fields, COUNT(fields), s, &seen))
		return false;
	place = stats_place(l->p, s);
	s->has_core = seen >> F_CORE & 1;
	s->scope = seen >> F_NODE & 1 ? STATS_NODE : STATS_CORE;
	for (int i = 0; i < F_NODE; i++) {
		if (!(seen >> i & 1))
			loom_violation_add(l->findings, LOOM_P2, &place, "a snapshot has no %s",
					   fields[i].key);
	}
	require_counters(l, ALL_COUNTERS);
	return true;
}

static bool load_loom(struct loader *l, const struct token *v)
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

	if (!read_fields(l, v, fields, COUNT(fields), l->p, &seen) || !tokens_end(&l->t))
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

/* ---- which form ---- */

/* Finds the form from the keys of the document. */
static bool find_json_form(struct loader *l)
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

		for (size_t i = 0; i < COUNT(keys) && l->p->form == STATS_UNKNOWN; i++) {
			if (!strcmp(key, keys[i].key))
				l->p->form = keys[i].form;
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
		l->p->form = STATS_LOOM;
	}
	if (more < 0 || !tokens_end(&l->t))
		return false;
	if (l->p->form == STATS_UNKNOWN)
		return tokens_refuse(&l->t, "not a known form of statistics");
	inflow_seek(&l->in, 0);
	tokens_init(&l->t, &l->in);
	return true;
}

/* Marks the final snapshots of loom-perf; upstream has only these. */
static int mark_last(struct run_stats *p)
{
	struct hash last = {0};
	int err = -ENOMEM;

	for (size_t i = 0; i < p->nsnapshots && p->form == STATS_LOOM; i++) {
		struct stats_snapshot *s = &p->snapshots[i];
		struct hash_key key = {s->invocation_id,
				       (uint64_t)s->epoch_id << 32 | s->hw_node_id,
				       (uint32_t)s->core_id << 1 | (s->scope == STATS_CORE)};
		uint32_t *at = hash_at(&last, key);

		if (!at)
			goto out;
		if (*at != HASH_NONE && p->snapshots[*at].cycle > s->cycle) {
			s->is_last = false;
			continue;
		}
		if (*at != HASH_NONE)
			p->snapshots[*at].is_last = false;
		*at = (uint32_t)i;
	}
	err = 0;
out:
	hash_free(&last);
	return err;
}

/* Looks for a node that is listed twice without a core (P11). */
static int find_joins(struct run_stats *p)
{
	struct hash nodes = {0};
	int err = -ENOMEM;

	for (size_t i = 0; i < p->nsnapshots && p->form != STATS_LOOM; i++) {
		uint32_t node = p->snapshots[i].hw_node_id, *at;

		if (p->snapshots[i].has_core)
			continue;
		at = hash_at(&nodes, (struct hash_key){.a = node});
		if (!at)
			goto out;
		if (*at != HASH_NONE && (!p->joins_cores || node < p->joined_node)) {
			p->joins_cores = true;
			p->joined_node = node;
		}
		*at = (uint32_t)i;
	}
	err = 0;
out:
	hash_free(&nodes);
	return err;
}

static bool load(struct loader *l)
{
	struct token v;
	int c;

	while ((c = inflow_peek_byte(&l->in)) == ' ' || c == '\t' || c == '\n' || c == '\r')
		inflow_skip(&l->in, 1);
	if (c != '{' && c != '[')
		return load_text(l);
	if (!find_json_form(l) || !tokens_value(&l->t, &v))
		return false;
	switch (l->p->form) {
	case STATS_LEGACY:
		return load_legacy(l, &v) && tokens_end(&l->t);
	case STATS_GEM5:
		return load_gem5(l, &v) && tokens_end(&l->t);
	default:
		return load_loom(l, &v);
	}
}

int run_stats_load(struct run_stats *p, int dirfd, const char *path,
		   struct loom_violations *findings)
{
	struct loader l = {.p = p, .findings = findings};
	struct loom_place place;
	int err;

	memset(p, 0, sizeof(*p));
	p->path = strdup(path);
	if (!p->path)
		return log_no_memory("while reading %s", path);
	err = inflow_open(&l.in, dirfd, path, INPUT_STATS_MAX);
	if (err)
		goto out;
	if (load(&l)) {
		if (mark_last(p) < 0 || find_joins(p) < 0)
			err = log_no_memory("while reading %s", path);
		goto out;
	}
	err = l.in.error;
	if (err) /* reported */
		goto out;
	if (l.t.no_memory) {
		err = log_no_memory("while reading %s", path);
		goto out;
	}
	err = -EBADMSG;
	place = (struct loom_place){p->path, LOOM_NOWHERE, l.t.where};
	loom_violation_add(findings, LOOM_P1, &place, "byte %llu: %s", LLU(l.t.where),
			   l.t.why ? l.t.why : "damaged");
out:
	inflow_close(&l.in);
	return err;
}

void run_stats_free(struct run_stats *p)
{
	free(p->path);
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

	return loom_controls_filter(&p->controls) || p->samples || e->filtered.v > 0 ||
	       e->sampled_out.v > 0 || e->dropped.v > 0;
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

bool run_stats_config_writes(const struct run_stats *p, uint64_t *sum)
{
	bool any = false;

	*sum = p->sums[STATS_CONFIG_WRITES].v;
	if (p->form != STATS_LOOM)
		return p->sums[STATS_CONFIG_WRITES].given;
	for (size_t i = 0; i < p->nsnapshots; i++) {
		const struct stats_snapshot *s = &p->snapshots[i];

		if (s->scope != STATS_CORE || !s->is_last)
			continue;
		any = true;
		*sum += s->counters[STATS_CONFIG_WRITES];
	}
	return any;
}

void stats_derive(const uint64_t counters[STATS_NCOUNTERS], uint64_t total,
		  double out[STATS_NMETRICS])
{
	uint64_t active = counters[STATS_ACTIVE_CYCLES];

	out[STATS_M_UTILIZATION] = stats_ratio(active, total);
	out[STATS_M_INPUT_STALL] = stats_ratio(counters[STATS_STALL_CYCLES_IN], total);
	out[STATS_M_OUTPUT_STALL] = stats_ratio(counters[STATS_STALL_CYCLES_OUT], total);
	out[STATS_M_THROUGHPUT] =
		active ? stats_ratio(counters[STATS_TOKENS_OUT], active) : (double)NAN;
	out[STATS_M_CONFIG_OVERHEAD] = stats_ratio(counters[STATS_CONFIG_WRITES], total);
}
