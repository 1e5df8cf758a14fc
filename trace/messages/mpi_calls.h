/* SPDX-License-Identifier: MIT */
/*
 * mpi_calls: the functions of MPI that --api mpi-messages records, by their names.
 *
 * In: the labels of the mark of calls in the metadata of a stream; out: what each function does.
 */
#ifndef TRACE_MESSAGES_MPI_CALLS_H
#define TRACE_MESSAGES_MPI_CALLS_H

#include <stdbool.h>

#include "trace/messages/mpi_collectives.h"

struct event;
struct json;

/* The mark of calls: its title, its type, and where the metadata of a stream have it. */
#define MPI_CALLS_TITLE "MPI messages"
#define MPI_CALLS_TYPE	56
#define MPI_CALLS_MARK	"ovni.mark.56"
/* The mark of communicators: its title, and where the metadata of a stream have it. */
#define MPI_COMMUNICATOR_TITLE "MPI communicator"
#define MPI_COMMUNICATOR_MARK  "ovni.mark.64"

enum mpi_call_kind {
	CALL_NONE_OF_OURS,
	CALL_SEND,
	CALL_ISEND,
	CALL_RECV,
	CALL_IRECV,
	CALL_SENDRECV,
	CALL_WAIT,
	CALL_WAITALL,
	CALL_CANCEL, /* the last one that is about messages */
	CALL_DUP,
	CALL_SPLIT,
	CALL_NEW_COMM,
	CALL_COLLECTIVE,
	CALL_UNSUPPORTED,
};

struct mpi_call {
	enum mpi_call_kind kind;
	enum collective_op op; /* of CALL_COLLECTIVE */
	bool mpich;	       /* else of another MPI: the handles differ */
};

/* The call with this label. */
struct mpi_call mpi_call_of(const char *label);

/* Whether the mark `mark` of a stream (NULL: none) has the calls. */
bool mpi_calls_declared(const struct json *mark);

/* Whether the calls in the metadata of a stream include collectives. */
bool mpi_calls_declare_collectives(const struct json *meta);

/* Whether a stream has communicators: of those collectives, or of functions of the model mpi, which
 * --api mpi records. Without them nothing tells which collectives are of all ranks. */
bool mpi_calls_declare_communicators(const struct json *meta);

/* '[' if a call begins with the event, ']' if it ends, 0 for other events. */
char mpi_call_event(const struct event *ev);

#endif
