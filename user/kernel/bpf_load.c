/* SPDX-License-Identifier: MIT */
/* bpf_load: see bpf_load.h. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "user/host/clock.h"
#include "user/kernel/bpf_load.h"
#include "user/config/config.h"
#include "user/config/perf_events.h"
#include "user/config/window_edge.h"
#include "user/probes/attach.h"
#include "user/kernel/bpf_select.h"
#include "user/kernel/rings.h"
#include "user/host/topology.h"
#include "bpf/state.h"
#include "bpf/ovni.skel.h"
#include "trace/base/log.h"
#include "trace/base/text.h"

#define TUNE_SLEEP_NS	100000
#define TUNE_SLEEPS	8   /* before the window opens, */
#define TUNE_SLEEPS_MAX 100 /* and if the clock of the scheduler is not known then */

#define LIBBPF_LINES 24 /* of a message: the verifier's reason stands at the end of its log */

/* Messages of libbpf are shown with -v alone: one sentence of ours reports a failure. */
static int print_libbpf(enum libbpf_print_level level, const char *format, va_list args)
{
	char *text, *line, *rest;
	int lines = 0;

	if (log_level() < LOG_DEBUG || level == LIBBPF_DEBUG)
		return 0;
	if (vasprintf(&text, format, args) < 0)
		return 0;
	for (char *c = text; *c; c++)
		lines += *c == '\n';
	rest = text;
	while ((line = strsep(&rest, "\n"))) {
		if (lines-- <= LIBBPF_LINES && *line)
			log_debug("%s", line);
	}
	free(text);
	return 0;
}

/* The id by which the kernel knows a cgroup: the inode number of its folder. */
static int cgroup_id(const char *path, __u64 *id)
{
	static const char *const tops[] = {"", "/sys/fs/cgroup/", "/sys/fs/cgroup/unified/"};
	char full[4096], controllers[4200];
	struct stat st;

	for (size_t i = 0; i < sizeof(tops) / sizeof(tops[0]); i++) {
		if (snprintf(full, sizeof(full), "%s%s", tops[i], path) >= (int)sizeof(full))
			continue;
		snprintf(controllers, sizeof(controllers), "%s/cgroup.controllers", full);
		if (stat(full, &st) || access(controllers, F_OK))
			continue;
		*id = st.st_ino;
		return 0;
	}
	log_error("--cgroup %s: there is no such cgroup (version 2)", path);
	return -ENOENT;
}

#define TARGETS_MAX	      65536
#define INITIAL_PID_NAMESPACE 0xeffffffcu /* its inode number, fixed by the kernel */

/* 0 if this process counts as the kernel does. */
static __u32 pid_namespace(void)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) || st.st_ino == INITIAL_PID_NAMESPACE)
		return 0;
	return (__u32)st.st_ino;
}

/* Is the stack of user code copied at each sleep? */
static bool copies_stacks(const struct bpf_load *bpf)
{
	return bpf->stack_parts & STACK_OF_USER && bpf->user_stack_way == USER_STACKS_AT_SWITCH;
}

static int set_constants(struct bpf_load *bpf, const struct options *options)
{
	struct ovni__rodata *rodata = bpf->skeleton->rodata;
	__u64 id = 0;
	int err = options->cgroup ? cgroup_id(options->cgroup, &id) : 0;

	if (err)
		return err;
	rodata->settings = (struct settings){
		.all = options->all,
		.follow = options->follow,
		.threads = !options->threads,
		.kthreads = options->kthreads,
		.filters = options->comm || options->cgroup,
		.use_comm = options->comm != NULL,
		.cpu_list = options->cpu_list,
		.interrupts = !bpf->interrupts_unknown,
		.registers = !bpf->yields_unknown,
		.calls = bpf->calls,
		.locks = bpf->locks,
		.stack_ns = bpf->stack_ns,
		.irq_ns = bpf->irq && !options->kernel_model ? options->irq_ns : 0,
		.priority_words = bpf->priority_words,
		.irq = bpf->irq,
		.io = bpf->io,
		.stack_parts = bpf->stack_parts,
		.stack_copies = copies_stacks(bpf),
		.wakers = bpf->wakers,
		.preempted = bpf->preempted,
		.hidden_pid = options->self ? 0 : (__u32)getpid(),
		.pid_namespace = pid_namespace(),
		.max_rate = options->max_rate,
		.one_of = options->one_of,
		.find_stack = bpf->find_stack,
		.summary = options->mode == MODE_SUMMARY,
		.kinds = options->kinds,
		.wakeup_from_sched_info = bpf->wakeup_from_sched_info,
		.sample_keep = options->sample_keep,
		.sample_of = options->sample_of,
		.preempt_calls = bpf->preempt_calls,
		.several = bpf->attach && attach_has_several(bpf->attach),
		.sample_seed = options->sample_seed,
		.ring_mask = options->buffer_bytes - 1,
		.cgroup = id,
	};
	if (options_job_rule(options))
		rodata->settings.member = options_job_rule(options)->rule;
	if (options->comm)
		memcpy((void *)&rodata->comm_glob, &options->glob, sizeof(options->glob));
	return 0;
}

