/* SPDX-License-Identifier: MIT */
#include "trace/states/cpu_time.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/log.h"

int account_span(struct account *a, uint32_t who, int32_t cpu, int64_t from, int64_t to)
{
	return pairs_add(&a->spans, who, cpu, clock_distance(from, to), from) ? 0 : -ENOMEM;
}

static struct account_cpu *cpu_of(struct account *a, const char *loom, int32_t cpu)
{
	for (size_t i = 0; i < a->ncpus; i++)
		if (a->cpus[i].cpu == cpu && !strcmp(a->cpus[i].loom, loom))
			return &a->cpus[i];
	if (a->ncpus == a->room) {
		size_t room = a->room ? 2 * a->room : 16;
		void *grown = realloc(a->cpus, room * sizeof(*a->cpus));

		if (!grown)
			return NULL;
		a->cpus = grown;
		a->room = room;
	}
	a->cpus[a->ncpus] = (struct account_cpu){.loom = strdup(loom), .cpu = cpu};
	if (!a->cpus[a->ncpus].loom)
		return NULL;
	return &a->cpus[a->ncpus++];
}

/* The CPUs that the metadata of a stream declares, and what its session tells of them. */
static int take_metadata(struct account *a, const struct json *meta, const char *loom)
{
	const struct json *session = json_get(meta, "bpf.session");
	uint64_t t0, t1;

	for (const struct json *node = json_first(json_get(meta, "ovni.loom_cpus")); node;
	     node = json_next(node))
		if (!cpu_of(a, loom, (int32_t)json_int(json_key(node, "index"))))
			return -ENOMEM;
	if (json_u64(json_get(session, "t0"), &t0) && json_u64(json_get(session, "t1"), &t1) &&
	    t0 <= t1 && t1 <= INT64_MAX) {
		a->t0 = a->session && a->t0 < (int64_t)t0 ? a->t0 : (int64_t)t0;
		a->t1 = a->session && a->t1 > (int64_t)t1 ? a->t1 : (int64_t)t1;
		a->session = true;
	}
	for (const struct json *node = json_first(json_get(session, "cpus")); node;
	     node = json_next(node)) {
		const struct json *ns = json_key(node, "ns");
		struct account_cpu *cpu =
			cpu_of(a, loom, (int32_t)json_int(json_key(node, "index")));
		uint64_t idle = 0, other = 0, unknown = 0;

		if (!cpu)
			return -ENOMEM;
		if (!json_is_object(ns))
			continue;
		(void)json_u64(json_key(ns, "idle"), &idle);
		(void)json_u64(json_key(ns, "other"), &other);
		(void)json_u64(json_key(ns, "unknown"), &unknown);
		if ((idle | other | unknown) >> 62)
			continue; /* no time of this world */
		cpu->told = true;
		cpu->idle = (int64_t)idle;
		cpu->other = (int64_t)other;
		cpu->unknown = (int64_t)unknown;
	}
	return 0;
}

static int compare(const void *pa, const void *pb)
{
	const struct account_cpu *a = pa, *b = pb;
	int order = strcmp(a->loom, b->loom);

	return order ? order : a->cpu < b->cpu ? -1 : a->cpu > b->cpu;
}

/* Makes the parts add up: what the events and the session disagree on is idle or unknown. */
static void balance(struct account_cpu *cpu, int64_t window)
{
	int64_t left = clock_distance(cpu->threads, window);

	cpu->window = window;
	if (left < 0) {
		cpu->twice = clock_distance(left, 0);
		left = 0;
	}
	if (cpu->unknown > left)
		cpu->unknown = left;
	left -= cpu->unknown;
	if (cpu->other > left)
		cpu->other = left;
	cpu->idle = left - cpu->other;
}

int account_finish(struct account *a, const struct runs *runs)
{
	const struct source *source = runs->source;
	int err = 0;

	for (size_t i = 0; i < source->trace.nstreams && !err; i++) {
		const char *loom = source->owners[i].loom;
		struct json *meta = trace_metadata(&source->trace, i);

		if (!meta)
			return -EINVAL;
		err = take_metadata(a, meta, loom ? loom : "");
		json_free(meta);
	}
	if (!a->session) {
		a->t0 = runs->first;
		a->t1 = runs->last;
	}
	for (size_t i = 0; i < a->spans.room && !err; i++) {
		const struct pair *p = &a->spans.places[i];
		const char *loom;
		struct account_cpu *cpu;

		if (!p->count || p->b < 0)
			continue;
		loom = source->owners[p->a].loom;
		cpu = cpu_of(a, loom ? loom : "", (int32_t)p->b);
		if (cpu)
			cpu->threads = clock_sum(cpu->threads, p->sum);
		else
			err = -ENOMEM;
	}
	if (err) {
		log_error("%s: no memory for the account of the CPUs", source->trace.path);
		return err;
	}
	if (a->ncpus)
		qsort(a->cpus, a->ncpus, sizeof(*a->cpus), compare);
	for (size_t i = 0; i < a->ncpus; i++)
		balance(&a->cpus[i], clock_distance(a->t0, a->t1));
	return 0;
}

void account_free(struct account *a)
{
	pairs_free(&a->spans);
	for (size_t i = 0; i < a->ncpus; i++)
		free(a->cpus[i].loom);
	free(a->cpus);
	memset(a, 0, sizeof(*a));
}
