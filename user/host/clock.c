/* SPDX-License-Identifier: MIT */
/* clock: see clock.h. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "user/host/clock.h"

static int64_t offset_ns; /* of this process's clock from the kernel's */

void clock_prepare(void)
{
	FILE *file = fopen("/proc/self/timens_offsets", "re");
	char name[32];
	long long s, ns;

	offset_ns = 0;
	while (file && fscanf(file, "%31s %lld %lld", name, &s, &ns) == 3)
		if (!strcmp(name, "monotonic"))
			offset_ns = s * 1000000000 + ns;
	if (file)
		fclose(file);
}

uint64_t clock_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)((int64_t)now.tv_sec * 1000000000 + now.tv_nsec - offset_ns);
}
