/* SPDX-License-Identifier: MIT */
/*
 * privilege: the user who called us, and the capabilities to keep.
 *
 * The recorder may be started by root, through sudo, or by a user with file capabilities. The
 * programs are loaded with all there is; all written files and the command belong to the calling
 * user, and the command has the environment of sudo's caller, not the one that sudo has made. Only
 * the necessary capabilities are kept: those for attaching, and after that, in each thread, those
 * that the thread needs.
 * Specification: ebpf.md 4.
 */
#ifndef USER_HOST_PRIVILEGE_H
#define USER_HOST_PRIVILEGE_H

#include <linux/capability.h>
#include <stdbool.h>
#include <sys/types.h>

/* Newer than the headers of some build hosts. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif

struct identity {
	uid_t uid;
	gid_t gid;
	gid_t *groups; /* ngroups of them; NULL: the groups of this process */
	int ngroups;
	char *name, *home, *shell; /* NULL: not known */
	char *environment; /* "NAME=value" with a NUL each; NULL: the environment of this process */
	size_t environment_size;
	bool changed; /* not the one that this process has */
};

/*
 * The calling user: with the user id 0 and SUDO_UID in the environment that one, else the user of
 * this process. Sudo itself sets SUDO_UID, so a user who may only run this program through it
 * cannot choose the value. A rule with SETENV lets the user choose it, and LD_PRELOAD, too: that is
 * root already. 0 or -errno after one message.
 */
int identity_of_caller(struct identity *identity) __attribute__((warn_unused_result));
/* The user called `name`; only root itself may name another one than the caller, not a user through
 * sudo. 0, or -errno after one message (no such user, not permitted). */
int identity_of_user(struct identity *identity, const char *name)
	__attribute__((warn_unused_result));
void identity_free(struct identity *identity);

/* The PATH that its commands are looked for in; NULL: the usual one. */
const char *identity_path(const struct identity *identity);

/* Becomes it for good, with nothing kept; for a process that is about to execute another
 * program, and may be that user already (privilege_drop()). Its environment, or HOME, USER and the
 * like in ours. 0 or -errno, no message. */
int identity_become(const struct identity *identity) __attribute__((warn_unused_result));

/*
 * Between these two, files that the user names are opened with the rights of that user: through
 * sudo the effective user is the caller, and no capability is in effect, neither those of sudo nor
 * those of the file of this program. Root itself keeps its rights. The supplementary groups stay
 * those of the caller. privilege_suspend() returns 0, or -errno after one message.
 */
int privilege_suspend(const struct identity *caller) __attribute__((warn_unused_result));
/* The same for identity_of_caller(), up to the end of the process. */
int privilege_act_as_caller(void) __attribute__((warn_unused_result));
void privilege_resume(void);

enum privilege_need {
	PRIVILEGE_DRAIN = 1, /* snapshots at the stop */
	PRIVILEGE_WRITE = 2, /* files, and /proc of others */
	PRIVILEGE_WAIT = 4,  /* signals to the command, the tasks at the stop */
	PRIVILEGE_START = 8, /* the draining thread goes first */
	PRIVILEGE_LINK = 16, /* programs are attached */

	/* before there are threads, and before the programs are attached */
	PRIVILEGE_RECORD = PRIVILEGE_DRAIN | PRIVILEGE_WRITE | PRIVILEGE_WAIT | PRIVILEGE_START,
	PRIVILEGE_ATTACH = PRIVILEGE_RECORD | PRIVILEGE_LINK,
};

/* Becomes `identity`, and keeps only the capabilities for `need`. All threads that are
 * started later have no more. 0 or -errno after one message. */
int privilege_drop(const struct identity *identity, enum privilege_need need)
	__attribute__((warn_unused_result));

/*
 * The calling thread, and the threads that it starts, go before those of a busy machine; without
 * CAP_SYS_NICE nothing changes. raise_priority: the nice value -20, for a thread that may need much
 * time. Where the scheduler groups sessions (autogroup) it has no effect on other sessions.
 * go_first: the lowest real-time priority, for the thread that must not be late and needs little
 * time; the nice value where the kernel refuses it.
 */
void privilege_raise_priority(void);
void privilege_go_first(void);

/* The calling thread keeps only its capabilities for `need`. Reports a failure. */
void privilege_keep(enum privilege_need need);

/* Gives up the user (root becomes nobody), the groups and all capabilities, as far as the kernel
 * permits; for a child process that reads untrusted files. */
void privilege_drop_all(void);

#endif
