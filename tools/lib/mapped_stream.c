/* SPDX-License-Identifier: MIT */
#include "tools/lib/mapped_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trace/base/files/input.h"
#include "trace/ovni/guard.h"
#include "trace/base/log.h"
#include "trace/base/text.h"
#include "trace/ovni/stream.h"

static int map(struct mapped_stream *stream, int fd, size_t least)
{
	void *base;

	if (stream->size < least)
		return -EBADMSG;
	if (!stream->size)
		return 0;
	base = mmap(NULL, stream->size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (base == MAP_FAILED)
		return -errno;
	stream->guard = guard_add(base, stream->size);
	if (!stream->guard) {
		munmap(base, stream->size);
		return -ENOMEM;
	}
	stream->base = base;
	stream->end = stream->base + stream->size;
	return 0;
}

static int map_path(struct mapped_stream *stream, int dir_fd, const char *path, size_t least)
{
	uint64_t size = 0;
	int fd = input_open(dir_fd, path, INPUT_EVENTS_MAX, &size), err = fd;

	memset(stream, 0, sizeof(*stream));
	if (fd < 0)
		goto out;
	stream->size = (size_t)size;
	err = map(stream, fd, least);
	close(fd);
out:
	if (err)
		log_error("cannot read '%s': %s", path,
			  err == -EBADMSG ? "shorter than the header of a stream"
					  : input_why(err, INPUT_EVENTS_MAX));
	return err;
}

int mapped_file_open(struct mapped_stream *stream, int dir_fd, const char *path)
{
	return map_path(stream, dir_fd, path, 0);
}

int mapped_stream_open(struct mapped_stream *stream, int trace_fd, const char *path)
{
	char *full = xasprintf("%s%s" STREAM_DATA, path, *path ? "/" : "");
	int err;

	memset(stream, 0, sizeof(*stream));
	if (!full)
		return log_no_memory("while reading %s", path);
	err = map_path(stream, trace_fd, full, STREAM_HEADER_SIZE);
	free(full);
	if (err)
		return err;
	mapped_stream_rewind(stream);
	return 0;
}

void mapped_stream_close(struct mapped_stream *stream)
{
	if (stream->base) {
		guard_remove(stream->guard);
		munmap((void *)stream->base, stream->size);
	}
	memset(stream, 0, sizeof(*stream));
}

void mapped_stream_rewind(struct mapped_stream *stream)
{
	memset(&stream->ev, 0, sizeof(stream->ev));
	stream->at = stream->base + STREAM_HEADER_SIZE;
}

bool mapped_stream_sound(const struct mapped_stream *stream)
{
	return !guard_hit(stream->guard);
}
