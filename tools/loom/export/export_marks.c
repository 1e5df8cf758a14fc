/* SPDX-License-Identifier: MIT */
/*
 * export_marks: makes the records of an imported run from its marks, without its files.
 *
 *   node state           a record of its kind per cycle (or one in all, if the records of the run
 *                        were not of single cycles)
 *   route                ROUTE_USE with its input, lane 0, per cycle
 *   error                DEVICE_ERROR at its begin
 *   control thread       CONFIG_WRITE, INVOCATION_START, INVOCATION_DONE, errors of the core
 *
 * In: streams; out: records. Marks do not have the order in a cycle, flags, arguments of a fire,
 * lanes, or the end of a cut invocation. Invariants: importing the result gives equal states;
 * memory follows nodes and invocations. Specification: loom.md 9.3, 9.5.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/loom/export/export.h"
#include "tools/loom/run/accel_marks.h"
#include "tools/loom/run/node_state.h"
#include "trace/ovni/event.h"
#include "trace/base/array.h"
#include "trace/base/log.h"

#define MARKS	       (LOOM_MARK_LAST - LOOM_MARK_FIRST + 1)
#define SHOWN(s, mark) ((s)->shown[(mark)-LOOM_MARK_FIRST])

struct invocation {
	uint64_t begin, end, id;
	uint32_t epoch;
	bool failed;
	uint64_t last; /* cycle of its last record */
};

struct core {
	uint16_t id;
	struct invocation *list; /* by begin, without overlaps */
	size_t n;
	uint64_t *errors; /* cycles with the begin of an error of a node */
	size_t nerrors;
};

/* A source of records: a node, or with `control` a core. */
struct marks_reader {
	struct stream stream;
	const struct loom_export *x;
	struct core *core;
	uint32_t node;
	bool control;
	int64_t shown[MARKS];
	bool has_event, ended; /* it has a next event; the stream has ended */
	uint64_t event_cycle;
	size_t at;  /* the present or next invocation of the core */
	bool begun; /* control: the start of the invocation was written; node: the present error was
		     */
	/* node: the values in `shown` hold in [from, until), and are written for `cycle` */
	uint64_t from, cycle, until;
	bool holds;
	unsigned step;	/* number of the record in a cycle */
	uint64_t *left; /* limit of further cycles, of all nodes */
};

static uint64_t cycle_of(const struct marks_reader *s, int64_t clock)
{
	return run_clock_cycle(&s->x->clock, clock);
}

/* Reads the next event, which apply() enters into `shown`. Returns 1, 0 at the end, or -errno. */
static int peek(struct marks_reader *s)
{
	int got;

	if (s->has_event)
		return 1;
	got = s->ended ? 0 : stream_step(&s->stream);
	if (got < 0) {
		stream_report(&s->stream);
		return got;
	}
	s->ended = got == 0;
	if (!got)
		return 0;
	if (s->stream.ev.clock < s->x->clock.base) {
		log_error("%s: an event before the start of the run", s->stream.path);
		return -EINVAL;
	}
	s->event_cycle = cycle_of(s, s->stream.ev.clock);
	s->has_event = true;
	return 1;
}

/* Consumes the event. Returns its mark, or -1. */
static int apply(struct marks_reader *s)
{
	const struct event *ev = &s->stream.ev;
	int32_t type;

	s->has_event = false;
	if (event_mcv(ev) != MCV('O', 'M', '=') || ev->payload_size != 12)
		return -1;
	type = get_i32(ev->payload + 8);
	if (type < LOOM_MARK_FIRST || type > LOOM_MARK_LAST)
		return -1;
	SHOWN(s, type) = get_i64(ev->payload);
	return type;
}

/* ---- invocations ---- */

/* The id of a value of the mark, from its label. */
static uint64_t id_of(const struct json *labels, int64_t value)
{
	char key[24];
	const char *text;
	unsigned long long id;

	snprintf(key, sizeof(key), "%" PRId64, value);
	text = json_string(json_key(labels, key));
	if (text && sscanf(text, "invocation %llu", &id) == 1)
		return id;
	return (uint64_t)(value - 2);
}

static int add_invocation(struct core *c, uint64_t begin, uint32_t epoch, uint64_t id)
{
	struct invocation *v = ARRAY_ADD(c->list, c->n);

	if (!v)
		return -ENOMEM;
	*v = (struct invocation){
		.begin = begin, .end = UINT64_MAX, .id = id, .epoch = epoch, .last = begin};
	return 0;
}

/* Rewinds a source. */
static void start_anew(struct marks_reader *s)
{
	stream_rewind(&s->stream);
	memset(s->shown, 0, sizeof(s->shown));
	s->ended = s->has_event = false;
}

