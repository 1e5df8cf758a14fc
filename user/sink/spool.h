/* SPDX-License-Identifier: MIT */
/*
 * spool: a directory on a local disk, for the streams of one node of a job while it is recorded.
 *
 * In: the loom of the writer; out: its copy in the directory of the job, at the end. Invariants:
 * the copy is there with all its files, on the disk, or not at all; nothing is removed from the
 * spool before all of it is copied. Specification: job.md 4.3.
 */
#ifndef USER_SINK_SPOOL_H
#define USER_SINK_SPOOL_H

#include <limits.h>

struct spool {
	int fd;			   /* -1: none */
	char path[PATH_MAX];	   /* absolute */
	char loom[NAME_MAX + 1];   /* the name of the only directory in it */
	char where[PATH_MAX + 32]; /* "its streams are in PATH"; "": nothing is there */
};

/* Makes a directory of its own for the node in `dir`. 0, or -errno after one message; spool_close()
 * must follow in both cases. */
int spool_open(struct spool *spool, const char *dir, const char *node)
	__attribute__((warn_unused_result));

/* Copies the loom into the directory `to`, then removes it from the spool. 0, or -errno after one
 * message; the spool then keeps the loom. */
int spool_copy(struct spool *spool, int to) __attribute__((warn_unused_result));

/* Removes the directory if it is empty. */
void spool_close(struct spool *spool);

#endif
