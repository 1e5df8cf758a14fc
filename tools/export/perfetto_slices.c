/* SPDX-License-Identifier: MIT */
#include "tools/export/perfetto_slices.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/log.h"
#include "trace/catalog/catalog.h"

enum event_field {
	EVENT_ANNOTATION = 4,
	EVENT_TYPE = 9,
	EVENT_NAME_ID = 10,
	EVENT_TRACK = 11,
	EVENT_NAME = 23,
};
enum event_type { EVENT_BEGIN = 1, EVENT_END = 2 };
enum track_field { TRACK_ID = 1, TRACK_NAME = 2, TRACK_THREAD = 4, TRACK_PARENT = 5 };

/* ---- tracks ---- */

static uint32_t machine(const struct perfetto_slices *s, uint32_t loom)
{
	return s->subjects->looms[loom].number;
}

/* Ids of tracks: threads, then channels, then gaps. */
static uint64_t thread_id(uint32_t stream)
{
	return 1 + (uint64_t)stream;
}

static uint64_t track_id(const struct perfetto_slices *s, const struct slice_track *track)
{
	return (uint64_t)(track - s->tracks) + (1ull << 32);
}

static void describe(struct perfetto_slices *s, uint32_t loom, uint64_t id, uint64_t parent,
		     const char *name)
{
	struct bytes *b = &s->file->packet;
	size_t track = pb_begin(b, PACKET_DESCRIPTOR);

	pb_uint(b, TRACK_ID, id);
	if (parent)
		pb_uint(b, TRACK_PARENT, parent);
	pb_text(b, TRACK_NAME, name);
	pb_end(b, track);
	perfetto_file_put(s->file, machine(s, loom) + 1, machine(s, loom));
}

static void describe_thread(struct perfetto_slices *s, uint32_t stream)
{
	const struct subject_thread *thread = &s->subjects->threads[stream];
	struct bytes *b = &s->file->packet;
	size_t track, part;

	if (s->thread_parts[stream] == s->part)
		return;
	s->thread_parts[stream] = s->part;
	track = pb_begin(b, PACKET_DESCRIPTOR);
	pb_uint(b, TRACK_ID, thread_id(stream));
	part = pb_begin(b, TRACK_THREAD);
	pb_uint(b, 1, (uint64_t)s->subjects->processes[thread->process].number);
	pb_uint(b, 2, (uint64_t)thread->number);
	pb_end(b, part);
	pb_end(b, track);
	perfetto_file_put(s->file, machine(s, thread->loom) + 1, machine(s, thread->loom));
}

/* The first packet of a track's sequence: its clock starts here, and its events need no track. */
static void start_sequence(struct perfetto_slices *s, struct slice_track *track, int64_t clock)
{
	uint32_t loom = s->subjects->threads[track->stream].loom;
	struct bytes *b = &s->file->packet;
	size_t snapshot, part;

	describe_thread(s, track->stream);
	if (track->name)
		describe(s, loom, track_id(s, track), thread_id(track->stream), track->name);
	track->part = s->part;
	track->sequence = ++s->sequence;
	track->last = clock;
	pb_uint(b, PACKET_FLAGS, FLAG_BEGIN);
	snapshot = pb_begin(b, PACKET_CLOCKS);
	part = pb_begin(b, 1);
	pb_uint(b, 1, CLOCK_MONOTONIC_ID);
	pb_uint(b, 2, (uint64_t)clock);
	pb_end(b, part);
	part = pb_begin(b, 1);
	pb_uint(b, 1, CLOCK_SEQUENCE_ID);
	pb_uint(b, 2, 0);
	pb_uint(b, 3, 1); /* differences */
	pb_end(b, part);
	pb_end(b, snapshot);
	snapshot = pb_begin(b, PACKET_DEFAULTS);
	pb_uint(b, 58, CLOCK_SEQUENCE_ID);
	part = pb_begin(b, PACKET_TRACK_EVENT);
	pb_uint(b, EVENT_TRACK, track->name ? track_id(s, track) : thread_id(track->stream));
	pb_end(b, part);
	pb_end(b, snapshot);
	perfetto_file_put(s->file, track->sequence, machine(s, loom));
}

/* ---- events ---- */

static size_t begin_event(struct perfetto_slices *s, struct slice_track *track, int64_t clock,
			  enum event_type type)
{
	struct bytes *b = &s->file->packet;
	size_t event;

	if (track->part != s->part)
		start_sequence(s, track, clock);
	if (clock < track->last)
		clock = track->last;
	pb_uint(b, PACKET_TIMESTAMP, (uint64_t)(clock - track->last));
	pb_uint(b, PACKET_FLAGS, FLAG_NEEDED);
	track->last = clock;
	event = pb_begin(b, PACKET_TRACK_EVENT);
	pb_uint(b, EVENT_TYPE, type);
	return event;
}

