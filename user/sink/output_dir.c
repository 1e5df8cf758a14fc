/* SPDX-License-Identifier: MIT */
/* output_dir: see output_dir.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/sink/output_dir.h"
#include "user/sink/segment.h"
#include "trace/base/log.h"
#include "trace/base/text.h"
#include "trace/ovni/stack_file.h"
#include "trace/ovni/stats_file.h"
#include "trace/ovni/trace.h"
#include "trace/ovni/write_lock.h"

#define DEPTH_MAX  32 /* a trace has four levels */
#define TRIES	   2
#define ASIDE_MAX  1000 /* removals of one process that a killed one of its number left */
#define ASIDE_SIZE 64
#define ADVICE	   "wait for its end, or choose another name with -o"

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

/* The files beside the streams. The statistics by their suffix: complete, and as a killed recorder
 * leaves them. */
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
	if (!strcmp(name, STACK_FILE))
		return is_ours(dirfd, name, STACK_FILE_HEAD, true);
	return !strcmp(name, STATS_FILE_OLD) && is_ours(dirfd, name, STATS_BEGINS_OLD, false);
}

struct content {
	bool streams; /* a directory loom.NAME, here or in a segment */
	bool foreign; /* an entry that no recorder makes */
};

/* Examines the directory; with `deep` also the segments below it. */
static struct content examine(int fd, bool deep)
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
		if (is_dots(entry->d_name) || trace_is_removed(entry->d_name) ||
		    is_counters(fd, entry->d_name))
			continue;
		content.streams = !strncmp(entry->d_name, "loom.", 5);
		if (content.streams)
			break;
		below_it = (struct content){.foreign = true};
		below = deep && (is_number(entry->d_name) || !strcmp(entry->d_name, SEGMENT_NEXT))
				? open_directory(fd, entry->d_name)
				: -1;
		if (below >= 0) {
			below_it = examine(below, false);
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
	struct content content = examine(fd, true);

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
	while ((entry = readdir(dir))) {
		if (is_dots(entry->d_name))
			continue;
		if (!unlinkat(fd, entry->d_name, 0) || errno == ENOENT)
			continue;
		if (errno != EISDIR && errno != EPERM) {
			err = -errno;
			break;
		}
		below = depth < DEPTH_MAX ? open_directory(fd, entry->d_name) : -ELOOP;
		err = below < 0 ? below : remove_content(below, depth + 1);
		if (!err && unlinkat(fd, entry->d_name, AT_REMOVEDIR))
			err = -errno;
		if (err)
			break;
	}
	closedir(dir);
	return err;
}

/* Renames without replacing anything. Some file systems do not know
 * RENAME_NOREPLACE; rename() then replaces nothing but an empty directory. */
