/* SPDX-License-Identifier: MIT */
#include "trace/analysis/blocked.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/log.h"

struct blocked_thread {
	uint32_t rows;
	/* Its last sleep, if its waker is not known: the end of the recording ends it, too. */
	enum time_use use; /* TIME_NONE: none */
	struct sleep_call call;
	uint32_t place, waker_place;
	int64_t begin, end;
};

int blocked_init(struct blocked *blocked, const struct source *source, bool wakers)
{
	size_t n = source->trace.nstreams;

	*blocked = (struct blocked){.source = source, .wakers = wakers};
	blocked->machines = sleep_machines(source);
	if (!blocked->machines)
		return -ENOMEM;
	blocked->threads = calloc(n + 1, sizeof(*blocked->threads));
	if (!blocked->threads)
		return log_no_memory("for %zu threads of %s", n, source->trace.path);
	for (size_t i = 0; i < n; i++)
		blocked->threads[i].use = TIME_NONE;
	return 0;
}

void blocked_fini(struct blocked *blocked)
{
	free(blocked->machines);
	free(blocked->threads);
	free(blocked->rows);
	hash_free(&blocked->row_at);
	for (size_t i = 0; i < blocked->nplaces; i++)
		free(blocked->places[i]);
	free(blocked->places);
	free(blocked->place_of);
	free(blocked->waker_place_of);
	stack_table_free(&blocked->stacks);
	memset(blocked, 0, sizeof(*blocked));
}

/* The number of a text in `places`, which takes it; HASH_NONE: out of memory. */
static uint32_t place_number(struct blocked *blocked, struct hash *numbers, char *text)
{
	uint32_t *at = text ? hash_at(numbers, hash_key_of(text, strlen(text))) : NULL;
	char **added;

	if (at && *at != HASH_NONE) {
		free(text);
		return *at;
	}
	added = at ? ARRAY_ADD(blocked->places, blocked->nplaces) : NULL;
	if (!added) {
		free(text);
		return HASH_NONE;
	}
	*added = text;
	return *at = (uint32_t)(blocked->nplaces - 1);
}

int blocked_add_places(struct blocked *blocked)
{
	const struct trace *trace = &blocked->source->trace;
	struct hash numbers = {0};
	int err = stack_table_load(&blocked->stacks, trace->fd, trace->path);
	bool failed;

	if (err) {
		stack_table_free(&blocked->stacks);
		return err;
	}
	blocked->place_of = calloc(blocked->stacks.n + 1, sizeof(*blocked->place_of));
	blocked->waker_place_of = calloc(blocked->stacks.n + 1, sizeof(*blocked->waker_place_of));
	failed = !blocked->place_of || !blocked->waker_place_of ||
		 place_number(blocked, &numbers, strdup("")) == HASH_NONE;
	for (size_t i = 0; i < blocked->stacks.n && !failed; i++) {
		const struct stack_line *line = &blocked->stacks.lines[i];
		const struct stack_line *waker = stack_line_waker(&blocked->stacks, line);

		blocked->place_of[i] = place_number(blocked, &numbers, stack_line_place(line));
		if (waker)
			blocked->waker_place_of[i] =
				place_number(blocked, &numbers, stack_line_waker_place(waker));
		failed = blocked->place_of[i] == HASH_NONE ||
			 blocked->waker_place_of[i] == HASH_NONE;
	}
	hash_free(&numbers);
	return failed ? log_no_memory("for the places of sleeps") : 0;
}

uint32_t blocked_place_of(const struct blocked *blocked, uint32_t stack)
{
	const struct stack_line *line = stack ? stack_table_find(&blocked->stacks, stack) : NULL;

	return line ? blocked->place_of[line - blocked->stacks.lines] : 0;
}

/* The same of its waker. */
static uint32_t waker_place_of(const struct blocked *blocked, uint32_t stack)
{
	const struct stack_line *line = stack ? stack_table_find(&blocked->stacks, stack) : NULL;

	return line ? blocked->waker_place_of[line - blocked->stacks.lines] : 0;
}

/* The row of such a sleep, which is made at the first one. NULL: out of memory. */
static struct blocked_row *row_of(struct blocked *blocked, const struct blocked_row *like)
{
	struct blocked_thread *thread = &blocked->threads[like->stream];
	const struct owner *owner = &blocked->source->owners[like->stream];
	struct blocked_row row = *like;
	struct hash_key key;
	uint32_t *at;

