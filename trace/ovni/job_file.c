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
#include <time.h>
#include <unistd.h>

#include "trace/base/array.h"
#include "trace/base/files/beneath.h"
#include "trace/base/json.h"
#include "trace/base/log.h"
#include "trace/base/text.h"
#include "trace/ovni/event.h"

#define SUFFIX	   ".json"
#define APP	   ".app" /* and a number: an application from 2 on */
#define RANKS_MAX  1000000
#define SINCE_TEXT 64
#define POINTS	   "clock_points" /* of node/NODE.json */

static int by_number(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return x < y ? -1 : x > y;
}

static int by_app(const void *a, const void *b)
{
	const struct job_node *x = a, *y = b;

	return x->app != y->app ? (x->app > y->app) - (x->app < y->app) : strcmp(x->name, y->name);
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

/* Makes room for the application. */
static struct job_app *app_of(struct job *job, uint32_t number)
{
	while (job->napps < number) {
		struct job_app *app = ARRAY_ADD(job->apps, job->napps);

		if (!app)
			return NULL;
		*app = (struct job_app){.nodes_expected = -1, .ranks_expected = -1};
		app->no_file = true;
	}
	return &job->apps[number - 1];
}

static int read_points(struct job_node *node, const struct json *list, const char *file)
{
	size_t n = json_count(list);

	if (!list)
		return 0;
	if (!json_is_array(list) || n > CLOCK_POINTS_MOST) {
		log_error("%s: " POINTS ": not a list of at most %d measurements", file,
			  CLOCK_POINTS_MOST);
		return -EINVAL;
	}
	node->points = calloc(n + 1, sizeof(*node->points));
	if (!node->points)
		return -ENOMEM;
	for (const struct json *p = json_first(list); p; p = json_next(p)) {
		struct clock_point *point = &node->points[node->npoints++];

		if (json_i64(json_key(p, "clock"), &point->clock) &&
		    json_i64(json_key(p, "offset"), &point->offset) &&
		    json_i64(json_key(p, "bound"), &point->bound))
			continue;
		log_error("%s: " POINTS ": measurement %zu has no clock, offset and bound in ns",
			  file, node->npoints);
		return -EINVAL;
	}
	return 0;
}

static int read_node(struct job *job, int dirfd, const char *file)
{
	struct json *json = json_load(dirfd, file);
	const char *why = json_string(json_key(json, "why"));
	struct job_node *node;
	char loom[sizeof("loom.") + JOB_NODE_MAX];
	struct job_app *app;
	struct stat st;
	int32_t number;
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
	node->begin.is = json_i64(json_get(json, "begin.clock"), &node->begin.clock) &&
			 json_i64(json_get(json, "begin.realtime_ns"), &node->begin.realtime);
	(void)json_i64(json_key(json, "since"), &node->since);
	number = expected(json, "app_id");
	node->app = number > 0 && number <= JOB_APPS_MAX ? (uint32_t)number : 1;
	err = read_points(node, json_key(json, POINTS), file);
	if (err || (node->points && !*node->state)) /* of a copy: the clock alone */
		goto out;
	err = -ENOMEM;
	app = app_of(job, node->app);
	if (!app)
		goto out;
	number = expected(json, "ranks"); /* of a job whose launcher has told no recorder */
	app->ranks_expected = number > app->ranks_expected ? number : app->ranks_expected;
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
		qsort(job->nodes, job->nnodes, sizeof(*job->nodes), by_app);
	return err;
}

/* The applications are numbered without gaps. Returns 1 after the last one. */
static int read_app(struct job *job, int dirfd, uint32_t number)
{
	char name[JOB_FILE_MAX];
	struct job_app *app;
	struct json *json;
	struct stat st;

	job_file_name(name, number);
	if (number > JOB_APPS_MAX ||
	    (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) && errno == ENOENT))
		return 1;
	json = json_load(dirfd, name);
	if (!json)
		return -EINVAL;
	app = app_of(job, number);
	if (app) {
		app->no_file = false;
		copy(app->key, sizeof(app->key), json_string(json_key(json, "key")));
		copy(app->job, sizeof(app->job), json_string(json_key(json, "job")));
		app->nodes_expected = expected(json, "nodes");
		app->ranks_expected = expected(json, "ranks");
	}
	json_free(json);
	if (app)
		return 0;
	log_lack("while reading the nodes of a job");
	return -ENOMEM;
}

int job_read(struct job *job, int dirfd)
{
	int err = 0;

	*job = (struct job){0};
	/* also without a first one */
	for (uint32_t number = 1; !err || (err > 0 && number == 2); number++)
		err = read_app(job, dirfd, number);
	if (err > 0)
		err = read_nodes(job, dirfd);
	job->is = job->napps;
	return err;
}

