#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The Paraver files of recordings of a thread's states (spinners that share a CPU) and of functions of a
# program (-u): states, reasons, latency, CPUs and functions have the times that the events and
# ovni-report have, and so have the tables of Paraver, where it is. live/apis_* do the same with MPI,
# OpenMP and pthread.
# needs: root
# longer: compares the numbers of Paraver, too
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"
paraver=$ORACLES/paraver/pv-text
[ "$LONG" ] && [ -x "$paraver" ] || paraver=

cat >functions.c <<'C'
#include <pthread.h>
#include <time.h>

static long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

__attribute__((noinline)) void f_work(long us)
{
	for (long end = now() + us; now() < end;)
		;
}

__attribute__((noinline)) void f_sleep(long us)
{
	nanosleep(&(struct timespec){0, us * 1000}, NULL);
	__asm__ volatile("");
}

__attribute__((noinline)) void f_step(int i)
{
	f_work(300);
	f_sleep(500);
	if (i % 3 == 0)
		f_work(200);
	__asm__ volatile("");
}

static void *run(void *arg)
{
	for (int i = 0; i < 30; i++)
		f_step(i);
	return arg;
}

int main(void)
{
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, run, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
C
gcc -O2 -g -o functions functions.c -lpthread || { echo "gcc fails"; exit 1; }

views() { # NAME
	judge "$1"
	python3 "$S/tests/live/views.py" "$B" "$1" ${paraver:+"$paraver"} >"$1.views.txt" 2>&1 || complain "$1: $(cat "$1.views.txt")"
	cat "$1.views.txt"
}
record states command spinners -n 3 -t 200 -p 3
views states
record_output user -u './functions:f_*' -- ./functions
views user
grep -q '^ovni-report func: 3 functions' user.views.txt || complain "the functions are not compared"
finish
