/* SPDX-License-Identifier: MIT */
/* bpf_select: see bpf_select.h. */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "user/kernel/bpf_load.h"
#include "user/config/config.h"
#include "user/host/read_file.h"
#include "user/probes/attach.h"
#include "user/kernel/bpf_select.h"
#include "bpf/ovni.skel.h"
#include "trace/base/log.h"

/* The order of attaching: programs that mark new tasks first, then the exits of interrupts before
 * their entries, and the programs with the most records last. */
enum group {
	GROUP_LIFE,
	GROUP_INTERRUPT,
	GROUP_IRQ,	/* --why=irq: instead of GROUP_INTERRUPT */
	GROUP_COUNTERS, /* --counters: before the program of switches */
	GROUP_IO,	/* --why=io */
	GROUP_PRIORITY, /* --why=prio */
	GROUP_WAKE,
	GROUP_STACKS, /* --why=stack=user: the mappings of processes */
	GROUP_WAKERS, /* --why=wakers: after the program that notes the waker */
	GROUP_SWITCH,
	GROUP_PROBE,
	GROUP_RUN
};

#define CLOCK_SOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"

#define KIND(name) (1u << EVENT_##name)
#define IN_FULL	   (1u << MODE_FULL)
#define IN_SUMMARY (1u << MODE_SUMMARY)
#define IN_BOTH	   (IN_FULL | IN_SUMMARY)

