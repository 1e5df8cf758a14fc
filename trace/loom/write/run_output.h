/* SPDX-License-Identifier: MIT */
/*
 * run_output: creates the files of a run, for its writer and for the recorder of a channel.
 *
 * In: the name of a run and the end of a file name; out: a descriptor, and the header of LTRC.
 * Invariants: no symbolic link at the end of a path is followed; a file of an earlier run is
 * replaced. Functions return -errno without a message.
 * Specification: loom.md 2.1.
 */
#ifndef TRACE_LOOM_WRITE_RUN_OUTPUT_H
#define TRACE_LOOM_WRITE_RUN_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

#define LOOM_TRACE_SUFFIX  ".trace.bin"
#define LOOM_PERF_SUFFIX   ".perf.json"
#define LOOM_LEGACY_SUFFIX ".stat"

/* Creates RUN with a suffix, empty. Returns a descriptor, which the caller closes, or -errno. */
int run_output_create(const char *run, const char *suffix);

/* Removes a file of an earlier run that would look like a part of this one. Returns 0 or -errno. */
int run_output_forget(const char *run, const char *suffix);

/* Writes `size` bytes at the end. Returns 0 or -errno. */
int run_output_write(int fd, const void *bytes, size_t size);

/* Writes the header of LTRC with this number of records, at the start of the file. Returns 0 or
 * -errno. */
int run_output_header(int fd, uint64_t records);

#endif
