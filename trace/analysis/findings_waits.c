/* SPDX-License-Identifier: MIT */
/*
 * findings on waits: for a CPU, by the threads that had it; for a CPU quota; for I/O and other
 * uninterruptible sleeps; and on the time that a hypervisor took, and interrupts. Rules and
 * thresholds: ovni-report(1).
 */
#include "trace/analysis/findings_rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/states/pairs.h"

#define STEAL_TICK 10000000 /* ns: the kernel counts in these (event-mapping.md, "Steal") */

_Static_assert(CHARGED_CLASSES <= CULPRIT_CLASSES, "each class of culprits has its sum");
_Static_assert((int)CHARGED_OWN == PARTY_OWN && (int)CHARGED_RANK == PARTY_OF_RANK &&
		       (int)CHARGED_OTHER == PARTY_OTHER &&
		       (int)CHARGED_KERNEL == PARTY_OF_KERNEL &&
		       (int)CHARGED_UNKNOWN == PARTY_UNKNOWN,
	       "the classes of culprits.h");

static enum culprit_class class_of(const struct findings *f, uint32_t victim, int64_t culprit)
{
	const uint32_t *parties = f->state->parties;

	if (culprit <= CULPRIT_OTHERS && culprit > CULPRIT_OTHERS - CHARGED_CLASSES)
		return (enum culprit_class)(CULPRIT_OTHERS - culprit);
	if (culprit < 0)
		return culprit == CULPRIT_IDLE ? CHARGED_IDLE : CHARGED_UNKNOWN;
	return (enum culprit_class)party_class(parties[victim], parties[culprit]);
}

/* After the metadata. Apart from struct thread_use, to stay in the caches. */
int findings_list_parties(struct findings *f)
{
	size_t n = f->source->trace.nstreams;
	uint32_t *parties = calloc(n + 1, sizeof(*parties));

	f->culprits.parties = f->state->parties = parties;
	if (!parties)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		uint32_t process = f->threads[i].process;

		parties[i] = process | (f->threads[i].kernel ? PARTY_KERNEL : 0) |
			     (f->processes[process].rank >= 0 ? PARTY_RANKED : 0);
	}
	return 0;
}

/* Charges the waits of threads to classes, and sorts the pairs by the process of the victim. */
int findings_take_charges(struct findings *f)
{
	const struct culprits *culprits = &f->culprits;
	struct findings_state *s = f->state;

	s->pairs = calloc(culprits->npairs + 1, sizeof(*s->pairs));
	s->sums = calloc(f->source->trace.nstreams + 1, sizeof(*s->sums));
	if (!s->pairs || !s->sums)
		return -ENOMEM;
	for (size_t i = 0; i < culprits->npairs; i++) {
		const struct culprit_pair *pair = &culprits->pairs[i];
		struct thread_use *victim = &f->threads[pair->victim];
		struct process_use *process = &f->processes[victim->process];
		enum culprit_class class = class_of(f, pair->victim, pair->culprit);

		process->npairs++;
		if (pair->culprit == CULPRIT_QUOTA)
			continue; /* thread_use.throttled */
		victim->charged[class] = clock_sum(victim->charged[class], pair->ns);
		victim->waited = clock_sum(victim->waited, pair->ns);
		process->charged[class] = clock_sum(process->charged[class], pair->ns);
		process->waited = clock_sum(process->waited, pair->ns);
	}
	for (size_t p = 1; p < f->nprocesses; p++)
		f->processes[p].pairs = f->processes[p - 1].pairs + f->processes[p - 1].npairs;
	for (size_t p = 0; p < f->nprocesses; p++)
		f->processes[p].npairs = 0;
	for (uint32_t i = 0; i < culprits->npairs; i++) {
		struct process_use *process =
			&f->processes[f->threads[culprits->pairs[i].victim].process];

		s->pairs[process->pairs + process->npairs++] = i;
	}
	return 0;
}

/* The thread with the greatest charge of a class: of one victim, or of all threads of a process
 * (victim: NO_STREAM). NO_STREAM if there is none, or if so many culprits were summed up that it
 * may lack more than FINDING_SURE_PERCENT of its time. */
