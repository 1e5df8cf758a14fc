/* SPDX-License-Identifier: MIT */
/*
 * import: the import command: converts a Loom run into an ovni v3 trace.
 *
 *   run                  loom "loomsim.NAME"
 *   core                 process, with a control thread: epoch, invocation, configuration, errors
 *   hardware node        thread and CPU: its state, route, errors, extension records
 *
 * In: the trace file, read twice: for the tables (run_survey), then for the changes (node_state
 * and the state of each core); out: streams. The files of the run are kept beside its streams,
 * since marks do not have all data of a record. Invariants: memory follows nodes and invocations,
 * not records; the import checks the range of cycles before it creates files. Specification:
 * loom.md 9.1 to 9.3.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/loom/run/run_clock.h"
#include "tools/loom/run/keep_files.h"
#include "tools/loom/import/import_anchors.h"
#include "tools/loom/import/import_map.h"
#include "tools/loom/import/import_streams.h"
#include "tools/loom/run/node_state.h"
#include "tools/loom/run/loom_command.h"
#include "trace/base/status.h"
#include "trace/base/log.h"
#include "trace/loom/run_files.h"
#include "trace/loom/stats/run_stats.h"
#include "trace/base/text.h"
#include "trace/ovni/trace.h"

#define INPUTS_LABELLED 64   /* of a node; values above it have no label */
#define CODES_LABELLED	4096 /* of errors */

/* The route of a lane, a mark for the cycle of its record. */
struct lane {
	uint64_t cycle; /* of the last record */
	int64_t input;	/* shown; -1: none */
};

struct import {
	struct loom_options *o;
	struct run_files run;
	struct run_reader reader;
	struct loom_violations findings;
	struct run_stats perf; /* empty without a file */
	struct loom_modules names;
	struct import_map map; /* empty without a file */
	struct run_survey *survey;
	struct run_clock clock;
	struct import_calls calls;  /* of the host; none with --base */
	struct run_anchor *anchors; /* of the clock, or NULL */
	int64_t host_begin;	    /* first clock of the trace that is added to, or -1 */
	struct loom_chain chain;    /* at the end of the run */
	struct import_streams *rows;
	enum loom_form form;
	uint64_t last_cycle; /* last cycle in the range of clocks */
	struct core *cores;  /* of the survey */
	struct lane *lanes;  /* of the survey, with the option for lanes */
	uint64_t *inputs;    /* per node: set of inputs with a label */
	uint32_t *order;     /* scope -> number, if an id is too large for the mark; else NULL */
	char name[256];
	int fd; /* of the trace */
	bool damaged;
	bool lost;		      /* the simulator has dropped records */
	bool made;		      /* the import created the directory */
	char *kept_trace, *kept_perf; /* names in the trace, or NULL */
};

static int no_memory(const struct import *m)
{
	return log_no_memory("while converting %s", m->o->run);
}

/* ---- the statistics ---- */

/* Logs only violations that make the file unreadable; ovni-loom check reports the others. */
static void report_unreadable(void *arg, const struct loom_violation *finding)
{
	(void)arg;
	if (finding->rule == LOOM_P1)
		log_error("%s: %s (rule P1); --perf - ignores the statistics", finding->file,
			  finding->text);
}

/*
 * Adds rows without a core: list[0 .. n), in the order of the file. They belong to the next core
 * where the nodes do not increase; *doubtful if that does not fit the cores and nodes with records.
 */
static int unnamed(struct run_survey *s, const uint32_t *list, size_t n, bool *doubtful)
{
	uint16_t *cores = calloc(s->ncores + 1, sizeof(*cores));
	size_t ncores = 0, known = 0, found = 0, k = 0;
	int err = 0;

	if (!cores)
		return -ENOMEM;
	for (uint32_t id = 0; id < LOOM_CORES; id++) {
		if (s->core_of[id] != LOOM_NONE && s->cores[s->core_of[id]].used)
			cores[ncores++] = (uint16_t)id;
	}
	for (size_t i = 0; i < s->nnodes; i++)
		known += s->nodes[i].evidence;
	for (size_t i = 0; i < n; i++) {
		uint32_t node = LOOM_NONE;

		k += i > 0 && list[i] <= list[i - 1];
		if (k < ncores)
			node = run_survey_node(s, cores[k], list[i]);
		found += node != LOOM_NONE && s->nodes[node].evidence;
	}
	*doubtful = k + 1 != ncores || (ncores > 1 && found != known);
	k = 0;
	for (size_t i = 0; !*doubtful && i < n; i++) {
		k += i > 0 && list[i] <= list[i - 1];
		err = run_survey_add_node(s, cores[k], list[i]);
		if (err)
			goto out;
	}
out:
	free(cores);
	return err;
}

