/* SPDX-License-Identifier: MIT */
/*
 * mpi: calls of MPI functions. Every event enters or leaves one: the catalogue has all of it.
 * Specification: models.md 10.
 */
#include "emu/models/models.h"

enum { FUNCTION };

static const struct channel_page channels[] = {
	[FUNCTION] = {.type = 25,
		      .name = "function",
		      .kind = CHANNEL_STACK,
		      .track = TRACK_RUNNING,
		      .policy = POLICY_SKIP,
		      .label = "MPI function"},
};

const struct model model_mpi = {
	.name = "mpi",
	.channels = channels,
	.nchannels = sizeof(channels) / sizeof(channels[0]),
	.lint_channel = FUNCTION,
	.lint = "MPI functions",
};
