/* SPDX-License-Identifier: MIT */
/* event_counts: see event_counts.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/kernel/event_counts.h"
#include "user/kernel/bpf_load.h"
#include "user/kernel/rings.h"
#include "bpf/state.h"
#include "trace/base/log.h"

static const struct ring *ring_of(const struct rings *rings, unsigned cpu)
{
	for (unsigned i = 0; i < rings->nrings; i++)
		if (rings->ring[i].cpu == cpu)
			return &rings->ring[i];
	return NULL;
}

int event_counts_open(struct event_counts *counts, const struct bpf_load *bpf,
		      const struct rings *rings)
{
	*counts = (struct event_counts){.bpf = bpf, .rings = rings};
	counts->full_before = calloc(bpf->npossible, sizeof(*counts->full_before));
	counts->before = calloc(bpf->npossible, sizeof(*counts->before));
	if (!counts->full_before || !counts->before)
		return log_no_memory("for the event counts");
	for (unsigned cpu = 0; cpu < bpf->npossible; cpu++) {
		const struct ring *ring = ring_of(rings, cpu);

		for (unsigned kind = 0; kind < EVENT_KINDS; kind++) {
			uint64_t full = __atomic_load_n(&bpf->cpus[cpu].events[kind].full,
							__ATOMIC_RELAXED);

			counts->full_before[cpu][kind] = full;
			counts->before[cpu][kind] = ring ? full - ring->reported[kind] : full;
		}
	}
	return 0;
}

static uint64_t full_of(const struct event_counts *counts, unsigned cpu, unsigned kind)
{
	return counts->bpf->cpus[cpu].events[kind].full - counts->full_before[cpu][kind];
}

uint64_t event_counts_lost(const struct event_counts *counts)
{
	uint64_t lost = 0;

	for (unsigned cpu = 0; cpu < counts->bpf->npossible; cpu++)
		for (unsigned kind = 0; kind < EVENT_KINDS; kind++)
			lost += full_of(counts, cpu, kind);
	return lost;
}

/* Events seen in the window. In summary mode the program at switches counts its runs only. */
static uint64_t seen_of(const struct event_counts *counts, unsigned cpu, unsigned kind)
{
	if (kind == EVENT_SWITCH && !counts->rings->nrings)
		return counts->bpf->cpus[cpu].runs[PROGRAMS_SWITCH];
	return counts->bpf->cpus[cpu].events[kind].seen - counts->full_before[cpu][kind];
}

/* The counts of a CPU. With `cut`, the records that are left in its ring are lost. */
static void count(const struct event_counts *counts, unsigned cpu, const struct ring *ring,
		  bool cut, struct counts_of_cpu *out)
{
	const struct cpu_state *state = &counts->bpf->cpus[cpu];

	for (unsigned kind = 0; kind < EVENT_KINDS; kind++) {
		struct event_count *k = &out->kinds[kind];
		uint64_t reported = ring ? ring->reported[kind] : 0, unreported;

		k->written = ring ? ring->taken[kind] : 0;
		/* without rings nothing is sent, and the programs do not count that */
		k->filtered = counts->rings->nrings ? state->events[kind].filtered
						    : seen_of(counts, cpu, kind);
		k->sampled = state->events[kind].sampled;
		k->full = full_of(counts, cpu, kind);
		k->seen = k->written + k->filtered + k->sampled + k->full;
		if (cut) {
			k->user = seen_of(counts, cpu, kind) - k->seen;
			k->seen += k->user;
		}
		unreported = k->full + counts->full_before[cpu][kind] - reported;
		/* the rest is of before the window */
		out->unreported[kind] = unreported < k->full ? unreported : k->full;
	}
	/* Read after the counts: a gap that has ended meanwhile is in a record, still in its ring.
	 */
	out->gap_clock = UINT64_MAX;
	if (__atomic_load_n(&state->gap_count, __ATOMIC_ACQUIRE))
		out->gap_clock = __atomic_load_n(&state->gap_clock, __ATOMIC_RELAXED);
}

void event_counts_take_lost(struct event_counts *counts, unsigned cpu,
			    const struct record_lost *record, struct record_lost *in_window)
{
	*in_window = *record;
	if (cpu >= counts->bpf->npossible)
		return;
	for (unsigned kind = 0; kind < EVENT_KINDS; kind++) {
		uint64_t *before = &counts->before[cpu][kind];
		uint64_t old = *before < record->kinds[kind] ? *before : record->kinds[kind];

		*before -= old;
		in_window->kinds[kind] -= old;
		in_window->count -= old < in_window->count ? old : in_window->count;
	}
}

size_t event_counts_mark_size(const struct event_counts *counts)
{
	return sizeof(struct event_counts_mark) +
	       counts->bpf->npossible * sizeof(struct counts_of_cpu);
}

struct event_counts_mark *event_counts_mark(const struct event_counts *counts,
					    enum counts_moment moment)
{
	struct event_counts_mark *mark = calloc(1, event_counts_mark_size(counts));

	if (!mark)
		log_no_memory("for the event counts");
	if (!mark || moment == COUNTS_OPENED)
		return mark;
	mark->missed = bpf_load_missed(counts->bpf);
	for (unsigned cpu = 0; cpu < counts->bpf->npossible; cpu++) {
		mark->stacks_left_out +=
			__atomic_load_n(&counts->bpf->cpus[cpu].stacks_left_out, __ATOMIC_RELAXED);
		if (counts->bpf->irqs)
			mark->irqs_left_out +=
				__atomic_load_n(&counts->bpf->irqs[cpu].left_out, __ATOMIC_RELAXED);
	}
	for (unsigned cpu = 0; cpu < counts->bpf->npossible; cpu++)
		count(counts, cpu, ring_of(counts->rings, cpu), moment == COUNTS_CUT,
		      &mark->cpus[cpu]);
	return mark;
}

