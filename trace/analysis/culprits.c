/* SPDX-License-Identifier: MIT */
/*
 * culprits: charges waits for a CPU (see culprits.h).
 *
 * Each CPU keeps a short log of its occupants while threads wait on its queue. A waiting thread
 * knows the clock and the position in the log up to which it is charged; it reads on when its wait
 * ends, when it changes its CPU, and when the log is full.
 */
#include "trace/analysis/culprits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/array.h"
#include "trace/base/log.h"
#include "trace/states/cpu_time.h"

#define TYPE_LOST  92	      /* mark "Events lost" */
#define NO_QUEUE   UINT32_MAX /* the virtual CPU, or a CPU that the metadata lacks */
#define LOG_MOST   1024	      /* entries of a CPU */
#define NO_SLOT	   UINT32_MAX
#define ROOM_FIRST 16 /* slots of a victim; a power of two */
#define MAIN_SHARE 8  /* a culprit is a main one if it has at least 1/8 of the time */
#define SWITCH_GAP 1  /* ns between the two threads of one switch */

/* Keys of culprits, see key_of(). */
#define KEY_TIDS  (1u << 31)
#define KEY_FIXED (KEY_TIDS - 16) /* CULPRIT_IDLE and below: KEY_TIDS less 1 to 15 */
#define KEY_FREE  KEY_TIDS	  /* there is no tid 0 */

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
	struct occupant *log;
	uint32_t nlog, room;
};

struct victim {		  /* a thread: on a CPU, waiting, or neither; two lines of the cache */
	uint32_t runs_on; /* index of a queue, or NO_QUEUE */
	int32_t cpu;	  /* the CPU looked up last, */
	uint32_t queue;	  /* and its queue */
	bool waits;
	bool left_out; /* its waits are not charged */
	enum wait_cause cause;
	int32_t taker; /* tid of the thread that got its CPU; -1: not known */
	uint32_t at;   /* position in the log */
	uint32_t wait; /* number of the wait, from 1 */
	int64_t begin; /* clock of the wait */
	int64_t since; /* clock up to which it is charged */
	/* Its pairs: a hash table. */
	struct slot *slots;
	uint32_t room, npairs;
	struct detail *details; /* of the same slots; NULL: not asked for */
	int64_t missing;	/* ns that one of them may lack at most */
	int64_t charged;	/* ns, all charges; */
	int64_t charged_from;	/* as long as they are less, all threads are summed up */
} __attribute__((aligned(ARRAY_LINE)));

/* A pair during the walk. Small, because each wait touches many of them. */
struct slot {
	int64_t ns;
	uint32_t key, first;
};

struct detail {
	int64_t now_ns; /* the charge for the wait that was charged last, */
	int64_t now_at; /* and the clock at which it began */
	int64_t max, max_at;
	uint32_t waits;
	uint32_t wait; /* the number of that wait */
};

/* A culprit in 32 bits: streams from 0, then the fixed ones, then 2^31 + tid. */
static inline uint32_t key_of(int64_t culprit)
{
	if (culprit >= 0)
		return (uint32_t)culprit;
	return CULPRIT_IS_TID(culprit) ? KEY_TIDS + (uint32_t)CULPRIT_TID_OF(culprit)
				       : KEY_TIDS + (uint32_t)culprit;
}

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
		struct json *meta = trace_metadata(&c->source->trace, i);
		int err;

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
	c->waits = calloc(n + 1, sizeof(*c->waits));
	c->threads = array_lines(n + 1, sizeof(*c->threads));
	c->waits_on = calloc(n + 1, sizeof(*c->waits_on));
	c->looms = calloc(n + 1, sizeof(*c->looms));
	if (!c->waits || !c->threads || !c->waits_on || !c->looms)
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
		free(c->queues[i].log);
	free(c->scratch);
	free(c->scratch_details);
	free(c->pairs);
	free(c->waits);
	free(c->threads);
	free(c->waits_on);
	free(c->queues);
	free(c->looms);
	free(c->gaps);
	hash_free(&c->queue_of);
	memset(c, 0, sizeof(*c));
}

/* ---- charges of the wait that a thread is in ---- */

static int64_t culprit_of(uint32_t key)
{
	if (key > KEY_TIDS)
		return CULPRIT_TID((int32_t)(key - KEY_TIDS));
	return key < KEY_FIXED ? key : (int64_t)key - KEY_TIDS;
}

static bool is_thread(uint32_t key)
{
	return key < KEY_FIXED || key > KEY_TIDS;
}

