/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * summary: the sums of summary mode, for summary.bpf.c and the probes.
 */
#ifndef BPF_SUMMARY_BPF_H
#define BPF_SUMMARY_BPF_H

#include "maps.bpf.h"
#include "summary.h"

/* The times of traced tasks. A task without storage here is not traced. */
struct task_summaries_map {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_summary);
};
extern struct task_summaries_map task_summaries SEC(".maps");

static __always_inline struct task_summary *summary_of(struct task_struct *task)
{
	return bpf_task_storage_get(&task_summaries, task, 0, 0);
}

/* Around each change of sums that user code may read meanwhile. */
static __always_inline void sums_begin(__u32 *seq)
{
	*(volatile __u32 *)seq = *seq + 1;
	barrier();
}

static __always_inline void sums_end(__u32 *seq)
{
	barrier();
	*(volatile __u32 *)seq = *seq + 1;
}

struct window {
	__u64 begin, end; /* ns */
};

static __always_inline struct window read_window(void)
{
	struct window w = {.begin = *(volatile __u64 *)&window_begin,
			   .end = *(volatile __u64 *)&window_end};

	return w;
}

/* The part of [from, to] in the window, ns. */
static __always_inline __u64 within(struct window w, __u64 from, __u64 to)
{
	if (from < w.begin)
		from = w.begin;
	if (unlikely(to > w.end))
		to = w.end;
	return to > from ? to - from : 0;
}

static __always_inline bool in_window(struct window w, __u64 clock)
{
	return clock > w.begin && clock <= w.end;
}

/*
 * A hit of a probe: time counts in the outermost probed function only, so that nothing is counted
 * twice. A frame above that function (longjmp), or its return, ends it, which the stack pointer
 * shows. Returns whether the task is traced.
 */
static __always_inline bool summary_call(struct task_struct *task, __u8 side, __u64 sp)
{
	struct task_summary *s = task->bpf_storage ? summary_of(task) : NULL;
	struct window w = read_window();
	__u64 clock;

	if (!s || !s->traced)
		return false;
	clock = bpf_ktime_get_ns();
	sums_begin(&s->seq);
	if (side != PROBE_RETURN)
		s->times.calls += in_window(w, clock);
	if (side == PROBE_ENTRY && sp > s->call_sp) {
		s->call_sp = sp;
		s->call_clock = clock;
	} else if (side == PROBE_RETURN && s->call_sp && sp >= s->call_sp) {
		s->times.calls_ns += within(w, s->call_clock, clock);
		s->call_sp = 0;
	}
	sums_end(&s->seq);
	return true;
}

#endif
