/* SPDX-License-Identifier: MIT */
/*
 * Workload: hybrid [MS [ROUNDS]]. Two ranks of two threads, asleep instead of computing, so that
 * their times are known on a busy machine, too. In units of MS: 2 serial, a region with 5 and 4 of
 * the threads (rank 0) or 6 and 6, 1 serial, then MPI_Allreduce; so ROUNDS times.
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
