/* SPDX-License-Identifier: MIT */
#include "tools/lib/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/base/log.h"
#include "trace/base/text.h"
#include "trace/ovni/stream.h"

static int refuse(const char *path, int err)
{
	log_error("cannot write '%s': %s", path, strerror(-err));
	return err;
}

int new_file_open(struct new_file *f, const char *path)
{
	struct stat st;

	*f = (struct new_file){.fd = -1};
	f->path = strdup(path);
	if (!f->path)
		return log_no_memory("for the name of the output");
	/* a device or a pipe is not replaced by a file */
	if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return refuse(path, S_ISDIR(st.st_mode) ? -EISDIR : -EEXIST);
	f->temporary = xasprintf("%s.%ld.part", path, (long)getpid());
	if (!f->temporary)
		return log_no_memory("for the name of the output");
	f->fd = open(f->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	return f->fd < 0 ? refuse(path, -errno) : 0;
}

int new_file_write(struct new_file *f, const void *data, size_t size)
{
	int err = write_all(f->fd, data, size);

	return err ? refuse(f->path, err) : 0;
}

int new_file_finish(struct new_file *f)
{
	int fd = f->fd;

	if (close(fd) < 0 || rename(f->temporary, f->path) < 0) {
		int err = -errno;

		unlink(f->temporary);
		f->fd = -1;
		return refuse(f->path, err);
	}
	f->fd = -1;
	return 0;
}

void new_file_abandon(struct new_file *f)
{
	if (f->temporary && f->fd >= 0) {
		close(f->fd);
		unlink(f->temporary);
	}
	free(f->temporary);
	free(f->path);
	*f = (struct new_file){.fd = -1};
}
