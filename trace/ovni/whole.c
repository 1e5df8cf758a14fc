/* SPDX-License-Identifier: MIT */
/* whole: see whole.h. */
#include "trace/ovni/whole.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "trace/base/log.h"
#include "trace/base/text.h"
#include "trace/ovni/job_file.h"
#include "trace/ovni/stack_file.h"
#include "trace/ovni/stats_file.h"

/* The events that follow T1: a thread enters its CPU 1 ns after the one that leaves, and repairs
 * take some more. */
#define AFTER_T1_NS 1000

/* ---- evidence ---- */

static void add(uint64_t *sum, uint64_t more)
{
	if (__builtin_add_overflow(*sum, more, sum))
		*sum = UINT64_MAX;
}

static void add_number(uint64_t *sum, const struct json *node)
{
	uint64_t number;

	if (json_u64(node, &number))
		add(sum, number);
}

static void add_fault(struct whole_fault *fault, const char *path)
{
	if (!fault->streams++)
		snprintf(fault->first, sizeof(fault->first), "%s", *path ? path : ".");
}

/* The events of a stream, from its metadata or from its file. */
struct extent {
	uint64_t events, bytes, first, last;
};

/* Reads all events. Returns 0, or -errno of stream_step(), with those before the damage. */
static int measure(struct stream *stream, struct extent *extent)
{
	int err;

	*extent = (struct extent){.bytes = stream->size};
	stream_rewind(stream);
	while ((err = stream_step(stream)) > 0) {
		if (!extent->events++)
			extent->first = (uint64_t)stream->ev.clock;
		extent->last = (uint64_t)stream->ev.clock;
	}
	stream_rewind(stream);
	return err;
}

/* The clock of the first event. False if there is none. */
static bool first_clock(struct stream *stream, uint64_t *clock)
{
	bool found;

	stream_rewind(stream);
	found = stream_step(stream) > 0;
	*clock = (uint64_t)stream->ev.clock;
	stream_rewind(stream);
	return found;
}

/*
 * True if the stream ends with an event of this clock. Nothing behind an event gives its size, so
 * all sizes are tried. False: another clock, or a jumbo event, or a file of which only a part is in
 * memory.
 */
static bool ends_with(const struct stream *stream, uint64_t clock)
{
	const uint8_t *end = stream->base + stream->size;
	struct event ev;

	for (uint64_t size = EVENT_HEADER_SIZE;
	     (stream->guard || stream->loaded) && size <= EVENT_SIZE_MAX &&
	     size + STREAM_HEADER_SIZE <= stream->size;
	     size++)
		if (event_decode(&ev, end - size, end) == (ssize_t)size &&
		    (uint64_t)ev.clock == clock)
			return true;
	return false;
}

static void take_clocks(struct whole *w, const struct extent *extent)
{
	if (!w->has_clocks || extent->first < w->first)
		w->first = extent->first;
	if (!w->has_clocks || extent->last > w->last)
		w->last = extent->last;
	w->has_clocks = true;
}

/*
 * Compares a recorded stream with its metadata, which say that it has `events` events. Its extent
 * is missing in older recordings; a part of it, or a value that is no number, is damage.
 */
static void compare(struct whole *w, const char *path, const struct json *bpf, uint64_t events,
		    struct stream *stream, bool thorough)
{
	const struct json *bytes = json_key(bpf, "bytes"), *first = json_key(bpf, "first"),
			  *last = json_key(bpf, "last");
	struct extent wrote = {.events = events}, is;
	bool has_extent = bytes || first || last, known;
	uint64_t added = 0;

	known = json_u64(bytes, &wrote.bytes) && json_u64(first, &wrote.first) &&
		json_u64(last, &wrote.last);
	/* of a stream that a repair has closed */
	(void)json_u64(json_get(bpf, "recovered.added"), &added);
	if (known && !thorough && stream->size == wrote.bytes &&
	    (!events || ends_with(stream, wrote.last))) {
		is = wrote;
		if (events && !first_clock(stream, &is.first))
			is.events = 0;
		if (is.events)
			take_clocks(w, &is);
	} else {
		(void)measure(stream, &is);
		if (is.events)
			take_clocks(w, &is);
		is.events -= added < is.events ? added : is.events;
	}
	if (is.events < events) {
		add_fault(&w->missing, path);
		add(&w->events_missing, events - is.events);
	} else if (has_extent && !added &&
		   (!known || is.events != wrote.events || is.bytes != wrote.bytes ||
		    (events && (is.first != wrote.first || is.last != wrote.last)))) {
		add_fault(&w->changed, path);
	}
}

