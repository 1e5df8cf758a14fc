/* SPDX-License-Identifier: MIT */
/* metadata: see metadata.h. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "user/timeline/fd_names.h"
#include "user/timeline/lock_names.h"
#include "user/timeline/probe_events.h"
#include "user/timeline/metadata.h"
#include "user/timeline/sleep_stacks.h"
#include "user/config/irq_names.h"
#include "user/config/perf_events.h"
#include "user/config/session_info.h"
#include "user/config/config.h"
#include "user/timeline/thread_names.h"
#include "user/probes/action.h"
#include "user/host/clock.h"
#include "user/host/proc_info.h"
#include "user/host/read_file.h"
#include "trace/catalog/catalog.h"
#include "trace/base/json.h"
#include "trace/base/build_info.h"

#define PARTITIONS_MAX (1 << 20) /* bytes: some 20,000 devices */

#define OVNI_MODEL   "1.1.0" /* versions of the models, for ovni.require */
#define BPF_MODEL    "1.0.0"
#define KERNEL_MODEL "1.0.0"

#define PAIR_IS_OLD 1000000000 /* ns before the window */

static const char *const use_names[CPU_USES] = {
	[CPU_UNKNOWN] = "unknown",
	[CPU_IDLE] = "idle",
	[CPU_OTHER] = "other",
	[CPU_THREAD] = "thread",
};

/* Lack of memory leaves the document without a text (json.h): no step is checked. */

static void put_true(struct json *node, const char *dotted, bool value)
{
	if (value)
		json_put_bool(node, dotted, true);
}

static struct json *put_mark_type(struct json *ovni, int32_t type, const char *title, bool single)
{
	char path[32];
	struct json *mark;

	snprintf(path, sizeof(path), "mark.%d", type);
	mark = json_put_object(ovni, path);
	json_put_string(mark, "title", title);
	json_put_string(mark, "chan_type", single ? "single" : "stack");
	return mark;
}

/* The marks and models of the probes that the stream has. A type precedes its labels. */
static void put_declared(struct json *ovni, const struct description *d)
{
	struct json *mark = NULL, *labels = NULL;
	const struct declaration *type = NULL;
	char key[32];

	for (size_t i = 0; i < d->actions->ndeclarations; i++) {
		const struct declaration *of = &d->actions->declarations[i];

		if (!of->model && of->title) {
			type = of;
			mark = labels = NULL;
		}
		if (!(d->declared[i / 64] & 1ull << i % 64))
			continue;
		if (of->model) {
			const struct catalog_model *model = catalog_model(of->model);

			snprintf(key, sizeof(key), "require.%s", model ? model->name : "");
			json_put_string(ovni, key, model ? model->version : "");
			continue;
		}
		if (!mark && type)
			mark = put_mark_type(ovni, type->type, type->title, type->single);
		if (!of->label)
			continue;
		if (!labels)
			labels = json_put_object(mark, "labels");
		snprintf(key, sizeof(key), "%" PRId64, of->value);
		json_add_string(labels, key, of->label);
	}
}

/* Labels of a single mark for the values below `n` whose bits are set. */
static void put_priority_type(struct json *ovni, const struct description *d, int32_t type,
			      const char *title, const uint64_t *bits, unsigned n)
{
	struct json *labels = NULL, *mark = put_mark_type(ovni, type, title, true);
	char key[16], text[CPU_SETS_TEXT];

	for (unsigned value = 1; value < n; value++) {
		if (!(bits[value / 64] & 1ull << value % 64))
			continue;
		if (type == MARK_ALLOWED_CPUS)
			cpu_sets_text(d->cpu_sets, (uint16_t)value, text);
		else if (!priority_text(value, text))
			continue;
		if (!labels)
			labels = json_put_object(mark, "labels");
		snprintf(key, sizeof(key), "%u", value);
		json_add_string(labels, key, text);
	}
}

static void put_irqs(struct json *ovni, const struct description *d)
{
	struct json *labels = NULL;
	char key[16], *name;

	for (unsigned kind = 0; kind < IRQ_KINDS; kind++) {
		if (!(d->irqs[kind / 64] & 1ull << kind % 64))
			continue;
		if (!labels)
			labels = json_put_object(
				put_mark_type(ovni, MARK_INTERRUPT, "Interrupt", false), "labels");
		snprintf(key, sizeof(key), "%u", kind + 1);
		name = irq_name(kind, d->irq_names);
		json_add_string(labels, key, name ? name : "?");
		free(name);
	}
}

