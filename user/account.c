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
	if (!account->lost_before)
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
			if (cut)
				k->lost = k->seen - k->written;
			account->lost += k->lost;
			any |= k->seen;
			wrong |= k->seen != k->written + k->lost;
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

void account_free(struct account *account)
{
	free(account->lost_before);
	free(account->cpus);
	memset(account, 0, sizeof(*account));
}
