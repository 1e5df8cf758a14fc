/* SPDX-License-Identifier: MIT */
/* rank_list: which processes of a trace may be ranks, by its metadata, and which are, after the
 * walk. Specification: efficiency.md 3, 6; job.md 4.2. */
#include "trace/efficiency/rank_walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/log.h"
#include "trace/messages/mpi_calls.h"

#define GENERATIONS 64 /* between the recorder and a process */

/* ---- before the walk ---- */

static int compare_streams(const void *pa, const void *pb, void *arg)
{
	const struct owner *owners = arg;
	const struct owner *a = &owners[*(const uint32_t *)pa], *b = &owners[*(const uint32_t *)pb];
	int order = strcmp(a->loom, b->loom);

	if (order)
		return order;
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if ((a->tid == a->pid) != (b->tid == b->pid)) /* the main thread first */
		return a->tid == a->pid ? -1 : 1;
	return a->tid < b->tid ? -1 : a->tid > b->tid;
}

static bool same_process(const struct owner *a, const struct owner *b)
{
	return a->pid == b->pid && !strcmp(a->loom, b->loom);
}

/* A rank for the streams from `from` to `to`, if they may be one. */
static int add_process(struct rank_times *t, const uint32_t *from, const uint32_t *to, bool ranked)
{
	const struct owner *owners = t->source->owners;
	int64_t known = -1;
	struct rank_walk *r;

	for (const uint32_t *at = from; at < to; at++)
		known = owners[*at].known_rank > known ? owners[*at].known_rank : known;
	if ((ranked && known < 0) || !owners[*from].thread)
		return 0;
	r = ARRAY_ADD(t->ranks, t->nranks);
	if (!r)
		return -ENOMEM;
	if (t->nranks == 1 ||
	    strcmp(owners[t->list[r[-1].first].stream].loom, owners[*from].loom) != 0)
		t->nnodes++;
	*r = (struct rank_walk){.node = t->nnodes - 1,
				.first = (uint32_t)t->nunits,
				.n = (uint32_t)(to - from),
				.rank = known,
				.nranks = -1,
				.app_id = owners[*from].app_id,
				.master = (uint32_t)t->nunits,
				.phase = NO_PHASE};
	for (const uint32_t *at = from; at < to; at++) {
		t->unit_of[*at] = (uint32_t)t->nunits;
		t->list[t->nunits++] =
			(struct unit_walk){.stream = *at, .rank = (uint32_t)t->nranks - 1};
	}
	return 0;
}

static int list_processes(struct rank_times *t)
{
	const struct owner *owners = t->source->owners;
	uint32_t n = (uint32_t)t->source->trace.nstreams, *sorted;
	bool ranked = false;
	int err = 0;

	t->list = calloc(n + 1, sizeof(*t->list));
	sorted = calloc(n + 1, sizeof(*sorted));
	for (uint32_t i = 0; i < n && sorted; i++) {
		sorted[i] = i;
		ranked |= owners[i].known_rank >= 0;
	}
	if (!t->list || !sorted) {
		free(sorted);
		return -ENOMEM;
	}
	qsort_r(sorted, n, sizeof(*sorted), compare_streams, (void *)owners);
	for (uint32_t i = 0, end; i < n && !err; i = end) {
		for (end = i + 1; end < n; end++)
			if (!same_process(&owners[sorted[i]], &owners[sorted[end]]))
				break;
		err = add_process(t, sorted + i, sorted + end, ranked);
	}
	free(sorted);
	return err;
}

/* The recorder left out calls, threads or switches. */
static void read_session(struct rank_times *t, const struct json *session)
{
	const struct json *at;

	for (at = json_first(json_key(session, "account")); at; at = json_next(at)) {
		uint64_t sampled = 0;

		(void)json_u64(json_get(at, "probe.sampled"), &sampled);
		t->dropped += sampled;
	}
	for (at = json_first(json_key(session, "kinds_off")); at; at = json_next(at))
		t->no_switches |= json_string(at) && !strcmp(json_string(at), "switch");
	t->sampled |= json_key(session, "sampling") != NULL;
	for (at = json_first(json_key(session, "options")); at; at = json_next(at)) {
		const char *text = json_string(at);

		if (!text || !strcmp(text, "--"))
			break;
		t->sampled |= !strncmp(text, "-t", 2) || !strncmp(text, "--tid", 5);
	}
}

static int read_metadata(struct rank_times *t)
{
	for (uint32_t i = 0; i < t->source->trace.nstreams; i++) {
		const struct owner *owner = &t->source->owners[i];
		uint32_t unit = t->unit_of[i];
		struct json *meta;

		if (unit != NO_UNIT && owner->nranks >= 0)
			t->ranks[t->list[unit].rank].nranks = owner->nranks;
		t->parents[i] = owner->parent;
		t->kernel[i] = owner->kernel_thread;
		t->declared_mpi |= owner->requires_mpi;
		t->repairs |= !owner->recorded || owner->repairs;
		if (!owner->has_host && !owner->has_marks)
			continue;
		meta = trace_metadata(&t->source->trace, i);
		if (!meta)
			return -EINVAL;
		t->communicators |= mpi_calls_declare_communicators(meta);
		read_session(t, json_get(meta, "bpf.session"));
		json_free(meta);
	}
	return 0;
}

