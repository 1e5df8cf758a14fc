/* SPDX-License-Identifier: MIT */
/* job_dir: see job_dir.h. */
#include "user/sink/job_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "trace/base/build_info.h"
#include "trace/base/json.h"
#include "trace/base/log.h"
#include "trace/base/text.h"
#include "trace/ovni/job_file.h"
#include "user/config/job_members.h"
#include "user/host/clock.h"

#define CLOCK_TABLE "clock-offsets.txt"
#define LOOM	    "loom."

static bool begun;   /* this recorder has written the file of its node: it says the state itself */
static bool refused; /* the directory is not ours: nothing more is written there */
static uint32_t app; /* the number of our step in the directory; 0: not known yet */

/* ---- job.json ---- */

/* Is the file that of our step? Returns 0; 1: of another step of our job; or -errno after one
 * message. */
static int compare(int dirfd, const char *path, const char *name, const char *key)
{
	struct json *json = json_load(dirfd, name);
	const char *other = json_string(json_key(json, "key"));
	const char *job = json_string(json_key(json, "job"));
	char ours[JOB_ID_MAX];
	int err = 1;

	if (!json)
		return -EINVAL;
	if (other && !strcmp(other, key)) {
		err = 0;
	} else if (!other || !job || !job_of_process(ours) || strcmp(job, ours)) {
		log_error("'%s' is the trace of another job (%s): choose another directory with -o",
			  path, other ? other : "without a key");
		err = -EEXIST;
	}
	json_free(json);
	return err;
}

static int make_job(int dirfd, const char *name, const struct job_plan *plan)
{
	struct json *json = json_new_object(), *command;
	char id[JOB_ID_MAX];
	struct timespec t;
	int err;

	clock_gettime(CLOCK_REALTIME, &t);
	json_put_int(json, "version", JOB_VERSION);
	json_put_string(json, "key", plan->key);
	if (job_of_process(id))
		json_put_string(json, "job", id);
	json_put_string(json, "launcher", plan->launcher);
	if (plan->size > 0)
		json_put_int(json, "ranks", plan->size);
	if (plan->nodes > 0)
		json_put_int(json, "nodes", plan->nodes);
	command = plan->command ? json_put_array(json, "command") : NULL;
	for (char **arg = plan->command; command && *arg; arg++)
		json_put_string(command, NULL, *arg);
	json_put_i64(json, "start_ns", t.tv_sec * INT64_C(1000000000) + t.tv_nsec);
	err = job_put_file(dirfd, name, json, true);
	json_free(json);
	return err;
}

/* Finds our step in the directory, or adds it: the first number that is free is ours if its file
 * can be made. */
static int find_app(int dirfd, const char *path, const struct job_plan *plan)
{
	char name[JOB_FILE_MAX];
	int err = 1;

	for (uint32_t number = 1; err > 0 && number <= JOB_APPS_MAX; number++) {
		struct stat st;

		job_file_name(name, number);
		err = fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) ? make_job(dirfd, name, plan)
								     : -EEXIST;
		if (err && err != -EEXIST)
			log_error("cannot write '%s/%s': %s", path, name, strerror(-err));
		if (err == -EEXIST)
			err = compare(dirfd, path, name, plan->key);
		if (!err)
			app = number;
	}
	if (err <= 0)
		return err;
	log_error("'%s' has %d steps of this job, which is the limit: choose another directory "
		  "with -o",
		  path, JOB_APPS_MAX);
	return -EEXIST;
}

/* May the first recorder take this directory? It is empty, or has the first measurement of the
 * clocks. Also refuses a node whose name differs from ours only after the first dot. */
static int look_around(int fd, const char *path, const char *node, bool is_job)
{
	size_t length = strcspn(node, ".");
	int err = 0, copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;

	if (!dir) {
		err = -errno;
		if (copy >= 0)
			close(copy);
		log_error("cannot read the directory '%s': %s", path, strerror(-err));
		return err;
	}
	while (!err && (entry = readdir(dir))) {
		const char *name = entry->d_name;

		if (!is_job && *name != '.' && strcmp(name, CLOCK_TABLE) &&
		    strncmp(name, JOB_FILE, strlen(JOB_FILE)))
			err = -ENOTEMPTY;
		if (strncmp(name, LOOM, strlen(LOOM)))
			continue;
		name += strlen(LOOM);
		if (strcspn(name, ".") == length && !strncmp(name, node, length) &&
		    !job_is_node(name, node)) {
			log_error("the nodes %s and %s have the same name up to the first dot: the "
				  "table of clock offsets needs different ones",
				  name, node);
			err = -EINVAL;
		}
	}
	closedir(dir);
	return err;
}

