/* SPDX-License-Identifier: MIT */
/*
 * sched_clock: can a program in the kernel tell our clock from the scheduler's?
 *
 * In: what the kernel tells of its types, and the clock that the machine uses; out: yes or no. With
 * yes, the time at which the scheduler put a woken thread on a queue is turned into CLOCK_MONOTONIC
 * (bpf/sched_clock.bpf.h), and no program is needed at wake-ups. That takes clocks that are the
 * same on all CPUs: what one of them found out is used by all. Specification: ebpf.md 5 (what a
 * program at a tracepoint costs), 8.2.
 */
#ifndef USER_KERNEL_SCHED_CLOCK_H
#define USER_KERNEL_SCHED_CLOCK_H

#include <stdbool.h>

struct btf;

/* Is `name`, as the kernel calls the clock it uses ("tsc"), the same on all CPUs together with the
 * scheduler's? */
bool sched_clock_global(const char *name);

/* `btf`: of the kernel; not kept. False also if it cannot be found out. */
bool sched_clock_readable(const struct btf *btf);

#endif
