// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * interrupt: does this CPU run an interrupt handler now, or its current task?
 *
 * A depth per CPU, kept by the pairs of tracepoints around the handlers that can wake a task.
 * The exits are attached before the entries, so that no entry is left without its exit. A switch
 * never happens inside a handler and sets the depth to zero (record_switch.bpf.c): an error does
 * not outlive the next switch. The reschedule interrupt has no handler that wakes.
 * Specification: ebpf.md 8.2.
 */
#include "cost.bpf.h"

static __always_inline void enter(struct cpu_state *cpu)
{
	cpu->interrupt++;
}

static __always_inline void leave(struct cpu_state *cpu)
{
	if (cpu->interrupt)
		cpu->interrupt--;
}

#define PAIR(name)                                                                                 \
	SEC("tp_btf/" #name "_exit") int name##_exit(void *ctx)                                    \
	{                                                                                          \
		TIMED(PROGRAMS_INTERRUPT, leave);                                                  \
	}                                                                                          \
	SEC("tp_btf/" #name "_entry") int name##_entry(void *ctx)                                  \
	{                                                                                          \
		TIMED(PROGRAMS_INTERRUPT, enter);                                                  \
	}

PAIR(irq_handler)
PAIR(softirq)
PAIR(local_timer)
PAIR(irq_work)
PAIR(call_function)
PAIR(call_function_single)
