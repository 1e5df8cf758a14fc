/* SPDX-License-Identifier: MIT */
#include "trace/base/files/input.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/base/files/beneath.h"

static int open_with(int dirfd, const char *path, int flags)
{
	int fd;

	flags |= O_CLOEXEC;
	if (dirfd != AT_FDCWD && dirfd != INPUT_BESIDE)
		return beneath_open(dirfd, path, flags, 0);
	fd = openat(AT_FDCWD, path, flags | (dirfd == INPUT_BESIDE ? O_NOFOLLOW : 0));
	return fd < 0 ? -errno : fd;
}

static int check(int fd, uint64_t most, struct stat *st)
{
	if (fstat(fd, st) < 0)
		return -errno;
	if (S_ISLNK(st->st_mode)) /* O_PATH and O_NOFOLLOW open the link itself */
		return -ELOOP;
	if (S_ISDIR(st->st_mode))
		return -EISDIR;
	if (!S_ISREG(st->st_mode))
		return -EINVAL;
	return (uint64_t)st->st_size > most ? -EFBIG : 0;
}

/* Whether the path leads to a regular file. It may lead there through links, which the open after
 * it refuses. Cheaper than look(): a trace may have 100,000 files. */
static bool seems_regular(int dirfd, const char *path)
{
	int flags = dirfd == AT_FDCWD ? 0 : AT_SYMLINK_NOFOLLOW;
	struct stat st;

	return !fstatat(dirfd == INPUT_BESIDE ? AT_FDCWD : dirfd, path, &st, flags) &&
	       S_ISREG(st.st_mode);
}

/* Returns 0, or the reason not to open the path. Opens nothing. */
static int look(int dirfd, const char *path, uint64_t most)
{
	int fd = open_with(dirfd, path, O_PATH), err;
	struct stat st;

	if (fd < 0)
		return fd;
	err = check(fd, most, &st);
	close(fd);
	return err;
}

int input_open(int dirfd, const char *path, uint64_t most, uint64_t *size)
{
	struct stat st;
	int fd, err;

	err = seems_regular(dirfd, path) ? 0 : look(dirfd, path, most);
	if (err)
		return err;
	fd = open_with(dirfd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return fd;
	err = check(fd, most, &st);
	if (err) {
		close(fd);
		return err;
	}
	if (size)
		*size = (uint64_t)st.st_size;
	return fd;
}

int input_open_directory(int dirfd, const char *path)
{
	return open_with(dirfd, path, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
}

const char *input_why(int err, uint64_t most)
{
	switch (err) {
	case -ELOOP:
		return "a symbolic link, and links in a trace are not followed (copy the files "
		       "into the trace)";
	case -EXDEV:
		return "it leads out of the trace";
	case -EISDIR:
	case -EINVAL:
		return "not a regular file";
	case -EFBIG:
		if (most == INPUT_TEXT_MAX)
			return "larger than 64 MiB";
		return most == INPUT_STATS_MAX ? "larger than 4 GiB" : "larger than 1 TiB";
	default:
		return strerror(-err);
	}
}
