/* SPDX-License-Identifier: MIT */
/*
 * session_start: from the options to an open window.
 *
 * In: the options; out: programs that are loaded and attached, the output, T0, the running drain.
 * Invariant: what the user names is opened with the rights of the user; nothing is created before
 * all that can be refused has been checked.
 * Specification: event-mapping.md "Clock and window", ebpf.md 9.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "trace/base/log.h"
#include "trace/base/text.h"
#include "trace/ovni/stats_file.h"
#include "user/config/irq_names.h"
#include "user/config/job_members.h"
#include "user/control/control.h"
#include "user/host/clock.h"
#include "user/host/kernel_symbols.h"
#include "user/kernel/user_stack_ring.h"
#include "user/stacks/user_stacks.h"
#include "user/host/read_file.h"
#include "user/kernel/rings.h"
#include "user/probes/attach.h"
#include "user/session/neighbour.h"
#include "user/session/recorder.h"
#include "user/sink/job_dir.h"
#include "user/timeline/state_times.h"

#define ARM_TRIES      100
#define SNAPSHOT_TRIES 3
#define SCANS_MAX      10

/* ---- prepared ---- */

/* Checks that the program of an option can be executed. 0, or -errno after one message. */
static int find_neighbour(const char *option, const char *program)
{
	int err = neighbour_exists(program) ? 0 : -errno;

	if (err)
		log_error("%s: cannot run %s in the folder of ovni-bpf: %s", option, program,
			  strerror(-err));
	return err;
}

/* Checks that the listed CPUs are online, and chooses the CPUs of the snapshots. */
static enum status check_cpus(struct recorder *r)
{
	const struct options *o = r->options;

	r->drain.cpus = r->topology.phyid;
	r->drain.ncpus = r->topology.ncpus;
	if (!o->cpu_list)
		return STATUS_COMPLETE;
	for (unsigned i = 0; i < o->cpus.ncpus; i++) {
		unsigned cpu = o->cpus.phyid[i];

		if (cpu >= r->topology.size || r->topology.index_of[cpu] < 0) {
			log_error("-C: CPU %u is not online (/sys/devices/system/cpu/online has "
				  "those that are)",
				  cpu);
			return STATUS_USAGE;
		}
	}
	r->drain.cpus = o->cpus.phyid;
	r->drain.ncpus = o->cpus.ncpus;
	return STATUS_COMPLETE;
}

static int find_identities(struct recorder *r)
{
	const struct options *o = r->options;
	int err = identity_of_caller(&r->caller);

	if (err)
		return err;
	return o->user ? identity_of_user(&r->runner, o->user) : identity_of_caller(&r->runner);
}

/* Finds and opens everything that the user names, with the rights of the user. */
static int find_named(struct recorder *r)
{
	const struct options *o = r->options;
	int err = privilege_suspend(&r->caller);

	if (err)
		return err;
	err = o->command ? command_find(o->command[0], identity_path(&r->runner)) : 0;
	if (err)
		goto out;
	err = o->on_trigger ? command_find(o->on_trigger, identity_path(&r->caller)) : 0;
	if (err)
		goto out;
	err = probes_find(&r->probes, o);
out:
	privilege_resume();
	return err;
}

/* While this process may still see addresses. */
static void read_symbols(struct recorder *r)
{
	r->symbols = kernel_symbols_read("/proc/kallsyms");
	if (!r->symbols)
		log_warn("--why=stack: the kernel does not show its functions to this process: "
			 "stacks have addresses instead of names (run as root, or with "
			 "CAP_SYSLOG, and with kernel.kptr_restrict below 2)");
}

enum status recorder_prepare(struct recorder *r)
{
	const struct options *o = r->options;
	enum status status;

