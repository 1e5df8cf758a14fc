/* SPDX-License-Identifier: MIT */
/* system: makes looms, processes, threads and CPUs from metadata (see system.h). */
#include "emu/system/system.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/array.h"
#include "trace/base/log.h"
#include "trace/ovni/job_file.h"
#include "trace/ovni/trace.h"

/*
 * The data between system_add() and system_finish(). Invariant: looms and streams are in the order
 * of discovery, which breaks ties.
 */
struct cpu_pair { /* one element of ovni.loom_cpus */
	int32_t phyid, index;
	uint32_t found;
};

struct stream_info {	       /* metadata of one stream: its thread, process and loom */
	uint32_t stream, loom; /* loom: order of discovery */
	int32_t pid, tid;
	int32_t app_id, rank, nranks; /* 0, -1, 0 if not given */
	int32_t shown_rank;	      /* rank, or bpf.rank */
	char *name;
};

struct system_load {
	struct stream_info *streams;
	size_t nstreams;
	struct loom *looms; /* in order of discovery */
	uint32_t nlooms;
	const char **paths; /* of the streams; the caller owns them */
	char *lib;	    /* library of the first stream, NULL before it */
	bool mixed_libs;    /* the warning about another library was logged */
};

/* ---- the metadata of one stream ---- */

int system_init(struct system *sys, size_t nstreams)
{
	struct system_load *load = calloc(1, sizeof(*load));

	memset(sys, 0, sizeof(*sys));
	sys->load = load;
	sys->thread_of_stream = calloc(nstreams + 1, sizeof(*sys->thread_of_stream));
	if (load) {
		load->streams = calloc(nstreams + 1, sizeof(*load->streams));
		load->paths = calloc(nstreams + 1, sizeof(*load->paths));
	}
	if (!load || !load->streams || !load->paths || !sys->thread_of_stream)
		return log_no_memory("for %zu streams", nstreams);
	return 0;
}

/*
 * Stores the number of the loom of this name, added if it is new, in *found. The streams of a loom
 * are neighbours, so it is mostly the last one.
 */
static int find_loom(struct system_load *load, const char *name, uint32_t *found)
{
	struct loom *loom;
	char *copy;

	for (uint32_t i = load->nlooms; i-- > 0;) {
		if (strcmp(load->looms[i].name, name) == 0) {
			*found = i;
			return 0;
		}
	}
	copy = strdup(name);
	loom = copy ? ARRAY_ADD(load->looms, load->nlooms) : NULL;
	if (!loom) {
		free(copy);
		return -ENOMEM;
	}
	*found = load->nlooms - 1;
	*loom = (struct loom){.name = copy, .found = *found};
	return 0;
}

static int add_pair(struct loom *loom, uint32_t n, int32_t phyid, int32_t index)
{
	struct cpu_pair *pair;

	/* streams of a loom tend to repeat the same list */
	if (n < loom->npairs && loom->pairs[n].phyid == phyid && loom->pairs[n].index == index)
		return 0;
	pair = ARRAY_ADD(loom->pairs, loom->npairs);
	if (!pair)
		return -ENOMEM;
	*pair = (struct cpu_pair){phyid, index, loom->npairs - 1};
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
		if (err)
			return log_no_memory("for the CPUs of %s", path);
	}
	return 0;
}

/* Reads a required integer > 0. */
static int get_id(const struct json *meta, const char *key, const char *path, int32_t *out)
{
	const struct json *node = json_get(meta, key);
	int64_t value = json_int(node);
	const char *fault = NULL;

	if (!node)
		fault = "missing";
	else if (!json_is_number(node))
		fault = "not a number";
	else if (value <= 0 || value > INT32_MAX)
		fault = "out of range";
	if (fault) {
		log_error("%s: %s is %s: it must be a number from 1 to %d", path, key, fault,
			  INT_MAX);
		return -EINVAL;
	}
	*out = (int32_t)value;
	return 0;
}

static int get_rank(const struct json *meta, const char *path, struct stream_info *info)
{
	const struct json *node = json_get(meta, "ovni.rank");
	const struct json *total = json_get(meta, "ovni.nranks");
	int64_t rank = json_int(node), nranks = json_int(total);

	info->rank = -1;
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
	info->rank = (int32_t)rank;
	info->nranks = (int32_t)nranks;
	return 0;
}

