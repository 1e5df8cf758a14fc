/* SPDX-License-Identifier: MIT */
/* bpf_select: see bpf_select.h. */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "user/kernel/bpf_load.h"
#include "user/config/config.h"
#include "user/probes/attach.h"
#include "user/kernel/bpf_select.h"
#include "user/kernel/run_delay.h"
#include "user/kernel/sched_clock.h"
#include "bpf/ovni.skel.h"
#include "trace/base/log.h"

/* What goes to which tracepoint, in the order of attaching: what tags new tasks first, then the
 * exits of interrupts before their entries, and what records most at the end. */
enum group { GROUP_LIFE, GROUP_INTERRUPT, GROUP_WAKER, GROUP_SCHED, GROUP_PROBE, GROUP_NONE };

#define KIND(name) (1u << EVENT_##name)

static const struct place {
	const char *program;
	const char *tracepoint; /* NULL: none, it is run in another way */
	enum group group;
	bool required;
	uint32_t kinds; /* of events that need it, by enum event_kind; 0: all do */
} places[] = {
	{"task_newtask", "task_newtask", GROUP_LIFE, true, KIND(FORK)},
	{"task_rename", "task_rename", GROUP_LIFE, false, KIND(RENAME)},
	{"sched_process_exec", "sched_process_exec", GROUP_LIFE, true, KIND(EXEC)},
	{"sched_process_exit", "sched_process_exit", GROUP_LIFE, true, KIND(EXIT)},
	{"irq_handler_exit", "irq_handler_exit", GROUP_INTERRUPT, false, KIND(WAKE)},
	{"softirq_exit", "softirq_exit", GROUP_INTERRUPT, false, KIND(WAKE)},
	{"local_timer_exit", "local_timer_exit", GROUP_INTERRUPT, false, KIND(WAKE)},
	{"irq_work_exit", "irq_work_exit", GROUP_INTERRUPT, false, KIND(WAKE)},
	{"call_function_exit", "call_function_exit", GROUP_INTERRUPT, false, KIND(WAKE)},
	{"call_function_single_exit", "call_function_single_exit", GROUP_INTERRUPT, false,
	 KIND(WAKE)},
	{"irq_handler_entry", "irq_handler_entry", GROUP_INTERRUPT, false, KIND(WAKE)},
	{"softirq_entry", "softirq_entry", GROUP_INTERRUPT, false, KIND(WAKE)},
	{"local_timer_entry", "local_timer_entry", GROUP_INTERRUPT, false, KIND(WAKE)},
	{"irq_work_entry", "irq_work_entry", GROUP_INTERRUPT, false, KIND(WAKE)},
	{"call_function_entry", "call_function_entry", GROUP_INTERRUPT, false, KIND(WAKE)},
	{"call_function_single_entry", "call_function_single_entry", GROUP_INTERRUPT, false,
	 KIND(WAKE)},
	{"sched_wakeup_new", "sched_wakeup_new", GROUP_SCHED, true, KIND(WAKE)},
	{"sched_waking", "sched_waking", GROUP_WAKER, true, KIND(WAKE)},
	{"sched_wakeup", "sched_wakeup", GROUP_SCHED, true, KIND(WAKE)},
	{"sched_switch", "sched_switch", GROUP_SCHED, true, KIND(SWITCH)},
	{"sched_switch_full", "sched_switch", GROUP_SCHED, true, KIND(SWITCH)},
	{"sched_switch_summary", "sched_switch", GROUP_SCHED, true, KIND(SWITCH)},
	{"sched_switch_5_17", "sched_switch", GROUP_SCHED, true, KIND(SWITCH)},
	{"probe_session", NULL, GROUP_PROBE, true, KIND(PROBE)},
	{"probe_entry", NULL, GROUP_PROBE, true, KIND(PROBE)},
	{"probe_return", NULL, GROUP_PROBE, true, KIND(PROBE)},
	{"probe_point", NULL, GROUP_PROBE, true, KIND(PROBE)},
	{"take_snapshot", NULL, GROUP_NONE, true, 0},
	{"choose_moment", NULL, GROUP_NONE, true, 0},
	{"iterate_tasks", NULL, GROUP_NONE, true, 0},
	{"iterate_counters", NULL, GROUP_NONE, true, 0},
};
#define NPLACES (sizeof(places) / sizeof(places[0]))
_Static_assert(NPLACES <= LINKS_MAX, "room for all links");