static const struct program_row {
	const char *program;
	const char *tracepoint; /* NULL: none, user code runs it */
	uint32_t modes;		/* in which it may be loaded */
	enum group group;
	bool required;	/* without this tracepoint nothing can be recorded */
	uint32_t kinds; /* of events that need it, by enum event_kind */
} rows[] = {
	{"task_newtask", "task_newtask", IN_FULL, GROUP_LIFE, true, KIND(FORK)},
	{"task_rename", "task_rename", IN_FULL, GROUP_LIFE, false, KIND(RENAME)},
	{"find_member", "sched_process_exec", IN_FULL, GROUP_LIFE, true, 0},
	{"sched_process_exec", "sched_process_exec", IN_FULL, GROUP_LIFE, true, KIND(EXEC)},
	{"sched_process_exit", "sched_process_exit", IN_FULL, GROUP_LIFE, true, KIND(EXIT)},
	{"summary_newtask", "task_newtask", IN_SUMMARY, GROUP_LIFE, true, KIND(FORK)},
	{"summary_rename", "task_rename", IN_SUMMARY, GROUP_LIFE, false, KIND(RENAME)},
	{"summary_exec", "sched_process_exec", IN_SUMMARY, GROUP_LIFE, true, KIND(EXEC)},
	{"summary_exit", "sched_process_exit", IN_SUMMARY, GROUP_LIFE, true, KIND(EXIT)},
#define INTERRUPT(name)                                                                            \
	{                                                                                          \
		name, name, IN_FULL, GROUP_INTERRUPT, false, KIND(WAKE)                            \
	}
	INTERRUPT("irq_handler_exit"),
	INTERRUPT("softirq_exit"),
	INTERRUPT("local_timer_exit"),
	INTERRUPT("irq_work_exit"),
	INTERRUPT("call_function_exit"),
	INTERRUPT("call_function_single_exit"),
	INTERRUPT("irq_handler_entry"),
	INTERRUPT("softirq_entry"),
	INTERRUPT("local_timer_entry"),
	INTERRUPT("irq_work_entry"),
	INTERRUPT("call_function_entry"),
	INTERRUPT("call_function_single_entry"),
#define IRQ(name)                                                                                  \
	{                                                                                          \
		"irq_" name, name, IN_FULL, GROUP_IRQ, false, KIND(WAKE)                           \
	}
	IRQ("irq_handler_exit"),
	IRQ("softirq_exit"),
	IRQ("local_timer_exit"),
	IRQ("irq_work_exit"),
	IRQ("call_function_exit"),
	IRQ("call_function_single_exit"),
	IRQ("reschedule_exit"),
	IRQ("irq_handler_entry"),
	IRQ("softirq_entry"),
	IRQ("local_timer_entry"),
	IRQ("irq_work_entry"),
	IRQ("call_function_entry"),
	IRQ("call_function_single_entry"),
	IRQ("reschedule_entry"),
	{"irq_snapshot", NULL, IN_FULL, GROUP_IRQ, true, 0},
	{"counters_switch", "sched_switch", IN_FULL, GROUP_COUNTERS, true, KIND(SWITCH)},
	{"counters_snapshot", NULL, IN_FULL, GROUP_COUNTERS, true, 0},
	{"io_complete", "block_rq_complete", IN_FULL, GROUP_IO, true, KIND(WAKE)},
	{"io_softirq_exit", "softirq_exit", IN_FULL, GROUP_IO, true, KIND(WAKE)},
	{"io_irq_handler_exit", "irq_handler_exit", IN_FULL, GROUP_IO, true, KIND(WAKE)},
	{"io_waking", "sched_waking", IN_FULL, GROUP_IO, true, KIND(WAKE)},
	{"priority_tick", "local_timer_exit", IN_FULL, GROUP_PRIORITY, false, KIND(SWITCH)},
	{"priority_tick_irq", "irq_handler_exit", IN_FULL, GROUP_PRIORITY, false, KIND(SWITCH)},
	{"sched_wakeup_new", "sched_wakeup_new", IN_FULL, GROUP_WAKE, true, KIND(WAKE)},
	{"sched_waking", "sched_waking", IN_FULL, GROUP_WAKE, true, KIND(WAKE)},
	{"sched_wakeup", "sched_wakeup", IN_FULL, GROUP_WAKE, true, KIND(WAKE)},
	{"stack_newtask", "task_newtask", IN_FULL, GROUP_STACKS, true, 0},
	{"stack_exec", "sched_process_exec", IN_FULL, GROUP_STACKS, true, 0},
	{"stack_waking", "sched_waking", IN_FULL, GROUP_WAKERS, true, KIND(WAKE)},
	{"summary_wakeup_new", "sched_wakeup_new", IN_SUMMARY, GROUP_WAKE, true, KIND(WAKE)},
	{"summary_wakeup", "sched_wakeup", IN_SUMMARY, GROUP_WAKE, true, KIND(WAKE)},
#define SWITCH(name, modes)                                                                        \
	{                                                                                          \
		name, "sched_switch", modes, GROUP_SWITCH, true, KIND(SWITCH)                      \
	}
	SWITCH("record_switch", IN_FULL),
	SWITCH("record_switch_calls", IN_FULL),
	SWITCH("record_switch_parts", IN_FULL),
	SWITCH("record_switch_cpus", IN_FULL),
	SWITCH("record_switch_cpus_calls", IN_FULL),
	SWITCH("record_switch_cpus_parts", IN_FULL),
	SWITCH("record_switch_tracepoint", IN_FULL),
	SWITCH("record_switch_tracepoint_calls", IN_FULL),
	SWITCH("record_switch_tracepoint_parts", IN_FULL),
	SWITCH("record_switch_5_17", IN_FULL),
	SWITCH("record_switch_5_17_calls", IN_FULL),
	SWITCH("record_switch_5_17_parts", IN_FULL),
	SWITCH("summary_switch", IN_SUMMARY),
	SWITCH("summary_switch_lazy", IN_SUMMARY),
	SWITCH("summary_switch_5_17", IN_SUMMARY),
	{"probe_session", NULL, IN_BOTH, GROUP_PROBE, true, KIND(PROBE)},
	{"probe_entry", NULL, IN_BOTH, GROUP_PROBE, true, KIND(PROBE)},
	{"probe_return", NULL, IN_BOTH, GROUP_PROBE, true, KIND(PROBE)},
	{"probe_point", NULL, IN_BOTH, GROUP_PROBE, true, KIND(PROBE)},
	{"choose_moment", NULL, IN_BOTH, GROUP_RUN, true, 0},
	{"take_snapshot", NULL, IN_FULL, GROUP_RUN, true, 0},
	{"iterate_tasks", NULL, IN_FULL, GROUP_RUN, true, 0},
	{"summary_snapshot", NULL, IN_SUMMARY, GROUP_RUN, true, 0},
	{"summary_find_tasks", NULL, IN_SUMMARY, GROUP_RUN, true, 0},
	{"summary_read", NULL, IN_SUMMARY, GROUP_RUN, true, 0},
};
#define NROWS (sizeof(rows) / sizeof(rows[0]))
_Static_assert(NROWS <= LINKS_MAX, "space for all links");

