/* SPDX-License-Identifier: MIT */
/* rings: see rings.h. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "user/kernel/rings.h"
#include "bpf/state.h"
#include "trace/base/log.h"

const uint16_t rings_record_size[256] = {
	[RECORD_SWITCH] = sizeof(struct record_switch),
	[RECORD_SWITCH_CALL] = sizeof(struct record_switch_call),
	[RECORD_TASK] = sizeof(struct record_task),
	[RECORD_EXIT] = sizeof(struct record_exit),
	[RECORD_SNAPSHOT] = sizeof(struct record_snapshot),
	[RECORD_LOST] = sizeof(struct record_lost),
	[RECORD_PROBE] = sizeof(struct record_probe),
	[RECORD_MOVED] = sizeof(struct record_moved),
	[RECORD_STACK] = sizeof(struct record_stack),
	[RECORD_INTERRUPTS] = sizeof(struct record_interrupts),
	[RECORD_PRIORITY] = sizeof(struct record_priority),
	[RECORD_COUNTERS] = sizeof(struct record_counters),
	[RECORD_IO] = sizeof(struct record_io),
	[RECORD_INTERRUPT] = sizeof(struct record_interrupt),
	[RECORD_VARIABLE] = sizeof(struct record_variable),
};
_Static_assert(sizeof(struct record_stack) <= RING_SPILL, "the largest record fits behind a ring");

static void groups_free(struct ring_groups *groups);

struct rings *rings_new(void)
{
	return calloc(1, sizeof(struct rings));
}

void rings_close(struct rings *rings)
{
	if (!rings)
		return;
	groups_free(rings->groups);
	for (unsigned i = 0; i < rings->nrings; i++)
		if (rings->ring[i].mapped)
			munmap((void *)rings->ring[i].data, rings->ring[i].mapped);
	free(rings->ring);
	free(rings->heap);
	free(rings);
}

int rings_add(struct rings *rings, unsigned cpu, struct cpu_state *state, const void *data,
	      size_t bytes)
{
	struct ring_head *heads = reallocarray(rings->heap, rings->nrings + 1, sizeof(*heads));
	struct ring *grown = reallocarray(rings->ring, rings->nrings + 1, sizeof(*grown));

	rings->heap = heads ? heads : rings->heap;
	rings->ring = grown ? grown : rings->ring;
	if (!heads || !grown)
		return -ENOMEM;
	grown[rings->nrings++] = (struct ring){
		.data = data,
		.mask = bytes - 1,
		.at = state->consumed,
		.end = state->consumed,
		.given_back = state->consumed,
		.cpu = cpu,
		.state = state,
	};
	return 0;
}

int rings_map(struct rings *rings, unsigned cpu, struct cpu_state *state, int fd, size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t mapped = (bytes + RING_SPILL + page - 1) / page * page;
	void *data;
	int err;

	data = mmap(NULL, mapped, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (data == MAP_FAILED) {
		err = -errno;
		goto failed;
	}
	err = rings_add(rings, cpu, state, data, bytes);
	if (err) {
		munmap(data, mapped);
		goto failed;
	}
	rings->ring[rings->nrings - 1].mapped = mapped;
	return 0;
failed:
	log_error("cannot map the ring of CPU %u: %s", cpu, strerror(-err));
	return err;
}

void rings_refresh(struct rings *rings)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (unsigned i = 0; i < rings->nrings; i++) {
		struct ring *ring = &rings->ring[i];
		/* in this order: a record reserved in between is later than the call */
		uint64_t reserved = __atomic_load_n(&ring->state->reserved, __ATOMIC_ACQUIRE);

		ring->end = __atomic_load_n(&ring->state->committed, __ATOMIC_ACQUIRE);
		ring->writing = reserved > ring->end;
	}
}

