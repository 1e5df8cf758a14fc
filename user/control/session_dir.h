/* SPDX-License-Identifier: MIT */
/*
 * session_dir: the directory of a named session.
 *
 *   /run/ovni-bpf/NAME                of root
 *   $XDG_RUNTIME_DIR/ovni-bpf/NAME    of other users; /run/user/UID where the variable is not set
 * or not trusted (by a program with capabilities)
 *
 *   lock      locked by the session while it lives, however it ends
 *   control   the socket (control.h)
 *   info      JSON: pid, output, options, time of the start
 *   log       messages of the session
 *   status    exit status of the session; missing if it was killed
 *
 * In: a name; out: descriptors. Files of other users are refused: only we (or root) may write to
 * any directory of the path, no link is followed, and all files are opened below the directory.
 */
#ifndef USER_CONTROL_SESSION_DIR_H
#define USER_CONTROL_SESSION_DIR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define SESSION_NAME_MAX 64

struct json;

struct session_dir {
	char name[SESSION_NAME_MAX + 1];
	char *path;  /* for messages */
	int base;    /* the directory of all sessions; -1: none */
	int fd;	     /* the directory of this session; -1: none */
	int lock;    /* -1: not held */
	uid_t owner; /* of a new session: gets all files */
	gid_t group;
};

enum session_state {
	SESSION_NONE,	 /* no such session */
	SESSION_RUNNING, /* the lock is held */
	SESSION_ENDED,	 /* the exit status is known */
	SESSION_DEAD,	 /* killed: no lock, no exit status */
};

/* Returns NULL, or one clause that says why `name` is no valid name. */
const char *session_dir_check_name(const char *name);

/*
 * Makes the directory of a new session, in which `owner` may write, and takes the lock. The
 * directory of a session that has ended or is dead is replaced. Returns 0, or -errno after one
 * message (-EBUSY: the session runs). Call session_dir_close() in any case.
 */
int session_dir_make(struct session_dir *dir, const char *name, uid_t owner, gid_t group)
	__attribute__((warn_unused_result));

/* Finds the directory of a session, of any user. Returns 0, -ENOENT without a message if there is
 * none, or -errno after one message. Call session_dir_close() in any case. */
int session_dir_find(struct session_dir *dir, const char *name) __attribute__((warn_unused_result));

enum session_state session_dir_state(const struct session_dir *dir);

/* The word for a state in all output: "running", "ended (STATUS)", "dead". `text` (of `size` bytes)
 * may hold it. */
const char *session_state_name(enum session_state state, int status, char *text, size_t size);

/* Replaces a file in one step: readers see all of it, or the old one. 0 or -errno after one
 * message.
 */
int session_dir_write(const struct session_dir *dir, const char *file, const char *text)
	__attribute__((warn_unused_result));
/* Creates the log, for appending. Returns a descriptor, or -errno after one message. */
int session_dir_make_log(const struct session_dir *dir) __attribute__((warn_unused_result));

/* Reads a file of the directory. Returns its text, for free(), or NULL if there is none. */
char *session_dir_read(const struct session_dir *dir, const char *file);
struct json *session_dir_info(const struct session_dir *dir); /* for json_free(), or NULL */
bool session_dir_status(const struct session_dir *dir, int *status);

/* Removes the directory and its files, as far as permitted. */
void session_dir_remove(const struct session_dir *dir);

void session_dir_close(struct session_dir *dir);

/* Calls `each` for every visible session, by name, until it returns something but 0. Returns that,
 * or 0, or -errno after one message. */
int session_dir_list(int (*each)(void *arg, const struct session_dir *dir), void *arg);

#endif
