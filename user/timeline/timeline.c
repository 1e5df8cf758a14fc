/* SPDX-License-Identifier: MIT */
/*
 * timeline: see timeline.h.
 *
 * A record made by a task proves that the task runs on that CPU. State that contradicts this is
 * repaired first (prove.h), so that the rest sees only the ordinary case. The clock of the last
 * event on each CPU keeps leaving and entering apart: a task enters after, never at, the clock at
 * which another one left, since the order of events with equal clocks is not ours.
 * Functions that return int return 0, or -errno after one message (no memory, the writer's error).
 * Specification: event-mapping.md "Repair", "Identity", "Losses"; ebpf.md 8.6, 9.
 */
#include <errno.h>
#include <stdlib.h>

#include "trace/base/log.h"
#include "user/config/config.h"
#include "user/config/job_members.h"
#include "user/config/session_info.h"
#include "user/timeline/emit_events.h"
#include "user/timeline/prove.h"
#include "user/timeline/sleep_stacks.h"
#include "user/timeline/timeline.h"

/* ---- tasks ---- */

int timeline_context(struct timeline *tl, struct cpu *cpu, const struct record_head *head,
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
	err = make_ready(tl, task, head->id, pid, tid, head->clock, false, out);
	return err || !*out ? err : prove_after_gap(tl, cpu, *out, head->clock);
}

/* The task of the record is not traced, or no longer. Payloads may still name it. */
static int drop_task(struct timeline *tl, const struct record_task *r)
{
	struct task *task = threads_task(tl->threads, r->id);
	int err = 0;

	names_add(&tl->threads->names, r->tid, r->comm);
	if (!task || !task->id)
		return 0;
	if (task->thread)
		err = end_stream(tl, task, r->head.clock);
	forget_task(tl, task);
	return err;
}

