/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * sched_clock: the scheduler's clock as CLOCK_MONOTONIC.
 *
 * The scheduler notes when it put a woken task on a run queue, by its own clock. calibrate() keeps
 * the difference of the two clocks, wakeup_clock() applies it: no program is needed at
 * sched_wakeup. Used only where user/kernel/bpf_select.h says that both clocks are the same
 * on all CPUs. Specification: ebpf.md 5, 8.2.
 */
#ifndef BPF_SCHED_CLOCK_H
#define BPF_SCHED_CLOCK_H

#include "maps.bpf.h"

#define CALIBRATE_NS   100000	/* shortest time between two calibrations */
#define SCHED_STALE_NS 10000000 /* the scheduler's clock is never older at a switch (a tick) */
#define SCHED_DRIFT    12	/* the clocks drift apart by less than one in 2^12 */
#define ASLEEP_UNKNOWN 1	/* asleep since a time before the recording */

static __always_inline bool calibration_due(__u64 clock)
{
	return unlikely((__s64)(clock - *(volatile __u64 *)&sched_offset_clock) > CALIBRATE_NS);
}

/*
 * Measures CLOCK_MONOTONIC - the scheduler's clock, at a switch at which `prev` falls asleep. The
 * scheduler has read its clock shortly before such a switch; after a wake-up that preempts it does
 * not read it again. The time between the two readings is in the difference, so the least
 * difference is taken; it grows with time, faster than the clocks drift apart. A difference far
 * from it is taken as it is: a clock was slewed.
 */
static __noinline __attribute__((unused)) int calibrate(struct task_struct *prev, __u64 clock)
{
	__s64 pair = clock - prev->se.cfs_rq->rq->clock;
	__s64 since = clock - sched_offset_clock; /* below 0: another CPU was faster */
	__s64 offset = sched_offset + (since > 0 ? since >> SCHED_DRIFT : 0);

	if (!sched_offset_clock || offset > pair || pair - offset > SCHED_STALE_NS)
		offset = pair;
	*(volatile __s64 *)&sched_offset = offset;
	*(volatile __u64 *)&sched_offset_clock = clock;
	return 0;
}

/*
 * The clock of a wake-up, ns: the task is `queued` since that time of the scheduler's clock. It may
 * have waited on other queues before, which is in its run delay: `delay` is that at `slept`, when
 * it fell asleep. Never before that.
 */
static __always_inline __u64 wakeup_clock(struct task_struct *task, __u64 queued, __u64 slept,
					  __u64 delay)
{
	__u64 wake =
		queued + *(volatile __s64 *)&sched_offset - (task->sched_info.run_delay - delay);

	return (__s64)(wake - slept) < 0 ? slept : wake;
}

#endif
