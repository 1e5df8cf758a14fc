/* SPDX-License-Identifier: MIT */
/* messages: see messages.h. */
#include "trace/messages/messages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/messages/communicators.h"
#include "trace/messages/mpi_calls.h"
#include "trace/base/array.h"
#include "trace/base/log.h"
#include "trace/catalog/catalog.h"
#include "trace/ovni/event.h"
#include "trace/ovni/trace.h"

#define NONE	  UINT32_MAX
#define NO_CLOCK  INT64_MIN
#define MARK_ZERO (-2147483648LL) /* the value 0 of a mark */
#define ANY_TAG	  (-1)
#define REQUESTS  7 /* of MPI_Waitall that are recorded */
#define LABELS	  256
/* Sends that a receive of an unknown message looks at, so that its cost is bounded. */
#define CANDIDATES 1024

/* The marks of user/apis/mpi-messages.json. */
enum value {
	VALUE_CALL = MPI_CALLS_TYPE, /* the stack of calls */
	VALUE_TAG_TO_RECEIVE,
	VALUE_SOURCE_TO_RECEIVE,
	VALUE_KEY,
	VALUE_PARTNER,
	VALUE_TAG,
	VALUE_COUNT,
	VALUE_DATATYPE,
	VALUE_COMM,
	VALUE_REQUEST,
	VALUE_STATUS_SOURCE,
	VALUE_STATUS_TAG,
	VALUE_NEW_COMM,
	VALUE_COLOR,
	VALUES_END,
};
#define VALUES (VALUES_END - VALUE_CALL)

/* A send or a receive. */
struct op {
	bool used, send, resolved, done, cancelled;
	struct message_end end;
	uint32_t comm;
	int32_t peer, tag;	 /* rank in the world; peer of an unresolved receive: ANY */
	int64_t bytes;		 /* -1: not known */
	uint32_t partner, next;	 /* NONE; next: in its queue, or free */
	uint32_t earlier, later; /* NONE; of a send: in the list of its inbox */
};

struct queue {
	uint32_t head, tail; /* NONE */
};

/* Between two ranks, with a tag, in a communicator. */
struct channel {
	struct queue sends, receives;
};

/* Of a rank in a communicator: its receives, as posted, up to the first one whose message is not
 * known; the sends to it that have no receive, in the order of their clocks. */
struct inbox {
	struct queue posted, sent;
};

struct thread {
	uint8_t call[LABELS]; /* enum mpi_call_kind by value of the mark, */
	uint8_t op[LABELS];   /* of a collective enum collective_op */
	bool mpich[LABELS];
	int64_t value[VALUES]; /* of the present call */
	uint32_t has;	       /* bits of `value` */
	uint64_t requests[REQUESTS];
	unsigned nrequests;
	enum mpi_call_kind present;
	enum collective_op collective;
	uint32_t calls; /* so far */
	bool is_mpich, returning;
	/* The collectives are those of the model mpi, with the mark of the communicator: */
	bool model, waiting; /* waiting: for the communicator of the present one */
	uint8_t depth;	     /* of calls of the model */
	int64_t comm_clock;  /* of the last communicator */
	uint32_t send;	     /* of the present call, or NONE */
	int64_t enter, leave;
};

struct messages_own {
	const struct source *source;
	struct thread **threads; /* of each stream; NULL: none of ours */
	struct communicators comms;
	struct op *ops;
	size_t nops;
	uint32_t free;
	struct channel *channels;
	size_t nchannels;
	struct inbox *inboxes;
	size_t ninboxes;
	struct message_pair outside; /* of the part */
	bool over;		     /* the walk is */
	struct hash channel_at, inbox_at, pair_at, request_at;
};

/* ---- what a stream can have ---- */

static struct thread *thread_new(void)
{
	struct thread *t = calloc(1, sizeof(*t));

	if (t)
		t->send = NONE;
	return t;
}