/* Both pairs must be there, or a waker may be taken for the thread that was interrupted. The
 * vectors of local timers exist on some architectures alone, where no other interrupt does it. */
static const char *const interrupt_pairs[] = {"irq_handler", "softirq"};

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

static bool autoload(struct links *links, const char *program, bool on)
{
	struct bpf_program *p = bpf_object__find_program_by_name(links->skeleton->obj, program);

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

/* The programs that the probes need, as what they are to be attached. */
static int choose_probes(struct links *links, const struct btf *btf)
{
	if (!links->attach)
		return 0;
	links->kinds |= KIND(PROBE);
	if (btf__find_by_name_kind(btf, "bpf_preempt_disable", BTF_KIND_FUNC) < 0) {
		log_error(
			"probes need Linux 6.10 or newer: this kernel does not let a program keep "
			"its CPU while it writes a record (bpf_preempt_disable); without -u, "
			"--usdt and --api it can be recorded");
		return -EOPNOTSUPP;
	}
	for (int p = 0; p < ATTACH_PROGRAMS; p++) {
		struct bpf_program *program = bpf_object__find_program_by_name(
			links->skeleton->obj, attach_program_names[p]);

		if (!attach_needs(links->attach, (enum attach_program)p))
			continue;
		bpf_program__set_autoload(program, true);
		bpf_program__set_expected_attach_type(
			program,
			(enum bpf_attach_type)attach_type(links->attach, (enum attach_program)p));
	}
	links->find_stack = has_enum_value(btf, "bpf_func_id", "BPF_FUNC_find_vma");
	return 0;
}

/* Can the scheduler's programs mark a task that no other one has seen (compat.bpf.h)? */
static bool storage_anywhere(const struct btf *btf)
{
	int id = btf__find_by_name_kind(btf, "bpf_local_storage_map", BTF_KIND_STRUCT);
	const struct btf_type *type = id < 0 ? NULL : btf__type_by_id(btf, (__u32)id);

	for (unsigned i = 0; type && i < btf_vlen(type); i++) {
		const char *name = btf__name_by_offset(btf, btf_members(type)[i].name_off);

		if (!strcmp(name, "selem_ma") || !strcmp(name, "use_kmalloc_nolock"))
			return true;
	}
	return false;
}

/* Is a program needed, for the kinds that are recorded or for what holds the others together? */
static bool needed(const struct links *links, const struct place *place,
		   const struct options *options, const struct btf *btf)
{
	if (place->group == GROUP_NONE)
		return true;
	if (links->deferred && place->kinds == KIND(WAKE))
		return false;
	if (links->queued && !strcmp(place->program, "sched_wakeup"))
		return false;
	if (options->mode == MODE_SUMMARY &&
	    (place->group == GROUP_WAKER || place->group == GROUP_INTERRUPT))
		return false; /* who wakes is nothing that is counted */
	if (place->kinds & options->kinds)
		return true;
	if (!strcmp(place->program, "task_newtask")) /* it marks the children */
		return !options->all || !storage_anywhere(btf);
	if (!strcmp(place->program, "task_rename"))
		return options->comm != NULL;
	if (!strcmp(place->program, "sched_process_exit")) /* else the last switch tells the end */
		return !(options->kinds & KIND(SWITCH));
	return false;
}

/* Only counters, of all that runs: whoever is on a CPU is wanted, but the idle task. */
static bool may_defer(const struct options *options)
{
	return options->mode == MODE_SUMMARY && options->all && !options->wakeup_tracepoint &&
	       !options->comm && !options->cgroup && !options->cpu_list && options->kthreads &&
	       options->self && options->kinds & KIND(SWITCH);
}

/* A thread that runs on a CPU of which nothing is told (-C) falls asleep there unseen. */
static bool may_queue(const struct options *options)
{
	const uint32_t needed_kinds = KIND(SWITCH) | KIND(WAKE);

	return !options->wakeup_tracepoint && options->mode == MODE_FULL && !options->cpu_list &&
	       (options->kinds & needed_kinds) == needed_kinds;
}

/* The program for switches: what the shorter ones take for granted bpf/sched.bpf.c says. */
static const char *switch_program(const struct links *links, const struct options *options,
				  const struct btf *btf)
{
	/* prev_state came as the last of four; a backport to 5.18 had it elsewhere for a while */
	if (tracepoint_arguments(btf, "sched_switch") < 4)
		return "sched_switch_5_17";
	if (links->deferred)
		return "sched_switch_summary";
	if (links->queued && options->all && !options->comm && !options->cgroup &&
	    options->sample_of <= 1 && !links->interrupts_unknown)
		return "sched_switch_full";
	return "sched_switch";
}

int programs_choose(struct links *links, const struct options *options)
{
	struct btf *btf = btf__load_vmlinux_btf();
	const char *switches;
	int err = 0;

	if (!btf) {
		err = -errno;
		log_error("this kernel does not describe itself (no /sys/kernel/btf/vmlinux): a "
			  "kernel built with CONFIG_DEBUG_INFO_BTF is needed");
		return err ? err : -ENOENT;
	}
	for (size_t i = 0; i < sizeof(interrupt_pairs) / sizeof(interrupt_pairs[0]); i++) {
		char name[64];

		snprintf(name, sizeof(name), "%s_entry", interrupt_pairs[i]);
		if (tracepoint_arguments(btf, name) < 0)
			links->interrupts_unknown = true;
	}
#if defined(__x86_64__) || defined(__aarch64__)
	links->yields_unknown = !has_enum_value(btf, "bpf_func_id", "BPF_FUNC_task_pt_regs");
#else
	links->yields_unknown = true;
#endif
	links->deferred = may_defer(options) && run_delay_kept(btf) && sched_clock_readable(btf);
	links->queued = links->deferred ||
			(may_queue(options) && run_delay_kept(btf) && sched_clock_readable(btf));
	switches = switch_program(links, options, btf);
	for (size_t i = 0; i < NPLACES; i++) {
		const struct place *place = &places[i];
		bool there =
			!place->tracepoint || tracepoint_arguments(btf, place->tracepoint) >= 0;

		if (!there && place->required) {
			log_error("this kernel has no tracepoint %s, which is needed",
				  place->tracepoint);
			err = -ENOENT;
			break;
		}
		if (!there)
			log_debug("this kernel has no tracepoint %s", place->tracepoint);
		if (place->group == GROUP_INTERRUPT && links->interrupts_unknown)
			there = false;
		if (place->group == GROUP_PROBE)
			there = false; /* choose_probes() has those that are needed */
		if (!strncmp(place->program, "sched_switch", strlen("sched_switch")) &&
		    strcmp(place->program, switches))
			there = false;
		there = there && needed(links, place, options, btf);
		if (there)
			links->kinds |= place->kinds & options->kinds;
		if (!autoload(links, place->program, there)) {
			err = -ENOENT;
			log_error("the program %s is missing in this build", place->program);
			break;
		}
	}
	if (!err)
		err = choose_probes(links, btf);
	btf__free(btf);
	return err;
}

const char *programs_name(size_t i)
{
	return i < NPLACES ? places[i].program : NULL;
}

const char *programs_tracepoint(size_t i)
{
	return places[i].tracepoint;
}
