/* SPDX-License-Identifier: MIT */
/*
 * culprits: charges waits for a CPU (see culprits.h).
 *
 * Each CPU keeps a short log of its occupants while threads wait on its queue. A waiting thread
 * knows the clock and the position in the log up to which it is charged; it reads on when its wait
 * ends, when it changes its CPU, and when the log is full.
 */
#include "trace/analysis/victim_pairs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/array.h"
#include "trace/base/log.h"
#include "trace/states/cpu_time.h"

#define TYPE_LOST  92	      /* mark "Events lost" */
#define NO_QUEUE   UINT32_MAX /* the virtual CPU, or a CPU that the metadata lacks */
#define LOG_MOST   1024	      /* entries of a CPU, */
#define LOG_LEAST  4	      /* and at first */
#define SWITCH_GAP 1	      /* ns between the two threads of one switch */

/* The occupant of a CPU, from the end of the entry before up to `end`. */
struct occupant {
	int64_t end;
	uint32_t culprit; /* keys, see key_of() */
	uint32_t other;	  /* to charge instead if the victim is the culprit: the gap in a switch */
};

struct queue { /* of one CPU */
	uint32_t loom;
	int64_t culprit; /* the present occupant, since `since` */
	int64_t since;
	int64_t left;	  /* the thread that left last, at `since`; CULPRIT_UNKNOWN: none */
	bool in_session;  /* the session has the times of this CPU: */
	bool others;	  /* threads without a stream may have run on it */
	bool losses;	  /* records of it are lost, or switches were not seen */
	bool blind;	  /* a mark of lost events is open */
	uint32_t waiting; /* number of threads */
	/* The log has nlog entries of `room`; NULL until a thread waits. The parties of the
	 * culprits stand apart (of no thread of the trace: PARTY_KERNEL): a wait reads all of them,
	 * and few of the occupants. */
	struct occupant *log;
	uint32_t *parties;
	uint32_t nlog, room;
};

static int64_t clamp(const struct culprits *c, int64_t clock)
{
	if (clock < c->first)
		return c->first;
	return clock > c->last ? c->last : clock;
}

/* ---- metadata ---- */

static int compare_looms(const void *a, const void *b, void *arg)
{
	const struct owner *owners = arg;

	return strcmp(owners[*(const uint32_t *)a].loom, owners[*(const uint32_t *)b].loom);
}

static int number_looms(struct culprits *c)
{
	const struct source *source = c->source;
	uint32_t n = (uint32_t)source->trace.nstreams;
	uint32_t *sorted = calloc(n + 1, sizeof(*sorted));

	if (!sorted)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		sorted[i] = i;
	qsort_r(sorted, n, sizeof(*sorted), compare_looms, source->owners);
	for (uint32_t i = 0; i < n; i++) {
		if (i && strcmp(source->owners[sorted[i - 1]].loom, source->owners[sorted[i]].loom))
			c->nlooms++;
		c->looms[sorted[i]] = c->nlooms;
	}
	c->nlooms++;
	free(sorted);
	return 0;
}

static struct hash_key queue_key(uint32_t loom, int32_t cpu)
{
	return (struct hash_key){.a = loom, .b = (uint32_t)cpu};
}

static struct queue *queue_add(struct culprits *c, uint32_t loom, int32_t cpu)
{
	uint32_t *at;
	struct queue *q;

	at = hash_at(&c->queue_of, queue_key(loom, cpu));
	if (!at)
		return NULL;
	if (*at != HASH_NONE)
		return &c->queues[*at];
	q = ARRAY_ADD(c->queues, c->nqueues);
	if (!q)
		return NULL;
	*at = (uint32_t)(q - c->queues);
	*q = (struct queue){.loom = loom, .culprit = CULPRIT_UNKNOWN, .left = CULPRIT_UNKNOWN};
	return q;
}

_Static_assert(NO_QUEUE == HASH_NONE, "a CPU that the hash lacks");

/* The queue of a CPU as a thread means it. */
static uint32_t queue_of(struct culprits *c, uint32_t stream, int32_t cpu)
{
	struct victim *v = &c->threads[stream];

	if (cpu < 0)
		return NO_QUEUE;
	if (v->cpu != cpu) {
		v->cpu = cpu;
		v->queue = hash_get(&c->queue_of, queue_key(c->looms[stream], cpu));
	}
	return v->queue;
}

