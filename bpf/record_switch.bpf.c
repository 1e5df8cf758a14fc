// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * record_switch: one record for each switch of the recorded threads (full mode).
 *
 * Steps of a switch: find the storage of both tasks, take the wake-up of next (a wake-up has no
 * record), send the record, note that prev fell asleep. One of the programs below is loaded, chosen
 * by a table in user/kernel/bpf_select.c; they differ in the second step, and with a CPU list (-C).
 * Specification: ebpf.md 8.1, 8.2.
 *
 * This file is compiled twice: with PARTS (record_switch_parts.bpf.c) the programs also send the
 * records of the parts of --why that are asked for, such as the stack of next after a long sleep.
 * Without it the instructions do not change.
 */
#ifndef PARTS
#define PARTS 0
#endif

#include "cost.bpf.h"
#include "emit.bpf.h"
#include "lock.bpf.h"
#include "sched_clock.bpf.h"
#include "target.bpf.h"
#include "task_record.bpf.h"

/* One switch. After inlining it lives in registers. */
struct sw {
	struct cpu_state *cpu;
	struct task_struct *prev, *next;
	struct task_state *leaving, *entering; /* NULL: idle, or not in the target */
	__u16 reason;			       /* prev leaves for; enum off_cpu */
	__u16 call;			       /* of prev, and its first argument; see off_cpu.h */
	__u16 call_flags;
	__u64 object;
	__s32 owner; /* of the lock on which prev sleeps; see off_cpu.h */
	__s32 waker_tid;
	__u64 wake_clock; /* ns; 0: next was not woken, or no program saw it */
};

/* ---- find the tasks ---- */

static __noinline int announce_new(struct cpu_state *cpu, struct task_struct *task)
{
	char comm[RECORD_COMM_SIZE] = {};
	struct task_state *task_state = target_discover(task, comm);

	if (task_state)
		task_announce(cpu, task, task_state, comm);
	return 0;
}

static __noinline int recheck_cgroup(struct cpu_state *cpu, struct task_struct *task,
				     struct task_state *task_state)
{
	char comm[RECORD_COMM_SIZE] = {};

	if (target_recheck_cgroup(task, task_state, comm))
		task_announce(cpu, task, task_state, comm);
	return 0;
}

/* The state of a task that is switched out or in. With -a, made at its first switch. NULL for the
 * idle task. */
static __always_inline struct task_state *switched_task(struct cpu_state *cpu,
							struct task_struct *task)
{
	struct task_state *task_state;

	if (unlikely(!task->pid))
		return NULL;
	task_state = task_state_of(task);
	if (likely(task_state) || !settings.all)
		return task_state;
	announce_new(cpu, task);
	return task_state_of(task);
}

static __always_inline void find_tasks(struct sw *sw)
{
	sw->cpu->events[EVENT_SWITCH].seen++;
	sw->cpu->interrupt = 0; /* no interrupt handler lasts across a switch */
	sw->leaving = switched_task(sw->cpu, sw->prev);
	sw->entering = switched_task(sw->cpu, sw->next);
	if (settings.cgroup && sw->entering)
		recheck_cgroup(sw->cpu, sw->next, sw->entering);
}

/* The task has died, and leaves its CPU for the last time. */
static __always_inline bool dies(const struct sw *sw, bool preempt, __u32 prev_state)
{
	return unlikely(prev_state & STATE_DEAD) && !preempt && sw->leaving;
}

/* ---- the wake-up of next ---- */

/* Takes a wake-up that a program saw: there is one at sched_wakeup. */
static __always_inline void wakeup_from_tracepoint(struct sw *sw)
{
	struct task_state *entering = sw->entering;

	if (!entering || !entering->wake_clock)
		return;
	sw->wake_clock = entering->wake_clock;
	sw->waker_tid = entering->waker_tid;
	entering->wake_clock = 0;
	entering->waker_tid = WAKER_UNKNOWN; /* of this wake-up alone */
	sw->cpu->events[EVENT_WAKE].seen++;
}

