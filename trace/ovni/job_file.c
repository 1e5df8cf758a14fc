/* SPDX-License-Identifier: MIT */
/* job_file: see job_file.h. */
#include "trace/ovni/job_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "trace/base/array.h"
#include "trace/base/files/beneath.h"
#include "trace/base/json.h"
#include "trace/base/log.h"
#include "trace/base/text.h"

#define SUFFIX	  ".json"
#define RANKS_MAX 1000000

static int by_number(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return x < y ? -1 : x > y;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct job_node *)a)->name, ((const struct job_node *)b)->name);
}

static void copy(char *to, size_t size, const char *text)
{
	snprintf(to, size, "%s", text ? text : "");
}

/* A number of a file of a job, or -1. */
static int32_t expected(const struct json *json, const char *key)
{
	const struct json *value = json_key(json, key);
	int64_t n = json_is_number(value) ? json_int(value) : -1;

	return n < 0 || n > INT32_MAX ? -1 : (int32_t)n;
}

static int read_ranks(struct job_node *node, const struct json *members)
{
	for (const struct json *m = json_first(members); m; m = json_next(m)) {
		const struct json *value = json_key(m, "rank");
		int64_t rank = json_is_number(value) ? json_int(value) : -1;
		int32_t *added;

		if (rank < 0 || rank > INT32_MAX || node->nranks == RANKS_MAX)
			continue;
		added = ARRAY_ADD(node->ranks, node->nranks);
		if (!added)
			return -ENOMEM;
		*added = (int32_t)rank;
	}
	if (node->nranks)
		qsort(node->ranks, node->nranks, sizeof(*node->ranks), by_number);
	return 0;
}

static int read_node(struct job *job, int dirfd, const char *file)
{
	struct json *json = json_load(dirfd, file);
	const char *why = json_string(json_key(json, "why"));
	struct job_node *node;
	char loom[sizeof("loom.") + JOB_NODE_MAX];
	struct stat st;
	int32_t ranks;
	int err = json ? -ENOMEM : -EINVAL;

	if (!json)
		return err;
	node = ARRAY_ADD(job->nodes, job->nnodes);
	if (!node)
		goto out;
	*node = (struct job_node){0};
	copy(node->name, sizeof(node->name), file + strlen(JOB_NODES "/"));
	node->name[strlen(node->name) - strlen(SUFFIX)] = '\0';
	copy(node->state, sizeof(node->state), json_string(json_key(json, "state")));
	node->why = why ? strdup(why) : NULL;
	if (why && !node->why)
		goto out;
	(void)json_u64(json_key(json, "threads"), &node->threads);
	(void)json_u64(json_key(json, "events"), &node->events);
	(void)json_u64(json_key(json, "lost"), &node->lost);
	ranks = expected(json, "ranks"); /* of a job whose launcher has told no recorder */
	job->ranks_expected = ranks > job->ranks_expected ? ranks : job->ranks_expected;
	err = read_ranks(node, json_key(json, "members"));
	snprintf(loom, sizeof(loom), "loom.%s", node->name);
	node->no_loom = node->threads && fstatat(dirfd, loom, &st, AT_SYMLINK_NOFOLLOW);
out:
	json_free(json);
	if (err == -ENOMEM)
		log_lack("while reading the nodes of a job");
	return err;
}

/* The name of a node's file: at least one byte, and the suffix. */
static bool is_node(const char *name)
{
	size_t n = strlen(name);

	return *name != '.' && n > strlen(SUFFIX) && n < JOB_NODE_MAX &&
	       !strcmp(name + n - strlen(SUFFIX), SUFFIX);
}

