/* SPDX-License-Identifier: MIT */
/* timeline: see timeline.h, and cpu_state.h for what it keeps. */
#include <errno.h>
#include <stdlib.h>

#include "user/timeline/cpu_state.h"
#include "user/timeline/lifecycle.h"
#include "trace/base/log.h"
#include "user/timeline/capture_window.h"

/* The window ends here at the latest. Clocks of a stream are signed; from here on there is still
 * room for 2^36 events of one CPU in the same nanosecond, each a nanosecond after the other. */
#define CLOCK_MAX ((uint64_t)INT64_MAX - (1ull << 36))

/* ---- the whole ---- */

struct timeline *timeline_new(const struct timeline_options *options, struct threads *threads,
			      struct topology *topology)
{
	struct timeline *tl = calloc(1, sizeof(*tl));

	if (!tl)
		return NULL;
	tl->options = *options;
	if (tl->options.t0 > CLOCK_MAX)
		tl->options.t0 = CLOCK_MAX;
	tl->threads = threads;
	tl->topology = topology;
	tl->t1 = CLOCK_MAX;
	tl->moves = (struct moves){
		.threads = threads,
		.counts = &tl->counts,
		.t0 = tl->options.t0,
		.kernel_model = options->kernel_model,
	};
	if (options->calls) {
		tl->moves.calls = calls_new(options->calls);
		if (!tl->moves.calls) {
			free(tl);
			return NULL;
		}
		threads->actions = options->calls->actions;
	}
	threads->kernel_model = options->kernel_model;
	threads->session.t0 = tl->options.t0;
	return tl;
}

void timeline_free(struct timeline *tl)
{
	if (!tl)
		return;
	for (unsigned i = 0; i < tl->ncpus; i++)
		free(tl->cpus[i]);
	free(tl->cpus);
	free(tl->by_number);
	free(tl->by_index);
	calls_free(tl->moves.calls);
	free(tl);
}

const struct timeline_counts *timeline_counts(const struct timeline *tl)
{
	return &tl->counts;
}

const struct calls *timeline_calls(const struct timeline *tl)
{
	return tl->moves.calls;
}

bool timeline_cpu(const struct timeline *tl, size_t i, struct timeline_cpu *out)
{
	if (i >= tl->ncpus)
		return false;
	*out = tl->cpus[i]->account;
	return true;
}

/* The gap is shown in the stream of the task that enters, since the one that leaves has none. */
static int gap_of_next(struct timeline *tl, struct cpu *cpu, struct task *next,
		       const struct record_switch *r)
{
	uint64_t clock = r->head.clock;
	int err;

	if (next->state == THREAD_STATE_PAUSED && r->wake_clock >= next->out && r->wake_clock &&
	    r->wake_clock <= cpu->gap_clock) {
		err = task_room(tl->threads, next);
		if (err)
			return err;
		move_wake(&tl->moves, next, clock, r->wake_clock, r->waker_tid);
	}
	return belief_show_gap(tl, cpu, next, clock);
}

/* ---- records: switches ---- */

static inline uint64_t prev_key(const struct record_switch *r)
{
	return thread_key(r->prev_pid, r->prev_tid);
}

static inline uint64_t next_key(const struct record_switch *r)
{
	return thread_key(r->next_pid, r->next_tid);
}

/*
 * Whatever is not the ordinary case in a switch, mended so that it is: *prev runs here, or is
 * NULL; *next is bound and does not run, or is NULL.
 */
static int unusual(struct timeline *tl, struct cpu *cpu, const struct record_switch *r,
		   struct task **prev, struct task **next)
{
	uint64_t clock = r->head.clock;
	int err = 0;