static void put_priorities(struct json *ovni, const struct description *d)
{
	put_priority_type(ovni, d, MARK_PRIORITY, MARK_PRIORITY_TITLE, d->priorities->priorities,
			  PRIORITY_MAX + 1);
	put_priority_type(ovni, d, MARK_ALLOWED_CPUS, MARK_ALLOWED_CPUS_TITLE, d->priorities->sets,
			  CPU_SETS_NUMBERS);
}

/* The metadata that the models of ovni need. */
static void put_ovni(struct json *doc, const struct description *d)
{
	struct json *ovni = json_put_object(doc, "ovni");

	json_put_string(ovni, "lib.version", version_string);
	json_put_string(ovni, "lib.commit", version_commit);
	json_put_string(ovni, "part", "thread");
	json_put_int(ovni, "tid", d->tid);
	json_put_int(ovni, "pid", d->pid);
	json_put_string(ovni, "loom", d->loom);
	json_put_int(ovni, "app_id", d->app_id);
	json_put_string(ovni, "require.ovni", OVNI_MODEL);
	json_put_string(ovni, "require.bpf", BPF_MODEL);
	if (d->kernel_model)
		json_put_string(ovni, "require.kernel", KERNEL_MODEL);
	if (d->cpus) {
		struct json *cpus = json_put_array(ovni, "loom_cpus");

		for (unsigned i = 0; i < d->ncpus; i++) {
			struct json *cpu = json_put_object(cpus, NULL);

			json_put_int(cpu, "index", i);
			json_put_int(cpu, "phyid", d->cpus[i]);
		}
	}
	if (d->cpus && d->rank >= 0) {
		json_put_int(ovni, "rank", d->rank);
		json_put_int(ovni, "nranks", d->nranks);
	}
	if (d->counters)
		json_put_string(ovni, "require.nosv", catalog_model('V')->version);
	if (d->marks)
		put_mark_type(ovni, MARK_LOST, "Events lost", false);
	if (d->priorities)
		put_priorities(ovni, d);
	put_irqs(ovni, d);
	if (d->declared)
		put_declared(ovni, d);
	if (d->finished)
		json_put_int(ovni, "finished", 1);
}

/* As the parent sees it: the status that the program returned, or the signal that ended it. */
static void put_exit(struct json *bpf, const char *dotted, uint32_t code)
{
	struct json *exit = json_put_object(bpf, dotted);

	if (WIFSIGNALED((int)code)) {
		json_put_int(exit, "signal", WTERMSIG((int)code));
		put_true(exit, "core", WCOREDUMP((int)code));
	} else {
		json_put_int(exit, "status", WEXITSTATUS((int)code));
	}
}

static void put_names(struct json *bpf, const struct description *d)
{
	struct json *list;

	if (!d->nnames)
		return;
	json_put_string(bpf, "name", d->names[d->nnames - 1].name);
	if (d->nnames == 1)
		return;
	list = json_put_array(bpf, "renames");
	for (uint32_t i = 0; i < d->nnames; i++) {
		struct json *change = json_put_object(list, NULL);

		json_put_u64(change, "clock", clock_in_trace(d->names[i].clock));
		json_put_string(change, "name", d->names[i].name);
	}
	if (d->nnames_more)
		json_put_int(bpf, "renames_more", d->nnames_more);
}

static void put_thread(struct json *bpf, const struct description *d)
{
	put_names(bpf, d);
	put_true(bpf, "kernel_thread", d->kthread);
	json_put_string(bpf, "cgroup", d->cgroup);
	fd_names_put(d->fds, bpf);
	lock_names_put(d->locks, bpf);
	if (d->exited)
		put_exit(bpf, "exit", d->exit_code);
	json_put_u64(bpf, "events", d->events);
	json_put_u64(bpf, "repairs", d->repairs);
	if (!d->finished)
		return;
	json_put_u64(bpf, "bytes", d->bytes);
	json_put_u64(bpf, "first", d->first);
	json_put_u64(bpf, "last", clock_in_trace(d->last));
}

static void put_kind(struct json *cpu, unsigned kind, const struct event_count *figures)
{
	struct json *node = json_put_object(cpu, event_kind_names[kind]);

	json_put_u64(node, "seen", figures->seen);
	json_put_u64(node, "written", figures->written);
	json_put_u64(node, "filtered", figures->filtered);
	json_put_u64(node, "sampled", figures->sampled);
	json_put_u64(node, "lost", figures->full + figures->user);
	if (figures->user)
		json_put_u64(node, "lost_user", figures->user);
	if (figures->aged)
		json_put_u64(node, "aged", figures->aged);
}

