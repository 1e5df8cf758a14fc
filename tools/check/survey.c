/* SPDX-License-Identifier: MIT */
#include "tools/check/survey.h"

#include <errno.h>
#include <string.h>

#include "trace/base/text.h"
#include "trace/states/open_regions.h"
#include "trace/states/state_walk.h"
#include "trace/ovni/stream.h"

struct fault { /* of one kind in one stream */
	uint64_t count, byte;
	int64_t clock;
	uint32_t mcv;
};

struct stream_faults { /* of one stream */
	struct fault faults[FAULT_COUNT];
	struct fault backwards;
	uint64_t events;
	enum thread_state state;
	size_t open; /* stacked values left at the end */
	uint32_t open_mcv;
};

/* Members that the metadata of a stream must have (emulator.md 4.1, 7). */
static const struct rule {
	const char *key;
	bool (*is)(const struct json *node);
	const char *what;
} rules[] = {
	{"ovni.loom", json_is_string, "a string"},
	{"ovni.pid", json_is_number, "a number"},
	{"ovni.tid", json_is_number, "a number"},
	{"ovni.lib.version", json_is_string, "a string"},
	{"ovni.lib.commit", json_is_string, "a string"},
	{"ovni.require", json_is_object, "an object"},
};

static const char *shown_path(const char *path)
{
	return *path ? path : ".";
}

static void mcv_text(char text[16], uint32_t mcv)
{
	char *at = text, *end = text + 16;

	for (int shift = 16; shift >= 0; shift -= 8) {
		uint8_t c = (uint8_t)(mcv >> shift);

		if (c > ' ' && c < 0x7f) {
			*at++ = (char)c;
			*at = '\0';
		} else {
			at += snprintf(at, (size_t)(end - at), "\\x%02x", c);
		}
	}
}

static void count_fault(struct fault *fault, const struct stream *stream)
{
	if (fault->count++)
		return;
	fault->byte = stream_offset(stream);
	fault->clock = stream->ev.clock;
	fault->mcv = event_mcv(&stream->ev);
}

static void report_fault(struct diagnostics *d, enum severity severity, const char *path,
			 const struct fault *fault, const char *what)
{
	char mcv[16], more[48] = "";

	if (!fault->count)
		return;
	mcv_text(mcv, fault->mcv);
	if (fault->count > 1)
		snprintf(more, sizeof(more), " (and %llu more such events)",
			 (unsigned long long)fault->count - 1);
	diagnostics_add(d, severity, "%s: event %s at byte %llu, clock %lld, %s%s",
			shown_path(path), mcv, (unsigned long long)fault->byte,
			(long long)fault->clock, what, more);
}

static int walk(struct stream_faults *l, struct stream *stream)
{
	struct open_regions regions = {.thread.cpu = CPU_NONE};
	int64_t last = 0;
	int err;

	memset(l, 0, sizeof(*l));
	while ((err = stream_step(stream)) > 0) {
		enum event_fault result = open_regions_step(&regions, &stream->ev);

		if (result == FAULT_NOMEM) {
			err = -ENOMEM;
			break;
		}
		if (result)
			count_fault(&l->faults[result], stream);
		if (stream->ev.clock < last)
			count_fault(&l->backwards, stream);
		last = stream->ev.clock;
		l->events++;
	}
	l->state = regions.thread.state;
	for (size_t i = 0; i < regions.nopen; i++) {
		const struct open_region *open = &regions.open[i];

		if (open->single || open->model->character == 'O' || open->model->character == 'K')
			continue;
		l->open++;
		l->open_mcv = open->mcv;
	}
	open_regions_fini(&regions);
	return err;
}

static void report_faults(const struct stream_faults *l, struct diagnostics *d,
			  enum severity faults, const char *path)
{
	char mcv[16];

