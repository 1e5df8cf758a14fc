/* SPDX-License-Identifier: MIT */
/*
 * actors: numbers for all threads that a page mentions.
 *
 * In: a tid, as an event of a stream means it; out: the number of the stream of that thread, or,
 * for a thread without a stream, a number from the number of streams on. Also numbers the looms and
 * the rows of CPUs. Memory follows threads and CPUs.
 */
#ifndef TOOLS_VIEW_ACTORS_H
#define TOOLS_VIEW_ACTORS_H

#include "trace/base/hash.h"
#include "trace/states/tid_names.h"

struct actor {		 /* without a stream */
	uint32_t stream; /* that mentions it */
	int32_t tid;
};

#define ACTORS_KNOWN 1024 /* found without the hash */

struct known_tid {
	int32_t tid; /* 0: none */
	uint32_t loom, number;
};

struct cpu_row {
	uint32_t loom;
	int32_t cpu; /* index in the loom, CPU_VIRTUAL or CPU_NONE */
};

struct actors {
	const struct source *source;
	struct state_walk walk;
	struct tid_names names;
	uint32_t *loom_of;  /* of each stream */
	int32_t *tid_of;    /* of each stream, or -1: close together, unlike the owners */
	const char **looms; /* their names, of an owner; "" without a name */
	size_t nlooms;
	struct actor *others; /* number: streams + index */
	size_t nothers;
	struct hash by_tid;   /* (loom, tid): number */
	struct cpu_row *cpus; /* in the order of their first use */
	size_t ncpus;
	struct hash by_cpu; /* (loom, cpu): row */
	struct known_tid known_tids[ACTORS_KNOWN];
	uint32_t known_cpus[ACTORS_KNOWN];
};

/* Returns 0, or -errno after one message; actors_fini() must follow in both cases. */
int actors_init(struct actors *actors, const struct source *source)
	__attribute__((warn_unused_result));
void actors_fini(struct actors *actors);

/* The number of thread `tid` (above 0), as an event of `stream` means it. UINT32_MAX without
 * memory. */
uint32_t actors_find(struct actors *actors, uint32_t stream, int32_t tid);
/* The row of a CPU of the loom of `stream`. UINT32_MAX without memory. */
uint32_t actors_cpu(struct actors *actors, uint32_t stream, int32_t cpu);

#endif
