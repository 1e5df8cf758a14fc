/* SPDX-License-Identifier: MIT */
/*
 * output_dir: the directory of the trace.
 *
 * Created with the rights of the calling user, never of a privileged process on his behalf. The
 * default directory replaces an earlier trace, which is kept as NAME.old; a directory named with -o
 * must be new, or be a trace and --force be given. Only a trace, the numbered traces of a session
 * (segment.h), or the rest of a killed recorder are ever removed.
 * A removed trace is first renamed to TRACE_REMOVED + a number (trace/ovni/trace.h), then removed;
 * the next recorder in the same directory removes the rest that a killed one has left. Invariants:
 * a trace is whole as long as it has its name; neither the directory nor anything removed is
 * reached through a symbolic link; the directory is locked (trace/ovni/write_lock.h) from before it
 * has its name until output_dir_release(), and nothing that another process has locked is renamed
 * or removed.
 */
#ifndef USER_SINK_OUTPUT_DIR_H
#define USER_SINK_OUTPUT_DIR_H

#include <stdbool.h>

struct output_dir {
	const char *path; /* as the user wrote it, without trailing slashes */
	char *kept;	  /* new name of the earlier trace; NULL: there was none */
	int fd;		  /* the directory; -1: none */
	const char *file; /* the only file of ours in the directory; NULL: the directory is ours */
	int part;	  /* file + STATS_PART, new and locked, for the snapshots; -1: none */
	int parent;	  /* the directory that holds path (O_PATH) */
	const char *name; /* the last part of path */
	char *trimmed;
};

/*
 * Creates the directory. With `chosen` (-o) an existing one is refused, unless `force`. Returns 0,
 * or -errno after one message (-EBUSY: another process writes there). Where the file system has no
 * locks, a warning says so.
 */
int output_dir_create(struct output_dir *output, const char *path, bool chosen, bool force)
	__attribute__((warn_unused_result));

/*
 * The same for the only file of summary mode, `path`.stats.json, which is not created yet:
 * output->fd is its directory, output->path its full name, and output->part the file of its
 * snapshots, which has the lock. An existing file, or the rest of a
 * killed recorder beside it, must begin like one of ours.
 */
int output_dir_create_file(struct output_dir *output, const char *path, bool chosen, bool force)
	__attribute__((warn_unused_result));

/*
 * Opens the directory, or creates it: several recorders share it, none locks or replaces it
 * (job_dir.h). 0, or -errno after one message.
 */
int output_dir_join(struct output_dir *output, const char *path)
	__attribute__((warn_unused_result));

/* Removes the directory if it is empty, and gives an earlier trace its name back. */
void output_dir_abandon(struct output_dir *output);

/* Renames the directory `name` directly below `dirfd`, and removes it with its content. Follows no
 * link. 0 or -errno without a message. */
int output_dir_remove(int dirfd, const char *name) __attribute__((warn_unused_result));

/* The output is complete: other programs may write there. */
void output_dir_release(const struct output_dir *output);

void output_dir_close(struct output_dir *output); /* also of a zeroed struct */

#endif
