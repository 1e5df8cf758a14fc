/* SPDX-License-Identifier: MIT */
/* session_dir: see session_dir.h. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/control/session_dir.h"
#include "trace/base/json.h"
#include "trace/base/log.h"

#define ROOT_BASE "/run/ovni-bpf"
#define FOLDER	  "ovni-bpf"
#define FILE_MAX  (1u << 20)
#define TRIES	  10

static const char *const files[] = {"control", "info", "log", "status", "new", "lock"};

const char *place_check_name(const char *name)
{
	size_t len = strlen(name);

	if (!len || len > PLACE_NAME_MAX)
		return "a name of 1 to 64 letters and digits is wanted";
	if (!isalnum((unsigned char)name[0]))
		return "a name begins with a letter or a digit";
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("._-@", name[i]))
			return "a name has letters, digits, '.', '_', '-' and '@'";
	return NULL;
}

/* ---- directories ---- */

/* Opens `name` if nobody but we, or root, can have a hand in what is there. */
static int open_trusted(int dirfd, const char *name, uid_t owner)
{
	int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || (st.st_uid != owner && st.st_uid != geteuid() && st.st_uid != 0) ||
	    st.st_mode & (S_IWGRP | S_IWOTH)) {
		close(fd);
		return -EPERM;
	}
	return fd;
}

static int make_trusted(int dirfd, const char *name, mode_t mode, uid_t owner)
{
	if (mkdirat(dirfd, name, mode) && errno != EEXIST)
		return -errno;
	return open_trusted(dirfd, name, owner);
}

/* Where the user's own sessions are. */
static int user_base(char *path, size_t size, bool make)
{
	const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
	int above, fd;

	if (runtime && runtime[0] == '/')
		snprintf(path, size, "%s", runtime);
	else
		snprintf(path, size, "/run/user/%u", geteuid());
	above = open_trusted(AT_FDCWD, path, geteuid());
	if (above < 0)
		return above;
	strncat(path, "/" FOLDER, size - strlen(path) - 1);
	fd = make ? make_trusted(above, FOLDER, 0700, geteuid())
		  : open_trusted(above, FOLDER, geteuid());
	close(above);
	return fd;
}

static int root_base(char *path, size_t size, bool make)
{
	snprintf(path, size, "%s", ROOT_BASE);
	return make ? make_trusted(AT_FDCWD, ROOT_BASE, 0755, 0)
		    : open_trusted(AT_FDCWD, ROOT_BASE, 0);
}

static int own_base(char *path, size_t size, bool make)
{
	return geteuid() == 0 ? root_base(path, size, make) : user_base(path, size, make);
}

static void init(struct place *place, const char *name)
{
	*place = (struct place){.base = -1, .fd = -1, .lock = -1};
	snprintf(place->name, sizeof(place->name), "%s", name);
}

static int set_path(struct place *place, const char *base)
{
	return asprintf(&place->path, "%s/%s", base, place->name) < 0 ? -ENOMEM : 0;
}

/* ---- a new one ---- */

