/* SPDX-License-Identifier: MIT */
/* session: see session.h. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "user/session/session.h"
#include "trace/base/json.h"
#include "trace/base/log.h"
#include "trace/base/status.h"
#include "trace/base/text.h"
#include "trace/ovni/stats_file.h"
#include "user/config/config.h"
#include "user/control/control.h"
#include "user/host/clock.h"
#include "user/host/command.h"
#include "user/host/kernel_symbols.h"
#include "user/host/privilege.h"
#include "user/host/read_file.h"
#include "user/host/self_cost.h"
#include "user/host/signals.h"
#include "user/host/topology.h"
#include "user/kernel/bpf_load.h"
#include "user/kernel/event_counts.h"
#include "user/kernel/rings.h"
#include "user/kernel/snapshot.h"
#include "user/probes/attach.h"
#include "user/session/drain.h"
#include "user/session/neighbour.h"
#include "user/session/session_probes.h"
#include "user/session/trigger_command.h"
#include "user/sink/finalizer.h"
#include "user/sink/output_dir.h"
#include "user/sink/sink.h"
#include "user/stats/live_report.h"
#include "user/stats/stats_output.h"
#include "user/stats/summary_read.h"
#include "user/timeline/state_times.h"
#include "user/writer/writer.h"

#define COMMAND_PATIENCE_MS 1000 /* for a command that was sent a signal */
#define ARM_TRIES	    100
#define SNAPSHOT_TRIES	    3
#define FETCH_MS	    100 /* how often threads that have died are fetched */
#define LOOK_MS		    20 /* how often the end of the target, and --max-size, are looked for */
#define EMULATOR	    "ovni-emu"
#define REPORTER	    "ovni-report"
#define VIEWER		    "ovni-view"
#define EXPORTER	    "ovni-export"
#define OVERVIEW_LIMIT_MS   10000

/* A session while it lasts. */
struct recorder {
	const struct options *options;
	struct control *control; /* of a named session, else NULL */
	uint64_t traces;	 /* number of complete traces (--rotate, --last) */
	char newest[PATH_MAX];	 /* the newest of them */
	struct utsname host;
	char kernel[sizeof(((struct utsname *)0)->release) +
		    sizeof(((struct utsname *)0)->version) + 2];
	struct identity caller, runner;
	struct topology topology;
	struct target target;
	struct command command;

	struct probes probes;
	struct trigger_plan trigger;
	uint64_t *trigger_sites;
	struct bpf_load bpf;
	struct rings *rings;
	struct kernel_symbols *symbols; /* for stacks; NULL: none */
	struct output_dir output;
	struct sink sink;
	struct event_counts counts;
	struct summary summary; /* mode summary */
	struct stats_file stats;
	struct time_stats times;      /* at the end */
	struct disk_error disk_error; /* of the trace and the statistics */
	struct cost cost;
	uint64_t next_interval_ns; /* --interval */
	struct drain drain;
	struct snapshot_tasks tasks; /* at the beginning; then those at the end */
	struct summary_live live;

	struct signals signals;
	struct trigger_command on_trigger;
	uint64_t t0;
	struct window_edge begin; /* with t0 */
	char boot_id[64];
	const char *reason; /* of the end of the recording; NULL: it continues */
	int killed_by;	    /* the second signal; 0: none */
	uint64_t command_end_ns;
	bool command_end_reported; /* reported: the command has ended and its children still run */
	bool failed;		   /* after one message */
	struct stats_run run;
	struct summary_end end; /* for the report; valid after summarize() */
};

/* ---- the programs that look at the trace ---- */

/* Checks that the program of an option can be executed. 0, or -errno after one message. */
static int find_neighbour(const char *option, const char *program)
{
	int err = neighbour_exists(program) ? 0 : -errno;

	if (err)
		log_error("%s: cannot run %s in the folder of ovni-bpf: %s", option, program,
			  strerror(-err));
	return err;
}

/* Runs a program on the trace, in `neighbour` with up to 3 options. 0 if its exit status is 0 or 3,
 * else -errno after a message, of the program or of this function. `lack`: the consequence of a
 * signal, as a sentence. */
