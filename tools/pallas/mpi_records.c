/* SPDX-License-Identifier: MIT */
/* mpi_records: see mpi_records.h. */
#include "tools/pallas/mpi_records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/array.h"
#include "trace/base/log.h"
#include "trace/messages/messages.h"
#include "trace/ovni/player.h"
#include "trace/ovni/trace.h"
#include "trace/pallas/format.h"

#define NOT_KNOWN INT64_MIN

static struct mpi_record *add(struct mpi_records *r, uint32_t stream, uint32_t call, bool at_end,
			      enum pallas_record record)
{
	struct mpi_record_list *list = &r->lists[stream];
	struct mpi_record *added = ARRAY_ADD(list->records, list->n);

	if (added)
		*added = (struct mpi_record){.call = call,
					     .number = (uint32_t)list->n,
					     .at_end = at_end,
					     .record = (uint8_t)record};
	return added;
}

static void put(struct mpi_record *record, const void *value, size_t size)
{
	memcpy(record->payload + record->size, value, size);
	record->size += (uint8_t)size;
}

/* Partner, communicator, tag, length; with a request, that too. */
static void put_message(struct mpi_record *record, const struct message *m,
			const struct message_end *partner, const struct message_end *own)
{
	put(record, &partner->rank, 4);
	put(record, &m->comm, 4);
	put(record, &m->tag, 4);
	put(record, &m->bytes, 8);
	if (own->requested)
		put(record, &own->request, 8);
}

static int put_send(struct mpi_records *r, const struct message *m)
{
	const struct message_end *send = &m->send;
	struct mpi_record *record;

	if (!send->requested && send->to == NOT_KNOWN) { /* it may be an MPI_Isend */
		r->not_completed++;
		return 0;
	}
	record = add(r, send->stream, send->call, false,
		     send->requested ? PALLAS_MPI_ISEND : PALLAS_MPI_SEND);
	if (!record)
		return -ENOMEM;
	put_message(record, m, &m->receive, send);
	if (!send->requested)
		return 0;
	if (send->to == NOT_KNOWN) {
		r->not_completed++;
		return 0;
	}
	record = add(r, send->wait_stream, send->wait_call, true, PALLAS_MPI_ISEND_COMPLETE);
	if (!record)
		return -ENOMEM;
	put(record, &send->request, 8);
	return 0;
}

static int put_receive(struct mpi_records *r, const struct message *m)
{
	const struct message_end *receive = &m->receive;
	struct mpi_record *record;

	if (receive->to == NOT_KNOWN)
		r->not_completed++;
	if (receive->requested) {
		record = add(r, receive->stream, receive->call, false, PALLAS_MPI_IRECV_REQUEST);
		if (!record)
			return -ENOMEM;
		put(record, &receive->request, 8);
	}
	if (receive->to == NOT_KNOWN)
		return 0;
	record = add(r, receive->wait_stream, receive->wait_call, true,
		     receive->requested ? PALLAS_MPI_IRECV : PALLAS_MPI_RECV);
	if (!record)
		return -ENOMEM;
	put_message(record, m, &m->send, receive);
	return 0;
}

static int take_message(void *arg, const struct message *m)
{
	struct mpi_records *r = arg;
	int err;

	if (m->bytes < 0) {
		r->unsized++;
		return 0;
	}
	err = put_send(r, m);
	return err ? err : put_receive(r, m);
}

static int take_collective(void *arg, const struct collective_call *c)
{
	struct mpi_records *r = arg;
	struct mpi_record *record;
	uint32_t op = c->op;

	if (!c->over)
		return 0;
	if (c->comm == UINT32_MAX || c->sent < 0 || c->received < 0 ||
	    (c->root < 0 && collective_has_root(c->op))) {
		r->collectives++;
		return 0;
	}
	if (!add(r, c->stream, c->call, false, PALLAS_MPI_COLLECTIVE_BEGIN))
		return -ENOMEM;
	record = add(r, c->stream, c->call, true, PALLAS_MPI_COLLECTIVE_END);
	if (!record)
		return -ENOMEM;
	put(record, &op, 4);
	put(record, &c->comm, 4);
	put(record, &c->root, 4); /* -1: none */
	put(record, &c->sent, 8);
	put(record, &c->received, 8);
	return 0;
}

static int by_call(const void *pa, const void *pb)
{
	const struct mpi_record *a = pa, *b = pb;

	if (a->call != b->call)
		return a->call < b->call ? -1 : 1;
	if (a->at_end != b->at_end)
		return a->at_end ? 1 : -1;
	return a->number < b->number ? -1 : a->number > b->number;
}

static int walk(struct messages *messages, const struct source *source)
{
	struct player player;
	int step, err;

	for (size_t i = 0; i < source->trace.nstreams; i++)
		stream_rewind(&source->streams[i]);
	err = player_open(&player, source->streams, source->trace.nstreams, source->trace.fixes,
			  false);
	if (err)
		return err;
	while ((step = player_step(&player)) > 0) {
		struct event ev = source->streams[player.current].ev;

		ev.clock = player.clock;
		err = messages_step(messages, player.current, &ev);
		if (err)
			break;
	}
	player_close(&player);
	if (!err && !step)
		err = messages_finish(messages);
	if (err)
		return log_no_memory("for the messages of MPI");
	return step;
}

int mpi_records_read(struct mpi_records *r, const struct source *source)
{
	struct messages messages;
	int err;

	*r = (struct mpi_records){.nlists = source->trace.nstreams};
	err = messages_init(&messages, source);
	if (err || !messages.recorded)
		goto out;
	r->lists = calloc(r->nlists + 1, sizeof(*r->lists));
	if (!r->lists) {
		err = log_no_memory("for the messages of MPI");
		goto out;
	}
	messages.matched = take_message;
	messages.collective = take_collective;
	messages.arg = r;
	err = walk(&messages, source);
	for (size_t i = 0; !err && i < r->nlists; i++)
		if (r->lists[i].n)
			qsort(r->lists[i].records, r->lists[i].n, sizeof(*r->lists[i].records),
			      by_call);
out:
	messages_fini(&messages);
	return err;
}

void mpi_records_fini(struct mpi_records *r)
{
	for (size_t i = 0; r->lists && i < r->nlists; i++)
		free(r->lists[i].records);
	free(r->lists);
	*r = (struct mpi_records){0};
}
