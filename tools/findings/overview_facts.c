/* SPDX-License-Identifier: MIT */
#include "tools/findings/overview_facts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lib/table.h"
#include "trace/base/text.h"

int overview_facts(struct overview *o)
{
	const struct source *source = o->source;

	for (uint32_t i = 0; i < source->trace.nstreams; i++) {
		struct json *meta;

		o->repairs += source->owners[i].repairs;
		if (o->session || !source->owners[i].has_host)
			continue;
		meta = trace_metadata(&source->trace, i);
		if (!meta)
			return -EINVAL;
		if (json_is_object(json_get(meta, "bpf.session"))) {
			o->session = meta;
			o->session_stream = i;
		} else {
			json_free(meta);
		}
	}
	o->duration = clock_distance(o->findings.cpus.t0, o->findings.cpus.t1);
	for (size_t i = 0; i < o->findings.cpus.ncpus; i++) {
		const struct cpu_time *cpu = &o->findings.cpus.cpus[i];

		o->others |= cpu->other != 0 || !cpu->idle_known;
		o->idle_unknown |= !cpu->idle_known;
	}
	return overview_efficiency(o);
}

char *overview_notes(const struct overview *o)
{
	const struct findings *f = &o->findings;
	bool threads = false, ranks = false;

	for (size_t i = 0; i < f->nprocesses; i++) {
		threads |= f->processes[i].nthreads > 1;
		ranks |= f->processes[i].rank >= 0;
	}
	return xasprintf("not recorded: %s%s%s%s%s (it counts as run time)",
			 o->others ? "threads outside of the target (-a), " : "",
			 threads && !f->locks ? "locks (--why=lock), " : "",
			 ranks && !f->mpi ? "MPI (--api mpi), " : "",
			 threads && !f->openmp ? "OpenMP (--api openmp), " : "",
			 json_bool(json_get(o->session, "bpf.session.irq"))
				 ? "the time of the kernel"
				 : "the time of interrupts (--why=irq) and of the kernel");
}

char *overview_command(const struct overview *o)
{
	char *text = strdup("");
	const struct json *node;

	for (node = json_first(json_get(o->session, "bpf.session.options")); node && text;
	     node = json_next(node)) {
		char *word = shell_word(json_string(node) ? json_string(node) : "");
		char *more = word ? xasprintf("%s%s%s", text, *text ? " " : "", word) : NULL;

		free(word);
		free(text);
		text = more;
	}
	return text;
}

int64_t overview_steal(const struct overview *o, const struct cpu_time *cpu)
{
	for (size_t i = 0; i < o->findings.nsteal && !o->findings.part; i++) {
		const struct cpu_steal *steal = &o->findings.steal[i];
		const char *loom = overview_owner(o, steal->stream)->loom;

		if (steal->cpu == cpu->cpu && !strcmp(loom, cpu->loom))
			return steal->ns;
	}
	return CELL_UNKNOWN;
}

int64_t overview_used(const struct overview *o, const struct cpu_time *cpu)
{
	return clock_sum(cpu->threads, o->idle_unknown ? 0 : cpu->other);
}

int64_t thread_use_wanted(const struct thread_use *use)
{
	return clock_sum(use->run, clock_sum(use->waited, use->throttled));
}

static bool of_target(const struct findings *f, uint32_t stream)
{
	return f->processes[f->threads[stream].process].target;
}

static int by_wanted(const void *pa, const void *pb, void *arg)
{
	const struct findings *f = arg;
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
	int64_t x = thread_use_wanted(&f->threads[a]), y = thread_use_wanted(&f->threads[b]);
	bool part = f->source->owners[a].accelerator; /* it always "runs" */

	if (part != f->source->owners[b].accelerator)
		return part ? 1 : -1;
	if (of_target(f, a) != of_target(f, b))
		return of_target(f, a) ? -1 : 1;
	if (x != y)
		return x < y ? 1 : -1;
	return a < b ? -1 : a > b;
}

