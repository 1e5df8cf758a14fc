/* SPDX-License-Identifier: MIT */
/*
 * event_counts: events seen by the programs, taken from the rings, and lost.
 *
 * In: the counts of each CPU and of each ring; out: the table of the metadata. For each CPU and
 * kind of event, seen = written + filtered + sampled + lost holds exactly once the programs are
 * detached and the rings are empty. Losses before the window opened do not count.
 */
#ifndef USER_KERNEL_EVENT_COUNTS_H
#define USER_KERNEL_EVENT_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/config/session_info.h"

struct links;
struct rings;

struct account {
	const struct links *links;
	const struct rings *rings;
	uint64_t (*full_before)[EVENT_KINDS]; /* by kernel number: when the window opened */
	uint64_t *told;			      /* lost, by kernel number, as records tell */
	struct facts_cpu *cpus;		      /* ncpus of them: the CPUs with a ring or a record */
	size_t ncpus;
	uint64_t lost;	 /* of all: full + user + missed */
	uint64_t full;	 /* no room in a ring */
	uint64_t user;	 /* left in the rings when draining was cut */
	uint64_t missed; /* programs that the kernel has skipped */
};

/* The window opens. Both stay the caller's. 0, or -ENOMEM after one message. */
int account_open(struct account *account, const struct links *links, const struct rings *rings)
	__attribute__((warn_unused_result));

/* Lost in the window so far (live line). */
uint64_t account_lost(const struct account *account);

/* Makes the table, once no program runs any more. If the rings were not emptied (`cut`), the
 * records left in them are lost, too; else the counts must add up, which is reported if they do
 * not. 0, or -ENOMEM after one message. */
int account_close(struct account *account, bool cut) __attribute__((warn_unused_result));

/* ---- a part of the window ---- */

/* The counts at one moment. */
struct account_mark {
	uint64_t missed;
	struct account_counts {
		struct facts_kind kinds[EVENT_KINDS];
		uint64_t untold; /* lost events that no RECORD_LOST has reported by then */
	} cpus[];		 /* by kernel number */
};

enum account_moment {
	ACCOUNT_OPENED, /* when the window opened */
	ACCOUNT_NOW,	/* in the thread that reads the rings */
	ACCOUNT_CUT,	/* no program runs any more; the records left in the rings are lost */
};

/* A RECORD_LOST of CPU `cpu` has reported `count` events. In the thread that reads the rings. */
void account_told(struct account *account, unsigned cpu, uint64_t count);

/* For free(). NULL without memory, after one message; so is a copy. */
struct account_mark *account_mark(const struct account *account, enum account_moment moment);

struct account_table {
	struct facts_cpu *cpus; /* ncpus of them, for free() */
	size_t ncpus;
	uint64_t lost; /* of all, the missed runs included */
};

/*
 * The counts between two marks. With `aged`, events before `from` count as seen, too, and as aged:
 * no longer kept. 0, or -ENOMEM after one message.
 */
int account_between(const struct account *account, const struct account_mark *from,
		    const struct account_mark *to, bool aged, struct account_table *table)
	__attribute__((warn_unused_result));

struct account_mark *account_mark_copy(const struct account *account,
				       const struct account_mark *mark);
size_t account_mark_size(const struct account *account);

/* A record that is out of the ring of `cpu` already counts as being in it. */
void account_mark_untake(struct account_mark *mark, unsigned cpu, const struct record_head *record);

void account_free(struct account *account); /* also of a zeroed struct */

#endif
