/* SPDX-License-Identifier: MIT */
/* out: files, and the threads that write them (see out.h). */
#include "emu/out.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/log.h"

struct out_pool {
	bool failed;
};

struct out {
	struct out_pool *pool;
	char *path; /* for messages */
	int fd;
	int error; /* first one, 0 if none */
	bool gzip, headed;
	char *buffer;
};

struct out_pool *out_pool_new(unsigned threads)
{
	struct out_pool *pool = calloc(1, sizeof(*pool));

	(void)threads;
	if (!pool)
		log_error("no memory for the output");
	return pool;
}

void out_pool_free(struct out_pool *pool)
{
	free(pool);
}

bool out_pool_failed(const struct out_pool *pool)
{
	return pool->failed;
}

int out_create(int dir_fd, const char *name)
{
	struct stat st;
	int err, fd;

	if (dir_fd == OUT_NOWHERE) {
		fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
		return fd < 0 ? -errno : fd;
	}
	/* O_NONBLOCK: opening a FIFO without a reader must not hang; it is refused below. */
	fd = openat(dir_fd, name,
		    O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		goto fail;
	if (!S_ISREG(st.st_mode)) {
		errno = EINVAL;
		goto fail;
	}
	if (st.st_size && ftruncate(fd, 0))
		goto fail;
	return fd;
fail:
	err = -errno;
	close(fd);
	return err;
}

/* Remembers the first error of the file and says it. */
static int fail(struct out *out, int err)
{
	if (!out->error) {
		out->error = err;
		out->pool->failed = true;
		log_error("%s: cannot write: %s", out->path, strerror(-err));
	}
	return out->error;
}

static int write_all(struct out *out, const char *data, size_t size)
{
	while (size) {
		ssize_t n = write(out->fd, data, size);

		if (n < 0) {
			if (errno == EINTR)
				continue;
			return fail(out, -errno);
		}
		data += n;
		size -= (size_t)n;
	}
	return 0;
}

struct out *out_open(struct out_pool *pool, int dir_fd, const char *dir, const char *name,
		     bool gzip)
{
	struct out *out = calloc(1, sizeof(*out));

	if (!out)
		goto nomem;
	out->pool = pool;
	out->gzip = gzip;
	out->fd = -1;
	if (asprintf(&out->path, "%s/%s%s", dir, name, gzip ? ".gz" : "") < 0) {
		out->path = NULL;
		goto nomem;
	}
	out->fd = out_create(dir_fd, out->path + strlen(dir) + 1);
	if (out->fd >= 0)
		return out;
	log_error("%s: cannot create: %s%s", out->path, strerror(-out->fd),
		  out->fd == -ELOOP ? " (outputs never follow a symbolic link: remove it)" : "");
	goto fail;
nomem:
	log_error("%s/%s: no memory for the output", dir, name);
fail:
	if (out)
		free(out->path);
	free(out);
	return NULL;
}

char *out_buffer(struct out *out, size_t bytes)
{
	out->buffer = malloc(bytes);
	if (!out->buffer)
		log_error("%s: no memory for its buffer", out->path);
	return out->buffer;
}

int out_put(struct out *out, size_t size, char **buffer)
{
	*buffer = out->buffer;
	return out->error ? out->error : write_all(out, out->buffer, size);
}

int out_header(struct out *out, const char *line, size_t size)
{
	if (out->error)
		return out->error;
	if (!out->headed) {
		out->headed = true;
		return write_all(out, line, size);
	}
	if (pwrite(out->fd, line, size, 0) != (ssize_t)size)
		return fail(out, errno ? -errno : -EIO);
	return 0;
}

int out_close(struct out *out)
{
	int err;

	if (!out)
		return 0;
	if (close(out->fd) && !out->error)
		fail(out, -errno);
	err = out->error;
	free(out->buffer);
	free(out->path);
	free(out);
	return err;
}
