/* SPDX-License-Identifier: MIT */
/*
 * schedule: a machine that does not exist, scheduling threads at random.
 *
 * In: a seed and the possible events; out: the records that the kernel side would send, in the
 * order of its rings, and the truth: the times of each thread on each CPU. A record may be lost on
 * its way, and is then reported as the kernel side does it. The machine knows nothing of streams or
 * states of ovni.
 */
#ifndef TESTS_UNIT_SCHEDULE_H
#define TESTS_UNIT_SCHEDULE_H

#include "timeline_kit.h"

struct schedule_options {
	unsigned cpus, threads, steps; /* threads: alive at most; steps: of the whole machine */
	unsigned pace;		       /* ns between two steps: 2 to this; 0: none or 1, and ties */
	unsigned losses;	       /* of 1000 records, how many start a burst of losses */
	bool unwanted;		       /* some processes are not wanted */
	bool reuse;		       /* tids are used again, as soon as they are free */
	bool early;		       /* ... even before the last switch of the previous owner */
	bool execs;		       /* threads that are not the leader execute programs */
	bool blind;		       /* one process leaves CPUs unseen (PID 1 of some machines) */
	bool some_cpus;		       /* -C: only the CPUs with an even number are recorded */
	bool joins;		       /* threads stop and start being wanted */
	uint64_t start;		       /* clock of the first step */
};

/* How many of `n` random schedules to try: all in `make check-long`, else a tenth. */
static inline unsigned seeds(unsigned n)
{
	const char *all = getenv("LONG");

	return all && *all ? n : n / 10;
}

/* All that may go wrong at once, as initializers. */
#define SCHEDULE_TROUBLE                                                                           \
	.losses = 20, .reuse = true, .early = true, .execs = true, .blind = true,                  \
	.unwanted = true, .joins = true

struct truth {
	uint32_t pid, tid;
	unsigned cpu;
	uint64_t from, to; /* to 0: goes on */
	bool hidden;	   /* not wanted, or on a CPU that is not recorded */
};

/* M_THROTTLED is a phase only: such a thread is M_READY. */
enum machine_state { M_FREE, M_RUNS, M_READY, M_SLEEPS, M_THROTTLED, M_STATES };

/* A time that a thread spent in one state; M_FREE: born, and not run yet. */
struct phase {
	uint32_t pid, tid;
	enum machine_state state;
	uint64_t from, to;
};

struct machine_task {
	struct who who;
	enum machine_state state;
	unsigned cpu;
	uint64_t wake_clock, out;
	int32_t waker;
	bool exiting, wanted, elsewhere, seen;
	bool lost; /* one of its switches, since it last left a CPU */
	enum machine_state phase;
	uint64_t since;	 /* it is in this phase */
	size_t interval; /* in truth, while it runs */
};

struct machine_record {
	unsigned cpu;
	union {
		struct record_head head;
		struct record_switch sw;
		struct record_task task;
		struct record_exit exit;
		struct record_snapshot snapshot;
		struct record_lost lost;
	};
};

struct machine {
	struct schedule_options options;
	uint64_t seed, clock, t0, t1;
	struct machine_task *tasks;
	int *on; /* by CPU: index in tasks, -1: idle */
	uint32_t next_id, next_tid, *free_tids;
	unsigned nfree;
	struct {
		uint64_t count, first;
		unsigned left;
	} * gaps; /* by CPU */
	struct machine_record *records;
	size_t n, room;
	struct record_task *before, *after; /* of the iterators */
	size_t nbefore, nafter;
	struct truth *truth;
	size_t ntruth, truth_room;
	struct phase *phases;
	size_t nphases, phase_room;
	uint64_t dropped; /* records that found no room */
	uint64_t unshown; /* lost in the window, and no thread ran there since to show it */
};

static uint32_t draw(struct machine *m, uint32_t below)
{
	m->seed = m->seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((m->seed >> 33) * (uint64_t)below >> 31);
}