static uint64_t number_at(const struct json *object, const char *key)
{
	uint64_t value = 0;

	(void)json_u64(json_key(object, key), &value);
	return value;
}

static int read_loom_metadata(struct culprits *c, uint32_t loom, const struct json *meta)
{
	bool idle_known = cpu_times_idle_known(json_get(meta, "bpf.session"));
	const struct json *node;

	for (node = json_first(json_get(meta, "ovni.loom_cpus")); node; node = json_next(node))
		if (!queue_add(c, loom, (int32_t)json_int(json_key(node, "index"))))
			return -ENOMEM;
	for (node = json_first(json_get(meta, "bpf.session.cpus")); node; node = json_next(node)) {
		const struct json *ns = json_key(node, "ns");
		struct queue *q = queue_add(c, loom, (int32_t)json_int(json_key(node, "index")));

		if (!q)
			return -ENOMEM;
		if (!json_is_object(ns))
			continue;
		q->in_session = true;
		q->others |= !idle_known || number_at(ns, "other") != 0;
		q->losses |= number_at(ns, "unknown") || number_at(node, "lost");
	}
	return 0;
}

static int read_metadata(struct culprits *c)
{
	for (uint32_t i = 0; i < c->source->trace.nstreams; i++) {
		struct json *meta;
		int err;

		if (!c->source->owners[i].has_host)
			continue;
		meta = trace_metadata(&c->source->trace, i);
		if (!meta)
			return -EINVAL;
		err = read_loom_metadata(c, c->looms[i], meta);
		json_free(meta);
		if (err)
			return err;
	}
	return 0;
}

/* The occupant of a CPU without a thread of the trace. `idle`: the last switch led to idle. */
static int64_t vacant(const struct queue *q, bool idle)
{
	if (!q->in_session || q->others)
		return CULPRIT_UNKNOWN;
	return idle || !q->losses ? CULPRIT_IDLE : CULPRIT_UNKNOWN;
}

int culprits_init(struct culprits *c, const struct source *source, int64_t first, int64_t last)
{
	size_t n = source->trace.nstreams;
	int err = -ENOMEM;

	memset(c, 0, sizeof(*c));
	c->source = source;
	c->first = c->now = first;
	c->last = last;
	c->most = n < CULPRITS_MOST / CULPRITS_LEAST ? CULPRITS_MOST / (uint32_t)(n + 1)
						     : CULPRITS_LEAST;
	c->waits = array_lines(n + 1, sizeof(*c->waits));
	c->threads = array_lines(n + 1, sizeof(*c->threads));
	c->sums = array_lines(n + 1, sizeof(*c->sums));
	c->waits_on = calloc(n + 1, sizeof(*c->waits_on));
	c->looms = calloc(n + 1, sizeof(*c->looms));
	if (!c->waits || !c->threads || !c->sums || !c->waits_on || !c->looms)
		goto out;
	err = number_looms(c);
	if (err)
		goto out;
	c->gaps = calloc(c->nlooms, sizeof(*c->gaps));
	err = c->gaps ? read_metadata(c) : -ENOMEM;
	if (err)
		goto out;
	for (size_t i = 0; i < n; i++) {
		c->threads[i].runs_on = c->waits_on[i] = NO_QUEUE;
		c->threads[i].cpu = -1;
	}
	for (size_t i = 0; i < c->nqueues; i++) {
		c->queues[i].culprit = vacant(&c->queues[i], false);
		c->queues[i].since = first;
	}
out:
	if (err == -ENOMEM)
		log_no_memory("while reading %s", source->trace.path);
	return err;
}

void culprits_fini(struct culprits *c)
{
	for (size_t i = 0; c->threads && i < c->source->trace.nstreams; i++) {
		free(c->threads[i].slots);
		free(c->threads[i].details);
	}
	for (size_t i = 0; i < c->nqueues; i++)
		free(c->queues[i].log); /* with the parties */
	free(c->scratch);
	free(c->scratch_details);
	free(c->pairs);
	free(c->waits);
	free(c->threads);
	free(c->sums);
	free(c->waits_on);
	free(c->queues);
	free(c->looms);
	free(c->gaps);
	hash_free(&c->queue_of);
	memset(c, 0, sizeof(*c));
}

/* ---- charges of the wait that a thread is in ---- */