	if (thread->rows >= BLOCKED_ROWS) {
		row.call.with_object = false;
		row.waker = blocked->wakers ? BLOCKED_MANY : 0;
		row.place = row.waker_place = 0;
	}
	key = sleep_call_key(&row.call, blocked->machines[row.stream], owner, row.begin, row.end);
	key.a = (uint64_t)row.stream << 32 | (uint32_t)row.waker;
	key.c |= (uint32_t)row.use << 24 | (uint32_t)row.call.with_object << 16;
	if (row.call.with_object && (!key.b || row.call.kernel_lock))
		key.b = row.call.object;
	if (row.place || row.waker_place) {
		const uint64_t words[] = {key.a, key.b, key.c,
					  (uint64_t)row.waker_place << 32 | row.place};

		key = hash_key_of(words, sizeof(words));
	}
	at = hash_at(&blocked->row_at, key);
	if (!at)
		return NULL;
	if (*at == HASH_NONE) {
		struct blocked_row *added = ARRAY_ADD(blocked->rows, blocked->nrows);

		if (!added)
			return NULL;
		*added = row;
		*at = (uint32_t)(blocked->nrows - 1);
		thread->rows++;
	}
	return &blocked->rows[*at];
}

static void add(struct blocked *blocked, struct blocked_row sleep)
{
	int64_t ns = clock_distance(sleep.begin, sleep.end);
	const struct time_stays one = {.count = 1, .ns = ns, .max = ns, .max_at = sleep.begin};
	struct blocked_row *row;

	/* objects without a name are one */
	if (!blocked->wakers &&
	    (sleep.call.kernel_lock ||
	     !sleep_call_key(&sleep.call, blocked->machines[sleep.stream],
			     &blocked->source->owners[sleep.stream], sleep.begin, sleep.end)
		      .b))
		sleep.call.with_object = false;
	row = row_of(blocked, &sleep);
	blocked->no_memory |= !row;
	if (row)
		time_stays_add(&row->stays, &one);
}

/* Adds the last sleep of a thread, of which the waker is not known. */
static void add_last(struct blocked *blocked, uint32_t stream, int32_t waker)
{
	struct blocked_thread *thread = &blocked->threads[stream];

	if (thread->use != TIME_NONE)
		add(blocked, (struct blocked_row){.stream = stream,
						  .use = thread->use,
						  .waker = waker,
						  .call = thread->call,
						  .place = thread->place,
						  .waker_place = thread->waker_place,
						  .begin = thread->begin,
						  .end = thread->end});
	thread->use = TIME_NONE;
}

void blocked_add(struct blocked *blocked, const struct intervals *intervals, uint32_t stream,
		 enum time_use use, int64_t begin, int64_t end, const struct event *ev)
{
	struct blocked_thread *thread = &blocked->threads[stream];
	const struct interval *interval = &intervals->threads[stream].interval;
	struct blocked_row sleep = {.stream = stream, .use = use, .begin = begin, .end = end};

	if (use < (blocked->waits ? TIME_WAITING : TIME_ASLEEP) || use >= TIME_USES ||
	    blocked->no_memory)
		return;
	sleep.call.call = CALL_UNKNOWN;
	if (use >= TIME_ASLEEP && use != TIME_LOST)
		sleep.call = interval->call;
	if (use != TIME_LOST && ev && blocked->stacks.n)
		sleep.place = blocked_place_of(blocked, sleep_stack(ev));
	if (blocked->wakers && use != TIME_LOST && ev && blocked->stacks.n)
		sleep.waker_place = waker_place_of(blocked, sleep_stack(ev));
	add_last(blocked, stream, 0);
	if (!blocked->wakers || use == TIME_LOST) {
		add(blocked, sleep);
		return;
	}
	/* only a sleep that is known to its end ends by the wake-up */
	if (ev && ev->model == 'O' && ev->value == 'w' && ev->clock <= end)
		sleep.waker = interval->waker;
	if (sleep.waker == BLOCKED_OPEN || sleep.waker == BLOCKED_MANY)
		sleep.waker = 0;
	if (!ev)
		sleep.waker = BLOCKED_OPEN;
	if (sleep.waker) {
		add(blocked, sleep);
		return;
	}
	*thread = (struct blocked_thread){.rows = thread->rows,
					  .use = use,
					  .call = sleep.call,
					  .place = sleep.place,
					  .waker_place = sleep.waker_place,
					  .begin = begin,
					  .end = end};
}

void blocked_finish(struct blocked *blocked, const struct intervals *intervals)
{
	for (uint32_t i = 0; i < blocked->source->trace.nstreams; i++)
		add_last(blocked, i, blocked->threads[i].end >= intervals->last ? BLOCKED_OPEN : 0);
}

char *blocked_call(const struct blocked *blocked, const struct blocked_row *row)
{
	if (row->call.call == CALL_UNKNOWN)
		return strdup("");
	return sleep_call_text(&row->call, blocked->machines[row->stream],
			       &blocked->source->owners[row->stream], row->begin, row->end, true);
}

const char *blocked_waker_place(const struct blocked *blocked, const struct blocked_row *row)
{
	return row->waker_place ? blocked->places[row->waker_place] : "";
}

const char *blocked_place(const struct blocked *blocked, const struct blocked_row *row)
{
	return row->place ? blocked->places[row->place] : "";
}
