/* SPDX-License-Identifier: MIT */
/*
 * bpf_select: chooses the eBPF programs that a recording needs and this kernel can have.
 *
 * In: the options, and the types of the running kernel (BTF); out: the programs to load, marked in
 * the skeleton, and in the links what this kernel cannot tell.
 * Invariant: only programs that some recorded event needs are loaded.
 * Specification: ebpf.md 3 "Portability of the programs".
 */
#ifndef USER_KERNEL_BPF_SELECT_H
#define USER_KERNEL_BPF_SELECT_H

#include <stddef.h>

struct links;
struct options;

/* Chooses what is loaded, by what is recorded and what this kernel has. 0, or -errno after one
 * message. */
int programs_choose(struct links *links, const struct options *options)
	__attribute__((warn_unused_result));

/* Program number i, in the order of attaching; NULL: there are no more. */
const char *programs_name(size_t i);
/* Where it is attached; NULL: at no tracepoint, it is run in another way. */
const char *programs_tracepoint(size_t i);

#endif
