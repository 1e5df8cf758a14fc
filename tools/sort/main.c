/* SPDX-License-Identifier: MIT */
/*
 * ovni-sort: sorts events that were written late into their streams, by clock.
 *
 * In: a trace; out: the same trace, with the regions OU[ ... OU] of each stream sorted, or
 * with --all every stream as a whole. Streams are sorted one by one, in the order of their
 * paths. Invariant: each is replaced in one step or, after a failure, unchanged, and then the
 * program ends.
 * Specification: tools.md 3.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tools/lib/mapped_stream.h"
#include "tools/lib/printer.h"
#include "tools/lib/replace_file.h"
#include "trace/base/cli.h"
#include "trace/base/log.h"
#include "trace/base/text.h"
#include "trace/ovni/stream.h"
#include "trace/ovni/trace.h"

struct options {
	const char *path;
	bool check, all, dry_run, durable, quiet;
	uint64_t window, memory;
};

struct totals {
	uint64_t streams, changed, events, regions, moved;
};

#define TO(member) offsetof(struct options, member)

static const struct cli_option cli_options[] = {
	{"check", 'c', NULL, cli_flag, TO(check),
	 "only check: status 0 if all streams are in order, else 1"},
	{"all", 'a', NULL, cli_flag, TO(all), "sort whole streams, not only their regions"},
	{"window", 'n', "N", cli_number, TO(window),
	 "look for the place of a region among the last N events (1000000)", .min = 1,
	 .max = INT64_MAX / 64},
	{"memory", 'm', "SIZE", cli_size, TO(memory),
	 "with --all: use about this much memory (256M)"},
	{"dry-run", 'd', NULL, cli_flag, TO(dry_run), "print the changes, and change nothing"},
	{"durable", 'D', NULL, cli_flag, TO(durable),
	 "wait for the disk before a sorted stream replaces the old one, to survive a power "
	 "failure"},
	{"quiet", 'q', NULL, cli_flag, TO(quiet), "print only warnings and errors"},
	{0},
};

static const struct cli cli = {
	.name = "ovni-sort",
	.operands = "TRACE",
	.about = "Sort the regions OU[ ... OU] of the streams of an ovni trace, in place.",
	.options = cli_options,
	.notes = "Examples:\n"
		 "  # sort the regions\n"
		 "  ovni-sort trace\n\n"
		 "  # is it in order?\n"
		 "  ovni-sort -c trace\n\n"
		 "  # sort everything, in bounded memory\n"
		 "  ovni-sort --all trace\n\n"
		 "  # what would change?\n"
		 "  ovni-sort --dry-run trace",
};

/* ---- a stable sort of events by clock ---- */

struct event_place {
	uint64_t clock; /* unsigned, as the sorting tool compares them */
	uint64_t at;	/* byte in the file */
};

#define SMALL 24 /* below this insertion is faster */

static bool event_order_is_sorted(const struct event_place *places, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (places[i].clock < places[i - 1].clock)
			return false;
	return true;
}

static void insertion(struct event_place *a, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct event_place p = a[i];
		size_t j = i;

		for (; j > 0 && a[j - 1].clock > p.clock; j--)
			a[j] = a[j - 1];
		a[j] = p;
	}
}

static size_t run_end(const struct event_place *a, size_t start, size_t n)
{
	size_t end = start + 1;

	while (end < n && a[end].clock >= a[end - 1].clock)
		end++;
	return end < n ? end : n;
}

/* Merges neighbouring runs of `from` into `to`; returns how many are left. */
static size_t merge_pass(const struct event_place *from, struct event_place *to, size_t n)
{
	size_t runs = 0;

	for (size_t start = 0; start < n; runs++) {
		size_t middle = run_end(from, start, n), end = middle;
		size_t a = start, b = middle, out = start;

		if (middle < n)
			end = run_end(from, middle, n);
		while (a < middle && b < end)
			to[out++] = from[b].clock < from[a].clock ? from[b++] : from[a++];
		memcpy(to + out, from + a, (middle - a) * sizeof(*to));
		out += middle - a;
		memcpy(to + out, from + b, (end - b) * sizeof(*to));
		start = end;
	}
	return runs;
}

/*
 * A merge sort that starts from the runs in the input, since that is mostly two sorted sequences.
 * `scratch` has room for n places.
 */
