/* SPDX-License-Identifier: MIT */
/*
 * thread_grammar: reads thread.pallas, the grammar of one thread with summaries of its vectors.
 *
 * In: the bytes of the file; out: tables of events, sequences and loops with references by index
 * (the reader applies the id maps). Large parts (tokens, sub-array descriptions, payloads) stay in
 * the bytes of the file. Invariant after thread_grammar_parse(): every token is valid, the grammar
 * has no cycle, and the length of each vector is the number of its occurrences in the expansion.
 * Specification: pallas.md 7, 8, 11, 13, 22; rules R13 and R14.
 */
#ifndef TRACE_PALLAS_THREAD_GRAMMAR_H
#define TRACE_PALLAS_THREAD_GRAMMAR_H

#include <stddef.h>
#include <stdint.h>

#include "trace/ovni/event.h"
#include "trace/pallas/format.h"

/* One vector: its summary, and its sub-arrays. */
struct pallas_vector {
	uint64_t n;		 /* elements */
	uint64_t nsubs;		 /* sub-arrays */
	uint64_t min, max, mean; /* of durations, ns; of times: first, last, 0 */
	const uint8_t *subs;	 /* in the file: 32 or 40 bytes each */
	enum pallas_vector_kind kind;
};

/* One sub-array, unpacked. */
struct pallas_sub {
	uint64_t n;
	uint64_t min, max; /* of times: first and last */
	uint64_t mean;	   /* of durations */
	uint64_t offset;   /* of its chunk in the data file */
};

static inline struct pallas_sub pallas_vector_sub(const struct pallas_vector *v, uint64_t i)
{
	bool durations = v->kind == VECTOR_DURATIONS;
	const uint8_t *at = v->subs + i * (durations ? 40 : 32);

	return (struct pallas_sub){
		.n = get_u64(at),
		.min = get_u64(at + 8),
		.max = get_u64(at + 16),
		.mean = durations ? get_u64(at + 24) : 0,
		.offset = get_u64(at + (durations ? 32 : 24)),
	};
}

/* The sum of all elements is in [*low, *high], since the stored means are rounded down. */
void pallas_vector_total(const struct pallas_vector *v, uint64_t *low, uint64_t *high);

struct pallas_event {
	uint32_t id; /* logical, PALLAS_NONE in an unused slot */
	uint32_t record;
	const uint8_t *payload;
	uint8_t payload_size;
	const uint8_t *attributes; /* lists of its occurrences, pallas.md 11 */
	uint64_t attributes_size;
	struct pallas_vector times;
};

struct pallas_sequence {
	uint32_t id;
	enum pallas_sequence_type type;
	uint8_t *tokens;  /* ntokens x u32, not aligned; ids are indices of the tables */
	uint64_t ntokens; /* 0: unused slot */
	struct pallas_vector durations, exclusive, starts;
};

struct pallas_loop {
	uint32_t id;
	uint32_t sequence; /* index in the table; PALLAS_NONE in an unused slot */
	uint32_t iterations;
	uint64_t occurrences; /* from the file */
	uint64_t runs;	      /* from the expansion */
};

struct pallas_map {
	uint32_t *places; /* logical id -> index in the table, or PALLAS_NONE */
	size_t n;
};

struct thread_grammar {
	uint32_t thread, archive; /* ids in the header */
	uint64_t first_time;	  /* ns, from the header */
	uint32_t root;		  /* index in the table */
	uint32_t root_id;	  /* logical */
	struct pallas_event *events;
	struct pallas_sequence *sequences;
	struct pallas_loop *loops;
	size_t nevents, nsequences, nloops;
	struct pallas_map event_map, sequence_map, loop_map;
	uint32_t *order;       /* sequences, each before its parents */
	uint32_t norder;       /* number of sequences below the root, with it */
	uint32_t depth;	       /* levels from the root: sequences, and loops between them */
	uint64_t total_events; /* of the expansion */
	size_t memory;	       /* bytes held, file included */
	uint8_t *bytes;	       /* the file */
};

static inline uint32_t pallas_sequence_token(const struct pallas_sequence *s, uint64_t i)
{
	return get_u32(s->tokens + 4 * i);
}

/*
 * Reads the bytes of a thread.pallas (from malloc()), which it owns, also after a failure;
 * `version` is that of the ABI, and `shown` the name of the file in messages. Returns 0, or -errno
 * after one message.
 */
int thread_grammar_parse(struct thread_grammar *g, uint8_t *bytes, size_t size, uint8_t version,
			 const char *shown) __attribute__((warn_unused_result));
void thread_grammar_free(struct thread_grammar *g); /* accepts a zeroed struct */

struct pallas_list {
	int32_t occurrence; /* 0 is the first of its event */
	uint8_t nvalues;
	const uint8_t *values, *end;
};

struct pallas_value {
	uint32_t ref; /* the attribute */
	const uint8_t *bytes;
	uint16_t size;
};

/*
 * Reads the list at *at, which starts at e->attributes, and advances *at. Returns 1, 0 at the end,
 * or -EBADMSG without a message: a list ends inside its buffer, and a value inside its list.
 */
int pallas_list_next(const struct pallas_event *e, const uint8_t **at, struct pallas_list *list);

/* Reads the value at list->values and advances it. Returns 1, 0 at the end, or -EBADMSG. */
int pallas_value_next(struct pallas_list *list, struct pallas_value *value);

#endif
