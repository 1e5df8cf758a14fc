/* SPDX-License-Identifier: MIT */
/* channel: growth of stacks and labels (see channel.h); the hot functions are in track.h. */
#include "emu/paraver/channel.h"

#include <errno.h>
#include <stdlib.h>

enum channel_result channel_stack_grow(struct slot *slot)
{
	size_t room = slot->room ? slot->room * 2u : 8;
	int64_t *stack;

	if (slot->depth >= CHANNEL_STACK_MAX)
		return CHANNEL_FULL;
	stack = realloc(slot->stack, room * sizeof(*stack));
	if (!stack)
		return CHANNEL_NOMEM;
	slot->stack = stack;
	slot->room = (uint16_t)room;
	return CHANNEL_OK;
}

int channel_add_label(struct channel *channel, int64_t value, const char *label)
{
	struct value_label *labels;
	size_t n = channel->nlabels;

	if ((n & (n - 1)) == 0) { /* full: the capacity is the next power of two */
		labels = realloc(channel->labels, (n ? 2 * n : 1) * sizeof(*labels));
		if (!labels)
			return -ENOMEM;
		channel->labels = labels;
	}
	channel->labels[n] = (struct value_label){value, label};
	channel->nlabels = n + 1;
	return 0;
}

const char *channel_label(const struct channel *channel, int64_t value)
{
	for (size_t i = 0; i < channel->nlabels; i++)
		if (channel->labels[i].value == value)
			return channel->labels[i].label;
	return NULL;
}
