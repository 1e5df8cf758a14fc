/* SPDX-License-Identifier: MIT */
/* state_times: see state_times.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/array.h"
#include "trace/base/id_pages.h"
#include "user/timeline/state_times.h"

#define PAGE_TASKS  8
#define unlikely(x) __builtin_expect(!!(x), 0)

/* One task, by the id of its records. Its times are complete up to `since`. */
struct task {
	uint32_t id; /* 0: the slot is free */
	uint32_t pid, tid;
	uint8_t state;	/* enum time_state, from `since` on */
	uint8_t reason; /* enum off_cpu; with TIME_BLOCKED and TIME_RUNNABLE */
	bool exiting;
	bool traced;
	bool confirmed; /* alive at the end, and none of its switches was lost */
	int32_t on;	/* the CPU that it runs on, with TIME_RUNNING */
	int32_t last;	/* the CPU that it ran on last in the window; -1: none */
	uint64_t since, begin;
	uint64_t call_sp, call_clock; /* of the outermost probed function that it is in; 0: none */
	char comm[RECORD_COMM_SIZE];
	struct thread_times times;
};

struct page {
	unsigned used;
	struct task tasks[PAGE_TASKS];
};

struct cpu {
	bool recorded;
	uint8_t use; /* enum cpu_use, from `since` on */
	uint32_t on; /* of the running task; 0: a task without id */
	uint64_t since, switches;
	uint64_t ns[CPU_USES];
};

struct state_times {
	uint64_t t0, t1;
	bool some_threads, no_switches;
	bool incomplete;       /* records were lost, or are not sent (-C) */
	struct id_pages pages; /* of struct page */
	struct cpu *cpus;      /* by kernel number, ncpus of them */
	unsigned ncpus;
	struct time_stats ended;	/* threads that have ended, */
	size_t ended_most;		/* at most so many, */
	struct thread_times ended_sums; /* and the sum of the threads listed there */
};

/* ---- the lists ---- */

uint64_t thread_times_blocked(const struct thread_times *times)
{
	uint64_t ns = 0;

	for (unsigned reason = 0; reason < OFF_CPU_COUNT; reason++)
		ns += times->blocked_ns[reason];
	return ns;
}

void thread_times_add(struct thread_times *to, const struct thread_times *from)
{
	to->threads += from->threads ? from->threads : 1;
	to->active_ns += from->active_ns;
	to->runnable_ns += from->runnable_ns;
	to->unknown_ns += from->unknown_ns;
	to->throttled_ns += from->throttled_ns;
	for (unsigned reason = 0; reason < OFF_CPU_COUNT; reason++)
		to->blocked_ns[reason] += from->blocked_ns[reason];
	to->switches_voluntary += from->switches_voluntary;
	to->switches_preempted += from->switches_preempted;
	to->yields += from->yields;
	to->wakeups += from->wakeups;
	to->migrations += from->migrations;
	to->calls += from->calls;
	to->calls_ns += from->calls_ns;
}

/* Has it done anything in the window? */
static bool busy(const struct thread_stats *thread)
{
	const struct thread_times *t = &thread->times;

	return !thread->alive || t->active_ns || t->wakeups || t->calls || t->runnable_ns;
}

void time_stats_add(struct time_stats *stats, const struct thread_stats *thread)
{
	struct thread_stats *added;

	if (!busy(thread) || stats->nthreads >= TIME_STATS_LISTED_MAX)
		goto sum;
	added = ARRAY_ADD(stats->threads, stats->nthreads);
	if (!added)
		goto sum;
	*added = *thread;
	return;
sum:
	thread_times_add(&stats->unlisted, &thread->times);
}

/* Moves threads[i] down to its place in a heap, whose root ran shortest. */
static void sift_down(struct thread_stats *threads, size_t n, size_t i)
{
	struct thread_stats moved = threads[i];

	for (size_t child; (child = 2 * i + 1) < n; i = child) {
		if (child + 1 < n &&
		    threads[child + 1].times.active_ns < threads[child].times.active_ns)
			child++;
		if (moved.times.active_ns <= threads[child].times.active_ns)
			break;
		threads[i] = threads[child];
	}
	threads[i] = moved;
}

