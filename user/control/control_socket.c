/* SPDX-License-Identifier: MIT */
/* control_socket: see control_socket.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "user/control/session_dir.h"
#include "user/control/control_socket.h"
#include "trace/base/json.h"
#include "trace/base/log.h"

#define CLIENTS 16
#define LINE	32

const char *const ask_names[4] = {
	[ASK_NONE] = "",
	[ASK_STATUS] = "status",
	[ASK_SAVE] = "save",
	[ASK_STOP] = "stop",
};

struct client {
	int fd; /* -1: free */
	char line[LINE];
	size_t used;
	enum ask waits; /* has been told to the session, and not been answered */
};

struct server {
	int epoll, listen;
	uid_t owner;
	struct client clients[CLIENTS];
};

static int watch(struct server *server, int fd, unsigned what)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP, .data.u32 = what};

	return epoll_ctl(server->epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

struct server *server_open(const struct place *place, uid_t owner)
{
	struct server *server = calloc(1, sizeof(*server));
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int err = -ENOMEM;

	if (!server)
		goto failed;
	server->owner = owner;
	for (unsigned i = 0; i < CLIENTS; i++)
		server->clients[i].fd = -1;
	server->epoll = epoll_create1(EPOLL_CLOEXEC);
	server->listen = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* a path of the directory itself would be too long sooner or later */
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/control", place->fd);
	if (server->epoll < 0 || server->listen < 0 ||
	    bind(server->listen, (struct sockaddr *)&address, sizeof(address)) ||
	    listen(server->listen, CLIENTS)) {
		err = -errno;
		goto failed;
	}
	err = watch(server, server->listen, CLIENTS);
	if (!err)
		return server;
failed:
	log_error("%s: cannot listen there: %s", place->path, strerror(-err));
	server_close(server);
	return NULL;
}

static void hang_up(struct client *client)
{
	close(client->fd);
	*client = (struct client){.fd = -1};
}

void server_close(struct server *server)
{
	if (!server)
		return;
	for (unsigned i = 0; i < CLIENTS; i++)
		if (server->clients[i].fd >= 0)
			hang_up(&server->clients[i]);
	if (server->listen >= 0)
		close(server->listen);
	if (server->epoll >= 0)
		close(server->epoll);
	free(server);
}

int server_fd(const struct server *server)
{
	return server->epoll;
}

/* ---- requests ---- */

static void accept_one(struct server *server)
{
	int fd = accept4(server->listen, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (fd < 0)
		return;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) ||
	    (peer.uid != 0 && peer.uid != server->owner && peer.uid != geteuid())) {
		log_warn("user %u is not allowed to control this session", peer.uid);
		close(fd);
		return;
	}
	for (unsigned i = 0; i < CLIENTS; i++) {
		if (server->clients[i].fd >= 0)
			continue;
		server->clients[i] = (struct client){.fd = fd};
		if (watch(server, fd, i))
			hang_up(&server->clients[i]);
		return;
	}
	close(fd); /* too many at once */
}

static enum ask parse(const char *line)
{
	for (enum ask r = ASK_STATUS; r <= ASK_STOP; r++)
		if (!strcmp(line, ask_names[r]))
			return r;
	return ASK_NONE;
}

/* Takes what a client has sent. Whoever sends more than a line, or none that is known, goes. */
static enum ask take(struct server *server, unsigned i)
{
	struct client *client = &server->clients[i];
	ssize_t n;
	char *end;

	if (client->fd < 0)
		return ASK_NONE;
	n = read(client->fd, client->line + client->used, LINE - 1 - client->used);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return ASK_NONE;
	if (n <= 0 || client->waits) {
		hang_up(client);
		return ASK_NONE;
	}
	client->used += (size_t)n;
	end = memchr(client->line, '\n', client->used);
	if (end) {
		*end = '\0';
		client->waits = parse(client->line);
		if (client->waits && end == client->line + client->used - 1)
			return client->waits;
	}
	if (end || client->used == LINE - 1)
		hang_up(client);
	return ASK_NONE;
}

enum ask server_next(struct server *server, unsigned *client)
{
	struct epoll_event event;
	enum ask request;

	while (epoll_wait(server->epoll, &event, 1, 0) > 0) {
		if (event.data.u32 == CLIENTS) {
			accept_one(server);
			continue;
		}
		request = take(server, event.data.u32);
		if (request) {
			*client = event.data.u32;
			return request;
		}
	}
	return ASK_NONE;
}

/* ---- answers ---- */

/* An answer is small: what does not fit into an empty socket at once goes to one who does not read.
 */
static void send_text(struct client *client, const char *text)
{
	if (text && send(client->fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		log_debug("an answer was not taken: %s", strerror(errno));
	hang_up(client);
}

void server_answer(struct server *server, unsigned client, const struct json *answer)
{
	char *text = json_text(answer);

	if (server->clients[client].fd >= 0)
		send_text(&server->clients[client], text);
	free(text);
}

void server_answer_all(struct server *server, enum ask request, const struct json *answer)
{
	for (unsigned i = 0; i < CLIENTS; i++)
		if (server->clients[i].fd >= 0 && server->clients[i].waits == request)
			server_answer(server, i, answer);
}