/* The scheduler took a task from the queue of another CPU and put it on the queue of this CPU, at
 * clock `queued`. */
static __noinline int move_send(struct cpu_state *cpu, __u32 id, __u64 queued)
{
	struct record_moved *record;

	if (!id || !queued)
		return 0;
	cpu->events[EVENT_OTHER].seen++;
	record = emit_begin(cpu, RECORD_MOVED, EVENT_OTHER, sizeof(*record));
	if (!record)
		return 0;
	record->head.flags = 0;
	record->head.why = 0;
	record->head.id = id;
	record->moved = queued + *(volatile __s64 *)&sched_offset;
	emit_end(cpu);
	return 0;
}

/* The scheduler knows when next was queued: it was woken then, if it was asleep before, and if its
 * waker was seen where wakers are recorded. Only the first wake-up of a task is seen by a program.
 */
static __always_inline void wakeup_from_scheduler(struct sw *sw)
{
	struct task_state *entering = sw->entering;
	__u64 wake, queued;

	if (!entering)
		return;
	wake = entering->wake_clock;
	queued = sw->next->sched_info.last_queued;
	/* its wait on a queue that it has left */
	if (unlikely(sw->next->sched_info.run_delay != entering->delay))
		move_send(sw->cpu, entering->id, queued);
	if (likely(!wake) && entering->slept && queued &&
	    (entering->waker_tid != WAKER_UNKNOWN || !settings.interrupts))
		wake = wakeup_clock(sw->next, queued, entering->slept, entering->delay);
	entering->slept = 0;
	if (!wake)
		return;
	sw->wake_clock = wake;
	sw->waker_tid = entering->waker_tid;
	entering->wake_clock = 0;
	entering->waker_tid = WAKER_UNKNOWN;
	sw->cpu->events[EVENT_WAKE].seen++;
}

/* ---- the record ---- */

/* Is there something to record? A switch between two threads without storage is sent only when all
 * threads are recorded. */
static __always_inline bool recorded(const struct sw *sw)
{
	if (settings.all && !settings.filters && settings.sample_of <= 1)
		return true;
	return (sw->leaving && sw->leaving->id) || (sw->entering && sw->entering->id);
}

/* Counts a switch that is not sent, and the wake-up that would have gone with it. */
static __always_inline void count_unsent(const struct sw *sw)
{
	struct kind_counts *switches = &sw->cpu->events[EVENT_SWITCH];
	struct kind_counts *wakeups = &sw->cpu->events[EVENT_WAKE];
	bool sampled = !cpu_left_out(sw->cpu) && ((sw->leaving && sw->leaving->traced) ||
						  (sw->entering && sw->entering->traced));

	switches->sampled += sampled;
	switches->filtered += !sampled;
	if (!sw->wake_clock)
		return;
	wakeups->sampled += sampled;
	wakeups->filtered += !sampled;
}

/* A record without space: the next switch-in of both threads will say that one was lost. */
static __noinline int switch_lost(struct task_state *leaving, struct task_state *entering)
{
	if (leaving)
		leaving->unseen |= SWITCH_NEXT_LOST;
	if (entering)
		entering->unseen |= SWITCH_NEXT_LOST;
	return 0;
}

/* The owner of the lock on which prev falls asleep: of the kernel, or of its program. */
static __always_inline void find_lock(struct sw *sw, const user_regs *regs)
{
	__u64 lock = 0;

	if (sw->reason == OFF_CPU_UNINTERRUPTIBLE)
		lock = kernel_lock(sw->prev);
	if (lock) {
		sw->call_flags = CALL_KERNEL_LOCK;
		sw->object = lock & ~KERNEL_LOCK_KIND;
		sw->owner = kernel_lock_owner(lock, sw->prev->pid);
	} else if (is_futex(sw->call)) {
		sw->owner = futex_owner(regs);
	}
}

