/* SPDX-License-Identifier: MIT */
/* session: see session.h. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "account.h"
#include "clock.h"
#include "closer.h"
#include "command.h"
#include "control/control.h"
#include "cost.h"
#include "counters.h"
#include "drain.h"
#include "emulate.h"
#include "links.h"
#include "order.h"
#include "output.h"
#include "perf.h"
#include "privilege.h"
#include "probes/probes.h"
#include "rings.h"
#include "session.h"
#include "snapshot.h"
#include "store.h"
#include "summary.h"
#include "table.h"
#include "target.h"
#include "topology.h"
#include "trace/log.h"
#include "trace/perf.h"

#define ARM_TRIES	    100
#define SNAPSHOT_TRIES	    3
#define COMMAND_PATIENCE_MS 1000 /* for a command that was sent a signal */
#define FETCH_MS	    100 /* how often threads that have died are fetched */
#define LOOK_MS		    20 /* how often the end of the target, and --max-size, are looked for */

struct recorder {
	const struct options *options;
	struct control *control; /* of a session with a name, else NULL */
	uint64_t traces;	 /* complete, of several */
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
	struct links links;
	struct rings *rings;
	struct order *order;
	struct output output;
	struct store store;
	struct account account;
	struct counters counters;
	struct perf_file perf;
	struct cost cost;
	uint64_t next_interval_ns; /* --interval */
	struct drain drain;
	struct snapshot_tasks tasks; /* as the iterator has told them last */
	struct summary_live live;

	int signal_fd;
	uint64_t t0;
	const char *reason; /* why it stops; NULL: it does not */
	int killed_by;	    /* the second signal; 0: none */
	uint64_t command_end_ns;
	bool command_told; /* that it has ended, but not what it has created */
	bool failed;	   /* something went wrong, and has been said */
};

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

static enum status prepare(struct recorder *r)
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
	if (!r->rings || links_open(&r->links, o, &r->topology, r->rings, o->pids, o->npids,
				    r->probes.attach, r->probes.sites.count))
		return STATUS_FAILED;
	r->order = order_new(r->rings);
	return r->order ? STATUS_COMPLETE : STATUS_FAILED;
}

static void tell_plan(const struct recorder *r)
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
	maps_report(&r->probes.maps, &r->probes.sites);
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
}

/* ---- armed ---- */

static int block_signals(struct recorder *r)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR1);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	signal(SIGPIPE, SIG_IGN);
	r->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return r->signal_fd < 0 ? -errno : 0;
}

/* All CPUs in turn, before the window opens. One that comes in the middle of another record finds no
 * room just then. */
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
 * Tags who is wanted and opens the window. If a ring is full before its snapshot finds room
 * (a tiny one, a busy machine), what it holds lies before the window: it is forgotten, and
 * the tasks are read again, since births may have been forgotten with it.
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
		log_error("cannot see who runs on the CPUs: %s", strerror(-err));
	if (!err && !r->options->all && !links_members(&r->links)) {
		log_error("the target has ended before the recording began");
		err = -ESRCH;
	}
	return err;
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
		.interrupts_unknown = r->links.interrupts_unknown,
		.proc = "/proc",
		.command_status = -1,
		.lost = FACTS_UNKNOWN,
	};
	const struct timeline_options timeline = {
		.kernel_model = o->kernel_model,
		.all_threads = o->all_threads,
		.cpu_filter = o->cpu_list,
		.some_threads = !o->all || o->comm || o->cgroup || o->sample,
		.no_switches = !(o->kinds & 1u << EVENT_SWITCH),
		.calls = r->probes.attach ? &r->probes.calls : NULL,
	};
	const struct part_plan plan = {
		.facts = facts,
		.timeline = timeline,
		.topology = &r->topology,
		.calls = r->probes.sum,
		.max_bytes = o->max_bytes,
		.fd = r->output.fd,
		.path = r->output.path,
	};
	const struct store_options options = {
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
	int err = store_open(&r->store, &options);

	return err ? err : store_begin(&r->store, r->t0, &r->tasks);
}

