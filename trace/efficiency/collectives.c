/* SPDX-License-Identifier: MIT */
#include "trace/efficiency/collectives.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/catalog/catalog.h"
#include "trace/ovni/event.h"

int collectives_init(struct collectives *c, size_t nranks)
{
	*c = (struct collectives){.nranks = nranks};
	c->next = calloc(nranks + 1, sizeof(*c->next));
	c->joined = calloc(nranks + 1, sizeof(*c->joined));
	return c->next && c->joined ? 0 : -ENOMEM;
}

void collectives_fini(struct collectives *c)
{
	for (size_t i = 0; i < c->nopen; i++)
		free(c->open[i].ranks);
	free(c->open);
	free(c->next);
	free(c->joined);
	*c = (struct collectives){.nranks = 0};
}

void collectives_refuse(struct collectives *c, enum collectives_fault fault)
{
	if (c->fault == COLLECTIVES_FINE)
		c->fault = fault;
}

/* The instance with this number, which some ranks have not left; NULL without memory. */
static struct collective *instance(struct collectives *c, size_t number)
{
	while (number - c->first >= c->nopen) {
		struct collective *grown = c->open;

		if (c->nopen == c->room) {
			size_t room = c->room ? 2 * c->room : 4;

			grown = reallocarray(c->open, room, sizeof(*grown));
			if (!grown)
				return NULL;
			c->open = grown;
			c->room = room;
		}
		grown[c->nopen] = (struct collective){.function = -1};
		grown[c->nopen].ranks = calloc(c->nranks + 1, sizeof(*grown->ranks));
		if (!grown[c->nopen].ranks)
			return NULL;
		c->nopen++;
	}
	return &c->open[number - c->first];
}

/* ---- sums ---- */

/* The latest useful time less the latest without waits. */
static int64_t loss_of(const struct collectives *c, const struct collective_rank *ranks)
{
	int64_t useful = 0, own = 0;

	for (size_t i = 0; i < c->nranks; i++) {
		if (!c->joined[i])
			continue;
		useful = ranks[i].useful > useful ? ranks[i].useful : useful;
		own = ranks[i].own > own ? ranks[i].own : own;
	}
	return clock_distance(own, useful);
}

/* All ranks have left the instance. */
static void sum_instance(struct collectives *c, const struct collective *one)
{
	int64_t enter = INT64_MIN, leave = INT64_MIN, first_leave = INT64_MAX;

	for (size_t i = 0; i < c->nranks; i++) {
		const struct collective_rank *r = &one->ranks[i];

		if (!c->joined[i])
			continue;
		enter = r->enter > enter ? r->enter : enter;
		leave = r->leave > leave ? r->leave : leave;
		first_leave = r->leave < first_leave ? r->leave : first_leave;
	}
	if (clock_sum(first_leave, c->clock_bound) < enter)
		collectives_refuse(c, COLLECTIVES_CLOCKS);
	c->instances++;
	c->transfer = clock_sum(c->transfer, clock_distance(enter, leave));
	for (size_t i = 0; i < c->nranks; i++)
		if (c->joined[i])
			c->wait = clock_sum(c->wait, clock_distance(one->ranks[i].enter, enter));
	c->os_loss = clock_sum(c->os_loss, loss_of(c, one->ranks));
}

/* Sums up the oldest instances that all ranks have left. */
static void sum_complete(struct collectives *c)
{
	size_t n = 0;

	while (n < c->nopen && c->open[n].left == c->njoined) {
		sum_instance(c, &c->open[n]);
		free(c->open[n++].ranks);
	}
	c->first += n;
	c->nopen -= n;
	if (n)
		memmove(c->open, c->open + n, c->nopen * sizeof(*c->open));
}

void collectives_join(struct collectives *c, size_t rank)
{
	if (c->instances) /* the others have left one that this rank has not entered */
		collectives_refuse(c, COLLECTIVES_CLOCKS);
	c->njoined += !c->joined[rank];
	c->joined[rank] = true;
}

int collectives_enter(struct collectives *c, size_t rank, int function, int64_t clock)
{
	struct collective *one;

	if (c->fault)
		return 0;
	if (!catalog_synchronises(function)) {
		collectives_refuse(c, COLLECTIVES_OTHERS);
		return 0;
	}
	one = instance(c, c->next[rank]);
	if (!one)
		return -ENOMEM;
	if (one->function >= 0 && one->function != function)
		collectives_refuse(c, COLLECTIVES_DIFFERENT);
	one->function = function;
	one->ranks[rank].enter = clock;
	one->ranks[rank].entered = true;
	return 0;
}

void collectives_leave(struct collectives *c, size_t rank, int64_t clock, int64_t useful,
		       int64_t own)
{
	struct collective_rank *r;

	if (c->fault || c->next[rank] - c->first >= c->nopen)
		return;
	r = &c->open[c->next[rank] - c->first].ranks[rank];
	if (!r->entered)
		return; /* the call began before the window */
	r->leave = clock;
	r->useful = useful;
	r->own = own;
	c->open[c->next[rank]++ - c->first].left++;
	sum_complete(c);
}

void collectives_finish(struct collectives *c, const struct collective_rank *last)
{
	if (c->nopen)
		collectives_refuse(c, COLLECTIVES_DIFFERENT);
	if (!c->instances)
		collectives_refuse(c, COLLECTIVES_NONE);
	c->os_loss = clock_sum(c->os_loss, loss_of(c, last));
}
