/* SPDX-License-Identifier: MIT */
#include "tools/sort/unordered_regions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/base/log.h"
#include "trace/ovni/stream.h"

#define OPEN	    MCV('O', 'U', '[')
#define CLOSE	    MCV('O', 'U', ']')
#define WRITE_BYTES (64 << 10)

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

int unordered_regions_sort(struct unordered_regions *r)
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
	if (err) {
		log_no_memory("for a window of %zu events", r->window);
		return err;
	}
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

int unordered_regions_finish(struct unordered_regions *r, int result, bool durable)
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

void unordered_regions_fini(struct unordered_regions *r)
{
	free(r->ring);
	free(r->range);
	free(r->merge);
	free(r->scratch);
	free(r->pending);
	memset(r, 0, sizeof(*r));
}
