/* SPDX-License-Identifier: MIT */
/*
 * intervals: a trace as the intervals that its threads spend on a CPU.
 *
 *            woken             start                    end
 *   sleeping   │     delay       │         on a CPU      │
 *   ───────────┴─────────────────┴───────────────────────┴────
 *
 * In: the events of all streams by clock; out: one struct interval each time that a thread leaves
 * its CPU, and the events in between. A thread is on a CPU while it is Running, or, once its
 * stream has shown a KCO, between KCI and KCO. An interval of which the end was not recorded (a
 * loss) ends at the last clock at which the thread is known to run, with the reason "lost". An
 * interval of no length on the virtual CPU, where a thread is entered or closed, is not reported.
 * The walk accepts every trace; an unknown duration or clock is INTERVAL_UNKNOWN, an unknown next
 * thread INTERVAL_NEXT_UNKNOWN.
 * Specification: event-mapping.md, "The thread state machine", payloads and "Losses".
 */
#ifndef TRACE_STATES_INTERVALS_H
#define TRACE_STATES_INTERVALS_H

#include "trace/base/array.h"
#include "trace/base/off_cpu.h"
#include "trace/ovni/trace.h"
#include "trace/states/sleep_call.h"
#include "trace/states/state_walk.h"

#define INTERVAL_UNKNOWN      INT64_MIN /* of a duration or a clock */
#define INTERVAL_NEXT_UNKNOWN (-1)

struct interval {
	uint32_t stream; /* of the thread */
	int32_t cpu;	 /* index, CPU_VIRTUAL or CPU_NONE */
	int64_t start, end;
	int64_t sleep;	  /* ns from the end of the interval before to the wake-up, or unknown */
	int64_t delay;	  /* ns from runnable to running, or unknown */
	int32_t waker;	  /* tid; 0 unknown, -1 the thread stayed runnable, -2 an interrupt */
	enum off_cpu why; /* the thread left the CPU */
	int32_t next;	  /* tid of the next thread on the CPU, 0 idle, INTERVAL_NEXT_UNKNOWN */
	struct sleep_call call; /* in which it then slept, or not known */
	bool cut;		/* the trace ends before the interval */
};

struct intervals;

/* Callbacks of a report; each may be NULL. They return 0, or -errno, which ends the walk. With
 * thousands of threads the data of a thread leave the caches between its turns: prefetch() gets
 * them back, called for the data at known addresses some events before its turn, and again (`soon`)
 * for the others. */
struct interval_listener {
	int (*end)(void *arg, const struct intervals *intervals, const struct interval *interval);
	/* The part of an interval on one CPU: a running thread may change its CPU. */
	int (*span)(void *arg, const struct intervals *intervals, uint32_t stream, int32_t cpu,
		    int64_t from, int64_t to);
	/* Any event, after its effect. */
	int (*event)(void *arg, const struct intervals *intervals, uint32_t stream,
		     const struct event *ev);
	void (*prefetch)(const void *arg, uint32_t stream, bool soon);
};

struct interval_thread { /* two lines of the cache */
	struct interval interval;
	bool on;	  /* a CPU */
	bool kernel;	  /* KCO and KCI decide */
	bool lost;	  /* off the CPU; since it left it, a switch was not recorded */
	int64_t known;	  /* clock up to which its state before the present event is known;
			     INTERVAL_UNKNOWN: none of its stay off the CPU */
	int64_t off_at;	  /* clock at which it left a CPU, or unknown */
	int64_t woken_at; /* or unknown */
	int64_t span_at;
} __attribute__((aligned(ARRAY_LINE)));

struct intervals {
	const struct source *source;
	struct state_walk walk;
	struct interval_thread *threads; /* of each stream */
	int64_t first, last;		 /* clocks of the trace; last: of the present event */
	bool any;			 /* the trace has an event */
};

/* Bytes of the payload of an event OH? or KC? without the length of an unknown time before it; -1:
 * it has no such length. */
int interval_payload_size(uint32_t mcv);

/* ns before an event OH? or KC? for which the state of the thread was not recorded; mostly 0. */
int64_t interval_unknown_ns(const struct event *ev);

/* The end of the known part of a run, in ns: the run began at `start`, the event OH? or KC? ends
 * it. It is the clock of the event, or of the loss before it. */
int64_t interval_known_run(const struct event *ev, int64_t start);

/* ns that interrupts took from the run that ended before an event OHr or OHe; mostly 0: none, or
 * not recorded (event-mapping.md, "The time of interrupts"). */
int64_t interval_irq_ns(const struct event *ev);

#define REQUEST_SECTORS_MOST 32767 /* stand for more, too */

struct block_request {
	uint32_t major, minor;	  /* of the device */
	uint64_t sector, sectors; /* of 512 bytes */
	bool write;
};

/* The request that ended the sleep before an event OHr (ovni-bpf --why=io). False: none, or not
 * recorded. Its time at the device is that of sleep_device_us(). */
bool interval_request(const struct event *ev, struct block_request *request);

/* Walks the trace. Intervals that are open at the end are reported as cut. Returns 0, or -errno
 * after one message (an error of the listener is passed on without a message); the callbacks have
 * been called for everything before it. */
int intervals_walk(struct intervals *intervals, const struct source *source,
		   const struct interval_listener *listener, void *arg)
	__attribute__((warn_unused_result));

/* The same without a player: the caller plays the events. After intervals_init(), which returns 0
 * or -ENOMEM after one message, intervals_fini() must follow. */
int intervals_init(struct intervals *intervals, const struct source *source)
	__attribute__((warn_unused_result));
void intervals_step(struct intervals *intervals, uint32_t stream, const struct event *ev);

/* The same with a listener; after the last event, intervals_cut() reports the intervals that are
 * open. Both return 0 or the error of the listener. */
int intervals_take(struct intervals *intervals, uint32_t stream, const struct event *ev,
		   const struct interval_listener *listener, void *arg);
int intervals_cut(struct intervals *intervals, const struct interval_listener *listener, void *arg);

void intervals_fini(struct intervals *intervals);

#endif
