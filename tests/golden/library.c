/* SPDX-License-Identifier: MIT */
/*
 * library: hard cases of the library that reads traces.
 *
 *   library walk TRACE...   reads everything of each trace, good or damaged, in a thread for each
 *   library shrink TRACE    a stream becomes shorter while the trace is open: an error, no signal
 *
 * Status 1 if the library breaks a promise of its header.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ovni-trace/reader.h>

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			printf("line %d: %s\n", __LINE__, #condition);                             \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static void read_arguments(struct ovni_trace *t)
{
	size_t n = ovni_trace_event_nargs(t);
	const struct ovni_trace_arg *arg;
	int64_t value;

	CHECK(ovni_trace_event_text(t));
	CHECK(!ovni_trace_event_arg(t, n));
	CHECK(!ovni_trace_event_arg_named(t, "no such argument"));
	for (size_t i = 0; i < n; i++) {
		CHECK((arg = ovni_trace_event_arg(t, i)));
		CHECK((arg->type == OVNI_TRACE_TEXT) == (arg->text != NULL));
		CHECK(ovni_trace_event_value(t, i, arg->n, &value) < 0);
		if (!arg->text && arg->n)
			CHECK(!ovni_trace_event_value(t, i, arg->n - 1, &value));
		CHECK(strcmp(ovni_trace_event_arg_named(t, arg->name)->name, arg->name) == 0);
	}
}

static int read_events(struct ovni_trace *t)
{
	const struct ovni_trace_event *ev;
	int64_t last = INT64_MIN;
	int more;

	while ((more = ovni_trace_next_event(t, &ev)) > 0) {
		CHECK(ev->clock >= last && ev->thread < ovni_trace_nthreads(t));
		CHECK(!*ovni_trace_interval_call(t));
		last = ev->clock;
		read_arguments(t);
	}
	CHECK(!ev && !ovni_trace_event_text(t) && !ovni_trace_event_nargs(t));
	CHECK(ovni_trace_next_event(t, &ev) == more); /* the end stays the end */
	return more;
}

static int read_intervals(struct ovni_trace *t)
{
	const struct ovni_trace_interval *iv;
	int more;

	while ((more = ovni_trace_next_interval(t, &iv)) > 0) {
		CHECK(iv->begin < iv->end && iv->thread < ovni_trace_nthreads(t));
		CHECK(*ovni_trace_state_name(iv->state));
		CHECK(ovni_trace_interval_call(t) && ovni_trace_reason_name(iv->reason));
		CHECK(ovni_trace_find(t, iv->thread, iv->waker) < (int64_t)ovni_trace_nthreads(t));
	}
	CHECK(!iv && ovni_trace_next_interval(t, &iv) == more);
	return more;
}

static int read_regions(struct ovni_trace *t)
{
	const struct ovni_trace_interval *iv;
	const struct ovni_trace_function *f;
	const struct ovni_trace_event *ev;
	const struct ovni_trace_region *r;
	int more;

	while ((more = ovni_trace_next_region(t, &r)) > 0) {
		int64_t ns = 0;

		CHECK(r->begin <= r->end && r->thread < ovni_trace_nthreads(t));
		CHECK((f = ovni_trace_function(t, r->function)) && *f->type && f->name);
		for (int i = 0; i < 5; i++)
			ns += r->state_ns[i];
		CHECK(ns <= r->end - r->begin);
		CHECK(ovni_trace_mark_label(t, f->mark_type, f->value));
		CHECK(ovni_trace_tid_name(t, r->thread, ovni_trace_thread(t, r->thread)->tid));
	}
	CHECK(!r && ovni_trace_next_region(t, &r) == more);
	CHECK(!ovni_trace_function(t, ovni_trace_nfunctions(t)));
	CHECK(ovni_trace_next_event(t, &ev) == -EINVAL && !ev && *ovni_trace_error());
	CHECK(ovni_trace_next_interval(t, &iv) == -EINVAL && !iv);
	return more;
}

static void *walk(void *path)
{
	const struct ovni_trace_event *ev;
	const struct ovni_trace_interval *iv;
	const struct ovni_trace_region *region;
	struct ovni_trace *t;
	int err = ovni_trace_open(&t, path), more;

	CHECK((err == 0) == (t != NULL));
	if (err) {
		CHECK(err < 0 && *ovni_trace_error());
		return NULL;
	}
	CHECK(!ovni_trace_thread(t, ovni_trace_nthreads(t)) &&
	      !ovni_trace_cpu(t, ovni_trace_ncpus(t)));
	for (size_t i = 0; i < ovni_trace_nthreads(t); i++)
		CHECK(ovni_trace_thread(t, i)->loom && ovni_trace_thread(t, i)->name);
	more = read_events(t);
	if (more < 0)
		CHECK(*ovni_trace_error());
	if (!ovni_trace_rewind(t))
		CHECK(read_intervals(t) == more);
	if (!ovni_trace_rewind(t))
		for (int i = 0; i < 9 && ovni_trace_next_event(t, &ev) > 0; i++)
			(void)ovni_trace_next_interval(t, &iv);
	if (!ovni_trace_rewind(t))
		CHECK(read_regions(t) == more);
	if (!ovni_trace_rewind(t) && ovni_trace_next_event(t, &ev) > 0)
		CHECK(ovni_trace_next_region(t, &region) == -EINVAL && !region);
	CHECK(ovni_trace_find(t, 0, -5) == -1);
	ovni_trace_close(t);
	return NULL;
}

static void shrink(const char *path)
{
	const struct ovni_trace_event *ev;
	char stream[4096];
	struct ovni_trace *t;
	int more;

	CHECK(!ovni_trace_open(&t, path));
	snprintf(stream, sizeof(stream), "%s/%s/stream.obs", path, ovni_trace_thread(t, 0)->path);
	CHECK(!truncate(stream, 4096));
	while ((more = ovni_trace_next_event(t, &ev)) > 0)
		;
	CHECK(more < 0 && strstr(ovni_trace_error(), ovni_trace_thread(t, 0)->path));
	ovni_trace_close(t);
}

int main(int argc, char **argv)
{
	pthread_t *threads = calloc((size_t)argc, sizeof(*threads));

	CHECK(threads && argc > 2);
	if (strcmp(argv[1], "shrink") == 0)
		shrink(argv[2]);
	for (int i = 2; argv[1][0] == 'w' && i < argc; i++)
		CHECK(!pthread_create(&threads[i], NULL, walk, argv[i]));
	for (int i = 2; argv[1][0] == 'w' && i < argc; i++)
		pthread_join(threads[i], NULL);
	ovni_trace_close(NULL);
	free(threads);
	return 0;
}
