/* SPDX-License-Identifier: MIT */
/*
 * status: the exit status of every program, and the result of a function that ends one.
 */
#ifndef TRACE_BASE_STATUS_H
#define TRACE_BASE_STATUS_H

enum status {
	STATUS_COMPLETE = 0,
	STATUS_FAILED = 1,
	STATUS_USAGE = 2, /* the command line is wrong */
	STATUS_LOST = 3,  /* finished, but something is missing */
};

#endif