/* Reads the invocations in the stream of a control thread. */
static int read_invocations(struct marks_reader *s, const struct json *labels)
{
	struct core *c = s->core;
	uint64_t last = 0;
	bool open = false;
	int got, err;

	while ((got = peek(s)) > 0) {
		last = s->event_cycle;
		switch (apply(s)) {
		case LOOM_MARK_INVOCATION:
			if (open)
				c->list[c->n - 1].end = last;
			open = SHOWN(s, LOOM_MARK_INVOCATION) != LOOM_NO_INVOCATION;
			if (!open)
				break;
			err = add_invocation(c, last, (uint32_t)(SHOWN(s, LOOM_MARK_EPOCH) - 1),
					     id_of(labels, SHOWN(s, LOOM_MARK_INVOCATION)));
			if (err)
				return err;
			break;
		case LOOM_MARK_ERROR:
			if (open && SHOWN(s, LOOM_MARK_ERROR) != LOOM_NO_ERROR)
				c->list[c->n - 1].failed = true;
			break;
		default:
			break;
		}
	}
	if (open)
		c->list[c->n - 1].end = last;
	start_anew(s);
	return got;
}

/* Reads the cycles of errors in the stream of a node; the control thread shows them, too. */
static int read_errors(struct marks_reader *s)
{
	struct core *c = s->core;
	uint64_t *error;
	int got;

	while ((got = peek(s)) > 0) {
		if (apply(s) != LOOM_MARK_ERROR || SHOWN(s, LOOM_MARK_ERROR) == LOOM_NO_ERROR)
			continue;
		error = ARRAY_ADD(c->errors, c->nerrors);
		if (!error)
			return -ENOMEM;
		*error = s->event_cycle;
	}
	start_anew(s);
	return got;
}

static bool is_of_node(const struct core *c, uint64_t cycle)
{
	for (size_t i = 0; i < c->nerrors; i++) {
		if (c->errors[i] == cycle)
			return true;
	}
	return false;
}

/* ---- records ---- */

static struct loom_record record_of(const struct marks_reader *s, uint64_t cycle, uint8_t kind)
{
	return (struct loom_record){.cycle = cycle,
				    .core_id = s->core->id,
				    .hw_node_id = s->control ? 0 : s->node,
				    .event_kind = kind};
}

/* Sets the invocation of a record of `cycles` cycles. */
static int enter(struct marks_reader *s, struct loom_record *r, uint64_t cycles)
{
	struct core *c = s->core;
	struct invocation *v;

	while (s->at < c->n && c->list[s->at].end <= r->cycle)
		s->at++;
	v = s->at < c->n ? &c->list[s->at] : NULL;
	if (!v || v->begin > r->cycle) {
		log_error("%s: node %" PRIu32 " is busy in cycle %" PRIu64
			  ", outside of all invocations: such a run cannot be exported without the "
			  "kept files",
			  s->stream.path, s->node, r->cycle);
		return -EINVAL;
	}
	r->epoch_id = v->epoch;
	r->invocation_id = v->id;
	if (r->cycle + cycles - 1 > v->last)
		v->last = r->cycle + cycles - 1;
	return 1;
}

static const uint8_t kinds[LOOM_STATES] = {
	[LOOM_FIRE] = LOOM_NODE_FIRE,
	[LOOM_ROUTE] = LOOM_ROUTE_USE,
	[LOOM_STALLED_IN] = LOOM_NODE_STALL_IN,
	[LOOM_STALLED_OUT] = LOOM_NODE_STALL_OUT,
};

static bool has_route(const struct marks_reader *s)
{
	return SHOWN(s, LOOM_MARK_STATE) == LOOM_ROUTE ||
	       (SHOWN(s, LOOM_MARK_ROUTE) && SHOWN(s, LOOM_MARK_ROUTE) != LOOM_NO_ROUTE);
}

