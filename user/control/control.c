/* SPDX-License-Identifier: MIT */
/* control: see control.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "user/control/control.h"
#include "user/host/daemon.h"
#include "trace/base/json.h"
#include "trace/base/log.h"

/* ---- the socket ---- */

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

static void hang_up(struct client *client)
{
	close(client->fd);
	*client = (struct client){.fd = -1};
}

static void socket_close(struct control_socket *control)
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

static struct control_socket *socket_open(const struct session_dir *dir, uid_t owner)
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
	socket_close(control);
	return NULL;
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
		log_warn("refused a request: user %u may not control this session", peer.uid);
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
static enum control_request read_request(struct control_socket *control, unsigned i)
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

enum control_request control_next(struct control *control, unsigned *client)
{
	struct control_socket *socket = control ? control->socket : NULL;
	struct epoll_event event;
	enum control_request request;

	while (socket && epoll_wait(socket->epoll, &event, 1, 0) > 0) {
		if (event.data.u32 == CLIENTS) {
			accept_one(socket);
			continue;
		}
		request = read_request(socket, event.data.u32);
		if (request) {
			*client = event.data.u32;
			return request;
		}
	}
	return CONTROL_NONE;
}

/* ---- answers ---- */

/* An answer is small and fits into an empty socket; if it does not, the client does not read. */
void control_send(struct control *control, unsigned i, struct json *document)
{
	struct client *client = &control->socket->clients[i];
	char *text = document ? json_text(document) : NULL;

	if (client->fd >= 0) {
		if (text && send(client->fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
			log_debug("cannot send an answer: %s", strerror(errno));
		hang_up(client);
	}
	free(text);
	json_free(document);
}

/* ---- the session ---- */

int control_begin(struct control *control, const char *output, char *const *argv)
{
	struct json *info, *options;
	char *text;
	int err;

	if (!control)
		return 0;
	info = json_new_object();
	options = json_put_array(info, "options");
	for (; options && *argv; argv++)
		json_put_string(options, NULL, *argv);
	json_put_string(info, "session", control->dir.name);
	json_put_int(info, "pid", getpid());
	json_put_string(info, "output", output);
	json_put_int(info, "started", (int64_t)time(NULL));
	text = info ? json_text(info) : NULL;
	err = text ? session_dir_write(&control->dir, "info", text)
		   : log_no_memory("for the state of the session");
	free(text);
	json_free(info);
	if (err)
		return err;
	control->socket = socket_open(&control->dir, geteuid());
	return control->socket ? 0 : -EIO;
}

void control_ready(struct control *control)
{
	char byte = 0;

	if (!control)
		return;
	daemon_notify("READY=1");
	if (control->ready_fd < 0)
		return;
	if (chdir("/")) /* so that the file system can be unmounted */
		log_debug("cannot leave the current directory: %s", strerror(errno));
	if (write(control->ready_fd, &byte, 1) < 0)
		log_debug("no process waits for the start of the session");
	close(control->ready_fd);
	control->ready_fd = -1;
}

int control_fd(const struct control *control)
{
	return control && control->socket ? control->socket->epoll : -1;
}

struct json *control_status(const struct control *control)
{
	struct json *status = json_new_object();

	json_put_string(status, "session", control->dir.name);
	json_put_string(status, "state", session_state_name(SESSION_RUNNING, 0, NULL, 0));
	json_put_int(status, "pid", getpid());
	return status;
}

void control_refuse(struct control *control, unsigned client, const char *why)
{
	struct json *doc = json_new_object();

	json_put_string(doc, "error", why);
	control_send(control, client, doc);
}

/* Answers all clients that wait for the answer to `request`. */
static void answer_all(struct control *control, enum control_request request, const char *key,
		       const char *value, int status)
{
	struct json *doc;

	for (unsigned i = 0; i < CLIENTS; i++) {
		if (control->socket->clients[i].fd < 0 ||
		    control->socket->clients[i].waits != request)
			continue;
		doc = json_new_object();
		json_put_string(doc, key, value);
		if (status >= 0)
			json_put_int(doc, "status", status);
		control_send(control, i, doc);
	}
}

void control_saved(struct control *control, const char *trace)
{
	if (control && control->socket)
		answer_all(control, CONTROL_SAVE, "trace", trace, -1);
}

void control_end(struct control *control, int status)
{
	char text[16], state[32];
	unsigned client;

	if (!control)
		return;
	snprintf(text, sizeof(text), "%d\n", status);
	if (session_dir_write(&control->dir, "status", text))
		log_debug("cannot keep the exit status");
	/* the last requests get the same answer */
	while (control_next(control, &client))
		;
	for (enum control_request r = CONTROL_STATUS; r <= CONTROL_STOP && control->socket; r++)
		answer_all(control, r, "state",
			   session_state_name(SESSION_ENDED, status, state, sizeof(state)), status);
	socket_close(control->socket);
	control->socket = NULL;
	unlinkat(control->dir.fd, "control", 0);
}
