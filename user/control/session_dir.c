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
#include "user/host/read_file.h"
#include "trace/base/log.h"

#define ROOT_BASE "/run/ovni-bpf"
#define FOLDER	  "ovni-bpf"
#define FILE_MAX  (1u << 20)
#define TRIES	  10

static const char *const files[] = {"control", "info", "log", "status", "new", "lock"};

const char *session_dir_check_name(const char *name)
{
	size_t len = strlen(name);

	if (!len || len > SESSION_NAME_MAX)
		return "a name has 1 to 64 letters and digits";
	if (!isalnum((unsigned char)name[0]))
		return "a name begins with a letter or a digit";
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("._-@", name[i]))
			return "a name has letters, digits, '.', '_', '-' and '@'";
	return NULL;
}

/* ---- directories ---- */

/* Opens a directory that only `owner`, we or root may write to; else -EPERM. */
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

/* Opens the directory of the sessions of this user. */
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

static void init(struct session_dir *dir, const char *name)
{
	*dir = (struct session_dir){.base = -1, .fd = -1, .lock = -1};
	snprintf(dir->name, sizeof(dir->name), "%.*s", SESSION_NAME_MAX, name);
}

static int set_path(struct session_dir *dir, const char *base)
{
	return asprintf(&dir->path, "%s/%s", base, dir->name) < 0 ? -ENOMEM : 0;
}

/* ---- a new session ---- */