/* True if the file declares that records were left out. */
static bool leaves_out(const struct run_stats *p)
{
	const struct stats_account *e = &p->events;

	if (!e->given)
		return run_stats_leaves_out(p);
	return e->filtered.v > 0 || e->sampled_out.v > 0 || e->dropped.v > 0;
}

/*
 * Adds the nodes in the statistics to the survey. Rows of several unnamed cores are separated only
 * if that is safe: with one increasing list of nodes per core, which has all nodes with records of
 * its core; otherwise *doubtful is set. With declared losses (filters, sampling, drops) no node is
 * added: a node without records may have been busy, and must not appear as idle. Returns 0 or
 * -ENOMEM.
 */
static int survey_stats(struct import *m, bool *doubtful)
{
	const struct run_stats *p = &m->perf;
	struct run_survey *s = m->survey;
	uint32_t *list;
	size_t n = 0;
	int err = 0;

	*doubtful = false;
	if (p->nsnapshots == 0 || leaves_out(p))
		return 0;
	list = malloc(p->nsnapshots * sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < p->nsnapshots; i++) {
		const struct stats_snapshot *row = &p->snapshots[i];

		if (row->scope != STATS_NODE)
			continue;
		if (row->has_core)
			err = run_survey_add_node(s, row->core_id, row->hw_node_id);
		else
			list[n++] = row->hw_node_id;
		if (err)
			goto out;
	}
	err = n ? unnamed(s, list, n, doubtful) : 0;
out:
	free(list);
	return err;
}

/* ---- the first reading ---- */

static int open_reader(struct import *m)
{
	struct run_reader_options how = {.layout = m->o->layout};

	return run_reader_open(&m->reader, m->run.trace_at, m->run.trace, &how, &m->findings);
}

/* Logs the record with a wrong cycle. Returns `err`. */
static int broken(const struct import *m, int err, const struct loom_record *r, uint64_t last)
{
	if (err == -EOVERFLOW)
		log_error("%s: record %" PRIu64 ": cycle %" PRIu64
			  " does not fit behind the part of the run before it",
			  m->run.trace, m->reader.index, r->cycle);
	else if (m->o->no_chain)
		log_error("%s: record %" PRIu64 ": cycle %" PRIu64 " comes after %" PRIu64
			  "; see 'ovni-loom check', or leave --no-chain out",
			  m->run.trace, m->reader.index, r->cycle, last);
	else
		log_error("%s: record %" PRIu64 ": cycle %" PRIu64 " comes after %" PRIu64
			  " within one invocation: a trace cannot go back in time; see 'ovni-loom "
			  "check'",
			  m->run.trace, m->reader.index, r->cycle, last);
	return -EINVAL;
}

/* Number of cycles after its own that a record covers. */
static uint64_t reach(const struct import *m, const struct loom_record *r)
{
	if (m->survey->style == LOOM_STYLE_SPAN && loom_is_of_node(r->event_kind))
		return loom_record_span(r);
	return 1;
}

static int too_late(const struct import *m, const struct loom_record *r)
{
	uint64_t end, longest = 0;

	if (!__builtin_add_overflow(r->cycle, reach(m, r), &end))
		longest = run_clock_longest(&m->clock, end);
	if (longest)
		log_error("%s: record %" PRIu64 ": cycle %" PRIu64
			  " lies beyond the clock of a trace (2^63 ns) with a period of %" PRIu64
			  " ps; the longest that fits is --clock-period %" PRIu64 "ps",
			  m->run.trace, m->reader.index, end - 1, m->clock.period_ps, longest);
	else
		log_error("%s: record %" PRIu64 ": cycle %" PRIu64
			  " lies beyond the clock of a trace (2^63 ns), whatever the period",
			  m->run.trace, m->reader.index, r->cycle);
	return -EOVERFLOW;
}

static int survey_records(struct import *m)
{
	struct loom_record r;
	int got, err;

	while ((got = run_reader_next(&m->reader, &r)) > 0) {
		uint64_t last = m->chain.last;

		err = loom_chain_step(&m->chain, &r);
		if (err)
			return broken(m, err, &r, last);
		import_calls_shift(&m->calls, &r);
		if (r.cycle > m->last_cycle || reach(m, &r) > m->last_cycle - r.cycle)
			return too_late(m, &r);
		err = run_survey_add(m->survey, &r, m->chain.parts);
		if (err)
			return no_memory(m);
	}
	m->damaged = m->reader.is_damaged;
	return got;
}