static int run_on_trace(const struct recorder *r, struct neighbour neighbour, const char *lack)
{
	const char *program = neighbour.name;
	unsigned n = 0;
	int status;

	while (neighbour.args[n])
		n++;
	if (r->options->quiet)
		neighbour.args[n++] = "-q";
	neighbour.args[n++] = "--";
	neighbour.args[n] = r->output.path;
	status = neighbour_run(&neighbour, &r->signals);

	if (status == -EINTR)
		log_error("%s was interrupted: %s", program, lack);
	else if (status == -ECHILD)
		log_error("%s was killed by a signal", program);
	/* of a trace that has losses: our own status says it, too */
	if (status == STATUS_LOST)
		return 0;
	return status > 0 ? -ECHILD : status;
}

/* Is the user to see the overview of the trace? Only at a terminal, of one complete trace. */
static bool wants_overview(const struct recorder *r)
{
	const struct summary_end *end = &r->end;

	return !r->options->quiet && !r->control && isatty(STDERR_FILENO) && !r->killed_by &&
	       !r->failed && end->streams && end->sum.threads && end->parts == 1 && end->trace;
}

/* Prints the overview; if that is not possible, why, and the shares of time instead. */
static void show_overview(const struct recorder *r)
{
	/* without a folder, ovni-report could take the name for a report's */
	const char *trace = r->end.trace, *here = strchr(trace, '/') ? "" : "./";
	char *path = xasprintf("%s%s", *trace == '-' ? "./" : here, trace);
	struct neighbour report = {
		.name = REPORTER, .args = {"--no-pager", path}, .limit_ms = OVERVIEW_LIMIT_MS};
	int status = -ENOMEM;

	if (!path) {
		log_lack("for the overview");
	} else if (!neighbour_exists(REPORTER)) {
		status = -errno;
		log_report("no overview: cannot run " REPORTER " in the folder of ovni-bpf: %s",
			   strerror(-status));
	} else {
		status = neighbour_run(&report, &r->signals);
		if (status == -EINTR)
			log_report("no overview: " REPORTER " was interrupted");
		else if (status == -ETIMEDOUT)
			log_report("no overview: " REPORTER " took longer than %d s",
				   OVERVIEW_LIMIT_MS / 1000);
		else if (status == -ECHILD)
			log_report("no overview: " REPORTER " was killed by a signal");
		else if (status > 0)
			log_report("no overview: " REPORTER " ended with status %d", status);
	}
	if (status)
		summary_times(&r->end);
	free(path);
}

/* ---- prepared ---- */

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

static enum status prepare(struct recorder *r)
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
	if (r->bpf.stack_ns)
		read_symbols(r);
	return STATUS_COMPLETE;
}

