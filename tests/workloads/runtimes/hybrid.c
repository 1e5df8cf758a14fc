/* SPDX-License-Identifier: MIT */
/*
 * Workload: hybrid [MS [ROUNDS]]. Two ranks of two threads. They sleep instead of computing, so
 * that a busy machine does not change their times. A round, in units of MS: 2 serial; a parallel
 * region, 5 and 4 for the threads of rank 0, 6 and 6 for those of rank 1; 1 serial; MPI_Allreduce.
 */
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	static const int parts[2][2] = {{5, 4}, {6, 6}};
	int ms = argc > 1 ? atoi(argv[1]) : 20, rounds = argc > 2 ? atoi(argv[2]) : 5, rank,
	    one = 1, sum;

	omp_set_num_threads(2);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < rounds; i++) {
		usleep(2000 * (unsigned)ms);
#pragma omp parallel
		usleep(1000 * (unsigned)(ms * parts[rank & 1][omp_get_thread_num() & 1]));
		usleep(1000 * (unsigned)ms);
		MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	}
	MPI_Finalize();
	printf("rank=%d pid=%d rounds=%d\n", rank, getpid(), rounds);
	return 0;
}