/* Reports that a program or map was refused, and the remedy. */
static int explain_load(int err)
{
	if (err == -EPERM)
		log_error(
			"not permitted to load eBPF programs: run ovni-bpf as root (sudo), or with "
			"CAP_BPF and CAP_PERFMON (setcap cap_bpf,cap_perfmon+ep ovni-bpf)");
	else if (err == -ENOSYS)
		log_error("this kernel has no eBPF");
	else
		log_error("the kernel refuses our eBPF programs: %s (-v shows why)",
			  strerror(-err));
	return err;
}

/* Is the load of weak externs refused because only CAP_SYS_ADMIN may look at the types of modules?
 */
static bool modules_hidden(const struct bpf_load *bpf)
{
	__u32 id;

	return bpf->searches_modules && bpf_btf_get_next_id(0, &id) && errno == EPERM;
}

/* A ring: plain memory that both sides map. -errno after one message. */
static int make_ring(size_t bytes)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "ovni_ring", sizeof(__u32),
				(__u32)bytes + RING_SPILL, 1, &opts);
	int err = -errno;

	if (fd >= 0)
		return fd;
	if (err == -EPERM)
		return explain_load(err);
	log_error("cannot make a buffer of %zu bytes for a CPU: %s (a smaller one: -b)", bytes,
		  strerror(-err));
	return err;
}

static bool listed(const struct options *options, unsigned cpu)
{
	return !options->cpu_list || (cpu < options->cpus.size && options->cpus.index_of[cpu] >= 0);
}

static int add_rings(struct bpf_load *bpf, const struct options *options,
		     const struct topology *topology, struct rings *rings)
{
	int err;

	for (unsigned i = 0; i < topology->ncpus; i++)
		bpf->cpus[topology->phyid[i]].recorded = listed(options, topology->phyid[i]);
	if (options->mode != MODE_FULL)
		return 0;
	log_debug("buffers: %u of %llu KiB, %.6g MiB together", topology->ncpus,
		  (unsigned long long)options->buffer_bytes >> 10,
		  (double)options->buffer_bytes * topology->ncpus / (1 << 20));
	bpf->ring_fds = calloc(topology->ncpus, sizeof(*bpf->ring_fds));
	if (!bpf->ring_fds)
		return log_no_memory("for the buffers");
	for (unsigned i = 0; i < topology->ncpus; i++) {
		__u32 cpu = topology->phyid[i];
		int fd = make_ring(options->buffer_bytes);

		if (fd < 0)
			return fd;
		bpf->ring_fds[bpf->nrings++] = fd;
		if (bpf_map_update_elem(bpf_map__fd(bpf->skeleton->maps.rings), &cpu, &fd,
					BPF_ANY)) {
			err = -errno;
			log_error("cannot set up CPU %u: %s", cpu, strerror(-err));
			return err;
		}
		err = rings_map(rings, cpu, &bpf->cpus[cpu], fd, options->buffer_bytes);
		if (err)
			return err;
	}
	return 0;
}

/* Sets sizes that follow the machine and the options; the kernel needs one ring as a template.
 * -errno after one message. */