	if ((!*prev && r->head.id) || (!*next && r->next_id)) {
		return log_no_memory("for another task");
	}
	if (!*prev && !cpu->on && cpu->tid != r->prev_tid && !tl->options.some_threads)
		cpu->use = CPU_UNKNOWN; /* there was a switch that nothing told */
	if (*prev)
		err = belief_ready(tl, *prev, r->head.id, r->prev_pid, r->prev_tid, clock,
				   r->head.why == OFF_CPU_DEAD, prev);
	if (!err)
		err = belief_prove_after_gap(tl, cpu, *prev, clock);
	if (err || !*next)
		return err;

	if (r->head.flags & SWITCH_NEXT_ELSEWHERE)
		(*next)->flags &= (uint8_t)~TASK_BEFORE;
	if ((*next)->state == THREAD_STATE_RUNNING && (*next)->key && *next != *prev)
		err = belief_expel(tl, *next, earlier_by(clock, 2));
	if (!err)
		err = belief_ready(tl, *next, r->next_id, r->next_pid, r->next_tid, clock, false,
				   next);
	if (*prev && (*prev)->flags & TASK_GONE)
		*prev = NULL; /* its tid is already that of *next */
	if (err || !*next)
		return err;
	(*next)->flags &= (uint8_t)~TASK_JOINED;
	if (r->head.flags & SWITCH_NEXT_ELSEWHERE && *next != *prev)
		err = move_close(&tl->moves, *next, (*next)->last);
	if (!err && cpu->gap && !tl->options.kernel_model)
		err = gap_of_next(tl, cpu, *next, r);
	return err;
}

/* The last switch of a task: its stream ends, and its slot is free. */
static int die(struct timeline *tl, struct cpu *cpu, struct task *task, uint64_t clock)
{
	int err;

	calls_account(tl, task, clock);
	err = move_end(&tl->moves, task, clock);
	cpu->last = task->last;
	cpu->on = NULL;
	if (!err)
		err = threads_unbind(tl->threads, task);
	threads_release(tl->threads, task);
	return err;
}

/* The last switch of a task whose stream has been taken over before (TASK_GONE). */
static void release_gone(struct timeline *tl, uint32_t id)
{
	struct task *task = threads_task(tl->threads, id);

	if (task && task->flags & TASK_GONE)
		threads_release(tl->threads, task);
}

static int take_switch(struct timeline *tl, struct cpu *cpu, const struct record_switch *r)
{
	struct task *prev = threads_task(tl->threads, r->head.id);
	struct task *next = threads_task(tl->threads, r->next_id);
	uint64_t clock = r->head.clock;
	int err;

	tl->counts.switches++;
	if (unlikely(cpu->on != prev || cpu->gap || r->head.flags || (r->head.id && !prev) ||
		     (r->next_id && !next) ||
		     (prev ? prev->key != prev_key(r) : cpu->tid != r->prev_tid) ||
		     (next && (next->key != next_key(r) || next->state == THREAD_STATE_RUNNING)))) {
		err = unusual(tl, cpu, r, &prev, &next);
		if (err || (prev && prev == next))
			return err;
	}
	cpu_charge(cpu, clock);
	cpu->last = later(cpu->last, clock);
	if (prev) {
		if (unlikely(r->head.why == OFF_CPU_DEAD)) {
			err = die(tl, cpu, prev, cpu->last);
		} else {
			if (!r->next_id)
				names_mention(&tl->threads->names, r->next_tid);
			err = move_out(&tl->moves, prev, cpu->last, r->head.why,
				       (int32_t)r->next_tid);
			prev->out = clock;
			cpu->last = prev->last;
			tl->counts.preemptions += r->head.why == OFF_CPU_PREEMPTED;
		}
		if (unlikely(err))
			return err;
	} else if (unlikely(r->head.why == OFF_CPU_DEAD && r->head.id)) {
		release_gone(tl, r->head.id);
	}
	cpu_occupy(tl, cpu, next, r->next_tid);
	if (!next)
		return 0;
	err = move_in(&tl->moves, next, cpu->account.index, cpu->last + 1, r->wake_clock,
		      r->waker_tid);
	cpu->last = next->last;
	if (unlikely(cpu->gap) && !err)
		err = belief_show_gap(tl, cpu, next, next->last);
	return err;
}

