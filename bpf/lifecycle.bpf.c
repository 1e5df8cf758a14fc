// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * lifecycle: tasks are born, renamed, execute another program, and exit.
 *
 * A stream does not end here but at the last switch (sched.bpf.c): an exiting task may
 * still sleep and run again. An id survives exec, even where the tid does not.
 * Specification: ebpf.md 8.4, 9.
 */
#include "counters.bpf.h"
#include "emit.bpf.h"
#include "target.bpf.h"
#include "task_record.bpf.h"

/* The whole of a program: what it does on the CPU that it runs on, and what that costs. */
#define TIMED(act, ...)                                                                            \
	do {                                                                                       \
		__u32 cpu = bpf_get_smp_processor_id();                                            \
		struct cpu_state *state = cpu_state(cpu);                                          \
                                                                                                   \
		if (state) {                                                                       \
			__u64 begin = cost_begin(state, PROGRAMS_LIFE);                            \
                                                                                                   \
			act(state, cpu, __VA_ARGS__);                                              \
			cost_end(state, PROGRAMS_LIFE, begin);                                     \
		}                                                                                  \
		return 0;                                                                          \
	} while (0)

/* Is a new task a member, because the one that creates it is? */
static __always_inline bool inherits(struct task_struct *creator, struct task_state *parent,
				     struct task_struct *task)
{
	if (knobs.all)
		return true;
	if (!parent || !parent->member)
		return false;
	return task->tgid == creator->tgid ? knobs.threads : knobs.follow;
}

/*
 * A birth is also told of a task that is not recorded, if the one that creates it is. Without the
 * kind `fork` it is only told who the new one is.
 */
static __always_inline void on_newtask(struct cpu_state *state, __u32 cpu, struct task_struct *task)
{
	struct task_struct *creator = bpf_get_current_task_btf();
	struct event_account *account = &state->events[EVENT_FORK];
	struct task_state *task_state, *parent;
	char comm[RECORD_COMM_SIZE] = {};
	struct record_task *record;
	__u32 creator_id = 0;
	bool wanted = false;

	account->seen++;
	parent = task->pid ? bpf_task_storage_get(&tasks, creator, 0, 0) : NULL;
	if (parent && !(knobs.cpu_list && !state->recorded)) {
		creator_id = parent->id;
		wanted = parent->wanted;
	}
	bpf_probe_read_kernel_str(comm, sizeof(comm), task->comm);
	task_state = task->pid && inherits(creator, parent, task) ? target_add(task) : NULL;
	if (task_state && target_update(task, task_state, comm)) {
		counters_begin(counters_window(), &task_state->counters, task,
			       knobs.switches ? THREAD_NONE : THREAD_UNKNOWN, -1,
			       bpf_ktime_get_ns());
		wanted |= task_state->wanted;
	}
	if (!wanted || !kind_wanted(EVENT_FORK)) {
		account->filtered++;
		if (wanted)
			counters_current(OUTCOME_FILTERED);
		if (task_state && task_state->id)
			task_sight(state, cpu, task, task_state, comm);
		return;
	}
	if (!creator_id && !(task_state && task_state->id)) {
		account->sampled++;
		counters_current(OUTCOME_SAMPLED);
		return;
	}
	record = emit_begin(state, cpu, RECORD_TASK, EVENT_FORK, sizeof(*record));
	counters_current(record ? OUTCOME_SENT : OUTCOME_FULL);
	if (!record)
		return;
	task_fill(record, TASK_BORN, creator_id, task, task_state);
	record->creator_tid = creator->pid;
	__builtin_memcpy(record->comm, comm, sizeof(comm));
	emit_end(state);
}

SEC("tp_btf/task_newtask")
int BPF_PROG(task_newtask, struct task_struct *task)
{
	TIMED(on_newtask, task);
}

/* Another name has made a task wanted, or not. Who names another one does not know what that does.
 */
static __always_inline void count_changed(struct cpu_state *state, struct task_struct *task,
					  struct task_state *task_state, __u64 clock)
{
	bool itself = task == bpf_get_current_task_btf() && !(knobs.cpu_list && !state->recorded);

	if (!clock)
		clock = bpf_ktime_get_ns();
	if (itself)
		counters_recall(state, bpf_get_smp_processor_id(), &task_state->counters, task);
	if (!task_state->wanted)
		counters_lose(counters_window(), &task_state->counters, task, clock);
	else
		counters_begin(counters_window(), &task_state->counters, task,
			       itself ? THREAD_RUNNING : THREAD_UNKNOWN,
			       itself ? (__s32)bpf_get_smp_processor_id() : -1, clock);
	if (itself)
		counters_cpu(counters_window(), state, task_state->wanted ? CPU_THREAD : CPU_OTHER,
			     clock);
}

/* A thread that has taken its leader's tid (exec) does so in the record at `clock`. */
static __always_inline void count_renumbered(struct cpu_state *state, __u32 cpu,
					     struct task_struct *task,
					     struct task_state *task_state, __u64 clock)
{
	struct thread_counters *c = &task_state->counters;

