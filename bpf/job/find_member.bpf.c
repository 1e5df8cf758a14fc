// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * find_member: the processes of a job, by their environment, at each exec (ovni-job).
 *
 * In: each exec of a process that is not in the target; out: a process that meets settings.member
 * is in the target before its first instruction, and the values of its launcher's variables are
 * sent, then its RECORD_TASK: a rank that lives for milliseconds is recorded from its begin, with
 * its rank. Children inherit that, as of any process in the target. The environment lies on the new
 * stack, which the kernel has just written. Needs bpf_loop() (Linux 5.17).
 * Specification: job.md 4.1, 4.2.
 */
#include "bpf/cost.bpf.h"
#include "bpf/emit.bpf.h"
#include "bpf/target.bpf.h"
#include "bpf/task_record.bpf.h"

#define STRINGS_MAX 65536 /* of an environment; a longer one is read up to there */
#define TEXT	    256	  /* bytes of a string that are read at once: a power of two */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, VARIABLES_MAX);
	__type(key, char[VARIABLE_NAME]);
	__type(value, struct variable);
} variables SEC(".maps");

struct environment {
	char text[TEXT];
	char name[VARIABLE_NAME];
	char values[VARIABLES_MAX][VARIABLE_VALUE];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct environment);
} environments SEC(".maps");

struct scan {
	__u64 at, end;	 /* in user memory */
	__u32 there;	 /* variables, by index */
	__u32 wanted;	 /* those with their wanted value */
	__u32 continues; /* the string before goes on at `at` */
};

static __always_inline struct environment *this_cpu_environment(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&environments, &zero);
}

/* Takes the value of a variable, which lies at `at`. */
static __always_inline void take_value(struct scan *scan, struct environment *env,
				       const struct variable *variable, __u64 at)
{
	__u32 index = variable->index & (VARIABLES_MAX - 1), bit = 1u << index;
	char *value = env->values[index];
	__u64 differ = 0;

	if (scan->there & bit) /* the first one counts, as for getenv() */
		return;
	__builtin_memset(value, 0, VARIABLE_VALUE);
	if (bpf_probe_read_user_str(value, VARIABLE_VALUE, (void *)at) < 0)
		return;
	for (int i = 0; i < VARIABLE_VALUE / 8; i++)
		differ |= ((__u64 *)value)[i] ^ ((const __u64 *)variable->wanted)[i];
	scan->there |= bit;
	scan->wanted |= variable->wanted[0] && !differ ? bit : 0;
}

static long take_string(__u32 number, void *context)
{
	struct environment *env = this_cpu_environment();
	const struct variable *variable;
	struct scan *scan = context;
	__u64 at = scan->at;
	__u32 length = 0;
	bool continues;
	long bytes;

	if (!env || at >= scan->end)
		return 1;
	bytes = bpf_probe_read_user_str(env->text, TEXT, (void *)at);
	if (bytes <= 0)
		return 1;
	continues = scan->continues;
	scan->continues = bytes == TEXT; /* cut, or it just fits: then an empty rest follows */
	scan->at = at + bytes - (bytes == TEXT);
	if (continues)
		return 0;
	__builtin_memset(env->name, 0, VARIABLE_NAME);
	for (; length < VARIABLE_NAME - 1; length++) {
		char c = env->text[length];

		if (!c || c == '=')
			break;
		env->name[length] = c;
	}
	if (env->text[length & (TEXT - 1)] != '=')
		return 0;
	variable = bpf_map_lookup_elem(&variables, env->name);
	if (variable)
		take_value(scan, env, variable, at + length + 1);
	return 0;
}

static __always_inline bool has_rank(__u32 there)
{
	for (int i = 0; i < 4; i++) {
		__u32 all = settings.member.ranks[i].all;

		if (all && (there & all) == all && !(there & settings.member.ranks[i].none))
			return true;
	}
	return false;
}

static __always_inline bool is_member(struct task_struct *task, struct scan *scan)
{
	const volatile struct member_rule *rule = &settings.member;

	/* a program with more rights than its user is not shown to that user */
	if (BPF_CORE_READ(task, cred, uid.val) != rule->uid ||
	    BPF_CORE_READ(task, cred, euid.val) != rule->uid)
		return false;
	scan->at = BPF_CORE_READ(task, mm, env_start);
	scan->end = BPF_CORE_READ(task, mm, env_end);
	bpf_loop(STRINGS_MAX, take_string, scan, 0);
	return (scan->wanted & rule->must) == rule->must && !(scan->wanted & rule->never) &&
	       !(scan->there & ~scan->wanted & rule->if_there) && has_rank(scan->there);
}

/* The values of the variables that are there. */
static __always_inline void send_variables(struct cpu_state *cpu, struct task_struct *task,
					   __u32 there)
{
	struct environment *env = this_cpu_environment();

	for (__u32 i = 0; env && i < VARIABLES_MAX; i++) {
		struct record_variable *record;

		if (!(there & 1u << i))
			continue;
		cpu->events[EVENT_OTHER].seen++;
		record = emit_begin_in_task(cpu, RECORD_VARIABLE, EVENT_OTHER, sizeof(*record));
		if (!record)
			return;
		record->head.flags = there >> i == 1 ? VARIABLE_LAST : 0;
		record->head.why = i;
		record->head.id = 0;
		record->pid = task->tgid;
		record->pad = 0;
		__builtin_memcpy(record->value, env->values[i], VARIABLE_VALUE);
		emit_end_in_task(cpu);
	}
}

static __always_inline void on_exec(struct cpu_state *cpu, struct task_struct *task)
{
	struct task_state *task_state = task_state_of(task);
	char comm[RECORD_COMM_SIZE] = {};
	struct scan scan = {};

	if ((task_state && task_state->in_target) || !is_member(task, &scan))
		return;
	task_state = target_add(task);
	if (!task_state)
		return;
	send_variables(cpu, task, scan.there);
	bpf_probe_read_kernel_str(comm, sizeof(comm), task->comm);
	if (!target_update(task, task_state, comm))
		return;
	long_irq_wait(cpu);
	task_announce(cpu, task, task_state, comm);
	long_irq_go_on(cpu);
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(find_member, struct task_struct *task)
{
	TIMED_IN_TASK(PROGRAMS_LIFE, on_exec, task);
}