struct top {
	uint32_t stream;
	int64_t ns;
};

static struct top top_culprit(const struct findings *f, const struct group *group, uint32_t victim,
			      enum culprit_class class)
{
	const struct process_use *p = &f->processes[group->process];
	const uint32_t *pairs = f->state->pairs + p->pairs;
	int64_t *sums = f->state->sums, missing = 0;
	struct top top = {NO_STREAM, 0};

	for (uint32_t i = 0; i < p->npairs; i++) {
		const struct culprit_pair *pair = &f->culprits.pairs[pairs[i]];

		if (pair->culprit < 0 || (victim != NO_STREAM && pair->victim != victim) ||
		    class_of(f, pair->victim, pair->culprit) != class)
			continue;
		sums[pair->culprit] = clock_sum(sums[pair->culprit], pair->ns);
	}
	for (uint32_t i = 0; i < p->npairs; i++) {
		int64_t culprit = f->culprits.pairs[pairs[i]].culprit;

		if (culprit < 0)
			continue;
		if (sums[culprit] > top.ns ||
		    (sums[culprit] && sums[culprit] == top.ns && culprit < top.stream))
			top = (struct top){(uint32_t)culprit, sums[culprit]};
		sums[culprit] = 0;
	}
	for (size_t i = 0; i < group->n; i++)
		if (victim == NO_STREAM || victim == group->members[i])
			missing = clock_sum(missing,
					    culprits_missing(&f->culprits, group->members[i]));
	if (missing > top.ns / 100 * FINDING_SURE_PERCENT)
		return (struct top){NO_STREAM, 0};
	return top;
}

static struct top top_victim(const struct findings *f, const struct group *group,
			     enum culprit_class class)
{
	struct top top = {NO_STREAM, 0};

	for (size_t i = 0; i < group->n; i++) {
		int64_t ns = f->threads[group->members[i]].charged[class];

		if (ns > top.ns)
			top = (struct top){group->members[i], ns};
	}
	return top;
}

/* Of threads without a stream only the number of times is known that they took the CPU. */
static int put_taker(const struct findings *f, struct finding *finding, uint32_t process)
{
	const struct process_use *p = &f->processes[process];
	struct pairs takers = {0}; /* (tid, 0): times */
	const struct pair *top = NULL;
	int err = -ENOMEM;

	for (uint32_t i = 0; i < p->npairs; i++) {
		const struct culprit_pair *pair = &f->culprits.pairs[f->state->pairs[p->pairs + i]];

		if (CULPRIT_IS_TID(pair->culprit) &&
		    !pairs_add(&takers, CULPRIT_TID_OF(pair->culprit), 0, pair->first, 0))
			goto out;
	}
	for (size_t i = 0; i < takers.n; i++)
		if (takers.list[i].sum > (top ? top->sum : 0))
			top = &takers.list[i];
	if (top) {
		finding_put(finding, NUMBER_TAKER, top->a);
		finding_put(finding, NUMBER_COUNT, top->sum);
	}
	err = 0;
out:
	pairs_free(&takers);
	return err;
}

static const enum finding_kind kind_of_class[CHARGED_CLASSES] = {
	[CHARGED_OWN] = FINDING_SHARED,	     [CHARGED_RANK] = FINDING_RANKS_SHARE,
	[CHARGED_OTHER] = FINDING_NEIGHBOUR, [CHARGED_KERNEL] = FINDING_KERNEL,
	[CHARGED_IDLE] = FINDING_IDLE,	     [CHARGED_UNKNOWN] = FINDING_UNKNOWN,
};

/* The CPU of the threads of a process; CPU_NONE: several. */
static int32_t only_cpu(const struct findings *f, const struct group *group)
{
	int32_t cpu = CPU_NONE;
	bool any = false;

	for (size_t i = 0; i < group->n; i++) {
		const struct thread_use *use = &f->threads[group->members[i]];

		if (!use->runs)
			continue;
		if (any && use->cpu != cpu)
			return CPU_NONE;
		cpu = use->cpu;
		any = true;
	}
	return cpu;
}

