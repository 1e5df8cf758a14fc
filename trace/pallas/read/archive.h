/* SPDX-License-Identifier: MIT */
/*
 * archive: opens a Pallas trace: main file, archives (processes), threads.
 *
 * In: the path of a main file or of its directory; out: names, locations and, on demand, the
 * grammars of threads. pallas_open() reads only main.pallas and the archive.pallas files.
 * Invariant: threads are in (archive id, location id) order, which is the order of equal times in a
 * merge.
 * Specification: pallas.md 2 to 6, 18.
 */
#ifndef TRACE_PALLAS_READ_ARCHIVE_H
#define TRACE_PALLAS_READ_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "trace/pallas/format.h"
#include "trace/pallas/thread_grammar.h"

/* Rows of the tables of names, which are sorted by reference (or id), the first field of each. */
struct pallas_string {
	uint32_t ref;
	const char *text; /* ended by NUL */
};

struct pallas_region {
	uint32_t ref, name;
};

struct pallas_attribute {
	uint32_t ref, name, description;
	uint8_t type; /* enum pallas_attribute_type */
	uint8_t padding[3];
};

struct pallas_group {
	uint32_t ref, name, type, paradigm, nmembers;
	const uint8_t *members; /* nmembers x u32, not aligned */
};

struct pallas_comm {
	uint32_t ref, name, group, parent;
};

struct pallas_definitions {
	struct pallas_string *strings;
	struct pallas_region *regions;
	struct pallas_attribute *attributes;
	struct pallas_group *groups;
	struct pallas_comm *comms;
	size_t nstrings, nregions, nattributes, ngroups, ncomms;
};

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
	bool loaded, left_out;
	bool excluded; /* by the caller: pallas_thread_take() passes it over */
	struct thread_grammar grammar;
};

struct pallas_trace {
	char *path;	  /* of the directory */
	char *main;	  /* file name of the main file */
	bool main_named;  /* by the user: it may be a link */
	bool approximate; /* the user knows that times are: pallas_loader_new() */
	int fd;		  /* of the directory */
	uint8_t version;
	uint32_t compression, encoding, loop_finding;
	uint64_t zstd_level, max_loop;
	struct pallas_part part;
	struct pallas_archive *archives; /* by id */
	size_t narchives;
	struct pallas_thread *threads;
	size_t nthreads;
	size_t left_out;     /* threads: pallas_thread_take() */
	uint64_t bytes_read; /* of all files */
	uint32_t files_read; /* openings */
	size_t budget;	     /* limit for names, grammars and chunks, in bytes */
	size_t used;	     /* bytes of names and grammars */
};

#define PALLAS_BUDGET (64u << 20)

/* True if the times and durations in the data files are approximate. */
static inline bool pallas_lossy(const struct pallas_trace *trace)
{
	return trace->compression > PALLAS_COMPRESSION_ZSTD;
}

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
/* The same for a command that goes on without a thread whose file is damaged or missing: 1 after a
 * warning, at the first call for it; 1 also for an excluded thread. */
int pallas_thread_take(struct pallas_trace *trace, struct pallas_thread *thread)
	__attribute__((warn_unused_result));
void pallas_thread_unload(struct pallas_trace *trace, struct pallas_thread *thread);

/*
 * A string, the name of a region, or an attribute, for a thread of `archive`: definitions of the
 * archive, then of the main file (NULL: only these). Each step of a chain (region, then its name)
 * is a separate look-up. NULL: not defined.
 */
const char *pallas_string(const struct pallas_trace *trace, const struct pallas_archive *archive,
			  uint32_t ref);
const char *pallas_region(const struct pallas_trace *trace, const struct pallas_archive *archive,
			  uint32_t ref);
const struct pallas_attribute *pallas_attribute(const struct pallas_trace *trace,
						const struct pallas_archive *archive, uint32_t ref);
/* The string in one file, or NULL. */
const char *pallas_part_string(const struct pallas_part *part, uint32_t ref);

/* Compares rows that begin with their id or reference, for qsort() and bsearch(). */
int pallas_by_id(const void *a, const void *b);

/* The name of a location group; "" without a name. */
const char *pallas_group_name(const struct pallas_trace *trace, uint32_t id);
/* The name of a thread; "" without a name. */
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

/*
 * Writes the text of an event as the reference tools do: at most `size` bytes with the NUL. Returns
 * the full length. A payload that is too short for its record gives "{.record=4, .size=9}".
 */
size_t pallas_event_text(const struct pallas_trace *trace, const struct pallas_thread *thread,
			 uint32_t place, char *out, size_t size);

extern const char *const pallas_compression_names[PALLAS_COMPRESSION_COUNT];
extern const char *const pallas_encoding_names[PALLAS_ENCODING_COUNT];

/*
 * archive_rules.c: writes the violations of the rules that the reference tools need to `out`.
 * Returns their number, or -errno after one message about an unreadable file.
 */
int pallas_check(struct pallas_trace *trace, FILE *out);

#endif