/* Charges the part of a wait that the log has, to each occupant. */
static int charge_log(struct culprits *c, uint32_t stream, const struct queue *q)
{
	struct victim *v = &c->threads[stream];

	for (; v->at < q->nlog; v->at++) {
		const struct occupant *o = &q->log[v->at];
		int err;

		if (o->end <= v->since)
			continue;
		err = victim_charge(c, stream, o->culprit == stream ? o->other : o->culprit,
				    clock_distance(v->since, o->end));
		if (err)
			return err;
		v->since = o->end;
	}
	return 0;
}

/* Charges one occupant to the sum of its class, or, if it is no thread of the trace, as a pair. */
static int charge_one(struct culprits *c, uint32_t stream, const struct occupant *o, int64_t ns,
		      int64_t sums[CULPRIT_CLASSES])
{
	uint32_t key = o->culprit == stream ? o->other : o->culprit;
	unsigned class;

	if (!key_is_stream(key))
		return victim_charge(c, stream, key, ns);
	class = victim_class(c, stream, key);
	sums[class] = clock_sum(sums[class], ns);
	return 0;
}

/*
 * Charges it to the classes of culprits, for a victim without a main culprit. The log has no gap,
 * so that the time of the most frequent class is the rest: only the occupants of the others are
 * read.
 */
static int charge_sums(struct culprits *c, uint32_t stream, const struct queue *q)
{
	struct victim *v = &c->threads[stream];
	const struct occupant *list = q->log;
	const uint32_t *parties = q->parties, party = c->parties ? c->parties[stream] : 0;
	const uint32_t ranked = party & PARTY_RANKED, mask = PARTY_KERNEL | ranked;
	const uint32_t usual = ranked ? PARTY_OF_RANK : PARTY_OTHER;
	int64_t sums[CULPRIT_CLASSES] = {0}, since = v->since, rest;
	uint32_t first = v->at, n = q->nlog;

	while (first < n && list[first].end <= since)
		first++;
	v->at = n;
	if (first == n)
		return 0;
	v->since = list[n - 1].end;
	rest = clock_distance(since, v->since);
	for (uint32_t i = first; i < n; i++) {
		int64_t ns;

		if (c->parties && (parties[i] & mask) == ranked &&
		    ((parties[i] ^ party) & PARTY_GROUP))
			continue;
		ns = clock_distance(i > first ? list[i - 1].end : since, list[i].end);
		rest -= ns;
		if (charge_one(c, stream, &list[i], ns, sums))
			return -ENOMEM;
	}
	sums[usual] = clock_sum(sums[usual], rest);
	for (unsigned class = 0; class < CULPRIT_CLASSES; class ++)
		if (sums[class])
			victim_charge_class(c, stream, class, sums[class]);
	return 0;
}

/* Charges the time from v->since to now to the occupants of its CPU. */
static int charge_until_now(struct culprits *c, uint32_t stream)
{
	struct victim *v = &c->threads[stream];
	const struct queue *q =
		c->waits_on[stream] == NO_QUEUE ? NULL : &c->queues[c->waits_on[stream]];
	int64_t rest = v->cause == WAIT_THROTTLED ? CULPRIT_QUOTA : CULPRIT_UNKNOWN, ns;
	bool summed = victim_summed(v);
	int err = 0;

	if (q && v->cause != WAIT_THROTTLED) {
		err = summed ? charge_sums(c, stream, q) : charge_log(c, stream, q);
		if (err)
			return err;
		rest = q->blind || q->culprit == stream ? CULPRIT_UNKNOWN : q->culprit;
	}
	ns = clock_distance(v->since, c->now);
	v->since = c->now;
	if (!summed || rest < 0)
		return victim_charge(c, stream, key_of(rest), ns);
	if (ns > 0)
		victim_charge_class(c, stream, victim_class(c, stream, (uint32_t)rest), ns);
	return 0;
}

static void leave_queue(struct culprits *c, uint32_t stream)
{
	struct queue *q;

	if (c->waits_on[stream] == NO_QUEUE)
		return;
	q = &c->queues[c->waits_on[stream]];
	if (--q->waiting == 0)
		q->nlog = 0;
	c->waits_on[stream] = NO_QUEUE;
}

static void join_queue(struct culprits *c, uint32_t stream, uint32_t queue)
{
	struct victim *v = &c->threads[stream];

	c->waits_on[stream] = queue;
	if (queue == NO_QUEUE)
		return;
	v->at = c->queues[queue].nlog;
	c->queues[queue].waiting++;
}

