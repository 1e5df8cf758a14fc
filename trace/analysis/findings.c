/* SPDX-License-Identifier: MIT */
/* findings: see findings.h. */
#include "trace/analysis/findings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/array.h"
#include "trace/base/hash.h"
#include "trace/base/log.h"
#include "trace/catalog/catalog.h"

#define NO_STREAM   UINT32_MAX
#define STEAL_TICK  10000000 /* ns: the kernel counts in these (event-mapping.md, "Steal") */
#define GENERATIONS 64	     /* between the recorder and a process */

/* ns: a wake-up on another CPU may be later than the call that made it (why.md, part D). */
#define WAKE_UP_UNDER_WAY 100000

const char *const finding_names[FINDING_KINDS] = {
	[FINDING_NEIGHBOUR] = "neighbour",
	[FINDING_SHARED] = "shared-cpu",
	[FINDING_RANKS_SHARE] = "ranks-share-cpu",
	[FINDING_KERNEL] = "kernel",
	[FINDING_IDLE] = "idle-cpu",
	[FINDING_UNKNOWN] = "unknown-culprit",
	[FINDING_QUOTA] = "quota",
	[FINDING_IMBALANCE] = "imbalance",
	[FINDING_RANK_IMBALANCE] = "rank-imbalance",
	[FINDING_LOCK] = "lock",
	[FINDING_INVERSION] = "inversion",
	[FINDING_LATE_RANK] = "late-rank",
	[FINDING_IO] = "io",
	[FINDING_BLOCKED] = "uninterruptible",
	[FINDING_JITTER] = "jitter",
	[FINDING_STEAL] = "steal",
};

const char *const finding_number_names[NUMBERS] = {
	[NUMBER_OF] = "of_ns",		[NUMBER_TIME] = "time_ns",    [NUMBER_BY] = "by_ns",
	[NUMBER_COUNT] = "count",	[NUMBER_THREADS] = "threads", [NUMBER_MOST] = "most_ns",
	[NUMBER_MOST_AT] = "most_at",	[NUMBER_MEAN] = "mean_ns",    [NUMBER_RUN] = "run_ns",
	[NUMBER_WAIT] = "wait_ns",	[NUMBER_SLEEP] = "asleep_ns", [NUMBER_CPU] = "cpu",
	[NUMBER_FUNCTION] = "function", [NUMBER_TAKER] = "taker_tid",
};

/* ---- the state of the walk ---- */

/* The time of a thread by its use at one moment: ns. */
struct times {
	int64_t run, wait, sleep;
};

/* Starts of runs by a wake-up, as a histogram of the time between them: 8 buckets for each power of
 * two, from PERIOD_LEAST on. */
#define PERIOD_BITS    3
#define PERIOD_SHIFT   13 /* 8 us */
#define PERIOD_BUCKETS ((38 - PERIOD_SHIFT) << PERIOD_BITS)
#define PERIOD_SKIPPED 4 /* periods of a thread before it has a histogram */

struct periods {
	uint32_t count[PERIOD_BUCKETS];
	int64_t sum[PERIOD_BUCKETS];
	int64_t most, most_at, most_wait;
};

/* What a mark of --api pthread means. */
enum mark_role { ROLE_NONE, ROLE_LOCK, ROLE_RELEASE, ROLE_OTHER, ROLE_HELD };

struct mark_name {
	int32_t type;
	int64_t value;
	enum mark_role role;
};

struct thread_walk {
	bool woken;	 /* the run begins by a wake-up from a sleep */
	int64_t ready;	 /* clock of that wake-up */
	int64_t started; /* clock of the last run that began by one, or unknown */
	uint32_t nperiods;
	struct periods *periods;

	/* regions of a runtime: a bit for each open one, 1 = the thread waits in it */
	uint64_t regions;
	unsigned depth;
	int64_t idle_since; /* run time when the waiting began */
	bool microtask;	    /* executed one: is in the team */

	/* marks of --api pthread */
	enum mark_role inside;
	int64_t released; /* clock of the end of its last release */
	bool in_lock;
	unsigned held;
	struct times held_times; /* then */
	struct times last_hold;	 /* parts of the last hold that has ended */
	bool last_valid;	 /* it was the only mutex of the thread */
};

/* Waits for mutexes that one thread ended by its unlock. */
struct holder {
	uint32_t stream;
	uint64_t waits, holds;
	int64_t waited;	   /* ns asleep of the waiters */
	struct times held; /* during the contended holds */
};

#define FUNCTIONS 64 /* values of the channel of the mpi model */

struct rank {
	uint32_t process, stream; /* the thread that calls MPI */
	int64_t rank;
	unsigned depth;
	int function; /* of the outermost call */
	int64_t enter_clock;
	struct times enter;  /* at the outermost call */
	struct times inside; /* during all calls before */
	int64_t in_mpi;	     /* ns in MPI, but Init and Finalize */
	struct times mpi;    /* the same by use */
	int64_t functions[FUNCTIONS];
	struct times outside[FINDING_RANKS]; /* of each other rank, at the outermost call */
	struct times overlap[FINDING_RANKS]; /* of each other rank outside, during the calls */
};

struct findings_state {
	struct thread_walk *threads;
	struct hash processes;	 /* (loom, pid) */
	struct mark_name *marks; /* sorted by type and value after the first event */
	size_t nmarks;
	bool sorted;
	struct holder *holders;
	size_t nholders;
	uint32_t *holder_of; /* index in holders, of each stream */
	struct rank *ranks;  /* sorted by rank; NULL: none, or too many */
	size_t nranks;
	uint32_t *rank_of; /* index in ranks, of each process */
	uint32_t *pairs;   /* indices of culprits.pairs, by the process of the victim */
	int64_t *sums;	   /* ns, of each stream as a culprit; all 0 between two rules */
};

int64_t thread_use_sleep(const struct thread_use *use)
{
	int64_t sum = 0;

	for (int why = 0; why < OFF_CPU_COUNT; why++)
		sum = clock_sum(sum, use->sleep[why]);
	return sum;
}

bool findings_worth(const struct findings *f, int64_t ns)
{
	return ns >= FINDING_LEAST &&
	       ns >= clock_distance(f->first, f->last) / 1000 * FINDING_PERMILLE;
}

/* ---- metadata ---- */

/* A number of a text that the hash can take: FNV-1a. */
static uint64_t text_key(const char *text)
{
	uint64_t key = 0xcbf29ce484222325u;

	for (; text && *text; text++)
		key = (key ^ (uint8_t)*text) * 0x100000001b3u;
	return key;
}

static struct hash_key process_key(const char *loom, int64_t pid)
{
	return (struct hash_key){.a = text_key(loom ? loom : ""), .b = (uint64_t)pid};
}

static int add_process(struct findings *f, uint32_t stream)
{
	const struct owner *owner = &f->source->owners[stream];
	uint32_t *at = hash_at(&f->state->processes, process_key(owner->loom, owner->pid));
	struct process_use *process;

	if (!at)
		return -ENOMEM;
	if (*at == HASH_NONE) {
		process = ARRAY_ADD(f->processes, f->nprocesses);
		if (!process)
			return -ENOMEM;
		*process = (struct process_use){.stream = stream,
						.rank = owner->rank,
						.nranks = -1,
						.recorder = owner->name &&
							    !strcmp(owner->name, "ovni-bpf")};
		*at = (uint32_t)(process - f->processes);
	}
	f->threads[stream].process = *at;
	f->processes[*at].nthreads++;
	return 0;
}