static int arm(struct recorder *r)
{
	const struct options *o = r->options;
	int err;

	err = block_signals(r);
	if (!err && o->command) {
		err = command_start(&r->command, o->command, &r->runner);
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
		err = output_create(&r->output, o->output, o->output_chosen, o->force);
	else if (!err)
		err = output_create_file(&r->output, o->output, "." PERF_FILE, PERF_BEGINS,
					 o->output_chosen, o->force);
	if (!err)
		err = control_begin(r->control, r->output.path, o->argv);
	if (!err)
		err = links_attach(&r->links);
	if (!err)
		err = open_window(r);
	if (!err)
		err = account_open(&r->account, &r->links, r->rings);
	if (!err)
		err = counters_open(&r->counters, &r->links, r->t0, r->drain.cpus, r->drain.ncpus);
	if (!err)
		err = privilege_drop(&r->caller, PRIVILEGE_RECORD);
	if (err)
		return err;
	r->perf = (struct perf_file){.dirfd = r->output.fd,
				     .name = r->output.file ? r->output.file : PERF_FILE};
	r->next_interval_ns = r->t0 + o->interval_ns;
	cost_begin(&r->cost);
	if (o->mode != MODE_FULL)
		return 0;
	err = open_store(r);
	if (err)
		return err;
	r->drain.counters = &r->counters;
	r->drain.links = &r->links;
	r->drain.rings = r->rings;
	r->drain.order = r->order;
	r->drain.store = &r->store;
	err = drain_start(&r->drain);
	privilege_keep(PRIVILEGE_WAIT);
	return err;
}

/* ---- recording ---- */

/* A signal from the terminal has reached the command as well; another one is passed on. */
static void read_signals(struct recorder *r)
{
	struct signalfd_siginfo info;

	while (read(r->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGUSR1) {
			if (r->options->mode != MODE_FULL || !store_request(&r->store))
				log_warn("SIGUSR1 means nothing to a recording of one trace (see "
					 "--rotate, --last)");
			continue;
		}
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
		.bytes = r->options->mode == MODE_FULL ? store_bytes(&r->store) : 0,
		.threads = atomic_load(&r->drain.streams),
		.lost = account_lost(&r->account),
		.fullest = atomic_load(&r->drain.fullest) / 1000.0,
	};

	summary_live_show(&r->live, &figures);
}

static void look_for_end(struct recorder *r, uint64_t now)
{
	const struct options *o = r->options;

	if (o->duration_ns && now - r->t0 >= o->duration_ns)
		r->reason = "duration";
	else if (!o->all && !links_members(&r->links))
		r->reason = "target";
	else if (o->max_bytes && store_full(&r->store))
		r->reason = "size";
	else if (o->strict_drops && account_lost(&r->account))
		r->reason = "drops";
}

/* Who has died is fetched before there are too many; with --interval all are looked at. */
static void count(struct recorder *r, uint64_t now)
{
	int err = counters_fetch(&r->counters);

	if (!err && r->options->interval_ns && now >= r->next_interval_ns) {
		r->next_interval_ns += r->options->interval_ns;
		if (r->next_interval_ns <= now)
			r->next_interval_ns = now + r->options->interval_ns;
		err = counters_read(&r->counters);
		if (!err)
			err = perf_snapshot(&r->perf, &r->counters);
	}
	if (err) {
		r->failed = true;
		r->reason = "error";
	}
}

/* How long nothing needs to be looked at, ns. */
static uint64_t time_to_next(const struct recorder *r, uint64_t now)
{
	const struct options *o = r->options;
	uint64_t next = FETCH_MS * 1000000ull;

	if (!o->all || o->max_bytes || o->strict_drops)
		next = LOOK_MS * 1000000ull;
	if (r->live.on && r->live.next_ns - now < next)
		next = r->live.next_ns > now ? r->live.next_ns - now : 0;
	if (o->duration_ns && r->t0 + o->duration_ns - now < next)
		next = r->t0 + o->duration_ns - now;
	if (o->interval_ns && r->next_interval_ns < now + next)
		next = r->next_interval_ns > now ? r->next_interval_ns - now : 0;
	return next;
}

/* Waits for the command, so that it is no zombie for long. If what it has created goes on, that
 * is said: the recording goes on, too. */
static void tell_command_end(struct recorder *r, uint64_t now)
{
	if (!r->options->command || !command_ended(&r->command, 0) || r->command_told)
		return;
	if (!r->command_end_ns)
		r->command_end_ns = now;
	if (now - r->command_end_ns < COMMAND_PATIENCE_MS * 1000000ull)
		return;
	r->command_told = true;
	summary_live_clear(&r->live);
	log_info("the command has ended; what it has created goes on (threads: %u) and is recorded "
		 "(Ctrl-C ends that)",
		 links_members(&r->links));
}

/* Traces that are complete, of a session with several. */
static void tell_parts(struct recorder *r)
{
	struct closer_news news;

	while (store_news(&r->store, &news)) {
		char trace[PATH_MAX];

		r->traces++;
		snprintf(trace, sizeof(trace), "%s/%04u", r->output.path, news.number);
		if (!strcmp(news.why, "request"))
			control_saved(r->control, trace);
		summary_live_clear(&r->live);
		if (!r->options->quiet)
			summary_part(r->output.path, &news);
	}
}

static void tell_status(struct recorder *r, unsigned client)
{
	const struct options *o = r->options;
	const struct control_figures figures = {
		.output = r->output.path,
		.keeps = o->last_bytes		    ? "flight recorder"
			 : store_fd(&r->store) >= 0 ? "rotation"
						    : "one trace",
		.seconds = (double)(clock_now() - r->t0) / 1e9,
		.fullest = atomic_load(&r->drain.fullest) / 1000.0,
		.records = atomic_load(&r->drain.records),
		.events = atomic_load(&r->drain.events),
		.threads = atomic_load(&r->drain.streams),
		.bytes = store_bytes(&r->store),
		.lost = account_lost(&r->account),
		.traces = r->traces,
	};

	control_tell(r->control, client, &figures);
}

static void answer(struct recorder *r)
{
	enum ask request;
	unsigned client;

	while ((request = control_next(r->control, &client))) {
		if (request == ASK_STATUS)
			tell_status(r, client);
		else if (request == ASK_SAVE && !store_request(&r->store))
			control_refuse(r->control, client,
				       "there is nothing to save: it records one trace (see "
				       "--last and --rotate)");
		else if (request == ASK_STOP && !r->reason)
			r->reason = "request";
	}
}

static void record(struct recorder *r)
{
	struct pollfd fds[] = {{.fd = r->signal_fd, .events = POLLIN},
			       {.fd = r->drain.done_fd, .events = POLLIN},
			       {.fd = store_fd(&r->store), .events = POLLIN},
			       {.fd = control_fd(r->control), .events = POLLIN}};

	if (!r->options->quiet)
		summary_begin(r->output.path);
	control_ready(r->control);
	summary_live_begin(&r->live, clock_now(), !r->options->quiet);
	if (r->options->command && command_release(&r->command)) {
		r->failed = true;
		r->reason = "error";
	}
	while (!r->reason) {
		uint64_t now = clock_now(), next = time_to_next(r, now);
		struct timespec wait = {.tv_sec = (time_t)(next / 1000000000),
					.tv_nsec = (long)(next % 1000000000)};

		ppoll(fds, 4, &wait, NULL);
		now = clock_now();
		read_signals(r);
		tell_parts(r);
		answer(r);
		if (!r->reason && (fds[1].revents & POLLIN))
			r->reason = "error";
		if (!r->reason)
			look_for_end(r, now);
		if (!r->reason)
			count(r, now);
		if (summary_live_due(&r->live, now))
			show_live(r, now);
		tell_command_end(r, now);
	}
}

/* ---- draining, done ---- */

/* Without rings there is nothing to drain. */
static void close_window(struct recorder *r)
{
	int err = links_close_window(&r->links, &r->drain.t1);

	if (!err) {
		r->counters.t1 = r->drain.t1;
		err = counters_look(&r->counters);
	}
	links_detach(&r->links);
	if (err) {
		r->failed = true;
		r->reason = "error";
	}
	summary_live_clear(&r->live);
}

static void drain(struct recorder *r)
{
	struct pollfd fds[] = {{.fd = r->signal_fd, .events = POLLIN},
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
	if (drain_join(&r->drain)) {
		r->failed = true;
		r->reason = "error";
	}
	summary_live_clear(&r->live);
}

/* A signal now ends us at once: all that is left is the disk's work. */
static void unblock_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void write_counters(struct recorder *r)
{
	struct perf perf = {.options = r->options,
			    .counters = &r->counters,
			    .account = &r->account,
			    .kinds = r->links.kinds | 1u << EVENT_OTHER,
			    .t0 = r->t0,
			    .t1 = r->drain.t1,
			    .cost = &r->cost};

	cost_end(&r->cost);
	if (r->counters.t1 != r->drain.t1) /* the window was not closed, which has been said */
		return;
	if (counters_close(&r->counters) || perf_write(&r->perf, &perf))
		r->failed = true;
}

static void finish(struct recorder *r)
{
	struct part_end end = {.stopped_by = r->reason, .command_status = -1};
	bool whole = !r->drain.err && !r->drain.cut;

	/* Who was woken and did not run; names of those that had no stream. */
	snapshot_tasks_free(&r->tasks);
	whole = whole && r->options->mode == MODE_FULL;
	if (whole && snapshot_tasks(&r->links, false, &r->tasks))
		r->failed = true;
	if (r->options->command) {
		command_ended(&r->command,
			      !strcmp(r->reason, "target") || !strcmp(r->reason, "signal")
				      ? COMMAND_PATIENCE_MS
				      : 0);
		end.command_status = r->command.status;
	}
	if (account_close(&r->account, r->drain.cut))
		r->failed = true;
	if (!r->killed_by)
		unblock_signals();
	if (r->options->mode == MODE_FULL && store_end(&r->store, &r->tasks, &end, r->drain.cut))
		r->failed = true;
	write_counters(r);
	tell_parts(r);
}

static enum status status_of(const struct recorder *r)
{
	if (r->failed)
		return STATUS_FAILED;
	return r->account.lost ? STATUS_LOST : STATUS_COMPLETE;
}

static void report(struct recorder *r)
{
	bool full = r->options->mode == MODE_FULL;
	struct perf_run run;
	const struct part_result counted = {0};
	const struct part_result *sum = full ? store_result(&r->store) : &counted;
	struct summary_end end = {
		.dir = r->output.path,
		.kept = r->output.kept,
		.stopped_by = r->reason,
		.window_ns = r->drain.t1 > r->t0 ? r->drain.t1 - r->t0 : 0,
		.events = sum->events,
		.records = sum->records,
		.bytes = sum->bytes,
		.threads = sum->threads,
		.repairs = sum->repairs,
		.late = sum->late,
		.parts = full ? store_parts(&r->store) : 0,
		.lost = r->account.lost,
		.full = r->account.full,
		.user = r->account.user,
		.kinds = r->links.kinds | 1u << EVENT_OTHER,
		.streams = full,
		.verbose = r->options->verbose,
		.run = &run,
		.cost = &r->cost,
		.missed = r->account.missed,
		.ncpus = r->drain.ncpus,
		.account = r->account.cpus,
		.naccount = r->account.ncpus,
		.command = r->options->command != NULL,
		.command_status = r->command.status,
		.status = status_of(r),
	};

	perf_sum(&r->counters, &run);
	if (!full) {
		end.threads = run.all.threads.threads;
		if (!r->options->quiet)
			table_show(&r->counters);
	}
	links_report(&r->links);
	maps_report(&r->probes.maps, &r->probes.sites);
	if (!r->options->quiet) {
		if (full)
			probes_report(&r->probes, r->links.sites, end.window_ns, r->options->verbose);
		summary_report(&end);
	} else if (end.lost)
		log_warn("%llu events were lost: %s says which", (unsigned long long)end.lost,
			 r->output.path);
}

static void close_all(struct recorder *r)
{
	drain_join(&r->drain);
	store_close(&r->store);
	account_free(&r->account);
	counters_free(&r->counters);
	perf_close(&r->perf);
	snapshot_tasks_free(&r->tasks);
	order_free(r->order);
	rings_close(r->rings);
	links_close(&r->links);
	probes_close(&r->probes);
	free(r->trigger_sites);
	if (r->signal_fd >= 0)
		close(r->signal_fd);
	target_close(&r->target);
	topology_free(&r->topology);
	identity_free(&r->caller);
	identity_free(&r->runner);
}

enum status session_run(const struct options *options, struct control *control)
{
	struct recorder recorder = {
		.options = options, .control = control, .signal_fd = -1, .output.fd = -1,
		.drain.done_fd = -1};
	struct recorder *r = &recorder;
	enum status status;

	status = prepare(r);
	if (status || options->dry_run) {
		if (!status)
			tell_plan(r);
		close_all(r);
		return status;
	}
	if (arm(r)) {
		command_close(&r->command);
		close_all(r);
		output_abandon(&r->output);
		output_close(&r->output);
		return STATUS_FAILED;
	}
	record(r);
	drain(r);
	finish(r);
	status = status_of(r);
	report(r);
	close_all(r);
	if (r->killed_by) {
		unblock_signals();
		raise(r->killed_by);
	}
	if (options->emulate && emulate_run(r->output.path))
		status = STATUS_FAILED;
	if (options->command && !command_ended(&r->command, 0) && strcmp(r->reason, "signal")) {
		log_info("the command goes on; waiting for its end");
		while (!command_ended(&r->command, 1000))
			;
	}
	command_close(&r->command);
	output_close(&r->output);
	return status;
}
