/* SPDX-License-Identifier: MIT */
/*
 * threads: who is who, and the buffer of each one's stream.
 *
 * A task is found by the dense id that the kernel side gave it: an array, no hashing on
 * the hot path. A stream is a (pid, tid); a task that takes the place of an earlier one
 * with the same pair goes on in its stream, found once, when it writes its first event.
 * Buffers grow from 256 bytes to 16 KiB and are handed to the writer when full.
 * Invariant: memory follows the number of threads, not of events.
 */
#ifndef USER_THREADS_H
#define USER_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/record.h"
#include "trace/lifeline.h"

struct facts;
struct threads;
struct topology;
struct writer;

/* All three stay the caller's and must outlive the threads. NULL after one message. */
struct threads *threads_new(struct writer *writer, const struct facts *facts,
			    const struct topology *topology);
/* After writer_finish(): until then the writer reads what the threads know. */
void threads_free(struct threads *threads);

/* How many live tasks and how many streams with events there are (live line). */
uint64_t threads_known(const struct threads *threads);
uint64_t threads_streams(const struct threads *threads);

#endif