static int init(struct findings *f, const struct source *source)
{
	size_t n = source->trace.nstreams;

	*f = (struct findings){.source = source};
	f->threads = calloc(n + 1, sizeof(*f->threads));
	f->state = calloc(1, sizeof(*f->state));
	if (!f->threads || !f->state)
		goto no_memory;
	f->state->threads = calloc(n + 1, sizeof(*f->state->threads));
	f->state->holder_of = calloc(n + 1, sizeof(*f->state->holder_of));
	if (!f->state->threads || !f->state->holder_of)
		goto no_memory;
	for (size_t i = 0; i < n; i++) {
		f->threads[i].cpu = CPU_NONE;
		f->state->holder_of[i] = NO_STREAM;
		f->state->threads[i].started = INTERVAL_UNKNOWN;
		f->state->threads[i].released = INTERVAL_UNKNOWN;
		if (add_process(f, (uint32_t)i))
			goto no_memory;
	}
	return 0;
no_memory:
	return log_no_memory("for %zu threads of %s", n, source->trace.path);
}

void findings_fini(struct findings *f)
{
	struct findings_state *s = f->state;

	for (size_t i = 0; s && s->threads && i < f->source->trace.nstreams; i++)
		free(s->threads[i].periods);
	if (s) {
		free(s->threads);
		free(s->marks);
		free(s->holders);
		free(s->holder_of);
		free(s->ranks);
		free(s->rank_of);
		hash_free(&s->processes);
		free(s->pairs);
		free(s->sums);
		free(s);
	}
	culprits_fini(&f->culprits);
	thread_times_fini(&f->times);
	cpu_times_fini(&f->cpus);
	free(f->processes);
	free(f->threads);
	free(f->list);
	free(f->steal);
	*f = (struct findings){.n = 0};
}

/* The labels of user/apis/pthread.json. */
static enum mark_role role_of_label(const char *label)
{
	if (!strncmp(label, "mutex lock", 10))
		return ROLE_LOCK;
	if (!strcmp(label, "mutex unlock") || !strncmp(label, "condition wait", 14))
		return ROLE_RELEASE;
	return ROLE_OTHER;
}

static int compare_marks(const void *pa, const void *pb)
{
	const struct mark_name *a = pa, *b = pb;

	if (a->type != b->type)
		return a->type < b->type ? -1 : 1;
	return a->value < b->value ? -1 : a->value > b->value;
}

static const struct mark_name *find_mark(const struct findings_state *s, int32_t type,
					 int64_t value)
{
	struct mark_name key = {.type = type, .value = value};

	for (size_t i = 0; !s->sorted && i < s->nmarks; i++)
		if (!compare_marks(&key, &s->marks[i]))
			return &s->marks[i];
	if (!s->sorted || !s->nmarks)
		return NULL;
	return bsearch(&key, s->marks, s->nmarks, sizeof(key), compare_marks);
}

static int add_marks(struct findings_state *s, const struct json *mark)
{
	const char *title = json_string(json_key(mark, "title")), *key = json_name(mark);
	bool held = title && !strcmp(title, "Pthread mutexes held");

	if (!key || !title || (!held && strcmp(title, "Pthread") != 0))
		return 0;
	for (const struct json *node = json_first(json_key(mark, "labels")); node;
	     node = json_next(node)) {
		struct mark_name name = {.type = (int32_t)strtol(key, NULL, 10)}, *added;
		const char *label = json_string(node), *value = json_name(node);

		if (!label || !value)
			continue;
		name.value = strtoll(value, NULL, 10);
		name.role = held ? ROLE_HELD : role_of_label(label);
		if (find_mark(s, name.type, name.value))
			continue;
		added = ARRAY_ADD(s->marks, s->nmarks);
		if (!added)
			return -ENOMEM;
		*added = name;
	}
	return 0;
}

static int take_metadata(struct findings *f, uint32_t stream, const struct json *meta)
{
	struct process_use *process = &f->processes[f->threads[stream].process];
	const struct json *rank = json_get(meta, "bpf.rank"),
			  *nranks = json_get(meta, "bpf.nranks");
	const struct json *cpu = json_first(json_get(meta, "bpf.session.cpus"));

	f->threads[stream].kernel = json_bool(json_get(meta, "bpf.kernel_thread"));
	if (json_is_number(json_get(meta, "bpf.parent")))
		process->parent = json_int(json_get(meta, "bpf.parent"));
	if (process->rank < 0 && json_is_number(rank))
		process->rank = json_int(rank);
	if (!json_is_number(nranks))
		nranks = json_get(meta, "ovni.nranks");
	if (process->nranks < 0 && json_is_number(nranks))
		process->nranks = json_int(nranks);
	for (; cpu; cpu = json_next(cpu)) {
		struct cpu_steal *steal;
		uint64_t ns;

		if (!json_u64(json_key(cpu, "steal"), &ns) || ns > INT64_MAX)
			continue;
		steal = ARRAY_ADD(f->steal, f->nsteal);
		if (!steal)
			return -ENOMEM;
		*steal = (struct cpu_steal){stream, (int32_t)json_int(json_key(cpu, "index")),
					    (int64_t)ns};
	}
	for (const struct json *mark = json_first(json_get(meta, "ovni.mark")); mark;
	     mark = json_next(mark))
		if (add_marks(f->state, mark))
			return -ENOMEM;
	return 0;
}

/* ---- the use of the time ---- */

static int64_t clamp(const struct findings *f, int64_t clock)
{
	if (clock < f->first)
		return f->first;
	return clock > f->last ? f->last : clock;
}

static struct times times_at(const struct findings *f, uint32_t stream, int64_t clock)
{
	int64_t ns[TIME_CLASSES];

	thread_times_read(&f->times, stream, clock, ns);
	return (struct times){ns[CLASS_RUNNING], clock_sum(ns[CLASS_RUNNABLE], ns[CLASS_THROTTLED]),
			      clock_sum(ns[CLASS_ASLEEP], ns[CLASS_UNKNOWN])};
}

static struct times times_between(struct times from, struct times to)
{
	return (struct times){clock_distance(from.run, to.run), clock_distance(from.wait, to.wait),
			      clock_distance(from.sleep, to.sleep)};
}

static struct times times_sum(struct times a, struct times b)
{
	return (struct times){clock_sum(a.run, b.run), clock_sum(a.wait, b.wait),
			      clock_sum(a.sleep, b.sleep)};
}

/* The bucket of a period. */
static unsigned period_bucket(int64_t ns)
{
	uint64_t v = ns < 1 << PERIOD_SHIFT ? 1u << PERIOD_SHIFT : (uint64_t)ns;
	unsigned power = 63 - (unsigned)__builtin_clzll(v);
	unsigned bucket = ((power - PERIOD_SHIFT) << PERIOD_BITS) +
			  (unsigned)(v >> (power - PERIOD_BITS) & ((1u << PERIOD_BITS) - 1));

	return bucket < PERIOD_BUCKETS ? bucket : PERIOD_BUCKETS - 1;
}

/* A run begins by a wake-up. */
static int add_period(struct thread_walk *w, int64_t clock)
{
	int64_t ns = w->started == INTERVAL_UNKNOWN ? -1 : clock_distance(w->started, clock);
	unsigned bucket;

	w->started = clock;
	if (ns < 0 || w->nperiods++ < PERIOD_SKIPPED)
		return 0;
	if (!w->periods)
		w->periods = calloc(1, sizeof(*w->periods));
	if (!w->periods)
		return -ENOMEM;
	bucket = period_bucket(ns);
	w->periods->count[bucket]++;
	w->periods->sum[bucket] = clock_sum(w->periods->sum[bucket], ns);
	if (ns > w->periods->most) {
		w->periods->most = ns;
		w->periods->most_at = clock;
		w->periods->most_wait = clock_distance(w->ready, clock);
	}
	return 0;
}

