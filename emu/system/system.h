/* SPDX-License-Identifier: MIT */
/*
 * system: looms, processes, threads and CPUs, from the metadata of the streams.
 *
 *   stream.json of every stream ──► system_add() ──► system_finish(): checks, order, numbers
 *
 * In: metadata documents, in the sorted order of the streams; out: flat arrays in the
 * order of the specification. Invariants: the index in an array is the gindex; memory follows the
 * number of streams, and no document is kept.
 * Specification: emulator.md 4.
 */
#ifndef EMU_SYSTEM_SYSTEM_H
#define EMU_SYSTEM_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/paraver/channel.h"
#include "trace/base/hash.h"
#include "trace/base/json.h"
#include "trace/ovni/clock_fix.h"
#include "trace/ovni/thread_state.h"

#define THREAD_OUT_OF_CPU 8 /* bit of thread->situation, above the states */

struct loom {
	char *name;
	struct clock_fix clock; /* of its streams */
	int64_t clock_bound;	/* ns by which it may be wrong; 0 if that is not known */
	struct cpu *cpus;	/* physical ones by phyid, then the virtual one */
	uint32_t ncpus;		/* physical */
	struct cpu **by_index;
	bool has_ranks;
	/* until system_finish() */
	struct cpu_pair *pairs;
	uint32_t npairs;
	uint32_t found;			   /* order of discovery */
	struct process_sort *first, *last; /* its processes; last: behind them */
	int64_t min_rank;
};

struct process {
	struct loom *loom;
	int32_t pid;
	int32_t app_id; /* 0: unknown */
	int32_t rank;	/* -1: none */
	int32_t nranks;
	int32_t shown_rank; /* in the names of rows: rank or bpf.rank; -1: none */
	uint32_t index;	    /* gindex */
};

#define CACHE_LINE 64

struct thread {		   /* two cache lines: data of every event, and of its lines */
	struct cpu *cpu;   /* NULL if none */
	uint8_t state;	   /* enum thread_state */
	uint8_t situation; /* state, and THREAD_OUT_OF_CPU */
	int32_t tid;
	struct slot *slots;    /* one per channel */
	uint64_t *has, *shown; /* bits of slots (channel.h) */
	struct process *process;
	uint32_t index; /* gindex */
	uint32_t stream;
	char *name; /* bpf.name or accel.label, NULL if none */
	struct prv_row row;
	int64_t last_cpu, last_state, last_tid; /* last values of types 6, 4, 2; -1: none */
} __attribute__((aligned(CACHE_LINE)));

struct cpu {
	struct thread *running; /* the only running thread, NULL if none or several */
	uint32_t nrunning;
	uint32_t mixed; /* XOR of the gindex of all running threads: with one, its gindex */
	int64_t last_tid, last_pid; /* last values of types 2 and 1 */
	int64_t last_count;	    /* last value of type 3; -1: none */
	struct cpu_slot *slots;	    /* one per channel */
	uint64_t *shown;
	struct prv_row row;
	struct loom *loom;
	int32_t phyid;	   /* -1: virtual */
	int32_t cpu_index; /* in the loom; -1: virtual */
	uint32_t index;	   /* gindex */
	uint32_t physical; /* number among the physical CPUs of all looms */
};

struct system {
	struct loom *looms;
	struct process *processes;
	struct thread *threads;
	struct cpu *cpus;
	uint32_t nlooms, nprocesses, nthreads, ncpus, nphysical;
	struct hash by_tid;    /* threads by loom and tid, and by process and tid */
	struct loom *left_out; /* looms whose streams were all left out: nleft_out of them */
	uint32_t nleft_out;
	struct clock_table clocks;	  /* of the looms; empty: there is none */
	struct thread **thread_of_stream; /* NULL: the stream has no thread */
	struct system_load *load;	  /* until system_finish() */
};

/* Returns 0, or -ENOMEM after a message; system_fini() must follow in both cases. */
int system_init(struct system *sys, size_t nstreams) __attribute__((warn_unused_result));
/*
 * Adds the metadata of a stream; the caller keeps `path` until system_finish(), for messages.
 * Streams with another part than `thread` are left out with a warning. Returns 0, or -errno after a
 * message.
 */
int system_add(struct system *sys, size_t stream, const struct json *meta, const char *path)
	__attribute__((warn_unused_result));
/* Adds only the CPUs that the stream lists for its loom. The same result. */
int system_add_cpus(struct system *sys, const struct json *meta, const char *path)
	__attribute__((warn_unused_result));
/* Checks, sorts and numbers all objects. Returns 0, or -errno after a message. */
int system_finish(struct system *sys) __attribute__((warn_unused_result));
/* Refuses a rank that is in two looms: both recorded the same processes, or they are of two runs.
 * 0, or -errno after a message that names both. */
int system_check_ranks(const struct system *sys) __attribute__((warn_unused_result));
void system_fini(struct system *sys);

/* The CPU with this index (-1: the virtual CPU) in the loom, or NULL. */
static inline struct cpu *loom_cpu(const struct loom *loom, int32_t index)
{
	if (index == -1)
		return &loom->cpus[loom->ncpus];
	if (index < 0 || (uint32_t)index >= loom->ncpus)
		return NULL;
	return loom->by_index[index];
}

/*
 * The thread `tid` of the process (unless that is NULL), else the first one of the processes of the
 * loom, in their order. NULL if there is none.
 */
struct thread *system_find_thread(const struct system *sys, const struct loom *loom,
				  const struct process *process, int32_t tid);

/* ---- the clocks of the looms ---- */

/*
 * Takes the clock of each loom from the table `clocks`, which the caller has loaded from `path`. An
 * empty one leaves all offsets at 0, with a warning if there are several machines; a row without a
 * loom is refused. `path` is NULL for clock_table_realtime(): each machine must have a row. Returns
 * 0, or -errno after a message.
 */
int system_take_clocks(struct system *sys, const char *path) __attribute__((warn_unused_result));

#endif
