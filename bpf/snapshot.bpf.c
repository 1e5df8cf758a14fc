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
#include "emit.bpf.h"
#include "target.bpf.h"
#include "task.bpf.h"

/* Returns 1 if the record found room; its clock is then in the CPU's state. Else it can be
 * tried again. */
SEC("raw_tp")
int take_snapshot(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 cpu = bpf_get_smp_processor_id();
	struct cpu_state *state = cpu_state(cpu);
	struct record_snapshot *record;

	if (!state || !emit_possible(state, cpu, sizeof(*record)))
		return 0;
	record = emit_begin(state, cpu, RECORD_SNAPSHOT, sizeof(*record));
	if (!record)
		return 0;
	record->head.flags = ctx->args[0];
	record->head.why = 0;
	record->head.id = task_context(state);
	record->tid = task->pid;
	record->pid = task->tgid;
	state->snapshot_clock = record->head.clock;
	emit_end(state);
	return 1;
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

SEC("iter/task")
int iterate_tasks(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct record_task record = {};
	struct task_state *task_state;

	if (!task || task->exit_state) /* a zombie never runs again */
		return 0;
	if (knobs.registers)
		stack_bytes = (__u64)bpf_task_pt_regs(task) - (__u64)task->stack;
	bpf_probe_read_kernel_str(record.comm, sizeof(record.comm), task->comm);
	task_state = bpf_task_storage_get(&tasks, task, 0, 0);
	if (iterator_tags && named(task)) {
		task_state = target_add(task);
		if (task_state) {
			target_update(task, task_state, record.comm);
			task_state->softirqs = is_ksoftirqd(task, record.comm);
			/* Its last switch may have come before it was a member. */
			if (task->exit_state || kernel_task_state(task) & STATE_DEAD)
				target_gone(task_state);
		}
	}
	task_fill(&record, TASK_ITERATED, 0, task, task_state);
	bpf_probe_read_kernel_str(record.comm, sizeof(record.comm), task->comm);
	record.head.kind = RECORD_TASK;
	record.state = kernel_task_state(task);
	record.on_cpu = task->on_cpu;
	if (task_state && task_state->wake_clock) {
		record.wake_clock = task_state->wake_clock;
		record.waker_tid = task_state->waker_tid;
	}
	bpf_seq_write(ctx->meta->seq, &record, sizeof(record));
	return 0;
}
