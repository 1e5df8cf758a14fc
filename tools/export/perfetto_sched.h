/* SPDX-License-Identifier: MIT */
/*
 * perfetto_sched: the scheduling of a trace as bundles of Perfetto, one CPU each.
 *
 * In: threads that enter and leave CPUs, and are woken, in the order of their clocks; out: packets
 * with compact switches and wake-ups. A switch is written when the next thread of its CPU is known;
 * a wake-up when its thread runs. Invariants: the switches of a CPU have rising clocks and no gap
 * between them, a wake-up lies between its thread's leave and enter as written, and a CPU holds at
 * most one bundle. Without an open part (perfetto_sched_begin()) only the state is followed.
 * Specification: perfetto.md 5, 6 and 7.
 */
#ifndef TOOLS_EXPORT_PERFETTO_SCHED_H
#define TOOLS_EXPORT_PERFETTO_SCHED_H

#include "tools/export/perfetto_file.h"
#include "tools/export/subjects.h"
#include "trace/base/off_cpu.h"
#include "trace/states/sleep_call.h"

enum shown_state { SHOWN_NONE, SHOWN_RUNNING, SHOWN_RUNNABLE, SHOWN_ASLEEP, SHOWN_DEAD };

struct sched_thread {  /* of a stream */
	uint32_t cpu;  /* on it; or NO_SUBJECT */
	int32_t index; /* of the CPU that it was on last, and its number here */
	uint32_t index_cpu;
	bool index_known;
	uint8_t shown;	       /* enum shown_state: in the file */
	int64_t entered, left; /* clocks as written */
	/* the number is free since then, or 0: the event waits, since a thread wakes others after
	 * its last switch; and the clock of the last wake-up by it */
	int64_t free_at, woke_at;
	/* the wake-up that waits for the thread to run */
	bool woken;
	uint8_t how; /* enum waking_kind */
	int32_t waker;
	uint32_t waker_stream; /* or NO_SUBJECT */
	uint32_t waker_cpu;
	int64_t woken_at;
	/* the wake-ups by this thread at one clock */
	int64_t wakes_at;
	uint32_t wakes; /* the last woken thread; the others by next_woken; or NO_SUBJECT */
	uint32_t next_woken;
};

struct sched_cpu;

struct perfetto_sched {
	struct subjects *subjects;
	struct perfetto_file *file;
	bool open;
	int64_t begin; /* of the part */
	struct sched_thread *threads;
	struct sched_cpu **cpus; /* as in subjects */
	size_t ncpus;
	struct sched_cpu **interrupts; /* of each loom: a CPU for wake-ups by interrupts */
	enum call_machine *machines;   /* of each stream */
	struct hash calls;	       /* numbers of the texts of system calls in this part, */
	uint32_t ncalls;	       /* from 1 */
	bool lack;		       /* of memory */
	uint64_t overlaps;	       /* runs that another one on the CPU cut short */
	uint64_t dropped;	       /* wake-ups between a leave and an enter at the next ns */
	uint64_t switches, wakings;    /* written */
};

int perfetto_sched_init(struct perfetto_sched *sched, struct subjects *subjects,
			struct perfetto_file *file) __attribute__((warn_unused_result));
void perfetto_sched_fini(struct perfetto_sched *sched);

/* A part of the trace begins and ends in the file. The packets of the looms come before. */
void perfetto_sched_begin(struct perfetto_sched *sched, int64_t clock);
void perfetto_sched_end(struct perfetto_sched *sched, int64_t clock);

/* The CPU of an index, for a stream; NO_SUBJECT without memory. */
uint32_t perfetto_sched_cpu(struct perfetto_sched *sched, uint32_t stream, int32_t index);

void perfetto_sched_enter(struct perfetto_sched *sched, uint32_t stream, uint32_t cpu,
			  int64_t clock);
/* `gone`: the thread has ended. `call`: the system call in which it sleeps, or not known. */
void perfetto_sched_leave(struct perfetto_sched *sched, uint32_t stream, int64_t clock,
			  enum off_cpu why, const struct sleep_call *call, bool gone);
/* `waker` is that of OHw: a tid; 0 unknown, -1 the thread stayed runnable, -2 an interrupt. */
void perfetto_sched_wake(struct perfetto_sched *sched, uint32_t stream, int64_t clock,
			 int32_t waker);
/* A thread creates another one. */
void perfetto_sched_newborn(struct perfetto_sched *sched, uint32_t creator, uint32_t stream,
			    int64_t clock);
/* The number of a thread is free again, from `clock` on or from the last wake-up by the thread. */
void perfetto_sched_free(struct perfetto_sched *sched, uint32_t stream, int64_t clock);
/* Another thread gets the number at `clock`. */
void perfetto_sched_reuse(struct perfetto_sched *sched, uint32_t stream, int64_t clock);
/* Events of this CPU were lost before the present one. */
void perfetto_sched_lost(struct perfetto_sched *sched, uint32_t cpu);

/* The thread that stands for time of a CPU without a recorded thread. */
#define FILLER_PROCESS	   (NUMBER_MOST + 1)
#define FILLER_THREAD(cpu) (NUMBER_MOST + 2 + (cpu))
#define CPU_MOST	   1022 /* of a machine in Perfetto, but for the one of interrupts */

#endif