/* Is the file of this descriptor still the one with the name? */
static bool is_there(int dirfd, const char *name, int fd)
{
	struct stat a, b;

	return !fstat(fd, &a) && !fstatat(dirfd, name, &b, AT_SYMLINK_NOFOLLOW) &&
	       a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

/* Gives what has just been made, and has no other name, to the owner. A file that the owner has put
 * there may be one of somebody else. */
static int give(const struct place *place, int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (st.st_uid == place->owner)
		return 0;
	if (st.st_uid != geteuid() || (!S_ISDIR(st.st_mode) && st.st_nlink != 1))
		return -EPERM;
	return fchown(fd, place->owner, place->group) ? -errno : 0;
}

/* Root removes what is left of another user's session, which that user cannot. */
static int make_anew(struct place *place)
{
	int fd, lock;
	bool runs;

	fd = make_trusted(place->base, place->name, 0700, place->owner);
	if (fd != -EPERM || geteuid() != 0)
		return fd;
	fd = openat(place->base, place->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	lock = openat(fd, "lock", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	runs = lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && !runs; i++)
		unlinkat(fd, files[i], 0);
	if (lock >= 0)
		close(lock);
	close(fd);
	if (runs)
		return -EBUSY;
	if (unlinkat(place->base, place->name, AT_REMOVEDIR))
		return -EPERM;
	return make_trusted(place->base, place->name, 0700, place->owner);
}

/* Takes the lock. Who stops a session may remove its place at the same moment. */
static int take(struct place *place)
{
	for (unsigned tries = 0; tries < TRIES; tries++) {
		place->fd = make_anew(place);
		if (place->fd < 0)
			return place->fd;
		place->lock =
			openat(place->fd, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (place->lock < 0 && errno != ENOENT)
			return -errno;
		if (place->lock >= 0 && flock(place->lock, LOCK_EX | LOCK_NB))
			return errno == EWOULDBLOCK ? -EBUSY : -errno;
		if (place->lock >= 0 && is_there(place->base, place->name, place->fd) &&
		    is_there(place->fd, "lock", place->lock))
			return 0;
		if (place->lock >= 0)
			close(place->lock);
		close(place->fd);
		place->fd = place->lock = -1;
	}
	return -EAGAIN;
}

int place_make(struct place *place, const char *name, uid_t owner, gid_t group)
{
	char base[4096];
	int err;

	init(place, name);
	place->owner = owner;
	place->group = group;
	place->base = own_base(base, sizeof(base), true);
	err = place->base < 0 ? place->base : set_path(place, base);
	if (err == -EPERM)
		log_error("%s is not to be trusted: it belongs to somebody else, or others may "
			  "write there",
			  base);
	else if (err)
		log_error("%s: cannot make the directory of sessions: %s", base, strerror(-err));
	if (err)
		return err;
	err = take(place);
	if (!err)
		err = give(place, place->lock);
	if (!err)
		err = give(place, place->fd);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && !err; i++)
		if (strcmp(files[i], "lock") != 0)
			unlinkat(place->fd, files[i], 0); /* of the one before */
	if (err == -EBUSY)
		log_error("the session %s runs already (ovni-bpf session status %s)", name, name);
	else if (err == -EPERM)
		log_error("%s is not to be trusted: it belongs to somebody else, or others may "
			  "write there",
			  place->path);
	else if (err)
		log_error("%s: cannot make the place of the session: %s", place->path,
			  strerror(-err));
	return err;
}

/* ---- one that is there ---- */

static int find_in(struct place *place, int (*base)(char *, size_t, bool))
{
	char path[4096];
	int fd = base(path, sizeof(path), false);

	if (fd < 0)
		return fd;
	place->base = fd;
	place->fd = open_trusted(fd, place->name, geteuid());
	/* of the user that called sudo: only root looks at it like this */
	if (place->fd == -EPERM && geteuid() == 0) {
		struct stat st;

		if (!fstatat(fd, place->name, &st, AT_SYMLINK_NOFOLLOW))
			place->fd = open_trusted(fd, place->name, st.st_uid);
	}
	if (place->fd >= 0)
		return set_path(place, path);
	close(fd);
	place->base = -1;
	return place->fd;
}

int place_find(struct place *place, const char *name)
{
	int err;

	init(place, name);
	err = find_in(place, own_base);
	if (err && geteuid() != 0)
		err = find_in(place, root_base);
	if (err == -EACCES || err == -EPERM)
		log_error("the session %s belongs to another user", name);
	else if (err && err != -ENOENT)
		log_error("cannot look for the session %s: %s", name, strerror(-err));
	return err;
}

enum place_state place_state(const struct place *place)
{
	int lock, status;
	bool free;

	if (place->fd < 0)
		return PLACE_NONE;
	if (place->lock >= 0)
		return PLACE_RUNNING;
	lock = openat(place->fd, "lock", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (lock < 0)
		return PLACE_NONE;
	free = !flock(lock, LOCK_SH | LOCK_NB);
	close(lock);
	if (!free)
		return PLACE_RUNNING;
	return place_status(place, &status) ? PLACE_ENDED : PLACE_DEAD;
}

/* ---- files ---- */

static int failed(const struct place *place, const char *file)
{
	int err = -errno;

	log_error("%s/%s: cannot write: %s", place->path, file, strerror(-err));
	return err;
}

int place_write(const struct place *place, const char *file, const char *text)
{
	size_t len = strlen(text);
	int fd, err = 0;

	unlinkat(place->fd, "new", 0);
	fd = openat(place->fd, "new", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return failed(place, file);
	if (write(fd, text, len) != (ssize_t)len || give(place, fd) ||
	    renameat(place->fd, "new", place->fd, file))
		err = failed(place, file);
	close(fd);
	return err;
}

int place_make_log(const struct place *place)
{
	int fd = openat(place->fd, "log",
			O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd >= 0 && !give(place, fd))
		return fd;
	if (fd >= 0)
		close(fd);
	return failed(place, "log");
}

char *place_read(const struct place *place, const char *file)
{
	int fd = openat(place->fd, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char *text = fd >= 0 ? malloc(FILE_MAX + 1) : NULL;
	size_t used = 0;
	ssize_t n = 1;

	while (text && n > 0 && used < FILE_MAX) {
		n = read(fd, text + used, FILE_MAX - used);
		used += n > 0 ? (size_t)n : 0;
	}
	if (fd >= 0)
		close(fd);
	if (text)
		text[used] = '\0';
	return text;
}

struct json *place_info(const struct place *place)
{
	char *text = place_read(place, "info");
	struct json *info = text ? json_parse(text, strlen(text), place->path) : NULL;

	free(text);
	return info;
}

bool place_status(const struct place *place, int *status)
{
	char *text = place_read(place, "status");
	bool told = text && isdigit((unsigned char)text[0]);

	if (told)
		*status = atoi(text) & 255;
	free(text);
	return told;
}

void place_remove(const struct place *place)
{
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		unlinkat(place->fd, files[i], 0);
	unlinkat(place->base, place->name, AT_REMOVEDIR);
}

void place_close(struct place *place)
{
	if (place->lock >= 0)
		close(place->lock);
	if (place->fd >= 0)
		close(place->fd);
	if (place->base >= 0)
		close(place->base);
	free(place->path);
	*place = (struct place){.base = -1, .fd = -1, .lock = -1};
}

/* ---- all of them ---- */

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int list_in(int (*base)(char *, size_t, bool), int (*each)(void *, const struct place *),
		   void *arg)
{
	char path[4096], **names = NULL, **grown;
	int fd = base(path, sizeof(path), false), err = 0;
	struct dirent *entry;
	struct place place;
	size_t n = 0;
	DIR *dir;

	if (fd < 0)
		return fd == -ENOENT || fd == -EACCES ? 0 : fd;
	dir = fdopendir(fd);
	while (dir && !err && (entry = readdir(dir))) {
		if (place_check_name(entry->d_name))
			continue;
		grown = realloc(names, (n + 1) * sizeof(*grown));
		if (grown) {
			names = grown;
			names[n] = strdup(entry->d_name);
		}
		if (!grown || !names[n++])
			err = -ENOMEM;
	}
	if (dir)
		closedir(dir);
	if (n)
		qsort(names, n, sizeof(*names), by_name);
	for (size_t i = 0; i < n; i++) {
		init(&place, names[i] ? names[i] : "");
		if (!err && !find_in(&place, base) && place_state(&place) != PLACE_NONE)
			err = each(arg, &place);
		place_close(&place);
		free(names[i]);
	}
	free(names);
	return err;
}

int place_list(int (*each)(void *arg, const struct place *place), void *arg)
{
	int err = list_in(own_base, each, arg);

	if (!err && geteuid() != 0)
		err = list_in(root_base, each, arg);
	if (err < 0)
		log_error("cannot list the sessions: %s", strerror(-err));
	return err;
}
