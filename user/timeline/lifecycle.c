/* SPDX-License-Identifier: MIT */
/* lifecycle: see lifecycle.h. */
#include "user/timeline/cpu_state.h"
#include "user/timeline/lifecycle.h"
#include "trace/base/log.h"

int lives_context(struct timeline *tl, struct cpu *cpu, const struct record_head *head,
		  uint32_t pid, uint32_t tid, struct task **out)
{
	struct task *task = threads_task(tl->threads, head->id);
	int err;

	*out = NULL;
	if (!task || (!task->id && !tid))
		return 0;
	if (task->id)
		pid = task->pid;
	if (!tid)
		tid = task->tid;
	err = belief_ready(tl, task, head->id, pid, tid, head->clock, false, out);
	return err || !*out ? err : belief_prove_after_gap(tl, cpu, *out, head->clock);
}

/* Its name may be of use all the same. */
int lives_unwanted(struct timeline *tl, const struct record_task *r)
{
	struct task *task = threads_task(tl->threads, r->id);
	int err = 0;

	names_tell(&tl->threads->names, r->tid, r->comm);
	if (!task || !task->id)
		return 0;
	if (task->thread)
		err = belief_give_up(tl, task, r->head.clock);
	belief_forget(tl, task);
	return err;
}

/* The slot may still be that of a task whose end was lost. */
int lives_admit(struct timeline *tl, const struct record_task *r, struct task **out)
{
	struct task *task = threads_task(tl->threads, r->id);
	int err = 0;

	if (task && task->id && r->head.flags == TASK_BORN &&
	    (task->pid != r->pid || task->tid != r->tid)) {
		if (task->thread) {
			belief_count_repair(tl, NULL, task);
			err = belief_give_up(tl, task, task->last);
		}
		belief_forget(tl, task);
		task = threads_task(tl->threads, r->id);
	}
	if (!task)
		return log_no_memory("for another task");
	if (!task->id) {
		threads_use(tl->threads, task, r->id, r->pid, r->tid);
		if (r->head.flags != TASK_BORN && r->head.flags != TASK_ITERATED) {
			task->flags |= TASK_JOINED;
			task->joined = r->head.clock;
		}
	}
	*out = task;
	return err;
}

int lives_learn(struct timeline *tl, struct task *task, const struct record_task *r)
{
	if (r->head.flags == TASK_BORN)
		task->creator_tid = r->creator_tid;
	if (r->parent_pid)
		task->parent_pid = r->parent_pid;
	if (r->flags & TASK_FLAG_KTHREAD)
		task->flags |= TASK_KERNEL;
	return threads_name(tl->threads, task, later(r->head.clock, tl->options.t0), r->comm);
}

int lives_task(struct timeline *tl, struct cpu *cpu, const struct record_task *r)
{
	bool wanted = belief_wanted(r), born = r->head.flags == TASK_BORN;
	bool itself = r->head.id == r->id, new = false;
	struct task *task = NULL, *maker = NULL;
	int err = 0;

	if (wanted) {
		err = lives_admit(tl, r, &task);
		/* What is told of one without a stream is needed when it gets one. */
		new = !err && !task->thread;
		if (new)
			err = lives_learn(tl, task, r);
	}
	if (!err && born)
		err = lives_context(tl, cpu, &r->head, r->pid == r->tid ? r->parent_pid : r->pid,
				    r->creator_tid > 0 ? (uint32_t)r->creator_tid : 0, &maker);
	else if (!err && itself && wanted)
		err = lives_context(tl, cpu, &r->head, r->pid, r->tid, &maker);
	else if (!err && !itself)
		err = lives_context(tl, cpu, &r->head, 0, 0, &maker);
	if (!err && born && maker)
		err = move_create(&tl->moves, maker, r->head.clock, r->tid);
	if (!err && wanted && !new)
		err = lives_learn(tl, task, r);
	else if (!err && !wanted)
		err = lives_unwanted(tl, r);
	if (!err && itself && maker && r->head.flags == TASK_EXECED) {
		threads_look(tl->threads, maker->thread->process);
		err = calls_exec(tl, maker, r->head.clock);
	}
	return err;
}

int lives_exit(struct timeline *tl, struct cpu *cpu, const struct record_exit *r)
{
	struct task *task = threads_task(tl->threads, r->id), *maker;
	int err = 0;

	if (tl->open)
		err = lives_context(tl, cpu, &r->head, r->pid, r->head.id == r->id ? r->tid : 0,
				    &maker);
	if (err || !task || !task->id)
		return err;
	task->flags |= TASK_EXITING;
	task->exit_code = r->exit_code;
	if (tl->options.no_switches) { /* there will be no last switch */
		if (task->thread)
			err = belief_give_up(tl, task, r->head.clock);
		belief_forget(tl, task);
		return err;
	}
	if (r->head.id)
		return 0;
	/* On a CPU that is not listed, where nothing more is seen of it. */
	if (task->thread && task->state == THREAD_STATE_RUNNING)
		belief_count_repair(tl, tl->by_index[task->cpu], task);
	if (task->thread)
		err = belief_give_up(tl, task, task->last);
	belief_forget(tl, task);
	return err;
}
