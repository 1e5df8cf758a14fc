/* SPDX-License-Identifier: MIT */
/* options: see options.h. */
#include <argp.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "user/config/comm_glob.h"
#include "user/config/event_kinds.h"
#include "user/cli/options.h"
#include "user/config/parse.h"
#include "user/sink/history.h"
#include "user/probes/attach.h"
#include "user/probes/request.h"
#include "user/sink/trigger.h"
#include "trace/base/log.h"
#include "trace/base/build_info.h"

enum key {
	KEY_CGROUP = 256,
	KEY_COMM,
	KEY_NO_FOLLOW,
	KEY_NO_KTHREADS,
	KEY_NO_SELF,
	KEY_ALL_THREADS,
	KEY_KERNEL_MODEL,
	KEY_USER,
	KEY_MAX_SIZE,
	KEY_FORCE,
	KEY_EMULATE,
	KEY_DRY_RUN,
	KEY_ROTATE,
	KEY_FLUSH,
	KEY_KEEP,
	KEY_USDT,
	KEY_LIST,
	KEY_JSON,
	KEY_MAX_RATE,
	KEY_SAMPLE_CALLS,
	KEY_ATTACH,
	KEY_UNSAFE_RETURNS,
	KEY_NO_RETURNS,
	KEY_UNSAFE_NOP5,
	KEY_API,
	KEY_LAST,
	KEY_ON_FULL,
	KEY_TRIGGER,
	KEY_MODE,
	KEY_EVENTS,
	KEY_SAMPLE,
	KEY_SAMPLE_SEED,
	KEY_STRICT_DROPS,
	KEY_INTERVAL,
	KEY_WAKEUP_CLOCK,
};

