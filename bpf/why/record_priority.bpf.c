// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * record_priority: the priority of the task that has entered a CPU (--why=prio).
 *
 * Attached to sched_switch behind the program that records switches, so its record follows that of
 * the switch in the ring: the task runs by then. A program of its own, so that the others have the
 * same instructions with and without it. Two words in the storage of the task stand for the record
 * that was sent last: a task whose words are the same sends none. With up to 64 CPUs the words are
 * exact; with more, the second one is a hash.
 */
#include "bpf/cost.bpf.h"
#include "bpf/priority.bpf.h"
#include "bpf/target.bpf.h"

#define HASH_FACTOR 0x9e3779b97f4a7c15ull

/* Never 0. */
static __always_inline __u64 priority_word(struct task_struct *task)
{
	return ((__u64)task->policy & 0xff) << 48 | ((__u64)task->prio & 0xffff) << 32 |
	       ((__u64)task->normal_prio & 0xffff) << 16 | (__u64)(task->static_prio & 0xffff);
}

static __always_inline __u64 may_run_on(struct task_struct *task)
{
	const unsigned long *bits = (const void *)&task->cpus_mask;
	__u64 hash = 0;

	asm volatile("" : "+r"(bits)); /* the address is relocated, not each load: an array */
#pragma unroll
	for (int i = 0; i < PRIORITY_CPU_WORDS; i++) {
		if (i >= settings.priority_words)
			break;
		hash = (hash ^ bits[i]) * HASH_FACTOR;
	}
	return hash;
}

/* Sends what has changed. Without space in the ring the next switch tries again. */
static __noinline int priority_send(struct cpu_state *cpu, struct task_state *task_state,
				    struct task_struct *task, __u64 priority, __u64 cpus)
{
	struct record_priority *record;

	if (!task_state->id || !emit_possible(cpu, sizeof(*record)))
		return 0;
	cpu->events[EVENT_OTHER].seen++;
	record = emit_begin(cpu, RECORD_PRIORITY, EVENT_OTHER, sizeof(*record));
	if (!record)
		return 0;
	priority_fill(record, task, task_state->id);
	emit_end(cpu);
	task_state->priority = priority;
	task_state->may_run_on = cpus;
	return 0;
}

static __always_inline void on_entered(struct cpu_state *cpu, struct task_struct *task)
{
	struct task_state *task_state;
	__u64 priority, cpus;

	if (!task->pid || cpu_left_out(cpu))
		return;
	task_state = task_state_of(task);
	if (!task_state)
		return;
	priority = priority_word(task);
	cpus = may_run_on(task);
	if (unlikely(priority != task_state->priority || cpus != task_state->may_run_on))
		priority_send(cpu, task_state, task, priority, cpus);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(record_priority, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	TIMED(PROGRAMS_SWITCH, on_entered, next);
}
