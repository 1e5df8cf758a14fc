/* SPDX-License-Identifier: MIT */
/*
 * messages: the point-to-point messages of MPI, by sender and receiver, the waits for them, and the
 * collectives.
 *
 *   sender     ─────────┌ MPI_Send ┐──     late sender: the receiver is in its call since before
 *   receiver   ──┌ MPI_Recv ───────┐──     the sender's begins; it waits up to there
 *
 * In: the events of a walk; values of calls that --api mpi-messages records; out: for each pair of
 * ranks the number of messages, their bytes, and the times that one waited for the other. The n-th
 * send of one rank to another with a tag, in a communicator, is received by the n-th receive, in
 * the order in which they were posted; a receive from any source, or with any tag, has the source
 * and the tag of its status, or else of the first message that fits it. Communicators are those of
 * the program, known by their creation: MPI_COMM_WORLD, MPI_Comm_dup, MPI_Comm_split. Invariant: a
 * message whose receive, communicator or size is not known is counted as such, and so is a match
 * that is not certain. Memory follows the messages on their way, and ranks that talk to each other.
 * Specification: event-mapping.md "MPI messages".
 */
#ifndef TRACE_MESSAGES_MESSAGES_H
#define TRACE_MESSAGES_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/base/hash.h"
#include "trace/messages/mpi_collectives.h"

struct event;
struct source;

/* The waits of one rank for another. A call that waits for several messages at once counts its time
 * once. */
struct message_wait {
	uint64_t count;
	int64_t ns, longest;
	int64_t at;	  /* clock at which the longest one began */
	int64_t from, to; /* private: the last one */
};

/* The messages from one rank to another. */
struct message_pair {
	int64_t app; /* ovni.app_id of both */
	int32_t from, to;
	uint32_t from_stream, to_stream; /* the first threads that took part */
	uint64_t messages, sized, bytes; /* bytes: of the `sized` ones */
	struct message_wait late_sender, late_receiver;
};

/* The waits of the receiver for the sender, or the reverse. */
static inline const struct message_wait *message_pair_wait(const struct message_pair *pair,
							   bool receiver)
{
	return receiver ? &pair->late_sender : &pair->late_receiver;
}

/* The send or the receive of a message. A stream counts its calls from 1 (mpi_call_event()). */
struct message_end {
	int32_t rank; /* in MPI_COMM_WORLD */
	/* the call that begins it: its stream, its number there, and the clock at which it begins
	 */
	uint32_t stream, call;
	int64_t posted;
	/* the call that completes it: its begin and end are INT64_MIN if not known; the begin, too,
	 * if the call may have waited for something else */
	uint32_t wait_stream, wait_call;
	int64_t from, to;
	bool requested; /* it has a request: MPI_Isend, MPI_Irecv */
	uint64_t request;
};

/* A message whose both ends are known. */
struct message {
	struct message_end send, receive;
	uint32_t comm; /* number of its communicator: communicators.h */
	int32_t tag;
	int64_t bytes; /* -1: not known */
};

struct messages {
	/* Called at the begin and at the end of each collective, if not NULL. Returns as `matched`.
	 */
	int (*collective)(void *arg, const struct collective_call *collective);
	/* Called for each message, when both calls are over, if not NULL. 0, or a negative error,
	 * which ends the walk. */
	int (*matched)(void *arg, const struct message *message);
	void *arg;
	bool only_collectives; /* leave out the messages; false, if the caller does not set it */
	/* In a trace without communicators each function of the model mpi that synchronises its
	 * ranks counts as a collective of all ranks; false, if the caller does not set it */
	bool all_are_world;
	/* Only messages that are sent between these clocks have a pair: all, if the caller does not
	 * set them after messages_init(). */
	int64_t first, last;
	struct message_pair *pairs; /* npairs of them, in the order of their first messages */
	size_t npairs;
	bool recorded;		 /* a stream declares the calls, */
	bool collectives;	 /* the trace has communicators of collectives */
	bool any;		 /* a call was recorded that is no collective */
	uint64_t unknown_comm;	 /* sends and receives in a communicator that is not known, */
	uint64_t unknown_source; /* receives from any source of which no send is in the trace, */
	uint64_t in_order; /* receives without a status that took the first of several sends */
	uint64_t sends, receives; /* without a partner in the trace */
	uint64_t unsupported;	  /* calls whose messages are not known: persistent, MPI_Mprobe */
	uint64_t cancelled;  /* cancellations of which the trace does not tell whether they came too
				late */
	uint64_t incomplete; /* calls with values that could not be read */
	struct messages_own *own;
};

/* Returns 0, or -ENOMEM after one message; messages_fini() must follow in both cases. */
int messages_init(struct messages *messages, const struct source *source)
	__attribute__((warn_unused_result));

/* One event of a walk. Returns 0, -ENOMEM, or what `matched` returns; so does the end. */
int messages_step(struct messages *messages, uint32_t stream, const struct event *ev)
	__attribute__((warn_unused_result));

int messages_finish(struct messages *messages) __attribute__((warn_unused_result));

void messages_fini(struct messages *messages);

#endif
