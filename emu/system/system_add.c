/* SPDX-License-Identifier: MIT */
/* system_add: what the metadata of one stream says of its thread, process and loom (see system.h).
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/system/system_load.h"
#include "trace/base/log.h"

int system_compare_entries(const void *a, const void *b)
{
	const struct loom_entry *x = a, *y = b;

	return strcmp(x->name, y->name);
}

int system_init(struct system *sys, size_t nstreams)
{
	struct system_load *load = calloc(1, sizeof(*load));

	memset(sys, 0, sizeof(*sys));
	sys->load = load;
	sys->nstreams = nstreams;
	sys->thread_of_stream = calloc(nstreams + 1, sizeof(*sys->thread_of_stream));
	if (load) {
		load->facts = calloc(nstreams + 1, sizeof(*load->facts));
		load->paths = calloc(nstreams + 1, sizeof(*load->paths));
	}
	if (!load || !load->facts || !load->paths || !sys->thread_of_stream) {
		log_error("no memory for %zu streams", nstreams);
		return -ENOMEM;
	}
	return 0;
}

/* The loom of this name, added if it is new; its number in *found. */
static int find_loom(struct system_load *load, const char *name, uint32_t *found)
{
	struct loom_entry key = {.name = name}, *entry;
	void **node;

	if (load->nlooms && strcmp(load->looms[load->last_loom].name, name) == 0) {
		*found = load->last_loom;
		return 0;
	}
	node = tfind(&key, &load->by_name, system_compare_entries);
	if (node) {
		*found = load->last_loom = (*(struct loom_entry **)node)->found;
		return 0;
	}
	if (load->nlooms == load->room) {
		uint32_t room = load->room ? 2 * load->room : 8;
		struct loom *looms = realloc(load->looms, room * sizeof(*looms));

		if (!looms)
			return -ENOMEM;
		load->looms = looms;
		load->room = room;
	}
	entry = malloc(sizeof(*entry));
	if (!entry)
		return -ENOMEM;
	memset(&load->looms[load->nlooms], 0, sizeof(load->looms[0]));
	entry->name = load->looms[load->nlooms].name = strdup(name);
	entry->found = load->looms[load->nlooms].found = load->nlooms;
	if (!entry->name || !tsearch(entry, &load->by_name, system_compare_entries)) {
		free(load->looms[load->nlooms].name);
		free(entry);
		return -ENOMEM;
	}
	*found = load->last_loom = load->nlooms++;
	return 0;
}

static int add_pair(struct loom *loom, uint32_t n, int32_t phyid, int32_t index)
{
	/* Streams of a loom tend to repeat the same list. */
	if (n < loom->npairs && loom->pairs[n].phyid == phyid && loom->pairs[n].index == index)
		return 0;
	if ((loom->npairs & (loom->npairs - 1)) == 0) {
		size_t room = loom->npairs ? 2ul * loom->npairs : 1;
		struct cpu_pair *pairs = realloc(loom->pairs, room * sizeof(*pairs));

		if (!pairs)
			return -ENOMEM;
		loom->pairs = pairs;
	}
	loom->pairs[loom->npairs] = (struct cpu_pair){phyid, index, loom->npairs};
	loom->npairs++;
	return 0;
}

static int add_cpus(struct loom *loom, const struct json *meta, const char *path)
{
	const struct json *cpus = json_get(meta, "ovni.loom_cpus"), *c;
	uint32_t n = 0;

	if (!json_is_array(cpus))
		return 0;
	if (!json_first(cpus)) {
		log_error("%s: ovni.loom_cpus is empty: leave it out or list the CPUs", path);
		return -EINVAL;
	}
	for (c = json_first(cpus); c; c = json_next(c), n++) {
		int64_t phyid, index;
		int err;

		if (!json_is_object(c)) {
			log_error("%s: element %" PRIu32 " of ovni.loom_cpus is not an object",
				  path, n);
			return -EINVAL;
		}
		index = json_int(json_key(c, "index"));
		phyid = json_int(json_key(c, "phyid"));
		if (index < 0 || index > INT32_MAX || phyid < 0 || phyid > INT32_MAX) {
			log_error("%s: ovni.loom_cpus has a CPU with index %" PRIi64
				  " and phyid %" PRIi64 ": both must be from 0 to %d",
				  path, index, phyid, INT32_MAX);
			return -ERANGE;
		}
		err = add_pair(loom, n, (int32_t)phyid, (int32_t)index);
		if (err) {
			log_error("%s: no memory for the CPUs", path);
			return err;
		}
	}
	return 0;
}

/* A required integer > 0. */
static int get_id(const struct json *meta, const char *key, const char *path, int32_t *out)
{
	const struct json *node = json_get(meta, key);
	int64_t value = json_int(node);

	if (!json_is_number(node) || value <= 0 || value > INT32_MAX) {
		log_error("%s: %s is %s: it must be a number from 1 to %d", path, key,
			  !node			 ? "missing"
			  : json_is_number(node) ? "out of range"
						 : "not a number",
			  INT_MAX);
		return -EINVAL;
	}
	*out = (int32_t)value;
	return 0;
}