/* The slot of a culprit in the table of its victim, or the free one for it. The table is small, so
 * that numbers chosen by an attacker cost at most one walk over it. */
static inline uint32_t slot_of(const struct victim *v, uint32_t key)
{
	uint32_t mask = v->room - 1;
	uint32_t i = (uint32_t)(key * 0x9e3779b97f4a7c15u >> 32) & mask;

	while (v->slots[i].key != key && v->slots[i].key != KEY_FREE)
		i = (i + 1) & mask;
	return i;
}

static void clear_slots(struct victim *v)
{
	for (uint32_t i = 0; i < v->room; i++)
		v->slots[i] = (struct slot){.key = KEY_FREE};
	v->npairs = 0;
}

/* Whether one more pair fits: the table is at most 7/8 full. */
static inline bool has_room(const struct victim *v)
{
	return 8 * (v->npairs + 1) <= 7 * v->room;
}

/* Puts a pair into its slot, free or not yet; there must be room. Returns the index of the slot. */
static inline uint32_t put(struct victim *v, uint32_t key)
{
	uint32_t at = slot_of(v, key);

	if (v->slots[at].key == key)
		return at;
	v->slots[at] = (struct slot){.key = key};
	if (v->details)
		v->details[at] = (struct detail){.max_at = INTERVAL_UNKNOWN};
	v->npairs++;
	return at;
}

/* Doubles the table of a victim. */
static int grow(struct culprits *c, struct victim *v)
{
	struct victim old = *v;

	v->room = old.room ? 2 * old.room : ROOM_FIRST;
	v->slots = reallocarray(NULL, v->room, sizeof(*v->slots));
	v->details = c->detailed ? reallocarray(NULL, v->room, sizeof(*v->details)) : NULL;
	if (!v->slots || (c->detailed && !v->details)) {
		free(v->slots);
		free(v->details);
		*v = old;
		return -ENOMEM;
	}
	clear_slots(v);
	for (uint32_t i = 0; i < old.room; i++) {
		uint32_t to;

		if (old.slots[i].key == KEY_FREE)
			continue;
		to = put(v, old.slots[i].key);
		v->slots[to] = old.slots[i];
		if (c->detailed)
			v->details[to] = old.details[i];
	}
	free(old.slots);
	free(old.details);
	return 0;
}

/* The charge of one wait is complete. */
static void close_charge(struct detail *detail)
{
	if (detail->now_ns > detail->max) {
		detail->max = detail->now_ns;
		detail->max_at = detail->now_at;
	}
}

/* A time that at least a quarter of the pairs do not exceed: the mean, or a multiple of it. */
static int64_t small_time(const struct victim *v)
{
	uint32_t threads = 0, small;
	int64_t sum = 0, limit;

	for (uint32_t i = 0; i < v->room; i++) {
		if (!is_thread(v->slots[i].key))
			continue;
		threads++;
		sum = clock_sum(sum, v->slots[i].ns);
	}
	for (limit = threads ? sum / threads : 0;; limit = clock_sum(limit, limit)) {
		small = 0;
		for (uint32_t i = 0; i < v->room; i++)
			small += is_thread(v->slots[i].key) && v->slots[i].ns <= limit;
		if (small >= threads / 4)
			return limit;
	}
}

/* The index of the slot of the others of a class; NO_SLOT without memory. */
static uint32_t others_of(struct culprits *c, struct victim *v, unsigned class)
{
	uint32_t key = key_of(CULPRIT_OTHERS - (int64_t) class);

	return has_room(v) || !grow(c, v) ? put(v, key) : NO_SLOT;
}

static unsigned class_of(const struct culprits *c, uint32_t victim, int64_t culprit)
{
	return c->class_of ? c->class_of(c->class_arg, victim, culprit) : 0;
}

/* Adds the charge of a pair to the sum of its class, kept when a victim has too many pairs. */
static int add_to_others(struct culprits *c, uint32_t victim, const struct slot *slot)
{
	struct victim *v = &c->threads[victim];
	uint32_t to = others_of(c, v, class_of(c, victim, culprit_of(slot->key)));

	if (to == NO_SLOT)
		return -ENOMEM;
	v->slots[to].ns = clock_sum(v->slots[to].ns, slot->ns);
	v->slots[to].first += slot->first;
	return 0;
}

