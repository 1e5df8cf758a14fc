/* SPDX-License-Identifier: MIT */
#include "tools/view/findings_walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/log.h"

static int share_streams(struct findings_walk *w, const struct stream *streams)
{
	size_t n = w->source.trace.nstreams;
	int err = 0;

	w->source.streams = streams_new(n);
	if (!w->source.streams)
		return -ENOMEM;
	for (size_t i = 0; i < n && !err; i++)
		err = stream_share(&w->source.streams[i], &streams[i]);
	return err;
}

static void *run(void *arg)
{
	struct findings_walk *w = arg;

	log_mute(true);
	w->err = findings_read(w->findings, &w->source, w->first, w->last);
	if (w->findings->complete && w->err != -ENOMEM)
		w->err = 0;
	log_mute(false);
	return NULL;
}

void findings_walk_begin(struct findings_walk *w, const struct source *source,
			 struct findings *findings, int64_t first, int64_t last)
{
	*w = (struct findings_walk){
		.source = *source, .findings = findings, .first = first, .last = last};
	log_mute(true);
	w->err = share_streams(w, source->streams);
	log_mute(false);
	if (w->err)
		return;
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