/* Threads of a process that waited for at least FINDING_WAIT_PERCENT. */
static int64_t waiting_threads(const struct findings *f, const struct group *group)
{
	int64_t n = 0;

	for (size_t i = 0; i < group->n; i++) {
		const struct thread_use *use = &f->threads[group->members[i]];

		n += use->waited &&
		     use->waited / FINDING_WAIT_PERCENT >= clock_sum(use->run, use->waited) / 100;
	}
	return n;
}

/* Waits of a process for a CPU, by the class of the threads that had it. */
int findings_of_waits(struct findings *f, const struct group *group)
{
	uint32_t process = group->process;
	const struct process_use *p = &f->processes[process];

	for (int class = 0; class < CHARGED_CLASSES; class ++) {
		int64_t ns = p->charged[class];
		struct top victim, culprit;
		const struct thread_use *use;
		struct finding *finding;
		bool one;

		if (!findings_worth(f, ns) ||
		    ns / FINDING_WAIT_PERCENT < clock_sum(p->run, p->waited) / 100)
			continue;
		victim = top_victim(f, group, class);
		/* the process, unless one thread has nearly all */
		one = victim.ns / 9 >= ns / 10;
		culprit = top_culprit(f, group, one ? victim.stream : NO_STREAM, class);
		finding = findings_add(f, kind_of_class[class], one ? victim.ns : ns,
				       one ? findings_thread(f, victim.stream)
					   : findings_process(f, process));
		if (!finding)
			return -ENOMEM;
		use = &f->threads[victim.stream];
		finding_put(finding, NUMBER_OF, one ? use->life : p->life);
		finding_put(finding, NUMBER_TIME, one ? use->waited : p->waited);
		finding_put(finding, NUMBER_BY, finding->cost);
		finding_put(finding, NUMBER_MOST, use->wait_most);
		finding_put(finding, NUMBER_MOST_AT, clock_distance(f->start, use->wait_most_at));
		if (!one)
			finding_put(finding, NUMBER_THREADS, waiting_threads(f, group));
		if (class == CHARGED_UNKNOWN && put_taker(f, finding, process))
			return -ENOMEM;
		if (culprit.stream != NO_STREAM) {
			int32_t cpu = only_cpu(f, group);

			finding->by = findings_thread(f, culprit.stream);
			finding_put(finding, NUMBER_RUN, culprit.ns);
			if (one && use->cpu >= 0)
				finding_put(finding, NUMBER_CPU, use->cpu);
			else if (!one && cpu >= 0)
				finding_put(finding, NUMBER_CPU, cpu);
		}
	}
	return 0;
}

struct call_time { /* of sleeps in one call */
	char *call;
	const char *place; /* "" if it is not known */
	int64_t ns, ns_there;
};

static int by_call(const void *pa, const void *pb)
{
	const struct call_time *a = pa, *b = pb;

	return strcmp(a->call, b->call) ? strcmp(a->call, b->call) : strcmp(a->place, b->place);
}

/* Puts the call into the finding in which the threads of a process slept longest (`only`: one of
 * them; NO_STREAM: all), and the place with most of that time. */
static int put_call(const struct findings *f, const struct group *group, uint32_t only,
		    enum off_cpu why, struct finding *finding)
{
	struct call_time *calls = NULL, *added, *top = NULL, *place = NULL;
	int err = -ENOMEM;
	size_t n = 0;