/* Does prev fall asleep in a system call or a fault? Then sw->call and sw->object are set. */
static __always_inline bool find_call(struct sw *sw)
{
	user_regs *regs;

	if (!sw->leaving || !sw->leaving->id || !falls_asleep(sw->reason) ||
	    kernel_is_kthread(sw->prev))
		return false;
	regs = user_registers(sw->prev);
	sw->call = kernel_call(sw->prev, regs, &sw->object);
	if (settings.locks)
		find_lock(sw, regs);
	return true;
}

/* Sends the record, with `calls` the longer one where there is a call. Returns the clock of the
 * switch. */
static __always_inline __u64 switch_send(struct sw *sw, const bool calls)
{
	bool longer = calls && find_call(sw);
	struct record_switch_call *with_call;
	struct record_switch *record;
	__u64 clock;

	if (longer)
		record = emit_begin(sw->cpu, RECORD_SWITCH_CALL, EVENT_SWITCH, sizeof(*with_call));
	else
		record = emit_begin(sw->cpu, RECORD_SWITCH, EVENT_SWITCH, sizeof(*record));

	if (unlikely(!record)) {
		if (sw->wake_clock)
			emit_lost(sw->cpu, EVENT_WAKE);
		switch_lost(sw->leaving, sw->entering);
		return bpf_ktime_get_ns();
	}
	clock = record->head.clock;
	record->head.flags = sw->entering ? sw->entering->unseen : 0;
	record->head.why = sw->reason;
	record->head.id = sw->leaving ? sw->leaving->id : 0;
	record->prev_tid = sw->prev->pid;
	record->prev_pid = sw->prev->tgid;
	record->next_id = sw->entering ? sw->entering->id : 0;
	record->next_tid = sw->next->pid;
	record->next_pid = sw->next->tgid;
	record->waker_tid = sw->waker_tid;
	/* computed from two clocks: never after the switch */
	record->wake_clock = sw->wake_clock < clock ? sw->wake_clock : clock;
	if (longer) {
		with_call = (struct record_switch_call *)record;
		with_call->object = sw->object;
		with_call->call = sw->call;
		with_call->flags = sw->call_flags;
		with_call->owner = sw->owner;
	}
	emit_end(sw->cpu);
	if (sw->entering && unlikely(sw->entering->unseen))
		sw->entering->unseen = 0;
	return clock;
}

/* ---- with parts of --why ---- */

#if PARTS
#include "stack.bpf.h"

static __always_inline void parts_before(const struct sw *sw)
{
	if (settings.irq)
		irq_at_switch(sw->cpu, sw->leaving);
	if (settings.io)
		io_at_switch(sw->cpu, sw->next, sw->entering);
}

/* Copies the stack of user code of prev, whose memory is still that of this CPU. */
static __always_inline void keep_user_stack(const struct sw *sw)
{
	if (sw->leaving && sw->leaving->id && (falls_asleep(sw->reason) || settings.preempted))
		user_copy_keep(sw->prev);
}

static __always_inline void parts_behind(const struct sw *sw)
{
	if (settings.stack_copies)
		keep_user_stack(sw);
	if (settings.priority_words)
		priority_compare(sw->cpu, sw->next, sw->entering);
}

/* Takes the time at which next fell asleep, or with settings.preempted left its CPU runnable, ns;
 * 0: it did not. */
static __always_inline __u64 take_sleep(const struct sw *sw)
{
	__u64 slept = settings.stack_ns && sw->entering ? sw->entering->slept : 0;

	if (slept && !settings.wakeup_from_sched_info) /* else wakeup_from_scheduler() does it */
		sw->entering->slept = 0;
	if (settings.preempted && sw->entering) {
		if (!slept)
			slept = sw->entering->waits_since;
		sw->entering->waits_since = 0;
	}
	return slept;
}