/* The use of the time of a thread has changed. */
static int take_use(struct findings *f, uint32_t stream, int64_t clock, enum time_use from,
		    int32_t cpu)
{
	struct thread_use *use = &f->threads[stream];
	struct thread_walk *w = &f->state->threads[stream];
	enum time_use to = f->times.threads[stream].use;

	if (from != TIME_NONE)
		use->last = clamp(f, clock);
	if (!use->seen)
		use->first = clamp(f, clock);
	use->seen = true;
	/* a preempted thread passes through Paused, in no time */
	if (from >= TIME_ASLEEP && from < TIME_NONE && to < TIME_ASLEEP &&
	    !off_cpu_runnable(from - TIME_ASLEEP)) {
		w->woken = true;
		w->ready = clock;
	}
	if (to != TIME_RUNNING || cpu < 0 || clock != clamp(f, clock))
		return 0;
	use->runs++;
	if (!w->woken)
		return 0;
	w->woken = false;
	return add_period(w, clock);
}

/* ---- mutexes ---- */

static struct holder *holder_of(struct findings_state *s, uint32_t stream)
{
	struct holder *holder;

	if (s->holder_of[stream] != NO_STREAM)
		return &s->holders[s->holder_of[stream]];
	holder = ARRAY_ADD(s->holders, s->nholders);
	if (!holder)
		return NULL;
	*holder = (struct holder){.stream = stream};
	s->holder_of[stream] = (uint32_t)(holder - s->holders);
	return holder;
}

/* A thread asleep in a lock is woken: by the thread that unlocks the mutex. */
static int end_lock_sleep(struct findings *f, const struct intervals *intervals, uint32_t stream,
			  int64_t clock, int32_t waker)
{
	struct findings_state *s = f->state;
	struct thread_walk *by;
	int64_t ns = clock_distance(f->times.threads[stream].since, clamp(f, clock));
	int64_t found = waker > 0 ? state_walk_find(&intervals->walk, stream, waker) : -1;
	struct holder *holder;

	if (found < 0 || ns <= 0 || f->threads[found].process != f->threads[stream].process)
		return 0;
	by = &s->threads[found];
	if (by->inside != ROLE_RELEASE && (by->released == INTERVAL_UNKNOWN ||
					   clock_distance(by->released, clock) > WAKE_UP_UNDER_WAY))
		return 0; /* woken by a signal, or the release is not in the trace */
	holder = holder_of(s, (uint32_t)found);
	if (!holder)
		return -ENOMEM;
	holder->waits++;
	holder->waited = clock_sum(holder->waited, ns);
	if (by->last_valid) {
		holder->holds++;
		holder->held = times_sum(holder->held, by->last_hold);
		by->last_valid = false; /* counted once */
	}
	return 0;
}

static void take_held(struct findings *f, uint32_t stream, int64_t clock, bool begin)
{
	struct thread_walk *w = &f->state->threads[stream];

	if (begin) {
		if (!w->held++) {
			w->held_times = times_at(f, stream, clock);
		}
		return;
	}
	if (!w->held)
		return; /* locked before the trace begins */
	if (!--w->held) {
		w->last_hold = times_between(w->held_times, times_at(f, stream, clock));
		w->last_valid = true;
	}
}

static void take_mark(struct findings *f, uint32_t stream, const struct event *ev)
{
	struct thread_walk *w = &f->state->threads[stream];
	const struct mark_name *mark;
	bool begin = ev->value == '[';

	if (!f->state->nmarks || ev->payload_size < 12 || (!begin && ev->value != ']'))
		return;
	mark = find_mark(f->state, get_i32(ev->payload + 8), get_i64(ev->payload));
	if (!mark)
		return;
	f->locks = true;
	if (mark->role == ROLE_HELD) {
		take_held(f, stream, ev->clock, begin);
		return;
	}
	if (!begin && w->inside == ROLE_RELEASE)
		w->released = ev->clock;
	w->inside = begin ? mark->role : ROLE_NONE;
}

/* ---- MPI and runtimes ---- */

/* Whether the thread waits in a region of the OpenMP runtime (efficiency.md 3): 1, 0, or -1 for as
 * in the region around it. */
static int openmp_waits(const struct event *ev)
{
	switch (ev->category) {
	case 'B':
		return 1;
	case 'H':
		return 1; /* the loop in which a worker waits for work */
	case 'I':
		return ev->value == 'a' ? 1 : -1;
	case 'M':
		return ev->value == 'u' ? 0 : -1;
	case 'T':
		if (ev->value == '[' || ev->value == 'i')
			return 0;
		return ev->value == 't' || ev->value == 'w' ? 1 : -1;
	default:
		return -1;
	}
}

/* A region of MPI or OpenMP begins or ends: the thread waits while the innermost one says so. */
static void take_region(struct findings *f, uint32_t stream, const struct event *ev, bool begin,
			int waits)
{
	struct thread_walk *w = &f->state->threads[stream];
	bool before = w->regions & 1, after;
	int64_t run;

	if (begin) {
		after = waits < 0 ? before : waits;
		w->regions = w->regions << 1 | after;
		w->depth++;
	} else if (w->depth) {
		w->regions >>= 1;
		w->depth--;
	}
	after = w->regions & 1;
	if (before == after)
		return;
	run = times_at(f, stream, ev->clock).run;
	if (after)
		w->idle_since = run;
	else
		f->threads[stream].idle_run =
			clock_sum(f->threads[stream].idle_run, clock_distance(w->idle_since, run));
}

static int compare_ranks(const void *pa, const void *pb)
{
	const struct rank *a = pa, *b = pb;

	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return a->process < b->process ? -1 : a->process > b->process;
}

static const char *loom_of(const struct findings *f, uint32_t process)
{
	const char *loom = f->source->owners[f->processes[process].stream].loom;

	return loom ? loom : "";
}

/* The ranks of the first loom that has some: clocks of different looms may disagree. */
static int list_ranks(struct findings *f)
{
	struct findings_state *s = f->state;
	const char *loom = NULL;

	s->rank_of = calloc(f->nprocesses + 1, sizeof(*s->rank_of));
	if (!s->rank_of)
		return -ENOMEM;
	for (uint32_t p = 0; p < f->nprocesses; p++) {
		struct rank *rank;

		s->rank_of[p] = NO_STREAM;
		if (f->processes[p].rank < 0 || s->nranks > FINDING_RANKS)
			continue;
		loom = loom ? loom : loom_of(f, p);
		if (strcmp(loom, loom_of(f, p)) != 0)
			continue;
		rank = ARRAY_ADD(s->ranks, s->nranks);
		if (!rank)
			return -ENOMEM;
		*rank = (struct rank){
			.process = p, .stream = NO_STREAM, .rank = f->processes[p].rank};
	}
	if (s->nranks > FINDING_RANKS || s->nranks < 2) {
		free(s->ranks);
		s->ranks = NULL;
		s->nranks = 0;
		return 0;
	}
	qsort(s->ranks, s->nranks, sizeof(*s->ranks), compare_ranks);
	for (uint32_t i = 0; i < s->nranks; i++)
		s->rank_of[s->ranks[i].process] = i;
	return 0;
}

