// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * snapshot: the task that runs on this CPU now, and all tasks of the machine (full mode).
 *
 * User code runs take_snapshot on each CPU in turn (BPF_PROG_TEST_RUN): in an interrupt, in order
 * with the switches of that CPU, and so is its record in the ring. The iterator marks existing
 * tasks as in the target, and reports names, parents, and the states of tasks off the CPU.
 * Specification: ebpf.md 9; event-mapping.md "Clock and window".
 */
#include "emit.bpf.h"
#include "priority.bpf.h"
#include "sched_clock.bpf.h"
#include "target.bpf.h"
#include "task_record.bpf.h"
#include "user_registers.bpf.h"

/* Returns 1 if the record found space; its clock is then in the CPU's state. Else it can be tried
 * again. */
SEC("raw_tp")
int take_snapshot(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct cpu_state *cpu = this_cpu_state();
	struct record_snapshot *record;

	if (!cpu || !emit_possible(cpu, sizeof(*record)))
		return 0;
	cpu->events[EVENT_OTHER].seen++;
	record = emit_begin(cpu, RECORD_SNAPSHOT, EVENT_OTHER, sizeof(*record));
	if (!record)
		return 0;
	record->head.flags = ctx->args[0];
	record->head.why = 0;
	record->head.id = task_context(cpu);
	record->tid = task->pid;
	record->pid = task->tgid;
	cpu->snapshot_clock = record->head.clock;
	emit_end(cpu);
	return 1;
}

/*
 * Chooses the beginning or the end of the window, a little ahead: every program knows it when it
 * comes. User code could be delayed between reading the clock and storing it; a program is not.
 */
