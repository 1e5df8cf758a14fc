/* SPDX-License-Identifier: MIT */
/* communicators: see communicators.h. */
#include "trace/messages/communicators.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/array.h"
#include "trace/ovni/trace.h"
#include "trace/states/sleep_call.h"

#define MPICH_COMM_WORLD 0x44000000u /* of mpi.h */

struct comm_process {
	int64_t app;
	int32_t rank;
};

struct comm_member {
	int32_t rank; /* in MPI_COMM_WORLD */
	uint32_t at;  /* its rank in the parent */
	int64_t color, key;
};

/* The ranks of a call of MPI_Comm_split, as they enter it. */
struct comm_split {
	struct comm_member *list;
	size_t n;
	bool sorted;
};

struct comm {
	enum comm_kind kind;
	uint32_t parent, split;
	int64_t app, color;
	int64_t size; /* 0: not counted */
};

struct comm_making {
	enum comm_kind kind;
	uint32_t parent, turn, split;
	int64_t color;
	bool any;
};

/* ---- processes ---- */

static int add_process(struct communicators *c, struct hash *at_pid, uint32_t stream)
{
	const struct owner *owner = &c->source->owners[stream];
	struct hash_key key = hash_key_of(owner->loom, strlen(owner->loom));
	struct comm_process *process;
	uint32_t *at;

	key.c = (uint32_t)owner->pid;
	at = hash_at(at_pid, key);
	if (!at)
		return -ENOMEM;
	if (*at == HASH_NONE) {
		process = ARRAY_ADD(c->processes, c->nprocesses);
		if (!process)
			return -ENOMEM;
		*process = (struct comm_process){.app = owner->app_id, .rank = -1};
		*at = (uint32_t)c->nprocesses - 1;
	}
	c->process_of[stream] = *at;
	process = &c->processes[*at];
	/* one stream of a process has its rank */
	if (owner->known_rank >= 0 && owner->known_rank <= INT32_MAX)
		process->rank = (int32_t)owner->known_rank;
	return 0;
}

int communicators_init(struct communicators *c, const struct source *source)
{
	size_t n = source->trace.nstreams;
	struct hash at_pid = {0};
	int err = 0;

	*c = (struct communicators){.source = source};
	c->process_of = calloc(n + 1, sizeof(*c->process_of));
	c->making = calloc(n + 1, sizeof(*c->making));
	if (!c->process_of || !c->making)
		return -ENOMEM;
	for (uint32_t i = 0; i < n && !err; i++)
		err = add_process(c, &at_pid, i);
	hash_free(&at_pid);
	return err;
}

void communicators_fini(struct communicators *c)
{
	for (size_t i = 0; i < c->nsplits; i++)
		free(c->splits[i].list);
	free(c->splits);
	free(c->list);
	free(c->making);
	free(c->process_of);
	free(c->processes);
	free(c->turns);
	hash_free(&c->world_at);
	hash_free(&c->handle_at);
	hash_free(&c->made_at);
	hash_free(&c->split_at);
	hash_free(&c->turn_at);
	*c = (struct communicators){0};
}

int32_t communicators_rank(const struct communicators *c, uint32_t stream)
{
	return c->processes[c->process_of[stream]].rank;
}

/* ---- handles ---- */

static const char *name_of(const struct owner *owner, uint64_t address)
{
	int at = sleep_call_futex(owner, address, INT64_MAX);

	return at < 0 ? NULL : owner->futexes[at].name;
}

static uint32_t add_comm(struct communicators *c, uint32_t *at, struct comm comm)
{
	struct comm *added;

	if (!at)
		return COMM_UNKNOWN;
	if (*at == HASH_NONE) {
		added = ARRAY_ADD(c->list, c->count);
		if (!added)
			return COMM_UNKNOWN;
		*added = comm;
		*at = (uint32_t)c->count - 1;
	}
	return *at;
}

uint32_t communicators_find(struct communicators *c, uint32_t stream, bool mpich, uint64_t handle)
{
	const struct comm_process *process = &c->processes[c->process_of[stream]];
	struct hash_key key = {handle, c->process_of[stream], 0};
	uint32_t found = hash_get(&c->handle_at, key);
	const char *name;

	if (found != HASH_NONE)
		return found;
	name = mpich ? NULL : name_of(&c->source->owners[stream], handle);
	if (mpich ? handle != MPICH_COMM_WORLD : !name || strcmp(name, "ompi_mpi_comm_world"))
		return COMM_UNKNOWN;
	return add_comm(c, hash_at(&c->world_at, (struct hash_key){(uint64_t)process->app, 0, 0}),
			(struct comm){.kind = COMM_WORLD, .app = process->app});
}