static void event_order_sort(struct event_place *places, size_t n, struct event_place *scratch)
{
	struct event_place *from = places, *to = scratch;

	if (n <= SMALL) {
		insertion(places, n);
		return;
	}
	if (event_order_is_sorted(places, n))
		return;
	for (size_t i = 0; i < n; i += SMALL)
		if (!event_order_is_sorted(places + i, n - i < SMALL ? n - i : SMALL))
			insertion(places + i, n - i < SMALL ? n - i : SMALL);
	for (;;) {
		struct event_place *swap = from;
		size_t runs = merge_pass(from, to, n);

		from = to;
		to = swap;
		if (runs <= 1)
			break;
	}
	if (from != places)
		memcpy(places, from, n * sizeof(*places));
}

/*
 * ---- a whole stream, in bounded memory ----
 *
 * As many events as the bound allows are sorted at a time and written to a run in an unnamed file
 * beside the stream; the runs are then merged, ties by run, so by their first order.
 */

struct sort_result {
	uint64_t events; /* in the stream */
	uint64_t runs;	 /* merged ones; 0: it was in order and stays unchanged */
};

#define MEMORY_LEAST (1 << 20)

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
	struct printer out;
};

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

		printer_bytes(&w->out, base + w->places[i].at, (size_t)size);
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

		printer_bytes(&w->out, run->at, run->size);
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
		printer_flush(&w->out);
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
	printer_bytes(&w->out, w->stream->base, STREAM_HEADER_SIZE);
	err = merge(w, map);
	munmap(map, total);
	return err;
}

static int sort_all(struct work *w, uint64_t events, struct replacement *r, bool durable)
{
	int err;

	w->places = malloc(w->room * sizeof(*w->places));
	w->scratch = malloc(w->room * sizeof(*w->scratch));
	if (!w->places || !w->scratch || printer_open(&w->out, r->fd) < 0)
		return -ENOMEM;
	mapped_stream_rewind(w->stream);
	if (events <= w->room) {
		w->nruns = 1;
		printer_bytes(&w->out, w->stream->base, STREAM_HEADER_SIZE);
		err = write_run(w);
	} else {
		err = sort_runs(w, events, r);
	}
	if (err)
		return err;
	printer_flush(&w->out);
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

/* Uses at most about `memory` bytes (at least 1 MiB). Returns 0, or -errno after one message; then,
 * and in a dry run, the stream has not changed. */
static int external_sort(int trace_fd, const char *path, uint64_t memory, bool dry_run,
			 bool durable, struct sort_result *result)
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
	free(w.out.buf);
	return err;
}

/*
 * ---- the events between OU[ and OU] ----
 *
 * The stream is walked once; a ring of the last N events (clock and place) serves the look-back, so
 * memory does not follow the file.
 */

#define OPEN	    MCV('O', 'U', '[')
#define CLOSE	    MCV('O', 'U', ']')
#define WRITE_BYTES (64 << 10)

struct unordered_regions {
	/* set by the caller before each stream; the rest is zero before the first one */
	int trace_fd;
	const char *path; /* of the stream */
	size_t window;	  /* N: the look-back sees N - 1 events */
	bool dry_run;	  /* count only */
	/* results */
	uint64_t events, sorted, moved, empty, open; /* regions, but for events and moved */
	struct replacement replacement;		     /* open if the stream changes */

	/* private */
	struct mapped_stream image;
	bool changed;
	struct printer out; /* to the replacement */
	size_t done, pending_from, pending_size, pending_room, scratch_size;
	uint8_t *pending, *scratch;
	struct event_place *ring, *range, *merge;
	size_t mask, range_room;
};

static int start_ring(struct unordered_regions *r)
{
	size_t most = r->image.size / EVENT_HEADER_SIZE + 1, room = 2;

	while (room < r->window && room < most)
		room *= 2;
	if (r->ring && room <= r->mask + 1)
		return 0; /* reuses that of the stream before */
	free(r->ring);
	r->ring = malloc(room * sizeof(*r->ring));
	r->mask = room - 1;
	return r->ring ? 0 : -ENOMEM;
}

static int make_room(struct unordered_regions *r, size_t n, size_t bytes)
{
	if (n > r->range_room) {
		size_t room = n * 2;

		free(r->range);
		free(r->merge);
		r->range = malloc(room * sizeof(*r->range));
		r->merge = malloc(room * sizeof(*r->merge));
		r->range_room = r->range && r->merge ? room : 0;
	}
	if (bytes > r->scratch_size) {
		free(r->scratch);
		r->scratch = malloc(bytes * 2);
		r->scratch_size = r->scratch ? bytes * 2 : 0;
	}
	return n > r->range_room || bytes > r->scratch_size ? -ENOMEM : 0;
}