/* The event counts, by CPU and kind. */
static void put_account(struct json *session, const struct session_info *info)
{
	struct json *list = json_put_array(session, "account");

	for (size_t i = 0; i < info->ncpus; i++) {
		const struct cpu_event_counts *from = &info->cpus[i];
		struct json *cpu = json_put_object(list, NULL);

		json_put_int(cpu, "cpu", from->cpu);
		for (unsigned kind = 0; kind < EVENT_KINDS; kind++)
			if (info->kinds & 1u << kind)
				put_kind(cpu, kind, &from->kinds[kind]);
		json_put_u64(cpu, "missed", from->missed);
	}
}

/* The time for which each counter was wanted, and for which it had a register, of all CPUs, ns. */
static void put_counters(struct json *session, const struct session_info *info)
{
	struct json *list = json_put_array(session, "counters");

	for (unsigned i = 0; i < info->counters->n; i++) {
		struct json *counter = json_put_object(list, NULL);
		uint64_t enabled, running;

		json_put_string(counter, "name", info->counters->list[i].name);
		if (!info->perf_events ||
		    !perf_events_times(info->perf_events, i, &enabled, &running))
			continue;
		json_put_u64(counter, "enabled", enabled);
		json_put_u64(counter, "running", running);
	}
}

/* The names of the block devices, by major and minor number: the lines of /proc/partitions behind
 * its head, "   8        1  104857600 sda1". */
static void put_devices(struct json *session, const char *proc)
{
	struct json *list = json_put_object(session, "devices");
	char path[64], number[32], name[64];
	unsigned major, minor;
	char *text, *line, *next;
	size_t size;

	snprintf(path, sizeof(path), "%s/partitions", proc);
	text = read_file(AT_FDCWD, path, 0, PARTITIONS_MAX, &size);
	for (line = text; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		if (sscanf(line, "%u %u %*u %63s", &major, &minor, name) != 3)
			continue;
		snprintf(number, sizeof(number), "%u:%u", major, minor);
		json_put_string(list, number, name);
	}
	free(text);
}

/* The times and the repairs of each CPU. */
static void put_cpus(struct json *session, const struct session *s)
{
	struct json *list = json_put_array(session, "cpus");
	char *names = s->info->begin.irqs && s->info->proc ? irq_names_read(s->info->proc) : NULL;

	for (size_t i = 0; i < s->ncpus; i++) {
		const struct timeline_cpu *from = &s->cpus[i];
		struct json *cpu = json_put_object(list, NULL), *ns;
		uint64_t stolen;

		json_put_int(cpu, "cpu", from->cpu);
		json_put_int(cpu, "index", from->index);
		ns = json_put_object(cpu, "ns");
		for (int use = 0; use < CPU_USES; use++)
			json_put_u64(ns, use_names[use], from->ns[use]);
		stolen = window_edge_stolen(&s->info->begin, &s->info->end, from->cpu);
		if (stolen != STEAL_UNKNOWN)
			json_put_u64(cpu, "steal", stolen);
		irq_names_put(cpu, &s->info->begin, &s->info->end, from->cpu, names);
		json_put_u64(cpu, "records", from->records);
		json_put_u64(cpu, "repairs", from->repairs);
		json_put_u64(cpu, "lost", from->lost);
	}
	free(names);
}

static void put_counts(struct json *session, const struct timeline_counts *counts)
{
	const struct {
		const char *key;
		uint64_t value;
	} figures[] = {
		{"records", counts->records},
		{"events", counts->events},
		{"switches", counts->switches},
		{"wakeups", counts->wakeups},
		{"preemptions", counts->preemptions},
		{"migrations", counts->migrations},
		{"repairs", counts->repairs},
		{"ties", counts->ties},
		{"late", counts->late},
		{"outside", counts->outside},
	};
	struct json *node = json_put_object(session, "counts");

	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		json_put_u64(node, figures[i].key, figures[i].value);
}