/* Copies the pairs of a victim, so that its table can be filled again. Returns their number. */
static int64_t copy_slots(struct culprits *c, const struct victim *v)
{
	uint32_t n = 0;

	if (v->room > c->scratch_room) {
		free(c->scratch);
		free(c->scratch_details);
		c->scratch_room = v->room;
		c->scratch = reallocarray(NULL, v->room, sizeof(*c->scratch));
		c->scratch_details = reallocarray(NULL, v->room, sizeof(*c->scratch_details));
	}
	if (!c->scratch || !c->scratch_details)
		return -ENOMEM;
	for (uint32_t i = 0; i < v->room; i++) {
		if (v->slots[i].key == KEY_FREE)
			continue;
		c->scratch[n] = v->slots[i];
		if (v->details)
			c->scratch_details[n] = v->details[i];
		n++;
	}
	return n;
}

/* Whether a pair of a victim has a share of the time that it waited since the charges began. */
static bool has_main_culprit(const struct victim *v, int64_t *most)
{
	*most = 0;
	for (uint32_t i = 0; i < v->room; i++)
		if (is_thread(v->slots[i].key) && v->slots[i].ns > *most)
			*most = v->slots[i].ns;
	return *most >= clock_distance(v->charged_from, v->charged) / MAIN_SHARE;
}

/*
 * Sums up the pairs of a victim that have the least time. If no culprit has a share, all of them:
 * then its waits are charged to the others until they have doubled.
 */
static int sum_up(struct culprits *c, uint32_t victim)
{
	struct victim *v = &c->threads[victim];
	int64_t limit, n = copy_slots(c, v);

	if (n < 0)
		return (int)n;
	if (has_main_culprit(v, &limit))
		limit = small_time(v);
	else
		v->charged_from = clock_sum(v->charged, v->charged);
	clear_slots(v);
	for (int64_t i = 0; i < n; i++) {
		const struct slot *slot = &c->scratch[i];
		uint32_t kept;

		if (is_thread(slot->key) && slot->ns <= limit)
			continue;
		kept = put(v, slot->key);
		v->slots[kept] = *slot;
		if (v->details)
			v->details[kept] = c->scratch_details[i];
	}
	for (int64_t i = 0; i < n; i++) {
		const struct slot *slot = &c->scratch[i];

		if (is_thread(slot->key) && slot->ns <= limit && add_to_others(c, victim, slot))
			return -ENOMEM;
	}
	v->missing = clock_sum(v->missing, limit);
	return 0;
}

/* The index of the slot of a culprit, a new one if there is none; NO_SLOT without memory. */
static inline uint32_t pair_of(struct culprits *c, uint32_t victim, uint32_t key)
{
	struct victim *v = &c->threads[victim];
	uint32_t at;

	if (v->room) {
		at = slot_of(v, key);
		if (v->slots[at].key == key)
			return at;
	}
	if (v->npairs >= c->most && sum_up(c, victim))
		return NO_SLOT;
	return has_room(v) || !grow(c, v) ? put(v, key) : NO_SLOT;
}

static inline int charge(struct culprits *c, uint32_t victim, uint32_t key, int64_t ns)
{
	struct victim *v = &c->threads[victim];
	struct detail *detail;
	uint32_t at;

	if (ns <= 0)
		return 0;
	at = pair_of(c, victim, key);
	if (at == NO_SLOT)
		return -ENOMEM;
	v->slots[at].ns = clock_sum(v->slots[at].ns, ns);
	v->charged = clock_sum(v->charged, ns);
	if (!v->details)
		return 0;
	detail = &v->details[at];
	if (detail->wait != v->wait) {
		close_charge(detail);
		detail->wait = v->wait;
		detail->waits++;
		detail->now_ns = 0;
		detail->now_at = v->begin;
	}
	detail->now_ns = clock_sum(detail->now_ns, ns);
	return 0;
}

/* Charges the part of a wait that the log has, to each occupant. */
static int charge_log(struct culprits *c, uint32_t stream, const struct queue *q)
{
	struct victim *v = &c->threads[stream];

	for (; v->at < q->nlog; v->at++) {
		const struct occupant *o = &q->log[v->at];
		int err;

		if (o->end <= v->since)
			continue;
		err = charge(c, stream, o->culprit == stream ? o->other : o->culprit,
			     clock_distance(v->since, o->end));
		if (err)
			return err;
		v->since = o->end;
	}
	return 0;
}

