/* SPDX-License-Identifier: MIT */
/* recorder, the stages of a session before anything is recorded (see recorder.h). */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "user/host/clock.h"
#include "user/control/control.h"
#include "user/session/emulate.h"
#include "user/kernel/merge.h"
#include "user/probes/attach.h"
#include "user/session/recorder.h"
#include "user/timeline/state_times.h"
#include "trace/base/log.h"
#include "trace/ovni/stats_file.h"

#define ARM_TRIES      100
#define SNAPSHOT_TRIES 3

/* ---- prepared ---- */

/* The CPUs that are listed must be online, and those of the snapshots are chosen. */
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

	if (!err)
		err = o->user ? identity_of_user(&r->runner, o->user)
			      : identity_of_caller(&r->runner);
	return err;
}

enum status recorder_prepare(struct recorder *r)
{
	const struct options *o = r->options;
	enum status status;

	clock_prepare();
	uname(&r->host);
	snprintf(r->kernel, sizeof(r->kernel), "%s %s", r->host.release, r->host.version);
	if (topology_read(&r->topology, "/sys"))
		return STATUS_FAILED;
	status = check_cpus(r);
	if (status)
		return status;
	if (find_identities(r) || target_find(&r->target, o->pids, o->npids, o->threads) ||
	    (o->command && command_find(o->command[0], identity_path(&r->runner))) ||
	    (o->emulate && emulate_find()) || probes_open(&r->probes, o))
		return STATUS_FAILED;
	r->trigger = o->trigger;
	if (trigger_find(&r->trigger, r->probes.sites.list, r->probes.sites.count,
			 &r->trigger_sites))
		return STATUS_FAILED;
	r->rings = rings_new();
	if (r->rings && links_open(&r->links, o, &r->topology, r->rings, o->pids, o->npids,
				   r->probes.attach, r->probes.sites.count))
		return STATUS_FAILED;
	r->order = r->rings ? order_new(r->rings) : NULL;
	if (r->order)
		return STATUS_COMPLETE;
	log_no_memory("for the rings");
	return STATUS_FAILED;
}

int recorder_tell_plan(const struct recorder *r)
{
	const struct options *o = r->options;

	printf("what: %s\n", o->command	  ? o->command[0]
			     : o->all	  ? "all threads"
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
	printf("buffer of each CPU: %llu KiB\n", (unsigned long long)o->buffer_bytes >> 10);
	printf("written to: %s\n", o->output);
	if (r->caller.changed)
		printf("files belong to: %s (%u)\n", r->caller.name ? r->caller.name : "user",
		       r->caller.uid);
	printf("yielded and preempted are told apart: %s\n",
	       r->links.yields_unknown ? "no" : "yes");
	printf("interrupts are told as wakers: %s\n", r->links.interrupts_unknown ? "no" : "yes");
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
			err = snapshot_take(&r->links, r->drain.cpus[i], SNAPSHOT_START, &clock);
		if (err == -ENXIO) /* it has just gone offline */
			continue;
		if (err)
			return err;
		taken = true;
	}
	return taken ? 0 : -ENXIO;
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
			rings_look(r->rings);
			rings_discard(r->rings);
		}
		err = snapshot_tasks(&r->links, true, &r->tasks);
		if (err)
			return err;
		links_start_probes(&r->links);
		err = take_snapshots(r);
	}
	if (!err)
		err = links_open_window(&r->links, &r->t0);
	if (err == -ENOBUFS)
		log_error("the buffers are full before the recording begins: larger ones are "
			  "needed (-b)");
	else if (err)
		log_error("cannot read the current tasks of the CPUs: %s", strerror(-err));
	if (!err && !r->options->all && !links_in_target(&r->links)) {
		log_error(target_lives(&r->target)
				  ? "this kernel shows no thread of the target to eBPF programs"
				  : "the target has ended before the recording began");
		err = -ESRCH;
	}
	return err;
}

/* Does a recording send only the switches of some threads? */
static bool some_threads(const struct options *o)
{
	return !o->all || o->comm || o->cgroup || o->sample;
}

