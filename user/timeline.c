/* SPDX-License-Identifier: MIT */
/*
 * timeline: see timeline.h.
 *
 * For each CPU it keeps who is believed to run there. A record made by a task proves that
 * it runs: what contradicts this is mended first (prove()), so that what follows is
 * always the ordinary case. The clock of the last event on each CPU keeps leaving and
 * entering apart: who enters does so after, never at, the clock at which another left.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "facts.h"
#include "moves.h"
#include "timeline.h"
#include "topology.h"
#include "trace/log.h"

/* The window ends here at the latest. Clocks of a stream are signed; from here on there is still
 * room for 2^36 events of one CPU in the same nanosecond, each a nanosecond after the other. */
#define CLOCK_MAX ((uint64_t)INT64_MAX - (1ull << 36))

#define unlikely(x) __builtin_expect(!!(x), 0)

struct cpu {
	struct task *on; /* believed to run here; NULL: nobody who has a stream */
	uint64_t last;	 /* clock of the last event of a running thread here */
	uint64_t since;	 /* the present use began */
	uint32_t tid;	 /* who runs here, if use is CPU_OTHER or CPU_THREAD */
	enum timeline_use use;
	uint64_t gap, gap_clock; /* events lost here and not yet shown, from when on */
	struct timeline_cpu account;
};

struct timeline {
	struct moves moves;
	struct timeline_options options;
	struct timeline_counts counts;
	struct threads *threads;
	struct topology *topology;
	struct cpu **by_number; /* by kernel number; NULL: no record yet */
	unsigned numbers;
	struct cpu **by_index; /* by index in the loom; NULL: no record yet */
	unsigned indices;
	struct cpu **cpus; /* in the order of their first records */
	unsigned ncpus;
	uint64_t t1;
	uint64_t now;		   /* clock of the newest record, */
	const struct cpu *now_cpu; /* and its CPU */
	bool open;		   /* the window has been entered */
	bool stopped;
	int error;
};

/* ---- the whole ---- */

struct timeline *timeline_new(const struct timeline_options *options, struct threads *threads,
			      struct topology *topology)
{
	struct timeline *tl = calloc(1, sizeof(*tl));

	if (!tl)
		return NULL;
	tl->options = *options;
	if (tl->options.t0 > CLOCK_MAX)
		tl->options.t0 = CLOCK_MAX;
	tl->threads = threads;
	tl->topology = topology;
	tl->t1 = CLOCK_MAX;
	tl->moves = (struct moves){
		.threads = threads,
		.counts = &tl->counts,
		.t0 = tl->options.t0,
		.kernel_model = options->kernel_model,
	};
	threads->kernel_model = options->kernel_model;
	threads->session.t0 = tl->options.t0;
	return tl;
}

void timeline_free(struct timeline *tl)
{
	if (!tl)
		return;
	for (unsigned i = 0; i < tl->ncpus; i++)
		free(tl->cpus[i]);
	free(tl->cpus);
	free(tl->by_number);
	free(tl->by_index);
	free(tl);
}

const struct timeline_counts *timeline_counts(const struct timeline *tl)
{
	return &tl->counts;
}

bool timeline_cpu(const struct timeline *tl, size_t i, struct timeline_cpu *out)
{
	if (i >= tl->ncpus)
		return false;
	*out = tl->cpus[i]->account;
	return true;
}

/* ---- CPUs ---- */

