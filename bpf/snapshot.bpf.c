// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * snapshot: who runs on this CPU now, and who there is on the machine.
 *
 * take_snapshot is run by user code on each CPU in turn (BPF_PROG_TEST_RUN): an interrupt, in
 * order with the switches of that CPU, and its record is in order with theirs in the
 * ring. The iterator makes members of the tasks that exist already, and tells names, parents
 * and the states of tasks off the CPU.
 * Specification: ebpf.md 9; event-mapping.md "Clock and window".
 */
#include "counters.bpf.h"
#include "emit.bpf.h"
#include "target.bpf.h"
#include "task_record.bpf.h"

/*
 * This one runs here. Between its switches nothing else changes its counters, but who has marked it
 * as wanted could not tell what it does.
 */
static __always_inline void count_here(struct cpu_state *state, __u32 cpu, struct task_struct *task,
				       __u64 clock)
{
	struct task_state *task_state = task->pid ? task_state_of(task) : NULL;
	bool counted = task_state && task_state->wanted && !(knobs.cpu_list && !state->recorded);

	if (!knobs.switches)
		return;
	if (knobs.deferred) {
		counters_open(&state->counters.seq);
		state->task = (__u64)task;
		state->tid = task->pid;
		state->entered = clock;
		counters_shut(&state->counters.seq);
	}
	if (counted && !task_state->counters.entered) {
		counters_enter(&task_state->counters, task, cpu, 0, clock);
		counters_charge(counters_window(), &task_state->counters, clock);
	}
	counters_cpu(counters_window(), state,
		     counted				       ? CPU_THREAD
		     : task->pid || !knobs.all || knobs.narrow ? CPU_OTHER
							       : CPU_IDLE,
		     clock);
}

/* Returns 1 if the record found room; its clock is then in the CPU's state. Else it can be
 * tried again. */
SEC("raw_tp")
int take_snapshot(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 cpu = bpf_get_smp_processor_id();
	struct cpu_state *state = cpu_state(cpu);
	struct record_snapshot *record;

	if (!state)
		return 0;
	if (!knobs.rings) {
		state->snapshot_clock = bpf_ktime_get_ns();
		count_here(state, cpu, task, state->snapshot_clock);
		return 1;
	}
	if (!emit_possible(state, cpu, sizeof(*record)))
		return 0;
	state->events[EVENT_OTHER].seen++;
	record = emit_begin(state, cpu, RECORD_SNAPSHOT, EVENT_OTHER, sizeof(*record));
	if (!record)
		return 0;
	record->head.flags = ctx->args[0];
	record->head.why = 0;
	record->head.id = task_context(state);
	record->tid = task->pid;
	record->pid = task->tgid;
	state->snapshot_clock = record->head.clock;
	emit_end(state);
	count_here(state, cpu, task, state->snapshot_clock);
	return 1;
}

/*
 * The window begins, or ends, a little later than now: by then every program knows. User code could
 * be held up between reading the clock and storing it; a program is not.
 */
SEC("raw_tp")
int choose_moment(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 *moment = ctx->args[0] == MOMENT_BEGIN ? &window_begin : &window_end;

	*(volatile __u64 *)moment = bpf_ktime_get_ns() + MOMENT_AHEAD;
	return 0;
}

/* Is a task named by the user, itself (-t) or as a thread of its process (-p)? */
static __always_inline bool named(struct task_struct *task)
{
	__u32 key;

	if (knobs.all)
		return true;
	key = kernel_number(knobs.threads ? task->group_leader : task);
	return bpf_map_lookup_elem(&targets, &key);
}

static __always_inline bool is_ksoftirqd(struct task_struct *task, const char *comm)
{
	static const char name[] = "ksoftirqd/";
	int i;

	if (!kernel_is_kthread(task))
		return false;
	for (i = 0; i < (int)sizeof(name) - 1; i++)
		if (comm[i] != name[i])
			return false;
	return true;
}

/*
 * What a task does that existed before, if nothing has been seen of it yet: its storage is there,
 * so what it does from now on is. One that runs is told by the snapshot of its CPU.
 */
static __always_inline void count_found(struct task_struct *task, struct thread_counters *c,
					__u32 state)
{
	c->tid = task->pid;
	c->pid = task->tgid;
	c->cpu = -1;
	if (knobs.queued && c->use == THREAD_NONE)
		c->delay = task->sched_info.run_delay;
	__sync_val_compare_and_swap(&c->use, THREAD_NONE,
				    !knobs.switches ? THREAD_UNKNOWN
				    : state	    ? THREAD_BLOCKED
						    : THREAD_RUNNABLE);
}

