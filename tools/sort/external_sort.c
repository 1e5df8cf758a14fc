/* SPDX-License-Identifier: MIT */
#include "tools/sort/external_sort.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tools/lib/mapped_stream.h"
#include "tools/sort/event_order.h"
#include "tools/lib/replace_file.h"
#include "trace/base/log.h"
#include "trace/ovni/stream.h"

#define BUFFER_BYTES (1 << 20)
#define MEMORY_LEAST (1 << 20)

struct buffer { /* bytes that are not written yet */
	int fd, error;
	size_t len;
	uint8_t *bytes;
};

struct run {
	const uint8_t *at, *end; /* in the mapped file of runs; at is the present event */
	uint64_t clock;
	uint32_t size; /* of the present event */
};

struct work {
	struct mapped_stream *stream;
	struct event_place *places, *scratch;
	size_t room;
	uint64_t *ends; /* of each run in the file */
	size_t nruns;
	struct buffer out;
};

static void buffer_flush(struct buffer *b)
{
	if (!b->error)
		b->error = write_all(b->fd, b->bytes, b->len);
	b->len = 0;
}

static void buffer_put(struct buffer *b, const uint8_t *bytes, size_t size)
{
	if (size > BUFFER_BYTES - b->len)
		buffer_flush(b);
	if (size > BUFFER_BYTES) {
		if (!b->error)
			b->error = write_all(b->fd, bytes, size);
		return;
	}
	memcpy(b->bytes + b->len, bytes, size);
	b->len += size;
}

static bool in_order(struct mapped_stream *stream, uint64_t *events, int *err)
{
	uint64_t last = 0;
	bool sorted = true;

	*events = 0;
	while ((*err = mapped_stream_step(stream)) > 0) {
		sorted = sorted && (uint64_t)stream->ev.clock >= last;
		last = (uint64_t)stream->ev.clock;
		++*events;
	}
	return sorted;
}

/* Sorts as many events as the memory allows and appends them to the output. */
static int write_run(struct work *w)
{
	const uint8_t *base = w->stream->base;
	size_t n = 0;

	while (n < w->room && mapped_stream_step(w->stream) > 0)
		w->places[n++] = (struct event_place){(uint64_t)w->stream->ev.clock,
						      mapped_stream_offset(w->stream)};
	event_order_sort(w->places, n, w->scratch);
	for (size_t i = 0; i < n; i++) {
		struct event ev;
		ssize_t size = event_decode(&ev, base + w->places[i].at, w->stream->end);

		buffer_put(&w->out, base + w->places[i].at, (size_t)size);
	}
	return w->out.error;
}

static bool run_step(struct run *run)
{
	struct event ev;
	ssize_t n;

	run->at += run->size;
	n = event_decode(&ev, run->at, run->end);
	if (n <= 0)
		return false;
	run->clock = (uint64_t)ev.clock;
	run->size = (uint32_t)n;
	return true;
}

static bool before(const struct run *runs, size_t a, size_t b)
{
	if (runs[a].clock != runs[b].clock)
		return runs[a].clock < runs[b].clock;
	return a < b;
}

static void sift(const struct run *runs, size_t *heap, size_t n, size_t k)
{
	for (;;) {
		size_t best = k, left = 2 * k + 1, swap = heap[k];

		if (left < n && before(runs, heap[left], heap[best]))
			best = left;
		if (left + 1 < n && before(runs, heap[left + 1], heap[best]))
			best = left + 1;
		if (best == k)
			return;
		heap[k] = heap[best];
		heap[best] = swap;
		k = best;
	}
}

static int merge(struct work *w, const uint8_t *base)
{
	struct run *runs = calloc(w->nruns, sizeof(*runs));
	size_t *heap = calloc(w->nruns, sizeof(*heap)), n = 0;
	uint64_t start = 0;

	if (!runs || !heap) {
		free(runs);
		free(heap);
		return -ENOMEM;
	}
	for (size_t i = 0; i < w->nruns; i++) {
		runs[i] = (struct run){.at = base + start, .end = base + w->ends[i]};
		start = w->ends[i];
		if (run_step(&runs[i]))
			heap[n++] = i;
	}
	for (size_t k = n; k-- > 0;)
		sift(runs, heap, n, k);
	while (n && !w->out.error) {
		struct run *run = &runs[heap[0]];

		buffer_put(&w->out, run->at, run->size);
		if (!run_step(run))
			heap[0] = heap[--n];
		sift(runs, heap, n, 0);
	}
	free(runs);
	free(heap);
	return w->out.error;
}