static int size_maps(struct bpf_load *bpf, const struct options *options, size_t ntargets)
{
	struct ovni *skeleton = bpf->skeleton;
	struct bpf_map *const of_summary[] = {
		skeleton->maps.cpu_summaries,
		skeleton->maps.task_summaries,
		skeleton->maps.dead,
		skeleton->maps.dead_sums,
	};
	int fd, err;

	bpf_map__set_max_entries(skeleton->maps.cpus, bpf->npossible);
	bpf_map__set_max_entries(skeleton->maps.cpu_summaries, bpf->npossible);
	bpf_map__set_max_entries(skeleton->maps.irqs, bpf->npossible);
	bpf_map__set_max_entries(skeleton->maps.targets,
				 options_job_rule(options) ? TARGETS_MAX : (__u32)ntargets + 1);
	bpf_map__set_max_entries(skeleton->maps.sites, (__u32)bpf->nsites + 1);
	if (bpf->attach && attach_has_several(bpf->attach))
		bpf_map__set_max_entries(skeleton->maps.probe_values, (__u32)bpf->nsites);
	/* The programs that use the maps of the other mode, or of another part, are not loaded. */
	err = bpf->irq ? 0 : bpf_map__set_autocreate(skeleton->maps.irqs, false);
	if (!err && !bpf->io)
		err = bpf_map__set_autocreate(skeleton->maps.io_completed, false);
	if (!err && !copies_stacks(bpf))
		err = bpf_map__set_autocreate(skeleton->maps.user_copies, false);
	if (!err && (!(bpf->stack_parts & STACK_OF_USER) || copies_stacks(bpf)))
		err = bpf_map__set_autocreate(skeleton->maps.user_stack_slots, false);
	if (!err && !(bpf->stack_parts & STACK_OF_USER))
		err = bpf_map__set_autocreate(skeleton->maps.user_stack_ring, false);
	if (!err && !options_job_rule(options))
		err = bpf_map__set_autocreate(skeleton->maps.variables, false)
			      ?: bpf_map__set_autocreate(skeleton->maps.environments, false);
	if (err)
		return explain_load(err);
	err = options->counters.n ? bpf_map__set_max_entries(skeleton->maps.counter_events,
							     options->counters.n * bpf->npossible)
				  : bpf_map__set_autocreate(skeleton->maps.counter_events, false);
	if (!err && !options->counters.n)
		err = bpf_map__set_autocreate(skeleton->maps.counter_values, false);
	if (err)
		return explain_load(err);
	skeleton->rodata->counters_used = options->counters.n;
	skeleton->rodata->counters_cpus = bpf->npossible;
	if (options->mode != MODE_FULL) {
		err = bpf_map__set_autocreate(skeleton->maps.rings, false);
		return err ? explain_load(err) : 0;
	}
	for (size_t i = 0; i < sizeof(of_summary) / sizeof(of_summary[0]); i++) {
		err = bpf_map__set_autocreate(of_summary[i], false);
		if (err)
			return explain_load(err);
	}
	if (!bpf->wakers && bpf_map__set_autocreate(skeleton->maps.waker_stacks, false))
		return explain_load(-errno);
	fd = make_ring(options->buffer_bytes);
	if (fd < 0)
		return fd;
	err = bpf_map__set_inner_map_fd(skeleton->maps.rings, fd);
	if (err) {
		close(fd);
		return explain_load(err);
	}
	bpf->template_fd = fd;
	bpf_map__set_max_entries(skeleton->maps.rings, bpf->npossible);
	return 0;
}

static int map_array(const struct bpf_map *map, size_t bytes, void **at)
{
	int err;

	*at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
	if (*at != MAP_FAILED)
		return 0;
	err = -errno;
	*at = NULL;
	log_error("cannot map %s: %s", bpf_map__name(map), strerror(-err));
	return err;
}

static int map_cpus(struct bpf_load *bpf, enum mode mode)
{
	size_t n = bpf->npossible;
	void *at;
	int err = map_array(bpf->skeleton->maps.cpus, n * sizeof(*bpf->cpus), &at);

	bpf->cpus = at;
	if (!err && bpf->irq) {
		err = map_array(bpf->skeleton->maps.irqs, n * sizeof(*bpf->irqs), &at);
		bpf->irqs = at;
	}
	if (err || mode != MODE_SUMMARY)
		return err;
	err = map_array(bpf->skeleton->maps.cpu_summaries, n * sizeof(*bpf->cpu_summaries), &at);
	bpf->cpu_summaries = at;
	return err;
}