/* The time of a rank outside of MPI up to `clock`. */
static struct times rank_outside(const struct findings *f, const struct rank *rank, int64_t clock)
{
	uint32_t stream =
		rank->stream == NO_STREAM ? f->processes[rank->process].stream : rank->stream;
	struct times now = rank->depth ? rank->enter : times_at(f, stream, clock);

	return times_between(rank->inside, now);
}

static void enter_mpi(struct findings *f, struct rank *rank, const struct event *ev, int function)
{
	const struct findings_state *s = f->state;

	if (rank->depth++)
		return;
	rank->function = function;
	rank->enter_clock = clamp(f, ev->clock);
	rank->enter = times_at(f, rank->stream, ev->clock);
	for (size_t i = 0; i < s->nranks; i++)
		rank->outside[i] = rank_outside(f, &s->ranks[i], ev->clock);
}

static void leave_mpi(struct findings *f, struct rank *rank, const struct event *ev)
{
	const struct findings_state *s = f->state;
	struct times spent;
	int64_t ns = clock_distance(rank->enter_clock, clamp(f, ev->clock));

	if (!rank->depth || --rank->depth)
		return;
	spent = times_between(rank->enter, times_at(f, rank->stream, ev->clock));
	rank->inside = times_sum(rank->inside, spent);
	if (rank->function < 4) /* Init and Finalize */
		return;
	rank->in_mpi = clock_sum(rank->in_mpi, ns);
	rank->mpi = times_sum(rank->mpi, spent);
	rank->functions[rank->function] = clock_sum(rank->functions[rank->function], ns);
	for (size_t i = 0; i < s->nranks; i++) {
		struct times now = rank_outside(f, &s->ranks[i], ev->clock);

		if (&s->ranks[i] != rank)
			rank->overlap[i] =
				times_sum(rank->overlap[i], times_between(rank->outside[i], now));
	}
}

static int take_model(struct findings *f, uint32_t stream, const struct event *ev)
{
	struct findings_state *s = f->state;
	const struct catalog_event *event = catalog_find(event_mcv(ev), NULL);
	bool mpi = ev->model == 'M', begin;
	struct rank *rank = NULL;

	if (!event || !event->value ||
	    (event->action != ACTION_PUSH && event->action != ACTION_POP))
		return 0;
	begin = event->action == ACTION_PUSH;
	if (!mpi) {
		f->openmp = true;
		s->threads[stream].microtask |= begin && event_mcv(ev) == MCV('P', 'M', 'u');
		take_region(f, stream, ev, begin, openmp_waits(ev));
		return 0;
	}
	f->mpi = true;
	if (s->nranks && s->rank_of[f->threads[stream].process] != NO_STREAM)
		rank = &s->ranks[s->rank_of[f->threads[stream].process]];
	if (rank && rank->stream == NO_STREAM)
		rank->stream = stream;
	if (rank && rank->stream == stream && event->value < FUNCTIONS) {
		if (begin)
			enter_mpi(f, rank, ev, event->value);
		else
			leave_mpi(f, rank, ev);
	}
	take_region(f, stream, ev, begin, 1);
	return 0;
}

/* ---- events ---- */

static int take_state(struct findings *f, const struct intervals *intervals, uint32_t stream,
		      const struct event *ev)
{
	enum time_use from = f->times.threads[stream].use;
	int err = 0;

	if (ev->model == 'O' && ev->value == 'w' && from >= TIME_ASLEEP && from < TIME_NONE &&
	    f->state->threads[stream].inside == ROLE_LOCK && ev->payload_size >= 4)
		err = end_lock_sleep(f, intervals, stream, ev->clock, get_i32(ev->payload));
	if (err)
		return err;
	thread_times_step(&f->times, intervals, stream, ev);
	if (f->times.threads[stream].use == from)
		return 0;
	return take_use(f, stream, ev->clock, from, intervals->walk.threads[stream].cpu);
}

static int take_event(struct findings *f, const struct intervals *intervals, uint32_t stream,
		      const struct event *ev)
{
	switch (ev->model) {
	case 'O':
		if (ev->category == 'H')
			return take_state(f, intervals, stream, ev);
		if (ev->category == 'M')
			take_mark(f, stream, ev);
		return 0;
	case 'K':
		return ev->category == 'C' ? take_state(f, intervals, stream, ev) : 0;
	case 'M':
	case 'P':
		return take_model(f, stream, ev);
	default:
		return 0;
	}
}

/* The times of a thread by their use. */
static void take_times(struct thread_use *use, const struct thread_time *times)
{
	use->run = times->uses[TIME_RUNNING].ns;
	for (int cause = 0; cause < WAIT_CAUSES; cause++) {
		const struct time_stays *stays = &times->uses[TIME_WAITING + cause];

		if (cause == WAIT_THROTTLED)
			use->throttled = stays->ns;
		if (cause == WAIT_THROTTLED || cause == WAIT_NEWBORN ||
		    stays->max <= use->wait_most)
			continue;
		use->wait_most = stays->max;
		use->wait_most_at = clock_sum(stays->max_at, stays->max);
	}
	for (int why = 0; why < OFF_CPU_COUNT; why++)
		use->sleep[why] = times->uses[TIME_ASLEEP + why].ns;
	use->io = times->uses[TIME_ASLEEP + OFF_CPU_IO].count;
	use->io_most = times->uses[TIME_ASLEEP + OFF_CPU_IO].max;
}

/* Ends the times at the end of the trace, and adds them up. */
static void end_times(struct findings *f, const struct intervals *intervals)
{
	f->start = intervals->first;
	f->first = f->first > intervals->first ? f->first : intervals->first;
	f->last = f->last < intervals->last ? f->last : intervals->last;
	if (f->last < f->first)
		f->last = f->first;
	for (size_t i = 0; i < f->source->trace.nstreams; i++)
		if (f->times.threads[i].use != TIME_NONE)
			f->threads[i].last = f->last;
	thread_times_finish(&f->times, intervals);
	for (size_t i = 0; i < f->source->trace.nstreams; i++) {
		struct thread_use *use = &f->threads[i];
		struct process_use *process = &f->processes[use->process];

		if (!use->seen)
			continue;
		take_times(use, &f->times.threads[i]);
		if (f->part) /* with the run in which it begins */
			use->runs = f->times.threads[i].uses[TIME_RUNNING].count;
		process->run = clock_sum(process->run, use->run);
		process->idle_run = clock_sum(process->idle_run, use->idle_run);
		process->throttled = clock_sum(process->throttled, use->throttled);
		process->sleep = clock_sum(process->sleep, thread_use_sleep(use));
	}
}

/* ---- charges ---- */

_Static_assert(CHARGED_CLASSES <= CULPRIT_CLASSES, "each class of culprits has its sum");

static enum culprit_class class_of(const struct findings *f, uint32_t victim, int64_t culprit)
{
	const struct process_use *a, *b;

	if (culprit <= CULPRIT_OTHERS && culprit > CULPRIT_OTHERS - CHARGED_CLASSES)
		return (enum culprit_class)(CULPRIT_OTHERS - culprit);
	if (culprit < 0)
		return culprit == CULPRIT_IDLE ? CHARGED_IDLE : CHARGED_UNKNOWN;
	if (f->threads[culprit].process == f->threads[victim].process)
		return CHARGED_OWN;
	if (f->threads[culprit].kernel)
		return CHARGED_KERNEL;
	a = &f->processes[f->threads[victim].process];
	b = &f->processes[f->threads[culprit].process];
	return a->rank >= 0 && b->rank >= 0 ? CHARGED_RANK : CHARGED_OTHER;
}

