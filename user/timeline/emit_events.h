/* SPDX-License-Identifier: MIT */
/*
 * emit_events: the events of one step of one thread; and the inside of the timeline.
 *
 * In: a task, its step and the clock; out: events at the end of its buffer, and its new state.
 * Each step is legal in the state in which it starts (thread_state.h), and clocks never fall. With
 * the kernel model a thread that is out of the CPU is Paused here, and Warming does not exist.
 * Functions that return int return 0 or -errno (no memory, the writer's error).
 * Specification: event-mapping.md "The thread state machine", "richer payloads", "Next to
 * libovni".
 */
#ifndef USER_TIMELINE_EMIT_EVENTS_H
#define USER_TIMELINE_EMIT_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/ovni/irq_time.h"
#include "user/timeline/probe_events.h"
#include "user/timeline/thread_names.h"
#include "user/timeline/threads.h"
#include "user/timeline/timeline.h"

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

struct cpu {
	struct task *on; /* runs here; NULL: no task with a stream */
	uint64_t last;	 /* clock of the last event of a running thread here */
	uint64_t since;	 /* the present use began */
	uint32_t tid;	 /* of the thread that runs here, if use is CPU_OTHER or CPU_THREAD */
	enum cpu_use use;
	uint64_t gap, gap_clock; /* events lost here and not yet shown; clock of the first */
	uint64_t open_gap;	 /* clock since which the use is unknown at t1; 0: it is not */
	bool settled;		 /* as TASK_SETTLED */
	struct timeline_cpu counts;
	struct record_interrupt
		nested[IRQ_KEPT]; /* the long handlers that have interrupted the one */
	unsigned nnested;	  /* that runs now, in the order of their ends */
};

struct timeline {
	struct timeline_options options;
	struct timeline_counts counts;
	struct threads *threads;
	struct topology *topology;
	struct calls *calls;	/* of the probes; NULL: there are none */
	struct cpu **by_number; /* by kernel number; NULL: no record yet */
	size_t numbers;
	struct cpu **by_index; /* by index in the loom; NULL: no record yet */
	size_t indices;
	struct cpu **cpus; /* in the order of their first records */
	unsigned ncpus;
	uint64_t t1;
	uint64_t now;		   /* clock of the newest record, */
	const struct cpu *now_cpu; /* and its CPU */
	bool open;		   /* the window has been entered */
	bool stopped;
	bool incomplete; /* records were lost, in the window or before, or are not sent (-C) */
	int error;
};

/*
 * The task in whose context a record was made, ready for events and proven to run on `cpu`; *out is
 * NULL if the task has no stream, or is unknown. `pid` is for a task that is seen for the first
 * time; `tid` is 0 if the record does not have it. 0, or -errno after one message.
 */
int timeline_context(struct timeline *tl, struct cpu *cpu, const struct record_head *head,
		     uint32_t pid, uint32_t tid, struct task **out);

/* Appends an event; the caller has made room. */
static inline void emit(struct timeline *tl, struct task *task, uint32_t mcv, uint64_t clock,
			const void *payload, size_t size)
{
	task_put(task, mcv, clock, payload, size);
	tl->counts.events++;
	tl->counts.bytes += EVENT_HEADER_SIZE + size;
}

/* The state of the task is not known from `clock` on, until its next switch; before that it was. */
static inline void lose_state(struct task *task, uint64_t clock)
{
	if (!task->known)
		task->known = clock ? clock : 1;
}

/* Appends an event OH? or KC?, with the time before it for which the state is not known. */
void emit_unknown(struct timeline *tl, struct task *task, uint32_t mcv, uint64_t clock,
		  const void *payload, size_t size);

/* Appends an event OH? or KC?; the caller has made room. */
static inline void emit_state(struct timeline *tl, struct task *task, uint32_t mcv, uint64_t clock,
			      const void *payload, size_t size)
{
	if (unlikely(task->known))
		emit_unknown(tl, task, mcv, clock, payload, size);
	else
		emit(tl, task, mcv, clock, payload, size);
}

/* Appends the system call of a sleep to a payload, and its first argument if that is of use.
 * Returns the bytes. After a loss there is no space. */
static inline size_t put_call(const struct timeline *tl, const struct task *task, uint8_t *payload)
{
	if (unlikely(task->known))
		return 0;
	memcpy(payload, &task->call, sizeof(task->call));
	if (!task->kernel_lock && !call_object(tl->threads->machine, task->call))
		return sizeof(task->call);
	memcpy(payload + sizeof(task->call), &task->object, sizeof(task->object));
	return sizeof(task->call) + sizeof(task->object);
}

