/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * target: is this task wanted?
 *
 * A task is a *member* if it belongs to what the user named: everything, a process with its
 * children, some threads. Members are marked in their storage, which children inherit at
 * birth. A member is *wanted* unless it is narrowed away (--comm, --cgroup,
 * kernel threads off, --no-self). The answer is kept in the storage, so the hot paths look
 * at one word; it is worked out again when a task is born, is renamed, or changes its cgroup. A
 * wanted task is counted; it is recorded, and has an id, if --sample does not leave it out.
 */
#ifndef BPF_TARGET_H
#define BPF_TARGET_H

#include "compat.bpf.h"
#include "sample.h"

#define CGROUP_LEVELS 64 /* more than any hierarchy has */

/* The storage of a task, if it has one. Most tasks of the machine have none when only some are
 * followed, and then this is one load. The idle tasks never have one. */
static __always_inline struct task_state *task_state_of(struct task_struct *task)
{
	if (!task->bpf_storage)
		return NULL;
	return bpf_task_storage_get(&tasks, task, 0, 0);
}

static __always_inline bool target_comm_matches(const char *comm)
{
	__u64 bits = comm_glob.start;
	int i;

	for (i = 0; i < RECORD_COMM_SIZE; i++) {
		__u8 c = comm[i];

		if (!c)
			break;
		bits = ((bits & comm_glob.accept[c]) << 1) | (bits & comm_glob.stay);
	}
	return bits & comm_glob.final;
}

static __always_inline __u64 target_css_set(struct task_struct *task)
{
	return (__u64)BPF_CORE_READ(task, cgroups);
}

/* Is the task's (v2) cgroup the wanted one, or below it? */
static __noinline int target_in_cgroup(__u64 css_set)
{
	struct cgroup *cgroup = BPF_CORE_READ((struct css_set *)css_set, dfl_cgrp);
	int level;

	for (level = 0; level < CGROUP_LEVELS && cgroup; level++) {
		if (BPF_CORE_READ(cgroup, kn, id) == knobs.cgroup)
			return 1;
		/* `self` is the first member of a cgroup. */
		cgroup = (struct cgroup *)BPF_CORE_READ(cgroup, self.parent);
	}
	return 0;
}

/* Works out whether a member is wanted, `comm` (16 bytes, with a NUL) being its name. */
static __always_inline bool target_wants(struct task_struct *task, struct task_state *task_state,
					 const char *comm)
{
	if (!task_state->member)
		return false;
	if (knobs.hidden_pid && kernel_number(task->group_leader) == knobs.hidden_pid)
		return false;
	if (!knobs.kthreads && kernel_is_kthread(task))
		return false;
	if (!knobs.narrow)
		return true;
	if (knobs.use_comm && !target_comm_matches(comm))
		return false;
	if (knobs.cgroup) {
		task_state->css_set = target_css_set(task);
		if (!target_in_cgroup(task_state->css_set))
			return false;
	}
	return true;
}

/* Is a thread recorded? Once for its life, and the same with the same seed. */
static __always_inline bool target_sampled_in(__u32 tid)
{
	if (knobs.sample_of <= 1)
		return true;
	return sample_keeps(tid, knobs.sample_seed, knobs.sample_keep, knobs.sample_of);
}

/* Sets or clears the id after the answer may have changed. Returns whether it did change. */
static __always_inline bool target_update(struct task_struct *task, struct task_state *task_state,
					  const char *comm)
{
	bool wanted = target_wants(task, task_state, comm);

	if (wanted == (task_state->wanted != 0))
		return false;
	/* The iterator and the creator of a new thread may both come here. */
	if (wanted && !task_state->own_id)
		__sync_val_compare_and_swap(&task_state->own_id, 0,
					    __sync_fetch_and_add(&next_id, 1));
	task_state->wanted = wanted;
	task_state->id = wanted && target_sampled_in(task->pid) ? task_state->own_id : 0;
	return true;
}

/* Marks a task as a member; its storage is made if need be. NULL without memory. */
static __always_inline struct task_state *target_add(struct task_struct *task)
{
	struct task_state *task_state;

	task_state = bpf_task_storage_get(&tasks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!task_state)
		return NULL;
	if (!__sync_lock_test_and_set(&task_state->member, 1) && !knobs.all)
		__sync_fetch_and_add(&members, 1);
	return task_state;
}

/* A member's last switch-out. */
static __always_inline void target_gone(struct task_state *task_state)
{
	if (!knobs.all && __sync_lock_test_and_set(&task_state->member, 0))
		__sync_fetch_and_sub(&members, 1);
}

#endif