/* Makes array[i] a place, with NULL in the new ones. */
static int reach(struct cpu ***array, unsigned *size, unsigned i)
{
	unsigned want = *size ? *size : 16;
	struct cpu **grown;

	if (i < *size)
		return 0;
	while (want <= i)
		want *= 2;
	grown = realloc(*array, want * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	memset(grown + *size, 0, (want - *size) * sizeof(*grown));
	*array = grown;
	*size = want;
	return 0;
}

/* The first record of a CPU. NULL after one message. */
static struct cpu *cpu_new(struct timeline *tl, unsigned number)
{
	int32_t index = topology_index(tl->topology, number);
	unsigned ncpus = tl->ncpus; /* the size of an array that is always full */
	struct cpu *cpu;

	if (index < 0) {
		log_error("CPU %u cannot be recorded: no memory, or no such number", number);
		return NULL;
	}
	cpu = calloc(1, sizeof(*cpu));
	if (!cpu || reach(&tl->by_number, &tl->numbers, number) ||
	    reach(&tl->by_index, &tl->indices, (unsigned)index) ||
	    reach(&tl->cpus, &ncpus, tl->ncpus)) {
		log_error("no memory for CPU %u", number);
		free(cpu);
		return NULL;
	}
	cpu->last = cpu->since = tl->options.t0;
	cpu->account.cpu = number;
	cpu->account.index = index;
	tl->by_number[number] = tl->by_index[index] = tl->cpus[tl->ncpus++] = cpu;
	return cpu;
}

static inline struct cpu *cpu_of(struct timeline *tl, unsigned number)
{
	if (unlikely(number >= tl->numbers || !tl->by_number[number]))
		return cpu_new(tl, number);
	return tl->by_number[number];
}

/* The time up to `clock` was spent as told by cpu->use. */
static inline void charge(struct cpu *cpu, uint64_t clock)
{
	if (clock > cpu->since) {
		cpu->account.ns[cpu->use] += clock - cpu->since;
		cpu->since = clock;
	}
}

static inline void occupy(struct cpu *cpu, struct task *task, uint32_t tid)
{
	cpu->on = task;
	cpu->tid = tid;
	cpu->use = task ? CPU_THREAD : tid ? CPU_OTHER : CPU_IDLE;
}

static inline uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static inline uint64_t earlier_by(uint64_t clock, uint64_t ns)
{
	return clock > ns ? clock - ns : 0;
}

/* ---- repairs ---- */

static void count_repair(struct timeline *tl, struct cpu *cpu, struct task *task)
{
	tl->counts.repairs++;
	if (task->thread)
		task->thread->repairs++;
	if (cpu)
		cpu->account.repairs++;
}

/* A task that is believed to run on some CPU does not: it left, nobody knows when. */
static int expel(struct timeline *tl, struct task *task, uint64_t clock)
{
	struct cpu *cpu = tl->by_index[task->cpu];
	int err = move_out(&tl->moves, task, later(clock, cpu->last), WHY_LOST, -1);

	task->out = clock;
	charge(cpu, clock);
	cpu->last = later(cpu->last, task->last);
	cpu->on = NULL;
	cpu->use = CPU_UNKNOWN;
	count_repair(tl, cpu, task);
	return err;
}

/*
 * What a record at `clock`, made by `task` on `cpu`, proves: that it runs there (NULL: that
 * nobody with a stream does). The task is bound.
 */
static int prove(struct timeline *tl, struct cpu *cpu, struct task *task, uint64_t clock)
{
	uint64_t enter = earlier_by(clock, 1);
	int err = 0;

	if (cpu->on == task)
		return 0;
	if (cpu->on)
		err = expel(tl, cpu->on, earlier_by(clock, 2));
	if (!err && task && task->state == LIFELINE_RUNNING)
		err = expel(tl, task, earlier_by(clock, 2));
	if (err || !task)
		return err;
	if (task->flags & TASK_JOINED && cpu->use == CPU_OTHER && cpu->tid == task->tid)
		enter = later(task->joined, cpu->since); /* seen to be there all the time */
	else
		count_repair(tl, cpu, task);
	task->flags &= (uint8_t)~TASK_JOINED;
	charge(cpu, enter);
	err = move_in(&tl->moves, task, cpu->account.index, later(enter, cpu->last + 1), 0, 0);
	cpu->last = task->last;
	occupy(cpu, task, task->tid);
	return err;
}

/* ---- identity ---- */

static int unbind_and_release(struct timeline *tl, struct task *task)
{
	int err = 0;

	if (task->thread)
		err = threads_unbind(tl->threads, task);
	threads_release(tl->threads, task);
	return err;
}

/* A task that has a stream gives it up at `clock`: dead, wherever it was. */
static int give_up(struct timeline *tl, struct task *task, uint64_t clock)
{
	struct cpu *cpu = NULL;
	int err;

	if (task->state == LIFELINE_RUNNING) {
		cpu = tl->by_index[task->cpu];
		charge(cpu, clock < tl->now ? clock : tl->now);
		clock = later(clock, cpu->last);
	}
	err = move_close(&tl->moves, task, clock);
	if (cpu) {
		cpu->last = later(cpu->last, task->last);
		occupy(cpu, NULL, task->tid);
	}
	return err ? err : threads_unbind(tl->threads, task);
}

/* Binds `task` to the stream of its pid and tid. If another task still has that one, its
 * tid has been given away: it is dying, and only its last switch has not been seen. */
static int bind(struct timeline *tl, struct task *task, uint64_t clock, bool before)
{
	struct thread *thread = threads_find(tl->threads, task->pid, task->tid);
	struct task *owner = thread ? thread->owner : NULL;
	int err;

	if (owner) {
		/* With a list of CPUs it may have died where nothing is recorded. */
		if (tl->options.cpu_filter && owner->state != LIFELINE_RUNNING) {
			err = give_up(tl, owner, owner->last);
		} else {
			count_repair(tl, NULL, owner);
			err = give_up(tl, owner, clock);
		}
		owner->flags |= TASK_GONE;
		if (err)
			return err;
	}
	return move_bind(&tl->moves, task, clock, before);
}

/* A task that has taken the tid of its leader (exec) goes on in the leader's stream. */
static int change_stream(struct timeline *tl, struct task *task, uint32_t pid, uint32_t tid,
			 uint64_t clock)
{
	struct cpu *cpu = task->state == LIFELINE_RUNNING ? tl->by_index[task->cpu] : NULL;
	int err = give_up(tl, task, clock);

	task->pid = pid;
	task->tid = tid;
	task->creator_tid = -1;
	if (!err)
		err = bind(tl, task, clock, false);
	if (err || !cpu)
		return err;
	err = move_in(&tl->moves, task, cpu->account.index, cpu->last + 1, 0, 0);
	cpu->last = task->last;
	occupy(cpu, task, tid);
	return err;
}

/*
 * Makes `task`, which a record at `clock` shows with this id, pid and tid, ready for a move:
 * in use, bound to the stream of that pair. *out is NULL if it has no stream any more.
 */
static int ready(struct timeline *tl, struct task *task, uint32_t id, uint32_t pid, uint32_t tid,
		 uint64_t clock, bool dying, struct task **out)
{
	bool before;

	*out = task;
	if (!task->id)
		threads_use(tl->threads, task, id, pid, tid);
	if (task->flags & TASK_GONE) {
		*out = NULL;
		return 0;
	}
	if (dying || task->flags & TASK_EXITING) {
		/* The leader of a process that another thread of it takes over has that one's
		 * tid for its last steps: they belong to its own stream. */
		pid = task->pid;
		tid = task->tid;
	}
	if (task->key == thread_key(pid, tid))
		return 0;
	if (task->key)
		return change_stream(tl, task, pid, tid, clock);
	task->pid = pid;
	task->tid = tid;
	before = task->flags & TASK_BEFORE;
	return bind(tl, task, clock, before);
}

/* ---- losses ---- */

/* The gap of this CPU is shown in the stream of `task`, from its first loss to `clock`. */
static int open_gap(struct timeline *tl, struct cpu *cpu, struct task *task, uint64_t clock)
{
	uint64_t from = later(cpu->gap_clock, tl->options.t0);

	return move_gap_opens(&tl->moves, task, from < clock ? from : clock, cpu->gap);
}

static int close_gap(struct timeline *tl, struct cpu *cpu, struct task *task, uint64_t clock)
{
	uint64_t count = cpu->gap;

	cpu->gap = 0;
	return move_gap_closes(&tl->moves, task, clock, count);
}

/* prove(), with the mark of the gap before it around what is mended. No ovni event is
 * accepted while the kernel model says out of the CPU: the mark waits for the way in. */
static int prove_after_gap(struct timeline *tl, struct cpu *cpu, struct task *task, uint64_t clock)
{
	bool late = tl->options.kernel_model;
	int err = 0;

	if (!cpu->gap || !task)
		return prove(tl, cpu, task, clock);
	if (!late)
		err = open_gap(tl, cpu, task, clock);
	if (!err)
		err = prove(tl, cpu, task, clock);
	if (!err && late)
		err = open_gap(tl, cpu, task, clock);
	return err ? err : close_gap(tl, cpu, task, clock);
}

/* The gap as a point, at `clock`. */
static int show_gap(struct timeline *tl, struct cpu *cpu, struct task *task, uint64_t clock)
{
	int err = open_gap(tl, cpu, task, clock);

	return err ? err : close_gap(tl, cpu, task, clock);
}

/* The gap is shown in the stream of the task that enters, since the one that leaves has none. */
static int gap_of_next(struct timeline *tl, struct cpu *cpu, struct task *next,
		       const struct record_switch *r)
{
	uint64_t clock = r->head.clock;
	int err;

	if (next->state == LIFELINE_PAUSED && r->wake_clock >= next->out && r->wake_clock &&
	    r->wake_clock <= cpu->gap_clock) {
		err = task_room(tl->threads, next);
		if (err)
			return err;
		move_wake(&tl->moves, next, clock, r->wake_clock, r->waker_tid);
	}
	return show_gap(tl, cpu, next, clock);
}

/* ---- the window ---- */

/* Before the window: who runs where, and in which state the others are. */
static void believe_off(struct task *task, bool runnable, uint64_t clock)
{
	task->state = LIFELINE_UNKNOWN;
	task->cpu = -1;
	task->out = clock;
	task->flags &= (uint8_t)~TASK_RUNNABLE;
	if (runnable)
		task->flags |= TASK_RUNNABLE;
}

/* What runs on `cpu` is the task of that id (0: none that is wanted). */
static int believe_on(struct timeline *tl, struct cpu *cpu, uint32_t id, uint32_t pid, uint32_t tid)
{
	struct task *task = threads_task(tl->threads, id);

	if (id && !task)
		return -ENOMEM;
	if (cpu->on && cpu->on != task)
		believe_off(cpu->on, false, tl->options.t0);
	if (task) {
		if (!task->id)
			threads_use(tl->threads, task, id, pid, tid);
		if (task->state == LIFELINE_RUNNING && tl->by_index[task->cpu] != cpu)
			tl->by_index[task->cpu]->on = NULL;
		task->pid = pid;
		task->tid = tid;
		task->flags |= TASK_BEFORE;
		task->state = LIFELINE_RUNNING;
		task->cpu = cpu->account.index;
	}
	occupy(cpu, task, tid);
	return 0;
}

static int believe_switch(struct timeline *tl, struct cpu *cpu, const struct record_switch *r)
{
	struct task *prev;
	int err = believe_on(tl, cpu, r->head.id, r->prev_pid, r->prev_tid);

	if (err)
		return err;
	prev = cpu->on;
	cpu->on = NULL;
	if (prev) {
		believe_off(prev, r->head.why == WHY_PREEMPTED || r->head.why == WHY_YIELDED,
			    r->head.clock);
		if (r->head.why == WHY_DEAD)
			threads_release(tl->threads, prev);
	}
	return believe_on(tl, cpu, r->next_id, r->next_pid, r->next_tid);
}

/* The first record of the window, or its end: who runs enters at t0. */
static int open_window(struct timeline *tl)
{
	uint64_t t0 = tl->options.t0;
	int err = 0;

	tl->open = true;
	for (unsigned i = 0; i < tl->ncpus && !err; i++) {
		struct cpu *cpu = tl->cpus[i];
		struct task *task = cpu->on;

		if (!task)
			continue;
		task->state = LIFELINE_UNKNOWN;
		err = bind(tl, task, t0, false);
		if (!err)
			err = move_begin(&tl->moves, task, cpu->account.index, t0);
	}
	return err;
}

/* ---- records: switches ---- */

static inline uint64_t prev_key(const struct record_switch *r)
{
	return thread_key(r->prev_pid, r->prev_tid);
}

static inline uint64_t next_key(const struct record_switch *r)
{
	return thread_key(r->next_pid, r->next_tid);
}

/*
 * Whatever is not the ordinary case in a switch, mended so that it is: *prev runs here, or is
 * NULL; *next is bound and does not run, or is NULL.
 */
static int unusual(struct timeline *tl, struct cpu *cpu, const struct record_switch *r,
		   struct task **prev, struct task **next)
{
	uint64_t clock = r->head.clock;
	int err = 0;

	if ((!*prev && r->head.id) || (!*next && r->next_id)) {
		log_error("no memory for another task");
		return -ENOMEM;
	}
	if (*prev)
		err = ready(tl, *prev, r->head.id, r->prev_pid, r->prev_tid, clock,
			    r->head.why == WHY_DEAD, prev);
	if (!err)
		err = prove_after_gap(tl, cpu, *prev, clock);
	if (err || !*next)
		return err;

	if (r->head.flags & SWITCH_NEXT_ELSEWHERE)
		(*next)->flags &= (uint8_t)~TASK_BEFORE;
	if ((*next)->state == LIFELINE_RUNNING && (*next)->key && *next != *prev)
		err = expel(tl, *next, earlier_by(clock, 2));
	if (!err)
		err = ready(tl, *next, r->next_id, r->next_pid, r->next_tid,
			    later(clock, cpu->last), false, next);
	if (*prev && (*prev)->flags & TASK_GONE)
		*prev = NULL; /* its tid is already that of *next */
	if (err || !*next)
		return err;
	(*next)->flags &= (uint8_t)~TASK_JOINED;
	if (r->head.flags & SWITCH_NEXT_ELSEWHERE && *next != *prev)
		err = move_close(&tl->moves, *next, (*next)->last);
	if (!err && cpu->gap && !tl->options.kernel_model)
		err = gap_of_next(tl, cpu, *next, r);
	return err;
}

/* The last switch of a task. */
static int die(struct timeline *tl, struct cpu *cpu, struct task *task, uint64_t clock)
{
	int err = move_end(&tl->moves, task, clock);

	cpu->last = task->last;
	cpu->on = NULL;
	return err ? err : unbind_and_release(tl, task);
}

static int take_switch(struct timeline *tl, struct cpu *cpu, const struct record_switch *r)
{
	struct task *prev = threads_task(tl->threads, r->head.id);
	struct task *next = threads_task(tl->threads, r->next_id);
	uint64_t clock = r->head.clock;
	int err;

	tl->counts.switches++;
	if (unlikely(cpu->on != prev || cpu->gap || r->head.flags || (r->head.id && !prev) ||
		     (r->next_id && !next) || (prev && prev->key != prev_key(r)) ||
		     (next && (next->key != next_key(r) || next->state == LIFELINE_RUNNING)))) {
		err = unusual(tl, cpu, r, &prev, &next);
		if (err || (prev && prev == next))
			return err;
	}
	charge(cpu, clock);
	cpu->last = later(cpu->last, clock);
	if (prev) {
		if (!r->next_id)
			names_mention(&tl->threads->names, r->next_tid);
		if (unlikely(r->head.why == WHY_DEAD)) {
			err = die(tl, cpu, prev, cpu->last);
		} else {
			err = move_out(&tl->moves, prev, cpu->last, r->head.why,
				       (int32_t)r->next_tid);
			prev->out = clock;
			cpu->last = prev->last;
			tl->counts.preemptions += r->head.why == WHY_PREEMPTED;
		}
		if (unlikely(err))
			return err;
	} else if (unlikely(r->head.why == WHY_DEAD && r->head.id)) {
		/* its stream has been taken over before (TASK_GONE) */
		threads_release(tl->threads, threads_task(tl->threads, r->head.id));
	}
	occupy(cpu, next, r->next_tid);
	if (!next)
		return 0;
	err = move_in(&tl->moves, next, cpu->account.index, cpu->last + 1, r->wake_clock,
		      r->waker_tid);
	cpu->last = next->last;
	if (unlikely(cpu->gap) && !err)
		err = show_gap(tl, cpu, next, next->last);
	return err;
}

/* ---- records: lives ---- */

/*
 * The task in whose context a record was made, bound and proven to run here; *out is NULL if
 * there is none with a stream, or it is not known who it is. `pid` is of one not met before,
 * `tid` is 0 if the record does not tell it.
 */
static int context(struct timeline *tl, struct cpu *cpu, const struct record_head *head,
		   uint32_t pid, uint32_t tid, struct task **out)
{
	struct task *task = threads_task(tl->threads, head->id);
	int err;

	*out = NULL;
	if (!task || (!task->id && !tid))
		return 0;
	if (task->id)
		pid = task->pid;
	if (!tid)
		tid = task->tid;
	err = ready(tl, task, head->id, pid, tid, head->clock, false, out);
	return err || !*out ? err : prove_after_gap(tl, cpu, *out, head->clock);
}

/* A task that is not wanted (any more). Its name may be of use. */
static int take_unwanted(struct timeline *tl, const struct record_task *r)
{
	struct task *task = threads_task(tl->threads, r->id);
	int err = 0;

	names_tell(&tl->threads->names, r->tid, r->comm);
	if (!task || !task->id)
		return 0;
	if (task->thread)
		err = give_up(tl, task, r->head.clock);
	else if (task->state == LIFELINE_RUNNING) /* before the window */
		occupy(tl->by_index[task->cpu], NULL, task->tid);
	threads_release(tl->threads, task);
	return err;
}

/* Takes the slot of a wanted task into use. It may still be that of one whose end was lost. */
static int admit(struct timeline *tl, const struct record_task *r)
{
	struct task *task = threads_task(tl->threads, r->id);
	int err = 0;

	if (task && task->id && r->head.flags == TASK_BORN &&
	    (task->pid != r->pid || task->tid != r->tid)) {
		if (task->thread) {
			count_repair(tl, NULL, task);
			err = give_up(tl, task, task->last);
		}
		threads_release(tl->threads, task);
		task = threads_task(tl->threads, r->id);
	}
	if (!task)
		return -ENOMEM;
	if (!task->id) {
		threads_use(tl->threads, task, r->id, r->pid, r->tid);
		if (r->head.flags != TASK_BORN && r->head.flags != TASK_ITERATED) {
			task->flags |= TASK_JOINED;
			task->joined = r->head.clock;
		}
	}
	return err;
}

/* What a record tells of a task, but for its tid. */
static int learn(struct timeline *tl, struct task *task, const struct record_task *r)
{
	if (r->head.flags == TASK_BORN)
		task->creator_tid = r->creator_tid;
	if (r->parent_pid)
		task->parent_pid = r->parent_pid;
	if (r->flags & TASK_FLAG_KTHREAD)
		task->flags |= TASK_KERNEL;
	return threads_name(tl->threads, task, later(r->head.clock, tl->options.t0), r->comm);
}

/* Before the window, a record of a life moves nobody. */
static int believe_task(struct timeline *tl, struct cpu *cpu, const struct record_task *r)
{
	struct task *task;
	int err;

	if (!r->id || !(r->flags & TASK_FLAG_WANTED))
		return take_unwanted(tl, r);
	err = admit(tl, r);
	if (err)
		return err;
	task = threads_task(tl->threads, r->id);
	task->pid = r->pid;
	task->tid = r->tid;
	task->flags |= TASK_BEFORE;
	if (r->head.flags == TASK_BORN)
		task->flags |= TASK_RUNNABLE;
	if (r->head.id == r->id && cpu->on != task)
		err = believe_on(tl, cpu, r->id, r->pid, r->tid);
	return err ? err : learn(tl, task, r);
}

static int take_task(struct timeline *tl, struct cpu *cpu, const struct record_task *r)
{
	bool wanted = r->id && r->flags & TASK_FLAG_WANTED, born = r->head.flags == TASK_BORN;
	bool itself = r->head.id == r->id, new = false;
	struct task *task = NULL, *maker = NULL;
	int err = 0;

	if (wanted) {
		err = admit(tl, r);
		task = threads_task(tl->threads, r->id);
		new = task && !task->thread;
		/* What is told of one without a stream is needed when it gets one. */
		if (!err && new)
			err = learn(tl, task, r);
	}
	if (!err && born)
		err = context(tl, cpu, &r->head, r->pid == r->tid ? r->parent_pid : r->pid,
			      r->creator_tid > 0 ? (uint32_t)r->creator_tid : 0, &maker);
	else if (!err && itself && wanted)
		err = context(tl, cpu, &r->head, r->pid, r->tid, &maker);
	else if (!err && !itself)
		err = context(tl, cpu, &r->head, 0, 0, &maker);
	if (!err && born && maker)
		err = move_create(&tl->moves, maker, r->head.clock, r->tid);
	if (!err && wanted && !new)
		err = learn(tl, task, r);
	else if (!err && !wanted)
		err = take_unwanted(tl, r);
	if (!err && itself && maker && r->head.flags == TASK_EXECED)
		threads_look(tl->threads, maker->thread->process);
	return err;
}

static int take_exit(struct timeline *tl, struct cpu *cpu, const struct record_exit *r)
{
	struct task *task = threads_task(tl->threads, r->id), *maker;
	int err = 0;

	if (tl->open)
		err = context(tl, cpu, &r->head, r->pid, r->tid, &maker);
	if (err || !task || !task->id)
		return err;
	task->flags |= TASK_EXITING;
	task->exit_code = r->exit_code;
	if (r->head.id)
		return 0;
	/* On a CPU that is not listed, where nothing more is seen of it. */
	if (task->thread && task->state == LIFELINE_RUNNING)
		count_repair(tl, tl->by_index[task->cpu], task);
	if (task->thread)
		err = give_up(tl, task, task->last);
	else if (task->state == LIFELINE_RUNNING)
		occupy(tl->by_index[task->cpu], NULL, task->tid);
	threads_release(tl->threads, task);
	return err;
}

/* ---- records: the rest ---- */

static int take_snapshot(struct timeline *tl, struct cpu *cpu, const struct record_snapshot *r)
{
	struct task *task;
	int err;

	if (!tl->open)
		return believe_on(tl, cpu, r->head.id, r->pid, r->tid);
	if (r->head.id)
		return context(tl, cpu, &r->head, r->pid, r->tid, &task);
	err = prove(tl, cpu, NULL, r->head.clock);
	charge(cpu, r->head.clock);
	occupy(cpu, NULL, r->tid);
	return err;
}

static void take_lost(struct timeline *tl, struct cpu *cpu, const struct record_lost *r)
{
	if (!r->count)
		return;
	if (!cpu->gap)
		cpu->gap_clock = r->first_clock;
	cpu->gap += r->count;
	cpu->account.lost += r->count;
	tl->counts.lost += r->count;
}

/* Up to t0: only who runs where, and who is who. */
static int before_window(struct timeline *tl, struct cpu *cpu, const struct record_head *head)
{
	tl->counts.outside++;
	if (tl->open)
		return 0;
	switch (head->kind) {
	case RECORD_SWITCH:
		return believe_switch(tl, cpu, (const struct record_switch *)head);
	case RECORD_TASK:
		return believe_task(tl, cpu, (const struct record_task *)head);
	case RECORD_EXIT:
		return take_exit(tl, cpu, (const struct record_exit *)head);
	case RECORD_SNAPSHOT:
		return take_snapshot(tl, cpu, (const struct record_snapshot *)head);
	default:
		return 0;
	}
}

static int in_window(struct timeline *tl, struct cpu *cpu, const struct record_head *head)
{
	switch (head->kind) {
	case RECORD_SWITCH:
		return take_switch(tl, cpu, (const struct record_switch *)head);
	case RECORD_TASK:
		return take_task(tl, cpu, (const struct record_task *)head);
	case RECORD_EXIT:
		return take_exit(tl, cpu, (const struct record_exit *)head);
	case RECORD_SNAPSHOT:
		return take_snapshot(tl, cpu, (const struct record_snapshot *)head);
	case RECORD_LOST:
		take_lost(tl, cpu, (const struct record_lost *)head);
		return 0;
	default:
		return 0;
	}
}

/* A gap that began in the window was lost from it, though this is told only after its end. */
static void after_window(struct timeline *tl, struct cpu *cpu, const struct record_head *head)
{
	const struct record_lost *lost = (const struct record_lost *)head;

	tl->counts.outside++;
	if (head->kind == RECORD_LOST && lost->first_clock <= tl->t1)
		take_lost(tl, cpu, lost);
}

int timeline_record(struct timeline *tl, unsigned number, const struct record_head *head)
{
	struct cpu *cpu = cpu_of(tl, number);
	uint64_t clock = head->clock;

	if (unlikely(tl->error))
		return tl->error;
	if (unlikely(!cpu))
		return tl->error = -ENOMEM;
	tl->counts.records++;
	if (head->kind < RECORD_KINDS)
		tl->counts.by_kind[head->kind]++;
	cpu->account.records++;
	if (unlikely(clock < tl->now)) {
		tl->counts.late++;
	} else {
		tl->counts.ties += clock == tl->now && cpu != tl->now_cpu;
		tl->now = clock;
		tl->now_cpu = cpu;
	}
	if (unlikely(clock > tl->t1)) {
		after_window(tl, cpu, head);
		return 0;
	}
	if (unlikely(clock <= tl->options.t0))
		return tl->error = before_window(tl, cpu, head);
	if (unlikely(!tl->open)) {
		tl->error = open_window(tl);
		if (tl->error)
			return tl->error;
	}
	return tl->error = in_window(tl, cpu, head);
}

/* ---- the task iterator ---- */

static int iterated_before(struct timeline *tl, const struct record_task *r)
{
	struct task *task;
	int err = admit(tl, r);

	if (err)
		return err;
	task = threads_task(tl->threads, r->id);
	if (!task->thread && !(task->flags & TASK_BEFORE) && !(r->flags & TASK_FLAG_ELSEWHERE)) {
		task->flags |= TASK_BEFORE;
		if (r->state == 0)
			task->flags |= TASK_RUNNABLE;
	}
	return learn(tl, task, r);
}

/* Who was woken in the window and has not run since; who was elsewhere at its end. */
static int iterated_after(struct timeline *tl, const struct record_task *r)
{
	struct task *task = threads_task(tl->threads, r->id), *ready_task;
	int err;

	if (!task || !task->id || task->flags & TASK_GONE)
		return 0;
	if (r->flags & TASK_FLAG_ELSEWHERE) {
		task->flags &= (uint8_t)~TASK_BEFORE;
		/* One that ran on a listed CPU when the window closed has left it since. */
		if (!task->thread || task->state == LIFELINE_RUNNING)
			return 0;
		return move_close(&tl->moves, task, task->last);
	}
	if (!r->wake_clock || r->wake_clock <= tl->options.t0 || r->wake_clock > tl->t1 ||
	    r->wake_clock < task->out || tl->options.kernel_model)
		return 0;
	if (!task->thread) {
		err = ready(tl, task, r->id, task->pid, task->tid, r->wake_clock, false,
			    &ready_task);
		if (!err && task->state == LIFELINE_UNKNOWN)
			err = move_begin(&tl->moves, task, -1, r->wake_clock);
		if (!err && task->state == LIFELINE_RUNNING)
			err = move_out(&tl->moves, task, r->wake_clock, WHY_UNKNOWN, -1);
		if (err)
			return err;
	}
	if (task->state != LIFELINE_PAUSED)
		return 0;
	err = task_room(tl->threads, task);
	if (!err)
		move_wake(&tl->moves, task, r->wake_clock, r->wake_clock, r->waker_tid);
	return err;
}

int timeline_iterated(struct timeline *tl, const struct record_task *r)
{
	if (tl->error)
		return tl->error;
	if (!r->id || !(r->flags & TASK_FLAG_WANTED)) {
		names_tell(&tl->threads->names, r->tid, r->comm);
		return 0;
	}
	return tl->error = tl->stopped ? iterated_after(tl, r) : iterated_before(tl, r);
}

/* ---- the end ---- */

void timeline_stop(struct timeline *tl, uint64_t t1)
{
	tl->stopped = true;
	tl->t1 = later(tl->options.t0, t1 < CLOCK_MAX ? t1 : CLOCK_MAX);
}

/* Brings one task to its end, and lets it go. */
static int close_task(struct timeline *tl, struct task *task)
{
	int err = 0;

	/* Whose stream another one has used since is long gone. */
	if (!task->thread && task->flags & TASK_BEFORE && tl->options.all_threads &&
	    !threads_find(tl->threads, task->pid, task->tid))
		err = bind(tl, task, tl->options.t0, true);
	if (!err && task->thread)
		err = give_up(tl, task, tl->t1);
	threads_release(tl->threads, task);
	return err;
}

static int close_tasks(struct timeline *tl)
{
	struct threads *threads = tl->threads;
	int err = 0;

	for (size_t page = 0; page < threads->npages; page++) {
		for (unsigned i = 0; i < TASKS_PAGE && threads->pages[page] && !err; i++) {
			struct task *task = &threads->pages[page]->tasks[i];

			if (task->id)
				err = close_task(tl, task);
		}
	}
	return err;
}

/* What each CPU did, to its end, for the metadata. */
static int account(struct timeline *tl, struct session *session)
{
	struct timeline_cpu *cpus = calloc(tl->ncpus ? tl->ncpus : 1, sizeof(*cpus));

	if (!cpus)
		return -ENOMEM;
	for (unsigned i = 0; i < tl->ncpus; i++)
		cpus[i] = tl->cpus[i]->account;
	*session = tl->threads->session;
	session->closed = true;
	session->t1 = tl->t1;
	session->counts = tl->counts;
	session->cpus = cpus;
	session->ncpus = tl->ncpus;
	return 0;
}

int timeline_close(struct timeline *tl)
{
	struct session session;
	int err = tl->error;

	if (!tl->stopped)
		timeline_stop(tl, tl->now);
	if (!err && !tl->open)
		err = open_window(tl);
	for (unsigned i = 0; i < tl->ncpus; i++)
		charge(tl->cpus[i], tl->t1);
	if (!err)
		err = close_tasks(tl);
	if (!err)
		err = account(tl, &session);
	if (!err)
		err = threads_finish(tl->threads, &session);
	return tl->error = err;
}
