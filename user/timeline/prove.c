/* SPDX-License-Identifier: MIT */
/* prove: see prove.h. */
#include "user/timeline/prove.h"

#include <errno.h>
#include <stdlib.h>

#include "trace/base/array.h"
#include "trace/base/log.h"
#include "user/host/topology.h"

struct cpu *new_cpu(struct timeline *tl, unsigned number)
{
	int32_t index = topology_index(tl->topology, number);
	struct cpu *cpu = NULL, **by_number, **by_index, **added;

	if (index < 0) {
		log_error("cannot record CPU %u: out of memory, or its number is too large",
			  number);
		return NULL;
	}
	by_number = pages_more(tl->by_number, &tl->numbers, number);
	if (!by_number)
		goto no_memory;
	tl->by_number = by_number;
	by_index = pages_more(tl->by_index, &tl->indices, (size_t)index);
	if (!by_index)
		goto no_memory;
	tl->by_index = by_index;
	cpu = calloc(1, sizeof(*cpu));
	added = cpu ? ARRAY_ADD(tl->cpus, tl->ncpus) : NULL;
	if (!added)
		goto no_memory;
	cpu->last = cpu->since = tl->options.t0;
	cpu->counts.cpu = number;
	cpu->counts.index = index;
	by_number[number] = by_index[index] = *added = cpu;
	return cpu;
no_memory:
	log_no_memory("for CPU %u", number);
	free(cpu);
	return NULL;
}

/* The CPU with the kernel's `number`, made at its first record. NULL after one message. */
/* The CPU of a running task; NULL on the virtual one, and if it does not run. */
static struct cpu *cpu_of(const struct timeline *tl, const struct task *task)
{
	return task->state == THREAD_STATE_RUNNING && task->cpu >= 0 ? tl->by_index[task->cpu]
								     : NULL;
}

/* ---- repairs ---- */

void count_repair(struct timeline *tl, struct cpu *cpu, struct task *task)
{
	tl->counts.repairs++;
	if (task->thread)
		task->thread->repairs++;
	if (cpu)
		cpu->counts.repairs++;
}

int leave_unseen(struct timeline *tl, struct task *task, uint64_t clock)
{
	struct cpu *cpu = tl->by_index[task->cpu];
	int err;

	lose_state(task, task->in); /* it may have left right after its last record */
	err = emit_leave(tl, task, clock, OFF_CPU_LOST, -1, false);
	forget_sleep(task);
	task->out = clock;
	cpu->use = CPU_UNKNOWN;
	cpu_add_time(cpu, clock);
	cpu->last = task->last;
	cpu->on = NULL;
	count_repair(tl, cpu, task);
	return err;
}

int prove_running(struct timeline *tl, struct cpu *cpu, struct task *task, uint64_t clock)
{
	uint64_t enter = earlier_by(clock, 1);
	int err;

	if (unlikely(tl->options.no_switches)) {
		if (!task || task->state == THREAD_STATE_RUNNING)
			return 0;
		return emit_execute(tl, task, -1, clock);
	}
	if (cpu->on == task)
		return 0;
	err = cpu->on ? leave_unseen(tl, cpu->on, earlier_by(clock, 2)) : 0;
	if (err || !task)
		return err;
	if (task->state == THREAD_STATE_RUNNING) {
		err = leave_unseen(tl, task, earlier_by(clock, 2));
		if (err)
			return err;
	}
	if (task->flags & TASK_JOINED && cpu->use == CPU_OTHER &&
	    (cpu->tid == task->tid || tl->options.some_threads)) {
		enter = later(task->joined, cpu->since); /* it ran there before it was traced */
	} else {
		cpu->use = CPU_UNKNOWN;
		count_repair(tl, cpu, task);
		if (task->state == THREAD_STATE_PAUSED || task->state == THREAD_STATE_WARMING)
			lose_state(task, task->out);
	}
	task->flags &= (uint8_t)~TASK_JOINED;
	cpu_add_time(cpu, enter);
	err = emit_enter(tl, task, cpu->counts.index, later(enter, cpu->last + 1), 0, 0);
	cpu->last = task->last;
	cpu_runs(tl, cpu, task, task->tid);
	if (task->known)
		cpu->use = CPU_UNKNOWN;
	return err;
}

/* ---- identity ---- */

int end_stream(struct timeline *tl, struct task *task, uint64_t clock)
{
	struct cpu *cpu = cpu_of(tl, task);
	int err;

	if (cpu)
		cpu_add_time(cpu, clock < tl->now ? clock : tl->now);
	calls_account(tl, task, clock);
	err = emit_close(tl, task, clock);
	calls_forget(task);
	if (cpu) {
		cpu->last = task->last;
		cpu_runs(tl, cpu, NULL, task->tid);
	}
	return err ? err : threads_unbind(tl->threads, task);
}

