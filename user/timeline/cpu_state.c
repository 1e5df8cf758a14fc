/* SPDX-License-Identifier: MIT */
/* cpu_state: see cpu_state.h. */
#include <errno.h>
#include <stdlib.h>

#include "user/timeline/cpu_state.h"
#include "user/host/topology.h"
#include "trace/base/log.h"

/* Makes array[i] a place, with NULL in the new ones. */
static int reach(struct cpu ***array, unsigned *size, unsigned i)
{
	unsigned want = *size ? *size : 16;
	struct cpu **grown;

	if (i < *size)
		return 0;
	while (want <= i)
		want *= 2;
	grown = reallocarray(*array, want, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	while (*size < want)
		grown[(*size)++] = NULL;
	*array = grown;
	return 0;
}

struct cpu *belief_new_cpu(struct timeline *tl, unsigned number)
{
	int32_t index = topology_index(tl->topology, number);
	struct cpu *cpu;

	if (index < 0) {
		log_error("cannot record CPU %u: out of memory, or its number is too large",
			  number);
		return NULL;
	}
	cpu = calloc(1, sizeof(*cpu));
	if (!cpu || reach(&tl->by_number, &tl->numbers, number) ||
	    reach(&tl->by_index, &tl->indices, (unsigned)index) ||
	    reach(&tl->cpus, &tl->room, tl->ncpus)) {
		log_no_memory("for CPU %u", number);
		free(cpu);
		return NULL;
	}
	cpu->last = cpu->since = tl->options.t0;
	cpu->account.cpu = number;
	cpu->account.index = index;
	tl->by_number[number] = tl->by_index[index] = tl->cpus[tl->ncpus++] = cpu;
	return cpu;
}

/* The CPU that a running task has; NULL on the virtual one, and if it does not run. */
static struct cpu *cpu_of(const struct timeline *tl, const struct task *task)
{
	return task->state == THREAD_STATE_RUNNING && task->cpu >= 0 ? tl->by_index[task->cpu]
								     : NULL;
}

/* ---- repairs ---- */

void belief_count_repair(struct timeline *tl, struct cpu *cpu, struct task *task)
{
	tl->counts.repairs++;
	if (task->thread)
		task->thread->repairs++;
	if (cpu)
		cpu->account.repairs++;
}

int belief_expel(struct timeline *tl, struct task *task, uint64_t clock)
{
	struct cpu *cpu = tl->by_index[task->cpu];
	int err = move_out(&tl->moves, task, clock, OFF_CPU_LOST, -1);

	task->out = clock;
	cpu->use = CPU_UNKNOWN; /* since the last record that told: it may have left at once */
	cpu_charge(cpu, clock);
	cpu->last = task->last;
	cpu->on = NULL;
	belief_count_repair(tl, cpu, task);
	return err;
}

int belief_prove(struct timeline *tl, struct cpu *cpu, struct task *task, uint64_t clock)
{
	uint64_t enter = earlier_by(clock, 1);
	int err = 0;

	if (unlikely(tl->options.no_switches)) {
		if (!task || task->state == THREAD_STATE_RUNNING)
			return 0;
		return move_begin(&tl->moves, task, -1, clock);
	}
	if (cpu->on == task)
		return 0;
	if (cpu->on)
		err = belief_expel(tl, cpu->on, earlier_by(clock, 2));
	if (!err && task && task->state == THREAD_STATE_RUNNING)
		err = belief_expel(tl, task, earlier_by(clock, 2));
	if (err || !task)
		return err;
	if (task->flags & TASK_JOINED && cpu->use == CPU_OTHER &&
	    (cpu->tid == task->tid || tl->options.some_threads)) {
		enter = later(task->joined, cpu->since); /* it was there before it was wanted */
	} else {
		cpu->use = CPU_UNKNOWN;
		belief_count_repair(tl, cpu, task);
	}
	task->flags &= (uint8_t)~TASK_JOINED;
	cpu_charge(cpu, enter);
	err = move_in(&tl->moves, task, cpu->account.index, later(enter, cpu->last + 1), 0, 0);
	cpu->last = task->last;
	cpu_occupy(tl, cpu, task, task->tid);
	return err;
}

/* ---- identity ---- */

int belief_give_up(struct timeline *tl, struct task *task, uint64_t clock)
{
	struct cpu *cpu = cpu_of(tl, task);
	int err;

	if (cpu)
		cpu_charge(cpu, clock < tl->now ? clock : tl->now);
	calls_account(tl, task, clock);
	err = move_close(&tl->moves, task, clock);
	calls_forget(task);
	if (cpu) {
		cpu->last = task->last;
		cpu_occupy(tl, cpu, NULL, task->tid);
	}
	return err ? err : threads_unbind(tl->threads, task);
}

void belief_forget(struct timeline *tl, struct task *task)
{
	struct cpu *cpu = cpu_of(tl, task);

	if (cpu)
		cpu_occupy(tl, cpu, NULL, task->tid);
	threads_release(tl->threads, task);
}

/* If another task still has the stream, its tid has been given away: it is dying, and only its last
 * switch has not been seen. */
int belief_bind(struct timeline *tl, struct task *task, uint64_t clock, bool before)
{
	struct thread *thread = threads_find(tl->threads, task->pid, task->tid);
	struct task *owner = thread ? thread->owner : NULL;
	int err;

	if (owner) {
		/* With a list of CPUs it may have died where nothing is recorded. */
		if (tl->options.cpu_filter && owner->state != THREAD_STATE_RUNNING) {
			err = belief_give_up(tl, owner, owner->last);
		} else {
			belief_count_repair(tl, NULL, owner);
			err = belief_give_up(tl, owner, clock);
		}
		owner->flags |= TASK_GONE;
		if (err)
			return err;
	}
	return move_bind(&tl->moves, task, clock, before);
}

/* A task that has taken the tid of its leader (exec) goes on in the leader's stream. */
static int change_stream(struct timeline *tl, struct task *task, uint32_t pid, uint32_t tid,
			 uint64_t clock)
{
	struct cpu *cpu = cpu_of(tl, task);
	int err = belief_give_up(tl, task, clock);

	task->pid = pid;
	task->tid = tid;
	task->creator_tid = -1;
	if (!err)
		err = belief_bind(tl, task, clock, false);
	if (err || !cpu)
		return err;
	err = move_in(&tl->moves, task, cpu->account.index, cpu->last + 1, 0, 0);
	cpu->last = task->last;
	cpu_occupy(tl, cpu, task, tid);
	return err;
}

int belief_ready(struct timeline *tl, struct task *task, uint32_t id, uint32_t pid, uint32_t tid,
		 uint64_t clock, bool dying, struct task **out)
{
	bool before;

	*out = NULL;
	if (task->flags & TASK_GONE || !belief_numbers(pid, tid))
		return 0;
	*out = task;
	if (!task->id)
		threads_use(tl->threads, task, id, pid, tid);
	if (dying || task->flags & TASK_EXITING) {
		/* The leader of a process that another thread of it takes over has that one's
		 * tid for its last steps: they belong to its own stream. */
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
	return belief_bind(tl, task, clock, before);
}

/* ---- losses ---- */

/* The gap of this CPU is shown in the stream of `task`, from its first loss to `clock`. */
static int open_gap(struct timeline *tl, struct cpu *cpu, struct task *task, uint64_t clock)
{
	uint64_t from = later(cpu->gap_clock, tl->options.t0);

	return move_gap_opens(&tl->moves, task, from < clock ? from : clock, cpu->gap);
}

static int close_gap(struct timeline *tl, struct cpu *cpu, struct task *task, uint64_t clock)
{
	uint64_t count = cpu->gap;

	cpu->gap = 0;
	return move_gap_closes(&tl->moves, task, clock, count);
}

/* No ovni event is accepted while the kernel model says out of the CPU: there the mark waits
 * for the way in. */
int belief_prove_after_gap(struct timeline *tl, struct cpu *cpu, struct task *task, uint64_t clock)
{
	bool late = tl->options.kernel_model;
	int err = 0;

	if (!cpu->gap || !task)
		return belief_prove(tl, cpu, task, clock);
	if (!late)
		err = open_gap(tl, cpu, task, clock);
	if (!err)
		err = belief_prove(tl, cpu, task, clock);
	if (!err && late)
		err = open_gap(tl, cpu, task, clock);
	return err ? err : close_gap(tl, cpu, task, clock);
}

int belief_show_gap(struct timeline *tl, struct cpu *cpu, struct task *task, uint64_t clock)
{
	int err = open_gap(tl, cpu, task, clock);

	return err ? err : close_gap(tl, cpu, task, clock);
}