/* The probed sites and their calls. */
static void put_calls(struct json *session, const struct calls *calls)
{
	struct json *list = json_put_array(session, "probes.sites");

	for (size_t i = 0; i < calls->plan->actions->count; i++) {
		const struct call_figures *from = &calls->figures[i];
		const struct site *of = &calls->plan->sites[i];
		struct json *site;

		if (!from->calls)
			continue;
		site = json_put_object(list, NULL);
		json_put_string(site, "label", of->label);
		json_put_string(site, "binary", of->binary);
		json_put_u64(site, "offset", of->offset);
		json_put_u64(site, "calls", from->calls);
		if (of->kind != SITE_FUNCTION)
			continue;
		json_put_u64(site, "wall_ns", from->wall_ns);
		json_put_u64(site, "on_cpu_ns", from->on_cpu_ns);
		json_put_u64(site, "left", from->left);
	}
	json_put_int(session, "probes.attached", (int64_t)calls->plan->actions->count);
	json_put_u64(session, "probes.unmatched_returns", calls->counts.unmatched);
	json_put_u64(session, "probes.values_unread", calls->counts.valueless);
	json_put_u64(session, "probes.too_deep", calls->counts.stacks.too_deep);
	json_put_u64(session, "probes.equal", calls->counts.stacks.equal);
}

/* Kinds of events by their names. */
static void put_kinds(struct json *session, const char *key, uint32_t kinds)
{
	struct json *list = json_put_array(session, key);

	for (unsigned kind = 0; kind < EVENT_OTHER; kind++)
		if (kinds & 1u << kind)
			json_put_string(list, NULL, event_kind_names[kind]);
}

static void put_pair(struct json *realtime, const char *key, const struct window_edge *edge,
		     uint64_t clock)
{
	struct json *pair = json_put_object(realtime, key);

	json_put_u64(pair, "clock", clock_in_trace(clock));
	json_put_i64(pair, "ns", window_edge_realtime(edge, clock));
}

/* The time of day at both ends of the window. */
static void put_realtime(struct json *session, const struct session *s)
{
	const struct window_edge *begin = &s->info->begin, *end = &s->info->end;
	uint64_t error_ns = begin->error_ns;
	bool ended = s->closed && end->clock;
	int64_t step = ended ? window_edge_step(begin, end) : 0;
	struct json *realtime;

	if (!begin->clock)
		return;
	/* The window of a flight recorder begins long after the session: the clock was set before
	 */
	if (step && begin->clock + PAIR_IS_OLD < s->t0)
		begin = end;
	realtime = json_put_object(session, "realtime");
	put_pair(realtime, "begin", begin, s->t0);
	if (ended) {
		put_pair(realtime, "end", end, s->t1);
		error_ns = end->error_ns > error_ns ? end->error_ns : error_ns;
	}
	if (step)
		json_put_i64(realtime, "step_ns", step);
	json_put_u64(realtime, "error_ns", error_ns);
	json_put_int(realtime, "utc_offset", begin->utc_offset);
}

/* The stacks of long sleeps; how many only at the end. */
static void put_stacks(struct json *session, const struct session *s)
{
	struct json *stacks = json_put_object(session, "stacks");
	uint64_t unknown;

	json_put_u64(stacks, "limit_ns", s->info->stack_ns);
	json_put_bool(stacks, "names", s->info->symbols != NULL);
	if (s->info->user_stacks) {
		json_put_bool(stacks, "user", true);
		json_put_u64(stacks, "user_bytes", s->info->user_stack_bytes);
	}
	if (s->info->wakers)
		json_put_bool(stacks, "wakers", true);
	if (s->info->preempted)
		json_put_bool(stacks, "preempted", true);
	if (!s->closed || !s->stacks)
		return;
	if (s->info->user_stacks) {
		json_put_u64(stacks, "user_sleeps", sleep_stacks_user(s->stacks, &unknown));
		json_put_u64(stacks, "user_unknown", unknown);
	}
	json_put_u64(stacks, "sleeps", s->counts.stacks);
	if (s->info->preempted)
		json_put_u64(stacks, "waits", s->counts.wait_stacks);
	if (s->info->wakers)
		json_put_u64(stacks, "woken", sleep_stacks_wakers(s->stacks));
	json_put_u64(stacks, "different", sleep_stacks_different(s->stacks));
	if (s->info->stacks_left_out != SESSION_UNKNOWN)
		json_put_u64(stacks, "left_out", s->info->stacks_left_out);
}

/* The long interrupts; how many only at the end. */
static void put_long_irqs(struct json *session, const struct session *s)
{
	struct json *irqs = json_put_object(session, "interrupts");
	uint64_t without_space = s->info->irqs_left_out;

	json_put_u64(irqs, "limit_ns", s->info->irq_ns);
	if (!s->closed)
		return;
	json_put_u64(irqs, "marks", s->counts.irq_marks);
	if (without_space != SESSION_UNKNOWN)
		json_put_u64(irqs, "left_out", without_space + s->counts.irqs_left_out);
}

