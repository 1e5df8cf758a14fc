/* SPDX-License-Identifier: MIT */
/*
 * archive: opens a Pallas trace: main file, archives (processes), threads.
 *
 * In: the path of a main file or of its directory; out: names, locations and, on demand, the
 * grammars of threads. pallas_open() reads only main.pallas and the archive.pallas files.
 * Invariant: threads are in (archive id, location id) order, which is the order of equal times in a
 * merge.
 * Specification: pallas.md 2 to 6.
 */
#ifndef TRACE_PALLAS_READ_ARCHIVE_H
#define TRACE_PALLAS_READ_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/pallas/definitions.h"
#include "trace/pallas/format.h"
#include "trace/pallas/thread_grammar.h"

struct pallas_location {
	uint32_t id, name, parent;
};

struct pallas_entry { /* of the metadata */
	const char *key, *value;
};

/* The common part of main file and archive. */
struct pallas_part {
	uint8_t *bytes; /* the file; names and metadata point into it */
	struct pallas_definitions defs;
	struct pallas_location *groups; /* location groups, by id */
	size_t ngroups;
	struct pallas_location *locations; /* by id */
	size_t nlocations;
	struct pallas_entry *metadata;
	size_t nmetadata;
};

struct pallas_archive {
	uint32_t id;
	uint32_t nthreads; /* from the file (rule R6) */
	struct pallas_part part;
};

struct pallas_thread {
	const struct pallas_archive *archive;
	uint32_t id, name;
	char *path; /* archive_P/thread_T, relative to the trace */
	bool loaded;
	struct thread_grammar grammar;
};

struct pallas_trace {
	char *path; /* of the directory */
	char *main; /* file name of the main file */
	int fd;	    /* of the directory */
	uint8_t version;
	uint32_t compression, encoding, loop_finding, timestamp_storage;
	uint64_t zstd_level, max_loop;
	struct pallas_part part;
	struct pallas_archive *archives; /* by id */
	size_t narchives;
	struct pallas_thread *threads;
	size_t nthreads;
	size_t budget; /* limit for names, grammars and chunks, in bytes */
	size_t used;   /* bytes of names and grammars */
};

#define PALLAS_BUDGET (64u << 20)

/*
 * Opens `path`. `budget` is the limit for memory in bytes (0: PALLAS_BUDGET). Returns 0, or -errno
 * after one message.
 */
int pallas_open(struct pallas_trace *trace, const char *path, size_t budget)
	__attribute__((warn_unused_result));
void pallas_close(struct pallas_trace *trace); /* accepts a zeroed struct */

/* Loads the grammar of a thread unless it is loaded. Returns 0, or -errno after one message. */
int pallas_thread_load(struct pallas_trace *trace, struct pallas_thread *thread)
	__attribute__((warn_unused_result));
void pallas_thread_unload(struct pallas_trace *trace, struct pallas_thread *thread);

/*
 * A string, or the name of a region, for a thread of `archive`: definitions of the archive, then of
 * the main file (NULL: only these). NULL if there is none.
 */
const char *pallas_string(const struct pallas_trace *trace, const struct pallas_archive *archive,
			  uint32_t ref);
const char *pallas_region(const struct pallas_trace *trace, const struct pallas_archive *archive,
			  uint32_t ref);

/* The name of a location group; "" if it has none. */
const char *pallas_group_name(const struct pallas_trace *trace, uint32_t id);
/* The name of a thread; "" if it has none. */
const char *pallas_thread_name(const struct pallas_trace *trace,
			       const struct pallas_thread *thread);

/* The value of a metadata key of a part, or NULL. */
const char *pallas_metadata(const struct pallas_part *part, const char *key);

/*
 * The name of a sequence, which the reference tools derive from its first token: a region,
 * "thread", "Sequence_7", "invalid". Writes at most `size` bytes to `out` and returns it.
 */
const char *pallas_sequence_name(const struct pallas_trace *trace,
				 const struct pallas_thread *thread, uint32_t place, char *out,
				 size_t size);

/* Writes at most `size` bytes of the text of an event (pallas_record.h). Returns the full length.
 */
size_t pallas_event_text(const struct pallas_trace *trace, const struct pallas_thread *thread,
			 uint32_t place, char *out, size_t size);

extern const char *const pallas_compression_names[PALLAS_COMPRESSION_COUNT];
extern const char *const pallas_encoding_names[PALLAS_ENCODING_COUNT];

#endif
