/* SPDX-License-Identifier: MIT */
/* call_stacks: see call_stacks.h. */
#include <stdlib.h>
#include <string.h>

#include "bpf/record.h"
#include "user/timeline/call_stacks.h"
#include "trace/base/log.h"

#define INNER_MAX 1024 /* frames among which a call of the same function is looked for */

/* ---- frames ---- */

/*
 * `below`: a frame is gone if the thread is at a higher address; without it, also at the same
 * address. Addresses fall from one frame of a stack to the next, so a live frame proves that the
 * rest is alive.
 */
static uint32_t alive(const struct stacks *stacks, const struct stacks_at *at, bool below)
{
	uint32_t n = stacks->nframes;

	if (at->stack == PROBE_STACK_UNKNOWN)
		return n;
	for (uint32_t i = stacks->nframes; i > 0; i--) {
		const struct frame *frame = &stacks->frames[i - 1];

		if (frame->stack == at->stack) {
			if (below ? frame->sp >= at->sp : frame->sp > at->sp)
				break;
			n = i - 1;
		} else if (frame->stack & PROBE_STACK_ALTERNATE &&
			   !(at->stack & PROBE_STACK_ALTERNATE)) {
			n = i - 1;
		}
	}
	return n;
}

uint32_t stacks_alive_at_entry(const struct stacks *stacks, const struct stacks_at *at)
{
	return alive(stacks, at, at->tail);
}

uint32_t stacks_alive_at_point(const struct stacks *stacks, const struct stacks_at *at)
{
	return alive(stacks, at, true);
}

int64_t stacks_find(const struct stacks *stacks, const struct stacks_at *at)
{
	for (uint32_t i = stacks->nframes; i > 0; i--) {
		const struct frame *frame = &stacks->frames[i - 1];

		if (at->call ? frame->call == at->call
			     : frame->site == at->site && frame->sp == at->sp &&
				       frame->stack == at->stack)
			return i - 1;
	}
	return -1;
}

struct frame *stacks_push(struct stacks *stacks, const struct stacks_at *at, bool *deep)
{
	struct frame *frame;

	*deep = stacks->nframes == STACKS_FRAMES;
	if (*deep)
		return NULL;
	if (stacks->nframes == stacks->frames_room) {
		uint32_t room = stacks->frames_room ? 2 * stacks->frames_room : 8;
		struct frame *grown = realloc(stacks->frames, room * sizeof(*grown));

		if (!grown)
			return NULL;
		stacks->frames = grown;
		stacks->frames_room = room;
	}
	frame = &stacks->frames[stacks->nframes];
	*frame = (struct frame){
		.site = at->site, .stack = at->stack, .sp = at->sp, .call = at->call};
	for (uint32_t i = 0; i < stacks->nframes && i < INNER_MAX && !frame->inner; i++)
		frame->inner = stacks->frames[stacks->nframes - 1 - i].site == at->site;
	stacks->nframes++;
	return frame;
}

void stacks_pop(struct stacks *stacks)
{
	stacks->nframes--;
}

/* ---- states ---- */

static bool equal(const struct effect *a, const struct effect *b)
{
	return a->enter == b->enter && a->type == b->type && a->value == b->value;
}

/* Writes the state at index `i`, all others of its stack that are written being below, if it may.
 */
static int write_state(struct stacks *stacks, uint32_t i, const struct stacks_out *out)
{
	struct state *state = &stacks->states[i];
	int err;

	state->depth = 0;
	state->top = NULL;
	for (uint32_t k = i; k > 0; k--) {
		const struct state *below = &stacks->states[k - 1];

		if (below->effect->stack != state->effect->stack)
			continue;
		state->depth = below->depth;
		state->top = below->top;
		break;
	}
	if (state->depth >= STACKS_DEPTH) {
		out->counts->too_deep++;
		return 0;
	}
	if (state->top && !state->effect->repeats && equal(state->top, state->effect)) {
		out->counts->equal++;
		return 0;
	}
	err = out->put(out->arg, state->effect, true);
	state->written = !err;
	state->depth++;
	state->top = state->effect;
	return err;
}

