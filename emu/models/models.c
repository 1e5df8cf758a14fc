/* SPDX-License-Identifier: MIT */
/* models: all of them, in the order of their character; ours last. */
#include "emu/models/models.h"

#include <stddef.h>

const struct model *const models[] = {
	&model_nanos6, &model_nodes, &model_kernel, &model_mpi, &model_ovni,
	&model_openmp, &model_tampi, &model_nosv,   &model_bpf, NULL,
};
