/* SPDX-License-Identifier: MIT */
/*
 * lifeline: the states of a thread, and which move between them is legal.
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
#ifndef TRACE_LIFELINE_H
#define TRACE_LIFELINE_H

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
 * The shortest legal way to bring a thread from `state` to dead, or to enter one
 * that is in `state` at the start of a window: calls of `put` in order, with the
 * events that recorder, cut and repair write ("OHw", "OAs", "OHr", "OHe"; for entering
 * "OHx", "OHp", "OHw", "OHr"). The thread that was not running moves to the virtual CPU
 * (OAs with -1, only if it is not there: `on_virtual`). `put` is told the MCV and, for
 * OHx and OAs, the CPU index; a non-zero return of it ends the walk and is returned.
 * (event-mapping.md, "The thread state machine".)
 */
typedef int (*lifeline_put_fn)(void *arg, uint32_t mcv, int32_t cpu);
int lifeline_close(enum lifeline state, bool on_virtual, lifeline_put_fn put, void *arg);
int lifeline_enter(enum lifeline state, int32_t cpu, lifeline_put_fn put, void *arg);

#endif