/* The size of a regular file beside the loom of the stream, three directories up. False: there is
 * none. */
static bool size_beside(int dirfd, const char *path, const char *file, uint64_t *size)
{
	size_t n = strlen(path);
	char name[PATH_MAX];
	struct stat st;

	for (int up = 0; up < 3 && n; up++) {
		while (n && path[n - 1] != '/')
			n--;
		n -= n > 0;
	}
	if (snprintf(name, sizeof(name), "%.*s%s%s", (int)n, path, n ? "/" : "", file) >=
		    (int)sizeof(name) ||
	    fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
		return false;
	*size = (uint64_t)st.st_size;
	return true;
}

/* Compares the file `stacks` with `bpf.stacks_bytes` of one stream, which is false in a trace that
 * a tool has made without that file. A file that is not there has 0 bytes. */
static void take_stacks(struct whole *w, int dirfd, const char *path, const struct json *written)
{
	uint64_t size = 0, number;
	bool there;

	if (!json_u64(written, &number)) {
		w->unended += !json_is_bool(written);
		return;
	}
	there = size_beside(dirfd, path, STACK_FILE, &size);
	if (size == number || w->stacks_differ)
		return;
	w->stacks_differ = true;
	w->no_stacks = !there;
	w->stacks_bytes = size;
	w->stacks_written = number;
}

/* The nodes and ranks that are missing. A damaged file is a reason, too: ovni-info has its error.
 */
void whole_take_job(struct whole *w, int dirfd)
{
	char text[JOB_TEXT];
	struct job job;
	int err;

	log_mute(true);
	err = job_read(&job, dirfd);
	log_mute(false);
	if (err)
		snprintf(w->job, sizeof(w->job), "%s",
			 log_lacks_memory() ? "out of memory (for its " JOB_FILE ")"
					    : "its " JOB_FILE
					      " or a file of a node is damaged (see ovni-info)");
	else
		snprintf(w->job, sizeof(w->job), "%s", job_text(&job, text));
	job_free(&job);
}

static void take_session(struct whole *w, int dirfd, const char *path, const struct json *session,
			 bool part)
{
	const struct json *events = json_get(session, "counts.events");
	const struct json *streams = json_key(session, "streams");
	uint64_t t0, t1, number;

	w->sessions++;
	/* a recording that has ended has all of them; older ones had no `streams` */
	w->unended += streams && !(json_u64(streams, &number) && json_u64(events, &number));
	if (json_u64(json_key(session, "lost"), &number)) {
		w->with_lost++;
		add(&w->lost, number);
	}
	if (json_u64(streams, &number)) {
		w->with_streams++;
		add(&w->session_streams, number);
		part = false;
	}
	w->parts |= part;
	w->no_stats |= json_bool(json_key(session, "stats")) &&
		       !size_beside(dirfd, path, STATS_FILE, &number);
	add_number(&w->session_events, events);
	if (!json_u64(json_key(session, "t0"), &t0) || !json_u64(json_key(session, "t1"), &t1)) {
		w->unended += streams != NULL;
		w->open++;
		return;
	}
	w->t0 = !w->closed || t0 < w->t0 ? t0 : w->t0;
	w->t1 = !w->closed || t1 > w->t1 ? t1 : w->t1;
	w->closed += json_is_object(json_key(session, "counts"));
}

void whole_take(struct whole *w, int dirfd, const char *path, const struct json *meta,
		struct stream *stream, bool thorough)
{
	const struct json *bpf = json_get(meta, "bpf"), *session = json_key(bpf, "session");
	const char *made_from = json_string(json_get(meta, WHOLE_KEY));
	const char *kind = json_string(json_get(meta, "ovni.part"));
	bool thread = !kind || !strcmp(kind, "thread");
	uint64_t events;

	if (!w->streams++)
		whole_take_job(w, dirfd);
	w->unfinished += thread && json_number(json_get(meta, "ovni.finished")) != 1;
	w->recovered += json_is_object(json_key(bpf, "recovered"));
	w->parts |= json_is_object(json_get(meta, "merge"));
	add_number(&w->records, json_get(meta, "accel.run.dropped"));
	if (made_from && !w->made_from[0])
		snprintf(w->made_from, sizeof(w->made_from), "%s", made_from);
	if (json_key(bpf, "stacks_bytes"))
		take_stacks(w, dirfd, path, json_key(bpf, "stacks_bytes"));
	if (json_is_object(session))
		take_session(w, dirfd, path, session, json_is_object(json_get(meta, "cut")));
	if (!json_u64(json_key(bpf, "events"), &events))
		return;
	w->recorded++;
	add(&w->events, events);
	if (stream)
		compare(w, path, bpf, events, stream, thorough);
}

/* ---- the reasons ---- */

struct reasons {
	char *text;
	size_t size, at;
};

static void __attribute__((format(printf, 2, 3))) put(struct reasons *r, const char *fmt, ...)
{
	va_list args;
	int n;

	if (r->at + sizeof("; ") > r->size)
		return;
	if (r->at)
		r->at += (size_t)snprintf(r->text + r->at, r->size - r->at, "; ");
	va_start(args, fmt);
	n = vsnprintf(r->text + r->at, r->size - r->at, fmt, args);
	va_end(args);
	r->at += n > 0 ? (size_t)n : 0;
	r->at = r->at < r->size ? r->at : r->size - 1;
}

/* Compares the streams with the sessions. */
static void compare_sessions(const struct whole *w, struct reasons *r)
{
	uint64_t missing = w->session_streams - w->recorded;

	if (w->recorded && !w->sessions)
		put(r, "the stream with the session of the recorder (bpf.session) is missing");
	/* of a killed recorder there is no more */
	if (!w->sessions || w->closed != w->sessions)
		return;
	if (w->with_lost != w->sessions)
		put(r, "the recorder could not count the lost events");
	if (w->with_streams == w->sessions && w->recorded < w->session_streams)
		put(r, "%" PRIu64 " of %" PRIu64 " %s missing", missing, w->session_streams,
		    plural(missing, "streams is", "streams are"));
	if (w->with_streams == w->sessions && w->recorded > w->session_streams)
		put(r, "there are %" PRIu64 " streams, but %" PRIu64 " in the sessions",
		    w->recorded, w->session_streams);
	if (w->parts || w->events == w->session_events)
		return;
	if (w->events < w->session_events)
		put(r, "%" PRIu64 " of %" PRIu64 " events are missing with their streams",
		    w->session_events - w->events, w->session_events);
	else
		put(r, "the streams have %" PRIu64 " events, and the sessions %" PRIu64, w->events,
		    w->session_events);
}

static void put_fault(struct reasons *r, const struct whole_fault *fault, const char *what)
{
	put(r, "%s (%s%s)", what, fault->first, fault->streams > 1 ? ", and others" : "");
}

/* Compares the events with the number of written events. */
static void compare_events(const struct whole *w, struct reasons *r)
{
	uint64_t end;

	if (w->missing.streams) {
		char what[64];

		snprintf(what, sizeof(what), "%" PRIu64 " event%s missing", w->events_missing,
			 plural(w->events_missing, " is", "s are"));
		put_fault(r, &w->missing, what);
	}
	if (w->changed.streams)
		put_fault(r, &w->changed, "other events than the recorder wrote");
	if (!w->has_clocks || !w->closed || w->closed != w->sessions)
		return;
	if (__builtin_add_overflow(w->t1, AFTER_T1_NS, &end))
		end = UINT64_MAX;
	if (w->first < w->t0 || w->last > end)
		put(r, "events are outside of the window of the recorder");
}

const char *whole_text(const struct whole *w, char text[WHOLE_TEXT])
{
	struct reasons r = {.text = text, .size = WHOLE_TEXT};

	text[0] = '\0';
	if (!w->streams)
		put(&r, "it has no streams");
	if (w->recovered)
		put(&r,
		    "a repair closed %" PRIu64 " stream%s after a crash: later events are missing",
		    w->recovered, plural(w->recovered, "", "s"));
	if (w->lost)
		put(&r, "the recorder lost %" PRIu64 " event%s", w->lost, plural(w->lost, "", "s"));
	if (w->records)
		put(&r, "%" PRIu64 " record%s dropped by the producers of Loom runs", w->records,
		    plural(w->records, " was", "s were"));
	if (w->unfinished)
		put(&r, "%" PRIu64 " stream%s not finished", w->unfinished,
		    plural(w->unfinished, " is", "s are"));
	compare_events(w, &r);
	compare_sessions(w, &r);
	if (w->no_stats)
		put(&r, STATS_FILE " is missing");
	if (w->no_stacks)
		put(&r, "the file " STACK_FILE " is missing");
	else if (w->stacks_differ)
		put(&r, "the file " STACK_FILE " has %" PRIu64 " bytes instead of %" PRIu64,
		    w->stacks_bytes, w->stacks_written);
	if (!r.at &&
	    (w->unended ||
	     (w->open && w->open < w->sessions))) /* of a killed recorder the streams say so */
		put(&r, "the recorder's numbers at the end are missing or damaged (bpf.session)");
	if (w->job[0])
		put(&r, "%s", w->job);
	if (w->made_from[0])
		put(&r, "it was made from an incomplete trace: %s", w->made_from);
	return text;
}

bool whole_is(const struct whole *w)
{
	char text[WHOLE_TEXT];

	return !*whole_text(w, text);
}

bool whole_is_verified(const struct whole *w)
{
	return w->with_lost && w->with_lost == w->sessions;
}

enum status whole_report(const struct whole *w, const char *path)
{
	char text[WHOLE_TEXT];

	if (!*whole_text(w, text))
		return STATUS_COMPLETE;
	log_warn("%s is incomplete: %s", path, text);
	return STATUS_LOST;
}

const char *whole_repairs(uint64_t repairs, bool losses, char text[WHOLE_TEXT])
{
	snprintf(text, WHOLE_TEXT,
		 "%" PRIu64 " repair%s of switches that the kernel did not report%s", repairs,
		 plural(repairs, "", "s"), losses ? ", or whose records were lost" : "");
	return text;
}

/* ---- traces that tools write ---- */

int whole_describe(struct json *meta, int trace_fd, const char *path)
{
	struct stream stream = {0};
	struct extent extent;
	uint64_t number;
	int err;

	if (!json_u64(json_get(meta, "bpf.events"), &number))
		return 0;
	err = stream_open(&stream, trace_fd, path);
	if (err)
		return err;
	err = measure(&stream, &extent);
	stream_close(&stream);
	if (err)
		return err;
	json_put_u64(meta, "bpf.events", extent.events);
	json_put_u64(meta, "bpf.bytes", extent.bytes);
	json_put_u64(meta, "bpf.first", extent.first);
	json_put_u64(meta, "bpf.last", extent.last);
	if (json_get(meta, "bpf.recovered.added")) /* part of the events now */
		json_put_u64(meta, "bpf.recovered.added", 0);
	return 0;
}

void whole_mark(struct json *meta, const struct whole *from)
{
	const char *other = json_string(json_get(meta, WHOLE_KEY));
	char text[WHOLE_TEXT], both[2 * WHOLE_TEXT];

	if (!*whole_text(from, text))
		return;
	snprintf(both, sizeof(both), "%s%s%s", other ? other : "", other ? "; " : "", text);
	json_put_string(meta, WHOLE_KEY, both);
}

void whole_leave_files(struct json *meta)
{
	if (json_get(meta, "bpf.session.stats"))
		json_put_bool(meta, "bpf.session.stats", false);
	if (json_get(meta, "bpf.stacks_bytes"))
		json_put_bool(meta, "bpf.stacks_bytes", false);
}

void whole_count_stacks(struct json *meta, int trace_fd)
{
	uint64_t size;

	if (size_beside(trace_fd, "", STACK_FILE, &size))
		json_put_u64(meta, "bpf.stacks_bytes", size);
}
