/* SPDX-License-Identifier: MIT */
/*
 * tampi: the TAMPI library. Every event enters or leaves a subsystem: the catalogue has all of it.
 * Specification: models.md 9.
 */
#include "emu/models/models.h"

enum { SUBSYSTEM };

static const struct channel_page channels[] = {
	[SUBSYSTEM] = {.type = 20,
		       .name = "subsystem",
		       .kind = CHANNEL_STACK,
		       .track = TRACK_ACTIVE,
		       .policy = POLICY_SKIP,
		       .label = "TAMPI subsystem"},
};

const struct model model_tampi = {
	.name = "tampi",
	.channels = channels,
	.nchannels = sizeof(channels) / sizeof(channels[0]),
	.lint_channel = SUBSYSTEM,
	.lint = "subsystems",
};
