/* SPDX-License-Identifier: MIT */
/*
 * stream: reads stream.obs (see stream.h).
 *
 * stream_more() handles the steps that the inline function cannot: at the end of the file, at an
 * error, and at the end of the part that is open for decoding. There it releases the pages behind
 * the reader and opens the next part.
 */
#include "trace/ovni/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/base/array.h"
#include "trace/base/files/input.h"
#include "trace/ovni/guard.h"
#include "trace/base/log.h"

#define MAPS_MAX   32000       /* half of the default limit of Linux for a process */
#define KEPT_TOTAL (64u << 20) /* bytes of mapped files in use, of all streams, */
#define KEPT_MOST  (1u << 20)  /* and the most of one stream; the least is a page */
#define STAT_BYTES (64u << 10) /* bytes of a mapped file that one fstat() covers */
#define SMALL	   (64u << 10) /* bytes that one page fault maps, by default: never released */
#define WINDOW	   (4u << 10)  /* bytes, of a file that is not mapped: smaller ones are loaded */

/* Opens the file `name` of the stream. Returns a descriptor or -errno. */
static int open_part(int trace_fd, const char *path, const char *name)
{
	char *full;
	int fd;

	if (asprintf(&full, "%s%s%s", path, *path ? "/" : "", name) < 0)
		return -ENOMEM;
	fd = input_open(trace_fd, full, INPUT_EVENTS_MAX, NULL);
	free(full);
	return fd;
}