/* Conditions of a session and its kernel. */
#define CAN_3_ARGUMENTS	  1u  /* of sched_switch: before Linux 5.18 */
#define CAN_CPU_LIST	  2u  /* -C */
#define CAN_SCHED_WAKEUPS 4u  /* wake-ups have the scheduler's clock */
#define CAN_LAZY	  8u  /* the same, and all threads are traced */
#define CAN_CALLS	  16u /* --why=call, and the saved registers of a task can be read */
#define CAN_PARTS	  32u /* a part of --why that has records of its own at a switch */

/* The variants of the program for switches: the first row whose condition holds is loaded. */
static const struct {
	const char *program;
	enum mode mode;
	unsigned needs; /* CAN_* */
} switch_variants[] = {
	{"record_switch_5_17_parts", MODE_FULL, CAN_3_ARGUMENTS | CAN_PARTS},
	{"record_switch_5_17_calls", MODE_FULL, CAN_3_ARGUMENTS | CAN_CALLS},
	{"record_switch_5_17", MODE_FULL, CAN_3_ARGUMENTS},
	{"record_switch_cpus_parts", MODE_FULL, CAN_CPU_LIST | CAN_PARTS},
	{"record_switch_cpus_calls", MODE_FULL, CAN_CPU_LIST | CAN_CALLS},
	{"record_switch_cpus", MODE_FULL, CAN_CPU_LIST},
	{"record_switch_parts", MODE_FULL, CAN_SCHED_WAKEUPS | CAN_PARTS},
	{"record_switch_calls", MODE_FULL, CAN_SCHED_WAKEUPS | CAN_CALLS},
	{"record_switch", MODE_FULL, CAN_SCHED_WAKEUPS},
	{"record_switch_tracepoint_parts", MODE_FULL, CAN_PARTS},
	{"record_switch_tracepoint_calls", MODE_FULL, CAN_CALLS},
	{"record_switch_tracepoint", MODE_FULL, 0},
	{"summary_switch_5_17", MODE_SUMMARY, CAN_3_ARGUMENTS},
	{"summary_switch_lazy", MODE_SUMMARY, CAN_LAZY},
	{"summary_switch", MODE_SUMMARY, 0},
};

/* How many arguments the tracepoint has in this kernel (beside its context); -1: it is not there.
 */
static int tracepoint_arguments(const struct btf *btf, const char *tracepoint)
{
	const struct btf_type *type;
	char name[64];
	int id;

	snprintf(name, sizeof(name), "btf_trace_%s", tracepoint);
	id = btf__find_by_name_kind(btf, name, BTF_KIND_TYPEDEF);
	if (id < 0)
		return -1;
	type = btf__type_by_id(btf, btf__type_by_id(btf, (__u32)id)->type);
	if (!btf_is_ptr(type))
		return -1;
	type = btf__type_by_id(btf, type->type);
	return btf_is_func_proto(type) ? (int)btf_vlen(type) - 1 : -1;
}

static bool autoload(struct bpf_load *bpf, const char *program, bool on)
{
	struct bpf_program *p = bpf_object__find_program_by_name(bpf->skeleton->obj, program);

	return p && !bpf_program__set_autoload(p, on);
}

/* Does the enum `name` of the kernel have `value`? */
static bool has_enum_value(const struct btf *btf, const char *name, const char *value)
{
	const struct btf_type *type;
	const struct btf_enum *values;
	int id = btf__find_by_name_kind(btf, name, BTF_KIND_ENUM);

	if (id < 0)
		return false;
	type = btf__type_by_id(btf, (__u32)id);
	values = btf_enum(type);
	for (unsigned i = 0; i < btf_vlen(type); i++)
		if (!strcmp(btf__name_by_offset(btf, values[i].name_off), value))
			return true;
	return false;
}

/* Turns the calls `number` of a program into calls of the kernel's function `name`. */
static void call_kernel_function(struct bpf_program *program, const struct btf *btf, int32_t number,
				 const char *name)
{
	/* libbpf has set_insns() to change instructions before the load; in place is the same */
	struct bpf_insn *insn = (struct bpf_insn *)bpf_program__insns(program);
	int id = btf__find_by_name_kind(btf, name, BTF_KIND_FUNC);

	for (size_t i = 0; i < bpf_program__insn_cnt(program); i++) {
		if (insn[i].code != (BPF_JMP | BPF_CALL) || insn[i].src_reg ||
		    insn[i].imm != number)
			continue;
		insn[i].src_reg = BPF_PSEUDO_KFUNC_CALL;
		insn[i].imm = id; /* negative: no such function; the kernel refuses it */
	}
}

