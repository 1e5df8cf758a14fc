/* SPDX-License-Identifier: MIT */
/*
 * keep_files: keeps the files of a Loom run beside its streams.
 *
 * In: a file; out: a copy in DIR/loom.loomsim.NAME/, where readers of traces ignore it; and back.
 * Invariant: a copy is complete or missing.
 * Specification: loom.md 9.3.
 */
#ifndef TOOLS_LOOM_RUN_KEEP_FILES_H
#define TOOLS_LOOM_RUN_KEEP_FILES_H

/*
 * Copies the file `path` (from `from_dir`, for input_open()) into the trace `fd` for the run
 * `name`; `dir` is its name in messages. *kept gets the name of the copy, which the caller frees.
 * Returns 0, or -errno after a message.
 */
int keep_files(int fd, const char *dir, const char *name, int from_dir, const char *path,
	       char **kept) __attribute__((warn_unused_result));

/*
 * Copies the file `from` below `fd` to `path`, which it replaces; `dir` is the name of `fd` in
 * messages. Returns 0, or -errno after a message.
 */
int keep_files_return(int fd, const char *dir, const char *from, const char *path)
	__attribute__((warn_unused_result));

/* Makes `path` an empty file, which no reader takes for a run. 0, or -errno after a message. */
int keep_files_empty(const char *path) __attribute__((warn_unused_result));

#endif