/* Writes the sorted runs one after the other, and their ends. */
static int write_runs(struct work *w, size_t most)
{
	for (w->nruns = 0; w->nruns < most; w->nruns++) {
		int err = write_run(w);

		if (err)
			return err;
		buffer_flush(&w->out);
		if (w->out.error)
			return w->out.error;
		w->ends[w->nruns] = (uint64_t)lseek(w->out.fd, 0, SEEK_CUR);
	}
	return 0;
}

/* Runs go to an unnamed file, so that a killed process leaves no file behind. */
static int sort_runs(struct work *w, uint64_t events, const struct replacement *r)
{
	size_t most = (size_t)((events + w->room - 1) / w->room);
	uint64_t total = 0;
	void *map = MAP_FAILED;
	int err;

	w->ends = calloc(most, sizeof(*w->ends));
	if (!w->ends)
		return -ENOMEM;
	w->out.fd = openat(r->dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (w->out.fd < 0)
		return -errno;
	err = write_runs(w, most);
	if (err)
		goto out;
	total = w->ends[most - 1];
	map = mmap(NULL, total, PROT_READ, MAP_SHARED, w->out.fd, 0);
	if (map == MAP_FAILED)
		err = -errno;
out:
	close(w->out.fd);
	w->out.fd = r->fd;
	if (err)
		return err;
	buffer_put(&w->out, w->stream->base, STREAM_HEADER_SIZE);
	err = merge(w, map);
	munmap(map, total);
	return err;
}

static int sort_all(struct work *w, uint64_t events, struct replacement *r, bool durable)
{
	int err;

	w->places = malloc(w->room * sizeof(*w->places));
	w->scratch = malloc(w->room * sizeof(*w->scratch));
	w->out.bytes = malloc(BUFFER_BYTES);
	if (!w->places || !w->scratch || !w->out.bytes)
		return -ENOMEM;
	mapped_stream_rewind(w->stream);
	if (events <= w->room) {
		w->out.fd = r->fd;
		w->nruns = 1;
		buffer_put(&w->out, w->stream->base, STREAM_HEADER_SIZE);
		err = write_run(w);
	} else {
		err = sort_runs(w, events, r);
	}
	if (err)
		return err;
	buffer_flush(&w->out);
	if (w->out.error)
		return w->out.error;
	if (!mapped_stream_sound(w->stream))
		return -EIO;
	return replace_file_finish(r, durable);
}

/* Whether the stream is in order: 1, 0 or -errno after one message. */
static int is_sorted(struct mapped_stream *stream, const char *path, uint64_t *events)
{
	int err;
	bool sorted = in_order(stream, events, &err);

	if (err == 0)
		return sorted;
	log_error("%s: the stream ends inside the event at byte %zu; 'ovni-check --repair' can cut "
		  "it there",
		  path, (size_t)(stream->at - stream->base));
	return err;
}

int external_sort(int trace_fd, const char *path, uint64_t memory, bool dry_run, bool durable,
		  struct sort_result *result)
{
	struct mapped_stream stream;
	struct work w = {.stream = &stream};
	struct replacement r = {.fd = -1};
	int err;

	memset(result, 0, sizeof(*result));
	err = mapped_stream_open(&stream, trace_fd, path);
	if (err)
		return err;
	err = is_sorted(&stream, path, &result->events);
	if (err) {
		err = err > 0 ? 0 : err;
		goto out;
	}
	if (memory < MEMORY_LEAST)
		memory = MEMORY_LEAST;
	w.room = (size_t)(memory / (2 * sizeof(*w.places)));
	if (w.room > result->events)
		w.room = (size_t)result->events;
	result->runs = (result->events + w.room - 1) / w.room;
	if (dry_run)
		goto out;
	err = replace_file_start(&r, trace_fd, path, STREAM_DATA);
	if (!err)
		err = sort_all(&w, result->events, &r, durable);
	if (err)
		log_error("%s: cannot sort: %s; the stream has not changed", path, strerror(-err));
out:
	replace_file_abandon(&r);
	mapped_stream_close(&stream);
	free(w.places);
	free(w.scratch);
	free(w.ends);
	free(w.out.bytes);
	return err;
}
