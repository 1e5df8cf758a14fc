/* SPDX-License-Identifier: MIT */
/*
 * account: what the kernel side saw, what came out of the rings, what was lost.
 *
 * In: the counters of each CPU and of each ring; out: the table of the metadata. For each CPU and
 * kind seen = written + lost holds exactly once the programs are detached and the rings are
 * empty. What was lost before the window opened is no loss of the trace.
 */
#ifndef USER_ACCOUNT_H
#define USER_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "facts.h"

struct links;
struct rings;

struct account {
	const struct links *links;
	const struct rings *rings;
	uint64_t (*lost_before)[RECORD_KINDS]; /* by kernel number: when the window opened */
	struct facts_cpu *cpus;		       /* ncpus of them: the CPUs with a ring or a record */
	size_t ncpus;
	uint64_t lost;	 /* of all, the missed runs included */
	uint64_t missed; /* programs that the kernel has skipped */
};

/* The window opens. Both stay the caller's. 0 or -ENOMEM. */
int account_open(struct account *account, const struct links *links, const struct rings *rings)
	__attribute__((warn_unused_result));

/* Lost in the window so far (live line). */
uint64_t account_lost(const struct account *account);

/* Makes the table, once no program runs any more. If the rings were not emptied (`cut`), what is
 * left in them is lost, too; else it must add up, and is reported if not. 0 or -ENOMEM. */
int account_close(struct account *account, bool cut) __attribute__((warn_unused_result));

void account_free(struct account *account); /* also of a zeroed struct */

#endif