/* The CPU is taken from a running task: blocked, in its last call if `in_call`, or still runnable.
 * From a recorded switch on, its state is known. */
static inline int emit_leave(struct timeline *tl, struct task *task, uint64_t clock, uint16_t why,
			     int32_t taker, bool in_call)
{
	static const int32_t nobody = WAKER_NONE;
	uint8_t payload[EVENT_PAYLOAD_MAX];
	size_t size = sizeof(why) + sizeof(taker);
	int err = task_room(tl->threads, task);

	if (unlikely(err))
		return err;
	memcpy(payload, &why, sizeof(why));
	memcpy(payload + sizeof(why), &taker, sizeof(taker));
	if (in_call)
		size += put_call(tl, task, payload + size);
	task->ran += clock > task->in ? clock - task->in : 0;
	task->state = THREAD_STATE_PAUSED;
	if (unlikely(tl->options.kernel_model)) {
		emit_state(tl, task, MCV('K', 'C', 'O'), clock, payload, size);
		task->known = why == OFF_CPU_LOST ? task->known : 0;
		return 0;
	}
	emit_state(tl, task, MCV('O', 'H', 'p'), clock, payload, size);
	task->known = why == OFF_CPU_LOST ? task->known : 0;
	if (off_cpu_runnable(why)) {
		emit(tl, task, MCV('O', 'H', 'w'), clock, &nobody, sizeof(nobody));
		task->state = THREAD_STATE_WARMING;
	}
	return 0;
}

/* The first event on a CPU of a task that is unknown or dead. */
int emit_execute(struct timeline *tl, struct task *task, int32_t cpu, uint64_t clock);

/* Appends to a payload the owner of the lock on which the task has slept, the number of its stack
 * there, and the time of its request at the device, us. Returns the bytes; 0: nothing is known, or
 * after a loss, where there is no space. */
static inline size_t put_sleep(struct timeline *tl, struct task *task, uint8_t *payload)
{
	const struct {
		int32_t owner;
		uint32_t stack, detail;
	} sleep = {.owner = task->lock_owner,
		   .stack = task->sleep_stack,
		   .detail = task->io.device ? task->io.us : 0};

	if (likely(sleep.owner == LOCK_OWNER_UNKNOWN && !sleep.stack && !sleep.detail))
		return 0;
	task->lock_owner = LOCK_OWNER_UNKNOWN;
	task->sleep_stack = 0;
	if (task->known)
		return 0;
	if (sleep.owner > 0)
		names_mention(&tl->threads->names, (uint32_t)sleep.owner);
	tl->counts.stacks += sleep.stack != 0;
	memcpy(payload, &sleep, sizeof(sleep));
	return sleep.stack || sleep.detail ? sizeof(sleep) : sizeof(sleep.owner);
}

/* Appends OHr or OHe, with the time that interrupts took from the run before, if any, and OHr with
 * the request that ended the sleep, or the number of the stack of a wait that was no sleep; after a
 * loss there is no space. The caller has made room. */
static inline void emit_after_run(struct timeline *tl, struct task *task, uint32_t mcv,
				  uint64_t clock)
{
	const struct {
		uint32_t taken, device;
		uint64_t request;
	} payload = {irq_time_encode(task->irq_ns), task->io.device,
		     task->io.device ? task->io.request : task->sleep_stack};
	size_t size = payload.taken ? sizeof(payload.taken) : 0;

	if (unlikely((payload.device || task->sleep_stack) && mcv == MCV('O', 'H', 'r'))) {
		size = sizeof(payload);
		tl->counts.wait_stacks += task->sleep_stack && !task->known;
		task->sleep_stack = 0;
	}
	task->irq_ns = 0;
	task->io.device = 0;
	if (unlikely(task->known))
		emit_unknown(tl, task, mcv, clock, NULL, 0);
	else
		emit(tl, task, mcv, clock, &payload, size);
}

/* The sleep of the task was not seen to its end: nothing of it is known. */
static inline void forget_sleep(struct task *task)
{
	task->call = CALL_UNKNOWN;
	task->lock_owner = LOCK_OWNER_UNKNOWN;
	task->sleep_stack = 0;
	task->io.device = 0;
}

/* A paused task was woken at `wake`, as its wake-up is known; 0 or older than its last leave:
 * not known, and the event is then at `clock`. */
