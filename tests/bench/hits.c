/* SPDX-License-Identifier: MIT */
/*
 * hits: calls one function over and over, and says how long a call took.
 *
 *   hits SITE CALLS [THREADS]     SITE: push, endbr64, sub or libgomp
 *
 * Prints "SITE NS_PER_CALL CALLS_PER_SECOND": CPU time, the median of ten equal batches, of the
 * first thread. With several threads each stays on a CPU of its own.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BATCHES 10
#define NAKED	__attribute__((noinline, noclone, used, naked))

#if defined(__x86_64__) && !defined(PLAIN) /* PLAIN: functions that gcc -pg instruments */
NAKED void push_site(void);
NAKED void push_site(void)
{
	__asm__("push %rbx\n\tpop %rbx\n\tret");
}

NAKED void endbr64_site(void);
NAKED void endbr64_site(void)
{
	__asm__("endbr64\n\tpush %rbx\n\tpop %rbx\n\tret");
}

NAKED void sub_site(void);
NAKED void sub_site(void)
{
	__asm__("sub $8, %rsp\n\tadd $8, %rsp\n\tret");
}
#else
__attribute__((noinline, noclone, used)) void push_site(void);
void push_site(void)
{
	__asm__ volatile("");
}
#define endbr64_site push_site
#define sub_site     push_site
#endif

static void (*site)(void);
static long calls;

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts); /* neighbours do not count */
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double batch(void)
{
	uint64_t start = now();

	long rounds = calls / BATCHES;

	for (long i = 0; i < rounds; i++)
		site();
	return (double)(now() - start) / (double)rounds;
}

static void *run(void *arg)
{
	double ns[BATCHES];
	long number = (long)(intptr_t)arg;
	cpu_set_t set;

	if (number >= 0) {
		CPU_ZERO(&set);
		CPU_SET((size_t)number, &set);
		pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	}
	for (int i = 0; i < BATCHES; i++)
		ns[i] = batch();
	qsort(ns, BATCHES, sizeof(*ns), by_value);
	if (number <= 0)
		printf("%.1f %.0f\n", ns[BATCHES / 2], 1e9 / ns[BATCHES / 2]);
	return NULL;
}

static void *from_libgomp(const char *name)
{
	void *library = dlopen("libgomp.so.1", RTLD_NOW),
	     *at = library ? dlsym(library, name) : NULL;

	if (!at) {
		fprintf(stderr, "hits: there is no libgomp.so.1\n");
		exit(77);
	}
	return at;
}

int main(int argc, char **argv)
{
	long threads = argc > 3 ? atol(argv[3]) : 1;
	pthread_t others[64];
	const char *what;

	if (argc < 3 || threads < 1 || threads > 64)
		return 2;
	what = argv[1];
	calls = atol(argv[2]);
	if (calls < BATCHES)
		return 2;
	site = !strcmp(what, "push")	  ? push_site
	       : !strcmp(what, "endbr64") ? endbr64_site
	       : !strcmp(what, "sub")	  ? sub_site
					  : (void (*)(void))from_libgomp("GOMP_taskwait");
	printf("%s ", what);
	if (threads == 1)
		return run((void *)-1L), 0;
	for (long i = 0; i < threads; i++)
		if (pthread_create(&others[i], NULL, run, (void *)i))
			return 1;
	for (long i = 0; i < threads; i++)
		pthread_join(others[i], NULL);
	return 0;
}
