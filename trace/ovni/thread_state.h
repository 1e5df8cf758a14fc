/* SPDX-License-Identifier: MIT */
/*
 * thread_state: the states of a thread, and which move between them is legal.
 *
 *            OHx             OHp            OHw
 *   unknown ─────► running ◄──────► paused ────► warming
 *                    │  ▲    OHr      ▲             │
 *                OHc ▼  └─────────────┼─────────────┘ OHr
 *                 cooling ────────────┘ OHp
 *   running, cooling ──OHe──► dead ──OHx──► running
 *
 * One table, shared by the recorder, the emulator and the tools that check, cut
 * and merge. Values are those of the Paraver type 4.
 * Specification: models.md 1.1, emulator.md 8.
 */
#ifndef TRACE_OVNI_THREAD_STATE_H
#define TRACE_OVNI_THREAD_STATE_H

#include <stdbool.h>
#include <stdint.h>

enum lifeline {
	LIFELINE_UNKNOWN = 0,
	LIFELINE_RUNNING = 1,
	LIFELINE_PAUSED = 2,
	LIFELINE_DEAD = 3,
	LIFELINE_COOLING = 4,
	LIFELINE_WARMING = 5,
	LIFELINE_COUNT
};

extern const char *const lifeline_names[LIFELINE_COUNT]; /* "Running", as in the .pcf */

static inline bool lifeline_is_active(enum lifeline state)
{
	return state == LIFELINE_RUNNING || state == LIFELINE_COOLING || state == LIFELINE_WARMING;
}

/*
 * The state after an event OH? whose last character is `value` ('x', 'e', 'p', 'r',
 * 'c', 'w'), or -1 if it is illegal in `state` or no such event exists. 'C' changes nothing.
 */
int lifeline_next(enum lifeline state, char value);

/*
 * The shortest legal way to bring a thread from `state` to dead, or to enter a new one
 * that is in `state` at the start of a window: calls of `put` in order, each with the MCV
 * and the CPU index that OHx and OAs need (for the others it means nothing).
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
 * What must stand next to OHe or OHx (pops, pushes) is added by `put` when it is told of
 * that event. A non-zero return of `put` ends the walk and is returned, else 0.
 * (event-mapping.md, "The thread state machine".)
 */
typedef int (*lifeline_put_fn)(void *arg, uint32_t mcv, int32_t cpu);
int lifeline_close(enum lifeline state, bool on_virtual, lifeline_put_fn put, void *arg);
int lifeline_enter(enum lifeline state, int32_t cpu, lifeline_put_fn put, void *arg);

#endif