/* Sends the stack of next, if its sleep was long. */
static __always_inline void send_stack(const struct sw *sw, __u64 slept)
{
	bool ask = false;
	__u64 woken;

	if (!slept)
		return;
	woken = sw->wake_clock ? sw->wake_clock : bpf_ktime_get_ns();
	if (unlikely((__s64)(woken - slept) >= (__s64)settings.stack_ns))
		ask = stack_send(sw->cpu, sw->entering, sw->next, slept, woken);
	if (by_task_work && ask)
		user_stack_ask(sw->next);
}

/* For take_sleep(): prev waits for a CPU from now on. */
static __always_inline void remember_wait(const struct sw *sw, __u64 clock)
{
	if (settings.preempted && sw->leaving)
		sw->leaving->waits_since = falls_asleep(sw->reason) ? 0 : clock;
}

/* The same of its sleep, where remember_leaving() is not called. */
static __always_inline void remember_sleep(const struct sw *sw, __u64 clock)
{
	if (settings.stack_ns && sw->leaving)
		sw->leaving->slept = falls_asleep(sw->reason) ? clock : 0;
	remember_wait(sw, clock);
}
#else
#define parts_before(sw)	  0
#define parts_behind(sw)	  0
#define remember_wait(sw, clock)  ((void)(clock))
#define take_sleep(sw)		  0
#define send_stack(sw, slept)	  ((void)(slept))
#define remember_sleep(sw, clock) ((void)(clock))
#endif

/* For wakeup_from_scheduler(): notes when prev fell asleep, and how long it had waited for CPUs. */
static __always_inline void remember_leaving(const struct sw *sw, __u64 clock)
{
	bool asleep = falls_asleep(sw->reason);

	if (asleep && calibration_due(clock))
		calibrate(sw->prev, clock);
	if (!sw->leaving)
		return;
	sw->leaving->slept = asleep ? clock : 0;
	remember_wait(sw, clock);
	sw->leaving->delay = sw->prev->sched_info.run_delay;
}

/* ---- the programs ---- */

/* Each program exists in three variants: plain, with the system call of prev (--why=call), and, in
 * the other compilation, also with the parts of --why. */
#define SWITCH_PROGRAM(name, function, calls)                                                      \
	SEC("tp_btf/sched_switch")                                                                 \
	int BPF_PROG(name, bool preempt, struct task_struct *prev, struct task_struct *next,       \
		     unsigned int prev_state)                                                      \
	{                                                                                          \
		TIMED(PROGRAMS_SWITCH, function, preempt, prev, next, prev_state, calls);          \
	}

/* -a and the usual targets. */
static __always_inline void on_switch(struct cpu_state *cpu, bool preempt, struct task_struct *prev,
				      struct task_struct *next, __u32 prev_state, const bool calls)
{
	struct sw sw = {.cpu = cpu, .prev = prev, .next = next};
	__u64 slept = 0;

	find_tasks(&sw);
	if (PARTS)
		parts_before(&sw);
	if (dies(&sw, preempt, prev_state))
		target_gone(sw.leaving);
	if (PARTS)
		slept = take_sleep(&sw);
	wakeup_from_scheduler(&sw);
	if (recorded(&sw)) {
		sw.reason = off_cpu_reason(preempt, prev_state, prev);
		if (PARTS)
			send_stack(&sw, slept);
		remember_leaving(&sw, switch_send(&sw, calls));
		if (PARTS)
			parts_behind(&sw);
		return;
	}
	count_unsent(&sw);
	/* The recorder sleeps often: that keeps the two clocks together. */
	if (sw.leaving || (__u32)prev->tgid == recorder) {
		sw.reason = off_cpu_reason(preempt, prev_state, prev);
		remember_leaving(&sw, bpf_ktime_get_ns());
	}
}

#if PARTS
SWITCH_PROGRAM(record_switch_parts, on_switch, settings.calls)
#else
SWITCH_PROGRAM(record_switch, on_switch, false)
SWITCH_PROGRAM(record_switch_calls, on_switch, true)
#endif