static int read_labels(struct thread **thread, const struct json *meta)
{
	const struct json *mark = json_get(meta, MPI_CALLS_MARK), *label;
	struct thread *t;

	if (!mpi_calls_declared(mark) && !mpi_calls_declare_communicators(meta))
		return 0;
	t = *thread = thread_new();
	if (!t)
		return -ENOMEM;
	t->model = !mpi_calls_declare_collectives(meta);
	if (!mpi_calls_declared(mark))
		return 0;
	for (label = json_first(json_key(mark, "labels")); label; label = json_next(label)) {
		unsigned long value = strtoul(json_name(label), NULL, 10);
		const char *text = json_string(label);
		struct mpi_call call;

		if (!text || !value || value >= LABELS)
			continue;
		call = mpi_call_of(text);
		t->call[value] = (uint8_t)call.kind;
		t->op[value] = (uint8_t)call.op;
		t->mpich[value] = call.mpich;
	}
	return 0;
}

int messages_init(struct messages *m, const struct source *source)
{
	size_t n = source->trace.nstreams;
	struct messages_own *own = calloc(1, sizeof(*own));
	int err = -ENOMEM;

	*m = (struct messages){.first = INT64_MIN, .last = INT64_MAX, .own = own};
	if (!own)
		return log_no_memory("for the messages");
	own->source = source;
	own->free = NONE;
	own->threads = calloc(n + 1, sizeof(struct thread *));
	if (!own->threads || communicators_init(&own->comms, source))
		return log_no_memory("for the messages");
	for (size_t i = 0; i < n; i++) {
		struct json *meta;

		if (!source->owners[i].has_marks)
			continue;
		meta = trace_metadata(&source->trace, i);
		err = read_labels(&own->threads[i], meta);
		m->collectives |= mpi_calls_declare_communicators(meta);
		m->recorded |= mpi_calls_declared(json_get(meta, MPI_CALLS_MARK));
		json_free(meta);
		if (err)
			return log_no_memory("for the messages");
	}
	return 0;
}

void messages_fini(struct messages *m)
{
	struct messages_own *own = m->own;

	for (size_t i = 0; own && own->threads && i < own->source->trace.nstreams; i++)
		free(own->threads[i]);
	if (own) {
		free(own->threads);
		communicators_fini(&own->comms);
		free(own->ops);
		free(own->channels);
		free(own->inboxes);
		hash_free(&own->channel_at);
		hash_free(&own->inbox_at);
		hash_free(&own->pair_at);
		hash_free(&own->request_at);
	}
	free(own);
	free(m->pairs);
	*m = (struct messages){0};
}

/* ---- operations and queues ---- */

static uint32_t new_op(struct messages_own *own)
{
	uint32_t at = own->free;

	if (at != NONE) {
		own->free = own->ops[at].next;
		return at;
	}
	return ARRAY_ADD(own->ops, own->nops) ? (uint32_t)own->nops - 1 : NONE;
}

static void free_op(struct messages_own *own, uint32_t at)
{
	own->ops[at] = (struct op){.next = own->free};
	own->free = at;
}

static void push(struct messages_own *own, struct queue *queue, uint32_t at)
{
	own->ops[at].next = NONE;
	if (queue->head == NONE)
		queue->head = at;
	else
		own->ops[queue->tail].next = at;
	queue->tail = at;
}

static uint32_t pop(const struct messages_own *own, struct queue *queue)
{
	uint32_t at = queue->head;

	queue->head = own->ops[at].next;
	return at;
}

static struct channel *channel_of(struct messages_own *own, const struct op *op)
{
	int32_t from = op->send ? op->end.rank : op->peer, to = op->send ? op->peer : op->end.rank;
	uint32_t *at =
		hash_at(&own->channel_at, (struct hash_key){(uint64_t)from << 32 | (uint32_t)to,
							    (uint64_t)op->comm, (uint32_t)op->tag});
	struct channel *channel;

	if (!at)
		return NULL;
	if (*at == HASH_NONE) {
		channel = ARRAY_ADD(own->channels, own->nchannels);
		if (!channel)
			return NULL;
		*channel = (struct channel){{NONE, NONE}, {NONE, NONE}};
		*at = (uint32_t)own->nchannels - 1;
	}
	return &own->channels[*at];
}

/* The inbox of the rank that receives. */
static struct inbox *inbox_of(struct messages_own *own, const struct op *op)
{
	int32_t rank = op->send ? op->peer : op->end.rank;
	uint32_t *at =
		hash_at(&own->inbox_at, (struct hash_key){(uint64_t)rank, (uint64_t)op->comm, 0});
	struct inbox *inbox;

