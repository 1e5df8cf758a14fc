/* SPDX-License-Identifier: MIT */
/*
 * Workload: late_sender [ROUNDS [MS]]. Two ranks of MPI: rank 0 receives at once what rank 1 sends
 * after MS of work on a CPU.
 *
 * Each rank prints, as key=value pairs, its rank and process, and the clocks between which it was
 * in MPI; the first line is MPI_Init, of which only the end is true.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define MOST 100

static long ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000L + ts.tv_nsec;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 10, rank, value = 0;
	long work = (argc > 2 ? atol(argv[2]) : 50) * 1000000, begin[MOST + 2] = {0}, end[MOST + 2];

	if (rounds < 1 || rounds > MOST)
		return 2;
	MPI_Init(&argc, &argv);
	end[0] = ns(CLOCK_MONOTONIC);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	begin[1] = ns(CLOCK_MONOTONIC);
	MPI_Barrier(MPI_COMM_WORLD);
	end[1] = ns(CLOCK_MONOTONIC);
	for (int i = 2; i < rounds + 2; i++) {
		if (rank) {
			long until = ns(CLOCK_THREAD_CPUTIME_ID) + work;

			while (ns(CLOCK_THREAD_CPUTIME_ID) < until)
				;
		}
		begin[i] = ns(CLOCK_MONOTONIC);
		if (rank)
			MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
		else
			MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		end[i] = ns(CLOCK_MONOTONIC);
	}
	for (int i = 0; i < rounds + 2; i++)
		printf("rank=%d pid=%d begin=%ld end=%ld\n", rank, getpid(), begin[i], end[i]);
	fflush(stdout);
	MPI_Finalize();
	return 0;
}
