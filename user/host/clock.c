/* SPDX-License-Identifier: MIT */
/* clock: see clock.h. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "user/host/clock.h"

#define PAIR_TRIES 16

int64_t clock_namespace_ns;

void clock_prepare(void)
{
	FILE *file = fopen("/proc/self/timens_offsets", "re");
	char name[32];
	long long s, ns;

	clock_namespace_ns = 0;
	while (file && fscanf(file, "%31s %lld %lld", name, &s, &ns) == 3)
		if (!strcmp(name, "monotonic"))
			clock_namespace_ns = s * 1000000000 + ns;
	if (file)
		fclose(file);
}

uint64_t clock_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)((int64_t)now.tv_sec * 1000000000 + now.tv_nsec - clock_namespace_ns);
}

struct clock_pair clock_pair(void)
{
	struct clock_pair best = {.error_ns = UINT64_MAX};

	for (int i = 0; i < PAIR_TRIES; i++) {
		uint64_t before = clock_now(), after, error;
		struct timespec now;

		clock_gettime(CLOCK_REALTIME, &now);
		after = clock_now();
		error = (after - before + 1) / 2;
		if (error >= best.error_ns)
			continue;
		best = (struct clock_pair){
			.clock = before + (after - before) / 2,
			.realtime = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec,
			.error_ns = error,
		};
	}
	return best;
}
