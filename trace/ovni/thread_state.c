/* SPDX-License-Identifier: MIT */
/* thread_state: the table of transitions (see thread_state.h). */
#include "trace/ovni/thread_state.h"

#include <stddef.h>

#include "trace/ovni/event.h"

const char *const thread_state_names[THREAD_STATE_COUNT] = {
	[THREAD_STATE_UNKNOWN] = "Unknown", [THREAD_STATE_RUNNING] = "Running",
	[THREAD_STATE_PAUSED] = "Paused",   [THREAD_STATE_DEAD] = "Dead",
	[THREAD_STATE_COOLING] = "Cooling", [THREAD_STATE_WARMING] = "Warming",
};

#define FROM(state) (1u << (state))

#define MOVE(value) ((value) - 'a') /* of OH? */

static const struct {
	uint8_t from; /* set of states that allow it */
	uint8_t to;
} moves[26] = {
	[MOVE('x')] = {FROM(THREAD_STATE_UNKNOWN) | FROM(THREAD_STATE_DEAD), THREAD_STATE_RUNNING},
	[MOVE('e')] = {FROM(THREAD_STATE_RUNNING) | FROM(THREAD_STATE_COOLING), THREAD_STATE_DEAD},
	[MOVE('p')] = {FROM(THREAD_STATE_RUNNING) | FROM(THREAD_STATE_COOLING),
		       THREAD_STATE_PAUSED},
	[MOVE('r')] = {FROM(THREAD_STATE_PAUSED) | FROM(THREAD_STATE_WARMING),
		       THREAD_STATE_RUNNING},
	[MOVE('c')] = {FROM(THREAD_STATE_RUNNING), THREAD_STATE_COOLING},
	[MOVE('w')] = {FROM(THREAD_STATE_PAUSED), THREAD_STATE_WARMING},
};

int thread_state_next(enum thread_state state, char value)
{
	if ((unsigned)state >= THREAD_STATE_COUNT)
		return -1;
	if (value == 'C')
		return (int)state;
	if (value < 'a' || value > 'z' || !(moves[MOVE(value)].from & FROM(state)))
		return -1;
	return moves[MOVE(value)].to;
}

#define VIRTUAL_CPU (-1)
#define OHX	    MCV('O', 'H', 'x')
#define OHE	    MCV('O', 'H', 'e')
#define OHP	    MCV('O', 'H', 'p')
#define OHR	    MCV('O', 'H', 'r')
#define OHC	    MCV('O', 'H', 'c')
#define OHW	    MCV('O', 'H', 'w')
#define OAS	    MCV('O', 'A', 's')

/* Sequences of events, each ended by 0. */
static const uint32_t dies[] = {OHE, 0};
static const uint32_t wakes_moves_dies[] = {OHW, OAS, OHR, OHE, 0};
static const uint32_t moves_dies[] = {OAS, OHR, OHE, 0};
static const uint32_t resumes_dies[] = {OHR, OHE, 0};
static const uint32_t begins[] = {OHX, 0};
static const uint32_t begins_sleeps[] = {OHX, OHP, 0};
static const uint32_t begins_waits[] = {OHX, OHP, OHW, 0};
static const uint32_t begins_cools[] = {OHX, OHC, 0};

static int walk(const uint32_t *way, int32_t cpu, thread_state_put_fn put, void *arg)
{
	for (; way && *way; way++) {
		int err = put(arg, *way, cpu);

		if (err)
			return err;
	}
	return 0;
}

int thread_state_close(enum thread_state state, bool on_virtual, thread_state_put_fn put, void *arg)
{
	static const uint32_t *const ways[THREAD_STATE_COUNT][2] = {
		/*                   elsewhere         on the virtual CPU */
		[THREAD_STATE_RUNNING] = {dies, dies},
		[THREAD_STATE_COOLING] = {dies, dies},
		[THREAD_STATE_PAUSED] = {wakes_moves_dies, resumes_dies},
		[THREAD_STATE_WARMING] = {moves_dies, resumes_dies},
	};

	if ((unsigned)state >= THREAD_STATE_COUNT)
		return 0;
	return walk(ways[state][on_virtual], VIRTUAL_CPU, put, arg);
}

int thread_state_enter(enum thread_state state, int32_t cpu, thread_state_put_fn put, void *arg)
{
	static const uint32_t *const ways[THREAD_STATE_COUNT] = {
		[THREAD_STATE_RUNNING] = begins,
		[THREAD_STATE_COOLING] = begins_cools,
		[THREAD_STATE_PAUSED] = begins_sleeps,
		[THREAD_STATE_WARMING] = begins_waits,
	};

	if ((unsigned)state >= THREAD_STATE_COUNT)
		return 0;
	/* a thread that does not run must not occupy the CPU of a running one */
	if (state == THREAD_STATE_PAUSED || state == THREAD_STATE_WARMING)
		cpu = VIRTUAL_CPU;
	return walk(ways[state], cpu, put, arg);
}
