/* SPDX-License-Identifier: MIT */
/*
 * models: the list of models, and the small ones. The catalogue describes MPI, NODES and TAMPI in
 * full: each event enters or leaves a function or a subsystem. Models of user code (ovni, nosv,
 * ...) have no events between the KCO and KCI of the model kernel. Specification: models.md 2, 8,
 * 9, 10.
 */
#include <stddef.h>

#include "emu/model.h"
#include "emu/track.h"

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

/* ---- kernel: a thread is out of the CPU from KCO to KCI, in any state ---- */

static const struct channel_page kernel_channels[] = {
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

static const struct model_event kernel_events[] = {
	{"KCO", false, switch_context},
	{"KCI", false, switch_context},
};

static const struct model model_kernel = {
	.name = "kernel",
	CHANNELS(kernel_channels),
	EVENTS(kernel_events),
};

/* ---- the list ---- */

const struct model *const models[] = {
	&model_nanos6, &model_nodes, &model_kernel, &model_mpi, &model_ovni,
	&model_openmp, &model_tampi, &model_nosv,   &model_bpf, NULL,
};
