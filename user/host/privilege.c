/* SPDX-License-Identifier: MIT */
/* privilege: see privilege.h. */
#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/host/privilege.h"
#include "user/host/read_file.h"
#include "trace/base/log.h"

#define NOBODY		65534 /* user and group */
#define NICE		(-20)
#define ENVIRONMENT_MAX (1 << 20) /* bytes; far more than is usual; the kernel permits more */

/* Reads a user or group number of the environment. */
static bool read_id(const char *variable, unsigned *id)
{
	const char *text = getenv(variable);
	unsigned long value;
	char *end;

	if (!text || !*text)
		return false;
	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *end || value >= UINT32_MAX)
		return false;
	*id = (unsigned)value;
	return true;
}

static char *copy(const char *text)
{
	return text && *text ? strdup(text) : NULL;
}

/* Name, home and groups of identity->uid as far as the system knows them. */
static int look_up(struct identity *identity)
{
	struct passwd *entry = getpwuid(identity->uid);
	int room = 64;
	gid_t *groups;

	if (entry) {
		identity->name = copy(entry->pw_name);
		identity->home = copy(entry->pw_dir);
		identity->shell = copy(entry->pw_shell);
	}
	for (;;) {
		groups = realloc(identity->groups, (size_t)room * sizeof(*groups));
		if (!groups)
			return -ENOMEM;
		identity->groups = groups;
		identity->ngroups = room;
		if (!identity->name) {
			groups[0] = identity->gid;
			identity->ngroups = 1;
			return 0;
		}
		if (getgrouplist(identity->name, identity->gid, groups, &identity->ngroups) >= 0)
			return 0;
		if (room >= NGROUPS_MAX)
			return -E2BIG;
		room *= 4;
	}
}

/*
 * Reads the environment in which sudo was called: the environment of our parent, if this is sudo.
 * Sudo removes variables from ours that a command may depend on, such as library paths and
 * OMP_NUM_THREADS. If it cannot be read, the identity has no environment.
 */
static void read_environment(struct identity *identity)
{
	char path[64], comm[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)getppid());
	if (!read_line(path, comm, sizeof(comm)) || strcmp(comm, "sudo") || stat(path, &st) ||
	    st.st_uid != 0)
		return;
	snprintf(path, sizeof(path), "/proc/%d/environ", (int)getppid());
	identity->environment =
		read_file(AT_FDCWD, path, 0, ENVIRONMENT_MAX, &identity->environment_size);
	if (identity->environment &&
	    (!identity->environment_size || identity->environment_size == ENVIRONMENT_MAX)) {
		free(identity->environment);
		identity->environment = NULL;
	}
}

/* True if a user other than root has called sudo. */
static bool through_sudo(unsigned *uid)
{
	return getuid() == 0 && geteuid() == 0 && read_id("SUDO_UID", uid) && *uid != 0;
}

int identity_of_caller(struct identity *identity)
{
	unsigned uid, gid;
	int err;

	*identity = (struct identity){.uid = getuid(), .gid = getgid()};
	if (!through_sudo(&uid))
		return 0;
	if (!read_id("SUDO_GID", &gid))
		gid = uid;
	identity->uid = uid;
	identity->gid = gid;
	identity->changed = true;
	err = look_up(identity);
	if (err)
		log_error("cannot find the groups of user %u: %s", uid, strerror(-err));
	else
		read_environment(identity);
	return err;
}

int identity_of_user(struct identity *identity, const char *name)
{
	struct passwd *entry;
	unsigned caller;
	int err;

	errno = 0;
	entry = getpwnam(name);
	if (!entry) {
		log_error("--user %s: there is no such user", name);
		return -ENOENT;
	}
	*identity = (struct identity){.uid = entry->pw_uid, .gid = entry->pw_gid};
	if (through_sudo(&caller) && caller != identity->uid) {
		log_error("--user %s: through sudo a command runs as the caller of sudo; only root "
			  "itself can run it as another user",
			  name);
		return -EPERM;
	}
	if (identity->uid == geteuid())
		return 0;
	if (geteuid() != 0) {
		log_error("--user %s: only root can run a command as another user", name);
		return -EPERM;
	}
	identity->changed = true;
	err = look_up(identity);
	if (err)
		log_error("cannot find the groups of user %s: %s", name, strerror(-err));
	return err;
}

void identity_free(struct identity *identity)
{
	free(identity->groups);
	free(identity->name);
	free(identity->home);
	free(identity->shell);
	free(identity->environment);
	memset(identity, 0, sizeof(*identity));
}

static const char *next_variable(const struct identity *identity, const char *at)
{
	const char *end = identity->environment + identity->environment_size;

	at = at ? at + strlen(at) + 1 : identity->environment;
	return at && at < end ? at : NULL;
}

const char *identity_path(const struct identity *identity)
{
	if (!identity->environment)
		return getenv("PATH");
	for (const char *at = NULL; (at = next_variable(identity, at));)
		if (!strncmp(at, "PATH=", 5))
			return at + 5;
	return NULL;
}

/* Sets the environment of the user. If it is unknown, the variables that sudo has set for root are
 * replaced as a login of the user would. */
static void set_environment(const struct identity *identity)
{
	const struct {
		const char *name, *value;
	} variables[] = {
		{"HOME", identity->home},   {"USER", identity->name}, {"LOGNAME", identity->name},
		{"SHELL", identity->shell}, {"SUDO_UID", NULL},	      {"SUDO_GID", NULL},
		{"SUDO_USER", NULL},	    {"SUDO_COMMAND", NULL},   {"MAIL", NULL},
	};

	if (identity->environment) {
		clearenv();
		for (const char *at = NULL; (at = next_variable(identity, at));)
			if (strchr(at, '='))
				putenv((char *)at);
		return;
	}
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		if (variables[i].value)
			setenv(variables[i].name, variables[i].value, 1);
		else
			unsetenv(variables[i].name);
	}
}

