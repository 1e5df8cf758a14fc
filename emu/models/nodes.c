/* SPDX-License-Identifier: MIT */
/*
 * nodes: the NODES runtime. Every event enters or leaves a subsystem: the catalogue has all of it.
 * Specification: models.md 8.
 */
#include "emu/models/models.h"

enum { SUBSYSTEM };

static const struct channel_page channels[] = {
	[SUBSYSTEM] = {.type = 30,
		       .name = "subsystem",
		       .kind = CHANNEL_STACK,
		       .track = TRACK_ACTIVE,
		       .policy = POLICY_SKIP,
		       .label = "NODES subsystem"},
};

const struct model model_nodes = {
	.name = "nodes",
	.channels = channels,
	.nchannels = sizeof(channels) / sizeof(channels[0]),
	.lint_channel = SUBSYSTEM,
	.lint = "subsystems",
};