/* The variables of launchers by their names, for the program find_member. */
static int fill_variables(const struct bpf_load *bpf, const struct job_rule *rule)
{
	for (__u32 i = 0; i < rule->nvariables; i++) {
		char name[VARIABLE_NAME] = "";
		int err;

		snprintf(name, sizeof(name), "%s", rule->names[i]);
		err = bpf_map__update_elem(bpf->skeleton->maps.variables, name, sizeof(name),
					   &rule->variables[i], sizeof(rule->variables[i]),
					   BPF_ANY);
		if (err) {
			log_error("cannot name the variables of launchers to the kernel: %s",
				  strerror(-err));
			return err;
		}
	}
	return 0;
}

static int fill_values(struct bpf_load *bpf)
{
	struct probe_values values;

	for (__u32 i = 0; i < bpf->nsites; i++) {
		int err;

		attach_fill_values(bpf->attach, i, &values);
		err = bpf_map__update_elem(bpf->skeleton->maps.probe_values, &i, sizeof(i), &values,
					   sizeof(values), BPF_ANY);
		if (err) {
			log_error("cannot write the values of probes: %s", strerror(-err));
			return err;
		}
	}
	return 0;
}

/* The states of the probed sites, shared with the programs. */
static int map_sites(struct bpf_load *bpf)
{
	void *at;
	int err;

	if (!bpf->attach)
		return 0;
	err = map_array(bpf->skeleton->maps.sites, bpf->nsites * sizeof(*bpf->sites), &at);
	if (err)
		return err;
	bpf->sites = at;
	attach_fill(bpf->attach, bpf->sites);
	return attach_has_several(bpf->attach) ? fill_values(bpf) : 0;
}

/* Loads with signals blocked: a pending one makes the kernel give up (EAGAIN). */
static int load(struct ovni *skeleton)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	err = ovni__load(skeleton);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return err;
}

int bpf_load_open(struct bpf_load *bpf, const struct options *options,
		  const struct topology *topology, struct rings *rings, const uint32_t *targets,
		  size_t ntargets, struct attach *attach, size_t nsites)
{
	int err, possible = libbpf_num_possible_cpus();
	struct ovni *skeleton;

	*bpf = (struct bpf_load){.statistics_fd = -1, .template_fd = -1};
	bpf->attach = attach;
	bpf->nsites = attach ? nsites : 0;
	libbpf_set_print(print_libbpf);
	if (possible <= 0) {
		log_error("cannot find out how many CPUs are possible: %s", strerror(-possible));
		return possible ? possible : -EINVAL;
	}
	skeleton = bpf->skeleton = ovni__open();
	if (!skeleton) {
		err = -errno;
		log_error("cannot open our eBPF programs: %s", strerror(-err));
		return err;
	}
	if (skeleton->rodata->record_version != RECORD_VERSION) {
		log_error("the eBPF programs write records of version %u, and %u is known here: "
			  "build ovni-bpf anew",
			  skeleton->rodata->record_version, RECORD_VERSION);
		return -EPROTO;
	}
	err = programs_choose(bpf, options);
	if (err)
		return err;
	err = set_constants(bpf, options);
	if (err)
		return err;
	bpf->npossible = (unsigned)possible;
	err = size_maps(bpf, options, ntargets);
	if (err)
		return err;
	err = load(skeleton);
	if (err && modules_hidden(bpf)) {
		log_error(
			"not permitted to look at the types of kernel modules: before Linux 6.10, "
			"CAP_SYS_ADMIN is needed as well as CAP_BPF and CAP_PERFMON");
		return err;
	}
	if (err)
		return explain_load(err);
	if (options_job_rule(options)) {
		err = fill_variables(bpf, options_job_rule(options));
		if (err)
			return err;
	}
	for (size_t i = 0; i < ntargets; i++) {
		err = bpf_load_target(bpf, targets[i]);
		if (err)
			return err;
	}
	err = map_cpus(bpf, options->mode);
	if (err)
		return err;
	window_edge_watch(bpf->irqs, bpf->npossible);
	if (options->counters.n) {
		err = perf_events_open(&bpf->perf_events, &options->counters, topology,
				       bpf->npossible, bpf_map__fd(skeleton->maps.counter_events));
		if (err)
			return err;
	}
	err = map_sites(bpf);
	if (err)
		return err;
	err = add_rings(bpf, options, topology, rings);
	if (err)
		return err;
	if (options->verbose) {
		bpf->statistics_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
		if (bpf->statistics_fd < 0)
			log_debug("the kernel keeps no count of what programs cost: %s",
				  strerror(errno));
	}
	return 0;
}

