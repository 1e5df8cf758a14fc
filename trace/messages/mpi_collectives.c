/* SPDX-License-Identifier: MIT */
#include "trace/messages/mpi_collectives.h"

#include "trace/messages/communicators.h"

bool collective_synchronises(enum collective_op op)
{
	return op == COLLECTIVE_BARRIER || op == COLLECTIVE_REDUCE_SCATTER ||
	       op == COLLECTIVE_REDUCE_SCATTER_BLOCK ||
	       (op >= COLLECTIVE_ALLGATHER && op <= COLLECTIVE_ALLREDUCE);
}

bool collective_has_root(enum collective_op op)
{
	return (op >= COLLECTIVE_BCAST && op <= COLLECTIVE_SCATTERV) || op == COLLECTIVE_REDUCE;
}

/* `n` times `bytes`, or -1 if one is not known. */
static int64_t times(int64_t n, int64_t bytes)
{
	int64_t product;

	return n < 0 || bytes < 0 || __builtin_mul_overflow(n, bytes, &product) ? -1 : product;
}

/* The arguments of gather and scatter differ between the ranks, and those with a list of counts are
 * not recorded. */
void collective_bytes(struct collective_call *c, struct communicators *comms, int64_t bytes)
{
	int32_t rank = communicators_rank(comms, c->stream);
	bool is_root = c->root == rank;

	switch (c->op) {
	case COLLECTIVE_BARRIER:
		c->sent = c->received = 0;
		break;
	case COLLECTIVE_BCAST:
		c->sent = is_root ? bytes : 0;
		c->received = is_root ? 0 : bytes;
		break;
	case COLLECTIVE_REDUCE:
		c->sent = bytes;
		c->received = is_root ? bytes : 0;
		break;
	case COLLECTIVE_ALLREDUCE:
	case COLLECTIVE_SCAN:
		c->sent = c->received = bytes;
		break;
	case COLLECTIVE_EXSCAN: /* the first rank gets nothing */
		c->sent = bytes;
		c->received = communicators_member(comms, c->comm, 0) == rank ? 0 : bytes;
		break;
	case COLLECTIVE_ALLGATHER:
		c->sent = bytes;
		c->received = times(communicators_size(comms, c->comm), bytes);
		break;
	case COLLECTIVE_ALLTOALL:
		c->sent = c->received = times(communicators_size(comms, c->comm), bytes);
		break;
	case COLLECTIVE_REDUCE_SCATTER_BLOCK:
		c->sent = times(communicators_size(comms, c->comm), bytes);
		c->received = bytes;
		break;
	default:
		break;
	}
}
