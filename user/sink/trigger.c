/* SPDX-License-Identifier: MIT */
/* trigger: see trigger.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/base/array.h"
#include "user/host/clock.h"
#include "user/host/proc_info.h"
#include "user/probes/site.h"
#include "trace/base/log.h"
#include "trace/base/units.h"
#include "user/sink/trigger.h"

#define PAGE 256 /* ids */

#define MEETS_LATENCY 1u /* flags of a task: its name meets this limit, */
#define MEETS_PLACE   2u
#define LIVES	      4u /* its page counts it */

struct trigger_page {
	unsigned living;
	uint64_t since[PAGE]; /* ns; 0: does not wait, or the start is unknown */
	uint8_t flags[PAGE];
};

/* ---- the language ---- */

static const char *parse_id(uint32_t *id, const char *text)
{
	unsigned long value;
	char *end;

	if (*id)
		return "give pid= and tid= only once";
	errno = 0;
	value = *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;
	if (!value || *end || errno || value > INT32_MAX)
		return "pid= and tid= take a number, as in pid=1234";
	*id = (uint32_t)value;
	return NULL;
}

static const char *parse_comm(struct trigger_limit *limit, const char *text)
{
	if (limit->comm)
		return "give comm= only once";
	limit->comm = true;
	return comm_glob_compile(&limit->glob, text);
}

/* The last limit in the text, at its comma; NULL if there is none. Names of functions may hold
 * commas. */
static char *last_limit(char *text)
{
	for (char *at = text + strlen(text); at-- > text;)
		if (!strncmp(at, ",pid=", 5) || !strncmp(at, ",tid=", 5) ||
		    !strncmp(at, ",comm=", 6))
			return at;
	return NULL;
}

/* Takes the limits off the end of the text. */
static const char *parse_limits(struct trigger_limit *limit, char *text)
{
	const char *wrong = NULL;
	char *at;

	while (!wrong && (at = last_limit(text))) {
		*at = '\0';
		if (at[1] == 'c')
			wrong = parse_comm(limit, at + 6);
		else
			wrong = parse_id(at[1] == 'p' ? &limit->pid : &limit->tid, at + 5);
	}
	return wrong;
}

static const char *parse_latency(struct trigger_plan *plan, const char *text,
				 const struct trigger_limit *limit)
{
	if (*text != '>')
		return "a latency is written as in latency>5ms";
	if (plan->latency_ns)
		return "give only one latency";
	plan->latency_limit = *limit;
	return units_parse_time(text + 1, &plan->latency_ns);
}

const char *trigger_parse(struct trigger_plan *plan, const char *text)
{
	static const char latency[] = "latency";
	struct trigger_limit limit = {0};
	size_t n = sizeof(latency) - 1;
	char *copy = strdup(text);
	const char *wrong = "out of memory";

	if (!copy)
		goto out;
	wrong = parse_limits(&limit, copy);
	if (wrong)
		goto out;
	if (!strncmp(copy, latency, n) && (!copy[n] || strchr("><= ", copy[n]))) {
		wrong = parse_latency(plan, copy + n, &limit);
		goto out;
	}
	wrong = "give 'latency>TIME' or the name of a probed function";
	if (!*copy)
		goto out;
	wrong = "give only one function";
	if (plan->place)
		goto out;
	plan->place = copy;
	plan->place_limit = limit;
	return NULL;
out:
	free(copy);
	return wrong;
}

void trigger_plan_free(struct trigger_plan *plan)
{
	free(plan->place);
	*plan = (struct trigger_plan){0};
}

static int check_id(uint32_t id, const char *what, const char *proc)
{
	char path[64];

	if (!id)
		return 0;
	snprintf(path, sizeof(path), "%.40s/%u", proc, id);
	if (!access(path, F_OK))
		return 0;
	log_error("--trigger: there is no %s %u", what, id);
	return -ESRCH;
}

int trigger_check(const struct trigger_plan *plan, const char *proc)
{
	const struct trigger_limit *const limits[] = {&plan->latency_limit, &plan->place_limit};
	int err = 0;

	for (unsigned i = 0; i < 2; i++) {
		if ((limits[i]->pid || limits[i]->tid) && !process_numbers_are_ours(proc)) {
			log_error("--trigger: pid= and tid= do not work in a PID namespace, where "
				  "processes have other numbers: use comm=");
			return -EINVAL;
		}
		err = check_id(limits[i]->pid, "process", proc);
		if (err)
			return err;
		err = check_id(limits[i]->tid, "thread", proc);
		if (err)
			return err;
	}
	return 0;
}

/* ---- the places ---- */

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

/* ---- the states of tasks ---- */

static struct trigger_page *page_of(const struct trigger *trigger, uint32_t id)
{
	return id / PAGE < trigger->npages ? trigger->pages[id / PAGE] : NULL;
}

/* The page of a task that lives now, made if it is missing; NULL after one message without memory. A
 * page stays until the last of its tasks is dead: a wait allocates nothing. */
static struct trigger_page *make_page(struct trigger *trigger, uint32_t id)
{
	struct trigger_page *page = ARRAY_PAGE(trigger->pages, trigger->npages, id / PAGE);

	if (!page) {
		log_lack("for the trigger");
		return NULL;
	}
	page->living += !(page->flags[id % PAGE] & LIVES);
	page->flags[id % PAGE] |= LIVES;
	return page;
}