/* Gives a slot to a traced task. The slot may still hold a task whose end was lost. */
static int admit_task(struct timeline *tl, const struct record_task *r, struct task **out)
{
	struct task *task = threads_task(tl->threads, r->id);
	int err = 0;

	if (task && task->id && r->head.flags == TASK_BORN &&
	    (task->pid != r->pid || task->tid != r->tid)) {
		if (task->thread) {
			count_repair(tl, NULL, task);
			err = end_stream(tl, task, task->last);
		}
		forget_task(tl, task);
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

/* Takes over the fields of a record of a task, except its tid. */
static int update_task(struct timeline *tl, struct task *task, const struct record_task *r)
{
	if (r->head.flags == TASK_BORN)
		task->creator_tid = r->creator_tid;
	if (r->parent_pid)
		task->parent_pid = r->parent_pid;
	if (r->flags & TASK_FLAG_KTHREAD)
		task->flags |= TASK_KERNEL;
	return threads_name(task, later(r->head.clock, tl->options.t0), r->comm);
}

/* The task that made the record, if it has a stream: *maker, or NULL. */
static int find_maker(struct timeline *tl, struct cpu *cpu, const struct record_task *r,
		      struct task **maker)
{
	bool itself = r->head.id == r->id;
	uint32_t creator = r->creator_tid > 0 ? (uint32_t)r->creator_tid : 0;

	*maker = NULL;
	if (r->head.flags == TASK_BORN)
		return timeline_context(tl, cpu, &r->head,
					r->pid == r->tid ? r->parent_pid : r->pid, creator, maker);
	if (!itself)
		return timeline_context(tl, cpu, &r->head, 0, 0, maker);
	return is_traced(r) ? timeline_context(tl, cpu, &r->head, r->pid, r->tid, maker) : 0;
}

/* A task is born, renamed, executes another program, is traced or no longer. */
static int handle_task(struct timeline *tl, struct cpu *cpu, const struct record_task *r)
{
	struct task *task = NULL, *maker;
	bool updated = false;
	int err;

	if (is_traced(r)) {
		err = admit_task(tl, r, &task);
		if (err)
			return err;
		updated = !task->thread; /* its stream, which may begin now, needs the name */
		err = updated ? update_task(tl, task, r) : 0;
		if (err)
			return err;
	}
	err = find_maker(tl, cpu, r, &maker);
	if (!err && r->head.flags == TASK_BORN && maker)
		err = emit_create(tl, maker, r->head.clock, r->tid);
	if (err)
		return err;
	if (!task)
		err = drop_task(tl, r);
	else if (!updated)
		err = update_task(tl, task, r);
	if (err || r->head.id != r->id || !maker || r->head.flags != TASK_EXECED)
		return err;
	threads_read_process(tl->threads, maker->thread->process);
	return calls_exec(tl, maker, r->head.clock);
}

static int handle_exit(struct timeline *tl, struct cpu *cpu, const struct record_exit *r)
{
	struct task *task = threads_task(tl->threads, r->id), *maker;
	int err = 0;

	if (tl->open)
		err = timeline_context(tl, cpu, &r->head, r->pid, r->head.id == r->id ? r->tid : 0,
				       &maker);
	if (err || !task || !task->id)
		return err;
	task->flags |= TASK_EXITING;
	task->exit_code = r->exit_code;
	if (tl->options.no_switches) { /* there will be no last switch */
		if (task->thread)
			err = end_stream(tl, task, r->head.clock);
		forget_task(tl, task);
		return err;
	}
	if (r->head.id)
		return 0;
	/* On a CPU that is not listed: its last switch is not recorded. */
	if (task->thread && task->state == THREAD_STATE_RUNNING)
		count_repair(tl, tl->by_index[task->cpu], task);
	if (task->thread)
		err = end_stream(tl, task, task->last);
	forget_task(tl, task);
	return err;
}

/* ---- records: switches ---- */

/* Shows the gap in the stream of the entering task, since the leaving one has no stream. Its
 * wake-up keeps its clock, before the gap or in it. */
static int gap_of_next(struct timeline *tl, struct cpu *cpu, struct task *next,
		       const struct record_switch *r)
{
	bool wakes =
		next->state == THREAD_STATE_PAUSED && r->wake_clock >= next->out && r->wake_clock;
	bool before = r->wake_clock <= cpu->gap_clock;
	uint64_t clock = r->head.clock;
	int err = task_room(tl->threads, next);

	if (err)
		return err;
	if (wakes && before)
		emit_wakeup(tl, next, clock, r->wake_clock, r->waker_tid);
	err = begin_gap(tl, cpu, next, clock);
	if (err)
		return err;
	err = task_room(tl->threads, next);
	if (err)
		return err;
	if (wakes && !before)
		emit_wakeup(tl, next, clock, r->wake_clock, r->waker_tid);
	return end_gap(tl, cpu, next, clock);
}

static inline uint64_t prev_key(const struct record_switch *r)
{
	return thread_key(r->prev_pid, r->prev_tid);
}

static inline uint64_t next_key(const struct record_switch *r)
{
	return thread_key(r->next_pid, r->next_tid);
}

/* Makes *prev, which leaves, the task that runs here, or NULL. */
static int repair_prev(struct timeline *tl, struct cpu *cpu, const struct record_switch *r,
		       struct task **prev)
{
	int err = 0;

	if (!*prev && !cpu->on && cpu->tid != r->prev_tid && !tl->options.some_threads)
		cpu->use = CPU_UNKNOWN; /* a switch was not seen */
	if (*prev)
		err = make_ready(tl, *prev, r->head.id, r->prev_pid, r->prev_tid, r->head.clock,
				 r->head.why == OFF_CPU_DEAD, prev);
	return err ? err : prove_after_gap(tl, cpu, *prev, r->head.clock);
}

/* Repairs all that is unusual in a switch: *prev runs here then, or is NULL; *next has a stream and
 * does not run, or is NULL. */
static int unusual(struct timeline *tl, struct cpu *cpu, const struct record_switch *r,
		   struct task **prev, struct task **next)
{
	bool elsewhere = r->head.flags & SWITCH_NEXT_ELSEWHERE;
	uint64_t clock = r->head.clock;
	int err;

	if ((!*prev && r->head.id) || (!*next && r->next_id))
		return log_no_memory("for another task");
	err = repair_prev(tl, cpu, r, prev);
	if (err || !*next)
		return err;
	if (elsewhere)
		(*next)->flags &= (uint8_t)~TASK_BEFORE;
	if (r->head.flags & SWITCH_NEXT_LOST && (*next)->state != THREAD_STATE_RUNNING)
		lose_state(*next, (*next)->out);
	if ((*next)->state == THREAD_STATE_RUNNING && (*next)->key && *next != *prev) {
		err = leave_unseen(tl, *next, earlier_by(clock, 2));
		if (err)
			return err;
	}
	err = make_ready(tl, *next, r->next_id, r->next_pid, r->next_tid, clock, false, next);
	if (*prev && (*prev)->flags & TASK_GONE)
		*prev = NULL; /* *next has its tid now */
	if (err || !*next)
		return err;
	(*next)->flags &= (uint8_t)~TASK_JOINED;
	if (r->head.flags)
		forget_sleep(*next); /* it was not seen */
	err = elsewhere && *next != *prev ? emit_close(tl, *next, (*next)->last) : 0;
	if (err)
		return err;
	return cpu->gap && !tl->options.kernel_model ? gap_of_next(tl, cpu, *next, r) : 0;
}

/* The last switch of a task: its stream ends, and its slot is free. */
static int die(struct timeline *tl, struct cpu *cpu, struct task *task, uint64_t clock)
{
	int err;

	calls_account(tl, task, clock);
	err = emit_end(tl, task, clock);
	cpu->last = task->last;
	cpu->on = NULL;
	if (!err) /* else the writer has failed, or there is no memory: the slot goes all the same
		   */
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

/* The call in which `task` falls asleep becomes its last one. False if it is not known. A stop that
 * a signal causes is in no call; a call that continues after it keeps its number. */
static inline bool falls_asleep_in_call(struct timeline *tl, struct task *task,
					const struct record_switch *r)
{
	const struct record_switch_call *longer = (const struct record_switch_call *)r;

	if (r->head.kind != RECORD_SWITCH_CALL || r->head.why == OFF_CPU_STOPPED ||
	    r->head.why == OFF_CPU_TRACED)
		return false;
	if (!call_restarts(tl->threads->machine, longer->call) || task->call == CALL_UNKNOWN) {
		task->call = longer->call;
		task->object = longer->object;
		task->kernel_lock = longer->flags & CALL_KERNEL_LOCK;
		if (unlikely(task->kernel_lock))
			task->object = hash_secret(longer->object) | CALL_LOCK_OF_KERNEL;
		task->lock_owner = longer->owner;
	}
	return task->call != CALL_UNKNOWN;
}

static int handle_switch(struct timeline *tl, struct cpu *cpu, const struct record_switch *r)
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
	cpu_add_time(cpu, clock);
	cpu->last = later(cpu->last, clock);
	if (prev) {
		if (unlikely(r->head.why == OFF_CPU_DEAD)) {
			err = die(tl, cpu, prev, cpu->last);
		} else {
			if (!r->next_id)
				names_mention(&tl->threads->names, r->next_tid);
			err = emit_leave(tl, prev, cpu->last, r->head.why, (int32_t)r->next_tid,
					 falls_asleep_in_call(tl, prev, r));
			prev->out = clock;
			cpu->last = prev->last;
			if (r->head.kind == RECORD_SWITCH_CALL)
				threads_sleep_on(tl->threads, prev, r->head.clock);
			tl->counts.preemptions += r->head.why == OFF_CPU_PREEMPTED;
		}
		if (unlikely(err))
			return err;
	} else if (unlikely(r->head.why == OFF_CPU_DEAD && r->head.id)) {
		release_gone(tl, r->head.id);
	}
	cpu_runs(tl, cpu, next, r->next_tid);
	if (!next)
		return 0;
	err = emit_enter(tl, next, cpu->counts.index, cpu->last + 1, r->wake_clock, r->waker_tid);
	next->known = 0;
	cpu->last = next->last;
	if (likely(!cpu->gap) || err)
		return err;
	return show_gap(tl, cpu, next, next->last);
}

/* ---- records: the rest ---- */

/* Written with the switch that follows: see emit_enter(). */
static void handle_move(struct timeline *tl, const struct record_moved *r)
{
	struct task *task = threads_task(tl->threads, r->head.id);

	if (task && task->id)
		task->moved = r->moved;
}

/* Written with the wake-up in the switch that follows: see put_sleep(). */
static void handle_stack(struct timeline *tl, const struct record_stack *r)
{
	struct task *task = threads_task(tl->threads, r->head.id);

	if (!task || !task->id || !tl->threads->sleep_stacks)
		return;
	if (r->head.flags & STACK_WAKER) {
		task->waker_stack = sleep_stacks_number(tl->threads->sleep_stacks, r, 0);
		return;
	}
	task->sleep_stack = sleep_stacks_number(tl->threads->sleep_stacks, r, task->waker_stack);
	task->waker_stack = 0;
}

/* The request that ended the sleep of a task, which is over with the next switch. */
static void handle_io(struct timeline *tl, const struct record_io *r)
{
	struct task *task = threads_task(tl->threads, r->head.id);

	if (task && task->id && task->state == THREAD_STATE_PAUSED)
		task->io = r->io;
}

/* The task has just entered the CPU. */
static int handle_priority(struct timeline *tl, struct cpu *cpu, const struct record_priority *r)
{
	struct task *task;
	int err = timeline_context(tl, cpu, &r->head, r->pid, r->tid, &task);

	if (err || !task)
		return err;
	take_priority(tl, task, r);
	return emit_priority(tl, task, r->head.clock);
}

static int handle_snapshot(struct timeline *tl, struct cpu *cpu, const struct record_snapshot *r)
{
	struct task *task;
	int err;

	if (r->head.id)
		return timeline_context(tl, cpu, &r->head, r->pid, r->tid, &task);
	err = prove_running(tl, cpu, NULL, r->head.clock);
	cpu_add_time(cpu, r->head.clock);
	cpu_runs(tl, cpu, NULL, r->tid);
	return err;
}

static void handle_lost(struct timeline *tl, struct cpu *cpu, const struct record_lost *r)
{
	if (cpu->on)
		lose_state(cpu->on, r->first_clock);
	if (cpu->use != CPU_UNKNOWN) {
		cpu_add_time(cpu, r->first_clock);
		cpu->use = CPU_UNKNOWN;
	}
	if (!r->count)
		return;
	tl->incomplete = true;
	if (!cpu->gap)
		cpu->gap_clock = r->first_clock;
	cpu->gap += r->count;
	cpu->counts.lost += r->count;
	tl->counts.lost += r->count;
}

/* ---- before the window: records only show which tasks exist and run ---- */

static void set_off_cpu(struct task *task, bool runnable, uint64_t clock)
{
	task->state = THREAD_STATE_UNKNOWN;
	task->cpu = -1;
	task->out = clock;
	task->lock_owner = LOCK_OWNER_UNKNOWN;
	task->sleep_stack = 0;
	task->flags &= (uint8_t)~TASK_RUNNABLE;
	if (runnable)
		task->flags |= TASK_RUNNABLE;
}

/* The task of that id runs on `cpu` (0: none that is traced). */
static int set_on_cpu(struct timeline *tl, struct cpu *cpu, uint32_t id, uint32_t pid, uint32_t tid)
{
	bool can = id && valid_numbers(pid, tid);
	struct task *task = can ? threads_task(tl->threads, id) : NULL;

	if (can && !task)
		return log_no_memory("for another task");
	if (cpu->on && cpu->on != task)
		set_off_cpu(cpu->on, false, tl->options.t0);
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
		task->cpu = cpu->counts.index;
	}
	cpu_runs(tl, cpu, task, tid);
	return 0;
}

static int switch_before(struct timeline *tl, struct cpu *cpu, const struct record_switch *r)
{
	struct task *prev;
	int err = set_on_cpu(tl, cpu, r->head.id, r->prev_pid, r->prev_tid);

	if (err)
		return err;
	prev = cpu->on;
	cpu->on = NULL;
	if (prev) {
		set_off_cpu(prev, off_cpu_runnable(r->head.why), r->head.clock);
		(void)falls_asleep_in_call(tl, prev, r);
		if (r->head.why == OFF_CPU_DEAD)
			threads_release(tl->threads, prev);
	}
	return set_on_cpu(tl, cpu, r->next_id, r->next_pid, r->next_tid);
}

static int task_before(struct timeline *tl, struct cpu *cpu, const struct record_task *r)
{
	struct task *task;
	int err;

	if (!is_traced(r))
		return drop_task(tl, r);
	err = admit_task(tl, r, &task);
	if (err)
		return err;
	task->pid = r->pid;
	task->tid = r->tid;
	task->flags |= TASK_BEFORE;
	if (r->head.flags == TASK_BORN)
		task->flags |= TASK_RUNNABLE;
	if (r->head.id == r->id && cpu->on != task && !tl->options.no_switches)
		err = set_on_cpu(tl, cpu, r->id, r->pid, r->tid);
	return err ? err : update_task(tl, task, r);
}

/* A function that a thread enters before the window opens is still open then. */
static int probe_before(struct timeline *tl, struct cpu *cpu, const struct record_probe *r)
{
	struct task *task = threads_task(tl->threads, r->head.id);
	int err = 0;

	if (!task || !valid_numbers(r->pid, r->tid))
		return 0;
	if (!task->id)
		threads_use(tl->threads, task, r->head.id, r->pid, r->tid);
	if (!tl->options.no_switches && !(r->head.flags & PROBE_ELSEWHERE) && cpu->on != task)
		err = set_on_cpu(tl, cpu, r->head.id, r->pid, r->tid);
	return err ? err : calls_before(tl, task, r);
}

/* ---- the window ---- */

void timeline_has_priority(struct timeline *tl, const struct record_priority *r)
{
	struct task *task = threads_task(tl->threads, r->head.id);

	if (task && task->id)
		take_priority(tl, task, r);
}

/* Variables of a new member of the job. */
static int handle_variable(const struct timeline *tl, const struct record_variable *r)
{
	const struct job_plan *job = tl->threads->session.info->job;

	return job && job->rule ? job_members_take(job->members, job->rule, r) : 0;
}

static int before_window(struct timeline *tl, struct cpu *cpu, const struct record_head *head)
{
	const struct record_snapshot *snapshot = (const struct record_snapshot *)head;

	tl->counts.outside++;
	if (head->kind == RECORD_VARIABLE)
		return handle_variable(tl, (const struct record_variable *)head);
	if (!tl->open && head->kind == RECORD_PROBE)
		return probe_before(tl, cpu, (const struct record_probe *)head);
	if (tl->open || (tl->options.no_switches &&
			 (record_is_switch(head->kind) || head->kind == RECORD_SNAPSHOT)))
		return 0;
	switch (head->kind) {
	case RECORD_SWITCH:
	case RECORD_SWITCH_CALL:
		return switch_before(tl, cpu, (const struct record_switch *)head);
	case RECORD_TASK:
		return task_before(tl, cpu, (const struct record_task *)head);
	case RECORD_EXIT:
		return handle_exit(tl, cpu, (const struct record_exit *)head);
	case RECORD_SNAPSHOT:
		return set_on_cpu(tl, cpu, head->id, snapshot->pid, snapshot->tid);
	case RECORD_PRIORITY:
		timeline_has_priority(tl, (const struct record_priority *)head);
		return 0;
	default:
		return 0;
	}
}

static int in_window(struct timeline *tl, struct cpu *cpu, const struct record_head *head)
{
	switch (head->kind) {
	case RECORD_SWITCH:
	case RECORD_SWITCH_CALL:
		if (unlikely(tl->options.no_switches))
			return 0;
		return handle_switch(tl, cpu, (const struct record_switch *)head);
	case RECORD_MOVED:
		handle_move(tl, (const struct record_moved *)head);
		return 0;
	case RECORD_STACK:
		handle_stack(tl, (const struct record_stack *)head);
		return 0;
	case RECORD_IO:
		handle_io(tl, (const struct record_io *)head);
		return 0;
	case RECORD_INTERRUPTS:
		emit_irqs(tl, (const struct record_interrupts *)head);
		return 0;
	case RECORD_INTERRUPT:
		return emit_interrupt(tl, cpu, (const struct record_interrupt *)head);
	case RECORD_COUNTERS:
		return emit_counters(tl, (const struct record_counters *)head);
	case RECORD_PRIORITY:
		return handle_priority(tl, cpu, (const struct record_priority *)head);
	case RECORD_TASK:
		return handle_task(tl, cpu, (const struct record_task *)head);
	case RECORD_EXIT:
		return handle_exit(tl, cpu, (const struct record_exit *)head);
	case RECORD_SNAPSHOT:
		if (tl->options.no_switches)
			return 0;
		return handle_snapshot(tl, cpu, (const struct record_snapshot *)head);
	case RECORD_LOST:
		handle_lost(tl, cpu, (const struct record_lost *)head);
		return 0;
	case RECORD_VARIABLE:
		return handle_variable(tl, (const struct record_variable *)head);
	case RECORD_PROBE:
		return calls_record(tl, cpu, (const struct record_probe *)head);
	default:
		return 0;
	}
}

/* The task `id`, which has not run since, was woken at `wake` (0: it was not): if that is in the
 * window, it does not sleep at its end. */
static int handle_wakeup(struct timeline *tl, uint32_t id, uint64_t wake, int32_t waker)
{
	struct task *task = threads_task(tl->threads, id), *ready;
	int err;

	if (!task || !task->id || task->flags & TASK_GONE || !wake || wake <= tl->options.t0 ||
	    wake > tl->t1 || wake < task->out || tl->options.kernel_model ||
	    tl->options.no_switches)
		return 0;
	err = tl->open ? 0 : open_window(tl);
	if (err)
		return err;
	if (!task->thread) {
		err = make_ready(tl, task, id, task->pid, task->tid, wake, false, &ready);
		if (err)
			return err;
		err = task->state == THREAD_STATE_UNKNOWN ? emit_execute(tl, task, -1, wake) : 0;
		if (err)
			return err;
		err = task->state == THREAD_STATE_RUNNING
			      ? emit_leave(tl, task, wake, OFF_CPU_UNKNOWN, -1, false)
			      : 0;
		if (err)
			return err;
	}
	if (task->state != THREAD_STATE_PAUSED)
		return 0;
	err = task_room(tl->threads, task);
	if (err)
		return err;
	emit_wakeup(tl, task, wake, wake, waker);
	return 0;
}

static struct task *known_task(const struct timeline *tl, uint32_t id)
{
	struct task *task = threads_task(tl->threads, id);

	return task && task->id ? task : NULL;
}

/* The task `id` (0: none that is traced) runs on the CPU after the window, where no record after it
 * has shown another one. */
static void settle_cpu(const struct timeline *tl, struct cpu *cpu, uint32_t id)
{
	struct task *task = known_task(tl, id);

	if (cpu->on && !cpu->settled)
		settle(cpu->on, cpu->on != task);
	if (task)
		settle(task, cpu->on != task);
	cpu->settled = true;
}

/* The losses of a gap that began in the window belong to the window, though the record comes later;
 * so does a wake-up, whose record is the switch after it. */
static int after_window(struct timeline *tl, struct cpu *cpu, const struct record_head *head)
{
	const struct record_lost *lost = (const struct record_lost *)head;
	const struct record_switch *r = (const struct record_switch *)head;

	tl->counts.outside++;
	if (head->kind == RECORD_LOST && lost->count && lost->first_clock <= tl->t1) {
		handle_lost(tl, cpu, lost);
		leave_gap_open(tl, cpu, lost->first_clock);
	}
	if (tl->options.no_switches)
		return 0;
	if (head->kind == RECORD_STACK)
		handle_stack(tl, (const struct record_stack *)head);
	if (head->kind == RECORD_IO)
		handle_io(tl, (const struct record_io *)head);
	if (head->kind == RECORD_INTERRUPTS)
		emit_irqs(tl, (const struct record_interrupts *)head);
	if (head->kind == RECORD_INTERRUPT)
		return emit_interrupt(tl, cpu, (const struct record_interrupt *)head);
	if (head->kind == RECORD_COUNTERS)
		return emit_counters(tl, (const struct record_counters *)head);
	if (head->kind == RECORD_LOST && !cpu->settled)
		settle_cpu(tl, cpu, cpu->on ? cpu->on->id : 0);
	if (record_is_switch(head->kind) ||
	    (head->kind == RECORD_SNAPSHOT && !cpu->settled && cpu->on != known_task(tl, head->id)))
		settle_cpu(tl, cpu, head->id);
	if (record_is_switch(head->kind) && known_task(tl, r->next_id))
		settle(known_task(tl, r->next_id),
		       head->flags & SWITCH_NEXT_LOST ||
			       known_task(tl, r->next_id)->state == THREAD_STATE_RUNNING);
	if (record_is_switch(head->kind) && r->next_id && r->wake_clock <= tl->t1)
		return handle_wakeup(tl, r->next_id, r->wake_clock, r->waker_tid);
	return 0;
}

int timeline_record(struct timeline *tl, unsigned number, const struct record_head *head)
{
	struct cpu *cpu = get_cpu(tl, number);
	uint64_t clock = head->clock;

	if (unlikely(tl->error))
		return tl->error;
	if (unlikely(!cpu))
		return tl->error = -ENOMEM;
	tl->counts.records++;
	if (head->kind < RECORD_KINDS)
		tl->counts.by_kind[head->kind]++;
	cpu->counts.records++;
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
		return tl->error = before_window(tl, cpu, head);
	if (unlikely(!tl->open)) {
		tl->error = open_window(tl);
		if (tl->error)
			return tl->error;
	}
	return tl->error = in_window(tl, cpu, head);
}

int timeline_open_gap(struct timeline *tl, unsigned number, uint64_t first_clock, uint64_t count)
{
	struct record_lost lost = {.first_clock = first_clock, .count = count};
	struct cpu *cpu = tl->error ? NULL : get_cpu(tl, number);

	if (!tl->error && !cpu)
		tl->error = -ENOMEM;
	if (tl->error)
		return tl->error;
	if (lost.first_clock > tl->t1)
		lost.first_clock = tl->t1;
	handle_lost(tl, cpu, &lost);
	leave_gap_open(tl, cpu, lost.first_clock);
	return 0;
}

/* ---- the task iterator ---- */

static int iterated_before(struct timeline *tl, const struct record_task *r)
{
	struct task *task;
	int err = admit_task(tl, r, &task);

	if (err)
		return err;
	if (!task->thread && !(task->flags & TASK_BEFORE) && !(r->flags & TASK_FLAG_ELSEWHERE)) {
		task->flags |= TASK_BEFORE;
		if (r->state == 0)
			task->flags |= TASK_RUNNABLE;
	}
	return update_task(tl, task, r);
}

/* At the end: threads that were woken and have not run, and threads on CPUs that are not listed. */
static int iterated_after(struct timeline *tl, const struct record_task *r)
{
	struct task *task = threads_task(tl->threads, r->id);

	if (!task || !task->id || task->flags & TASK_GONE)
		return 0;
	if (r->flags & TASK_FLAG_ELSEWHERE) {
		task->flags &= (uint8_t)~TASK_BEFORE;
		/* A task that ran on a listed CPU when the window closed has left it since. */
		if (!task->thread || task->state == THREAD_STATE_RUNNING)
			return 0;
		return emit_close(tl, task, task->last);
	}
	settle(task, r->flags & TASK_FLAG_LOST && task->state != THREAD_STATE_RUNNING);
	return handle_wakeup(tl, r->id, r->wake_clock, r->waker_tid);
}

int timeline_iterated(struct timeline *tl, const struct record_task *r)
{
	if (tl->error)
		return tl->error;
	if (!is_traced(r)) {
		names_add(&tl->threads->names, r->tid, r->comm);
		return 0;
	}
	return tl->error = tl->stopped ? iterated_after(tl, r) : iterated_before(tl, r);
}

void timeline_sleeps_at(struct timeline *tl, const struct record_stack *r)
{
	struct task *task =
		tl->error || !tl->stopped ? NULL : threads_task(tl->threads, r->head.id);
	uint64_t slept = r->head.clock, t0 = tl->options.t0;
	bool silent;

	if (!task || !task->id || task->flags & TASK_GONE || task->known)
		return;
	/* it has slept from before the window on, and gets a stream at the end */
	silent = tl->options.all_threads && !task->thread && slept <= t0 &&
		 task->flags & TASK_BEFORE && !(task->flags & TASK_RUNNABLE);
	if (!silent && (!task->thread || task->state != THREAD_STATE_PAUSED))
		return;
	/* of a sleep from before the window, the timeline has no clock */
	if (slept <= t0 ? task->out > t0 : task->out != slept)
		return;
	if (tl->t1 - later(slept, t0) >= tl->threads->session.info->stack_ns)
		handle_stack(tl, r);
}

void timeline_sleeps_in(struct timeline *tl, uint32_t id, uint16_t call, uint64_t object)
{
	struct task *task = tl->error || tl->stopped ? NULL : threads_task(tl->threads, id);

	if (!task || !task->id || task->thread || !(task->flags & TASK_BEFORE))
		return;
	task->call = call;
	task->object = object;
	task->kernel_lock = false;
	task->lock_owner = LOCK_OWNER_UNKNOWN;
}

/* ---- making and freeing ---- */

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
	tl->incomplete = options->cpu_filter;
	if (options->calls) {
		tl->calls = calls_new(options->calls);
		if (!tl->calls) {
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
	calls_free(tl->calls);
	free(tl);
}

const struct timeline_counts *timeline_counts(const struct timeline *tl)
{
	return &tl->counts;
}

const struct calls *timeline_calls(const struct timeline *tl)
{
	return tl->calls;
}
