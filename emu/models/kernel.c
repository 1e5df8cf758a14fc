/* SPDX-License-Identifier: MIT */
/*
 * kernel: a thread is out of the CPU from KCO to KCI, in any state. Models of user code (ovni,
 * nosv, ...) have no events in between.
 * Specification: models.md 2.
 */
#include "emu/model.h"
#include "emu/track.h"

enum { CONTEXT_SWITCH };

static const struct channel_page channels[] = {
	[CONTEXT_SWITCH] = {.type = 45,
			    .name = "context switch",
			    .kind = CHANNEL_STACK,
			    .track = TRACK_ANY,
			    .policy = POLICY_SKIP,
			    .label = "Kernel context switch"},
};

/* KCO, KCI */
static int switch_context(struct emulator *emu, struct thread *th, const struct event *ev,
			  const struct action *action)
{
	if (ev->value == 'O') {
		th->situation |= THREAD_OUT_OF_CPU;
		return emu_push(emu, th, action->channel, action->value);
	}
	th->situation &= (uint8_t)~THREAD_OUT_OF_CPU;
	return emu_pop(emu, th, action->channel, action->value);
}

static const struct model_event events[] = {
	{"KCO", false, switch_context},
	{"KCI", false, switch_context},
};

const struct model model_kernel = {
	.name = "kernel",
	.channels = channels,
	.nchannels = sizeof(channels) / sizeof(channels[0]),
	.events = events,
	.nevents = sizeof(events) / sizeof(events[0]),
};
