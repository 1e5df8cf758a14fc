/* SPDX-License-Identifier: MIT */
#include "trace/base/files/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DIRECTORY (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/*
 * Copies the first name of *path to `name` (NAME_MAX + 1 bytes) and advances *path. Returns 1, 0 at
 * the end, -EXDEV for "..", or -ENAMETOOLONG.
 */
static int next_name(const char **path, char *name)
{
	const char *start = *path, *end;
	size_t len;

	while (*start == '/' || (start[0] == '.' && (start[1] == '/' || start[1] == '\0')))
		start++;
	end = strchrnul(start, '/');
	len = (size_t)(end - start);
	*path = end;
	if (len == 0)
		return 0;
	if (len > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(name, start, len);
	name[len] = '\0';
	return strcmp(name, "..") ? 1 : -EXDEV;
}

/* Opens one name. A link is -ELOOP, also where a directory must be. */
static int open_name(int at, const char *name, int flags, mode_t mode)
{
	int fd = openat(at, name, flags, mode), err = -errno;
	struct stat st;

	if (fd >= 0)
		return fd;
	if (err == -ENOTDIR && !fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISLNK(st.st_mode))
		return -ELOOP;
	return err;
}

/*
 * Walks `path` name by name. With `make`, all names are directories, and missing ones are created;
 * otherwise the last name is opened with `flags` and `mode`.
 */
static int walk(int dirfd, const char *path, bool make, int flags, mode_t mode)
{
	char name[NAME_MAX + 1], next[NAME_MAX + 1];
	int at = dirfd, more, fd;

	if (*path == '/')
		return -EXDEV;
	more = next_name(&path, name);
	if (more == 0) {
		fd = openat(dirfd, ".", make ? DIRECTORY : flags, mode);
		return fd < 0 ? -errno : fd;
	}
	while (more > 0) {
		more = next_name(&path, next);
		if (more < 0)
			break;
		if (make && mkdirat(at, name, 0755) < 0 && errno != EEXIST) {
			more = -errno;
			break;
		}
		fd = open_name(at, name, more || make ? DIRECTORY : flags | O_NOFOLLOW, mode);
		if (at != dirfd)
			close(at);
		if (fd < 0 || !more)
			return fd;
		at = fd;
		memcpy(name, next, sizeof(name));
	}
	if (at != dirfd)
		close(at);
	return more;
}

static int open_at_once(int dirfd, const char *path, int flags, mode_t mode)
{
	struct open_how how = {
		.flags = (unsigned)flags,
		.mode = flags & O_CREAT ? mode : 0,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	long fd;

	do
		fd = syscall(SYS_openat2, dirfd, path, &how, sizeof(how));
	while (fd < 0 && (errno == EAGAIN || errno == EINTR));
	return fd < 0 ? -errno : (int)fd;
}

int beneath_open(int dirfd, const char *path, int flags, mode_t mode)
{
	static atomic_bool missing; /* the kernel has no openat2() */
	int fd;

	flags |= O_CLOEXEC;
	if (!atomic_load(&missing)) {
		fd = open_at_once(dirfd, *path ? path : ".", flags, mode);
		/* EPERM comes from old sandboxes, for unknown system calls, or from the path
		 * itself: the walk distinguishes the two */
		if (fd != -ENOSYS && fd != -EPERM)
			return fd;
		atomic_store(&missing, fd == -ENOSYS);
	}
	return walk(dirfd, path, false, flags, mode);
}

int beneath_mkdirs(int dirfd, const char *path)
{
	return walk(dirfd, path, true, 0, 0);
}