void time_stats_add_ended(struct time_stats *stats, const struct thread_stats *thread, size_t most)
{
	if (stats->nthreads < most) {
		time_stats_add(stats, thread);
		for (size_t i = most / 2; stats->nthreads == most && i-- > 0;)
			sift_down(stats->threads, most, i);
		return;
	}
	if (thread->times.active_ns <= stats->threads[0].times.active_ns) {
		thread_times_add(&stats->unlisted, &thread->times);
		return;
	}
	thread_times_add(&stats->unlisted, &stats->threads[0].times);
	stats->threads[0] = *thread;
	sift_down(stats->threads, most, 0);
}

void time_stats_free(struct time_stats *stats)
{
	free(stats->threads);
	free(stats->cpus);
	memset(stats, 0, sizeof(*stats));
}

/* ---- the window ---- */

static uint64_t within(const struct state_times *times, uint64_t from, uint64_t to)
{
	return time_within(from, to, times->t0, times->t1);
}

static bool in_window(const struct state_times *times, uint64_t clock)
{
	return clock > times->t0 && clock <= times->t1;
}

/* ---- tasks ---- */

static struct task *find_task(const struct state_times *times, uint32_t id)
{
	struct page *page = id_page(&times->pages, id / PAGE_TASKS);

	return id && page && page->tasks[id % PAGE_TASKS].id ? &page->tasks[id % PAGE_TASKS] : NULL;
}

/* The task with this id, which is not 0; a new one if there is none. NULL without memory. */
static struct task *get_task(struct state_times *times, uint32_t id, uint32_t pid, uint32_t tid)
{
	struct task *task = find_task(times, id);
	struct page *page;

	if (task)
		return task;
	page = id_page_make(&times->pages, id / PAGE_TASKS, sizeof(*page));
	if (!page)
		return NULL;
	page->used++;
	task = &page->tasks[id % PAGE_TASKS];
	*task = (struct task){.id = id, .pid = pid, .tid = tid, .last = -1, .traced = true};
	return task;
}

static void release(struct state_times *times, struct task *task)
{
	size_t number = task->id / PAGE_TASKS;
	struct page *page = id_page(&times->pages, number);

	task->id = 0;
	if (!--page->used)
		id_page_free(&times->pages, number);
}

/* ---- the times of a thread ---- */

/* Adds the time up to `clock` in the present state, except that on a CPU. */
static void add_off_cpu(const struct state_times *times, struct task *task, uint64_t clock)
{
	struct thread_times *t = &task->times;
	uint64_t ns = within(times, task->since, clock);

	switch (task->state) {
	case TIME_NONE:
		task->begin = clock;
		break;
	case TIME_RUNNABLE:
		t->runnable_ns += ns;
		if (unlikely(task->reason == OFF_CPU_THROTTLED))
			t->throttled_ns += ns;
		break;
	case TIME_BLOCKED:
		t->blocked_ns[task->reason] += ns;
		break;
	default: /* also of a thread that was on a CPU, and has left it unseen */
		t->unknown_ns += ns;
	}
}

static void set_state(struct task *task, enum time_state state, uint64_t clock)
{
	task->state = state;
	task->since = clock;
}

/* The state is not known from `clock` on; before that it was. */
static void lose(const struct state_times *times, struct task *task, uint64_t clock)
{
	if (task->state == TIME_RUNNING)
		task->times.active_ns += within(times, task->since, clock);
	else
		add_off_cpu(times, task, clock);
	if (clock < task->since)
		clock = task->since;
	set_state(task, TIME_UNKNOWN, clock);
}

/* The thread was woken at `wake`, since when it waits for a CPU. A time before it fell asleep, and
 * one of a thread that does not sleep, means nothing. */
static void handle_wakeup(const struct state_times *times, struct task *task, uint64_t wake)
{
	if (!wake || wake < task->since || task->state != TIME_BLOCKED)
		return;
	add_off_cpu(times, task, wake);
	task->times.wakeups += in_window(times, wake);
	set_state(task, TIME_RUNNABLE, wake);
}

/* Is it known to sleep, or to wait for a CPU? */
static bool off_cpu(const struct task *task)
{
	return task->state == TIME_RUNNABLE || task->state == TIME_BLOCKED;
}

static void enter(const struct state_times *times, struct task *task, unsigned cpu, uint64_t clock)
{
	add_off_cpu(times, task, clock);
	task->times.migrations +=
		task->last >= 0 && task->last != (int32_t)cpu && in_window(times, clock);
	task->on = task->last = (int32_t)cpu;
	set_state(task, TIME_RUNNING, clock);
}