int identity_become(const struct identity *identity)
{
	bool is_it = getuid() == identity->uid && geteuid() == identity->uid &&
		     getgid() == identity->gid && getegid() == identity->gid;

	if (!identity->changed)
		return 0;
	if (!is_it && (setgroups((size_t)identity->ngroups, identity->groups) ||
		       setresgid(identity->gid, identity->gid, identity->gid) ||
		       setresuid(identity->uid, identity->uid, identity->uid)))
		return -errno;
	set_environment(identity);
	return 0;
}

/* Puts the permitted capabilities of a user other than root into effect, or none. */
static int put_into_effect(bool all)
{
	capng_get_caps_process();
	for (unsigned i = 0; i <= CAP_LAST_CAP; i++)
		capng_update(all && capng_have_capability(CAPNG_PERMITTED, i) ? CAPNG_ADD
									      : CAPNG_DROP,
			     CAPNG_EFFECTIVE, i);
	errno = 0;
	if (capng_apply(CAPNG_SELECT_CAPS))
		return errno ? -errno : -EPERM;
	return 0;
}

int privilege_suspend(const struct identity *caller)
{
	int err = 0;

	if (geteuid() != 0)
		err = put_into_effect(false);
	else if (caller->changed && (setgroups((size_t)caller->ngroups, caller->groups) ||
				     setegid(caller->gid) || seteuid(caller->uid)))
		err = -errno;
	if (err)
		log_error("cannot suspend privileges: %s", strerror(-err));
	return err;
}

int privilege_act_as_caller(void)
{
	struct identity caller;
	int err = identity_of_caller(&caller);

	if (!err)
		err = privilege_suspend(&caller);
	identity_free(&caller);
	return err;
}

void privilege_resume(void)
{
	int err = 0;

	if (getuid() != 0)
		err = put_into_effect(true);
	else if (seteuid(0) || setegid(getgid()))
		err = -errno;
	if (err) /* what needs privileges fails, and says so */
		log_debug("cannot resume privileges: %s", strerror(-err));
}

/* The capabilities to keep, if the process has them, and their purpose. */
static const struct {
	unsigned capability;
	unsigned needs; /* enum privilege_need, any of */
	bool root;	/* only if the caller is root, and could do that anyway */
} kept[] = {
	{CAP_BPF, PRIVILEGE_DRAIN | PRIVILEGE_WAIT, false},
	{CAP_PERFMON, PRIVILEGE_LINK, false},
	/* the draining thread comes first; it says so once, when it begins */
	{CAP_SYS_NICE, PRIVILEGE_START, false},
	{CAP_SYS_PTRACE, PRIVILEGE_WRITE, false}, /* /proc/PID/exe, environ, ns of others */
	{CAP_DAC_READ_SEARCH, PRIVILEGE_WRITE, false},
	/* write where the user wants the trace */
	{CAP_DAC_OVERRIDE, PRIVILEGE_WRITE | PRIVILEGE_WAIT, true},
	{CAP_KILL, PRIVILEGE_WAIT, true}, /* pass signals on to the command */
};
#define NKEPT (sizeof(kept) / sizeof(kept[0]))

/* Chooses the capabilities that the process has and needs, for capng_apply(). */
static void choose(enum privilege_need need, bool root)
{
	bool keep[NKEPT];

	capng_get_caps_process();
	for (size_t i = 0; i < NKEPT; i++)
		keep[i] = (kept[i].needs & need) && (!kept[i].root || root) &&
			  capng_have_capability(CAPNG_EFFECTIVE, kept[i].capability);
	capng_clear(CAPNG_SELECT_CAPS);
	for (size_t i = 0; i < NKEPT; i++)
		if (keep[i])
			capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED,
				     kept[i].capability);
}

int privilege_drop(const struct identity *identity, enum privilege_need need)
{
	bool change = identity->changed && geteuid() == 0;
	int err;

	choose(need, identity->uid == 0 && geteuid() == 0);
	errno = 0;
	if (change) {
		err = setgroups((size_t)identity->ngroups, identity->groups);
		if (!err)
			err = capng_change_id((int)identity->uid, (int)identity->gid,
					      CAPNG_NO_FLAG);
	} else {
		err = capng_apply(CAPNG_SELECT_CAPS);
	}
	if (err) {
		err = errno ? -errno : -EPERM;
		log_error("cannot give up privileges: %s", strerror(-err));
		return err;
	}
	return 0;
}

void privilege_keep(enum privilege_need need)
{
	choose(need, geteuid() == 0);
	if (capng_apply(CAPNG_SELECT_CAPS))
		log_warn("cannot give up privileges: %s", strerror(errno));
}

void privilege_raise_priority(void)
{
	if (setpriority(PRIO_PROCESS, 0, NICE))
		log_debug("a thread of the recorder has no priority: %s", strerror(errno));
}

void privilege_go_first(void)
{
	const struct sched_param lowest = {.sched_priority = sched_get_priority_min(SCHED_RR)};

	if (!sched_setscheduler(0, SCHED_RR, &lowest))
		return;
	log_debug("a thread of the recorder has no real-time priority: %s", strerror(errno));
	privilege_raise_priority();
}

void privilege_drop_all(void)
{
	if (getuid() == 0)
		privilege_resume(); /* to be able to change all of its users */
	/* in a user namespace nobody may not exist: then root remains, without capabilities */
	if (geteuid() == 0 && setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
	    setresuid(NOBODY, NOBODY, NOBODY) == 0)
		errno = 0;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	capng_clear(CAPNG_SELECT_CAPS);
	capng_apply(CAPNG_SELECT_CAPS);
}
