/* SPDX-License-Identifier: MIT */
/*
 * seen: the stays that follow from the records of ftrace, and the idle time of the CPUs.
 *
 * In: the records of ftrace.h; out: threads[]->seen (of tid 0: the idle times) and cpus[]. A hole
 * (the thread that leaves is not the one that should run) is mended by the recorder's rule, and
 * counted.
 *
 * On some machines ftrace sees no switch away from an idle CPU (but the first one), although the
 * tracepoint fires and BPF programs see it. That a thread is on such a CPU follows from its next
 * event there; it came between its wake-up and that event, which the scheduler's own account of its
 * time (FTRACE_RUNTIME) narrows to a few us.
 */
#ifndef TESTS_LIVE_SEEN_H
#define TESTS_LIVE_SEEN_H

#include "ftrace.h"
#include "stays.h"

#define EXEC_MAX 2000000000u /* ns from a new tid to the end of its exec */

static uint64_t holes_seen;	  /* in the window, of threads wanted */
static uint64_t unseen[MAX_CPUS]; /* stays that began without a switch */

static const struct ftrace_record *records;
static uint64_t nrecords;
static struct {
	uint64_t at, end, idle, since;
	int tid; /* should run here; NOBODY: unknown */
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

/* The thread `tid` enters `cpu` at `clock`, or did so up to `slack` before, by record i. */
static struct stay *enters(int cpu, int tid, uint64_t i, uint64_t clock, uint64_t slack)
{
	struct thread *thread = thread_of(tid);
	struct stay *stay = stays_add(&thread->seen);

	cpus[cpu].tid = tid;
	cpus[cpu].since = clock;
	thread->on_cpu = cpu;
	stay->cpu = (int16_t)cpu;
	stay->in = clock;
	stay->in_slack = slack;
	stay->in_next = next_clock(i);
	stay->out = UINT64_MAX;
	stay->leave = STILL_THERE;
	stay->woken = thread->woken;
	stay->waking = thread->woken ? thread->waking : 0;
	stay->waker = thread->waker;
	stay->hidden = thread->wake_hidden;
	thread->woken = 0;
	thread->blocked = false;
	return stay;
}

/* The thread that should run on `cpu` leaves it at `clock`, or did so up to `slack` before. */
static void leaves(int cpu, uint64_t i, uint64_t clock, enum leave leave, uint64_t slack)
{
	int tid = cpus[cpu].tid;
	struct thread *thread;
	struct stay *stay;

	cpus[cpu].tid = NOBODY;
	if (tid == NOBODY)
		return;
	if (tid == 0)
		cpus[cpu].idle += in_window(clock) - in_window(cpus[cpu].since);
	thread = thread_of(tid);
	thread->on_cpu = NOBODY;
	thread->blocked = leave == BLOCKED;
	/* a thread that leaves has come: there is a stay */
	stay = &thread->seen.list[thread->seen.n - 1];
	for (; stay->cpu != cpu; stay--) /* NOLINT(clang-analyzer-core.NullDereference) */
		;			 /* the idle task is on several */
	stay->out = clock;
	stay->out_slack = slack;
	stay->out_next = next_clock(i);
	stay->leave = (uint8_t)leave;
	stay->state = (uint8_t)records[i].state;
	if (leave == LOST && tid && thread->wanted && !thread->hidden && clock > t0 && clock < t1)
		holes_seen++;
}

/* The tid that the thread called `tid` now had before, if it is in the middle of an exec and was
 * not the leader of its process; else 0. (The old leader, if it has not gone yet, has
 * that tid now.) */
static int old_tid(int tid, uint64_t i)
{
	uint64_t k, clock = records[i].clock, first = clock + EXEC_MAX;
	int found = 0;

	for (k = 0; k < nrecords; k++) {
		if (records[k].kind == FTRACE_EXEC && records[k].a == tid &&
		    records[k].clock >= clock && records[k].clock < first) {
			first = records[k].clock;
			found = records[k].b;
		}
	}
	return found == tid ? 0 : found;
}

static void take_new_tid(int cpu, int tid, uint64_t i)
{
	const struct thread *thread = thread_of(cpus[cpu].tid);
	const struct stay *stay = &thread->seen.list[thread->seen.n - 1];
	uint64_t clock = records[i].clock;
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): who has a CPU has a stay */
	uint64_t slack = clock - (stay->in - stay->in_slack);
	bool wanted = thread->wanted;

	leaves(cpu, i, clock, ENDED, slack);
	thread_of(tid)->wanted = wanted;
	enters(cpu, tid, i, clock, slack);
}

/* `tid` is lost from the CPU on which it should run, if that is another one. */
static void take_away(int tid, int but_from, uint64_t i)
{
	int cpu = tid > 0 ? thread_of(tid)->on_cpu : NOBODY;

	if (cpu != NOBODY && cpu != but_from)
		leaves(cpu, i, records[i].clock, LOST, records[i].clock - cpus[cpu].since);
}

