/* SPDX-License-Identifier: MIT */
/*
 * session_dir: the directory in which a named session can be found while it runs.
 *
 *   /run/ovni-bpf/NAME            of root
 *   $XDG_RUNTIME_DIR/ovni-bpf/NAME    of others; /run/user/UID where that is not set, or not to be
 *                                 believed (a program with capabilities believes no environment)
 *
 *   lock      locked by the session as long as it lives, however it ends
 *   control   the socket (control_socket.h)
 *   info      JSON: pid, output, options, when it was started
 *   log       what it says
 *   status    its exit status, once it has ended of itself
 *
 * In: a name; out: descriptors. What another user could have put there is refused: every
 * directory on the way is ours and nobody else's to write, no link is followed, and all
 * files are opened below the directory.
 */
#ifndef USER_CONTROL_SESSION_DIR_H
#define USER_CONTROL_SESSION_DIR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define PLACE_NAME_MAX 64

struct json;

struct place {
	char name[PLACE_NAME_MAX + 1];
	char *path;  /* for messages */
	int base;    /* the directory of all sessions; -1: none */
	int fd;	     /* that of this one; -1: none */
	int lock;    /* -1: not held */
	uid_t owner; /* of a new one: files are given to it */
	gid_t group;
};

enum place_state {
	PLACE_NONE,    /* no such session */
	PLACE_RUNNING, /* somebody holds the lock */
	PLACE_ENDED,   /* it has said how */
	PLACE_DEAD,    /* it has not: killed */
};

/* NULL, or one clause that says why this cannot be a name. */
const char *place_check_name(const char *name);

/*
 * Makes the place of a new session, in which `owner` may write, and takes the lock. One that
 * has ended, or is dead, is replaced. 0, or -errno after one message (-EBUSY: it runs).
 * place_close() is due in any case.
 */
int place_make(struct place *place, const char *name, uid_t owner, gid_t group)
	__attribute__((warn_unused_result));

/* Finds that of a session, whoever has made it. 0; -ENOENT without a message: there is none; else
 * -errno after one message. place_close() is due in any case. */
int place_find(struct place *place, const char *name) __attribute__((warn_unused_result));

enum place_state place_state(const struct place *place);

/* Writes a file there, in place of an earlier one, so that it is there whole or not at all. 0 or
 * -errno after one message. */
int place_write(const struct place *place, const char *file, const char *text)
	__attribute__((warn_unused_result));
/* Makes the log, for appending. A descriptor, or -errno after one message. */
int place_make_log(const struct place *place) __attribute__((warn_unused_result));

/* The whole of a file there, ended by NUL, for free(); NULL: there is none. */
char *place_read(const struct place *place, const char *file);
struct json *place_info(const struct place *place); /* for json_free(); NULL: there is none */
bool place_status(const struct place *place, int *status);

/* Removes it with all files. Without the right to (another user's), what can be. */
void place_remove(const struct place *place);

void place_close(struct place *place);

/* Calls `each` for every session that can be seen, in the order of names, until it does not return
 * 0. 0, or what `each` has returned, or -errno after one message. */
int place_list(int (*each)(void *arg, const struct place *place), void *arg);

#endif
