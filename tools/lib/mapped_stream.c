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

static int map(struct mapped_stream *image, int fd)
{
	struct stat st;
	void *base;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (st.st_size < STREAM_HEADER_SIZE)
		return -EBADMSG;
	image->size = (size_t)st.st_size;
	base = mmap(NULL, image->size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (base == MAP_FAILED)
		return -errno;
	image->guard = guard_add(base, image->size);
	if (!image->guard) {
		munmap(base, image->size);
		return -ENOMEM;
	}
	image->base = base;
	image->end = image->base + image->size;
	mapped_stream_rewind(image);
	return 0;
}

int mapped_stream_open(struct mapped_stream *image, int trace_fd, const char *path)
{
	char *full;
	int fd, err;

	memset(image, 0, sizeof(*image));
	if (asprintf(&full, "%s%s" STREAM_DATA, path, *path ? "/" : "") < 0) {
		log_error("%s: no memory to read it", path);
		return -ENOMEM;
	}
	fd = openat(trace_fd, full, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	err = fd < 0 ? -errno : map(image, fd);
	if (fd >= 0)
		close(fd);
	if (err < 0)
		log_error("%s: cannot read it: %s", full, strerror(-err));
	free(full);
	return err;
}

void mapped_stream_close(struct mapped_stream *image)
{
	if (image->base) {
		guard_remove(image->guard);
		munmap((void *)image->base, image->size);
	}
	memset(image, 0, sizeof(*image));
}

void mapped_stream_rewind(struct mapped_stream *image)
{
	memset(&image->ev, 0, sizeof(image->ev));
	image->at = image->base + STREAM_HEADER_SIZE;
}

bool mapped_stream_sound(const struct mapped_stream *image)
{
	return !guard_hit(image->guard);
}