static int begin_wait(struct trigger *trigger, uint32_t id, uint64_t clock)
{
	struct trigger_page *page = make_page(trigger, id);

	if (!page)
		return -ENOMEM;
	page->since[id % PAGE] = clock;
	return 0;
}

/* The start of its wait, which ends here; 0: it did not wait. */
static uint64_t end_wait(struct trigger *trigger, uint32_t id)
{
	struct trigger_page *page = page_of(trigger, id);
	uint64_t since = page ? page->since[id % PAGE] : 0;

	if (since)
		page->since[id % PAGE] = 0;
	return since;
}

/* Keeps which limits the name of a task meets; 0: none. */
static int set_name(struct trigger *trigger, uint32_t id, uint8_t meets)
{
	struct trigger_page *page = meets ? make_page(trigger, id) : page_of(trigger, id);

	if (!page)
		return meets ? -ENOMEM : 0;
	page->flags[id % PAGE] = (page->flags[id % PAGE] & LIVES) | meets;
	return 0;
}

static void forget(struct trigger *trigger, uint32_t id)
{
	struct trigger_page *page = page_of(trigger, id);

	if (!page || !(page->flags[id % PAGE] & LIVES))
		return;
	page->flags[id % PAGE] = 0;
	page->since[id % PAGE] = 0;
	if (--page->living)
		return;
	free(page);
	trigger->pages[id / PAGE] = NULL;
}

static uint8_t meets(const struct trigger_limit *limit, const char *comm, uint8_t bit)
{
	return limit->comm && comm_glob_matches(&limit->glob, comm) ? bit : 0;
}

int trigger_task(struct trigger *trigger, const struct record_task *task)
{
	const struct trigger_plan *plan = &trigger->plan;
	char comm[RECORD_COMM_SIZE + 1];

	if (!task->id || !(plan->latency_limit.comm || plan->place_limit.comm))
		return 0;
	snprintf(comm, sizeof(comm), "%.*s", RECORD_COMM_SIZE, task->comm);
	return set_name(trigger, task->id,
			meets(&plan->latency_limit, comm, MEETS_LATENCY) |
				meets(&plan->place_limit, comm, MEETS_PLACE));
}

static bool within(const struct trigger *trigger, const struct trigger_limit *limit, uint8_t bit,
		   uint32_t id, uint32_t tid, uint32_t pid)
{
	const struct trigger_page *page;

	if ((limit->pid && limit->pid != pid) || (limit->tid && limit->tid != tid))
		return false;
	if (!limit->comm)
		return true;
	page = page_of(trigger, id);
	return page && page->flags[id % PAGE] & bit;
}

/* ---- events ---- */

static int check_switch(struct trigger *trigger, const struct record_switch *r)
{
	uint64_t clock = r->head.clock, since;
	int err = 0;

	if (r->head.id && off_cpu_runnable(r->head.why))
		err = begin_wait(trigger, r->head.id, clock);
	else if (r->head.id && r->head.why == OFF_CPU_DEAD)
		forget(trigger, r->head.id); /* it may have waited after its exit */
	else if (r->head.id)
		end_wait(trigger, r->head.id);
	if (err || !r->next_id)
		return err;
	since = end_wait(trigger, r->next_id);
	if (r->wake_clock)
		since = r->wake_clock;
	if (trigger->met || !since || clock < since || clock - since <= trigger->plan.latency_ns ||
	    !within(trigger, &trigger->plan.latency_limit, MEETS_LATENCY, r->next_id, r->next_tid,
		    r->next_pid))
		return 0;
	trigger->met = true;
	trigger->clock = clock;
	snprintf(trigger->text, sizeof(trigger->text),
		 "thread %u of process %u waited %.3f ms for a CPU, until %llu", r->next_tid,
		 r->next_pid, (double)(clock - since) / 1e6,
		 (unsigned long long)clock_in_trace(clock));
	return 0;
}

static void check_probe(struct trigger *trigger, const struct record_probe *r)
{
	const struct trigger_plan *plan = &trigger->plan;

	if (trigger->met || (r->head.flags & PROBE_SIDE) == PROBE_RETURN ||
	    r->site >= plan->nsites || !(plan->sites[r->site / 64] >> r->site % 64 & 1) ||
	    !within(trigger, &plan->place_limit, MEETS_PLACE, r->head.id, r->tid, r->pid))
		return;
	trigger->met = true;
	trigger->clock = r->head.clock;
	snprintf(trigger->text, sizeof(trigger->text),
		 "thread %u of process %u reached %.128s at %llu", r->tid, r->pid, plan->place,
		 (unsigned long long)clock_in_trace(r->head.clock));
}

int trigger_record(struct trigger *trigger, const struct record_head *record)
{
	if (record_is_switch(record->kind) && trigger->plan.latency_ns)
		return check_switch(trigger, (const struct record_switch *)record);
	if (record->kind == RECORD_PROBE && trigger->plan.sites)
		check_probe(trigger, (const struct record_probe *)record);
	if (record->kind == RECORD_TASK)
		return trigger_task(trigger, (const struct record_task *)record);
	if (record->kind == RECORD_EXIT)
		forget(trigger, ((const struct record_exit *)record)->id);
	return 0;
}

void trigger_fini(struct trigger *trigger)
{
	for (size_t i = 0; i < trigger->npages; i++)
		free(trigger->pages[i]);
	free(trigger->pages);
	*trigger = (struct trigger){0};
}
