/* SPDX-License-Identifier: MIT */
/*
 * control: the directory and the control socket of a named session, as the recording uses them.
 *
 * In: the session directory (created and locked before anything else) and requests; out: answers,
 * and at the end the exit status. A recording without a name has no control: every function accepts
 * NULL and does nothing.
 *
 * The socket is a UNIX socket in the directory. It takes connections of the owner of the session
 * and of root (checked by peer credentials, beside the mode of the directory), each with one line:
 * status, save or stop. The answer is one JSON document, after which the connection is closed.
 * Never blocks: a client that sends nothing, or does not read, only occupies one of a few slots.
 * Signals are not used: a pid may have been reused.
 */
#ifndef USER_CONTROL_CONTROL_H
#define USER_CONTROL_CONTROL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/control/session_dir.h"

struct json;

enum control_request { CONTROL_NONE, CONTROL_STATUS, CONTROL_SAVE, CONTROL_STOP };

extern const char *const control_request_names[4]; /* as sent by clients */

struct control {
	struct session_dir dir;
	struct control_socket *socket;
	int ready_fd; /* written to when the recording runs; -1: none */
};

/* Publishes the session, which records into `output` (absolute). Call it with the user ID of the
 * owner of the trace. 0 or -errno after one message. */
int control_begin(struct control *control, const char *output, char *const *argv)
	__attribute__((warn_unused_result));

/* Reports that the recording runs, to the process that has started it. */
void control_ready(struct control *control);

int control_fd(const struct control *control); /* for poll(); -1: none */

/* Returns the next request and sets *client for its answer, or returns CONTROL_NONE. A status is
 * answered by control_status() and control_send(), a save by control_saved() or control_refuse(), a
 * stop by control_end(); all of them at once or later. */
enum control_request control_next(struct control *control, unsigned *client);
/* The beginning of the answer to a status: name, state and pid. NULL without memory. */
struct json *control_status(const struct control *control);
/* Sends a document, which is freed, to the client. */
void control_send(struct control *control, unsigned client, struct json *document);
void control_refuse(struct control *control, unsigned client, const char *why);
void control_saved(struct control *control, const char *trace);

/* Ends the session: keeps the exit status in the directory, and answers all clients with it. */
void control_end(struct control *control, int status);

#endif