	clock_prepare();
	uname(&r->host);
	snprintf(r->kernel, sizeof(r->kernel), "%s %s", r->host.release, r->host.version);
	read_line("/proc/sys/kernel/random/boot_id", r->boot_id, sizeof(r->boot_id));
	if (topology_read(&r->topology, "/sys"))
		return STATUS_FAILED;
	status = check_cpus(r);
	if (status)
		return status;
	if (find_identities(r) || target_find(&r->target, o->pids, o->npids, o->threads) ||
	    (o->emulate && find_neighbour("--emulate", EMULATOR)) ||
	    (o->html && find_neighbour("--html", VIEWER)) ||
	    (o->perfetto && find_neighbour("--perfetto", EXPORTER)) ||
	    trigger_check(&o->trigger, "/proc") || find_named(r) || probes_plan(&r->probes, o))
		return STATUS_FAILED;
	r->on_trigger = (struct trigger_command){
		.program = o->on_trigger, .user = &r->caller, .signals = &r->signals};
	r->trigger = o->trigger;
	if (trigger_find(&r->trigger, r->probes.sites.list, r->probes.sites.count,
			 &r->trigger_sites))
		return STATUS_FAILED;
	r->rings = rings_new();
	if (!r->rings) {
		log_no_memory("for the rings");
		return STATUS_FAILED;
	}
	if (bpf_load_open(&r->bpf, o, &r->topology, r->rings, o->pids, o->npids, r->probes.attach,
			  r->probes.sites.count))
		return STATUS_FAILED;
	if (r->bpf.stack_parts & STACK_OF_KERNEL || r->bpf.wakers)
		read_symbols(r);
	if (r->bpf.irq)
		r->irq_names = irq_names_read("/proc");
	if (r->bpf.stack_parts & STACK_OF_USER) {
		r->user_stack_ring = user_stack_ring_open(&r->bpf);
		if (!r->user_stack_ring)
			return STATUS_FAILED;
	}
	return STATUS_COMPLETE;
}

int recorder_print_plan(const struct recorder *r)
{
	const struct options *o = r->options;

	printf("what: %s%s\n", o->all && o->command ? "all threads, during " : "",
	       o->command   ? o->command[0]
	       : o->all	    ? "all threads"
	       : o->threads ? "threads"
	       : o->follow  ? "processes and their children"
			    : "processes");
	if (o->comm)
		printf("only threads called: %s\n", o->comm);
	if (o->cgroup)
		printf("only threads in the cgroup: %s\n", o->cgroup);
	if (r->probes.sites.count)
		printf("places that are probed: %zu\n", r->probes.sites.count);
	for (size_t i = 0; i < r->probes.sites.count; i++)
		printf("    %s, %s+0x%llx\n", r->probes.sites.list[i].label,
		       r->probes.sites.list[i].binary,
		       (unsigned long long)r->probes.sites.list[i].offset);
	apis_report(&r->probes.apis, &r->probes.sites);
	printf("CPUs: %u of %u\n", r->drain.ncpus, r->topology.ncpus);
	printf("buffer of each CPU: %llu KiB, of all: %.6g MiB\n",
	       (unsigned long long)o->buffer_bytes >> 10,
	       (double)o->buffer_bytes * r->topology.ncpus / (1 << 20));
	printf("written to: %s\n", o->output);
	if (r->caller.changed)
		printf("files belong to: %s (%u)\n", r->caller.name ? r->caller.name : "user",
		       r->caller.uid);
	printf("yielded differs from preempted: %s\n", r->bpf.yields_unknown ? "no" : "yes");
	printf("system calls of sleeps are recorded: %s\n", r->bpf.calls ? "yes" : "no");
	printf("owners of locks are recorded: %s\n", r->bpf.locks ? "yes" : "no");
	if (r->bpf.stack_ns)
		printf("%s recorded of sleeps from: %.6g ms%s\n",
		       r->bpf.stack_parts == STACK_OF_KERNEL ? "kernel stacks are"
		       : r->bpf.stack_parts == STACK_OF_USER ? "stacks of user code are"
							     : "kernel and user stacks are",
		       (double)r->bpf.stack_ns / 1e6,
		       r->symbols || r->bpf.stack_parts == STACK_OF_USER ? "" : ", without names");
	if (r->bpf.stack_parts & STACK_OF_USER)
		printf("bytes of a stack of user code: up to %u%s\n",
		       bpf_load_user_stack_bytes(&r->bpf),
		       r->bpf.user_stack_way == USER_STACKS_AT_SWITCH
			       ? ", copied at each sleep (Linux 6.18 or newer takes more, after it)"
			       : "");
	if (r->bpf.wakers)
		printf("and of their wakers\n");
	if (r->bpf.preempted)
		printf("and of waits of preempted threads\n");
	printf("interrupts are recorded as wakers: %s\n", r->bpf.interrupts_unknown ? "no" : "yes");
	printf("the programs are loaded; nothing is recorded (--dry-run)\n");
	return flush_stdout();
}

