// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * life: tasks are born, renamed, execute another program, and exit.
 *
 * A stream does not end here but at the last switch (sched.bpf.c): an exiting task may
 * still sleep and run again. An id survives exec, even where the tid does not.
 * Specification: ebpf.md 8.4, 9.
 */
#include "emit.bpf.h"
#include "target.bpf.h"
#include "task.bpf.h"

/* Is a new task a member, because the one that creates it is? */
static __always_inline bool inherits(struct task_struct *creator, struct task_state *parent,
				     struct task_struct *task)
{
	if (knobs.all)
		return true;
	if (!parent || !parent->member)
		return false;
	return task->tgid == creator->tgid ? knobs.threads : knobs.follow;
}

/* A birth is also told of a task that is not wanted, if the one that creates it is. */
SEC("tp_btf/task_newtask")
int BPF_PROG(task_newtask, struct task_struct *task)
{
	struct task_struct *creator = bpf_get_current_task_btf();
	__u32 cpu = bpf_get_smp_processor_id(), creator_id = 0;
	struct cpu_state *state = cpu_state(cpu);
	struct task_state *task_state, *parent;
	char comm[RECORD_COMM_SIZE] = {};
	struct record_task *record;

	if (!state || !task->pid)
		return 0;
	parent = bpf_task_storage_get(&tasks, creator, 0, 0);
	if (parent && !(knobs.cpu_list && !state->recorded))
		creator_id = parent->id;
	bpf_probe_read_kernel_str(comm, sizeof(comm), task->comm);
	task_state = inherits(creator, parent, task) ? target_add(task) : NULL;
	if (task_state)
		target_update(task, task_state, comm);
	if (!creator_id && !(task_state && task_state->id))
		return 0;
	record = emit_begin(state, cpu, RECORD_TASK, sizeof(*record));
	if (!record)
		return 0;
	task_fill(record, TASK_BORN, creator_id, task, task_state);
	record->creator_tid = creator->pid;
	__builtin_memcpy(record->comm, comm, sizeof(comm));
	emit_end(state);
	return 0;
}

SEC("tp_btf/task_rename")
int BPF_PROG(task_rename, struct task_struct *task, const char *name)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct cpu_state *state = cpu_state(cpu);
	struct task_state *task_state = task_state_of(task);
	char comm[RECORD_COMM_SIZE] = {};
	bool changed = false;

	if (!state || !task_state)
		return 0;
	bpf_probe_read_kernel_str(comm, sizeof(comm), name);
	if (knobs.use_comm)
		changed = target_update(task, task_state, comm);
	if (task_state->id || changed)
		task_emit(state, cpu, TASK_RENAMED, task, task_state, comm);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(sched_process_exec, struct task_struct *task, int old_pid)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct cpu_state *state = cpu_state(cpu);
	struct task_state *task_state = task_state_of(task);
	struct record_task *record;

	if (!state || !task_state || !task_state->id)
		return 0;
	record = emit_begin(state, cpu, RECORD_TASK, sizeof(*record));
	if (!record)
		return 0;
	task_fill(record, TASK_EXECED, task_context(state), task, task_state);
	record->old_tid = old_pid;
	bpf_probe_read_kernel_str(record->comm, sizeof(record->comm), task->comm);
	emit_end(state);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(sched_process_exit, struct task_struct *task)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct cpu_state *state = cpu_state(cpu);
	struct task_state *task_state = task_state_of(task);
	struct record_exit *record;

	if (!state || !task_state || !task_state->id)
		return 0;
	record = emit_begin(state, cpu, RECORD_EXIT, sizeof(*record));
	if (!record)
		return 0;
	record->head.flags = 0;
	record->head.why = 0;
	record->head.id = task_context(state);
	record->tid = task->pid;
	record->pid = task->tgid;
	record->exit_code = task->exit_code;
	record->id = task_state->id;
	emit_end(state);
	return 0;
}
