/* SPDX-License-Identifier: MIT */
/*
 * thread_names: the tids in payloads, and the names of threads without a stream.
 *
 * In: every tid that is written into a payload (names_mention, on the hot path: one bit), and the
 * names of threads that are not traced, from the iterator and, for threads born later, from /proc;
 * out: `bpf.names`.
 * Invariants: memory is bounded by the highest tid, not by the events, and in a rotation by the tids
 * of two traces; in a trace a tid keeps its first known name, from its first mention.
 */
#ifndef USER_TIMELINE_THREAD_NAMES_H
#define USER_TIMELINE_THREAD_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/record.h"

#define NAMES_TID_MAX (4u << 20) /* of the kernel (PID_MAX_LIMIT) */

struct json;
struct writer;

struct names {
	uint64_t *mentioned; /* a bit for each tid; the draining thread's */
	uint64_t *streams;   /* a bit for each tid that has a stream; the draining thread's */
	struct names_table *table;
	struct writer *writer;
	const char *proc;
};

/* `proc` is where the names of late ones are read ("/proc"), NULL: nowhere. Both stay
 * the caller's. 0 or -ENOMEM without a message. */
int names_init(struct names *names, struct writer *writer, const char *proc);
/* Not before the writer has finished: its jobs write into the table. */
void names_fini(struct names *names);

/* The first mention of a tid: has its name looked up if it is not known. */
void names_first(struct names *names, uint32_t tid);

/* `tid` has been written into a payload. Any number is fine; 0 and above the limit are ignored. */
static inline void names_mention(struct names *names, uint32_t tid)
{
	if (__builtin_expect(tid - 1 >= NAMES_TID_MAX - 1, 0))
		return;
	if (__builtin_expect(!(names->mentioned[tid >> 6] >> (tid & 63) & 1), 0))
		names_first(names, tid);
}

/* `tid` has a stream: no other name is needed. */
void names_has_stream(struct names *names, uint32_t tid);

/* The thread `tid`, which has no stream, is called `comm` (ended by NUL or full). */
void names_add(struct names *names, uint32_t tid, const char comm[RECORD_COMM_SIZE]);

/* Copies the names of the trace before, `from`, except those that it had from its own predecessor
 * and did not mention: else the threads that have ended since would add up. Their tids may belong
 * to others by now; a name that is mentioned again is looked up again. */
void names_copy(struct names *names, const struct names *from);

/* Puts tid -> name of all mentioned threads without a stream and with a known name into `object`,
 * in the order of the tids. */
void names_put(struct names *names, struct json *object);

#endif
