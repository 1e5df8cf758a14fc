/* SPDX-License-Identifier: MIT */
/* spool: see spool.h. */
#include "user/sink/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/base/log.h"
#include "trace/base/text.h"
#include "trace/ovni/trace.h"
#include "user/sink/output_dir.h"

#define DEPTH_MAX 8 /* streams have three directories */
#define CHUNK	  (1u << 20)
#define TRIES	  1000 /* names of a directory */

/* Makes a directory that was not there, and returns its name; NULL with errno set. */
static char *make_directory(const char *dir, const char *node)
{
	for (unsigned i = 0; i < TRIES;
	     i++) { /* an earlier process with our pid may have left one */
		char *name = xasprintf("%s/ovni-bpf.%s.%ld.%u", dir, node, (long)getpid(), i);

		if (!name || !mkdir(name, 0700))
			return name;
		free(name);
		if (errno != EEXIST)
			break;
	}
	return NULL;
}

int spool_open(struct spool *spool, const char *dir, const char *node)
{
	char *name = make_directory(dir, node);
	int err = 0;

	spool->fd = -1;
	spool->where[0] = '\0';
	snprintf(spool->loom, sizeof(spool->loom), "loom.%s", node);
	if (!name || !realpath(name, spool->path))
		err = -errno;
	if (!err)
		spool->fd = open(spool->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (!err && spool->fd < 0)
		err = -errno;
	if (err)
		log_error("--spool: cannot create a directory in '%s': %s", dir, strerror(-err));
	else
		snprintf(spool->where, sizeof(spool->where), "its streams are in %s", spool->path);
	free(name);
	return err;
}

/* ---- copying ---- */

struct copy {
	char *buffer;	     /* of CHUNK bytes */
	char path[PATH_MAX]; /* below the spool, of what is copied now */
	size_t length;
};

static int copy_data(const struct copy *c, int from, int to)
{
	ssize_t n, done;

	while ((n = read(from, c->buffer, CHUNK))) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		for (ssize_t at = 0; at < n; at += done) {
			done = write(to, c->buffer + at, (size_t)(n - at));
			if (done < 0 && errno != EINTR)
				return -errno;
			done = done < 0 ? 0 : done;
		}
	}
	return fsync(to) ? -errno : 0;
}

static int copy_file(const struct copy *c, int from_dir, int to_dir, const char *name)
{
	int from = openat(from_dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), to = -1;
	struct stat st;
	int err = from < 0 || fstat(from, &st) ? -errno : S_ISREG(st.st_mode) ? 0 : -EINVAL;

	if (!err)
		to = openat(to_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			    0644);
	if (!err)
		err = to < 0 ? -errno : copy_data(c, from, to);
	if (to >= 0 && close(to) && !err)
		err = -errno;
	if (from >= 0)
		close(from);
	return err;
}

static int copy_directory(struct copy *c, int from, int to, int depth);

static int copy_below(struct copy *c, int from_dir, int to_dir, const char *name, int depth)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int from = openat(from_dir, name, flags), to = -1, err = from < 0 ? -errno : 0;

	if (!err && mkdirat(to_dir, name, 0755))
		err = -errno;
	if (!err)
		to = openat(to_dir, name, flags);
	if (!err)
		err = to < 0 ? -errno : copy_directory(c, from, to, depth + 1);
	if (from >= 0)
		close(from);
	if (to >= 0)
		close(to);
	return err;
}

/* One entry, whose path stays in `c` if it fails. */
static int copy_entry(struct copy *c, int from, int to, const struct dirent *entry, int depth)
{
	size_t length = c->length;
	int n = snprintf(c->path + length, sizeof(c->path) - length, "%s%s", length ? "/" : "",
			 entry->d_name);
	struct stat st;
	int err;

	if (n >= (int)(sizeof(c->path) - length))
		return -ENAMETOOLONG;
	c->length += (size_t)n;
	if (fstatat(from, entry->d_name, &st, AT_SYMLINK_NOFOLLOW))
		err = -errno;
	else if (S_ISDIR(st.st_mode))
		err = depth < DEPTH_MAX ? copy_below(c, from, to, entry->d_name, depth) : -ELOOP;
	else
		err = copy_file(c, from, to, entry->d_name);
	if (err)
		return err;
	c->length = length;
	c->path[length] = '\0';
	return 0;
}

static int copy_directory(struct copy *c, int from, int to, int depth)
{
	int again = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = 0;
	DIR *dir = again < 0 ? NULL : fdopendir(again);
	struct dirent *entry;

	if (!dir) {
		err = -errno;
		if (again >= 0)
			close(again);
		return err;
	}
	while (!err && (errno = 0, entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			err = copy_entry(c, from, to, entry, depth);
	err = err ? err : -errno;
	closedir(dir);
	return err;
}

/* The loom gets its name in one step, in place of the empty directory. Readers skip the directory
 * `aside`. */
static int copy_loom(struct copy *c, const struct spool *spool, int to, const char *aside)
{
	int fd = -1, err = mkdirat(to, aside, 0755) ? -errno : 0;

	if (!err) {
		fd = openat(to, aside, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		err = fd < 0 ? -errno : copy_directory(c, spool->fd, fd, 0);
	}
	if (!err && renameat(fd, spool->loom, to, spool->loom) && errno != ENOENT)
		err = -errno; /* ENOENT: no thread was recorded */
	if (fd >= 0) {
		close(fd);
		if (output_dir_remove(to, aside))
			log_warn("--spool: cannot remove '%s' in the directory of the job", aside);
	}
	return err;
}

static int remove_copied(const struct spool *spool)
{
	const char *name = strrchr(spool->path, '/') + 1;
	int parent = openat(spool->fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int err = parent < 0 ? -errno : output_dir_remove(parent, name);

	if (parent >= 0)
		close(parent);
	return err;
}

int spool_copy(struct spool *spool, int to)
{
	char *aside = xasprintf(TRACE_REMOVED "%s", strrchr(spool->path, '/') + 1);
	struct copy *c = calloc(1, sizeof(*c));
	int err = -ENOMEM;

	if (c)
		c->buffer = malloc(CHUNK);
	if (c && c->buffer && aside)
		err = copy_loom(c, spool, to, aside);
	if (err)
		log_error("--spool: cannot copy '%s/%s' into the directory of the job: %s",
			  spool->path, c ? c->path : "", strerror(-err));
	if (!err) {
		spool->where[0] = '\0';
		if (remove_copied(spool))
			log_warn("--spool: cannot remove '%s', which is copied", spool->path);
	}
	if (c)
		free(c->buffer);
	free(c);
	free(aside);
	return err;
}

void spool_close(struct spool *spool)
{
	if (spool->fd < 0)
		return;
	close(spool->fd);
	spool->fd = -1;
	rmdir(spool->path);
}