/* ---- records: the rest ---- */

static int take_snapshot(struct timeline *tl, struct cpu *cpu, const struct record_snapshot *r)
{
	struct task *task;
	int err;

	if (r->head.id)
		return lives_context(tl, cpu, &r->head, r->pid, r->tid, &task);
	err = belief_prove(tl, cpu, NULL, r->head.clock);
	cpu_charge(cpu, r->head.clock);
	cpu_occupy(tl, cpu, NULL, r->tid);
	return err;
}

static void take_lost(struct timeline *tl, struct cpu *cpu, const struct record_lost *r)
{
	if (!r->count)
		return;
	if (!cpu->gap)
		cpu->gap_clock = r->first_clock;
	cpu->gap += r->count;
	cpu->account.lost += r->count;
	tl->counts.lost += r->count;
}

static int in_window(struct timeline *tl, struct cpu *cpu, const struct record_head *head)
{
	switch (head->kind) {
	case RECORD_SWITCH:
		if (unlikely(tl->options.no_switches))
			return 0;
		return take_switch(tl, cpu, (const struct record_switch *)head);
	case RECORD_TASK:
		return lives_task(tl, cpu, (const struct record_task *)head);
	case RECORD_EXIT:
		return lives_exit(tl, cpu, (const struct record_exit *)head);
	case RECORD_SNAPSHOT:
		if (tl->options.no_switches)
			return 0;
		return take_snapshot(tl, cpu, (const struct record_snapshot *)head);
	case RECORD_LOST:
		take_lost(tl, cpu, (const struct record_lost *)head);
		return 0;
	case RECORD_PROBE:
		return calls_record(tl, cpu, (const struct record_probe *)head);
	default:
		return 0;
	}
}

/* A gap that began in the window was lost from it, though this is told only after its end; and
 * who was woken in the window says so when it runs. */
static int after_window(struct timeline *tl, struct cpu *cpu, const struct record_head *head)
{
	const struct record_lost *lost = (const struct record_lost *)head;
	const struct record_switch *r = (const struct record_switch *)head;

	tl->counts.outside++;
	if (head->kind == RECORD_LOST && lost->first_clock <= tl->t1)
		take_lost(tl, cpu, lost);
	if (head->kind == RECORD_SWITCH && r->next_id && r->wake_clock <= tl->t1)
		return window_woken(tl, r->next_id, r->wake_clock, r->waker_tid);
	return 0;
}

int timeline_record(struct timeline *tl, unsigned number, const struct record_head *head)
{
	struct cpu *cpu = belief_cpu(tl, number);
	uint64_t clock = head->clock;

	if (unlikely(tl->error))
		return tl->error;
	if (unlikely(!cpu))
		return tl->error = -ENOMEM;
	tl->counts.records++;
	if (head->kind < RECORD_KINDS)
		tl->counts.by_kind[head->kind]++;
	cpu->account.records++;
	if (unlikely(clock < tl->now)) {
		tl->counts.late++;
	} else {
		tl->counts.ties += clock == tl->now && cpu != tl->now_cpu;
		tl->now = clock;
		tl->now_cpu = cpu;
	}
	if (unlikely(clock > tl->t1))
		return tl->error = after_window(tl, cpu, head);
	if (unlikely(clock <= tl->options.t0))
		return tl->error = window_before(tl, cpu, head);
	if (unlikely(!tl->open)) {
		tl->error = window_open(tl);
		if (tl->error)
			return tl->error;
	}
	return tl->error = in_window(tl, cpu, head);
}

/* ---- the end ---- */

void timeline_stop(struct timeline *tl, uint64_t t1)
{
	tl->stopped = true;
	tl->t1 = later(tl->options.t0, t1 < CLOCK_MAX ? t1 : CLOCK_MAX);
}