static int rename_new(int dirfd, const char *from, const char *to)
{
	if (!renameat2(dirfd, from, dirfd, to, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	return renameat(dirfd, from, dirfd, to) ? -errno : 0;
}

static bool same_file(int a_fd, int b_fd)
{
	struct stat a, b;

	return !fstat(a_fd, &a) && !fstat(b_fd, &b) && a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

/* Renames the trace `name`, which is open as `fd`, before it is removed: a recorder that is killed
 * meanwhile leaves no half trace under the name of a trace. -ESTALE if another directory has the
 * name by now. */
static int move_aside(int dirfd, const char *name, int fd, char aside[ASIDE_SIZE])
{
	int err = -EEXIST, moved;

	for (unsigned n = 0; n < ASIDE_MAX && (err == -EEXIST || err == -ENOTEMPTY); n++) {
		snprintf(aside, ASIDE_SIZE, TRACE_REMOVED "%d.%u", (int)getpid(), n);
		err = rename_new(dirfd, name, aside);
	}
	if (err)
		return err;
	moved = open_directory(dirfd, aside);
	if (moved < 0 || !same_file(moved, fd)) {
		err = rename_new(dirfd, aside, name);
		err = err ? err : -ESTALE;
	}
	if (moved >= 0)
		close(moved);
	return err;
}

/* Removes the directory `name`, which is open as `fd`; closes that. */
static int remove_open(int dirfd, const char *name, int fd)
{
	int err = remove_content(fd, 0);

	return !err && unlinkat(dirfd, name, AT_REMOVEDIR) && errno != ENOENT ? -errno : err;
}

int output_dir_remove(int dirfd, const char *name)
{
	char aside[ASIDE_SIZE];
	int fd = open_directory(dirfd, name), err;

	if (fd < 0)
		return fd;
	err = move_aside(dirfd, name, fd, aside);
	if (!err)
		return remove_open(dirfd, aside, fd);
	close(fd);
	return err;
}

/* Removes one directory that a killed recorder of ours was removing. */
static void finish_removal(int dirfd, const char *name, const char *path)
{
	int fd = open_directory(dirfd, name), err;
	struct stat st;

	if (fd < 0)
		return;
	/* locked: another recorder is removing this directory now */
	if (fstat(fd, &st) || st.st_uid != geteuid() ||
	    (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)) {
		close(fd);
		return;
	}
	err = remove_open(dirfd, name, fd);
	if (err)
		log_warn("cannot remove '%s', the rest of an earlier trace in the directory of "
			 "%s: %s",
			 name, path, strerror(-err));
}

/* Finishes the removals of killed recorders in the directory `dirfd`: `path`, or the directory that
 * holds it. */
static void finish_removals(int dirfd, const char *path)
{
	int fd = open_directory(dirfd, ".");
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!dir) { /* it may be written, but not be read */
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((entry = readdir(dir)))
		if (trace_is_removed(entry->d_name))
			finish_removal(fd, entry->d_name, path);
	closedir(dir);
}

/* The part of `path` (output->path, with or without a suffix) below output->parent. */
static const char *name_of(const struct output_dir *output, const char *path)
{
	return path + (output->name - output->path);
}

/* Removes the trace `path` (see name_of()), which is open as `fd` and locked. -EEXIST after one
 * message if it is none. */
static int remove_trace(const struct output_dir *output, const char *path, int fd)
{
	char aside[ASIDE_SIZE];
	int err;

	if (!is_trace(fd)) {
		log_error("%s exists and is not a trace: move it away, or choose another name "
			  "with -o",
			  path);
		return -EEXIST;
	}
	err = move_aside(output->parent, name_of(output, path), fd, aside);
	if (err) {
		log_error("cannot remove the earlier trace '%s': %s", path, strerror(-err));
		return err;
	}
	fd = dup(fd);
	err = fd < 0 ? -errno : remove_open(output->parent, aside, fd);
	if (err)
		log_error("cannot remove the earlier trace '%s', now called %s: %s", path, aside,
			  strerror(-err));
	return err;
}

/* Locks an existing trace, to remove or rename it. Without locks here (see output_dir_create())
 * there is nothing to find out. */
static int lock_earlier(int fd, const char *path)
{
	int err = write_lock_acquire(fd, path, WRITE_LOCK_WRITER, ADVICE);

	return err == -EBUSY ? err : 0;
}

/* Removes the trace of two recordings ago. */
static int remove_kept(const struct output_dir *output)
{
	int fd = open_directory(output->parent, name_of(output, output->kept)), err;

	if (fd == -ENOENT)
		return 0;
	if (fd < 0) {
		log_error("cannot remove the earlier trace '%s': %s", output->kept, strerror(-fd));
		return fd;
	}
	err = lock_earlier(fd, output->kept);
	if (!err)
		err = remove_trace(output, output->kept, fd);
	close(fd);
	return err;
}

/* Renames the earlier trace to NAME.old, which it replaces. */
static int keep_earlier(struct output_dir *output)
{
	int err;

	output->kept = xasprintf("%s.old", output->path);
	if (!output->kept)
		return log_no_memory("for the name of the earlier trace");
	err = remove_kept(output);
	if (err)
		goto failed;
	if (renameat(output->parent, output->name, output->parent, name_of(output, output->kept))) {
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

/* Moves or removes an existing trace of that name, unless a process writes it. */
static int make_way(struct output_dir *output, bool link, bool chosen, bool force)
{
	int fd, err;

	if (link) {
		log_error("%s is a symbolic link, which ovni-bpf does not follow: choose another "
			  "name with -o",
			  output->path);
		return -ELOOP;
	}
	fd = open_directory(output->parent, output->name);
	err = fd < 0 ? 0 : lock_earlier(fd, output->path);
	if (err)
		goto out;
	err = -EEXIST;
	if (chosen && !force)
		log_error("%s exists: choose another name, or replace it with --force",
			  output->path);
	else if (fd < 0 && fd != -ENOTDIR)
		log_error("cannot open the earlier trace '%s': %s", output->path, strerror(-fd));
	else if (fd < 0 || !is_trace(fd))
		log_error("%s exists and is not a trace: move it away, or choose another name "
			  "with -o",
			  output->path);
	else if (chosen)
		err = remove_trace(output, output->path, fd);
	else {
		finish_removals(fd, output->path); /* of --keep */
		err = keep_earlier(output);
	}
out:
	if (fd >= 0)
		close(fd);
	return err;
}

/* Creates the directory. It is locked before it gets its name, so that no other recorder ever finds
 * it without its lock. */
static int create_locked(struct output_dir *output)
{
	char nameless[32];
	int err;

	snprintf(nameless, sizeof(nameless), ".ovni-bpf.%d", (int)getpid());
	unlinkat(output->parent, nameless, AT_REMOVEDIR); /* left by one that was killed here */
	if (mkdirat(output->parent, nameless, 0755))
		return -errno;
	output->fd = open_directory(output->parent, nameless);
	err = output->fd < 0 ? output->fd : 0;
	if (err)
		goto failed;
	err = write_lock_acquire(output->fd, output->path, WRITE_LOCK_WRITER, ADVICE);
	if (err)
		write_lock_missing(output->path, err);
	err = rename_new(output->parent, nameless, output->name);
	if (!err)
		return 0;
	close(output->fd);
	output->fd = -1;
failed:
	unlinkat(output->parent, nameless, AT_REMOVEDIR);
	return err;
}

/* Opens the directory that is to hold the output, once: what its name means may change. */
static int open_parent(struct output_dir *output)
{
	char *slash = strrchr(output->trimmed, '/');
	const char *parent = slash ? output->trimmed : ".";

	output->name = slash ? slash + 1 : output->trimmed;
	if (slash == output->trimmed)
		parent = "/";
	else if (slash)
		*slash = '\0';
	output->parent = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (slash && slash != output->trimmed)
		*slash = '/';
	return output->parent < 0 ? -errno : 0;
}

int output_dir_create(struct output_dir *output, const char *path, bool chosen, bool force)
{
	struct stat st;
	int err;

	*output = (struct output_dir){.fd = -1, .parent = -1, .part = -1};
	output->path = output->trimmed = path_with_suffix(path, "");
	if (!output->trimmed)
		return log_no_memory("for the name of the trace");
	err = open_parent(output);
	if (err)
		goto failed;
	finish_removals(output->parent, output->path);
	for (unsigned tries = 0; tries < TRIES; tries++) { /* another recorder may be faster */
		if (!fstatat(output->parent, output->name, &st, AT_SYMLINK_NOFOLLOW)) {
			err = make_way(output, S_ISLNK(st.st_mode), chosen, force);
			if (err)
				return err;
		}
		err = create_locked(output);
		if (!err)
			return 0;
		if (err != -EEXIST)
			break;
	}
failed:
	log_error("cannot create the directory '%s': %s", output->path, strerror(-err));
	if (output->kept &&
	    renameat(output->parent, name_of(output, output->kept), output->parent, output->name))
		log_warn("the earlier trace is now called %s", output->kept);
	return err;
}

int output_dir_join(struct output_dir *output, const char *path)
{
	int err;

	*output = (struct output_dir){.fd = -1, .parent = -1, .part = -1};
	output->path = output->trimmed = path_with_suffix(path, "");
	if (!output->trimmed)
		return log_no_memory("for the name of the trace");
	err = open_parent(output);
	if (!err && mkdirat(output->parent, output->name, 0755) && errno != EEXIST)
		err = -errno;
	if (!err) {
		output->fd = open_directory(output->parent, output->name);
		err = output->fd < 0 ? output->fd : 0;
	}
	if (err)
		log_error("cannot create the directory '%s': %s", output->path, strerror(-err));
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

/* Opens output->file + STATS_PART; -ENOENT, or another -errno. */
static int open_part(const struct output_dir *output, int flags)
{
	char *name = xasprintf("%s" STATS_PART, output->file);
	int fd = -ENOMEM;

	if (!name)
		return fd;
	fd = openat(output->fd, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644);
	free(name);
	return fd < 0 ? -errno : fd;
}

/* A recorder in summary mode has the file of its snapshots open and locked from its beginning on.
 * -EBUSY after one message. */
static int refuse_busy(const struct output_dir *output)
{
	int fd = open_part(output, O_RDONLY), err;

	if (fd < 0)
		return 0;
	err = lock_earlier(fd, output->path);
	close(fd);
	return err;
}

/* True if `fd` is the file that the name leads to: another recorder may have renamed it before it
 * was locked. */
static bool is_part(const struct output_dir *output, int fd)
{
	int named_fd = open_part(output, O_RDONLY);
	bool same = named_fd >= 0 && same_file(fd, named_fd);

	if (named_fd >= 0)
		close(named_fd);
	return same;
}

static int create_part(struct output_dir *output)
{
	int fd = open_part(output, O_RDWR | O_CREAT | O_EXCL), err;

	if (fd == -EEXIST)
		goto outrun;
	if (fd < 0)
		return fd;
	err = write_lock_acquire(fd, output->path, WRITE_LOCK_WRITER, ADVICE);
	if (err == -EBUSY)
		goto out;
	if (!is_part(output, fd))
		goto outrun;
	if (err)
		write_lock_missing(output->path, err);
	output->part = fd;
	return 0;
outrun:
	err = refuse_busy(output);
	if (!err) {
		err = -EEXIST;
		log_error("%s" STATS_PART " was created by another process: " ADVICE, output->path);
	}
out:
	if (fd >= 0)
		close(fd);
	return err;
}

/* Removes or renames older files of both names, and creates the file of the snapshots. */
static int prepare_files(struct output_dir *output, bool chosen, bool force)
{
	int err = faccessat(output->fd, ".", W_OK, AT_EACCESS) ? -errno : refuse_busy(output);

	if (err)
		return err;
	for (size_t i = NCOUNTERS; i-- > 0;) { /* the file itself is the last */
		err = replace_file(output, i, chosen, force);
		if (err)
			return err;
	}
	return create_part(output);
}

int output_dir_create_file(struct output_dir *output, const char *path, bool chosen, bool force)
{
	int err;

	*output = (struct output_dir){.fd = -1, .parent = -1, .part = -1};
	output->path = output->trimmed = path_with_suffix(path, "." STATS_FILE);
	if (!output->trimmed)
		return log_no_memory("for the name of the file");
	err = open_parent(output);
	output->file = output->name;
	if (err)
		goto failed;
	output->fd = open_directory(output->parent, ".");
	err = output->fd < 0 ? output->fd : prepare_files(output, chosen, force);
	if (!err || err == -EBUSY || err == -EEXIST)
		return err;
failed:
	log_error("cannot write '%s': %s", output->path, strerror(-err));
	return err;
}

/* Removes the file of the snapshots; it is ours, since it is locked. */
static void remove_part(struct output_dir *output)
{
	char *name = xasprintf("%s" STATS_PART, output->file);

	if (output->part >= 0 && name)
		unlinkat(output->fd, name, 0);
	free(name);
}

void output_dir_abandon(struct output_dir *output)
{
	if (output->file) {
		remove_part(output);
		if (output->kept &&
		    renameat(output->fd, name_of(output, output->kept), output->fd, output->file))
			log_warn("the earlier file is now called %s", output->kept);
		return;
	}
	if (output->fd < 0)
		return;
	if (!unlinkat(output->parent, output->name, AT_REMOVEDIR) && output->kept &&
	    renameat(output->parent, name_of(output, output->kept), output->parent, output->name))
		log_warn("the earlier trace is now called %s", output->kept);
}

void output_dir_release(const struct output_dir *output)
{
	if (!output->file)
		write_lock_release(output->fd);
}

void output_dir_close(struct output_dir *output)
{
	if (!output->trimmed)
		return;
	if (output->part >= 0)
		close(output->part);
	if (output->fd >= 0)
		close(output->fd);
	if (output->parent >= 0)
		close(output->parent);
	free(output->trimmed);
	free(output->kept);
	*output = (struct output_dir){.fd = -1, .parent = -1, .part = -1};
}
