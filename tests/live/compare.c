/* SPDX-License-Identifier: MIT */
/*
 * compare: compares a trace of the recorder with the kernel's own tracer.
 *
 *   compare [-w TID]... [-l] [-u NS] T0 T1 FTRACE TRACE
 *
 * In: the record of ftrace.c, a trace, and the window of its session (ns). Both are turned into
 * stays: the times of each thread on a CPU, with begin, end and the reason of the end. The trace
 * must have every stay of ftrace and no other, on the same CPU, with ends within 20 us, and equally
 * blocked or preempted; every wake-up must have its time and its waker. Stays are cut at the
 * window.
 *
 *   -w TID  only this thread and its children must be in the trace (else: all)
 *   -l      the trace has lost events: print differences, but do not fail
 *   -u NS   time of the CPUs that the recorder calls unknown
 *
 * The last line is key=value; status 0 only if nothing differs.
 *
 * Ends beyond 20 us: on a virtual machine the host may stop a CPU between the two
 * readings of one switch. Such an end is accepted if ours lies before the next event of that CPU.
 * There may be 5 (of fewer than 100 ends: 1 in 20), and 1 in 25 more: with many new processes 1 in
 * 50 was seen.
 *
 * Wake-ups: the trace has the time when the scheduler puts a thread on a queue, between
 * sched_waking and sched_wakeup. In between the scheduler may send an interrupt to the CPU, which a
 * host may delay: a wake-up more than 20 us before sched_wakeup is accepted if it is not before
 * sched_waking and most others are closer (`wakeups_before`: 5, and 1 in 4).
 *
 * Holes: no instrument sees some switches (those made by PID 1 on some machines): then the thread
 * that leaves is not the one that should run. The same rule is applied to both: the expected thread
 * has left, lost, and the other one has come. Where ftrace saw no beginning (`unseen`, see seen.h)
 * it must lie within 100 us of what follows.
 * Threads of PID 1 are not compared: the two instruments see different switches of them. Wake-ups
 * in the context of PID 1 are seen by ftrace alone (`hidden`): the trace may have them at the
 * switch, without a waker, or by another waker that tried to wake the thread, too. A difference
 * where a thread of PID 1 ran on that CPU, or where ftrace did not see the beginning, is not judged
 * (`unjudged`: 2, and 1 in 100 stays).
 *
 * Unknown wake-ups: a program for wake-ups that is interrupted by another wake-up does not see it.
 * The trace then says that the waker is unknown, and has the wake-up at the switch
 * (`wakeups_unknown`: 2, and 1 in 200).
 */
#include <dirent.h>
#include <inttypes.h>

#include "seen.h"
#include "stays.h"
#include "told.h"

#define TOLERANCE 20000u /* ns */
#define REPAIRED  2u	 /* ns; length of a stay that is known only by its end */

static struct {
	uint64_t stays, ends, beyond, worst, mismatches, missing, extra, wakeups, wakeups_wrong,
		wakeups_before, wakeups_unknown, overlaps, unknown, hidden, unseen, unjudged;
} count;

static uint64_t unaccounted; /* ns */

static int by_place(const void *a, const void *b)
{
	const struct stay *x = a, *y = b;

	if (x->in != y->in)
		return x->in < y->in ? -1 : 1;
	return (x->out > y->out) - (x->out < y->out);
}

static void show(const char *who, const struct stay *stay)
{
	printf("    %s: CPU %d from T0 + %.1f us to T0 + %.1f us, %s (%u), ", who, stay->cpu,
	       (double)(int64_t)(stay->in - t0) / 1000, (double)(int64_t)(stay->out - t0) / 1000,
	       leave_names[stay->leave], stay->state);
	if (stay->woken)
		printf("woken T0 + %.1f us by %d%s\n", (double)(int64_t)(stay->woken - t0) / 1000,
		       stay->waker, stay->hidden ? ", in the context of PID 1" : "");
	else
		printf("no wake-up known\n");
}

/* True if the end `told` of the trace is the end that ftrace saw in [seen - slack, seen]. */
static bool same_end(uint64_t seen, uint64_t slack, uint64_t next, uint64_t told)
{
	uint64_t away;

	if (told >= seen - slack && told <= seen)
		return true;
	away = told > seen ? told - seen : seen - slack - told;
	count.ends++;
	if (away <= TOLERANCE) {
		count.worst = away > count.worst ? away : count.worst;
		return true;
	}
	if (told > seen && told <= next && next != UINT64_MAX) {
		count.beyond++;
		return true;
	}
	return false;
}