double rings_fullest(const struct rings *rings)
{
	double fullest = 0;

	for (unsigned i = 0; i < rings->nrings; i++) {
		const struct ring *ring = &rings->ring[i];
		double part = (double)(ring->end - ring->given_back) / (double)(ring->mask + 1);

		if (part > fullest)
			fullest = part;
	}
	return fullest;
}

/* Gives the space of the records taken back to the producers. */
static void release_space(struct rings *rings)
{
	for (unsigned i = 0; i < rings->nrings; i++) {
		struct ring *ring = &rings->ring[i];

		if (ring->given_back == ring->at)
			continue;
		__atomic_store_n(&ring->state->consumed, ring->at, __ATOMIC_RELEASE);
		ring->given_back = ring->at;
	}
}

void rings_discard(struct rings *rings)
{
	const struct record_head *record;

	for (unsigned i = 0; i < rings->nrings; i++) {
		struct ring *ring = &rings->ring[i];

		while ((record = ring_peek(ring)) && rings_record_size[record->kind])
			ring_advance(ring, record);
	}
	release_space(rings);
}

/* ---- the merge: a binary heap of the rings, by the clock of the record at their head ---- */

#define GIVE_BACK_EVERY 4096 /* records; a long release must not keep the producers out */

/* Rings are in an array, ascending by CPU. */
static inline bool earlier(const struct ring_head *a, const struct ring_head *b)
{
	return a->clock < b->clock || (a->clock == b->clock && a->ring < b->ring);
}

/* Reads the next record of a ring. False if none can be released now. */
static inline bool head_read(struct rings *rings, struct ring_head *head, struct ring *ring)
{
	const struct record_head *record = ring_peek(ring);
	uint64_t clock;

	if (__builtin_expect(!record, 0)) {
		/* The record that is being written is not earlier than the one before. */
		if (ring->writing && ring->clock < rings->before)
			rings->before = ring->clock;
		return false;
	}
	if (__builtin_expect(!rings_record_size[record->kind], 0)) {
		log_error("the ring of CPU %u holds no record at byte %llu (kind %u): this is a "
			  "mistake in ovni-bpf, please report it",
			  ring->cpu, (unsigned long long)ring->at, record->kind);
		rings->err = -EBADMSG;
		return false;
	}
	clock = record->clock;
	if (__builtin_expect(clock < ring->clock, 0))
		clock = ring->clock;
	*head = (struct ring_head){clock, ring, record};
	return true;
}

static void sift_down(struct rings *rings, unsigned i)
{
	struct ring_head moved = rings->heap[i];

	for (;;) {
		unsigned child = 2 * i + 1;

		if (child >= rings->nheads)
			break;
		if (child + 1 < rings->nheads &&
		    earlier(&rings->heap[child + 1], &rings->heap[child]))
			child++;
		if (!earlier(&rings->heap[child], &moved))
			break;
		rings->heap[i] = rings->heap[child];
		i = child;
	}
	rings->heap[i] = moved;
}

/* The heads of all rings. A ring that is being written lowers `before`, so it comes first. */
static void fill(struct rings *rings)
{
	rings->nheads = 0;
	for (unsigned i = 0; i < rings->nrings; i++)
		if (head_read(rings, &rings->heap[rings->nheads], &rings->ring[i]))
			rings->nheads++;
	for (unsigned i = rings->nheads / 2; i-- > 0;)
		sift_down(rings, i);
}

/* Hands over the records of all rings, or of one group. */
static int release(struct rings *rings, uint64_t before, rings_take_fn take, void *arg)
{
	int err = 0;

	rings->before = before;
	rings->err = 0;
	fill(rings);
	while (rings->nheads > 0 && !rings->err) {
		struct ring_head *top = &rings->heap[0];
		struct ring *ring = top->ring;

		if (top->clock >= rings->before && rings->before != UINT64_MAX)
			break;
		ring->clock = top->clock;
		if (rings->copies)
			ring->at += record_bytes(top->record);
		else
			ring_advance(ring, top->record);
		err = take(arg, ring->cpu, top->record);
		if (__builtin_expect(err, 0))
			break;
		if (++rings->since_give_back >= GIVE_BACK_EVERY) {
			rings->since_give_back = 0;
			release_space(rings);
		}
		if (!head_read(rings, top, ring))
			*top = rings->heap[--rings->nheads];
		sift_down(rings, 0);
	}
	release_space(rings);
	return err ? err : rings->err;
}