	report_fault(d, faults, path, &l->backwards, "has a lower clock than the one before");
	for (int i = FAULT_NONE + 1; i < FAULT_COUNT; i++)
		report_fault(d, faults, path, &l->faults[i], event_fault_names[i]);
	if (l->state != THREAD_STATE_DEAD)
		diagnostics_add(d, faults, "%s: its thread is %s at the end, not dead",
				shown_path(path), thread_state_names[l->state]);
	if (!l->open)
		return;
	mcv_text(mcv, l->open_mcv);
	diagnostics_add(d, SEVERITY_WARNING, "%s: %zu region%s never left; %s entered the last one",
			shown_path(path), l->open, plural(l->open, " is", "s are"), mcv);
}

static void check_metadata(struct survey *s, const struct json *meta, struct diagnostics *d,
			   enum severity faults, const char *path)
{
	const struct json *bpf = json_get(meta, "bpf");
	uint64_t figure;

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (!rules[i].is(json_get(meta, rules[i].key)))
			diagnostics_add(d, faults, "%s: %s must be %s", shown_path(path),
					rules[i].key, rules[i].what);
	if (json_number(json_get(meta, "ovni.finished")) != 1) {
		diagnostics_add(d, faults,
				"%s: the stream is not finished (ovni.finished is not 1): its "
				"program ended early; 'ovni-check --repair' can close it",
				shown_path(path));
	}
	if (json_u64(json_get(bpf, "repairs"), &figure))
		s->repairs += figure;
}

/* Compares the events with what the recorder wrote down. */
static void compare_events(struct survey *s, int dirfd, const struct json *meta,
			   struct stream *stream, struct diagnostics *d, const char *path)
{
	uint64_t missing = s->whole.events_missing, changed = s->whole.changed.streams;

	whole_take(&s->whole, dirfd, path, meta, stream, true);
	missing = s->whole.events_missing - missing;
	if (missing)
		diagnostics_add(d, SEVERITY_WARNING,
				"%s: %llu of the %s events that were written to it are missing",
				shown_path(path), (unsigned long long)missing,
				json_string(json_get(meta, "bpf.events")) ?: "");
	if (s->whole.changed.streams > changed)
		diagnostics_add(d, SEVERITY_WARNING,
				"%s: its size, or its first or last clock, is not that which the "
				"recorder wrote",
				shown_path(path));
}

static int survey_stream(struct survey *s, const struct source *source, size_t i,
			 struct diagnostics *d, enum severity severity)
{
	const struct trace *trace = &source->trace;
	const char *path = trace->streams[i], *part;
	struct stream stream = {0};
	struct stream_faults faults;
	struct json *meta;
	bool thread;
	int err;

	diagnostics_capture(d, severity);
	meta = trace_metadata(trace, i);
	if (!meta)
		err = -EINVAL;
	else if (source->streams[i].path)
		err = stream_share(&stream, &source->streams[i]);
	else
		err = stream_open(&stream, trace->fd, path);
	diagnostics_release();
	part = json_string(json_get(meta, "ovni.part"));
	thread = !part || !strcmp(part, "thread");
	if (meta && thread)
		check_metadata(s, meta, d, severity, path);
	if (err) {
		err = 0; /* reported */
		whole_take(&s->whole, trace->fd, path, meta, NULL, true);
		goto out;
	}
	err = walk(&faults, &stream);
	if (err == -ENOMEM)
		goto out;
	if (err < 0) {
		diagnostics_capture(d, severity);
		stream_report(&stream);
		diagnostics_release();
		err = 0;
	}
	s->events += faults.events;
	if (thread)
		report_faults(&faults, d, severity, path);
	compare_events(s, trace->fd, meta, &stream, d, path);
out:
	json_free(meta);
	stream_close(&stream);
	return err;
}

int survey_run(struct survey *s, const struct source *source, struct diagnostics *d,
	       enum severity severity)
{
	memset(s, 0, sizeof(*s));
	s->streams = source->trace.nstreams;
	for (size_t i = 0; i < source->trace.nstreams; i++) {
		int err = survey_stream(s, source, i, d, severity);

		if (err)
			return err;
	}
	return 0;
}
