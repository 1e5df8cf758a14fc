/* SPDX-License-Identifier: MIT */
/*
 * job_file: the files beside the looms of a parallel job, which say what should be there.
 *
 *   job.json          the job: written first, by the recorder that comes first
 *   node/NODE.json    one of each node: at its begin ("recording"), and replaced at its end
 *
 * In: the directory of a trace; out: one line for each node, and the reasons why the job is not
 * whole: nodes that left nothing or failed, ranks of no node, looms or files that are missing. A
 * trace without job.json and without a file of a node is none of a job, and has no reasons.
 * Specification: job.md 4.3, 4.5.
 */
#ifndef TRACE_OVNI_JOB_FILE_H
#define TRACE_OVNI_JOB_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JOB_FILE     "job.json"
#define JOB_VERSION  1
#define JOB_NODES    "node"
#define JOB_NODE_MAX 256 /* bytes of the name of a node, with its NUL */

struct json;

struct job_node {
	char name[JOB_NODE_MAX];
	char state[16]; /* "recording", "complete", "incomplete", "failed" */
	char *why;	/* NULL: not said */
	bool no_loom;	/* it has recorded threads, and loom.NODE is missing */
	int32_t *ranks; /* of its members, ascending: nranks of them */
	size_t nranks;
	uint64_t threads, events, lost;
};

struct job {
	bool is;      /* there is a job.json, or a file of a node */
	bool no_file; /* there is no job.json */
	char key[128];
	int32_t nodes_expected, ranks_expected; /* -1: not known */
	struct job_node *nodes;			/* by name: nnodes of them */
	size_t nnodes;
};

/* Reads the files. Returns 0, also without any, or -errno after one message (a damaged file).
 * job_free() must follow in both cases. */
int job_read(struct job *job, int dirfd) __attribute__((warn_unused_result));
void job_free(struct job *job);

/* The number of complete nodes, and of ranks that are members of any node. */
size_t job_complete_nodes(const struct job *job);
size_t job_recorded_ranks(const struct job *job);

/* All reasons why the job is not whole, with names, joined by semicolons: "" for none. `text` is
 * also the result. */
#define JOB_TEXT 1024
const char *job_text(const struct job *job, char text[JOB_TEXT]);

/* The name of this node in files: as the loom, a slash becomes '-'. */
void job_node_name(char name[JOB_NODE_MAX]);

/* Writes a document to `path`, which has its name only when it is whole; with `is_new` a file of
 * this name is not replaced: -EEXIST. 0, or -errno without a message. */
int job_put_file(int dirfd, const char *path, const struct json *json, bool is_new);

/* The recorder of this node was killed: the file of the node says so, with the reason, if there is
 * one. A failure is one warning. */
void job_node_killed(int dirfd, const char *why);

/* A list of ranks as "0-3,7". `text` is also the result. */
const char *job_ranks_text(const int32_t *ranks, size_t n, char *text, size_t size);

#endif
