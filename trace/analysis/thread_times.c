/* SPDX-License-Identifier: MIT */
#include "trace/analysis/thread_times.h"

#include <stdlib.h>
#include <string.h>

#include "trace/base/log.h"

static int64_t clamp(const struct thread_times *times, int64_t clock)
{
	if (clock < times->first)
		return times->first;
	return clock > times->last ? times->last : clock;
}

int thread_times_init(struct thread_times *times, const struct source *source, int64_t first,
		      int64_t last)
{
	size_t n = source->trace.nstreams;

	*times =
		(struct thread_times){.source = source, .first = first, .last = last, .now = first};
	times->threads = array_lines(n + 1, sizeof(*times->threads));
	if (!times->threads)
		return log_no_memory("for %zu threads of %s", n, source->trace.path);
	for (size_t i = 0; i < n; i++)
		times->threads[i].use = TIME_NONE;
	return 0;
}

void thread_times_fini(struct thread_times *times)
{
	pool_free(&times->stays);
	free(times->threads);
	memset(times, 0, sizeof(*times));
}

enum time_class time_use_class(enum time_use use)
{
	if (use == TIME_RUNNING)
		return CLASS_RUNNING;
	if (use == TIME_WAITING + WAIT_THROTTLED)
		return CLASS_THROTTLED;
	if (use < TIME_ASLEEP)
		return CLASS_RUNNABLE;
	return use == TIME_ASLEEP + OFF_CPU_UNKNOWN || use == TIME_LOST ? CLASS_UNKNOWN
									: CLASS_ASLEEP;
}

#define NOT_FOUND INT64_MAX
#define ALL_KNOWN (INT64_MAX - 1)

/* The clock up to which the present run is known, by the event that ends it, if that is within
 * STREAM_PEEK bytes. Each event is decoded once. */
static int64_t known_run(const struct thread_times *times, uint32_t stream)
{
	const struct stream *s = &times->source->streams[stream];
	struct thread_time *t = &times->threads[stream];
	const uint8_t *end = stream_peek_end(s), *at = s->at;
	uint64_t here = stream_offset(s) + s->ev.size;
	struct event ev;
	ssize_t n;

	if (t->looked > here)
		at += t->looked - here < (uint64_t)(end - at) ? t->looked - here
							      : (uint64_t)(end - at);
	while (t->known == NOT_FOUND && (n = event_decode(&ev, at, end)) > 0 && ev.model) {
		bool kernel = ev.model == 'K' && ev.category == 'C';

		at += n;
		if (!kernel && (ev.model != 'O' || ev.category != 'H' || ev.value == 'C'))
			continue;
		ev.clock = trace_clock(&times->source->trace, stream, ev.clock);
		t->known = interval_known_run(&ev, t->since);
		if (t->known == ev.clock)
			t->known = ALL_KNOWN;
	}
	t->looked = here + (uint64_t)(at - s->at);
	return t->known;
}

#define STAYS_FIRST 4 /* most threads have no more uses of their time */

/* The stays in the present use, or NULL without memory. */
static struct time_stays *stays_now(struct thread_times *times, struct thread_time *t)
{
	uint8_t *at = &t->at[t->use], n = t->nstays;

	if (!*at && (!n || (n >= STAYS_FIRST && !(n & (n - 1))))) {
		struct time_stays *more =
			pool_take(&times->stays, (n ? 2 * n : STAYS_FIRST) * sizeof(*more));

		if (!more)
			return NULL;
		if (n)
			memcpy(more, t->stays, n * sizeof(*more));
		t->stays = more;
	}
	if (!*at) {
		t->stays[n] = (struct time_stays){0};
		*at = ++t->nstays;
	}
	return &t->stays[*at - 1];
}

/* Ends the present stay at the clock `end`. */
static void end_stay(struct thread_times *times, uint32_t stream, int64_t end)
{
	struct thread_time *t = &times->threads[stream];
	struct time_stays *stays;
	int64_t ns = clock_distance(t->since, end);

	if (ns <= 0)
		return;
	if (times->stay)
		times->stay(times->arg, stream, t->use, t->since, end);
	if (times->unsummed)
		goto out;
	stays = stays_now(times, t);
	if (stays)
		time_stays_add(stays, &(struct time_stays){1, ns, ns, t->since});
	else
		times->no_memory = true;
	t->classes[time_use_class(t->use)] = clock_sum(t->classes[time_use_class(t->use)], ns);
out:
	t->since = end;
}

/* The thread does something else from now on; what it did is known up to the clock `known`. */
static void change(struct thread_times *times, uint32_t stream, enum time_use use, int64_t known)
{
	struct thread_time *t = &times->threads[stream];

	if (t->use == use && known >= times->now)
		return;
	if (t->use != TIME_NONE && known < times->now) {
		end_stay(times, stream, known);
		t->use = TIME_LOST;
	}
	if (t->use == use)
		return;
	if (t->use != TIME_NONE)
		end_stay(times, stream, times->now);
	t->use = use;
	t->since = times->now;
	t->known = NOT_FOUND;
	if (use != TIME_NONE && t->at[use]) /* the stay may end at the next event */
		__builtin_prefetch(&t->stays[t->at[use] - 1]);
}