	if (likely(c->tid == (__u32)task->pid) || !task_state->wanted || task->flags & PF_EXITING ||
	    task != bpf_get_current_task_btf())
		return;
	if (!clock)
		clock = bpf_ktime_get_ns();
	counters_recall(state, cpu, c, task);
	counters_charge(counters_window(), c, clock);
	counters_renumber(task, task_state, clock);
}

static __always_inline void on_rename(struct cpu_state *state, __u32 cpu, struct task_struct *task,
				      const char *name)
{
	struct event_account *account = &state->events[EVENT_RENAME];
	struct task_state *task_state = task_state_of(task);
	char comm[RECORD_COMM_SIZE] = {};
	bool changed = false, was;
	__u64 clock = 0;

	account->seen++;
	was = task_state && task_state->wanted;
	if (task_state)
		bpf_probe_read_kernel_str(comm, sizeof(comm), name);
	if (task_state && knobs.use_comm)
		changed = target_update(task, task_state, comm);
	if (!task_state || (!was && !changed)) {
		account->filtered++;
		return;
	}
	if (changed && knobs.rings && !kind_wanted(EVENT_RENAME)) {
		/* That it is recorded from now on, or no more, is no matter of its name. */
		account->filtered++;
		state->events[EVENT_OTHER].seen++;
		clock = task_emit(state, cpu, TASK_SEEN, EVENT_OTHER, task, task_state, comm);
	} else if (!kind_wanted(EVENT_RENAME)) {
		account->filtered++;
		counters_current(OUTCOME_FILTERED);
	} else if (!task_recorded_id(task_state)) {
		account->sampled++;
		counters_current(OUTCOME_SAMPLED);
	} else {
		clock = task_emit(state, cpu, TASK_RENAMED, EVENT_RENAME, task, task_state, comm);
		counters_current(clock ? OUTCOME_SENT : OUTCOME_FULL);
	}
	if (changed)
		count_changed(state, task, task_state, clock);
	else
		count_renumbered(state, cpu, task, task_state, clock);
}

SEC("tp_btf/task_rename")
int BPF_PROG(task_rename, struct task_struct *task, const char *name)
{
	TIMED(on_rename, task, name);
}

/* Counts what is not sent of a life's event, and says so. */
static __always_inline bool left_out(struct event_account *account, enum event_kind kind,
				     struct task_state *task_state)
{
	account->seen++;
	if (!task_state || !task_state->wanted || !kind_wanted(kind)) {
		account->filtered++;
		if (task_state && task_state->wanted)
			counters_event(&task_state->counters, OUTCOME_FILTERED);
		return true;
	}
	if (!task_state->id) {
		account->sampled++;
		counters_event(&task_state->counters, OUTCOME_SAMPLED);
		return true;
	}
	return false;
}

/* What is not left out is sent, or has found no room. */
static __always_inline void *sent(struct task_state *task_state, void *record)
{
	counters_event(&task_state->counters, record ? OUTCOME_SENT : OUTCOME_FULL);
	return record;
}

static __always_inline void on_exec(struct cpu_state *state, __u32 cpu, struct task_struct *task,
				    int old_pid)
{
	struct task_state *task_state = task_state_of(task);
	struct record_task *record = NULL;
	__u64 clock = 0;

	if (!left_out(&state->events[EVENT_EXEC], EVENT_EXEC, task_state))
		record = sent(task_state,
			      emit_begin(state, cpu, RECORD_TASK, EVENT_EXEC, sizeof(*record)));
	if (record) {
		clock = record->head.clock;
		task_fill(record, TASK_EXECED, task_context(state), task, task_state);
		record->old_tid = old_pid;
		bpf_probe_read_kernel_str(record->comm, sizeof(record->comm), task->comm);
		emit_end(state);
	}
	if (task_state)
		count_renumbered(state, cpu, task, task_state, clock);
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(sched_process_exec, struct task_struct *task, int old_pid)
{
	TIMED(on_exec, task, old_pid);
}

static __always_inline void on_exit(struct cpu_state *state, __u32 cpu, struct task_struct *task)
{
	struct task_state *task_state = task_state_of(task);
	struct record_exit *record;

	if (task_state && !knobs.switches) { /* its last switch is not seen */
		target_gone(task_state);
		counters_end(task, task_state);
	}
	if (left_out(&state->events[EVENT_EXIT], EVENT_EXIT, task_state))
		return;
	record = sent(task_state, emit_begin(state, cpu, RECORD_EXIT, EVENT_EXIT, sizeof(*record)));
	if (!record)
		return;
	record->head.flags = 0;
	record->head.why = 0;
	record->head.id = task_context(state);
	record->tid = task->pid;
	record->pid = task->tgid;
	record->exit_code = task->exit_code;
	record->id = task_state->id;
	emit_end(state);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(sched_process_exit, struct task_struct *task)
{
	TIMED(on_exit, task);
}