/* Checks that the directory is empty or of our job, and adds our step to it. */
static int join(const struct output_dir *output, const struct job_plan *plan)
{
	char node[JOB_NODE_MAX];
	struct stat st;
	int fd = output->fd, err;

	job_node_name(node, 1);
	err = look_around(fd, output->path, node, !fstatat(fd, JOB_FILE, &st, AT_SYMLINK_NOFOLLOW));
	/* another node may have begun meanwhile */
	if (err == -ENOTEMPTY && !fstatat(fd, JOB_FILE, &st, AT_SYMLINK_NOFOLLOW))
		err = 0;
	if (err == -ENOTEMPTY)
		log_error("'%s' exists, and is not of this job: choose another directory with -o",
			  output->path);
	if (!err)
		err = find_app(fd, output->path, plan);
	refused |= err != 0;
	return err;
}

int job_dir_open(struct output_dir *output, const char *path, const struct options *options)
{
	char node[JOB_NODE_MAX], loom[sizeof(LOOM) + JOB_NODE_MAX];
	int err = output_dir_join(output, path);

	if (err)
		return err;
	err = join(output, options->job_plan);
	if (err)
		return err;
	job_node_name(node, app);
	snprintf(loom, sizeof(loom), LOOM "%s", node);
	if (mkdirat(output->fd, JOB_NODES, 0755) && errno != EEXIST) {
		err = -errno;
		log_error("cannot create '%s/" JOB_NODES "': %s", output->path, strerror(-err));
		return err;
	}
	if (!mkdirat(output->fd, loom, 0755))
		return 0;
	err = -errno;
	refused = err == -EEXIST;
	log_error("cannot create '%s/%s': %s", output->path, loom,
		  err == -EEXIST ? "this node has been recorded there already" : strerror(-err));
	return err;
}

uint32_t job_dir_app(void)
{
	return app;
}

/* ---- node/NODE.json ---- */

static void put_pair(struct json *json, const char *key, const struct window_edge *edge,
		     uint64_t clock)
{
	struct json *pair;

	if (!edge || !edge->clock || !clock)
		return;
	pair = json_put_object(json, key);
	json_put_u64(pair, "clock", clock_in_trace(clock));
	json_put_i64(pair, "realtime_ns", window_edge_realtime(edge, clock));
}

int job_dir_write_node(int dirfd, const struct options *options, const struct job_node_facts *f)
{
	const struct job_plan *plan = options->job_plan;
	struct json *json = json_new_object(), *list;
	char node[JOB_NODE_MAX], path[sizeof(JOB_NODES) + JOB_NODE_MAX + 8];
	struct job_member member;
	int32_t size = -1;
	int err;

	job_node_name(node, app);
	snprintf(path, sizeof(path), JOB_NODES "/%s.json", node);
	json_put_int(json, "version", JOB_VERSION);
	json_put_int(json, "app_id", app);
	json_put_string(json, "state", f->state);
	json_put_string(json, "why", f->why);
	json_put_string(json, "stopped_by", f->stopped_by);
	json_put_string(json, "boot_id", f->boot_id);
	json_put_string(json, "kernel", f->kernel);
	json_put_int(json, "recorder.pid", getpid());
	json_put_string(json, "recorder.version", version_string);
	json_put_string(json, "recorder.commit", version_commit);
	put_pair(json, "begin", f->begin, f->t0);
	put_pair(json, "end", f->end, f->t1);
	if (plan->members)
		(void)job_members_count(plan->members, &size);
	if (size > 0)
		json_put_int(json, "ranks", size);
	list = json_put_array(json, "members");
	for (size_t i = 0; plan->members && job_members_get(plan->members, i, &member); i++) {
		struct json *to = member.again ? NULL : json_put_object(list, NULL);

		if (!to)
			continue;
		json_put_int(to, "pid", member.pid);
		if (member.rank >= 0)
			json_put_int(to, "rank", member.rank);
	}
	json_put_u64(json, "threads", f->threads);
	json_put_u64(json, "events", f->events);
	json_put_u64(json, "lost", f->lost);
	err = job_put_file(dirfd, path, json, false);
	json_free(json);
	begun |= !err;
	if (err)
		log_error("cannot write '%s': %s", path, strerror(-err));
	return err;
}

void job_dir_failed(const struct options *options)
{
	const struct job_node_facts facts = {.state = "failed", .why = log_first_error()};
	struct output_dir output;

	if (refused || begun || output_dir_join(&output, options->output))
		return;
	/* it may have failed before the directory was opened */
	if (app || !join(&output, options->job_plan)) {
		if (mkdirat(output.fd, JOB_NODES, 0755) && errno != EEXIST)
			log_warn("'%s' does not say that this node has failed: %s", output.path,
				 strerror(errno));
		else
			(void)!job_dir_write_node(output.fd, options, &facts);
	}
	output_dir_close(&output);
}

void job_dir_killed(const char *path, int64_t pid, const char *why)
{
	struct output_dir output;

	if (output_dir_join(&output, path))
		return;
	job_node_killed(output.fd, pid, why);
	output_dir_close(&output);
}
