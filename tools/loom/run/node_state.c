/* SPDX-License-Identifier: MIT */
/* node_state: the state of each hardware node (see node_state.h). */
#include "tools/loom/run/node_state.h"

#include <stdlib.h>

#define RECENT 256 /* a power of two */

const char *const loom_state_names[LOOM_STATES] = {NULL,
						   "outside invocation",
						   "idle",
						   "fire",
						   "route",
						   "stalled on input",
						   "stalled on output",
						   "error"};

static const uint8_t rank[LOOM_STATES] = {
	[LOOM_OUTSIDE] = 0, [LOOM_IDLE] = 1, [LOOM_STALLED_IN] = 2, [LOOM_STALLED_OUT] = 3,
	[LOOM_ROUTE] = 4,   [LOOM_FIRE] = 5, [LOOM_ERRED] = 6,
};

struct node {
	uint64_t at;	     /* all earlier cycles are reported */
	uint64_t held_until; /* end of `held`, */
	uint64_t held_from;  /* and its begin */
	uint64_t error_until;
	int64_t input;	 /* input of the route at `at`; -1: none */
	int64_t code;	 /* of the last error */
	uint32_t inside; /* the first span of the core that may be open */
	uint8_t point;	 /* state at the cycle `at` alone, 0: none */
	uint8_t held;
	uint8_t lane;		   /* of `input` */
	uint8_t extension;	   /* kind of the extension record at `at`; 0: none */
	bool input_held;	   /* the route lasts until the end of `held` */
	int64_t shown[LOOM_WHATS]; /* the reported values */
};

struct node_state {
	const struct run_survey *run;
	loom_change_fn change;
	void *arg;
	struct node *nodes;
	uint32_t recent[RECENT]; /* the last nodes, to save look-ups */
};

/* The index of the node of a record; LOOM_NONE for one of the core. */
static uint32_t node_of(struct node_state *s, const struct loom_record *r)
{
	uint32_t *recent = &s->recent[(r->hw_node_id + 61 * r->core_id) % RECENT];
	const struct run_survey *run = s->run;

	if (*recent >= run->nnodes || run->nodes[*recent].node != r->hw_node_id ||
	    run->cores[run->nodes[*recent].core].id != r->core_id)
		*recent = run_survey_node(run, r->core_id, r->hw_node_id);
	return *recent;
}

struct node_state *node_state_new(const struct run_survey *run, loom_change_fn change, void *arg)
{
	struct node_state *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	*s = (struct node_state){.run = run, .change = change, .arg = arg};
	s->nodes = calloc(run->nnodes + 1, sizeof(*s->nodes));
	if (!s->nodes) {
		free(s);
		return NULL;
	}
	for (size_t i = 0; i < run->nnodes; i++) {
		struct node *n = &s->nodes[i];

		n->input = -1;
		n->shown[LOOM_WHAT_STATE] = LOOM_OUTSIDE;
		n->shown[LOOM_WHAT_ROUTE] = n->shown[LOOM_WHAT_ERROR] = -1;
		n->shown[LOOM_WHAT_EXTENSION] = -1;
	}
	return s;
}

void node_state_free(struct node_state *s)
{
	if (!s)
		return;
	free(s->nodes);
	free(s);
}

/* Reports a value if it differs from the reported one. */
static void report_change(struct node_state *s, struct node *n, enum loom_what what, uint64_t cycle,
			  int64_t value)
{
	if (n->shown[what] == value)
		return;
	n->shown[what] = value;
	s->change(s->arg, (uint32_t)(n - s->nodes), what, cycle, value);
}

/* ---- time ---- */

/* The state at a cycle without the records of that cycle, and its end. */
static uint8_t lasting(const struct run_survey_core *core, struct node *n, uint64_t cycle,
		       uint64_t *until)
{
	const struct loom_span *span;
	uint8_t state = LOOM_OUTSIDE;

	*until = UINT64_MAX;
	while (n->inside < core->ninside && core->inside[n->inside].end <= cycle)
		n->inside++;
	if (n->inside < core->ninside) {
		span = &core->inside[n->inside];
		state = cycle >= span->begin ? LOOM_IDLE : LOOM_OUTSIDE;
		*until = cycle >= span->begin ? span->end : span->begin;
	}
	if (cycle < n->held_until) {
		state = n->held;
		if (n->held_until < *until)
			*until = n->held_until;
	}
	if (cycle < n->error_until) {
		state = LOOM_ERRED;
		*until = n->error_until;
	}
	return state;
}

