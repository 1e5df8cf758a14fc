/* SPDX-License-Identifier: MIT */
/*
 * Workload: ring [ROUNDS]. Ranks of MPI pass a message around, add up, and wait for each other.
 *
 * Each rank prints, as key=value pairs on one line of standard output, its rank and process, and
 * how often it has called each function.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 20, rank, size, token = 0, sum;
	int send = 0, recv = 0, allreduce = 0, barrier = 0, wait = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < rounds; i++) {
		int next = (rank + 1) % size, before = (rank + size - 1) % size;

		if (rank == 0) {
			MPI_Send(&token, 1, MPI_INT, next, 0, MPI_COMM_WORLD);
			MPI_Recv(&token, 1, MPI_INT, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		} else {
			MPI_Recv(&token, 1, MPI_INT, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			token += rank;
			MPI_Send(&token, 1, MPI_INT, next, 0, MPI_COMM_WORLD);
		}
		send++;
		recv++;
		MPI_Allreduce(&token, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		allreduce++;
		if (i % 4 == rank % 2) {
			/* a pair: a request that is waited for */
			MPI_Request request;
			int other = rank ^ 1;

			if (other < size) {
				MPI_Irecv(&sum, 1, MPI_INT, other, 1, MPI_COMM_WORLD, &request);
				MPI_Wait(&request, MPI_STATUS_IGNORE);
				wait++;
			}
		} else if (i % 4 == (rank ^ 1) % 2 && (rank ^ 1) < size) {
			MPI_Send(&token, 1, MPI_INT, rank ^ 1, 1, MPI_COMM_WORLD);
			send++;
		}
		MPI_Barrier(MPI_COMM_WORLD);
		barrier++;
	}
	MPI_Finalize();
	printf("rank=%d size=%d pid=%d MPI_Init=1 MPI_Finalize=1 MPI_Send=%d MPI_Recv=%d "
	       "MPI_Allreduce=%d MPI_Barrier=%d MPI_Irecv=%d MPI_Wait=%d\n",
	       rank, size, (int)getpid(), send, recv, allreduce, barrier, wait, wait);
	return 0;
}
