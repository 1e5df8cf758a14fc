/* SPDX-License-Identifier: MIT */
#include "trace/base/inflow.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/base/files/input.h"
#include "trace/base/log.h"

#define BUFFER_SIZE (256u << 10)

int inflow_open(struct inflow *s, int dirfd, const char *path, uint64_t most)
{
	memset(s, 0, sizeof(*s));
	s->fd = input_open(dirfd, path, most, &s->size);
	if (s->fd < 0) {
		log_error("cannot open '%s': %s", path, input_why(s->fd, most));
		return s->fd;
	}
	s->path = strdup(path);
	s->buf = malloc(BUFFER_SIZE);
	if (!s->path || !s->buf)
		return log_no_memory("while reading %s", path);
	(void)posix_fadvise(s->fd, 0, 0, POSIX_FADV_SEQUENTIAL); /* only an improvement */
	return 0;
}

void inflow_close(struct inflow *s)
{
	if (s->fd > 0)
		close(s->fd);
	free(s->buf);
	free(s->path);
	memset(s, 0, sizeof(*s));
}

void inflow_seek(struct inflow *s, uint64_t offset)
{
	if (offset >= s->offset && offset - s->offset <= s->len) {
		s->at = (size_t)(offset - s->offset);
		return;
	}
	s->offset = offset;
	s->at = s->len = 0;
}

size_t inflow_fill(struct inflow *s, size_t size)
{
	if (s->at > 0) {
		memmove(s->buf, s->buf + s->at, s->len - s->at);
		s->offset += s->at;
		s->len -= s->at;
		s->at = 0;
	}
	while (s->len < size && !s->error) {
		ssize_t n = pread(s->fd, s->buf + s->len, BUFFER_SIZE - s->len,
				  (off_t)(s->offset + s->len));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			s->error = -errno;
			log_error("%s: cannot read at byte %llu: %s", s->path,
				  (unsigned long long)(s->offset + s->len), strerror(-s->error));
		}
		if (n <= 0)
			break;
		s->len += (size_t)n;
	}
	return s->len;
}