SEC("iter/task")
int iterate_tasks(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct record_task record = {};
	struct task_state *task_state;
	__u32 state;

	recorder = bpf_get_current_task_btf()->tgid; /* who reads this */
	if (!task || task->exit_state)		     /* a zombie never runs again */
		return 0;
	if (knobs.registers)
		stack_bytes = (__u64)bpf_task_pt_regs(task) - (__u64)task->stack;
	bpf_probe_read_kernel_str(record.comm, sizeof(record.comm), task->comm);
	state = kernel_task_state(task);
	task_state = bpf_task_storage_get(&tasks, task, 0, 0);
	if (iterator_tags && named(task)) {
		task_state = target_add(task);
		if (task_state) {
			bool found = target_update(task, task_state, record.comm);

			/* What it does after this is seen, and what it did before shows in this. */
			state = kernel_task_state(task);
			if (found)
				count_found(task, &task_state->counters, state);
			task_state->softirqs = is_ksoftirqd(task, record.comm);
			/* Its last switch may have come before it was a member. */
			if (task->exit_state || kernel_task_state(task) & STATE_DEAD)
				target_gone(task_state);
		}
	}
	task_fill(&record, TASK_ITERATED, 0, task, task_state);
	bpf_probe_read_kernel_str(record.comm, sizeof(record.comm), task->comm);
	record.head.kind = RECORD_TASK;
	record.state = state;
	record.on_cpu = task->on_cpu;
	if (task_state) {
		record.wake_clock = bpf_ktime_get_ns() > *(volatile __u64 *)&window_end
					    ? task_state->wake_clock /* keep_woken() */
					    : counters_woken(task, task_state);
		record.waker_tid = record.wake_clock ? task_state->waker_tid : WAKER_UNKNOWN;
	}
	bpf_seq_write(ctx->meta->seq, &record, sizeof(record));
	return 0;
}

/*
 * The window is over, and the thread waits. Till its wake-up is told it may run, and soon no
 * program sees that, but the scheduler forgets: so its storage has what the counters are told. A
 * switch that takes it along, or has just told it, tells nothing else.
 */
static __always_inline void keep_woken(const struct thread_figures *figures,
				       struct task_state *task_state)
{
	if (knobs.queued && figures->wake_clock && !figures->counters.entered)
		*(volatile __u64 *)&task_state->wake_clock = figures->wake_clock;
}

#define READ_TRIES 16

/* Copies what no program changes meanwhile; on the machine's other CPUs they may run. What is
 * copied holds at the clock that is returned; 0: it did not stand still. */
static __always_inline __u64 read_counters(struct thread_figures *to, struct task_struct *task,
					   struct task_state *from)
{
	int i;

	for (i = 0; i < READ_TRIES; i++) {
		__u32 seq = *(volatile __u32 *)&from->counters.seq;
		__u64 clock;

		barrier();
		__builtin_memcpy(&to->counters, &from->counters, sizeof(to->counters));
		to->wake_clock =
			to->counters.entered ? to->counters.wake : counters_woken(task, from);
		if (knobs.deferred) {
			to->run_delay = task->sched_info.run_delay;
			to->last_arrival = task->sched_info.last_arrival;
			to->last_queued = task->sched_info.last_queued;
		}
		barrier();
		clock = bpf_ktime_get_ns();
		if (seq & 1 || seq != *(volatile __u32 *)&from->counters.seq)
			continue;
		if (knobs.rings && clock > *(volatile __u64 *)&window_end)
			keep_woken(to, from);
		return clock;
	}
	return 0;
}

/* The counters of all threads that are alive. Figures with the clock 0 could not be read, and are
 * to be asked for again. */
SEC("iter/task")
int iterate_counters(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct thread_figures figures = {};
	struct task_state *task_state;

	if (!task)
		return 0;
	task_state = bpf_task_storage_get(&tasks, task, 0, 0);
	if (!task_state || !task_state->own_id)
		return 0;
	figures.clock = read_counters(&figures, task, task_state);
	if (!knobs.rings)
		figures.counters.wake = 0; /* it is no event */
	if (figures.counters.use == THREAD_DEAD)
		return 0;
	figures.id = task_state->own_id;
	figures.task = (__u64)task;
	figures.wanted = task_state->wanted;
	bpf_probe_read_kernel_str(figures.comm, sizeof(figures.comm), task->comm);
	bpf_seq_write(ctx->meta->seq, &figures, sizeof(figures));
	return 0;
}
