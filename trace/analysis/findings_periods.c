/* SPDX-License-Identifier: MIT */
/*
 * findings on periods: the times between the runs of a thread that begin by a wake-up, as a
 * histogram; whether they are regular, and how late the others are.
 */
#include "trace/analysis/findings_rules.h"

#include <errno.h>
#include <stdlib.h>

#include "trace/base/log.h"

/* Starts of runs by a wake-up, as a histogram of the time between them: 8 buckets for each power of
 * two, from PERIOD_SHIFT on; the first one has the shorter ones, too. */
#define PERIOD_BITS    3
#define PERIOD_SHIFT   19 /* 524 us: those of FINDING_PERIOD and more are judged */
#define PERIOD_POWERS  (37 - PERIOD_SHIFT)
#define PERIOD_BUCKETS (PERIOD_POWERS << PERIOD_BITS) /* the last one from 129 s on */
#define PERIOD_SKIPPED 4 /* periods of a thread before it has a histogram */

_Static_assert(FINDING_PERIOD / 4 * 3 > 1 << PERIOD_SHIFT, "the neighbours of its bucket");

struct period_sum {
	int64_t sum;
	uint32_t count;
} __attribute__((packed));

/* Most threads have few powers of two; those without one are NULL. */
struct histogram {
	int64_t most, most_at, most_wait;
	struct period_sum *power[PERIOD_POWERS]; /* 1 << PERIOD_BITS of each */
};

struct thread_periods {
	bool seen;	     /* has an event of its state */
	int64_t first, last; /* clocks of its life in the trace; the end of it is not known here */
	uint32_t runs;
	bool woken;	 /* the next run begins by a wake-up from a sleep */
	int64_t ready;	 /* clock of that wake-up */
	int64_t started; /* clock of the last run that began by one, or unknown */
	uint32_t n;
	struct histogram *histogram;
} __attribute__((aligned(ARRAY_LINE)));
_Static_assert(sizeof(struct thread_periods) == ARRAY_LINE, "each change touches it");