static int print_plan(const struct recorder *r)
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
		printf("kernel stacks are recorded of sleeps from: %.6g ms%s\n",
		       (double)r->bpf.stack_ns / 1e6, r->symbols ? "" : ", without names");
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
		err = snapshot_tasks(&r->bpf, true, &r->tasks);
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
	if (r->options->all || bpf_load_in_target(&r->bpf))
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
	const struct state_times_options options = {
		.t0 = r->t0,
		.npossible = r->bpf.npossible,
		.cpus = r->drain.cpus,
		.ncpus = r->drain.ncpus,
		.cpu_list = r->options->cpu_list,
		.some_threads = options_some_threads(r->options),
		.no_switches = !(r->options->kinds & 1u << EVENT_SWITCH),
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
		.loom = r->host.nodename,
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
		.stack_ns = r->bpf.stack_ns,
		.symbols = r->symbols,
		.throttled_partly = r->bpf.throttled_partly,
		.idle_known = !options_some_threads(o),
		.boot_id = r->boot_id[0] ? r->boot_id : NULL,
		.proc = "/proc",
		.command_status = -1,
		.lost = SESSION_UNKNOWN,
		.stats = true,
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
		.bpf = &r->bpf,
		.counts = &r->counts,
	};
	int err = sink_open(&r->sink, &options);

	return err ? err : sink_begin(&r->sink, r->t0, &r->begin, &r->tasks);
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
	if (o->mode == MODE_FULL)
		err = output_dir_create(&r->output, o->output, o->output_chosen, o->force);
	else
		err = output_dir_create_file(&r->output, o->output, o->output_chosen, o->force);
	privilege_resume();
	if (err)
		return err;
	r->stats = (struct stats_file){.dirfd = r->output.fd,
				       .name = r->output.file ? r->output.file : STATS_FILE,
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
	int err = open_sink(r);

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

/* Attaches the programs and opens the window. 0, or -errno after one message. */
static int arm(struct recorder *r)
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

/* ---- recording ---- */

/* A signal from the terminal has reached the command as well; another one is passed on. */
static void read_signals(struct recorder *r)
{
	struct signalfd_siginfo info;

	while (read(r->signals.fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGUSR1) {
			if (r->options->mode != MODE_FULL || !sink_request(&r->sink))
				log_warn("SIGUSR1 means nothing to a recording of one trace (see "
					 "--rotate, --last)");
			continue;
		}
		if (signals_repeated((int)info.ssi_signo, info.ssi_code, (pid_t)info.ssi_pid))
			continue;
		if (info.ssi_code <= 0)
			command_signal(&r->command, (int)info.ssi_signo);
		if (!r->reason) {
			r->reason = "signal";
		} else if (!r->killed_by) {
			r->killed_by = (int)info.ssi_signo;
			atomic_store(&r->drain.hurry, true);
		}
	}
}

static void show_live(struct recorder *r, uint64_t now)
{
	const struct summary_now figures = {
		.now_ns = now,
		.events = atomic_load(&r->drain.events),
		.bytes = r->options->mode == MODE_FULL ? sink_bytes(&r->sink) : 0,
		.threads = atomic_load(&r->drain.streams),
		.lost = event_counts_lost(&r->counts),
		.fullest = atomic_load(&r->drain.fullest) / 1000.0,
	};

	summary_live_show(&r->live, &figures);
}

static void check_for_end(struct recorder *r, uint64_t now)
{
	const struct options *o = r->options;

	if (o->duration_ns && now - r->t0 >= o->duration_ns)
		r->reason = "duration";
	else if (o->all ? o->command && command_ended(&r->command, 0)
			: !bpf_load_in_target(&r->bpf))
		r->reason = "target";
	else if (o->max_bytes && sink_full(&r->sink))
		r->reason = "size";
	else if (o->strict_drops && event_counts_lost(&r->counts))
		r->reason = "drops";
}

/* --interval: the times so far go to the statistics. */
static int take_snapshot(struct recorder *r)
{
	struct time_stats times = {0};
	int err = r->options->mode == MODE_FULL ? drain_times(&r->drain, &times)
						: summary_now(&r->summary, &times);

	if (!err)
		err = stats_snapshot(&r->stats, &times);
	time_stats_free(&times);
	return err;
}

static void fail(struct recorder *r)
{
	r->failed = true;
	r->reason = "error";
}

/* In mode summary the kernel keeps a limited number of threads that have ended. */
static void count(struct recorder *r, uint64_t now)
{
	if (r->options->mode != MODE_FULL && summary_fetch(&r->summary)) {
		fail(r);
		return;
	}
	if (!r->options->interval_ns || now < r->next_interval_ns)
		return;
	r->next_interval_ns += r->options->interval_ns;
	if (r->next_interval_ns <= now)
		r->next_interval_ns = now + r->options->interval_ns;
	if (take_snapshot(r))
		fail(r);
}

/* How long nothing needs to be looked at, ns. */
static uint64_t time_to_next(const struct recorder *r, uint64_t now)
{
	const struct options *o = r->options;
	uint64_t next = FETCH_MS * 1000000ull;

	if (!o->all || o->command || o->max_bytes || o->strict_drops)
		next = LOOK_MS * 1000000ull;
	if (r->live.on && r->live.next_ns - now < next)
		next = r->live.next_ns > now ? r->live.next_ns - now : 0;
	if (o->duration_ns && r->t0 + o->duration_ns - now < next)
		next = r->t0 + o->duration_ns - now;
	if (o->interval_ns && r->next_interval_ns < now + next)
		next = r->next_interval_ns > now ? r->next_interval_ns - now : 0;
	return next;
}

/* Waits for the command, so that it is no zombie for long. Reports if its children still run, since
 * the recording then continues. */
static void report_command_end(struct recorder *r, uint64_t now)
{
	if (!r->options->command || r->options->all || !command_ended(&r->command, 0) ||
	    r->command_end_reported)
		return;
	if (!r->command_end_ns)
		r->command_end_ns = now;
	if (now - r->command_end_ns < COMMAND_PATIENCE_MS * 1000000ull)
		return;
	r->command_end_reported = true;
	log_info("the command has ended; threads that it created still run (%u) and are recorded "
		 "(Ctrl-C ends that)",
		 bpf_load_in_target(&r->bpf));
}

/* Reports the traces that were completed since the last call, in a session with several. */
static void report_traces(struct recorder *r)
{
	struct finalizer_report news;

	while (sink_report(&r->sink, &news)) {
		r->traces++;
		snprintf(r->newest, sizeof(r->newest), "%s/%04u", r->output.path, news.number);
		if (!strcmp(news.why, "request"))
			control_saved(r->control, r->newest);
		if (!strcmp(news.why, "trigger"))
			trigger_command_add(&r->on_trigger, r->newest);
		log_status(NULL);
		if (!r->options->quiet)
			summary_part(r->output.path, &news);
	}
}

static const char *kind_of_output(const struct recorder *r)
{
	if (r->options->mode != MODE_FULL)
		return "counters";
	if (r->options->last_bytes)
		return "flight recorder";
	return sink_fd(&r->sink) >= 0 ? "rotation" : "one trace";
}

static void send_status(struct recorder *r, unsigned client)
{
	struct json *status = control_status(r->control);

	json_put_string(status, "output", r->output.path);
	json_put_string(status, "keeps", kind_of_output(r));
	json_put_real(status, "seconds", (double)(clock_now() - r->t0) / 1e9);
	json_put_int(status, "records", (int64_t)atomic_load(&r->drain.records));
	json_put_int(status, "events", (int64_t)atomic_load(&r->drain.events));
	/* a flight recorder makes its streams when it saves, a summary none */
	if (r->options->mode == MODE_FULL && !r->options->last_bytes)
		json_put_int(status, "threads", (int64_t)atomic_load(&r->drain.streams));
	json_put_int(status, "bytes", (int64_t)sink_bytes(&r->sink));
	json_put_int(status, "lost", (int64_t)event_counts_lost(&r->counts));
	json_put_int(status, "traces", (int64_t)r->traces);
	json_put_real(status, "fullest_ring", atomic_load(&r->drain.fullest) / 1000.0);
	control_send(r->control, client, status);
}

static void answer(struct recorder *r)
{
	enum control_request request;
	unsigned client;

	while ((request = control_next(r->control, &client))) {
		if (request == CONTROL_STATUS)
			send_status(r, client);
		else if (request == CONTROL_SAVE && !sink_request(&r->sink))
			control_refuse(r->control, client,
				       "there is nothing to save: it records one trace (see "
				       "--last and --rotate)");
		else if (request == CONTROL_STOP && !r->reason)
			r->reason = "request";
	}
}

static void record(struct recorder *r)
{
	struct pollfd fds[] = {{.fd = r->signals.fd, .events = POLLIN},
			       {.fd = r->drain.done_fd, .events = POLLIN},
			       {.fd = sink_fd(&r->sink), .events = POLLIN},
			       {.fd = control_fd(r->control), .events = POLLIN}};

	if (!r->options->quiet)
		log_report("recording to %s (Ctrl-C ends it)", r->output.path);
	control_ready(r->control);
	summary_live_begin(&r->live, clock_now(), !r->options->quiet);
	if (r->options->command && command_release(&r->command))
		fail(r);
	while (!r->reason) {
		uint64_t now = clock_now(), next = time_to_next(r, now);
		struct timespec wait = {.tv_sec = (time_t)(next / 1000000000),
					.tv_nsec = (long)(next % 1000000000)};

		ppoll(fds, 4, &wait, NULL);
		now = clock_now();
		read_signals(r);
		report_traces(r);
		trigger_command_poll(&r->on_trigger);
		answer(r);
		if (!r->reason && (fds[1].revents & POLLIN))
			r->reason = "error";
		if (!r->reason)
			check_for_end(r, now);
		if (!r->reason)
			count(r, now);
		if (r->live.on && now >= r->live.next_ns)
			show_live(r, now);
		report_command_end(r, now);
	}
}

/* ---- draining, done ---- */

/* Mode summary: there are no rings to drain. */
static void close_window(struct recorder *r)
{
	int err = bpf_load_close_window(&r->bpf, &r->drain.t1);

	window_edge_read(&r->drain.end, "/proc", r->bpf.npossible);
	if (!err)
		err = summary_stop(&r->summary, r->drain.t1);
	bpf_load_detach(&r->bpf);
	if (err)
		fail(r);
	log_status(NULL);
}

static void drain(struct recorder *r)
{
	struct pollfd fds[] = {{.fd = r->signals.fd, .events = POLLIN},
			       {.fd = r->drain.done_fd, .events = POLLIN}};

	if (r->options->mode != MODE_FULL) {
		close_window(r);
		return;
	}
	drain_stop(&r->drain);
	while (!(fds[1].revents & POLLIN)) {
		poll(fds, 2, -1);
		read_signals(r);
	}
	if (drain_join(&r->drain))
		fail(r);
	log_status(NULL);
}

/* The times at the end of the window, from the records or from the kernel. */
static int read_times(struct recorder *r)
{
	int err;

	if (r->options->mode != MODE_FULL)
		return summary_end(&r->summary, &r->times);
	for (size_t i = 0; i < r->tasks.ntasks; i++) {
		err = state_times_task(r->drain.times, &r->tasks.tasks[i].task);
		if (err)
			goto no_memory;
	}
	err = state_times_close(r->drain.times, r->drain.cut, &r->times);
	if (!err)
		return 0;
no_memory:
	return log_no_memory("for the times of the threads");
}

static void write_stats(struct recorder *r, bool closed)
{
	const struct stats_session session = {
		.options = r->options,
		.counts = &r->counts,
		.kinds = r->bpf.kinds | 1u << EVENT_OTHER,
		.t0 = r->t0,
		.t1 = r->drain.t1,
		.begin = &r->begin,
		.end = &r->drain.end,
		.cost = &r->cost,
	};

	cost_end(&r->cost);
	if (closed && stats_write(&r->stats, &r->times, &session))
		r->failed = true;
}

static void finish(struct recorder *r)
{
	struct segment_end end = {.stopped_by = r->reason, .command_status = -1};
	bool full = r->options->mode == MODE_FULL, closed;
	bool whole = full && !r->drain.err && !r->drain.cut;

	if (!whole)
		snapshot_tasks_free(&r->tasks);
	/* Without an end of the window there are no times; its failure has been reported. */
	closed = !r->drain.err && r->drain.t1 && (r->summary.t1 == r->drain.t1 || full);
	if (closed && read_times(r)) {
		closed = false;
		r->failed = true;
	}
	/* A signal now ends us at once: all that is left is waiting, and the disk's work. */
	if (!r->killed_by)
		signals_let_through(&r->signals);
	if (r->options->command) {
		bool soon = !strcmp(r->reason, "target") || !strcmp(r->reason, "signal");

		command_ended(&r->command, soon && !r->killed_by ? COMMAND_PATIENCE_MS : 0);
		end.command_status = r->command.status;
	}
	if (event_counts_close(&r->counts, r->drain.cut))
		r->failed = true;
	if (full && sink_end(&r->sink, &r->tasks, &end, r->drain.cut))
		r->failed = true;
	write_stats(r, closed);
	report_traces(r);
}

static enum status status_of(const struct recorder *r)
{
	if (r->failed)
		return STATUS_FAILED;
	return r->counts.lost ? STATUS_LOST : STATUS_COMPLETE;
}

/* Does the user want to leave events out? */
static bool has_filters(const struct options *o)
{
	return options_some_threads(o) || o->cpu_list || o->kinds != KINDS_ALL || !o->self ||
	       !o->kthreads || o->max_rate || o->one_of;
}

/* The trace to look at first. */
static const char *trace_of(const struct recorder *r)
{
	if (r->options->last_bytes || r->options->rotate_ns || r->options->rotate_bytes)
		return r->traces ? r->newest : NULL;
	return r->output.path;
}

/* The time stolen from all CPUs in the window, ns; 0 also: not known. */
static uint64_t stolen(const struct recorder *r)
{
	uint64_t sum = 0;

	for (unsigned cpu = 0; cpu < r->begin.ncpus; cpu++) {
		uint64_t ns = window_edge_stolen(&r->begin, &r->drain.end, cpu);

		sum += ns == STEAL_UNKNOWN ? 0 : ns;
	}
	return sum;
}

/* Collects the facts for the report, before the session frees them. */
static void summarize(struct recorder *r)
{
	bool full = r->options->mode == MODE_FULL;
	stats_sum(&r->stats, &r->times, &r->run);
	r->end = (struct summary_end){
		.dir = r->output.path,
		.kept = r->output.kept,
		.stopped_by = r->reason,
		.parts = full ? sink_segments(&r->sink) : 0,
		.kinds = r->bpf.kinds | 1u << EVENT_OTHER,
		.streams = full,
		.keeps = r->options->last_bytes > 0,
		.verbose = r->options->verbose,
		.filters = has_filters(r->options),
		.run = &r->run,
		.cost = &r->cost,
		.ncpus = r->drain.ncpus,
		.counts = &r->counts,
		.command = r->options->command != NULL,
		.command_status = r->command.status,
		.trace = trace_of(r),
		.killed_by = r->killed_by,
	};
	if (full)
		r->end.sum = *sink_result(&r->sink);
	else
		r->end.sum.threads = r->run.all.times.threads;
	r->end.sum.window_ns = r->drain.t1 > r->t0 ? r->drain.t1 - r->t0 : 0;
	r->end.unread_ns = r->drain.delay.ns;
	r->end.without_cpu_ns = r->drain.delay.without_cpu_ns;
	r->end.stolen_ns = stolen(r);
	r->end.overview = wants_overview(r);
}

static void report(struct recorder *r)
{
	bool full = r->options->mode == MODE_FULL;
	const struct summary_end *end = &r->end;

	if (!full && !r->options->quiet)
		summary_table(&r->times);
	bpf_load_report(&r->bpf);
	apis_report(&r->probes.apis, &r->probes.sites);
	if (!r->options->quiet) {
		if (full)
			probes_report(&r->probes, r->bpf.sites, end->sum.window_ns, end->verbose);
		summary_report(end);
	} else if (r->counts.lost) {
		log_warn("%llu event%s lost: %s says which", (unsigned long long)r->counts.lost,
			 plural(r->counts.lost, " was", "s were"), r->output.path);
	}
}

/* The command may outlive the recording. A signal ends the waiting. */
static void wait_for_command(struct recorder *r)
{
	if (!r->options->command)
		return;
	if (!command_ended(&r->command, 0) && strcmp(r->reason, "signal")) {
		log_info("the command still runs; waiting for its end");
		if (neighbour_wait(&r->command, &r->signals, 0))
			log_info("the command is left alone");
	}
	r->end.command_status = r->command.status;
}

/* The files of --emulate, --html, --perfetto. */
static void make_files(struct recorder *r)
{
	if (r->options->emulate) {
		r->end.emulated = !run_on_trace(r, (struct neighbour){EMULATOR},
						"the files for Paraver are incomplete");
		r->failed |= !r->end.emulated;
	}
	if (r->options->html) {
		r->end.page = !run_on_trace(r, (struct neighbour){VIEWER}, "there is no page");
		r->failed |= !r->end.page;
	}
	if (r->options->perfetto &&
	    run_on_trace(r,
			 (struct neighbour){EXPORTER, {"--perfetto", "-o", r->options->perfetto}},
			 "there is no file for Perfetto"))
		r->failed = true;
}

/* The trace is complete: shows it, and waits for the command. Signals end these, not us. */
static void follow_up(struct recorder *r)
{
	signals_hold(&r->signals);
	if (!r->failed) /* else its error has been reported, and another one would follow */
		make_files(r);
	if (r->end.overview)
		show_overview(r);
	trigger_command_finish(&r->on_trigger);
	wait_for_command(r);
	if (r->options->quiet)
		return;
	summary_command(&r->end);
	if (isatty(STDERR_FILENO))
		summary_next(&r->end);
}

static void close_all(struct recorder *r)
{
	drain_join(&r->drain);
	sink_close(&r->sink);
	summary_free(&r->summary);
	state_times_free(r->drain.times);
	time_stats_free(&r->times);
	stats_close(&r->stats);
	snapshot_tasks_free(&r->tasks);
	rings_close(r->rings);
	bpf_load_close(&r->bpf);
	kernel_symbols_free(r->symbols);
	probes_close(&r->probes);
	free(r->trigger_sites);
	target_close(&r->target);
	topology_free(&r->topology);
	window_edge_free(&r->begin);
	window_edge_free(&r->drain.end);
}

/* Frees the objects that the report still used. */
static void close_rest(struct recorder *r)
{
	event_counts_free(&r->counts);
	trigger_command_close(&r->on_trigger);
	command_close(&r->command);
	signals_close(&r->signals);
	identity_free(&r->caller);
	identity_free(&r->runner);
	output_dir_close(&r->output);
}

enum status session_run(const struct options *options, struct control *control)
{
	struct recorder recorder = {.options = options,
				    .control = control,
				    .signals.fd = -1,
				    .output.fd = -1,
				    .drain.done_fd = -1};
	struct recorder *r = &recorder;
	enum status status;

	status = prepare(r);
	if (status || options->dry_run) {
		if (!status && print_plan(r))
			status = STATUS_FAILED;
		close_all(r);
		close_rest(r);
		return status;
	}
	if (arm(r)) {
		close_all(r);
		output_dir_abandon(&r->output);
		close_rest(r);
		return STATUS_FAILED;
	}
	record(r);
	drain(r);
	finish(r);
	output_dir_release(&r->output);
	summarize(r);
	report(r);
	close_all(r);
	if (!r->killed_by)
		follow_up(r);
	status = r->end.status = status_of(r);
	if (!options->quiet)
		summary_last(&r->end);
	if (r->killed_by) {
		signals_let_through(&r->signals);
		raise(r->killed_by);
	}
	close_rest(r);
	return status;
}

/* ---- --mode off ---- */

/* The command receives a signal of the terminal itself; other signals are passed on. */
static void pass_signals(int fd, const struct command *command)
{
	struct pollfd wait = {.fd = fd, .events = POLLIN};
	struct signalfd_siginfo info;

	poll(&wait, 1, LOOK_MS);
	while (read(fd, &info, sizeof(info)) == sizeof(info))
		if (info.ssi_code <= 0)
			command_signal(command, (int)info.ssi_signo);
}

static int run_command(struct command *command, char **argv, const struct identity *runner)
{
	struct signals signals;
	int err = signals_redirect(&signals, 0);

	if (err)
		return err;
	err = command_start(command, argv, runner, &signals, 0);
	if (err)
		goto out;
	err = command_release(command);
	if (err)
		goto out;
	while (!command_ended(command, 0))
		pass_signals(signals.fd, command);
out:
	signals_close(&signals);
	return err;
}

enum status session_run_off(const struct options *o)
{
	struct identity runner = {0};
	struct command command = {0};
	int err = o->user ? identity_of_user(&runner, o->user) : identity_of_caller(&runner);

	if (err)
		goto out;
	err = privilege_suspend(&runner);
	if (err)
		goto out;
	err = command_find(o->command[0], identity_path(&runner));
	privilege_resume();
	if (err)
		goto out;
	if (o->dry_run) {
		printf("what: %s, without a recording (--mode off)\n", o->command[0]);
		err = flush_stdout();
		goto out;
	}
	err = run_command(&command, o->command, &runner);
	if (!err && !o->quiet)
		summary_off(command.status);
out:
	command_close(&command);
	identity_free(&runner);
	return err ? STATUS_FAILED : STATUS_COMPLETE;
}