static unsigned class_of_culprit(const void *arg, uint32_t victim, int64_t culprit)
{
	return class_of(arg, victim, culprit);
}

/* Charges the waits of threads to classes, and sorts the pairs by the process of the victim. */
static int take_charges(struct findings *f)
{
	const struct culprits *culprits = &f->culprits;
	struct findings_state *s = f->state;

	s->pairs = calloc(culprits->npairs + 1, sizeof(*s->pairs));
	s->sums = calloc(f->source->trace.nstreams + 1, sizeof(*s->sums));
	if (!s->pairs || !s->sums)
		return -ENOMEM;
	for (size_t i = 0; i < culprits->npairs; i++) {
		const struct culprit_pair *pair = &culprits->pairs[i];
		struct thread_use *victim = &f->threads[pair->victim];
		struct process_use *process = &f->processes[victim->process];
		enum culprit_class class = class_of(f, pair->victim, pair->culprit);

		process->npairs++;
		if (pair->culprit == CULPRIT_QUOTA)
			continue; /* thread_use.throttled */
		victim->charged[class] = clock_sum(victim->charged[class], pair->ns);
		victim->waited = clock_sum(victim->waited, pair->ns);
		process->charged[class] = clock_sum(process->charged[class], pair->ns);
		process->waited = clock_sum(process->waited, pair->ns);
	}
	for (size_t p = 1; p < f->nprocesses; p++)
		f->processes[p].pairs = f->processes[p - 1].pairs + f->processes[p - 1].npairs;
	for (size_t p = 0; p < f->nprocesses; p++)
		f->processes[p].npairs = 0;
	for (uint32_t i = 0; i < culprits->npairs; i++) {
		struct process_use *process =
			&f->processes[f->threads[culprits->pairs[i].victim].process];

		s->pairs[process->pairs + process->npairs++] = i;
	}
	return 0;
}

/* ---- rules ---- */

/* The streams of a process. */
struct group {
	uint32_t process;
	const uint32_t *members;
	size_t n;
};

static const struct finding_party nobody = {PARTY_NONE, 0, -1, CPU_NONE};

static struct finding_party thread_party(const struct findings *f, uint32_t stream)
{
	return (struct finding_party){PARTY_THREAD, stream,
				      f->processes[f->threads[stream].process].rank, CPU_NONE};
}

static struct finding_party process_party(const struct findings *f, uint32_t process)
{
	const struct process_use *p = &f->processes[process];

	if (p->nthreads == 1)
		return thread_party(f, p->stream);
	return (struct finding_party){p->rank >= 0 ? PARTY_RANK : PARTY_PROCESS, p->stream, p->rank,
				      CPU_NONE};
}

static struct finding *add(struct findings *f, enum finding_kind kind, int64_t cost,
			   struct finding_party who)
{
	struct finding *finding = ARRAY_ADD(f->list, f->n);

	if (finding)
		*finding = (struct finding){
			.kind = kind,
			.cost = cost,
			.target =
				f->targets && (who.kind == PARTY_CPU ||
					       f->processes[f->threads[who.stream].process].target),
			.who = who,
			.by = nobody};
	return finding;
}

static void put(struct finding *finding, enum finding_number number, int64_t value)
{
	finding->numbers[number] = value;
	finding->has |= 1u << number;
}

static void put_times(struct finding *finding, struct times times)
{
	put(finding, NUMBER_RUN, times.run);
	put(finding, NUMBER_WAIT, times.wait);
	put(finding, NUMBER_SLEEP, times.sleep);
}

/* The thread with the greatest charge of a class: of one victim, or of all threads of a process
 * (victim: NO_STREAM). NO_STREAM if there is none, or if so many culprits were summed up that it
 * may lack more than FINDING_SURE_PERCENT of its time. */
struct top {
	uint32_t stream;
	int64_t ns;
};

static struct top top_culprit(const struct findings *f, const struct group *group, uint32_t victim,
			      enum culprit_class class)
{
	const struct process_use *p = &f->processes[group->process];
	const uint32_t *pairs = f->state->pairs + p->pairs;
	int64_t *sums = f->state->sums, missing = 0;
	struct top top = {NO_STREAM, 0};

	for (uint32_t i = 0; i < p->npairs; i++) {
		const struct culprit_pair *pair = &f->culprits.pairs[pairs[i]];

		if (pair->culprit < 0 || (victim != NO_STREAM && pair->victim != victim) ||
		    class_of(f, pair->victim, pair->culprit) != class)
			continue;
		sums[pair->culprit] = clock_sum(sums[pair->culprit], pair->ns);
	}
	for (uint32_t i = 0; i < p->npairs; i++) {
		int64_t culprit = f->culprits.pairs[pairs[i]].culprit;

		if (culprit < 0)
			continue;
		if (sums[culprit] > top.ns)
			top = (struct top){(uint32_t)culprit, sums[culprit]};
		sums[culprit] = 0;
	}
	for (size_t i = 0; i < group->n; i++)
		if (victim == NO_STREAM || victim == group->members[i])
			missing = clock_sum(missing,
					    culprits_missing(&f->culprits, group->members[i]));
	if (missing > top.ns / 100 * FINDING_SURE_PERCENT)
		return (struct top){NO_STREAM, 0};
	return top;
}

static struct top top_victim(const struct findings *f, const struct group *group,
			     enum culprit_class class)
{
	struct top top = {NO_STREAM, 0};

	for (size_t i = 0; i < group->n; i++) {
		int64_t ns = f->threads[group->members[i]].charged[class];

		if (ns > top.ns)
			top = (struct top){group->members[i], ns};
	}
	return top;
}

/* Of threads without a stream only the number of times is known that they took the CPU. */
static int put_taker(const struct findings *f, struct finding *finding, uint32_t process)
{
	const struct process_use *p = &f->processes[process];
	struct pairs takers = {0}; /* (tid, 0): times */
	const struct pair *top = NULL;
	int err = -ENOMEM;

	for (uint32_t i = 0; i < p->npairs; i++) {
		const struct culprit_pair *pair = &f->culprits.pairs[f->state->pairs[p->pairs + i]];

		if (CULPRIT_IS_TID(pair->culprit) &&
		    !pairs_add(&takers, CULPRIT_TID_OF(pair->culprit), 0, pair->first, 0))
			goto out;
	}
	for (size_t i = 0; i < takers.n; i++)
		if (takers.list[i].sum > (top ? top->sum : 0))
			top = &takers.list[i];
	if (top) {
		put(finding, NUMBER_TAKER, top->a);
		put(finding, NUMBER_COUNT, top->sum);
	}
	err = 0;
out:
	pairs_free(&takers);
	return err;
}

static const enum finding_kind kind_of_class[CHARGED_CLASSES] = {
	[CHARGED_OWN] = FINDING_SHARED,	     [CHARGED_RANK] = FINDING_RANKS_SHARE,
	[CHARGED_OTHER] = FINDING_NEIGHBOUR, [CHARGED_KERNEL] = FINDING_KERNEL,
	[CHARGED_IDLE] = FINDING_IDLE,	     [CHARGED_UNKNOWN] = FINDING_UNKNOWN,
};

/* The CPU of the threads of a process; CPU_NONE: several. */
static int32_t only_cpu(const struct findings *f, const struct group *group)
{
	int32_t cpu = CPU_NONE;
	bool any = false;

	for (size_t i = 0; i < group->n; i++) {
		const struct thread_use *use = &f->threads[group->members[i]];

		if (!use->runs)
			continue;
		if (any && use->cpu != cpu)
			return CPU_NONE;
		cpu = use->cpu;
		any = true;
	}
	return cpu;
}

