/* SPDX-License-Identifier: MIT */
/*
 * models: the pages, one file each; models.c has them in order. Besides it, only
 * marks look at another page: they are part of the ovni model and have a file of their own.
 */
#ifndef EMU_MODELS_MODELS_H
#define EMU_MODELS_MODELS_H

#include "emu/model.h"

extern const struct model model_nanos6, model_nodes, model_kernel, model_mpi, model_ovni,
	model_openmp, model_tampi, model_nosv, model_bpf;

#endif
