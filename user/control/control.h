/* SPDX-License-Identifier: MIT */
/*
 * control: the directory and the control socket of a named session, as the recording uses them.
 *
 * In: the session directory (created and locked before anything else) and requests; out: answers,
 * and at the end the exit status. A recording without a name has no control: every function accepts
 * NULL and does nothing.
 */
#ifndef USER_CONTROL_CONTROL_H
#define USER_CONTROL_CONTROL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/control/session_dir.h"
#include "user/control/control_socket.h"

struct control {
	struct session_dir dir;
	struct control_socket *socket;
	int ready_fd; /* written to when the recording runs; -1: none */
};

/* The answer to `status`. */
struct control_figures {
	const char *output;
	const char *keeps;	 /* "one trace", "rotation", "flight recorder", "counters" */
	double seconds, fullest; /* fullest ring: 0 to 1 */
	uint64_t records, events, threads, bytes, lost, traces;
};

/* Publishes the session, which records into `output` (absolute). Call it as the user who owns the
 * trace. 0 or -errno after one message. */
int control_begin(struct control *control, const char *output, char *const *argv)
	__attribute__((warn_unused_result));

/* Reports that the recording runs, to the process that has started it. */
void control_ready(struct control *control);

int control_fd(const struct control *control); /* for poll(); -1: none */

/* Returns the next request, or CONTROL_NONE. Answer a status by control_tell(), a save by
 * control_saved() or control_refuse(), at once or later, a stop by control_end(). */
enum control_request control_next(struct control *control, unsigned *client);
void control_tell(struct control *control, unsigned client, const struct control_figures *figures);
void control_refuse(struct control *control, unsigned client, const char *why);
void control_saved(struct control *control, const char *trace);

/* Ends the session: keeps the exit status in the directory, and answers all clients with it. */
void control_end(struct control *control, int status);

#endif
