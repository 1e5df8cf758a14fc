/* SPDX-License-Identifier: MIT */
#include "tools/lib/mapped_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/ovni/guard.h"
#include "trace/base/log.h"
#include "trace/ovni/stream.h"

static int map(struct mapped_stream *stream, int fd)
{
	struct stat st;
	void *base;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (st.st_size < STREAM_HEADER_SIZE)
		return -EBADMSG;
	stream->size = (size_t)st.st_size;
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
	mapped_stream_rewind(stream);
	return 0;
}

int mapped_stream_open(struct mapped_stream *stream, int trace_fd, const char *path)
{
	char *full;
	int fd, err;

	memset(stream, 0, sizeof(*stream));
	if (asprintf(&full, "%s%s" STREAM_DATA, path, *path ? "/" : "") < 0)
		return log_no_memory("while reading %s", path);
	fd = openat(trace_fd, full, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	err = fd < 0 ? -errno : map(stream, fd);
	if (fd >= 0)
		close(fd);
	if (err < 0)
		log_error("cannot read '%s': %s", full, strerror(-err));
	free(full);
	return err;
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
