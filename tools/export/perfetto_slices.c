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
	EVENT_VALUE = 30,
	EVENT_STACK = 56,
};
enum event_type { EVENT_BEGIN = 1, EVENT_END = 2, EVENT_INSTANT = 3, EVENT_COUNTER = 4 };
enum track_field {
	TRACK_ID = 1,
	TRACK_NAME = 2,
	TRACK_THREAD = 4,
	TRACK_PARENT = 5,
	TRACK_COUNTER = 8,
};

#define STACK_TEXT_MOST 24 /* frames of the text of a stack */

/* In place of a type of marks: tracks that the exporter adds. */
#define TYPE_OURS INT32_MIN
enum our_channel { OUR_LIFECYCLE = 1, OUR_UNKNOWN, OUR_STATE, OUR_SLEEP, OUR_INTERRUPTS, OUR_WAIT };
static const char *const our_names[] = {
	[OUR_LIFECYCLE] = "lifecycle",	 [OUR_UNKNOWN] = "not recorded",
	[OUR_STATE] = "state",		 [OUR_SLEEP] = "sleep",
	[OUR_INTERRUPTS] = "interrupts", [OUR_WAIT] = "wait for a CPU"};

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
		     const char *name, bool counter)
{
	struct bytes *b = &s->file->packet;
	size_t track = pb_begin(b, PACKET_DESCRIPTOR);

	pb_uint(b, TRACK_ID, id);
	if (parent)
		pb_uint(b, TRACK_PARENT, parent);
	pb_text(b, TRACK_NAME, name);
	if (counter)
		pb_bytes(b, TRACK_COUNTER, "", 0);
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
		describe(s, loom, track_id(s, track), thread_id(track->stream), track->name,
			 track->counter);
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

/* The number of a stack for events of a track; 0: it has none. */
static uint32_t intern_stack(struct perfetto_slices *s, struct slice_track *track, int64_t clock,
			     const struct stack_line *stack)
{
	struct bytes *b = &s->file->packet;
	uint32_t number;

	if (!stack)
		return 0;
	if (track->part != s->part)
		start_sequence(s, track, clock);
	number = perfetto_stacks_put(&s->stacks, b, track->sequence, stack);
	s->lack |= !number;
	if (b->size) {
		pb_uint(b, PACKET_FLAGS, FLAG_NEEDED);
		perfetto_file_put(s->file, track->sequence,
				  machine(s, s->subjects->threads[track->stream].loom));
	}
	return number;
}

static void put_begin(struct perfetto_slices *s, struct slice_track *track, int64_t clock,
		      const struct slice_value *value, const struct stack_line *stack)
{
	struct bytes *b = &s->file->packet;
	char number[24];
	uint32_t id = 0, stack_id;
	bool fresh = false;
	size_t event, names;

	if (!s->open)
		return;
	stack_id = intern_stack(s, track, clock, stack);
	event = begin_event(s, track, clock, EVENT_BEGIN);
	if (stack_id)
		pb_uint(b, EVENT_STACK, stack_id);
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

static void put_note(struct bytes *b, const struct slice_note *note)
{
	size_t annotation = pb_begin(b, EVENT_ANNOTATION);

	pb_text(b, 10, note->name);
	if (note->value.label)
		pb_text(b, 6, note->value.label);
	else
		pb_uint(b, 4, (uint64_t)note->value.value);
	pb_end(b, annotation);
}

/* The end of the slice at `depth`. */
static void put_end(struct perfetto_slices *s, struct slice_track *track, uint32_t depth,
		    int64_t clock, bool returned)
{
	size_t event;

	if (!s->open)
		return;
	event = begin_event(s, track, clock, EVENT_END);
	for (uint32_t i = 0; i < track->nnotes; i++)
		if (track->notes[i].depth == depth)
			put_note(&s->file->packet, &track->notes[i]);
	if (!returned)
		put_bool(&s->file->packet, "open_at_end");
	end_event(s, track, event);
}

/* The slice at `depth`, the innermost one, has ended. */
static void end_slice(struct perfetto_slices *s, struct slice_track *track, uint32_t depth,
		      int64_t clock, bool returned)
{
	put_end(s, track, depth, clock, returned);
	while (track->nnotes && track->notes[track->nnotes - 1].depth >= depth)
		track->nnotes--;
}

/* Writes the end that waits for a returned value. */
static void settle(struct perfetto_slices *s)
{
	struct slice_track *track;

	if (!s->ending.any)
		return;
	s->ending.any = false;
	track = &s->tracks[s->ending.track];
	end_slice(s, track, track->depth, s->ending.clock, true);
}

static void put_value(struct perfetto_slices *s, struct slice_track *track, int64_t clock)
{
	size_t event;

	if (!s->open)
		return;
	event = begin_event(s, track, clock, EVENT_COUNTER);
	pb_uint(&s->file->packet, EVENT_VALUE, (uint64_t)track->value);
	end_event(s, track, event);
	s->values++;
}

/* ---- channels ---- */

static const char *task_track_name(char model)
{
	switch (model) {
	case 'V':
		return "nosv task";
	case '6':
		return "nanos6 task";
	default:
		return "openmp task";
	}
}

static const char *channel_name(const struct perfetto_slices *s, int32_t type, int64_t channel)
{
	static const char *const none = "marks";
	const struct catalog_model *model;
	const char *title = type > 0 ? mark_labels_title(&s->subjects->labels, type) : NULL;

	if (type == TYPE_OURS) /* it has no positive number */
		return our_names[channel];
	model = type < 0 ? catalog_model((char)-type) : NULL;
	if (type < 0 && channel == SLICES_TASK)
		return task_track_name((char)-type);
	if (type < 0 && channel >= SLICES_COUNTER)
		return mark_labels_counter(&s->subjects->labels,
					   (uint32_t)(channel - SLICES_COUNTER));
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

/* The notes of a slice stand behind those of the slices around it. */
static void add_note(struct perfetto_slices *s, struct slice_track *track,
		     const struct slice_note *note, uint32_t depth)
{
	struct slice_note *notes;

	if (track->nnotes >= SLICE_NOTES &&
	    track->notes[track->nnotes - SLICE_NOTES].depth == depth)
		return;
	notes = stack_more(track->notes, track->nnotes, &track->notes_room, sizeof(*notes));
	if (!notes) {
		s->lack = true;
		return;
	}
	track->notes = notes;
	notes[track->nnotes] = *note;
	notes[track->nnotes++].depth = depth;
}

void perfetto_slices_push(struct perfetto_slices *s, struct slice_track *track, int64_t clock,
			  int64_t value, const char *label)
{
	struct slice_value *open;

	settle(s);
	open = stack_more(track->open, track->depth, &track->room, sizeof(*open));
	if (!open) {
		s->lack = true;
		return;
	}
	track->open = open;
	open[track->depth] = (struct slice_value){value, label};
	put_begin(s, track, clock, &open[track->depth], NULL);
	if (s->ahead.stream == track->stream && s->ahead.clock == clock)
		for (uint32_t i = 0; i < s->ahead.n; i++)
			add_note(s, track, &s->ahead.notes[i], track->depth);
	s->ahead.n = 0;
	track->depth++;
}

void perfetto_slices_annotate(struct perfetto_slices *s, struct slice_track *track,
			      const char *name, int64_t value)
{
	const struct slice_note note = {.name = name, .value.value = value};

	if (track->depth)
		add_note(s, track, &note, track->depth - 1);
}

void perfetto_slices_pop(struct perfetto_slices *s, struct slice_track *track, int64_t clock,
			 int64_t value)
{
	uint32_t i = track->depth;

	settle(s);
	while (i > 0 && track->open[i - 1].value != value)
		i--;
	if (!i)
		return;
	while (track->depth > i) {
		track->depth--;
		end_slice(s, track, track->depth, clock, true);
	}
	track->depth--;
	s->ending = (struct slice_ending){true, (uint32_t)(track - s->tracks), clock};
}

void perfetto_slices_note(struct perfetto_slices *s, uint32_t stream, int64_t clock,
			  const char *name, int64_t value, const char *label)
{
	const struct slice_note note = {.name = name, .value = {value, label}};
	struct slice_ahead *ahead = &s->ahead;
	struct slice_track *left = s->tracks + s->ending.track;

	if (s->ending.any && left->stream == stream && s->ending.clock == clock) {
		add_note(s, left, &note, left->depth);
		return;
	}
	if (ahead->stream != stream || ahead->clock != clock)
		*ahead = (struct slice_ahead){.stream = stream, .clock = clock};
	if (ahead->n < SLICE_NOTES)
		ahead->notes[ahead->n++] = note;
}

void perfetto_slices_count(struct perfetto_slices *s, struct slice_track *track, int64_t clock,
			   int64_t value)
{
	track->counter = track->known = true;
	track->value = value;
	put_value(s, track, clock < s->begin ? s->begin : clock);
}

void perfetto_slices_renamed(struct perfetto_slices *s, uint32_t stream, int64_t clock,
			     const char *name)
{
	struct slice_track *track =
		s->open && clock >= s->begin
			? perfetto_slices_track(s, stream, TYPE_OURS, OUR_LIFECYCLE)
			: NULL;
	struct bytes *b = &s->file->packet;
	size_t event, text;

	if (!track)
		return;
	event = begin_event(s, track, clock, EVENT_INSTANT);
	text = pb_begin(b, EVENT_NAME);
	bytes_put(b, "renamed to ", strlen("renamed to "));
	bytes_put(b, name, strlen(name));
	pb_end(b, text);
	end_event(s, track, event);
}

/* A whole slice on a track of ours, with `n` notes, and a stack or NULL. */
static void put_ours(struct perfetto_slices *s, uint32_t stream, enum our_channel channel,
		     int64_t from, int64_t to, const char *label, const struct slice_note *notes,
		     unsigned n, const struct stack_line *stack)
{
	const struct slice_value value = {.label = label};
	struct slice_track *track;

	if (from < s->begin)
		from = s->begin;
	if (!s->open || to <= from)
		return;
	track = perfetto_slices_track(s, stream, TYPE_OURS, channel);
	if (!track)
		return;
	put_begin(s, track, from, &value, stack);
	for (unsigned i = 0; i < n; i++)
		add_note(s, track, &notes[i], 0);
	end_slice(s, track, 0, to, true);
}

void perfetto_slices_unknown(struct perfetto_slices *s, uint32_t stream, int64_t from, int64_t to)
{
	put_ours(s, stream, OUR_UNKNOWN, from, to, our_names[OUR_UNKNOWN], NULL, 0, NULL);
}

void perfetto_slices_state(struct perfetto_slices *s, uint32_t stream, int64_t from, int64_t to,
			   const char *state, const char *reason)
{
	const struct slice_note note = {.name = "reason", .value.label = reason};

	put_ours(s, stream, OUR_STATE, from, to, state, &note, *reason ? 1 : 0, NULL);
}

void perfetto_slices_off_cpu(struct perfetto_slices *s, uint32_t stream, bool asleep, int64_t from,
			     int64_t to, const char *owner, int64_t owner_tid,
			     const struct stack_line *stack, const struct stack_line *waker)
{
	const enum our_channel channel = asleep ? OUR_SLEEP : OUR_WAIT;
	const struct stack_line *const lines[] = {stack, waker};
	static const char *const names[] = {"stack", "waker_stack"};
	struct slice_note notes[4];
	char *texts[2] = {NULL};
	unsigned n = 0;

	if (owner) {
		notes[n++] = (struct slice_note){.name = "lock_owner", .value.label = owner};
		notes[n++] =
			(struct slice_note){.name = "lock_owner_tid", .value.value = owner_tid};
	}
	for (int i = 0; i < 2; i++) {
		if (!lines[i])
			continue;
		texts[i] = stack_line_text(lines[i], STACK_TEXT_MOST);
		s->lack |= !texts[i];
		if (texts[i])
			notes[n++] = (struct slice_note){.name = names[i], .value.label = texts[i]};
	}
	if (n)
		put_ours(s, stream, channel, from, to, our_names[channel], notes, n, stack);
	free(texts[0]);
	free(texts[1]);
}

void perfetto_slices_interrupts(struct perfetto_slices *s, uint32_t stream, int64_t from,
				int64_t to, int64_t ns)
{
	const struct slice_note note = {.name = "ns", .value.value = ns};

	put_ours(s, stream, OUR_INTERRUPTS, from, to, our_names[OUR_INTERRUPTS], &note, 1, NULL);
}

void perfetto_slices_close(struct perfetto_slices *s, uint32_t stream, int64_t clock)
{
	settle(s);
	for (uint32_t i = s->first[stream]; i != NO_SUBJECT; i = s->tracks[i].next) {
		struct slice_track *track = &s->tracks[i];

		while (track->depth) {
			track->depth--;
			end_slice(s, track, track->depth, clock, false);
		}
	}
}

/* ---- gaps ---- */

static struct slice_gap_track *gap_track(struct perfetto_slices *s, uint32_t loom, uint32_t cpu)
{
	struct slice_gap_track *all = &s->gaps[loom], *one, **added;
	uint64_t id = (2ull << 32) + loom;
	char name[32];

	if (all->part != s->part) {
		describe(s, loom, id, 0, "Events lost", false);
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
		describe(s, loom, one->uuid, id, name, false);
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
	settle(s); /* of before the part */
	s->open = true;
	s->begin = clock;
	s->part++;
	s->sequence = (uint32_t)s->subjects->nlooms + 1;
	hash_free(&s->interned);
	s->interned = (struct hash){0};
	perfetto_stacks_clear(&s->stacks);
	for (size_t i = 0; i < s->ntracks; i++) {
		for (uint32_t k = 0; k < s->tracks[i].depth; k++)
			put_begin(s, &s->tracks[i], clock, &s->tracks[i].open[k], NULL);
		if (s->tracks[i].known)
			put_value(s, &s->tracks[i], clock);
	}
}

void perfetto_slices_end(struct perfetto_slices *s, int64_t clock)
{
	settle(s);
	for (size_t i = 0; i < s->ntracks && s->open; i++)
		for (uint32_t k = s->tracks[i].depth; k-- > 0;)
			put_end(s, &s->tracks[i], k, clock, false);
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
	for (size_t i = 0; i < s->ntracks; i++) {
		free(s->tracks[i].open);
		free(s->tracks[i].notes);
	}
	for (size_t i = 0; i < s->ncpu_gaps; i++)
		free(s->cpu_gaps[i]);
	free(s->tracks);
	free(s->first);
	free(s->thread_parts);
	free(s->gaps);
	free(s->cpu_gaps);
	hash_free(&s->by_channel);
	hash_free(&s->interned);
	perfetto_stacks_clear(&s->stacks);
}
