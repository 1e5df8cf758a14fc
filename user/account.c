/* SPDX-License-Identifier: MIT */
/* account: see account.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "account.h"
#include "links.h"
#include "rings.h"
#include "trace/log.h"

/* A gap is told by a record of its own, which was no event. */
static bool is_event(unsigned kind)
{
	return kind != 0 && kind != RECORD_LOST;
}

int account_open(struct account *account, const struct links *links, const struct rings *rings)
{
	*account = (struct account){.links = links, .rings = rings};
	account->lost_before = calloc(links->npossible, sizeof(*account->lost_before));
	account->told = calloc(links->npossible, sizeof(*account->told));
	if (!account->lost_before || !account->told)
		return -ENOMEM;
	for (unsigned cpu = 0; cpu < links->npossible; cpu++)
		memcpy(account->lost_before[cpu], links->cpus[cpu].lost,
		       sizeof(account->lost_before[cpu]));
	return 0;
}

static uint64_t lost_of(const struct account *account, unsigned cpu, unsigned kind)
{
	return account->links->cpus[cpu].lost[kind] - account->lost_before[cpu][kind];
}

uint64_t account_lost(const struct account *account)
{
	uint64_t lost = 0;

	for (unsigned cpu = 0; cpu < account->links->npossible; cpu++)
		for (unsigned kind = 0; kind < RECORD_KINDS; kind++)
			if (is_event(kind))
				lost += lost_of(account, cpu, kind);
	return lost;
}

static const struct ring *ring_of(const struct rings *rings, unsigned cpu)
{
	for (unsigned i = 0; i < rings->nrings; i++)
		if (rings->ring[i].cpu == cpu)
			return &rings->ring[i];
	return NULL;
}

int account_close(struct account *account, bool cut)
{
	const struct links *links = account->links;
	bool wrong = false;

	account->cpus = calloc(links->npossible, sizeof(*account->cpus));
	if (!account->cpus)
		return -ENOMEM;
	for (unsigned cpu = 0; cpu < links->npossible; cpu++) {
		const struct ring *ring = ring_of(account->rings, cpu);
		const struct cpu_state *state = &links->cpus[cpu];
		struct facts_cpu *line = &account->cpus[account->ncpus];
		uint64_t any = 0;

		line->cpu = cpu;
		for (unsigned kind = 0; kind < RECORD_KINDS; kind++) {
			struct facts_kind *k = &line->kinds[kind];

			if (!is_event(kind))
				continue;
			k->lost = lost_of(account, cpu, kind);
			k->seen = state->seen[kind] - account->lost_before[cpu][kind];
			k->written = ring ? ring->taken[kind] : 0;
			k->sampled = kind == RECORD_PROBE ? state->left_out : 0;
			if (cut)
				k->lost = k->seen - k->written - k->sampled;
			account->lost += k->lost;
			any |= k->seen;
			wrong |= k->seen != k->written + k->sampled + k->lost;
		}
		if (ring || any)
			account->ncpus++;
		else
			memset(line, 0, sizeof(*line));
	}
	account->missed = links_missed(links);
	account->lost += account->missed;
	/* the kernel does not tell on which CPU */
	if (account->ncpus)
		account->cpus[0].missed = account->missed;
	if (wrong)
		log_warn("what was seen is not what was written and lost: the account in the trace "
			 "does not add up, please report it");
	return 0;
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

static void count_lost(const struct account *account, unsigned cpu, enum account_moment moment,
		       struct account_counts *counts)
{
	uint64_t lost = 0;

	counts->left_out = account->links->cpus[cpu].left_out;
	for (unsigned kind = 0; kind < RECORD_KINDS; kind++) {
		if (!is_event(kind))
			continue;
		counts->lost[kind] = lost_of(account, cpu, kind);
		lost += counts->lost[kind];
		if (moment == ACCOUNT_CUT)
			counts->lost[kind] = account->links->cpus[cpu].seen[kind] -
					     account->lost_before[cpu][kind] - counts->taken[kind] -
					     (kind == RECORD_PROBE ? counts->left_out : 0);
	}
	/* records may tell of what was lost before the window, too */
	counts->untold = lost > account->told[cpu] ? lost - account->told[cpu] : 0;
}

struct account_mark *account_mark(const struct account *account, enum account_moment moment)
{
	struct account_mark *mark = calloc(1, account_mark_size(account));

	if (!mark || moment == ACCOUNT_OPENED)
		return mark;
	mark->missed = links_missed(account->links);
	for (unsigned i = 0; i < account->rings->nrings; i++) {
		const struct ring *ring = &account->rings->ring[i];

		memcpy(mark->cpus[ring->cpu].taken, ring->taken, sizeof(ring->taken));
	}
	for (unsigned cpu = 0; cpu < account->links->npossible; cpu++)
		count_lost(account, cpu, moment, &mark->cpus[cpu]);
	return mark;
}

struct account_mark *account_mark_copy(const struct account *account,
				       const struct account_mark *mark)
{
	struct account_mark *copy = malloc(account_mark_size(account));

	if (copy)
		memcpy(copy, mark, account_mark_size(account));
	return copy;
}

uint64_t account_mark_lost(const struct account_mark *mark, unsigned cpu)
{
	uint64_t lost = 0;

	for (unsigned kind = 0; kind < RECORD_KINDS; kind++)
		lost += mark->cpus[cpu].lost[kind];
	return lost;
}

/* One line of the table. True if there is anything to tell. */
static bool difference(struct facts_cpu *line, const struct account_counts *from,
		       const struct account_counts *to, bool aged)
{
	uint64_t any = 0;

	for (unsigned kind = 0; kind < RECORD_KINDS; kind++) {
		struct facts_kind *k = &line->kinds[kind];

		if (!is_event(kind))
			continue;
		k->written = to->taken[kind] - from->taken[kind];
		k->lost = to->lost[kind] - from->lost[kind];
		k->aged = aged ? from->taken[kind] + from->lost[kind] : 0;
		k->sampled = kind == RECORD_PROBE ? to->left_out - from->left_out : 0;
		k->seen = k->written + k->lost + k->aged + k->sampled;
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
		return -ENOMEM;
	for (unsigned cpu = 0; cpu < n; cpu++) {
		struct facts_cpu *line = &table->cpus[table->ncpus];

		line->cpu = cpu;
		if (difference(line, &from->cpus[cpu], &to->cpus[cpu], aged) ||
		    ring_of(account->rings, cpu))
			table->ncpus++;
		table->lost += account_mark_lost(to, cpu) - account_mark_lost(from, cpu);
	}
	table->lost += to->missed - from->missed;
	if (table->ncpus) /* the kernel does not tell on which CPU */
		table->cpus[0].missed = to->missed - from->missed;
	return 0;
}

void account_free(struct account *account)
{
	free(account->lost_before);
	free(account->told);
	free(account->cpus);
	memset(account, 0, sizeof(*account));
}