/* The reason of a blocked thread, as far as ftrace shows it. */
static bool same_why(const struct stay *seen, const struct stay *told)
{
	static const struct {
		uint8_t state;
		uint16_t whys; /* bits */
	} table[] = {
		{0x01, 1 << 1}, {0x02, 1 << 2 | 1 << 3}, {0x04, 1 << 4},
		{0x08, 1 << 5}, {0x40, 1 << 8},		 {0x80, 1 << 9},
	};
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (seen->state == table[i].state)
			return table[i].whys & 1 << told->state;
	}
	return true;
}

static bool same_stay(const struct stay *seen, const struct stay *told, const struct stay *next)
{
	uint64_t in = in_window(seen->in), out = in_window(seen->out);
	uint64_t in_slack = in - in_window(seen->in - seen->in_slack);
	uint64_t out_slack = seen->out_slack;

	if (seen->cpu != told->cpu)
		return false;
	/* the first: the recorder, too, found it only when it left */
	if (((seen->unseen || seen->loose) && told->in + TOLERANCE >= in - in_slack &&
	     told->out - told->in <= REPAIRED) ||
	    (seen->unseen && told->in + 5 * TOLERANCE >= in - in_slack &&
	     told->in <= in + 5 * TOLERANCE))
		count.unseen++;
	else if (!same_end(in, in_slack, seen->in_next, told->in))
		return false;
	/* A filtered recording learns of a hole when the thread is seen again. */
	if (seen->leave == LOST && only_wanted && told->out + TOLERANCE >= out &&
	    (!next || told->out <= next->in))
		return true;
	if (!same_end(out, out_slack, seen->out_next, told->out))
		return false;
	if (out + TOLERANCE >= t1)
		return true;
	return seen->leave == told->leave && (seen->leave != BLOCKED || same_why(seen, told));
}

/* The wake-up that led to a stay: when, and by whom. */
static void compare_wakeup(int tid, const struct stay *seen, const struct stay *told)
{
	uint64_t away;

	if ((seen->unseen || seen->loose) && told->out - told->in <= REPAIRED)
		return;
	if (!seen->woken || seen->woken < t0 + TOLERANCE || seen->in <= t0)
		return;
	count.wakeups++;
	if (seen->hidden && told->woken + TOLERANCE >= seen->woken &&
	    told->woken <= seen->in + TOLERANCE) {
		count.hidden++;
		return;
	}
	away = told->woken > seen->woken ? told->woken - seen->woken : seen->woken - told->woken;
	if (told->woken &&
	    (away <= TOLERANCE || (told->woken >= seen->woken &&
				   told->woken <= seen->in + (seen->unseen ? 5 : 1) * TOLERANCE)) &&
	    told->waker == seen->waker)
		return;
	if (told->woken && told->woken < seen->woken && seen->waking &&
	    told->woken + TOLERANCE >= seen->waking && told->waker == seen->waker) {
		count.wakeups_before++;
		return;
	}
	if (told->waker == 0 && told->woken && told->in - told->woken <= 1) {
		count.wakeups_unknown++;
		return;
	}
	if (count.wakeups_wrong++ < 10) {
		printf("  thread %d: another wake-up\n", tid);
		show("ftrace", seen);
		show("trace ", told);
	}
}

/* True if a stay lies so near the edge of the window that only one may have it. */
static bool at_edge(const struct stay *stay)
{
	return stay->out <= t0 + 2 * TOLERANCE || stay->in + 2 * TOLERANCE >= t1;
}

/* True if ftrace has seen nobody on this CPU meanwhile: a stay of which it saw neither end,
 * and the recorder only the beginning. */
static bool unknown_to_ftrace(const struct stay *told)
{
	const struct stays *idle = &thread_of(0)->seen;
	size_t i;

	for (i = 0; told->leave == LOST && i < idle->n; i++) {
		if (idle->list[i].cpu == told->cpu && idle->list[i].in <= told->in + TOLERANCE &&
		    idle->list[i].out + TOLERANCE >= told->out)
			return true;
	}
	return false;
}

/* True if a thread of PID 1 was on the CPU of `stay` near that time, as far as ftrace saw. */
static bool near_hidden(const struct stay *stay)
{
	size_t i;
	int tid;

	for (tid = 1; tid < TID_MAX; tid++) {
		const struct thread *thread = threads[tid];

		for (i = 0; thread && thread->hidden && i < thread->seen.n; i++) {
			const struct stay *other = &thread->seen.list[i];

			if (other->cpu == stay->cpu && other->in <= stay->out + 5 * TOLERANCE &&
			    other->out + 5 * TOLERANCE >= stay->in)
				return true;
		}
	}
	return false;
}

/* True if one of the instruments could not see the difference between two stays; NULL: none left.
 */
static bool not_visible(const struct stay *seen, const struct stay *told)
{
	return (seen && (seen->unseen || seen->loose || near_hidden(seen))) ||
	       (told && near_hidden(told));
}

