/* SPDX-License-Identifier: MIT */
/*
 * loader: walks vectors forward; loads their chunks on demand and unloads them.
 *
 * In: descriptions of vectors (thread_grammar.h); out: one element after the other. All walks of a
 * trace share one loader. A walk has at most its present chunk. Above the budget, the loader
 * unloads the oldest chunk, and loads it again when its walk needs it. Invariant: memory stays
 * below the budget for any archive. Specification: pallas.md 8, 9, 13, 22.
 */
#ifndef TRACE_PALLAS_READ_LOADER_H
#define TRACE_PALLAS_READ_LOADER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "trace/pallas/read/archive.h"

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
	uint64_t loaded, unloaded; /* chunks; unloaded: because of the budget */
	uint64_t peak_bytes;	   /* of names, grammars and chunks */
};

/* Creates the loader of a trace. Returns NULL after a message. */
struct pallas_loader *pallas_loader_new(struct pallas_trace *trace);
void pallas_loader_free(struct pallas_loader *loader); /* after its walks; accepts NULL */
struct pallas_load_stats pallas_loader_stats(const struct pallas_loader *loader);

/* Starts a walk before the first element. The walk must not move in memory. */
void pallas_walk_init(struct pallas_walk *w, struct pallas_loader *loader,
		      const struct pallas_thread *thread, const struct pallas_vector *vector);
void pallas_walk_fini(struct pallas_walk *w);

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

#endif
