/* SPDX-License-Identifier: MIT */
/* event_counts: see event_counts.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/kernel/event_counts.h"
#include "user/kernel/bpf_load.h"
#include "user/kernel/rings.h"
#include "trace/base/log.h"

int account_open(struct account *account, const struct links *links, const struct rings *rings)
{
	*account = (struct account){.links = links, .rings = rings};
	account->full_before = calloc(links->npossible, sizeof(*account->full_before));
	account->told = calloc(links->npossible, sizeof(*account->told));
	if (!account->full_before || !account->told)
		return log_no_memory("for the account");
	for (unsigned cpu = 0; cpu < links->npossible; cpu++)
		for (unsigned kind = 0; kind < EVENT_KINDS; kind++)
			account->full_before[cpu][kind] = links->cpus[cpu].events[kind].full;
	return 0;
}

static uint64_t full_of(const struct account *account, unsigned cpu, unsigned kind)
{
	return account->links->cpus[cpu].events[kind].full - account->full_before[cpu][kind];
}

uint64_t account_lost(const struct account *account)
{
	uint64_t lost = 0;

	for (unsigned cpu = 0; cpu < account->links->npossible; cpu++)
		for (unsigned kind = 0; kind < EVENT_KINDS; kind++)
			lost += full_of(account, cpu, kind);
	return lost;
}

static const struct ring *ring_of(const struct rings *rings, unsigned cpu)
{
	for (unsigned i = 0; i < rings->nrings; i++)
		if (rings->ring[i].cpu == cpu)
			return &rings->ring[i];
	return NULL;
}

/* Events seen in the window. In summary mode the program at switches counts its runs only. */
static uint64_t seen_of(const struct account *account, unsigned cpu, unsigned kind)
{
	if (kind == EVENT_SWITCH && !account->rings->nrings)
		return account->links->cpus[cpu].runs[PROGRAMS_SWITCH];
	return account->links->cpus[cpu].events[kind].seen - account->full_before[cpu][kind];
}

/* The counts of a CPU. With `cut`, the records that are left in its ring are lost. */
static void count(const struct account *account, unsigned cpu, const struct ring *ring, bool cut,
		  struct account_counts *counts)
{
	const struct cpu_state *state = &account->links->cpus[cpu];
	uint64_t lost = 0;

	for (unsigned kind = 0; kind < EVENT_KINDS; kind++) {
		struct facts_kind *k = &counts->kinds[kind];

		k->written = ring ? ring->taken[kind] : 0;
		/* without rings nothing is sent, and the programs do not count that */
		k->filtered = account->rings->nrings ? state->events[kind].filtered
						     : seen_of(account, cpu, kind);
		k->sampled = state->events[kind].sampled;
		k->full = full_of(account, cpu, kind);
		k->seen = k->written + k->filtered + k->sampled + k->full;
		if (cut) {
			k->user = seen_of(account, cpu, kind) - k->seen;
			k->seen += k->user;
		}
		lost += k->full;
	}
	/* records may report losses before the window, too */
	counts->untold = lost > account->told[cpu] ? lost - account->told[cpu] : 0;
}

void account_told(struct account *account, unsigned cpu, uint64_t count)
{
	if (cpu < account->links->npossible)
		account->told[cpu] += count;
}

size_t account_mark_size(const struct account *account)
{
	return sizeof(struct account_mark) +
	       account->links->npossible * sizeof(struct account_counts);
}

struct account_mark *account_mark(const struct account *account, enum account_moment moment)
{
	struct account_mark *mark = calloc(1, account_mark_size(account));

	if (!mark)
		log_no_memory("for the account");
	if (!mark || moment == ACCOUNT_OPENED)
		return mark;
	mark->missed = links_missed(account->links);
	for (unsigned cpu = 0; cpu < account->links->npossible; cpu++)
		count(account, cpu, ring_of(account->rings, cpu), moment == ACCOUNT_CUT,
		      &mark->cpus[cpu]);
	return mark;
}

