/* SPDX-License-Identifier: MIT */
/* options: see options.h. */
#include <bpf/libbpf.h>
#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "trace/base/build_info.h"
#include "trace/base/cli.h"
#include "trace/base/log.h"
#include "trace/base/units.h"
#include "user/cli/options.h"
#include "user/config/config.h"
#include "user/probes/attach.h"
#include "user/probes/request.h"
#include "user/sink/history.h"
#include "user/sink/trigger.h"

#define PID_MAX (1u << 22) /* of the kernel */

/* ---- parsers ---- */

/* Refuses `text` with the clause that a parser has returned; 0 if it has returned none. */
static int refuse(const struct cli_option *option, const char *text, const char *wrong)
{
	return wrong ? cli_refuse(option, text, "%s", wrong) : 0;
}

static int compare_pids(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* "12,13": numbers of processes or threads, sorted, none twice. */
static int parse_pids(const struct cli_option *option, const char *text, void *to)
{
	struct options *o = to;
	const char *at = text;
	unsigned long pid;
	char *end;

	if (o->npids)
		return cli_refuse(option, text, "give either -p or -t, and only once");
	/* as many as commas, and one more */
	o->pids = calloc(strlen(text) / 2 + 1, sizeof(*o->pids));
	if (!o->pids)
		return log_no_memory("for the list of %s", option->name);
	for (;; at = end + 1) {
		errno = 0;
		pid = isdigit((unsigned char)*at) ? strtoul(at, &end, 10) : 0;
		if (!isdigit((unsigned char)*at) || (*end && *end != ','))
			return cli_refuse(option, text, "not a list of numbers, as in 12,13");
		if (errno || pid < 1 || pid > PID_MAX)
			return cli_refuse(option, text, "numbers must be from 1 to %u", PID_MAX);
		o->pids[o->npids++] = (uint32_t)pid;
		if (!*end)
			break;
	}
	qsort(o->pids, o->npids, sizeof(*o->pids), compare_pids);
	for (size_t i = 1; i < o->npids; i++)
		if (o->pids[i] == o->pids[i - 1])
			return cli_refuse(option, text, "number %u is given twice", o->pids[i]);
	o->threads = option->letter == 't';
	return 0;
}

static int parse_cpus(const struct cli_option *option, const char *text, void *to)
{
	struct options *o = to;

	if (o->cpu_list)
		return cli_refuse(option, text, "give only one list");
	o->cpu_list = true;
	if (topology_parse(&o->cpus, text) || !o->cpus.ncpus)
		return cli_refuse(option, text, "not a list of CPUs, as in 0-3,8");
	return 0;
}

static int parse_comm(const struct cli_option *option, const char *text, void *to)
{
	struct options *o = to;

	o->comm = text;
	return refuse(option, text, comm_glob_compile(&o->glob, text));
}

static int parse_events(const struct cli_option *option, const char *text, void *to)
{
	return refuse(option, text, event_kinds_parse(text, to));
}

/* "call", "lock,stack", "stack=kernel,100us", "irq,5us", "io": all but none include the call. A
 * time belongs to the stack or irq before it. */
static int parse_why(const struct cli_option *option, const char *text, void *to)
{
	struct options *o = to;
	uint64_t *limit = NULL;
	unsigned parts = 0;

	o->why = WHY_NONE;
	o->stack_ns = o->irq_ns = 0;
	o->irq = o->io = o->wakers = o->preempted = false;
	o->priorities = false;
	for (const char *at = text;; at++) {
		size_t len = strcspn(at, ",");
		char word[32];

		snprintf(word, sizeof(word), "%.*s", (int)len, at);
		if (!strncmp(word, "stack", strlen("stack")))
			limit = &o->stack_ns;
		if (!strcmp(word, "irq"))
			limit = &o->irq_ns;
		if (!strcmp(word, "stack") || !strcmp(word, "stack=kernel"))
			parts = STACK_OF_KERNEL;
		else if (!strcmp(word, "stack=user"))
			parts = STACK_OF_USER;
		else if (!strcmp(word, "stack=both"))
			parts = STACK_OF_KERNEL | STACK_OF_USER;
		else if (!strcmp(word, "wakers"))
			o->wakers = true;
		else if (!strcmp(word, "preempted"))
			o->preempted = true;
		else if (!strcmp(word, "irq"))
			o->irq = true;
		else if (!strcmp(word, "io"))
			o->io = true;
		else if (!strcmp(word, "lock"))
			o->why = WHY_LOCK;
		else if (!strcmp(word, "prio"))
			o->priorities = true;
		else if (!strcmp(word, "call"))
			o->why = o->why == WHY_LOCK ? WHY_LOCK : WHY_CALL;
		else if (strcmp(word, "none") != 0 &&
			 (!limit || *limit || units_parse_time(word, limit)))
			return cli_refuse(
				option, text,
				"'%s' is none of call, lock, none, prio, irq, io, stack, "
				"stack=kernel, stack=user, stack=both, wakers, preempted%s",
				word, limit ? " and no time, as in 100us" : "");
		at += len;
		if (!*at)
			break;
	}
	if ((o->wakers || o->preempted) && !parts)
		parts = STACK_OF_KERNEL;
	if (o->why == WHY_NONE && (parts || o->irq || o->io || o->priorities))
		o->why = WHY_CALL;
	o->stack_parts = parts;
	if (o->irq && !o->irq_ns)
		o->irq_ns = OPTIONS_IRQ_NS;
	if (o->irq && o->irq_ns < OPTIONS_IRQ_MIN_NS)
		return cli_refuse(option, text, "the shortest time of an interrupt is 1us");
	if (!parts)
		return 0;
	if (!o->stack_ns)
		o->stack_ns = OPTIONS_STACK_NS;
	if (o->stack_ns < OPTIONS_STACK_MIN_NS)
		return cli_refuse(option, text, "the shortest time is 100us");
	return 0;
}

static int parse_counters(const struct cli_option *option, const char *text, void *to)
{
	return refuse(option, text, counters_parse(text, to));
}

static int parse_sample(const struct cli_option *option, const char *text, void *to)
{
	struct options *o = to;

	o->sample = text;
	return refuse(option, text, units_parse_ratio(text, &o->sample_keep, &o->sample_of));
}

static int parse_trigger(const struct cli_option *option, const char *text, void *to)
{
	return refuse(option, text, trigger_parse(to, text));
}

static int parse_output(const struct cli_option *option, const char *text, void *to)
{
	struct options *o = to;

	o->output_chosen = true;
	return cli_text(option, text, &o->output);
}

/* Reports a mistake in a request with its position; lack of memory has been reported. */
static int refuse_request(const struct cli_option *option, const char *text, const char *wrong,
			  size_t at)
{
	if (!wrong)
		return 0;
	if (!strcmp(wrong, REQUEST_NO_MEMORY))
		return log_no_memory("for the request '%s'", text);
	if (at)
		return cli_refuse(option, text, "character %zu: %s", at + 1, wrong);
	return cli_refuse(option, text, "%s", wrong);
}

static int parse_probe(const struct cli_option *option, const char *text, void *to)
{
	struct options *o = to;
	size_t at = 0;
	const char *wrong = requests_add_functions(o->probes, text, &at);

	return refuse_request(option, text, wrong, at);
}

static int parse_usdt(const struct cli_option *option, const char *text, void *to)
{
	struct options *o = to;
	size_t at = 0;
	const char *wrong = requests_add_usdt(o->probes, text, &at);

	return refuse_request(option, text, wrong, at);
}

static int parse_list(const struct cli_option *option, const char *text, void *to)
{
	struct options *o = to;
	const char *wrong;
	size_t at = 0;

	if (o->list)
		return cli_refuse(option, text, "give only one file to list");
	o->list = calloc(1, sizeof(*o->list));
	if (!o->list)
		return log_no_memory("for the request '%s'", text);
	wrong = request_of_list(o->list, text, &at);
	if (wrong)
		*o->list = (struct request){0};
	return refuse_request(option, text, wrong, at);
}

static int parse_api(const struct cli_option *option, const char *text, void *to)
{
	struct options *o = to;
	const char **grown = realloc(o->apis, (o->napis + 1) * sizeof(*grown));

	if (!grown)
		return log_no_memory("for the names of APIs");
	o->apis = grown;
	for (size_t i = 0; i < o->napis; i++)
		if (!strcmp(o->apis[i], text))
			return cli_refuse(option, text, "it is given twice");
	return cli_text(option, text, &o->apis[o->napis++]);
}

/* Rounds up to a power of two, as rings need it. */
static int parse_buffer(const struct cli_option *option, const char *text, void *to)
{
	uint64_t power = OPTIONS_BUFFER_MIN, *bytes = to;
	int err = cli_size(option, text, to);

	if (err)
		return err;
	while (power < *bytes)
		power *= 2;
	if (power != *bytes)
		log_warn("-b %s: a buffer is a power of two, at least 4K: using %lluK", text,
			 (unsigned long long)power >> 10);
	*bytes = power;
	return 0;
}

static int parse_rotate(const struct cli_option *option, const char *text, void *to)
{
	struct options *o = to;
	const char *wrong = units_parse_bound(text, &o->rotate_ns, &o->rotate_bytes);

	if (wrong)
		return cli_refuse(option, text, "%s", wrong);
	if (o->rotate_ns && o->rotate_ns < OPTIONS_ROTATE_MIN_NS)
		return cli_refuse(option, text, "the shortest time is 100ms");
	if (o->rotate_bytes && o->rotate_bytes < OPTIONS_ROTATE_MIN)
		return cli_refuse(option, text, "the smallest size is 64K");
	return 0;
}

/* "10s", "64M", or both: "10s,64M". */
static int parse_last(const struct cli_option *option, const char *text, void *to)
{
	const char *comma = strchr(text, ','), *wrong;
	size_t n = comma ? (size_t)(comma - text) : strlen(text);
	struct options *o = to;
	char first[32];
	uint64_t none;

	if (n >= sizeof(first))
		return cli_refuse(option, text, "not a time and a size, as in 10s,64M");
	snprintf(first, sizeof(first), "%.*s", (int)n, text);
	wrong = units_parse_bound(first, &o->last_ns, &o->last_bytes);
	if (wrong)
		return cli_refuse(option, text, "%s", wrong);
	if (comma && (!o->last_ns || units_parse_bound(comma + 1, &none, &o->last_bytes) || none))
		return cli_refuse(option, text, "not a time and a size, as in 10s,64M");
	if (!o->last_bytes)
		o->last_bytes = OPTIONS_LAST;
	if (o->last_bytes < HISTORY_BYTES_MIN)
		return cli_refuse(option, text, "the smallest size is 1M");
	if (o->last_ns && o->last_ns < OPTIONS_ROTATE_MIN_NS)
		return cli_refuse(option, text, "the shortest time is 100ms");
	return 0;
}

/* ---- rules of options ---- */

static bool several_traces(const struct options *o)
{
	return o->rotate_ns || o->rotate_bytes || o->last_bytes;
}

static bool records(const struct options *o, enum event_kind kind)
{
	return o->kinds & 1u << kind;
}

#define RULE(name, condition)                                                                      \
	static bool name(const void *settings)                                                     \
	{                                                                                          \
		const struct options *o = settings;                                                \
                                                                                                   \
		return condition;                                                                  \
	}

/* clang-format off */
RULE(follows, !o->all && (o->command || (o->npids && !o->threads)))
RULE(has_command, o->command)
RULE(has_output, o->output_chosen)
RULE(has_last, o->last_bytes)
RULE(trigger_fits, o->last_bytes && (records(o, EVENT_RENAME) ||
		   !(o->trigger.latency_limit.comm || o->trigger.place_limit.comm)))
RULE(has_trigger, o->trigger.latency_ns || o->trigger.place)
RULE(has_list, o->list)
RULE(has_several, several_traces(o))
RULE(has_probes, records(o, EVENT_PROBE))
RULE(is_full, o->mode == MODE_FULL)
RULE(is_full_of_one, is_full(o) && !several_traces(o))
RULE(is_full_without_last, is_full(o) && !has_last(o))
RULE(is_full_of_switches, is_full(o) && records(o, EVENT_SWITCH))
RULE(counters_fit, is_full_of_switches(o) && !o->kernel_model)
RULE(why_fits, (o->why == WHY_NONE || is_full_of_switches(o)) &&
	       (!o->io || (records(o, EVENT_WAKE) && !o->kernel_model)))
RULE(is_full_of_probes, is_full(o) && records(o, EVENT_PROBE))
RULE(mode_fits, (o->mode != MODE_OFF || o->command) &&
		(o->mode != MODE_SUMMARY || records(o, EVENT_SWITCH)))
RULE(on_full_fits, o->on_full == DROP_OLD ? o->mode == MODE_FULL : !o->last_bytes)
RULE(list_is_alone, !o->probes->count && !o->napis)
RULE(is_not_quiet, !o->quiet)
RULE(is_job, o->job || o->job_node)
RULE(job_node_fits, !o->command && !o->all && !o->npids && !o->job && is_full_of_one(o) && !o->user && !o->stack_ns &&
	          !o->emulate && !o->html && !o->perfetto && !o->force && !o->dry_run && !o->list)
RULE(job_fits, o->command && !o->all && is_full_of_one(o) && !o->user && !o->stack_ns && !o->emulate &&
	       !o->html && !o->perfetto && !o->force && !o->dry_run && !o->list)
RULE(uses_return_probes, !o->no_returns)
/* clang-format on */

/* ---- the table ---- */

static const char *const modes[] = {"off", "summary", "full", NULL};  /* enum mode */
static const char *const policies[] = {"drop-new", "drop-old", NULL}; /* enum on_full */
static const char *const whys[] = {"call",   "lock",	  "none", "prio", "stack",
				   "wakers", "preempted", "irq",  "io",	  NULL};
static const char *const clocks[] = {"scheduler", "tracepoint", NULL};

#define TO(member) offsetof(struct options, member)

/* clang-format off */
static const struct cli_option table[] = {
	{.help = "Target"},
	{"all", 'a', NULL, cli_flag, TO(all),
	 "all threads of the machine; with COMMAND, while it runs"},
	{"pid", 'p', "PID[,PID]", parse_pids, 0,
	 "all threads of these processes and of their children"},
	{"tid", 't', "TID[,TID]", parse_pids, 0, "only these threads"},
	{"comm", 0, "GLOB", parse_comm, 0, "only threads with such a name, as in 'rank*'"},
	{"cgroup", 0, "PATH", cli_text, TO(cgroup), "only threads in this cgroup (v2) or below it"},
	{"cpus", 'C', "LIST", parse_cpus, 0, "only events on these CPUs, as in 0-3,8"},
	{"user", 0, "NAME", cli_text, TO(user),
	 "run COMMAND as this user (default with sudo: the caller)",
	 .holds = has_command, .rule = "needs a command"},
	{"no-follow", 0, NULL, cli_clear, TO(follow), "leave out child processes of the target",
	 .holds = follows, .rule = "needs -p or a command: nothing else is followed"},
	{"no-kthreads", 0, NULL, cli_clear, TO(kthreads), "leave out kernel threads"},
	{"no-self", 0, NULL, cli_clear, TO(self), "leave out the threads of ovni-bpf"},

	{.help = "Duration and output"},
	{"duration", 'd', "TIME", cli_time, TO(duration_ns),
	 "stop after this time, as in 10s or 250ms"},
	{"max-size", 0, "SIZE", cli_size, TO(max_bytes),
	 "stop when the trace has this size, as in 2G",
	 .holds = is_full_without_last,
	 .rule = "needs --mode full, and excludes --last (--keep limits the saved traces)"},
	{"output", 'o', "DIR", parse_output, 0,
	 "directory of the trace (default: ovni; an earlier trace is kept as ovni.old)"},
	{"force", 0, NULL, cli_flag, TO(force), "replace the trace in DIR",
	 .holds = has_output, .rule = "needs -o"},
	{"emulate", 0, NULL, cli_flag, TO(emulate), "run ovni-emu on the trace at the end",
	 .holds = is_full_of_one,
	 .rule = "needs --mode full and a single trace: with --rotate or --last, run ovni-emu on "
		 "the traces of interest"},
	{"html", 0, NULL, cli_flag, TO(html),
	 "make DIR.html at the end, with ovni-view: a page with a timeline, for any browser",
	 .holds = is_full_of_one,
	 .rule = "needs --mode full and a single trace: with --rotate or --last, run ovni-view on "
		 "the traces of interest"},
	{"perfetto", 0, "FILE", cli_text, TO(perfetto),
	 "make FILE at the end, with ovni-export: a trace for ui.perfetto.dev",
	 .holds = is_full_of_one,
	 .rule = "needs --mode full and a single trace: with --rotate or --last, run ovni-export on "
		 "the traces of interest"},
	{"mode", 0, NULL, cli_choice, TO(mode),
	 "full (default): every event; summary: only statistics; off: only run COMMAND",
	 .choices = modes, .holds = mode_fits,
	 .rule = "off needs a command, and summary needs switch among --events"},
	{"verbose", 'v', NULL, cli_flag, TO(verbose),
	 "print details, and the cost of the BPF programs",
	 .holds = is_not_quiet, .rule = "excludes -q"},
	{"quiet", 'q', NULL, cli_flag, TO(quiet), "print only warnings and errors"},

	{.help = "Probes"},
	{"probe", 'u', "BIN:FUNC[,FUNC]", parse_probe, 0,
	 "functions of a program or library: ./app:compute_*, libm.so.6:sin, PID:LIB:FUNC, "
	 "BIN:0x1234, FUNC+8; or a value: FUNC(arg2,ret)",
	 .holds = has_probes, .rule = "needs probe among --events"},
	{"api", 0, "NAME", parse_api, 0,
	 "functions of a library with their meaning: mpi, openmp, nosv, pthread, or your own "
	 "./FILE.json",
	 .holds = is_full_of_probes, .rule = "needs --mode full and probe among --events"},
	{"map", 0, "NAME", parse_api, 0, NULL, /* the old name of --api */
	 .holds = is_full_of_probes, .rule = "needs --mode full and probe among --events"},
	{"usdt", 0, "BIN:PROVIDER:NAME[,argN]", parse_usdt, 0,
	 "static probes of a program or library",
	 .holds = has_probes, .rule = "needs probe among --events"},
	{"list", 0, "BIN[:GLOB]", parse_list, 0, "list the functions and static probes of a file",
	 .holds = list_is_alone, .rule = "excludes -u, --usdt and --api"},
	{"json", 0, NULL, cli_flag, TO(json), "print --list as JSON",
	 .holds = has_list, .rule = "needs --list"},

	{.help = "Parallel jobs"},
	{"job", 0, NULL, cli_flag, TO(job),
	 "under srun or mpirun, before COMMAND of each rank: one recorder per node, all nodes in the "
	 "directory of -o",
	 .holds = job_fits,
	 .rule = "needs a command and --mode full, and excludes -a, --user, --emulate, --html, "
		 "--perfetto, --force, --dry-run, --rotate, --last and --why=stack"},
	{"job-node", 0, NULL, cli_flag, TO(job_node), NULL, /* for ovni-job */
	 .holds = job_node_fits,
	 .rule = "is for ovni-job alone: it needs --mode full, and excludes a command, -a, -p, -t, --user, "
		 "--emulate, --html, --perfetto, --force, --dry-run, --rotate, --last and --why=stack"},
	{"job-timeout", 0, "TIME", cli_time, TO(job_timeout_ns),
	 "run a rank without a recording if its recorder has not begun in this time (default: 30s)",
	 .min = 1000000, .max = 3600ull * 1000000000, .holds = is_job, .rule = "needs --job"},
	{"nodes", 0, "N", cli_number, TO(nodes), "number of nodes of the job, if the launcher does not tell",
	 .min = 1, .max = 1000000, .holds = is_job, .rule = "needs --job"},
	{"spool", 0, "DIR", cli_text, TO(spool),
	 "write the streams of a node to its local disk DIR, and copy them to the directory of -o at the end",
	 .holds = is_job, .rule = "needs --job"},

	{.help = "Several traces"},
	{"rotate", 0, "TIME|SIZE", parse_rotate, 0,
	 "begin a new trace after 10min or 100M: DIR/0001, DIR/0002, ...",
	 .holds = is_full_without_last, .rule = "needs --mode full, and excludes --last"},
	{"last", 0, "TIME|SIZE", parse_last, 0,
	 "flight recorder: keep the last 10s or 64M in memory, and save them on request",
	 .holds = is_full, .rule = "needs --mode full"},
	{"trigger", 0, "EVENT[,LIMIT]", parse_trigger, TO(trigger),
	 "save when a thread waits too long for a CPU (latency>TIME) or calls FUNC, a function of -u; "
	 "LIMIT: only of pid=PID, tid=TID, comm=GLOB",
	 .holds = trigger_fits,
	 .rule = "needs --last, and with comm= rename among --events"},
	{"on-trigger", 0, "COMMAND", cli_text, TO(on_trigger),
	 "run COMMAND with the path of each trace that a trigger saved, as its only argument",
	 .holds = has_trigger, .rule = "needs --trigger"},
	{"keep", 0, "N", cli_number, TO(keep), "keep only the last N traces on the disk",
	 .min = 1, .max = UINT32_MAX, .holds = has_several, .rule = "needs --rotate or --last"},

	{.help = "Expert"},
	{"buffer", 'b', "SIZE", parse_buffer, TO(buffer_bytes), "buffer of each CPU (default: 4M; all together at most 1G)",
	 .max = OPTIONS_BUFFER_MAX},
	{"on-full", 0, NULL, cli_choice, TO(on_full),
	 "when a buffer is full, lose new events (default), or the oldest as with --last 256M",
	 .choices = policies, .holds = on_full_fits,
	 .rule = "drop-old needs --mode full, and drop-new excludes --last"},
	{"flush-interval", 0, "TIME", cli_time, TO(flush_ns),
	 "write buffered events this often (default: 1s); a crash loses no more",
	 .min = OPTIONS_FLUSH_MIN_NS},
	{"strict-drops", 0, NULL, cli_flag, TO(strict_drops), "stop at the first lost event",
	 .holds = is_full, .rule = "needs --mode full"},
	{"events", 0, "KIND,...", parse_events, TO(kinds),
	 "only switch, wake, fork, exec, exit, rename, probe"},
	{"interval", 0, "TIME", cli_time, TO(interval_ns), "also write the statistics this often",
	 .min = OPTIONS_INTERVAL_MIN_NS},
	{"sample", 0, "K/N", parse_sample, 0, "record K of every N threads",
	 .holds = is_full, .rule = "needs --mode full"},
	{"sample-seed", 0, "N", cli_number, TO(sample_seed), "seed of the sample"},
	{"max-rate", 0, "N", cli_number, TO(max_rate),
	 "record at most N calls of each probe per second",
	 .min = 1, .max = UINT32_MAX},
	{"sample-calls", 0, "N", cli_number, TO(one_of), "record every N-th call of each probe",
	 .min = 1, .max = UINT32_MAX},
	{"all-threads", 0, NULL, cli_flag, TO(all_threads), "also record threads that never run"},
	{"kernel-model", 0, NULL, cli_flag, TO(kernel_model),
	 "record only when threads are off the CPU, for a trace of libovni (ovni-merge)",
	 .holds = is_full_of_switches, .rule = "needs --mode full and switch among --events"},
	{"why", 0, NULL, parse_why, 0,
	 "call (default): record the system call in which a thread sleeps; lock: also the owner of the "
	 "lock that it waits for; stack: also the kernel stack of sleeps of 1 ms or more, stack,100us of "
	 "100 us or more, stack=both: of the program, too, stack=user: of it alone; wakers: also the stack of the thread or "
	 "interrupt that ended such a sleep; preempted: also stacks of waits for a CPU as long; lock,stack: both; irq: "
	 "also the time that interrupts take from each run, and single ones of 10 us or more, irq,2us of 2 us "
	 "or more; io: also the block request of a sleep; prio: also priorities, and the CPUs on which a "
	 "thread may run; none: nothing",
	 .choices = whys, .holds = why_fits,
	 .rule = "call, lock, prio, stack, wakers, preempted, irq and io need --mode full and switch among --events; io also "
		 "wake among them, and no --kernel-model"},
	{"counters", 0, "EVENTS", parse_counters, TO(counters),
	 "count perf events in each run of a thread: cycles,instructions; page-faults, task-clock and other "
	 "software events on machines without a PMU",
	 .holds = counters_fit,
	 .rule = "needs --mode full and switch among --events, and excludes --kernel-model"},
	{"wakeup-clock", 0, NULL, cli_choice, TO(wakeup_tracepoint),
	 "source of wake-up times; tracepoint costs more", .choices = clocks},
	{"attach", 0, NULL, cli_choice, TO(attach),
	 "how to attach probes; best (default): as the kernel permits", .choices = attach_kind_names},
	{"no-return-probes", 0, NULL, cli_flag, TO(no_returns),
	 "probe the exit instructions of a function instead: for coroutines"},
	{"unsafe-returns", 0, NULL, cli_flag, TO(unsafe_returns),
	 "use return probes even where a C++ exception then ends the program",
	 .holds = uses_return_probes, .rule = "excludes --no-return-probes"},
	{"unsafe-nop5", 0, NULL, cli_flag, TO(unsafe_nop5),
	 "also probe 5-byte nops inside a function"},
	{"dry-run", 0, NULL, cli_flag, TO(dry_run), "check everything, print the plan, and exit"},

	{.help = "Other"},
	{0},
};
/* clang-format on */

static const char synopsis[] =
	"ovni-bpf [OPTION]... -- COMMAND [ARG]...\n"
	"       ovni-bpf [OPTION]... -p PID | -t TID | -a [-- COMMAND [ARG]...]\n"
	"       ovni-bpf session COMMAND ...   recordings in the background\n"
	"       ovni-bpf doctor [--json]       check this machine";

static const char about[] =
	"Record when and where threads run, why they stop, and which thread wakes them: an ovni "
	"trace for ovni-emu and Paraver, made by the kernel (eBPF) from unmodified programs.";

static const char notes[] =
	"A recording stops when the target ends, after --duration, at --max-size, or on Ctrl-C. "
	"Exit status: 0 complete, 1 failed, 2 wrong usage, 3 complete, but events were lost.\n"
	"\n"
	"Examples:\n"
	"  # a program from start to end, and ovni.html for a browser\n"
	"  sudo ovni-bpf --html -- ./solver input.dat\n"
	"\n"
	"  # the same, and Paraver files\n"
	"  sudo ovni-bpf --emulate -- ./solver input.dat\n"
	"\n"
	"  # a running program and its children, for ten seconds\n"
	"  sudo ovni-bpf -p 4711 -d 10s -o solver-trace\n"
	"\n"
	"  # an MPI program, with its MPI calls\n"
	"  sudo ovni-bpf --api mpi -- mpirun -n 4 ./solver\n"
	"\n"
	"  # functions of a program, and the 2nd argument of one of them\n"
	"  sudo ovni-bpf -u './solver:compute_*' -u './solver:send(arg2)' -- ./solver\n"
	"\n"
	"  # the last 30 seconds of the machine, whenever a thread waits over 20 ms\n"
	"  sudo ovni-bpf session start night -a --last 30s --trigger 'latency>20ms'\n"
	"\n"
	"  # the whole machine while a program runs\n"
	"  sudo ovni-bpf -a -- ./solver input.dat\n"
	"\n"
	"  # can this machine record? If not: why, and what to do\n"
	"  ovni-bpf doctor";

/* ---- the command line as a whole ---- */

/* Without another target, the processes of -u PID:LIB:FUNC are recorded. */
static int take_probed_processes(struct options *o)
{
	size_t n = 0;

	if (o->all || o->npids || o->command || o->comm || o->cgroup || o->job_node)
		return 0;
	o->pids = malloc((o->probes->count + 1) * sizeof(*o->pids));
	if (!o->pids)
		return log_no_memory("for the probed processes");
	for (size_t i = 0; i < o->probes->count; i++)
		if (o->probes->list[i].pid)
			o->pids[n++] = o->probes->list[i].pid;
	if (n)
		qsort(o->pids, n, sizeof(*o->pids), compare_pids);
	for (size_t i = 0; i < n; i++)
		if (!o->npids || o->pids[o->npids - 1] != o->pids[i])
			o->pids[o->npids++] = o->pids[i];
	return 0;
}

/* Sets the defaults that depend on other options: the target, and the memory of a flight recorder.
 * */
static int finish(void *settings, char **operands)
{
	struct options *o = settings;
	int err;

	if (*operands)
		o->command = operands;
	if ((o->all && o->npids) || (o->npids && o->command)) {
		log_error("give only one target: -a, -p, -t or a command (-a and a command go "
			  "together)");
		return -EINVAL;
	}
	if (o->command && !*o->command[0]) {
		log_error("the name of the command is empty");
		return -EINVAL;
	}
	err = take_probed_processes(o);
	if (err)
		return err;
	if (!o->all && !o->npids && !o->command && !o->comm && !o->cgroup && !o->list &&
	    !o->job_node) {
		log_error("no target: give -a, -p PID, -t TID or -- COMMAND (see ovni-bpf --help)");
		return -EINVAL;
	}
	if (!o->npids && !o->command && !o->list && !o->job_node)
		o->all = true;
	if (o->on_full == DROP_OLD && !o->last_bytes)
		o->last_bytes = OPTIONS_LAST;
	return 0;
}

static void print_version(void)
{
	struct utsname name;

	printf("ovni-bpf %s (%s), libbpf %u.%u, records %d", version_string, version_commit,
	       libbpf_major_version(), libbpf_minor_version(), RECORD_VERSION);
	if (!uname(&name))
		printf(", %s %s %s", name.sysname, name.release, name.machine);
	putchar('\n');
}

bool options_parse(struct options *o, int argc, char **argv, enum status *status)
{
	static const struct cli cli = {
		.name = "ovni-bpf",
		.synopsis = synopsis,
		.about = about,
		.options = table,
		.notes = notes,
		.command = true,
		.finish = finish,
		.version = print_version,
	};

	*o = (struct options){
		.argv = argv,
		.follow = true,
		.self = true,
		.kthreads = true,
		.mode = MODE_FULL,
		.kinds = KINDS_ALL,
		.sample_keep = 1,
		.sample_of = 1,
		.output = OPTIONS_OUTPUT,
		.buffer_bytes = options_buffer_default((unsigned)sysconf(_SC_NPROCESSORS_ONLN)),
		.flush_ns = OPTIONS_FLUSH_NS,
		.job_timeout_ns = 30 * 1000000000ull,
		.probes = calloc(1, sizeof(*o->probes)),
	};
	if (!o->probes) {
		*status = STATUS_FAILED;
		log_lack("for the options");
		return false;
	}
	if (cli_read(&cli, argc, argv, o, status))
		return true;
	options_free(o);
	return false;
}

void options_free(struct options *o)
{
	free(o->pids);
	trigger_plan_free(&o->trigger);
	topology_free(&o->cpus);
	if (o->probes)
		requests_free(o->probes);
	free(o->probes);
	free(o->apis);
	if (o->list)
		request_free(o->list);
	free(o->list);
	*o = (struct options){0};
}
