/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * priority: the record of the priority of a task, and of the CPUs on which it may run (--why=prio).
 *
 * Specification: event-mapping.md "The priority of a thread".
 */
#ifndef BPF_PRIORITY_H
#define BPF_PRIORITY_H

#include "emit.bpf.h"

/* Fills in all but clock and kind. */
static __always_inline void priority_fill(struct record_priority *record, struct task_struct *task,
					  __u32 id)
{
	__u32 words = settings.priority_words;

	if (words > PRIORITY_CPU_WORDS)
		words = PRIORITY_CPU_WORDS;
	record->head.flags = 0;
	record->head.why = 0;
	record->head.id = id;
	record->tid = task->pid;
	record->pid = task->tgid;
	record->priority = task->prio;
	record->normal = task->normal_prio;
	record->nice = task->static_prio - 120;
	record->policy = task->policy;
	record->words = words;
	__builtin_memset(record->cpus, 0, sizeof(record->cpus));
	bpf_probe_read_kernel(record->cpus, words * sizeof(record->cpus[0]), &task->cpus_mask);
}

#endif