void job_free(struct job *job)
{
	for (size_t i = 0; i < job->nnodes; i++) {
		free(job->nodes[i].why);
		free(job->nodes[i].ranks);
		free(job->nodes[i].points);
	}
	free(job->nodes);
	free(job->apps);
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

int32_t job_expected_nodes(const struct job *job)
{
	int64_t sum = job->napps ? 0 : -1;

	for (size_t i = 0; i < job->napps; i++) {
		int32_t nodes = job->apps[i].nodes_expected;

		sum = nodes < 0 || sum < 0 ? -1 : sum + nodes;
	}
	return sum > INT32_MAX ? -1 : (int32_t)sum;
}

int32_t job_expected_ranks(const struct job *job)
{
	int64_t sum = job->napps ? 0 : -1;

	for (size_t i = 0; i < job->napps; i++) {
		int32_t ranks = job->apps[i].ranks_expected;

		sum = ranks < 0 || sum < 0 ? -1 : sum + ranks;
	}
	return sum > INT32_MAX ? -1 : (int32_t)sum;
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

/* " of application 2", where there are several. */
static const char *of_app(const struct job *job, uint32_t number, char text[32])
{
	text[0] = '\0';
	if (job->napps > 1)
		snprintf(text, 32, " of application %" PRIu32, number);
	return text;
}

/* The ranks that no recorded node has. */
static void put_missing_ranks(const struct job *job, uint32_t number, struct reasons *r)
{
	int32_t *missing = NULL, size = job->apps[number - 1].ranks_expected;
	size_t n = 0;
	char list[256], of[32];
	bool *found;

	if (size <= 0 || size > RANKS_MAX)
		return;
	found = calloc((size_t)size, sizeof(*found));
	for (size_t i = 0; found && i < job->nnodes; i++)
		for (size_t k = 0; k < job->nodes[i].nranks; k++)
			if (job->nodes[i].app == number && job->nodes[i].ranks[k] < size &&
			    strcmp(job->nodes[i].state, "failed"))
				found[job->nodes[i].ranks[k]] = true;
	for (int32_t rank = 0; found && rank < size; rank++) {
		int32_t *added = found[rank] ? NULL : ARRAY_ADD(missing, n);

		if (added)
			*added = rank;
	}
	if (!found)
		put(r, "out of memory (for the ranks of the job)");
	else if (n)
		put(r, "rank%s %s of %" PRId32 "%s %s not recorded", plural(n, "", "s"),
		    job_ranks_text(missing, n, list, sizeof(list)), size, of_app(job, number, of),
		    plural(n, "is", "are"));
	free(missing);
	free(found);
}

/* The nodes of an application that left nothing. */
static void put_missing_nodes(const struct job *job, uint32_t number, struct reasons *r)
{
	int32_t expected = job->apps[number - 1].nodes_expected;
	size_t n = 0;
	char of[32];

	for (size_t i = 0; i < job->nnodes; i++)
		n += job->nodes[i].app == number;
	if (expected > 0 && n < (size_t)expected)
		put(r, "%zu of %" PRId32 " nodes%s left nothing", (size_t)expected - n, expected,
		    of_app(job, number, of));
}

/* " since 1.234 s of its recording", where its recorder was killed. */
static const char *since_text(const struct job_node *node, char text[SINCE_TEXT])
{
	double s = (double)clock_distance(node->begin.clock, node->since) / 1e9;

	*text = '\0';
	if (node->since && node->begin.is)
		snprintf(text, SINCE_TEXT, " since %.3f s of its recording", s);
	return text;
}

static void put_node(const struct job_node *node, struct reasons *r)
{
	char since[SINCE_TEXT];

	if (node->no_loom)
		put(r, "loom.%s is missing", node->name);
	if (!strcmp(node->state, "recording"))
		put(r, "the recorder of node %s has not ended, or was killed%s%s", node->name,
		    node->why ? ": " : "", node->why ? node->why : "");
	else if (strcmp(node->state, "complete"))
		put(r, "node %s is %s%s%s%s", node->name,
		    *node->state ? node->state : "without a state", since_text(node, since),
		    node->why ? ": " : "", node->why ? node->why : "");
}

const char *job_text(const struct job *job, char text[JOB_TEXT])
{
	struct reasons r = {.text = text};
	char name[JOB_FILE_MAX];

	text[0] = '\0';
	for (uint32_t i = 1; i <= job->napps; i++) {
		job_file_name(name, i);
		if (job->apps[i - 1].no_file)
			put(&r, "%s is missing", name);
	}
	for (size_t i = 0; job->is && i < job->nnodes; i++)
		put_node(&job->nodes[i], &r);
	for (uint32_t i = 1; i <= job->napps; i++) {
		put_missing_nodes(job, i, &r);
		put_missing_ranks(job, i, &r);
	}
	return text;
}

/* ---- names ---- */

void job_node_name(char name[JOB_NODE_MAX], uint32_t app)
{
	struct utsname host;

	uname(&host);
	if (app > 1)
		snprintf(name, JOB_NODE_MAX, "%s" APP "%" PRIu32, host.nodename, app);
	else
		snprintf(name, JOB_NODE_MAX, "%s", host.nodename);
	for (char *at = name; *at; at++)
		*at = *at == '/' ? '-' : *at;
}

bool job_is_node(const char *name, const char *node)
{
	size_t n = strlen(node);

	if (strncmp(name, node, n))
		return false;
	name += n;
	return !*name || (!strncmp(name, APP, strlen(APP)) && name[strlen(APP)] &&
			  !name[strlen(APP) + strspn(name + strlen(APP), "0123456789")]);
}

void job_file_name(char name[JOB_FILE_MAX], uint32_t app)
{
	if (app > 1)
		snprintf(name, JOB_FILE_MAX, "job" APP "%" PRIu32 SUFFIX, app);
	else
		snprintf(name, JOB_FILE_MAX, JOB_FILE);
}

bool job_of_process(char id[JOB_ID_MAX])
{
	static const char *const names[] = {"SLURM_JOB_ID", "OVNI_JOB"};
	int n = -1;

	for (size_t i = 0; n < 0 && i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			n = snprintf(id, JOB_ID_MAX, "%s=%s", names[i], value);
	}
	return n > 0 && n < JOB_ID_MAX;
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
	char *text = json_text(json), *temporary, node[JOB_NODE_MAX];
	int fd = -1, err = -ENOMEM;

	job_node_name(node, 1); /* a recorder on another node may have our pid */
	temporary = xasprintf("%s.%s.%ld.new", path, node, (long)getpid());

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

#define NODE_FILE (sizeof(JOB_NODES) + JOB_NODE_MAX + sizeof(SUFFIX))

/* The file of this node that the recorder with this pid has made, whose name goes to `file`; NULL
 * if there is none, or after a message. */
static struct json *load_own(int dirfd, int64_t pid, char file[NODE_FILE])
{
	char node[JOB_NODE_MAX], name[JOB_FILE_MAX];
	struct stat st;

	for (uint32_t app = 1; app <= JOB_APPS_MAX; app++) {
		struct json *json;

		job_file_name(name, app);
		if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW))
			return NULL;
		job_node_name(node, app);
		snprintf(file, NODE_FILE, JOB_NODES "/%s" SUFFIX, node);
		json = fstatat(dirfd, file, &st, AT_SYMLINK_NOFOLLOW) ? NULL
								      : json_load(dirfd, file);
		if (json && json_int(json_get(json, "recorder.pid")) == pid)
			return json;
		json_free(json);
	}
	return NULL;
}

static void replace_own(int dirfd, const char *file, struct json *json)
{
	int err = job_put_file(dirfd, file, json, false);

	if (err)
		log_warn("cannot write '%s': %s", file, strerror(-err));
	json_free(json);
}

/* The clock of the streams of this node, in its time namespace. */
static int64_t node_clock(void)
{
	struct timespec t = {0};

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void job_node_killed(int dirfd, int64_t pid, const char *why)
{
	char file[NODE_FILE], *both;
	struct json *json = load_own(dirfd, pid, file);
	const char *state = json_string(json_key(json, "state")), *where;

	if (!state || (strcmp(state, "recording") && strcmp(state, "copying"))) {
		json_free(json);
		return;
	}
	where = json_string(json_key(json, "why")); /* its streams are, until then */
	both = where ? xasprintf("%s; %s", why, where) : NULL;
	json_put_string(json, "state", "incomplete");
	json_put_i64(json, "since", node_clock());
	json_put_string(json, "why", both ? both : why);
	free(both);
	replace_own(dirfd, file, json);
}

/* ---- the measurements of clocks ---- */

static void put_points(struct json *json, const struct clock_point *points, size_t n)
{
	struct json *list = json_put_array(json, POINTS);

	for (size_t i = 0; i < n; i++) {
		struct json *to = json_put_object(list, NULL);

		json_put_i64(to, "clock", points[i].clock);
		json_put_i64(to, "offset", points[i].offset);
		json_put_i64(to, "bound", points[i].bound);
	}
}

void job_node_put_points(int dirfd, int64_t pid, const struct clock_point *points, size_t n)
{
	char file[NODE_FILE];
	struct json *json = n ? load_own(dirfd, pid, file) : NULL;

	if (!json)
		return;
	put_points(json, points, n);
	replace_own(dirfd, file, json);
}

int job_copy_points(int from_dirfd, int to_dirfd)
{
	struct job job;
	int err;

	log_mute(true);
	err = job_read(&job, from_dirfd);
	log_mute(false);
	if (err == -ENOMEM)
		log_no_memory("while reading the nodes of a job");
	else if (err)
		log_warn("the copy has no " POINTS ", so its clocks are corrected linearly: a file "
			 "in '" JOB_NODES "' is damaged (ovni-info says which)");
	err = err == -ENOMEM ? err : 0;
	for (size_t i = 0; !err && i < job.nnodes; i++) {
		struct json *json = job.nodes[i].npoints ? json_new_object() : NULL;
		char file[NODE_FILE];

		if (!job.nodes[i].npoints)
			continue;
		snprintf(file, sizeof(file), JOB_NODES "/%s" SUFFIX, job.nodes[i].name);
		put_points(json, job.nodes[i].points, job.nodes[i].npoints);
		if (mkdirat(to_dirfd, JOB_NODES, 0755) && errno != EEXIST)
			err = -errno;
		else
			err = job_put_file(to_dirfd, file, json, true);
		if (err)
			log_error("cannot write '%s': %s", file, strerror(-err));
		json_free(json);
	}
	job_free(&job);
	return err;
}
