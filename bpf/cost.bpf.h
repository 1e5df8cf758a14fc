/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * cost: the time that our own programs take, from one run in 64.
 */
#ifndef BPF_COST_H
#define BPF_COST_H

#include "compat.bpf.h"

/* Is this run timed? One in 64 is, in steps of 34, 55 and 89 runs: events that alternate must not
 * be timed at every second turn. */
static __always_inline bool cost_timed(__u64 run)
{
	return unlikely(!((__u32)run * 0x9e3779b9u >> 26));
}

/* A run begins: returns the clock, or 0 if it is not timed. For cost_end(). */
static __always_inline __u64 cost_begin(struct cpu_state *cpu, enum program_group group)
{
	return cost_timed(++cpu->runs[group]) ? bpf_ktime_get_ns() : 0;
}

static __always_inline void cost_end(struct cpu_state *cpu, enum program_group group, __u64 begin)
{
	struct program_cost *cost = &cpu->costs[group];

	if (likely(!begin))
		return;
	cost->timed_ns += bpf_ktime_get_ns() - begin;
	cost->timed_runs++;
}

/* Runs `function(cpu, ...)` on the state of this CPU, and times it. */
#define RUN_TIMED(group, function, ...)                                                            \
	do {                                                                                       \
		struct cpu_state *cpu = this_cpu_state();                                          \
                                                                                                   \
		if (cpu) {                                                                         \
			__u64 begin = cost_begin(cpu, group);                                      \
                                                                                                   \
			function(cpu, ##__VA_ARGS__);                                              \
			cost_end(cpu, group, begin);                                               \
		}                                                                                  \
	} while (0)

/* The body of a program that runs in a switch, in a wake-up or in an interrupt. */
#define TIMED(...)                                                                                 \
	do {                                                                                       \
		RUN_TIMED(__VA_ARGS__);                                                            \
		return 0;                                                                          \
	} while (0)

/* The body of a program that runs in the context of a task. */
#define TIMED_IN_TASK(...)                                                                         \
	do {                                                                                       \
		kernel_preempt_disable();                                                          \
		RUN_TIMED(__VA_ARGS__);                                                            \
		kernel_preempt_enable();                                                           \
		return 0;                                                                          \
	} while (0)

#endif
