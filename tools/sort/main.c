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
#include "trace/base/array.h"
#include "trace/base/cli.h"
#include "trace/base/log.h"
#include "trace/base/text.h"
#include "trace/ovni/stream.h"
#include "trace/ovni/trace.h"
#include "trace/ovni/write_lock.h"

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

static size_t run_end(const struct event_place *a, size_t start, size_t n)
{
	size_t end = start + 1;

	while (end < n && a[end].clock >= a[end - 1].clock)
		end++;
	return end < n ? end : n;
}

/* Merges neighbouring runs of `from` into `to`. */
static void merge_runs(const struct event_place *from, struct event_place *to, size_t n)
{
	for (size_t start = 0; start < n;) {
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
}

/*
 * A merge sort that starts from the runs in the input, since that is mostly two sorted sequences.
 * `places` has room for 2 * n places, of which the first n are sorted.
 */
static void event_order_sort(struct event_place *places, size_t n)
{
	struct event_place *from = places, *to = places + n;

	while (run_end(from, 0, n) < n) {
		struct event_place *swap = from;

		merge_runs(from, to, n);
		from = to;
		to = swap;
	}
	if (from != places)
		memcpy(places, from, n * sizeof(*places));
}

/* Reports an event that is not complete. */
static void report_cut(const char *path, const struct mapped_stream *stream)
{
	log_error("%s: there is no whole event at byte %zu; 'ovni-check --repair' can cut "
		  "it there",
		  path, (size_t)(stream->at - stream->base));
}

/*
 * ---- a whole stream, in bounded memory ----
 *
 * As many events as the bound allows are sorted at a time and written to a run in an unnamed file
 * beside the stream; the runs are then merged, ties by run, so by their first order.
 */

#define MEMORY_LEAST (1 << 20)

struct run {
	const uint8_t *at, *end; /* in the mapped file of runs; at is the present event */
	uint64_t clock;
	uint32_t size; /* of the present event */
};

struct work {
	struct mapped_stream stream;
	struct event_place *places; /* room for 2 * most */
	size_t most;		    /* events of a run */
	uint64_t *ends;		    /* of each run in the file */
	size_t nruns;
	struct printer out;
};

/* Whether the stream is in order: 1, 0 or -errno. */
static int in_order(struct mapped_stream *stream, uint64_t *events)
{
	uint64_t last = 0;
	bool sorted = true;
	int err;

	while ((err = mapped_stream_step(stream)) > 0) {
		sorted = sorted && (uint64_t)stream->ev.clock >= last;
		last = (uint64_t)stream->ev.clock;
		++*events;
	}
	return err ? err : sorted;
}

/* Sorts as many events as the memory allows and appends them to the output. */
static int write_run(struct work *w)
{
	const uint8_t *base = w->stream.base;
	size_t n = 0;

	while (n < w->most && mapped_stream_step(&w->stream) > 0)
		w->places[n++] = (struct event_place){(uint64_t)w->stream.ev.clock,
						      mapped_stream_offset(&w->stream)};
	event_order_sort(w->places, n);
	for (size_t i = 0; i < n; i++) {
		struct event ev;
		ssize_t size = event_decode(&ev, base + w->places[i].at, w->stream.end);

		printer_bytes(&w->out, base + w->places[i].at, (size_t)size);
	}
	printer_flush(&w->out);
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
	int err = -ENOMEM;

	if (!runs || !heap)
		goto out;
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
	printer_flush(&w->out);
	err = w->out.error;
out:
	free(runs);
	free(heap);
	return err;
}

/* Writes the sorted runs to an unnamed file, so that a killed process leaves no file behind, and
 * merges them. */
static int sort_runs(struct work *w, const struct replacement *r)
{
	uint64_t total = 0;
	void *map = MAP_FAILED;
	int err = 0;

	w->ends = calloc(w->nruns, sizeof(*w->ends));
	if (!w->ends)
		return -ENOMEM;
	w->out.fd = openat(r->dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (w->out.fd < 0)
		return -errno;
	for (size_t i = 0; i < w->nruns; i++) {
		err = write_run(w);
		if (err)
			goto out;
		w->ends[i] = total = (uint64_t)lseek(w->out.fd, 0, SEEK_CUR);
	}
	map = mmap(NULL, total, PROT_READ, MAP_SHARED, w->out.fd, 0);
	if (map == MAP_FAILED)
		err = -errno;
out:
	close(w->out.fd);
	w->out.fd = r->fd;
	if (err)
		return err;
	printer_bytes(&w->out, w->stream.base, STREAM_HEADER_SIZE);
	err = merge(w, map);
	munmap(map, total);
	return err;
}

static int write_sorted(struct work *w, struct replacement *r, int trace_fd, const char *path,
			bool durable)
{
	int err = replace_file_start(r, trace_fd, path, STREAM_DATA);

	if (err)
		return err;
	w->places = reallocarray(NULL, 2 * w->most, sizeof(*w->places));
	if (!w->places)
		return -ENOMEM;
	printer_open(&w->out, r->fd);
	mapped_stream_rewind(&w->stream);
	if (w->nruns == 1) {
		printer_bytes(&w->out, w->stream.base, STREAM_HEADER_SIZE);
		err = write_run(w);
	} else {
		err = sort_runs(w, r);
	}
	if (err)
		return err;
	if (!mapped_stream_sound(&w->stream))
		return -EIO;
	return replace_file_finish(r, durable);
}

/* Uses at most about options->memory bytes (at least 1 MiB). Returns 0, or -errno after one
 * message; then, and in a dry run, the stream has not changed. */
static int sort_whole(const struct options *options, const char *path, int trace_fd,
		      struct totals *totals)
{
	struct work w = {.most = options->memory / (2 * sizeof(*w.places))};
	struct replacement r = {.fd = -1};
	uint64_t events = 0;
	int err = mapped_stream_open(&w.stream, trace_fd, path);

	if (err)
		return err;
	err = in_order(&w.stream, &events);
	totals->events += events;
	if (err < 0)
		report_cut(path, &w.stream);
	if (err) {
		err = err > 0 ? 0 : err;
		goto out;
	}
	if (w.most < MEMORY_LEAST / (2 * sizeof(*w.places)))
		w.most = MEMORY_LEAST / (2 * sizeof(*w.places));
	if (w.most > events)
		w.most = events;
	w.nruns = (events + w.most - 1) / w.most;
	totals->changed++;
	if (options->dry_run) {
		log_info("%s: would sort %llu events", path, (unsigned long long)events);
		goto out;
	}
	err = write_sorted(&w, &r, trace_fd, path, options->durable);
	if (err)
		log_error("%s: cannot sort: %s; the stream has not changed", path, strerror(-err));
out:
	replace_file_abandon(&r);
	mapped_stream_close(&w.stream);
	free(w.places);
	free(w.ends);
	free(w.out.buf);
	return err;
}

/*
 * ---- the events between OU[ and OU] ----
 *
 * The stream is walked once; a ring of the last N events (clock and place) serves the look-back, so
 * memory does not follow the file. Each range is sorted in place in the private mapping of the
 * file; its pages go to the new file, and back to the kernel, when no later range can reach them.
 */

#define OPEN  MCV('O', 'U', '[')
#define CLOSE MCV('O', 'U', ']')

#define WRITE_BYTES (16 << 20) /* a multiple of the page size */

struct unordered_regions {
	const struct options *options; /* options->window, N: the look-back sees N - 1 events */
	int trace_fd;
	const char *path; /* of the stream */
	struct mapped_stream image;
	struct replacement replacement; /* open if the stream changes */
	size_t written;			/* bytes of it */
	uint64_t sorted, moved, empty;
	bool open; /* the last region */

	/* kept for the next stream */
	struct event_place *ring, *range;
	size_t mask, range_room;
	struct bytes bytes; /* of a sorted range */
};

static int start_ring(struct unordered_regions *r)
{
	size_t most = r->image.size / EVENT_HEADER_SIZE + 1, room = 2;

	while (room < r->options->window && room < most)
		room *= 2;
	if (r->ring && room <= r->mask + 1)
		return 0;
	free(r->ring);
	r->ring = reallocarray(NULL, room, sizeof(*r->ring));
	r->mask = room - 1;
	return r->ring ? 0 : -ENOMEM;
}

/* The first change starts the new file. */
static int start_writing(struct unordered_regions *r)
{
	int err;

	if (r->replacement.open)
		return 0;
	err = replace_file_start(&r->replacement, r->trace_fd, r->path, STREAM_DATA);
	if (err)
		return err;
	r->written = 0;
	if (mprotect((void *)r->image.base, r->image.size, PROT_READ | PROT_WRITE) < 0)
		return -errno;
	return 0;
}

static int write_until(struct unordered_regions *r, size_t end)
{
	const uint8_t *from = r->image.base + r->written;
	int err = write_all(r->replacement.fd, from, end - r->written);

	/* only an advice: the pages are not used again */
	(void)madvise((void *)from, end - r->written, MADV_DONTNEED);
	r->written = end;
	return err == -EFAULT ? -EIO : err; /* the file has become shorter */
}

/* Writes the events of r->range in their new order, from byte `from` on. */
static int put_range(struct unordered_regions *r, size_t n, size_t from)
{
	int err = start_writing(r);

	if (err)
		return err;
	r->bytes.size = 0;
	for (size_t i = 0; i < n; i++) {
		const uint8_t *at = r->image.base + r->range[i].at;
		struct event ev;
		ssize_t size = event_decode(&ev, at, r->image.end);

		r->range[i].at = from + r->bytes.size;
		bytes_put(&r->bytes, at, (size_t)size); /* decoded before: never 0 */
	}
	if (r->bytes.failed)
		return -ENOMEM;
	memcpy((void *)(r->image.base + from), r->bytes.data, r->bytes.size);
	return 0;
}

/* Sorts the events [first, last) by their indices. */
static int sort_range(struct unordered_regions *r, size_t first, size_t last)
{
	size_t n = last - first, from = r->ring[first & r->mask].at, moved = 0;
	int err = 0;

	if (n > r->range_room) {
		free(r->range);
		r->range = reallocarray(NULL, 4 * n, sizeof(*r->range));
		r->range_room = r->range ? 2 * n : 0;
	}
	if (!r->range)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		r->range[i] = r->ring[(first + i) & r->mask];
	event_order_sort(r->range, n);
	for (size_t i = 0; i < n; i++)
		moved += r->range[i].at != r->ring[(first + i) & r->mask].at;
	r->moved += moved;
	/* a dry run must find the same moves: its ring takes the new order, too, and never uses
	 * the places, which stay the old ones */
	if (moved && !r->options->dry_run)
		err = put_range(r, n, from);
	for (size_t i = 0; i < n; i++)
		r->ring[(first + i) & r->mask] = r->range[i];
	return err;
}

/* The region from event `open` to the OU] with index `close` at byte `to`; m is its lowest clock.
 */
static int sort_region(struct unordered_regions *r, size_t open, size_t close, uint64_t m,
		       size_t to)
{
	size_t window = r->options->window - 1; /* events before the OU] */
	size_t lowest = close > window ? close - window : 0;
	size_t i = open + 1, reached;
	int err;

	/* no clock inside is lower than m, so the look-back may start at the OU[ */
	while (i > lowest && r->ring[(i - 1) & r->mask].clock >= m)
		i--;
	if (i > lowest) {
		i--;
	} else if (close >= window || lowest > open) {
		log_error(
			"%s: the region that ends at byte %zu has an event of clock %llu, and none "
			"of the %zu events before its end is older; try a larger window, such as "
			"-n %zu",
			r->path, to, (unsigned long long)m, window, (window + 1) * 10);
		return -ERANGE;
	}
	r->sorted++;
	err = sort_range(r, i, close);
	if (err || !r->replacement.open)
		return err;
	/* the first byte that a later range can reach */
	reached = r->ring[lowest & r->mask].at / WRITE_BYTES * WRITE_BYTES;
	return reached > r->written ? write_until(r, reached) : 0;
}

static int walk(struct unordered_regions *r, struct totals *totals)
{
	struct mapped_stream *image = &r->image;
	uint64_t m = UINT64_MAX;
	size_t n = 0, open = 0;
	int err;

	while ((err = mapped_stream_step(image)) > 0) {
		const struct event *ev = &image->ev;
		uint64_t clock = (uint64_t)ev->clock;
		uint32_t mcv = event_mcv(ev);

		r->ring[n & r->mask] = (struct event_place){clock, mapped_stream_offset(image)};
		if (__builtin_expect(mcv == OPEN && !r->open, 0)) {
			r->open = true;
			open = n;
			m = UINT64_MAX;
		} else if (__builtin_expect(mcv == CLOSE && r->open, 0)) {
			r->open = false;
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
	totals->events += n;
	if (err < 0)
		return err;
	if (r->replacement.open)
		err = write_until(r, image->size);
	if (!mapped_stream_sound(image))
		err = -EIO;
	return err;
}

static void report_failure(const struct unordered_regions *r, int err, bool changed)
{
	bool cut = err == -EBADMSG || err == -EFBIG;

	if (cut)
		report_cut(r->path, &r->image);
	if (changed)
		log_error("%s: not sorted, the stream has not changed: %s", r->path,
			  strerror(-err));
	else if (!cut && err != -ERANGE) /* reported by sort_region() */
		log_error("%s: cannot sort: %s", r->path, strerror(-err));
}

/* Returns 0, or -errno after a message (an incomplete event, a region older than the window, no
 * memory, a failed write), and then the stream has not changed. */
static int sort_regions(struct unordered_regions *r, const char *path, struct totals *totals)
{
	bool changed;
	int err;

	r->path = path;
	r->sorted = r->moved = r->empty = 0;
	r->open = false;
	err = mapped_stream_open(&r->image, r->trace_fd, path);
	if (err)
		return err;
	err = start_ring(r);
	if (err) {
		log_no_memory("for a window of %zu events", (size_t)r->options->window);
		goto out;
	}
	err = walk(r, totals);
	changed = r->replacement.open;
	if (changed && !err)
		err = replace_file_finish(&r->replacement, r->options->durable);
	if (err) {
		report_failure(r, err, changed);
		goto out;
	}
	if (r->empty)
		log_warn("%s: %llu region%s empty", path, (unsigned long long)r->empty,
			 plural(r->empty, " is", "s are"));
	if (r->open)
		log_warn("%s: the last region is not closed; it stays unsorted", path);
	totals->regions += r->sorted;
	totals->moved += r->moved;
	totals->changed += r->moved > 0;
	if (r->moved && r->options->dry_run)
		log_info("%s: would move %llu events of %llu regions", path,
			 (unsigned long long)r->moved, (unsigned long long)r->sorted);
out:
	replace_file_abandon(&r->replacement);
	mapped_stream_close(&r->image);
	return err;
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
	struct unordered_regions regions = {.options = options, .trace_fd = source->trace.fd};
	struct totals totals = {.streams = source->trace.nstreams};
	int err = 0;

	for (size_t i = 0; i < source->trace.nstreams; i++) {
		const char *path = source->trace.streams[i];

		if (options->all)
			err = sort_whole(options, path, source->trace.fd, &totals);
		else
			err = sort_regions(&regions, path, &totals);
		if (err)
			goto out;
	}
	report(options, &totals);
out:
	free(regions.ring);
	free(regions.range);
	bytes_free(&regions.bytes);
	return err;
}

/* Sorting changes the streams: not while a program writes them. */
static int lock(const struct trace *trace)
{
	int err = write_lock_acquire(trace->fd, trace->path, WRITE_LOCK_WRITER,
				     "a trace that is being written cannot be sorted");

	return err == -EBUSY ? err : 0;
}

int main(int argc, char **argv)
{
	struct options options = {.window = 1000000, .memory = 256 << 20};
	struct source source;
	enum status status;
	int err;

	options.path = cli_parse(&cli, argc, argv, &options)[0];
	err = source_open(&source, options.path);
	if (err)
		goto out;
	if (options.check) {
		err = check_all(&options, &source);
		goto out;
	}
	err = lock(&source.trace);
	if (err)
		goto out;
	err = sort(&options, &source);
out:
	status = err ? STATUS_FAILED : whole_report(&source.whole, options.path);
	source_close(&source);
	return status;
}