void forget_task(struct timeline *tl, struct task *task)
{
	struct cpu *cpu = cpu_of(tl, task);

	if (cpu)
		cpu_runs(tl, cpu, NULL, task->tid);
	threads_release(tl->threads, task);
}

int get_stream(struct timeline *tl, struct task *task, uint64_t clock, bool before)
{
	struct thread *thread = threads_find(tl->threads, task->pid, task->tid);
	struct task *owner = thread ? thread->owner : NULL;
	int err;

	if (owner) {
		/* With a list of CPUs it may have died where nothing is recorded. */
		if (tl->options.cpu_filter && owner->state != THREAD_STATE_RUNNING) {
			err = end_stream(tl, owner, owner->last);
		} else {
			count_repair(tl, NULL, owner);
			err = end_stream(tl, owner, clock);
		}
		owner->flags |= TASK_GONE;
		if (err)
			return err;
	}
	return emit_bind(tl, task, clock, before);
}

/* A task that has taken the tid of its leader (exec) continues in the leader's stream. */
static int change_stream(struct timeline *tl, struct task *task, uint32_t pid, uint32_t tid,
			 uint64_t clock)
{
	struct cpu *cpu = cpu_of(tl, task);
	int err = end_stream(tl, task, clock);

	task->pid = pid;
	task->tid = tid;
	task->creator_tid = -1;
	if (err)
		return err;
	err = get_stream(tl, task, clock, false);
	if (err || !cpu)
		return err;
	err = emit_enter(tl, task, cpu->counts.index, cpu->last + 1, 0, 0);
	cpu->last = task->last;
	cpu_runs(tl, cpu, task, tid);
	return err;
}

int make_ready(struct timeline *tl, struct task *task, uint32_t id, uint32_t pid, uint32_t tid,
	       uint64_t clock, bool dying, struct task **out)
{
	bool before;

	*out = NULL;
	if (task->flags & TASK_GONE || !valid_numbers(pid, tid))
		return 0;
	*out = task;
	if (!task->id)
		threads_use(tl->threads, task, id, pid, tid);
	if (dying || task->flags & TASK_EXITING) {
		/* A thread that calls exec() takes the tid of the leader, which has the other tid
		 * for its last steps: they belong to the stream of the leader. */
		pid = task->pid;
		tid = task->tid;
	}
	if (task->key == thread_key(pid, tid))
		return 0;
	if (task->key)
		return change_stream(tl, task, pid, tid, clock);
	task->pid = pid;
	task->tid = tid;
	before = task->flags & TASK_BEFORE && !tl->options.no_switches;
	return get_stream(tl, task, clock, before);
}

int open_window(struct timeline *tl)
{
	uint64_t t0 = tl->options.t0;
	int err;

	tl->open = true;
	for (unsigned i = 0; i < tl->ncpus; i++) {
		struct cpu *cpu = tl->cpus[i];
		struct task *task = cpu->on;

		if (!task)
			continue;
		task->state = THREAD_STATE_UNKNOWN;
		err = get_stream(tl, task, t0, false);
		if (err)
			return err;
		err = emit_execute(tl, task, cpu->counts.index, t0);
		if (err)
			return err;
	}
	return 0;
}

/* ---- losses ---- */

int begin_gap(struct timeline *tl, struct cpu *cpu, struct task *task, uint64_t clock)
{
	uint64_t from = later(cpu->gap_clock, tl->options.t0);

	return emit_gap(tl, task, MCV('O', 'M', '['), from < clock ? from : clock, cpu->gap);
}

int end_gap(struct timeline *tl, struct cpu *cpu, struct task *task, uint64_t clock)
{
	uint64_t count = cpu->gap;

	cpu->gap = 0;
	return emit_gap(tl, task, MCV('O', 'M', ']'), clock, count);
}

int show_gap(struct timeline *tl, struct cpu *cpu, struct task *task, uint64_t clock)
{
	int err = begin_gap(tl, cpu, task, clock);

	return err ? err : end_gap(tl, cpu, task, clock);
}

/* The kernel model accepts no ovni event while the thread is out of the CPU: there the mark comes
 * after the repair. */
int prove_after_gap(struct timeline *tl, struct cpu *cpu, struct task *task, uint64_t clock)
{
	int err;

	if (!cpu->gap || !task)
		return prove_running(tl, cpu, task, clock);
	if (tl->options.kernel_model) {
		err = prove_running(tl, cpu, task, clock);
		return err ? err : show_gap(tl, cpu, task, clock);
	}
	err = begin_gap(tl, cpu, task, clock);
	if (err)
		return err;
	err = prove_running(tl, cpu, task, clock);
	return err ? err : end_gap(tl, cpu, task, clock);
}