/* The same for a victim without a main culprit: to the others of each class. */
static int charge_others(struct culprits *c, uint32_t stream, const struct queue *q)
{
	struct victim *v = &c->threads[stream];
	int64_t sums[CULPRIT_CLASSES] = {0};

	for (; v->at < q->nlog; v->at++) {
		const struct occupant *o = &q->log[v->at];
		uint32_t key = o->culprit == stream ? o->other : o->culprit;
		unsigned class;
		int64_t ns;

		if (o->end <= v->since)
			continue;
		ns = clock_distance(v->since, o->end);
		v->since = o->end;
		if (!is_thread(key)) {
			if (charge(c, stream, key, ns))
				return -ENOMEM;
			continue;
		}
		class = class_of(c, stream, key);
		sums[class] = clock_sum(sums[class], ns);
	}
	for (unsigned class = 0; class < CULPRIT_CLASSES; class ++) {
		uint32_t at;

		if (!sums[class])
			continue;
		at = others_of(c, v, class);
		if (at == NO_SLOT)
			return -ENOMEM;
		v->slots[at].ns = clock_sum(v->slots[at].ns, sums[class]);
		v->charged = clock_sum(v->charged, sums[class]);
		v->missing = clock_sum(v->missing, sums[class]);
	}
	return 0;
}

/* Charges the time from v->since to now to the occupants of its CPU. */
static int charge_until_now(struct culprits *c, uint32_t stream)
{
	struct victim *v = &c->threads[stream];
	const struct queue *q =
		c->waits_on[stream] == NO_QUEUE ? NULL : &c->queues[c->waits_on[stream]];
	int64_t rest = v->cause == WAIT_THROTTLED ? CULPRIT_QUOTA : CULPRIT_UNKNOWN;
	int err = 0;

	if (q && v->cause != WAIT_THROTTLED) {
		err = v->charged < v->charged_from ? charge_others(c, stream, q)
						   : charge_log(c, stream, q);
		if (err)
			return err;
		rest = q->blind || q->culprit == stream ? CULPRIT_UNKNOWN : q->culprit;
	}
	err = charge(c, stream, key_of(rest), clock_distance(v->since, c->now));
	v->since = c->now;
	return err;
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

/* Notes that `culprit` had the CPU from q->since until `end`. */
static int note_until(struct culprits *c, struct queue *q, int64_t culprit, int64_t other,
		      int64_t end)
{
	if (end <= q->since)
		return 0;
	if (q->blind)
		culprit = other = CULPRIT_UNKNOWN;
	if (q->waiting) {
		struct occupant *log = stack_more(q->log, q->nlog, &q->room, sizeof(*log));

		if (!log)
			return -ENOMEM;
		q->log = log;
		log[q->nlog++] = (struct occupant){end, key_of(culprit), key_of(other)};
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
	uint32_t at;

	if (tid < 0 || c->threads[stream].cause == WAIT_THROTTLED)
		return 0; /* nobody drove out a throttled thread */
	if (tid > 0) {
		culprit = state_walk_find(&intervals->walk, stream, tid);
		if (culprit < 0)
			culprit = CULPRIT_TID(tid);
	}
	at = pair_of(c, stream, key_of(culprit));
	if (at == NO_SLOT)
		return -ENOMEM;
	c->threads[stream].slots[at].first++;
	return 0;
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

	__builtin_prefetch(v);
	__builtin_prefetch(&v->charged);
	if (soon && v->waits)
		__builtin_prefetch(&c->waits[stream].ns[v->cause]);
}

/* Makes the list of the pairs, by victim, and frees the tables. */
static int list_pairs(struct culprits *c)
{
	size_t nstreams = c->source->trace.nstreams, n = 0;

	for (size_t i = 0; i < nstreams; i++)
		n += c->threads[i].npairs;
	c->pairs = reallocarray(NULL, n + 1, sizeof(*c->pairs));
	if (!c->pairs)
		return -ENOMEM;
	for (uint32_t i = 0; i < nstreams; i++) {
		struct victim *v = &c->threads[i];

		for (uint32_t at = 0; at < v->room; at++) {
			struct slot *slot = &v->slots[at];
			struct detail none = {.max_at = INTERVAL_UNKNOWN}, *detail = &none;

			if (slot->key == KEY_FREE)
				continue;
			if (v->details)
				detail = &v->details[at];
			close_charge(detail);
			c->pairs[c->npairs++] = (struct culprit_pair){
				i,	     slot->first,    detail->waits,	   slot->ns,
				detail->max, detail->max_at, culprit_of(slot->key)};
		}
		free(v->slots);
		free(v->details);
		v->slots = NULL;
		v->details = NULL;
		v->room = 0;
	}
	return 0;
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
	return list_pairs(c);
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