static void end_event(struct perfetto_slices *s, const struct slice_track *track, size_t event)
{
	pb_end(&s->file->packet, event);
	perfetto_file_put(s->file, track->sequence,
			  machine(s, s->subjects->threads[track->stream].loom));
}

/* The number of a label on a track; *fresh: no packet of the track has it yet. */
static uint32_t intern(struct perfetto_slices *s, const struct slice_track *track,
		       const char *label, bool *fresh)
{
	struct hash_key key = {
		.a = (uintptr_t)label, .b = (uint64_t)(track - s->tracks), .c = s->part};
	uint32_t *at = hash_at(&s->interned, key);

	*fresh = false;
	if (!at) {
		s->lack = true;
		return 1;
	}
	*fresh = *at == HASH_NONE;
	if (*fresh)
		*at = ++s->names;
	return *at;
}

static void put_begin(struct perfetto_slices *s, struct slice_track *track, int64_t clock,
		      const struct slice_value *value)
{
	struct bytes *b = &s->file->packet;
	char number[24];
	uint32_t id = 0;
	bool fresh = false;
	size_t event, names;

	if (!s->open)
		return;
	event = begin_event(s, track, clock, EVENT_BEGIN);
	if (value->label) {
		id = intern(s, track, value->label, &fresh);
		pb_uint(b, EVENT_NAME_ID, id);
	} else {
		snprintf(number, sizeof(number), "%" PRId64, value->value);
		pb_text(b, EVENT_NAME, number);
	}
	if (fresh) {
		pb_end(b, event);
		event = pb_begin(b, PACKET_INTERNED);
		names = pb_begin(b, 2);
		pb_uint(b, 1, id);
		pb_text(b, 2, value->label);
		pb_end(b, names);
	}
	end_event(s, track, event);
	s->slices++;
}

static void put_bool(struct bytes *b, const char *name)
{
	size_t annotation = pb_begin(b, EVENT_ANNOTATION);

	pb_text(b, 10, name);
	pb_uint(b, 2, 1);
	pb_end(b, annotation);
}

static void put_end(struct perfetto_slices *s, struct slice_track *track, int64_t clock,
		    bool returned)
{
	size_t event;

	if (!s->open)
		return;
	event = begin_event(s, track, clock, EVENT_END);
	if (!returned)
		put_bool(&s->file->packet, "open_at_end");
	end_event(s, track, event);
}

/* ---- channels ---- */

static const char *channel_name(const struct perfetto_slices *s, int32_t type, int64_t channel)
{
	static const char *const none = "marks";
	const struct catalog_model *model = type < 0 ? catalog_model((char)-type) : NULL;
	const char *title = type > 0 ? subjects_title(s->subjects, type) : NULL;

	for (size_t i = 0; model && i < model->nevents; i++)
		if (model->events[i].channel && model->events[i].channel[0] == channel)
			return model->events[i].channel;
	return type == 0 ? NULL : title ? title : model ? model->name : none;
}

struct slice_track *perfetto_slices_track(struct perfetto_slices *s, uint32_t stream, int32_t type,
					  int64_t channel)
{
	struct slice_track *track;
	uint32_t *at;

	if (s->first[stream] != NO_SUBJECT) { /* the usual case: one track */
		track = &s->tracks[s->first[stream]];
		if (track->type == type && track->channel == channel)
			return track;
	}
	at = hash_at(&s->by_channel,
		     (struct hash_key){.a = (uint64_t)channel,
				       .b = (uint64_t)stream << 32 | (uint32_t)type});
	if (!at)
		goto lack;
	if (*at != HASH_NONE)
		return &s->tracks[*at];
	track = ARRAY_ADD(s->tracks, s->ntracks);
	if (!track)
		goto lack;
	*track = (struct slice_track){.stream = stream,
				      .next = s->first[stream],
				      .type = type,
				      .channel = channel,
				      .name = channel_name(s, type, channel)};
	*at = s->first[stream] = (uint32_t)(s->ntracks - 1);
	return track;
lack:
	s->lack = true;
	return NULL;
}

void perfetto_slices_push(struct perfetto_slices *s, struct slice_track *track, int64_t clock,
			  int64_t value, const char *label)
{
	struct slice_value *open =
		stack_more(track->open, track->depth, &track->room, sizeof(*open));

	if (!open) {
		s->lack = true;
		return;
	}
	track->open = open;
	open[track->depth++] = (struct slice_value){value, label};
	put_begin(s, track, clock, &open[track->depth - 1]);
}

void perfetto_slices_pop(struct perfetto_slices *s, struct slice_track *track, int64_t clock,
			 int64_t value)
{
	uint32_t i = track->depth;

	while (i > 0 && track->open[i - 1].value != value)
		i--;
	for (; i > 0 && track->depth >= i; track->depth--)
		put_end(s, track, clock, true);
}

void perfetto_slices_close(struct perfetto_slices *s, uint32_t stream, int64_t clock)
{
	for (uint32_t i = s->first[stream]; i != NO_SUBJECT; i = s->tracks[i].next)
		for (; s->tracks[i].depth; s->tracks[i].depth--)
			put_end(s, &s->tracks[i], clock, false);
}

