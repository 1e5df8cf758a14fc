/* SPDX-License-Identifier: MIT */
/*
 * first_rank: which process of an MPI program reports mistakes on the command line, which all of
 * them read before MPI_Init().
 *
 * In: the environment, in which the launchers of OpenMPI, MPICH and Slurm tell each process its
 * rank; out: whether it is rank 0.
 */
#ifndef TOOLS_SYNC_FIRST_RANK_H
#define TOOLS_SYNC_FIRST_RANK_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* True in rank 0, and without a launcher. */
static inline bool is_first_rank(void)
{
	static const char *const variables[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK",
						"SLURM_PROCID"};

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		const char *rank = getenv(variables[i]);

		if (rank)
			return !strcmp(rank, "0");
	}
	return true;
}

#endif
