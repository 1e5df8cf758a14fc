/* SPDX-License-Identifier: MIT */
/* system: from metadata to looms, processes, threads and CPUs (see system.h). */
#include "emu/system/system_load.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/log.h"

/* qsort() of a list that may be empty. */
static void sort(void *list, size_t n, size_t size, int (*compare)(const void *, const void *))
{
	if (n > 1)
		qsort(list, n, size, compare);
}

/* ---- CPUs of a loom ---- */

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

/* Gives the loom its part of sys->cpus, from `cpu` on, and checks the indices. */
static int place_cpus(struct system *sys, struct loom *loom, struct cpu *cpu)
{
	loom->cpus = cpu;
	loom->by_index = calloc(loom->ncpus, sizeof(struct cpu *));
	if (!loom->by_index) {
		log_error("no memory for the CPUs");
		return -ENOMEM;
	}
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
	const struct stream_facts *x = a, *y = b;

	if (x->loom != y->loom)
		return x->loom < y->loom ? -1 : 1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->stream < y->stream ? -1 : x->stream > y->stream;
}

/* Merges what the streams [first, last) say about their process. */
static int merge_process(struct system_load *load, struct process *process,
			 const struct stream_facts *first, const struct stream_facts *last)
{
	process->pid = first->pid;
	process->rank = process->shown_rank = -1;
	for (const struct stream_facts *f = first; f < last; f++) {
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
	const struct stream_facts *first, *last;
	const struct stream_facts *found; /* its first stream in sorted order */
};

static int by_rank(const void *a, const void *b)
{
	const struct process_sort *x = a, *y = b;

	if (x->process.rank != y->process.rank)
		return x->process.rank < y->process.rank ? -1 : 1;
	return x->found->stream < y->found->stream ? -1 : x->found->stream > y->found->stream;
}

/* Ranks are for all processes of a loom or for none; [p, end) are its processes. */
static int check_ranks(struct loom *loom, const struct process_sort *p,
		       const struct process_sort *end)
{
	const struct process_sort *with = NULL, *without = NULL;

	for (; p < end; p++) {
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
			  " has none: all of them must have one, or none",
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

static int by_tid(const void *a, const void *b)
{
	const struct thread *x = *(struct thread *const *)a, *y = *(struct thread *const *)b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static void place_threads(struct system *sys, struct process *process, struct stream_facts *f,
			  const struct stream_facts *last)
{
	process->threads = &sys->threads[sys->nthreads];
	process->nthreads = (uint32_t)(last - f);
	for (; f < last; f++) {
		struct thread *th = &sys->threads[sys->nthreads];

		th->process = process;
		th->tid = f->tid;
		th->index = sys->nthreads++;
		th->stream = f->stream;
		th->name = f->name;
		f->name = NULL;
		th->last_cpu = th->last_state = th->last_tid = -1;
		prv_row_init(&th->row, th->index + 1);
		sys->thread_of_stream[f->stream] = th;
	}
}

/* Gives the loom its processes and threads, from the sorted list [p, end). */
static int place_processes(struct system *sys, struct loom *loom, struct process_sort *p,
			   struct process_sort *end)
{
	struct thread **list;
	uint32_t first = sys->nthreads;

	if (loom->has_ranks)
		sort(p, (size_t)(end - p), sizeof(*p), by_rank);
	loom->processes = &sys->processes[sys->nprocesses];
	loom->nprocesses = (uint32_t)(end - p);
	for (; p < end; p++) {
		struct process *process = &sys->processes[sys->nprocesses];

		*process = p->process;
		process->loom = loom;
		process->index = sys->nprocesses++;
		place_threads(sys, process, (struct stream_facts *)p->first, p->last);
	}
	loom->nthreads = sys->nthreads - first;
	list = loom->by_tid = malloc(loom->nthreads * sizeof(*list));
	if (!list) {
		log_error("no memory for the threads");
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < loom->nthreads; i++)
		list[i] = &sys->threads[first + i];
	sort(list, loom->nthreads, sizeof(*list), by_tid);
	return 0;
}

/* Groups the sorted facts by process. The caller frees the list. */
static int group(struct system_load *load, struct process_sort **out, size_t *count)
{
	struct stream_facts *f = load->facts, *end = f + load->nfacts;
	struct process_sort *list = calloc(load->nfacts + 1, sizeof(*list));
	size_t n = 0;
	int err = 0;

	*out = list;
	if (!list) {
		log_error("no memory for the processes");
		return -ENOMEM;
	}
	for (struct stream_facts *last; f < end && !err; f = last, n++) {
		list[n].first = list[n].found = f;
		for (last = f; last < end && last->loom == f->loom && last->pid == f->pid; last++)
			if (last->stream < list[n].found->stream)
				list[n].found = last;
		list[n].last = last;
		err = merge_process(load, &list[n].process, f, last);
	}
	*count = n;
	return err;
}

static void free_loom(struct loom *loom)
{
	free(loom->name);
	free(loom->pairs);
	free(loom->by_index);
	free(loom->by_tid);
}

static void free_looms(struct loom *looms, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		free_loom(&looms[i]);
	free(looms);
}

/* Forgets the looms of which every stream was left out; start[i] are the processes of the i-th. */
static void drop_empty_looms(struct system *sys, struct process_sort *const *start)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < sys->nlooms; i++) {
		if (start[i] < start[i + 1])
			sys->looms[kept++] = sys->looms[i];
		else
			free_loom(&sys->looms[i]);
	}
	sys->nlooms = kept;
}

static int build(struct system *sys, struct process_sort *list, size_t n)
{
	struct system_load *load = sys->load;
	struct process_sort **start, *p = list, *end = list + n;
	uint32_t ncpus = 0;
	int err = 0;

	/* looms are still in order of discovery, as the list is */
	start = calloc(load->nlooms + 1ul, sizeof(struct process_sort *));
	if (!start)
		goto nomem;
	for (uint32_t i = 0; i < load->nlooms && !err; i++) {
		for (start[i] = p; p < end && p->first->loom == i;)
			p++;
		if (p == start[i])
			continue;
		err = check_ranks(&load->looms[i], start[i], p);
		if (!err)
			err = merge_pairs(&load->looms[i]);
		ncpus += load->looms[i].ncpus + 1;
	}
	start[load->nlooms] = end;
	if (err)
		goto out;
	sys->looms = load->looms;
	sys->nlooms = load->nlooms;
	load->looms = NULL;
	load->nlooms = 0;
	drop_empty_looms(sys, start);
	sort_looms(sys);

	sys->ncpus = ncpus;
	sys->cpus = calloc(ncpus + 1ul, sizeof(*sys->cpus));
	sys->processes = calloc(n + 1, sizeof(*sys->processes));
	sys->threads = aligned_alloc(CACHE_LINE, (load->nfacts + 1) * sizeof(*sys->threads));
	if (!sys->cpus || !sys->processes || !sys->threads)
		goto nomem;
	memset(sys->threads, 0, (load->nfacts + 1) * sizeof(*sys->threads));
	ncpus = 0;
	for (uint32_t i = 0; i < sys->nlooms && !err; i++) {
		struct loom *loom = &sys->looms[i];

		err = place_cpus(sys, loom, &sys->cpus[ncpus]);
		ncpus += loom->ncpus + 1;
		if (!err)
			err = place_processes(sys, loom, start[loom->found],
					      start[loom->found + 1]);
	}
out:
	free(start);
	return err;
nomem:
	log_error("no memory for %zu threads and %" PRIu32 " CPUs", load->nfacts, ncpus);
	free(start);
	return -ENOMEM;
}

static void free_load(struct system *sys)
{
	struct system_load *load = sys->load;

	sys->load = NULL;
	if (!load)
		return;
	tdestroy(load->by_name, free);
	free_looms(load->looms, load->nlooms);
	for (size_t i = 0; i < load->nfacts; i++)
		free(load->facts[i].name);
	free(load->facts);
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

	sort(load->facts, load->nfacts, sizeof(*load->facts), by_process);
	err = group(load, &list, &n);
	if (!err)
		err = build(sys, list, n);
	free(list);
	free_load(sys);
	return err;
}

void system_fini(struct system *sys)
{
	free_load(sys);
	free_looms(sys->looms, sys->nlooms);
	for (uint32_t i = 0; i < sys->nthreads; i++)
		free(sys->threads[i].name);
	free(sys->threads);
	free(sys->processes);
	free(sys->cpus);
	free(sys->thread_of_stream);
	memset(sys, 0, sizeof(*sys));
}

/* ---- look-ups ---- */

/* The place of the first thread of the loom whose tid is not lower. */
static uint32_t first_tid(const struct loom *loom, int32_t tid)
{
	uint32_t low = 0, high = loom->nthreads;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (loom->by_tid[mid]->tid < tid)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

struct thread *loom_find_thread(const struct loom *loom, int32_t tid)
{
	uint32_t i = first_tid(loom, tid);

	return i < loom->nthreads && loom->by_tid[i]->tid == tid ? loom->by_tid[i] : NULL;
}

struct thread *process_find_thread(const struct process *process, int32_t tid)
{
	const struct loom *loom = process->loom;
	uint32_t first = first_tid(loom, tid);

	for (uint32_t i = first; i < loom->nthreads && loom->by_tid[i]->tid == tid; i++)
		if (loom->by_tid[i]->process == process)
			return loom->by_tid[i];
	return loom_find_thread(loom, tid);
}

size_t loom_host_length(const struct loom *loom)
{
	return strcspn(loom->name, ".");
}
