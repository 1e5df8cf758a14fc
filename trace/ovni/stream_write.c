/* SPDX-License-Identifier: MIT */
/*
 * stream: writes its two files (see stream.h). Each function opens files by path and closes them.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/base/files/beneath.h"
#include "trace/ovni/stream.h"

#define META_NEW   STREAM_META ".new"
#define HOLE_BYTES (1u << 20)

int write_all(int fd, const void *data, size_t size)
{
	const uint8_t *from = data;

	while (size > 0) {
		ssize_t n = write(fd, from, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		from += n;
		size -= (size_t)n;
	}
	return 0;
}

/*
 * Creates the file `name`, which must not exist, in `dir`, with `size` bytes and then `more`.
 * Returns 0, or -errno without a file.
 */
static int make_file(int dir, const char *name, const void *data, size_t size, const void *more,
		     size_t more_size)
{
	int fd, err;

	fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	err = write_all(fd, data, size);
	if (err)
		goto out;
	err = write_all(fd, more, more_size);
out:
	if (close(fd) < 0 && err == 0)
		err = -errno;
	if (err < 0)
		unlinkat(dir, name, 0);
	return err;
}

static int describe(int dir, const struct json *meta)
{
	char *text = json_text(meta);
	int err;

	if (!text)
		return -ENOMEM;
	/* the file of a killed program */
	if (unlinkat(dir, META_NEW, 0) < 0 && errno != ENOENT) {
		err = -errno;
		goto out;
	}
	err = make_file(dir, META_NEW, text, strlen(text), NULL, 0);
	if (err)
		goto out;
	if (renameat(dir, META_NEW, dir, STREAM_META) < 0) {
		err = -errno;
		unlinkat(dir, META_NEW, 0);
	}
out:
	free(text);
	return err;
}

int stream_create(int trace_fd, const char *path, const struct json *meta)
{
	return stream_store(trace_fd, path, meta, NULL, 0);
}

int stream_store(int trace_fd, const char *path, const struct json *meta, const void *events,
		 size_t size)
{
	uint8_t header[STREAM_HEADER_SIZE] = STREAM_MAGIC;
	const uint32_t version = STREAM_VERSION;
	int dir, err;

	memcpy(header + strlen(STREAM_MAGIC), &version, sizeof(version));
	dir = beneath_mkdirs(trace_fd, path);
	if (dir < 0)
		return dir;
	if (faccessat(dir, STREAM_META, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
		err = -EEXIST;
		goto out;
	}
	/* the metadata last: readers ignore a directory without them */
	err = make_file(dir, STREAM_DATA, header, sizeof(header), events, size);
	if (err < 0)
		goto out;
	err = describe(dir, meta);
	if (err < 0)
		unlinkat(dir, STREAM_DATA, 0);
out:
	close(dir);
	return err;
}

/*
 * Appends to a file of `end` bytes, without disk space for pieces of zeros. A damaged stream may
 * have jumbo events of 2 GiB that take no space; a copy of them takes none, too. Returns 0 or
 * -errno.
 */
static int write_sparsely(int fd, off_t end, const uint8_t *data, size_t size)
{
	for (size_t n; size; data += n, size -= n, end += (off_t)n) {
		int err = 0;

		n = size < HOLE_BYTES ? size : HOLE_BYTES;
		if (n < HOLE_BYTES || data[0] || memcmp(data, data + 1, n - 1) != 0)
			err = write_all(fd, data, n);
		else if (ftruncate(fd, end + (off_t)n) < 0)
			err = -errno;
		if (err)
			return err;
	}
	return 0;
}

static int append(int trace_fd, const char *name, int flags, const void *data, size_t size)
{
	struct stat st;
	int fd, err;

	fd = beneath_open(trace_fd, name, O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | flags,
			  0644);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0) {
		err = -errno;
		goto out;
	}
	if (!S_ISREG(st.st_mode) || st.st_nlink != 1) {
		err = -EPERM; /* another file is in its place */
		goto out;
	}
	err = write_sparsely(fd, st.st_size, data, size);
	if (err < 0)
		(void)!ftruncate(fd, st.st_size); /* a failed disk may refuse this, too */
out:
	if (close(fd) < 0 && err == 0)
		err = -errno;
	return err;
}

int stream_append(int trace_fd, const char *path, const void *events, size_t size)
{
	char name[PATH_MAX];
	int len = snprintf(name, sizeof(name), "%s%s" STREAM_DATA, path, *path ? "/" : "");

	if (len < 0 || (size_t)len >= sizeof(name))
		return -ENAMETOOLONG;
	return append(trace_fd, name, 0, events, size);
}

int stream_append_text(int trace_fd, const char *name, const void *lines, size_t size)
{
	return append(trace_fd, name, O_CREAT, lines, size);
}

int stream_describe(int trace_fd, const char *path, const struct json *meta)
{
	int dir = beneath_open(trace_fd, path, O_PATH | O_DIRECTORY, 0);
	int err;

	if (dir < 0)
		return dir;
	err = describe(dir, meta);
	close(dir);
	return err;
}