/* ---- groups ---- */

#define GROUP_BYTES  (1u << 20) /* of copied records */
#define GROUP_SINGLE (1u << 18) /* bytes in all rings: less is copied without the threads */

/* Stands before each record in the buffer of a group. */
struct copied {
	uint64_t clock; /* in the order of the merge */
	struct ring *ring;
};

struct group {
	struct ring_groups *all;
	struct rings rings; /* a part of the array of all */
	uint8_t *buffer;    /* from `at` to `end` are copied records, in their order */
	size_t at, end;
	uint64_t limit; /* ns; no record that is copied later belongs before it */
	bool full;	/* there may be more to copy */
	int err;
	pthread_t thread;
};

struct ring_groups {
	unsigned n, started;
	uint64_t before;
	bool quit;
	pthread_barrier_t go, done;
	struct group group[];
};

static bool has_room(const struct group *g)
{
	return g->end + sizeof(struct copied) + RING_SPILL <= GROUP_BYTES;
}

static int copy(void *arg, unsigned cpu, const struct record_head *record)
{
	struct group *g = arg;
	const struct ring_head *top = &g->rings.heap[0];
	size_t size = record_bytes(record);
	struct copied head = {top->clock, top->ring};

	(void)cpu;
	memcpy(g->buffer + g->end, &head, sizeof(head));
	memcpy(g->buffer + g->end + sizeof(head), record, size);
	g->end += sizeof(head) + size;
	g->limit = head.clock;
	return !has_room(g);
}

/* Copies the records below `before`, as long as there is room behind those that are left. */
static void fill_group(struct group *g, uint64_t before)
{
	int stopped;

	memmove(g->buffer, g->buffer + g->at, g->end - g->at);
	g->end -= g->at;
	g->at = 0;
	g->full = true;
	if (!has_room(g))
		return; /* the limit is the one of before */
	stopped = release(&g->rings, before, copy, g);
	g->err = stopped < 0 ? stopped : 0;
	g->full = stopped > 0;
	if (!g->full)
		g->limit = g->rings.before;
}

static void *work(void *arg)
{
	struct group *g = arg;

	for (;;) {
		pthread_barrier_wait(&g->all->go);
		if (g->all->quit)
			return NULL;
		fill_group(g, g->all->before);
		pthread_barrier_wait(&g->all->done);
	}
}

static void fill_groups(const struct rings *rings, uint64_t before)
{
	struct ring_groups *groups = rings->groups;
	uint64_t bytes = 0;

	for (unsigned i = 0; i < rings->nrings; i++)
		bytes += rings->ring[i].end - rings->ring[i].at;
	if (bytes < GROUP_SINGLE) {
		for (unsigned i = 0; i < groups->n; i++)
			fill_group(&groups->group[i], before);
		return;
	}
	groups->before = before;
	pthread_barrier_wait(&groups->go);
	pthread_barrier_wait(&groups->done);
}

static const struct copied *first_copy(const struct group *g)
{
	return g->at < g->end ? (const struct copied *)(g->buffer + g->at) : NULL;
}

/* The group with the earliest copy. With equal clocks the first one: its CPUs come first. */
static struct group *earliest(struct ring_groups *groups)
{
	struct group *first = NULL;
	uint64_t clock = 0;

	for (unsigned i = 0; i < groups->n; i++) {
		const struct copied *head = first_copy(&groups->group[i]);

		if (head && (!first || head->clock < clock)) {
			first = &groups->group[i];
			clock = head->clock;
		}
	}
	return first;
}