/* ---- members ---- */

/* The ranks of the application, if none of them is missing in the trace; else -1. */
static int64_t world_size(const struct communicators *c, int64_t app)
{
	int64_t n = 0, most = -1;

	for (size_t i = 0; i < c->nprocesses; i++) {
		const struct comm_process *process = &c->processes[i];

		if (process->app != app || process->rank < 0)
			continue;
		n++;
		most = process->rank > most ? process->rank : most;
	}
	return most + 1 == n ? n : -1;
}

static int64_t size_of(const struct communicators *c, uint32_t at)
{
	const struct comm *comm = &c->list[at];
	int64_t n = 0;

	while (comm->kind == COMM_COPY)
		comm = &c->list[comm->parent];
	if (comm->kind == COMM_WORLD)
		return world_size(c, comm->app);
	if (comm->kind == COMM_OTHER)
		return -1;
	for (size_t i = 0; i < c->splits[comm->split].n; i++)
		n += c->splits[comm->split].list[i].color == comm->color;
	return n;
}

static int by_key(const void *pa, const void *pb)
{
	const struct comm_member *a = pa, *b = pb;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return (a->at > b->at) - (a->at < b->at);
}

/* The rank of `rank` in the communicator, or -1. */
static int64_t place_of(struct communicators *c, uint32_t comm, int32_t rank)
{
	int64_t size = size_of(c, comm);

	for (int64_t i = 0; i < size; i++)
		if (communicators_member(c, comm, i) == rank)
			return i;
	return -1;
}

/* Puts the members of a split into their order, once all are known. */
static bool sort_split(struct communicators *c, const struct comm *comm)
{
	struct comm_split *split = &c->splits[comm->split];

	if (split->sorted)
		return true;
	if (size_of(c, comm->parent) != (int64_t)split->n)
		return false;
	for (size_t i = 0; i < split->n; i++) {
		int64_t at = place_of(c, comm->parent, split->list[i].rank);

		if (at < 0)
			return false;
		split->list[i].at = (uint32_t)at;
	}
	qsort(split->list, split->n, sizeof(*split->list), by_key);
	split->sorted = true;
	return true;
}

int32_t communicators_member(struct communicators *c, uint32_t at, int64_t member)
{
	const struct comm *comm = at < c->count ? &c->list[at] : NULL;

	while (comm && comm->kind == COMM_COPY)
		comm = &c->list[comm->parent];
	if (!comm || member < 0 || comm->kind == COMM_OTHER)
		return -1;
	if (comm->kind == COMM_WORLD)
		return member <= INT32_MAX ? (int32_t)member : -1;
	if (!sort_split(c, comm))
		return -1;
	for (size_t i = 0; i < c->splits[comm->split].n; i++) {
		const struct comm_member *m = &c->splits[comm->split].list[i];

		if (m->color == comm->color && member-- == 0)
			return m->rank;
	}
	return -1;
}

int64_t communicators_size(struct communicators *c, uint32_t at)
{
	struct comm *comm = at < c->count ? &c->list[at] : NULL;

	while (comm && comm->kind == COMM_COPY)
		comm = &c->list[comm->parent];
	if (!comm || (comm->kind == COMM_SPLIT && !sort_split(c, comm)))
		return -1;
	if (!comm->size)
		comm->size = size_of(c, (uint32_t)(comm - c->list));
	return comm->size;
}

bool communicators_is_world(const struct communicators *c, uint32_t at)
{
	while (at < c->count && c->list[at].kind == COMM_COPY)
		at = c->list[at].parent;
	return at < c->count && c->list[at].kind == COMM_WORLD;
}

/* ---- new communicators ---- */

/* How often this process has made one out of `parent` before. */
static int next_turn(struct communicators *c, uint32_t stream, uint32_t parent, uint32_t *turn)
{
	uint32_t *at = hash_at(&c->turn_at, (struct hash_key){c->process_of[stream], parent, 0});
	uint32_t *added;

	if (!at)
		return -ENOMEM;
	if (*at == HASH_NONE) {
		added = ARRAY_ADD(c->turns, c->nturns);
		if (!added)
			return -ENOMEM;
		*added = 0;
		*at = (uint32_t)c->nturns - 1;
	}
	*turn = c->turns[*at]++;
	return 0;
}

