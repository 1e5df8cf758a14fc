/* SPDX-License-Identifier: MIT */
/*
 * run_files: which files a run consists of: its trace, its statistics, or both.
 *
 * In: what the user named: a file of the run, a directory, or the name that its files begin
 * with; out: the paths. What a file is follows from its content; names only tell which files
 * belong together.
 * Invariant: nothing is guessed: of several candidates none is taken.
 * Specification: loom.md 1 (forms on disk).
 */
#ifndef TRACE_LOOM_RUN_FILES_H
#define TRACE_LOOM_RUN_FILES_H

#include <stdbool.h>
#include <stddef.h>

enum loom_content {
	LOOM_OTHER,	 /* nothing of ours, or not to be told */
	LOOM_TRACE,	 /* LTRC or a JSON trace */
	LOOM_RECORDS,	 /* records without a header, by all that can be seen */
	LOOM_STATISTICS, /* of any form */
};

struct run_files {
	char *name;  /* what the run is called: the common part of its names, without directories */
	char *trace; /* path, relative to the current directory; NULL: there is none */
	char *perf;  /* likewise */
};

/*
 * Finds the files of the run `arg`. `perf`, if not NULL, is the statistics file whatever lies
 * around ("-": none). Returns 0, with at least one of trace and perf set, or -errno after one
 * message. run_files_free() is allowed in any case.
 */
int run_files_find(struct run_files *run, const char *arg, const char *perf)
	__attribute__((warn_unused_result));
void run_files_free(struct run_files *run);

/* The length of the run's name in the name of one of its files (without directories); all of it if
 * nothing known follows. */
size_t run_files_stem(const char *name);

/* What the file `path` is, by its first bytes. Silent: LOOM_OTHER for what cannot be read. */
enum loom_content loom_content_of(int dirfd, const char *path);

#endif
