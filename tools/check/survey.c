/* SPDX-License-Identifier: MIT */
#include "tools/check/survey.h"

#include <errno.h>
#include <string.h>

#include "trace/states/open_regions.h"
#include "trace/states/state_walk.h"
#include "trace/ovni/stream.h"

struct fault { /* of one kind in one stream */
	uint64_t count, byte;
	int64_t clock;
	uint32_t mcv;
};

struct looked { /* what was seen in one stream */
	struct fault faults[FAULT_COUNT];
	struct fault backwards;
	uint64_t events;
	enum thread_state state;
	size_t open; /* stacked values left at the end */
	uint32_t open_mcv;
};

/* What a stream must say about itself (emulator.md 4.1, 7). */
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

static const char *called(const char *path)
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

static void count(struct fault *fault, const struct stream *stream)
{
	if (fault->count++)
		return;
	fault->byte = stream_offset(stream);
	fault->clock = stream->ev.clock;
	fault->mcv = event_mcv(&stream->ev);
}

static void say(struct diagnostics *f, enum severity severity, const char *path,
		const struct fault *fault, const char *what)
{
	char mcv[16], more[48] = "";

	if (!fault->count)
		return;
	mcv_text(mcv, fault->mcv);
	if (fault->count > 1)
		snprintf(more, sizeof(more), " (and %llu more such events)",
			 (unsigned long long)fault->count - 1);
	diagnostics_add(f, severity, "%s: event %s at byte %llu, clock %lld, %s%s", called(path),
			mcv, (unsigned long long)fault->byte, (long long)fault->clock, what, more);
}

static int look(struct looked *l, struct stream *stream)
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
			count(&l->faults[result], stream);
		if (stream->ev.clock < last)
			count(&l->backwards, stream);
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

static void say_looked(const struct looked *l, struct diagnostics *f, enum severity faults,
		       const char *path)
{
	char mcv[16];

	say(f, faults, path, &l->backwards, "has a lower clock than the one before");
	for (int i = FAULT_NONE + 1; i < FAULT_COUNT; i++)
		say(f, faults, path, &l->faults[i], event_fault_names[i]);
	if (l->state != THREAD_STATE_DEAD)
		diagnostics_add(f, faults, "%s: its thread is %s at the end, not dead",
				called(path), thread_state_names[l->state]);
	if (!l->open)
		return;
	mcv_text(mcv, l->open_mcv);
	diagnostics_add(f, SEVERITY_WARNING,
			"%s: %zu things that were entered are never left, the last "
			"one by %s",
			called(path), l->open, mcv);
}

static void take_metadata(struct survey *s, const struct json *meta, struct diagnostics *f,
			  enum severity faults, const char *path)
{
	const struct json *bpf = json_get(meta, "bpf");
	uint64_t figure;

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (!rules[i].is(json_get(meta, rules[i].key)))
			diagnostics_add(f, faults, "%s: %s must be %s", called(path), rules[i].key,
					rules[i].what);
	if (json_number(json_get(meta, "ovni.finished")) != 1) {
		diagnostics_add(f, faults,
				"%s: it was not finished (ovni.finished is not 1): its program "
				"ended in the middle; 'ovni-check --repair' can close it",
				called(path));
		s->unfinished++;
	}
	s->ours |= json_is_object(bpf);
	s->recovered += json_is_object(json_get(bpf, "recovered"));
	if (json_u64(json_get(bpf, "repairs"), &figure))
		s->repairs += figure;
	if (json_u64(json_get(bpf, "session.lost"), &figure)) {
		s->told = true;
		s->lost += figure;
	}
}

/* Holds the stream to the number of events that it was given. */
static void hold(struct survey *s, const struct json *meta, struct diagnostics *f, const char *path,
		 uint64_t events)
{
	uint64_t told, added = 0;

	if (!json_u64(json_get(meta, "bpf.events"), &told))
		return;
	(void)json_u64(json_get(meta, "bpf.recovered.added"), &added);
	events -= added < events ? added : events;
	s->counted++;
	if (events >= told)
		return;
	s->missing += told - events;
	diagnostics_add(f, SEVERITY_WARNING,
			"%s: %llu of the %llu events that were written to it are "
			"missing",
			called(path), (unsigned long long)(told - events),
			(unsigned long long)told);
}

int survey_run(struct survey *s, const struct trace *trace, struct diagnostics *f,
	       enum severity faults)
{
	memset(s, 0, sizeof(*s));
	s->streams = trace->nstreams;
	for (size_t i = 0; i < trace->nstreams; i++) {
		const char *path = trace->streams[i];
		struct stream stream = {0};
		struct looked looked;
		struct json *meta;
		const char *part;
		int err;

		if (diagnostics_catch(f) < 0)
			return -ENOMEM;
		meta = trace_metadata(trace, i);
		err = meta ? stream_open(&stream, trace->fd, path) : -EINVAL;
		diagnostics_caught(f, faults);
		part = json_string(json_get(meta, "ovni.part"));
		if (meta && (!part || !strcmp(part, "thread")))
			take_metadata(s, meta, f, faults, path);
		if (!err) {
			err = look(&looked, &stream);
			if (err == -ENOMEM) {
				json_free(meta);
				stream_close(&stream);
				return err;
			}
			if (err < 0 && diagnostics_catch(f) == 0) {
				stream_report(&stream);
				diagnostics_caught(f, faults);
			}
			s->events += looked.events;
			if (!part || !strcmp(part, "thread"))
				say_looked(&looked, f, faults, path);
			hold(s, meta, f, path, looked.events);
		}
		json_free(meta);
		stream_close(&stream);
	}
	return 0;
}
