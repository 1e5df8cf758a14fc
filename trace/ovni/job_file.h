/* SPDX-License-Identifier: MIT */
/*
 * job_file: the files beside the looms of a parallel job, which say what should be there.
 *
 *   job.json          the job: written first, by the recorder that comes first
 *   node/NODE.json    one of each node: at its begin ("recording"), and replaced at its end
 *
 * A further step of the same job is an application with a number of its own, from 2 on, in the
 * names of its files: job.app2.json, and NODE.app2 as the name of each of its nodes.
 *
 * In: the directory of a trace; out: one line for each node, and the reasons why the job is not
 * whole: nodes that left nothing or failed, ranks of no node, looms or files that are missing. A
 * trace without job.json and without a state of a node is none of a job, and has no reasons: the
 * copy of a trace has the clocks of the nodes alone.
 * Specification: job.md 4.3, 4.5.
 */
#ifndef TRACE_OVNI_JOB_FILE_H
#define TRACE_OVNI_JOB_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/ovni/clock_fix.h"

#define JOB_FILE     "job.json"
#define JOB_VERSION  1
#define JOB_NODES    "node"
#define JOB_NODE_MAX 256 /* bytes of the name of a node, with its NUL */
#define JOB_APPS_MAX 1000
#define JOB_ID_MAX   160

struct json;

/* CLOCK_REALTIME of a node at a clock of it. */
struct realtime_pair {
	bool is;		 /* it is in the file */
	int64_t clock, realtime; /* ns; since the epoch */
};

struct job_node {
	char name[JOB_NODE_MAX];
	uint32_t app;	/* its application, 1 to JOB_APPS_MAX */
	char state[16]; /* "recording", "copying", "complete", "incomplete", "failed" */
	char *why;	/* NULL: not said */
	bool no_loom;	/* it has recorded threads, and loom.NODE is missing */
	int32_t *ranks; /* of its members, ascending: nranks of them */
	size_t nranks;
	uint64_t threads, events, lost;
	struct realtime_pair begin;
	int64_t since; /* the clock from which on it is incomplete, its recorder killed; 0: no */
	struct clock_point *points; /* npoints of them, as they are in the file */
	size_t npoints;
};

/* A step of the job. */
struct job_app {
	bool no_file; /* it has nodes, and its job.json is missing */
	char key[128];
	char job[JOB_ID_MAX];			/* of which it is a step; "": not known */
	int32_t nodes_expected, ranks_expected; /* -1: not known */
};

struct job {
	bool is;	      /* there is a job.json, or the state of a node */
	struct job_app *apps; /* number 1 is the first: napps of them */
	size_t napps;
	struct job_node *nodes; /* by application and name: nnodes of them */
	size_t nnodes;
};

/* Reads the files. Returns 0, also without any, or -errno after one message (a damaged file).
 * job_free() must follow in both cases. */
int job_read(struct job *job, int dirfd) __attribute__((warn_unused_result));
void job_free(struct job *job);

/* The number of complete nodes, and of ranks that are members of any node. */
size_t job_complete_nodes(const struct job *job);
size_t job_recorded_ranks(const struct job *job);

/* The number of nodes and ranks of all applications; -1: not known of one of them. */
int32_t job_expected_nodes(const struct job *job);
int32_t job_expected_ranks(const struct job *job);

/* All reasons why the job is not whole, with names, joined by semicolons: "" for none. `text` is
 * also the result. */
#define JOB_TEXT 1024
const char *job_text(const struct job *job, char text[JOB_TEXT]);

/* The name of this node in the files of an application: as its loom. A slash becomes '-'. */
void job_node_name(char name[JOB_NODE_MAX], uint32_t app);

/* True if `name` is `node`, or `node` with the ".appK" of a further application. */
bool job_is_node(const char *name, const char *node);

/* The name of the job.json of an application. */
#define JOB_FILE_MAX 32
void job_file_name(char name[JOB_FILE_MAX], uint32_t app);

/* The job of this process, of which a step is a part, by its environment: SLURM_JOB_ID, else
 * OVNI_JOB. False: there is none. */
bool job_of_process(char id[JOB_ID_MAX]);

/* Writes a document to `path`, which has its name only when it is whole; with `is_new` a file of
 * this name is not replaced: -EEXIST. 0, or -errno without a message. */
int job_put_file(int dirfd, const char *path, const struct json *json, bool is_new);

/* The recorder of this node with this pid was killed: the file of the node says so, with the
 * reason, if there is one. A failure is one warning. */
void job_node_killed(int dirfd, int64_t pid, const char *why);

/* Adds measurements of the clock of this node (those between the first and the last one) to the
 * file that the recorder with this pid has written, if there is one. A failure is one warning. */
void job_node_put_points(int dirfd, int64_t pid, const struct clock_point *points, size_t n);

/* Copies the measurements of the clocks of all nodes into another trace, for a table of clock
 * offsets that is copied. 0, or -errno after one message. */
int job_copy_points(int from_dirfd, int to_dirfd) __attribute__((warn_unused_result));

/* A list of ranks as "0-3,7". `text` is also the result. */
const char *job_ranks_text(const int32_t *ranks, size_t n, char *text, size_t size);

#endif
