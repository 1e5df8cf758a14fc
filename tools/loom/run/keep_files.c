/* SPDX-License-Identifier: MIT */
/* keep_files: copies of the files of a Loom run (see keep_files.h). */
#include "tools/loom/run/keep_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/base/files/beneath.h"
#include "trace/base/files/input.h"
#include "trace/base/log.h"
#include "trace/base/text.h"

#define CHUNK_BYTES (1u << 30)

/* Copies `size` bytes from where both files are, in the kernel, by reference where the file system
 * can. */
static int copy_data(int from, int to, off_t size)
{
	ssize_t n = 1;

	while (size > 0 && n > 0) {
		n = copy_file_range(from, NULL, to, NULL, (size_t)size, 0);
		if (n < 0 &&
		    (errno == EXDEV || errno == ENOSYS || errno == EINVAL || errno == EOPNOTSUPP))
			n = sendfile(to, from, NULL,
				     size < CHUNK_BYTES ? (size_t)size : CHUNK_BYTES);
		size -= n;
	}
	return n < 0 ? -errno : 0;
}

/* Copies a file. Its holes stay holes: a foreign file may have any number of them. */
static int copy(int from, int to)
{
	off_t size = lseek(from, 0, SEEK_END), at, end;
	int err = size < 0 ? -errno : 0;

	for (at = 0; !err && at < size; at = end) {
		off_t data = lseek(from, at, SEEK_DATA);

		if (data < 0 && errno == ENXIO)
			break; /* a hole up to the end */
		if (data < 0)
			data = at; /* the file system does not tell */
		end = lseek(from, data, SEEK_HOLE);
		if (end < 0)
			end = size;
		if (lseek(from, data, SEEK_SET) < 0 || lseek(to, data, SEEK_SET) < 0)
			return -errno;
		err = copy_data(from, to, end - data);
	}
	return err || !ftruncate(to, size) ? err : -errno;
}

int keep_files(int fd, const char *dir, const char *name, int from_dir, const char *path,
	       char **kept)
{
	char *folder = xasprintf("loom.loomsim.%s", name);
	int from = input_open(from_dir, path, INPUT_EVENTS_MAX, NULL), to = -1, at = -1, err = 0;

	*kept = strdup(basename(path));
	if (from < 0) {
		err = from;
		log_error("cannot open '%s': %s", path, input_why(err, INPUT_EVENTS_MAX));
		goto out;
	}
	if (!*kept || !folder) {
		err = log_no_memory("while reading %s", dir);
		goto out;
	}
	at = beneath_mkdirs(fd, folder);
	if (at < 0) {
		err = at;
		log_error("cannot create '%s/%s': %s", dir, folder, strerror(-err));
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

/* Opens `path` as an empty file: its descriptor, or -errno after a message. */
static int open_empty(const char *path)
{
	int out = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644),
	    err = 0;
	struct stat st;

	if (out < 0 || fstat(out, &st))
		err = -errno;
	else if (!S_ISREG(st.st_mode))
		err = -EINVAL;
	else if (ftruncate(out, 0))
		err = -errno;
	if (!err)
		return out;
	if (out >= 0)
		close(out);
	log_error("cannot write '%s': %s", path, strerror(-err));
	return err;
}

int keep_files_empty(const char *path)
{
	int out = open_empty(path);

	if (out < 0)
		return out;
	close(out);
	return 0;
}

int keep_files_return(int fd, const char *dir, const char *from, const char *path)
{
	uint64_t size = 0;
	int in = input_open(fd, from, INPUT_EVENTS_MAX, &size), out, err;

	if (in >= 0 && !size) {
		err = -EBADMSG;
		log_error("the kept file '%s/%s' is empty (--no-keep ignores it)", dir, from);
		goto out;
	}
	if (in < 0) {
		err = in;
		log_error("cannot open the kept file '%s/%s': %s (--no-keep ignores it)", dir, from,
			  input_why(err, INPUT_EVENTS_MAX));
		goto out;
	}
	out = open_empty(path);
	if (out < 0) {
		err = out;
		goto out;
	}
	err = copy(in, out);
	if (close(out) && !err)
		err = -errno;
	if (err)
		log_error("cannot write '%s': %s", path, strerror(-err));
out:
	if (in >= 0)
		close(in);
	return err;
}