static void leave(const struct state_times *times, struct task *task, uint16_t reason,
		  uint64_t clock)
{
	bool counts = in_window(times, clock);
	struct thread_times *t = &task->times;

	if (task->state == TIME_RUNNING)
		t->active_ns += within(times, task->since, clock);
	else if (task->state == TIME_NONE)
		task->begin = clock;
	else
		t->unknown_ns += within(times, task->since, clock);
	task->reason = reason < OFF_CPU_COUNT ? (uint8_t)reason : OFF_CPU_UNKNOWN;
	if (off_cpu_runnable(reason)) {
		t->switches_preempted += counts;
		t->yields += counts && reason == OFF_CPU_YIELDED;
		set_state(task, TIME_RUNNABLE, clock);
	} else {
		t->switches_voluntary += counts && reason != OFF_CPU_DEAD;
		set_state(task, reason == OFF_CPU_DEAD ? TIME_DEAD : TIME_BLOCKED, clock);
	}
	if (clock <= times->t0)
		task->last = -1; /* as if it had never run */
}

/* ---- the end of a thread ---- */

static void settle(const struct state_times *times, const struct task *task, uint64_t clock,
		   struct thread_stats *stats)
{
	struct task end = *task;

	if (end.state == TIME_UNKNOWN && !end.traced)
		clock = end.since; /* it ended, for us, when it was no longer traced */
	if (end.state == TIME_RUNNING)
		end.times.active_ns += within(times, end.since, clock);
	else if (end.state != TIME_DEAD)
		add_off_cpu(times, &end, clock);
	*stats = (struct thread_stats){
		.pid = end.pid,
		.tid = end.tid,
		.alive = end.state != TIME_DEAD,
		.begin = end.begin > times->t0 ? end.begin : times->t0,
		.end = clock < times->t1 ? clock : times->t1,
		.times = end.times,
	};
	memcpy(stats->comm, end.comm, sizeof(stats->comm));
}

/* Lists the thread as it was until `clock`. */
static void list_ended(struct state_times *times, const struct task *task, uint64_t clock)
{
	struct thread_stats stats;

	if (clock <= times->t0 || task->state == TIME_NONE || task->begin > times->t1)
		return;
	settle(times, task, clock, &stats);
	stats.alive = false; /* also of a thread that continues under another tid */
	thread_times_add(&times->ended_sums, &stats.times);
	time_stats_add_ended(&times->ended, &stats, times->ended_most);
}

/* A thread that is not the leader and calls exec() takes the leader's tid, and so another line. Its
 * state continues. */
static void change_tid(struct state_times *times, struct task *task, uint32_t pid, uint32_t tid,
		       uint64_t clock)
{
	list_ended(times, task, clock);
	memset(&task->times, 0, sizeof(task->times));
	task->begin = clock;
	task->since = clock;
	task->pid = pid;
	task->tid = tid;
}

static bool tid_changed(const struct task *task, uint32_t tid)
{
	return unlikely(task->tid != tid) && !task->exiting;
}

/* ---- CPUs ---- */

static void cpu_uses(const struct state_times *times, struct cpu *cpu, enum cpu_use use,
		     uint64_t clock)
{
	if (clock > cpu->since) {
		cpu->ns[cpu->use] += within(times, cpu->since, clock);
		cpu->since = clock;
	}
	cpu->use = (uint8_t)use;
}

/* With some_threads no record shows that a CPU goes idle after a recorded thread. */
static enum cpu_use use_of(const struct state_times *times, uint32_t id, uint32_t tid)
{
	if (id)
		return CPU_THREAD;
	return tid || times->some_threads ? CPU_OTHER : CPU_IDLE;
}

/* The thread that was last seen on the CPU has left it unseen after `clock`. */
static void lose_cpu(const struct state_times *times, unsigned number, uint64_t clock)
{
	struct cpu *cpu = &times->cpus[number];
	struct task *task = find_task(times, cpu->on);

	cpu_uses(times, cpu, CPU_UNKNOWN, clock);
	if (task && task->state == TIME_RUNNING && task->on == (int32_t)number)
		lose(times, task, clock);
	cpu->on = 0;
}

/* A thread that is not where it was last seen to run has left that CPU unseen. */
static void lose_running(const struct state_times *times, struct task *task)
{
	if (unlikely(task->state == TIME_RUNNING))
		lose_cpu(times, (unsigned)task->on, task->since);
}

