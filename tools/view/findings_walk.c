/* SPDX-License-Identifier: MIT */
#include "tools/view/findings_walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/log.h"

static int read_findings(struct findings_walk *w)
{
	struct source *source = &w->source;
	size_t n = source->trace.nstreams;
	int err;

	source->streams = streams_new(n);
	if (!source->streams)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		err = stream_open(&source->streams[i], source->trace.fd, source->trace.streams[i]);
		if (err)
			return err;
	}
	err = findings_read(w->findings, source, w->first, w->last);
	return w->findings->complete && err != -ENOMEM ? 0 : err;
}

static void *run(void *arg)
{
	struct findings_walk *w = arg;

	log_mute(true);
	w->err = read_findings(w);
	log_mute(false);
	return NULL;
}

void findings_walk_begin(struct findings_walk *w, const struct source *source,
			 struct findings *findings, int64_t first, int64_t last)
{
	*w = (struct findings_walk){
		.source = *source, .findings = findings, .first = first, .last = last};
	w->source.streams = NULL;
	w->running = !pthread_create(&w->thread, NULL, run, w);
	if (!w->running)
		run(w);
}

static void wait_for(struct findings_walk *w)
{
	if (w->running)
		pthread_join(w->thread, NULL);
	w->running = false;
}

int findings_walk_end(struct findings_walk *w)
{
	const char *path = w->source.trace.path;

	wait_for(w);
	if (w->err == -ENOMEM)
		return log_no_memory("for the findings of %s", path);
	if (w->err)
		log_error("%s: cannot read the findings: %s", path, strerror(-w->err));
	return w->err;
}

void findings_walk_fini(struct findings_walk *w)
{
	wait_for(w);
	streams_free(w->source.streams, w->source.trace.nstreams);
	w->source.streams = NULL;
}