SEC("raw_tp")
int choose_moment(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 *moment = ctx->args[0] == MOMENT_BEGIN ? &window_begin : &window_end;

	*(volatile __u64 *)moment = bpf_ktime_get_ns() + MOMENT_AHEAD;
	return 0;
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

/* Marks an existing task. Programs see its events from now on; `*state` is its state before. */
static __always_inline struct task_state *mark_existing(struct task_struct *task, const char *comm,
							__u32 *state)
{
	struct task_state *task_state = target_mark(task);
	bool changed;

	if (!task_state)
		return NULL;
	changed = target_update(task, task_state, comm);
	*state = kernel_task_state(task);
	if (changed && *state && (settings.wakeup_from_sched_info || settings.stack_ns)) {
		task_state->delay = task->sched_info.run_delay;
		__sync_val_compare_and_swap(&task_state->slept, 0, ASLEEP_UNKNOWN);
	}
	task_state->ksoftirqd = is_ksoftirqd(task, comm);
	/* Its last switch may have come before it was marked. */
	if (task->exit_state || kernel_task_state(task) & STATE_DEAD)
		target_gone(task_state);
	return task_state;
}

/* When a thread that waits for a CPU was woken, ns; 0: it sleeps, or no program saw its wake-up. */
static __always_inline __u64 pending_wakeup(struct task_struct *task,
					    const struct task_state *task_state)
{
	__u64 wake = *(const volatile __u64 *)&task_state->wake_clock;
	__u64 slept = *(const volatile __u64 *)&task_state->slept;
	__u64 queued = task->sched_info.last_queued;

	if (wake || !settings.wakeup_from_sched_info || !queued || !slept || !sched_offset_clock ||
	    (settings.interrupts && task_state->waker_tid == WAKER_UNKNOWN))
		return wake;
	return wakeup_clock(task, queued, slept, task_state->delay);
}

/* The system call of a task that sleeps, if it does all the time while its registers are read. */
static __always_inline __u16 call_of_sleep(struct task_struct *task, __u64 *object)
{
	__u64 switches = task->nvcsw + task->nivcsw;
	__u32 state = kernel_task_state(task);
	__u16 call;

	if (!settings.calls || kernel_is_kthread(task) || !state ||
	    state & (STATE_STOPPED | STATE_TRACED) || kernel_on_cpu(task))
		return CALL_UNKNOWN;
	call = kernel_call(task, user_registers(task), object);
	barrier();
	if (kernel_on_cpu(task) || kernel_task_state(task) != state ||
	    task->nvcsw + task->nivcsw != switches)
		return CALL_UNKNOWN;
	return call;
}

/* The registers of the user code of a task that sleeps, after its stack. */
static __noinline int put_user(struct seq_file *seq, struct task_struct *task, __u32 number)
{
	struct record_registers record = {};

	record.head.kind = RECORD_REGISTERS;
	record.number = number;
	record.pid = task->tgid;
	record.tid = task->pid;
	put_registers(record.registers, user_registers(task));
	bpf_seq_write(seq, &record, sizeof(record));
	return 0;
}

/* The kernel stack of a task that sleeps, after its record, if it does all the time. Returns the
 * number for its user code, or 0. */
static __noinline int put_stack(struct seq_file *seq, struct task_struct *task,
				struct task_state *task_state)
{
	__u64 slept = *(const volatile __u64 *)&task_state->slept;
	struct record_stack record = {};
	long bytes = 0;

	if (!task_state->id || !slept || kernel_on_cpu(task))
		return 0;
	if (settings.stack_parts & STACK_OF_KERNEL)
		bytes = bpf_get_task_stack(task, record.kernel, sizeof(record.kernel), 0);
	barrier();
	if (bytes < 0 || (!bytes && !(settings.stack_parts & STACK_OF_USER)) ||
	    *(const volatile __u64 *)&task_state->slept != slept || kernel_on_cpu(task))
		return 0;
	record.head.clock = slept;
	record.head.kind = RECORD_STACK;
	record.head.flags = bytes == sizeof(record.kernel) ? STACK_CUT : 0;
	record.head.id = task_state->id;
	record.tid = task->pid;
	record.nkernel = (__u64)bytes / sizeof(record.kernel[0]);
	if (settings.stack_parts & STACK_OF_USER && has_user_code(task))
		record.number = next_user_stack();
	bpf_seq_write(seq, &record, sizeof(record));
	return (int)record.number;
}

/* The priority of a task that is recorded, after its record. */
static __noinline int put_priority(struct seq_file *seq, struct task_struct *task,
				   struct task_state *task_state)
{
	struct record_priority record = {};

	if (!task_state->id)
		return 0;
	priority_fill(&record, task, task_state->id);
	record.head.kind = RECORD_PRIORITY;
	bpf_seq_write(seq, &record, sizeof(record));
	return 0;
}

SEC("iter/task")
int iterate_tasks(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct record_iterated record = {};
	struct task_state *task_state;
	__u32 state, number = 0;

	recorder = bpf_get_current_task_btf()->tgid; /* which reads this iterator */
	if (!task || task->exit_state)		     /* a zombie never runs again */
		return 0;
	if (settings.registers)
		stack_bytes = kernel_stack_bytes(task);
	bpf_probe_read_kernel_str(record.task.comm, sizeof(record.task.comm), task->comm);
	state = kernel_task_state(task);
	if (iterator_marks && target_named(task))
		task_state = mark_existing(task, record.task.comm, &state);
	else
		task_state = bpf_task_storage_get(&tasks, task, 0, 0);
	task_fill(&record.task, TASK_ITERATED, 0, task, task_state);
	bpf_probe_read_kernel_str(record.task.comm, sizeof(record.task.comm), task->comm);
	record.task.head.kind = RECORD_TASK;
	record.task.state = state;
	record.task.on_cpu = kernel_on_cpu(task);
	if (task_state) {
		record.task.wake_clock = pending_wakeup(task, task_state);
		record.task.waker_tid =
			record.task.wake_clock ? task_state->waker_tid : WAKER_UNKNOWN;
	}
	record.call = call_of_sleep(task, &record.object);
	bpf_seq_write(ctx->meta->seq, &record, sizeof(record));
	if (settings.stack_ns && task_state && !iterator_marks)
		number = (__u32)put_stack(ctx->meta->seq, task, task_state);
	if (settings.stack_parts & STACK_OF_USER && number)
		put_user(ctx->meta->seq, task, number);
	if (settings.priority_words && task_state && iterator_marks)
		put_priority(ctx->meta->seq, task, task_state);
	return 0;
}