	for (size_t i = 0; i < f->blocked.nrows; i++) {
		const struct blocked_row *row = &f->blocked.rows[i];

		if (row->use != TIME_ASLEEP + why || row->call.call == CALL_UNKNOWN ||
		    (only == NO_STREAM ? f->threads[row->stream].process != group->process
				       : row->stream != only))
			continue;
		added = ARRAY_ADD(calls, n);
		if (!added)
			goto out;
		*added = (struct call_time){blocked_call(&f->blocked, row),
					    blocked_place(&f->blocked, row), row->stays.ns,
					    row->stays.ns};
		if (!added->call)
			goto out;
	}
	err = 0;
	if (!n)
		goto out;
	qsort(calls, n, sizeof(*calls), by_call);
	for (size_t i = 0, first = 0, there = 0; i < n; i++) {
		if (strcmp(calls[i].call, calls[first].call) != 0)
			first = i;
		if (i && !by_call(&calls[there], &calls[i]))
			calls[there].ns_there = clock_sum(calls[there].ns_there, calls[i].ns_there);
		else
			there = i;
		if (i != first)
			calls[first].ns = clock_sum(calls[first].ns, calls[i].ns);
		if (!top || calls[first].ns > top->ns)
			top = &calls[first];
	}
	for (size_t i = 0; i < n; i++)
		if (!strcmp(calls[i].call, top->call) && *calls[i].place &&
		    (!place || calls[i].ns_there > place->ns_there))
			place = &calls[i];
	if (place) {
		finding->place = strdup(place->place);
		err = finding->place ? 0 : -ENOMEM;
		finding_put(finding, NUMBER_PLACE, place->ns_there);
	}
	finding->call = top->call;
	top->call = NULL;
	finding_put(finding, NUMBER_CALL, top->ns);
out:
	for (size_t i = 0; i < n; i++)
		free(calls[i].call);
	free(calls);
	return err;
}

/* Throttled, sleeps for I/O, uninterruptible sleeps: sums of a process. */
int findings_of_sums(struct findings *f, const struct group *group)
{
	static const struct {
		enum finding_kind kind;
		enum off_cpu why;
	} rules[] = {{FINDING_QUOTA, OFF_CPU_THROTTLED},
		     {FINDING_IO, OFF_CPU_IO},
		     {FINDING_BLOCKED, OFF_CPU_UNINTERRUPTIBLE}};

	for (size_t rule = 0; rule < sizeof(rules) / sizeof(rules[0]); rule++) {
		bool quota = rules[rule].kind == FINDING_QUOTA;
		int64_t sum = 0, most = 0, threads = 0, span = 0, count = 0;
		uint32_t worst = NO_STREAM;
		struct finding *finding;

		for (size_t i = 0; i < group->n; i++) {
			const struct thread_use *use = &f->threads[group->members[i]];
			int64_t ns = quota ? use->throttled : use->sleep[rules[rule].why];

			if (!ns)
				continue;
			sum = clock_sum(sum, ns);
			threads++;
			span = clock_sum(span, use->life);
			count += (int64_t)use->io;
			if (ns > most)
				worst = group->members[i];
			most = ns > most ? ns : most;
		}
		if (worst == NO_STREAM || !findings_worth(f, sum) ||
		    (f->threads[worst].kernel && rules[rule].kind == FINDING_BLOCKED))
			continue;
		/* the process, unless one thread has nearly all */
		if (most / 9 >= sum / 10) {
			const struct thread_use *use = &f->threads[worst];

			sum = most;
			threads = 1;
			span = use->life;
			count = (int64_t)use->io;
		}
		finding = findings_add(f, rules[rule].kind, sum,
				       threads == 1 ? findings_thread(f, worst)
						    : findings_process(f, group->process));
		if (!finding)
			return -ENOMEM;
		finding_put(finding, NUMBER_TIME, sum);
		finding_put(finding, NUMBER_OF, span);
		finding_put(finding, NUMBER_THREADS, threads);
		if (!quota &&
		    put_call(f, group, threads == 1 ? worst : NO_STREAM, rules[rule].why, finding))
			return -ENOMEM;
		if (rules[rule].kind == FINDING_IO) {
			finding_put(finding, NUMBER_COUNT, count);
			finding_put(finding, NUMBER_MOST, f->threads[worst].io_most);
		}
	}
	return 0;
}

