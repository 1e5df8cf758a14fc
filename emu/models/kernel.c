/* SPDX-License-Identifier: MIT */
/*
 * kernel: a thread is out of the CPU from KCO to KCI, in any state. Models of user code (ovni,
 * nosv, ...) have no events in between.
 * Specification: models.md 2.
 */
#include "emu/model.h"
#include "emu/track.h"

static const struct channel_page channels[] = {
	CHANNEL_PAGE(45, "Kernel context switch", STACK, ANY, SKIP, .name = "context switch"),
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
	CHANNELS(channels),
	EVENTS(events),
};