static inline void emit_wakeup(struct timeline *tl, struct task *task, uint64_t clock,
			       uint64_t wake, int32_t waker)
{
	uint8_t payload[EVENT_PAYLOAD_MAX];
	size_t size;

	if (wake && wake >= task->out) {
		clock = wake < clock ? wake : clock;
		tl->counts.wakeups++;
		if (waker > 0)
			names_mention(&tl->threads->names, (uint32_t)waker);
	} else {
		waker = WAKER_UNKNOWN;
	}
	memcpy(payload, &waker, sizeof(waker));
	size = sizeof(waker) + put_sleep(tl, task, payload + sizeof(waker));
	emit_state(tl, task, MCV('O', 'H', 'w'), clock, payload, size);
	task->state = THREAD_STATE_WARMING;
}

/* A task that does not run gets the CPU with the index `cpu`. A move during its wait has its own
 * clock, if that is known and within the wait. */
static inline int emit_enter(struct timeline *tl, struct task *task, int32_t cpu, uint64_t clock,
			     uint64_t wake, int32_t waker)
{
	uint8_t payload[EVENT_PAYLOAD_MAX];
	size_t size;
	int err;

	if (unlikely(task->state != THREAD_STATE_PAUSED && task->state != THREAD_STATE_WARMING))
		return emit_execute(tl, task, cpu, clock);
	err = task_room(tl->threads, task);
	if (unlikely(err))
		return err;
	if (likely(!tl->options.kernel_model)) {
		if (task->state == THREAD_STATE_PAUSED)
			emit_wakeup(tl, task, clock, wake, waker);
		if (task->cpu != cpu) {
			emit(tl, task, MCV('O', 'A', 's'),
			     task->moved > task->last && task->moved < clock ? task->moved : clock,
			     &cpu, sizeof(cpu));
			tl->counts.migrations += task->cpu >= 0;
		}
		emit_after_run(tl, task, MCV('O', 'H', 'r'), clock);
	} else {
		memcpy(payload, &cpu, sizeof(cpu));
		size = sizeof(cpu) + put_sleep(tl, task, payload + sizeof(cpu));
		emit_state(tl, task, MCV('K', 'C', 'I'), clock, payload, size);
		tl->counts.migrations += task->cpu >= 0 && task->cpu != cpu;
	}
	task->cpu = cpu;
	task->in = clock;
	task->state = THREAD_STATE_RUNNING;
	return 0;
}

/*
 * The task gets its stream, of its pid and tid, which no other task has. A stream whose first
 * event comes late says OB. at t0 (clock gate). `before`: it existed at t0, off the CPU, and
 * is entered there.
 */
int emit_bind(struct timeline *tl, struct task *task, uint64_t clock, bool before);

/* The task creates the thread `tid`. */
int emit_create(struct timeline *tl, struct task *task, uint64_t clock, uint32_t tid);

/* A running task ends, or is no more followed. */
int emit_end(struct timeline *tl, struct task *task, uint64_t clock);

/* Brings a task to dead, from wherever it is. */
int emit_close(struct timeline *tl, struct task *task, uint64_t clock);

/* Interrupts in the present run of a task, in the window or after it: for the OHr or OHe that
 * follows the run. A run has at most its length. Specification: event-mapping.md, "The time of
 * interrupts". */
void emit_irqs(struct timeline *tl, const struct record_interrupts *r);

/* A long interrupt handler becomes two marks, as soon as the outermost one has ended. Those that do
 * not fit in between the other events of the task are counted. 0 or -errno. */
int emit_interrupt(struct timeline *tl, struct cpu *cpu, const struct record_interrupt *r);

/* The perf events of the present run of a task, in the window or after it: a VWC at once. Of a run
 * that the window cuts, the share by time. Specification: event-mapping.md "The perf events of a
 * run". 0 or -errno. */
int emit_counters(struct timeline *tl, const struct record_counters *r);

/* Takes over a record of --why=prio. */
void take_priority(struct timeline *tl, struct task *task, const struct record_priority *r);

/* Marks the priority and the CPUs of a running task that are known and not yet in its stream. */
int emit_priority(struct timeline *tl, struct task *task, uint64_t clock);

/* A mark of type MARK_LOST, `mcv` OM[ or OM]: `count` events (1 or more) are lost. */
int emit_gap(struct timeline *tl, struct task *task, uint32_t mcv, uint64_t clock, uint64_t count);

/* A mark of any type. */
int emit_mark(struct timeline *tl, struct task *task, uint32_t mcv, uint64_t clock, int32_t type,
	      int64_t value);

#endif