/* Looks for the first call of MPI of a process: whether it has one, and whether that is MPI_Init.
 */
static void look_for_mpi(struct rank_times *t, struct rank_walk *r)
{
	for (uint32_t i = 0; i < r->n && !r->has_mpi; i++) {
		struct stream *stream = &t->source->streams[t->list[r->first + i].stream];

		while (stream_step(stream) == 1) {
			if (stream->ev.model != 'M')
				continue;
			r->has_mpi = true;
			r->has_init = stream->ev.category == 'U' &&
				      (stream->ev.value == 'i' || stream->ev.value == 't');
			r->master = r->first + i;
			break;
		}
		stream_rewind(stream);
	}
}

/* ---- the recorded command ---- */

/* The pid of the parent of a process, which one of its streams has; 0: not known. */
static int64_t parent_of(const struct rank_times *t, uint32_t stream)
{
	const struct owner *owners = t->source->owners;

	for (uint32_t i = 0; i < t->source->trace.nstreams && !t->parents[stream]; i++)
		if (t->parents[i] && same_process(&owners[i], &owners[stream]))
			t->parents[stream] = t->parents[i];
	return t->parents[stream];
}

/* Whether a process descends from the recorder. */
static bool descends(const struct rank_times *t, const struct state_walk *walk, uint32_t stream)
{
	for (int i = 0; i < GENERATIONS; i++) {
		int64_t pid = parent_of(t, stream);
		int64_t parent = pid > 0 ? state_walk_find(walk, stream, pid) : -1;
		const char *name = parent < 0 ? NULL : t->source->owners[parent].name;

		if (parent < 0)
			return false;
		if (name && !strcmp(name, "ovni-bpf"))
			return true;
		stream = (uint32_t)parent;
	}
	return false;
}

/* Leaves out other programs that run meanwhile, as the job of another user. */
static int choose_target(struct rank_times *t)
{
	struct state_walk walk = {0};
	bool recorder = false, any = false;
	int err;

	for (uint32_t i = 0; i < t->source->trace.nstreams; i++) {
		const char *name = t->source->owners[i].name;

		recorder |= name && !strcmp(name, "ovni-bpf");
	}
	if (!recorder)
		return 0;
	err = state_walk_init(&walk, t->source);
	for (size_t i = 0; i < t->nranks && !err; i++) {
		struct rank_walk *r = &t->ranks[i];

		r->left_out = !descends(t, &walk, t->list[r->first].stream);
		any |= !r->left_out;
	}
	for (size_t i = 0; i < t->nranks; i++) {
		t->ranks[i].left_out &= any;
		t->ranks[i].has_mpi &= !t->ranks[i].left_out;
	}
	state_walk_fini(&walk);
	return err;
}

int rank_list_init(struct rank_times *t)
{
	size_t n = t->source->trace.nstreams;
	int err;

	t->unit_of = calloc(n + 1, sizeof(*t->unit_of));
	t->kernel = calloc(n + 1, sizeof(*t->kernel));
	t->parents = calloc(n + 1, sizeof(*t->parents));
	if (!t->unit_of || !t->kernel || !t->parents)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		t->unit_of[i] = NO_UNIT;
	err = list_processes(t);
	if (err)
		return err;
	err = read_metadata(t);
	if (err)
		return err;
	for (size_t i = 0; i < t->nranks && t->declared_mpi; i++)
		look_for_mpi(t, &t->ranks[i]);
	err = choose_target(t);
	for (size_t i = 0; i < t->nranks; i++)
		t->mpi |= t->ranks[i].has_mpi;
	return err;
}

/* ---- after the walk ---- */

static int compare_ranks(const void *pa, const void *pb, void *arg)
{
	const struct rank_walk *ranks = arg;
	const struct rank_walk *a = &ranks[*(const uint32_t *)pa],
			       *b = &ranks[*(const uint32_t *)pb];

	if (a->app_id != b->app_id)
		return a->app_id < b->app_id ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return a->first < b->first ? -1 : a->first > b->first;
}

/* With calls of MPI, the processes that call it; else those with parallel regions. */
int rank_list_finish(struct rank_times *t)
{
	t->kept = calloc(t->nranks + 1, sizeof(*t->kept));
	if (!t->kept)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->nranks; i++)
		if (t->mpi ? t->ranks[i].has_mpi : t->ranks[i].seen_fork)
			t->kept[t->nkept++] = i;
	qsort_r(t->kept, t->nkept, sizeof(*t->kept), compare_ranks, t->ranks);
	return 0;
}