enum time_use time_use_now(const struct intervals *intervals, uint32_t stream)
{
	const struct interval_thread *t = &intervals->threads[stream];
	enum thread_state state = intervals->walk.threads[stream].state;
	enum wait_cause cause;

	if (t->on)
		return TIME_RUNNING;
	if (state == THREAD_STATE_UNKNOWN || state == THREAD_STATE_DEAD)
		return TIME_NONE;
	if (t->lost)
		return TIME_LOST;
	if (wait_cause_now(intervals, stream, &cause))
		return TIME_WAITING + cause;
	return TIME_ASLEEP + t->interval.why;
}

int64_t thread_times_interrupts(const struct thread_times *times, const struct intervals *intervals,
				uint32_t stream, const struct event *ev, int64_t *from, int64_t *to)
{
	const struct thread_time *t = &times->threads[stream];
	bool ends = ev->value == 'e';

	*from = ends ? intervals->threads[stream].interval.start : t->run_from;
	*to = ends ? ev->clock : t->run_to;
	return *to > *from ? interval_irq_ns(ev) : 0;
}

int64_t thread_times_interrupts_share(int64_t ns, int64_t run, int64_t part)
{
	if (part < run)
		ns = (int64_t)((double)ns * (double)part / (double)run);
	return ns < part ? ns : part;
}

/* Takes the run that has ended, or at the event after it, the time that interrupts took from it. */
static void take_irqs(const struct thread_times *times, const struct intervals *intervals,
		      uint32_t stream, const struct event *ev)
{
	struct thread_time *t = &times->threads[stream];
	int64_t from, to, ns;

	if (ev->value == 'p') {
		t->run_from = intervals->threads[stream].interval.start;
		t->run_to = ev->clock;
	}
	if (!interval_irq_ns(ev)) /* nor is the line of the last run touched */
		return;
	ns = thread_times_interrupts(times, intervals, stream, ev, &from, &to);
	if (!ns)
		return;
	ns = thread_times_interrupts_share(ns, clock_distance(from, to),
					   clock_distance(clamp(times, from), clamp(times, to)));
	t->irq = clock_sum(t->irq, ns);
	t->run_to = t->run_from;
}

void thread_times_step(struct thread_times *times, const struct intervals *intervals,
		       uint32_t stream, const struct event *ev)
{
	int64_t clock = clamp(times, ev->clock), child;

	if (!(ev->model == 'O' && ev->category == 'H') &&
	    !(ev->model == 'K' && ev->category == 'C'))
		return;
	if (clock > times->now)
		times->now = clock;
	take_irqs(times, intervals, stream, ev);
	if (ev->value != 'C' || ev->model == 'K') {
		change(times, stream, time_use_now(intervals, stream),
		       intervals->threads[stream].known);
		return;
	}
	child = wait_newborn(intervals, stream, ev);
	if (child >= 0)
		change(times, (uint32_t)child, TIME_WAITING + WAIT_NEWBORN, INT64_MAX);
}

void thread_times_read(const struct thread_times *times, uint32_t stream, int64_t clock,
		       int64_t classes[TIME_CLASSES])
{
	const struct thread_time *t = &times->threads[stream];
	int64_t *lost = &classes[CLASS_UNKNOWN], *use = &classes[time_use_class(t->use)], known;

	clock = known = clamp(times, clock);
	memcpy(classes, t->classes, sizeof(t->classes));
	if (t->use == TIME_NONE || clock <= t->since)
		return;
	if (t->use == TIME_RUNNING && times->ahead)
		known = clamp(times, known_run(times, stream));
	if (known > clock)
		known = clock;
	*use = clock_sum(*use, clock_distance(t->since, known));
	*lost = clock_sum(*lost, clock_distance(known, clock));
}

int64_t thread_times_lost(const struct thread_times *times, uint32_t stream, int64_t clock)
{
	const struct thread_time *t = &times->threads[stream];

	clock = clamp(times, clock);
	return clock_sum(thread_time_stays(t, TIME_LOST)->ns,
			 t->use == TIME_LOST && clock > t->since ? clock_distance(t->since, clock)
								 : 0);
}

void thread_times_finish(struct thread_times *times, const struct intervals *intervals)
{
	int64_t last = clamp(times, intervals->last);

	if (last > times->now)
		times->now = last;
	for (uint32_t i = 0; i < times->source->trace.nstreams; i++)
		change(times, i, TIME_NONE, INT64_MAX);
}

const char *time_use_state(enum time_use use)
{
	static const char *const words[TIME_CLASSES] = {
		[CLASS_RUNNING] = "running",	 [CLASS_RUNNABLE] = "runnable",
		[CLASS_THROTTLED] = "throttled", [CLASS_ASLEEP] = "asleep",
		[CLASS_UNKNOWN] = "unknown",
	};

	return words[time_use_class(use)];
}

const char *time_use_reason(enum time_use use)
{
	if (use == TIME_RUNNING || use == TIME_WAITING + WAIT_THROTTLED ||
	    use == TIME_ASLEEP + OFF_CPU_UNKNOWN)
		return "";
	if (use < TIME_ASLEEP)
		return wait_cause_word((enum wait_cause)(use - TIME_WAITING));
	return off_cpu_word(use - TIME_ASLEEP);
}