static size_t event_size(const uint8_t *at, const uint8_t *end)
{
	struct event ev;
	ssize_t n = event_decode(&ev, at, end);

	return n > 0 ? (size_t)n : 0; /* it has been decoded before: never 0 */
}

/*
 * Contents of the new file, from its start:
 *
 *   [0, done)         written to the replacement
 *   [done, from)      as in the image
 *   [from, to)        the range sorted last, in r->pending: it may be sorted once more
 *   [to, ...)         as in the image
 */
static void write_image(struct unordered_regions *r, size_t from, size_t to)
{
	while (from < to) {
		size_t n = to - from < WRITE_BYTES ? to - from : WRITE_BYTES;

		printer_bytes(&r->out, r->image.base + from, n);
		from += n;
	}
}

static void write_pending(struct unordered_regions *r)
{
	write_image(r, r->done, r->pending_from);
	if (r->pending_size)
		printer_bytes(&r->out, r->pending, r->pending_size);
	r->done = r->pending_from + r->pending_size;
	r->pending_from = r->done;
	r->pending_size = 0;
}

/* Reads the bytes from `from` on back from the new file, since a range begins there: they become
 * pending again, up to the present end of the pending bytes. */
static int take_back(struct unordered_regions *r, size_t from)
{
	size_t size, got = 0;

	write_pending(r);
	printer_flush(&r->out);
	if (r->out.error)
		return r->out.error;
	size = r->done - from;
	if (size > r->pending_room) {
		uint8_t *grown = realloc(r->pending, size * 2);

		if (!grown)
			return -ENOMEM;
		r->pending = grown;
		r->pending_room = size * 2;
	}
	while (got < size) {
		ssize_t n =
			pread(r->replacement.fd, r->pending + got, size - got, (off_t)(from + got));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		got += (size_t)n;
	}
	if (lseek(r->replacement.fd, (off_t)from, SEEK_SET) < 0)
		return -errno;
	r->done = r->pending_from = from;
	r->pending_size = size;
	return 0;
}

/* The first change starts the replacement. */
static int start_writing(struct unordered_regions *r)
{
	int err;

	if (r->changed)
		return 0;
	err = replace_file_start(&r->replacement, r->trace_fd, r->path, STREAM_DATA);
	if (err)
		return err;
	err = printer_open(&r->out, r->replacement.fd);
	r->changed = err == 0;
	return err;
}

/* Writes the events of r->range, all from byte `from` to byte `to`, in their new order. */
static int put_range(struct unordered_regions *r, size_t n, size_t from, size_t to)
{
	size_t kept, done, pending_end;
	uint8_t *swap;
	int err = start_writing(r);

	if (err)
		return err;
	if (from < r->done)
		err = take_back(r, from);
	if (err)
		return err;
	pending_end = r->pending_from + r->pending_size;
	if (from >= pending_end)
		write_pending(r);
	if (!r->pending_size) /* none, or just written */
		r->pending_from = pending_end = from;
	kept = from > r->pending_from ? from - r->pending_from : 0;
	err = make_room(r, n, kept + to - from);
	if (err)
		return err;
	if (kept)
		memcpy(r->scratch, r->pending, kept);
	done = kept;
	for (size_t i = 0; i < n; i++) {
		size_t at = r->range[i].at, size;
		bool pending = at >= r->pending_from && at < pending_end;
		const uint8_t *bytes =
			pending ? r->pending + (at - r->pending_from) : r->image.base + at;

		size = event_size(bytes, pending ? r->pending + r->pending_size : r->image.end);
		memcpy(r->scratch + done, bytes, size);
		r->range[i].at = from + done - kept;
		done += size;
	}
	swap = r->pending;
	r->pending = r->scratch;
	r->scratch = swap;
	kept = r->pending_room;
	r->pending_room = r->scratch_size;
	r->scratch_size = kept;
	if (from < r->pending_from)
		r->pending_from = from;
	r->pending_size = done;
	return r->out.error;
}

/* Sorts the events [first, last) by their indices; `to` is the byte after the last. */
static int sort_range(struct unordered_regions *r, size_t first, size_t last, size_t to)
{
	size_t n = last - first, from = r->ring[first & r->mask].at;
	bool sorted = true;
	int err;

	for (size_t i = first + 1; i < last && sorted; i++)
		sorted = r->ring[i & r->mask].clock >= r->ring[(i - 1) & r->mask].clock;
	if (sorted)
		return 0;
	err = make_room(r, n, 0);
	if (err)
		return err;
	for (size_t i = 0; i < n; i++)
		r->range[i] = r->ring[(first + i) & r->mask];
	event_order_sort(r->range, n, r->merge);
	for (size_t i = 0; i < n; i++)
		r->moved += r->range[i].at != r->ring[(first + i) & r->mask].at;
	/* a dry run must find the same moves: its ring takes the new order, too, and never uses
	 * the places, which stay the old ones */
	if (!r->dry_run)
		err = put_range(r, n, from, to);
	for (size_t i = 0; i < n; i++)
		r->ring[(first + i) & r->mask] = r->range[i];
	return err;
}

