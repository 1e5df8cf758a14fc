/* SPDX-License-Identifier: MIT */
/*
 * node_recorder: `ovni-bpf --job-node`, the recorder of one node that ovni-job starts as its child.
 *
 * In: the environment of ovni-job; out: the part of this node in the directory of the job. Members
 * are the processes of the same user and job that have a rank (launcher_rule()). Standard output
 * gets a line "RANKS SIZE RUNNING" when the recording has begun, and at each change; the end of
 * standard input ends the recording, so the death of ovni-job does, too.
 * Specification: job.md 4.1.
 */
#ifndef USER_JOB_NODE_RECORDER_H
#define USER_JOB_NODE_RECORDER_H

#include "trace/base/status.h"
#include "user/config/config.h"

enum status node_recorder_run(const struct options *options);

#endif