/* ---- armed ---- */

/* All CPUs in turn, before the window opens. One that comes in the middle of another record finds
 * no room just then. */
static int take_snapshots(struct recorder *r)
{
	bool taken = false;
	uint64_t clock;
	int err;

	for (unsigned i = 0; i < r->drain.ncpus; i++) {
		err = -ENOBUFS;
		for (unsigned tries = 0; tries < SNAPSHOT_TRIES && err == -ENOBUFS; tries++)
			err = snapshot_take(&r->bpf, r->drain.cpus[i], SNAPSHOT_START, &clock);
		if (err == -ENXIO) /* it has just gone offline */
			continue;
		if (err)
			return err;
		taken = true;
	}
	return taken ? 0 : -ENXIO;
}

static int name_target(void *arg, uint32_t pid)
{
	return bpf_load_target(arg, pid);
}

/*
 * Marks the tasks in the target. Of a job known by a rule these are the processes that meet it: a
 * process that executes its program after the programs were attached is found by them, and one that
 * was born of a member between the look into /proc and its mark by a second look.
 */
static int mark_tasks(struct recorder *r)
{
	const struct job_plan *job = r->options->job_plan;
	const struct job_rule *rule = options_job_rule(r->options);
	int found = 0, err;

	for (unsigned looks = 0; looks < SCANS_MAX; looks++) {
		found = rule ? job_members_scan(job->members, rule, "/proc", name_target, &r->bpf)
			     : 0;
		if (found < 0)
			return found;
		if (looks && !found)
			break;
		err = snapshot_tasks(&r->bpf, true, &r->tasks);
		if (err || !rule)
			return err;
	}
	return 0;
}

/*
 * Marks the tasks in the target and opens the window. If a ring is full before its snapshot finds
 * space (a small ring, a busy machine), its records are before the window: they are discarded, and
 * the tasks are read again, since births may be among those records.
 */
static int open_window(struct recorder *r)
{
	int err = -ENOBUFS;

	for (unsigned tries = 0; tries < ARM_TRIES && err == -ENOBUFS; tries++) {
		if (tries) {
			rings_refresh(r->rings);
			rings_discard(r->rings);
		}
		err = mark_tasks(r);
		if (err)
			return err;
		bpf_load_start_probes(&r->bpf);
		err = take_snapshots(r);
	}
	if (err)
		goto failed;
	err = bpf_load_open_window(&r->bpf, &r->t0);
	if (err)
		goto failed;
	if (r->options->all || options_job_rule(r->options) || bpf_load_in_target(&r->bpf))
		return 0;
	log_error(target_lives(&r->target)
			  ? "this kernel shows no thread of the target to eBPF programs"
			  : "the target has ended before the recording began");
	return -ESRCH;
failed:
	if (err == -ENOBUFS)
		log_error("the buffers are full before the recording begins: larger ones are "
			  "needed (-b)");
	else
		log_error("cannot read the current tasks of the CPUs: %s", strerror(-err));
	return err;
}