/* Reads exactly `size` bytes. Returns 0, -EIO if there are fewer, or -errno. */
static int read_at(int fd, void *out, size_t size, uint64_t offset)
{
	uint8_t *to = out;

	while (size > 0) {
		ssize_t n = pread(fd, to, size, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		to += n;
		size -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

/* Name of the stream in the directory `path`, for messages. */
static const char *stream_name(const char *path)
{
	return *path ? path : ".";
}

static int check_header(const struct stream *stream, int fd)
{
	const char *path = stream->path;
	uint8_t header[STREAM_HEADER_SIZE];
	int err = 0;

	if (stream->size < sizeof(header)) {
		log_error("%s/" STREAM_DATA
			  ": shorter than the header of a stream (%llu of %zu bytes)",
			  stream_name(path), (unsigned long long)stream->size, sizeof(header));
		return -EBADMSG;
	}
	if (stream->base)
		memcpy(header, stream->base, sizeof(header));
	else
		err = read_at(fd, header, sizeof(header), 0);
	if (guard_hit(stream->guard))
		err = -EIO;
	if (err < 0) {
		log_error("%s/" STREAM_DATA ": cannot read: %s", stream_name(path), strerror(-err));
		return err;
	}
	if (memcmp(header, STREAM_MAGIC, strlen(STREAM_MAGIC))) {
		log_error("%s/" STREAM_DATA ": not a stream: it does not start with '%s'",
			  stream_name(path), STREAM_MAGIC);
		return -EBADMSG;
	}
	if (get_u32(header + 4) != STREAM_VERSION) {
		log_error("%s/" STREAM_DATA ": version %u of the stream format, only %u is known",
			  stream_name(path), get_u32(header + 4), STREAM_VERSION);
		return -EPROTONOSUPPORT;
	}
	return 0;
}

/* Maps the whole file. Returns false if that fails: windows are read then. */
static bool map(struct stream *stream, int fd)
{
	void *base;

	if (stream->size > SIZE_MAX || guard_count() >= MAPS_MAX)
		return false;
	base = mmap(NULL, (size_t)stream->size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (base == MAP_FAILED)
		return false;
	stream->guard = guard_add(base, (size_t)stream->size);
	if (!stream->guard) {
		munmap(base, (size_t)stream->size);
		return false;
	}
	if (stream->size > STAT_BYTES)
		madvise(base, (size_t)stream->size, MADV_SEQUENTIAL);
	stream->base = base;
	return true;
}

/* Reads a small file: cheaper than a mapping, of which a process has a limited number. */
static int load(struct stream *stream, int fd)
{
	uint8_t *bytes = malloc((size_t)stream->size);
	int err;

	if (!bytes)
		return log_no_memory("while opening %s", stream_name(stream->path));
	stream->base = bytes;
	err = read_at(fd, bytes, (size_t)stream->size, 0);
	if (err < 0)
		log_error("%s/" STREAM_DATA ": cannot read: %s", stream_name(stream->path),
			  strerror(-err));
	stream->loaded = !err;
	return err;
}

int stream_open(struct stream *stream, int trace_fd, const char *path)
{
	struct stat st;
	int fd, err;

	memset(stream, 0, sizeof(*stream));
	fd = open_part(trace_fd, path, STREAM_DATA);
	if (fd < 0) {
		log_error("cannot open '%s/" STREAM_DATA "': %s", stream_name(path),
			  input_why(fd, INPUT_EVENTS_MAX));
		return fd;
	}
	if (fstat(fd, &st) < 0) {
		err = -errno;
		log_error("%s/" STREAM_DATA ": cannot read its attributes: %s", stream_name(path),
			  strerror(-err));
		goto out;
	}
	stream->path = strdup(path);
	if (!stream->path) {
		err = -ENOMEM;
		log_no_memory("while opening %s", stream_name(path));
		goto out;
	}
	stream->trace_fd = trace_fd;
	stream->size = (uint64_t)st.st_size;
	stream->device = st.st_dev;
	stream->inode = st.st_ino;
	err = 0;
	if (stream->size > STREAM_HEADER_SIZE && stream->size < WINDOW)
		err = load(stream, fd);
	else if (stream->size > STREAM_HEADER_SIZE)
		map(stream, fd);
	if (!err)
		err = check_header(stream, fd);
	stream_rewind(stream);
out:
	close(fd);
	if (err < 0)
		stream_close(stream);
	return err;
}

int stream_share(struct stream *stream, const struct stream *of)
{
	if (!of->guard && !of->loaded)
		return stream_open(stream, of->trace_fd, of->path);
	*stream = *of;
	stream->shared = true;
	stream_rewind(stream);
	return 0;
}

void stream_close(struct stream *stream)
{
	if (stream->shared) {
		memset(stream, 0, sizeof(*stream));
		return;
	}
	if (stream->guard) {
		guard_remove(stream->guard);
		munmap((void *)stream->base, (size_t)stream->size);
	} else {
		free((void *)stream->base);
	}
	free(stream->path);
	memset(stream, 0, sizeof(*stream));
}

struct stream *streams_new(size_t n)
{
	return n < SIZE_MAX ? array_lines(n + 1, sizeof(struct stream)) : NULL;
}

struct stream *streams_share(const struct stream *streams, size_t n)
{
	struct stream *shared = streams_new(n);

	for (size_t i = 0; shared && i < n; i++) {
		int err = streams[i].path ? stream_share(&shared[i], &streams[i]) : 0;

		if (!err)
			continue;
		streams_free(shared, n);
		errno = -err;
		return NULL;
	}
	return shared;
}

static int release(void *base, size_t size)
{
	return madvise(base, size, MADV_DONTNEED);
}

/* Mappings made one after the other are mostly adjacent: one call of `end` takes several. */
static void each_range(const struct stream *streams, size_t n, int (*end)(void *, size_t))
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), low = 0, high = 0;

	for (size_t i = 0; i < n; i++) {
		const struct stream *stream = &streams[i];
		uintptr_t from = (uintptr_t)stream->base;
		uintptr_t to = (from + (uintptr_t)stream->size + page - 1) & ~(page - 1);

		if (!stream->guard)
			continue;
		if (to == low) {
			low = from;
		} else if (from == high) {
			high = to;
		} else {
			if (high)
				end((void *)low, high - low);
			low = from;
			high = to;
		}
	}
	if (high)
		end((void *)low, high - low);
}

void streams_release(const struct stream *streams, size_t n)
{
	each_range(streams, n, release);
}

void streams_free(struct stream *streams, size_t n)
{
	for (size_t i = 0; streams && i < n; i++)
		if (streams[i].shared)
			stream_close(&streams[i]);
		else
			guard_remove(streams[i].guard);
	if (streams)
		each_range(streams, n, munmap);
	for (size_t i = 0; streams && i < n; i++) {
		if (streams[i].guard)
			streams[i].base = NULL;
		streams[i].guard = NULL;
		stream_close(&streams[i]);
	}
	free(streams);
}

void stream_rewind(struct stream *stream)
{
	memset(&stream->ev, 0, sizeof(stream->ev));
	stream->error = 0;
	if (!stream->path)
		return; /* not open: it has no events */
	if (stream->loaded) {
		stream->at = stream->base + STREAM_HEADER_SIZE;
		stream->end = stream->base + stream->size;
		return;
	}
	if (stream->guard) {
		stream->at = stream->base + STREAM_HEADER_SIZE;
		stream->kept = stream->base;
	} else {
		/* the window is empty and ends at the first event */
		stream->base_offset = STREAM_HEADER_SIZE;
		stream->at = stream->base;
	}
	stream->end = stream->at;
}

/* Offset of stream->at in the file. */
static uint64_t file_offset(const struct stream *stream)
{
	return stream->base_offset + (uint64_t)(stream->at - stream->base);
}

/* Bytes of one mapped stream to keep in use. */
static size_t share(size_t page)
{
	size_t bytes = KEPT_TOTAL / (guard_count() + 1);

	if (bytes > KEPT_MOST)
		return KEPT_MOST;
	return (bytes < page ? page : bytes) & ~(page - 1);
}

/*
 * Opens the next part of a mapped file, at least `want` bytes from stream->at, and releases the
 * pages behind, unless it is small: each release interrupts the other CPUs of the process. The file
 * must have more bytes.
 */
static void extend_map(struct stream *stream, uint64_t want)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), part = share(page);
	uint64_t left = stream->size - file_offset(stream);
	/* whole pages, without those of the current event, since its payload may be in use */
	size_t behind = (size_t)(stream->at - stream->ev.size - stream->kept) & ~(page - 1);

	if (stream->size > SMALL && behind > part / 2) {
		madvise((void *)stream->kept, behind, MADV_DONTNEED);
		stream->kept += behind;
	}
	part += 2 * EVENT_SIZE_MAX; /* so that the current event is behind the part then */
	if (want < part)
		want = part;
	stream->end = stream->at + (want < left ? want : left);
}