/* Reports all changes before `to`. */
static void advance(struct node_state *s, struct node *n, uint64_t to)
{
	const struct run_survey_core *core = &s->run->cores[s->run->nodes[n - s->nodes].core];

	while (n->at < to) {
		uint64_t at = n->at, until;
		uint8_t state = lasting(core, n, at, &until);
		bool erred = at < n->error_until;

		if (n->input_held && at >= n->held_until) {
			n->input = -1;
			n->input_held = false;
		}
		if (n->point && rank[n->point] > rank[state])
			state = n->point;
		report_change(s, n, LOOM_WHAT_STATE, at, state);
		report_change(s, n, LOOM_WHAT_ROUTE, at, n->input);
		report_change(s, n, LOOM_WHAT_ERROR, at, erred ? n->code : -1);
		report_change(s, n, LOOM_WHAT_EXTENSION, at, n->extension ? n->extension : -1);
		/* a state of one cycle ends at the next one */
		if (n->point || n->extension || (n->input >= 0 && !n->input_held)) {
			if (!n->input_held)
				n->input = -1;
			n->point = 0;
			n->extension = 0;
			until = at + 1;
		}
		n->at = until < to ? until : to;
	}
}

/* ---- records ---- */

static void hold(struct node *n, uint64_t cycle, uint64_t until, uint8_t state)
{
	if (until <= cycle)
		return;
	if (n->held_until > cycle && n->held_from == cycle && rank[n->held] > rank[state])
		return; /* of several with one begin, the highest state counts */
	n->held = state;
	n->held_from = cycle;
	n->held_until = until;
}

static void add_route(struct node *n, const struct loom_record *r, bool held)
{
	if (n->input >= 0 && !n->input_held && n->lane < r->lane)
		return;
	if (n->input >= 0 && n->input_held && n->held_from == r->cycle && n->lane < r->lane)
		return;
	n->input = r->arg0;
	n->lane = r->lane;
	n->input_held = held;
}

void node_state_add(struct node_state *s, const struct loom_record *r, uint32_t part)
{
	static const uint8_t states[] = {
		[LOOM_NODE_FIRE] = LOOM_FIRE,
		[LOOM_NODE_STALL_IN] = LOOM_STALLED_IN,
		[LOOM_NODE_STALL_OUT] = LOOM_STALLED_OUT,
		[LOOM_ROUTE_USE] = LOOM_ROUTE,
	};
	const struct run_survey *run = s->run;
	uint64_t end = r->cycle + 1;
	struct node *n;
	uint32_t at;

	if (r->event_kind >= LOOM_CONFIG_WRITE && r->event_kind <= LOOM_INVOCATION_DONE)
		return;
	at = node_of(s, r);
	if (at == LOOM_NONE)
		return; /* of the core */
	n = &s->nodes[at];
	advance(s, n, r->cycle);
	if (r->event_kind == LOOM_DEVICE_ERROR || run->style == LOOM_STYLE_EDGE) {
		uint32_t scope = run_survey_scope(run, r, part);

		if (scope != LOOM_NONE && run->scopes[scope].end > end)
			end = run->scopes[scope].end;
	}
	if (r->event_kind == LOOM_DEVICE_ERROR) {
		if (end > n->error_until)
			n->error_until = end;
		n->code = r->arg0;
		return;
	}
	if (r->event_kind > LOOM_DEVICE_ERROR) {
		n->extension = r->event_kind;
		return;
	}
	if (run->style == LOOM_STYLE_SPAN && r->event_kind != LOOM_ROUTE_USE) {
		if (__builtin_add_overflow(r->cycle, loom_record_span(r), &end))
			end = UINT64_MAX;
		hold(n, r->cycle, end, states[r->event_kind]);
		return;
	}
	if (run->style == LOOM_STYLE_EDGE) {
		if (r->event_kind == LOOM_ROUTE_USE)
			add_route(n, r, true);
		else if (n->input_held && n->held_from != r->cycle)
			n->input = -1;
		hold(n, r->cycle, end, states[r->event_kind]);
		return;
	}
	if (r->event_kind == LOOM_ROUTE_USE)
		add_route(n, r, false);
	if (rank[states[r->event_kind]] > rank[n->point])
		n->point = states[r->event_kind];
}

void node_state_finish(struct node_state *s)
{
	for (size_t i = 0; i < s->run->nnodes; i++)
		advance(s, &s->nodes[i], s->run->end);
}