/* ---- gaps ---- */

static struct slice_gap_track *gap_track(struct perfetto_slices *s, uint32_t loom, uint32_t cpu)
{
	struct slice_gap_track *all = &s->gaps[loom], *one, **added;
	uint64_t id = (2ull << 32) + loom;
	char name[32];

	if (all->part != s->part) {
		describe(s, loom, id, 0, "Events lost");
		*all = (struct slice_gap_track){id, s->part, s->begin};
	}
	if (cpu == NO_SUBJECT)
		return all;
	while (s->ncpu_gaps <= cpu) {
		added = ARRAY_ADD(s->cpu_gaps, s->ncpu_gaps);
		if (!added)
			goto lack;
		*added = NULL;
	}
	if (!s->cpu_gaps[cpu])
		s->cpu_gaps[cpu] = calloc(1, sizeof(**s->cpu_gaps));
	one = s->cpu_gaps[cpu];
	if (!one)
		goto lack;
	if (one->part != s->part) {
		snprintf(name, sizeof(name), "CPU %d", s->subjects->cpus[cpu].number);
		*one = (struct slice_gap_track){(3ull << 32) + cpu, s->part, s->begin};
		describe(s, loom, one->uuid, id, name);
	}
	return one;
lack:
	s->lack = true;
	return all;
}

static void put_gap(struct perfetto_slices *s, uint32_t loom, const struct slice_gap_track *track,
		    int64_t clock, const char *name, uint64_t count)
{
	struct bytes *b = &s->file->packet;
	size_t event, annotation;

	pb_uint(b, PACKET_TIMESTAMP, (uint64_t)clock);
	event = pb_begin(b, PACKET_TRACK_EVENT);
	pb_uint(b, EVENT_TYPE, name ? EVENT_BEGIN : EVENT_END);
	pb_uint(b, EVENT_TRACK, track->uuid);
	if (name) {
		pb_text(b, EVENT_NAME, name);
		annotation = pb_begin(b, EVENT_ANNOTATION);
		pb_text(b, 10, "records");
		pb_uint(b, 3, count);
		pb_end(b, annotation);
	}
	pb_end(b, event);
	perfetto_file_put(s->file, machine(s, loom) + 1, machine(s, loom));
}

void perfetto_slices_gap(struct perfetto_slices *s, uint32_t loom, uint32_t cpu, int64_t from,
			 int64_t to, uint64_t count)
{
	struct slice_gap_track *track;
	char name[40];

	if (!s->open)
		return;
	track = gap_track(s, loom, cpu);
	if (from < track->last)
		from = track->last;
	if (to < from)
		to = from;
	track->last = to;
	snprintf(name, sizeof(name), "%" PRIu64 " lost", count);
	put_gap(s, loom, track, from, name, count);
	put_gap(s, loom, track, to, NULL, 0);
}

/* ---- parts ---- */

void perfetto_slices_begin(struct perfetto_slices *s, int64_t clock)
{
	s->open = true;
	s->begin = clock;
	s->part++;
	s->sequence = (uint32_t)s->subjects->nlooms + 1;
	hash_free(&s->interned);
	s->interned = (struct hash){0};
	for (size_t i = 0; i < s->ntracks; i++)
		for (uint32_t k = 0; k < s->tracks[i].depth; k++)
			put_begin(s, &s->tracks[i], clock, &s->tracks[i].open[k]);
}

void perfetto_slices_end(struct perfetto_slices *s, int64_t clock)
{
	for (size_t i = 0; i < s->ntracks && s->open; i++)
		for (uint32_t k = 0; k < s->tracks[i].depth; k++)
			put_end(s, &s->tracks[i], clock, false);
	s->open = false;
}

int perfetto_slices_init(struct perfetto_slices *s, struct subjects *subjects,
			 struct perfetto_file *file)
{
	size_t n = subjects->source->trace.nstreams;

	*s = (struct perfetto_slices){.subjects = subjects, .file = file};
	s->first = calloc(n + 1, sizeof(*s->first));
	s->thread_parts = calloc(n + 1, sizeof(*s->thread_parts));
	s->gaps = calloc(subjects->nlooms + 1, sizeof(*s->gaps));
	if (!s->first || !s->thread_parts || !s->gaps)
		return log_no_memory("for %zu threads", n);
	memset(s->first, 0xff, n * sizeof(*s->first));
	return 0;
}

void perfetto_slices_fini(struct perfetto_slices *s)
{
	for (size_t i = 0; i < s->ntracks; i++)
		free(s->tracks[i].open);
	for (size_t i = 0; i < s->ncpu_gaps; i++)
		free(s->cpu_gaps[i]);
	free(s->tracks);
	free(s->first);
	free(s->thread_parts);
	free(s->gaps);
	free(s->cpu_gaps);
	hash_free(&s->by_channel);
	hash_free(&s->interned);
}