/* `tid` is on `cpu`, which should be idle, since record i at the latest. */
static void find(int cpu, int tid, uint64_t i)
{
	const struct stays *stays = &thread_of(tid)->seen;
	bool dead = stays->n && stays->list[stays->n - 1].leave == ENDED;
	uint64_t first = cpus[cpu].since, clock = records[i].clock;
	int before = old_tid(tid, i);
	struct thread *thread;

	/* A leader that lives is itself, unless it is the other one that was woken. */
	if (!before || (!dead && !thread_of(before)->woken))
		before = tid;
	thread = thread_of(before);

	if (thread->woken > first)
		first = thread->woken;
	if (clock < first)
		clock = first;
	leaves(cpu, i, clock, BLOCKED, 0);
	take_away(before, cpu, i);
	enters(cpu, before, i, clock, clock - first)->unseen = true;
	unseen[cpu]++; /* a new tid counts from the next switch, as for the recorder */
}

/* The time that the scheduler has counted for the running thread since it came, or since its last
 * count. */
static void take_runtime(const struct ftrace_record *record)
{
	uint64_t came = record->clock - record->state;
	struct thread *thread = thread_of(record->a);
	struct stay *stay;

	if (record->a <= 0 || cpus[record->cpu].tid != record->a)
		return;
	stay = &thread->seen.list[thread->seen.n - 1];
	if (came < stay->in - stay->in_slack) /* NOLINT(clang-analyzer-core.NullDereference) */
		came = stay->in - stay->in_slack;
	if (!stay->unseen || came >= stay->in)
		return;
	cpus[record->cpu].idle -= in_window(stay->in) - in_window(came);
	stay->in_slack -= stay->in - came;
	stay->in = came;
}

/* Another thread than the running one leaves the CPU. */
static void mend(const struct ftrace_record *record, uint64_t i)
{
	int cpu = record->cpu;
	bool first = cpus[cpu].tid == NOBODY && !cpus[cpu].since;
	uint64_t slack = record->clock - cpus[cpu].since;

	if (cpus[cpu].tid > 0 && old_tid(record->a, i) == cpus[cpu].tid) {
		take_new_tid(cpu, record->a, i);
		return;
	}
	leaves(cpu, i, record->clock, LOST, slack);
	take_away(record->a, cpu, i);
	/* The first thread to leave has run since before the file begins. Else the wake-up came
	 * with the switch that nobody saw. */
	if (first)
		enters(cpu, record->a, i, 0, 0);
	else
		enters(cpu, record->a, i, record->clock, slack)->woken = 0;
}

static void take_switch(const struct ftrace_record *record, uint64_t i)
{
	int cpu = record->cpu, believed = cpus[cpu].tid;
	bool exchanged = believed > 0 && believed != record->a && old_tid(believed, i) == record->a;

	/* A replaced leader dies under the tid of the thread that replaces it. */
	if (believed != record->a && !exchanged)
		mend(record, i);
	leaves(cpu, i, record->clock, leave_of(record->state), 0);
	take_away(record->b, cpu, i);
	enters(cpu, record->b, i, record->clock, 0)->loose = thread_of(record->a)->hidden;
}

static void take_record(uint64_t i)
{
	const struct ftrace_record *record = &records[i];
	struct thread *thread;

	if (cpus[record->cpu].tid == 0 && record->current > 0 &&
	    !thread_of(record->current)->hidden)
		find(record->cpu, record->current, i);
	switch (record->kind) {
	case FTRACE_SWITCH:
		take_switch(record, i);
		break;
	case FTRACE_WAKING:
		thread = thread_of(record->a);
		if (!thread->woken)
			thread->waking = record->clock;
		thread->waking_by = record->current;
		if (record->flags & (FTRACE_HARDIRQ | FTRACE_SOFTIRQ | FTRACE_NMI))
			thread->waking_by = -2;
		thread->wake_hidden = thread_of(record->current)->hidden;
		break;
	case FTRACE_WAKEUP:
		thread = thread_of(record->a);
		if (thread->blocked && !thread->woken) {
			thread->woken = record->clock;
			thread->waker = thread->waking_by;
			thread->wake_hidden |= thread_of(record->current)->hidden;
		}
		break;
	case FTRACE_FORK:
		thread = thread_of(record->b);
		thread->wanted = thread->root || thread_of(record->a)->wanted;
		thread->waking_by = 0;
		break;
	case FTRACE_EXEC:
		if (record->a != record->b && cpus[record->cpu].tid == record->b)
			take_new_tid(record->cpu, record->a, i);
		break;
	case FTRACE_RUNTIME:
		take_runtime(record);
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