/* --wakeup-clock tracepoint; this kernel has no sched_info; no wake-ups in --events. */
static __always_inline void on_switch_tracepoint(struct cpu_state *cpu, bool preempt,
						 struct task_struct *prev, struct task_struct *next,
						 __u32 prev_state, const bool calls)
{
	struct sw sw = {.cpu = cpu, .prev = prev, .next = next};
	__u64 clock, slept = 0;

	find_tasks(&sw);
	if (PARTS)
		parts_before(&sw);
	if (dies(&sw, preempt, prev_state))
		target_gone(sw.leaving);
	if (PARTS)
		slept = take_sleep(&sw);
	wakeup_from_tracepoint(&sw);
	if (!recorded(&sw)) {
		count_unsent(&sw);
		return;
	}
	sw.reason = off_cpu_reason(preempt, prev_state, prev);
	if (PARTS)
		send_stack(&sw, slept);
	clock = switch_send(&sw, calls);
	if (PARTS) {
		remember_sleep(&sw, clock);
		parts_behind(&sw);
	}
}

#if PARTS
SWITCH_PROGRAM(record_switch_tracepoint_parts, on_switch_tracepoint, settings.calls)
#else
SWITCH_PROGRAM(record_switch_tracepoint, on_switch_tracepoint, false)
SWITCH_PROGRAM(record_switch_tracepoint_calls, on_switch_tracepoint, true)
#endif

/* 9c2136be0878 (5.18) added the argument prev_state. */
#define SWITCH_PROGRAM_5_17(name, calls)                                                           \
	SEC("tp_btf/sched_switch")                                                                 \
	int BPF_PROG(name, bool preempt, struct task_struct *prev, struct task_struct *next)       \
	{                                                                                          \
		TIMED(PROGRAMS_SWITCH, on_switch_tracepoint, preempt, prev, next,                  \
		      kernel_task_state(prev), calls);                                             \
	}

#if PARTS
SWITCH_PROGRAM_5_17(record_switch_5_17_parts, settings.calls)
#else
SWITCH_PROGRAM_5_17(record_switch_5_17, false)
SWITCH_PROGRAM_5_17(record_switch_5_17_calls, true)
#endif

/* -C. A thread that ran on another CPU has SWITCH_NEXT_ELSEWHERE in its next record. */
static __always_inline void on_switch_cpus(struct cpu_state *cpu, bool preempt,
					   struct task_struct *prev, struct task_struct *next,
					   __u32 prev_state, const bool calls)
{
	struct sw sw = {.cpu = cpu, .prev = prev, .next = next};
	__u64 clock, slept = 0;

	find_tasks(&sw);
	if (PARTS)
		parts_before(&sw);
	if (dies(&sw, preempt, prev_state))
		target_gone(sw.leaving);
	if (PARTS)
		slept = take_sleep(&sw);
	wakeup_from_tracepoint(&sw);
	if (!cpu->recorded) {
		if (sw.leaving)
			sw.leaving->unseen |= SWITCH_NEXT_ELSEWHERE;
		if (sw.entering)
			sw.entering->unseen |= SWITCH_NEXT_ELSEWHERE;
		count_unsent(&sw);
	} else if (recorded(&sw)) {
		sw.reason = off_cpu_reason(preempt, prev_state, prev);
		if (PARTS)
			send_stack(&sw, slept);
		clock = switch_send(&sw, calls);
		if (PARTS) {
			remember_sleep(&sw, clock);
			parts_behind(&sw);
		}
	} else {
		count_unsent(&sw);
	}
}

#if PARTS
SWITCH_PROGRAM(record_switch_cpus_parts, on_switch_cpus, settings.calls)
#else
SWITCH_PROGRAM(record_switch_cpus, on_switch_cpus, false)
SWITCH_PROGRAM(record_switch_cpus_calls, on_switch_cpus, true)
#endif
