/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * target: which tasks are traced.
 *
 * A task is *in the target* if the user named it: everything, processes with their
 * children, or threads. This is marked in its storage; children inherit it. A task in the target is
 * *traced* unless a filter leaves it out (--comm, --cgroup, no kernel threads, --no-self). The
 * result is kept in the storage, so that the hot paths test one word; it is computed again when a
 * task is born, is renamed, or changes its cgroup. A traced task is recorded, and has an id, unless
 * --sample leaves it out.
 */
#ifndef BPF_TARGET_H
#define BPF_TARGET_H

#include "compat.bpf.h"
#include "sample.h"

#define CGROUP_LEVELS 64 /* more than any hierarchy has */

/* The storage of a task, or NULL. Without -a most tasks have none, and this is one load. The idle
 * tasks never have one. */
static __always_inline struct task_state *task_state_of(struct task_struct *task)
{
	if (!settings.all && !task->bpf_storage)
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

/* Is the (v2) cgroup of the task the one of --cgroup, or below it? */
static __noinline int target_in_cgroup(__u64 css_set)
{
	struct cgroup *cgroup = BPF_CORE_READ((struct css_set *)css_set, dfl_cgrp);
	int level;

	for (level = 0; level < CGROUP_LEVELS && cgroup; level++) {
		if (BPF_CORE_READ(cgroup, kn, id) == settings.cgroup)
			return 1;
		/* `self` is the first member of a cgroup. */
		cgroup = (struct cgroup *)BPF_CORE_READ(cgroup, self.parent);
	}
	return 0;
}

/* Is this task, which is called `comm` (16 bytes, with a NUL), traced? */
static __always_inline bool target_traces(struct task_struct *task, struct task_state *task_state,
					  const char *comm)
{
	if (!task_state->in_target)
		return false;
	if (settings.hidden_pid && kernel_number(task->group_leader) == settings.hidden_pid)
		return false;
	if (!settings.kthreads && kernel_is_kthread(task))
		return false;
	if (!settings.filters)
		return true;
	if (settings.use_comm && !target_comm_matches(comm))
		return false;
	if (settings.cgroup) {
		task_state->css_set = target_css_set(task);
		if (!target_in_cgroup(task_state->css_set))
			return false;
	}
	return true;
}

/* Does --sample keep a thread? The same answer for its whole life, and with the same seed. */
static __always_inline bool target_sampled_in(__u32 tid)
{
	if (settings.sample_of <= 1)
		return true;
	return sample_keeps(tid, settings.sample_seed, settings.sample_keep, settings.sample_of);
}

/* Sets or clears the id after a change of the task. Returns whether it has changed. */
static __always_inline bool target_update(struct task_struct *task, struct task_state *task_state,
					  const char *comm)
{
	bool traced = target_traces(task, task_state, comm);

	if (traced == (task_state->traced != 0))
		return false;
	/* The iterator and the creator of a new thread may both come here. */
	if (traced && !task_state->own_id)
		__sync_val_compare_and_swap(&task_state->own_id, 0,
					    __sync_fetch_and_add(&next_id, 1));
	task_state->traced = traced;
	task_state->id = traced && target_sampled_in(task->pid) ? task_state->own_id : 0;
	return true;
}

/* Marks a task as in the target, and creates its storage if necessary. NULL without memory; the
 * space for a copy of its stack may be missing. */
static __always_inline struct task_state *target_add(struct task_struct *task)
{
	struct task_state *task_state;

	task_state = bpf_task_storage_get(&tasks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!task_state)
		return NULL;
	if (settings.stack_copies && !kernel_is_kthread(task))
		bpf_task_storage_get(&user_copies, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!__sync_lock_test_and_set(&task_state->in_target, 1) && !settings.all)
		__sync_fetch_and_add(&in_target, 1);
	return task_state;
}

/* The same for the iterators. User code reads the counts. */
static __always_inline struct task_state *target_mark(struct task_struct *task)
{
	struct task_state *task_state = target_add(task);

	if (task_state)
		marked++;
	else
		unmarkable++;
	return task_state;
}

/* A task in the target leaves its CPU for the last time. */
static __always_inline void target_gone(struct task_state *task_state)
{
	if (!settings.all && __sync_lock_test_and_set(&task_state->in_target, 0))
		__sync_fetch_and_sub(&in_target, 1);
}

/* Is a new task in the target, because `creator` (with the storage `parent`) is? */
static __always_inline bool target_inherited(struct task_struct *creator, struct task_state *parent,
					     struct task_struct *task)
{
	if (settings.all)
		return true;
	if (!parent || !parent->in_target)
		return false;
	return task->tgid == creator->tgid ? settings.threads : settings.follow;
}

/*
 * With -a, a task without storage was born before the recording, or where no program ran. Creates
 * its storage, if the kernel can do that under the scheduler's locks. Returns the storage if the
 * task is traced, with its name in `comm`; else NULL.
 */
static __always_inline struct task_state *target_discover(struct task_struct *task, char *comm)
{
	struct task_state *task_state;

	if (!kernel_can_make_storage_anywhere())
		return NULL;
	task_state = target_add(task);
	if (!task_state)
		return NULL;
	bpf_probe_read_kernel_str(comm, RECORD_COMM_SIZE, task->comm);
	return target_update(task, task_state, comm) ? task_state : NULL;
}

/* Computes again whether a task is traced if its cgroup has changed. Returns whether that changed
 * something; its name is then in `comm`. */
static __always_inline bool target_recheck_cgroup(struct task_struct *task,
						  struct task_state *task_state, char *comm)
{
	if (task_state->css_set == target_css_set(task))
		return false;
	bpf_probe_read_kernel_str(comm, RECORD_COMM_SIZE, task->comm);
	return target_update(task, task_state, comm);
}

/* Did the user name a task, itself (-t) or as a thread of its process (-p)? */
static __always_inline bool target_named(struct task_struct *task)
{
	__u32 key;

	if (settings.all)
		return true;
	key = kernel_number(settings.threads ? task->group_leader : task);
	return bpf_map_lookup_elem(&targets, &key);
}

#endif
