/* SPDX-License-Identifier: MIT */
/*
 * control: how a named session is found, asked and ended, seen from the recording.
 *
 * In: the place (made, and locked, before anything else) and requests; out: answers, and, when it
 * is over, its exit status for whoever comes later. A recording without a name has none of this:
 * every function takes NULL, and does nothing.
 */
#ifndef USER_CONTROL_CONTROL_H
#define USER_CONTROL_CONTROL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/control/session_dir.h"
#include "user/control/control_socket.h"

struct control {
	struct place place;
	struct server *server;
	int ready_fd; /* told once it records; -1: nobody waits */
};

/* What `status` tells. */
struct control_figures {
	const char *output;
	const char *keeps;	 /* "one trace", "rotation", "flight recorder", "counters" */
	double seconds, fullest; /* fullest ring: 0 to 1 */
	uint64_t records, events, threads, bytes, lost, traces;
};

/* The recording has begun, into `output` (absolute). As the user who owns the trace. 0 or -errno
 * after one message. */
int control_begin(struct control *control, const char *output, char *const *argv)
	__attribute__((warn_unused_result));

/* It records: whoever has started it can go. */
void control_ready(struct control *control);

int control_fd(const struct control *control); /* for poll(); -1: none */

/* The next request; ASK_NONE: none. A status is to be answered by control_tell(), a save
 * by control_saved() or control_refuse() later, a stop by control_end(). */
enum ask control_next(struct control *control, unsigned *client);
void control_tell(struct control *control, unsigned client, const struct control_figures *figures);
void control_refuse(struct control *control, unsigned client, const char *why);
void control_saved(struct control *control, const char *trace);

/* It is over: the status is kept in the place, and told. */
void control_end(struct control *control, int status);

#endif