static bool chance(struct machine *m, uint32_t of_1000)
{
	return draw(m, 1000) < of_1000;
}

static bool listed(const struct machine *m, unsigned cpu)
{
	return !m->options.some_cpus || cpu % 2 == 0;
}

static void send_record(struct machine *m, unsigned cpu, const void *record, size_t size)
{
	struct machine_record *r;
	const struct record_head *head = record;

	if (m->n + 2 > m->room) {
		m->room = m->room ? m->room * 2 : 4096;
		m->records = realloc(m->records, m->room * sizeof(*m->records));
	}
	if (m->options.losses && !m->gaps[cpu].left && chance(m, m->options.losses))
		m->gaps[cpu].left = 1 + draw(m, chance(m, 100) ? 200 : 10);
	if (m->gaps[cpu].left && head->kind != RECORD_SNAPSHOT) {
		m->gaps[cpu].left--;
		m->gaps[cpu].first = m->gaps[cpu].count++ ? m->gaps[cpu].first : head->clock;
		m->dropped++;
		return;
	}
	if (m->gaps[cpu].count) {
		r = &m->records[m->n++];
		r->cpu = cpu;
		r->lost = rec_lost(head->clock, m->gaps[cpu].first, m->gaps[cpu].count);
		m->gaps[cpu].count = m->gaps[cpu].left = 0;
	}
	r = &m->records[m->n++];
	r->cpu = cpu;
	memcpy(&r->head, record, size);
}

#define SEND(m, cpu, record) send_record(m, cpu, &(record), sizeof(record))

static uint32_t context_id(const struct machine *m, unsigned cpu)
{
	const struct machine_task *t = m->on[cpu] < 0 ? NULL : &m->tasks[m->on[cpu]];

	return t && t->wanted && listed(m, cpu) ? t->who.id : 0;
}

static struct who as_sent(const struct machine_task *t)
{
	struct who who = t->who;

	if (!t->wanted)
		who.id = 0;
	return who;
}

static bool blind(const struct machine *m, int task)
{
	return m->options.blind && task >= 0 && m->tasks[task].who.pid == 1;
}

/* The thread does something else from now on. */
static void begin_phase(struct machine *m, struct machine_task *t, enum machine_state state)
{
	if (m->nphases == m->phase_room) {
		m->phase_room = m->phase_room ? m->phase_room * 2 : 4096;
		m->phases = realloc(m->phases, m->phase_room * sizeof(*m->phases));
	}
	if (t->phase != M_FREE || t->since)
		m->phases[m->nphases++] =
			(struct phase){t->who.pid, t->who.tid, t->phase, t->since, m->clock};
	t->phase = state;
	t->since = m->clock;
}

static enum machine_state phase_after(const struct machine_task *t, unsigned why)
{
	if (why == OFF_CPU_DEAD)
		return M_FREE;
	return why == OFF_CPU_THROTTLED ? M_THROTTLED : t->state;
}