static void put_session(struct json *bpf, const struct session *s)
{
	const struct session_info *info = s->info;
	struct json *session = json_put_object(bpf, "session");

	json_put_string(session, "version", version_string);
	json_put_string(session, "commit", version_commit);
	json_put_string(session, "kernel", info->kernel);
	json_put_string(session, "machine", info->machine);
	if (info->argv) {
		struct json *options = json_put_array(session, "options");

		for (const char *const *arg = info->argv; *arg; arg++)
			json_put_string(options, NULL, *arg);
	}
	json_put_string(session, "mode", info->mode);
	json_put_string(session, "sampling", info->sampling);
	put_kinds(session, "kinds", info->kinds);
	put_kinds(session, "kinds_off", ~info->kinds);
	json_put_u64(session, "buffer_bytes", info->buffer_bytes);
	json_put_string(session, "on_full", info->on_full);
	if (info->part)
		json_put_int(session, "part", info->part);
	put_true(session, "yields_unknown", info->yields_unknown);
	put_true(session, "interrupts_unknown", info->interrupts_unknown);
	put_true(session, "calls", info->calls);
	put_true(session, "locks", info->locks);
	put_true(session, "irq", info->irq);
	if (info->irq_ns)
		put_long_irqs(session, s);
	put_true(session, "io", info->io);
	if (info->io && info->proc)
		put_devices(session, info->proc);
	put_true(session, "priorities", info->priorities);
	if (info->stack_ns)
		put_stacks(session, s);
	put_true(session, "throttled_partly", info->throttled_partly);
	json_put_bool(session, "idle_known", info->idle_known);
	json_put_string(session, "wakeup_clock", info->wakeup_clock);
	json_put_string(session, "boot_id", info->boot_id);
	put_realtime(session, s);
	json_put_u64(session, "t0", clock_in_trace(s->t0));
	if (clock_namespace_ns)
		json_put_i64(session, "monotonic_offset", clock_namespace_ns);
	if (!s->closed)
		return;
	json_put_u64(session, "t1", clock_in_trace(s->t1));
	json_put_string(session, "stopped_by", info->stopped_by);
	json_put_string(session, "trigger", info->trigger);
	if (info->command_status >= 0)
		put_exit(session, "command", (uint32_t)info->command_status);
	if (info->lost != SESSION_UNKNOWN)
		json_put_u64(session, "lost", info->lost);
	json_put_u64(session, "streams", s->streams);
	put_true(session, "stats", info->stats);
	put_counts(session, &s->counts);
	put_account(session, info);
	if (s->calls)
		put_calls(session, s->calls);
	if (info->counters)
		put_counters(session, info);
	put_cpus(session, s);
	names_put(s->names, json_put_object(bpf, "names"));
}

static bool has_nosv_events(const struct actions *actions)
{
	for (size_t i = 0; actions && i < actions->ndeclarations; i++)
		if (actions->declarations[i].model == 'V')
			return true;
	return false;
}

/* The counters, by the numbers that VWC has them. And without the life of the runtime's threads
 * there is no breakdown of nOS-V, which every stream of a trace has to say if one of them has
 * events of its model. */
static void put_nosv(struct json *doc, const struct description *d)
{
	char key[32];

	if (has_nosv_events(d->actions) || d->counters)
		json_put_bool(doc, "nosv.can_breakdown", false);
	for (unsigned i = 0; d->counters && i < d->counters->n; i++) {
		snprintf(key, sizeof(key), "nosv.hwc.%u.name", i);
		json_put_string(doc, key, d->counters->list[i].name);
	}
}

struct json *describe_stream(const struct description *d)
{
	struct json *doc = json_new_object(), *bpf;

	json_put_int(doc, "version", 3);
	put_ovni(doc, d);
	put_nosv(doc, d);
	bpf = json_put_object(doc, "bpf");
	put_thread(bpf, d);
	if (d->counters)
		json_put_bool(bpf, "counters", true);
	if (d->cpus && d->parent_pid)
		json_put_int(bpf, "parent", d->parent_pid);
	if (d->info)
		process_put(d->info, d->own, bpf);
	if (d->session)
		put_session(bpf, d->session);
	if (d->session && d->session->closed && d->session->stacks)
		json_put_u64(bpf, "stacks_bytes", sleep_stacks_bytes(d->session->stacks));
	return doc;
}
