/* SPDX-License-Identifier: MIT */
/*
 * collectives: the time between the collective calls of all ranks, and the time in them.
 *
 *   rank 0  ─────useful─────┌ enter ────── leave ┐──useful───
 *   rank 1  ──────────useful──────┌ enter  leave ┐──useful───
 *           └ phase 1 of rank 0                  ┘└ phase 2
 *                                 └ transfer ┘
 *
 * In: the calls of MPI of each rank, in the order of its clock; out: sums over all instances. The
 * sums are valid if every call is a synchronising collective, all ranks have the same sequence of
 * calls, and all ranks enter an instance before one leaves it; `fault` says which fails. Only
 * instances that some ranks have not left are kept: memory does not follow calls, unless the clocks
 * of nodes differ. Specification: efficiency.md 2.4.
 */
#ifndef TRACE_EFFICIENCY_COLLECTIVES_H
#define TRACE_EFFICIENCY_COLLECTIVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum collectives_fault {
	COLLECTIVES_FINE,
	COLLECTIVES_NONE,   /* no call of MPI */
	COLLECTIVES_OTHERS, /* a call that does not synchronise all ranks */
	COLLECTIVES_GROUP,  /* a collective of which it is not known whether it is of all ranks */
	COLLECTIVES_DIFFERENT, /* sequences of ranks differ */
	COLLECTIVES_CLOCKS,    /* a rank left before another one entered */
	COLLECTIVES_SEVERAL,   /* MPI from several threads */
};

/* A rank in one instance: clocks, and the longest useful time of a unit since the one before. */
struct collective_rank {
	int64_t enter, leave;
	int64_t useful, own; /* ns; own: without waits for a CPU */
	bool entered;
};

struct collective {
	int function;
	size_t left; /* ranks that left it */
	struct collective_rank *ranks;
};

struct collectives {
	size_t nranks, njoined;
	bool *joined;		 /* of each rank: its window has begun */
	size_t *next;		 /* of each rank: number of its next instance */
	struct collective *open; /* instances from `first` on */
	size_t first, nopen, room;
	uint64_t instances;
	int64_t clock_bound; /* ns by which the clocks of two ranks may differ */
	enum collectives_fault fault;
	/* sums over the complete instances, ns: */
	int64_t transfer; /* latest leave - latest enter */
	int64_t wait;	  /* of all ranks: latest enter - enter */
	int64_t os_loss;  /* latest useful - latest own */
};

/* Returns 0 or -ENOMEM; collectives_fini() must follow in both cases. */
int collectives_init(struct collectives *c, size_t nranks) __attribute__((warn_unused_result));

/* The sums do not hold, for a reason that the caller knows. The first reason stays. */
void collectives_refuse(struct collectives *c, enum collectives_fault fault);

/* The window of a rank begins: it takes part in all instances. */
void collectives_join(struct collectives *c, size_t rank);

/* A rank begins a call. Returns 0 or -ENOMEM. */
int collectives_enter(struct collectives *c, size_t rank, int function, int64_t clock)
	__attribute__((warn_unused_result));

/* It ends it. `useful` and `own` are of the rank since the end of the call before. */
void collectives_leave(struct collectives *c, size_t rank, int64_t clock, int64_t useful,
		       int64_t own);

/* After the walk: `last` has the useful times of all ranks after their last call. */
void collectives_finish(struct collectives *c, const struct collective_rank *last);

void collectives_fini(struct collectives *c);

#endif