/* The task that has left a CPU unseen had ended already, but for its last switch: there will be no
 * other record of it. */
static void end_exiting(struct state_times *times, uint32_t id, uint64_t clock)
{
	struct task *task = find_task(times, id);

	if (!task || !task->exiting)
		return;
	list_ended(times, task, clock);
	release(times, task);
}

static void occupy(const struct state_times *times, struct cpu *cpu, uint32_t id, uint32_t tid,
		   uint64_t clock)
{
	cpu_uses(times, cpu, use_of(times, id, tid), clock);
	cpu->on = id;
}

/* ---- records ---- */

static int handle_switch(struct state_times *times, unsigned number, const struct record_switch *r)
{
	struct cpu *cpu = &times->cpus[number];
	struct task *prev = NULL, *next = NULL;
	uint64_t clock = r->head.clock;
	uint32_t gone = 0; /* id */

	if (r->head.id)
		prev = get_task(times, r->head.id, r->prev_pid, r->prev_tid);
	if (r->next_id)
		next = get_task(times, r->next_id, r->next_pid, r->next_tid);
	if ((r->head.id && !prev) || (r->next_id && !next))
		return -ENOMEM;
	if (unlikely(cpu->use != use_of(times, r->head.id, r->prev_tid) ||
		     cpu->on != r->head.id)) { /* a switch was not seen */
		gone = cpu->on == r->head.id || cpu->on == r->next_id ? 0 : cpu->on;
		lose_cpu(times, number, cpu->since);
	}
	if (prev) {
		if (unlikely(prev->on != (int32_t)number))
			lose_running(times, prev);
		leave(times, prev, r->head.why, clock);
		if (r->head.why == OFF_CPU_DEAD) {
			list_ended(times, prev, clock);
			release(times, prev);
		} else if (tid_changed(prev, r->prev_tid)) {
			change_tid(times, prev, r->prev_pid, r->prev_tid, clock);
		}
	}
	if (next) {
		lose_running(times, next);
		if (unlikely(r->head.flags && off_cpu(next)))
			lose(times, next, next->since);
		handle_wakeup(times, next, r->wake_clock);
		enter(times, next, number, clock);
		if (tid_changed(next, r->next_tid))
			change_tid(times, next, r->next_pid, r->next_tid, clock);
	}
	occupy(times, cpu, r->next_id, r->next_tid, clock);
	cpu->switches += in_window(times, clock);
	if (unlikely(gone))
		end_exiting(times, gone, clock);
	return 0;
}

/* The current task of a CPU, when the window opens, and when it has closed. */
static int handle_snapshot(struct state_times *times, unsigned number,
			   const struct record_snapshot *r)
{
	struct cpu *cpu = &times->cpus[number];
	struct task *task = NULL;

	if (times->no_switches)
		return 0;
	if (r->head.id) {
		task = get_task(times, r->head.id, r->pid, r->tid);
		if (!task)
			return -ENOMEM;
	}
	if (cpu->use == use_of(times, r->head.id, r->tid) && cpu->on == r->head.id)
		return 0;
	lose_cpu(times, number, cpu->since);
	if (task) {
		lose_running(times, task);
		lose(times, task, task->since);
		enter(times, task, number, r->head.clock);
	}
	occupy(times, cpu, r->head.id, r->tid, r->head.clock);
	return 0;
}

/* The task is traced from now on, or no longer. `itself`: it runs on this CPU. */
static void change_traced(struct state_times *times, unsigned number, struct task *task,
			  const struct record_task *r, bool itself)
{
	uint64_t clock = r->head.clock;

	task->traced = r->flags & TASK_FLAG_TRACED;
	if (times->no_switches) {
		add_off_cpu(times, task, clock);
		set_state(task, TIME_UNKNOWN, clock);
	} else if (!task->traced && task->state == TIME_RUNNING) {
		occupy(times, &times->cpus[task->on], 0, task->tid, clock);
		lose(times, task, clock);
	} else if (!task->traced) {
		lose(times, task, clock);
	} else if (itself) {
		if (times->cpus[number].on) /* another one, which has left unseen */
			lose_cpu(times, number, times->cpus[number].since);
		lose_running(times, task);
		add_off_cpu(times, task, clock);
		task->on = task->last = (int32_t)number;
		set_state(task, TIME_RUNNING, clock);
		occupy(times, &times->cpus[number], task->id, task->tid, clock);
	} else if (r->head.flags == TASK_RENAMED && task->state == TIME_NONE) {
		task->begin = clock; /* by another task; it may run */
		set_state(task, TIME_UNKNOWN, clock);
	}
}

