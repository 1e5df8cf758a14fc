/* SPDX-License-Identifier: MIT */
/*
 * answer: what the recorder prints on standard output, when that is what it was asked for
 * (--list, --dry-run, doctor): all of it is there, or that is an error.
 */
#ifndef TRACE_BASE_ANSWER_H
#define TRACE_BASE_ANSWER_H

/* The answer to `question` is complete. 0, or -EIO after one message if not all could be written.
 */
int answer_end(const char *question) __attribute__((warn_unused_result));

#endif