struct event_counts_mark *event_counts_mark_copy(const struct event_counts *counts,
						 const struct event_counts_mark *mark)
{
	struct event_counts_mark *copy = malloc(event_counts_mark_size(counts));

	if (copy)
		memcpy(copy, mark, event_counts_mark_size(counts));
	else
		log_no_memory("for the event counts");
	return copy;
}

void event_counts_mark_untake(struct event_counts_mark *mark, unsigned cpu,
			      const struct record_head *record)
{
	struct event_count *kinds = mark->cpus[cpu].kinds;
	uint64_t taken[EVENT_KINDS] = {0};

	if (record->kind == RECORD_LOST) {
		ring_count_reported(mark->cpus[cpu].unreported, (const struct record_lost *)record);
		event_counts_mark_gap(mark, cpu, ((const struct record_lost *)record)->first_clock);
		return;
	}
	ring_count(taken, record);
	for (unsigned kind = 0; kind < EVENT_KINDS; kind++) {
		kinds[kind].written -= taken[kind];
		kinds[kind].seen -= taken[kind];
	}
}

uint64_t event_counts_mark_unreported(const struct event_counts_mark *mark, unsigned cpu)
{
	uint64_t unreported = 0;

	for (unsigned kind = 0; kind < EVENT_KINDS; kind++)
		unreported += mark->cpus[cpu].unreported[kind];
	return unreported;
}

void event_counts_mark_gap(struct event_counts_mark *mark, unsigned cpu, uint64_t first_clock)
{
	if (first_clock < mark->cpus[cpu].gap_clock)
		mark->cpus[cpu].gap_clock = first_clock;
}

void event_counts_mark_before_gaps(const struct event_counts *counts,
				   struct event_counts_mark *mark)
{
	for (unsigned cpu = 0; cpu < counts->bpf->npossible; cpu++) {
		struct counts_of_cpu *c = &mark->cpus[cpu];

		for (unsigned kind = 0; kind < EVENT_KINDS; kind++) {
			c->kinds[kind].full -= c->unreported[kind];
			c->kinds[kind].seen -= c->unreported[kind];
			c->unreported[kind] = 0;
		}
	}
}

/* Lost on the CPU with the number `cpu` until then. */
static uint64_t mark_lost(const struct event_counts_mark *mark, unsigned cpu)
{
	uint64_t lost = 0;

	for (unsigned kind = 0; kind < EVENT_KINDS; kind++)
		lost += mark->cpus[cpu].kinds[kind].full + mark->cpus[cpu].kinds[kind].user;
	return lost;
}

/* Fills one line of the table. True if the CPU has seen any event. */
static bool difference(struct cpu_event_counts *line, const struct counts_of_cpu *from,
		       const struct counts_of_cpu *to, bool aged)
{
	uint64_t any = 0;

	for (unsigned kind = 0; kind < EVENT_KINDS; kind++) {
		const struct event_count *a = &from->kinds[kind], *b = &to->kinds[kind];
		struct event_count *k = &line->kinds[kind];

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

int event_counts_between(const struct event_counts *counts, const struct event_counts_mark *from,
			 const struct event_counts_mark *to, bool aged,
			 struct event_counts_table *table)
{
	unsigned n = counts->bpf->npossible;

	*table = (struct event_counts_table){.cpus = calloc(n ? n : 1, sizeof(*table->cpus))};
	if (!table->cpus)
		return log_no_memory("for the event counts");
	for (unsigned cpu = 0; cpu < n; cpu++) {
		struct cpu_event_counts *line = &table->cpus[table->ncpus];

		line->cpu = cpu;
		if (difference(line, &from->cpus[cpu], &to->cpus[cpu], aged) ||
		    ring_of(counts->rings, cpu))
			table->ncpus++;
		table->lost += mark_lost(to, cpu) - mark_lost(from, cpu);
	}
	table->lost += to->missed - from->missed;
	table->stacks_left_out = to->stacks_left_out - from->stacks_left_out;
	table->irqs_left_out = to->irqs_left_out - from->irqs_left_out;
	if (table->ncpus) /* the kernel does not count them by CPU */
		table->cpus[0].missed = to->missed - from->missed;
	return 0;
}

int event_counts_close(struct event_counts *counts, bool cut)
{
	struct event_counts_mark *from = event_counts_mark(counts, COUNTS_OPENED);
	struct event_counts_mark *to = event_counts_mark(counts, cut ? COUNTS_CUT : COUNTS_NOW);
	struct event_counts_table table = {0};
	bool right = true;
	int err = from && to ? event_counts_between(counts, from, to, false, &table) : -ENOMEM;

	if (err)
		goto out;
	counts->cpus = table.cpus;
	counts->ncpus = table.ncpus;
	counts->lost = table.lost;
	counts->missed = to->missed;
	counts->stacks_left_out = table.stacks_left_out;
	for (unsigned cpu = 0; cpu < counts->bpf->npossible; cpu++) {
		for (unsigned kind = 0; kind < EVENT_KINDS; kind++) {
			const struct event_count *k = &to->cpus[cpu].kinds[kind];

			right &= k->seen == seen_of(counts, cpu, kind);
			counts->full += k->full;
			counts->user += k->user;
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

void event_counts_free(struct event_counts *counts)
{
	free(counts->full_before);
	free(counts->before);
	free(counts->cpus);
	memset(counts, 0, sizeof(*counts));
}