static void compare_thread(int tid, struct thread *thread)
{
	const struct stay *seen = thread->seen.list, *told = thread->told.list;
	const struct stay *seen_end = seen + thread->seen.n, *told_end = told + thread->told.n;
	bool first = true;

	while (seen < seen_end || told < told_end) {
		if (seen < seen_end && (seen->out <= t0 || seen->in - seen->in_slack >= t1)) {
			seen++;
			continue;
		}
		if (seen < seen_end && told < told_end &&
		    same_stay(seen, told, seen + 1 < seen_end ? seen + 1 : NULL)) {
			if (!first)
				compare_wakeup(tid, seen, told);
			first = false;
			count.stays++;
			if (seen->unseen && told->in < in_window(seen->in))
				cpus[seen->cpu].idle -= in_window(seen->in) - told->in;
			seen++, told++;
			continue;
		}
		if (seen < seen_end && at_edge(seen)) {
			seen++;
			continue;
		}

		if (told < told_end && at_edge(told)) {
			told++;
			continue;
		}
		if (told < told_end && unknown_to_ftrace(told)) {
			count.unknown++;
			told++;
			continue;
		}
		if (not_visible(seen < seen_end ? seen : NULL, told < told_end ? told : NULL)) {
			/* skip both if they overlap, else the earlier one */
			bool both = seen < seen_end && told < told_end;
			bool drop_seen = !both ? seen < seen_end : seen->in <= told->out;
			bool drop_told = !both ? told < told_end : told->in <= seen->out;

			count.unjudged++;
			first = true;
			seen += drop_seen;
			told += drop_told;
			continue;
		}
		if (count.mismatches++ < 10) {
			printf("  thread %d: stay %td of %zu differs from stay %td of %zu\n", tid,
			       seen - thread->seen.list, thread->seen.n, told - thread->told.list,
			       thread->told.n);
			if (seen < seen_end)
				show("ftrace", seen);
			if (told < told_end)
				show("trace ", told);
		}
		return;
	}
}

static bool ran_in_window(const struct stays *stays)
{
	size_t i;

	for (i = 0; i < stays->n; i++) {
		if (stays->list[i].out > t0 && stays->list[i].in < t1 && !at_edge(&stays->list[i]))
			return true;
	}
	return false;
}

static void compare_all(void)
{
	int tid;

	for (tid = 1; tid < TID_MAX; tid++) {
		struct thread *thread = threads[tid];

		if (!thread)
			continue;
		qsort(thread->told.list, thread->told.n, sizeof(struct stay), by_place);
		if (thread->wanted && !thread->hidden && !thread->told.n &&
		    ran_in_window(&thread->seen)) {
			printf("  thread %d ran but is not in the trace\n", tid);
			count.missing++;
		} else if (!thread->wanted && thread->told.n) {
			printf("  thread %d is in the trace but was not wanted\n", tid);
			count.extra++;
		} else if (thread->wanted && !thread->hidden) {
			compare_thread(tid, thread);
		}
	}
}

/* Time (ns) of a stay of a thread of PID 1 during which ftrace, which did not see it, saw idle. */
static uint64_t seen_as_idle(const struct stay *told)
{
	const struct stays *idle = &thread_of(0)->seen;
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < idle->n; i++) {
		uint64_t in = in_window(idle->list[i].in), out = in_window(idle->list[i].out);

		in = in > told->in ? in : told->in;
		out = out < told->out ? out : told->out;
		if (idle->list[i].cpu == told->cpu && out > in)
			sum += out - in;
	}
	return sum;
}

/*
 * No CPU has two threads at a time; its threads and its idle time add up. The idle time of ftrace
 * ends where a stay begins that was accepted though ftrace saw it later (`unseen`). Stays of PID 1
 * that ftrace saw may be missing in the trace.
 */