static const struct argp_option table[] = {
	{0, 0, 0, 0, "What is recorded:", 1},
	{"all", 'a', 0, 0, "all threads of the machine", 0},
	{"pid", 'p', "PID[,PID]", 0, "all threads of these processes, and of their children", 0},
	{"tid", 't', "TID[,TID]", 0, "these threads alone", 0},
	{"cgroup", KEY_CGROUP, "PATH", 0, "only threads in this cgroup (v2) or below it", 0},
	{"comm", KEY_COMM, "GLOB", 0, "only threads with such a name, as in 'rank*'", 0},
	{"cpus", 'C', "LIST", 0, "only what happens on these CPUs, as in 0-3,8", 0},
	{"no-follow", KEY_NO_FOLLOW, 0, 0, "leave out processes that the target creates", 0},
	{"no-kthreads", KEY_NO_KTHREADS, 0, 0, "leave out threads of the kernel", 0},
	{"no-self", KEY_NO_SELF, 0, 0, "leave out the threads of ovni-bpf itself", 0},
	{"all-threads", KEY_ALL_THREADS, 0, 0, "also threads that sleep all the time", 0},
	{"kernel-model", KEY_KERNEL_MODEL, 0, 0,
	 "write only when threads are off the CPU, to go with a trace made by libovni", 0},
	{"events", KEY_EVENTS, "KIND,...", 0, "only switch, wake, fork, exec, exit, rename, probe",
	 0},
	{"wakeup-clock", KEY_WAKEUP_CLOCK, "CLOCK", 0,
	 "when a thread was woken: scheduler, or tracepoint (dearer)", 0},
	{"sample", KEY_SAMPLE, "K/N", 0, "record K of N threads", 0},
	{"sample-seed", KEY_SAMPLE_SEED, "NUMBER", 0, "which of them", 0},
	{"user", KEY_USER, "NAME", 0, "run COMMAND as this user (through sudo: as its caller)", 0},
	{0, 0, 0, 0, "What is probed:", 2},
	{"probe", 'u', "BIN:FUNC[,FUNC]", 0,
	 "functions of a program or library: ./app:compute_*, libm.so.6:sin, PID:LIB:FUNC, "
	 "BIN:0x1234, FUNC+8, with a value: FUNC(arg2), FUNC(ret)",
	 0},
	{"usdt", KEY_USDT, "BIN:PROVIDER:NAME[,argN]", 0, "probes that a program has in itself", 0},
	{"api", KEY_API, "NAME", 0,
	 "the functions of a library and their meaning: mpi, openmp, nosv, pthread, or a file of "
	 "your "
	 "own (./my.json)",
	 0},
	{"map", KEY_API, 0, OPTION_ALIAS | OPTION_HIDDEN, 0, 0}, /* its old name */
	{"list", KEY_LIST, "BIN[:GLOB]", 0, "show what can be probed in a file, and end", 0},
	{"json", KEY_JSON, 0, 0, "--list as JSON", 0},
	{"max-rate", KEY_MAX_RATE, "N", 0, "at most N calls of each probe in a second", 0},
	{"sample-calls", KEY_SAMPLE_CALLS, "N", 0, "every N-th call of each probe", 0},
	{"attach", KEY_ATTACH, "KIND", 0,
	 "how: session, multi or perf (default: the best that the kernel has)", 0},
	{"unsafe-returns", KEY_UNSAFE_RETURNS, 0, 0,
	 "return probes also where an exception of C++ would then end the program", 0},
	{"no-return-probes", KEY_NO_RETURNS, 0, 0,
	 "probe the instructions that leave a function instead: for coroutines", 0},
	{"unsafe-nop5", KEY_UNSAFE_NOP5, 0, 0,
	 "probes also on nops of five bytes inside a function", 0},
	{0, 0, 0, 0, "How much, and where to:", 3},
	{"mode", KEY_MODE, "MODE", 0,
	 "full: streams and counters (default); summary: counters alone; off: nothing", 0},
	{"interval", KEY_INTERVAL, "TIME", 0, "counters also every so often", 0},
	{"strict-drops", KEY_STRICT_DROPS, 0, 0, "stop when the first event is lost", 0},
	{"duration", 'd', "TIME", 0, "stop after this time, as in 10s or 250ms", 0},
	{"max-size", KEY_MAX_SIZE, "SIZE", 0, "stop when the trace is this large, as in 2G", 0},
	{"rotate", KEY_ROTATE, "TIME|SIZE", 0,
	 "begin a new trace after this, as in 10min or 100M: DIR/0001, DIR/0002, ...", 0},
	{"last", KEY_LAST, "TIME|SIZE", 0,
	 "flight recorder: keep the last 10s or 64M in memory, and save them when asked", 0},
	{"trigger", KEY_TRIGGER, "WHAT", 0,
	 "with --last, save when latency>TIME: a thread has waited so long for a CPU; or when "
	 "it comes to FUNC, which is probed (-u)",
	 0},
	{"on-full", KEY_ON_FULL, "POLICY", 0,
	 "drop-new (default): what finds no room is lost; drop-old: as --last 256M", 0},
	{"keep", KEY_KEEP, "N", 0, "of several traces, keep the last N on the disk", 0},
	{"output", 'o', "DIR", 0,
	 "the trace (default: ovni, an earlier one being kept as ovni.old)", 0},
	{"force", KEY_FORCE, 0, 0, "replace the trace in DIR", 0},
	{"buffer", 'b', "SIZE", 0, "buffer of each CPU (default: 4M)", 0},
	{"flush-interval", KEY_FLUSH, "TIME", 0,
	 "write what is buffered this often: a crash loses no more (default: 1s)", 0},
	{"emulate", KEY_EMULATE, 0, 0, "run ovni-emu on the trace at the end", 0},
	{"dry-run", KEY_DRY_RUN, 0, 0, "check everything, tell what would be done, and end", 0},
	{0, 0, 0, 0, "Others:", 4},
	{"verbose", 'v', 0, 0, "tell more, and what our programs in the kernel cost", 0},
	{"quiet", 'q', 0, 0, "tell only what went wrong", 0},
	{0},
};

/* No line above 80 columns; tests hold it to that. */
static const char doc[] =
	"Records when and where threads run, why they do not, and who wakes them, seen by "
	"the kernel (eBPF), as an ovni trace for ovni-emu and Paraver."
	"\v"
	"Stops at the end of the target, after TIME, at SIZE, or on Ctrl-C; the trace is then "
	"complete. Exit status: 0 complete, 1 failed, 2 wrong usage, 3 complete, but events were "
	"lost and the trace says which.\n"
	"\n"
	"Examples:\n"
	"  # a program from its first instruction to its end, and files for Paraver\n"
	"  sudo ovni-bpf --emulate -- ./solver input.dat\n"
	"\n"
	"  # a program that runs already, and its children, for ten seconds\n"
	"  sudo ovni-bpf -p 4711 -d 10s -o solver-trace\n"
	"\n"
	"  # an MPI program as it is, and the functions of MPI that it calls\n"
	"  sudo ovni-bpf --api mpi -- mpirun -n 4 ./solver\n"
	"\n"
	"  # the whole machine until Ctrl-C, but not the threads of the kernel\n"
	"  sudo ovni-bpf -a --no-kthreads\n"
	"\n"
	"  # can this machine record, and if not, what is to be done?\n"
	"  ovni-bpf doctor\n"
	"\n"
	"  # the functions of a program, too, and the 2nd argument of one of them\n"
	"  sudo ovni-bpf -u './solver:compute_*' -u './solver:send(arg2)' -- ./solver\n"
	"\n"
	"  # every thread called rank0, rank1, ... on the first four CPUs\n"
	"  sudo ovni-bpf --comm 'rank*' -C 0-3 -d 1m";

