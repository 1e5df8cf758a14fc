/* SPDX-License-Identifier: MIT */
/*
 * models: the list of models, and those that the catalogue describes in full: every event of MPI,
 * NODES and TAMPI enters or leaves a function or a subsystem.
 * Specification: models.md 8, 9, 10.
 */
#include <stddef.h>

#include "emu/model.h"

static const struct channel_page mpi[] = {
	CHANNEL_PAGE(25, "MPI function", STACK, RUNNING, SKIP, .name = "function"),
};
static const struct channel_page nodes[] = {
	CHANNEL_PAGE(30, "NODES subsystem", STACK, ACTIVE, SKIP, .name = "subsystem"),
};
static const struct channel_page tampi[] = {
	CHANNEL_PAGE(20, "TAMPI subsystem", STACK, ACTIVE, SKIP, .name = "subsystem"),
};

static const struct model model_mpi = {.name = "mpi", CHANNELS(mpi), .lint = "MPI functions"};
static const struct model model_nodes = {.name = "nodes", CHANNELS(nodes), .lint = "subsystems"};
static const struct model model_tampi = {.name = "tampi", CHANNELS(tampi), .lint = "subsystems"};

const struct model *const models[] = {
	&model_nanos6, &model_nodes, &model_kernel, &model_mpi, &model_ovni,
	&model_openmp, &model_tampi, &model_nosv,   &model_bpf, NULL,
};