static void compare_cpus(void)
{
	struct stays all = {0};
	uint64_t *busy = calloc((size_t)ncpus + 1, sizeof(*busy));
	uint64_t *until = calloc((size_t)ncpus + 1, sizeof(*until));
	uint64_t *hidden = calloc((size_t)ncpus + 1, sizeof(*hidden));
	int64_t rest, limit;
	size_t i;
	int tid, cpu;

	if (!busy || !until || !hidden)
		fail("no memory");
	for (tid = 1; tid < TID_MAX; tid++) {
		for (i = 0; threads[tid] && i < threads[tid]->told.n; i++) {
			const struct stay *told = &threads[tid]->told.list[i];

			*stays_add(&all) = *told;
			if (threads[tid]->hidden)
				cpus[told->cpu].idle -= seen_as_idle(told);
		}
		for (i = 0; threads[tid] && threads[tid]->hidden && i < threads[tid]->seen.n; i++) {
			const struct stay *seen = &threads[tid]->seen.list[i];

			hidden[seen->cpu] += in_window(seen->out) - in_window(seen->in);
		}
	}
	qsort(all.list, all.n, sizeof(struct stay), by_place);
	for (i = 0; i < all.n; i++) {
		cpu = all.list[i].cpu;
		if (cpu >= ncpus)
			fail("CPU %d is not one that ftrace knows", cpu);
		if (all.list[i].in < until[cpu] && count.overlaps++ < 10)
			printf("  two threads on CPU %d at %" PRIu64 "\n", cpu, all.list[i].in);
		busy[cpu] += all.list[i].out - all.list[i].in;
		until[cpu] = all.list[i].out;
	}
	for (cpu = 0; cpu < ncpus; cpu++) {
		rest = (int64_t)(t1 - t0) - (int64_t)busy[cpu] - (int64_t)cpus[cpu].idle;
		limit = (int64_t)((t1 - t0) / 200 + unseen[cpu] * TOLERANCE);
		printf("  CPU %d: window %.3f ms = threads %.3f + idle %.3f + rest %.3f\n", cpu,
		       (double)(t1 - t0) / 1e6, (double)busy[cpu] / 1e6,
		       (double)cpus[cpu].idle / 1e6, (double)rest / 1e6);
		if (rest < -limit ||
		    (!only_wanted && rest > limit + (int64_t)(unaccounted + hidden[cpu]))) {
			printf("  CPU %d: its time does not add up to the window\n", cpu);
			count.mismatches++;
		}
	}
	free(busy);
	free(until);
	free(hidden);
	free(all.list);
}

static void find_hidden(void)
{
	DIR *dir = opendir("/proc/1/task");
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		thread_of(atoi(entry->d_name))->hidden = atoi(entry->d_name) > 0;
	if (dir)
		closedir(dir);
}

int main(int argc, char **argv)
{
	bool lossy = false, same;
	int opt;

	while ((opt = getopt(argc, argv, "w:lu:")) != -1) {
		if (opt == 'w') {
			only_wanted = true;
			thread_of(atoi(optarg))->wanted = true;
			thread_of(atoi(optarg))->root = true;
		} else if (opt == 'l') {
			lossy = true;
		} else if (opt == 'u') {
			unaccounted = strtoull(optarg, NULL, 10);
		} else {
			return 2;
		}
	}
	if (argc - optind != 4) {
		fputs("usage: compare [-w TID]... [-l] [-u NS] T0 T1 FTRACE TRACE\n", stderr);
		return 2;
	}
	t0 = strtoull(argv[optind], NULL, 10);
	t1 = strtoull(argv[optind + 1], NULL, 10);
	if (!t0 || t1 <= t0)
		fail("the window from %s to %s is none", argv[optind], argv[optind + 1]);
	read_topology();
	find_hidden();
	read_ftrace(argv[optind + 2]);
	if (nftw(argv[optind + 3], visit, 32, FTW_PHYS))
		fail("cannot walk %s: %s", argv[optind + 3], strerror(errno));
	compare_all();
	compare_cpus();
	same = !count.mismatches && !count.missing && !count.extra && !count.overlaps &&
	       !count.wakeups_wrong && count.wakeups_before <= 5 + count.wakeups / 4 &&
	       count.wakeups_unknown <= 2 + count.wakeups / 200 &&
	       count.unjudged <= 2 + count.stays / 100 &&
	       count.beyond <= (count.ends < 100 ? count.ends / 20 : 5) + count.ends / 25 &&
	       (only_wanted ? holes_told <= holes_seen
			    : holes_told == holes_seen + count.unknown) &&
	       count.stays > 0;
	const struct {
		const char *name;
		uint64_t value;
	} figures[] = {
		{"stays", count.stays},
		{"ends", count.ends},
		{"beyond_20us", count.beyond},
		{"worst_ns", count.worst},
		{"wakeups", count.wakeups},
		{"wakeups_wrong", count.wakeups_wrong},
		{"wakeups_before", count.wakeups_before},
		{"wakeups_unknown", count.wakeups_unknown},
		{"unjudged", count.unjudged},
		{"hidden", count.hidden},
		{"unseen", count.unseen},
		{"holes", holes_seen},
		{"holes_told", holes_told},
		{"unknown", count.unknown},
		{"missing", count.missing},
		{"extra", count.extra},
		{"mismatches", count.mismatches},
		{"overlaps", count.overlaps},
	};
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		printf("%s%s=%" PRIu64, i ? " " : "", figures[i].name, figures[i].value);
	putchar('\n');
	return same || lossy ? 0 : 1;
}
