/* SPDX-License-Identifier: MIT */
/* capture_window: see capture_window.h. */
#include <stdlib.h>

#include "user/timeline/cpu_state.h"
#include "user/timeline/lifecycle.h"
#include "trace/base/log.h"
#include "user/timeline/capture_window.h"

/* ---- before it opens ---- */

static void believe_off(struct task *task, bool runnable, uint64_t clock)
{
	task->state = THREAD_STATE_UNKNOWN;
	task->cpu = -1;
	task->out = clock;
	task->flags &= (uint8_t)~TASK_RUNNABLE;
	if (runnable)
		task->flags |= TASK_RUNNABLE;
}

/* What runs on `cpu` is the task of that id (0: none that is wanted). */
static int believe_on(struct timeline *tl, struct cpu *cpu, uint32_t id, uint32_t pid, uint32_t tid)
{
	bool can = id && belief_numbers(pid, tid);
	struct task *task = can ? threads_task(tl->threads, id) : NULL;

	if (can && !task)
		return log_no_memory("for another task");
	if (cpu->on && cpu->on != task)
		believe_off(cpu->on, false, tl->options.t0);
	if (task) {
		if (!task->id)
			threads_use(tl->threads, task, id, pid, tid);
		if (task->state == THREAD_STATE_RUNNING && tl->by_index[task->cpu] != cpu) {
			tl->by_index[task->cpu]->on = NULL;
			tl->by_index[task->cpu]->use = CPU_UNKNOWN;
		}
		task->pid = pid;
		task->tid = tid;
		task->flags |= TASK_BEFORE;
		task->state = THREAD_STATE_RUNNING;
		task->cpu = cpu->account.index;
	}
	cpu_occupy(tl, cpu, task, tid);
	return 0;
}

static int believe_switch(struct timeline *tl, struct cpu *cpu, const struct record_switch *r)
{
	struct task *prev;
	int err = believe_on(tl, cpu, r->head.id, r->prev_pid, r->prev_tid);

	if (err)
		return err;
	prev = cpu->on;
	cpu->on = NULL;
	if (prev) {
		believe_off(prev, off_cpu_runnable(r->head.why), r->head.clock);
		if (r->head.why == OFF_CPU_DEAD)
			threads_release(tl->threads, prev);
	}
	return believe_on(tl, cpu, r->next_id, r->next_pid, r->next_tid);
}

/* Before the window, a record of a life moves nobody. */
static int believe_task(struct timeline *tl, struct cpu *cpu, const struct record_task *r)
{
	struct task *task;
	int err;

	if (!belief_wanted(r))
		return lives_unwanted(tl, r);
	err = lives_admit(tl, r, &task);
	if (err)
		return err;
	task->pid = r->pid;
	task->tid = r->tid;
	task->flags |= TASK_BEFORE;
	if (r->head.flags == TASK_BORN)
		task->flags |= TASK_RUNNABLE;
	if (r->head.id == r->id && cpu->on != task && !tl->options.no_switches)
		err = believe_on(tl, cpu, r->id, r->pid, r->tid);
	return err ? err : lives_learn(tl, task, r);
}

/* A function that is entered before the window opens is still open then. */
static int believe_probe(struct timeline *tl, struct cpu *cpu, const struct record_probe *r)
{
	struct task *task = threads_task(tl->threads, r->head.id);
	int err = 0;

	if (!task || !belief_numbers(r->pid, r->tid))
		return 0;
	if (!task->id)
		threads_use(tl->threads, task, r->head.id, r->pid, r->tid);
	if (!tl->options.no_switches && !(r->head.flags & PROBE_ELSEWHERE) && cpu->on != task)
		err = believe_on(tl, cpu, r->head.id, r->pid, r->tid);
	return err ? err : calls_before(tl, task, r);
}

int window_before(struct timeline *tl, struct cpu *cpu, const struct record_head *head)
{
	const struct record_snapshot *snapshot = (const struct record_snapshot *)head;

	tl->counts.outside++;
	if (!tl->open && head->kind == RECORD_PROBE)
		return believe_probe(tl, cpu, (const struct record_probe *)head);
	if (tl->open || (tl->options.no_switches &&
			 (head->kind == RECORD_SWITCH || head->kind == RECORD_SNAPSHOT)))
		return 0;
	switch (head->kind) {
	case RECORD_SWITCH:
		return believe_switch(tl, cpu, (const struct record_switch *)head);
	case RECORD_TASK:
		return believe_task(tl, cpu, (const struct record_task *)head);
	case RECORD_EXIT:
		return lives_exit(tl, cpu, (const struct record_exit *)head);
	case RECORD_SNAPSHOT:
		return believe_on(tl, cpu, head->id, snapshot->pid, snapshot->tid);
	default:
		return 0;
	}
}

/* ---- it opens ---- */

int window_open(struct timeline *tl)
{
	uint64_t t0 = tl->options.t0;
	int err = 0;

	tl->open = true;
	for (unsigned i = 0; i < tl->ncpus && !err; i++) {
		struct cpu *cpu = tl->cpus[i];
		struct task *task = cpu->on;

		if (!task)
			continue;
		task->state = THREAD_STATE_UNKNOWN;
		err = belief_bind(tl, task, t0, false);
		if (!err)
			err = move_begin(&tl->moves, task, cpu->account.index, t0);
	}
	return err;
}

