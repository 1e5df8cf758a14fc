/* SPDX-License-Identifier: MIT */
/*
 * cpu_state: who is believed to run on each CPU, and what is mended when a record disagrees.
 *
 * The inside of the timeline, for timeline.c and lifecycle.c. A record made by a task proves
 * that it runs on that CPU: what contradicts this is mended first (belief_prove()), so that what
 * follows is always the ordinary case. The clock of the last event on each CPU keeps
 * leaving and entering apart: who enters does so after, never at, the clock at which another
 * left, since the order of events with equal clocks is not ours.
 * Invariants, in the window: a task is in cpu->on of exactly the CPU task->cpu if it is
 * Running, and of none if it is not; its last event is then not before cpu->last.
 * Specification: event-mapping.md "Repair", "Identity", "Losses"; ebpf.md 8.6.
 */
#ifndef USER_TIMELINE_CPU_STATE_H
#define USER_TIMELINE_CPU_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "user/timeline/emit_events.h"
#include "user/timeline/threads.h"
#include "user/timeline/timeline.h"

#define unlikely(x) __builtin_expect(!!(x), 0)

struct cpu {
	struct task *on; /* believed to run here; NULL: nobody who has a stream */
	uint64_t last;	 /* clock of the last event of a running thread here */
	uint64_t since;	 /* the present use began */
	uint32_t tid;	 /* who runs here, if use is CPU_OTHER or CPU_THREAD */
	enum cpu_use use;
	uint64_t gap, gap_clock; /* events lost here and not yet shown, from when on */
	struct timeline_cpu account;
};

struct timeline {
	struct moves moves;
	struct timeline_options options;
	struct timeline_counts counts;
	struct threads *threads;
	struct topology *topology;
	struct cpu **by_number; /* by kernel number; NULL: no record yet */
	unsigned numbers;
	struct cpu **by_index; /* by index in the loom; NULL: no record yet */
	unsigned indices;
	struct cpu **cpus; /* in the order of their first records */
	unsigned ncpus, room;
	uint64_t t1;
	uint64_t now;		   /* clock of the newest record, */
	const struct cpu *now_cpu; /* and its CPU */
	bool open;		   /* the window has been entered */
	bool stopped;
	int error;
};

static inline uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static inline uint64_t earlier_by(uint64_t clock, uint64_t ns)
{
	return clock > ns ? clock - ns : 0;
}

/* The time of the CPU up to `clock` was spent as told by cpu->use. */
static inline void cpu_charge(struct cpu *cpu, uint64_t clock)
{
	if (clock > cpu->since) {
		cpu->account.ns[cpu->use] += clock - cpu->since;
		cpu->since = clock;
	}
}

/* From now on `task` runs there; NULL: the thread `tid`, which has no stream, or nobody (0). If
 * only some threads are recorded, nothing tells when a CPU goes idle after one of them. */
static inline void cpu_occupy(struct timeline *tl, struct cpu *cpu, struct task *task, uint32_t tid)
{
	cpu->on = task;
	cpu->tid = tid;
	cpu->use = task ? CPU_THREAD : tid || tl->options.some_threads ? CPU_OTHER : CPU_IDLE;
}

struct cpu *belief_new_cpu(struct timeline *tl, unsigned number);

/* The CPU with the kernel's `number`, made at its first record. NULL after one message. */
static inline struct cpu *belief_cpu(struct timeline *tl, unsigned number)
{
	if (unlikely(number >= tl->numbers || !tl->by_number[number]))
		return belief_new_cpu(tl, number);
	return tl->by_number[number];
}

/* All that follow return 0, or -errno after one message (no memory, the writer's error). */

/* A move that no record told. `cpu` may be NULL. */
void belief_count_repair(struct timeline *tl, struct cpu *cpu, struct task *task);

/* A task that is believed to run somewhere does not: it left, nobody knows when. */
int belief_expel(struct timeline *tl, struct task *task, uint64_t clock);

/*
 * What a record at `clock`, made by `task` on `cpu`, proves: that it runs there (NULL: that
 * nobody with a stream does). The task is ready (below).
 */
int belief_prove(struct timeline *tl, struct cpu *cpu, struct task *task, uint64_t clock);

/* The same, with the mark of the gap before the record around what is mended. */
int belief_prove_after_gap(struct timeline *tl, struct cpu *cpu, struct task *task, uint64_t clock);

/* The gap of `cpu` is shown in the stream of `task` as a point, at `clock` or when it began. */
int belief_show_gap(struct timeline *tl, struct cpu *cpu, struct task *task, uint64_t clock);

/* Can a stream have these numbers? Not the idle task's, nor what no kernel gives. */
static inline bool belief_numbers(uint32_t pid, uint32_t tid)
{
	return pid - 1 < INT32_MAX && tid - 1 < INT32_MAX;
}

/* Does a record tell of a task that is to have a stream? */
static inline bool belief_wanted(const struct record_task *r)
{
	return r->id && r->flags & TASK_FLAG_TRACED && belief_numbers(r->pid, r->tid);
}

/*
 * Makes `task`, which a record at `clock` shows with this id, pid and tid, ready for a move:
 * its slot in use, and it has the stream of that pair. *out is NULL if it can have none, or
 * has none any more (TASK_GONE). `dying`: the record is its last switch.
 */
int belief_ready(struct timeline *tl, struct task *task, uint32_t id, uint32_t pid, uint32_t tid,
		 uint64_t clock, bool dying, struct task **out);

/* Gives `task` the stream of its pid and tid, from whoever still has it. `before`: it existed
 * at t0, off the CPU. */
int belief_bind(struct timeline *tl, struct task *task, uint64_t clock, bool before);

/* Gives the slot of a task without a stream back. Before the window it may be believed to run. */
void belief_forget(struct timeline *tl, struct task *task);

/* A task that has a stream gives it up at `clock`: dead, wherever it was. */
int belief_give_up(struct timeline *tl, struct task *task, uint64_t clock);

#endif
