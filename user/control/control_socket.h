/* SPDX-License-Identifier: MIT */
/*
 * control_socket: the ear of a named session: a UNIX socket in its place.
 *
 * In: connections of the user whose session it is, and of root (peer credentials, beside the mode
 * of the directory), each with one line: status, save or stop; out: requests for the session, and
 * its answer to each, one JSON document, after which the connection ends. Never waits: who sends
 * nothing, or does not read, has a place of few until it goes away. Without signals, so that no
 * process can be meant that has the pid of one that is gone.
 */
#ifndef USER_CONTROL_CONTROL_SOCKET_H
#define USER_CONTROL_CONTROL_SOCKET_H

#include <stdbool.h>
#include <sys/types.h>

struct json;
struct place;
struct server;

enum ask { ASK_NONE, ASK_STATUS, ASK_SAVE, ASK_STOP };

extern const char *const ask_names[4]; /* as they are sent */

/* As the user that is to own the socket. Both directions end with server_close(). NULL after one
 * message. */
struct server *server_open(const struct place *place, uid_t owner);
void server_close(struct server *server); /* NULL is fine */

int server_fd(const struct server *server); /* readable: call server_next() */

/* The next request that has come; ASK_NONE: there is none now. *client is for the answer. */
enum ask server_next(struct server *server, unsigned *client);

/* Answers one client, or all who wait since they asked for `request`. */
void server_answer(struct server *server, unsigned client, const struct json *answer);
void server_answer_all(struct server *server, enum ask request, const struct json *answer);

#endif
