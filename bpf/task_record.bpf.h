/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * task_record: the record that names the task of an id.
 */
#ifndef BPF_TASK_RECORD_H
#define BPF_TASK_RECORD_H

#include "emit.bpf.h"
#include "target.bpf.h"

/* The id by which user code knows a task, or has known it; 0 for a task that is sampled out. */
static __always_inline __u32 task_recorded_id(struct task_state *task_state)
{
	return task_state->traced && !task_state->id ? 0 : task_state->own_id;
}

/* Fills in all but clock and kind. */
static __always_inline void task_fill(struct record_task *record, __u8 cause, __u32 context_id,
				      struct task_struct *task, struct task_state *task_state)
{
	record->head.flags = cause;
	record->head.why = 0;
	record->head.id = context_id;
	record->id = task_state ? task_recorded_id(task_state) : 0;
	record->tid = task->pid;
	record->pid = task->tgid;
	record->parent_pid = task->real_parent->tgid;
	record->creator_tid = -1;
	record->old_tid = task->pid;
	record->flags = (kernel_is_kthread(task) ? TASK_FLAG_KTHREAD : 0) |
			(task_state && task_state->id ? TASK_FLAG_TRACED : 0) |
			(task_state ? task_state->unseen * TASK_FLAG_ELSEWHERE : 0);
	record->state = 0;
	record->wake_clock = 0;
	record->waker_tid = 0;
	record->on_cpu = 0;
	__builtin_memset(record->comm, 0, sizeof(record->comm));
}

_Static_assert(SWITCH_NEXT_LOST *TASK_FLAG_ELSEWHERE == TASK_FLAG_LOST, "the same order");

/* The id of the current task; 0 on a CPU that is not recorded. */
static __always_inline __u32 task_context(struct cpu_state *cpu)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct task_state *task_state;

	if (cpu_left_out(cpu))
		return 0;
	task_state = bpf_task_storage_get(&tasks, current, 0, 0);
	return task_state ? task_state->id : 0;
}

/* Sends the record of a task; `comm` has 16 bytes with a NUL. */
static __always_inline void task_emit(struct cpu_state *cpu, __u8 cause, enum event_kind event,
				      struct task_struct *task, struct task_state *task_state,
				      const char *comm)
{
	struct record_task *record = emit_begin(cpu, RECORD_TASK, event, sizeof(*record));

	if (!record)
		return;
	task_fill(record, cause, task_context(cpu), task, task_state);
	__builtin_memcpy(record->comm, comm, sizeof(record->comm));
	emit_end(cpu);
}

/* The same for a task that is traced from now on, or no more, whichever kinds are recorded. */
static __always_inline void task_announce(struct cpu_state *cpu, struct task_struct *task,
					  struct task_state *task_state, const char *comm)
{
	if (!task_recorded_id(task_state))
		return;
	cpu->events[EVENT_OTHER].seen++;
	task_emit(cpu, TASK_SEEN, EVENT_OTHER, task, task_state, comm);
}

#endif