/* Says what is wrong with an option, and ends the reading. */
static error_t wrong(const char *option, const char *text, const char *what)
{
	if (!strcmp(what, PARSE_NO_MEMORY)) {
		log_no_memory("%s %s", option, text);
		return ENOMEM;
	}
	log_error("%s %s: %s", option, text, what);
	return EINVAL;
}

static error_t read_pids(struct options *o, const char *option, const char *text, bool threads)
{
	const char *what;

	if (o->npids)
		return wrong(option, text, "only one of -p and -t can be given, and once");
	what = parse_pids(text, &o->pids, &o->npids);
	if (what)
		return wrong(option, text, what);
	o->threads = threads;
	return 0;
}

/* The place tells which of many functions is meant. */
static error_t read_probes(struct options *o, const char *option, const char *text)
{
	struct request list;
	const char *what;
	size_t at = 0;

	if (!strcmp(option, "-u")) {
		what = requests_add_functions(o->probes, text, &at);
	} else if (!strcmp(option, "--usdt")) {
		what = requests_add_usdt(o->probes, text, &at);
	} else {
		if (o->list)
			return wrong(option, text, "only one file can be listed at a time");
		what = request_of_list(&list, text, &at);
		if (!what) {
			o->list = malloc(sizeof(list));
			if (!o->list)
				return ENOMEM;
			*o->list = list;
		}
	}
	if (!what)
		return 0;
	if (at)
		log_error("%s %s: character %zu: %s", option, text, at + 1, what);
	else
		wrong(option, text, what);
	return EINVAL;
}

static error_t add_api(struct options *o, const char *name)
{
	const char **grown = realloc(o->apis, (o->napis + 1) * sizeof(*grown));

	if (!grown)
		return ENOMEM;
	o->apis = grown;
	if (!*name)
		return wrong("--api", "''", "expected a name such as mpi, or the path of a file");
	for (size_t i = 0; i < o->napis; i++)
		if (!strcmp(o->apis[i], name))
			return wrong("--api", name, "it is given twice");
	o->apis[o->napis++] = name;
	return 0;
}

static error_t read_buffer(struct options *o, const char *text)
{
	const char *what = parse_size(text, &o->buffer_bytes);
	uint64_t power = OPTIONS_BUFFER_MIN;

	if (what)
		return wrong("-b", text, what);
	if (o->buffer_bytes > OPTIONS_BUFFER_MAX)
		return wrong("-b", text, "at most 512M per CPU is possible");
	while (power < o->buffer_bytes)
		power *= 2;
	if (power != o->buffer_bytes)
		log_warn("-b %s: buffers are powers of two of at least 4K: taking %lluK", text,
			 (unsigned long long)power >> 10);
	o->buffer_bytes = power;
	return 0;
}

static error_t read_attach(struct options *o, const char *text)
{
	for (int kind = ATTACH_SESSION; kind <= ATTACH_PERF; kind++) {
		if (!strcmp(text, attach_kind_names[kind])) {
			o->attach = (enum attach_kind)kind;
			return 0;
		}
	}
	return wrong("--attach", text, "it is session, multi or perf");
}

/* "10s", "64M", or both: "10s,64M". */
static error_t read_last(struct options *o, const char *text)
{
	const char *comma = strchr(text, ','), *what;
	char first[32];
	uint64_t ns = 0;

	if (comma && (size_t)(comma - text) >= sizeof(first))
		return wrong("--last", text, "a time and a size are wanted, as in 10s,64M");
	snprintf(first, sizeof(first), "%.*s", comma ? (int)(comma - text) : 31, text);
	what = parse_bound(first, &o->last_ns, &o->last_bytes);
	if (!what && comma) {
		ns = o->last_ns;
		what = parse_bound(comma + 1, &o->last_ns, &o->last_bytes);
		if (!what && (!ns || o->last_ns))
			what = "a time and a size are wanted, as in 10s,64M";
		o->last_ns = ns;
	}
	if (!what && !o->last_bytes)
		o->last_bytes = OPTIONS_LAST;
	if (!what && o->last_bytes < HISTORY_BYTES_MIN)
		what = "at least 1M is possible";
	if (!what && o->last_ns && o->last_ns < OPTIONS_ROTATE_MIN_NS)
		what = "at least 100ms is possible";
	return what ? wrong("--last", text, what) : 0;
}

