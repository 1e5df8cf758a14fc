/* SPDX-License-Identifier: MIT */
/*
 * job_dir: the directory that the recorders of all nodes of a job share.
 *
 * In: the job and this node; out: job.json, made by the first recorder of a step; loom.NODE, made
 * by mkdir alone; node/NODE.json, written at the begin and replaced at the end. Steps of one job
 * may share it: each has a number, by the file that its first recorder could make, and files of its
 * own (job_file.h). Invariant: no file has two writers, each file has its name only when it is
 * whole, and nothing is touched in a directory of another job.
 * Specification: job.md 4.3.
 */
#ifndef USER_SINK_JOB_DIR_H
#define USER_SINK_JOB_DIR_H

#include <stdint.h>

#include "user/config/config.h"
#include "user/config/window_edge.h"
#include "user/sink/output_dir.h"

/* The facts of a node's file. Clocks are those of the kernel side. */
struct job_node_facts {
	const char *state, *why;		   /* why: NULL if there is no reason */
	const char *kernel, *boot_id, *stopped_by; /* NULL: not known */
	uint64_t t0, t1;			   /* 0: not known */
	const struct window_edge *begin, *end;	   /* NULL: not known */
	uint64_t threads, events, lost;
};

/* Opens or makes the directory, with job.json, loom.NODE and node/. 0, or -errno after one message.
 */
int job_dir_open(struct output_dir *output, const char *path, const struct options *options)
	__attribute__((warn_unused_result));

/* The application id of this step of the job, from 1 in the order of the steps. */
uint32_t job_dir_app(void);

/* Writes node/NODE.json below `dirfd`. 0, or -errno after one message. */
int job_dir_write_node(int dirfd, const struct options *options, const struct job_node_facts *facts)
	__attribute__((warn_unused_result));

/* The recorder of this node has failed, with the first error that was reported, or was killed: the
 * file of the node says so, if the directory can be written to. */
void job_dir_failed(const struct options *options);
void job_dir_killed(const char *path, int64_t pid, const char *why);

#endif
