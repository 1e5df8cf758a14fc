/* SPDX-License-Identifier: MIT */
/*
 * longest_waits: an example for the library that reads traces, ovni-trace(3).
 *
 *   cc longest_waits.c -o longest_waits $(pkg-config --cflags --libs ovni-trace)
 *   ./longest_waits ovni
 *
 * Prints for each thread of a trace the time in each state, its longest sleep, the system call of
 * it, and the thread that ended it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ovni-trace/reader.h>

#define STATES 5

struct sums {
	int64_t ns[STATES];
	struct ovni_trace_interval longest;
	char call[64];
};

static void add(struct ovni_trace *trace, struct sums *sums, const struct ovni_trace_interval *iv)
{
	const char *call;

	sums->ns[iv->state] += iv->end - iv->begin;
	if (iv->state != OVNI_TRACE_ASLEEP ||
	    iv->end - iv->begin <= sums->longest.end - sums->longest.begin)
		return;
	sums->longest = *iv;
	call = ovni_trace_interval_call(trace);
	snprintf(sums->call, sizeof(sums->call), "%s", call ? call : "");
}

static void print(const struct ovni_trace *trace, size_t i, const struct sums *sums)
{
	const struct ovni_trace_thread *thread = ovni_trace_thread(trace, i);
	int64_t waker = ovni_trace_find(trace, i, sums->longest.waker);

	printf("%s %" PRId64, thread->loom, thread->tid);
	for (int state = 0; state < STATES; state++)
		printf(" %s=%" PRId64, ovni_trace_state_name(state), sums->ns[state]);
	printf(" longest=%" PRId64 " at=%" PRId64 " call=%s waker=%d",
	       sums->longest.end - sums->longest.begin, sums->longest.begin, sums->call,
	       sums->longest.waker);
	printf(" (%s)\n", waker < 0 ? "" : ovni_trace_thread(trace, (size_t)waker)->name);
}

int main(int argc, char **argv)
{
	const struct ovni_trace_interval *interval;
	struct ovni_trace *trace;
	struct sums *sums;
	int more = 0;

	if (argc != 2) {
		fprintf(stderr, "usage: longest_waits TRACE\n");
		return 2;
	}
	if (ovni_trace_open(&trace, argv[1])) {
		fprintf(stderr, "longest_waits: %s\n", ovni_trace_error());
		return 1;
	}
	sums = calloc(ovni_trace_nthreads(trace) + 1, sizeof(*sums));
	while (sums && (more = ovni_trace_next_interval(trace, &interval)) > 0)
		add(trace, &sums[interval->thread], interval);
	if (!sums || more < 0)
		fprintf(stderr, "longest_waits: %s\n", sums ? ovni_trace_error() : "out of memory");
	for (size_t i = 0; sums && i < ovni_trace_nthreads(trace); i++)
		print(trace, i, &sums[i]);
	if (*ovni_trace_incomplete(trace))
		fprintf(stderr, "longest_waits: %s is incomplete: %s\n", argv[1],
			ovni_trace_incomplete(trace));
	more = !sums || more < 0 ? 1 : *ovni_trace_incomplete(trace) ? 3 : 0;
	free(sums);
	ovni_trace_close(trace);
	return more;
}