/* CPU `cpu` switches to `next`. */
static void switch_to(struct machine *m, unsigned cpu, unsigned why, int next)
{
	int prev = m->on[cpu];
	struct machine_task *p = prev < 0 ? NULL : &m->tasks[prev];
	struct machine_task *n = next < 0 ? NULL : &m->tasks[next];
	struct record_switch r =
		rec_switch(m->clock, p ? as_sent(p) : idle, p ? why : 0, n ? as_sent(n) : idle);
	bool elsewhere = n && n->elsewhere, lost = n && n->lost;
	uint64_t dropped = m->dropped;

	if (p)
		begin_phase(m, p, phase_after(p, why));
	if (n) {
		begin_phase(m, n, M_RUNS);
		n->elsewhere = !listed(m, cpu);
		r.wake_clock = n->wake_clock;
		r.waker_tid = n->wake_clock ? n->waker : 0;
		n->wake_clock = 0;
		n->state = M_RUNS;
		n->cpu = cpu;
		if (m->ntruth == m->truth_room) {
			m->truth_room = m->truth_room ? m->truth_room * 2 : 4096;
			m->truth = realloc(m->truth, m->truth_room * sizeof(*m->truth));
		}
		n->interval = m->ntruth++;
		m->truth[n->interval] = (struct truth){
			n->who.pid, n->who.tid, cpu, m->clock, 0, !n->wanted || !listed(m, cpu)};
	}
	r.head.flags = (elsewhere ? SWITCH_NEXT_ELSEWHERE : 0) | (lost ? SWITCH_NEXT_LOST : 0);
	if (p) {
		m->truth[p->interval].to = m->clock;
		p->out = m->clock;
		p->wake_clock = 0;
	}
	m->on[cpu] = next;
	if (!listed(m, cpu) || blind(m, prev) || (m->options.unwanted && !r.head.id && !r.next_id))
		return;
	SEND(m, cpu, r);
	if (p)
		p->lost = m->dropped != dropped;
	if (n)
		n->lost = m->dropped != dropped;
}

/* A thread that waits for a CPU, or -1. */
static int some_ready(struct machine *m)
{
	unsigned first = draw(m, m->options.threads);

	for (unsigned i = 0; i < m->options.threads; i++) {
		unsigned k = (first + i) % m->options.threads;

		if (m->tasks[k].state == M_READY)
			return (int)k;
	}
	return -1;
}

static uint32_t some_tid(struct machine *m)
{
	if (m->options.reuse && m->nfree && chance(m, 700)) {
		uint32_t i = draw(m, m->nfree), tid = m->free_tids[i];

		m->free_tids[i] = m->free_tids[--m->nfree];
		return tid;
	}
	return m->next_tid++;
}

static void free_tid(struct machine *m, uint32_t tid)
{
	m->free_tids = realloc(m->free_tids, (m->nfree + 1) * sizeof(*m->free_tids));
	m->free_tids[m->nfree++] = tid;
}

static bool has_others(const struct machine *m, const struct machine_task *t)
{
	for (unsigned i = 0; i < m->options.threads; i++)
		if (&m->tasks[i] != t && m->tasks[i].state != M_FREE &&
		    m->tasks[i].who.pid == t->who.pid)
			return true;
	return false;
}

/* `creator` may be NULL: the thread was there before anything was recorded. */
static void give_birth(struct machine *m, struct machine_task *creator, unsigned cpu)
{
	struct machine_task *t = NULL;
	bool process = chance(m, creator ? 400 : 1000);
	struct record_task r;

	for (unsigned i = 0; i < m->options.threads && !t; i++)
		if (m->tasks[i].state == M_FREE)
			t = &m->tasks[i];
	if (!t || (creator && creator->exiting))
		return;
	memset(t, 0, sizeof(*t));
	t->who.id = m->next_id++;
	t->who.tid = some_tid(m);
	t->who.pid = t->who.tid;
	if (creator && !process)
		t->who.pid = creator->who.pid;
	t->wanted = creator ? creator->wanted : !m->options.unwanted || chance(m, 500);
	t->state = creator ? M_READY : M_SLEEPS;
	if (!creator) {
		t->phase = M_SLEEPS;
		return;
	}
	r = rec_birth(m->clock, as_sent(creator), as_sent(t));
	r.creator_tid = (int32_t)creator->who.tid;
	r.head.id = context_id(m, cpu);
	if (t->wanted && !blind(m, m->on[cpu]))
		SEND(m, cpu, r);
	t->wake_clock = t->since = m->clock;
	t->waker = (int32_t)creator->who.tid;
}

static void wake_some(struct machine *m, int32_t waker, unsigned cpu)
{
	unsigned first = draw(m, m->options.threads);

	for (unsigned i = 0; i < m->options.threads; i++) {
		struct machine_task *t = &m->tasks[(first + i) % m->options.threads];

		if (t->state != M_SLEEPS)
			continue;
		begin_phase(m, t, M_READY);
		t->state = M_READY;
		t->wake_clock = blind(m, m->on[cpu]) ? 0 : m->clock;
		t->waker = waker;
		return;
	}
}

