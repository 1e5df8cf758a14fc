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
	if (json_put_string(info, "session", control->place.name) &&
	    json_put_int(info, "pid", getpid()) && json_put_string(info, "output", output) &&
	    json_put_int(info, "started", (int64_t)time(NULL)))
		text = json_text(info);
	err = text ? place_write(&control->place, "info", text)
		   : log_no_memory("for the state of the session");
	free(text);
	json_free(info);
	if (err)
		return err;
	control->server = server_open(&control->place, geteuid());
	return control->server ? 0 : -EIO;
}

void control_ready(struct control *control)
{
	char byte = 0;

	if (!control)
		return;
	daemon_notify("READY=1");
	if (control->ready_fd < 0)
		return;
	if (chdir("/")) /* do not keep a file system from being unmounted */
		log_debug("cannot leave the current directory: %s", strerror(errno));
	if (write(control->ready_fd, &byte, 1) < 0)
		log_debug("nobody waits for the session to begin");
	close(control->ready_fd);
	control->ready_fd = -1;
}

int control_fd(const struct control *control)
{
	return control && control->server ? server_fd(control->server) : -1;
}

enum ask control_next(struct control *control, unsigned *client)
{
	return control && control->server ? server_next(control->server, client) : ASK_NONE;
}

void control_tell(struct control *control, unsigned client, const struct control_figures *f)
{
	struct json *doc = json_new_object();

	json_put_string(doc, "session", control->place.name);
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
	server_answer(control->server, client, doc);
	json_free(doc);
}

void control_refuse(struct control *control, unsigned client, const char *why)
{
	struct json *doc = json_new_object();

	json_put_string(doc, "error", why);
	server_answer(control->server, client, doc);
	json_free(doc);
}

void control_saved(struct control *control, const char *trace)
{
	struct json *doc;

	if (!control || !control->server)
		return;
	doc = json_new_object();
	json_put_string(doc, "trace", trace);
	server_answer_all(control->server, ASK_SAVE, doc);
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
	if (place_write(&control->place, "status", text))
		log_debug("the exit status is not kept");
	/* who has asked in the last moment gets the same answer */
	while (control_next(control, &client))
		;
	if (control->server) {
		doc = json_new_object();
		json_put_string(doc, "state", "ended");
		json_put_int(doc, "status", status);
		for (enum ask r = ASK_STATUS; r <= ASK_STOP; r++)
			server_answer_all(control->server, r, doc);
		json_free(doc);
	}
	server_close(control->server);
	control->server = NULL;
	unlinkat(control->place.fd, "control", 0);
}