/* ---- the occupant of a CPU ---- */

/* All waiting threads read the log, so that it can be emptied. */
static int empty_log(struct culprits *c, struct queue *q)
{
	for (uint32_t i = 0; i < c->source->trace.nstreams; i++) {
		int err;

		if (c->waits_on[i] != q - c->queues)
			continue;
		err = charge_until_now(c, i);
		if (err)
			return err;
		c->threads[i].at = 0;
	}
	q->nlog = 0;
	return 0;
}

/* Makes room in the log of a CPU: most CPUs of a large job need little. */
static int log_grow(struct queue *q)
{
	uint32_t room = q->room ? 2 * q->room : LOG_LEAST;
	struct occupant *log = malloc(room * (sizeof(*log) + sizeof(*q->parties)));
	uint32_t *parties = (uint32_t *)(log + room);

	if (!log)
		return -ENOMEM;
	if (q->nlog) {
		memcpy(log, q->log, q->nlog * sizeof(*log));
		memcpy(parties, q->parties, q->nlog * sizeof(*parties));
	}
	free(q->log);
	q->log = log;
	q->parties = parties;
	q->room = room;
	return 0;
}

/* Notes that `culprit` had the CPU from q->since until `end`. */
static int note_until(struct culprits *c, struct queue *q, int64_t culprit, int64_t other,
		      int64_t end)
{
	if (end <= q->since)
		return 0;
	if (q->blind)
		culprit = other = CULPRIT_UNKNOWN;
	if (q->waiting) {
		if (q->nlog == q->room && log_grow(q))
			return -ENOMEM;
		q->log[q->nlog] = (struct occupant){end, key_of(culprit), key_of(other)};
		q->parties[q->nlog++] =
			c->parties && culprit >= 0 ? c->parties[culprit] : PARTY_KERNEL;
	}
	q->since = end;
	return q->nlog >= LOG_MOST ? empty_log(c, q) : 0;
}

static int note(struct culprits *c, struct queue *q, int64_t culprit, int64_t other)
{
	return note_until(c, q, culprit, other, c->now);
}

static int cpu_enter(struct culprits *c, struct queue *q, uint32_t stream)
{
	bool same_switch = q->culprit < 0 && q->left != CULPRIT_UNKNOWN &&
			   clock_distance(q->since, c->now) <= SWITCH_GAP;
	int err =
		same_switch ? note(c, q, stream, q->left) : note(c, q, q->culprit, CULPRIT_UNKNOWN);

	q->culprit = stream;
	q->left = CULPRIT_UNKNOWN;
	return err;
}

/* A thread leaves the CPU: its interval ends. */
static int cpu_leave(struct culprits *c, struct queue *q, uint32_t stream,
		     const struct interval_thread *t)
{
	int err;

	if (q->culprit != stream)
		return 0; /* another thread was on it at the same time: a damaged trace */
	err = note_until(c, q, stream, CULPRIT_UNKNOWN, clamp(c, t->known));
	if (!err) /* a switch was not recorded since then */
		err = note(c, q, CULPRIT_UNKNOWN, CULPRIT_UNKNOWN);
	q->culprit = vacant(q, t->interval.next == 0);
	q->left = t->interval.next == 0 ? CULPRIT_UNKNOWN : (int64_t)stream;
	return err;
}

/* A mark of lost events opens or closes: meanwhile the occupants are unknown. */
static int handle_gap(struct culprits *c, uint32_t stream, bool opens)
{
	uint32_t loom = c->looms[stream];

	if (!opens && !c->gaps[loom])
		return 0;
	c->gaps[loom] += opens ? 1 : -1u;
	for (size_t i = 0; i < c->nqueues; i++) {
		struct queue *q = &c->queues[i];
		int err;

		if (q->loom != loom || (q->in_session && !q->losses))
			continue;
		err = note(c, q, q->culprit, CULPRIT_UNKNOWN);
		if (err)
			return err;
		q->blind = c->gaps[loom] > 0;
	}
	return 0;
}

/* ---- waits ---- */

