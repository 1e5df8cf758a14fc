/* SPDX-License-Identifier: MIT */
/* keep_files: copies of the files of a Loom run (see keep_files.h). */
#include "tools/loom/run/keep_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/ovni/beneath.h"
#include "trace/base/log.h"

#define CHUNK_BYTES (1u << 20)

/* Copies in the kernel, by reference where the file system can; else through memory. */
static int copy(int from, int to)
{
	char *chunk;
	ssize_t n;
	int err = 0;

	while ((n = copy_file_range(from, NULL, to, NULL, 1u << 30, 0)) > 0)
		;
	if (n == 0)
		return 0;
	if (errno != EXDEV && errno != ENOSYS && errno != EINVAL && errno != EOPNOTSUPP)
		return -errno;
	chunk = malloc(CHUNK_BYTES);
	if (!chunk)
		return -ENOMEM;
	while ((n = read(from, chunk, CHUNK_BYTES)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			err = -errno;
			goto out;
		}
		for (ssize_t done = 0, put; done < n; done += put) {
			put = write(to, chunk + done, (size_t)(n - done));
			if (put < 0 && errno != EINTR) {
				err = -errno;
				goto out;
			}
			put = put < 0 ? 0 : put;
		}
	}
out:
	free(chunk);
	return err;
}

int keep_files(int fd, const char *dir, const char *name, const char *path, char **kept)
{
	char *folder = NULL;
	int from = open(path, O_RDONLY | O_CLOEXEC), to = -1, at = -1, err = 0;

	*kept = strdup(basename(path));
	if (from < 0) {
		err = -errno;
		log_error("%s: cannot open: %s", path, strerror(-err));
		goto out;
	}
	if (!*kept || asprintf(&folder, "loom.loomsim.%s", name) < 0) {
		folder = NULL;
		err = -ENOMEM;
		log_no_memory("while reading %s", dir);
		goto out;
	}
	at = beneath_mkdirs(fd, folder);
	if (at < 0) {
		err = at;
		log_error("%s/%s: cannot create: %s", dir, folder, strerror(-err));
		goto out;
	}
	to = openat(at, *kept, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (to < 0 && errno == EEXIST) {
		err = -EEXIST;
		log_error("%s/%s/%s is there already: choose another directory with -o, or another "
			  "name of the run with --name",
			  dir, folder, *kept);
		goto out;
	}
	err = to < 0 ? -errno : copy(from, to);
	if (to >= 0 && close(to) && !err)
		err = -errno;
	if (err) {
		if (to >= 0)
			unlinkat(at, *kept, 0);
		log_error("%s/%s/%s: cannot copy %s: %s", dir, folder, *kept, path, strerror(-err));
	}
out:
	if (err) {
		free(*kept);
		*kept = NULL;
	}
	if (at >= 0)
		close(at);
	if (from >= 0)
		close(from);
	free(folder);
	return err;
}

int keep_files_return(int fd, const char *dir, const char *from, const char *path)
{
	int in = beneath_open(fd, from, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0), out, err;
	struct stat st;

	if (in < 0 || fstat(in, &st)) {
		err = in < 0 ? in : -errno;
		log_error(
			"%s/%s: cannot open the file that was kept: %s; --no-keep does without it",
			dir, from, strerror(-err));
		if (in >= 0)
			close(in);
		return err;
	}
	if (!S_ISREG(st.st_mode)) {
		log_error("%s/%s: the kept file is not a regular file", dir, from);
		close(in);
		return -EINVAL;
	}
	out = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644);
	err = out < 0 ? -errno : 0;
	if (err)
		goto out;
	if ((fstat(out, &st) || !S_ISREG(st.st_mode)))
		err = -EINVAL;
	if (err)
		goto out;
	if (ftruncate(out, 0))
		err = -errno;
	if (err)
		goto out;
	err = copy(in, out);
out:
	if (out >= 0 && close(out) && !err)
		err = -errno;
	if (err)
		log_error("%s: cannot write: %s", path, strerror(-err));
	close(in);
	return err;
}