static int open_times(struct recorder *r)
{
	const struct state_times_options options = {
		.t0 = r->t0,
		.npossible = r->links.npossible,
		.cpus = r->drain.cpus,
		.ncpus = r->drain.ncpus,
		.cpu_list = r->options->cpu_list,
		.some_threads = some_threads(r->options),
		.no_switches = !(r->options->kinds & 1u << EVENT_SWITCH),
	};

	r->drain.times = state_times_new(&options);
	if (!r->drain.times)
		goto no_memory;
	for (size_t i = 0; i < r->tasks.ntasks; i++)
		if (state_times_task(r->drain.times, &r->tasks.tasks[i]))
			goto no_memory;
	return 0;
no_memory:
	return log_no_memory("for the times of the threads");
}

static int open_store(struct recorder *r)
{
	const struct options *o = r->options;
	const struct facts facts = {
		.loom = r->host.nodename,
		.kernel = r->kernel,
		.machine = r->host.machine,
		.mode = "full",
		.sampling = o->sample,
		.kinds = r->links.kinds | 1u << EVENT_OTHER,
		.on_full = o->last_bytes ? "drop-old" : "drop-new",
		.argv = (const char *const *)o->argv,
		.buffer_bytes = o->buffer_bytes,
		.yields_unknown = r->links.yields_unknown,
		.wakeup_clock = links_wakeup_clock(&r->links),
		.interrupts_unknown = r->links.interrupts_unknown,
		.proc = "/proc",
		.command_status = -1,
		.lost = FACTS_UNKNOWN,
	};
	const struct timeline_options timeline = {
		.kernel_model = o->kernel_model,
		.all_threads = o->all_threads,
		.cpu_filter = o->cpu_list,
		.some_threads = some_threads(o),
		.no_switches = !(o->kinds & 1u << EVENT_SWITCH),
		.calls = r->probes.attach ? &r->probes.calls : NULL,
	};
	const struct segment_plan plan = {
		.facts = facts,
		.timeline = timeline,
		.topology = &r->topology,
		.calls = r->probes.sum,
		.max_bytes = o->max_bytes,
		.disk_error = &r->disk_error,
		.fd = r->output.fd,
		.path = r->output.path,
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
		.links = &r->links,
		.account = &r->account,
	};
	int err = sink_open(&r->sink, &options);

	return err ? err : sink_begin(&r->sink, r->t0, &r->tasks);
}

int recorder_arm(struct recorder *r)
{
	const struct options *o = r->options;
	int err;

	err = signals_take(&r->signals, SIGUSR1);
	if (!err && o->command) {
		err = command_start(&r->command, o->command, &r->runner, &r->signals);
		if (!err)
			err = links_target(&r->links, (uint32_t)r->command.pid);
	}
	if (!err && o->command && !o->follow && r->probes.attach)
		attach_only(r->probes.attach, (uint32_t)r->command.pid);
	if (!err)
		err = links_attach_probes(&r->links); /* perf events need more than is kept */
	if (!err)
		err = privilege_drop(&r->caller, PRIVILEGE_ATTACH);
	if (!err && o->mode == MODE_FULL)
		err = output_dir_create(&r->output, o->output, o->output_chosen, o->force);
	else if (!err)
		err = output_dir_create_file(&r->output, o->output, o->output_chosen, o->force);
	if (!err)
		err = control_begin(r->control, r->output.path, o->argv);
	if (!err)
		err = links_attach(&r->links);
	if (!err)
		err = open_window(r);
	r->stats = (struct stats_file){.dirfd = r->output.fd,
				       .name = r->output.file ? r->output.file : STATS_FILE,
				       .disk_error = &r->disk_error};
	if (!err)
		err = account_open(&r->account, &r->links, r->rings);
	if (!err && o->mode == MODE_FULL)
		err = open_times(r);
	else if (!err)
		err = summary_open(&r->summary, &r->links, r->t0, r->drain.cpus, r->drain.ncpus);
	if (!err)
		err = stats_open(&r->stats, r->links.cpus, r->drain.cpus, r->drain.ncpus);
	if (!err)
		err = privilege_drop(&r->caller, PRIVILEGE_RECORD);
	if (err)
		return err;
	r->next_interval_ns = r->t0 + o->interval_ns;
	cost_begin(&r->cost);
	if (o->mode != MODE_FULL)
		return 0;
	err = open_store(r);
	if (err)
		return err;
	r->drain.tasks = &r->tasks;
	r->drain.links = &r->links;
	r->drain.rings = r->rings;
	r->drain.order = r->order;
	r->drain.sink = &r->sink;
	err = drain_start(&r->drain);
	privilege_keep(PRIVILEGE_WAIT);
	return err;
}