static void begin_exit(struct machine *m, struct machine_task *t, unsigned cpu)
{
	struct record_exit r = rec_exit(m->clock, as_sent(t), 256 * draw(m, 3));

	if (t->exiting || (t->who.pid == t->who.tid && has_others(m, t)))
		return;
	t->exiting = true;
	r.head.id = context_id(m, cpu);
	if (t->wanted && !blind(m, m->on[cpu]))
		SEND(m, cpu, r);
	if (m->options.early && m->options.reuse && chance(m, 500) && t->who.pid != t->who.tid) {
		free_tid(m, t->who.tid);
		t->seen = true; /* given away already */
	}
}

static void die_on(struct machine *m, struct machine_task *t, unsigned cpu)
{
	int next = some_ready(m);

	switch_to(m, cpu, OFF_CPU_DEAD, next);
	if (!t->seen)
		free_tid(m, t->who.tid);
	t->state = M_FREE;
}

/* A thread takes the place of its leader, which has died, or is about to. */
static void execute(struct machine *m, struct machine_task *t, unsigned cpu)
{
	struct machine_task *leader = NULL;
	uint32_t old = t->who.tid;
	struct record_task r;

	for (unsigned i = 0; i < m->options.threads; i++) {
		struct machine_task *o = &m->tasks[i];

		if (o == t || o->state == M_FREE || o->who.pid != t->who.pid)
			continue;
		if (o->who.tid != o->who.pid || o->exiting)
			return; /* others must be gone first */
		leader = o;
	}
	if (t->exiting)
		return;
	if (leader) {
		if (leader->state != M_RUNS || leader->cpu == cpu)
			return;
		m->clock++;
		struct record_exit e = rec_exit(m->clock, as_sent(leader), 0);

		leader->exiting = true;
		e.head.id = context_id(m, leader->cpu);
		if (leader->wanted && !blind(m, m->on[leader->cpu]))
			SEND(m, leader->cpu, e);
		m->clock++;
		if (chance(m, 500)) {
			m->truth[leader->interval].to = m->clock;
			switch_to(m, leader->cpu, OFF_CPU_DEAD, some_ready(m));
			leader->state = M_FREE;
		} else {
			/* It shows the tid of the other one from now on. */
			leader->who.tid = old;
			leader->seen = false;
		}
		m->clock += 2;
		m->truth[t->interval].to = m->clock;
		t->who.tid = t->who.pid;
		t->interval = m->ntruth++;
		if (m->ntruth > m->truth_room) {
			m->truth_room *= 2;
			m->truth = realloc(m->truth, m->truth_room * sizeof(*m->truth));
		}
		m->truth[t->interval] =
			(struct truth){t->who.pid, t->who.tid, cpu, m->clock, 0, false};
	}
	r = rec_task(m->clock, TASK_EXECED, context_id(m, cpu), as_sent(t), "execed");
	r.old_tid = old;
	if (t->wanted && !blind(m, m->on[cpu]))
		SEND(m, cpu, r);
}

static void rename_it(struct machine *m, struct machine_task *t, unsigned cpu)
{
	struct record_task r;
	char name[16];

	snprintf(name, sizeof(name), "name %u", draw(m, 10));
	if (m->options.joins && t->who.id % 3 == 0) {
		t->wanted = !t->wanted;
		r = rec_task(m->clock, TASK_RENAMED, context_id(m, cpu), t->who, name);
		r.flags = t->wanted ? TASK_FLAG_TRACED : 0;
	} else if (!t->wanted) {
		return;
	} else {
		r = rec_task(m->clock, TASK_RENAMED, context_id(m, cpu), as_sent(t), name);
	}
	if (!blind(m, m->on[cpu]))
		SEND(m, cpu, r);
}

