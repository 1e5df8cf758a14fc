/* SPDX-License-Identifier: MIT */
#include "trace/ovni/write_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#include "trace/base/log.h"

#define TRIES	 3 /* the holder may end while it is looked for */
#define KEY_SIZE 64

struct holder {
	int pid;
	char name[64]; /* its command; "" if that cannot be read */
};

/*
 * The name "maj:min:inode" under which the kernel lists the locks of this file. stat() may return
 * another device (btrfs, overlayfs). So a harmless lock of another kind is set, which shows the
 * name among the locks of our descriptor.
 */
static bool find_key(int fd, char key[KEY_SIZE])
{
	struct flock probe = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
	char path[64], line[256];
	bool found = false;
	FILE *info;

	if (fcntl(fd, F_OFD_SETLK, &probe))
		return false;
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	info = fopen(path, "re");
	while (info && !found && fgets(line, sizeof(line), info))
		found = sscanf(line, "lock: %*d: OFDLCK %*s %*s %*d %63s", key) == 1;
	if (info)
		fclose(info);
	probe.l_type = F_UNLCK;
	if (fcntl(fd, F_OFD_SETLK, &probe))
		log_debug("cannot give up a lock: %s", strerror(errno));
	return found;
}

static void find_name(struct holder *holder)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/comm", holder->pid);
	file = fopen(path, "re");
	if (!file)
		return;
	if (fgets(holder->name, sizeof(holder->name), file))
		holder->name[strcspn(holder->name, "\n")] = '\0';
	fclose(file);
}

/* The process that has a lock on the file. False if it cannot be found: it has ended, or the
 * numbers of processes here do not name it (another PID namespace, another machine). */
static bool find_holder(int fd, struct holder *holder)
{
	char key[KEY_SIZE], listed[KEY_SIZE], line[256];
	FILE *locks;
	bool found = false;

	*holder = (struct holder){0};
	if (!find_key(fd, key))
		return false;
	locks = fopen("/proc/locks", "re");
	if (!locks)
		return false;
	while (!found && fgets(line, sizeof(line), locks))
		found = sscanf(line, "%*d: FLOCK %*s %*s %d %63s", &holder->pid, listed) == 2 &&
			holder->pid > 0 && !strcmp(listed, key);
	fclose(locks);
	if (found)
		find_name(holder);
	return found;
}

int write_lock_acquire(int fd, const char *path, enum write_lock lock, const char *advice)
{
	int how = (lock == WRITE_LOCK_WRITER ? LOCK_EX : LOCK_SH) | LOCK_NB;
	struct holder holder;
	bool found = false;

	for (unsigned tries = 0; tries < TRIES && !found; tries++) {
		if (!flock(fd, how))
			return 0;
		if (errno != EWOULDBLOCK)
			return -errno;
		found = find_holder(fd, &holder);
	}
	if (!found)
		log_error("%s is in use by a process that cannot be seen from here: %s", path,
			  advice);
	else
		log_error("%s is in use by %s (pid %d): %s", path,
			  holder.name[0] ? holder.name : "a process", holder.pid, advice);
	return -EBUSY;
}

void write_lock_release(int fd)
{
	if (flock(fd, LOCK_UN))
		log_debug("cannot give up a lock: %s", strerror(errno));
}

void write_lock_missing(const char *path, int err)
{
	log_warn("%s cannot be locked: %s (nothing keeps a second recorder from writing there)",
		 path, strerror(-err));
}