static int survey_module(struct import *m, const struct loom_module *node)
{
	int err = loom_modules_add(&m->names, node);

	if (err)
		return err;
	if (!node->any_core)
		return run_survey_add_node(m->survey, node->core_id, node->hw_node_id);
	for (size_t k = 0; k < m->survey->ncores; k++) {
		const struct run_survey_core *core = &m->survey->cores[k];

		err = core->used ? run_survey_add_node(m->survey, core->id, node->hw_node_id) : 0;
		if (err)
			return err;
	}
	return 0;
}

/* Adds names and nodes that are only in tables. */
static int survey_tables(struct import *m)
{
	const struct loom_modules *modules = &m->reader.modules;
	bool doubtful;
	int err = survey_stats(m, &doubtful);

	if (doubtful)
		log_warn(
			"%s: nodes of several cores, without core ids: only nodes with records are "
			"shown",
			m->run.perf);
	if (err)
		return no_memory(m);
	for (size_t i = 0; i < modules->n; i++)
		if (survey_module(m, &modules->list[i]))
			return no_memory(m);
	if (!m->survey->ncores && run_survey_add_core(m->survey, 0))
		return no_memory(m);
	if (run_survey_seal(m->survey))
		return no_memory(m);
	if (m->o->nodes_file)
		err = loom_modules_load(&m->names, AT_FDCWD, m->o->nodes_file);
	if (!err && m->o->map_file)
		err = import_map_load(&m->map, m->o->map_file, m->survey, &m->names);
	return err;
}

static int survey(struct import *m)
{
	enum loom_style style = m->o->has_style ? m->o->style : m->perf.style;
	int err;

	m->survey = run_survey_new(style);
	if (!m->survey)
		return no_memory(m);
	m->survey->by_lane = m->o->lanes;
	if (m->o->lanes && style == LOOM_STYLE_EDGE) {
		log_error("--lanes: in style edge, the routes of single lanes are unknown");
		return -EINVAL;
	}
	m->chain.off = m->o->no_chain;
	m->last_cycle = run_clock_last(&m->clock);
	err = open_reader(m);
	m->form = m->reader.form;
	if (err)
		goto out;
	err = survey_records(m);
	if (err)
		goto out;
	err = survey_tables(m);
out:
	run_reader_close(&m->reader);
	m->lost = m->perf.events.dropped.v > 0;
	if (err)
		return err;
	if (m->chain.parts)
		log_info("%s: the cycles start again %" PRIu32
			 " %s: the parts follow each other in the trace (--no-chain refuses that)",
			 m->run.trace, m->chain.parts, plural(m->chain.parts, "time", "times"));
	if (m->lost)
		log_warn("%s: the simulator dropped %" PRIu64 " %s, missing in the trace",
			 m->run.trace, m->perf.events.dropped.v,
			 plural(m->perf.events.dropped.v, "record", "records"));
	if (m->clock.period_ps < 1000)
		log_warn("%s: a cycle of %" PRIu64 " ps is shorter than the nanoseconds of a "
			 "trace: several cycles fall into one",
			 m->o->run, m->clock.period_ps);
	if (m->survey->records && !m->survey->stalls)
		log_info("%s: no record of a stall: nodes that wait are shown as idle",
			 m->run.trace);
	return 0;
}

/* ---- marks ---- */

static void mark(struct import *m, size_t row, enum loom_mark type, uint64_t cycle, int64_t value)
{
	import_streams_mark(m->rows, row, run_clock_ns(&m->clock, cycle), type, value);
}

/* Writes a mark and the label of its value, for rare marks. */
static void mark_labelled(struct import *m, size_t row, enum loom_mark type, uint64_t cycle,
			  int64_t value, const char *label)
{
	import_streams_label(m->rows, row, type, value, label);
	mark(m, row, type, cycle, value);
}

static void mark_error(struct import *m, size_t row, uint64_t cycle, int64_t code)
{
	const char *name = code < 0 ? "none" : loom_error_name((uint32_t)code);
	char label[128];

	if (code < 0) {
		mark_labelled(m, row, LOOM_MARK_ERROR, cycle, LOOM_NO_ERROR, name);
	} else if (code >= CODES_LABELLED) {
		mark(m, row, LOOM_MARK_ERROR, cycle, code + 1);
	} else {
		snprintf(label, sizeof(label), "%" PRId64 "%s%s", code, name ? ": " : "",
			 name ? name : "");
		mark_labelled(m, row, LOOM_MARK_ERROR, cycle, code + 1, label);
	}
}

