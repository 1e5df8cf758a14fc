/* SPDX-License-Identifier: MIT */
/*
 * control_socket: the control socket of a named session, a UNIX socket in its directory.
 *
 * In: connections of the owner of the session and of root (checked by peer credentials, beside the
 * mode of the directory), each with one line: status, save or stop; out: requests for the session,
 * and its answer to each, one JSON document, after which the connection is closed. Never blocks: a
 * client that sends nothing, or does not read, only occupies one of a few slots. Signals are not
 * used: a pid may have been reused.
 */
#ifndef USER_CONTROL_CONTROL_SOCKET_H
#define USER_CONTROL_CONTROL_SOCKET_H

#include <stdbool.h>
#include <sys/types.h>

struct json;
struct session_dir;
struct control_socket;

enum control_request { CONTROL_NONE, CONTROL_STATUS, CONTROL_SAVE, CONTROL_STOP };

extern const char *const control_request_names[4]; /* as sent by clients */

/* Call it as the user who owns the session. Returns NULL after one message; close it with
 * control_socket_close(). */
struct control_socket *control_socket_open(const struct session_dir *dir, uid_t owner);
void control_socket_close(struct control_socket *control); /* NULL is fine */

int control_socket_fd(
	const struct control_socket *control); /* readable: call control_socket_next() */

/* Returns the next request, for whose answer *client is set; CONTROL_NONE if there is none now. */
enum control_request control_socket_next(struct control_socket *control, unsigned *client);

/* Answers one client, or all clients that wait for the answer to `request`. */
void control_socket_answer(struct control_socket *control, unsigned client,
			   const struct json *answer);
void control_socket_answer_all(struct control_socket *control, enum control_request request,
			       const struct json *answer);

#endif
