/* SPDX-License-Identifier: MIT */
/*
 * recorder_child: the recorder of this node, `ovni-bpf --job-node`, as a child over two pipes.
 *
 * In: its options; out: what it says of the members of the job, and its end. The death of either
 * side does not take the other: the recorder ends when its standard input does, and is complete
 * then. Specification: job.md 4.1.
 */
#ifndef TOOLS_JOB_RECORDER_CHILD_H
#define TOOLS_JOB_RECORDER_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

struct recorder_child {
	pid_t pid;	 /* 0: not started, or it has ended */
	int to, from;	 /* pipes; -1: closed */
	bool ready;	 /* it has begun to record */
	int ranks, size; /* that it has seen so far, and of how many; -1: not known */
	int running;	 /* threads of the job */
	int status;	 /* wait status, after the end */
	char text[256];	 /* the beginning of a line */
	unsigned length;
};

/* Starts it: argv[0] is the program. 0, or -errno after one message. */
int recorder_child_start(struct recorder_child *child, char *const argv[]);

/* Reads what it has said, and whether it has ended; does not wait. */
void recorder_child_poll(struct recorder_child *child);

/* Ends the recording; the trace is complete when the child has ended. */
void recorder_child_stop(struct recorder_child *child);

#endif