	if (!at)
		return NULL;
	if (*at == HASH_NONE) {
		inbox = ARRAY_ADD(own->inboxes, own->ninboxes);
		if (!inbox)
			return NULL;
		*inbox = (struct inbox){.posted = {NONE, NONE}, .sent = {NONE, NONE}};
		*at = (uint32_t)own->ninboxes - 1;
	}
	return &own->inboxes[*at];
}

static void add_sent(struct messages_own *own, struct inbox *inbox, uint32_t at)
{
	struct op *op = &own->ops[at];

	op->later = NONE;
	op->earlier = inbox->sent.tail;
	if (inbox->sent.tail == NONE)
		inbox->sent.head = at;
	else
		own->ops[inbox->sent.tail].later = at;
	inbox->sent.tail = at;
}

static void remove_sent(struct messages_own *own, struct inbox *inbox, uint32_t at)
{
	const struct op *op = &own->ops[at];

	if (op->earlier == NONE)
		inbox->sent.head = op->later;
	else
		own->ops[op->earlier].later = op->later;
	if (op->later == NONE)
		inbox->sent.tail = op->earlier;
	else
		own->ops[op->later].earlier = op->earlier;
}

/* ---- pairs ---- */

static struct message_pair *pair_of(struct messages *m, const struct op *send,
				    const struct op *receive)
{
	struct messages_own *own = m->own;
	int64_t app = own->source->owners[send->end.stream].app_id;
	uint32_t *at;
	struct message_pair *pair;

	if (send->end.posted < m->first || send->end.posted > m->last)
		return &own->outside;
	at = hash_at(&own->pair_at,
		     (struct hash_key){(uint64_t)send->end.rank << 32 | (uint32_t)send->peer,
				       (uint64_t)app, 0});
	if (!at)
		return NULL;
	if (*at == HASH_NONE) {
		pair = ARRAY_ADD(m->pairs, m->npairs);
		if (!pair)
			return NULL;
		*pair = (struct message_pair){.app = app,
					      .from = send->end.rank,
					      .to = send->peer,
					      .from_stream = send->end.stream,
					      .to_stream = receive->end.stream};
		*at = (uint32_t)m->npairs - 1;
	}
	return &m->pairs[*at];
}

static void add_wait(struct message_wait *wait, int64_t from, int64_t to)
{
	int64_t ns = clock_distance(from, to);

	if (ns <= 0)
		return;
	if (ns > wait->longest) {
		wait->longest = ns;
		wait->at = from;
	}
	if (wait->count++ && from == wait->from && to <= wait->to)
		return;
	wait->ns = clock_sum(wait->ns, wait->count > 1 && from == wait->from
					       ? clock_distance(wait->to, to)
					       : ns);
	wait->from = from;
	wait->to = to;
}

/* Both sides are over, or the walk is: the waits for each other. */
static int finish_pair(struct messages *m, uint32_t send_at, uint32_t receive_at)
{
	struct messages_own *own = m->own;
	const struct op *send = &own->ops[send_at], *receive = &own->ops[receive_at];
	struct message_pair *pair = pair_of(m, send, receive);
	int err = 0;

	if (!pair)
		return -ENOMEM;
	if (receive->end.from != NO_CLOCK)
		add_wait(&pair->late_sender, receive->end.from,
			 send->end.posted < receive->end.to ? send->end.posted : receive->end.to);
	/* a send that ended before the receive began did not wait for it */
	if (send->end.from != NO_CLOCK && send->end.to >= receive->end.posted)
		add_wait(&pair->late_receiver, send->end.from, receive->end.posted);
	if (m->matched)
		err = m->matched(m->arg, &(struct message){.send = send->end,
							   .receive = receive->end,
							   .comm = send->comm,
							   .tag = send->tag,
							   .bytes = send->bytes});
	free_op(own, send_at);
	free_op(own, receive_at);
	return err;
}

static int try_finish(struct messages *m, uint32_t at)
{
	const struct op *op = &m->own->ops[at];

	if (op->partner == NONE || !op->done || !m->own->ops[op->partner].done)
		return 0;
	return op->send ? finish_pair(m, at, op->partner) : finish_pair(m, op->partner, at);
}