static int get_rank(const struct json *meta, const char *path, struct stream_facts *facts)
{
	const struct json *node = json_get(meta, "ovni.rank");
	const struct json *total = json_get(meta, "ovni.nranks");
	int64_t rank = json_int(node), nranks = json_int(total);

	facts->rank = -1;
	if (!node)
		return 0;
	if (rank < 0 || rank >= INT32_MAX) {
		log_error("%s: ovni.rank is %" PRIi64 ": it must be from 0 to %d", path, rank,
			  INT32_MAX - 1);
		return -EINVAL;
	}
	if (!total || nranks <= 0 || nranks > INT32_MAX) {
		log_error("%s: ovni.rank needs ovni.nranks, which must be from 1 to %d", path,
			  INT32_MAX);
		return -EINVAL;
	}
	if (rank >= nranks) {
		log_error("%s: ovni.rank is %" PRIi64 ", but there are %" PRIi64 " ranks", path,
			  rank, nranks);
		return -EINVAL;
	}
	facts->rank = (int32_t)rank;
	facts->nranks = (int32_t)nranks;
	return 0;
}

/* Where not all processes of a loom have a rank, only `bpf` tells those there are. It is for
 * people. */
static void get_shown_rank(const struct json *meta, struct stream_facts *facts)
{
	int64_t rank = json_int(json_get(meta, "bpf.rank"));

	facts->shown_rank = facts->rank;
	if (rank >= 0 && rank < INT32_MAX && json_is_number(json_get(meta, "bpf.rank")))
		facts->shown_rank = (int32_t)rank;
}

static int get_app_id(const struct json *meta, const char *path, struct stream_facts *facts)
{
	const struct json *node = json_get(meta, "ovni.app_id");

	return node ? get_id(meta, "ovni.app_id", path, &facts->app_id) : 0;
}

/* The library that wrote the stream: streams of several are told of once. */
static int check_lib(struct system_load *load, const struct json *meta, const char *path)
{
	const char *version = json_string(json_get(meta, "ovni.lib.version"));
	const char *commit = json_string(json_get(meta, "ovni.lib.commit"));
	char *lib;

	if (!version || !commit) {
		log_error("%s: ovni.lib.version or ovni.lib.commit is missing", path);
		return -EINVAL;
	}
	if (asprintf(&lib, "%s (commit %s)", version, commit) < 0) {
		log_error("%s: no memory for the version of its library", path);
		return -ENOMEM;
	}
	if (!load->lib) {
		load->lib = lib;
		return 0;
	}
	if (!load->mixed_libs && strcmp(lib, load->lib) != 0) {
		log_warn("%s: written by version %s of the library, streams before it by %s", path,
			 lib, load->lib);
		load->mixed_libs = true;
	}
	free(lib);
	return 0;
}

int system_add(struct system *sys, size_t stream, const struct json *meta, const char *path)
{
	struct system_load *load = sys->load;
	struct stream_facts *facts = &load->facts[load->nfacts];
	const char *part = json_string(json_get(meta, "ovni.part"));
	const char *name = json_string(json_get(meta, "ovni.loom"));
	const char *title;
	int err;

	load->paths[stream] = path;
	if (!part) {
		log_error("%s: ovni.part is missing: each stream must say what it belongs to",
			  path);
		return -EINVAL;
	}
	if (strcmp(part, "thread") != 0) {
		log_warn("%s: left out, its part is '%s' and not 'thread'", path, part);
		return 0;
	}
	memset(facts, 0, sizeof(*facts));
	facts->stream = (uint32_t)stream;
	if (!name || strchr(name, '/')) {
		log_error("%s: ovni.loom is %s", path,
			  name ? "a name with a '/', which is not allowed" : "missing");
		return -EINVAL;
	}
	if ((err = get_id(meta, "ovni.pid", path, &facts->pid)) ||
	    (err = get_app_id(meta, path, facts)) || (err = get_rank(meta, path, facts)) ||
	    (err = get_id(meta, "ovni.tid", path, &facts->tid)))
		return err;
	if (json_number(json_get(meta, "ovni.finished")) != 1) {
		log_error("%s: ovni.finished is not 1: the stream was not completed", path);
		return -EINVAL;
	}
	err = check_lib(load, meta, path);
	if (err)
		return err;
	err = find_loom(load, name, &facts->loom);
	if (err) {
		log_error("%s: no memory for the loom", path);
		return err;
	}
	err = add_cpus(&load->looms[facts->loom], meta, path);
	if (err)
		return err;
	get_shown_rank(meta, facts);
	title = json_string(json_get(meta, "bpf.name"));
	if (!title)
		title = json_string(json_get(meta, "accel.label"));
	if (title && !(facts->name = strdup(title))) {
		log_error("%s: no memory for its name", path);
		return -ENOMEM;
	}
	load->nfacts++;
	return 0;
}