/* Threads of a process that waited for at least FINDING_WAIT_PERCENT. */
static int64_t waiting_threads(const struct findings *f, const struct group *group)
{
	int64_t n = 0;

	for (size_t i = 0; i < group->n; i++) {
		const struct thread_use *use = &f->threads[group->members[i]];

		n += use->waited &&
		     use->waited / FINDING_WAIT_PERCENT >= clock_sum(use->run, use->waited) / 100;
	}
	return n;
}

/* Waits of a process for a CPU, by the class of the threads that had it. */
static int find_waits(struct findings *f, const struct group *group)
{
	uint32_t process = group->process;
	const struct process_use *p = &f->processes[process];

	for (int class = 0; class < CHARGED_CLASSES; class ++) {
		int64_t ns = p->charged[class];
		struct top victim, culprit;
		const struct thread_use *use;
		struct finding *finding;
		bool one;

		if (!findings_worth(f, ns) ||
		    ns / FINDING_WAIT_PERCENT < clock_sum(p->run, p->waited) / 100)
			continue;
		victim = top_victim(f, group, class);
		/* the process, unless one thread has nearly all */
		one = victim.ns / 9 >= ns / 10;
		culprit = top_culprit(f, group, one ? victim.stream : NO_STREAM, class);
		finding = add(f, kind_of_class[class], one ? victim.ns : ns,
			      one ? thread_party(f, victim.stream) : process_party(f, process));
		if (!finding)
			return -ENOMEM;
		use = &f->threads[victim.stream];
		put(finding, NUMBER_OF, one ? use->life : p->life);
		put(finding, NUMBER_TIME, one ? use->waited : p->waited);
		put(finding, NUMBER_BY, finding->cost);
		put(finding, NUMBER_MOST, use->wait_most);
		put(finding, NUMBER_MOST_AT, clock_distance(f->start, use->wait_most_at));
		if (!one)
			put(finding, NUMBER_THREADS, waiting_threads(f, group));
		if (class == CHARGED_UNKNOWN && put_taker(f, finding, process))
			return -ENOMEM;
		if (culprit.stream != NO_STREAM) {
			int32_t cpu = only_cpu(f, group);

			finding->by = thread_party(f, culprit.stream);
			put(finding, NUMBER_RUN, culprit.ns);
			if (one && use->cpu >= 0)
				put(finding, NUMBER_CPU, use->cpu);
			else if (!one && cpu >= 0)
				put(finding, NUMBER_CPU, cpu);
		}
	}
	return 0;
}

/* Throttled, sleeps for I/O, uninterruptible sleeps: sums of a process. */
static int find_sums(struct findings *f, const struct group *group)
{
	static const struct {
		enum finding_kind kind;
		enum off_cpu why;
	} rules[] = {{FINDING_QUOTA, OFF_CPU_THROTTLED},
		     {FINDING_IO, OFF_CPU_IO},
		     {FINDING_BLOCKED, OFF_CPU_UNINTERRUPTIBLE}};

	for (size_t rule = 0; rule < sizeof(rules) / sizeof(rules[0]); rule++) {
		bool quota = rules[rule].kind == FINDING_QUOTA;
		int64_t sum = 0, most = 0, threads = 0, span = 0, count = 0;
		uint32_t worst = NO_STREAM;
		struct finding *finding;

		for (size_t i = 0; i < group->n; i++) {
			const struct thread_use *use = &f->threads[group->members[i]];
			int64_t ns = quota ? use->throttled : use->sleep[rules[rule].why];

			if (!ns)
				continue;
			sum = clock_sum(sum, ns);
			threads++;
			span = clock_sum(span, use->life);
			count += (int64_t)use->io;
			if (ns > most)
				worst = group->members[i];
			most = ns > most ? ns : most;
		}
		if (worst == NO_STREAM || !findings_worth(f, sum) ||
		    (f->threads[worst].kernel && rules[rule].kind == FINDING_BLOCKED))
			continue;
		/* the process, unless one thread has nearly all */
		if (most / 9 >= sum / 10) {
			const struct thread_use *use = &f->threads[worst];

			sum = most;
			threads = 1;
			span = use->life;
			count = (int64_t)use->io;
		}
		finding = add(f, rules[rule].kind, sum,
			      threads == 1 ? thread_party(f, worst)
					   : process_party(f, group->process));
		if (!finding)
			return -ENOMEM;
		put(finding, NUMBER_TIME, sum);
		put(finding, NUMBER_OF, span);
		put(finding, NUMBER_THREADS, threads);
		if (rules[rule].kind == FINDING_IO) {
			put(finding, NUMBER_COUNT, count);
			put(finding, NUMBER_MOST, f->threads[worst].io_most);
		}
	}
	return 0;
}

/* ---- imbalance ---- */

/* ns of work on a CPU: outside of MPI and of the waits of a runtime. */
static int64_t work_of(const struct thread_use *use)
{
	return clock_distance(use->idle_run, use->run);
}

struct team {
	int64_t sum, most, first, last, last_first;
	int64_t n;
	uint32_t busiest;
};

static void team_add(struct team *team, uint32_t member, int64_t work, int64_t first, int64_t last)
{
	if (!team->n || first < team->first)
		team->first = first;
	if (!team->n || last > team->last)
		team->last = last;
	if (!team->n || first > team->last_first)
		team->last_first = first;
	if (!team->n || work > team->most) {
		team->most = work;
		team->busiest = member;
	}
	team->sum = clock_sum(team->sum, work);
	team->n++;
}

/* Whether a team that began together works unequally. */
static bool team_is_unequal(const struct findings *f, const struct team *team)
{
	int64_t span = clock_distance(team->first, team->last), mean;

	if (team->n < 2)
		return false;
	mean = team->sum / team->n;
	return clock_distance(team->first, team->last_first) <= span / 10 &&
	       team->most >= span / 5 && mean <= team->most / 100 * FINDING_BALANCE &&
	       findings_worth(f, clock_distance(mean, team->most));
}

static int add_imbalance(struct findings *f, enum finding_kind kind, const struct team *team,
			 struct finding_party who, struct finding_party busiest)
{
	int64_t mean = team->sum / team->n;
	struct finding *finding = add(f, kind, clock_distance(mean, team->most), who);

	if (!finding)
		return -ENOMEM;
	finding->by = busiest;
	put(finding, NUMBER_OF, clock_distance(team->first, team->last));
	put(finding, NUMBER_TIME, finding->cost);
	put(finding, NUMBER_THREADS, team->n);
	put(finding, NUMBER_MOST, team->most);
	put(finding, NUMBER_MEAN, mean);
	return 0;
}

/* The length of a name without the number at its end: "worker-12" is "worker". */
static size_t base_length(const char *name)
{
	size_t n = strlen(name);

	while (n && name[n - 1] >= '0' && name[n - 1] <= '9')
		n--;
	while (n && strchr("-_/#.: ", name[n - 1]))
		n--;
	return n;
}

static bool same_base(const struct owner *a, const struct owner *b)
{
	const char *x = a->name ? a->name : "", *y = b->name ? b->name : "";
	size_t n = base_length(x);

	return n == base_length(y) && !strncmp(x, y, n);
}

/* The threads of one process that ran parallel regions, or, without such events, those that have
 * the name of the busiest one, but for a number at its end, and a tenth of its work. */