static void mark_route(struct import *m, size_t row, uint32_t node, uint64_t cycle, int64_t input)
{
	int64_t value = input < 0 ? LOOM_NO_ROUTE : loom_mark_of_input((uint32_t)input);
	char label[32];

	if (input >= 0 && input < INPUTS_LABELLED && !(m->inputs[node] >> input & 1)) {
		m->inputs[node] |= UINT64_C(1) << input;
		snprintf(label, sizeof(label), "input %" PRId64, input);
		import_streams_label(m->rows, row, LOOM_MARK_ROUTE, value, label);
	}
	mark(m, row, LOOM_MARK_ROUTE, cycle, value);
}

static void node_changes(void *arg, uint32_t node, enum loom_what what, uint64_t cycle,
			 int64_t value)
{
	struct import *m = arg;
	size_t row = loom_row_of_node(m->survey, node);
	char label[32] = "none";

	switch (what) {
	case LOOM_WHAT_STATE:
		mark(m, row, LOOM_MARK_STATE, cycle, value);
		break;
	case LOOM_WHAT_ROUTE:
		mark_route(m, row, node, cycle, value);
		break;
	case LOOM_WHAT_ERROR:
		mark_error(m, row, cycle, value);
		break;
	case LOOM_WHAT_EXTENSION:
		if (value >= 0)
			snprintf(label, sizeof(label), "extension %" PRId64, value);
		mark_labelled(m, row, LOOM_MARK_EXTENSION, cycle,
			      value < 0 ? LOOM_NO_EXTENSION : value, label);
		break;
	}
}

/* ---- the state of each core ---- */

/* A begin or end of an invocation. */
struct boundary {
	uint64_t cycle;
	uint32_t scope;
	bool begins;
};

/* The epoch, invocation, configuration word and error that a core shows. */
struct core {
	size_t row;
	struct boundary *boundaries;
	size_t n, next;
	uint32_t *open; /* a stack of scopes by begin: the last one is shown, and is not closed */
	size_t nopen;
	bool *closed;	      /* by index in the scopes of the core */
	uint32_t first;	      /* index of its first scope in the survey */
	int64_t epoch;	      /* the shown one; -1: none yet */
	uint64_t config_end;  /* end of the shown word; 0: none */
	uint64_t error_until; /* end of the shown error; 0: none */
};

static int by_cycle(const void *a, const void *b)
{
	const struct boundary *x = a, *y = b;

	if (x->cycle != y->cycle)
		return x->cycle < y->cycle ? -1 : 1;
	if (x->begins != y->begins)
		return x->begins ? 1 : -1;
	return x->scope < y->scope ? -1 : x->scope > y->scope;
}

static int prepare_core(struct core *c, const struct run_survey *survey, uint32_t core)
{
	const struct run_survey_core *at = &survey->cores[core];

	c->row = loom_row_of_core(core);
	c->epoch = -1;
	c->boundaries = calloc(2 * (size_t)at->nscopes + 1, sizeof(*c->boundaries));
	c->open = calloc(at->nscopes + 1, sizeof(*c->open));
	c->closed = calloc(at->nscopes + 1, sizeof(*c->closed));
	c->first = at->first_scope;
	if (!c->boundaries || !c->open || !c->closed)
		return -ENOMEM;
	for (uint32_t i = 0; i < at->nscopes; i++) {
		const struct loom_scope *s = &survey->scopes[at->first_scope + i];

		if (s->begin == s->end)
			continue; /* empty */
		c->boundaries[c->n++] = (struct boundary){s->begin, at->first_scope + i, true};
		c->boundaries[c->n++] = (struct boundary){s->end, at->first_scope + i, false};
	}
	if (c->n)
		qsort(c->boundaries, c->n, sizeof(*c->boundaries), by_cycle);
	return 0;
}

static void show_epoch(struct import *m, struct core *c, uint64_t cycle, uint32_t epoch)
{
	char label[32];

	if (c->epoch == epoch)
		return;
	c->epoch = epoch;
	snprintf(label, sizeof(label), "epoch %" PRIu32, epoch);
	mark_labelled(m, c->row, LOOM_MARK_EPOCH, cycle, c->epoch + 1, label);
}

static void show_invocation(struct import *m, struct core *c, uint64_t cycle, uint32_t scope)
{
	uint64_t id = m->survey->scopes[scope].id;
	char label[48];

	snprintf(label, sizeof(label), "invocation %" PRIu64, id);
	mark_labelled(m, c->row, LOOM_MARK_INVOCATION, cycle,
		      (int64_t)(m->order ? m->order[scope] : id) + 2, label);
}

