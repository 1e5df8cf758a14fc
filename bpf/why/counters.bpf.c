// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * counters: the perf events that each run of a thread has counted (--counters).
 *
 * In: each switch, and the perf events of this CPU, which user code opens and puts into a map; out:
 * one RECORD_COUNTERS for each run of a recorded task, just before the record of the switch that
 * ends it. The values are read once for each switch: where a run ends, the next one begins.
 * The kernel hides some switches from programs. So the task that entered is kept: if another one
 * leaves, its values are not known, and no record is sent.
 * Specification: event-mapping.md "The perf events of a run".
 */
#include "bpf/cost.bpf.h"
#include "bpf/emit.bpf.h"
#include "bpf/target.bpf.h"

/* Set before load. */
const volatile __u32 counters_used = 0; /* perf events of a CPU */
const volatile __u32 counters_cpus = 1; /* possible CPUs */

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, 1); /* event x possible CPUs + CPU; set before load */
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} counter_events SEC(".maps");

/* Of a CPU: the values at the last read. */
struct counter_values {
	__u64 since; /* ns */
	__u32 tid;   /* of the task that has run since then; 0: of no interest */
	__u32 pad;
	struct bpf_perf_event_value last[COUNTERS_MAX];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct counter_values);
} counter_values SEC(".maps");

/* What an event has counted between two reads. Of an event that had a register of the CPU for a
 * part of the time alone, the share for the whole, as perf has it. */
static __always_inline __s64 counted(const struct bpf_perf_event_value *from,
				     const struct bpf_perf_event_value *to)
{
	__u64 n = to->counter - from->counter, enabled = to->enabled - from->enabled,
	      running = to->running - from->running;

	if (likely(enabled == running))
		return enabled ? (__s64)n : COUNTER_UNKNOWN;
	if (enabled >> 32) { /* no overflow below; more than 4 s */
		enabled >>= 16;
		running >>= 16;
	}
	if (!running)
		return COUNTER_UNKNOWN;
	return (__s64)(n / running * enabled + n % running * enabled / running);
}

/* Reads the events of this CPU; fills in `record`, unless it is NULL. */
static __always_inline void read_events(struct counter_values *values,
					struct record_counters *record)
{
	__u32 cpu = bpf_get_smp_processor_id();

#pragma unroll
	for (__u32 i = 0; i < COUNTERS_MAX; i++) {
		struct bpf_perf_event_value now = {};

		if (i >= counters_used)
			break;
		/* an event that is not there (a CPU that came later) stays 0, and is not known */
		if (bpf_perf_event_read_value(&counter_events, i * counters_cpus + cpu, &now,
					      sizeof(now)))
			__builtin_memset(&now, 0, sizeof(now));
		if (record)
			record->values[i] = now.enabled && values->last[i].enabled
						    ? counted(&values->last[i], &now)
						    : COUNTER_UNKNOWN;
		values->last[i] = now;
	}
}

/* Ends the run of `task` and sends its values. Without space in the ring they are lost. */
static __noinline int send_counters(struct cpu_state *cpu, struct counter_values *values, __u32 id)
{
	struct record_counters *record;
	__u64 since = values->since;

	cpu->events[EVENT_OTHER].seen++;
	record = emit_begin(cpu, RECORD_COUNTERS, EVENT_OTHER, sizeof(*record));
	if (!record) {
		read_events(values, NULL);
		return 0;
	}
	record->head.flags = 0;
	record->head.why = 0;
	record->head.id = id;
	record->since = since;
	values->since = record->head.clock;
	read_events(values, record);
	emit_end(cpu);
	return 0;
}

static __always_inline bool recorded(struct task_struct *task, __u32 *id)
{
	struct task_state *task_state = task->pid ? task_state_of(task) : NULL;

	*id = task_state ? task_state->id : 0;
	return *id != 0;
}

static __always_inline void on_counted(struct cpu_state *cpu, struct task_struct *prev,
				       struct task_struct *next)
{
	struct counter_values *values;
	__u32 zero = 0, id;
	bool enters;

	values = bpf_map_lookup_elem(&counter_values, &zero);
	if (!values || cpu_left_out(cpu))
		return;
	/* with -a the program of switches, behind this one, may be the first to see a task */
	enters = next->pid && (settings.all || recorded(next, &id));
	if (values->tid && values->tid == prev->pid && recorded(prev, &id)) {
		send_counters(cpu, values, id);
	} else if (enters) {
		values->since = bpf_ktime_get_ns();
		read_events(values, NULL);
	}
	values->tid = enters ? next->pid : 0;
}

/* Attached before the program that records the switch, and so called before it. */
SEC("tp_btf/sched_switch")
int BPF_PROG(counters_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	TIMED(PROGRAMS_SWITCH, on_counted, prev, next);
}

/* At both ends of the window, on each CPU, just before the snapshot: in an interrupt, too. */
SEC("raw_tp")
int counters_snapshot(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct cpu_state *cpu = this_cpu_state();
	struct counter_values *values;
	__u32 zero = 0, id;
	bool known;

	values = bpf_map_lookup_elem(&counter_values, &zero);
	if (!cpu || !values || !emit_possible(cpu, sizeof(struct record_counters)))
		return 0;
	known = values->tid && values->tid == task->pid;
	if (recorded(task, &id) && known) {
		send_counters(cpu, values, id);
	} else {
		values->since = bpf_ktime_get_ns();
		read_events(values, NULL);
	}
	values->tid = id ? task->pid : 0;
	return 1;
}
