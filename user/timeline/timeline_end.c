/* SPDX-License-Identifier: MIT */
/*
 * timeline_end: closes a timeline, and lets the next one begin where it is. See timeline.h.
 *
 * In: the tasks and CPUs as the last record left them; out: the last events of each stream, the
 * session for the metadata, or the state of a new timeline.
 * Functions that return int return 0, or -errno after one message (no memory, the writer's error).
 * Specification: event-mapping.md "Repair", "Losses".
 */
#include <errno.h>
#include <stdlib.h>

#include "trace/base/log.h"
#include "user/config/session_info.h"
#include "user/timeline/emit_events.h"
#include "user/timeline/prove.h"
#include "user/timeline/timeline.h"

static int close_task(struct timeline *tl, struct task *task)
{
	int err;

	if (tl->incomplete && task->state != THREAD_STATE_RUNNING)
		settle(task, true); /* it has died, and no record shows it */
	err = task->thread ? end_stream(tl, task, tl->t1) : 0;
	threads_release(tl->threads, task);
	return err;
}

/* Gives a stream to each thread that existed at t0 and has none. */
static int add_silent_threads(struct timeline *tl)
{
	struct task *task;
	uint32_t id = 0;
	int err;

	while ((task = threads_next(tl->threads, &id))) {
		/* A task without a stream has died: another task has taken its stream. */
		if (task->thread || !(task->flags & TASK_BEFORE) ||
		    threads_find(tl->threads, task->pid, task->tid))
			continue;
		err = get_stream(tl, task, tl->options.t0, true);
		if (err)
			return err;
	}
	return 0;
}

/* The counts and the times of the CPUs, for the metadata. */
static int fill_session(struct timeline *tl, struct session *session)
{
	struct timeline_cpu *cpus = calloc(tl->ncpus ? tl->ncpus : 1, sizeof(*cpus));

	if (!cpus)
		return log_no_memory("for the times of the CPUs");
	for (unsigned i = 0; i < tl->ncpus; i++) {
		cpus[i] = tl->cpus[i]->counts;
		if (tl->calls)
			tl->calls->thread_ns += cpus[i].ns[CPU_THREAD];
	}
	*session = tl->threads->session;
	session->closed = true;
	session->t1 = tl->t1;
	session->counts = tl->counts;
	session->cpus = cpus;
	session->ncpus = tl->ncpus;
	session->calls = tl->calls;
	return 0;
}

void timeline_stop(struct timeline *tl, uint64_t t1)
{
	tl->stopped = true;
	tl->t1 = later(tl->options.t0, t1 < CLOCK_MAX ? t1 : CLOCK_MAX);
}

/* The stream that shows a gap at the end of the window: of the thread that runs on the CPU; else of
 * the thread whose last event is the oldest, so that the mark keeps its times. NULL: none can. */
static struct task *task_for_gap(const struct timeline *tl, const struct cpu *cpu)
{
	struct task *task, *best = NULL;
	uint32_t id = 0;

	if (cpu->on && cpu->on->thread)
		return cpu->on;
	while ((task = threads_next(tl->threads, &id))) {
		/* the kernel model accepts no mark while the thread is out of the CPU */
		if (!task->thread || task->state == THREAD_STATE_UNKNOWN ||
		    task->state == THREAD_STATE_DEAD ||
		    (tl->options.kernel_model && task->state != THREAD_STATE_RUNNING))
			continue;
		if (!best || task->last < best->last)
			best = task;
	}
	return best;
}

/* Shows the gaps that no event follows, and closes the times of the CPU. */
static int close_cpu(struct timeline *tl, struct cpu *cpu)
{
	struct task *task = cpu->gap ? task_for_gap(tl, cpu) : NULL;

	if (cpu->gap)
		leave_gap_open(tl, cpu, cpu->gap_clock);
	if (cpu->open_gap) {
		cpu_add_time(cpu, cpu->open_gap);
		cpu->use = CPU_UNKNOWN;
	}
	cpu_add_time(cpu, tl->t1);
	return task ? show_gap(tl, cpu, task, tl->t1) : 0;
}

