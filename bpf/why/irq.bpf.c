// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * irq: the time that interrupt handlers take from each run of a thread (--why=irq).
 *
 * In: entry and exit of each handler, and each switch (at_switch.bpf.h); out: the sums of this CPU
 * (state.h), one RECORD_INTERRUPTS for each run that was interrupted, just before the record of the
 * switch that ends it, and a RECORD_INTERRUPT for each long handler. With --why=irq these programs
 * replace those of interrupt.bpf.c: they also keep the depth that tells whether an interrupt wakes.
 * The softirqs of ksoftirqd are its own work. An interrupt in the middle of enter() or leave() may
 * count up to its own length twice: one in 10^4. Specification: why.md A6, and part B; ebpf.md 8.2.
 */
#include "bpf/cost.bpf.h"
#include "bpf/emit.bpf.h"
#include "bpf/state.h"
#include "bpf/target.bpf.h"
#include "bpf/why/at_switch.bpf.h"

/* Adds the time up to now to the handler that runs. */
static __always_inline void charge(struct cpu_irqs *irq, __u64 now)
{
	__u64 ns = now - irq->since;
	__u32 depth = irq->depth;

	irq->since = now;
	if (!depth)
		return;
	__u32 kind = irq->nested[(depth - 1) & (IRQ_NESTED - 1)] & (IRQ_KINDS - 1);

	irq->kinds[kind].ns += ns;
	irq->ns += ns;
	if (kind < IRQ_LOCAL_TIMER)
		irq->softirq_ns += ns;
}

static __always_inline void enter(struct cpu_state *cpu, __u64 now, __u32 kind)
{
	struct cpu_irqs *irq = this_cpu_irqs();

	cpu->interrupt++;
	if (!irq)
		return;
	charge(irq, now);
	if (irq->ns == irq->run_ns)
		irq->first = now;
	kind &= IRQ_KINDS - 1;
	irq->kinds[kind].times++;
	irq->nested[irq->depth & (IRQ_NESTED - 1)] = kind;
	irq->entered[irq->depth & (IRQ_NESTED - 1)] = now;
	irq->depth++;
}

/* The handler at the depth in `kept` was long: it is recorded if it has interrupted a recorded
 * task.
 */
static __noinline int report_long(struct cpu_state *cpu, struct cpu_irqs *irq,
				  struct irq_kept *kept)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_state *task_state = task->pid ? task_state_of(task) : NULL;

	if (!task_state || !task_state->id || cpu_left_out(cpu) || kept->depth >= IRQ_NESTED)
		return 0;
	if (task_state->ksoftirqd &&
	    (kept->depth ? irq->nested[0] : kept->kind) < IRQ_LOCAL_TIMER && !kept->depth--)
		return 0; /* its own work */
	kept->id = task_state->id;
	long_irq_ended(cpu, irq, kept);
	return 0;
}

static __always_inline void leave(struct cpu_state *cpu, __u64 now)
{
	struct cpu_irqs *irq = this_cpu_irqs();

	if (cpu->interrupt)
		cpu->interrupt--;
	if (!irq || !irq->depth)
		return;
	charge(irq, now);
	__u32 depth = irq->depth - 1, at = depth & (IRQ_NESTED - 1);
	__u64 begin = irq->entered[at];
	__u16 kind = irq->nested[at];

	barrier(); /* from here on the next handler has this depth */
	*(volatile __u32 *)&irq->depth = depth;
	if (settings.irq_ns && unlikely(now - begin >= settings.irq_ns)) {
		struct irq_kept kept = {.begin = begin, .end = now, .kind = kind, .depth = depth};

		report_long(cpu, irq, &kept);
	}
}

/* The clock first: what these programs do on cold caches belongs to the handler, too. */
#define EXIT(name)                                                                                 \
	SEC("tp_btf/" #name "_exit") int irq_##name##_exit(void *ctx)                              \
	{                                                                                          \
		__u64 now = bpf_ktime_get_ns();                                                    \
                                                                                                   \
		TIMED(PROGRAMS_INTERRUPT, leave, now);                                             \
	}
#define PAIR(name, kind)                                                                           \
	EXIT(name)                                                                                 \
	SEC("tp_btf/" #name "_entry") int irq_##name##_entry(__u64 *ctx)                           \
	{                                                                                          \
		__u64 now = bpf_ktime_get_ns();                                                    \
                                                                                                   \
		TIMED(PROGRAMS_INTERRUPT, enter, now, kind);                                       \
	}

/* The first argument is the vector, or the line. */
static __always_inline __u32 kind_of_vector(__u64 vector)
{
	return vector < IRQ_LOCAL_TIMER ? IRQ_SOFTIRQ + vector : IRQ_DEVICES;
}

static __always_inline __u32 kind_of_line(__u64 line)
{
	return line < IRQ_KINDS - IRQ_LINE ? IRQ_LINE + line : IRQ_DEVICES;
}

PAIR(irq_handler, kind_of_line(*(__u32 *)ctx))
PAIR(softirq, kind_of_vector(*(__u32 *)ctx))
PAIR(local_timer, IRQ_LOCAL_TIMER)
PAIR(irq_work, IRQ_WORK)
PAIR(call_function, IRQ_CALL_FUNCTION)
PAIR(call_function_single, IRQ_CALL_FUNCTION_SINGLE)
PAIR(reschedule, IRQ_RESCHEDULE)

/* At both ends of the window, on each CPU, just before the snapshot: in an interrupt, too. */
SEC("raw_tp")
int irq_snapshot(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct cpu_state *cpu = this_cpu_state();
	struct cpu_irqs *irq = this_cpu_irqs();

	if (!cpu || !irq || !emit_possible(cpu, sizeof(struct record_interrupts)))
		return 0;
	charge(irq, bpf_ktime_get_ns());
	if (irq->ns != irq->run_ns)
		irq_send(cpu, irq, task->pid ? task_state_of(task) : NULL);
	return 1;
}
