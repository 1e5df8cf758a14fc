/* SPDX-License-Identifier: MIT */
/* job_members: see job_members.h. */
#include "user/config/job_members.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/base/array.h"
#include "trace/base/log.h"
#include "user/config/config.h"
#include "user/config/launcher.h"
#include "user/host/read_file.h"

#define ENVIRONMENT_MAX (8u << 20) /* more than the kernel allows by default */

/* The variables of a process whose last one has not come: they lie in the ring one after the other,
 * but other CPUs may come between. */
struct reading {
	uint32_t pid;
	struct bytes environment;
};

struct job_members {
	pthread_mutex_t lock;
	struct job_member *list;
	size_t n;
	struct reading *readings;
	size_t nreadings;
};

struct job_members *job_members_new(void)
{
	struct job_members *members = calloc(1, sizeof(*members));

	if (!members)
		log_no_memory("for the members of the job");
	else
		pthread_mutex_init(&members->lock, NULL);
	return members;
}

void job_members_free(struct job_members *members)
{
	if (!members)
		return;
	for (size_t i = 0; i < members->nreadings; i++)
		bytes_free(&members->readings[i].environment);
	free(members->readings);
	free(members->list);
	pthread_mutex_destroy(&members->lock);
	free(members);
}

int job_members_add(struct job_members *members, uint32_t pid, int32_t rank, int32_t size)
{
	struct job_member new = {.pid = pid, .rank = rank, .size = size}, *member;

	pthread_mutex_lock(&members->lock);
	for (size_t i = 0; rank >= 0 && i < members->n; i++)
		new.again |= members->list[i].rank == rank;
	member = ARRAY_ADD(members->list, members->n);
	if (member)
		*member = new;
	pthread_mutex_unlock(&members->lock);
	return member ? 0 : log_no_memory("for the members of the job");
}

static int add_parsed(struct job_members *members, uint32_t pid, const char *environment,
		      size_t size)
{
	struct launcher launcher;

	if (!launcher_parse(&launcher, environment, size))
		launcher.rank = launcher.size = -1; /* recorded; its rank is damaged */
	return job_members_add(members, pid, launcher.rank, launcher.size);
}

/* ---- from the kernel side ---- */

static struct reading *reading_of(struct job_members *members, uint32_t pid)
{
	struct reading *reading;

	for (size_t i = 0; i < members->nreadings; i++)
		if (members->readings[i].pid == pid)
			return &members->readings[i];
	for (size_t i = 0; i < members->nreadings; i++)
		if (!members->readings[i].pid) {
			members->readings[i].pid = pid;
			return &members->readings[i];
		}
	reading = ARRAY_ADD(members->readings, members->nreadings);
	if (reading)
		*reading = (struct reading){.pid = pid};
	return reading;
}

int job_members_take(struct job_members *members, const struct job_rule *rule,
		     const struct record_variable *record)
{
	struct reading *reading = reading_of(members, record->pid);
	struct bytes *to = reading ? &reading->environment : NULL;
	uint32_t index = record->head.why;
	int err = 0;

	if (!reading || index >= rule->nvariables)
		return reading ? 0 : log_no_memory("for the members of the job");
	bytes_put(to, rule->names[index], strlen(rule->names[index]));
	bytes_put(to, "=", 1);
	bytes_put(to, record->value, strnlen(record->value, sizeof(record->value)));
	bytes_put(to, "", 1);
	if (!(record->head.flags & VARIABLE_LAST))
		return 0;
	bytes_put(to, "", 1);
	err = to->failed ? log_no_memory("for the members of the job")
			 : add_parsed(members, record->pid, (const char *)to->data, to->size - 1);
	bytes_free(to);
	*reading = (struct reading){0};
	return err;
}

/* ---- processes that exist at the beginning ---- */

/* Of our user alone: the folder of a process belongs to its effective user, or to root if it has
 * more rights than that. */
static char *read_environment(int proc, const char *name, uint32_t uid, size_t *size)
{
	int dir = openat(proc, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char *text = NULL;
	struct stat st;

	if (dir < 0)
		return NULL;
	if (!fstat(dir, &st) && st.st_uid == uid)
		text = read_file(dir, "environ", 0, ENVIRONMENT_MAX, size);
	close(dir);
	return text;
}

int job_members_scan(struct job_members *members, const struct job_rule *rule, const char *path,
		     int (*found)(void *arg, uint32_t pid), void *arg)
{
	DIR *proc = opendir(path);
	struct dirent *entry;
	int n = 0, err = 0;

	if (!proc) {
		err = -errno;
		log_error("cannot read '%s': %s", path, strerror(-err));
		return err;
	}
	while (!err && (entry = readdir(proc))) {
		struct job_member known;
		uint32_t pid;
		size_t size;
		char *text;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		pid = (uint32_t)strtoul(entry->d_name, NULL, 10);
		if (job_members_find(members, pid, &known))
			continue;
		text = read_environment(dirfd(proc), entry->d_name, rule->rule.uid, &size);
		if (text && launcher_is_member(rule, text, size)) {
			err = add_parsed(members, pid, text, size);
			err = err ? err : found(arg, pid);
			n++;
		}
		free(text);
	}
	closedir(proc);
	return err ? err : n;
}

/* ---- the list ---- */

bool job_members_find(struct job_members *members, uint32_t pid, struct job_member *member)
{
	bool found = false;

	pthread_mutex_lock(&members->lock);
	for (size_t i = members->n; !found && i-- > 0;) {
		found = members->list[i].pid == pid;
		*member = members->list[i];
	}
	pthread_mutex_unlock(&members->lock);
	return found;
}

bool job_members_get(struct job_members *members, size_t index, struct job_member *member)
{
	bool there;

	pthread_mutex_lock(&members->lock);
	there = index < members->n;
	if (there)
		*member = members->list[index];
	pthread_mutex_unlock(&members->lock);
	return there;
}

size_t job_members_count(struct job_members *members, int32_t *size)
{
	size_t n = 0;

	*size = -1;
	pthread_mutex_lock(&members->lock);
	for (size_t i = 0; i < members->n; i++) {
		n += !members->list[i].again;
		*size = members->list[i].size > *size ? members->list[i].size : *size;
	}
	pthread_mutex_unlock(&members->lock);
	return n;
}
