/* SPDX-License-Identifier: MIT */
#include "tools/view/run_block.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/log.h"

/* The columns of the block. */
enum column {
	COLUMN_HEAD,	 /* of each CPU with runs: row, number of runs, begin of the first one */
	COLUMN_KIND,	 /* end_kind, and the bits below */
	COLUMN_CODE,	 /* enum run_wake, enum run_next * 16 */
	COLUMN_THREAD,	 /* place in the list of recent threads, or RECENT + stream */
	COLUMN_WAKER,	 /* WAKE_ACTOR, WAKE_CREATED */
	COLUMN_NEXT,	 /* NEXT_ACTOR */
	COLUMN_GAP,	 /* KIND_GAP: since the end of the run before, signed */
	COLUMN_DURATION, /* of each run */
	COLUMN_LATENCY,	 /* where the thread has a wake-up */
	COLUMN_CALL,	 /* KIND_CALL: the number of the system call of the sleep */
	COLUMNS
};
#define KIND_GAP  16 /* the gap before is not GAP_USUAL */
#define KIND_STAY 32 /* explicit_stays */
#define KIND_CALL 64 /* the call of the sleep is known */
#define GAP_USUAL 1  /* ns: of a switch from one thread to another (event-mapping.md) */
#define RECENT	  120

/* Tids of the last two wakers, in the block with this number. */
struct recent_wakers {
	uint32_t block;
	int32_t last, before;
};

unsigned run_stays(const struct run *run, int64_t begin, uint8_t left, int64_t left_at,
		   uint32_t call, struct stay stays[2])
{
	bool runnable = off_cpu_runnable(left);
	int64_t wake = begin - run->latency;
	unsigned n = 0;

	if (left == OFF_CPU_DEAD)
		return 0;
	if (run->wake == WAKE_NONE)
		wake = runnable ? left_at : begin;
	if (run->wake == WAKE_STAYED || wake < left_at)
		wake = left_at;
	if (wake > left_at)
		stays[n++] = (struct stay){.begin = left_at,
					   .end = wake,
					   .call = left == OFF_CPU_LOST ? 0 : call,
					   .use = (uint8_t)(TIME_ASLEEP + left)};
	if (begin <= wake)
		return n;
	stays[n++] = (struct stay){
		.begin = wake,
		.end = begin,
		.use = (uint8_t)(TIME_WAITING + (!runnable		     ? WAIT_WOKEN
						 : left == OFF_CPU_YIELDED   ? WAIT_YIELDED
						 : left == OFF_CPU_THROTTLED ? WAIT_THROTTLED
									     : WAIT_PREEMPTED))};
	return n;
}

int run_block_init(struct run_block *b, size_t nstreams)
{
	memset(b, 0, sizeof(*b));
	b->runs = malloc(RUN_BLOCK * sizeof(*b->runs));
	b->order = malloc(RUN_BLOCK * sizeof(*b->order));
	b->wakers = calloc(nstreams + 1, sizeof(*b->wakers));
	if (!b->runs || !b->order || !b->wakers)
		return log_no_memory("for the page");
	return levels_init(&b->levels, nstreams);
}

void run_block_fini(struct run_block *b)
{
	free(b->runs);
	free(b->order);
	free(b->first);
	free(b->wakers);
	columns_fini(&b->columns);
	levels_fini(&b->levels);
	memset(b, 0, sizeof(*b));
}

/* Sorts the runs by CPU; within a CPU they stay in order. */
static int sort_by_cpu(struct run_block *b, size_t ncpus)
{
	uint32_t *first = b->first;

	if (ncpus > b->ncpus || !first) {
		first = reallocarray(b->first, ncpus + 2, sizeof(*first));
		if (!first)
			return log_no_memory("for the page");
		b->first = first;
		b->ncpus = ncpus;
	}
	memset(first, 0, (b->ncpus + 2) * sizeof(*first));
	for (size_t i = 0; i < b->n; i++)
		first[b->runs[i].cpu + 2]++;
	for (size_t i = 1; i < b->ncpus + 2; i++)
		first[i] += first[i - 1];
	/* first[cpu + 1] becomes the end of the CPU, which is the first of the next one */
	for (uint32_t i = 0; i < b->n; i++)
		b->order[first[b->runs[i].cpu + 1]++] = i;
	return 0;
}

/* `recent`: RECENT streams, UINT32_MAX where there is none yet. */
static void put_thread(struct columns *columns, uint32_t *recent, uint32_t stream)
{
	uint32_t place = 0;

	for (uint32_t i = 0; i < RECENT; i++) /* without an end before the last: for the compiler */
		place += recent[i] == stream ? i + 1 : 0;
	column_number(columns, COLUMN_THREAD, place ? place - 1 : RECENT + (uint64_t)stream);
	memmove(recent + 1, recent, (place ? place - 1 : RECENT - 1) * sizeof(*recent));
	recent[0] = stream;
}

