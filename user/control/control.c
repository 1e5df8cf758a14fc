/* SPDX-License-Identifier: MIT */
/* control: see control.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "user/control/control.h"
#include "user/host/daemon.h"
#include "trace/base/json.h"
#include "trace/base/log.h"

int control_begin(struct control *control, const char *output, char *const *argv)
{
	struct json *info, *options;
	char *text = NULL;
	int err;

	if (!control)
		return 0;
	info = json_new_object();
	options = json_put_array(info, "options");
	for (; options && *argv; argv++)
		json_put_string(options, NULL, *argv);
	if (json_put_string(info, "session", control->dir.name) &&
	    json_put_int(info, "pid", getpid()) && json_put_string(info, "output", output) &&
	    json_put_int(info, "started", (int64_t)time(NULL)))
		text = json_text(info);
	err = text ? session_dir_write(&control->dir, "info", text)
		   : log_no_memory("for the state of the session");
	free(text);
	json_free(info);
	if (err)
		return err;
	control->socket = control_socket_open(&control->dir, geteuid());
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
	return control && control->socket ? control_socket_fd(control->socket) : -1;
}

enum control_request control_next(struct control *control, unsigned *client)
{
	return control && control->socket ? control_socket_next(control->socket, client)
					  : CONTROL_NONE;
}

void control_tell(struct control *control, unsigned client, const struct control_figures *f)
{
	struct json *doc = json_new_object();

	json_put_string(doc, "session", control->dir.name);
	json_put_string(doc, "state", "recording");
	json_put_int(doc, "pid", getpid());
	json_put_string(doc, "output", f->output);
	json_put_string(doc, "keeps", f->keeps);
	json_put_real(doc, "seconds", f->seconds);
	json_put_int(doc, "records", (int64_t)f->records);
	json_put_int(doc, "events", (int64_t)f->events);
	json_put_int(doc, "threads", (int64_t)f->threads);
	json_put_int(doc, "bytes", (int64_t)f->bytes);
	json_put_int(doc, "lost", (int64_t)f->lost);
	json_put_int(doc, "traces", (int64_t)f->traces);
	json_put_real(doc, "fullest_ring", f->fullest);
	control_socket_answer(control->socket, client, doc);
	json_free(doc);
}

void control_refuse(struct control *control, unsigned client, const char *why)
{
	struct json *doc = json_new_object();

	json_put_string(doc, "error", why);
	control_socket_answer(control->socket, client, doc);
	json_free(doc);
}

void control_saved(struct control *control, const char *trace)
{
	struct json *doc;

	if (!control || !control->socket)
		return;
	doc = json_new_object();
	json_put_string(doc, "trace", trace);
	control_socket_answer_all(control->socket, CONTROL_SAVE, doc);
	json_free(doc);
}

void control_end(struct control *control, int status)
{
	struct json *doc;
	char text[16];
	unsigned client;

	if (!control)
		return;
	snprintf(text, sizeof(text), "%d\n", status);
	if (session_dir_write(&control->dir, "status", text))
		log_debug("cannot keep the exit status");
	/* the last requests get the same answer */
	while (control_next(control, &client))
		;
	if (control->socket) {
		doc = json_new_object();
		json_put_string(doc, "state", "ended");
		json_put_int(doc, "status", status);
		for (enum control_request r = CONTROL_STATUS; r <= CONTROL_STOP; r++)
			control_socket_answer_all(control->socket, r, doc);
		json_free(doc);
	}
	control_socket_close(control->socket);
	control->socket = NULL;
	unlinkat(control->dir.fd, "control", 0);
}