/* Makes one of up to four records of s->cycle. Returns 1, or 0 if there is none of this kind. */
static int of_cycle(struct marks_reader *s, unsigned step, struct loom_record *r)
{
	int64_t state = SHOWN(s, LOOM_MARK_STATE), route = SHOWN(s, LOOM_MARK_ROUTE);
	int64_t error = SHOWN(s, LOOM_MARK_ERROR), extension = SHOWN(s, LOOM_MARK_EXTENSION);
	bool spans = s->x->as.style == LOOM_STYLE_SPAN;

	switch (step) {
	case 0:
		if (state != LOOM_FIRE && state != LOOM_STALLED_IN && state != LOOM_STALLED_OUT)
			return 0;
		if (spans && s->cycle != s->from)
			return 0; /* the first record covers all cycles */
		*r = record_of(s, s->cycle, kinds[state]);
		if (spans)
			loom_record_set_span(r, s->until - s->from);
		return enter(s, r, spans ? s->until - s->from : 1);
	case 1:
		if (!has_route(s))
			return 0;
		*r = record_of(s, s->cycle, LOOM_ROUTE_USE);
		if (route && route != LOOM_NO_ROUTE)
			r->arg0 = loom_input_of_mark(route);
		return enter(s, r, 1);
	case 2:
		if (extension <= LOOM_NO_EXTENSION)
			return 0;
		*r = record_of(s, s->cycle, (uint8_t)extension);
		return enter(s, r, 1);
	default:
		if (state != LOOM_ERRED || s->begun)
			return 0;
		s->begun = true;
		*r = record_of(s, s->cycle, LOOM_DEVICE_ERROR);
		r->arg0 = error > 0 ? (uint32_t)(error - 1) : 0;
		return enter(s, r, 1);
	}
}

/*
 * Advances to the next cycle with records; `shown` is unchanged. Each cycle had a record in the
 * run: a stream with more cycles than records is damaged, and would fill the disk.
 */
static int next_cycle(struct marks_reader *s)
{
	int64_t state = SHOWN(s, LOOM_MARK_STATE);
	bool again = has_route(s) || SHOWN(s, LOOM_MARK_EXTENSION) > LOOM_NO_EXTENSION;

	s->step = 0;
	s->cycle++;
	if (s->x->as.style == LOOM_STYLE_CYCLE)
		again = again || state == LOOM_FIRE || state == LOOM_STALLED_IN ||
			state == LOOM_STALLED_OUT;
	if (s->x->as.style == LOOM_STYLE_EDGE || !again)
		s->cycle = s->until;
	s->holds = s->cycle < s->until;
	if (!s->holds)
		return 0;
	if (*s->left == 0) {
		log_error("%s: more cycles than the run had records; see 'ovni-check'",
			  s->stream.path);
		return -EBADMSG;
	}
	--*s->left;
	return 0;
}

static int next_of_node(struct marks_reader *s, struct loom_record *r)
{
	int got = 1;

	while (got >= 0) {
		while (s->holds) {
			while (s->step < 4) {
				got = of_cycle(s, s->step++, r);
				if (got)
					return got;
			}
			got = next_cycle(s);
			if (got)
				return got;
		}
		got = peek(s);
		if (got <= 0)
			return got;
		/* all events of a cycle, then its values up to the next event */
		s->from = s->cycle = s->event_cycle;
		while (got > 0 && s->event_cycle == s->cycle) {
			apply(s);
			got = peek(s);
		}
		s->until = got > 0 ? s->event_cycle : s->cycle;
		if (SHOWN(s, LOOM_MARK_STATE) != LOOM_ERRED)
			s->begun = false;
		s->holds = s->until > s->cycle;
		s->step = 0;
	}
	return got;
}

/* Sets the invocation of a word of configuration: the next one of the epoch. */
static void enter_config(const struct marks_reader *s, struct loom_record *r)
{
	const struct core *c = s->core;

	r->epoch_id = (uint32_t)(SHOWN(s, LOOM_MARK_EPOCH) - 1);
	for (size_t i = s->at; i < c->n; i++) {
		if (c->list[i].begin >= r->cycle && c->list[i].epoch == r->epoch_id) {
			r->invocation_id = c->list[i].id;
			return;
		}
	}
}

static int next_of_core(struct marks_reader *s, struct loom_record *r)
{
	struct core *c = s->core;

	while (true) {
		struct invocation *v = s->at < c->n ? &c->list[s->at] : NULL;
		int got = peek(s), type;

		if (got < 0 || (!got && !v))
			return got;
		/* starts and ends are in the list */
		if (v && (!got || (s->begun ? v->end : v->begin) <= s->event_cycle)) {
			*r = s->begun ? record_of(s, v->end, LOOM_INVOCATION_DONE)
				      : record_of(s, v->begin, LOOM_INVOCATION_START);
			s->at += s->begun;
			s->begun = !s->begun;
			r->epoch_id = v->epoch;
			r->invocation_id = v->id;
			return 1;
		}
		type = apply(s);
		if (type == LOOM_MARK_CONFIG && SHOWN(s, type) != LOOM_NO_CONFIG) {
			*r = record_of(s, s->event_cycle, LOOM_CONFIG_WRITE);
			r->arg0 = (uint32_t)(SHOWN(s, type) - 2);
			enter_config(s, r);
			return 1;
		}
		if (type == LOOM_MARK_ERROR && SHOWN(s, type) != LOOM_NO_ERROR &&
		    !is_of_node(c, s->event_cycle)) {
			*r = record_of(s, s->event_cycle, LOOM_DEVICE_ERROR);
			r->arg0 = (uint32_t)(SHOWN(s, type) - 1);
			r->epoch_id = v && s->begun ? v->epoch : 0;
			r->invocation_id = v && s->begun ? v->id : 0;
			if (v && s->begun && r->cycle > v->last)
				v->last = r->cycle;
			return 1;
		}
	}
}

