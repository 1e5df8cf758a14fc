/* SPDX-License-Identifier: MIT */
#include "trace/messages/mpi_calls.h"

#include <string.h>

#include "trace/base/json.h"
#include "trace/ovni/event.h"

static const struct {
	const char *name;
	enum mpi_call_kind kind;
	enum collective_op op;
} calls[] = {
	{.name = "MPI_Send", .kind = CALL_SEND},
	{.name = "MPI_Bsend", .kind = CALL_SEND},
	{.name = "MPI_Ssend", .kind = CALL_SEND},
	{.name = "MPI_Rsend", .kind = CALL_SEND},
	{.name = "MPI_Isend", .kind = CALL_ISEND},
	{.name = "MPI_Ibsend", .kind = CALL_ISEND},
	{.name = "MPI_Issend", .kind = CALL_ISEND},
	{.name = "MPI_Irsend", .kind = CALL_ISEND},
	{.name = "MPI_Recv", .kind = CALL_RECV},
	{.name = "MPI_Irecv", .kind = CALL_IRECV},
	{.name = "MPI_Sendrecv", .kind = CALL_SENDRECV},
	{.name = "MPI_Sendrecv_replace", .kind = CALL_SENDRECV},
	{.name = "MPI_Wait", .kind = CALL_WAIT},
	{.name = "MPI_Waitall", .kind = CALL_WAITALL},
	{.name = "MPI_Cancel", .kind = CALL_CANCEL},
	{.name = "MPI_Comm_dup", .kind = CALL_DUP},
	{.name = "MPI_Comm_split", .kind = CALL_SPLIT},
	{.name = "MPI_Comm_create", .kind = CALL_NEW_COMM},
	{.name = "MPI_Comm_split_type", .kind = CALL_NEW_COMM},
	{.name = "MPI_Comm_dup_with_info", .kind = CALL_DUP},
	{.name = "MPI_Comm_idup", .kind = CALL_NEW_COMM},
	{.name = "MPI_Cart_create", .kind = CALL_NEW_COMM},
	{.name = "MPI_Cart_sub", .kind = CALL_NEW_COMM},
	{.name = "MPI_Graph_create", .kind = CALL_NEW_COMM},
	{.name = "MPI_Dist_graph_create", .kind = CALL_NEW_COMM},
	{.name = "MPI_Dist_graph_create_adjacent", .kind = CALL_NEW_COMM},
	{"MPI_Barrier", CALL_COLLECTIVE, COLLECTIVE_BARRIER},
	{"MPI_Bcast", CALL_COLLECTIVE, COLLECTIVE_BCAST},
	{"MPI_Gather", CALL_COLLECTIVE, COLLECTIVE_GATHER},
	{"MPI_Gatherv", CALL_COLLECTIVE, COLLECTIVE_GATHERV},
	{"MPI_Scatter", CALL_COLLECTIVE, COLLECTIVE_SCATTER},
	{"MPI_Scatterv", CALL_COLLECTIVE, COLLECTIVE_SCATTERV},
	{"MPI_Allgather", CALL_COLLECTIVE, COLLECTIVE_ALLGATHER},
	{"MPI_Allgatherv", CALL_COLLECTIVE, COLLECTIVE_ALLGATHERV},
	{"MPI_Alltoall", CALL_COLLECTIVE, COLLECTIVE_ALLTOALL},
	{"MPI_Alltoallv", CALL_COLLECTIVE, COLLECTIVE_ALLTOALLV},
	{"MPI_Alltoallw", CALL_COLLECTIVE, COLLECTIVE_ALLTOALLW},
	{"MPI_Allreduce", CALL_COLLECTIVE, COLLECTIVE_ALLREDUCE},
	{"MPI_Reduce", CALL_COLLECTIVE, COLLECTIVE_REDUCE},
	{"MPI_Reduce_scatter", CALL_COLLECTIVE, COLLECTIVE_REDUCE_SCATTER},
	{"MPI_Scan", CALL_COLLECTIVE, COLLECTIVE_SCAN},
	{"MPI_Exscan", CALL_COLLECTIVE, COLLECTIVE_EXSCAN},
	{"MPI_Reduce_scatter_block", CALL_COLLECTIVE, COLLECTIVE_REDUCE_SCATTER_BLOCK},
};

struct mpi_call mpi_call_of(const char *label)
{
	const char *of = strstr(label, " of MPICH");
	size_t length = of ? (size_t)(of - label) : strlen(label);

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strlen(calls[i].name) == length && !strncmp(calls[i].name, label, length))
			return (struct mpi_call){calls[i].kind, calls[i].op, of != NULL};
	return (struct mpi_call){.kind = CALL_UNSUPPORTED, .mpich = of};
}

bool mpi_calls_declared(const struct json *mark)
{
	const char *title = json_string(json_key(mark, "title"));

	return title && !strcmp(title, MPI_CALLS_TITLE);
}

bool mpi_calls_declare_collectives(const struct json *meta)
{
	const struct json *mark = json_get(meta, MPI_CALLS_MARK), *label;

	if (!mpi_calls_declared(mark))
		return false;
	for (label = json_first(json_key(mark, "labels")); label; label = json_next(label)) {
		const char *text = json_string(label);

		if (text && mpi_call_of(text).kind == CALL_COLLECTIVE)
			return true;
	}
	return false;
}

bool mpi_calls_declare_communicators(const struct json *meta)
{
	const struct json *mark = json_get(meta, MPI_COMMUNICATOR_MARK);
	const char *title = json_string(json_key(mark, "title"));

	return (title && !strcmp(title, MPI_COMMUNICATOR_TITLE)) ||
	       mpi_calls_declare_collectives(meta);
}

char mpi_call_event(const struct event *ev)
{
	bool call = ev->model == 'O' && ev->category == 'M' && ev->payload_size >= 12 &&
		    get_i32(ev->payload + 8) == MPI_CALLS_TYPE;

	return call && (ev->value == '[' || ev->value == ']') ? ev->value : 0;
}