static int read_nodes(struct job *job, int dirfd)
{
	int fd = beneath_open(dirfd, JOB_NODES, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0), err = 0;
	struct dirent *entry;
	DIR *dir;

	if (fd == -ENOENT)
		return 0;
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		err = fd < 0 ? fd : -errno;
		log_error("cannot read '" JOB_NODES "': %s", strerror(-err));
		if (fd >= 0)
			close(fd);
		return err;
	}
	while (!err && (entry = readdir(dir))) {
		char path[sizeof(JOB_NODES) + JOB_NODE_MAX];

		if (!is_node(entry->d_name))
			continue;
		snprintf(path, sizeof(path), JOB_NODES "/%.*s", JOB_NODE_MAX - 1, entry->d_name);
		err = read_node(job, dirfd, path);
	}
	closedir(dir);
	if (job->nnodes)
		qsort(job->nodes, job->nnodes, sizeof(*job->nodes), by_name);
	return err;
}

int job_read(struct job *job, int dirfd)
{
	struct json *json;
	struct stat st;

	*job = (struct job){.nodes_expected = -1, .ranks_expected = -1};
	if (fstatat(dirfd, JOB_FILE, &st, AT_SYMLINK_NOFOLLOW) && errno == ENOENT) {
		int err = read_nodes(job, dirfd);

		job->is = job->no_file = job->nnodes;
		return err;
	}
	json = json_load(dirfd, JOB_FILE);
	if (!json)
		return -EINVAL;
	job->is = true;
	copy(job->key, sizeof(job->key), json_string(json_key(json, "key")));
	job->nodes_expected = expected(json, "nodes");
	job->ranks_expected = expected(json, "ranks");
	json_free(json);
	return read_nodes(job, dirfd);
}

void job_free(struct job *job)
{
	for (size_t i = 0; i < job->nnodes; i++) {
		free(job->nodes[i].why);
		free(job->nodes[i].ranks);
	}
	free(job->nodes);
	*job = (struct job){0};
}

/* ---- the report ---- */

size_t job_complete_nodes(const struct job *job)
{
	size_t n = 0;

	for (size_t i = 0; i < job->nnodes; i++)
		n += !strcmp(job->nodes[i].state, "complete");
	return n;
}

size_t job_recorded_ranks(const struct job *job)
{
	size_t n = 0;

	for (size_t i = 0; i < job->nnodes; i++)
		n += strcmp(job->nodes[i].state, "failed") ? job->nodes[i].nranks : 0;
	return n;
}

const char *job_ranks_text(const int32_t *ranks, size_t n, char *text, size_t size)
{
	size_t at = 0;

	text[0] = '\0';
	for (size_t i = 0, last; i < n && at + 1 < size; i = last + 1) {
		for (last = i; last + 1 < n && ranks[last + 1] == ranks[last] + 1;)
			last++;
		at += (size_t)snprintf(text + at, size - at,
				       last > i ? "%s%" PRId32 "-%" PRId32 : "%s%" PRId32,
				       at ? "," : "", ranks[i], ranks[last]);
	}
	return text;
}

struct reasons {
	char *text;
	size_t at;
};

static void __attribute__((format(printf, 2, 3))) put(struct reasons *r, const char *fmt, ...)
{
	va_list args;
	int n;

	if (r->at + sizeof("; ") > JOB_TEXT)
		return;
	if (r->at)
		r->at += (size_t)snprintf(r->text + r->at, JOB_TEXT - r->at, "; ");
	va_start(args, fmt);
	n = vsnprintf(r->text + r->at, JOB_TEXT - r->at, fmt, args);
	va_end(args);
	r->at += n > 0 ? (size_t)n : 0;
	r->at = r->at < JOB_TEXT ? r->at : JOB_TEXT - 1;
}

