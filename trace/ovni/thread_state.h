/* SPDX-License-Identifier: MIT */
/*
 * thread_state: the states of a thread, and the legal transitions.
 *
 *            OHx             OHp            OHw
 *   unknown ─────► running ◄──────► paused ────► warming
 *                    │  ▲    OHr      ▲             │
 *                OHc ▼  └─────────────┼─────────────┘ OHr
 *                 cooling ────────────┘ OHp
 *   running, cooling ──OHe──► dead ──OHx──► running
 *
 * In: a state and an event; out: the next state. The recorder, the emulator and the tools share
 * this table. Values are those of the Paraver type 4.
 * Specification: models.md 1.1, emulator.md 8.
 */
#ifndef TRACE_OVNI_THREAD_STATE_H
#define TRACE_OVNI_THREAD_STATE_H

#include <stdbool.h>
#include <stdint.h>

enum thread_state {
	THREAD_STATE_UNKNOWN = 0,
	THREAD_STATE_RUNNING = 1,
	THREAD_STATE_PAUSED = 2,
	THREAD_STATE_DEAD = 3,
	THREAD_STATE_COOLING = 4,
	THREAD_STATE_WARMING = 5,
	THREAD_STATE_COUNT
};

extern const char *const thread_state_names[THREAD_STATE_COUNT]; /* "Running", as in the .pcf */

static inline bool thread_state_is_active(enum thread_state state)
{
	return state == THREAD_STATE_RUNNING || state == THREAD_STATE_COOLING ||
	       state == THREAD_STATE_WARMING;
}

/*
 * The state after the event OH? with the last character `value` ('x', 'e', 'p', 'r', 'c', 'w'), or
 * -1 if it is illegal in `state` or unknown. 'C' changes nothing.
 */
int thread_state_next(enum thread_state state, char value);

/*
 * Writes the shortest legal sequence of events that brings a thread from `state` to dead, or that
 * enters a new thread in `state` at the start of a window. Calls `put` in order, each with the MCV
 * and the CPU index for OHx and OAs (other events ignore it).
 *
 * close   running, cooling   OHe
 *         paused             OHw, OAs -1, OHr, OHe; OHr, OHe if it is `on_virtual`
 *         warming            OAs -1, OHr, OHe;      OHr, OHe if it is `on_virtual`
 *         unknown, dead      nothing
 * enter   running            OHx cpu
 *         cooling            OHx cpu, OHc
 *         paused, warming    OHx -1, OHp (, OHw): `cpu` may be another thread's
 *         unknown, dead      nothing
 *
 * `put` itself adds the pops before OHe and the pushes after OHx. Returns 0, or the first non-zero
 * result of `put`, which ends the sequence.
 * (event-mapping.md, "The thread state machine".)
 */
typedef int (*thread_state_put_fn)(void *arg, uint32_t mcv, int32_t cpu);
int thread_state_close(enum thread_state state, bool on_virtual, thread_state_put_fn put,
		       void *arg);
int thread_state_enter(enum thread_state state, int32_t cpu, thread_state_put_fn put, void *arg);

#endif
