// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * io: the block request that each I/O sleep has waited for (--why=io).
 *
 * In: completions of requests, wake-ups, and each switch (at_switch.bpf.h); out: one RECORD_IO for
 * each I/O sleep that a completion ended, just before the record of the switch at which its thread
 * enters a CPU.
 * A completion stands in the data of its CPU while it wakes those that wait for it: until the end
 * of the interrupt or softirq, and the next switch. The request waits in the storage of the woken
 * task for its switch, as the waker does. Specification: why.md A4 and part C.
 */
#include "bpf/cost.bpf.h"
#include "bpf/emit.bpf.h"
#include "bpf/target.bpf.h"
#include "bpf/why/at_switch.bpf.h"

/* The sectors of a request of 32767 or more, and a sector above 2^48, do not fit. */
static __always_inline void on_complete(struct cpu_state *cpu, struct request *rq)
{
	struct io_request *completed = this_cpu_completed();
	struct block_device *part = rq->part;
	__u64 sectors = rq->__data_len >> 9, started = rq->io_start_time_ns, now;

	(void)cpu;
	if (!completed)
		return;
	completed->device = part ? part->bd_dev : 0;
	if (sectors > IO_SECTORS_MAX)
		sectors = IO_SECTORS_MAX;
	completed->request = (rq->__sector & IO_SECTOR_MASK) | sectors << IO_SECTORS_SHIFT |
			     (__u64)(rq->cmd_flags & 1) << IO_WRITE_SHIFT;
	now = bpf_ktime_get_ns();
	completed->us = started && now > started ? (now - started) / 1000 : 0;
}

/* The first argument alone: the others differ between kernels. */
SEC("tp_btf/block_rq_complete")
int BPF_PROG(io_complete, struct request *rq)
{
	TIMED(PROGRAMS_WAKE, on_complete, rq);
}

SEC("tp_btf/softirq_exit")
int io_softirq_exit(void *ctx)
{
	completion_ends();
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int io_irq_handler_exit(void *ctx)
{
	completion_ends();
	return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(io_waking, struct task_struct *task)
{
	struct io_request *completed = this_cpu_completed();
	struct task_state *wakee;

	if (!completed || likely(!completed->device) || !BPF_CORE_READ_BITFIELD(task, in_iowait))
		return 0;
	wakee = task_state_of(task);
	if (wakee)
		wakee->io = *completed;
	return 0;
}