/* The region from event `open` to the OU] with index `close` at byte `to`; m is its lowest clock.
 */
static int sort_region(struct unordered_regions *r, size_t open, size_t close, uint64_t m,
		       size_t to)
{
	size_t lowest = close > r->window - 1 ? close - (r->window - 1) : 0;
	size_t i = open + 1;

	/* no clock inside is lower than m, so the look-back may start at the OU[ */
	while (i > lowest && r->ring[(i - 1) & r->mask].clock >= m)
		i--;
	if (i > lowest) {
		i--;
	} else if (close >= r->window - 1 || lowest > open) {
		log_error(
			"%s: the region that ends at byte %zu has an event of clock %llu, and none "
			"of the %zu events before its end is older; try a larger window, such as "
			"-n %zu",
			r->path, to, (unsigned long long)m, r->window - 1, r->window * 10);
		return -ERANGE;
	}
	r->sorted++;
	return sort_range(r, i, close, to);
}

static int walk(struct unordered_regions *r)
{
	struct mapped_stream *image = &r->image;
	uint64_t m = UINT64_MAX;
	size_t n = 0, open = 0;
	bool inside = false;
	int err;

	while ((err = mapped_stream_step(image)) > 0) {
		const struct event *ev = &image->ev;
		uint64_t clock = (uint64_t)ev->clock;
		uint32_t mcv = event_mcv(ev);

		r->ring[n & r->mask] = (struct event_place){clock, mapped_stream_offset(image)};
		if (__builtin_expect(mcv == OPEN && !inside, 0)) {
			inside = true;
			open = n;
			m = UINT64_MAX;
		} else if (__builtin_expect(mcv == CLOSE && inside, 0)) {
			inside = false;
			if (n == open + 1)
				r->empty++;
			else
				err = sort_region(r, open, n, m, mapped_stream_offset(image));
			if (err < 0)
				break;
		} else if (clock < m) {
			m = clock;
		}
		n++;
	}
	r->events = n;
	r->open = inside;
	if (err >= 0 && !mapped_stream_sound(image))
		err = -EIO;
	if (err == -EBADMSG || err == -EFBIG)
		log_error("%s: the stream ends inside the event at byte %zu; 'ovni-check --repair' "
			  "can "
			  "cut it there",
			  r->path, (size_t)(image->at - image->base));
	else if (err < 0 && err != -ERANGE)
		log_error("%s: cannot sort: %s", r->path, strerror(-err));
	return err < 0 ? err : 0;
}

/*
 * Sorts. Returns 0, or -errno after one message (an incomplete event, a region older than the
 * window, no memory, a failed write), and then nothing has changed. In the end the caller calls
 * unordered_regions_finish() with the result, which renames the new file or removes it.
 */
static int unordered_regions_sort(struct unordered_regions *r)
{
	int err;

	r->events = r->sorted = r->moved = r->empty = r->open = 0;
	r->replacement.fd = -1;
	err = mapped_stream_open(&r->image, r->trace_fd, r->path);
	if (err)
		return err;
	r->done = r->pending_from = r->pending_size = 0;
	r->changed = false;
	err = start_ring(r);
	if (err)
		return log_no_memory("for a window of %zu events", r->window);
	return walk(r);
}

/* Writes the events after the last range and renames the new file. */
static int write_rest(struct unordered_regions *r, bool durable)
{
	write_pending(r);
	write_image(r, r->done, r->image.size);
	printer_flush(&r->out);
	if (!mapped_stream_sound(&r->image))
		return -EIO;
	if (r->out.error)
		return r->out.error;
	return replace_file_finish(&r->replacement, durable);
}

static int unordered_regions_finish(struct unordered_regions *r, int result, bool durable)
{
	if (r->changed) {
		if (!result)
			result = write_rest(r, durable);
		if (result)
			log_error("%s: not sorted, the stream has not changed: %s", r->path,
				  strerror(-result));
		free(r->out.buf);
	}
	replace_file_abandon(&r->replacement);
	mapped_stream_close(&r->image);
	r->changed = false;
	return result;
}