/* The ranks that no recorded node has. */
static void put_missing_ranks(const struct job *job, struct reasons *r)
{
	int32_t *missing = NULL;
	size_t n = 0;
	char list[256];
	bool *found;

	if (job->ranks_expected <= 0 || job->ranks_expected > RANKS_MAX)
		return;
	found = calloc((size_t)job->ranks_expected, sizeof(*found));
	for (size_t i = 0; found && i < job->nnodes; i++)
		for (size_t k = 0; k < job->nodes[i].nranks; k++)
			if (job->nodes[i].ranks[k] < job->ranks_expected &&
			    strcmp(job->nodes[i].state, "failed"))
				found[job->nodes[i].ranks[k]] = true;
	for (int32_t rank = 0; found && rank < job->ranks_expected; rank++) {
		int32_t *added = found[rank] ? NULL : ARRAY_ADD(missing, n);

		if (added)
			*added = rank;
	}
	if (!found)
		put(r, "out of memory (for the ranks of the job)");
	else if (n)
		put(r, "rank%s %s of %" PRId32 " %s not recorded", plural(n, "", "s"),
		    job_ranks_text(missing, n, list, sizeof(list)), job->ranks_expected,
		    plural(n, "is", "are"));
	free(missing);
	free(found);
}

const char *job_text(const struct job *job, char text[JOB_TEXT])
{
	struct reasons r = {.text = text};

	text[0] = '\0';
	if (!job->is)
		return text;
	if (job->no_file)
		put(&r, JOB_FILE " is missing");
	for (size_t i = 0; i < job->nnodes; i++) {
		const struct job_node *node = &job->nodes[i];

		if (node->no_loom)
			put(&r, "loom.%s is missing", node->name);
		if (!strcmp(node->state, "recording"))
			put(&r, "the recorder of node %s has not ended, or was killed", node->name);
		else if (strcmp(node->state, "complete"))
			put(&r, "node %s is %s%s%s", node->name,
			    *node->state ? node->state : "without a state", node->why ? ": " : "",
			    node->why ? node->why : "");
	}
	if (job->nodes_expected > 0 && job->nnodes < (size_t)job->nodes_expected)
		put(&r, "%zu of %" PRId32 " nodes left nothing",
		    (size_t)job->nodes_expected - job->nnodes, job->nodes_expected);
	put_missing_ranks(job, &r);
	return text;
}

/* ---- writing ---- */

void job_node_name(char name[JOB_NODE_MAX])
{
	struct utsname host;

	uname(&host);
	snprintf(name, JOB_NODE_MAX, "%s", host.nodename);
	for (char *at = name; *at; at++)
		*at = *at == '/' ? '-' : *at;
}

/* ---- files that have their name only when they are whole ---- */

static int write_all(int fd, const char *text, size_t size)
{
	while (size) {
		ssize_t n = write(fd, text, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		text += n;
		size -= (size_t)n;
	}
	return 0;
}

int job_put_file(int dirfd, const char *path, const struct json *json, bool is_new)
{
	char *text = json_text(json), *temporary = xasprintf("%s.%ld.new", path, (long)getpid());
	int fd = -1, err = -ENOMEM;

	if (!text || !temporary)
		goto out;
	fd = openat(dirfd, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	err = fd < 0 ? -errno : write_all(fd, text, strlen(text));
	if (!err && fsync(fd))
		err = -errno;
	if (fd >= 0 && close(fd) && !err)
		err = -errno;
	if (!err && (is_new ? linkat(dirfd, temporary, dirfd, path, 0)
			    : renameat(dirfd, temporary, dirfd, path)))
		err = -errno;
	if (fd >= 0 && (err || is_new))
		unlinkat(dirfd, temporary, 0);
out:
	free(text);
	free(temporary);
	return err;
}

void job_node_killed(int dirfd, const char *why)
{
	char node[JOB_NODE_MAX], file[sizeof(JOB_NODES) + JOB_NODE_MAX + 8];
	struct json *json;
	struct stat st;

	job_node_name(node);
	snprintf(file, sizeof(file), JOB_NODES "/%s.json", node);
	if (fstatat(dirfd, file, &st, AT_SYMLINK_NOFOLLOW))
		return;
	json = json_load(dirfd, file);
	if (!json)
		return;
	json_put_string(json, "state", "incomplete");
	json_put_string(json, "why", why);
	if (job_put_file(dirfd, file, json, false))
		log_warn("cannot write '%s'", file);
	json_free(json);
}
