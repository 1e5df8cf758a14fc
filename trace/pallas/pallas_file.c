/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/base/log.h"
#include "trace/pallas/pallas_file.h"

int pallas_file_at(int fd, void *out, size_t size, uint64_t offset)
{
	char *to = out;

	while (size) {
		ssize_t n = pread(fd, to, size, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -EIO;
		to += n;
		size -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

int pallas_file_read(int dirfd, const char *path, const char *shown, size_t most, uint8_t **bytes,
		     size_t *size)
{
	struct stat st;
	int err = 0, fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	*bytes = NULL;
	if (fd < 0) {
		err = -errno;
		log_error("%s: cannot open: %s", shown, strerror(-err));
		return err;
	}
	if (fstat(fd, &st) < 0)
		err = -errno;
	else if (!S_ISREG(st.st_mode))
		err = -EINVAL;
	if (err) {
		log_error("%s: not a readable file", shown);
		goto out;
	}
	if ((uint64_t)st.st_size > most) {
		log_error(
			"%s: its %llu bytes do not fit into the %zu that the memory budget leaves; "
			"give more with --memory",
			shown, (unsigned long long)st.st_size, most);
		err = -EFBIG;
		goto out;
	}
	*size = (size_t)st.st_size;
	*bytes = malloc(*size ? *size : 1);
	err = *bytes ? pallas_file_at(fd, *bytes, *size, 0) : -ENOMEM;
	if (err) {
		log_error("%s: cannot read: %s", shown, strerror(-err));
		free(*bytes);
		*bytes = NULL;
	}
out:
	close(fd);
	return err;
}
