/* SPDX-License-Identifier: MIT */
/*
 * findings on mutexes: from the marks of --api pthread and the wake-ups of threads that sleep in a
 * lock, the waits that each thread ended by its unlock, and what it did while it held the mutex.
 */
#include "trace/analysis/findings_rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/array.h"

/* ns: a wake-up on another CPU may be later than the call that made it (why.md, part D). */
#define WAKE_UP_UNDER_WAY 100000

struct mark_name {
	int32_t type;
	int64_t value;
	enum mark_role role;
};

/* Waits for mutexes that one thread ended by its unlock. */
struct holder {
	uint32_t stream;
	uint64_t waits, holds;
	int64_t waited;	   /* ns asleep of the waiters */
	struct times held; /* during the contended holds */
};

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

int findings_add_marks(struct findings_state *s, const struct json *mark)
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

/* All marks are known. */
void findings_sort_marks(struct findings_state *s)
{
	if (s->nmarks)
		qsort(s->marks, s->nmarks, sizeof(*s->marks), compare_marks);
	s->sorted = true;
}

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
int findings_end_lock_sleep(struct findings *f, const struct intervals *intervals, uint32_t stream,
			    int64_t clock, int32_t waker)
{
	struct findings_state *s = f->state;
	struct thread_walk *by;
	int64_t ns = clock_distance(f->times.threads[stream].since, findings_clamp(f, clock));
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
			w->held_times = findings_times(f, stream, clock);
		}
		return;
	}
	if (!w->held)
		return; /* locked before the trace begins */
	if (!--w->held) {
		w->last_hold = times_between(w->held_times, findings_times(f, stream, clock));
		w->last_valid = true;
	}
}

void findings_take_mark(struct findings *f, uint32_t stream, const struct event *ev)
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

/* Waits for the mutexes that the threads of a process held. */
int findings_of_locks(struct findings *f, const struct group *group)
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
	finding = findings_add(f,
			       sum.held.wait > sum.held.run && sum.held.wait > sum.held.sleep
				       ? FINDING_INVERSION
				       : FINDING_LOCK,
			       sum.waited, findings_process(f, group->process));
	if (!finding)
		return -ENOMEM;
	finding->by = findings_thread(f, top->stream);
	finding_put(finding, NUMBER_TIME, sum.waited);
	finding_put(finding, NUMBER_COUNT, (int64_t)sum.waits);
	finding_put(finding, NUMBER_THREADS, threads);
	finding_put(finding, NUMBER_MOST, top->waited);
	finding_put(finding, NUMBER_BY,
		    clock_sum(sum.held.run, clock_sum(sum.held.wait, sum.held.sleep)));
	finding_put_times(finding, sum.held);
	return 0;
}
