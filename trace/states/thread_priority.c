/* SPDX-License-Identifier: MIT */
#include "trace/states/thread_priority.h"

#include <errno.h>
#include <stdlib.h>

#define NONE UINT32_MAX

struct thread_priority {
	uint32_t now; /* index of the label; NONE: not known */
	int64_t since;
	int64_t *ns; /* by label */
};

int thread_priorities_init(struct thread_priorities *p, const struct source *source)
{
	size_t n = source->trace.nstreams, with = 0;

	*p = (struct thread_priorities){.source = source};
	for (size_t i = 0; i < n; i++)
		with += source->owners[i].npriorities > 0;
	if (!with)
		return 0;
	p->threads = calloc(n, sizeof(*p->threads));
	if (!p->threads)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		p->threads[i].now = NONE;
		p->threads[i].ns = calloc(source->owners[i].npriorities + 1, sizeof(int64_t));
		if (!p->threads[i].ns)
			return -ENOMEM;
	}
	return 0;
}

void thread_priorities_fini(struct thread_priorities *p)
{
	for (size_t i = 0; p->threads && i < p->source->trace.nstreams; i++)
		free(p->threads[i].ns);
	free(p->threads);
	*p = (struct thread_priorities){0};
}

static uint32_t find(const struct owner *owner, int64_t value)
{
	for (size_t i = 0; i < owner->npriorities; i++)
		if (owner->priorities[i].value == value)
			return (uint32_t)i;
	return NONE;
}

bool thread_priorities_step(struct thread_priorities *p, uint32_t stream, const struct event *ev)
{
	const struct owner *owner;
	struct thread_priority *t;

	if (!p->threads || event_mcv(ev) != MCV('O', 'M', '=') || ev->payload_size < 12)
		return false;
	owner = &p->source->owners[stream];
	if (!owner->npriorities || get_i32(ev->payload + 8) != owner->priority_type)
		return false;
	t = &p->threads[stream];
	if (t->now != NONE)
		t->ns[t->now] = clock_sum(t->ns[t->now], clock_distance(t->since, ev->clock));
	t->now = find(owner, get_i64(ev->payload));
	t->since = ev->clock;
	return true;
}

const char *thread_priority_now(const struct thread_priorities *p, uint32_t stream)
{
	if (!p->threads || p->threads[stream].now == NONE)
		return NULL;
	return p->source->owners[stream].priorities[p->threads[stream].now].text;
}

const char *thread_priority_longest(const struct thread_priorities *p, uint32_t stream, int64_t end)
{
	const struct owner *owner = &p->source->owners[stream];
	const char *longest = NULL;
	int64_t most = -1;

	for (uint32_t i = 0; p->threads && i < owner->npriorities; i++) {
		const struct thread_priority *t = &p->threads[stream];
		int64_t ns = t->ns[i];

		if (i == t->now && end > t->since)
			ns = clock_sum(ns, clock_distance(t->since, end));
		if (ns > most && (ns || i == t->now)) {
			most = ns;
			longest = owner->priorities[i].text;
		}
	}
	return longest;
}
