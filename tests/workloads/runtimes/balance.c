/* SPDX-License-Identifier: MIT */
/*
 * Workload: balance MS [ROUNDS [TURNS CPU]]. Each rank of MPI works (2 + rank) / 2 times MS on a
 * CPU, then all meet in MPI_Allreduce; so ROUNDS times. With the file TURNS, one rank after the
 * other works, on that CPU, while the later ones sleep; else all at once.
 *
 * Each rank prints, as key=value pairs, its rank and process, the CPU time of its work, the time in
 * MPI, and the time from the end of MPI_Init to the begin of MPI_Finalize, in ns.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static long ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000L + ts.tv_nsec;
}

static void pin(const cpu_set_t *cpus)
{
	if (sched_setaffinity(0, sizeof(*cpus), cpus))
		exit(3);
}

static long work(long amount)
{
	long begin = ns(CLOCK_THREAD_CPUTIME_ID), now;

	do
		now = ns(CLOCK_THREAD_CPUTIME_ID);
	while (now < begin + amount);
	return now - begin;
}

int main(int argc, char **argv)
{
	long amount = (argc > 1 ? atol(argv[1]) : 50) * 1000000, worked = 0, mpi = 0, from, to;
	int rounds = argc > 2 ? atoi(argv[2]) : 1, rank, size, one = 1, sum;
	atomic_int *turn = NULL;
	cpu_set_t all, cpu;

	sched_getaffinity(0, sizeof(all), &all);
	if (argc > 4) {
		int fd = open(argv[3], O_RDWR | O_CREAT, 0600);

		if (fd < 0 || ftruncate(fd, 4096))
			return 3;
		turn = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (turn == MAP_FAILED)
			return 3;
		CPU_ZERO(&cpu);
		CPU_SET(atoi(argv[4]), &cpu);
	}
	MPI_Init(&argc, &argv);
	from = ns(CLOCK_MONOTONIC);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < rounds; i++) {
		while (turn && atomic_load(turn) < i * size + rank)
			usleep(20000);
		if (turn)
			pin(&cpu);
		worked += work(amount * (2 + rank) / 2);
		if (turn) {
			pin(&all);
			atomic_fetch_add(turn, 1);
		}
		to = ns(CLOCK_MONOTONIC);
		MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		mpi += ns(CLOCK_MONOTONIC) - to;
	}
	to = ns(CLOCK_MONOTONIC);
	MPI_Finalize();
	printf("rank=%d pid=%d worked=%ld mpi=%ld window=%ld\n", rank, getpid(), worked, mpi,
	       to - from);
	return 0;
}