/* Of overlapping invocations, the latest one is shown. */
static void cross(struct import *m, struct core *c, const struct boundary *b)
{
	if (b->begins) {
		c->open[c->nopen++] = b->scope;
		show_epoch(m, c, b->cycle, m->survey->scopes[b->scope].epoch);
		show_invocation(m, c, b->cycle, b->scope);
		return;
	}
	c->closed[b->scope - c->first] = true;
	if (c->open[c->nopen - 1] != b->scope)
		return;
	while (c->nopen > 0 && c->closed[c->open[c->nopen - 1] - c->first])
		c->nopen--;
	if (c->nopen > 0)
		show_invocation(m, c, b->cycle, c->open[c->nopen - 1]);
	else
		mark(m, c->row, LOOM_MARK_INVOCATION, b->cycle, LOOM_NO_INVOCATION);
}

/* Shows changes up to `cycle` without a record. A word in `cycle` replaces the one before it. */
static void advance(struct import *m, struct core *c, uint64_t cycle, bool config)
{
	for (;;) {
		uint64_t next = c->next < c->n ? c->boundaries[c->next].cycle : UINT64_MAX;

		if (c->config_end && c->config_end <= cycle && c->config_end <= next) {
			if (!config || c->config_end < cycle)
				mark(m, c->row, LOOM_MARK_CONFIG, c->config_end, LOOM_NO_CONFIG);
			c->config_end = 0;
		} else if (c->error_until && c->error_until <= cycle && c->error_until <= next) {
			mark_error(m, c->row, c->error_until, -1);
			c->error_until = 0;
		} else if (c->next < c->n && next <= cycle) {
			cross(m, c, &c->boundaries[c->next++]);
		} else {
			return;
		}
	}
}

static void add_to_core(struct import *m, uint32_t core, const struct loom_record *r, uint32_t part)
{
	struct core *c = &m->cores[core];
	uint64_t end = r->cycle + 1;
	uint32_t scope;

	/* most records change nothing here */
	if (loom_is_of_node(r->event_kind) && c->epoch == r->epoch_id)
		return;
	advance(m, c, r->cycle, r->event_kind == LOOM_CONFIG_WRITE);
	show_epoch(m, c, r->cycle, r->epoch_id);
	if (r->event_kind == LOOM_CONFIG_WRITE) {
		c->config_end = end;
		mark(m, c->row, LOOM_MARK_CONFIG, r->cycle, (int64_t)r->arg0 + 2);
	}
	if (r->event_kind == LOOM_DEVICE_ERROR) {
		scope = run_survey_scope(m->survey, r, part);
		if (scope != LOOM_NONE && m->survey->scopes[scope].end > end)
			end = m->survey->scopes[scope].end;
		if (end > c->error_until)
			c->error_until = end;
		mark_error(m, c->row, r->cycle, r->arg0);
	}
}

/* ---- lanes ---- */

/* Ends the route of a lane, unless it continues in `cycle`. */
static void end_lane(struct import *m, uint32_t lane, uint64_t cycle)
{
	struct lane *l = &m->lanes[lane];

	if (l->input < 0 || cycle <= l->cycle + 1)
		return;
	l->input = -1;
	mark(m, loom_row_of_lane(m->survey, lane), LOOM_MARK_ROUTE, l->cycle + 1, LOOM_NO_ROUTE);
}

static int add_lane(struct import *m, const struct loom_record *r)
{
	const struct run_survey *s = m->survey;
	uint32_t node = run_survey_node(s, r->core_id, r->hw_node_id);
	uint32_t at = node == LOOM_NONE ? LOOM_NONE : run_survey_lane(s, node, r->lane);
	struct lane *l;

	if (at == LOOM_NONE)
		return -ESTALE; /* the file has changed since the survey */
	l = &m->lanes[at];
	end_lane(m, at, r->cycle);
	l->cycle = r->cycle;
	if (l->input == r->arg0)
		return 0;
	l->input = r->arg0;
	mark(m, loom_row_of_lane(s, at), LOOM_MARK_ROUTE, r->cycle, loom_mark_of_input(r->arg0));
	return 0;
}

/* ---- the second reading ---- */

