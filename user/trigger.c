/* SPDX-License-Identifier: MIT */
/* trigger: see trigger.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parse.h"
#include "trigger.h"

#define PAGE 256 /* ids */

struct trigger_page {
	unsigned used;
	uint64_t since[PAGE]; /* ns; 0: does not wait, or it is not known since when */
};

const char *trigger_parse(const char *text, uint64_t *latency_ns)
{
	static const char latency[] = "latency>";

	if (strncmp(text, latency, sizeof(latency) - 1))
		return "a wait for a CPU is wanted, as in 'latency>5ms'";
	return parse_duration(text + sizeof(latency) - 1, latency_ns);
}

static struct trigger_page *page_of(const struct trigger *trigger, uint32_t id)
{
	return id / PAGE < trigger->npages ? trigger->pages[id / PAGE] : NULL;
}

static int begin_wait(struct trigger *trigger, uint32_t id, uint64_t clock)
{
	size_t n = trigger->npages ? trigger->npages : 64;
	struct trigger_page **grown, *page;

	while (n <= id / PAGE)
		n *= 2;
	if (n > trigger->npages) {
		grown = realloc(trigger->pages, n * sizeof(struct trigger_page *));
		if (!grown)
			return -ENOMEM;
		memset(grown + trigger->npages, 0,
		       (n - trigger->npages) * sizeof(struct trigger_page *));
		trigger->pages = grown;
		trigger->npages = n;
	}
	page = trigger->pages[id / PAGE];
	if (!page) {
		page = trigger->pages[id / PAGE] = calloc(1, sizeof(*page));
		if (!page)
			return -ENOMEM;
	}
	page->used += !page->since[id % PAGE];
	page->since[id % PAGE] = clock;
	return 0;
}

/* Since when it has waited; 0: it has not. */
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

	if (r->head.id && (r->head.why == WHY_PREEMPTED || r->head.why == WHY_YIELDED))
		err = begin_wait(trigger, r->head.id, clock);
	else if (r->head.id)
		end_wait(trigger, r->head.id);
	if (err || !r->next_id)
		return err;
	since = end_wait(trigger, r->next_id);
	if (r->wake_clock)
		since = r->wake_clock;
	if (trigger->met || !since || clock < since || clock - since <= trigger->latency_ns)
		return 0;
	trigger->met = true;
	snprintf(trigger->text, sizeof(trigger->text),
		 "thread %u of process %u waited %.3f ms for a CPU, until %llu", r->next_tid,
		 r->next_pid, (double)(clock - since) / 1e6, (unsigned long long)clock);
	return 0;
}

int trigger_look(struct trigger *trigger, const struct record_head *record)
{
	if (!trigger->latency_ns || record->kind != RECORD_SWITCH)
		return 0;
	return look_at_switch(trigger, (const struct record_switch *)record);
}

void trigger_fini(struct trigger *trigger)
{
	for (size_t i = 0; i < trigger->npages; i++)
		free(trigger->pages[i]);
	free(trigger->pages);
	*trigger = (struct trigger){0};
}
