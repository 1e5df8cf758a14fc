/* SPDX-License-Identifier: MIT */
/*
 * mpi_edges: the calls of MPI in which a thread waited for another one, and for what.
 *
 *   sender    ───────────┌ MPI_Send ┐──      the receiver's call waited for the clock at which
 *   receiver  ──┌ MPI_Recv      ┐──────      the sender's began
 *   rank 1    ──┌ MPI_Barrier   ┐──────      rank 1 waited for the clock at which the last rank
 *   rank 0    ───────────┌      ┐──────      entered
 *
 * In: the events of a walk; out: an edge for each call that waited. Messages are those of
 * messages.h. A collective is of all ranks if its communicator is MPI_COMM_WORLD or a copy of it,
 * or the trace has no communicators, and only while all ranks of the job are there, all call the
 * same sequence of collectives that no rank leaves before all have entered, each in one thread, and
 * none leaves one before another one has entered, by more than the clocks may differ: else no
 * collective of the trace has an edge. Memory follows the edges, and the collectives that some
 * ranks have not left. Specification: why.md, part D.
 */
#ifndef TRACE_MESSAGES_MPI_EDGES_H
#define TRACE_MESSAGES_MPI_EDGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event;
struct source;

enum mpi_wait { MPI_WAIT_SENDER = 1, MPI_WAIT_RECEIVER, MPI_WAIT_LAST };

struct mpi_edge {	/* of a thread */
	int64_t to;	/* clock at which its call ended */
	int64_t at;	/* clock in the call at which the other thread did its part */
	uint32_t other; /* stream */
	uint32_t wait;	/* enum mpi_wait */
};

struct mpi_edge_list {
	struct mpi_edge *edges; /* after mpi_edges_finish() in the order of `to`, then `at` */
	size_t n;
	uint32_t room;
};

struct mpi_edges {
	struct mpi_edge_list *lists; /* of each stream */
	bool any;		     /* a call of MPI */
	bool whole;		     /* its collectives are of all ranks */
	struct mpi_edges_own *own;
};

/* Returns 0, or -ENOMEM after one message; mpi_edges_fini() must follow in both cases. */
int mpi_edges_init(struct mpi_edges *edges, const struct source *source)
	__attribute__((warn_unused_result));
/* One event of a walk, with its corrected clock; the end. Both return 0 or -ENOMEM. */
int mpi_edges_step(struct mpi_edges *edges, uint32_t stream, const struct event *ev)
	__attribute__((warn_unused_result));
int mpi_edges_finish(struct mpi_edges *edges) __attribute__((warn_unused_result));
void mpi_edges_fini(struct mpi_edges *edges);

#endif
