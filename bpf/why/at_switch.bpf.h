/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * at_switch: the records that parts of --why send at a switch, beside the record of the switch.
 *
 * Functions of the program that records switches, which has found the storage of both tasks: a
 * program of its own for each part would be called, and look for them, at each switch. The
 * constants of the parts that are not asked for are 0, and the verifier removes their instructions.
 * Before the record of the switch: the time that interrupts took from the run of prev (io.bpf.c and
 * irq.bpf.c have the other programs of these parts), and the request that next has waited for.
 * Behind it, as the task runs by then: the priority of next, if it is not that of its last such
 * record. Two words in the storage of the task stand for that record. With up to 64 CPUs they are
 * exact; with more, the second one is a hash.
 */
#ifndef BPF_WHY_AT_SWITCH_H
#define BPF_WHY_AT_SWITCH_H

#include "bpf/emit.bpf.h"
#include "bpf/priority.bpf.h"

/* ---- io ---- */

static __always_inline struct io_request *this_cpu_completed(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&io_completed, &zero);
}

/* The completion on this CPU has ended. */
static __always_inline void completion_ends(void)
{
	struct io_request *completed = this_cpu_completed();

	if (completed)
		completed->device = 0;
}

static __noinline int io_send(struct cpu_state *cpu, struct task_state *task_state)
{
	struct io_request io = task_state->io;
	struct record_io *record;

	task_state->io.device = 0;
	if (!task_state->id || cpu_left_out(cpu))
		return 0;
	cpu->events[EVENT_OTHER].seen++;
	record = emit_begin(cpu, RECORD_IO, EVENT_OTHER, sizeof(*record));
	if (!record)
		return 0;
	record->head.flags = 0;
	record->head.why = 0;
	record->head.id = task_state->id;
	record->io = io;
	emit_end(cpu);
	return 0;
}

/* A task clears in_iowait when it runs again. */
static __always_inline void io_at_switch(struct cpu_state *cpu, struct task_struct *next,
					 struct task_state *entering)
{
	completion_ends();
	if (unlikely(BPF_CORE_READ_BITFIELD(next, in_iowait)) && entering && entering->io.device)
		io_send(cpu, entering);
}

/* ---- irq ---- */

/* Records what the present run of a task has lost, and begins anew. */
static __noinline int irq_send(struct cpu_state *cpu, struct cpu_irqs *irq,
			       struct task_state *task_state)
{
	__u64 ns = irq->ns - irq->run_ns, softirq = irq->softirq_ns - irq->run_softirq;
	struct record_interrupts *record;

	irq->run_ns = irq->ns;
	irq->run_softirq = irq->softirq_ns;
	if (!task_state || !task_state->id || cpu_left_out(cpu))
		return 0;
	if (task_state->ksoftirqd)
		ns -= softirq;
	if (!ns)
		return 0;
	cpu->events[EVENT_OTHER].seen++;
	record = emit_begin(cpu, RECORD_INTERRUPTS, EVENT_OTHER, sizeof(*record));
	if (!record)
		return 0;
	record->head.flags = 0;
	record->head.why = 0;
	record->head.id = task_state->id;
	record->first = irq->first;
	record->ns = ns;
	emit_end(cpu);
	return 0;
}

static __always_inline void irq_at_switch(struct cpu_state *cpu, struct task_state *leaving)
{
	struct cpu_irqs *irq = this_cpu_irqs();

	if (!irq)
		return;
	irq->depth = 0; /* no handler lasts across a switch */
	if (unlikely(irq->ns != irq->run_ns))
		irq_send(cpu, irq, leaving);
}

/* ---- prio ---- */

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

/* Sends the priority of the task that runs here, if it is not that of its last record. */
static __always_inline void priority_compare(struct cpu_state *cpu, struct task_struct *task,
					     struct task_state *task_state)
{
	__u64 priority, cpus;

	if (!task_state || cpu_left_out(cpu))
		return;
	priority = priority_word(task);
	cpus = may_run_on(task);
	if (unlikely(priority != task_state->priority || cpus != task_state->may_run_on))
		priority_send(cpu, task_state, task, priority, cpus);
}

#endif
