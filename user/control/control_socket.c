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

const char *const control_request_names[4] = {
	[CONTROL_NONE] = "",
	[CONTROL_STATUS] = "status",
	[CONTROL_SAVE] = "save",
	[CONTROL_STOP] = "stop",
};

struct client {
	int fd; /* -1: this slot is free */
	char line[LINE];
	size_t used;
	enum control_request waits; /* handed to the session, and not answered yet */
};

struct control_socket {
	int epoll, listen;
	uid_t owner;
	struct client clients[CLIENTS];
};

static int watch(struct control_socket *control, int fd, unsigned what)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP, .data.u32 = what};

	return epoll_ctl(control->epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

struct control_socket *control_socket_open(const struct session_dir *dir, uid_t owner)
{
	struct control_socket *control = calloc(1, sizeof(*control));
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int err = -ENOMEM;

	if (!control)
		goto failed;
	control->owner = owner;
	for (unsigned i = 0; i < CLIENTS; i++)
		control->clients[i].fd = -1;
	control->epoll = epoll_create1(EPOLL_CLOEXEC);
	control->listen = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* the path of the directory may be too long for sun_path */
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/control", dir->fd);
	if (control->epoll < 0 || control->listen < 0 ||
	    bind(control->listen, (struct sockaddr *)&address, sizeof(address)) ||
	    listen(control->listen, CLIENTS)) {
		err = -errno;
		goto failed;
	}
	err = watch(control, control->listen, CLIENTS);
	if (err)
		goto failed;
	return control;
failed:
	log_error("cannot listen on '%s/control': %s", dir->path, strerror(-err));
	control_socket_close(control);
	return NULL;
}

static void hang_up(struct client *client)
{
	close(client->fd);
	*client = (struct client){.fd = -1};
}

void control_socket_close(struct control_socket *control)
{
	if (!control)
		return;
	for (unsigned i = 0; i < CLIENTS; i++)
		if (control->clients[i].fd >= 0)
			hang_up(&control->clients[i]);
	if (control->listen >= 0)
		close(control->listen);
	if (control->epoll >= 0)
		close(control->epoll);
	free(control);
}

int control_socket_fd(const struct control_socket *control)
{
	return control->epoll;
}

/* ---- requests ---- */

static void accept_one(struct control_socket *control)
{
	int fd = accept4(control->listen, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (fd < 0)
		return;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) ||
	    (peer.uid != 0 && peer.uid != control->owner && peer.uid != geteuid())) {
		log_warn("refused a request of user %u, who may not control this session",
			 peer.uid);
		close(fd);
		return;
	}
	for (unsigned i = 0; i < CLIENTS; i++) {
		if (control->clients[i].fd >= 0)
			continue;
		control->clients[i] = (struct client){.fd = fd};
		if (watch(control, fd, i))
			hang_up(&control->clients[i]);
		return;
	}
	close(fd); /* all slots are taken */
}

static enum control_request parse(const char *line)
{
	for (enum control_request r = CONTROL_STATUS; r <= CONTROL_STOP; r++)
		if (!strcmp(line, control_request_names[r]))
			return r;
	return CONTROL_NONE;
}

/* Reads from a client. Closes the connection after more than a line, or an unknown request. */
static enum control_request take(struct control_socket *control, unsigned i)
{
	struct client *client = &control->clients[i];
	ssize_t n;
	char *end;

	if (client->fd < 0)
		return CONTROL_NONE;
	n = read(client->fd, client->line + client->used, LINE - 1 - client->used);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return CONTROL_NONE;
	if (n <= 0 || client->waits) {
		hang_up(client);
		return CONTROL_NONE;
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
	return CONTROL_NONE;
}

enum control_request control_socket_next(struct control_socket *control, unsigned *client)
{
	struct epoll_event event;
	enum control_request request;

	while (epoll_wait(control->epoll, &event, 1, 0) > 0) {
		if (event.data.u32 == CLIENTS) {
			accept_one(control);
			continue;
		}
		request = take(control, event.data.u32);
		if (request) {
			*client = event.data.u32;
			return request;
		}
	}
	return CONTROL_NONE;
}

/* ---- answers ---- */

/* An answer is small and fits into an empty socket; if it does not, the client does not read. */
static void send_text(struct client *client, const char *text)
{
	if (text && send(client->fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		log_debug("cannot send an answer: %s", strerror(errno));
	hang_up(client);
}

void control_socket_answer(struct control_socket *control, unsigned client,
			   const struct json *answer)
{
	char *text = json_text(answer);

	if (control->clients[client].fd >= 0)
		send_text(&control->clients[client], text);
	free(text);
}

void control_socket_answer_all(struct control_socket *control, enum control_request request,
			       const struct json *answer)
{
	for (unsigned i = 0; i < CLIENTS; i++)
		if (control->clients[i].fd >= 0 && control->clients[i].waits == request)
			control_socket_answer(control, i, answer);
}
