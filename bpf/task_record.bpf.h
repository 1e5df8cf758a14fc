/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * task_record: the record that says who an id is.
 */
#ifndef BPF_TASK_RECORD_H
#define BPF_TASK_RECORD_H

#include "counters.bpf.h"
#include "emit.bpf.h"
#include "target.bpf.h"

/* The id by which user code knows it, or has known it; one that is sampled out never had one. */
static __always_inline __u32 task_recorded_id(struct task_state *task_state)
{
	return task_state->wanted && !task_state->id ? 0 : task_state->own_id;
}

/* Fills in all but clock and kind, which the caller has. */
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
			(task_state && task_state->id ? TASK_FLAG_WANTED : 0) |
			(task_state && task_state->elsewhere ? TASK_FLAG_ELSEWHERE : 0);
	record->state = 0;
	record->wake_clock = 0;
	record->waker_tid = 0;
	record->on_cpu = 0;
	__builtin_memset(record->comm, 0, sizeof(record->comm));
}

/* The id of the task in whose context a record is made; 0 on a CPU that is not recorded. */
static __always_inline __u32 task_context(struct cpu_state *state)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct task_state *task_state;

	if (knobs.cpu_list && !state->recorded)
		return 0;
	task_state = bpf_task_storage_get(&tasks, current, 0, 0);
	return task_state ? task_state->id : 0;
}

/* Sends who `task` is; `comm` has 16 bytes with a NUL. Returns the clock of the record, or 0. */
static __always_inline __u64 task_emit(struct cpu_state *state, __u32 cpu, __u8 cause,
				       enum event_kind event, struct task_struct *task,
				       struct task_state *task_state, const char *comm)
{
	struct record_task *record;
	__u64 clock;

	record = emit_begin(state, cpu, RECORD_TASK, event, sizeof(*record));
	if (!record)
		return 0;
	clock = record->head.clock;
	task_fill(record, cause, task_context(state), task, task_state);
	__builtin_memcpy(record->comm, comm, sizeof(record->comm));
	emit_end(state);
	return clock;
}

/* The same for what is told of a task that has just been sighted, whatever kinds are recorded. */
static __always_inline void task_sight(struct cpu_state *state, __u32 cpu, struct task_struct *task,
				       struct task_state *task_state, const char *comm)
{
	if (!knobs.rings || !task_recorded_id(task_state))
		return;
	state->events[EVENT_OTHER].seen++;
	task_emit(state, cpu, TASK_SEEN, EVENT_OTHER, task, task_state, comm);
}

#endif
