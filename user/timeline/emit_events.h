/* SPDX-License-Identifier: MIT */
/*
 * emit_events: one step of one thread, as the events that its stream gets for it.
 *
 * In: a task, what it does, and when; out: events at the end of its buffer, and its new state.
 * What the other threads do is the timeline's affair; here, each move is legal
 * in the state it starts from (thread_state.h) and clocks are clamped to the stream's last.
 * With the kernel model a thread that is out of the CPU is Paused here, and
 * Warming does not exist. A move returns 0 or -errno (no memory, the writer's error).
 * Specification: event-mapping.md "The thread state machine", "richer payloads", "Next to
 * libovni".
 */
#ifndef USER_TIMELINE_EMIT_EVENTS_H
#define USER_TIMELINE_EMIT_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "user/timeline/probe_events.h"
#include "user/timeline/thread_names.h"
#include "user/timeline/threads.h"
#include "user/timeline/timeline.h"

struct moves {
	struct threads *threads;
	struct timeline_counts *counts;
	uint64_t t0; /* no event is earlier */
	bool kernel_model;
	struct calls *calls; /* NULL: there are no probes */
};

/* Appends an event; the caller has made room. */
static inline void move_put(struct moves *m, struct task *task, uint32_t mcv, uint64_t clock,
			    const void *payload, size_t size)
{
	task_put(task, mcv, clock, payload, size);
	m->counts->events++;
	m->counts->bytes += EVENT_HEADER_SIZE + size;
}

/* The CPU is taken from a running task: blocked, or still runnable. */
static inline int move_out(struct moves *m, struct task *task, uint64_t clock, uint16_t why,
			   int32_t taker)
{
	static const int32_t nobody = WAKER_NONE;
	uint8_t payload[6];
	int err = task_room(m->threads, task);

	if (__builtin_expect(err, 0))
		return err;
	memcpy(payload, &why, sizeof(why));
	memcpy(payload + sizeof(why), &taker, sizeof(taker));
	task->ran += clock > task->in ? clock - task->in : 0;
	task->state = THREAD_STATE_PAUSED;
	if (__builtin_expect(m->kernel_model, 0)) {
		move_put(m, task, MCV('K', 'C', 'O'), clock, payload, sizeof(payload));
		return 0;
	}
	move_put(m, task, MCV('O', 'H', 'p'), clock, payload, sizeof(payload));
	if (off_cpu_runnable(why)) {
		move_put(m, task, MCV('O', 'H', 'w'), clock, &nobody, sizeof(nobody));
		task->state = THREAD_STATE_WARMING;
	}
	return 0;
}

/* The first event on a CPU of a task that is unknown or dead. */
int move_begin(struct moves *m, struct task *task, int32_t cpu, uint64_t clock);

/* A paused task was woken at `wake`, as its wake-up is known; 0 or older than its last leave:
 * not known, and the move is then at `clock`. */
static inline void move_wake(struct moves *m, struct task *task, uint64_t clock, uint64_t wake,
			     int32_t waker)
{
	if (wake && wake >= task->out) {
		clock = wake < clock ? wake : clock;
		m->counts->wakeups++;
		if (waker > 0)
			names_mention(&m->threads->names, (uint32_t)waker);
	} else {
		waker = WAKER_UNKNOWN;
	}
	move_put(m, task, MCV('O', 'H', 'w'), clock, &waker, sizeof(waker));
	task->state = THREAD_STATE_WARMING;
}

/* A task that does not run gets the CPU with the index `cpu`. */
static inline int move_in(struct moves *m, struct task *task, int32_t cpu, uint64_t clock,
			  uint64_t wake, int32_t waker)
{
	int err;

	if (__builtin_expect(
		    task->state != THREAD_STATE_PAUSED && task->state != THREAD_STATE_WARMING, 0))
		return move_begin(m, task, cpu, clock);
	err = task_room(m->threads, task);
	if (__builtin_expect(err, 0))
		return err;
	if (__builtin_expect(!m->kernel_model, 1)) {
		if (task->state == THREAD_STATE_PAUSED)
			move_wake(m, task, clock, wake, waker);
		if (task->cpu != cpu) {
			move_put(m, task, MCV('O', 'A', 's'), clock, &cpu, sizeof(cpu));
			m->counts->migrations += task->cpu >= 0;
		}
		move_put(m, task, MCV('O', 'H', 'r'), clock, NULL, 0);
	} else {
		move_put(m, task, MCV('K', 'C', 'I'), clock, &cpu, sizeof(cpu));
		m->counts->migrations += task->cpu >= 0 && task->cpu != cpu;
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
int move_bind(struct moves *m, struct task *task, uint64_t clock, bool before);

/* The task creates the thread `tid`. */
int move_create(struct moves *m, struct task *task, uint64_t clock, uint32_t tid);

/* A running task ends, or is no more followed. */
int move_end(struct moves *m, struct task *task, uint64_t clock);

/* Brings a task to dead, from wherever it is. */
int move_close(struct moves *m, struct task *task, uint64_t clock);

/* Opens and closes the mark of a gap: `count` events (1 or more) lost. */
int move_gap_opens(struct moves *m, struct task *task, uint64_t clock, uint64_t count);
int move_gap_closes(struct moves *m, struct task *task, uint64_t clock, uint64_t count);

#endif