/* Hands over the copies below the limits of all groups. */
static int take_copies(struct rings *rings, rings_take_fn take, void *arg, bool *any)
{
	struct ring_groups *groups = rings->groups;
	const struct record_head *record;
	const struct copied *head;
	struct group *g;
	int err;

	rings->before = UINT64_MAX;
	for (unsigned i = 0; i < groups->n; i++) {
		if (groups->group[i].err)
			return groups->group[i].err;
		if (groups->group[i].limit < rings->before)
			rings->before = groups->group[i].limit;
	}
	while ((g = earliest(groups))) {
		head = first_copy(g);
		if (head->clock >= rings->before && rings->before != UINT64_MAX)
			break;
		record = (const struct record_head *)(head + 1);
		g->at += sizeof(*head) + record_bytes(record);
		ring_take(head->ring, record);
		*any = true;
		err = take(arg, head->ring->cpu, record);
		if (__builtin_expect(err, 0))
			return err;
	}
	return 0;
}

static int release_groups(struct rings *rings, uint64_t before, rings_take_fn take, void *arg)
{
	bool full, any;
	int err;

	do { /* without any, a ring that is being written holds the rest back */
		any = full = false;
		fill_groups(rings, before);
		err = take_copies(rings, take, arg, &any);
		for (unsigned i = 0; i < rings->groups->n; i++)
			full |= rings->groups->group[i].full;
	} while (full && any && !err);
	return err;
}

/* All of its threads run. */
static void groups_free(struct ring_groups *groups)
{
	if (!groups)
		return;
	groups->quit = true;
	if (groups->started)
		pthread_barrier_wait(&groups->go);
	for (unsigned i = 0; i < groups->n; i++) {
		struct group *g = &groups->group[i];

		if (groups->started)
			pthread_join(g->thread, NULL);
		free(g->rings.heap);
		free(g->buffer);
	}
	pthread_barrier_destroy(&groups->go);
	pthread_barrier_destroy(&groups->done);
	free(groups);
}

static int group_init(struct group *g, const struct rings *rings, unsigned first, unsigned end)
{
	g->rings =
		(struct rings){.ring = rings->ring + first, .nrings = end - first, .copies = true};
	g->rings.heap = calloc(end - first, sizeof(*g->rings.heap));
	g->buffer = malloc(GROUP_BYTES);
	return g->rings.heap && g->buffer ? 0 : -ENOMEM;
}

int rings_split(struct rings *rings, unsigned ngroups)
{
	struct ring_groups *groups =
		calloc(1, sizeof(*groups) + ngroups * sizeof(groups->group[0]));
	int err = 0;

	if (!groups)
		return -ENOMEM;
	groups->n = ngroups;
	pthread_barrier_init(&groups->go, NULL, ngroups + 1);
	pthread_barrier_init(&groups->done, NULL, ngroups + 1);
	for (unsigned i = 0; i < ngroups && !err; i++) {
		groups->group[i].all = groups;
		err = group_init(&groups->group[i], rings, rings->nrings * i / ngroups,
				 rings->nrings * (i + 1) / ngroups);
	}
	if (err) {
		groups_free(groups);
		return err;
	}
	for (unsigned i = 0; i < ngroups; i++) {
		err = -pthread_create(&groups->group[i].thread, NULL, work, &groups->group[i]);
		if (err) /* those that run wait for ever: they and their memory end with us */
			return err;
		pthread_setname_np(groups->group[i].thread, "ovni-copy");
		groups->started++;
	}
	rings->groups = groups;
	return 0;
}

int rings_release(struct rings *rings, uint64_t before, rings_take_fn take, void *arg)
{
	return rings->groups ? release_groups(rings, before, take, arg)
			     : release(rings, before, take, arg);
}

uint64_t rings_released(const struct rings *rings)
{
	return rings->before;
}
