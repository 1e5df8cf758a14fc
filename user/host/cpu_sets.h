/* SPDX-License-Identifier: MIT */
/*
 * cpu_sets: sets of CPUs on which threads may run, with a number for each different one.
 *
 * In: the bits of a set, by the kernel's numbers of CPUs; out: its number, from 1 on in the order
 * of first sight, and its list as taskset(1) prints it. CPUs that are not online do not count. Sets
 * beyond CPU_SETS_MAX share one number. Specification: event-mapping.md "The priority of a thread".
 */
#ifndef USER_HOST_CPU_SETS_H
#define USER_HOST_CPU_SETS_H

#include <stdint.h>

#define CPU_SETS_MAX	 255 /* with a number of their own; all others are one more */
#define CPU_SETS_NUMBERS (CPU_SETS_MAX + 2)
#define CPU_SETS_WORDS	 16  /* 1,024 CPUs */
#define CPU_SETS_TEXT	 512 /* bytes of the longest list, with its NUL */

struct topology;

struct cpu_sets { /* zeroed: none. A set stays as it is: another thread may read it */
	uint16_t n;
	uint64_t cpus[CPU_SETS_MAX][CPU_SETS_WORDS];
};

/* The number of the set in `bits`, of which `words` are valid. */
uint16_t cpu_sets_number(struct cpu_sets *sets, const struct topology *topology,
			 const uint64_t *bits, unsigned words);

/* "0-3,8"; "..." ends a list that is too long. */
void cpu_sets_text(const struct cpu_sets *sets, uint16_t number, char text[CPU_SETS_TEXT]);

#endif
