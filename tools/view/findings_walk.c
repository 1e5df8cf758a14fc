/* SPDX-License-Identifier: MIT */
#include "tools/view/findings_walk.h"

#include <errno.h>
#include <string.h>

#include "trace/base/log.h"

static void wait_for(sem_t *moment)
{
	while (sem_wait(moment)) /* interrupted by a signal */
		;
}

static void begin(struct findings_walk *w)
{
	log_mute(true);
	w->err = findings_begin(w->findings, &w->source, w->first, w->last);
	w->usable = !w->err;
	log_mute(false);
}

static int read_uses(struct findings_walk *w)
{
	struct intervals intervals = {0};
	int walked = intervals_walk(&intervals, &w->source, &findings_uses, w->findings);
	int err = walked;

	if (w->order)
		play_order_leave(w->order);
	if (!intervals.threads || walked == -ENOMEM)
		goto out;
	streams_release(w->source.streams, w->source.trace.nstreams);
	err = findings_end_uses(w->findings, &intervals);
	wait_for(&w->page_walked);
	if (err || !w->runs_ended)
		goto out;
	err = findings_end(w->findings, &intervals);
	err = err || w->findings->complete ? err : walked;
out:
	intervals_fini(&intervals);
	return err;
}

static void read(struct findings_walk *w)
{
	log_mute(true);
	w->err = read_uses(w);
	log_mute(false);
}

static void *run(void *arg)
{
	struct findings_walk *w = arg;

	begin(w);
	sem_post(&w->ready);
	if (w->usable)
		read(w);
	return NULL;
}

void findings_walk_begin(struct findings_walk *w, const struct source *source,
			 struct findings *findings, int64_t first, int64_t last)
{
	*w = (struct findings_walk){
		.source = *source, .findings = findings, .first = first, .last = last};
	log_mute(true);
	w->source.streams = streams_share(source->streams, source->trace.nstreams);
	w->err = w->source.streams ? 0 : -errno;
	log_mute(false);
	if (w->err)
		return;
	sem_init(&w->ready, 0, 0);
	sem_init(&w->page_walked, 0, 0);
	w->began = true;
	w->source.order = w->order = play_order_new();
	w->running = w->order && !pthread_create(&w->thread, NULL, run, w);
	if (w->running)
		return;
	play_order_free(w->order); /* without a thread the walk comes after that of the page */
	w->source.order = w->order = NULL;
}

struct findings *findings_walk_ready(struct findings_walk *w)
{
	if (!w->began)
		return NULL;
	if (w->running)
		wait_for(&w->ready);
	else
		begin(w);
	return w->usable ? w->findings : NULL;
}

/* Ends a walk that began. `runs_ended`: false to give it up. */
static void end(struct findings_walk *w, bool runs_ended)
{
	if (!w->began)
		return;
	w->runs_ended = runs_ended;
	sem_post(&w->page_walked);
	if (w->order)
		play_order_end(w->order, -ECANCELED); /* no effect if the page was walked */
	if (w->running)
		pthread_join(w->thread, NULL);
	else if (runs_ended && w->usable)
		read(w);
	sem_destroy(&w->page_walked);
	sem_destroy(&w->ready);
	play_order_free(w->order);
	w->order = NULL;
	w->began = false;
}

int findings_walk_end(struct findings_walk *w)
{
	const char *path = w->source.trace.path;

	end(w, true);
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
	end(w, false);
	streams_free(w->source.streams, w->source.trace.nstreams);
	w->source.streams = NULL;
}