/* A CPU whose time the hypervisor took: the session has it for each CPU. */
int findings_of_steal(struct findings *f)
{
	for (size_t i = 0; i < f->nsteal && !f->part; i++) { /* it is of the whole window */
		const struct cpu_steal *steal = &f->steal[i];
		int64_t window = clock_distance(f->cpus.t0, f->cpus.t1);
		int64_t sure = steal->ns - STEAL_TICK;
		struct finding *finding;

		if (!findings_worth(f, sure) || sure / FINDING_STEAL_PERCENT < window / 100)
			continue;
		finding = findings_add(
			f, FINDING_STEAL, steal->ns,
			(struct finding_party){PARTY_CPU, steal->stream, -1, steal->cpu});
		if (!finding)
			return -ENOMEM;
		finding_put(finding, NUMBER_TIME, steal->ns);
		finding_put(finding, NUMBER_OF, window);
		finding_put(finding, NUMBER_CPU, steal->cpu);
	}
	return 0;
}

/* The times of a kind of handlers on one CPU of a loom (CPU_NONE: on all of them). */
static void add_kind(const struct findings *f, const char *loom, int32_t cpu, const char *kind,
		     struct cpu_irq *sum)
{
	for (size_t i = 0; i < f->cpus.ncpus; i++) {
		const struct cpu_time *at = &f->cpus.cpus[i];

		if (strcmp(at->loom, loom) || (cpu != CPU_NONE && at->cpu != cpu))
			continue;
		for (size_t k = 0; k < at->nirqs; k++) {
			if (strcmp(at->irqs[k].kind, kind) != 0)
				continue;
			sum->ns = clock_sum(sum->ns, at->irqs[k].ns);
			sum->times += at->irqs[k].times;
		}
	}
}

/* The kind with the most time. Its name belongs to the CPUs; NULL: none is known. */
static struct cpu_irq most_of_kinds(const struct findings *f, const char *loom, int32_t cpu)
{
	struct cpu_irq most = {NULL, 0, 0};

	for (size_t i = 0; i < f->cpus.ncpus && !f->part; i++) {
		const struct cpu_time *at = &f->cpus.cpus[i];

		if (strcmp(at->loom, loom) || (cpu != CPU_NONE && at->cpu != cpu))
			continue;
		for (size_t k = 0; k < at->nirqs; k++) {
			struct cpu_irq sum = {at->irqs[k].kind, 0, 0};

			add_kind(f, loom, cpu, sum.kind, &sum);
			if (sum.ns > most.ns)
				most = sum;
		}
	}
	return most;
}

int findings_of_irqs(struct findings *f, const struct group *group)
{
	int64_t sum = 0, run = 0, most = 0;
	int32_t cpu = CPU_NONE;
	uint32_t worst = NO_STREAM;
	struct finding *finding;
	struct cpu_irq kind;

	for (size_t i = 0; i < group->n; i++) {
		const struct thread_use *use = &f->threads[group->members[i]];

		if (!use->irq)
			continue;
		if (use->irq > most) {
			most = use->irq;
			worst = group->members[i];
		}
		cpu = !sum || cpu == use->cpu ? use->cpu : CPU_NONE;
		sum = clock_sum(sum, use->irq);
		run = clock_sum(run, use->run);
	}
	if (worst == NO_STREAM)
		return 0;
	if (most / 9 >= sum / 10) { /* the process, unless one thread has nearly all */
		sum = most;
		run = f->threads[worst].run;
		cpu = f->threads[worst].cpu;
	}
	if (!findings_worth(f, sum) || sum / FINDING_IRQ_PERCENT < run / 100)
		return 0;
	finding = findings_add(f, FINDING_IRQ, sum,
			       sum == most ? findings_thread(f, worst)
					   : findings_process(f, group->process));
	if (!finding)
		return -ENOMEM;
	finding_put(finding, NUMBER_TIME, sum);
	finding_put(finding, NUMBER_OF, run);
	if (cpu != CPU_NONE)
		finding_put(finding, NUMBER_CPU, cpu);
	kind = most_of_kinds(f, findings_loom(f, group->process), cpu);
	if (!kind.kind)
		return 0;
	finding_put(finding, NUMBER_BY, kind.ns);
	finding_put(finding, NUMBER_COUNT, (int64_t)(kind.times >> 62 ? INT64_MAX : kind.times));
	finding->irq = strdup(kind.kind);
	return finding->irq ? 0 : -ENOMEM;
}
