/* SPDX-License-Identifier: MIT */
/*
 * run_stats: see run_stats.h. Each form is a table of its keys and the types of their values.
 * Unknown keys are skipped, repeated keys are a mistake.
 */
#include "trace/loom/stats/run_stats_load.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/array.h"
#include "trace/base/hash.h"
#include "trace/base/log.h"

#define LLU(v) ((unsigned long long)(v))

#define COUNTER_NAME(name, key) [STATS_##name] = #key,
const char *const stats_counter_names[STATS_NCOUNTERS] = {STATS_COUNTERS(COUNTER_NAME)};
#define METRIC_NAME(name, key) [STATS_M_##name] = #key,
const char *const stats_metric_names[STATS_NMETRICS] = {STATS_METRICS(METRIC_NAME)};

const char *stats_form_name(enum stats_form form)
{
	static const char *const names[] = {
		[STATS_UNKNOWN] = "unknown", [STATS_LEGACY] = "legacy",	 [STATS_TEXT] = "text",
		[STATS_GEM5] = "gem5",	     [STATS_LOOM] = "loom-perf",
	};

	return names[form];
}

/* ---- values ---- */

bool stats_read_fields(struct stats_loader *l, const struct token *v, const struct field *fields,
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
		if (!stats_read_field(l, &fields[i], to))
			return false;
	}
	return more == 0;
}

static bool read_elements(struct stats_loader *l, const struct field *f)
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

static bool read_choice(struct stats_loader *l, const struct token *v, const struct field *f,
			int *to)
{
	for (size_t i = 0; v->type == TOKEN_STRING && i < f->size; i++) {
		if (!strcmp(v->text, f->names[i])) {
			*to = (int)i;
			return true;
		}
	}
	return tokens_refuse(&l->t, f->wrong);
}

void stats_no_counter(struct stats_loader *l, const char *key)
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
static bool read_counter(struct stats_loader *l, const struct token *v, const char *key,
			 struct stats_number *n)
{
	n->given = token_fits(v, UINT64_MAX);
	if (n->given) {
		n->v = v->integer;
		return true;
	}
	stats_no_counter(l, key);
	if (v->type == TOKEN_ARRAY || v->type == TOKEN_OBJECT)
		return tokens_leave(&l->t);
	return true;
}

void stats_set_counter(struct stats_snapshot *s, size_t counter, struct stats_number n)
{
	s->counters[counter] = n.v;
	s->has_counter |= (uint32_t)n.given << counter;
	s->bad_counter |= (uint32_t)!n.given << counter;
}

bool stats_read_real(struct stats_loader *l, const struct token *v, double *to)
{
	if (v->type != TOKEN_NULL && v->type != TOKEN_NUMBER)
		return tokens_refuse(&l->t, "this must be a number or null");
	*to = v->type == TOKEN_NULL ? (double)NAN : token_real(v);
	return true;
}

bool stats_read_field(struct stats_loader *l, const struct field *f, void *to)
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
		stats_set_counter(l->snapshot, f->at, n);
		return true;
	case FIELD_METRIC:
		l->snapshot->has_metric |= (uint16_t)(1u << f->at);
		return stats_read_real(l, &v, &l->snapshot->metrics[f->at]);
	case FIELD_CHOICE:
		return read_choice(l, &v, f, at);
	case FIELD_TEXT:
		return v.type == TOKEN_NULL || v.type == TOKEN_STRING ||
		       tokens_refuse(&l->t, "this must be a string");
	case FIELD_BOOL:
		return v.type == TOKEN_BOOL || tokens_refuse(&l->t, "this must be true or false");
	case FIELD_OBJECT:
		return stats_read_fields(l, &v, f->fields, f->size, to, &seen);
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

struct stats_snapshot *stats_new_snapshot(struct stats_loader *l, uint64_t offset)
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

void stats_require_counters(struct stats_loader *l, uint32_t wanted)
{
	uint32_t missing = wanted & ~(l->snapshot->has_counter | l->snapshot->bad_counter);

	for (int c = 0; c < STATS_NCOUNTERS; c++) {
		if (missing >> c & 1)
			stats_found(l->findings, l->p, l->snapshot, LOOM_P2, "no %s",
				    stats_counter_names[c]);
	}
}

void stats_require_number(struct stats_loader *l, const struct stats_number *n, const char *key)
{
	if (!n->given)
		stats_found(l->findings, l->p, NULL, LOOM_P2, "no %s", key);
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

static bool load(struct stats_loader *l)
{
	struct token v;
	int c;

	while ((c = inflow_peek_byte(&l->in)) == ' ' || c == '\t' || c == '\n' || c == '\r')
		inflow_skip(&l->in, 1);
	if (c != '{' && c != '[')
		return stats_load_text(l);
	if (!find_json_form(l) || !tokens_value(&l->t, &v))
		return false;
	switch (l->p->form) {
	case STATS_LEGACY:
		return stats_load_legacy(l, &v) && tokens_end(&l->t);
	case STATS_GEM5:
		return stats_load_gem5(l, &v) && tokens_end(&l->t);
	default:
		return stats_load_loom(l, &v);
	}
}

int run_stats_load(struct run_stats *p, int dirfd, const char *path,
		   struct loom_violations *findings)
{
	struct stats_loader l = {.p = p, .findings = findings};
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
