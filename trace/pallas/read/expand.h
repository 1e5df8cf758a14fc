/* SPDX-License-Identifier: MIT */
/*
 * expand: returns the events of one thread, or of all threads, in order.
 *
 * In: a grammar and the times of its events; out: one event at a time. The walk has one frame for
 * each level of the grammar and one position for each event entry: an event takes constant time
 * and no allocation. Invariant: threads are merged by (time, archive id, location id).
 * Specification: pallas.md 13.
 */
#ifndef TRACE_PALLAS_READ_EXPAND_H
#define TRACE_PALLAS_READ_EXPAND_H

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "trace/pallas/read/archive.h"

/* ---- vectors (loader.c) ---- */

struct pallas_loader;

struct pallas_walk {
	const uint64_t *data; /* the present element */
	uint64_t left;	      /* elements at data, in the loaded chunk; 0: not loaded */
	uint64_t behind;      /* elements of the present sub-array before data */
	uint64_t sub;	      /* the present sub-array */
	const struct pallas_vector *vector;
	const struct pallas_thread *thread;
	struct pallas_loader *loader;
	TAILQ_ENTRY(pallas_walk) loaded; /* in the order of loading */
	uint64_t *chunk;
	size_t chunk_bytes;
};

struct pallas_load_stats {
	uint64_t unloaded;   /* chunks, because of the budget */
	uint64_t peak_bytes; /* of names, grammars and chunks */
};

/* Creates the loader of a trace. Returns NULL after a message, as for a compression that this
 * program cannot decode; the first one of a lossy archive warns. */
struct pallas_loader *pallas_loader_new(struct pallas_trace *trace);
void pallas_loader_free(struct pallas_loader *loader); /* after its walks; accepts NULL */
struct pallas_load_stats pallas_loader_stats(const struct pallas_loader *loader);

/* Starts a walk before the first element. The walk must not move in memory. */
void pallas_walk_init(struct pallas_walk *w, struct pallas_loader *loader,
		      const struct pallas_thread *thread, const struct pallas_vector *vector);
void pallas_walk_fini(struct pallas_walk *w);

/* Goes before element n, without reading. */
void pallas_walk_skip(struct pallas_walk *w, uint64_t n);

/*
 * Internal: loads the chunk of the next element. Returns 0, or -errno after one message; -ENODATA
 * at the end of the vector.
 */
int pallas_walk_load(struct pallas_walk *w) __attribute__((warn_unused_result));

/* Reads the next element. Returns 0, or -errno after one message. */
static inline int pallas_walk_next(struct pallas_walk *w, uint64_t *out)
{
	if (__builtin_expect(w->left == 0, 0)) {
		int err = pallas_walk_load(w);

		if (err)
			return err;
	}
	*out = *w->data++;
	w->left--;
	w->behind++;
	return 0;
}

/* ---- events (expand.c) ---- */

struct pallas_frame {
	const uint8_t *at, *end; /* the next tokens */
	const struct pallas_sequence *sequence;
	uint32_t left; /* further iterations of the loop of this frame */
};

struct pallas_expand {
	const struct thread_grammar *g;
	struct pallas_walk *times;   /* one per event */
	uint64_t *seen;		     /* occurrences returned so far, per event */
	struct pallas_frame *frames; /* frames[depth - 1] is the innermost */
	uint32_t depth;
	const bool *wanted; /* events whose times are read and returned; NULL: all */
	bool *without;	    /* sequences without such an event; with `wanted` */

	/* the present event */
	uint32_t event; /* index in the table */
	uint64_t time;	/* ns */
	/* the sequence with an occurrence that has ended, and the depth of its frame */
	const struct pallas_sequence *ended;
	uint32_t ended_depth;
};

/* Starts before the first event of a loaded thread. Returns 0, or -errno after one message. */
int pallas_expand_init(struct pallas_expand *x, struct pallas_loader *loader,
		       const struct pallas_thread *thread) __attribute__((warn_unused_result));
void pallas_expand_fini(struct pallas_expand *x); /* accepts a zeroed struct */

/*
 * seek.c, right after the start: goes before the first event that is not before `from` (ns);
 * *before is the number of those that are. The grammar says how often each event occurs in each
 * part of the thread, so this reads no times but those of the chunks around `from`, of the first
 * events of sequences on the way down. Returns 0, or -errno after one message.
 */
int pallas_expand_seek(struct pallas_expand *x, uint64_t from, uint64_t *before)
	__attribute__((warn_unused_result));

/*
 * Right after the start: returns only the events whose entry (by index) is in `wanted`, which stays
 * the caller's, and reads no times of others. Returns 0, or -errno after one message.
 */
int pallas_expand_only(struct pallas_expand *x, const bool *wanted)
	__attribute__((warn_unused_result));

/* Goes to the next event or end of a sequence. Returns a step, or -errno after one message. */
enum { EXPAND_END, EXPAND_EVENT, EXPAND_SEQUENCE };
int pallas_expand_step(struct pallas_expand *x) __attribute__((warn_unused_result));

/* Goes to the next event. Returns 1, 0 at the end, or -errno after one message. */
int pallas_expand_next(struct pallas_expand *x) __attribute__((warn_unused_result));

struct pallas_merge {
	struct pallas_trace *trace;
	struct pallas_loader *loader;
	struct pallas_expand *threads; /* one per thread of the trace */
	uint32_t *heap; /* threads with a present event; heap[0] is the first in time */
	size_t n;
	bool started;
};

/* Loads every thread of `trace` that is not excluded. Until the first step the caller may seek in
 * `threads`. Returns 0, or -errno after one message. */
int pallas_merge_open(struct pallas_merge *m, struct pallas_trace *trace)
	__attribute__((warn_unused_result));
void pallas_merge_close(struct pallas_merge *m);

/*
 * Goes to the next event of the trace, in the pallas_expand of thread *thread. Returns 1, 0 at the
 * end, or -errno after one message.
 */
int pallas_merge_next(struct pallas_merge *m, uint32_t *thread) __attribute__((warn_unused_result));

#endif