static int count_taker(struct culprits *c, const struct intervals *intervals, uint32_t stream)
{
	int32_t tid = c->threads[stream].taker;
	int64_t culprit = CULPRIT_IDLE;

	if (tid < 0 || c->threads[stream].cause == WAIT_THROTTLED)
		return 0; /* nobody drove out a throttled thread */
	if (tid > 0) {
		culprit = state_walk_find(&intervals->walk, stream, tid);
		if (culprit < 0)
			culprit = CULPRIT_TID(tid);
	}
	return victim_count_first(c, stream, key_of(culprit));
}

static void wait_begin(struct culprits *c, uint32_t stream, enum wait_cause cause, uint32_t queue,
		       int32_t taker)
{
	struct victim *v = &c->threads[stream];

	v->waits = true;
	v->cause = cause;
	v->taker = taker;
	v->begin = v->since = c->now;
	v->wait++;
	__builtin_prefetch(&c->sums[stream]); /* the wait may end at the next event */
	__builtin_prefetch(&c->waits[stream].ns[cause]);
	join_queue(c, stream, queue);
}

static int wait_end(struct culprits *c, const struct intervals *intervals, uint32_t stream)
{
	struct victim *v = &c->threads[stream];
	int err = charge_until_now(c, stream);
	int64_t *ns;

	leave_queue(c, stream);
	v->waits = false;
	if (err || v->begin == c->now)
		return err;
	ns = &c->waits[stream].ns[v->cause];
	*ns = clock_sum(*ns, clock_distance(v->begin, c->now));
	return count_taker(c, intervals, stream);
}

static int wait_move(struct culprits *c, uint32_t stream, uint32_t queue)
{
	int err;

	if (c->waits_on[stream] == queue)
		return 0;
	err = charge_until_now(c, stream);
	leave_queue(c, stream);
	join_queue(c, stream, queue);
	return err;
}

/* A thread that its creator has just made waits for its first run. */
static int handle_birth(struct culprits *c, const struct intervals *intervals, uint32_t creator,
			const struct event *ev)
{
	int64_t child = wait_newborn(intervals, creator, ev);
	const struct event *first;

	if (child < 0 || c->threads[child].waits || c->threads[child].left_out)
		return 0;
	first = &c->source->streams[child].ev; /* the next event of that stream */
	if (!first->size || event_mcv(first) != MCV('O', 'H', 'x') || first->payload_size < 4)
		return 0;
	wait_begin(c, (uint32_t)child, WAIT_NEWBORN,
		   queue_of(c, (uint32_t)child, get_i32(first->payload)), -1);
	return 0;
}

/* True if the thread is known to wait until its next event: no switch of it is missing before. If
 * that event is further away than one may look, the wait counts as recorded. */
static bool wait_recorded(const struct stream *stream)
{
	const uint8_t *at = stream->at, *end = stream_peek_end(stream);
	struct event ev;
	ssize_t n;

	while ((n = event_decode(&ev, at, end)) > 0) {
		if ((ev.model == 'O' && ev.category == 'H') ||
		    (ev.model == 'K' && ev.category == 'C'))
			return !interval_unknown_ns(&ev);
		at += n;
	}
	return true;
}

/* Compares a thread with its condition before the event. */
static int handle_thread(struct culprits *c, const struct intervals *intervals, uint32_t stream,
			 const struct event *ev)
{
	const struct interval_thread *t = &intervals->threads[stream];
	const struct sched_state *s = &intervals->walk.threads[stream];
	struct victim *v = &c->threads[stream];
	uint32_t runs_on = t->on ? queue_of(c, stream, t->interval.cpu) : NO_QUEUE;
	enum wait_cause cause;
	bool waits = wait_cause_now(intervals, stream, &cause);
	int32_t cpu = t->kernel ? t->interval.cpu : s->cpu;
	int err = 0;

	if (v->runs_on != runs_on) {
		if (v->runs_on != NO_QUEUE)
			err = cpu_leave(c, &c->queues[v->runs_on], stream, t);
		if (!err && runs_on != NO_QUEUE)
			err = cpu_enter(c, &c->queues[runs_on], stream);
		v->runs_on = runs_on;
		if (err)
			return err;
	}
	if (!waits && v->waits && (v->cause != WAIT_NEWBORN || t->on))
		return wait_end(c, intervals, stream);
	if (!waits || v->left_out)
		return 0;
	if (v->waits)
		return event_mcv(ev) == MCV('O', 'A', 's') || event_mcv(ev) == MCV('O', 'A', 'r')
			       ? wait_move(c, stream, queue_of(c, stream, cpu))
			       : 0;
	if (!wait_recorded(&c->source->streams[stream]))
		return 0;
	cpu = wait_cpu(intervals, stream, cause, cpu);
	wait_begin(c, stream, cause, queue_of(c, stream, cpu),
		   cause == WAIT_WOKEN ? -1 : t->interval.next);
	return 0;
}