static int open_times(struct recorder *r)
{
	const struct options *o = r->options;
	bool several = o->rotate_ns || o->rotate_bytes || o->last_bytes;
	const struct state_times_options options = {
		.t0 = r->t0,
		.npossible = r->bpf.npossible,
		.cpus = r->drain.cpus,
		.ncpus = r->drain.ncpus,
		.ended_most = several ? TIME_STATS_ENDED_FEW : TIME_STATS_ENDED_MAX,
		.cpu_list = o->cpu_list,
		.some_threads = options_some_threads(o),
		.no_switches = !(o->kinds & 1u << EVENT_SWITCH),
	};

	r->drain.times = state_times_new(&options);
	if (!r->drain.times)
		goto no_memory;
	for (size_t i = 0; i < r->tasks.ntasks; i++)
		if (state_times_task(r->drain.times, &r->tasks.tasks[i].task))
			goto no_memory;
	return 0;
no_memory:
	return log_no_memory("for the times of the threads");
}

static int open_sink(struct recorder *r)
{
	const struct options *o = r->options;
	const struct session_info info = {
		.loom = *r->node ? r->node : r->host.nodename,
		.app_id = job_dir_app(),
		.kernel = r->kernel,
		.machine = r->host.machine,
		.mode = "full",
		.sampling = o->sample,
		.kinds = r->bpf.kinds | 1u << EVENT_OTHER,
		.on_full = o->last_bytes ? "drop-old" : "drop-new",
		.argv = (const char *const *)o->argv,
		.buffer_bytes = o->buffer_bytes,
		.yields_unknown = r->bpf.yields_unknown,
		.wakeup_clock = bpf_load_wakeup_clock(&r->bpf),
		.interrupts_unknown = r->bpf.interrupts_unknown,
		.calls = r->bpf.calls,
		.locks = r->bpf.locks,
		.irq = r->bpf.irq && !o->kernel_model,
		.irq_ns = r->bpf.irq && !o->kernel_model ? o->irq_ns : 0,
		.irq_names = r->irq_names,
		.io = r->bpf.io,
		.priorities = r->bpf.priority_words > 0,
		.counters = r->bpf.perf_events ? &o->counters : NULL,
		.perf_events = r->bpf.perf_events,
		.stack_ns = r->bpf.stack_ns,
		.wakers = r->bpf.wakers,
		.preempted = r->bpf.preempted,
		.symbols = r->symbols,
		.user_stacks = r->user_stacks,
		.user_stack_bytes = bpf_load_user_stack_bytes(&r->bpf),
		.throttled_partly = r->bpf.throttled_partly,
		.idle_known = !options_some_threads(o),
		.boot_id = r->boot_id[0] ? r->boot_id : NULL,
		.proc = "/proc",
		.command_status = -1,
		.lost = SESSION_UNKNOWN,
		.stats = !o->job_plan,
		.job = o->job_plan,
	};
	const struct timeline_options timeline = {
		.kernel_model = o->kernel_model,
		.all_threads = o->all_threads,
		.cpu_filter = o->cpu_list,
		.some_threads = options_some_threads(o),
		.no_switches = !(o->kinds & 1u << EVENT_SWITCH),
		.calls = r->probes.attach ? &r->probes.calls : NULL,
	};
	const struct segment_plan plan = {
		.info = info,
		.timeline = timeline,
		.topology = &r->topology,
		.calls = r->probes.sum,
		.max_bytes = o->max_bytes,
		.disk_error = &r->disk_error,
		.fd = r->spool.fd < 0 ? r->output.fd : r->spool.fd,
		.path = r->spool.fd < 0 ? r->output.path : r->spool.path,
	};
	const struct sink_options options = {
		.plan = plan,
		.flush_ns = o->flush_ns,
		.rotate_ns = o->rotate_ns,
		.rotate_bytes = o->rotate_bytes,
		.last_ns = o->last_ns,
		.last_bytes = o->last_bytes,
		.trigger = r->trigger,
		.keep = o->keep,
		.bpf = &r->bpf,
		.counts = &r->counts,
	};
	int err = sink_open(&r->sink, &options);

	return err ? err : sink_begin(&r->sink, r->t0, &r->begin, &r->tasks);
}

static int open_job(struct recorder *r)
{
	const struct options *o = r->options;
	int err = job_dir_open(&r->output, o->output, o);

	if (err)
		return err;
	job_node_name(r->node, job_dir_app());
	return o->spool ? spool_open(&r->spool, o->spool, r->node) : 0;
}