/* The rank in the names of rows: bpf.rank has it where not all processes of a loom have a rank. */
static void get_shown_rank(const struct json *meta, struct stream_info *info)
{
	int64_t rank = json_int(json_get(meta, "bpf.rank"));

	info->shown_rank = info->rank;
	if (rank >= 0 && rank < INT32_MAX && json_is_number(json_get(meta, "bpf.rank")))
		info->shown_rank = (int32_t)rank;
}

static int get_app_id(const struct json *meta, const char *path, struct stream_info *info)
{
	const struct json *node = json_get(meta, "ovni.app_id");

	return node ? get_id(meta, "ovni.app_id", path, &info->app_id) : 0;
}

/* Checks the library of the stream; warns once about streams of different libraries. */
static int check_lib(struct system_load *load, const struct json *meta, const char *path)
{
	const char *version = json_string(json_get(meta, "ovni.lib.version"));
	const char *commit = json_string(json_get(meta, "ovni.lib.commit"));
	char *lib;

	if (!version || !commit) {
		log_error("%s: ovni.lib.version or ovni.lib.commit is missing", path);
		return -EINVAL;
	}
	if (asprintf(&lib, "%s (commit %s)", version, commit) < 0)
		return log_no_memory("for the version of its library of %s", path);
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

int system_add_cpus(struct system *sys, const struct json *meta, const char *path)
{
	const char *name = json_string(json_get(meta, "ovni.loom"));
	uint32_t loom;

	if (!name)
		return 0;
	if (find_loom(sys->load, name, &loom))
		return log_no_memory("for the loom of %s", path);
	return add_cpus(&sys->load->looms[loom], meta, path);
}

int system_add(struct system *sys, size_t stream, const struct json *meta, const char *path)
{
	struct system_load *load = sys->load;
	struct stream_info *info = &load->streams[load->nstreams];
	const char *part = json_string(json_get(meta, "ovni.part"));
	const char *name = json_string(json_get(meta, "ovni.loom"));
	const char *title;
	int err;

	load->paths[stream] = path;
	if (!part) {
		log_error("%s: ovni.part is missing: it must be 'thread'", path);
		return -EINVAL;
	}
	if (strcmp(part, "thread") != 0) {
		log_warn("%s: left out: ovni.part is '%s', not 'thread'", path, part);
		return 0;
	}
	memset(info, 0, sizeof(*info));
	info->stream = (uint32_t)stream;
	if (!name || strchr(name, '/')) {
		log_error("%s: ovni.loom is %s", path,
			  name ? "a name with a '/', which is not allowed" : "missing");
		return -EINVAL;
	}
	/* first: the loom is known, though all of its streams may be left out */
	err = find_loom(load, name, &info->loom);
	if (err)
		return log_no_memory("for the loom of %s", path);
	err = get_id(meta, "ovni.pid", path, &info->pid);
	if (err)
		return err;
	err = get_app_id(meta, path, info);
	if (err)
		return err;
	err = get_rank(meta, path, info);
	if (err)
		return err;
	err = get_id(meta, "ovni.tid", path, &info->tid);
	if (err)
		return err;
	if (json_number(json_get(meta, "ovni.finished")) != 1) {
		log_error("%s: ovni.finished is not 1: the stream was not completed", path);
		return -EINVAL;
	}
	err = check_lib(load, meta, path);
	if (err)
		return err;
	err = add_cpus(&load->looms[info->loom], meta, path);
	if (err)
		return err;
	get_shown_rank(meta, info);
	title = json_string(json_get(meta, "bpf.name"));
	if (!title)
		title = json_string(json_get(meta, "accel.label"));
	if (title && !(info->name = strdup(title)))
		return log_no_memory("for the name of %s", path);
	load->nstreams++;
	return 0;
}

/* ---- CPUs of a loom ---- */

/* qsort() of a list that may be empty. */
static void sort(void *list, size_t n, size_t size, int (*compare)(const void *, const void *))
{
	if (n > 1)
		qsort(list, n, size, compare);
}

static int compare_pairs(const void *a, const void *b)
{
	const struct cpu_pair *x = a, *y = b;

	if (x->phyid != y->phyid)
		return x->phyid < y->phyid ? -1 : 1;
	return x->found < y->found ? -1 : x->found > y->found;
}

/* Sorts the pairs by phyid and removes repeated ones. */
static int merge_pairs(struct loom *loom)
{
	struct cpu_pair *pairs = loom->pairs;
	uint32_t n = 0;

	if (!loom->npairs) {
		log_error("loom %s has no CPUs: no stream of it has ovni.loom_cpus", loom->name);
		return -EINVAL;
	}
	sort(pairs, loom->npairs, sizeof(*pairs), compare_pairs);
	for (uint32_t i = 0; i < loom->npairs; i++) {
		if (!n || pairs[n - 1].phyid != pairs[i].phyid) {
			pairs[n++] = pairs[i];
		} else if (pairs[n - 1].index != pairs[i].index) {
			log_error("loom %s: the CPU with phyid %" PRIi32 " has index %" PRIi32
				  " in one stream and %" PRIi32 " in another",
				  loom->name, pairs[i].phyid, pairs[n - 1].index, pairs[i].index);
			return -EINVAL;
		}
	}
	loom->ncpus = loom->npairs = n;
	return 0;
}

/* Checks the indices of the CPUs of a loom and places them in sys->cpus, from `cpu` on. */
static int place_cpus(struct system *sys, struct loom *loom, struct cpu *cpu)
{
	loom->cpus = cpu;
	loom->by_index = calloc(loom->ncpus, sizeof(struct cpu *));
	if (!loom->by_index)
		return log_no_memory("for the CPUs");
	for (uint32_t i = 0; i <= loom->ncpus; i++, cpu++) {
		bool virtual = i == loom->ncpus;

		cpu->loom = loom;
		cpu->phyid = virtual ? -1 : loom->pairs[i].phyid;
		cpu->cpu_index = virtual ? -1 : loom->pairs[i].index;
		cpu->index = (uint32_t)(cpu - sys->cpus);
		cpu->physical = virtual ? UINT32_MAX : sys->nphysical++;
		cpu->last_count = -1;
		prv_row_init(&cpu->row, cpu->index + 1);
		if (virtual)
			continue;
		if ((uint32_t)cpu->cpu_index >= loom->ncpus || loom->by_index[cpu->cpu_index]) {
			log_error("loom %s: CPU index %" PRIi32 " is %s: the %" PRIu32
				  " CPUs must have the indices 0 to %" PRIu32,
				  loom->name, cpu->cpu_index,
				  (uint32_t)cpu->cpu_index >= loom->ncpus ? "out of range"
									  : "used twice",
				  loom->ncpus, loom->ncpus - 1);
			return -EINVAL;
		}
		loom->by_index[cpu->cpu_index] = cpu;
	}
	return 0;
}

/* ---- processes and threads ---- */

static int by_process(const void *a, const void *b)
{
	const struct stream_info *x = a, *y = b;

	if (x->loom != y->loom)
		return x->loom < y->loom ? -1 : 1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->stream < y->stream ? -1 : x->stream > y->stream;
}

/* Merges the metadata of the streams [first, last) of one process. */
static int merge_process(struct system_load *load, struct process *process,
			 const struct stream_info *first, const struct stream_info *last)
{
	process->pid = first->pid;
	process->rank = process->shown_rank = -1;
	for (const struct stream_info *f = first; f < last; f++) {
		const char *path = load->paths[f->stream];

		if (f > first && f->tid == f[-1].tid) {
			log_error("%s: thread %" PRIi32 " of process %" PRIi32 " is also in %s",
				  path, f->tid, f->pid, load->paths[f[-1].stream]);
			return -EINVAL;
		}
		if (f->app_id && process->app_id && f->app_id != process->app_id) {
			log_error("%s: ovni.app_id is %" PRIi32 ", but %" PRIi32
				  " in other streams of process %" PRIi32,
				  path, f->app_id, process->app_id, f->pid);
			return -EINVAL;
		}
		if (f->app_id)
			process->app_id = f->app_id;
		if (f->shown_rank >= 0)
			process->shown_rank = f->shown_rank;
		if (f->rank < 0)
			continue;
		if (process->rank >= 0 &&
		    (process->rank != f->rank || process->nranks != f->nranks)) {
			log_error("%s: rank %" PRIi32 " of %" PRIi32 ", but %" PRIi32 " of %" PRIi32
				  " in other streams of process %" PRIi32,
				  path, f->rank, f->nranks, process->rank, process->nranks, f->pid);
			return -EINVAL;
		}
		process->rank = f->rank;
		process->nranks = f->nranks;
	}
	if (!process->app_id) {
		log_error("process %" PRIi32
			  " of loom %s has no application id: none of its streams "
			  "has ovni.app_id",
			  process->pid, load->looms[first->loom].name);
		return -EINVAL;
	}
	return 0;
}

struct process_sort {
	struct process process;
	const struct stream_info *first, *last;
	const struct stream_info *found; /* its first stream by path */
};

static int by_rank(const void *a, const void *b)
{
	const struct process_sort *x = a, *y = b;

	if (x->process.rank != y->process.rank)
		return x->process.rank < y->process.rank ? -1 : 1;
	return x->found->stream < y->found->stream ? -1 : x->found->stream > y->found->stream;
}

/* Checks that all processes of a loom have a rank, or none. */
static int check_ranks(struct loom *loom)
{
	const struct process_sort *with = NULL, *without = NULL;

	for (const struct process_sort *p = loom->first; p < loom->last; p++) {
		if (p->process.rank < 0) {
			without = p;
			continue;
		}
		if (!with || p->process.rank < loom->min_rank)
			loom->min_rank = p->process.rank;
		with = p;
	}
	if (with && without) {
		log_error("loom %s: process %" PRIi32 " has a rank and process %" PRIi32
			  " has none: all processes of a loom must have one, or none",
			  loom->name, with->process.pid, without->process.pid);
		return -EINVAL;
	}
	loom->has_ranks = with != NULL;
	return 0;
}

static int looms_by_rank(const void *a, const void *b)
{
	const struct loom *x = a, *y = b;

	if (x->min_rank != y->min_rank)
		return x->min_rank < y->min_rank ? -1 : 1;
	return x->found < y->found ? -1 : x->found > y->found;
}

static int looms_by_name(const void *a, const void *b)
{
	const struct loom *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static void sort_looms(struct system *sys)
{
	uint32_t ranked = 0;

	for (uint32_t i = 0; i < sys->nlooms; i++)
		ranked += sys->looms[i].has_ranks;
	if (ranked && ranked < sys->nlooms)
		log_warn("only %" PRIu32 " of %" PRIu32 " looms have ranks: sorting them by name",
			 ranked, sys->nlooms);
	sort(sys->looms, sys->nlooms, sizeof(*sys->looms),
	     ranked == sys->nlooms ? looms_by_rank : looms_by_name);
}

/* Key of a thread in its process, or without a process in its loom. */
static struct hash_key key_of(const struct system *sys, const struct loom *loom,
			      const struct process *process, int32_t tid)
{
	return (struct hash_key){.a = (uint64_t)(loom - sys->looms),
				 .b = process ? process->index + 1 : 0,
				 .c = (uint32_t)tid};
}

static int place_threads(struct system *sys, struct process *process, struct stream_info *f,
			 const struct stream_info *last)
{
	for (; f < last; f++) {
		struct thread *th = &sys->threads[sys->nthreads];
		struct hash_key key = key_of(sys, process->loom, process, f->tid);
		uint32_t *in_process, *in_loom;

		th->process = process;
		th->tid = f->tid;
		th->index = sys->nthreads++;
		th->stream = f->stream;
		th->name = f->name;
		f->name = NULL;
		th->last_cpu = th->last_state = th->last_tid = -1;
		prv_row_init(&th->row, th->index + 1);
		sys->thread_of_stream[f->stream] = th;
		in_process = hash_at(&sys->by_tid, key);
		if (in_process)
			*in_process = th->index;
		in_loom = hash_at(&sys->by_tid, key_of(sys, process->loom, NULL, f->tid));
		if (!in_process || !in_loom)
			return log_no_memory("for the threads");
		if (*in_loom == HASH_NONE)
			*in_loom = th->index;
	}
	return 0;
}

/* Places the processes and threads of a loom. */
static int place_processes(struct system *sys, struct loom *loom)
{
	int err;

	if (loom->has_ranks)
		sort(loom->first, (size_t)(loom->last - loom->first), sizeof(*loom->first),
		     by_rank);
	for (const struct process_sort *p = loom->first; p < loom->last; p++) {
		struct process *process = &sys->processes[sys->nprocesses];

		*process = p->process;
		process->loom = loom;
		process->index = sys->nprocesses++;
		err = place_threads(sys, process, (struct stream_info *)p->first, p->last);
		if (err)
			return err;
	}
	return 0;
}

/* Groups the sorted streams by process into *out, which the caller frees. */
static int group(struct system_load *load, struct process_sort **out, size_t *count)
{
	struct stream_info *f = load->streams, *end = f + load->nstreams;
	struct process_sort *list = calloc(load->nstreams + 1, sizeof(*list));
	size_t n = 0;
	int err;

	*out = list;
	if (!list)
		return log_no_memory("for the processes");
	for (struct stream_info *last; f < end; f = last, n++) {
		list[n].first = list[n].found = f;
		for (last = f; last < end && last->loom == f->loom && last->pid == f->pid; last++)
			if (last->stream < list[n].found->stream)
				list[n].found = last;
		list[n].last = last;
		err = merge_process(load, &list[n].process, f, last);
		if (err)
			return err;
	}
	*count = n;
	return 0;
}

static void free_loom(struct loom *loom)
{
	free(loom->name);
	free(loom->pairs);
	free(loom->by_index);
}

static void free_looms(struct loom *looms, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		free_loom(&looms[i]);
	free(looms);
}

/* Sets looms without a process aside: all their streams were left out. */
static int drop_empty_looms(struct system *sys)
{
	uint32_t kept = 0;

	sys->left_out = calloc(sys->nlooms + 1, sizeof(*sys->left_out));
	if (!sys->left_out)
		return log_no_memory("for the looms");
	for (uint32_t i = 0; i < sys->nlooms; i++) {
		if (sys->looms[i].first < sys->looms[i].last)
			sys->looms[kept++] = sys->looms[i];
		else
			sys->left_out[sys->nleft_out++] = sys->looms[i];
	}
	sys->nlooms = kept;
	return 0;
}

/* Finds the processes of each loom in the sorted list [p, end), and checks the looms. */
static int check_looms(struct system *sys, struct process_sort *p, struct process_sort *end)
{
	struct system_load *load = sys->load;
	int err;

	/* looms and the list are both in the order of discovery */
	for (uint32_t i = 0; i < load->nlooms; i++) {
		struct loom *loom = &load->looms[i];

		for (loom->first = p; p < end && p->first->loom == i;)
			p++;
		loom->last = p;
		if (loom->first == loom->last)
			continue;
		err = check_ranks(loom);
		if (err)
			return err;
		err = merge_pairs(loom);
		if (err)
			return err;
		sys->ncpus += loom->ncpus + 1;
	}
	return 0;
}

static int build(struct system *sys, struct process_sort *list, size_t n)
{
	struct system_load *load = sys->load;
	uint32_t ncpus = 0;
	int err = check_looms(sys, list, list + n);

	if (err)
		return err;
	sys->looms = load->looms;
	sys->nlooms = load->nlooms;
	load->looms = NULL;
	load->nlooms = 0;
	err = drop_empty_looms(sys);
	if (err)
		return err;
	sort_looms(sys);

	sys->cpus = calloc(sys->ncpus + 1ul, sizeof(*sys->cpus));
	sys->processes = calloc(n + 1, sizeof(*sys->processes));
	sys->threads = array_lines(load->nstreams + 1, sizeof(*sys->threads));
	if (!sys->cpus || !sys->processes || !sys->threads)
		return log_no_memory("for %zu threads and %" PRIu32 " CPUs", load->nstreams,
				     sys->ncpus);
	for (uint32_t i = 0; i < sys->nlooms; i++) {
		struct loom *loom = &sys->looms[i];

		err = place_cpus(sys, loom, &sys->cpus[ncpus]);
		if (err)
			return err;
		ncpus += loom->ncpus + 1;
		err = place_processes(sys, loom);
		if (err)
			return err;
	}
	return 0;
}

static void free_load(struct system *sys)
{
	struct system_load *load = sys->load;

	sys->load = NULL;
	if (!load)
		return;
	free_looms(load->looms, load->nlooms);
	for (size_t i = 0; i < load->nstreams; i++)
		free(load->streams[i].name);
	free(load->streams);
	free(load->paths);
	free(load->lib);
	free(load);
}

int system_finish(struct system *sys)
{
	struct system_load *load = sys->load;
	struct process_sort *list;
	size_t n = 0;
	int err;

	sort(load->streams, load->nstreams, sizeof(*load->streams), by_process);
	err = group(load, &list, &n);
	if (err)
		goto out;
	err = build(sys, list, n);
out:
	free(list);
	free_load(sys);
	return err;
}

int system_check_ranks(const struct system *sys)
{
	struct hash ranks = {0};
	int err = 0;

	for (uint32_t i = 0; !err && i < sys->nprocesses; i++) {
		const struct process *process = &sys->processes[i], *other;
		struct hash_key key = {.a = (uint64_t)process->app_id,
				       .b = (uint64_t)process->nranks,
				       .c = (uint32_t)process->rank};
		uint32_t *first;

		if (process->rank < 0)
			continue;
		first = hash_at(&ranks, key);
		if (!first) {
			err = log_no_memory("for %u processes", sys->nprocesses);
			break;
		}
		if (*first == HASH_NONE)
			*first = i;
		other = &sys->processes[*first];
		if (other->loom == process->loom)
			continue;
		log_error("rank %" PRIi32 " of %" PRIi32
			  " is in the looms %s and %s: two recorders "
			  "had the same processes, or the directory has two runs",
			  process->rank, process->nranks, other->loom->name, process->loom->name);
		err = -EINVAL;
	}
	hash_free(&ranks);
	return err;
}

/* The number of looms without those of accelerators, which use the clock of their machine. */
static uint32_t count_machines(const struct system *sys)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < sys->nlooms; i++)
		n += !loom_is_accelerator(sys->looms[i].name);
	return n;
}

