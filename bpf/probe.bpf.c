// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * probe: a thread enters or leaves a function of user code, or passes a point in it.
 *
 * In: hits of uprobes, each with the cookie of its site (state.h); out: one record for each hit of
 * a recorded thread; or, in summary mode, sums. A call that is left out (--max-rate,
 * --sample-calls), or whose record found no space, has no return probe either: never half a pair.
 * These programs run in the context of the task and can be preempted; preemption is off from the
 * reserve of a record to its commit, so the ring still has one producer. Specification: ebpf.md
 * 6, 8.5, 11.
 */
#include "cost.bpf.h"
#include "emit.bpf.h"
#include "summary.bpf.h"
#include "target.bpf.h"

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
 * The stack that the task is on, by the end of its mapping. Looked up when it is not the last one:
 * at the first probe of a thread, on a stack that has grown, in a coroutine.
 */
static __noinline __u32 other_stack(struct task_struct *task, struct task_state *task_state,
				    __u64 sp)
{
	struct task_state *data = task_state;

	if (!settings.find_stack || bpf_find_vma(task, sp, remember_stack, &data, 0))
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

/* Reads `bytes` bytes of user memory. */
static __always_inline bool read_memory(__s64 *value, __u8 bytes, __u64 at)
{
	*value = 0;
	switch (bytes) {
	case 1:
		return !bpf_probe_read_user(value, 1, (void *)at);
	case 2:
		return !bpf_probe_read_user(value, 2, (void *)at);
	case 4:
		return !bpf_probe_read_user(value, 4, (void *)at);
	default:
		return !bpf_probe_read_user(value, 8, (void *)at);
	}
}

/* Reads the value of the site; false: it cannot be read. */
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
		return read_memory(value, site->bytes, at);
	default:
		return false;
	}
}

/* Do --max-rate or --sample-calls leave this call out? Exact, also with calls on several CPUs. */
static __always_inline bool left_out(__u64 cookie)
{
	__u32 index = COOKIE_SITE(cookie);
	struct probe_site *site;
	__u64 now, was;

	if (!settings.max_rate && settings.one_of < 2)
		return false;
	site = bpf_map_lookup_elem(&sites, &index);
	if (!site)
		return false;
	if (settings.one_of > 1 && __sync_fetch_and_add(&site->turn, 1) % settings.one_of)
		goto left;
	if (!settings.max_rate)
		return false;
	now = bpf_ktime_get_ns() / 1000000000 << 32;
	was = *(volatile __u64 *)&site->second;
	if ((was >> 32) < (now >> 32))
		__sync_val_compare_and_swap(&site->second, was, now);
	if ((__u32)__sync_fetch_and_add(&site->second, 1) < settings.max_rate)
		return false;
left:
	__sync_fetch_and_add(&site->left_out, 1);
	return true;
}

/* One hit of a probe. */
struct hit {
	__u64 cookie, sp, call, value;
	__u32 stack;
	__u8 side, flags; /* enum probe_side; PROBE_* */
};

static __always_inline void fill_record(struct record_probe *record, struct task_struct *task,
					struct task_state *task_state, const struct hit *hit,
					__u8 flags)
{
	record->head.flags = hit->side | hit->flags | flags;
	record->head.why = 0;
	record->head.id = task_state->id;
	record->site = COOKIE_SITE(hit->cookie);
	record->stack = hit->stack;
	record->sp = hit->sp;
	record->call = hit->call;
	record->value = hit->value;
	record->tid = task->pid;
	record->pid = task->tgid;
}

/* Reads one of several values of a site; false: it belongs to the other side, or cannot be read. */
static __always_inline bool read_value(struct pt_regs *regs, struct task_state *task_state,
				       const struct probe_value *of, const struct hit *hit,
				       __s64 *value)
{
	bool returns = of->flags & PROBE_VALUE_RETURN;
	__u64 at = 0;

	if (!(of->flags & PROBE_VALUE_ARGUMENT)) {
		*value = (__s64)kernel_return_value(regs);
		return hit->side == PROBE_RETURN;
	}
	if (hit->side == PROBE_RETURN) {
		if (!returns || task_state->kept_sp != hit->sp)
			return false;
		return read_memory(value, of->bytes, task_state->kept + of->offset);
	}
	if (of->flags & PROBE_VALUE_STACK) {
		if (bpf_probe_read_user(&at, sizeof(at), (void *)hit->sp + of->stack))
			return false;
	} else if (bpf_probe_read_kernel(&at, sizeof(at), (void *)regs + of->reg)) {
		return false;
	}
	if (returns) {
		task_state->kept_sp = hit->sp;
		task_state->kept = at;
		return false;
	}
	*value = (__s64)at;
	return !(of->flags & PROBE_VALUE_FOLLOW) || read_memory(value, of->bytes, at + of->offset);
}

/* Sends the record of a site with several values. Returns whether it found space. */
static __noinline bool record_values(struct pt_regs *regs, struct cpu_state *cpu,
				     struct task_state *task_state, const struct hit *hit)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 index = COOKIE_SITE(hit->cookie);
	const struct probe_values *values = bpf_map_lookup_elem(&probe_values, &index);
	struct record_probe_values *record;
	__u64 valid = 0;

	if (!values) /* never */
		return false;
	record = emit_begin_in_task(cpu, RECORD_PROBE, EVENT_PROBE, sizeof(*record));
	if (unlikely(!record))
		return false;
	fill_record(&record->probe, task, task_state, hit, PROBE_SEVERAL);
	for (__u32 i = 0; i < PROBE_VALUES; i++) {
		__s64 value = 0;

		if (i < values->count &&
		    read_value(regs, task_state, &values->list[i], hit, &value))
			valid |= 1ull << i;
		record->values[i] = value;
	}
	record->valid = valid;
	emit_end_in_task(cpu);
	return true;
}

