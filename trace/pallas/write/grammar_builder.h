/* SPDX-License-Identifier: MIT */
/*
 * grammar_builder: the data of a thread_writer, for the files of the writer alone.
 *
 *   thread_writer.c    events, and the file thread.pallas
 *   grammar_builder.c  the tables of sequences and loops, frames, and the folding of repetitions
 *
 * In: the events of a thread; out: its grammar. Invariant: memory follows the size of the grammar,
 * not the number of events.
 */
#ifndef TRACE_PALLAS_WRITE_GRAMMAR_BUILDER_H
#define TRACE_PALLAS_WRITE_GRAMMAR_BUILDER_H

#include <stdbool.h>

#include "trace/base/hash.h"
#include "trace/pallas/write/archive_writer.h"
#include "trace/pallas/write/vector_writer.h"

#define THREAD_PAYLOAD 28	   /* bytes of the largest payload of a record */
#define THREAD_PATTERN 100	   /* tokens of the longest pattern */
#define THREAD_HELD    (40u << 20) /* bytes of elements in incomplete sub-arrays */

struct event_entry {
	uint32_t record;
	uint32_t ref; /* of a string or region, or PALLAS_NONE */
	uint8_t payload[THREAD_PAYLOAD], size;
	uint32_t region; /* of an ENTER: index in regions */
	uint16_t closes; /* of an END: the record of its START */
	enum pallas_record_kind kind;
	struct series times;
	struct bytes attributes;
	struct bytes spills; /* earlier lists, in the scratch file */
	uint64_t spilled;    /* their bytes */
};

struct sequence {
	uint32_t *tokens;
	uint32_t ntokens;
	uint32_t next_last;  /* next loop body with the same last token */
	struct bytes spills; /* earlier tokens, in the scratch file */
	uint64_t spilled;    /* their number */
	uint64_t count;	     /* occurrences */
	uint8_t type, height;
	struct series durations, exclusive, starts;
};

/* Adjacent bytes of the scratch file; lists of them are in `struct bytes`. */
struct scratch_part {
	uint64_t at, n;
};

struct loop_entry {
	uint32_t sequence, iterations;
	uint64_t occurrences;
};

/* The occurrence of a key on the stack of items. */
struct item {
	uint64_t first, last, block; /* ns */
};

struct frame {
	size_t start;	    /* of its items */
	uint32_t opened_by; /* event entry; PALLAS_NONE for the bottom frame */
	uint64_t opened_at;
	uint64_t called;   /* time in regions called directly from it */
	uint32_t disorder; /* score: see order() in grammar_builder.c */
	/* tokens in the scratch file */
	struct bytes spills;
	uint64_t spilled, first, block;
	uint8_t height;
};

/* The last empty call in an irregular frame, which may become one token with the next call. */
struct last_call {
	uint64_t enter, leave; /* keys */
	uint64_t key;	       /* its token */
	size_t nitems;	       /* items when it was the last one */
	uint64_t end;	       /* number of its last event, from 1 */
};

struct thread_writer {
	char *shown;
	int dirfd;
	int scratch_fd; /* of a file without a name; -1 before its first use */
	uint64_t scratch_size;
	uint32_t archive, thread;
	struct data_file *event_data, *sequence_data;
	size_t held;		/* bytes of unwritten elements */
	size_t held_attributes; /* bytes of attribute lists in memory */
	size_t held_tokens;	/* bytes of tokens in memory */
	uint64_t total_events, first_time, last_time;
	bool failed, whole_blocks;

	struct event_entry *events;
	size_t nevents;
	struct hash event_of; /* payload, record */

	struct sequence *sequences; /* 0 is the root */
	uint32_t nsequences;
	struct hash sequence_of; /* hash of the keys, their number, type */
	uint32_t once;		 /* sequences with one occurrence */
	uint32_t *last_table;	 /* loop bodies by their last token */
	struct loop_entry *loops;
	uint32_t nloops;
	struct hash loop_of; /* sequence, iterations */
	uint32_t *seen;	     /* hashes of blocks that stayed inline */

	uint64_t *keys; /* of all frames, one after the other */
	struct item *items;
	size_t nitems, item_room;
	struct frame *frames;
	size_t nframes;
	uint32_t frame_room;

	struct last_call call;
	uint8_t *pairs; /* numbers of successive calls */

	struct region_summary *regions;
	size_t nregions;
	uint64_t inlined;
};

/*
 * Creates the directory `path` below `dirfd` with its three files; `shown` is its name in messages.
 * Returns NULL after one message.
 */
struct thread_writer *thread_writer_new(int dirfd, const char *path, const char *shown,
					uint32_t archive, uint32_t thread,
					const struct thread_writer_options *options);

int grammar_builder_init(struct thread_writer *w);
void grammar_builder_fini(struct thread_writer *w);
int grammar_builder_event(struct thread_writer *w, uint32_t entry, uint64_t time);
int grammar_builder_finish(struct thread_writer *w);
int sequence_flush(struct thread_writer *w, struct sequence *s);
/* Adds the occurrences of loops among n tokens of a sequence that occurs `times` times. */
void loops_count(struct thread_writer *w, const uint32_t *tokens, size_t n, uint64_t times);

/*
 * thread_writer.c: appends `size` bytes to the scratch file and adds their offset to `parts`, which
 * joins adjacent ones. Returns 0, or -errno after one message.
 */
int thread_writer_spill(struct thread_writer *w, const void *data, size_t size, struct bytes *parts)
	__attribute__((warn_unused_result));

#endif