void culprits_select_none(struct culprits *c)
{
	for (size_t i = 0; i < c->source->trace.nstreams; i++)
		c->threads[i].left_out = true;
}

int culprits_select(struct culprits *c, const struct intervals *intervals, uint32_t stream,
		    bool charged, int64_t clock)
{
	const struct interval_thread *t = &intervals->threads[stream];
	struct victim *v = &c->threads[stream];
	enum wait_cause cause;

	if (v->left_out == !charged)
		return 0;
	v->left_out = !charged;
	clock = clamp(c, clock);
	if (clock > c->now)
		c->now = clock;
	if (!charged)
		return v->waits ? wait_end(c, intervals, stream) : 0;
	if (!wait_cause_now(intervals, stream, &cause))
		return 0;
	wait_begin(c, stream, cause,
		   queue_of(c, stream,
			    t->kernel ? t->interval.cpu : intervals->walk.threads[stream].cpu),
		   cause == WAIT_WOKEN ? -1 : t->interval.next);
	return 0;
}

int culprits_step(struct culprits *c, const struct intervals *intervals, uint32_t stream,
		  const struct event *ev)
{
	int64_t clock = clamp(c, ev->clock), other;
	int err;

	if (ev->model != 'O' && ev->model != 'K')
		return 0;
	if (clock > c->now)
		c->now = clock;
	switch (MCV(ev->model, ev->category, 0)) {
	case MCV('O', 'M', 0):
		if (ev->payload_size < 12 || get_i32(ev->payload + 8) != TYPE_LOST ||
		    (ev->value != '[' && ev->value != ']'))
			return 0;
		return handle_gap(c, stream, ev->value == '[');
	case MCV('O', 'H', 0):
		err = handle_thread(c, intervals, stream, ev);
		return !err && ev->value == 'C' ? handle_birth(c, intervals, stream, ev) : err;
	case MCV('O', 'A', 0):
		if (ev->value == 'r' && ev->payload_size >= 8) {
			other = state_walk_find(&intervals->walk, stream, get_i32(ev->payload + 4));
			return other < 0 ? 0 : handle_thread(c, intervals, (uint32_t)other, ev);
		}
		return handle_thread(c, intervals, stream, ev);
	case MCV('K', 'C', 0):
		return handle_thread(c, intervals, stream, ev);
	default:
		return 0;
	}
}

void culprits_prefetch(const struct culprits *c, uint32_t stream, bool soon)
{
	const struct victim *v = &c->threads[stream];
	const struct queue *q;

	if (!soon) {
		__builtin_prefetch(v);
		__builtin_prefetch(&v->slots);
		return;
	}
	if (!v->waits)
		return;
	__builtin_prefetch(&c->waits[stream].ns[v->cause]);
	__builtin_prefetch(&c->sums[stream]);
	if (v->taker > 0)
		__builtin_prefetch(c->sums[stream].first);
	q = c->waits_on[stream] == NO_QUEUE ? NULL : &c->queues[c->waits_on[stream]];
	if (q && q->log) {
		__builtin_prefetch(&q->log[v->at]);
		__builtin_prefetch(&q->parties[v->at]);
	}
}

int culprits_finish(struct culprits *c, const struct intervals *intervals)
{
	int64_t last = clamp(c, intervals->last);

	if (last > c->now)
		c->now = last;
	for (uint32_t i = 0; i < c->source->trace.nstreams; i++) {
		int err = c->threads[i].waits ? wait_end(c, intervals, i) : 0;

		if (err)
			return err;
	}
	return victims_list(c);
}

/* ---- answers ---- */

int64_t culprits_missing(const struct culprits *c, uint32_t victim)
{
	return c->threads[victim].missing;
}

int64_t culprits_waited(const struct culprits *c, uint32_t victim)
{
	int64_t sum = 0;

	for (int i = 0; i < WAIT_CAUSES; i++)
		sum = clock_sum(sum, c->waits[victim].ns[i]);
	return sum;
}
