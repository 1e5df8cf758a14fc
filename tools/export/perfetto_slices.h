/* SPDX-License-Identifier: MIT */
/*
 * perfetto_slices: functions, regions, marks and gaps as slices on tracks of Perfetto, values of
 * counters, and moments.
 *
 * In: begins and ends on the channels of threads, by clock; out: packets. Each channel is a track
 * below the track of its thread, and a sequence with a clock of its own, so that an event needs no
 * more than a difference of clocks and a number for its name. Invariant: begins and ends of a track
 * balance within a part; a slice that is open at the end of a part ends there, with `open_at_end`.
 * Specification: perfetto.md 7 (losses) and 9.
 */
#ifndef TOOLS_EXPORT_PERFETTO_SLICES_H
#define TOOLS_EXPORT_PERFETTO_SLICES_H

#include "tools/export/perfetto_file.h"
#include "tools/export/perfetto_stacks.h"
#include "tools/export/subjects.h"

struct slice_value {
	int64_t value;
	const char *label; /* a constant, or of the subjects; NULL: the number itself */
};

struct slice_note {	/* an argument or a returned value of a call */
	uint32_t depth; /* of its slice */
	const char *name;
	struct slice_value value;
};
#define SLICE_NOTES 4 /* of a slice, at most */

struct slice_track {
	uint32_t stream, next; /* next: of the same stream, or NO_SUBJECT */
	int32_t type;
	int64_t channel;
	const char *name;    /* NULL: the track of the thread itself */
	bool counter, known; /* known: it has a value */
	int64_t value;
	uint32_t part; /* in which it was described last */
	uint32_t sequence;
	int64_t last; /* clock of its last packet */
	struct slice_value *open;
	uint32_t depth, room;
	struct slice_note *notes; /* by depth */
	uint32_t nnotes, notes_room;
};

/* The last call that was left: its end is written with the next event of any track, since the
 * value that it returned comes behind it, at the same clock. */
struct slice_ending {
	bool any;
	uint32_t track;
	int64_t clock;
};

/* Arguments come ahead of their call, at the same clock. */
struct slice_ahead {
	uint32_t stream;
	int64_t clock;
	uint32_t n;
	struct slice_note notes[SLICE_NOTES];
};

struct slice_gap_track { /* "Events lost" of a loom, and of each of its CPUs */
	uint64_t uuid;
	uint32_t part;
	int64_t last;
};

struct perfetto_slices {
	struct subjects *subjects;
	struct perfetto_file *file;
	bool open;
	bool lack; /* of memory */
	int64_t begin;
	uint32_t part, sequence, names; /* the last ones */
	struct slice_track *tracks;
	size_t ntracks;
	struct hash by_channel, interned;
	uint32_t *first;		   /* track of each stream, or NO_SUBJECT */
	uint32_t *thread_parts;		   /* part in which the track of a thread was described */
	struct slice_gap_track *gaps;	   /* of each loom, */
	struct slice_gap_track **cpu_gaps; /* and of each CPU */
	size_t ncpu_gaps;
	struct slice_ending ending;
	struct slice_ahead ahead;
	struct perfetto_stacks stacks;
	uint64_t slices, values; /* begun; of counters */
};

int perfetto_slices_init(struct perfetto_slices *slices, struct subjects *subjects,
			 struct perfetto_file *file) __attribute__((warn_unused_result));
void perfetto_slices_fini(struct perfetto_slices *slices);

/* A part of the trace begins and ends in the file: slices that are open begin again. */
void perfetto_slices_begin(struct perfetto_slices *slices, int64_t clock);
void perfetto_slices_end(struct perfetto_slices *slices, int64_t clock);

#define SLICES_TASK    128 /* channel of the task bodies of a model, */
#define SLICES_COUNTER 256 /* and of its first hardware counter */

/* The track of a channel of a thread: a type of mark, or minus the character of a model and a
 * channel of it; its name is a constant, or of the subjects. NULL without memory. Valid until the
 * next call. */
struct slice_track *perfetto_slices_track(struct perfetto_slices *slices, uint32_t stream,
					  int32_t type, int64_t channel);

void perfetto_slices_push(struct perfetto_slices *slices, struct slice_track *track, int64_t clock,
			  int64_t value, const char *label);
/* Adds a number to the innermost open slice; `name` is a constant. */
void perfetto_slices_annotate(struct perfetto_slices *slices, struct slice_track *track,
			      const char *name, int64_t value);
/* Ends the innermost slice of this value, with those inside it; one that is not open is ignored. */
void perfetto_slices_pop(struct perfetto_slices *slices, struct slice_track *track, int64_t clock,
			 int64_t value);
/* A value of a counter; the track has no other events. */
void perfetto_slices_count(struct perfetto_slices *slices, struct slice_track *track, int64_t clock,
			   int64_t value);
/* A value of a call of the thread: the one that was left, or is entered, at this clock. */
void perfetto_slices_note(struct perfetto_slices *slices, uint32_t stream, int64_t clock,
			  const char *name, int64_t value, const char *label);

/* Tracks of ours, of a thread: */
void perfetto_slices_renamed(struct perfetto_slices *slices, uint32_t stream, int64_t clock,
			     const char *name);
void perfetto_slices_unknown(struct perfetto_slices *slices, uint32_t stream, int64_t from,
			     int64_t to);
/* The state of a thread on the virtual CPU; `state` is a constant. The states of a thread follow
 * each other. */
void perfetto_slices_state(struct perfetto_slices *slices, uint32_t stream, int64_t from,
			   int64_t to, const char *state, const char *reason);

/* Writes a slice for a sleep, or for a wait for a CPU, with the owner of the lock (NULL: not
 * known), the stack, and the stack of the waker (NULL: none); or for a run, with the time that
 * interrupts took from it. `from`, `to`: clocks, ns. */
void perfetto_slices_off_cpu(struct perfetto_slices *slices, uint32_t stream, bool asleep,
			     int64_t from, int64_t to, const char *owner, int64_t owner_tid,
			     const struct stack_line *stack, const struct stack_line *waker);
void perfetto_slices_interrupts(struct perfetto_slices *slices, uint32_t stream, int64_t from,
				int64_t to, int64_t ns);

/* Ends all slices of a thread: it has ended. */
void perfetto_slices_close(struct perfetto_slices *slices, uint32_t stream, int64_t clock);

/* `count` events of a CPU, or of a loom if it is NO_SUBJECT, were lost between two clocks. */
void perfetto_slices_gap(struct perfetto_slices *slices, uint32_t loom, uint32_t cpu, int64_t from,
			 int64_t to, uint64_t count);

#endif