static int match(struct messages *m, struct channel *channel)
{
	struct messages_own *own = m->own;

	while (channel->sends.head != NONE && channel->receives.head != NONE) {
		if (own->ops[channel->receives.head].cancelled) {
			free_op(own, pop(own, &channel->receives));
			continue;
		}
		uint32_t send = pop(own, &channel->sends);
		uint32_t receive = pop(own, &channel->receives);
		struct inbox *inbox = inbox_of(own, &own->ops[send]);
		struct message_pair *pair = pair_of(m, &own->ops[send], &own->ops[receive]);
		int err;

		if (!pair || !inbox)
			return -ENOMEM;
		remove_sent(own, inbox, send);
		pair->messages++;
		if (own->ops[send].bytes >= 0) {
			pair->sized++;
			pair->bytes += (uint64_t)own->ops[send].bytes;
		}
		own->ops[send].partner = receive;
		own->ops[receive].partner = send;
		err = try_finish(m, send);
		if (err)
			return err;
	}
	return 0;
}

/* The source and the tag of a receive that is over, and whose status the program ignored. Messages
 * of one source do not overtake: with a known source it is the first one that has no receive. With
 * any source it is that too, if the messages without a receive have one source; else the first one
 * of all of them is taken, and counted: they may have arrived in another order. */
static void resolve(struct messages *m, const struct inbox *inbox, struct op *receive)
{
	const struct messages_own *own = m->own;
	int64_t end = receive->done ? receive->end.to : INT64_MAX;
	uint32_t at = inbox->sent.head;
	const struct op *found = NULL;
	bool one = receive->peer >= 0;
	int looked = 0;

	for (; at != NONE && looked < CANDIDATES; at = own->ops[at].later, looked++) {
		const struct op *send = &own->ops[at];

		if (send->end.posted > end)
			break;
		if ((receive->peer >= 0 && send->end.rank != receive->peer) ||
		    (receive->tag != ANY_TAG && send->tag != receive->tag))
			continue;
		if (found && send->end.rank != found->end.rank)
			break;
		found = found ? found : send;
		if (one)
			break;
	}
	if (!found)
		return;
	one |= at == NONE || (looked < CANDIDATES && own->ops[at].end.posted > end);
	m->in_order += !one;
	receive->peer = found->end.rank;
	receive->tag = found->tag;
	receive->resolved = true;
}

/* The receives of an inbox, up to the first one whose message is not known yet, go to their
 * channels.
 */
static int sort_inbox(struct messages *m, struct inbox *inbox)
{
	struct messages_own *own = m->own;

	while (inbox->posted.head != NONE) {
		uint32_t at = inbox->posted.head;
		struct op *op = &own->ops[at];
		struct channel *channel;
		int err;

		if (!op->cancelled && !op->resolved && !op->done && !own->over)
			return 0;
		pop(own, &inbox->posted);
		if (!op->cancelled && !op->resolved)
			resolve(m, inbox, op);
		if (op->cancelled || !op->resolved) {
			m->unknown_source += !op->cancelled && op->done;
			m->receives += !op->cancelled && !op->done;
			free_op(own, at);
			continue;
		}
		channel = channel_of(own, op);
		if (!channel)
			return -ENOMEM;
		push(own, &channel->receives, at);
		err = match(m, channel);
		if (err)
			return err;
	}
	return 0;
}

/* ---- calls ---- */

static bool has(const struct thread *t, enum value value)
{
	return t->has >> (value - VALUE_CALL) & 1;
}

static int64_t get(const struct thread *t, enum value value)
{
	return t->value[value - VALUE_CALL];
}

static struct hash_key request_key(const struct messages_own *own, uint32_t stream,
				   uint64_t request)
{
	return (struct hash_key){request, (uint64_t)own->source->owners[stream].pid,
				 (uint32_t)communicators_rank(&own->comms, stream)};
}

static int64_t bytes_of(const struct messages *m, uint32_t stream, const struct thread *t)
{
	int64_t size = has(t, VALUE_DATATYPE)
			       ? datatype_bytes(&m->own->source->owners[stream], t->is_mpich,
						(uint64_t)get(t, VALUE_DATATYPE))
			       : -1;
	int64_t bytes;

	if (size < 0 || !has(t, VALUE_COUNT) || get(t, VALUE_COUNT) < 0 ||
	    __builtin_mul_overflow(size, get(t, VALUE_COUNT), &bytes))
		return -1;
	return bytes;
}