static const struct period_sum *sum_of(const struct histogram *periods, unsigned bucket)
{
	static const struct period_sum none;
	const struct period_sum *power = periods->power[bucket >> PERIOD_BITS];

	return power ? &power[bucket & ((1u << PERIOD_BITS) - 1)] : &none;
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

int findings_begin_periods(struct findings *f)
{
	size_t n = f->source->trace.nstreams;

	f->periods.threads = array_lines(n + 1, sizeof(*f->periods.threads));
	if (!f->periods.threads)
		return log_no_memory("for the periods of %zu threads", n);
	for (size_t i = 0; i < n; i++)
		f->periods.threads[i].started = INTERVAL_UNKNOWN;
	return 0;
}

void findings_end_periods(struct findings *f)
{
	free(f->periods.threads);
	f->periods.threads = NULL;
	pool_free(&f->periods.sums);
}

/* Adds a period to its sum, which find_sum() has found. */
static void add(struct queued_period *p)
{
	if (p->histogram && p->sum->count < UINT32_MAX) {
		p->sum->count++;
		p->sum->sum = clock_sum(p->sum->sum, p->ns);
	}
	p->histogram = NULL;
}

/* Finds the sum to which a period will be added. Returns 0 or -ENOMEM. */
static int find_sum(struct periods *periods, struct queued_period *p)
{
	struct period_sum **power;

	if (!p->histogram)
		return 0;
	power = &p->histogram->power[p->bucket >> PERIOD_BITS];
	if (!*power)
		*power = pool_take(&periods->sums, sizeof(**power) << PERIOD_BITS);
	if (!*power)
		return -ENOMEM;
	p->sum = &(*power)[p->bucket & ((1u << PERIOD_BITS) - 1)];
	__builtin_prefetch(p->sum);
	return 0;
}

/* Adds the oldest period of the queue, and finds the sum of the middle one. */
static int move_queue(struct periods *periods)
{
	uint32_t at = ++periods->queued;

	add(&periods->queue[at % PERIODS_QUEUED]);
	return find_sum(periods, &periods->queue[(at + PERIODS_QUEUED / 2) % PERIODS_QUEUED]);
}

int findings_settle_periods(struct findings *f)
{
	for (int i = 0; i < PERIODS_QUEUED; i++)
		if (move_queue(&f->periods))
			return -ENOMEM;
	return 0;
}

/* A run begins by a wake-up. */
static int add_period(struct periods *periods, struct thread_periods *t, int64_t clock)
{
	int64_t ns = t->started == INTERVAL_UNKNOWN ? -1 : clock_distance(t->started, clock);
	struct queued_period *p;

	t->started = clock;
	if (ns < 0 || t->n++ < PERIOD_SKIPPED)
		return 0;
	if (!t->histogram)
		t->histogram = pool_take(&periods->sums, sizeof(*t->histogram));
	if (!t->histogram)
		return -ENOMEM;
	if (ns > t->histogram->most) {
		t->histogram->most = ns;
		t->histogram->most_at = clock;
		t->histogram->most_wait = clock_distance(t->ready, clock);
	}
	p = &periods->queue[periods->queued % PERIODS_QUEUED];
	*p = (struct queued_period){
		.histogram = t->histogram, .ns = ns, .bucket = period_bucket(ns)};
	__builtin_prefetch(&t->histogram->power[p->bucket >> PERIOD_BITS]);
	return move_queue(periods);
}

int findings_take_use(struct findings *f, const struct intervals *intervals, uint32_t stream,
		      enum time_use from, enum time_use to, int64_t clock)
{
	struct thread_periods *t = &f->periods.threads[stream];
	bool counts = clock >= f->cpus.first && clock <= f->cpus.last;
	int64_t within = clock < f->cpus.first ? f->cpus.first : clock;

	within = within > f->cpus.last ? f->cpus.last : within;
	if (from != TIME_NONE)
		t->last = within;
	if (!t->seen)
		t->first = within;
	t->seen = true;
	counts = counts && to == TIME_RUNNING && intervals->walk.threads[stream].cpu >= 0;
	t->runs += counts;
	/* a preempted thread passes through Paused, in no time */
	if (from >= TIME_ASLEEP && from < TIME_NONE && to < TIME_ASLEEP &&
	    !off_cpu_runnable(from - TIME_ASLEEP)) {
		t->woken = true;
		t->ready = clock;
	}
	if (!counts || from == to || !t->woken)
		return 0;
	t->woken = false;
	return add_period(&f->periods, t, clock);
}

/* Begin, last change and number of runs of a thread. If it still lives, the caller sets its end. */
void findings_take_life(const struct findings *f, uint32_t stream, struct thread_use *use)
{
	const struct thread_periods *t = &f->periods.threads[stream];

	use->seen = t->seen;
	use->first = t->first;
	use->last = t->last;
	use->runs = t->runs;
}

void findings_prefetch_period(const struct findings *f, uint32_t stream, bool soon)
{
	const struct thread_periods *t = &f->periods.threads[stream];

	if (!soon)
		__builtin_prefetch(t);
	else if (t->histogram)
		__builtin_prefetch(&t->histogram->most);
}

int findings_of_jitter(struct findings *f, uint32_t stream)
{
	const struct histogram *periods = f->periods.threads[stream].histogram;
	uint64_t total = 0, seen = 0, near = 0, late = 0;
	int64_t median, excess = 0;
	struct finding *finding;
	unsigned middle = 0;

	if (!periods || f->threads[stream].kernel)
		return 0;
	for (unsigned i = 0; i < PERIOD_BUCKETS; i++)
		total += sum_of(periods, i)->count;
	if (total < FINDING_PERIODS)
		return 0;
	for (; middle < PERIOD_BUCKETS; middle++) {
		seen += sum_of(periods, middle)->count;
		if (seen > total / 2)
			break;
	}
	median = sum_of(periods, middle)->sum / (int64_t)sum_of(periods, middle)->count;
	for (unsigned i = middle < 2 ? 0 : middle - 2; i <= middle + 2 && i < PERIOD_BUCKETS; i++)
		near += sum_of(periods, i)->count;
	if (near * 100 < total * FINDING_REGULAR)
		return 0;
	for (unsigned i = middle; i < PERIOD_BUCKETS; i++) {
		const struct period_sum *sum = sum_of(periods, i);

		if (!sum->count || sum->sum / (int64_t)sum->count < FINDING_LATE * median)
			continue;
		late += sum->count;
		excess = clock_sum(excess, sum->sum - (int64_t)sum->count * median);
	}
	if (!late || median < FINDING_PERIOD || !findings_worth(f, excess))
		return 0;
	finding = findings_add(f, FINDING_JITTER, excess, findings_thread(f, stream));
	if (!finding)
		return -ENOMEM;
	finding_put(finding, NUMBER_TIME, excess);
	finding_put(finding, NUMBER_COUNT, (int64_t)late);
	finding_put(finding, NUMBER_THREADS, (int64_t)total);
	finding_put(finding, NUMBER_MEAN, median);
	finding_put(finding, NUMBER_MOST, periods->most);
	finding_put(finding, NUMBER_MOST_AT, clock_distance(f->start, periods->most_at));
	finding_put(finding, NUMBER_WAIT, periods->most_wait);
	return 0;
}
