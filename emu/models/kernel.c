/* SPDX-License-Identifier: MIT */
/*
 * kernel: a thread is out of the CPU from KCO to KCI, in any state. Models of user code (ovni,
 * nosv, ...) have no events in between.
 * Specification: models.md 2.
 */
#include "emu/models/models.h"
#include "emu/refuse.h"
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

static int leave(struct emulator *emu, struct thread *th, const struct event *ev,
		 const struct action *action)
{
	(void)ev;
	th->situation |= THREAD_OUT_OF_CPU;
	return emu_refuse_channel(emu, channel_push(emu, th, action->channel, action->value), th,
				  action->channel, action->value);
}

static int come_back(struct emulator *emu, struct thread *th, const struct event *ev,
		     const struct action *action)
{
	(void)ev;
	th->situation &= (uint8_t)~THREAD_OUT_OF_CPU;
	return emu_refuse_channel(emu, channel_pop(emu, th, action->channel, action->value), th,
				  action->channel, action->value);
}

static const struct model_event events[] = {
	{"KCO", false, leave},
	{"KCI", false, come_back},
};

const struct model model_kernel = {
	.name = "kernel",
	.channels = channels,
	.nchannels = sizeof(channels) / sizeof(channels[0]),
	.events = events,
	.nevents = sizeof(events) / sizeof(events[0]),
};
