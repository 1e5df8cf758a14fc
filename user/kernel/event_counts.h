/* SPDX-License-Identifier: MIT */
/*
 * event_counts: events seen by the programs, taken from the rings, and lost.
 *
 * In: the counts of each CPU and of each ring; out: the table of the metadata. For each CPU and
 * kind of event, seen = written + filtered + sampled + lost holds exactly once the programs are
 * detached and the rings are empty. Losses before the window opened do not count.
 *
 * When a gap ends, the kernel side writes a RECORD_LOST with the number of lost events. Losses
 * without such a record yet are *unreported*: their gap is still open, or the record is still in a
 * ring.
 */
#ifndef USER_KERNEL_EVENT_COUNTS_H
#define USER_KERNEL_EVENT_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/config/session_info.h"

struct bpf_load;
struct rings;

struct event_counts {
	const struct bpf_load *bpf;
	const struct rings *rings;
	uint64_t (*full_before)[EVENT_KINDS]; /* by kernel number: when the window opened */
	uint64_t (*before)[EVENT_KINDS];      /* of those, not yet reported by a record */
	struct cpu_event_counts *cpus;	      /* ncpus of them: the CPUs with a ring or a record */
	size_t ncpus;
	uint64_t lost;	 /* of all: full + user + missed */
	uint64_t full;	 /* no room in a ring */
	uint64_t user;	 /* left in the rings when draining was cut */
	uint64_t missed; /* programs that the kernel has skipped */
	uint64_t stacks_left_out;
};

/* The window opens. Both stay the caller's. 0, or -ENOMEM after one message. */
int event_counts_open(struct event_counts *counts, const struct bpf_load *bpf,
		      const struct rings *rings) __attribute__((warn_unused_result));

/* Lost in the window so far (live line). */
uint64_t event_counts_lost(const struct event_counts *counts);

/* Makes the table, once no program runs any more. If the rings were not emptied (`cut`), the
 * records left in them are lost, too; else the counts must add up, which is reported if they do
 * not. 0, or -ENOMEM after one message. */
int event_counts_close(struct event_counts *counts, bool cut) __attribute__((warn_unused_result));

/* ---- a part of the window ---- */

/* The counts at one moment. */
struct event_counts_mark {
	uint64_t missed;
	uint64_t stacks_left_out; /* of long sleeps, without a record of their stack */
	uint64_t irqs_left_out;	  /* long interrupt handlers without a record */
	struct counts_of_cpu {
		struct event_count kinds[EVENT_KINDS];
		uint64_t unreported[EVENT_KINDS]; /* of `full`: no RECORD_LOST has reported them */
		uint64_t gap_clock; /* ns; first of them; UINT64_MAX: only in its record */
		uint64_t gap_count; /* of them, in the window that ends here: set by its owner */
	} cpus[];		    /* by kernel number */
};

enum counts_moment {
	COUNTS_OPENED, /* when the window opened */
	COUNTS_NOW,    /* in the thread that reads the rings */
	COUNTS_CUT,    /* no program runs any more; the records left in the rings are lost */
};

/* Takes a RECORD_LOST of CPU `cpu`: *in_window is the record without the losses before the window
 * opened (its count may then be 0). In the thread that reads the rings. */
void event_counts_take_lost(struct event_counts *counts, unsigned cpu,
			    const struct record_lost *record, struct record_lost *in_window);

/* For free(). NULL without memory, after one message; so is a copy. */
struct event_counts_mark *event_counts_mark(const struct event_counts *counts,
					    enum counts_moment moment);

struct event_counts_table {
	struct cpu_event_counts *cpus; /* ncpus of them, for free() */
	size_t ncpus;
	uint64_t lost; /* of all, the missed runs included */
	uint64_t stacks_left_out, irqs_left_out;
};

/*
 * The counts between two marks. With `aged`, events before `from` count as seen, too, and as aged:
 * no longer kept. 0, or -ENOMEM after one message.
 */
int event_counts_between(const struct event_counts *counts, const struct event_counts_mark *from,
			 const struct event_counts_mark *to, bool aged,
			 struct event_counts_table *table) __attribute__((warn_unused_result));

struct event_counts_mark *event_counts_mark_copy(const struct event_counts *counts,
						 const struct event_counts_mark *mark);
size_t event_counts_mark_size(const struct event_counts *counts);

/* Unreported losses of a CPU, of all kinds. */
uint64_t event_counts_mark_unreported(const struct event_counts_mark *mark, unsigned cpu);

/* A record that was taken after the mark reports a gap of `cpu` that began at `first_clock`. */
void event_counts_mark_gap(struct event_counts_mark *mark, unsigned cpu, uint64_t first_clock);

/* Gaps that are open at the mark belong as a whole to the time after it. */
void event_counts_mark_before_gaps(const struct event_counts *counts,
				   struct event_counts_mark *mark);

/* A record that is out of the ring of `cpu` already counts as being in it. */
void event_counts_mark_untake(struct event_counts_mark *mark, unsigned cpu,
			      const struct record_head *record);

void event_counts_free(struct event_counts *counts); /* also of a zeroed struct */

#endif
