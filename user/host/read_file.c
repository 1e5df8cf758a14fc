/* SPDX-License-Identifier: MIT */
/* read_file: see read_file.h. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "user/host/read_file.h"

char *read_file(int dirfd, const char *path, int flags, size_t max, size_t *size)
{
	int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | flags);
	char *text = fd < 0 ? NULL : malloc(max + 1), *shrunk;
	size_t used = 0;
	ssize_t n = -1;

	while (text && used < max) {
		n = read(fd, text + used, max - used);
		if (n == 0 || (n < 0 && errno != EINTR))
			break;
		used += n > 0 ? (size_t)n : 0;
	}
	if (fd >= 0)
		close(fd);
	if (!text || n < 0) {
		free(text);
		return NULL;
	}
	text[used] = '\0';
	*size = used;
	shrunk = realloc(text, used + 1);
	return shrunk ? shrunk : text;
}

bool read_line(const char *path, char *line, size_t size)
{
	size_t n;
	char *text = read_file(AT_FDCWD, path, 0, size - 1, &n);
	bool there = text;

	snprintf(line, size, "%s", there ? text : "");
	line[strcspn(line, "\n")] = '\0';
	free(text);
	return there;
}

int open_in_root(const char *root, const char *path, int flags)
{
	struct open_how how = {.flags = (unsigned)flags | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
	int dir, fd, err;

	if (!*root) {
		fd = open(path, flags | O_CLOEXEC);
		return fd < 0 ? -errno : fd;
	}
	dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	do
		fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
	while (fd < 0 && errno == EAGAIN); /* something was renamed meanwhile */
	err = errno;
	close(dir);
	return fd < 0 ? -err : fd;
}

int open_regular(const char *root, const char *path)
{
	int place = open_in_root(root, path, O_PATH), fd;
	char name[32];
	struct stat st;

	if (place < 0)
		return place;
	if (fstat(place, &st)) {
		fd = -errno;
	} else if (!S_ISREG(st.st_mode)) {
		fd = S_ISDIR(st.st_mode) ? -EISDIR : -ENOEXEC;
	} else {
		snprintf(name, sizeof(name), "/proc/self/fd/%d", place);
		fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
		if (fd < 0)
			fd = -errno;
	}
	close(place);
	return fd;
}