/* True if the open file `fd` still has the name `name`. */
static bool is_there(int dirfd, const char *name, int fd)
{
	struct stat a, b;

	return !fstat(fd, &a) && !fstatat(dirfd, name, &b, AT_SYMLINK_NOFOLLOW) &&
	       a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

/* Gives a file that we have just created to the owner. Refuses a file with a second name: the owner
 * may have put a file of another user there. */
static int chown_to_owner(const struct session_dir *dir, int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (st.st_uid == dir->owner)
		return 0;
	if (st.st_uid != geteuid() || (!S_ISDIR(st.st_mode) && st.st_nlink != 1))
		return -EPERM;
	return fchown(fd, dir->owner, dir->group) ? -errno : 0;
}

/* Is it the directory of a session, also of one that is dead, of another user than the owner? An
 * empty one is what a stop could not remove. */
static bool is_of_another(const struct session_dir *dir, int fd)
{
	struct stat st;

	return dir->owner != 0 && !fstat(fd, &st) && st.st_uid != dir->owner &&
	       !faccessat(fd, "lock", F_OK, AT_SYMLINK_NOFOLLOW);
}

/* Creates or opens the directory. Root also replaces the directory of a dead session of another
 * user, which that user cannot. */
static int make_anew(struct session_dir *dir)
{
	int fd, lock;
	bool runs;

	fd = make_trusted(dir->base, dir->name, 0700, dir->owner);
	if (fd >= 0 && is_of_another(dir, fd))
		goto others;
	if (fd != -EPERM || geteuid() != 0)
		return fd;
	fd = openat(dir->base, dir->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (is_of_another(dir, fd))
		goto others;
	lock = openat(fd, "lock", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	runs = lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && !runs; i++)
		unlinkat(fd, files[i], 0);
	if (lock >= 0)
		close(lock);
	close(fd);
	if (runs)
		return -EBUSY;
	if (unlinkat(dir->base, dir->name, AT_REMOVEDIR))
		return -EPERM;
	return make_trusted(dir->base, dir->name, 0700, dir->owner);
others:
	close(fd);
	return -EPERM;
}

/* Takes the lock. Tries again if `session stop` removes the directory at the same moment. */
static int acquire_lock(struct session_dir *dir)
{
	for (unsigned tries = 0; tries < TRIES; tries++) {
		dir->fd = make_anew(dir);
		if (dir->fd < 0)
			return dir->fd;
		dir->lock =
			openat(dir->fd, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (dir->lock < 0 && errno != ENOENT)
			return -errno;
		if (dir->lock >= 0 && flock(dir->lock, LOCK_EX | LOCK_NB))
			return errno == EWOULDBLOCK ? -EBUSY : -errno;
		if (dir->lock >= 0 && is_there(dir->base, dir->name, dir->fd) &&
		    is_there(dir->fd, "lock", dir->lock))
			return 0;
		if (dir->lock >= 0)
			close(dir->lock);
		close(dir->fd);
		dir->fd = dir->lock = -1;
	}
	return -EAGAIN;
}

/* Says why the directory `path` cannot be used, and returns `err`. */
static int report_failure(const char *path, int err)
{
	if (err == -EPERM)
		log_error("cannot use '%s': other users own it or may write to it (remove it)",
			  path);
	else if (err == -ENOENT && geteuid() != 0)
		log_error("no directory for sessions: '%s' does not exist%s (log in, which creates "
			  "it, or run: loginctl enable-linger %u; or start the session with sudo)",
			  path,
			  getenv("XDG_RUNTIME_DIR") && !secure_getenv("XDG_RUNTIME_DIR")
				  ? "; a program with capabilities does not trust XDG_RUNTIME_DIR"
				  : "",
			  geteuid());
	else
		log_error("cannot create the session directory '%s': %s", path, strerror(-err));
	return err;
}

int session_dir_make(struct session_dir *dir, const char *name, uid_t owner, gid_t group)
{
	char base[4096];
	int err;

	init(dir, name);
	dir->owner = owner;
	dir->group = group;
	dir->base = own_base(base, sizeof(base), true);
	err = dir->base < 0 ? dir->base : set_path(dir, base);
	if (err)
		return report_failure(base, err);
	err = acquire_lock(dir);
	if (err)
		goto failed;
	err = chown_to_owner(dir, dir->lock);
	if (err)
		goto failed;
	err = chown_to_owner(dir, dir->fd);
	if (err)
		goto failed;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (strcmp(files[i], "lock") != 0)
			unlinkat(dir->fd, files[i], 0); /* of an earlier session */
	return 0;
failed:
	if (err == -EBUSY) {
		log_error("session %s is already running (see ovni-bpf session status %s)", name,
			  name);
		return err;
	}
	return report_failure(dir->path, err);
}

/* ---- an existing session ---- */

static int find_in(struct session_dir *dir, int (*base)(char *, size_t, bool))
{
	char path[4096];
	int fd = base(path, sizeof(path), false);

	if (fd < 0)
		return fd;
	dir->base = fd;
	dir->fd = open_trusted(fd, dir->name, geteuid());
	/* the session of the user behind sudo: only for root */
	if (dir->fd == -EPERM && geteuid() == 0) {
		struct stat st;

		if (!fstatat(fd, dir->name, &st, AT_SYMLINK_NOFOLLOW))
			dir->fd = open_trusted(fd, dir->name, st.st_uid);
	}
	if (dir->fd >= 0)
		return set_path(dir, path);
	close(fd);
	dir->base = -1;
	return dir->fd;
}

int session_dir_find(struct session_dir *dir, const char *name)
{
	int err;

	init(dir, name);
	err = find_in(dir, own_base);
	if (err && geteuid() != 0)
		err = find_in(dir, root_base);
	if (err == -EACCES || err == -EPERM)
		log_error("session %s belongs to another user%s", name,
			  getuid() == 0 && geteuid() != 0
				  ? " (through sudo you reach your own; all from a shell of root)"
				  : "");
	else if (err && err != -ENOENT)
		log_error("cannot find session %s: %s", name, strerror(-err));
	return err;
}

enum session_state session_dir_state(const struct session_dir *dir)
{
	int lock, status;
	bool free;

	if (dir->fd < 0)
		return SESSION_NONE;
	if (dir->lock >= 0)
		return SESSION_RUNNING;
	lock = openat(dir->fd, "lock", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (lock < 0)
		return SESSION_NONE;
	free = !flock(lock, LOCK_SH | LOCK_NB);
	close(lock);
	if (!free)
		return SESSION_RUNNING;
	return session_dir_status(dir, &status) ? SESSION_ENDED : SESSION_DEAD;
}

const char *session_state_name(enum session_state state, int status, char *text, size_t size)
{
	if (state == SESSION_RUNNING)
		return "running";
	if (state != SESSION_ENDED)
		return "dead";
	snprintf(text, size, "ended (%d)", status);
	return text;
}

/* ---- files ---- */

static int failed(const struct session_dir *dir, const char *file)
{
	int err = -errno;

	log_error("cannot write '%s/%s': %s", dir->path, file, strerror(-err));
	return err;
}

int session_dir_write(const struct session_dir *dir, const char *file, const char *text)
{
	size_t len = strlen(text);
	int fd, err = 0;

	unlinkat(dir->fd, "new", 0);
	fd = openat(dir->fd, "new", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return failed(dir, file);
	if (write(fd, text, len) != (ssize_t)len || chown_to_owner(dir, fd) ||
	    renameat(dir->fd, "new", dir->fd, file))
		err = failed(dir, file);
	close(fd);
	return err;
}

int session_dir_make_log(const struct session_dir *dir)
{
	int fd = openat(dir->fd, "log",
			O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd >= 0 && !chown_to_owner(dir, fd))
		return fd;
	if (fd >= 0)
		close(fd);
	return failed(dir, "log");
}

char *session_dir_read(const struct session_dir *dir, const char *file)
{
	size_t size;

	return read_file(dir->fd, file, O_NOFOLLOW | O_NONBLOCK, FILE_MAX, &size);
}

struct json *session_dir_info(const struct session_dir *dir)
{
	char *text = session_dir_read(dir, "info");
	struct json *info = text ? json_parse(text, strlen(text), dir->path) : NULL;

	free(text);
	return info;
}

bool session_dir_status(const struct session_dir *dir, int *status)
{
	char *text = session_dir_read(dir, "status");
	bool known = text && isdigit((unsigned char)text[0]);

	if (known)
		*status = atoi(text) & 255;
	free(text);
	return known;
}

void session_dir_remove(const struct session_dir *dir)
{
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		unlinkat(dir->fd, files[i], 0);
	unlinkat(dir->base, dir->name, AT_REMOVEDIR);
}

void session_dir_close(struct session_dir *dir)
{
	if (dir->lock >= 0)
		close(dir->lock);
	if (dir->fd >= 0)
		close(dir->fd);
	if (dir->base >= 0)
		close(dir->base);
	free(dir->path);
	*dir = (struct session_dir){.base = -1, .fd = -1, .lock = -1};
}

/* ---- all sessions ---- */

static int is_session(const struct dirent *entry)
{
	return !session_dir_check_name(entry->d_name);
}

static int list_in(int (*base)(char *, size_t, bool),
		   int (*each)(void *, const struct session_dir *), void *arg)
{
	struct session_dir session;
	struct dirent **entries;
	char path[4096];
	int fd = base(path, sizeof(path), false), n, err = 0;

	if (fd < 0)
		return fd == -ENOENT || fd == -EACCES ? 0 : fd;
	n = scandirat(fd, ".", &entries, is_session, alphasort);
	if (n < 0)
		err = -errno;
	close(fd);
	for (int i = 0; i < n; i++) {
		init(&session, entries[i]->d_name);
		free(entries[i]);
		if (err)
			continue;
		if (!find_in(&session, base) && session_dir_state(&session) != SESSION_NONE)
			err = each(arg, &session);
		session_dir_close(&session);
	}
	if (n >= 0)
		free(entries);
	return err;
}

int session_dir_list(int (*each)(void *arg, const struct session_dir *dir), void *arg)
{
	int err = list_in(own_base, each, arg);

	if (!err && geteuid() != 0)
		err = list_in(root_base, each, arg);
	if (err < 0)
		log_error("cannot list the sessions: %s", strerror(-err));
	return err;
}
