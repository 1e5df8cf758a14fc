/* SPDX-License-Identifier: MIT */
#include "tools/convert/v1.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/base/log.h"
#include "trace/base/text.h"
#include "trace/base/build_info.h"

#define METADATA     "metadata.json"
#define META_VERSION 1

/* ---- directories ---- */

/* The names in the directory `path` that start with `prefix`, sorted; ended by NULL. */
static int list_names(int fd, const char *path, const char *prefix, char ***names)
{
	int dir_fd = openat(fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = dir_fd < 0 ? NULL : fdopendir(dir_fd);
	struct dirent *entry;
	size_t n = 0;

	*names = calloc(1, sizeof(**names));
	if (!dir || !*names) {
		int err = dir ? -ENOMEM : -errno;

		if (!dir && dir_fd >= 0)
			close(dir_fd);
		if (dir)
			closedir(dir);
		log_error("%s: cannot read the directory: %s", path, strerror(-err));
		return err;
	}
	while ((entry = readdir(dir))) {
		char **grown;

		if (strncmp(entry->d_name, prefix, strlen(prefix)))
			continue;
		grown = realloc(*names, (n + 2) * sizeof(**names));
		if (grown) {
			*names = grown;
			grown[n] = strdup(entry->d_name);
			grown[n + 1] = NULL;
		}
		if (!grown || !grown[n++]) {
			closedir(dir);
			return -ENOMEM;
		}
	}
	closedir(dir);
	for (size_t i = 1; i < n; i++) { /* few, and mostly in order */
		char *name = (*names)[i];
		size_t k = i;

		for (; k && strcmp((*names)[k - 1], name) > 0; k--)
			(*names)[k] = (*names)[k - 1];
		(*names)[k] = name;
	}
	return 0;
}

static void free_names(char **names)
{
	for (size_t i = 0; names && names[i]; i++)
		free(names[i]);
	free(names);
}

/* The positive number after the prefix of `name`, or 0. */
static int32_t number_of(const char *name, size_t prefix)
{
	char *end;
	long v;

	errno = 0;
	v = strtol(name + prefix, &end, 10);
	if (errno || end == name + prefix || *end || v <= 0 || v > INT32_MAX || name[prefix] == '+')
		return 0;
	return (int32_t)v;
}

/* Whether a process of the loom has its metadata; -errno. */
static int has_metadata(int fd, const char *loom)
{
	char **procs = NULL;
	struct stat st;
	int found = 0, err;

	if (fstatat(fd, loom, &st, 0) < 0 || !S_ISDIR(st.st_mode))
		return 0;
	err = list_names(fd, loom, "proc.", &procs);
	if (err)
		goto out;
	for (size_t i = 0; procs[i] && !found; i++) {
		char *meta = xasprintf("%s/%s/" METADATA, loom, procs[i]);

		if (!meta) {
			err = -ENOMEM;
			goto out;
		}
		found = faccessat(fd, meta, F_OK, 0) == 0;
		free(meta);
	}
out:
	free_names(procs);
	return err ? err : found;
}

int v1_looks_like(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char **looms = NULL;
	int found;

	if (fd < 0)
		return -errno;
	found = list_names(fd, ".", "loom.", &looms);
	if (found < 0)
		goto out;
	for (size_t i = 0; looms[i] && !found; i++)
		found = has_metadata(fd, looms[i]);
out:
	free_names(looms);
	close(fd);
	return found;
}

/* ---- metadata ---- */

/* Reports a rule that the metadata breaks. */
static int refuse(const struct v1_process *p, const char *what)
{
	log_error("%s/" METADATA ": %s", p->path, what);
	return -EINVAL;
}

/* Each index from 0 to N - 1 stands once; numbers of the system are not negative, and differ. */
static int check_cpus(const struct v1_process *p)
{
	size_t n = json_count(p->cpus);

	if (!json_is_array(p->cpus) || n == 0)
		return refuse(p, "cpus must be an array of at least one CPU");
	for (const struct json *a = json_first(p->cpus); a; a = json_next(a)) {
		int64_t index = json_int(json_key(a, "index")),
			phyid = json_int(json_key(a, "phyid"));

		if (!json_is_number(json_key(a, "index")) || !json_is_number(json_key(a, "phyid")))
			return refuse(p, "each of cpus must have an index and a phyid");
		if (index < 0 || (size_t)index >= n || phyid < 0)
			return refuse(
				p,
				"the index of a CPU must be from 0 to N-1, its phyid not below 0");
		for (const struct json *b = json_next(a); b; b = json_next(b))
			if (json_int(json_key(b, "index")) == index ||
			    json_int(json_key(b, "phyid")) == phyid)
				return refuse(p, "two CPUs have the same index or phyid");
	}
	return 0;
}

static int check_process(struct v1_process *p)
{
	const struct json *rank = json_key(p->meta, "rank"), *nranks = json_key(p->meta, "nranks");

	if (!json_is_object(p->meta))
		return refuse(p, "it is not an object");
	if (json_int(json_key(p->meta, "version")) != META_VERSION)
		return refuse(p, "version must be 1");
	p->app_id = json_int(json_key(p->meta, "app_id"));
	if (p->app_id <= 0 || p->app_id > INT32_MAX)
		return refuse(p, "app_id must be a positive number");
	p->rank = -1;
	if (rank) {
		p->rank = json_int(rank);
		p->nranks = json_int(nranks);
		if (!json_is_number(rank) || p->rank < 0 || p->nranks <= p->rank ||
		    p->nranks > INT32_MAX)
			return refuse(p, "rank and nranks must be numbers, 0 <= rank < nranks");
	}
	p->cpus = json_key(p->meta, "cpus");
	return p->cpus ? check_cpus(p) : 0;
}

/* Exactly one process of a loom declares the CPUs; all or none of them have ranks. */
static int check_looms(const struct v1 *v1)
{
	for (size_t i = 0; i < v1->nprocesses; i++) {
		const struct v1_process *p = &v1->processes[i];
		size_t declared = 0;

		for (size_t k = 0; k < v1->nprocesses; k++) {
			const struct v1_process *q = &v1->processes[k];

			if (strcmp(p->loom, q->loom))
				continue;
			declared += q->cpus != NULL;
			if ((p->rank < 0) != (q->rank < 0)) {
				log_error("loom.%s: process %d has a rank and process %d has none",
					  p->loom, p->rank < 0 ? q->pid : p->pid,
					  p->rank < 0 ? p->pid : q->pid);
				return -EINVAL;
			}
		}
		if (declared != 1) {
			log_error(
				"loom.%s: %zu of its processes declare the CPUs; exactly one must",
				p->loom, declared);
			return -EINVAL;
		}
	}
	return 0;
}

/* ---- opening ---- */

static int take_thread(struct v1 *v1, uint32_t process, const char *name)
{
	const struct v1_process *p = &v1->processes[process];
	struct v1_thread *threads, *t;

	threads = realloc(v1->threads, (v1->nthreads + 1) * sizeof(*threads));
	if (!threads)
		return -ENOMEM;
	v1->threads = threads;
	t = &threads[v1->nthreads];
	*t = (struct v1_thread){.process = process, .tid = number_of(name, strlen("thread."))};
	if (!t->tid) {
		log_error("%s/%s: the name must be thread. and a positive number", p->path, name);
		return -EINVAL;
	}
	t->path = xasprintf("%s/%s", p->path, name);
	if (!t->path)
		return -ENOMEM;
	v1->nthreads++;
	return 0;
}

static int take_threads(struct v1 *v1, uint32_t process)
{
	char **names = NULL;
	int err = list_names(v1->fd, v1->processes[process].path, "thread.", &names);

	if (err)
		goto out;
	for (size_t i = 0; names[i]; i++) {
		err = take_thread(v1, process, names[i]);
		if (err)
			goto out;
	}
out:
	free_names(names);
	return err;
}

static int take_process(struct v1 *v1, const char *loom, const char *name)
{
	struct v1_process *grown, *p;
	char *meta;
	int err;

	grown = realloc(v1->processes, (v1->nprocesses + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	v1->processes = grown;
	p = &grown[v1->nprocesses++];
	*p = (struct v1_process){.pid = number_of(name, strlen("proc."))};
	p->loom = strdup(loom + strlen("loom."));
	p->path = xasprintf("%s/%s", loom, name);
	if (!p->loom || !p->path)
		return -ENOMEM;
	if (!p->pid) {
		log_error("%s: the name must be proc. and a positive number", p->path);
		return -EINVAL;
	}
	meta = xasprintf("%s/" METADATA, p->path);
	if (!meta)
		return -ENOMEM;
	p->meta = json_load(v1->fd, meta);
	free(meta);
	err = p->meta ? check_process(p) : -EINVAL;
	return err ? err : take_threads(v1, (uint32_t)(v1->nprocesses - 1));
}

static int take_loom(struct v1 *v1, const char *loom)
{
	char **procs = NULL;
	int err = list_names(v1->fd, loom, "proc.", &procs);

	if (err)
		goto out;
	for (size_t i = 0; procs[i]; i++) {
		err = take_process(v1, loom, procs[i]);
		if (err)
			goto out;
	}
out:
	free_names(procs);
	return err;
}

int v1_open(struct v1 *v1, const char *path)
{
	char **looms = NULL;
	int err;

	memset(v1, 0, sizeof(*v1));
	v1->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (v1->fd < 0) {
		err = -errno;
		log_error("cannot open '%s': %s", path, strerror(-err));
		return err;
	}
	err = list_names(v1->fd, ".", "loom.", &looms);
	if (err)
		goto out;
	for (size_t i = 0; looms[i]; i++) {
		err = take_loom(v1, looms[i]);
		if (err)
			goto out;
	}
	err = check_looms(v1);
out:
	free_names(looms);
	return err;
}

void v1_close(struct v1 *v1)
{
	for (size_t i = 0; i < v1->nprocesses; i++) {
		free(v1->processes[i].loom);
		free(v1->processes[i].path);
		json_free(v1->processes[i].meta);
	}
	for (size_t i = 0; i < v1->nthreads; i++)
		free(v1->threads[i].path);
	free(v1->processes);
	free(v1->threads);
	if (v1->fd >= 0)
		close(v1->fd);
	memset(v1, 0, sizeof(*v1));
	v1->fd = -1;
}

/* ---- version 3 ---- */

static bool put_cpus(struct json *doc, const struct json *cpus)
{
	struct json *array = json_put_array(doc, "ovni.loom_cpus");
	bool ok = array;

	for (const struct json *node = json_first(cpus); ok && node; node = json_next(node)) {
		struct json *cpu = json_put_object(array, NULL);

		ok = cpu && json_put_int(cpu, "index", json_int(json_key(node, "index"))) &&
		     json_put_int(cpu, "phyid", json_int(json_key(node, "phyid")));
	}
	return ok;
}

struct json *v1_describe(const struct v1 *v1, const struct v1_thread *thread)
{
	const struct v1_process *p = &v1->processes[thread->process];
	struct json *doc = json_new_object();
	bool ok = doc && json_put_int(doc, "version", 3) &&
		  json_put_string(doc, "ovni.lib.version", version_string) &&
		  json_put_string(doc, "ovni.lib.commit", "converted from version 1") &&
		  json_put_string(doc, "ovni.part", "thread") &&
		  json_put_int(doc, "ovni.tid", thread->tid) &&
		  json_put_int(doc, "ovni.pid", p->pid) &&
		  json_put_string(doc, "ovni.loom", p->loom) &&
		  json_put_int(doc, "ovni.app_id", p->app_id);

	if (ok && p->rank >= 0)
		ok = json_put_int(doc, "ovni.rank", p->rank) &&
		     json_put_int(doc, "ovni.nranks", p->nranks);
	if (ok && p->cpus)
		ok = put_cpus(doc, p->cpus);
	if (ok && json_put_object(doc, "ovni.require") && json_put_int(doc, "ovni.finished", 1))
		return doc;
	json_free(doc);
	return NULL;
}