int stacks_begin(struct stacks *stacks, const struct effect *effect, bool of_frame,
		 const struct stacks_out *out)
{
	if (!of_frame && stacks->nstates >= stacks->nframes + STACKS_FREE) {
		out->counts->too_deep++;
		return 0;
	}
	if (stacks->nstates == stacks->states_room) {
		uint32_t room = stacks->states_room ? 2 * stacks->states_room : 8;
		struct state *grown = realloc(stacks->states, room * sizeof(*grown));

		if (!grown)
			return log_no_memory("for the functions of a thread");
		stacks->states = grown;
		stacks->states_room = room;
	}
	stacks->states[stacks->nstates++] =
		(struct state){.effect = effect, .frame = of_frame ? stacks->nframes : 0};
	return stacks->shown ? write_state(stacks, stacks->nstates - 1, out) : 0;
}

static int unwrite(struct state *state, const struct stacks_out *out)
{
	state->written = false;
	return out->put(out->arg, state->effect, false);
}

/* Takes the state at index `i` away, wherever it is. */
static int end_state(struct stacks *stacks, uint32_t i, const struct stacks_out *out)
{
	struct state *state = &stacks->states[i];
	uint16_t stack = state->effect->stack;
	uint32_t n = stacks->nstates, others = 0;
	bool written = state->written;
	int err = 0;

	for (uint32_t k = n; written && k > i; k--) {
		if (!stacks->states[k - 1].written || stacks->states[k - 1].effect->stack != stack)
			continue;
		err = unwrite(&stacks->states[k - 1], out);
		if (err)
			break;
		others += k - 1 != i;
	}
	memmove(state, state + 1, (n - i - 1) * sizeof(*state));
	stacks->nstates--;
	out->counts->reopened += others;
	if (err || !written)
		return err;
	for (uint32_t k = i; k < stacks->nstates; k++) {
		if (stacks->states[k].written || stacks->states[k].effect->stack != stack)
			continue;
		err = write_state(stacks, k, out);
		if (err)
			return err;
	}
	return 0;
}

int stacks_end_frame(struct stacks *stacks, const struct stacks_out *out)
{
	for (uint32_t i = stacks->nstates; i > 0; i--) {
		uint32_t frame = stacks->states[i - 1].frame;
		int err;

		if (!frame)
			continue;
		if (frame != stacks->nframes)
			break; /* of one below */
		err = end_state(stacks, i - 1, out);
		if (err)
			return err;
	}
	return 0;
}

int stacks_end(struct stacks *stacks, const struct effect *effect, const struct stacks_out *out)
{
	for (uint32_t i = stacks->nstates; i > 0; i--)
		if (!stacks->states[i - 1].frame && equal(stacks->states[i - 1].effect, effect))
			return end_state(stacks, i - 1, out);
	return 0;
}

int stacks_hide(struct stacks *stacks, const struct stacks_out *out)
{
	stacks->shown = false;
	for (uint32_t i = stacks->nstates; i > 0; i--) {
		struct state *state = &stacks->states[i - 1];
		int err = state->written ? unwrite(state, out) : 0;

		if (err)
			return err;
	}
	return 0;
}

int stacks_show(struct stacks *stacks, const struct stacks_out *out)
{
	stacks->shown = true;
	for (uint32_t i = 0; i < stacks->nstates; i++) {
		int err = write_state(stacks, i, out);

		if (err)
			return err;
	}
	return 0;
}

void stacks_clear(struct stacks *stacks)
{
	stacks->nframes = 0;
	stacks->nstates = 0;
}

struct stacks *stacks_copy(const struct stacks *stacks)
{
	struct stacks *copy = calloc(1, sizeof(*copy));

	if (!copy)
		return NULL;
	copy->frames = malloc((stacks->nframes + 1) * sizeof(*copy->frames));
	copy->states = malloc((stacks->nstates + 1) * sizeof(*copy->states));
	if (!copy->frames || !copy->states) {
		stacks_free(copy);
		return NULL;
	}
	if (stacks->nframes)
		memcpy(copy->frames, stacks->frames, stacks->nframes * sizeof(*copy->frames));
	if (stacks->nstates)
		memcpy(copy->states, stacks->states, stacks->nstates * sizeof(*copy->states));
	copy->nframes = stacks->nframes;
	copy->nstates = stacks->nstates;
	copy->frames_room = stacks->nframes + 1;
	copy->states_room = stacks->nstates + 1;
	for (uint32_t i = 0; i < copy->nstates; i++)
		copy->states[i].written = false;
	return copy;
}

void stacks_free(struct stacks *stacks)
{
	if (!stacks)
		return;
	free(stacks->frames);
	free(stacks->states);
	free(stacks);
}