static int find_imbalance(struct findings *f, const struct group *group)
{
	const uint32_t *members = group->members;
	size_t n = group->n;
	struct team team = {0};
	uint32_t busiest = NO_STREAM;
	bool microtasks = false;

	for (size_t i = 0; i < n; i++) {
		if (busiest == NO_STREAM ||
		    work_of(&f->threads[members[i]]) > work_of(&f->threads[busiest]))
			busiest = members[i];
		microtasks |= f->state->threads[members[i]].microtask;
	}
	for (size_t i = 0; i < n; i++) {
		const struct thread_use *use = &f->threads[members[i]];

		if (microtasks ? !f->state->threads[members[i]].microtask
			       : !same_base(&f->source->owners[members[i]],
					    &f->source->owners[busiest]) ||
					 work_of(use) < work_of(&f->threads[busiest]) / 100 *
								FINDING_TEAM_PERCENT)
			continue;
		team_add(&team, members[i], work_of(use), use->first, use->last);
	}
	if (!team_is_unequal(f, &team))
		return 0;
	return add_imbalance(f, FINDING_IMBALANCE, &team,
			     process_party(f, f->threads[busiest].process),
			     thread_party(f, team.busiest));
}

static int find_rank_imbalance(struct findings *f)
{
	struct team team = {0};

	for (uint32_t p = 0; p < f->nprocesses; p++) {
		const struct process_use *process = &f->processes[p];
		const struct thread_use *use = &f->threads[process->stream];

		if (process->rank >= 0 && process->run)
			team_add(&team, p, clock_distance(process->idle_run, process->run),
				 use->first, use->last);
	}
	if (!team_is_unequal(f, &team))
		return 0;
	return add_imbalance(f, FINDING_RANK_IMBALANCE, &team, process_party(f, team.busiest),
			     process_party(f, team.busiest));
}

/* ---- the rest ---- */

/* Waits for the mutexes that the threads of a process held. */
static int find_locks(struct findings *f, const struct group *group)
{
	const struct findings_state *s = f->state;
	const struct holder *top = NULL;
	struct holder sum = {0};
	int64_t threads = 0;
	struct finding *finding;

	for (size_t i = 0; i < group->n; i++) {
		uint32_t at = s->holder_of[group->members[i]];
		const struct holder *holder = at == NO_STREAM ? NULL : &s->holders[at];

		if (!holder)
			continue;
		threads++;
		sum.waits += holder->waits;
		sum.waited = clock_sum(sum.waited, holder->waited);
		sum.held = times_sum(sum.held, holder->held);
		top = !top || holder->waited > top->waited ? holder : top;
	}
	if (!top || !findings_worth(f, sum.waited))
		return 0;
	finding = add(f,
		      sum.held.wait > sum.held.run && sum.held.wait > sum.held.sleep
			      ? FINDING_INVERSION
			      : FINDING_LOCK,
		      sum.waited, process_party(f, group->process));
	if (!finding)
		return -ENOMEM;
	finding->by = thread_party(f, top->stream);
	put(finding, NUMBER_TIME, sum.waited);
	put(finding, NUMBER_COUNT, (int64_t)sum.waits);
	put(finding, NUMBER_THREADS, threads);
	put(finding, NUMBER_MOST, top->waited);
	put(finding, NUMBER_BY, clock_sum(sum.held.run, clock_sum(sum.held.wait, sum.held.sleep)));
	put_times(finding, sum.held);
	return 0;
}

/* The rank for which each rank waits most, and the sum over the ranks that wait for it. */
static int find_late_ranks(struct findings *f)
{
	struct findings_state *s = f->state;

	for (size_t late = 0; late < s->nranks; late++) {
		struct times sum = {0}, mpi = {0};
		int64_t in_mpi = 0, ranks = 0, functions[FUNCTIONS] = {0};
		const struct rank *waiter = NULL;
		struct finding *finding;
		int function = 0;

		for (size_t r = 0; r < s->nranks; r++) {
			const struct rank *rank = &s->ranks[r];
			size_t most = r == 0;

			for (size_t i = 0; i < s->nranks; i++)
				if (i != r &&
				    clock_sum(rank->overlap[i].run, rank->overlap[i].wait) >
					    clock_sum(rank->overlap[most].run,
						      rank->overlap[most].wait))
					most = i;
			if (most != late || r == late ||
			    clock_sum(rank->overlap[late].run, rank->overlap[late].wait) <
				    rank->in_mpi / 2)
				continue;
			sum = times_sum(sum, rank->overlap[late]);
			mpi = times_sum(mpi, rank->mpi);
			in_mpi = clock_sum(in_mpi, rank->in_mpi);
			ranks++;
			waiter = waiter ? waiter : rank;
			for (int i = 0; i < FUNCTIONS; i++)
				functions[i] = clock_sum(functions[i], rank->functions[i]);
		}
		if (!waiter || !findings_worth(f, clock_sum(sum.run, sum.wait)))
			continue;
		for (int i = 0; i < FUNCTIONS; i++)
			if (functions[i] > functions[function])
				function = i;
		finding = add(f, FINDING_LATE_RANK, clock_sum(sum.run, sum.wait),
			      process_party(f, waiter->process));
		if (!finding)
			return -ENOMEM;
		finding->by = process_party(f, s->ranks[late].process);
		put(finding, NUMBER_TIME, in_mpi);
		put(finding, NUMBER_BY, finding->cost);
		put(finding, NUMBER_THREADS, ranks);
		put(finding, NUMBER_FUNCTION, function);
		put_times(finding, sum);
		put(finding, NUMBER_MEAN, mpi.sleep);
	}
	return 0;
}

static int find_jitter(struct findings *f, uint32_t stream)
{
	const struct periods *periods = f->state->threads[stream].periods;
	uint64_t total = 0, seen = 0, near = 0, late = 0;
	int64_t median, excess = 0;
	struct finding *finding;
	unsigned middle = 0;

	if (!periods || f->threads[stream].kernel)
		return 0;
	for (unsigned i = 0; i < PERIOD_BUCKETS; i++)
		total += periods->count[i];
	if (total < FINDING_PERIODS)
		return 0;
	for (; middle < PERIOD_BUCKETS; middle++) {
		seen += periods->count[middle];
		if (seen > total / 2)
			break;
	}
	median = periods->sum[middle] / periods->count[middle];
	for (unsigned i = middle < 2 ? 0 : middle - 2; i <= middle + 2 && i < PERIOD_BUCKETS; i++)
		near += periods->count[i];
	if (near * 100 < total * FINDING_REGULAR)
		return 0;
	for (unsigned i = middle; i < PERIOD_BUCKETS; i++) {
		if (!periods->count[i] ||
		    periods->sum[i] / periods->count[i] < FINDING_LATE * median)
			continue;
		late += periods->count[i];
		excess = clock_sum(excess, periods->sum[i] - periods->count[i] * median);
	}
	if (!late || median < FINDING_PERIOD || !findings_worth(f, excess))
		return 0;
	finding = add(f, FINDING_JITTER, excess, thread_party(f, stream));
	if (!finding)
		return -ENOMEM;
	put(finding, NUMBER_TIME, excess);
	put(finding, NUMBER_COUNT, (int64_t)late);
	put(finding, NUMBER_THREADS, (int64_t)total);
	put(finding, NUMBER_MEAN, median);
	put(finding, NUMBER_MOST, periods->most);
	put(finding, NUMBER_MOST_AT, clock_distance(f->start, periods->most_at));
	put(finding, NUMBER_WAIT, periods->most_wait);
	return 0;
}