/* ---- the task iterator ---- */

static int iterated_before(struct timeline *tl, const struct record_task *r)
{
	struct task *task;
	int err = lives_admit(tl, r, &task);

	if (err)
		return err;
	if (!task->thread && !(task->flags & TASK_BEFORE) && !(r->flags & TASK_FLAG_ELSEWHERE)) {
		task->flags |= TASK_BEFORE;
		if (r->state == 0)
			task->flags |= TASK_RUNNABLE;
	}
	return lives_learn(tl, task, r);
}

int window_woken(struct timeline *tl, uint32_t id, uint64_t wake, int32_t waker)
{
	struct task *task = threads_task(tl->threads, id), *ready_task;
	int err;

	if (!task || !task->id || task->flags & TASK_GONE || !wake || wake <= tl->options.t0 ||
	    wake > tl->t1 || wake < task->out || tl->options.kernel_model ||
	    tl->options.no_switches)
		return 0;
	err = tl->open ? 0 : window_open(tl);
	if (err)
		return err;
	if (!task->thread) {
		err = belief_ready(tl, task, id, task->pid, task->tid, wake, false, &ready_task);
		if (!err && task->state == THREAD_STATE_UNKNOWN)
			err = move_begin(&tl->moves, task, -1, wake);
		if (!err && task->state == THREAD_STATE_RUNNING)
			err = move_out(&tl->moves, task, wake, OFF_CPU_UNKNOWN, -1);
		if (err)
			return err;
	}
	if (task->state != THREAD_STATE_PAUSED)
		return 0;
	err = task_room(tl->threads, task);
	if (!err)
		move_wake(&tl->moves, task, wake, wake, waker);
	return err;
}

/* Who was woken in the window and has not run since; who was elsewhere at its end. */
static int iterated_after(struct timeline *tl, const struct record_task *r)
{
	struct task *task = threads_task(tl->threads, r->id);

	if (!task || !task->id || task->flags & TASK_GONE)
		return 0;
	if (r->flags & TASK_FLAG_ELSEWHERE) {
		task->flags &= (uint8_t)~TASK_BEFORE;
		/* One that ran on a listed CPU when the window closed has left it since. */
		if (!task->thread || task->state == THREAD_STATE_RUNNING)
			return 0;
		return move_close(&tl->moves, task, task->last);
	}
	return window_woken(tl, r->id, r->wake_clock, r->waker_tid);
}

int timeline_iterated(struct timeline *tl, const struct record_task *r)
{
	if (tl->error)
		return tl->error;
	if (!belief_wanted(r)) {
		names_tell(&tl->threads->names, r->tid, r->comm);
		return 0;
	}
	return tl->error = tl->stopped ? iterated_after(tl, r) : iterated_before(tl, r);
}

/* ---- it closes ---- */

/* Brings one task to its end, and lets it go. */
static int close_task(struct timeline *tl, struct task *task)
{
	int err = 0;

	/* Whose stream another one has used since is long gone. */
	if (!task->thread && task->flags & TASK_BEFORE && tl->options.all_threads &&
	    !threads_find(tl->threads, task->pid, task->tid))
		err = belief_bind(tl, task, tl->options.t0, true);
	if (!err && task->thread)
		err = belief_give_up(tl, task, tl->t1);
	threads_release(tl->threads, task);
	return err;
}

static int close_tasks(struct timeline *tl)
{
	struct threads *threads = tl->threads;
	int err = 0;

	for (size_t page = 0; page < threads->npages; page++) {
		for (unsigned i = 0; i < TASKS_PAGE && threads->pages[page] && !err; i++) {
			struct task *task = &threads->pages[page]->tasks[i];

			if (task->id)
				err = close_task(tl, task);
		}
	}
	return err;
}

/* What each CPU did, to its end, for the metadata. */
static int account(struct timeline *tl, struct session *session)
{
	struct timeline_cpu *cpus = calloc(tl->ncpus ? tl->ncpus : 1, sizeof(*cpus));

	if (!cpus)
		return log_no_memory("for the account of the CPUs");
	for (unsigned i = 0; i < tl->ncpus; i++) {
		cpus[i] = tl->cpus[i]->account;
		if (tl->moves.calls)
			tl->moves.calls->thread_ns += cpus[i].ns[CPU_THREAD];
	}
	*session = tl->threads->session;
	session->closed = true;
	session->t1 = tl->t1;
	session->counts = tl->counts;
	session->cpus = cpus;
	session->ncpus = tl->ncpus;
	session->calls = tl->moves.calls;
	return 0;
}

int timeline_close(struct timeline *tl)
{
	struct session session;
	int err = tl->error;

	if (!tl->stopped)
		timeline_stop(tl, tl->now);
	if (!err && !tl->open)
		err = window_open(tl);
	for (unsigned i = 0; i < tl->ncpus; i++)
		cpu_charge(tl->cpus[i], tl->t1);
	if (!err)
		err = close_tasks(tl);
	if (!err)
		err = account(tl, &session);
	if (!err)
		err = threads_finish(tl->threads, &session);
	return tl->error = err;
}
