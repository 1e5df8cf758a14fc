/* SPDX-License-Identifier: MIT */
/* models: the list of models, by character; the extension bpf is last (see model.h). */
#include "emu/models/models.h"

#include <stddef.h>

const struct model *const models[] = {
	&model_nanos6, &model_nodes, &model_kernel, &model_mpi, &model_ovni,
	&model_openmp, &model_tampi, &model_nosv,   &model_bpf, NULL,
};
