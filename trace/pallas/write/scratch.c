/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "trace/base/log.h"
#include "trace/pallas/write/scratch.h"

static int scratch_open(struct scratch *s, int dirfd)
{
	static const char name[] = ".scratch";

	s->fd = openat(dirfd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (s->fd < 0 || unlinkat(dirfd, name, 0) < 0)
		return -errno;
	return 0;
}

int pallas_scratch_put(struct scratch *s, int dirfd, const char *shown, const void *data,
		       size_t size, struct bytes *parts)
{
	struct scratch_part *last = NULL;
	const char *from = data;
	int err = s->fd < 0 ? scratch_open(s, dirfd) : 0;

	if (err)
		goto out;
	if (parts->size)
		last = (struct scratch_part *)(parts->data + parts->size) - 1;
	if (last && last->at + last->n == s->size)
		last->n += size;
	else
		bytes_put(parts, &(struct scratch_part){s->size, size}, sizeof(*last));
	if (parts->failed) {
		err = -ENOMEM;
		goto out;
	}
	while (size) {
		ssize_t n = pwrite(s->fd, from, size, (off_t)s->size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			err = -errno;
			goto out;
		}
		from += n;
		size -= (size_t)n;
		s->size += (uint64_t)n;
	}
out:
	if (err)
		log_error("%s: cannot write a scratch file: %s", shown, strerror(-err));
	return err;
}

void pallas_scratch_close(struct scratch *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}