/* Counts a hit, and sends its record. Returns whether the return of this call must be sent, too. */
static __always_inline bool record_hit(struct pt_regs *regs, struct cpu_state *cpu,
				       struct task_struct *task, struct task_state *task_state,
				       struct hit *hit)
{
	struct kind_counts *hits = &cpu->events[EVENT_PROBE];
	bool elsewhere = cpu_left_out(cpu);
	struct record_probe *record;

	if (!task_state || !task_state->traced || (elsewhere && hit->side != PROBE_RETURN)) {
		hits->filtered++;
		return false;
	}
	if (!task_state->id) {
		hits->sampled++;
		return true;
	}
	if (hit->side != PROBE_RETURN && left_out(hit->cookie)) {
		hits->sampled++;
		return false;
	}
	if (elsewhere)
		hit->flags |= PROBE_ELSEWHERE;
	if (settings.several && COOKIE_SOURCE(hit->cookie) == PROBE_FROM_SEVERAL)
		return record_values(regs, cpu, task_state, hit);
	record = emit_begin_in_task(cpu, RECORD_PROBE, EVENT_PROBE, sizeof(*record));
	if (unlikely(!record))
		return false;
	fill_record(record, task, task_state, hit, 0);
	emit_end_in_task(cpu);
	return true;
}

/* The same in summary mode. */
static __always_inline bool count_hit(struct cpu_state *cpu, struct task_struct *task,
				      const struct hit *hit)
{
	if (cpu_left_out(cpu) && hit->side != PROBE_RETURN)
		return false;
	return summary_call(task, hit->side, hit->sp);
}

/* Handles a hit; `task_state` is the storage of `task`, or NULL. Returns whether the return of this
 * call must be handled, too. */
static __always_inline bool handle_hit(struct pt_regs *regs, __u64 cookie, struct task_struct *task,
				       struct task_state *task_state, __u8 side, __u8 flags,
				       __u64 sp, __u64 call)
{
	struct hit hit = {.cookie = cookie, .sp = sp, .call = call, .side = side, .flags = flags};
	struct cpu_state *cpu;
	bool again = false;
	__s64 value = 0;
	__u64 begin;

	if (!settings.summary && task_state && task_state->id) {
		hit.stack = stack_of(task, task_state, sp);
		if (COOKIE_SOURCE(cookie) && value_of(regs, cookie, side, &value))
			hit.flags |= PROBE_VALUE;
		hit.value = value;
	}
	bpf_preempt_disable();
	cpu = this_cpu_state();
	if (!cpu || !*(volatile __u32 *)&probes_on)
		goto out;
	begin = cost_begin(cpu, PROGRAMS_PROBE);
	cpu->events[EVENT_PROBE].seen++;
	if (settings.summary)
		again = count_hit(cpu, task, &hit);
	else
		again = record_hit(regs, cpu, task, task_state, &hit);
	cost_end(cpu, PROGRAMS_PROBE, begin);
out:
	bpf_preempt_enable();
	return again;
}

/*
 * Calls the kernel function bpf_session_cookie(), or bpf_session_is_return() (6.13), which user
 * code puts in the place of `number` (SESSION_*_CALL). An extern would not do: it has the type of
 * one kernel, newer kernels [seen: 7.3] gave both the context as an argument, and libbpf compares.
 */
#define SESSION_CALL(context, number)                                                              \
	({                                                                                         \
		register __u64 result asm("r0");                                                   \
		register void *argument asm("r1") = (context);                                     \
		asm volatile("call %[to]"                                                          \
			     : "=r"(result), "+r"(argument)                                        \
			     : [to] "i"(number)                                                    \
			     : "r2", "r3", "r4", "r5", "memory");                                  \
		result;                                                                            \
	})

/* Both sides of a function, with the number that pairs entry and return. */
SEC("uprobe")
int probe_session(struct pt_regs *regs)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_state *task_state = task_state_of(task);
	__u64 *call = (__u64 *)SESSION_CALL(regs, SESSION_COOKIE_CALL), number;
	__u8 flags;

	if (!call)
		return 1;
	if ((__u8)SESSION_CALL(regs, SESSION_IS_RETURN_CALL)) { /* a bool */
		handle_hit(regs, bpf_get_attach_cookie(regs), task, task_state, PROBE_RETURN, 0,
			   kernel_return_sp(regs), *call);
		return 0;
	}
	flags = kernel_tail_called(task, regs) ? PROBE_TAIL : 0;
	number = task_state ? ++task_state->calls : 0; /* written by its own thread only */
	*call = number;
	return !handle_hit(regs, bpf_get_attach_cookie(regs), task, task_state, PROBE_ENTRY, flags,
			   kernel_entry_sp(regs), number);
}

/* The same for kernels without sessions, and for functions whose exits are probed one by one. */
SEC("uprobe")
int probe_entry(struct pt_regs *regs)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_state *task_state = task_state_of(task);

	handle_hit(regs, bpf_get_attach_cookie(regs), task, task_state, PROBE_ENTRY,
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

	handle_hit(regs, cookie, task, task_state, PROBE_RETURN, at_exit ? PROBE_AT_EXIT : 0,
		   at_exit ? kernel_entry_sp(regs) : kernel_return_sp(regs), 0);
	return 0;
}

SEC("uprobe")
int probe_point(struct pt_regs *regs)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_state *task_state = task_state_of(task);

	handle_hit(regs, bpf_get_attach_cookie(regs), task, task_state, PROBE_POINT, 0,
		   kernel_entry_sp(regs), 0);
	return 0;
}