/* A send or a receive begins with this partner (in the communicator) and tag; `at` is NONE if there
 * is none: MPI_PROC_NULL, or a communicator that is not known. */
static int begin(struct messages *m, uint32_t stream, const struct thread *t, bool send,
		 int64_t partner, int64_t tag, uint32_t *at)
{
	struct messages_own *own = m->own;
	int64_t null = t->is_mpich ? -1 : -2, any = t->is_mpich ? -2 : -1;
	uint32_t comm =
		communicators_find(&own->comms, stream, t->is_mpich, (uint64_t)get(t, VALUE_COMM));
	int32_t rank = communicators_rank(&own->comms, stream), peer = -1;
	bool wild = !send && (partner == any || tag == ANY_TAG);
	struct op *op;

	*at = NONE;
	if (partner == null)
		return 0;
	if (partner != any || send)
		peer = communicators_member(&own->comms, comm, partner);
	if (rank < 0 || comm == NONE || (peer < 0 && (send || partner != any))) {
		m->unknown_comm++;
		return 0;
	}
	*at = new_op(own);
	if (*at == NONE)
		return -ENOMEM;
	op = &own->ops[*at];
	*op = (struct op){.used = true,
			  .send = send,
			  .resolved = !wild,
			  .end = {.rank = rank,
				  .stream = stream,
				  .call = t->calls,
				  .posted = t->enter,
				  .wait_stream = stream,
				  .from = NO_CLOCK,
				  .to = NO_CLOCK},
			  .comm = comm,
			  .peer = peer,
			  .tag = (int32_t)tag,
			  .bytes = send ? bytes_of(m, stream, t) : -1,
			  .partner = NONE,
			  .next = NONE,
			  .earlier = NONE,
			  .later = NONE};
	return 0;
}

/* The call of the thread has completed the operation; of a receive it brings the status. */
static void complete(struct messages_own *own, uint32_t stream, const struct thread *t,
		     struct op *op, bool status)
{
	op->done = true;
	op->end.wait_stream = stream;
	op->end.wait_call = t->calls;
	op->end.from = t->enter;
	op->end.to = t->leave;
	if (op->send || op->resolved || !status || !has(t, VALUE_STATUS_SOURCE))
		return;
	if (op->peer < 0)
		op->peer = communicators_member(&own->comms, op->comm, get(t, VALUE_STATUS_SOURCE));
	if (op->tag == ANY_TAG && has(t, VALUE_STATUS_TAG))
		op->tag = (int32_t)get(t, VALUE_STATUS_TAG);
	op->resolved = op->peer >= 0 && op->tag != ANY_TAG;
}

/* Puts the operation where its partner finds it. */
static int publish(struct messages *m, uint32_t at)
{
	struct messages_own *own = m->own;
	const struct op *op = &own->ops[at];
	struct channel *channel;
	struct inbox *inbox;

	inbox = inbox_of(own, op);
	if (!inbox)
		return -ENOMEM;
	if (op->send) {
		channel = channel_of(own, op);
		if (!channel)
			return -ENOMEM;
		add_sent(own, inbox, at);
		push(own, &channel->sends, at);
		return match(m, channel);
	}
	push(own, &inbox->posted, at);
	return sort_inbox(m, inbox);
}

static int remember_request(struct messages *m, uint32_t stream, const struct thread *t,
			    uint32_t at)
{
	struct messages_own *own = m->own;
	uint64_t request = (uint64_t)get(t, VALUE_REQUEST);
	uint32_t *known;

	if (!has(t, VALUE_REQUEST)) {
		m->incomplete++;
		return 0;
	}
	known = hash_at(&own->request_at, request_key(own, stream, request));
	if (!known)
		return -ENOMEM;
	own->ops[at].end.request = request;
	own->ops[at].end.requested = true;
	*known = at;
	return 0;
}

static int begin_send(struct messages *m, uint32_t stream, struct thread *t)
{
	int err = begin(m, stream, t, true, get(t, VALUE_PARTNER), get(t, VALUE_TAG), &t->send);

	return err || t->send == NONE ? err : publish(m, t->send);
}

static int end_send(struct messages *m, uint32_t stream, struct thread *t)
{
	uint32_t at = t->send;

	t->send = NONE;
	if (at == NONE)
		return 0;
	if (t->present == CALL_ISEND)
		return remember_request(m, stream, t, at);
	complete(m->own, stream, t, &m->own->ops[at], true);
	if (t->present == CALL_SENDRECV) /* it may have waited for its receive */
		m->own->ops[at].end.from = NO_CLOCK;
	return try_finish(m, at);
}

