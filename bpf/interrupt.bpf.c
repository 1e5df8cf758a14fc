// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * interrupt: does this CPU run an interrupt handler now, or the task it shows?
 *
 * A depth per CPU, kept by the pairs of tracepoints around the handlers that can wake a task.
 * The exits are attached before the entries, so that no entry is left without its exit; a
 * switch, which never happens inside a handler, sets the depth to zero (sched.bpf.c), so that
 * nothing wrong outlives the next switch. The reschedule interrupt has no handler that wakes.
 * Specification: ebpf.md 8.2.
 */
#include "counters.bpf.h"

static __always_inline int enter(void)
{
	struct cpu_state *state = cpu_state(bpf_get_smp_processor_id());

	__u64 begin;

	if (!state)
		return 0;
	begin = cost_begin(state, PROGRAMS_INTERRUPT);
	state->interrupt++;
	cost_end(state, PROGRAMS_INTERRUPT, begin);
	return 0;
}

static __always_inline int leave(void)
{
	struct cpu_state *state = cpu_state(bpf_get_smp_processor_id());
	__u64 begin;

	if (!state)
		return 0;
	begin = cost_begin(state, PROGRAMS_INTERRUPT);
	if (state->interrupt)
		state->interrupt--;
	cost_end(state, PROGRAMS_INTERRUPT, begin);
	return 0;
}

#define PAIR(name)                                                                                 \
	SEC("tp_btf/" #name "_exit") int name##_exit(void *ctx)                                    \
	{                                                                                          \
		return leave();                                                                    \
	}                                                                                          \
	SEC("tp_btf/" #name "_entry") int name##_entry(void *ctx)                                  \
	{                                                                                          \
		return enter();                                                                    \
	}

PAIR(irq_handler)
PAIR(softirq)
PAIR(local_timer)
PAIR(irq_work)
PAIR(call_function)
PAIR(call_function_single)
