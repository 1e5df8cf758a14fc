/* SPDX-License-Identifier: MIT */
/*
 * models: declares the pages of all models, one file each; models.c lists them in order.
 *
 * In: nothing; out: the pages, for the table in models.c alone. Invariant: a page does not use
 * another one.
 */
#ifndef EMU_MODELS_MODELS_H
#define EMU_MODELS_MODELS_H

#include "emu/model.h"

extern const struct model model_nanos6, model_nodes, model_kernel, model_mpi, model_ovni,
	model_openmp, model_tampi, model_nosv, model_bpf;

#endif