int bpf_load_target(struct bpf_load *bpf, uint32_t pid)
{
	__u32 one = 1;

	if (!bpf_map_update_elem(bpf_map__fd(bpf->skeleton->maps.targets), &pid, &one, BPF_ANY))
		return 0;
	log_error("cannot name process %u to the kernel: %s", pid, strerror(errno));
	return -errno;
}

static int attach_iterators(struct bpf_load *bpf)
{
	const struct ovni *skeleton = bpf->skeleton;
	const bool summary = skeleton->rodata->settings.summary;
	int err;

	bpf->iterator = bpf_program__attach_iter(
		summary ? skeleton->progs.summary_read : skeleton->progs.iterate_tasks, NULL);
	if (!bpf->iterator)
		goto failed;
	if (!summary)
		return 0;
	bpf->marker = bpf_program__attach_iter(skeleton->progs.summary_find_tasks, NULL);
	if (bpf->marker)
		return 0;
failed:
	err = -errno;
	log_error("cannot read the tasks of the machine: %s", strerror(-err));
	return err;
}

int bpf_load_attach(struct bpf_load *bpf)
{
	struct bpf_link *link;
	int err;

	for (size_t i = 0; programs_name(i); i++) {
		struct bpf_program *program;

		program = bpf_object__find_program_by_name(bpf->skeleton->obj, programs_name(i));
		if (!programs_tracepoint(i) || !bpf_program__autoload(program))
			continue;
		link = bpf_program__attach(program);
		if (!link) {
			err = -errno;
			log_error("cannot attach to the tracepoint %s: %s", programs_tracepoint(i),
				  strerror(-err));
			return err;
		}
		bpf->link[bpf->nlinks++] = link;
	}
	log_info("%u programs attached", bpf->nlinks);
	return attach_iterators(bpf);
}

int bpf_load_attach_probes(struct bpf_load *bpf)
{
	struct bpf_program *programs[ATTACH_PROGRAMS];

	if (!bpf->attach)
		return 0;
	for (int p = 0; p < ATTACH_PROGRAMS; p++)
		programs[p] = bpf_object__find_program_by_name(bpf->skeleton->obj,
							       attach_program_names[p]);
	return attach_attach(bpf->attach, programs);
}

void bpf_load_start_probes(struct bpf_load *bpf)
{
	if (bpf->attach)
		__atomic_store_n(&bpf->skeleton->bss->probes_on, 1, __ATOMIC_RELEASE);
}

/* Programs run with preemption off, probes from their test of probes_on: none runs any more after a
 * grace period. */
void bpf_load_detach(struct bpf_load *bpf)
{
	if (!bpf->nlinks)
		return;
	__atomic_store_n(&bpf->skeleton->bss->probes_on, 0, __ATOMIC_RELEASE);
	while (bpf->nlinks > 0)
		bpf_link__destroy(bpf->link[--bpf->nlinks]);
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
		usleep(20000);
}

/* 0 or -errno after one message. */
static int choose_moment(const struct bpf_load *bpf, enum moment which, const __u64 *chosen,
			 uint64_t *clock)
{
	uint64_t args[1] = {which}, now;
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args, .ctx_size_in = sizeof(args));
	int err;

	if (bpf_prog_test_run_opts(bpf_program__fd(bpf->skeleton->progs.choose_moment), &opts)) {
		err = -errno;
		log_error("cannot %s the window of the recording: %s",
			  which == MOMENT_BEGIN ? "open" : "close", strerror(-err));
		return err;
	}
	*clock = __atomic_load_n(chosen, __ATOMIC_SEQ_CST);
	while ((now = clock_now()) <= *clock) {
		struct timespec wait = {.tv_nsec = (long)(*clock - now) + 1};

		nanosleep(&wait, NULL);
	}
	return 0;
}

/*
 * The programs compare our clock with the scheduler's where the recorder falls asleep. Before the
 * window opens they must have done so more than once: the time between the two readings is in the
 * difference.
 */
