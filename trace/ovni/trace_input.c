/* SPDX-License-Identifier: MIT */
/* trace_input: opens a trace (see trace_input.h). */
#include "trace/ovni/trace_input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/log.h"

static int take(char **out, const char *text)
{
	*out = text ? strdup(text) : NULL;
	return text && !*out ? -ENOMEM : 0;
}

int owner_init(struct owner *owner, const struct json *meta)
{
	const struct json *rank = json_get(meta, "ovni.rank");
	const char *part = json_string(json_get(meta, "ovni.part"));

	memset(owner, 0, sizeof(*owner));
	owner->pid = json_int(json_get(meta, "ovni.pid"));
	owner->tid = json_int(json_get(meta, "ovni.tid"));
	owner->app_id = json_int(json_get(meta, "ovni.app_id"));
	owner->rank = json_is_number(rank) ? json_int(rank) : -1;
	owner->thread = part && !strcmp(part, "thread");
	owner->finished = json_number(json_get(meta, "ovni.finished")) == 1;
	if (take(&owner->loom, json_string(json_get(meta, "ovni.loom"))) < 0 ||
	    take(&owner->name, json_string(json_get(meta, "bpf.name"))) < 0) {
		owner_fini(owner);
		return -ENOMEM;
	}
	return 0;
}

void owner_fini(struct owner *owner)
{
	free(owner->loom);
	free(owner->name);
	owner->loom = owner->name = NULL;
}

int source_open(struct source *source, const char *path)
{
	size_t n;
	int err;

	memset(source, 0, sizeof(*source));
	source->trace.fd = -1;
	err = trace_open(&source->trace, path);
	if (err < 0)
		return err;
	n = source->trace.nstreams;
	source->streams = streams_new(n);
	source->owners = calloc(n + 1, sizeof(*source->owners));
	if (!source->streams || !source->owners)
		return log_no_memory("for the %zu streams of %s", n, path);
	for (size_t i = 0; i < n; i++) {
		struct json *meta = trace_metadata(&source->trace, i);

		if (!meta)
			return -EINVAL;
		err = owner_init(&source->owners[i], meta);
		json_free(meta);
		if (err < 0)
			return log_no_memory("while reading %s", path);
		err = stream_open(&source->streams[i], source->trace.fd, source->trace.streams[i]);
		if (err < 0)
			return err;
	}
	return 0;
}

void source_close(struct source *source)
{
	for (size_t i = 0; source->owners && i < source->trace.nstreams; i++)
		owner_fini(&source->owners[i]);
	streams_free(source->streams, source->trace.nstreams);
	free(source->owners);
	trace_close(&source->trace);
	memset(source, 0, sizeof(*source));
	source->trace.fd = -1;
}

bool source_start(const struct source *source, int64_t *clock)
{
	bool found = false;

	for (size_t i = 0; i < source->trace.nstreams; i++) {
		struct stream *stream = &source->streams[i];

		stream_rewind(stream);
		if (stream_step(stream) > 0) {
			if (!found || stream->ev.clock < *clock)
				*clock = stream->ev.clock;
			found = true;
		}
		stream_rewind(stream);
	}
	return found;
}
