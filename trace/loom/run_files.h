/* SPDX-License-Identifier: MIT */
/*
 * run_files: finds the files of a run: its trace, its statistics, or both.
 *
 * In: a file of the run, a directory, or the common start of the names of its files; out: the
 * paths. The content determines the type of a file, and the names determine which files belong
 * together. Invariant: several candidates are an error. Specification: loom.md 1 (forms on disk).
 */
#ifndef TRACE_LOOM_RUN_FILES_H
#define TRACE_LOOM_RUN_FILES_H

#include <stdbool.h>
#include <stddef.h>

enum loom_content {
	LOOM_OTHER,	 /* another or an unknown type */
	LOOM_TRACE,	 /* LTRC or a JSON trace */
	LOOM_RECORDS,	 /* apparently records without a header */
	LOOM_STATISTICS, /* of any form */
};

struct run_files {
	char *name;  /* of the run: the common part of its file names, without directories */
	char *trace; /* path relative to the current directory, or NULL */
	char *perf;  /* the same, of the statistics */
	int trace_at, perf_at; /* for input_open(): AT_FDCWD if the user named the file, else
				* INPUT_BESIDE */
};

/*
 * Finds the files of the run `arg`. `perf`, if not NULL, is its statistics file ("-": none).
 * Returns 0 with a trace or statistics, or -errno after one message. run_files_free() may follow in
 * both cases.
 */
int run_files_find(struct run_files *run, const char *arg, const char *perf)
	__attribute__((warn_unused_result));
void run_files_free(struct run_files *run);

/*
 * Length of the name of the run in the name of one of its files, without directories; the full
 * length if no known end follows.
 */
size_t run_files_stem(const char *name);

/* Type of a file by its first bytes, without messages: LOOM_OTHER for an unreadable file. */
enum loom_content loom_content_of(int dirfd, const char *path);

#endif
