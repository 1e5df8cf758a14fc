/* SPDX-License-Identifier: MIT */
/* self_cost: see self_cost.h. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "user/host/read_file.h"
#include "user/host/self_cost.h"

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	return clock_gettime(clock, &t) ? 0 : (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* The clock of the CPU time of a thread of this process, as the kernel numbers them. */
static clockid_t thread_clock(int tid)
{
	return (clockid_t)((~(unsigned)tid << 3) | 6);
}

static uint64_t timeval_ns(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_usec * 1000;
}

static void read_cost(struct cost *cost)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;
	char path[64];
	struct rusage usage;

	memset(cost, 0, sizeof(*cost));
	while (dir && cost->nthreads < COST_THREADS_MAX && (entry = readdir(dir))) {
		struct cost_thread *t = &cost->threads[cost->nthreads];

		t->tid = atoi(entry->d_name);
		if (t->tid <= 0)
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%d/comm", t->tid);
		read_line(path, t->name, sizeof(t->name));
		t->cpu_ns = clock_ns(thread_clock(t->tid));
		cost->nthreads++;
	}
	if (dir)
		closedir(dir);
	cost->cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	if (getrusage(RUSAGE_SELF, &usage))
		return;
	cost->user_ns = timeval_ns(usage.ru_utime);
	cost->system_ns = timeval_ns(usage.ru_stime);
	cost->peak_rss_bytes = (uint64_t)usage.ru_maxrss * 1024;
}

void cost_begin(struct cost *cost)
{
	read_cost(cost);
}

void cost_end(struct cost *cost)
{
	struct cost before = *cost;

	read_cost(cost);
	for (size_t i = 0; i < cost->nthreads; i++)
		for (size_t k = 0; k < before.nthreads; k++)
			if (cost->threads[i].tid == before.threads[k].tid)
				cost->threads[i].cpu_ns -= before.threads[k].cpu_ns;
	cost->cpu_ns -= before.cpu_ns;
	cost->user_ns -= before.user_ns;
	cost->system_ns -= before.system_ns;
}