static void step(struct machine *m)
{
	unsigned cpu = draw(m, m->options.cpus);
	int on = m->on[cpu];
	struct machine_task *t = on < 0 ? NULL : &m->tasks[on];
	uint32_t what = draw(m, 1000);

	m->clock += m->options.pace ? 4 + draw(m, m->options.pace) : draw(m, 100) < 5;
	if (!t) {
		if (what < 300)
			wake_some(m, WAKER_INTERRUPT, cpu);
		else if ((on = some_ready(m)) >= 0)
			switch_to(m, cpu, 0, on);
		return;
	}
	if (what < 250)
		wake_some(m, (int32_t)t->who.tid, cpu);
	else if (what < 290)
		give_birth(m, t, cpu);
	else if (what < 320 && m->options.execs && t->who.pid != t->who.tid)
		execute(m, t, cpu);
	else if (what < 350)
		rename_it(m, t, cpu);
	else if (what < 380)
		begin_exit(m, t, cpu);
	else if (what < 500 && t->exiting)
		die_on(m, t, cpu);
	else if (what < 750) {
		t->state = M_SLEEPS;
		switch_to(m, cpu, draw(m, 2) ? OFF_CPU_SLEEPING : OFF_CPU_IO, some_ready(m));
	} else if ((on = some_ready(m)) >= 0) {
		static const unsigned whys[] = {OFF_CPU_PREEMPTED, OFF_CPU_YIELDED,
						OFF_CPU_THROTTLED};

		t->state = M_READY;
		switch_to(m, cpu, whys[draw(m, 3)], on);
	}
}

static void iterate(struct machine *m, struct record_task **list, size_t *n)
{
	*list = calloc(m->options.threads, sizeof(**list));
	for (unsigned i = 0; i < m->options.threads; i++) {
		struct machine_task *t = &m->tasks[i];
		struct record_task *r = &(*list)[*n];

		if (t->state == M_FREE)
			continue;
		if (t->phase == M_FREE) { /* its birth was not seen: it waits from now on */
			t->phase = M_READY;
			t->since = m->clock;
		}
		*r = rec_task(0, TASK_ITERATED, 0, as_sent(t), "iterated");
		r->state = t->state == M_SLEEPS ? 1 : 0;
		if (t->state == M_READY) {
			r->wake_clock = t->wake_clock;
			r->waker_tid = t->waker;
		}
		if (t->elsewhere)
			r->flags |= TASK_FLAG_ELSEWHERE;
		if (t->lost)
			r->flags |= TASK_FLAG_LOST;
		(*n)++;
	}
}

static void snapshots(struct machine *m, enum snapshot_phase phase, uint64_t *first, uint64_t *last)
{
	for (unsigned cpu = 0; cpu < m->options.cpus; cpu++) {
		struct record_snapshot r;

		m->clock += 2;
		r = rec_snapshot(m->clock, phase,
				 m->on[cpu] < 0 ? idle : as_sent(&m->tasks[m->on[cpu]]));
		*first = cpu ? *first : m->clock;
		*last = m->clock;
		if (listed(m, cpu))
			SEND(m, cpu, r);
		if (chance(m, 700))
			step(m);
	}
}