static int next(void *source, struct loom_record *r)
{
	struct marks_reader *s = source;

	return s->control ? next_of_core(s, r) : next_of_node(s, r);
}

/* All records are written, but the end of a failed invocation, which has no end record. */
static bool complete(struct loom_export *x, void *source, struct loom_record *r)
{
	const struct marks_reader *s = source;
	const struct invocation *v;

	(void)x;
	if (!s->control || r->event_kind != LOOM_INVOCATION_DONE)
		return true;
	v = &s->core->list[s->at - 1];
	return !v->failed || v->last + 1 < v->end;
}

/* ---- the streams ---- */

struct marks {
	uint64_t left;
	struct marks_reader
		*tellers; /* control threads first, since they begin and end invocations */
	size_t n;
	struct core *cores;
	size_t ncores;
};

static int open_teller(struct loom_export *x, struct marks *m, size_t i, bool control)
{
	struct json *meta = trace_metadata(&x->trace, x->streams[i]);
	const struct json *node = json_get(meta, "accel.hw_node_id");
	uint16_t id = (uint16_t)json_int(json_get(meta, "accel.core_id"));
	struct marks_reader *s = &m->tellers[m->n];
	size_t k = 0;
	int err = meta ? 0 : -EINVAL;

	/* lanes repeat the values of their node */
	if (err || json_is_number(node) == control || json_get(meta, "accel.lane")) {
		json_free(meta);
		return err;
	}
	while (k < m->ncores && m->cores[k].id != id)
		k++;
	if (k == m->ncores)
		m->cores[m->ncores++].id = id;
	*s = (struct marks_reader){
		.x = x, .core = &m->cores[k], .control = control, .left = &m->left};
	s->node = (uint32_t)json_int(node);
	err = stream_open(&s->stream, x->trace.fd, x->trace.streams[x->streams[i]]);
	if (err)
		goto out;
	m->n++;
	if (control)
		err = read_invocations(s, json_get(meta, "ovni.mark.95.labels"));
	else if (json_get(meta, "ovni.mark.98"))
		err = read_errors(s);
out:
	json_free(meta);
	return err;
}

int loom_export_marks(struct loom_export *x)
{
	struct marks m = {.n = 0};
	struct loom_writer *w = NULL;
	int err = 0;

	if (x->clock.period_ps < 1000) {
		log_error("%s: a cycle is shorter than a nanosecond: the run cannot be exported "
			  "without the kept files",
			  x->trace.path);
		return -EINVAL;
	}
	if (!json_u64(json_get(x->run, "accel.run.records"), &m.left)) {
		log_error("%s/%s: the description of the run is damaged", x->trace.path,
			  x->run_path);
		return -EBADMSG;
	}
	m.tellers = calloc(x->nstreams + 1, sizeof(*m.tellers));
	m.cores = calloc(x->nstreams + 1, sizeof(*m.cores));
	if (!m.tellers || !m.cores) {
		err = -ENOMEM;
		goto out;
	}
	for (int control = 1; control >= 0; control--) {
		for (size_t i = 0; i < x->nstreams; i++) {
			err = open_teller(x, &m, i, control);
			if (err)
				goto out;
		}
	}
	x->as.sort_cycles = true;
	err = loom_export_open(x, &w);
	if (err)
		goto out;
	for (size_t i = 0; i < m.n; i++) {
		if (!m.tellers[i].control)
			err = loom_writer_node(w, m.tellers[i].core->id, m.tellers[i].node);
		if (err)
			goto out;
	}
	err = loom_export_merge(x, &w, m.tellers, m.n, sizeof(*m.tellers), next, complete);
out:
	err = loom_export_close(x, w, err);
	if (err == -ENOMEM)
		log_no_memory("while exporting %s", x->trace.path);
	for (size_t i = 0; i < m.n; i++)
		stream_close(&m.tellers[i].stream);
	for (size_t i = 0; i < m.ncores; i++) {
		free(m.cores[i].list);
		free(m.cores[i].errors);
	}
	free(m.tellers);
	free(m.cores);
	return err;
}
