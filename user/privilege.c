/* SPDX-License-Identifier: MIT */
/* privilege: see privilege.h. */
#include <cap-ng.h>
#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "privilege.h"
#include "trace/log.h"

/* Newer than the headers of some build hosts. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif

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

int identity_of_caller(struct identity *identity)
{
	unsigned uid, gid;
	int err;

	*identity = (struct identity){.uid = getuid(), .gid = getgid()};
	if (getuid() != 0 || geteuid() != 0 || !read_id("SUDO_UID", &uid) || uid == 0)
		return 0;
	if (!read_id("SUDO_GID", &gid))
		gid = uid;
	identity->uid = uid;
	identity->gid = gid;
	identity->changed = true;
	err = look_up(identity);
	if (err)
		log_error("cannot find the groups of user %u: %s", uid, strerror(-err));
	return err;
}

int identity_of_user(struct identity *identity, const char *name)
{
	struct passwd *entry;
	int err;

	errno = 0;
	entry = getpwnam(name);
	if (!entry) {
		log_error("--user %s: there is no such user", name);
		return -ENOENT;
	}
	*identity = (struct identity){.uid = entry->pw_uid, .gid = entry->pw_gid};
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
	memset(identity, 0, sizeof(*identity));
}

/* What sudo has set for root is set as a login of the user would. */
static void set_environment(const struct identity *identity)
{
	const struct {
		const char *name, *value;
	} variables[] = {
		{"HOME", identity->home},   {"USER", identity->name}, {"LOGNAME", identity->name},
		{"SHELL", identity->shell}, {"SUDO_UID", NULL},	      {"SUDO_GID", NULL},
		{"SUDO_USER", NULL},	    {"SUDO_COMMAND", NULL},   {"MAIL", NULL},
	};

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		if (variables[i].value)
			setenv(variables[i].name, variables[i].value, 1);
		else
			unsetenv(variables[i].name);
	}
}

int identity_become(const struct identity *identity)
{
	if (!identity->changed)
		return 0;
	if (setgroups((size_t)identity->ngroups, identity->groups) ||
	    setresgid(identity->gid, identity->gid, identity->gid) ||
	    setresuid(identity->uid, identity->uid, identity->uid))
		return -errno;
	set_environment(identity);
	return 0;
}

int privilege_drop(const struct identity *identity, enum privilege_need need)
{
	static const struct {
		unsigned capability;
		bool attach; /* only of use until all is attached */
		bool root;   /* only for a caller who is root, and could do that anyway */
	} kept[] = {
		{CAP_BPF, false, false}, /* the snapshots at the stop */
		{CAP_PERFMON, true, false},
		{CAP_SYS_NICE, false, false},	/* the draining thread comes first */
		{CAP_SYS_PTRACE, false, false}, /* /proc/PID/exe, environ, ns of others */
		{CAP_DAC_READ_SEARCH, false, false},
		{CAP_DAC_OVERRIDE, false, true}, /* write where the user wants the trace */
		{CAP_KILL, false, true},	 /* pass signals on to the command */
	};
	bool keep[sizeof(kept) / sizeof(kept[0])], change;
	int err;

	capng_get_caps_process();
	change = identity->changed && geteuid() == 0;
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		keep[i] = (need == PRIVILEGE_ATTACH || !kept[i].attach) &&
			  (!kept[i].root || (identity->uid == 0 && geteuid() == 0)) &&
			  capng_have_capability(CAPNG_EFFECTIVE, kept[i].capability);
	capng_clear(CAPNG_SELECT_CAPS);
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		if (!keep[i])
			continue;
		capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, kept[i].capability);
	}
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
