/* SPDX-License-Identifier: MIT */
/*
 * communicators: the communicators of an MPI program, by the calls that made them.
 *
 * In: the handles and arguments of the calls of each rank; out: the same number for the same
 * communicator in all ranks, and its members as ranks in MPI_COMM_WORLD. All ranks of a
 * communicator make new ones out of it in the same order, so the n-th call of each belongs
 * together; a split has its members by color, key and rank. Nothing of the memory of an MPI library
 * is read: a communicator that another call has made has a number without members.
 * Specification: event-mapping.md "MPI messages".
 */
#ifndef TRACE_MESSAGES_COMMUNICATORS_H
#define TRACE_MESSAGES_COMMUNICATORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/base/hash.h"

#define COMM_UNKNOWN UINT32_MAX

struct owner;
struct source;

enum comm_kind {
	COMM_WORLD,
	COMM_COPY,  /* the members of its parent */
	COMM_SPLIT, /* those with its color */
	COMM_OTHER, /* not known */
};

struct communicators {
	const struct source *source;
	struct comm_process *processes; /* nprocesses of them */
	size_t nprocesses;
	uint32_t *process_of;	    /* of each stream */
	struct comm_making *making; /* of each stream: its present call */
	struct comm *list;	    /* by number: count of them */
	size_t count;
	struct comm_split *splits; /* nsplits of them */
	size_t nsplits;
	struct hash world_at, handle_at, made_at, split_at, turn_at;
	uint32_t *turns; /* nturns of them: calls of a rank that made some out of a communicator */
	size_t nturns;
};

/* Returns 0 or -ENOMEM without a message; communicators_fini() must follow in both cases. */
int communicators_init(struct communicators *comms, const struct source *source)
	__attribute__((warn_unused_result));
void communicators_fini(struct communicators *comms);

/* The rank of the process of a stream in MPI_COMM_WORLD, or -1. */
int32_t communicators_rank(const struct communicators *comms, uint32_t stream);

/* The number of the communicator with this handle in the process of a stream, or COMM_UNKNOWN. */
uint32_t communicators_find(struct communicators *comms, uint32_t stream, bool mpich,
			    uint64_t handle);

/* The rank in MPI_COMM_WORLD of a member, or -1: not known. */
int32_t communicators_member(struct communicators *comms, uint32_t comm, int64_t member);

/* The number of members, or -1: not known (yet). */
int64_t communicators_size(struct communicators *comms, uint32_t comm);

/* Whether it is MPI_COMM_WORLD or a copy of it. */
bool communicators_is_world(const struct communicators *comms, uint32_t comm);

/* A thread begins a call that makes a communicator out of `parent`, and has got its handle. Both
 * return 0 or -ENOMEM. */
int communicators_make(struct communicators *comms, uint32_t stream, bool mpich, uint64_t parent,
		       enum comm_kind kind, int64_t color, int64_t key)
	__attribute__((warn_unused_result));
int communicators_made(struct communicators *comms, uint32_t stream, uint64_t handle)
	__attribute__((warn_unused_result));

/* The bytes of a datatype of the library, or -1: derived, or not known. The datatypes of Open MPI
 * are variables with names, those of MPICH have their size in their number. */
int64_t datatype_bytes(const struct owner *owner, bool mpich, uint64_t handle);

#endif
