/* SPDX-License-Identifier: MIT */
/*
 * seen: the stays that follow from what ftrace saw, and the idle time of the CPUs.
 *
 * In: the records of ftrace.h; out: threads[]->seen and cpus[]. A hole (the thread that
 * leaves is not the one believed to run) is mended by the rule that holds for the recorder,
 * too, and counted.
 */
#ifndef TESTS_LIVE_SEEN_H
#define TESTS_LIVE_SEEN_H

#include "ftrace.h"
#include "stays.h"

static uint64_t holes_seen; /* in the window, of threads wanted */

static const struct ftrace_record *records;
static uint64_t nrecords;
static struct {
	uint64_t at, end, idle, since;
	int tid; /* believed to run here; NOBODY: not known */
} cpus[MAX_CPUS];
static int ncpus;

static uint64_t next_clock(uint64_t i)
{
	if (i + 1 < nrecords && records[i + 1].cpu == records[i].cpu)
		return records[i + 1].clock;
	return UINT64_MAX;
}

static enum leave leave_of(uint32_t state)
{
	if (state & FTRACE_DEAD)
		return ENDED;
	return state & FTRACE_BLOCKED ? BLOCKED : PREEMPTED;
}

static uint64_t in_window(uint64_t clock)
{
	return clock < t0 ? t0 : clock > t1 ? t1 : clock;
}

/* The thread `tid` enters `cpu` at record i, or did so up to `slack` before. */
static void enters(int cpu, int tid, uint64_t i, uint64_t clock, uint64_t slack)
{
	struct thread *thread = thread_of(tid);
	struct stay *stay;

	cpus[cpu].tid = tid;
	cpus[cpu].since = clock;
	if (tid == 0)
		return;
	thread->on_cpu = cpu;
	stay = stays_add(&thread->seen);
	stay->cpu = (int16_t)cpu;
	stay->in = clock;
	stay->in_slack = slack;
	stay->in_next = next_clock(i);
	stay->out = UINT64_MAX;
	stay->leave = STILL_THERE;
	stay->woken = thread->woken;
	stay->waker = thread->waker;
	thread->woken = 0;
	thread->blocked = false;
}

static void leaves(int cpu, uint64_t i, enum leave leave, uint64_t slack)
{
	uint64_t clock = records[i].clock;
	struct thread *thread;
	struct stay *stay;

	if (cpus[cpu].tid == 0)
		cpus[cpu].idle += in_window(clock) - in_window(cpus[cpu].since);
	if (cpus[cpu].tid > 0) {
		thread = thread_of(cpus[cpu].tid);
		thread->on_cpu = NOBODY;
		thread->blocked = leave == BLOCKED;
		if (thread->seen.n) {
			stay = &thread->seen.list[thread->seen.n - 1];
			stay->out = clock;
			stay->out_slack = slack;
			stay->out_next = next_clock(i);
			stay->leave = (uint8_t)leave;
			stay->state = (uint8_t)records[i].state;
		}
		if (leave == LOST && thread->wanted && clock > t0 && clock < t1)
			holes_seen++;
	}
	cpus[cpu].tid = NOBODY;
}

/* True if the thread believed to run on this CPU goes by the tid of `prev` now: it
 * has called exec without being the leader of its process. */
static bool changed_tid(int believed, int prev, uint64_t i)
{
	uint64_t k, clock = records[i].clock;

	if (believed <= 0)
		return false;
	for (k = 0; k < nrecords; k++) {
		if (records[k].kind == FTRACE_EXEC && records[k].a == prev &&
		    records[k].b == believed && records[k].clock >= clock)
			return true;
	}
	return false;
}

static void take_new_tid(int cpu, int tid, uint64_t i)
{
	uint64_t slack = records[i].clock - cpus[cpu].since;
	bool wanted = thread_of(cpus[cpu].tid)->wanted;

	leaves(cpu, i, ENDED, slack);
	thread_of(tid)->wanted = wanted;
	enters(cpu, tid, i, records[i].clock, slack);
}

static void take_away(int tid, int but_from, uint64_t i)
{
	int cpu = tid > 0 ? thread_of(tid)->on_cpu : NOBODY;

	if (cpu != NOBODY && cpu != but_from)
		leaves(cpu, i, LOST, 0);
}

static void take_switch(const struct ftrace_record *record, uint64_t i)
{
	int cpu = record->cpu;

	if (cpus[cpu].tid != record->a) {
		if (changed_tid(cpus[cpu].tid, record->a, i)) {
			take_new_tid(cpu, record->a, i);
		} else {
			bool first = cpus[cpu].tid == NOBODY && !cpus[cpu].since;

			leaves(cpu, i, LOST, 0);
			take_away(record->a, cpu, i);
			/* Who leaves first has been there since before the file begins. */
			enters(cpu, record->a, i, first ? 0 : record->clock, 0);
		}
	}
	leaves(cpu, i, leave_of(record->state), 0);
	take_away(record->b, cpu, i);
	enters(cpu, record->b, i, record->clock, 0);
}

static void take_record(uint64_t i)
{
	const struct ftrace_record *record = &records[i];
	struct thread *thread;

	switch (record->kind) {
	case FTRACE_SWITCH:
		take_switch(record, i);
		break;
	case FTRACE_WAKING:
		thread = thread_of(record->a);
		thread->waking_by = record->current;
		if (record->flags & (FTRACE_HARDIRQ | FTRACE_SOFTIRQ | FTRACE_NMI))
			thread->waking_by = -2;
		break;
	case FTRACE_WAKEUP:
		thread = thread_of(record->a);
		if (thread->blocked && !thread->woken) {
			thread->woken = record->clock;
			thread->waker = thread->waking_by;
		}
		break;
	case FTRACE_FORK:
		thread = thread_of(record->b);
		thread->wanted = thread_of(record->a)->wanted;
		thread->waking_by = 0;
		break;
	case FTRACE_EXEC:
		if (record->a != record->b && cpus[record->cpu].tid == record->b)
			take_new_tid(record->cpu, record->a, i);
		break;
	}
}

/* All records in the order of their clocks, CPU by CPU in theirs. */
static void read_ftrace(const char *path)
{
	const struct ftrace_header *header;
	size_t size;
	uint64_t i;
	int cpu;

	header = map_file(path, &size);
	if (size < sizeof(*header) || memcmp(header->magic, FTRACE_MAGIC, sizeof(FTRACE_MAGIC)) ||
	    (size - sizeof(*header)) / sizeof(*records) < header->nrecords)
		fail("%s is not a record of ftrace", path);
	records = (const struct ftrace_record *)(header + 1);
	nrecords = header->nrecords;
	for (i = 0; i < nrecords; i++) {
		cpu = records[i].cpu;
		if (cpu >= MAX_CPUS)
			fail("CPU %d", cpu);
		if (!cpus[cpu].end)
			cpus[cpu].at = i;
		cpus[cpu].end = i + 1;
		cpus[cpu].tid = NOBODY;
		ncpus = cpu >= ncpus ? cpu + 1 : ncpus;
	}
	for (;;) {
		int best = NOBODY;

		for (cpu = 0; cpu < ncpus; cpu++) {
			if (cpus[cpu].at < cpus[cpu].end &&
			    (best == NOBODY ||
			     records[cpus[cpu].at].clock < records[cpus[best].at].clock))
				best = cpu;
		}
		if (best == NOBODY)
			break;
		take_record(cpus[best].at++);
	}
	for (cpu = 0; cpu < ncpus; cpu++) {
		if (cpus[cpu].tid == 0)
			cpus[cpu].idle += t1 - in_window(cpus[cpu].since);
	}
}

#endif
