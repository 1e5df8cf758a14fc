/* SPDX-License-Identifier: MIT */
/*
 * replace_file: a new file that takes the place of an old one in one step.
 *
 * In: a directory and a name in it; out: a file beside the old one, under a name that no
 * reader looks for, which gets the old one's mode and owner and is renamed over it
 * when it is complete. Invariant: at any moment, also after a kill, the name has either all
 * of the old bytes or all of the new ones. Only a regular file is replaced, and no link is
 * followed.
 */
#ifndef TOOLS_LIB_REPLACE_FILE_H
#define TOOLS_LIB_REPLACE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct replacement {
	int dir; /* of the directory that has both, ours */
	int fd;	 /* of the new file, open for reading and writing */
	const char *name;
	char temporary[64];
	bool open;
};

/* Starts: `dir_fd` and `path` name the directory, `name` the file, which must exist and outlive
 * the replacement. Returns 0 or -errno without a message. */
int replace_file_start(struct replacement *r, int dir_fd, const char *path, const char *name)
	__attribute__((warn_unused_result));

/* Renames the new file over the old one; with `durable` its bytes are on the disk before. Returns 0
 * or -errno without a message; the replacement has ended in both cases. */
int replace_file_finish(struct replacement *r, bool durable) __attribute__((warn_unused_result));

/* Removes the new file; the old one stays. Also for a zeroed or finished replacement. */
void replace_file_abandon(struct replacement *r);

/* Returns the name of the directory for a new trace: `given`, or, if it is NULL, the name of
 * `trace` with `suffix`; or NULL after one message. The caller frees it. */
char *output_path(const char *given, const char *trace, const char *suffix);

/* Creates it. Returns a descriptor, which the caller closes, or -errno after one message. */
int output_create(const char *path) __attribute__((warn_unused_result));

/* Copies the file `name` of at most `max` bytes from one directory into another without this file.
 * Returns 0, also without such a file, or -errno after one message. */
int copy_beside(int from_dir, int to_dir, const char *name, uint64_t max)
	__attribute__((warn_unused_result));

#endif