static int compare(const void *pa, const void *pb)
{
	const struct finding *a = pa, *b = pb;

	if (a->target != b->target)
		return a->target ? -1 : 1;
	if (a->cost != b->cost)
		return a->cost < b->cost ? 1 : -1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return a->who.stream < b->who.stream ? -1 : a->who.stream > b->who.stream;
}

/* A CPU whose time the hypervisor took: the session has it for each CPU. */
static int find_steal(struct findings *f)
{
	for (size_t i = 0; i < f->nsteal && !f->part; i++) { /* it is of the whole window */
		const struct cpu_steal *steal = &f->steal[i];
		int64_t window = clock_distance(f->cpus.t0, f->cpus.t1);
		int64_t sure = steal->ns - STEAL_TICK;
		struct finding *finding;

		if (!findings_worth(f, sure) || sure / FINDING_STEAL_PERCENT < window / 100)
			continue;
		finding = add(f, FINDING_STEAL, steal->ns,
			      (struct finding_party){PARTY_CPU, steal->stream, -1, steal->cpu});
		if (!finding)
			return -ENOMEM;
		put(finding, NUMBER_TIME, steal->ns);
		put(finding, NUMBER_OF, window);
		put(finding, NUMBER_CPU, steal->cpu);
	}
	return 0;
}

/* The life of each thread and process, with the wait of a newborn for its first CPU. */
static void add_lives(struct findings *f)
{
	for (size_t i = 0; i < f->source->trace.nstreams; i++) {
		struct thread_use *use = &f->threads[i];
		struct process_use *process = &f->processes[use->process];

		use->life = clock_sum(clock_sum(use->run, use->waited),
				      clock_sum(use->throttled, thread_use_sleep(use)));
		process->life = clock_sum(process->life, use->life);
	}
}

/* The CPU on which each thread ran. */
static void find_cpus(struct findings *f)
{
	const struct cpu_times *cpus = &f->cpus;

	for (size_t i = 0; i < cpus->nspans; i++) {
		const struct cpu_span *span = &cpus->spans[i];
		struct thread_use *use = &f->threads[span->stream];

		if (span->ns / FINDING_CPU_PERCENT >= use->run / 100)
			use->cpu = span->cpu;
	}
}

static int find_in_group(struct findings *f, const struct group *group)
{
	static int (*const finders[])(struct findings *, const struct group *) = {
		find_waits, find_sums, find_imbalance, find_locks};
	int err;

	if (f->processes[group->process].recorder)
		return 0;
	for (size_t i = 0; i < sizeof(finders) / sizeof(finders[0]); i++) {
		err = finders[i](f, group);
		if (err)
			return err;
	}
	for (size_t i = 0; i < group->n; i++) {
		err = find_jitter(f, group->members[i]);
		if (err)
			return err;
	}
	return 0;
}

/* Applies the rules to each process: `members` are the streams, sorted by process. */
static int find_in_groups(struct findings *f)
{
	size_t n = f->source->trace.nstreams, at = 0;
	uint32_t *members = calloc(n + 1, sizeof(*members));
	size_t *ends = calloc(f->nprocesses + 1, sizeof(*ends));
	int err = -ENOMEM;

	if (!members || !ends)
		goto out;
	for (uint32_t p = 0; p < f->nprocesses; p++) {
		ends[p] = at;
		at += f->processes[p].nthreads;
	}
	for (size_t i = 0; i < n; i++)
		members[ends[f->threads[i].process]++] = (uint32_t)i;
	for (uint32_t p = 0; p < f->nprocesses; p++) {
		uint32_t count = f->processes[p].nthreads;
		struct group group = {p, members + ends[p] - count, count};

		err = find_in_group(f, &group);
		if (err)
			goto out;
	}
	err = 0;
out:
	free(members);
	free(ends);
	return err;
}

/* Makes the list, after the walk. */
static int finish(struct findings *f, const struct intervals *intervals)
{
	static int (*const finders[])(struct findings *) = {find_in_groups, find_rank_imbalance,
							    find_late_ranks, find_steal};
	int err;

	end_times(f, intervals);
	err = take_charges(f);
	if (err)
		return err;
	add_lives(f);
	find_cpus(f);
	for (size_t i = 0; i < sizeof(finders) / sizeof(finders[0]); i++) {
		err = finders[i](f);
		if (err)
			return err;
	}
	if (f->n)
		qsort(f->list, f->n, sizeof(*f->list), compare);
	return 0;
}

/* ---- the walk ---- */

static int on_event(void *arg, const struct intervals *intervals, uint32_t stream,
		    const struct event *ev)
{
	struct findings *f = arg;
	int err;

	f->events += ev->clock == clamp(f, ev->clock);
	err = culprits_step(&f->culprits, intervals, stream, ev);
	return err ? err : take_event(f, intervals, stream, ev);
}

static int on_span(void *arg, const struct intervals *intervals, uint32_t stream, int32_t cpu,
		   int64_t from, int64_t to)
{
	struct findings *f = arg;

	return cpu_times_add(&f->cpus, intervals, stream, cpu, from, to);
}

/* Marks the processes that descend from the recorder: its command, where others are recorded, too.
 */
static void find_targets(struct findings *f)
{
	for (uint32_t p = 0; p < f->nprocesses; p++) {
		const char *loom = loom_of(f, p);
		uint32_t at = p;

		for (int depth = 0; depth < GENERATIONS && at != HASH_NONE; depth++) {
			if (f->processes[at].recorder)
				break;
			at = hash_get(&f->state->processes,
				      process_key(loom, f->processes[at].parent));
		}
		f->processes[p].target = at != p && at != HASH_NONE && f->processes[at].recorder;
		f->targets |= f->processes[p].target;
	}
}

static int read_metadata(struct findings *f)
{
	struct findings_state *s = f->state;

	for (uint32_t i = 0; i < f->source->trace.nstreams; i++) {
		struct json *meta = trace_metadata(&f->source->trace, i);
		int err;

		if (!meta)
			return -EINVAL;
		err = take_metadata(f, i, meta);
		json_free(meta);
		if (err)
			return err;
	}
	if (s->nmarks)
		qsort(s->marks, s->nmarks, sizeof(*s->marks), compare_marks);
	s->sorted = true;
	find_targets(f);
	return list_ranks(f);
}

int findings_read(struct findings *f, const struct source *source, int64_t first, int64_t last)
{
	static const struct interval_listener listener = {.event = on_event, .span = on_span};
	struct intervals intervals = {0};
	int err, walked;

	err = init(f, source);
	if (err)
		return err;
	f->cpus.first = f->first = first;
	f->cpus.last = f->last = last;
	f->cpus.part = f->part = first != INT64_MIN || last != INT64_MAX;
	err = thread_times_init(&f->times, source, first, last);
	if (err)
		return err;
	err = culprits_init(&f->culprits, source, first, last);
	if (err)
		return err;
	f->culprits.class_of = class_of_culprit;
	f->culprits.class_arg = f;
	err = read_metadata(f);
	if (err)
		goto out;
	walked = intervals_walk(&intervals, source, &listener, f);
	err = walked;
	if (!intervals.threads || walked == -ENOMEM)
		goto out;
	err = culprits_finish(&f->culprits, &intervals);
	if (err)
		goto out;
	err = cpu_times_finish(&f->cpus, &intervals);
	if (err)
		goto out;
	err = finish(f, &intervals);
	if (err)
		goto out;
	f->complete = true;
	err = walked;
out:
	intervals_fini(&intervals);
	if (err == -ENOMEM)
		log_no_memory("while reading %s", source->trace.path);
	return err;
}