static error_t read_mode(struct options *o, const char *text)
{
	static const char *const names[] = {
		[MODE_OFF] = "off", [MODE_SUMMARY] = "summary", [MODE_FULL] = "full"};

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(text, names[i])) {
			o->mode = (enum mode)i;
			return 0;
		}
	}
	return wrong("--mode", text, "modes are off, summary and full");
}

static error_t read_option(int key, char *text, struct argp_state *state)
{
	struct options *o = state->input;
	const char *what;

	switch ((unsigned)key) {
	case 'a':
		o->all = true;
		return 0;
	case 'p':
		return read_pids(o, "-p", text, false);
	case 't':
		return read_pids(o, "-t", text, true);
	case 'C':
		if (o->cpu_list)
			return wrong("-C", text, "only one list can be given");
		o->cpu_list = true;
		if (topology_parse(&o->cpus, text) || !o->cpus.ncpus)
			return wrong("-C", text, "a list of CPUs is wanted, as in 0-3,8");
		return 0;
	case 'd':
		what = parse_duration(text, &o->duration_ns);
		return what ? wrong("-d", text, what) : 0;
	case 'o':
		if (!*text)
			return wrong("-o", "''", "a name is wanted");
		o->output = text;
		o->output_chosen = true;
		return 0;
	case 'b':
		return read_buffer(o, text);
	case 'u':
		return read_probes(o, "-u", text);
	case KEY_USDT:
		return read_probes(o, "--usdt", text);
	case KEY_LIST:
		return read_probes(o, "--list", text);
	case KEY_MAX_RATE:
		what = parse_count(text, &o->max_rate);
		return what ? wrong("--max-rate", text, what) : 0;
	case KEY_SAMPLE_CALLS:
		what = parse_count(text, &o->one_of);
		return what ? wrong("--sample-calls", text, what) : 0;
	case KEY_ATTACH:
		return read_attach(o, text);
	case KEY_UNSAFE_RETURNS:
		o->unsafe_returns = true;
		return 0;
	case KEY_NO_RETURNS:
		o->no_returns = true;
		return 0;
	case KEY_UNSAFE_NOP5:
		o->unsafe_nop5 = true;
		return 0;
	case KEY_API:
		return add_api(o, text);
	case KEY_JSON:
		o->json = true;
		return 0;
	case 'v':
		o->verbose = true;
		return 0;
	case 'q':
		o->quiet = true;
		return 0;
	case KEY_MODE:
		return read_mode(o, text);
	case KEY_EVENTS:
		what = kinds_parse(text, &o->kinds);
		return what ? wrong("--events", text, what) : 0;
	case KEY_SAMPLE:
		o->sample = text;
		what = parse_ratio(text, &o->sample_keep, &o->sample_of);
		return what ? wrong("--sample", text, what) : 0;
	case KEY_SAMPLE_SEED:
		what = parse_whole(text, &o->sample_seed);
		return what ? wrong("--sample-seed", text, what) : 0;
	case KEY_STRICT_DROPS:
		o->strict_drops = true;
		return 0;
	case KEY_INTERVAL:
		what = parse_duration(text, &o->interval_ns);
		if (!what && o->interval_ns < OPTIONS_INTERVAL_MIN_NS)
			what = "at least 10ms is wanted";
		return what ? wrong("--interval", text, what) : 0;
	case KEY_CGROUP:
		o->cgroup = text;
		return 0;
	case KEY_COMM:
		o->comm = text;
		what = glob_compile(&o->glob, text);
		return what ? wrong("--comm", text, what) : 0;
	case KEY_NO_FOLLOW:
		o->follow = false;
		return 0;
	case KEY_NO_KTHREADS:
		o->kthreads = false;
		return 0;
	case KEY_NO_SELF:
		o->self = false;
		return 0;
	case KEY_ALL_THREADS:
		o->all_threads = true;
		return 0;
	case KEY_KERNEL_MODEL:
		o->kernel_model = true;
		return 0;
	case KEY_USER:
		o->user = text;
		return 0;
	case KEY_MAX_SIZE:
		what = parse_size(text, &o->max_bytes);
		return what ? wrong("--max-size", text, what) : 0;
	case KEY_ROTATE:
		what = parse_bound(text, &o->rotate_ns, &o->rotate_bytes);
		if (!what && o->rotate_ns && o->rotate_ns < OPTIONS_ROTATE_MIN_NS)
			what = "at least 100ms is possible";
		if (!what && o->rotate_bytes && o->rotate_bytes < OPTIONS_ROTATE_MIN)
			what = "at least 64K is possible";
		return what ? wrong("--rotate", text, what) : 0;
	case KEY_WAKEUP_CLOCK:
		o->wakeup_tracepoint = !strcmp(text, "tracepoint");
		return o->wakeup_tracepoint || !strcmp(text, "scheduler")
			       ? 0
			       : wrong("--wakeup-clock", text,
				       "scheduler or tracepoint is possible");
	case KEY_FLUSH:
		what = parse_duration(text, &o->flush_ns);
		if (!what && o->flush_ns < OPTIONS_FLUSH_MIN_NS)
			what = "at least 10ms is possible";
		return what ? wrong("--flush-interval", text, what) : 0;
	case KEY_LAST:
		return read_last(o, text);
	case KEY_ON_FULL:
		o->drop_old = !strcmp(text, "drop-old");
		o->drop_new = !strcmp(text, "drop-new");
		return o->drop_old || o->drop_new
			       ? 0
			       : wrong("--on-full", text, "drop-new or drop-old is wanted");
	case KEY_TRIGGER:
		what = trigger_parse(&o->trigger, text);
		return what ? wrong("--trigger", text, what) : 0;
	case KEY_KEEP:
		what = parse_count(text, &o->keep);
		return what ? wrong("--keep", text, what) : 0;
	case KEY_FORCE:
		o->force = true;
		return 0;
	case KEY_EMULATE:
		o->emulate = true;
		return 0;
	case KEY_DRY_RUN:
		o->dry_run = true;
		return 0;
	case ARGP_KEY_ARG:
		/* The command is the rest, whatever it looks like. */
		o->command = &state->argv[state->next - 1];
		state->next = state->argc;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static bool several(const struct options *o)
{
	return o->rotate_ns || o->rotate_bytes || o->last_bytes || o->drop_old;
}

/* What can be wrong with options that are fine by themselves: if `holds`, say why not. */
static bool check(const struct options *o)
{
	const struct {
		bool holds;
		const char *why;
	} rules[] = {
		{o->all + !!o->npids + !!o->command > 1,
		 "only one of -a, -p, -t and a command can be given"},
		{!o->all && !o->npids && !o->command && !o->comm && !o->cgroup && !o->list,
		 "what is to be recorded? Give -a, -p PID, -t TID or -- COMMAND (see --help)"},
		{o->command && !*o->command[0], "the name of the command is empty"},
		{!o->follow && !o->command && (!o->npids || o->threads),
		 "--no-follow goes with -p or a command: nothing else is followed"},
		{o->user && !o->command, "--user goes with a command"},
		{o->force && !o->output_chosen, "--force goes with -o"},
		{o->keep && !several(o), "--keep goes with --rotate or --last"},
		{o->emulate && several(o),
		 "--emulate goes with one trace: with --rotate or --last, "
		 "run ovni-emu on those of interest"},
		{(o->rotate_ns || o->rotate_bytes) && (o->last_bytes || o->drop_old),
		 "only one of --rotate and --last (--on-full drop-old) can be given"},
		{o->last_bytes && o->drop_new,
		 "--last keeps the newest, which is --on-full drop-old"},
		{(o->trigger.latency_ns || o->trigger.place) && !o->last_bytes && !o->drop_old,
		 "--trigger goes with --last"},
		{o->max_bytes && (o->last_bytes || o->drop_old),
		 "--max-size does not go with --last: what is saved is limited by --keep"},
		{o->mode == MODE_OFF && !o->command, "--mode off goes with a command"},
		{o->mode == MODE_SUMMARY && !(o->kinds & 1u << EVENT_SWITCH),
		 "--mode summary counts at switches: --events must name them"},
		{o->mode != MODE_FULL && o->emulate,
		 "--emulate needs the streams that only --mode full writes"},
		{o->mode != MODE_FULL && (o->sample || o->strict_drops || o->kernel_model),
		 "--sample, --strict-drops and --kernel-model go with --mode full: nothing else is "
		 "written event by event"},
		{o->mode != MODE_FULL && (several(o) || o->max_bytes),
		 "--rotate, --last and --max-size go with --mode full: nothing else writes "
		 "streams"},
		{o->mode != MODE_FULL && o->napis,
		 "--api goes with --mode full: it is about events of streams"},
		{(o->probes->count || o->napis) && !(o->kinds & 1u << EVENT_PROBE),
		 "-u, --usdt and --api are about probes: --events must name them"},
		{o->kernel_model && !(o->kinds & 1u << EVENT_SWITCH),
		 "--kernel-model is about switches: --events must name them"},
		{o->unsafe_returns && o->no_returns,
		 "only one of --unsafe-returns and --no-return-probes can be given"},
		{o->verbose && o->quiet, "only one of -v and -q can be given"},
		{o->list && (o->probes->count || o->napis),
		 "--list shows what -u and --usdt can be given: it goes "
		 "without them"},
		{o->json && !o->list, "--json goes with --list"},
	};

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		if (rules[i].holds) {
			log_error("%s", rules[i].why);
			return false;
		}
	}
	return true;
}

static int compare_pids(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Without another target the processes that are probed are recorded: -u PID:LIB:FUNC alone. */
static bool take_probed_processes(struct options *o)
{
	size_t n = 0;

	if (o->all || o->npids || o->command || o->comm || o->cgroup)
		return true;
	o->pids = malloc((o->probes->count + 1) * sizeof(*o->pids));
	if (!o->pids) {
		log_no_memory("the processes to be recorded");
		return false;
	}
	for (size_t i = 0; i < o->probes->count; i++)
		if (o->probes->list[i].pid)
			o->pids[n++] = o->probes->list[i].pid;
	if (n)
		qsort(o->pids, n, sizeof(*o->pids), compare_pids);
	for (size_t i = 0; i < n; i++)
		if (!o->npids || o->pids[o->npids - 1] != o->pids[i])
			o->pids[o->npids++] = o->pids[i];
	return true;
}

static void print_version(FILE *out, struct argp_state *state)
{
	struct utsname name;

	(void)state;
	fprintf(out, "ovni-bpf %s (%s), libbpf %u.%u, records %d", version_string, version_commit,
		libbpf_major_version(), libbpf_minor_version(), RECORD_VERSION);
	if (!uname(&name))
		fprintf(out, ", %s %s %s", name.sysname, name.release, name.machine);
	fputc('\n', out);
}

bool options_parse(struct options *o, int argc, char **argv, enum status *status)
{
	static const struct argp argp = {
		.options = table,
		.parser = read_option,
		.args_doc = "-a | -p PID | -t TID | -- COMMAND [ARGS]",
		.doc = doc,
	};
	char *name = argv[0];
	bool failed;
	error_t err;

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
		.buffer_bytes = OPTIONS_BUFFER,
		.flush_ns = OPTIONS_FLUSH_NS,
		.probes = calloc(1, sizeof(*o->probes)),
	};
	if (!o->probes) {
		log_no_memory("the options");
		*status = STATUS_FAILED;
		return false;
	}
	argp_program_version_hook = print_version;
	argp_err_exit_status = STATUS_USAGE;
	*status = STATUS_USAGE;
	argv[0] = (char *)"ovni-bpf"; /* so messages of the C library begin as ours do */
	err = argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, o);
	failed = err || !take_probed_processes(o) || !check(o);
	if (err == ENOMEM)
		log_no_memory("the options");
	if (log_lacks_memory())
		*status = STATUS_FAILED;
	argv[0] = name;
	if (failed) {
		options_free(o);
		return false;
	}
	if (!o->npids && !o->command && !o->list)
		o->all = true;
	if (o->drop_old && !o->last_bytes)
		o->last_bytes = OPTIONS_LAST;
	return true;
}

void options_free(struct options *o)
{
	free(o->pids);
	topology_free(&o->cpus);
	if (o->probes)
		requests_free(o->probes);
	free(o->probes);
	o->probes = NULL;
	free(o->apis);
	o->apis = NULL;
	if (o->list)
		request_free(o->list);
	free(o->list);
	o->list = NULL;
	o->pids = NULL;
	o->npids = 0;
}