/* Switches to the calling user, and creates the output. */
static int open_output(struct recorder *r)
{
	const struct options *o = r->options;
	int err = privilege_drop(&r->caller, PRIVILEGE_ATTACH);

	if (err)
		return err;
	/* a kept descriptor would open files below folders that the user may not search */
	err = privilege_suspend(&r->caller);
	if (err)
		return err;
	if (o->job_plan)
		err = open_job(r);
	else if (o->mode == MODE_FULL)
		err = output_dir_create(&r->output, o->output, o->output_chosen, o->force);
	else
		err = output_dir_create_file(&r->output, o->output, o->output_chosen, o->force);
	privilege_resume();
	if (err)
		return err;
	if (o->job_plan) { /* one file of each node */
		snprintf(r->stats_name, sizeof(r->stats_name), "stats.%s.json", r->node);
	} else {
		snprintf(r->stats_name, sizeof(r->stats_name), "%s",
			 r->output.file ? r->output.file : STATS_FILE);
	}
	r->stats = (struct stats_file){.dirfd = r->output.fd,
				       .name = r->stats_name,
				       .disk_error = &r->disk_error,
				       .idle_known = !options_some_threads(o)};
	if (r->output.part >= 0) {
		r->stats.part = fdopen(r->output.part, "w+");
		if (!r->stats.part)
			return log_no_memory("for the statistics");
		r->output.part = -1;
	}
	return control_begin(r->control, r->output.path, o->argv);
}

static int start_command(struct recorder *r)
{
	const struct options *o = r->options;
	int err = command_start(&r->command, o->command, &r->runner, &r->signals, 0);

	if (err)
		return err;
	if (!o->follow && r->probes.attach)
		attach_only(r->probes.attach, (uint32_t)r->command.pid);
	return bpf_load_target(&r->bpf, (uint32_t)r->command.pid);
}

static int start_drain(struct recorder *r)
{
	const struct options *o = r->options;
	int err;

	if (r->user_stack_ring) {
		r->user_stacks =
			user_stacks_start("/proc", user_stack_ring_poll, r->user_stack_ring,
					  o->pids, o->threads ? 0 : o->npids);
		if (!r->user_stacks)
			return -ENOMEM;
	}
	err = open_sink(r);
	if (err)
		return err;
	r->drain.tasks = &r->tasks;
	r->drain.bpf = &r->bpf;
	r->drain.rings = r->rings;
	r->drain.sink = &r->sink;
	err = drain_start(&r->drain);
	privilege_keep(PRIVILEGE_WAIT);
	return err;
}

int recorder_arm(struct recorder *r)
{
	const struct options *o = r->options;
	int err = signals_redirect(&r->signals, SIGUSR1);

	if (err)
		return err;
	err = o->command ? start_command(r) : 0;
	if (err)
		return err;
	err = bpf_load_attach_probes(&r->bpf); /* perf events need more than is kept */
	if (err)
		return err;
	err = open_output(r);
	if (err)
		return err;
	err = bpf_load_attach(&r->bpf);
	if (err)
		return err;
	err = open_window(r);
	if (err)
		return err;
	window_edge_read(&r->begin, "/proc", r->bpf.npossible);
	err = event_counts_open(&r->counts, &r->bpf, r->rings);
	if (err)
		return err;
	if (o->mode == MODE_FULL)
		err = open_times(r);
	else
		err = summary_open(&r->summary, &r->bpf, r->t0, r->drain.cpus, r->drain.ncpus);
	if (err)
		return err;
	err = stats_open(&r->stats, r->bpf.cpus, r->drain.cpus, r->drain.ncpus);
	if (err)
		return err;
	err = privilege_drop(&r->caller, PRIVILEGE_RECORD);
	if (err)
		return err;
	r->next_interval_ns = r->t0 + o->interval_ns;
	cost_begin(&r->cost);
	return o->mode == MODE_FULL ? start_drain(r) : 0;
}