static int receive(struct messages *m, uint32_t stream, const struct thread *t, enum value partner,
		   enum value tag)
{
	uint32_t at;
	int err = begin(m, stream, t, false, get(t, partner), get(t, tag), &at);

	if (err || at == NONE)
		return err;
	if (t->present == CALL_IRECV)
		err = remember_request(m, stream, t, at);
	else
		complete(m->own, stream, t, &m->own->ops[at], true);
	return err ? err : publish(m, at);
}

/* The operation of a request that is not over, or NONE. */
static uint32_t find_request(const struct messages_own *own, uint32_t stream, uint64_t request)
{
	uint32_t at = hash_get(&own->request_at, request_key(own, stream, request));

	return at != HASH_NONE && at < own->nops && own->ops[at].used && !own->ops[at].done &&
			       own->ops[at].end.requested && own->ops[at].end.request == request &&
			       own->ops[at].end.rank == communicators_rank(&own->comms, stream)
		       ? at
		       : NONE;
}

/* `status`: the call completes this operation alone, and has its status. A call that completes
 * several has not ended before the last one, which a send need not be; a receive has waited until
 * its message was sent. */
static int wait_for(struct messages *m, uint32_t stream, const struct thread *t, uint64_t request,
		    bool status)
{
	struct messages_own *own = m->own;
	uint32_t at = find_request(own, stream, request);
	struct inbox *inbox;

	if (at == NONE)
		return 0;
	complete(own, stream, t, &own->ops[at], status);
	if (own->ops[at].send && !status)
		own->ops[at].end.from = NO_CLOCK;
	if (own->ops[at].partner != NONE)
		return try_finish(m, at);
	if (own->ops[at].send)
		return 0;
	inbox = inbox_of(own, &own->ops[at]);
	return inbox ? sort_inbox(m, inbox) : -ENOMEM;
}

/* A receive without a message is cancelled. Whether one whose message was sent already is, the
 * trace does not tell; nor of a send. */
static int cancel(struct messages *m, uint32_t stream, uint64_t request)
{
	struct messages_own *own = m->own;
	uint32_t at = find_request(own, stream, request);
	struct op *op = at == NONE ? NULL : &own->ops[at];
	struct inbox *inbox;

	if (op && (op->send || op->partner != NONE))
		m->cancelled++;
	if (!op || op->send || op->partner != NONE)
		return 0;
	op->cancelled = true;
	inbox = inbox_of(own, op);
	return inbox ? sort_inbox(m, inbox) : -ENOMEM;
}

/* ---- collectives ---- */

static int tell_collective(struct messages *m, uint32_t stream, const struct thread *t, bool over)
{
	struct communicators *comms = &m->own->comms;
	struct collective_call c = {.stream = stream,
				    .call = t->calls,
				    .op = t->collective,
				    .over = over,
				    .comm = NONE,
				    .root = -1,
				    .sent = -1,
				    .received = -1};

	if (!m->collective)
		return 0;
	c.entered = t->enter;
	if (has(t, VALUE_COMM))
		c.comm = communicators_find(comms, stream, t->is_mpich,
					    (uint64_t)get(t, VALUE_COMM));
	c.world = communicators_is_world(comms, c.comm) || (m->all_are_world && !m->collectives);
	if (collective_has_root(c.op) && has(t, VALUE_PARTNER))
		c.root = communicators_member(comms, c.comm, get(t, VALUE_PARTNER));
	if (over)
		collective_bytes(&c, comms, bytes_of(m, stream, t));
	return m->collective(m->arg, &c);
}