static int by_clock(const void *a, const void *b)
{
	const struct machine_record *x = *(struct machine_record *const *)a,
				    *y = *(struct machine_record *const *)b;

	if (x->head.clock != y->head.clock)
		return x->head.clock < y->head.clock ? -1 : 1;
	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* Runs the machine. Free with schedule_free(). */
static struct machine *schedule_run(const struct schedule_options *options, uint64_t seed)
{
	struct machine *m = calloc(1, sizeof(*m));
	uint64_t ignored;

	m->options = *options;
	m->seed = seed * 0x9e3779b97f4a7c15ull + 1;
	m->clock = options->start;
	m->next_id = 1;
	m->next_tid = 1;
	m->tasks = calloc(options->threads, sizeof(*m->tasks));
	m->on = malloc(options->cpus * sizeof(*m->on));
	m->gaps = calloc(options->cpus, sizeof(*m->gaps));
	for (unsigned cpu = 0; cpu < options->cpus; cpu++)
		m->on[cpu] = -1;
	for (unsigned i = 0; i < options->threads / 3 + 1; i++)
		give_birth(m, NULL, 0);
	for (unsigned i = draw(m, 200); i; i--)
		step(m);
	m->n = 0; /* nothing was attached */
	for (unsigned i = 0; i < m->options.threads; i++)
		if (m->tasks[i].phase == M_THROTTLED)
			m->tasks[i].phase = M_READY; /* the reason of its wait is unknown */
	memset(m->gaps, 0, options->cpus * sizeof(*m->gaps));
	for (unsigned i = draw(m, 20); i; i--)
		step(m);
	iterate(m, &m->before, &m->nbefore);
	for (unsigned i = draw(m, 20); i; i--)
		step(m);
	snapshots(m, SNAPSHOT_START, &ignored, &m->t0);
	for (unsigned i = 0; i < options->steps; i++)
		step(m);
	snapshots(m, SNAPSHOT_STOP, &m->t1, &ignored);
	for (unsigned i = 0; i < 5; i++)
		step(m);
	iterate(m, &m->after, &m->nafter);
	for (unsigned i = 0; i < m->options.threads; i++)
		if (m->tasks[i].state != M_FREE)
			begin_phase(m, &m->tasks[i], M_FREE);
	return m;
}

static void schedule_free(struct machine *m)
{
	free(m->tasks);
	free(m->on);
	free(m->gaps);
	free(m->records);
	free(m->before);
	free(m->after);
	free(m->truth);
	free(m->phases);
	free(m->free_tids);
	free(m);
}

/* Does this record belong to a thread with a stream, which then shows the gap before it? */
static bool shows(const struct machine_record *r)
{
	return r->head.kind != RECORD_LOST &&
	       (r->head.id || (r->head.kind == RECORD_SWITCH && r->sw.next_id));
}

static void count_unshown(struct machine *m, struct machine_record *const *order)
{
	uint64_t *gaps = calloc(m->options.cpus, sizeof(*gaps));

	for (size_t i = 0; i < m->n; i++) {
		const struct machine_record *r = order[i];

		if (r->head.kind == RECORD_LOST && r->head.clock > m->t0 &&
		    r->lost.first_clock <= m->t1)
			gaps[r->cpu] += r->lost.count;
		else if (shows(r) && r->head.clock <= m->t1)
			gaps[r->cpu] = 0;
	}
	for (unsigned cpu = 0; cpu < m->options.cpus; cpu++)
		m->unshown += gaps[cpu];
	free(gaps);
}

/* The records in the order of the merge, for free(). */
static struct machine_record **schedule_order(struct machine *m)
{
	struct machine_record **order = calloc(m->n + 1, sizeof(*order));

	for (size_t i = 0; i < m->n; i++)
		order[i] = &m->records[i];
	qsort(order, m->n, sizeof(*order), by_clock);
	return order;
}

/* Gives all to a recorder, as the live part does, in the order of the merge. */
static void schedule_play(struct machine *m, struct kit *kit)
{
	struct machine_record **order = schedule_order(m);

	count_unshown(m, order);
	for (size_t i = 0; i < m->nbefore; i++)
		assert_int_equal(timeline_iterated(kit->timeline, &m->before[i]), 0);
	for (size_t i = 0; i < m->n; i++) {
		if (order[i]->head.clock > m->t1)
			timeline_stop(kit->timeline, m->t1);
		assert_int_equal(kit_give(kit, order[i]->cpu, &order[i]->head), 0);
	}
	timeline_stop(kit->timeline, m->t1);
	for (size_t i = 0; i < m->nafter; i++)
		assert_int_equal(timeline_iterated(kit->timeline, &m->after[i]), 0);
	free(order);
	kit_close(kit, m->t1);
	assert_int_equal(kit->err, 0);
}

/* ---- the truth ---- */

/* The intervals in which the streams say that threads run, in the order of the streams. */
static int truth_order(const void *a, const void *b)
{
	const struct truth *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

static bool same_interval(const struct truth *x, const struct truth *y)
{
	return x->pid == y->pid && x->tid == y->tid && x->cpu == y->cpu && x->from == y->from &&
	       x->to == y->to;
}

static struct truth *twice_as_long(struct truth *list, size_t *room)
{
	struct truth *longer = reallocarray(list, *room *= 2, sizeof(*list));

	assert_non_null(longer);
	return longer;
}

static struct truth *told(size_t *n)
{
	size_t room = 1024;
	struct truth *list = calloc(room, sizeof(*list));

	*n = 0;
	for (size_t i = 0; i < kit_disk.n; i++) {
		struct kit_stream *s = &kit_disk.all[i];
		const uint8_t *at = s->events, *end = at + s->size;
		struct truth now = {0};
		int32_t cpu = -1;
		struct event ev;
		ssize_t size;

		assert_int_equal(sscanf(s->path, "loom.node/proc.%u/thread.%u", &now.pid, &now.tid),
				 2);
		for (; (size = event_decode(&ev, at, end)) > 0; at += size) {
			switch (event_mcv(&ev)) {
			case MCV('O', 'H', 'x'):
				cpu = get_i32(ev.payload);
				now.from = (uint64_t)ev.clock;
				break;
			case MCV('O', 'A', 's'):
				cpu = get_i32(ev.payload);
				break;
			case MCV('O', 'H', 'r'):
				now.from = (uint64_t)ev.clock;
				break;
			case MCV('O', 'H', 'p'):
			case MCV('O', 'H', 'e'):
				if (cpu < 0)
					break;
				now.cpu = (unsigned)cpu;
				now.to = (uint64_t)ev.clock;
				if (*n == room)
					list = twice_as_long(list, &room);
				list[(*n)++] = now;
				break;
			}
		}
	}
	if (*n)
		qsort(list, *n, sizeof(*list), truth_order);
	return list;
}

/* The stays of the machine as the trace should have them: in the window, entering 1 ns later. */
static struct truth *expected(const struct machine *m, size_t *n)
{
	struct truth *list = malloc((m->ntruth + 1) * sizeof(*list));

	*n = 0;
	for (size_t i = 0; i < m->ntruth; i++) {
		struct truth t = m->truth[i];

		if (t.hidden || t.from > m->t1 || (t.to && t.to <= m->t0))
			continue;
		if (!t.to || t.to > m->t1)
			t.to = m->t1;
		t.from = t.from <= m->t0 ? m->t0 : t.from + 1;
		if (t.to < t.from)
			t.to = t.from;
		list[(*n)++] = t;
	}
	if (*n)
		qsort(list, *n, sizeof(*list), truth_order);
	return list;
}

static void compare_with_truth(const struct machine *m, uint64_t seed)
{
	size_t ngot, nwant;
	struct truth *got = told(&ngot), *want = expected(m, &nwant);

	for (size_t i = 0; i < ngot || i < nwant; i++) {
		if (i < ngot && i < nwant && same_interval(&got[i], &want[i]))
			continue;
		if (i < ngot)
			print_error("got  thread %u of %u on %u: %" PRIu64 " to %" PRIu64 "\n",
				    got[i].tid, got[i].pid, got[i].cpu, got[i].from, got[i].to);
		if (i < nwant)
			print_error("want thread %u of %u on %u: %" PRIu64 " to %" PRIu64 "\n",
				    want[i].tid, want[i].pid, want[i].cpu, want[i].from,
				    want[i].to);
		fail_msg("seed %" PRIu64 ": interval %zu of %zu (%zu told)", seed, i, nwant, ngot);
	}
	free(got);
	free(want);
}

#endif