/* Returns 0 or -ENOMEM. */
static int put_wake(struct run_block *b, struct actors *actors, const struct run *run,
		    uint8_t *code)
{
	struct recent_wakers *recent = &b->wakers[run->stream];
	uint32_t actor;
	int32_t before;

	*code = run->wake;
	if (run->wake >= WAKE_INTERRUPT && run->wake != WAKE_MOVED)
		column_number(&b->columns, COLUMN_LATENCY, (uint64_t)run->latency);
	if (run->wake == WAKE_CREATED)
		goto other;
	if (run->wake != WAKE_ACTOR)
		return 0;
	if (recent->block != b->number)
		*recent = (struct recent_wakers){.block = b->number};
	if (recent->last == run->waker) {
		*code = WAKE_LAST;
		return 0;
	}
	before = recent->before;
	recent->before = recent->last;
	recent->last = run->waker;
	if (before == run->waker) {
		*code = WAKE_BEFORE;
		return 0;
	}
other:
	actor = actors_find(actors, run->stream, run->waker);
	column_number(&b->columns, COLUMN_WAKER, actor);
	return actor == UINT32_MAX ? -ENOMEM : 0;
}

/* Returns 0 or -ENOMEM. `after`: the next run on the CPU, or NULL. */
static int put_next(struct run_block *b, struct actors *actors, const struct run *run,
		    const struct run *after, uint8_t *code)
{
	uint32_t actor;

	if (run->next <= 0) {
		*code = run->next == 0 ? NEXT_IDLE : NEXT_UNKNOWN;
		return 0;
	}
	if (after && actors->tid_of[after->stream] == run->next) {
		*code = NEXT_FOLLOWS;
		return 0;
	}
	*code = NEXT_ACTOR;
	actor = actors_find(actors, run->stream, run->next);
	column_number(&b->columns, COLUMN_NEXT, actor);
	return actor == UINT32_MAX ? -ENOMEM : 0;
}

static int put_cpu(struct run_block *b, struct actors *actors, const uint32_t *order, size_t n)
{
	struct columns *columns = &b->columns;
	uint32_t recent[RECENT];
	int64_t at = b->runs[order[0]].begin;

	memset(recent, 0xff, sizeof(recent));
	column_number(columns, COLUMN_HEAD, b->runs[order[0]].cpu);
	column_number(columns, COLUMN_HEAD, n);
	column_number(columns, COLUMN_HEAD, (uint64_t)at);
	for (size_t i = 0; i < n; i++) {
		const struct run *run = &b->runs[order[i]];
		const struct run *after = i + 1 < n ? &b->runs[order[i + 1]] : NULL;
		int64_t gap = run->begin - at, usual = i ? GAP_USUAL : 0;
		uint8_t wake, next;

		column_byte(columns, COLUMN_KIND,
			    (uint8_t)(run->end_kind | (gap != usual ? KIND_GAP : 0) |
				      (run->explicit_stays ? KIND_STAY : 0) |
				      (run->call ? KIND_CALL : 0)));
		if (run->call)
			column_number(columns, COLUMN_CALL, run->call - 1);
		if (gap != usual)
			column_signed(columns, COLUMN_GAP, gap);
		put_thread(columns, recent, run->stream);
		column_number(columns, COLUMN_DURATION, (uint64_t)(run->end - run->begin));
		if (put_wake(b, actors, run, &wake) || put_next(b, actors, run, after, &next))
			return -ENOMEM;
		column_byte(columns, COLUMN_CODE, (uint8_t)(wake | next << 4));
		at = run->end;
	}
	return 0;
}

int run_block_flush(struct run_block *b, size_t ncpus, struct actors *actors,
		    struct page_file *page)
{
	int err;

	if (!b->n)
		return 0;
	err = sort_by_cpu(b, ncpus);
	if (err)
		return err;
	b->number++;
	for (size_t cpu = 0; cpu < ncpus; cpu++) {
		uint32_t first = b->first[cpu], end = b->first[cpu + 1];

		if (end > first && put_cpu(b, actors, b->order + first, end - first))
			return log_no_memory("for the page");
	}
	b->columns.entries = b->n;
	b->runs_written += b->n;
	err = columns_flush(&b->columns, COLUMNS, page, "runs");
	if (!err)
		err = levels_add(&b->levels, b->runs, b->n, b->order, b->first, ncpus, page);
	b->n = 0;
	return err;
}
