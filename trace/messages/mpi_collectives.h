/* SPDX-License-Identifier: MIT */
/*
 * mpi_collectives: what each collective of MPI does: whether it has a root, whether it synchronises
 * the ranks, and how many bytes a rank gives to it and gets from it.
 *
 * In: the arguments of a call (messages.h); out: the same call, complete. Invariant: a number that
 * the arguments of one rank do not tell is -1. Specification: event-mapping.md "MPI messages".
 */
#ifndef TRACE_MESSAGES_MPI_COLLECTIVES_H
#define TRACE_MESSAGES_MPI_COLLECTIVES_H

#include <stdbool.h>
#include <stdint.h>

struct communicators;

/* The collectives that are recorded with their communicator; the numbers are those of OTF2. */
enum collective_op {
	COLLECTIVE_BARRIER,
	COLLECTIVE_BCAST,
	COLLECTIVE_GATHER,
	COLLECTIVE_GATHERV,
	COLLECTIVE_SCATTER,
	COLLECTIVE_SCATTERV,
	COLLECTIVE_ALLGATHER,
	COLLECTIVE_ALLGATHERV,
	COLLECTIVE_ALLTOALL,
	COLLECTIVE_ALLTOALLV,
	COLLECTIVE_ALLTOALLW,
	COLLECTIVE_ALLREDUCE,
	COLLECTIVE_REDUCE,
	COLLECTIVE_REDUCE_SCATTER,
	COLLECTIVE_SCAN,
	COLLECTIVE_EXSCAN,
	COLLECTIVE_REDUCE_SCATTER_BLOCK,
};

/* A call of a collective that begins or ends. */
struct collective_call {
	uint32_t stream, call; /* as in struct message_end (messages.h) */
	enum collective_op op;
	bool over;
	int64_t entered; /* clock at which the call began */
	bool world;	 /* its communicator has all ranks of MPI_COMM_WORLD, in their order */
	uint32_t comm;	 /* its number; UINT32_MAX: not known */
	int32_t root;	 /* rank in MPI_COMM_WORLD; -1: none, or not known */
	/* bytes that the rank gives to it, and gets from it; -1: not known, or not over */
	int64_t sent, received;
};

/* Whether no rank can leave it before all have entered. */
bool collective_synchronises(enum collective_op op);
/* Whether it has a root. */
bool collective_has_root(enum collective_op op);

/* Sets the bytes of a call; the rest of it is set. `bytes`: its count times its datatype, or -1. */
void collective_bytes(struct collective_call *call, struct communicators *comms, int64_t bytes);

#endif