static int by_scope_begin(const void *a, const void *b, void *arg)
{
	const struct run_survey *s = arg;
	const struct loom_scope *x = &s->scopes[*(const uint32_t *)a];
	const struct loom_scope *y = &s->scopes[*(const uint32_t *)b];

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* Numbers the invocations by their first use if an id is too large for the mark. */
static int order_ids(struct import *m)
{
	const struct run_survey *s = m->survey;
	struct hash number_of = {0}; /* id */
	uint32_t *by_begin, *at, n = 0;
	bool large = false;
	int err = 0;

	for (size_t i = 0; i < s->nscopes; i++)
		large |= s->scopes[i].id > LOOM_INVOCATION_MAX;
	if (!large)
		return 0;
	m->order = calloc(s->nscopes, sizeof(*m->order));
	by_begin = calloc(s->nscopes, sizeof(*by_begin));
	if (!m->order || !by_begin) {
		err = no_memory(m);
		goto out;
	}
	for (uint32_t i = 0; i < s->nscopes; i++)
		by_begin[i] = i;
	qsort_r(by_begin, s->nscopes, sizeof(*by_begin), by_scope_begin, m->survey);
	for (size_t i = 0; i < s->nscopes; i++) {
		at = hash_at(&number_of, (struct hash_key){.a = s->scopes[by_begin[i]].id});
		if (!at) {
			err = no_memory(m);
			goto out;
		}
		if (*at == HASH_NONE)
			*at = n++;
		m->order[by_begin[i]] = *at;
	}
	log_warn("%s: an invocation id is too large for a mark: invocations are numbered in "
		 "the order of their begin, and their labels have the ids",
		 m->o->run);
out:
	hash_free(&number_of);
	free(by_begin);
	return err;
}

/* Writes the common labels of the rows, and their states at cycle 0. */
static void begin_rows(struct import *m)
{
	const struct run_survey *s = m->survey;

	for (uint32_t i = 0; i < s->ncores; i++) {
		size_t row = loom_row_of_core(i);

		mark_labelled(m, row, LOOM_MARK_INVOCATION, 0, LOOM_NO_INVOCATION, "none");
		mark_labelled(m, row, LOOM_MARK_CONFIG, 0, LOOM_NO_CONFIG, "none");
	}
	for (uint32_t i = 0; i < s->nnodes; i++) {
		size_t row = loom_row_of_node(s, i);

		for (int state = LOOM_OUTSIDE; state < LOOM_STATES; state++)
			import_streams_label(m->rows, row, LOOM_MARK_STATE, state,
					     loom_state_names[state]);
		mark(m, row, LOOM_MARK_STATE, 0, LOOM_OUTSIDE);
		if (s->nodes[i].routes)
			mark_labelled(m, row, LOOM_MARK_ROUTE, 0, LOOM_NO_ROUTE, "none");
	}
	for (uint32_t i = 0; i < s->nlanes; i++)
		mark_labelled(m, loom_row_of_lane(s, i), LOOM_MARK_ROUTE, 0, LOOM_NO_ROUTE, "none");
}

/* Reads the records again, and writes the changes that they cause. */
static int write_marks(struct import *m)
{
	struct node_state *states = node_state_new(m->survey, node_changes, m);
	struct loom_chain chain = {.off = m->o->no_chain};
	struct loom_record r;
	uint64_t n = 0;
	uint32_t core;
	int err = states ? 0 : no_memory(m), got = 1;

	m->findings = (struct loom_violations){.report = loom_violation_ignore};
	if (err)
		goto out;
	import_calls_restart(&m->calls);
	begin_rows(m);
	err = open_reader(m);
	if (err)
		goto out;
	while ((got = run_reader_next(&m->reader, &r)) > 0) {
		core = m->survey->core_of[r.core_id];
		err = loom_chain_step(&chain, &r);
		import_calls_shift(&m->calls, &r);
		/* the file has changed since the survey */
		if (err || r.cycle > m->survey->end || core == LOOM_NONE) {
			err = -ESTALE;
			goto out;
		}
		n++;
		add_to_core(m, core, &r, chain.parts);
		node_state_add(states, &r, chain.parts);
		err = import_streams_error(m->rows);
		if (m->lanes && r.event_kind == LOOM_ROUTE_USE && add_lane(m, &r))
			err = -ESTALE;
		if (err)
			goto out;
	}
	err = got == 0 && n != m->survey->records ? -ESTALE : got;
	if (err)
		goto out;
	for (size_t i = 0; i < m->survey->ncores; i++)
		advance(m, &m->cores[i], m->survey->end, false);
	node_state_finish(states);
	for (uint32_t i = 0; m->lanes && i < m->survey->nlanes; i++)
		end_lane(m, i, m->survey->end);
	err = import_streams_finish(m->rows, run_clock_ns(&m->clock, m->survey->end));
out:
	if (err == -ESTALE)
		log_error("%s: the file changed while it was read", m->run.trace);
	run_reader_close(&m->reader);
	node_state_free(states);
	return err;
}

/* ---- the trace ---- */

static void put_anchors(const struct import *m, struct json *meta)
{
	struct json *list;

	if (!m->clock.nanchors)
		return;
	list = json_put_array(meta, "accel.run.anchors");
	for (size_t i = 0; i < m->clock.nanchors; i++) {
		struct json *anchor = json_put_object(list, NULL);

		json_put_u64(anchor, "cycle", m->clock.anchors[i].cycle);
		json_put_i64(anchor, "clock", m->clock.anchors[i].clock);
	}
}

static void about_run(const void *arg, struct json *meta)
{
	const struct import *m = arg;
	uint64_t dropped = m->perf.events.dropped.v;

	json_put_string(meta, "accel.run.name", m->name);
	json_put_string(meta, "accel.run.form", loom_form_name(m->form));
	json_put_u64(meta, "accel.run.period_ps", m->clock.period_ps);
	json_put_i64(meta, "accel.run.base", m->clock.base);
	put_anchors(m, meta);
	json_put_u64(meta, "accel.run.records", m->survey->records);
	json_put_u64(meta, "accel.run.end_cycle", m->survey->end);
	json_put_string(meta, "accel.run.record_style", loom_style_names[m->survey->style]);
	json_put_int(meta, "accel.run.parts", (int64_t)m->chain.parts + 1);
	json_put_bool(meta, "accel.run.stalls", m->survey->stalls > 0);
	json_put_bool(meta, "accel.run.complete", !m->damaged);
	if (dropped)
		json_put_u64(meta, "accel.run.dropped", dropped);
	json_put_string(meta, "accel.run.sidecar.trace", m->kept_trace);
	json_put_string(meta, "accel.run.sidecar.perf", m->kept_perf);
}

/* Sets the name of the run as a part of a path: printable, without a slash. */
static void name_run(struct import *m)
{
	const char *name = m->o->name ? m->o->name : m->run.name;
	char safe[200];

	text_escape(safe, sizeof(safe), name, strlen(name));
	for (char *c = safe; *c; c++) {
		if (*c == '/' || *c == '\\')
			*c = '_';
	}
	snprintf(m->name, sizeof(m->name), "%s", *safe ? safe : "run");
}

/* Finds the first clock of a trace in the directory, to align the run with it. */
static int host_start(const struct import *m, int64_t *start, bool *found, int64_t *base)
{
	const struct moment *given = &m->o->base;
	struct trace trace;
	int err = trace_open(&trace, m->o->output);

	*found = false;
	if (err)
		return err;
	for (size_t i = 0; i < trace.nstreams; i++) {
		struct stream stream;

		err = stream_open(&stream, trace.fd, trace.streams[i]);
		if (err)
			break;
		if (stream_step(&stream) == 1 && (!*found || stream.ev.clock < *start)) {
			*start = stream.ev.clock;
			*found = true;
		}
		stream_close(&stream);
	}
	*base = *start;
	if (!err && given->given)
		err = moment_clock(given, &trace, *start, base);
	trace_close(&trace);
	return err;
}

/* Opens or creates the directory, and sets the clock of cycle 0. */
static int prepare_output(struct import *m)
{
	int64_t start = 0;
	bool host = false;
	int err;

	m->made = mkdir(m->o->output, 0755) == 0;
	if (!m->made && errno != EEXIST) {
		err = -errno;
		log_error("cannot create '%s': %s", m->o->output, strerror(-err));
		return err;
	}
	m->fd = open(m->o->output, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (m->fd < 0) {
		err = -errno;
		log_error("cannot open '%s': %s", m->o->output, strerror(-err));
		return err;
	}
	if (!m->made)
		err = host_start(m, &start, &host, &m->clock.base);
	else
		err = m->o->base.given ? moment_clock(&m->o->base, NULL, 0, &m->clock.base) : 0;
	if (err)
		return err;
	if (m->clock.base < 0) {
		log_error("--base: the clock of cycle 0 is negative");
		return -EINVAL;
	}
	m->host_begin = host ? start : -1;
	return 0;
}

/* Places the run in the clock of its host: at the host's calls, or where --base says. */
static int place(struct import *m)
{
	int err;

	if (m->calls.n && m->chain.parts) {
		log_error("%s: the cycles start again, and the host's calls have clocks: --base "
			  "places the run without them",
			  m->o->run);
		return -EINVAL;
	}
	err = import_anchors(&m->clock, &m->calls, m->survey, m->o->run, &m->anchors);
	if (err || m->host_begin < 0)
		return err;
	log_info("%s: the trace there begins at %" PRId64 " ns: cycle 0 is at %" PRId64 " ns",
		 m->o->output, m->host_begin, m->clock.base);
	if (m->clock.nanchors && m->anchors[0].clock < m->host_begin)
		log_warn("%s: the host called before the trace begins: is it a recording of that "
			 "run?",
			 m->o->output);
	return 0;
}

static int keep(struct import *m)
{
	int err = keep_files(m->fd, m->o->output, m->name, m->run.trace_at, m->run.trace,
			     &m->kept_trace);

	if (err)
		return err;
	if (m->run.perf)
		err = keep_files(m->fd, m->o->output, m->name, m->run.perf_at, m->run.perf,
				 &m->kept_perf);
	return err;
}

static int make_trace(struct import *m)
{
	int err = m->o->no_keep ? 0 : keep(m);

	if (err)
		return err;
	m->inputs = calloc(m->survey->nnodes + 1, sizeof(*m->inputs));
	m->cores = calloc(m->survey->ncores + 1, sizeof(*m->cores));
	if (m->o->lanes)
		m->lanes = calloc(m->survey->nlanes + 1, sizeof(*m->lanes));
	if (!m->inputs || !m->cores || (m->o->lanes && !m->lanes))
		return no_memory(m);
	for (size_t i = 0; m->lanes && i < m->survey->nlanes; i++)
		m->lanes[i].input = -1;
	for (uint32_t i = 0; i < m->survey->ncores; i++) {
		if (prepare_core(&m->cores[i], m->survey, i))
			return no_memory(m);
	}
	err = order_ids(m);
	if (err)
		return err;
	m->rows = import_streams_open(m->fd, m->o->output, m->name, m->survey, &m->names, &m->map,
				      m->clock.base, about_run, m);
	if (!m->rows)
		return -EIO;
	err = write_marks(m);
	if (err)
		return err;
	log_info("%s: %" PRIu64 " records of %zu nodes on %zu cores became %" PRIu64
		 " events of %zu threads",
		 m->o->output, m->survey->records, m->survey->nnodes, m->survey->ncores,
		 import_streams_events(m->rows),
		 m->survey->nnodes + m->survey->ncores + m->survey->nlanes);
	return err;
}

static int prepare(struct import *m)
{
	struct loom_violations findings = {.report = report_unreadable};
	int err = run_files_find(&m->run, m->o->run, m->o->perf);

	if (err)
		return err;
	if (!m->run.trace) {
		log_error("%s: no trace, only statistics, which have no time line: see 'ovni-loom "
			  "stats'",
			  m->o->run);
		return -ENOENT;
	}
	if (m->run.perf)
		err = run_stats_load(&m->perf, m->run.perf_at, m->run.perf, &findings);
	if (!err && !m->o->base.given && import_calls_load(&m->calls, &m->perf))
		err = no_memory(m);
	if (err)
		return err;
	m->clock.period_ps = m->o->period_ps ? m->o->period_ps : m->perf.period_ps.v;
	if (!m->clock.period_ps && m->perf.bad_period)
		log_warn("%s: clock.period_ps is not a positive integer: assuming 1 ns (see "
			 "--clock-period)",
			 m->run.perf);
	if (!m->clock.period_ps)
		m->clock.period_ps = 1000;
	name_run(m);
	return 0;
}

int loom_import(struct loom_options *o)
{
	struct import m = {.o = o, .fd = -1};
	int err;

	if (!o->output)
		o->output = "ovni";
	err = prepare(&m);
	if (err)
		goto out;
	err = prepare_output(&m);
	if (err)
		goto out;
	err = survey(&m);
	if (err)
		goto out;
	err = place(&m);
	if (err)
		goto out;
	err = make_trace(&m);
	if (err)
		goto out;
	if (m.damaged)
		log_warn("%s: the file is damaged: the trace has the records before the damage",
			 m.run.trace);
out:
	if (err && m.made && !m.rows)
		rmdir(o->output); /* restore the former state */
	import_streams_close(m.rows);
	loom_modules_free(&m.names);
	import_map_free(&m.map);
	run_stats_free(&m.perf);
	run_files_free(&m.run);
	free(m.inputs);
	free(m.lanes);
	for (size_t i = 0; m.cores && i < m.survey->ncores; i++) {
		free(m.cores[i].boundaries);
		free(m.cores[i].open);
		free(m.cores[i].closed);
	}
	free(m.cores);
	free(m.anchors);
	import_calls_free(&m.calls);
	run_survey_free(m.survey);
	free(m.order);
	free(m.kept_trace);
	free(m.kept_perf);
	if (m.fd >= 0)
		close(m.fd);
	if (err || m.damaged)
		return STATUS_FAILED;
	return m.lost ? STATUS_LOST : STATUS_COMPLETE;
}
