/* SPDX-License-Identifier: MIT */
/*
 * keep_files: the files of a Loom run beside the streams that were made of them.
 *
 * In: a file; out: an equal one in DIR/loom.loomsim.NAME/, which no reader of traces looks at,
 * and back. Invariant: every byte, or no file at all.
 * Specification: loom.md 9.3.
 */
#ifndef TOOLS_LOOM_RUN_KEEP_FILES_H
#define TOOLS_LOOM_RUN_KEEP_FILES_H

/*
 * Copies the file `path` into the trace `fd` (named `dir` in messages) for the run `name`. Its name
 * there goes to *kept, which the caller frees. 0, or -errno after a message.
 */
int keep_files(int fd, const char *dir, const char *name, const char *path, char **kept)
	__attribute__((warn_unused_result));

/* Copies the file `from` below `fd` (named `dir`) to `path`, in place of a file that is there. 0,
 * or -errno after a message. */
int keep_files_return(int fd, const char *dir, const char *from, const char *path)
	__attribute__((warn_unused_result));

#endif
