/* SPDX-License-Identifier: MIT */
/* run_output: creates the files of a run (see run_output.h). */
#include "trace/loom/write/run_output.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/base/text.h"
#include "trace/loom/loom_record.h"

int run_output_create(const char *run, const char *suffix)
{
	char *path = xasprintf("%s%s", run, suffix);
	struct stat st;
	int fd, err;

	if (!path)
		return -ENOMEM;
	fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644);
	err = fd < 0 ? -errno : 0;
	free(path);
	if (err)
		return err;
	errno = 0;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || ftruncate(fd, 0)) {
		err = errno ? -errno : -EINVAL;
		close(fd);
	}
	return err ? err : fd;
}

int run_output_forget(const char *run, const char *suffix)
{
	char *path = xasprintf("%s%s", run, suffix);
	int err;

	if (!path)
		return -ENOMEM;
	err = unlink(path) && errno != ENOENT ? -errno : 0;
	free(path);
	return err;
}

int run_output_write(int fd, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;

	while (size) {
		ssize_t n = write(fd, at, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

int run_output_header(int fd, uint64_t records)
{
	uint8_t header[LOOM_HEADER_SIZE] = LOOM_MAGIC;
	uint32_t version = htole32(LOOM_VERSION);
	uint64_t count = htole64(records);

	memcpy(header + 4, &version, sizeof(version));
	memcpy(header + 8, &count, sizeof(count));
	errno = 0;
	if (pwrite(fd, header, sizeof(header), 0) != (ssize_t)sizeof(header))
		return errno ? -errno : -EIO;
	return 0;
}
