/* SPDX-License-Identifier: MIT */
/* snapshot: see snapshot.h. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/kernel/bpf_load.h"
#include "user/kernel/snapshot.h"
#include "bpf/ovni.skel.h"
#include "trace/base/array.h"
#include "trace/base/log.h"

#define TASKS_AT_ONCE 64

int snapshot_take(const struct bpf_load *bpf, unsigned cpu, enum snapshot_phase phase,
		  uint64_t *clock)
{
	const struct bpf_program *program = bpf->marker ? bpf->skeleton->progs.summary_snapshot
							: bpf->skeleton->progs.take_snapshot;
	uint64_t args[1] = {phase};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args, .ctx_size_in = sizeof(args),
		    .flags = BPF_F_TEST_RUN_ON_CPU, .cpu = cpu);

	/* without space in the ring the run under way keeps its interrupts for the next record */
	if (bpf->irq &&
	    bpf_prog_test_run_opts(bpf_program__fd(bpf->skeleton->progs.irq_snapshot), &opts))
		return -errno;
	if (bpf->perf_events &&
	    bpf_prog_test_run_opts(bpf_program__fd(bpf->skeleton->progs.counters_snapshot), &opts))
		return -errno;
	if (bpf_prog_test_run_opts(bpf_program__fd(program), &opts))
		return -errno;
	if (opts.retval != 1)
		return -ENOBUFS;
	*clock = bpf->cpus[cpu].snapshot_clock;
	return 0;
}

/* Without storage for any task the trace would be empty. */
static int check_marks(const struct bpf_load *bpf)
{
	if (bpf->skeleton->bss->marked || !bpf->skeleton->bss->unmarkable)
		return 0;
	log_error(
		"the kernel gives programs no storage for tasks (bpf_task_storage_get), so nothing "
		"can be recorded; on x86-64 newer kernels need a CPU with CMPXCHG16B for it (cx16 "
		"in "
		"/proc/cpuinfo): give the virtual machine another model of CPU");
	return -ENOMEM;
}

/* Divides what the iterator has written, whole records of some kinds. */
static int divide(struct bytes *records, struct snapshot_tasks *tasks)
{
	struct bytes stacks = {0}, registers = {0}, priorities = {0};
	size_t at = 0, to = 0;

	while (at + sizeof(struct record_head) <= records->size) {
		const struct record_head *head = (const void *)(records->data + at);
		struct bytes *of = head->kind == RECORD_STACK	    ? &stacks
				   : head->kind == RECORD_REGISTERS ? &registers
				   : head->kind == RECORD_PRIORITY  ? &priorities
								    : NULL;
		size_t size = of == &stacks	  ? sizeof(*tasks->stacks)
			      : of == &registers  ? sizeof(*tasks->registers)
			      : of == &priorities ? sizeof(*tasks->priorities)
						  : sizeof(*tasks->tasks);

		if (size > records->size - at)
			break;
		if (of) {
			bytes_put(of, head, size);
		} else {
			memmove(records->data + to, head, size);
			to += size;
		}
		at += size;
	}
	tasks->tasks = (void *)records->data;
	tasks->ntasks = to / sizeof(*tasks->tasks);
	tasks->stacks = (void *)stacks.data;
	tasks->nstacks = stacks.size / sizeof(*tasks->stacks);
	tasks->registers = (void *)registers.data;
	tasks->nregisters = registers.size / sizeof(*tasks->registers);
	tasks->priorities = (void *)priorities.data;
	tasks->npriorities = priorities.size / sizeof(*tasks->priorities);
	if (stacks.failed || registers.failed || priorities.failed)
		return -ENOMEM;
	return at == records->size ? 0 : -EBADMSG;
}

int snapshot_tasks(const struct bpf_load *bpf, bool mark, struct snapshot_tasks *tasks)
{
	const size_t chunk = TASKS_AT_ONCE * sizeof(*tasks->tasks);
	struct bytes records = {0};
	int fd, err = 0;
	void *to;
	ssize_t n;

	snapshot_tasks_free(tasks);
	bpf->skeleton->bss->iterator_marks = mark;
	fd = bpf_iter_create(bpf_link__fd(bpf->marker ? bpf->marker : bpf->iterator));
	if (fd < 0) {
		err = -errno;
		goto failed;
	}
	for (;;) {
		to = bytes_more(&records, chunk);
		if (!to) {
			err = -ENOMEM;
			break;
		}
		n = read(fd, to, chunk);
		records.size -= chunk - (n > 0 ? (size_t)n : 0);
		if (n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN)))
			continue;
		err = n < 0 ? -errno : 0;
		break;
	}
	close(fd);
	if (err)
		bytes_free(&records);
	else
		err = divide(&records, tasks);
	if (!err)
		return mark ? check_marks(bpf) : 0;
failed:
	log_error("cannot read the tasks of the machine: %s", strerror(-err));
	snapshot_tasks_free(tasks);
	return err;
}

void snapshot_tasks_free(struct snapshot_tasks *tasks)
{
	free(tasks->tasks);
	free(tasks->stacks);
	free(tasks->priorities);
	free(tasks->registers);
	*tasks = (struct snapshot_tasks){0};
}
