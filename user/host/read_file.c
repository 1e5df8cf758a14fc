/* SPDX-License-Identifier: MIT */
/* read_file: see read_file.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
