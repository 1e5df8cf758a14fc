/* SPDX-License-Identifier: MIT */
/*
 * findings on interrupts: the part of the run time of a thread, or of a process, that interrupt
 * handlers took (--why=irq), with the kind of handler that took most of its CPU. Thresholds:
 * ovni-report(1).
 */
#include "trace/analysis/findings_rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
