/* SPDX-License-Identifier: MIT */
/* core_state: the state of each core (see core_state.h). */
#include "tools/loom/import/core_state.h"

#include <stdlib.h>

/* A begin or end of an invocation. */
struct boundary {
	uint64_t cycle;
	uint32_t scope;
	bool begins;
};

struct core {
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

struct core_state {
	const struct run_survey *survey;
	core_state_fn change;
	void *arg;
	struct core *cores;
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

static int prepare(struct core *c, const struct run_survey *survey, uint32_t core)
{
	const struct run_survey_core *at = &survey->cores[core];

	c->epoch = -1;
	c->boundaries = calloc(2 * (size_t)at->nscopes + 1, sizeof(*c->boundaries));
	c->open = calloc(at->nscopes + 1, sizeof(*c->open));
	c->closed = calloc(at->nscopes + 1, sizeof(*c->closed));
	c->first = at->first_scope;
	if (!c->boundaries || !c->open || !c->closed)
		return -1;
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

struct core_state *core_state_new(const struct run_survey *survey, core_state_fn change, void *arg)
{
	struct core_state *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	*s = (struct core_state){.survey = survey, .change = change, .arg = arg};
	s->cores = calloc(survey->ncores + 1, sizeof(*s->cores));
	for (uint32_t i = 0; s->cores && i < survey->ncores; i++) {
		if (prepare(&s->cores[i], survey, i))
			goto no_memory;
	}
	if (s->cores)
		return s;
no_memory:
	core_state_free(s);
	return NULL;
}

void core_state_free(struct core_state *s)
{
	if (!s)
		return;
	for (size_t i = 0; s->cores && i < s->survey->ncores; i++) {
		free(s->cores[i].boundaries);
		free(s->cores[i].open);
		free(s->cores[i].closed);
	}
	free(s->cores);
	free(s);
}

static void tell(struct core_state *s, const struct core *c, enum core_state_change what,
		 uint64_t cycle, int64_t value)
{
	s->change(s->arg, (uint32_t)(c - s->cores), what, cycle, value);
}

static void tell_epoch(struct core_state *s, struct core *c, uint64_t cycle, uint32_t epoch)
{
	if (c->epoch == epoch)
		return;
	c->epoch = epoch;
	tell(s, c, LOOM_SESSION_EPOCH, cycle, epoch);
}

static void cross(struct core_state *s, struct core *c, const struct boundary *b)
{
	if (b->begins) {
		c->open[c->nopen++] = b->scope;
		tell_epoch(s, c, b->cycle, s->survey->scopes[b->scope].epoch);
		tell(s, c, LOOM_SESSION_INVOCATION, b->cycle, b->scope);
		return;
	}
	c->closed[b->scope - c->first] = true;
	if (c->open[c->nopen - 1] != b->scope)
		return;
	while (c->nopen > 0 && c->closed[c->open[c->nopen - 1] - c->first])
		c->nopen--;
	tell(s, c, LOOM_SESSION_INVOCATION, b->cycle,
	     c->nopen ? (int64_t)c->open[c->nopen - 1] : -1);
}

/* Reports changes up to `cycle` without a record. A word in `cycle` replaces the one before it. */
static void advance(struct core_state *s, struct core *c, uint64_t cycle, bool config)
{
	for (;;) {
		uint64_t next = c->next < c->n ? c->boundaries[c->next].cycle : UINT64_MAX;

		if (c->config_end && c->config_end <= cycle && c->config_end <= next) {
			if (!config || c->config_end < cycle)
				tell(s, c, LOOM_SESSION_CONFIG, c->config_end, -1);
			c->config_end = 0;
		} else if (c->error_until && c->error_until <= cycle && c->error_until <= next) {
			tell(s, c, LOOM_SESSION_ERROR, c->error_until, -1);
			c->error_until = 0;
		} else if (c->next < c->n && next <= cycle) {
			cross(s, c, &c->boundaries[c->next++]);
		} else {
			return;
		}
	}
}

void core_state_add(struct core_state *s, const struct loom_record *r, uint32_t part)
{
	uint32_t core = run_survey_core(s->survey, r->core_id), scope;
	struct core *c = &s->cores[core];
	uint64_t end = r->cycle + 1;

	/* most records change nothing here */
	if (loom_is_of_node(r->event_kind) && c->epoch == r->epoch_id)
		return;
	advance(s, c, r->cycle, r->event_kind == LOOM_CONFIG_WRITE);
	tell_epoch(s, c, r->cycle, r->epoch_id);
	if (r->event_kind == LOOM_CONFIG_WRITE) {
		c->config_end = end;
		tell(s, c, LOOM_SESSION_CONFIG, r->cycle, r->arg0);
	}
	if (r->event_kind == LOOM_DEVICE_ERROR) {
		scope = run_survey_scope(s->survey, core, r, part);
		if (scope != LOOM_NONE && s->survey->scopes[scope].end > end)
			end = s->survey->scopes[scope].end;
		if (end > c->error_until)
			c->error_until = end;
		tell(s, c, LOOM_SESSION_ERROR, r->cycle, r->arg0);
	}
}

void core_state_finish(struct core_state *s)
{
	for (size_t i = 0; i < s->survey->ncores; i++)
		advance(s, &s->cores[i], s->survey->end, false);
}
