// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * probe: a thread enters or leaves a function of user code, or passes a point in it.
 *
 * In: hits of uprobes, each with the cookie of its site (state.h); out: one record a hit, of
 * threads that are wanted; and counters. A function that is entered by it, or left out (--max-rate,
 * --sample-calls), or whose record found no room, has no return probe either: never half a pair.
 * These programs run in the context of the task and can be preempted; preemption is off from the
 * reserve of a record to its commit, so the ring still has one producer. Specification: ebpf.md
 * 6, 8.5, 11.
 */
#include "counters.bpf.h"
#include "emit.bpf.h"
#include "target.bpf.h"

/* 6.13 */
extern bool bpf_session_is_return(void) __ksym __weak;
extern __u64 *bpf_session_cookie(void) __ksym __weak;

#define COOKIE_SITE(cookie)   ((__u32)(cookie))
#define COOKIE_NUMBER(cookie) ((__u16)((cookie) >> 32))
#define COOKIE_SOURCE(cookie) ((__u8)((cookie) >> 48))
#define COOKIE_FLAGS(cookie)  ((__u8)((cookie) >> 56))

static long remember_stack(struct task_struct *task, struct vm_area_struct *vma, void *data)
{
	struct task_state *task_state = *(struct task_state **)data;

	task_state->stack_start = vma->vm_start;
	task_state->stack_end = vma->vm_end;
	return 0;
}

/*
 * Which stack the task is on: memory that is mapped as one. Looked up when it is not where it was
 * last: a thread's first probe, a stack that has grown, a coroutine.
 */
static __noinline __u32 other_stack(struct task_struct *task, struct task_state *task_state,
				    __u64 sp)
{
	struct task_state *data = task_state;

	if (!knobs.find_stack || bpf_find_vma(task, sp, remember_stack, &data, 0))
		return PROBE_STACK_UNKNOWN;
	return task_state->stack_end >> 12 & ~PROBE_STACK_ALTERNATE;
}

static __always_inline __u32 stack_of(struct task_struct *task, struct task_state *task_state,
				      __u64 sp)
{
	if (unlikely(kernel_on_signal_stack(task, sp)))
		return PROBE_STACK_ALTERNATE | task->sas_ss_sp >> 12;
	if (unlikely(sp < task_state->stack_start || sp >= task_state->stack_end))
		return other_stack(task, task_state, sp);
	return task_state->stack_end >> 12 & ~PROBE_STACK_ALTERNATE;
}

/* The value that the site tells; false: it cannot be read. */
static __always_inline bool value_of(struct pt_regs *regs, __u64 cookie, __u8 side, __s64 *value)
{
	__u32 index = COOKIE_SITE(cookie);
	struct probe_site *site;
	__u64 at = 0;

	switch (COOKIE_SOURCE(cookie)) {
	case PROBE_FROM_RETURN:
		*value = (__s64)kernel_return_value(regs);
		return side == PROBE_RETURN;
	case PROBE_FROM_CONSTANT:
		site = bpf_map_lookup_elem(&sites, &index);
		*value = site ? site->constant : 0;
		return site;
	case PROBE_FROM_ARGUMENT:
		if (side == PROBE_RETURN)
			return false;
		/* fall through */
	case PROBE_FROM_REGISTER:
		return !bpf_probe_read_kernel(value, sizeof(*value),
					      (void *)regs + COOKIE_NUMBER(cookie));
	case PROBE_FROM_MEMORY:
		site = bpf_map_lookup_elem(&sites, &index);
		if (!site ||
		    bpf_probe_read_kernel(&at, sizeof(at), (void *)regs + COOKIE_NUMBER(cookie)))
			return false;
		at += site->constant;
		switch (site->bytes) {
		case 1:
			return !bpf_probe_read_user(value, 1, (void *)at);
		case 2:
			return !bpf_probe_read_user(value, 2, (void *)at);
		case 4:
			return !bpf_probe_read_user(value, 4, (void *)at);
		default:
			return !bpf_probe_read_user(value, 8, (void *)at);
		}
	default:
		return false;
	}
}

/* Is this call one of those that are not recorded? Exact, on however many CPUs it is made. */
static __always_inline bool left_out(__u64 cookie)
{
	__u32 index = COOKIE_SITE(cookie);
	struct probe_site *site;
	__u64 now, was;

	if (!knobs.max_rate && knobs.one_of < 2)
		return false;
	site = bpf_map_lookup_elem(&sites, &index);
	if (!site)
		return false;
	if (knobs.one_of > 1 && __sync_fetch_and_add(&site->turn, 1) % knobs.one_of)
		goto left;
	if (!knobs.max_rate)
		return false;
	now = bpf_ktime_get_ns() / 1000000000 << 32;
	was = *(volatile __u64 *)&site->second;
	if ((was >> 32) < (now >> 32))
		__sync_val_compare_and_swap(&site->second, was, now);
	if ((__u32)__sync_fetch_and_add(&site->second, 1) < knobs.max_rate)
		return false;
left:
	__sync_fetch_and_add(&site->left_out, 1);
	return true;
}

/*
 * The time inside of probed functions: of the outermost one, so that nothing is counted twice. A
 * frame above it (longjmp) or a return from it ends it. The stack pointer tells which is which.
 */
