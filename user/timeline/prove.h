/* SPDX-License-Identifier: MIT */
/*
 * prove: brings tasks and CPUs to the state that a record proves.
 *
 * In: what a record says of a task and its CPU; out: the task has the stream of its numbers, and
 * the events that were missing are in the streams.
 * Invariants, in the window: a Running task is cpu->on of the CPU task->cpu and of no other, and
 * its last event is not before cpu->last; a task that does not run is cpu->on of none.
 * Functions that return int return 0, or -errno after one message (no memory, the writer's error).
 * Specification: event-mapping.md "Repair", "Identity", "Losses"; ebpf.md 8.6, 9.
 */
#ifndef USER_TIMELINE_PROVE_H
#define USER_TIMELINE_PROVE_H

#include "user/timeline/emit_events.h"

/* The window ends here at the latest. Clocks of a stream are signed; from here on there is still
 * room for 2^36 events of one CPU in the same nanosecond, each a nanosecond after the other. */
#define CLOCK_MAX ((uint64_t)INT64_MAX - (1ull << 36))

static inline uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static inline uint64_t earlier_by(uint64_t clock, uint64_t ns)
{
	return clock > ns ? clock - ns : 0;
}

/* ---- CPUs ---- */

/* A CPU of which this is the first record; NULL after one message. */
struct cpu *new_cpu(struct timeline *tl, unsigned number);

static inline struct cpu *get_cpu(struct timeline *tl, unsigned number)
{
	if (unlikely(number >= tl->numbers || !tl->by_number[number]))
		return new_cpu(tl, number);
	return tl->by_number[number];
}

/* Adds the time up to `clock` to the present use of the CPU. */
static inline void cpu_add_time(struct cpu *cpu, uint64_t clock)
{
	if (clock > cpu->since) {
		cpu->counts.ns[cpu->use] += clock - cpu->since;
		cpu->since = clock;
	}
}

/* From now on `task` runs there; NULL: the thread `tid`, which has no stream, or none (0). If only
 * some threads are recorded, no record shows that a CPU goes idle after one of them. */
static inline void cpu_runs(struct timeline *tl, struct cpu *cpu, struct task *task, uint32_t tid)
{
	cpu->on = task;
	cpu->tid = tid;
	cpu->use = task ? CPU_THREAD : tid || tl->options.some_threads ? CPU_OTHER : CPU_IDLE;
}

/* ---- the stream of a task ---- */

/* True if a stream can have these numbers: the idle task has no stream. */
static inline bool valid_numbers(uint32_t pid, uint32_t tid)
{
	return pid - 1 < INT32_MAX && tid - 1 < INT32_MAX;
}

/* True if the task of a record gets a stream. */
static inline bool is_traced(const struct record_task *r)
{
	return r->id && r->flags & TASK_FLAG_TRACED && valid_numbers(r->pid, r->tid);
}

/* Gives `task` the stream of its pid and tid. If another task still has the stream, its tid has
 * been reused: it is dying, and only its last switch was not seen. `before`: the task existed at
 * t0, off the CPU. */
int get_stream(struct timeline *tl, struct task *task, uint64_t clock, bool before);

/* The stream of a task ends at `clock`: dead, from any state. */
int end_stream(struct timeline *tl, struct task *task, uint64_t clock);

/* Frees the slot of a task without a stream. Before the window it may seem to run. */
void forget_task(struct timeline *tl, struct task *task);

/*
 * Makes `task`, which a record at `clock` shows with this id, pid and tid, ready for events: its
 * slot is in use, and it has the stream of that pair. *out is NULL if it can have no stream, or has
 * lost it (TASK_GONE). `dying`: the record is its last switch.
 */
int make_ready(struct timeline *tl, struct task *task, uint32_t id, uint32_t pid, uint32_t tid,
	       uint64_t clock, bool dying, struct task **out);

/* At the first record after t0, or at the end: the tasks that run enter at t0. */
int open_window(struct timeline *tl);

/* ---- what no record reported ---- */

/* Counts a change of state that no record reported. `cpu` may be NULL. */
void count_repair(struct timeline *tl, struct cpu *cpu, struct task *task);

/* A task that seemed to run has left its CPU; no record says when. */
int leave_unseen(struct timeline *tl, struct task *task, uint64_t clock);

/* A record at `clock` proves that `task` runs on `cpu` (NULL: that no task with a stream does). The
 * task is ready: see make_ready(). */
int prove_running(struct timeline *tl, struct cpu *cpu, struct task *task, uint64_t clock);

/* prove_running() inside the mark of the gap before the record. */
int prove_after_gap(struct timeline *tl, struct cpu *cpu, struct task *task, uint64_t clock);

/* The first record after the window that shows the task, or the lack of one. `lost`: a switch
 * before it is missing. */
static inline void settle(struct task *task, bool lost)
{
	if (lost && !(task->flags & TASK_SETTLED))
		lose_state(task, task->state == THREAD_STATE_RUNNING ? task->in : task->out);
	task->flags |= TASK_SETTLED;
}

/* ---- losses ---- */

/* Shows the gap of this CPU in the stream of `task`, as a mark from the first loss to `clock`; or
 * the begin and the end of the mark, each alone. */
int show_gap(struct timeline *tl, struct cpu *cpu, struct task *task, uint64_t clock);
int begin_gap(struct timeline *tl, struct cpu *cpu, struct task *task, uint64_t clock);
int end_gap(struct timeline *tl, struct cpu *cpu, struct task *task, uint64_t clock);

/* A gap of the CPU that begins at `first` lasts to the end of the window. */
static inline void leave_gap_open(const struct timeline *tl, struct cpu *cpu, uint64_t first)
{
	first = later(first, tl->options.t0);
	if (!cpu->open_gap || first < cpu->open_gap)
		cpu->open_gap = first;
}

#endif
