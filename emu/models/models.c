/* SPDX-License-Identifier: MIT */
/*
 * models: the list of models, and those that the catalogue describes in full: every event of MPI,
 * NODES and TAMPI enters or leaves a function or a subsystem.
 * Specification: models.md 8, 9, 10.
 */
#include <stddef.h>

#include "emu/model.h"

static const struct channel_page mpi_function = {
	.type = 25,
	.name = "function",
	.kind = CHANNEL_STACK,
	.track = TRACK_RUNNING,
	.policy = POLICY_SKIP,
	.label = "MPI function",
};

static const struct channel_page nodes_subsystem = {
	.type = 30,
	.name = "subsystem",
	.kind = CHANNEL_STACK,
	.track = TRACK_ACTIVE,
	.policy = POLICY_SKIP,
	.label = "NODES subsystem",
};

static const struct channel_page tampi_subsystem = {
	.type = 20,
	.name = "subsystem",
	.kind = CHANNEL_STACK,
	.track = TRACK_ACTIVE,
	.policy = POLICY_SKIP,
	.label = "TAMPI subsystem",
};

static const struct model model_mpi = {
	.name = "mpi", .channels = &mpi_function, .nchannels = 1, .lint = "MPI functions"};
static const struct model model_nodes = {
	.name = "nodes", .channels = &nodes_subsystem, .nchannels = 1, .lint = "subsystems"};
static const struct model model_tampi = {
	.name = "tampi", .channels = &tampi_subsystem, .nchannels = 1, .lint = "subsystems"};

const struct model *const models[] = {
	&model_nanos6, &model_nodes, &model_kernel, &model_mpi, &model_ovni,
	&model_openmp, &model_tampi, &model_nosv,   &model_bpf, NULL,
};
