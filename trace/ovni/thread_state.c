/* SPDX-License-Identifier: MIT */
#include "trace/ovni/thread_state.h"

#include <stddef.h>

#include "trace/ovni/event.h"

const char *const lifeline_names[LIFELINE_COUNT] = {
	[LIFELINE_UNKNOWN] = "Unknown", [LIFELINE_RUNNING] = "Running",
	[LIFELINE_PAUSED] = "Paused",	[LIFELINE_DEAD] = "Dead",
	[LIFELINE_COOLING] = "Cooling", [LIFELINE_WARMING] = "Warming",
};

#define FROM(state) (1u << (state))

static const struct move {
	char value;   /* of OH? */
	uint8_t from; /* set of states in which it is legal */
	uint8_t to;
} moves[] = {
	{'x', FROM(LIFELINE_UNKNOWN) | FROM(LIFELINE_DEAD), LIFELINE_RUNNING},
	{'e', FROM(LIFELINE_RUNNING) | FROM(LIFELINE_COOLING), LIFELINE_DEAD},
	{'p', FROM(LIFELINE_RUNNING) | FROM(LIFELINE_COOLING), LIFELINE_PAUSED},
	{'r', FROM(LIFELINE_PAUSED) | FROM(LIFELINE_WARMING), LIFELINE_RUNNING},
	{'c', FROM(LIFELINE_RUNNING), LIFELINE_COOLING},
	{'w', FROM(LIFELINE_PAUSED), LIFELINE_WARMING},
};

int lifeline_next(enum lifeline state, char value)
{
	if ((unsigned)state >= LIFELINE_COUNT)
		return -1;
	if (value == 'C')
		return (int)state;
	for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++)
		if (moves[i].value == value)
			return moves[i].from & FROM(state) ? moves[i].to : -1;
	return -1;
}

#define VIRTUAL_CPU (-1)
#define OHX	    MCV('O', 'H', 'x')
#define OHE	    MCV('O', 'H', 'e')
#define OHP	    MCV('O', 'H', 'p')
#define OHR	    MCV('O', 'H', 'r')
#define OHC	    MCV('O', 'H', 'c')
#define OHW	    MCV('O', 'H', 'w')
#define OAS	    MCV('O', 'A', 's')

/* Ways, each ended by 0. */
static const uint32_t dies[] = {OHE, 0};
static const uint32_t wakes_moves_dies[] = {OHW, OAS, OHR, OHE, 0};
static const uint32_t moves_dies[] = {OAS, OHR, OHE, 0};
static const uint32_t resumes_dies[] = {OHR, OHE, 0};
static const uint32_t begins[] = {OHX, 0};
static const uint32_t begins_sleeps[] = {OHX, OHP, 0};
static const uint32_t begins_waits[] = {OHX, OHP, OHW, 0};
static const uint32_t begins_cools[] = {OHX, OHC, 0};

static int walk(const uint32_t *way, int32_t cpu, lifeline_put_fn put, void *arg)
{
	for (; way && *way; way++) {
		int err = put(arg, *way, cpu);

		if (err)
			return err;
	}
	return 0;
}

int lifeline_close(enum lifeline state, bool on_virtual, lifeline_put_fn put, void *arg)
{
	static const uint32_t *const ways[LIFELINE_COUNT][2] = {
		/*                   elsewhere         on the virtual CPU */
		[LIFELINE_RUNNING] = {dies, dies},
		[LIFELINE_COOLING] = {dies, dies},
		[LIFELINE_PAUSED] = {wakes_moves_dies, resumes_dies},
		[LIFELINE_WARMING] = {moves_dies, resumes_dies},
	};

	if ((unsigned)state >= LIFELINE_COUNT)
		return 0;
	return walk(ways[state][on_virtual], VIRTUAL_CPU, put, arg);
}

int lifeline_enter(enum lifeline state, int32_t cpu, lifeline_put_fn put, void *arg)
{
	static const uint32_t *const ways[LIFELINE_COUNT] = {
		[LIFELINE_RUNNING] = begins,
		[LIFELINE_COOLING] = begins_cools,
		[LIFELINE_PAUSED] = begins_sleeps,
		[LIFELINE_WARMING] = begins_waits,
	};

	if ((unsigned)state >= LIFELINE_COUNT)
		return 0;
	/* who does not run must not need a CPU that another one runs on */
	if (state == LIFELINE_PAUSED || state == LIFELINE_WARMING)
		cpu = VIRTUAL_CPU;
	return walk(ways[state], cpu, put, arg);
}
