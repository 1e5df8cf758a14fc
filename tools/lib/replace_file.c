/* SPDX-License-Identifier: MIT */
#include "tools/lib/replace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/base/files/input.h"
#include "trace/base/log.h"
#include "trace/base/text.h"
#include "trace/ovni/stream.h"

char *output_path(const char *given, const char *trace, const char *suffix)
{
	char *path = given ? strdup(given) : path_with_suffix(trace, suffix);

	if (!path)
		log_lack("for the name of the output");
	return path;
}

int output_create(const char *path)
{
	int fd = -1, err;

	if (mkdir(path, 0755) == 0)
		fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	err = -errno;
	log_error("cannot create '%s': %s", path, strerror(-err));
	return err;
}

/* Copies at most `max` bytes: the file may grow meanwhile. */
static int copy_bytes(int from, int to, uint64_t max)
{
	char buffer[65536];
	uint64_t done = 0;
	ssize_t n;

	while ((n = read(from, buffer, sizeof(buffer))) > 0) {
		int err = write_all(to, buffer, (size_t)n);

		if (err)
			return err;
		done += (uint64_t)n;
		if (done > max)
			return -EFBIG;
	}
	return n < 0 ? -errno : 0;
}

int copy_beside(int from_dir, int to_dir, const char *name, uint64_t max)
{
	int err, from, to;

	from = input_open(from_dir, name, max, NULL);
	if (from == -ENOENT)
		return 0;
	if (from < 0) {
		err = from;
		goto out;
	}
	to = openat(to_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (to < 0) {
		err = -errno;
		goto out;
	}
	err = copy_bytes(from, to, max);
	if (close(to) < 0 && err == 0)
		err = -errno;
out:
	if (from >= 0)
		close(from);
	if (err)
		log_error("cannot copy %s: %s", name, input_why(err, max));
	return err;
}

int replace_file_start(struct replacement *r, int dir_fd, const char *path, const char *name)
{
	struct stat st;
	int err;

	memset(r, 0, sizeof(*r));
	r->fd = -1;
	r->name = name;
	r->dir = input_open_directory(dir_fd, path);
	if (r->dir < 0)
		return r->dir;
	r->open = true;
	if (fstatat(r->dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		goto fail;
	if (!S_ISREG(st.st_mode)) {
		errno = S_ISLNK(st.st_mode) ? ELOOP : EINVAL;
		goto fail;
	}
	/* a killed process with our id may have left one behind: try other names */
	for (int i = 0; r->fd < 0 && i < 100; i++) {
		snprintf(r->temporary, sizeof(r->temporary), ".%.32s.%ld-%d", name, (long)getpid(),
			 i);
		r->fd = openat(r->dir, r->temporary,
			       O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (r->fd < 0 && errno != EEXIST)
			break;
	}
	if (r->fd < 0) {
		err = -errno;
		close(r->dir);
		r->open = false;
		return err;
	}
	if (fchown(r->fd, st.st_uid, st.st_gid) < 0 && errno != EPERM)
		goto fail;
	if (fchmod(r->fd, st.st_mode & 0777) < 0)
		goto fail;
	return 0;
fail:
	err = -errno;
	replace_file_abandon(r);
	return err;
}

int replace_file_finish(struct replacement *r, bool durable)
{
	int err = 0;

	if (durable && fsync(r->fd) < 0)
		err = -errno;
	if (close(r->fd) < 0 && err == 0)
		err = -errno;
	r->fd = -1;
	if (err)
		goto out;
	if (renameat(r->dir, r->temporary, r->dir, r->name) < 0) {
		err = -errno;
		goto out;
	}
	if (durable && fsync(r->dir) < 0)
		err = -errno;
	else
		*r->temporary = '\0';
out:
	replace_file_abandon(r);
	return err;
}

void replace_file_abandon(struct replacement *r)
{
	if (!r->open)
		return;
	if (r->fd >= 0)
		close(r->fd);
	if (*r->temporary)
		unlinkat(r->dir, r->temporary, 0);
	close(r->dir);
	memset(r, 0, sizeof(*r));
	r->fd = -1;
}
