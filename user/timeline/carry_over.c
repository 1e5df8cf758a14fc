/* SPDX-License-Identifier: MIT */
/* carry_over: see carry_over.h. */
#include <errno.h>

#include "user/timeline/cpu_state.h"
#include "user/timeline/probe_events.h"
#include "user/timeline/carry_over.h"
#include "trace/base/log.h"

#define KEPT (TASK_EXITING | TASK_GONE | TASK_JOINED | TASK_KERNEL)

/* Existed when the window opens, and was it asleep? */
static uint8_t standing(const struct timeline *from, const struct task *old)
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
		/* Born, and not yet run; or it has become wanted, which says nothing. */
		return old->flags & TASK_JOINED ? TASK_BEFORE : TASK_BEFORE | TASK_RUNNABLE;
	default:
		return 0; /* it has left the CPUs that are recorded */
	}
}

static int inherit_task(struct timeline *tl, const struct timeline *from, const struct task *old)
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
	task->name = old->name;
	task->name.clock = later(old->name.clock, tl->options.t0);
	task->flags = (old->flags & KEPT) | standing(from, old);
	return calls_inherit(task, old, tl->options.t0);
}

static int inherit_tasks(struct timeline *tl, const struct timeline *from)
{
	const struct threads *threads = from->threads;
	int err = 0;

	for (size_t page = 0; page < threads->npages; page++)
		for (unsigned i = 0; i < TASKS_PAGE && threads->pages[page] && !err; i++)
			if (threads->pages[page]->tasks[i].id)
				err = inherit_task(tl, from, &threads->pages[page]->tasks[i]);
	return err;
}

static int inherit_cpu(struct timeline *tl, const struct cpu *old)
{
	struct cpu *cpu = belief_cpu(tl, old->account.cpu);

	if (!cpu)
		return -ENOMEM;
	cpu->tid = old->tid;
	cpu->use = old->use;
	if (!old->on)
		return 0;
	cpu->on = threads_task(tl->threads, old->on->id);
	cpu->on->state = THREAD_STATE_RUNNING;
	cpu->on->cpu = cpu->account.index;
	return 0;
}

int timeline_inherit(struct timeline *tl, const struct timeline *from)
{
	int err = inherit_tasks(tl, from);

	for (unsigned i = 0; i < from->ncpus && !err; i++)
		err = inherit_cpu(tl, from->cpus[i]);
	if (err) {
		log_no_memory("for another trace");
		return err;
	}
	names_inherit(&tl->threads->names, &from->threads->names);
	return 0;
}