/* Frees the memory that the streams share. */
static void unordered_regions_fini(struct unordered_regions *r)
{
	free(r->ring);
	free(r->range);
	free(r->merge);
	free(r->scratch);
	free(r->pending);
	memset(r, 0, sizeof(*r));
}

/* ---- the program ---- */

/* Returns 1 if a clock goes back, 0 if none does, -errno if the stream is damaged. */
static int check_stream(struct stream *stream)
{
	uint64_t last = 0;
	int err, jumps = 0;

	stream_rewind(stream);
	while ((err = stream_step(stream)) > 0) {
		uint64_t clock = (uint64_t)stream->ev.clock;

		if (clock < last) {
			log_error("%s: the clock goes back from %llu to %llu at byte %llu",
				  stream->path, (unsigned long long)last, (unsigned long long)clock,
				  (unsigned long long)stream_offset(stream));
			jumps = 1;
		}
		last = clock;
	}
	if (err < 0)
		stream_report(stream);
	return err < 0 ? err : jumps;
}

static int sort_regions(const struct options *options, struct unordered_regions *r,
			struct stream *stream, struct totals *totals)
{
	int err;

	r->path = stream->path;
	err = unordered_regions_sort(r);
	err = unordered_regions_finish(r, err, options->durable);
	totals->events += r->events;
	if (err)
		return err;
	if (r->empty)
		log_warn("%s: %llu region%s empty", stream->path, (unsigned long long)r->empty,
			 plural(r->empty, " is", "s are"));
	if (r->open)
		log_warn("%s: the last region is not closed; it stays unsorted", stream->path);
	totals->regions += r->sorted;
	totals->moved += r->moved;
	totals->changed += r->moved > 0;
	if (r->moved && options->dry_run)
		log_info("%s: would move %llu events of %llu regions", stream->path,
			 (unsigned long long)r->moved, (unsigned long long)r->sorted);
	return 0;
}

static int sort_whole(const struct options *options, struct stream *stream, int trace_fd,
		      struct totals *totals)
{
	struct sort_result result;
	int err = external_sort(trace_fd, stream->path, options->memory, options->dry_run,
				options->durable, &result);

	totals->events += result.events;
	if (err)
		return err;
	totals->changed += result.runs > 0;
	if (result.runs && options->dry_run)
		log_info("%s: would sort %llu events", stream->path,
			 (unsigned long long)result.events);
	return 0;
}

static void report(const struct options *options, const struct totals *totals)
{
	const char *verb = options->dry_run ? "would change" : "changed";

	if (options->quiet)
		return;
	if (options->all)
		log_info("%llu streams, %llu events: %s %llu streams",
			 (unsigned long long)totals->streams, (unsigned long long)totals->events,
			 verb, (unsigned long long)totals->changed);
	else
		log_info("%llu streams, %llu events, %llu regions: %s %llu streams, %llu events "
			 "moved",
			 (unsigned long long)totals->streams, (unsigned long long)totals->events,
			 (unsigned long long)totals->regions, verb,
			 (unsigned long long)totals->changed, (unsigned long long)totals->moved);
}

/* Checks all streams, also those after one that is not in order. */
static int check_all(const struct options *options, struct source *source)
{
	size_t n = source->trace.nstreams;
	int status = 0;

	for (size_t i = 0; i < n; i++)
		if (check_stream(&source->streams[i]) != 0)
			status = 1;
	if (!status && !options->quiet)
		log_info("%zu stream%s, all in order", n, plural(n, "", "s"));
	return status;
}

static int sort(const struct options *options, struct source *source)
{
	struct unordered_regions regions = {.trace_fd = source->trace.fd,
					    .window = options->window,
					    .dry_run = options->dry_run};
	struct totals totals = {.streams = source->trace.nstreams};
	int err = 0;

	for (size_t i = 0; i < source->trace.nstreams; i++) {
		struct stream *stream = &source->streams[i];

		if (options->all)
			err = sort_whole(options, stream, source->trace.fd, &totals);
		else
			err = sort_regions(options, &regions, stream, &totals);
		if (err)
			goto out;
	}
	report(options, &totals);
out:
	unordered_regions_fini(&regions);
	return err;
}

int main(int argc, char **argv)
{
	struct options options = {.window = 1000000, .memory = 256 << 20};
	struct source source;
	int err;

	options.path = cli_parse(&cli, argc, argv, &options)[0];
	err = source_open(&source, options.path);
	if (!err)
		err = options.check ? check_all(&options, &source) : sort(&options, &source);
	source_close(&source);
	return err ? STATUS_FAILED : STATUS_COMPLETE;
}