static int handle_task(struct state_times *times, unsigned number, const struct record_task *r)
{
	bool itself = r->head.id == r->id;
	struct task *task;

	if (!r->id)
		return 0;
	task = find_task(times, r->id);
	if (!task && !(r->flags & TASK_FLAG_TRACED))
		return 0;
	if (!task) {
		task = get_task(times, r->id, r->pid, r->tid);
		if (!task)
			return -ENOMEM;
		task->traced = false;
	}
	memcpy(task->comm, r->comm, sizeof(task->comm));
	if (r->head.flags == TASK_BORN && !times->no_switches) {
		task->traced = true;
		/* the life of a thread that is older than the window begins with the window */
		if (task->state == TIME_NONE && r->head.clock <= times->t0) {
			task->begin = r->head.clock;
			set_state(task, TIME_RUNNABLE, r->head.clock);
		}
	} else if (task->traced != !!(r->flags & TASK_FLAG_TRACED))
		change_traced(times, number, task, r, itself);
	if (itself && tid_changed(task, r->tid))
		change_tid(times, task, r->pid, r->tid, r->head.clock);
	return 0;
}

static void handle_exit(struct state_times *times, const struct record_exit *r)
{
	struct task *task = find_task(times, r->id);

	if (!task)
		return;
	task->exiting = true;
	if (!times->no_switches && r->head.id)
		return;
	/* There will be no record of its last switch: there are none, or not of this CPU (-C). */
	lose_running(times, task);
	lose(times, task, task->since);
	task->times.unknown_ns += within(times, task->since, r->head.clock);
	task->state = TIME_DEAD;
	list_ended(times, task, r->head.clock);
	release(times, task);
}

/* Time counts in the outermost probed function only. A frame above that function (longjmp), or its
 * return, ends it, which the stack pointer shows. */
static void handle_probe(struct state_times *times, const struct record_probe *r)
{
	struct task *task = find_task(times, r->head.id);
	uint64_t clock = r->head.clock;
	unsigned side = r->head.flags & PROBE_SIDE;

	if (!task)
		return;
	if (side != PROBE_RETURN)
		task->times.calls += in_window(times, clock);
	if (side == PROBE_ENTRY && r->sp > task->call_sp) {
		task->call_sp = r->sp;
		task->call_clock = clock;
	} else if (side == PROBE_RETURN && task->call_sp && r->sp >= task->call_sp) {
		task->times.calls_ns += within(times, task->call_clock, clock);
		task->call_sp = 0;
	}
}

int state_times_record(struct state_times *times, unsigned number, const struct record_head *head)
{
	const struct record_lost *lost = (const struct record_lost *)head;

	if (number >= times->ncpus)
		return 0; /* no ring is of such a CPU */
	switch (head->kind) {
	case RECORD_SWITCH:
	case RECORD_SWITCH_CALL:
		return handle_switch(times, number, (const struct record_switch *)head);
	case RECORD_SNAPSHOT:
		return handle_snapshot(times, number, (const struct record_snapshot *)head);
	case RECORD_TASK:
		return handle_task(times, number, (const struct record_task *)head);
	case RECORD_EXIT:
		handle_exit(times, (const struct record_exit *)head);
		return 0;
	case RECORD_PROBE:
		handle_probe(times, (const struct record_probe *)head);
		return 0;
	case RECORD_LOST:
		times->incomplete |= in_window(times, lost->first_clock);
		lose_cpu(times, number, lost->first_clock);
		return 0;
	default:
		return 0;
	}
}

/* ---- the iterator ---- */

static int task_before(struct state_times *times, const struct record_task *r)
{
	enum time_state state = r->state ? TIME_BLOCKED : TIME_RUNNABLE;
	struct task *task;

	if (!(r->flags & TASK_FLAG_TRACED))
		return 0;
	task = get_task(times, r->id, r->pid, r->tid);
	if (!task)
		return -ENOMEM;
	memcpy(task->comm, r->comm, sizeof(task->comm));
	if (task->state == TIME_NONE)
		set_state(task, times->no_switches ? TIME_UNKNOWN : state, 0);
	return 0;
}