/* A call is over, and its values are there. */
static int end_call(struct messages *m, uint32_t stream, struct thread *t)
{
	enum mpi_call_kind call = t->present;
	int err = 0;

	t->returning = false;
	m->any |= call != CALL_NONE_OF_OURS && call != CALL_COLLECTIVE;
	switch (call) {
	case CALL_SEND:
	case CALL_RECV:
	case CALL_ISEND:
	case CALL_IRECV:
	case CALL_SENDRECV:
		if (has(t, VALUE_PARTNER) && has(t, VALUE_TAG) && has(t, VALUE_COMM))
			break;
		m->incomplete++;
		return 0;
	default:
		break;
	}
	switch (call) {
	case CALL_SEND:
	case CALL_ISEND:
		return end_send(m, stream, t);
	case CALL_RECV:
	case CALL_IRECV:
		return receive(m, stream, t, VALUE_PARTNER, VALUE_TAG);
	case CALL_SENDRECV:
		err = end_send(m, stream, t);
		return err ? err
			   : receive(m, stream, t, VALUE_SOURCE_TO_RECEIVE, VALUE_TAG_TO_RECEIVE);
	case CALL_WAIT:
		return t->nrequests ? wait_for(m, stream, t, t->requests[0], true) : 0;
	case CALL_WAITALL:
		for (unsigned i = 0; !err && i < t->nrequests && i < get(t, VALUE_COUNT); i++)
			err = wait_for(m, stream, t, t->requests[i], false);
		return err;
	case CALL_CANCEL:
		return t->nrequests ? cancel(m, stream, t->requests[0]) : 0;
	case CALL_DUP:
	case CALL_SPLIT:
		if (has(t, VALUE_NEW_COMM))
			return communicators_made(&m->own->comms, stream,
						  (uint64_t)get(t, VALUE_NEW_COMM));
		m->incomplete++;
		return 0;
	case CALL_UNSUPPORTED:
		m->unsupported++;
		return 0;
	default:
		return 0;
	}
}

/* The parts of a call that other ranks need before it returns: a message, the colour of a split. */
static int begin_call(struct messages *m, uint32_t stream, struct thread *t)
{
	struct communicators *comms = &m->own->comms;
	uint64_t parent = (uint64_t)get(t, VALUE_COMM);

	t->send = NONE;
	if (t->present == CALL_COLLECTIVE)
		return tell_collective(m, stream, t, false);
	if (!has(t, VALUE_COMM))
		return 0;
	if (t->present == CALL_SEND || t->present == CALL_ISEND || t->present == CALL_SENDRECV)
		return has(t, VALUE_PARTNER) && has(t, VALUE_TAG) ? begin_send(m, stream, t) : 0;
	if (t->present != CALL_DUP && t->present != CALL_SPLIT && t->present != CALL_NEW_COMM)
		return 0;
	return communicators_make(comms, stream, t->is_mpich, parent,
				  t->present == CALL_DUP     ? COMM_COPY
				  : t->present == CALL_SPLIT ? COMM_SPLIT
							     : COMM_OTHER,
				  get(t, VALUE_COLOR), get(t, VALUE_KEY));
}

static void add_value(struct thread *t, int32_t type, int64_t value)
{
	if (value == MARK_ZERO)
		value = 0;
	if (type == VALUE_REQUEST && t->nrequests < REQUESTS)
		t->requests[t->nrequests++] = (uint64_t)value;
	t->value[type - VALUE_CALL] = value;
	t->has |= 1u << (type - VALUE_CALL);
}

static void forget_values(struct thread *t)
{
	t->has = 0;
	t->nrequests = 0;
	memset(t->value, 0, sizeof(t->value));
}

static int end_return(struct messages *m, uint32_t stream, struct thread *t)
{
	int err = end_call(m, stream, t);

	t->present = CALL_NONE_OF_OURS;
	forget_values(t);
	return err;
}

/* ---- collectives of the model mpi ---- */

static int begin_collective(struct messages *m, uint32_t stream, struct thread *t)
{
	uint64_t handle = (uint64_t)get(t, VALUE_COMM);

	t->waiting = false;
	t->is_mpich = handle <= UINT32_MAX; /* those of Open MPI are addresses in a library */
	return tell_collective(m, stream, t, false);
}

/* A function of the model. C: its communicator comes before it, at the same clock. Fortran: it
 * calls the function of C, and the communicator comes after its begin. */