struct account_mark *account_mark_copy(const struct account *account,
				       const struct account_mark *mark)
{
	struct account_mark *copy = malloc(account_mark_size(account));

	if (copy)
		memcpy(copy, mark, account_mark_size(account));
	else
		log_no_memory("for the account");
	return copy;
}

void account_mark_untake(struct account_mark *mark, unsigned cpu, const struct record_head *record)
{
	struct facts_kind *kinds = mark->cpus[cpu].kinds;
	uint64_t taken[EVENT_KINDS] = {0};

	ring_count(taken, record);
	for (unsigned kind = 0; kind < EVENT_KINDS; kind++) {
		kinds[kind].written -= taken[kind];
		kinds[kind].seen -= taken[kind];
	}
}

/* Lost on the CPU with the number `cpu` until then. */
static uint64_t mark_lost(const struct account_mark *mark, unsigned cpu)
{
	uint64_t lost = 0;

	for (unsigned kind = 0; kind < EVENT_KINDS; kind++)
		lost += mark->cpus[cpu].kinds[kind].full + mark->cpus[cpu].kinds[kind].user;
	return lost;
}

/* One line of the table. True if there is anything to tell. */
static bool difference(struct facts_cpu *line, const struct account_counts *from,
		       const struct account_counts *to, bool aged)
{
	uint64_t any = 0;

	for (unsigned kind = 0; kind < EVENT_KINDS; kind++) {
		const struct facts_kind *a = &from->kinds[kind], *b = &to->kinds[kind];
		struct facts_kind *k = &line->kinds[kind];

		k->written = b->written - a->written;
		k->filtered = b->filtered - a->filtered;
		k->sampled = b->sampled - a->sampled;
		k->full = b->full - a->full;
		k->user = b->user - a->user;
		k->aged = aged ? a->written + a->full + a->user : 0;
		k->seen = b->seen - a->seen + k->aged;
		any |= k->seen;
	}
	return any;
}

int account_between(const struct account *account, const struct account_mark *from,
		    const struct account_mark *to, bool aged, struct account_table *table)
{
	unsigned n = account->links->npossible;

	*table = (struct account_table){.cpus = calloc(n ? n : 1, sizeof(*table->cpus))};
	if (!table->cpus)
		return log_no_memory("for the account");
	for (unsigned cpu = 0; cpu < n; cpu++) {
		struct facts_cpu *line = &table->cpus[table->ncpus];

		line->cpu = cpu;
		if (difference(line, &from->cpus[cpu], &to->cpus[cpu], aged) ||
		    ring_of(account->rings, cpu))
			table->ncpus++;
		table->lost += mark_lost(to, cpu) - mark_lost(from, cpu);
	}
	table->lost += to->missed - from->missed;
	if (table->ncpus) /* the kernel does not tell on which CPU */
		table->cpus[0].missed = to->missed - from->missed;
	return 0;
}

int account_close(struct account *account, bool cut)
{
	struct account_mark *from = account_mark(account, ACCOUNT_OPENED);
	struct account_mark *to = account_mark(account, cut ? ACCOUNT_CUT : ACCOUNT_NOW);
	struct account_table table = {0};
	bool right = true;
	int err = from && to ? account_between(account, from, to, false, &table) : -ENOMEM;

	if (err)
		goto out;
	account->cpus = table.cpus;
	account->ncpus = table.ncpus;
	account->lost = table.lost;
	account->missed = to->missed;
	for (unsigned cpu = 0; cpu < account->links->npossible; cpu++) {
		for (unsigned kind = 0; kind < EVENT_KINDS; kind++) {
			const struct facts_kind *counts = &to->cpus[cpu].kinds[kind];

			right &= counts->seen == seen_of(account, cpu, kind);
			account->full += counts->full;
			account->user += counts->user;
		}
	}
	if (!right)
		log_warn("event counts disagree: seen is not the sum of written, filtered, sampled "
			 "and lost (please report it)");
out:
	free(from);
	free(to);
	return err;
}

void account_free(struct account *account)
{
	free(account->full_before);
	free(account->told);
	free(account->cpus);
	memset(account, 0, sizeof(*account));
}
