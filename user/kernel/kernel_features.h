/* SPDX-License-Identifier: MIT */
/*
 * kernel_features: can the scheduler's own clocks tell when a thread was woken?
 *
 * In: /proc/self/schedstat, the clock source, and the kernel's types; out: yes or no. With yes to
 * both questions no program is needed at wake-ups: the time at which the scheduler put a woken
 * thread on a queue is turned into CLOCK_MONOTONIC (bpf/sched_clock.bpf.h).
 * Specification: ebpf.md 5 (what a program at a tracepoint costs), 8.2; loom.md 12.
 */
#ifndef USER_KERNEL_KERNEL_FEATURES_H
#define USER_KERNEL_KERNEL_FEATURES_H

#include <stdbool.h>

struct btf;

/* `btf` is that of the kernel. Both return false also if they cannot find out. */

/* Does the scheduler add up how long each task has waited for a CPU? */
bool kernel_keeps_run_delay(const struct btf *btf);

/* Can a program read the scheduler's clock, and is it the same on all CPUs, as ours is? A
 * difference that one CPU has measured is used by all. */
bool kernel_shows_sched_clock(const struct btf *btf);

/* Is the clock source `name` ("tsc"), and the scheduler's clock with it, the same on all CPUs? */
bool clock_source_is_global(const char *name);

#endif