/*
 * Moves the window to stream->at, with at least `want` bytes or the rest of the file. Returns 0 or
 * -errno.
 */
static int extend_window(struct stream *stream, uint64_t want)
{
	size_t have = (size_t)(stream->end - stream->at);
	uint64_t offset = file_offset(stream);
	uint64_t left = stream->size - offset;
	struct stat st;
	int fd, err;

	if (want < WINDOW)
		want = WINDOW;
	if (want > left)
		want = left;
	if (want > stream->capacity) {
		uint8_t *grown = calloc((size_t)want, 1);

		if (!grown)
			return -ENOMEM;
		if (have)
			memcpy(grown, stream->at, have);
		free((void *)stream->base);
		stream->base = grown;
		stream->capacity = (size_t)want;
	} else if (have) {
		memmove((void *)stream->base, stream->at, have);
	}
	stream->at = stream->base;
	stream->end = stream->base + have;
	stream->base_offset = offset;
	fd = open_part(stream->trace_fd, stream->path, STREAM_DATA);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		err = -errno;
	else if (st.st_dev != stream->device || st.st_ino != stream->inode)
		err = -ESTALE;
	else
		err = read_at(fd, (void *)stream->end, (size_t)want - have, offset + have);
	close(fd);
	if (err == 0)
		stream->end = stream->base + want;
	return err;
}

/*
 * True if the mapped file has become shorter. Called for each event without a model, so one fstat()
 * covers the next STAT_BYTES bytes.
 */
static bool has_shrunk(struct stream *stream)
{
	struct stat st;
	bool shrunk = false;
	int fd;

	if (guard_hit(stream->guard))
		return true;
	if (file_offset(stream) < stream->sound)
		return false;
	fd = open_part(stream->trace_fd, stream->path, STREAM_DATA);
	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && st.st_dev == stream->device && st.st_ino == stream->inode)
		shrunk = (uint64_t)st.st_size < stream->size;
	close(fd);
	stream->sound = file_offset(stream) + STAT_BYTES;
	return shrunk;
}

/*
 * Size of the event with its first `have` bytes at `at`, or 0: only a jumbo event may be longer
 * than EVENT_SIZE_MAX, and only once its length is there.
 */
static uint64_t jumbo_size(const uint8_t *at, size_t have)
{
	if (have < EVENT_HEADER_SIZE + sizeof(uint32_t) || !(at[0] & EVENT_JUMBO_FLAG))
		return 0;
	return EVENT_HEADER_SIZE + sizeof(uint32_t) + (uint64_t)get_u32(at + EVENT_HEADER_SIZE);
}

int stream_more(struct stream *stream, ssize_t n)
{
	if (stream->error)
		return stream->error;
	while (n == 0 || n == -EBADMSG) {
		size_t have = (size_t)(stream->end - stream->at);
		uint64_t left = stream->size - file_offset(stream);
		uint64_t want = jumbo_size(stream->at, have);
		int err = 0;

		if (have == left)
			break; /* the end of the file */
		if (want > left) {
			n = -EBADMSG; /* before allocating memory for it */
			break;
		}
		if (stream->guard)
			extend_map(stream, want);
		else
			err = extend_window(stream, want);
		n = err < 0 ? err : event_decode(&stream->ev, stream->at, stream->end);
	}
	if (stream->guard && (n == -EBADMSG || (n > 0 && !stream->ev.model)) && has_shrunk(stream))
		n = -EIO;
	if (n > 0 && event_is_zeros(stream->at))
		n = -EBADMSG;
	if (n < 0) {
		stream->error = (int16_t)n;
		stream->ev.size = 0;
		return (int)n;
	}
	if (n == 0)
		return 0;
	stream->at += n;
	return 1;
}

void stream_report(const struct stream *stream)
{
	unsigned long long offset = file_offset(stream);
	const char *path = stream_name(stream->path);

	switch (stream->error) {
	case -EBADMSG:
		if (stream->end - stream->at >= EVENT_HEADER_SIZE && event_is_zeros(stream->at)) {
			log_error("%s: only zeros instead of an event at byte %llu", path, offset);
			break;
		}
		log_error("%s: stream ends inside an event at byte %llu", path, offset);
		break;
	case -EFBIG:
		log_error("%s: jumbo event of more than %d bytes at byte %llu", path,
			  EVENT_JUMBO_MAX, offset);
		break;
	case -EIO:
		log_error("%s: the stream has shrunk or cannot be read at byte %llu", path, offset);
		break;
	case -ESTALE:
		log_error("%s: another file replaced the stream during the reading", path);
		break;
	default:
		log_error("%s: cannot read the stream at byte %llu: %s", path, offset,
			  strerror(-stream->error));
	}
}
