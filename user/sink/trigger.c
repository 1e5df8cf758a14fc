/* SPDX-License-Identifier: MIT */
/* trigger: see trigger.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/array.h"
#include "user/probes/site.h"
#include "trace/base/log.h"
#include "trace/base/units.h"
#include "user/sink/trigger.h"

#define PAGE 256 /* ids */

struct trigger_page {
	unsigned used;
	uint64_t since[PAGE]; /* ns; 0: does not wait, or the start is unknown */
};

const char *trigger_parse(struct trigger_plan *plan, const char *text)
{
	static const char latency[] = "latency";
	size_t n = sizeof(latency) - 1;

	if (!strncmp(text, latency, n) && (!text[n] || strchr("><= ", text[n]))) {
		if (text[n] != '>')
			return "a latency is written as in latency>5ms";
		if (plan->latency_ns)
			return "give only one latency";
		return units_parse_time(text + n + 1, &plan->latency_ns);
	}
	if (!*text)
		return "give 'latency>TIME' or the name of a probed function";
	if (plan->place)
		return "give only one function";
	plan->place = text;
	return NULL;
}

int trigger_find(struct trigger_plan *plan, const struct site *sites, size_t nsites,
		 uint64_t **bits)
{
	bool found = false;

	*bits = NULL;
	if (!plan->place)
		return 0;
	*bits = calloc(nsites / 64 + 1, sizeof(**bits));
	if (!*bits)
		return log_no_memory("for the trigger");
	for (size_t i = 0; i < nsites; i++) {
		if ((!sites[i].symbol || strcmp(sites[i].symbol, plan->place)) &&
		    (!sites[i].label || strcmp(sites[i].label, plan->place)))
			continue;
		(*bits)[i / 64] |= 1ull << i % 64;
		found = true;
	}
	plan->sites = *bits;
	plan->nsites = nsites;
	if (found)
		return 0;
	log_error("--trigger %s: no probe has this name (-u BIN:FUNC probes a function)",
		  plan->place);
	return -ENOENT;
}

static struct trigger_page *page_of(const struct trigger *trigger, uint32_t id)
{
	return id / PAGE < trigger->npages ? trigger->pages[id / PAGE] : NULL;
}

static int begin_wait(struct trigger *trigger, uint32_t id, uint64_t clock)
{
	struct trigger_page *page = ARRAY_PAGE(trigger->pages, trigger->npages, id / PAGE);

	if (!page)
		return log_no_memory("for the trigger");
	page->used += !page->since[id % PAGE];
	page->since[id % PAGE] = clock;
	return 0;
}

/* The start of its wait, which ends here; 0: it did not wait. */
static uint64_t end_wait(struct trigger *trigger, uint32_t id)
{
	struct trigger_page *page = page_of(trigger, id);
	uint64_t since = page ? page->since[id % PAGE] : 0;

	if (!since)
		return 0;
	page->since[id % PAGE] = 0;
	if (!--page->used) {
		free(page);
		trigger->pages[id / PAGE] = NULL;
	}
	return since;
}

static int look_at_switch(struct trigger *trigger, const struct record_switch *r)
{
	uint64_t clock = r->head.clock, since;
	int err = 0;

	if (r->head.id && off_cpu_runnable(r->head.why))
		err = begin_wait(trigger, r->head.id, clock);
	else if (r->head.id)
		end_wait(trigger, r->head.id);
	if (err || !r->next_id)
		return err;
	since = end_wait(trigger, r->next_id);
	if (r->wake_clock)
		since = r->wake_clock;
	if (trigger->met || !since || clock < since || clock - since <= trigger->plan.latency_ns)
		return 0;
	trigger->met = true;
	trigger->clock = clock;
	snprintf(trigger->text, sizeof(trigger->text),
		 "thread %u of process %u waited %.3f ms for a CPU, until %llu", r->next_tid,
		 r->next_pid, (double)(clock - since) / 1e6, (unsigned long long)clock);
	return 0;
}

static void look_at_probe(struct trigger *trigger, const struct record_probe *r)
{
	const struct trigger_plan *plan = &trigger->plan;

	if (trigger->met || (r->head.flags & PROBE_SIDE) == PROBE_RETURN ||
	    r->site >= plan->nsites || !(plan->sites[r->site / 64] >> r->site % 64 & 1))
		return;
	trigger->met = true;
	trigger->clock = r->head.clock;
	snprintf(trigger->text, sizeof(trigger->text),
		 "thread %u of process %u reached %.128s at %llu", r->tid, r->pid, plan->place,
		 (unsigned long long)r->head.clock);
}

int trigger_look(struct trigger *trigger, const struct record_head *record)
{
	if (record->kind == RECORD_SWITCH && trigger->plan.latency_ns)
		return look_at_switch(trigger, (const struct record_switch *)record);
	if (record->kind == RECORD_PROBE && trigger->plan.sites)
		look_at_probe(trigger, (const struct record_probe *)record);
	return 0;
}

void trigger_fini(struct trigger *trigger)
{
	for (size_t i = 0; i < trigger->npages; i++)
		free(trigger->pages[i]);
	free(trigger->pages);
	*trigger = (struct trigger){0};
}
