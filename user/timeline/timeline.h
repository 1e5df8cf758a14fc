/* SPDX-License-Identifier: MIT */
/*
 * timeline: records of the kernel in, ovni events of threads out.
 *
 * The state machine of the recorder, pure: no system call, no BPF, no file. It gets
 * the records of all rings in one order (clock, then ring, then place) and
 * appends the events of event-mapping.md to the threads' buffers (threads.h).
 * Invariants: clocks of a stream never fall; no CPU but the virtual one ever has two
 * running threads; every event is legal in the state of its thread; each repair that
 * keeps this is counted.
 */
#ifndef USER_TIMELINE_TIMELINE_H
#define USER_TIMELINE_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/state.h"

struct calls;
struct calls_plan;
struct threads;
struct topology;
struct timeline;

struct timeline_options {
	uint64_t t0;	   /* the window opens, ns: clock of the last start snapshot */
	bool kernel_model; /* KCO/KCI instead of thread states (--kernel-model) */
	bool all_threads;  /* a stream for each thread that existed at t0 */
	bool cpu_filter;   /* -C: records of other CPUs are missing on purpose */
	bool no_switches;  /* no records of switches: threads are on the virtual CPU */
	bool some_threads; /* switches between threads that are not traced are not recorded */
	const struct calls_plan *calls; /* of the probes; the caller's; NULL: there are none */
};

struct timeline_counts {
	uint64_t records; /* taken in, all kinds */
	uint64_t by_kind[RECORD_KINDS];
	uint64_t events;  /* written to streams, */
	uint64_t bytes;	  /* and their size */
	uint64_t repairs; /* changes of threads that no record reported */
	uint64_t ties;	  /* records with the clock of the one before in another ring */
	uint64_t late;	  /* records older than the one before: clamped */
	uint64_t outside; /* before t0 or after t1: no event, not a loss */
	uint64_t lost;	  /* as RECORD_LOST says */
	uint64_t migrations, wakeups, preemptions, switches;
	uint64_t stacks;		   /* sleeps with the number of their stack, */
	uint64_t wait_stacks;		   /* and waits of preempted threads */
	uint64_t irq_marks, irqs_left_out; /* long interrupts: with marks; that came too late */
};

/*
 * The times of a CPU in the window, by enum cpu_use (bpf/state.h). The four times add up to the
 * window for each CPU. Unknown is the time before a repair, back to the last record of its current
 * task, and, on a CPU that appeared later, the time before its first record. With some_threads,
 * idle is within other.
 */
struct timeline_cpu {
	unsigned cpu;  /* the kernel's number */
	int32_t index; /* in the loom */
	uint64_t ns[CPU_USES];
	uint64_t records, repairs, lost;
};

/* Both stay the caller's and must outlive the timeline. `topology` gives the index
 * of a CPU and takes in CPUs that appear later. NULL without memory. */
struct timeline *timeline_new(const struct timeline_options *options, struct threads *threads,
			      struct topology *topology);
/* Descriptions of streams look at its figures until they are written: after writer_sync(). */
void timeline_free(struct timeline *timeline);

/* A task from the iterator: before t0 (names, parents, states of threads off the CPU), and after
 * t1, once the last record has been given (threads that were woken and never ran). Never decides
 * which task runs. */
int timeline_iterated(struct timeline *timeline, const struct record_task *task);

/* Before t0, after timeline_iterated(): the task `id` sleeps in this system call, as struct
 * record_iterated has it. */
void timeline_sleeps_in(struct timeline *timeline, uint32_t id, uint16_t call, uint64_t object);

/* Before t0, after timeline_iterated(): the priority of a task, as the iterator has it. */
void timeline_has_priority(struct timeline *timeline, const struct record_priority *record);

/* After t1, before timeline_iterated(): the stack of a task that sleeps since record->head.clock.
 * It counts if that is the sleep in which the task is at t1, and if that is long. */
void timeline_sleeps_at(struct timeline *timeline, const struct record_stack *record);

/*
 * Takes in the next record, which came from the ring of kernel CPU `cpu`. Returns 0, or
 * -errno (no memory, or the writer has failed) after which the caller may only
 * close. Sizes have been checked by the reader of the ring.
 */
int timeline_record(struct timeline *timeline, unsigned cpu, const struct record_head *record)
	__attribute__((warn_unused_result));

/*
 * The window has closed while a gap was open: `count` events of kernel CPU `cpu` are lost, the
 * first at `first_clock` (ns), and no record before the end of the window followed. To be called
 * after timeline_stop(). Returns as timeline_record() does.
 */
int timeline_open_gap(struct timeline *timeline, unsigned cpu, uint64_t first_clock, uint64_t count)
	__attribute__((warn_unused_result));

/* The window has closed at t1 (ns): from here on records write no event. To be
 * called before records later than t1 are given. */
void timeline_stop(struct timeline *timeline, uint64_t t1);

/* Brings every thread to dead at t1 (or its stream's last clock). */
int timeline_close(struct timeline *timeline) __attribute__((warn_unused_result));

const struct timeline_counts *timeline_counts(const struct timeline *timeline);

/* The counts of the probes; NULL without any. */
const struct calls *timeline_calls(const struct timeline *timeline);

/*
 * `timeline`, which has just been made, begins where `from` is (rotation; after the records that a
 * flight recorder has discarded): with its threads and their names, and which of them run, wait
 * and sleep. Its window opens at its own t0, not before any record that `from` was given; there
 * the threads enter as at the beginning of a session. Shares nothing with `from`. 0 or -ENOMEM
 * after one message.
 */
int timeline_carry_over(struct timeline *timeline, const struct timeline *from)
	__attribute__((warn_unused_result));

#endif
