/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * sample: chooses K of N threads or calls (--sample K/N, --sample-seed S).
 *
 * In: a number (a tid, or the number of a call) and the seed; out: kept or not, K of N in the long
 * run. The same input has the same result on any machine, so user code and tests can compute which
 * threads the programs keep.
 */
#ifndef BPF_SAMPLE_H
#define BPF_SAMPLE_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#include <stdbool.h>
#endif

/* Spreads a number over all 64 bits: multiplications by odd numbers and shifts, each of which can
 * be undone, so that no two inputs meet. */
static inline __attribute__((always_inline)) __u64 sample_hash(__u64 number, __u64 seed)
{
	__u64 x = number ^ (seed * 0x9e3779b97f4a7c15ull);

	x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93ull;
	x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93ull;
	return x ^ (x >> 32);
}

static inline __attribute__((always_inline)) bool sample_keeps(__u64 number, __u64 seed, __u32 keep,
							       __u32 of)
{
	return sample_hash(number, seed) % of < keep;
}

#endif