static void compare_clocks(const struct bpf_load *bpf)
{
	static const struct timespec a_moment = {.tv_nsec = TUNE_SLEEP_NS};
	const volatile __u64 *known = &bpf->skeleton->bss->sched_offset_clock;

	for (int i = 0; i < TUNE_SLEEPS_MAX && (i < TUNE_SLEEPS || !*known); i++)
		nanosleep(&a_moment, NULL);
	if (!*known)
		log_debug(
			"the scheduler's clock is not known: wake-ups are recorded at the switch");
}

const char *bpf_load_wakeup_clock(const struct bpf_load *bpf)
{
	if (!(bpf->kinds & 1u << EVENT_WAKE))
		return NULL;
	return bpf->wakeup_from_sched_info ? "scheduler" : "tracepoint";
}

int bpf_load_open_window(struct bpf_load *bpf, uint64_t *clock)
{
	if (bpf->wakeup_from_sched_info)
		compare_clocks(bpf);
	return choose_moment(bpf, MOMENT_BEGIN, &bpf->skeleton->data->window_begin, clock);
}

int bpf_load_close_window(struct bpf_load *bpf, uint64_t *clock)
{
	return choose_moment(bpf, MOMENT_END, &bpf->skeleton->data->window_end, clock);
}

uint32_t bpf_load_in_target(const struct bpf_load *bpf)
{
	return __atomic_load_n(&bpf->skeleton->bss->in_target, __ATOMIC_ACQUIRE);
}

uint32_t bpf_load_user_stacks(const struct bpf_load *bpf)
{
	return __atomic_load_n(&bpf->skeleton->bss->user_stacks_asked, __ATOMIC_ACQUIRE);
}

uint32_t bpf_load_user_stack_bytes(const struct bpf_load *bpf)
{
	return copies_stacks(bpf) ? USER_COPY_MAX : USER_STACK_MAX;
}

static int program_info(const struct bpf_program *program, struct bpf_prog_info *info)
{
	__u32 size = sizeof(*info);

	memset(info, 0, sizeof(*info));
	if (bpf_program__fd(program) < 0)
		return -ENOENT;
	return bpf_obj_get_info_by_fd(bpf_program__fd(program), info, &size);
}

uint64_t bpf_load_missed(const struct bpf_load *bpf)
{
	struct bpf_program *program;
	struct bpf_prog_info info;
	uint64_t missed = 0;

	if (!bpf->skeleton)
		return 0;
	bpf_object__for_each_program(program, bpf->skeleton->obj) if (!program_info(program, &info))
		missed += info.recursion_misses;
	return missed;
}

void bpf_load_report(const struct bpf_load *bpf)
{
	struct bpf_program *program;
	struct bpf_prog_info info;

	if (bpf->statistics_fd < 0)
		return;
	bpf_object__for_each_program(program, bpf->skeleton->obj)
	{
		if (program_info(program, &info) || !info.run_cnt)
			continue;
		log_info("program %-27s %10llu %-5s %5.0f ns each", bpf_program__name(program),
			 (unsigned long long)info.run_cnt, plural(info.run_cnt, "run,", "runs,"),
			 (double)info.run_time_ns / (double)info.run_cnt);
	}
}

void bpf_load_close(struct bpf_load *bpf)
{
	if (!bpf->skeleton)
		return;
	bpf_load_detach(bpf);
	bpf_link__destroy(bpf->iterator);
	bpf_link__destroy(bpf->marker);
	if (bpf->statistics_fd >= 0)
		close(bpf->statistics_fd);
	if (bpf->template_fd >= 0)
		close(bpf->template_fd);
	for (unsigned i = 0; i < bpf->nrings; i++)
		close(bpf->ring_fds[i]);
	free(bpf->ring_fds);
	if (bpf->cpus)
		munmap(bpf->cpus, bpf->npossible * sizeof(*bpf->cpus));
	perf_events_close(bpf->perf_events);
	window_edge_watch(NULL, 0);
	if (bpf->irqs)
		munmap(bpf->irqs, bpf->npossible * sizeof(*bpf->irqs));
	if (bpf->cpu_summaries)
		munmap(bpf->cpu_summaries, bpf->npossible * sizeof(*bpf->cpu_summaries));
	if (bpf->sites)
		munmap(bpf->sites, bpf->nsites * sizeof(*bpf->sites));
	ovni__destroy(bpf->skeleton);
	memset(bpf, 0, sizeof(*bpf));
}