static int close_all(struct timeline *tl)
{
	struct session session;
	struct task *task;
	uint32_t id = 0;
	int err = tl->open ? 0 : open_window(tl);

	if (err)
		return err;
	/* A loss is recorded in a stream. Without one, the trace would have no sign of it. */
	if (tl->options.all_threads || (tl->counts.lost && !threads_streams(tl->threads))) {
		err = add_silent_threads(tl);
		if (err)
			return err;
	}
	for (unsigned i = 0; i < tl->ncpus; i++) {
		err = close_cpu(tl, tl->cpus[i]);
		if (err)
			return err;
	}
	while ((task = threads_next(tl->threads, &id))) {
		err = close_task(tl, task);
		if (err)
			return err;
	}
	err = fill_session(tl, &session);
	return err ? err : threads_finish(tl->threads, &session);
}

int timeline_close(struct timeline *tl)
{
	if (!tl->stopped)
		timeline_stop(tl, tl->now);
	if (!tl->error)
		tl->error = close_all(tl);
	return tl->error;
}

/* ---- a timeline that begins where another one is ---- */

/* Flags that a new timeline takes over as they are. */
#define KEPT (TASK_EXITING | TASK_GONE | TASK_JOINED | TASK_KERNEL)

/* TASK_BEFORE if the task exists when the new window opens, TASK_RUNNABLE if it does not sleep. */
static uint8_t flags_before(const struct timeline *from, const struct task *old)
{
	switch (old->state) {
	case THREAD_STATE_RUNNING:
	case THREAD_STATE_PAUSED:
		return TASK_BEFORE;
	case THREAD_STATE_WARMING:
		return TASK_BEFORE | TASK_RUNNABLE;
	case THREAD_STATE_UNKNOWN:
		if (old->flags & TASK_BEFORE || from->options.cpu_filter)
			return old->flags & (TASK_BEFORE | TASK_RUNNABLE);
		/* Born, and not yet run; or traced since then, and its state is not known. */
		return old->flags & TASK_JOINED ? TASK_BEFORE : TASK_BEFORE | TASK_RUNNABLE;
	default:
		return 0; /* it has left the CPUs that are recorded */
	}
}

static int carry_over_task(struct timeline *tl, const struct timeline *from, const struct task *old)
{
	struct task *task = threads_task(tl->threads, old->id);

	if (!task)
		return log_no_memory("for another task");
	threads_use(tl->threads, task, old->id, old->pid, old->tid);
	task->parent_pid = old->parent_pid;
	task->creator_tid = old->creator_tid;
	task->exit_code = old->exit_code;
	task->joined = old->joined;
	task->out = old->out;
	task->known = old->known;
	task->call = old->call;
	task->object = old->object;
	task->kernel_lock = old->kernel_lock;
	task->lock_owner = old->lock_owner;
	task->priority = old->priority;
	task->allowed = old->allowed;
	task->name = old->name;
	task->name.clock = later(old->name.clock, tl->options.t0);
	task->flags = (old->flags & KEPT) | flags_before(from, old);
	return calls_carry_over(task, old, tl->options.t0);
}

static int carry_over_cpu(struct timeline *tl, const struct cpu *old)
{
	struct cpu *cpu = get_cpu(tl, old->counts.cpu);

	if (!cpu)
		return -ENOMEM;
	cpu->tid = old->tid;
	cpu->use = old->use;
	if (!old->on)
		return 0;
	cpu->on = threads_task(tl->threads, old->on->id);
	cpu->on->state = THREAD_STATE_RUNNING;
	cpu->on->cpu = cpu->counts.index;
	return 0;
}

int timeline_carry_over(struct timeline *tl, const struct timeline *from)
{
	const struct task *task;
	uint32_t id = 0;
	int err;

	while ((task = threads_next(from->threads, &id))) {
		/* its last switch was not seen */
		if (task->flags & TASK_EXITING && task->known &&
		    task->state != THREAD_STATE_RUNNING)
			continue;
		err = carry_over_task(tl, from, task);
		if (err)
			return err;
	}
	for (unsigned i = 0; i < from->ncpus; i++) {
		err = carry_over_cpu(tl, from->cpus[i]);
		if (err)
			return err;
	}
	tl->threads->cpu_sets = from->threads->cpu_sets;
	tl->incomplete = from->incomplete;
	names_copy(&tl->threads->names, &from->threads->names);
	return 0;
}
