/* SPDX-License-Identifier: MIT */
/*
 * snapshot: the task that runs on a CPU now, and all tasks of the machine.
 *
 * A snapshot of a CPU is a record in its ring, in order with its switches. The tasks are read from
 * an iterator of the kernel, which the first time also marks those in the target. In summary mode
 * both only mark the beginning for the programs.
 * Specification: ebpf.md 9; event-mapping.md "Clock and window".
 */
#ifndef USER_KERNEL_SNAPSHOT_H
#define USER_KERNEL_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/record.h"

struct bpf_load;

/* Has CPU `cpu` write a record of its current task. Its clock goes to *clock. 0, -ENXIO if the CPU
 * is not online, -ENOBUFS if there was no space, else -errno; no message. */
int snapshot_take(const struct bpf_load *bpf, unsigned cpu, enum snapshot_phase phase,
		  uint64_t *clock) __attribute__((warn_unused_result));

struct snapshot_tasks {
	struct record_iterated *tasks; /* ntasks of them */
	size_t ntasks;
	struct record_stack *stacks; /* of those that sleep (--why=stack): nstacks of them */
	size_t nstacks;
	struct record_priority
		*priorities; /* of the tasks that are recorded: npriorities of them */
	size_t npriorities;
	struct record_registers *registers; /* of their user code: nregisters of them */
	size_t nregisters;
};

/* Reads all tasks; with `mark`, marks those in the target first. 0, or -errno after one message.
 * The old content of `tasks` is freed. */
int snapshot_tasks(const struct bpf_load *bpf, bool mark, struct snapshot_tasks *tasks)
	__attribute__((warn_unused_result));
void snapshot_tasks_free(struct snapshot_tasks *tasks); /* also of a zeroed struct */

#endif