static __always_inline void count_call(struct task_state *task_state, __u8 side, __u64 sp,
				       __u64 clock)
{
	struct thread_counters *c = &task_state->counters;

	counters_open(&c->seq);
	if (side != PROBE_RETURN)
		c->calls += counters_counts(counters_window(), clock);
	if (side == PROBE_ENTRY && sp > task_state->call_sp) {
		task_state->call_sp = sp;
		task_state->call_clock = clock;
	} else if (side == PROBE_RETURN && task_state->call_sp && sp >= task_state->call_sp) {
		c->calls_ns += counters_within(counters_window(), task_state->call_clock, clock);
		task_state->call_sp = 0;
	}
	counters_shut(&c->seq);
}

/*
 * Accounts for a hit, and sends its record, if it is to be. `task_state`: of `task`; NULL or
 * without an id: it is not recorded. Returns whether the return of this call is to be told, too.
 */
static __always_inline bool tell(struct pt_regs *regs, __u64 cookie, struct task_struct *task,
				 struct task_state *task_state, __u8 side, __u8 flags, __u64 sp,
				 __u64 call)
{
	struct record_probe *record = NULL;
	struct event_account *account;
	struct cpu_state *state;
	bool again = false;
	__u64 begin, clock;
	__s64 value = 0;
	__u32 cpu, stack = 0;

	if (task_state && task_state->id && knobs.rings) {
		stack = stack_of(task, task_state, sp);
		if (COOKIE_SOURCE(cookie) && value_of(regs, cookie, side, &value))
			flags |= PROBE_VALUE;
	}
	bpf_preempt_disable();
	cpu = bpf_get_smp_processor_id();
	state = cpu_state(cpu);
	if (!state || !*(volatile __u32 *)&probes_on)
		goto out;
	begin = cost_begin(state, PROGRAMS_PROBE);
	account = &state->events[EVENT_PROBE];
	account->seen++;
	if (!task_state || !task_state->wanted ||
	    (knobs.cpu_list && !state->recorded && side != PROBE_RETURN)) {
		account->filtered++;
		goto end;
	}
	if (!knobs.rings || !task_state->id) {
		if (knobs.rings)
			account->sampled++;
		else
			account->filtered++;
		counters_event(&task_state->counters,
			       knobs.rings ? OUTCOME_SAMPLED : OUTCOME_FILTERED);
		again = true;
		goto count;
	}
	if (knobs.cpu_list && !state->recorded)
		flags |= PROBE_ELSEWHERE;
	if (side != PROBE_RETURN && left_out(cookie)) {
		account->sampled++;
		counters_event(&task_state->counters, OUTCOME_SAMPLED);
		goto count;
	}
	record = emit_begin(state, cpu, RECORD_PROBE, EVENT_PROBE, sizeof(*record));
	counters_event(&task_state->counters, record ? OUTCOME_SENT : OUTCOME_FULL);
	if (unlikely(!record))
		goto count;
	clock = record->head.clock;
	record->head.flags = side | flags;
	record->head.why = 0;
	record->head.id = task_state->id;
	record->site = COOKIE_SITE(cookie);
	record->stack = stack;
	record->sp = sp;
	record->call = call;
	record->value = value;
	record->tid = task->pid;
	record->pid = task->tgid;
	emit_end(state);
	again = true;
	count_call(task_state, side, sp, clock);
	goto end;
count:
	/* The time of a call whose return is not told is not known. */
	if (again || side != PROBE_ENTRY)
		count_call(task_state, side, sp, bpf_ktime_get_ns());
	else
		task_state->counters.calls +=
			counters_counts(counters_window(), bpf_ktime_get_ns());
end:
	cost_end(state, PROGRAMS_PROBE, begin);
out:
	bpf_preempt_enable();
	return again;
}

/* Both sides of a function, with what tells which return belongs to which entry. */
SEC("uprobe")
int probe_session(struct pt_regs *regs)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_state *task_state = task_state_of(task);
	__u64 *call = bpf_session_cookie(), number;
	__u8 flags;

	if (!call)
		return 1;
	if (bpf_session_is_return()) {
		tell(regs, bpf_get_attach_cookie(regs), task, task_state, PROBE_RETURN, 0,
		     kernel_return_sp(regs), *call);
		return 0;
	}
	flags = kernel_tail_called(task, regs) ? PROBE_TAIL : 0;
	number = task_state ? ++task_state->calls : 0; /* its own thread alone comes here */
	*call = number;
	return !tell(regs, bpf_get_attach_cookie(regs), task, task_state, PROBE_ENTRY, flags,
		     kernel_entry_sp(regs), number);
}

/* The same for kernels without sessions, and for functions whose exits are probed one by one. */
SEC("uprobe")
int probe_entry(struct pt_regs *regs)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_state *task_state = task_state_of(task);

	tell(regs, bpf_get_attach_cookie(regs), task, task_state, PROBE_ENTRY,
	     kernel_tail_called(task, regs) ? PROBE_TAIL : 0, kernel_entry_sp(regs), 0);
	return 0;
}

SEC("uprobe")
int probe_return(struct pt_regs *regs)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_state *task_state = task_state_of(task);
	__u64 cookie = bpf_get_attach_cookie(regs);
	bool at_exit = COOKIE_FLAGS(cookie) & PROBE_COOKIE_EXIT;

	tell(regs, cookie, task, task_state, PROBE_RETURN, at_exit ? PROBE_AT_EXIT : 0,
	     at_exit ? kernel_entry_sp(regs) : kernel_return_sp(regs), 0);
	return 0;
}

SEC("uprobe")
int probe_point(struct pt_regs *regs)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_state *task_state = task_state_of(task);

	tell(regs, bpf_get_attach_cookie(regs), task, task_state, PROBE_POINT, 0,
	     kernel_entry_sp(regs), 0);
	return 0;
}
