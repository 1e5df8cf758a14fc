/* SPDX-License-Identifier: MIT */
/* output_dir: see output_dir.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/sink/output_dir.h"
#include "user/sink/segment.h"
#include "trace/base/log.h"
#include "trace/base/text.h"
#include "trace/ovni/stats_file.h"

#define DEPTH_MAX 32 /* a trace has four levels */

static int open_directory(int dirfd, const char *name)
{
	int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static bool is_dots(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

/* The name of a segment: NNNN. */
static bool is_number(const char *name)
{
	size_t digits = strspn(name, "0123456789");

	return digits >= 4 && !name[digits];
}

/* True if the regular file begins with these bytes; a killed recorder may leave an empty one. */
static bool is_ours(int dirfd, const char *name, const char *begins, bool or_empty)
{
	int fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	size_t len = strlen(begins);
	char bytes[256];
	struct stat st;
	bool ours;

	if (fd < 0)
		return false;
	ours = !fstat(fd, &st) && S_ISREG(st.st_mode) && len <= sizeof(bytes) &&
	       ((or_empty && !st.st_size) ||
		(read(fd, bytes, len) == (ssize_t)len && !memcmp(bytes, begins, len)));
	close(fd);
	return ours;
}

/* The statistics file by its suffix: complete, and as a killed recorder leaves it. */
static const struct {
	const char *suffix, *begins;
	bool or_empty;
} counters[] = {
	{"", STATS_BEGINS, false},
	{STATS_PART, STATS_LINE_BEGINS, true},
	{STATS_NEW, STATS_BEGINS, true},
};
#define NCOUNTERS (sizeof(counters) / sizeof(counters[0]))

static bool is_counters(int dirfd, const char *name)
{
	size_t len = strlen(STATS_FILE);

	for (size_t i = 0; i < NCOUNTERS && !strncmp(name, STATS_FILE, len); i++)
		if (!strcmp(name + len, counters[i].suffix))
			return is_ours(dirfd, name, counters[i].begins, counters[i].or_empty);
	return !strcmp(name, STATS_FILE_OLD) && is_ours(dirfd, name, STATS_BEGINS_OLD, false);
}

struct content {
	bool streams; /* a directory loom.NAME, here or in a segment */
	bool foreign; /* an entry that no recorder makes */
};

/* Examines the directory; with `deep` also the segments below it. */
static struct content look(int fd, bool deep)
{
	struct content content = {0}, below_it;
	struct dirent *entry;
	DIR *dir;
	int below;

	fd = dup(fd);
	dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (!dir) {
		if (fd >= 0)
			close(fd);
		return (struct content){.foreign = true};
	}
	rewinddir(dir);
	while (!content.streams && (entry = readdir(dir))) {
		if (is_dots(entry->d_name) || is_counters(fd, entry->d_name))
			continue;
		content.streams = !strncmp(entry->d_name, "loom.", 5);
		if (content.streams)
			break;
		below_it = (struct content){.foreign = true};
		below = deep && (is_number(entry->d_name) || !strcmp(entry->d_name, SEGMENT_NEXT))
				? open_directory(fd, entry->d_name)
				: -1;
		if (below >= 0) {
			below_it = look(below, false);
			close(below);
		}
		content.streams = below_it.streams;
		content.foreign |= below_it.foreign;
	}
	closedir(dir);
	return content;
}

/* True if it is empty, or holds only entries that a recorder makes. */
static bool is_trace(int fd)
{
	struct content content = look(fd, true);

	return content.streams || !content.foreign;
}

/* Removes the content of the directory `fd`, and closes it. */
static int remove_content(int fd, int depth)
{
	struct dirent *entry;
	DIR *dir = fdopendir(fd);
	int err = 0, below;

	if (!dir) {
		err = -errno;
		close(fd);
		return err;
	}
	rewinddir(dir); /* the descriptor may have been read before */
	while (!err && (entry = readdir(dir))) {
		if (is_dots(entry->d_name))
			continue;
		if (!unlinkat(fd, entry->d_name, 0))
			continue;
		if (errno != EISDIR && errno != EPERM) {
			err = -errno;
			break;
		}
		below = depth < DEPTH_MAX ? open_directory(fd, entry->d_name) : -ELOOP;
		err = below < 0 ? below : remove_content(below, depth + 1);
		if (!err && unlinkat(fd, entry->d_name, AT_REMOVEDIR))
			err = -errno;
	}
	closedir(dir);
	return err;
}

int output_dir_remove(int dirfd, const char *name)
{
	int fd = open_directory(dirfd, name), err;

	if (fd < 0)
		return fd;
	err = remove_content(fd, 0);
	if (!err && unlinkat(dirfd, name, AT_REMOVEDIR))
		err = -errno;
	return err;
}

/* Removes a trace. -EEXIST after one message if it is none. */
static int remove_trace(const char *path)
{
	int fd = open_directory(AT_FDCWD, path), err;

	if (fd < 0) {
		err = fd;
		goto failed;
	}
	if (!is_trace(fd)) {
		close(fd);
		log_error("%s exists and is not a trace: move it away, or choose another name "
			  "with -o",
			  path);
		return -EEXIST;
	}
	err = remove_content(fd, 0);
	if (!err && rmdir(path))
		err = -errno;
	if (!err)
		return 0;
failed:
	log_error("cannot remove the earlier trace %s: %s", path, strerror(-err));
	return err;
}

/* Renames the earlier trace to NAME.old, which it replaces. */
static int keep_earlier(struct output_dir *output)
{
	struct stat st;
	int err;

	output->kept = xasprintf("%s.old", output->path);
	if (!output->kept)
		return log_no_memory("for the name of the earlier trace");
	if (!lstat(output->kept, &st)) {
		err = remove_trace(output->kept);
		if (err)
			goto failed;
	}
	if (rename(output->path, output->kept)) {
		err = -errno;
		log_error("cannot rename %s to %s: %s", output->path, output->kept, strerror(-err));
		goto failed;
	}
	return 0;
failed:
	free(output->kept);
	output->kept = NULL;
	return err;
}

/* Moves or removes an existing trace of that name. */
static int make_way(struct output_dir *output, bool link, bool chosen, bool force)
{
	int fd, err = 0;

	if (link) {
		log_error("%s is a symbolic link, which ovni-bpf does not follow: choose another "
			  "name with -o",
			  output->path);
		return -ELOOP;
	}
	if (chosen && !force) {
		log_error("%s exists: choose another name, or replace it with --force",
			  output->path);
		return -EEXIST;
	}
	if (chosen)
		return remove_trace(output->path);
	fd = open_directory(AT_FDCWD, output->path);
	if (fd < 0 || !is_trace(fd)) {
		log_error("%s exists and is not a trace: choose another name with -o",
			  output->path);
		err = -EEXIST;
	}
	if (fd >= 0)
		close(fd);
	return err ? err : keep_earlier(output);
}

int output_dir_create(struct output_dir *output, const char *path, bool chosen, bool force)
{
	struct stat st;
	int err;

	*output = (struct output_dir){.fd = -1};
	output->path = output->trimmed = path_with_suffix(path, "");
	if (!output->trimmed)
		return log_no_memory("for the name of the trace");
	if (!lstat(output->path, &st)) {
		err = make_way(output, S_ISLNK(st.st_mode), chosen, force);
		if (err)
			return err;
	}
	if (mkdir(output->path, 0777)) {
		err = -errno;
		goto failed;
	}
	output->fd = open_directory(AT_FDCWD, output->path);
	if (output->fd >= 0)
		return 0;
	err = output->fd;
	rmdir(output->path);
failed:
	log_error("cannot create the directory %s: %s", output->path, strerror(-err));
	if (output->kept && rename(output->kept, output->path))
		log_warn("the earlier trace is now called %s", output->kept);
	return err;
}

/* Moves or removes an existing file output->file + suffix. The statistics file itself is kept as
 * output->kept. */
static int replace_file(struct output_dir *output, size_t which, bool chosen, bool force)
{
	const char *suffix = counters[which].suffix, *old_name;
	char *name = xasprintf("%s%s", output->file, suffix);
	char *old = xasprintf("%s%s.old", output->path, suffix);
	int err = -ENOMEM;

	if (!name || !old)
		goto out;
	err = 0;
	if (faccessat(output->fd, name, F_OK, AT_SYMLINK_NOFOLLOW))
		goto out;
	err = -EEXIST;
	if (chosen && !force) {
		log_error("%s%s exists: choose another name, or replace it with --force",
			  output->path, suffix);
		goto out;
	}
	if (!is_ours(output->fd, name, counters[which].begins, counters[which].or_empty)) {
		log_error("%s%s was not written by ovni-bpf: move it away, or choose another name "
			  "with -o",
			  output->path, suffix);
		goto out;
	}
	if (chosen) {
		err = unlinkat(output->fd, name, 0) ? -errno : 0;
		goto out;
	}
	old_name = old + (output->file - output->path);
	if (!faccessat(output->fd, old_name, F_OK, AT_SYMLINK_NOFOLLOW) &&
	    !is_ours(output->fd, old_name, counters[which].begins, counters[which].or_empty)) {
		log_error("%s was not written by ovni-bpf: move it away", old);
		goto out;
	}
	err = renameat(output->fd, name, output->fd, old_name) ? -errno : 0;
	if (!err && !*suffix) {
		output->kept = old;
		old = NULL;
	}
out:
	free(name);
	free(old);
	return err;
}

int output_dir_create_file(struct output_dir *output, const char *path, bool chosen, bool force)
{
	char *slash;
	int err;

	*output = (struct output_dir){.fd = -1};
	output->path = output->trimmed = path_with_suffix(path, "." STATS_FILE);
	if (!output->trimmed)
		return log_no_memory("for the name of the file");
	slash = strrchr(output->trimmed, '/');
	output->file = slash ? slash + 1 : output->trimmed;
	if (slash && slash != output->trimmed)
		*slash = '\0';
	output->fd = open_directory(AT_FDCWD, !slash			 ? "."
					      : slash == output->trimmed ? "/"
									 : output->trimmed);
	if (slash && slash != output->trimmed)
		*slash = '/';
	err = output->fd;
	if (output->fd >= 0 && faccessat(output->fd, ".", W_OK, AT_EACCESS)) {
		err = -errno;
	} else if (output->fd >= 0) {
		err = 0;
		for (size_t i = NCOUNTERS; i-- > 0 && !err;) /* the file itself is the last */
			err = replace_file(output, i, chosen, force);
		if (err == -EEXIST)
			return err;
	}
	if (!err)
		return 0;
	log_error("cannot write %s: %s", output->path, strerror(-err));
	return err;
}

void output_dir_abandon(struct output_dir *output)
{
	if (output->file) {
		const char *kept =
			output->kept ? output->kept + (output->file - output->path) : NULL;

		if (kept && renameat(output->fd, kept, output->fd, output->file))
			log_warn("the earlier file is now called %s", output->kept);
		return;
	}
	if (output->fd < 0)
		return;
	if (!rmdir(output->path) && output->kept && rename(output->kept, output->path))
		log_warn("the earlier trace is now called %s", output->kept);
}

void output_dir_close(struct output_dir *output)
{
	if (!output->trimmed)
		return;
	if (output->fd >= 0)
		close(output->fd);
	free(output->trimmed);
	free(output->kept);
	memset(output, 0, sizeof(*output));
	output->fd = -1;
}