/* The kernel's function that has a task run a program on its way to user code; NULL: none. */
static const char *task_work_function(const struct btf *btf)
{
	/* a later kernel may have it without the suffix, and the same first arguments */
	static const char *const names[] = {"bpf_task_work_schedule_resume_impl",
					    "bpf_task_work_schedule_resume"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (btf__find_by_name_kind(btf, names[i], BTF_KIND_FUNC) >= 0)
			return names[i];
	return NULL;
}

/* For kernel_preempt_disable() and _enable(), and for the owners of locks, in a program. */
static void call_kernel_functions(const struct bpf_load *bpf, const char *name,
				  const struct btf *btf)
{
	struct bpf_program *program = bpf_object__find_program_by_name(bpf->skeleton->obj, name);

	if (bpf->preempt_calls) {
		call_kernel_function(program, btf, PREEMPT_DISABLE_CALL, "bpf_preempt_disable");
		call_kernel_function(program, btf, PREEMPT_ENABLE_CALL, "bpf_preempt_enable");
	}
	if (bpf->locks) {
		call_kernel_function(program, btf, TASK_FIND_CALL,
				     bpf->locks == LOCKS_BY_VPID ? "bpf_task_from_vpid"
								 : "bpf_task_from_pid");
		call_kernel_function(program, btf, TASK_RELEASE_CALL, "bpf_task_release");
	}
	if (bpf->stack_parts & STACK_OF_USER && bpf->user_stack_way == USER_STACKS_BY_TASK_WORK)
		call_kernel_function(program, btf, TASK_WORK_CALL, task_work_function(btf));
}

/* Selects the programs of the probes, with their attach types. */
static int choose_probes(struct bpf_load *bpf, const struct btf *btf)
{
	if (!bpf->attach)
		return 0;
	bpf->kinds |= KIND(PROBE);
	if (!bpf->preempt_calls) {
		log_error(
			"probes need Linux 6.10 or newer: this kernel does not let a program keep "
			"its CPU while it writes a record (bpf_preempt_disable); without -u, "
			"--usdt and --api it can be recorded");
		return -EOPNOTSUPP;
	}
	for (int p = 0; p < ATTACH_PROGRAMS; p++) {
		struct bpf_program *program = bpf_object__find_program_by_name(
			bpf->skeleton->obj, attach_program_names[p]);

		if (!attach_needs(bpf->attach, (enum attach_program)p))
			continue;
		bpf_program__set_autoload(program, true);
		if (p == ATTACH_PROGRAM_SESSION) {
			call_kernel_function(program, btf, SESSION_COOKIE_CALL,
					     "bpf_session_cookie");
			call_kernel_function(program, btf, SESSION_IS_RETURN_CALL,
					     "bpf_session_is_return");
		}
		bpf_program__set_expected_attach_type(
			program,
			(enum bpf_attach_type)attach_type(bpf->attach, (enum attach_program)p));
	}
	bpf->find_stack = has_enum_value(btf, "bpf_func_id", "BPF_FUNC_find_vma");
	return 0;
}

/* Has the struct `type_name` of the kernel this member? */
static bool has_member(const struct btf *btf, const char *type_name, const char *member)
{
	int id = btf__find_by_name_kind(btf, type_name, BTF_KIND_STRUCT);
	const struct btf_type *type = id < 0 ? NULL : btf__type_by_id(btf, (__u32)id);

	for (unsigned i = 0; type && i < btf_vlen(type); i++)
		if (!strcmp(btf__name_by_offset(btf, btf_members(type)[i].name_off), member))
			return true;
	return false;
}

/* How this kernel can have stacks of user code taken. */
static enum user_stack_way find_user_stack_way(const struct bpf_load *bpf, const struct btf *btf)
{
	if (bpf->yields_unknown)
		return USER_STACKS_NONE;
	if (task_work_function(btf))
		return USER_STACKS_BY_TASK_WORK;
	/* of a real-time kernel (its spin locks sleep): before 6.12 the ring of BPF has such a
	 * lock, which a program in the scheduler must not take */
	return has_member(btf, "spinlock", "lock") ? USER_STACKS_NONE : USER_STACKS_AT_SWITCH;
}

/* What the stacks of long sleeps have. 0, or -errno after one message. */
static int choose_stacks(struct bpf_load *bpf, const struct options *options, const struct btf *btf)
{
	bpf->user_stack_way = find_user_stack_way(bpf, btf);
	bpf->stack_parts = bpf->stack_ns ? options->stack_parts : 0;
	bpf->wakers = bpf->stack_ns && options->wakers;
	bpf->preempted = bpf->stack_ns && options->preempted;
	if (!(bpf->stack_parts & STACK_OF_USER) || bpf->user_stack_way != USER_STACKS_NONE)
		return 0;
	log_error("--why=stack=%s: stacks of user code need Linux 5.15 or newer, and 6.18 on a "
		  "real-time kernel (PREEMPT_RT); --why=stack=kernel does not",
		  bpf->stack_parts & STACK_OF_KERNEL ? "both" : "user");
	return -EOPNOTSUPP;
}

/* Does the scheduler add up how long each task has waited for a CPU? */
static bool keeps_run_delay(const struct btf *btf)
{
	uint64_t runs = 0;
	char line[128];

	if (btf__find_by_name_kind(btf, "sched_info", BTF_KIND_STRUCT) < 0)
		return false;
	/* ns on a CPU, ns waiting for one, runs: the last two are 0 in a kernel that keeps none */
	return read_line("/proc/self/schedstat", line, sizeof(line)) &&
	       sscanf(line, "%*u %*u %" SCNu64, &runs) == 1 && runs > 0;
}

bool clock_source_is_global(const char *name)
{
	/* Clock sources of x86 that imply a good time stamp counter; other machines have one clock.
	 * */
	static const char *const names[] = {"tsc", "kvm-clock", "hyperv_clocksource_tsc_page",
					    "xen", "arch_sys_counter"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

bool kernel_shows_sched_clock(const struct btf *btf)
{
	/* the way from a task to the scheduler's clock; without CONFIG_FAIR_GROUP_SCHED it ends */
	static const struct {
		const char *type, *member;
	} path[] = {{"task_struct", "se"},
		    {"sched_entity", "cfs_rq"},
		    {"cfs_rq", "rq"},
		    {"rq", "clock"}};
	char name[64];

	for (size_t i = 0; i < sizeof(path) / sizeof(path[0]); i++)
		if (!has_member(btf, path[i].type, path[i].member))
			return false;
	return read_line(CLOCK_SOURCE, name, sizeof(name)) && clock_source_is_global(name);
}

/* Can the scheduler's programs mark a task that no other one has seen (compat.bpf.h)? */
static bool storage_anywhere(const struct btf *btf)
{
	return has_member(btf, "bpf_local_storage_map", "selem_ma") ||
	       has_member(btf, "bpf_local_storage_map", "use_kmalloc_nolock");
}

/* Is a program needed, for the recorded kinds or by other programs? */
static bool needed(const struct bpf_load *bpf, const struct program_row *row,
		   const struct options *options, const struct btf *btf)
{
	if (!(row->modes & 1u << options->mode) || row->group == GROUP_PROBE)
		return false; /* choose_probes() has the probes */
	if (row->group == GROUP_RUN)
		return true;
	if (row->group == GROUP_IRQ || (row->group == GROUP_INTERRUPT && bpf->irq))
		return bpf->irq == (row->group == GROUP_IRQ);
	if (row->group == GROUP_IO)
		return bpf->io;
	if (row->group == GROUP_PRIORITY) /* the second one where the first is missing */
		return bpf->priority_words && (!strcmp(row->tracepoint, "local_timer_exit") ||
					       tracepoint_arguments(btf, "local_timer_exit") < 0);
	if (row->group == GROUP_STACKS)
		return bpf->stack_parts & STACK_OF_USER;
	if (row->group == GROUP_WAKERS)
		return bpf->wakers;
	if (row->group == GROUP_COUNTERS)
		return options->counters.n > 0;
	if (row->group == GROUP_WAKE && bpf->lazy_summary)
		return false;
	if (bpf->wakeup_from_sched_info && !strcmp(row->program, "sched_wakeup"))
		return false;
	if (row->group == GROUP_INTERRUPT && bpf->interrupts_unknown)
		return false;
	if (row->kinds & options->kinds)
		return true;
	if (!strcmp(row->program, "find_member"))
		return options_job_rule(options) != NULL;
	if (!strcmp(row->tracepoint, "task_newtask")) /* it marks the children */
		return !options->all || !storage_anywhere(btf);
	if (!strcmp(row->tracepoint, "task_rename"))
		return options->comm != NULL;
	if (!strcmp(row->tracepoint, "sched_process_exit")) /* else the last switch is the end */
		return !(options->kinds & KIND(SWITCH));
	return false;
}

/* With -C, a thread that runs on another CPU falls asleep there unseen. */
static unsigned conditions(const struct options *o, const struct btf *btf)
{
	const uint32_t both = KIND(SWITCH) | KIND(WAKE);
	bool all = o->all && !o->comm && !o->cgroup && o->kthreads && o->self;
	unsigned can = o->cpu_list ? CAN_CPU_LIST : 0;

	/* prev_state is the last of four arguments; a backport to 5.18 had it elsewhere */
	if (tracepoint_arguments(btf, "sched_switch") < 4)
		return can | CAN_3_ARGUMENTS;
	if (o->wakeup_tracepoint || o->cpu_list || !keeps_run_delay(btf) ||
	    !kernel_shows_sched_clock(btf))
		return can;
	if (o->mode == MODE_FULL && (o->kinds & both) == both)
		can |= CAN_SCHED_WAKEUPS;
	if (o->mode == MODE_SUMMARY && all && o->kinds & KIND(SWITCH))
		can |= CAN_LAZY;
	return can;
}

static const char *switch_variant(enum mode mode, unsigned can)
{
	for (size_t i = 0; i < sizeof(switch_variants) / sizeof(switch_variants[0]); i++)
		if (switch_variants[i].mode == mode &&
		    (switch_variants[i].needs & can) == switch_variants[i].needs)
			return switch_variants[i].program;
	return "";
}

/* Both pairs must be there, or a waker may be taken for the interrupted thread. The vectors of
 * local timers exist only on some architectures; on others no interrupt of that kind wakes. */
static bool has_interrupt_pairs(const struct btf *btf)
{
	return tracepoint_arguments(btf, "irq_handler_entry") >= 0 &&
	       tracepoint_arguments(btf, "softirq_entry") >= 0;
}

static bool finds_tasks(const struct btf *btf, const char *function)
{
	return btf__find_by_name_kind(btf, function, BTF_KIND_FUNC) >= 0;
}

/* How a program finds the owner of a lock by its number. */
static enum locks find_owners(const struct btf *btf)
{
	if (finds_tasks(btf, "bpf_task_from_vpid"))
		return LOCKS_BY_VPID;
	return finds_tasks(btf, "bpf_task_from_pid") ? LOCKS_BY_PID : LOCKS_NONE;
}

/* Words of the set of CPUs on which a task may run. */
static uint32_t priority_words(void)
{
	int possible = libbpf_num_possible_cpus();

	if (possible < 1)
		return 1;
	return possible > PRIORITY_CPU_WORDS * 64 ? PRIORITY_CPU_WORDS
						  : ((uint32_t)possible + 63) / 64;
}

static int choose_row(struct bpf_load *bpf, const struct program_row *row,
		      const struct options *options, const struct btf *btf, const char *switches)
{
	bool there = !row->tracepoint || tracepoint_arguments(btf, row->tracepoint) >= 0;

	if (!there && row->required && (row->group != GROUP_IO || bpf->io)) {
		log_error("this kernel has no tracepoint %s, which is needed", row->tracepoint);
		return -ENOENT;
	}
	if (!there)
		log_debug("this kernel has no tracepoint %s", row->tracepoint);
	there = there && needed(bpf, row, options, btf) &&
		(row->group != GROUP_SWITCH || !strcmp(row->program, switches));
	if (there)
		bpf->kinds |= row->kinds & options->kinds;
	if (autoload(bpf, row->program, there)) {
		call_kernel_functions(bpf, row->program, btf);
		return 0;
	}
	log_error("the program %s is missing in this build", row->program);
	return -ENOENT;
}

int programs_choose(struct bpf_load *bpf, const struct options *options)
{
	struct btf *btf = btf__load_vmlinux_btf();
	const char *switches;
	unsigned can;
	int err = 0;

	if (!btf) {
		err = errno ? -errno : -ENOENT;
		log_error("the kernel has no BTF (/sys/kernel/btf/vmlinux is missing): a kernel "
			  "built with CONFIG_DEBUG_INFO_BTF is needed");
		return err;
	}
	if (!has_enum_value(btf, "bpf_func_id", "BPF_FUNC_task_storage_get")) {
		log_error("Linux 5.11 or newer is needed: this kernel lets no program keep data of "
			  "a task (bpf_task_storage_get)");
		err = -EOPNOTSUPP;
		goto out;
	}
	bpf->interrupts_unknown = !has_interrupt_pairs(btf);
	bpf->preempt_calls = btf__find_by_name_kind(btf, "bpf_preempt_disable", BTF_KIND_FUNC) >= 0;
	bpf->searches_modules = !bpf->preempt_calls || !finds_tasks(btf, "bpf_task_from_pid");
	bpf->throttled_partly = has_member(btf, "cfs_rq", "throttle_count") &&
				!has_member(btf, "task_struct", "throttled");
#if defined(__x86_64__) || defined(__aarch64__)
	bpf->yields_unknown = !has_enum_value(btf, "bpf_func_id", "BPF_FUNC_task_pt_regs");
#else
	bpf->yields_unknown = true;
#endif
	can = conditions(options, btf);
	bpf->calls = options->mode == MODE_FULL && options->kinds & KIND(SWITCH) &&
		     options->why != WHY_NONE && !bpf->yields_unknown;
	can |= bpf->calls ? CAN_CALLS : 0;
	if (options->mode == MODE_FULL && options->kinds & KIND(SWITCH) &&
	    options->why != WHY_NONE && bpf->yields_unknown)
		log_warn("--why: this kernel does not show the registers of a sleeping thread "
			 "(Linux 5.15 or newer does): no system calls%s are recorded",
			 options->stack_ns ? " and no stacks" : "");
	bpf->can_locks = bpf->yields_unknown ? LOCKS_NONE : find_owners(btf);
	bpf->kernel_locks = has_member(btf, "task_struct", "blocker");
	bpf->locks = bpf->calls && options->why == WHY_LOCK ? bpf->can_locks : LOCKS_NONE;
	if (bpf->calls && options->why == WHY_LOCK && !bpf->locks)
		log_warn("--why=lock: this kernel does not let a program find a thread by its "
			 "number (Linux 6.2 or newer does): no owners of locks are recorded");
	bpf->stack_ns = bpf->calls ? options->stack_ns : 0;
	bpf->irq = options->irq && options->mode == MODE_FULL && options->kinds & KIND(SWITCH);
	if (bpf->irq && bpf->interrupts_unknown) {
		log_warn("--why=irq: this kernel has no tracepoints at interrupt handlers: their "
			 "time is not recorded");
		bpf->irq = false;
	}
	bpf->io = options->io && options->mode == MODE_FULL && options->kinds & KIND(SWITCH) &&
		  options->kinds & KIND(WAKE) && !options->kernel_model;
	if (bpf->io && tracepoint_arguments(btf, "block_rq_complete") < 0) {
		log_warn("--why=io: this kernel has no block devices (no tracepoint "
			 "block_rq_complete): no requests are recorded");
		bpf->io = false;
	}
	err = choose_stacks(bpf, options, btf);
	if (err)
		goto out;
	bpf->priority_words = options->priorities ? priority_words() : 0;
	if (bpf->stack_ns || bpf->irq || bpf->io || bpf->priority_words)
		can |= CAN_PARTS;
	bpf->lazy_summary = can & CAN_LAZY;
	bpf->wakeup_from_sched_info = can & (CAN_LAZY | CAN_SCHED_WAKEUPS);
	switches = switch_variant(options->mode, can);
	for (size_t i = 0; i < NROWS; i++) {
		err = choose_row(bpf, &rows[i], options, btf, switches);
		if (err)
			goto out;
	}
	err = choose_probes(bpf, btf);
out:
	btf__free(btf);
	return err;
}

const char *programs_name(size_t i)
{
	return i < NROWS ? rows[i].program : NULL;
}

const char *programs_tracepoint(size_t i)
{
	return rows[i].tracepoint;
}
