// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * lifecycle: records of tasks that are born, renamed, execute another program, or exit (full mode).
 *
 * A stream does not end here but at the last switch (record_switch.bpf.c): an exiting task may
 * still sleep and run again. An id survives exec, even where the tid does not.
 * Specification: ebpf.md 8.4, 9.
 */
#include "cost.bpf.h"
#include "emit.bpf.h"
#include "lock.bpf.h"
#include "target.bpf.h"
#include "task_record.bpf.h"

/* These programs may be interrupted. */
static __always_inline void announce(struct cpu_state *cpu, struct task_struct *task,
				     struct task_state *task_state, const char *comm)
{
	long_irq_wait(cpu);
	task_announce(cpu, task, task_state, comm);
	long_irq_go_on(cpu);
}

/*
 * The birth of a task that is not recorded is sent, too, if its creator is recorded. Without the
 * kind `fork` only the new task is announced.
 */
static __always_inline void on_newtask(struct cpu_state *cpu, struct task_struct *task)
{
	struct task_struct *creator = bpf_get_current_task_btf();
	struct kind_counts *births = &cpu->events[EVENT_FORK];
	struct task_state *task_state, *parent;
	char comm[RECORD_COMM_SIZE] = {};
	struct record_task *record;
	__u32 creator_id = 0;
	bool traced = false;

	births->seen++;
	parent = task->pid ? bpf_task_storage_get(&tasks, creator, 0, 0) : NULL;
	if (parent && !cpu_left_out(cpu)) {
		creator_id = parent->id;
		traced = parent->traced;
	}
	bpf_probe_read_kernel_str(comm, sizeof(comm), task->comm);
	task_state = task->pid && target_inherited(creator, parent, task) ? target_add(task) : NULL;
	if (task_state && target_update(task, task_state, comm))
		traced |= task_state->traced;
	if (!traced || !kind_recorded(EVENT_FORK)) {
		births->filtered++;
		if (task_state && task_state->id)
			announce(cpu, task, task_state, comm);
		return;
	}
	if (!creator_id && !(task_state && task_state->id)) {
		births->sampled++;
		return;
	}
	record = emit_begin_in_task(cpu, RECORD_TASK, EVENT_FORK, sizeof(*record));
	if (!record)
		return;
	task_fill(record, TASK_BORN, creator_id, task, task_state);
	record->creator_tid = creator->pid;
	__builtin_memcpy(record->comm, comm, sizeof(comm));
	emit_end_in_task(cpu);
}

SEC("tp_btf/task_newtask")
int BPF_PROG(task_newtask, struct task_struct *task)
{
	TIMED_IN_TASK(PROGRAMS_LIFE, on_newtask, task);
}

/* A new name may change whether the task is traced (--comm): that is sent without the kind
 * `rename`, too. */
static __always_inline void on_rename(struct cpu_state *cpu, struct task_struct *task,
				      const char *name)
{
	struct kind_counts *renames = &cpu->events[EVENT_RENAME];
	struct task_state *task_state = task_state_of(task);
	bool changed = false, was = task_state && task_state->traced;
	char comm[RECORD_COMM_SIZE] = {};

	renames->seen++;
	if (task_state)
		bpf_probe_read_kernel_str(comm, sizeof(comm), name);
	if (task_state && settings.use_comm)
		changed = target_update(task, task_state, comm);
	if (!task_state || (!was && !changed)) {
		renames->filtered++;
		return;
	}
	if (!kind_recorded(EVENT_RENAME)) {
		renames->filtered++;
		if (changed)
			announce(cpu, task, task_state, comm);
		return;
	}
	if (!task_recorded_id(task_state)) {
		renames->sampled++;
		return;
	}
	long_irq_wait(cpu);
	task_emit(cpu, TASK_RENAMED, EVENT_RENAME, task, task_state, comm);
	long_irq_go_on(cpu);
}

SEC("tp_btf/task_rename")
int BPF_PROG(task_rename, struct task_struct *task, const char *name)
{
	TIMED_IN_TASK(PROGRAMS_LIFE, on_rename, task, name);
}

/* Counts an event of a task. Returns whether it is left out. */
static __always_inline bool left_out(struct kind_counts *counts, enum event_kind kind,
				     struct task_state *task_state)
{
	counts->seen++;
	if (!task_state || !task_state->traced || !kind_recorded(kind)) {
		counts->filtered++;
		return true;
	}
	if (!task_state->id) {
		counts->sampled++;
		return true;
	}
	return false;
}

static __always_inline void on_exec(struct cpu_state *cpu, struct task_struct *task, int old_pid)
{
	struct task_state *task_state = task_state_of(task);
	struct record_task *record;

	owner_cache_drop(0, task->tgid);
	if (left_out(&cpu->events[EVENT_EXEC], EVENT_EXEC, task_state))
		return;
	record = emit_begin_in_task(cpu, RECORD_TASK, EVENT_EXEC, sizeof(*record));
	if (!record)
		return;
	task_fill(record, TASK_EXECED, task_context(cpu), task, task_state);
	record->old_tid = old_pid;
	bpf_probe_read_kernel_str(record->comm, sizeof(record->comm), task->comm);
	emit_end_in_task(cpu);
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(sched_process_exec, struct task_struct *task, int old_pid)
{
	TIMED_IN_TASK(PROGRAMS_LIFE, on_exec, task, old_pid);
}

static __always_inline void on_exit(struct cpu_state *cpu, struct task_struct *task)
{
	struct task_state *task_state = task_state_of(task);
	struct record_exit *record;

	owner_cache_drop(task->pid, 0);
	if (task_state && !kind_recorded(EVENT_SWITCH)) /* its last switch is not seen */
		target_gone(task_state);
	if (left_out(&cpu->events[EVENT_EXIT], EVENT_EXIT, task_state))
		return;
	record = emit_begin_in_task(cpu, RECORD_EXIT, EVENT_EXIT, sizeof(*record));
	if (!record)
		return;
	record->head.flags = 0;
	record->head.why = 0;
	record->head.id = task_context(cpu);
	record->tid = task->pid;
	record->pid = task->tgid;
	record->exit_code = task->exit_code;
	record->id = task_state->id;
	emit_end_in_task(cpu);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(sched_process_exit, struct task_struct *task)
{
	TIMED_IN_TASK(PROGRAMS_LIFE, on_exit, task);
}
