/* SPDX-License-Identifier: MIT */
/*
 * output_dir: the directory that the trace goes to.
 *
 * Made by the user who called, never by a privileged process for him. The default one replaces
 * an earlier trace, which is kept as NAME.old; a chosen one must be new, or be a trace and the
 * replacement be asked for. What does not look like a trace, or like numbered folders of a
 * session with several (segment.h), or like what a killed recorder leaves, is never removed.
 * Invariant: the directory itself is no symbolic link, and neither is anything that is
 * removed.
 */
#ifndef USER_SINK_OUTPUT_DIR_H
#define USER_SINK_OUTPUT_DIR_H

#include <stdbool.h>

struct output_dir {
	const char *path; /* as the user wrote it, but without slashes at the end */
	char *kept;	  /* where the earlier trace is now; NULL: there was none */
	int fd;		  /* of the directory; -1: none */
	const char *file; /* the one file in that directory that is ours; NULL: all of it is */
	char *trimmed;
};

/*
 * Makes the directory. With `chosen` an existing one is refused, unless `force`. Returns 0, or
 * -errno after one message.
 */
int output_dir_create(struct output_dir *output, const char *path, bool chosen, bool force)
	__attribute__((warn_unused_result));

/*
 * The same for the one file of mode summary, `path`.perf.json, which is not made yet: output->fd is
 * the directory that it goes to, output->path its whole name. What stands there already, or was
 * left beside it by a recorder that was killed, must begin as ours do.
 */
int output_dir_create_file(struct output_dir *output, const char *path, bool chosen, bool force)
	__attribute__((warn_unused_result));

/* Removes the directory again if nothing has been written to it, and puts an earlier trace
 * back. */
void output_dir_abandon(struct output_dir *output);

/* Removes the directory `name`, directly below `dirfd`, with all that is in it. No link is
 * followed. 0 or -errno without a message. */
int output_dir_remove(int dirfd, const char *name) __attribute__((warn_unused_result));

void output_dir_close(struct output_dir *output); /* also of a zeroed struct */

#endif