static void task_after(struct state_times *times, const struct record_task *r)
{
	struct task *task = find_task(times, r->id);

	if (!task)
		return;
	task->confirmed = true;
	if (r->flags & (TASK_FLAG_ELSEWHERE | TASK_FLAG_LOST) && off_cpu(task))
		lose(times, task, task->since);
	handle_wakeup(times, task, r->wake_clock);
}

int state_times_task(struct state_times *times, const struct record_task *r)
{
	if (!r->id)
		return 0;
	if (times->t1 == UINT64_MAX)
		return task_before(times, r);
	task_after(times, r);
	return 0;
}

/* ---- the whole ---- */

struct state_times *state_times_new(const struct state_times_options *options)
{
	struct state_times *times = calloc(1, sizeof(*times));

	if (!times)
		return NULL;
	times->t0 = options->t0;
	times->t1 = UINT64_MAX;
	times->some_threads = options->some_threads;
	times->no_switches = options->no_switches;
	times->incomplete = options->cpu_list;
	times->ended_most = options->ended_most;
	times->ncpus = options->npossible;
	times->cpus = calloc(times->ncpus + 1, sizeof(*times->cpus));
	if (!times->cpus) {
		free(times);
		return NULL;
	}
	for (unsigned i = 0; i < options->ncpus; i++)
		times->cpus[options->cpus[i]].recorded = true;
	return times;
}

void state_times_free(struct state_times *times)
{
	if (!times)
		return;
	id_pages_free(&times->pages);
	free(times->cpus);
	time_stats_free(&times->ended);
	free(times);
}

void state_times_stop(struct state_times *times, uint64_t t1)
{
	times->t1 = t1;
}

static int read_cpus(const struct state_times *times, uint64_t clock, struct time_stats *stats)
{
	stats->cpus = calloc(times->ncpus + 1, sizeof(*stats->cpus));
	if (!stats->cpus)
		return -ENOMEM;
	for (unsigned i = 0; i < times->ncpus; i++) {
		struct cpu cpu = times->cpus[i];
		struct cpu_stats *line = &stats->cpus[stats->ncpus];

		if (!cpu.recorded)
			continue;
		cpu_uses(times, &cpu, cpu.use, clock);
		line->cpu = i;
		line->end = clock;
		line->switches = cpu.switches;
		memcpy(line->ns, cpu.ns, sizeof(line->ns));
		stats->ncpus++;
	}
	return 0;
}

static void read_tasks(const struct state_times *times, uint64_t clock, struct time_stats *stats)
{
	struct thread_stats line;
	const struct page *page;

	for (size_t number = 0; (page = id_page_next(&times->pages, &number)); number++) {
		for (size_t i = 0; i < PAGE_TASKS; i++) {
			const struct task *task = &page->tasks[i];

			if (!task->id || task->state == TIME_NONE || task->begin > clock ||
			    (!task->traced && task->state == TIME_UNKNOWN &&
			     task->since <= times->t0))
				continue;
			settle(times, task, clock, &line);
			time_stats_add(stats, &line);
		}
	}
}

int state_times_read(const struct state_times *times, uint64_t clock, struct time_stats *stats)
{
	if (clock > times->t1)
		clock = times->t1;
	*stats = (struct time_stats){.t0 = times->t0};
	if (times->ended_sums.threads)
		stats->unlisted = times->ended_sums;
	read_tasks(times, clock, stats);
	return read_cpus(times, clock, stats);
}

/* Where records are missing, a thread that the iterator did not list at the end has died unseen.
 * With `all`, nothing is known of any thread or CPU since its last record. */
static void lose_unconfirmed(struct state_times *times, bool all)
{
	struct page *page;

	for (unsigned cpu = 0; cpu < times->ncpus && all; cpu++)
		lose_cpu(times, cpu, times->cpus[cpu].since);
	for (size_t number = 0; (page = id_page_next(&times->pages, &number)); number++) {
		for (size_t i = 0; i < PAGE_TASKS; i++) {
			struct task *task = &page->tasks[i];

			/* on a CPU without a gap, the thread is known to run */
			if (task->id && (all || !task->confirmed) && off_cpu(task))
				lose(times, task, task->since);
		}
	}
}

int state_times_close(struct state_times *times, bool cut, struct time_stats *stats)
{
	if (times->incomplete || cut)
		lose_unconfirmed(times, cut);
	*stats = times->ended;
	stats->t0 = times->t0;
	times->ended = (struct time_stats){0};
	read_tasks(times, times->t1, stats);
	return read_cpus(times, times->t1, stats);
}