int system_take_clocks(struct system *sys, const char *path)
{
	struct clock_table *table = &sys->clocks;

	if (path && !table->n)
		clock_table_warn_missing(count_machines(sys));
	for (uint32_t i = 0; i < sys->nlooms; i++) {
		const struct clock_row *row = clock_table_find(table, sys->looms[i].name);

		if (!row && !path && !loom_is_accelerator(sys->looms[i].name)) {
			log_error(
				"--clock=realtime: " JOB_NODES "/%s.json does not say which "
				"CLOCK_REALTIME the node had at its begin: measure the clocks with "
				"ovni-sync or ovni-job",
				sys->looms[i].name);
			return -EINVAL;
		}
		if (!row)
			continue;
		sys->looms[i].clock = row->fix;
		sys->looms[i].clock_bound = row->bound < 0 ? 0 : row->bound;
	}
	/* a host without a loom is a mistake; its loom may have been left out, too (--tolerant) */
	for (uint32_t i = 0; i < sys->nleft_out; i++)
		(void)clock_table_find(table, sys->left_out[i].name);
	return clock_table_check(table, path);
}

void system_fini(struct system *sys)
{
	clock_table_fini(&sys->clocks);
	free_load(sys);
	free_looms(sys->looms, sys->nlooms);
	free_looms(sys->left_out, sys->nleft_out);
	for (uint32_t i = 0; i < sys->nthreads; i++)
		free(sys->threads[i].name);
	free(sys->threads);
	free(sys->processes);
	free(sys->cpus);
	free(sys->thread_of_stream);
	hash_free(&sys->by_tid);
	memset(sys, 0, sizeof(*sys));
}

/* ---- look-ups ---- */

struct thread *system_find_thread(const struct system *sys, const struct loom *loom,
				  const struct process *process, int32_t tid)
{
	uint32_t i = hash_get(&sys->by_tid, key_of(sys, loom, process, tid));

	if (i != HASH_NONE)
		return &sys->threads[i];
	return process ? system_find_thread(sys, loom, NULL, tid) : NULL;
}