static int take_function(struct messages *m, uint32_t stream, struct thread *t,
			 const struct event *ev)
{
	const struct catalog_event *event = catalog_find(event_mcv(ev), NULL);
	struct mpi_call call;
	int err = 0;

	if (event && event->action == ACTION_PUSH && !t->depth++) {
		call = mpi_call_of(event->label ?: "");
		if (call.kind != CALL_COLLECTIVE || !catalog_synchronises(event->value))
			return 0;
		if (t->returning)
			err = end_return(m, stream, t);
		if (err)
			return err;
		t->present = CALL_COLLECTIVE;
		t->collective = call.op;
		t->enter = (int64_t)ev->clock;
		t->waiting = m->collectives && (!has(t, VALUE_COMM) || t->comm_clock != t->enter);
		return t->waiting ? 0 : begin_collective(m, stream, t);
	}
	if (event && event->action == ACTION_POP && t->depth && !--t->depth &&
	    t->present == CALL_COLLECTIVE) {
		if (!t->waiting)
			err = tell_collective(m, stream, t, true);
		t->present = CALL_NONE_OF_OURS;
		forget_values(t);
	}
	return err;
}

int messages_step(struct messages *m, uint32_t stream, const struct event *ev)
{
	struct thread *t = m->own->threads[stream];
	int64_t value, clock = (int64_t)ev->clock;
	int32_t type;
	bool ours, function;
	int err;

	if (!t && m->all_are_world && !m->collectives && ev->model == 'M') {
		t = m->own->threads[stream] = thread_new();
		if (!t)
			return log_no_memory("for the collectives");
		t->model = true;
	}
	if (!t)
		return 0;
	function = t->model && ev->model == 'M';
	if (!function && !t->returning && (ev->model != 'O' || ev->category != 'M'))
		return 0;
	ours = ev->model == 'O' && ev->category == 'M' && ev->payload_size >= 12;
	type = ours ? get_i32(ev->payload + 8) : -1;
	value = ours ? get_i64(ev->payload) : 0;
	if (type < VALUE_CALL || type >= VALUES_END)
		ours = false;
	/* what comes back stands at the clock of the return, perhaps behind events of other models
	 */
	if (t->returning &&
	    (clock != t->leave ||
	     (ours && (ev->value != '=' || type < VALUE_REQUEST || type > VALUE_NEW_COMM)))) {
		err = end_return(m, stream, t);
		if (err)
			return err;
	}
	if (function)
		return take_function(m, stream, t, ev);
	if (!ours)
		return 0;
	if (ev->value == '=') {
		add_value(t, type, value);
		if (type == VALUE_COMM)
			t->comm_clock = clock;
		if (type == VALUE_COMM && t->model && t->waiting)
			return begin_collective(m, stream, t);
	} else if (mpi_call_event(ev) == '[') {
		t->calls++;
		if (value <= 0 || value >= LABELS)
			value = 0; /* which is none of ours */
		t->present = t->call[value];
		t->collective = t->op[value];
		t->is_mpich = t->mpich[value];
		if (m->only_collectives && t->present <= CALL_CANCEL)
			t->present = CALL_NONE_OF_OURS;
		t->enter = clock;
		return begin_call(m, stream, t);
	} else if (mpi_call_event(ev) == ']' && t->present == CALL_COLLECTIVE) {
		err = tell_collective(m, stream, t, true); /* which has nothing to come back */
		t->present = CALL_NONE_OF_OURS;
		forget_values(t);
		return err;
	} else if (mpi_call_event(ev) == ']' && t->present != CALL_NONE_OF_OURS) {
		t->leave = clock;
		t->returning = true;
	}
	return 0;
}

static void count_left(struct messages *m)
{
	struct messages_own *own = m->own;

	for (size_t i = 0; i < own->nops; i++) {
		const struct op *op = &own->ops[i];

		if (!op->used || op->partner != NONE || op->cancelled)
			continue;
		m->sends += op->send;
		m->receives += !op->send;
	}
}

int messages_finish(struct messages *m)
{
	struct messages_own *own = m->own;
	int err = 0;

	own->over = true;
	for (uint32_t i = 0; i < own->source->trace.nstreams && !err; i++)
		if (own->threads[i] && own->threads[i]->returning)
			err = end_call(m, i, own->threads[i]);
	for (size_t i = 0; i < own->ninboxes && !err; i++)
		err = sort_inbox(m, &own->inboxes[i]);
	for (uint32_t i = 0; i < own->nops && !err; i++)
		if (own->ops[i].used && own->ops[i].send && own->ops[i].partner != NONE)
			err = finish_pair(m, i, own->ops[i].partner);
	if (!err)
		count_left(m);
	return err;
}
