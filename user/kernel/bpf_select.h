/* SPDX-License-Identifier: MIT */
/*
 * bpf_select: chooses the eBPF programs that a recording needs and this kernel can have.
 *
 * In: the options, and the types of the running kernel (BTF); out: the programs to load, marked in
 * the skeleton, and in struct bpf_load the facts that this kernel cannot give.
 * Invariant: only programs that some recorded event needs are loaded.
 * Specification: ebpf.md 3 "Portability of the programs".
 */
#ifndef USER_KERNEL_BPF_SELECT_H
#define USER_KERNEL_BPF_SELECT_H

#include <stdbool.h>
#include <stddef.h>

struct btf;
struct bpf_load;
struct options;

/* Chooses the programs by the recorded kinds and the tracepoints of this kernel. 0, or -errno after
 * one message. */
int programs_choose(struct bpf_load *bpf, const struct options *options)
	__attribute__((warn_unused_result));

/* Program number i, in the order of attaching; NULL: there are no more. */
const char *programs_name(size_t i);
/* Where it is attached; NULL: at no tracepoint, it is run in another way. */
const char *programs_tracepoint(size_t i);

/*
 * With yes to both questions, and a scheduler that adds up how long tasks wait, no program is
 * needed at wake-ups: the time at which the scheduler queued a woken thread is turned into
 * CLOCK_MONOTONIC (bpf/sched_clock.bpf.h). Specification: ebpf.md 5, 8.2; loom.md 12.
 */

/* True if a program can read the scheduler's clock, and this clock is the same on all CPUs, as
 * CLOCK_MONOTONIC is: the difference measured on one CPU is used by all. False also if this is
 * unknown. */
bool kernel_shows_sched_clock(const struct btf *btf);

/* Is the clock source `name` ("tsc"), and the scheduler's clock with it, the same on all CPUs? */
bool clock_source_is_global(const char *name);

#endif
