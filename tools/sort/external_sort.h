/* SPDX-License-Identifier: MIT */
/*
 * external_sort: a whole stream in the order of its clocks, in bounded memory.
 *
 * In: a stream in any order; out: a replacement of its stream.obs, stably
 * sorted. As many events as the bound allows are sorted at a time and written to a run in an
 * unnamed file beside the stream; the runs are then merged, ties by run, so by
 * their first order.
 */
#ifndef TOOLS_SORT_EXTERNAL_SORT_H
#define TOOLS_SORT_EXTERNAL_SORT_H

#include <stdbool.h>
#include <stdint.h>

struct sort_result {
	uint64_t events; /* in the stream */
	uint64_t runs;	 /* merged ones; 0: it was in order and stays unchanged */
};

/* Uses at most about `memory` bytes (at least 1 MiB). Returns 0, or -errno after one
 * message; then, and in a dry run, the stream has not changed. */
int external_sort(int trace_fd, const char *path, uint64_t memory, bool dry_run, bool durable,
		  struct sort_result *result) __attribute__((warn_unused_result));

#endif
