/* SPDX-License-Identifier: MIT */
/*
 * run_delay: does the scheduler add up how long each task has waited for a CPU?
 *
 * In: /proc/self/schedstat and what the kernel tells of its types; out: yes or no. With yes, no
 * program is needed at wake-ups: a thread that slept was woken so long before it ran.
 * Specification: ebpf.md 5 (what a program at a tracepoint costs), loom.md 12.
 */
#ifndef USER_KERNEL_RUN_DELAY_H
#define USER_KERNEL_RUN_DELAY_H

#include <stdbool.h>

struct btf;

/* `btf`: of the kernel; not kept. False also if it cannot be found out. */
bool run_delay_kept(const struct btf *btf);

#endif
