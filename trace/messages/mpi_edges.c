/* SPDX-License-Identifier: MIT */
#include "trace/messages/mpi_edges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/array.h"
#include "trace/base/hash.h"
#include "trace/base/log.h"
#include "trace/messages/messages.h"
#include "trace/ovni/trace.h"

#define NONE	  UINT32_MAX
#define OPEN_MOST (1u << 20) /* instances */

/* A collective of all ranks. */
struct instance {
	int function;
	uint32_t entered, left; /* ranks */
	uint32_t last;		/* stream that entered last */
	int64_t enter;		/* clock of that */
	int64_t first_leave;
};

struct rank {
	uint64_t next;	 /* number of its next instance */
	uint32_t stream; /* that is in it, or NONE */
	int64_t enter;
};

struct mpi_edges_own {
	const struct source *source;
	struct messages messages;
	uint32_t *rank_of; /* of each stream, or NONE */
	struct rank *ranks;
	size_t nranks;
	struct instance *open; /* from number `first` on */
	size_t nopen;
	uint32_t room;
	uint64_t first;
	int64_t clock_bound;
	int64_t clock; /* of the present event */
};

static int take_collective(void *arg, const struct collective_call *c);

static int add_edge(struct mpi_edges *e, uint32_t stream, const struct mpi_edge *edge)
{
	struct mpi_edge_list *list = &e->lists[stream];
	struct mpi_edge *grown = stack_more(list->edges, list->n, &list->room, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	list->edges = grown;
	list->edges[list->n++] = *edge;
	return 0;
}

/* The call that completes one end of a message waited for the begin of the other end. */
static int add_wait(struct mpi_edges *e, const struct message_end *end,
		    const struct message_end *other, enum mpi_wait wait)
{
	if (other->stream == end->wait_stream || end->from == INT64_MIN ||
	    other->posted <= end->from || other->posted >= end->to)
		return 0;
	return add_edge(e, end->wait_stream,
			&(struct mpi_edge){end->to, other->posted, other->stream, wait});
}

static int take_message(void *arg, const struct message *m)
{
	int err = add_wait(arg, &m->receive, &m->send, MPI_WAIT_SENDER);

	return err ? err : add_wait(arg, &m->send, &m->receive, MPI_WAIT_RECEIVER);
}

/* ---- the ranks ---- */

/* Numbers the ranks of the only job. Returns 0; 1 if they are not all there; or -ENOMEM. */
static int number_ranks(struct mpi_edges_own *own)
{
	const struct source *source = own->source;
	struct hash known = {0};
	int64_t app = -1, most = -1, expected = 0;
	int err = 0;

	for (uint32_t i = 0; !err && i < source->trace.nstreams; i++) {
		const struct owner *owner = &source->owners[i];
		uint32_t *at;

		own->rank_of[i] = NONE;
		if (owner->known_rank < 0)
			continue;
		err = app >= 0 && owner->app_id != app;
		app = owner->app_id;
		at = hash_at(&known, (struct hash_key){.a = (uint64_t)owner->known_rank});
		if (!at)
			err = -ENOMEM;
		if (err)
			break;
		if (*at == HASH_NONE)
			*at = (uint32_t)own->nranks++;
		own->rank_of[i] = *at;
		most = owner->known_rank > most ? owner->known_rank : most;
		expected = owner->nranks > expected ? owner->nranks : expected;
	}
	hash_free(&known);
	if (err)
		return err;
	expected = expected ?: most + 1;
	return own->nranks < 2 || expected != (int64_t)own->nranks || most + 1 != expected;
}

int mpi_edges_init(struct mpi_edges *e, const struct source *source)
{
	size_t n = source->trace.nstreams;
	struct mpi_edges_own *own = calloc(1, sizeof(*own));
	int err;

	*e = (struct mpi_edges){.own = own};
	e->lists = calloc(n + 1, sizeof(*e->lists));
	if (!own || !e->lists)
		return log_no_memory("for the calls of MPI");
	err = messages_init(&own->messages, source);
	if (err)
		return err;
	own->messages.matched = take_message;
	own->messages.collective = take_collective;
	own->messages.all_are_world = true;
	own->messages.arg = e;
	own->source = source;
	own->rank_of = calloc(n + 1, sizeof(*own->rank_of));
	err = own->rank_of ? number_ranks(own) : -ENOMEM;
	if (err >= 0)
		own->ranks = calloc(own->nranks + 1, sizeof(*own->ranks));
	if (err < 0 || !own->ranks)
		return log_no_memory("for the calls of MPI");
	e->whole = !err;
	for (size_t i = 0; i < own->nranks; i++)
		own->ranks[i].stream = NONE;
	if (source->trace.fixes && source->trace.clock_bound > 0)
		own->clock_bound = source->trace.clock_bound;
	return 0;
}

void mpi_edges_fini(struct mpi_edges *e)
{
	struct mpi_edges_own *own = e->own;

	for (size_t i = 0; own && e->lists && own->source && i < own->source->trace.nstreams; i++)
		free(e->lists[i].edges);
	if (own) {
		messages_fini(&own->messages);
		free(own->rank_of);
		free(own->ranks);
		free(own->open);
	}
	free(own);
	free(e->lists);
	*e = (struct mpi_edges){0};
}

/* ---- collectives ---- */

static struct instance *instance(struct mpi_edges_own *own, uint64_t number)
{
	while (number - own->first >= own->nopen) {
		struct instance *grown =
			stack_more(own->open, own->nopen, &own->room, sizeof(*grown));

		if (!grown)
			return NULL;
		own->open = grown;
		own->open[own->nopen++] = (struct instance){
			.function = -1, .enter = INT64_MIN, .first_leave = INT64_MAX};
	}
	return &own->open[number - own->first];
}

static void drop_complete(struct mpi_edges_own *own)
{
	size_t n = 0;

	while (n < own->nopen && own->open[n].left == own->nranks)
		n++;
	own->first += n;
	own->nopen -= n;
	if (n)
		memmove(own->open, own->open + n, own->nopen * sizeof(*own->open));
}

static int enter(struct mpi_edges *e, uint32_t stream, int function, int64_t clock)
{
	struct mpi_edges_own *own = e->own;
	struct rank *rank = &own->ranks[own->rank_of[stream]];
	struct instance *one;

	if (rank->stream != NONE || rank->next - own->first >= OPEN_MOST) {
		e->whole = false;
		return 0;
	}
	one = instance(own, rank->next);
	if (!one)
		return -ENOMEM;
	if ((one->function >= 0 && one->function != function) ||
	    (one->first_leave < clock &&
	     clock_distance(one->first_leave, clock) > own->clock_bound)) {
		e->whole = false;
		return 0;
	}
	one->function = function;
	one->entered++;
	if (clock >= one->enter) {
		one->enter = clock;
		one->last = stream;
	}
	rank->stream = stream;
	rank->enter = clock;
	return 0;
}

static int leave(struct mpi_edges *e, uint32_t stream, int64_t clock)
{
	struct mpi_edges_own *own = e->own;
	struct rank *rank = &own->ranks[own->rank_of[stream]];
	struct instance *one;
	struct mpi_edge edge;

	if (rank->stream != stream)
		return 0;
	rank->stream = NONE;
	one = &own->open[rank->next++ - own->first];
	if (clock < one->first_leave)
		one->first_leave = clock;
	edge = (struct mpi_edge){clock, one->enter, one->last, MPI_WAIT_LAST};
	one->left++;
	drop_complete(own);
	if (edge.other == stream || edge.at <= rank->enter || edge.at >= clock)
		return 0;
	return add_edge(e, stream, &edge);
}

/* A collective whose communicator is known: those of all ranks count. */
static int take_collective(void *arg, const struct collective_call *c)
{
	struct mpi_edges *e = arg;
	const struct mpi_edges_own *own = e->own;

	e->any = true;
	if (!e->whole || own->rank_of[c->stream] == NONE || !c->world ||
	    !collective_synchronises(c->op))
		return 0;
	return c->over ? leave(e, c->stream, own->clock)
		       : enter(e, c->stream, (int)c->op, c->entered);
}

int mpi_edges_step(struct mpi_edges *e, uint32_t stream, const struct event *ev)
{
	struct mpi_edges_own *own = e->own;
	int err;

	own->clock = (int64_t)ev->clock;
	err = messages_step(&own->messages, stream, ev);
	e->any |= own->messages.any || ev->model == 'M';
	return err;
}

static int by_end(const void *pa, const void *pb)
{
	const struct mpi_edge *a = pa, *b = pb;

	if (a->to != b->to)
		return a->to < b->to ? -1 : 1;
	return a->at < b->at ? -1 : a->at > b->at;
}

int mpi_edges_finish(struct mpi_edges *e)
{
	struct mpi_edges_own *own = e->own;
	int err = messages_finish(&own->messages);

	for (size_t i = 0; !err && i < own->source->trace.nstreams; i++) {
		struct mpi_edge_list *list = &e->lists[i];
		size_t n = 0;

		for (size_t k = 0; k < list->n; k++)
			if (e->whole || list->edges[k].wait != MPI_WAIT_LAST)
				list->edges[n++] = list->edges[k];
		list->n = n;
		if (n)
			qsort(list->edges, n, sizeof(*list->edges), by_end);
	}
	return err;
}
