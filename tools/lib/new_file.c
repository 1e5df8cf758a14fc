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

#define TRIES 100 /* names that killed processes of our number have left */

static int refuse(const char *path, int err)
{
	log_error("cannot write '%s': %s", path, strerror(-err));
	return err;
}

/* Opens the directory that is to hold the result. */
static int open_parent(struct new_file *f)
{
	char *slash = strrchr(f->path, '/'), *parent;

	f->name = slash ? slash + 1 : f->path;
	if (!*f->name)
		return -EISDIR;
	if (f->borrowed)
		return 0;
	parent = !slash ? strdup(".") : xasprintf("%.*s/", (int)(slash - f->path), f->path);
	if (!parent)
		return -ENOMEM;
	f->parent = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	free(parent);
	return f->parent < 0 ? -errno : 0;
}

/* A device or a pipe is not replaced by a file, and nothing by a directory. */
static int check_old(const struct new_file *f)
{
	struct stat st;

	if (fstatat(f->parent, f->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (!f->directory && S_ISREG(st.st_mode))
		return 0;
	return S_ISDIR(st.st_mode) && !f->directory ? -EISDIR : -EEXIST;
}

static int create(struct new_file *f)
{
	int flags = f->directory ? O_RDONLY | O_DIRECTORY : O_WRONLY | O_CREAT | O_EXCL, err;

	if (f->directory && mkdirat(f->parent, f->temporary, 0755) < 0)
		return -errno;
	f->fd = openat(f->parent, f->temporary, flags | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (f->fd >= 0)
		return 0;
	err = -errno;
	if (f->directory)
		unlinkat(f->parent, f->temporary, AT_REMOVEDIR);
	return err;
}

static int open_new(struct new_file *f, const char *path)
{
	int err;

	f->fd = -1;
	f->path = strdup(path);
	if (!f->path)
		return log_no_memory("for the name of the output");
	err = open_parent(f);
	if (!err)
		err = check_old(f);
	if (err)
		return refuse(path, err);
	err = -EEXIST;
	for (int i = 0; err == -EEXIST && i < TRIES; i++) {
		free(f->temporary);
		f->temporary = i ? xasprintf("%s.%ld-%d.part", f->name, (long)getpid(), i)
				 : xasprintf("%s.%ld.part", f->name, (long)getpid());
		if (!f->temporary)
			return log_no_memory("for the name of the output");
		err = create(f);
	}
	if (!err)
		return 0;
	free(f->temporary);
	f->temporary = NULL;
	return refuse(path, err);
}

int new_file_open(struct new_file *f, const char *path)
{
	*f = (struct new_file){.parent = -1};
	return open_new(f, path);
}

int new_file_open_directory(struct new_file *f, const char *path)
{
	*f = (struct new_file){.parent = -1, .directory = true};
	return open_new(f, path);
}

int new_file_open_beside(struct new_file *f, const struct new_file *first, const char *path)
{
	*f = (struct new_file){.parent = first->parent, .borrowed = true};
	return open_new(f, path);
}

int new_file_write(struct new_file *f, const void *data, size_t size)
{
	int err = write_all(f->fd, data, size);

	return err ? refuse(f->path, err) : 0;
}

int new_file_seal(struct new_file *f)
{
	int err = f->fd >= 0 && close(f->fd) < 0 ? -errno : 0;

	f->fd = -1;
	return err ? refuse(f->path, err) : 0;
}

int new_file_finish(struct new_file *f)
{
	int err = new_file_seal(f);

	if (err)
		return err;
	if (renameat(f->parent, f->temporary, f->parent, f->name) < 0)
		return refuse(f->path, -errno);
	free(f->temporary);
	f->temporary = NULL;
	return 0;
}

void new_file_abandon(struct new_file *f)
{
	if (!f->path)
		return;
	if (f->fd >= 0)
		close(f->fd);
	if (f->temporary)
		unlinkat(f->parent, f->temporary, f->directory ? AT_REMOVEDIR : 0);
	if (f->parent >= 0 && !f->borrowed)
		close(f->parent);
	free(f->temporary);
	free(f->path);
	*f = (struct new_file){0};
}
