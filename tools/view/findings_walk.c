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

/* findings_read() with the spans of the walk of the page. */
static int read_findings(struct findings_walk *w)
{
	struct interval_listener listener = findings_listener;
	struct intervals intervals = {0};
	int err = findings_begin(w->findings, &w->source, w->first, w->last), walked;

	listener.span = NULL;
	if (err)
		goto out;
	err = walked = intervals_walk(&intervals, &w->source, &listener, w->findings);
	if (!intervals.threads || walked == -ENOMEM)
		goto out;
	streams_release(w->source.streams, w->source.trace.nstreams);
	while (sem_wait(&w->page_walked)) /* interrupted by a signal */
		;
	if (!w->spans)
		goto out;
	cpu_times_move_spans(&w->findings->cpus, w->spans);
	err = findings_end(w->findings, &intervals);
	err = err ? err : walked;
out:
	intervals_fini(&intervals);
	return err;
}

static void *run(void *arg)
{
	struct findings_walk *w = arg;

	log_mute(true);
	w->err = read_findings(w);
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
	sem_init(&w->page_walked, 0, 0);
	w->began = true;
	w->running = !pthread_create(&w->thread, NULL, run, w);
}

/* Ends a walk that began. `spans`: NULL to give it up. */
static void end(struct findings_walk *w, struct cpu_times *spans)
{
	if (!w->began)
		return;
	w->spans = spans;
	sem_post(&w->page_walked);
	if (w->running)
		pthread_join(w->thread, NULL);
	else if (spans)
		run(w);
	sem_destroy(&w->page_walked);
	w->began = false;
}

int findings_walk_end(struct findings_walk *w, struct cpu_times *spans)
{
	const char *path = w->source.trace.path;

	end(w, spans);
	streams_free(w->source.streams, w->source.trace.nstreams);
	w->source.streams = NULL;
	if (w->err == -ENOMEM)
		return log_no_memory("for the findings of %s", path);
	if (w->err)
		log_error("%s: cannot read the findings: %s", path, strerror(-w->err));
	return w->err;
}

void findings_walk_fini(struct findings_walk *w)
{
	end(w, NULL);
	streams_free(w->source.streams, w->source.trace.nstreams);
	w->source.streams = NULL;
}
