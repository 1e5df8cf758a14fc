/* SPDX-License-Identifier: MIT */
/*
 * Workload: openmp [ROUNDS]. Constructs of OpenMP whose number is known, with three threads.
 *
 * Prints, as key=value pairs on one line, how often all threads together have met each of them.
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define THREADS 3
#define STEPS	40
#define CHUNK	4

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 10, total = 0;
	int criticals = 0, barriers = 0, taskwaits = 0, tasks = 0, singles = 0;
	double sum = 0;

	omp_set_dynamic(0);
	omp_set_num_threads(THREADS);
	for (int round = 0; round < rounds; round++) {
#pragma omp parallel
		{
#pragma omp for schedule(dynamic, CHUNK) nowait
			for (int i = 0; i < STEPS; i++) {
				double x = i;

				for (int j = 0; j < 200; j++)
					x = x * 0.5 + j;
#pragma omp critical
				{
					sum += x;
					total++;
					criticals++;
				}
			}
#pragma omp barrier
#pragma omp critical
			{
				barriers++;
				criticals++;
			}
#pragma omp single nowait
			{
				singles++;
				for (int i = 0; i < 5; i++) {
#pragma omp task shared(tasks)
					{
#pragma omp atomic
						tasks++;
					}
				}
#pragma omp taskwait
				taskwaits++;
			}
		}
	}
	printf("pid=%d regions=%d criticals=%d barriers=%d singles=%d tasks=%d taskwaits=%d "
	       "chunks=%d threads=%d sum=%d\n",
	       (int)getpid(), rounds, criticals, barriers, singles, tasks, taskwaits,
	       rounds * STEPS / CHUNK, THREADS, total == rounds * STEPS && sum > 0);
	return 0;
}