static int join_split(struct communicators *c, uint32_t stream, struct comm_making *making,
		      int64_t key)
{
	uint32_t *at = hash_at(&c->split_at, (struct hash_key){making->parent, making->turn, 0});
	struct comm_split *split;
	struct comm_member *member;

	if (!at)
		return -ENOMEM;
	if (*at == HASH_NONE) {
		split = ARRAY_ADD(c->splits, c->nsplits);
		if (!split)
			return -ENOMEM;
		*split = (struct comm_split){0};
		*at = (uint32_t)c->nsplits - 1;
	}
	making->split = *at;
	split = &c->splits[*at];
	member = ARRAY_ADD(split->list, split->n);
	if (!member)
		return -ENOMEM;
	*member = (struct comm_member){
		.rank = communicators_rank(c, stream), .color = making->color, .key = key};
	split->sorted = false;
	return 0;
}

int communicators_make(struct communicators *c, uint32_t stream, bool mpich, uint64_t handle,
		       enum comm_kind kind, int64_t color, int64_t key)
{
	struct comm_making *making = &c->making[stream];
	uint32_t parent = communicators_find(c, stream, mpich, handle);
	int err;

	*making = (struct comm_making){.kind = kind, .parent = parent};
	if (parent == COMM_UNKNOWN)
		return 0;
	making->any = true;
	making->color = kind == COMM_SPLIT ? color : 0;
	err = next_turn(c, stream, parent, &making->turn);
	if (!err && kind == COMM_SPLIT)
		err = join_split(c, stream, making, key);
	return err;
}

int communicators_made(struct communicators *c, uint32_t stream, uint64_t handle)
{
	const struct comm_making *making = &c->making[stream];
	struct hash_key key = {making->parent, (uint64_t)making->color, making->turn};
	uint32_t *at, comm;

	if (!making->any)
		return 0;
	comm = add_comm(c, hash_at(&c->made_at, key),
			(struct comm){.kind = making->kind,
				      .parent = making->parent,
				      .split = making->split,
				      .app = c->list[making->parent].app,
				      .color = making->color});
	if (comm == COMM_UNKNOWN)
		return -ENOMEM;
	at = hash_at(&c->handle_at, (struct hash_key){handle, c->process_of[stream], 0});
	if (!at)
		return -ENOMEM;
	*at = comm; /* a freed handle may come again */
	return 0;
}

/* ---- datatypes ---- */

int64_t datatype_bytes(const struct owner *owner, bool mpich, uint64_t handle)
{
	/* of C on 64-bit Linux; those of Fortran depend on how the library was built */
	static const struct {
		const char *name;
		int64_t bytes;
	} types[] = {
		{"byte", 1},
		{"packed", 1},
		{"char", 1},
		{"signed_char", 1},
		{"unsigned_char", 1},
		{"cxx_bool", 1},
		{"c_bool", 1},
		{"int8_t", 1},
		{"uint8_t", 1},
		{"short", 2},
		{"unsigned_short", 2},
		{"int16_t", 2},
		{"uint16_t", 2},
		{"int", 4},
		{"unsigned", 4},
		{"wchar", 4},
		{"float", 4},
		{"int32_t", 4},
		{"uint32_t", 4},
		{"long", 8},
		{"unsigned_long", 8},
		{"long_long_int", 8},
		{"unsigned_long_long", 8},
		{"double", 8},
		{"int64_t", 8},
		{"uint64_t", 8},
		{"aint", 8},
		{"offset", 8},
		{"count", 8},
		{"2int", 8},
		{"float_int", 8},
		{"c_float_complex", 8},
		{"c_complex", 8},
		{"c_double_complex", 16},
		{"long_double", 16},
	};
	static const char prefix[] = "ompi_mpi_";
	const char *name;

	if (mpich) /* 0x4c00SSNN: SS bytes, for all that are not derived */
		return handle >> 16 == 0x4c00 ? (int64_t)(handle >> 8 & 0xff) : -1;
	name = name_of(owner, handle);
	if (!name || strncmp(name, prefix, strlen(prefix)))
		return -1;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(name + strlen(prefix), types[i].name))
			return types[i].bytes;
	return -1;
}