uint32_t *overview_order(const struct overview *o)
{
	size_t n = o->source->trace.nstreams;
	uint32_t *order = calloc(n + 1, sizeof(*order));

	for (uint32_t i = 0; order && i < n; i++)
		order[i] = i;
	if (order && n)
		qsort_r(order, n, sizeof(*order), by_wanted, (void *)&o->findings);
	return order;
}

/* The longest stay of a kind, of a thread or of the threads of its process. */
static void place_longest(const struct findings *f, bool process, int use,
			  struct finding_place *place)
{
	const uint32_t first = place->stream;
	const struct time_stays *longest = NULL;

	for (uint32_t i = 0; i < f->source->trace.nstreams; i++) {
		const struct time_stays *stays =
			thread_time_stays(&f->times.threads[i], (enum time_use)use);
		bool member =
			process ? f->threads[i].process == f->threads[first].process : i == first;

		if (!member || !stays->max || (longest && stays->max <= longest->max))
			continue;
		longest = stays;
		place->stream = i;
	}
	if (!longest)
		return;
	place->begin = clock_distance(f->start, longest->max_at);
	place->end = clock_sum(place->begin, longest->max);
	place->exact = true;
}

/* The wait that ended at NUMBER_MOST_AT, of a thread of the process. */
static void place_wait(const struct findings *f, const struct finding *finding,
		       struct finding_place *place)
{
	const int64_t *n = finding->numbers;
	const uint32_t process = f->threads[place->stream].process;

	for (uint32_t i = 0; i < f->source->trace.nstreams; i++)
		if (finding->who.kind != PARTY_THREAD && f->threads[i].process == process &&
		    f->threads[i].wait_most == n[NUMBER_MOST] &&
		    clock_distance(f->start, f->threads[i].wait_most_at) == n[NUMBER_MOST_AT])
			place->stream = i;
	place->end = n[NUMBER_MOST_AT];
	place->begin = clock_distance(n[NUMBER_MOST], place->end);
	place->exact = true;
}

struct finding_place finding_place(const struct overview *o, const struct finding *finding)
{
	const struct findings *f = &o->findings;
	const struct finding_party *party =
		finding->by.kind != PARTY_NONE && !finding_has(finding, NUMBER_MOST_AT)
			? &finding->by /* the holder of the lock, the late or the busiest one */
			: &finding->who;
	struct finding_place place = {.stream = party->stream, .cpu = party->cpu};
	bool process = party->kind != PARTY_THREAD;

	place.begin = clock_distance(f->start, f->threads[place.stream].first);
	place.end = clock_distance(f->start, f->threads[place.stream].last);
	if (party->kind == PARTY_CPU) {
		place.begin = clock_distance(f->start, f->first);
		place.end = clock_distance(f->start, f->last);
	} else if (finding->kind == FINDING_OWNER) {
		place.stream = finding->waiter;
		place.end = finding->numbers[NUMBER_MOST_AT];
		place.begin = clock_distance(finding->numbers[NUMBER_MOST], place.end);
		place.exact = true;
	} else if (finding_has(finding, NUMBER_MOST_AT)) {
		place_wait(f, finding, &place);
	} else if (finding->kind == FINDING_QUOTA) {
		place_longest(f, process, TIME_WAITING + WAIT_THROTTLED, &place);
	} else if (finding->kind == FINDING_IO) {
		place_longest(f, process, TIME_ASLEEP + OFF_CPU_IO, &place);
	} else if (finding->kind == FINDING_BLOCKED) {
		place_longest(f, process, TIME_ASLEEP + OFF_CPU_UNINTERRUPTIBLE, &place);
	}
	return place;
}

void overview_fini(struct overview *o)
{
	findings_fini(&o->findings);
	json_free(o->session);
	free(o->efficiency);
	o->session = NULL;
	o->efficiency = NULL;
}
