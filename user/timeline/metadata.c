/* SPDX-License-Identifier: MIT */
/* metadata: see metadata.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "user/timeline/probe_events.h"
#include "user/timeline/metadata.h"
#include "user/config/session_info.h"
#include "user/config/event_kinds.h"
#include "user/timeline/thread_names.h"
#include "user/probes/action.h"
#include "user/host/proc_info.h"
#include "trace/catalog/catalog.h"
#include "trace/base/json.h"
#include "trace/base/build_info.h"

#define OVNI_MODEL   "1.1.0" /* versions of the models, for ovni.require */
#define BPF_MODEL    "1.0.0"
#define KERNEL_MODEL "1.0.0"

static const char *const use_names[CPU_USES] = {
	[CPU_UNKNOWN] = "unknown",
	[CPU_IDLE] = "idle",
	[CPU_OTHER] = "other",
	[CPU_THREAD] = "thread",
};

/* Figures by their names; each is put in turn, and `ok` remembers if one failed. */
static void put_u64(struct json *node, const char *dotted, uint64_t value, bool *ok)
{
	*ok = *ok && json_put_u64(node, dotted, value);
}

static void put_int(struct json *node, const char *dotted, int64_t value, bool *ok)
{
	*ok = *ok && json_put_int(node, dotted, value);
}

static void put_text(struct json *node, const char *dotted, const char *value, bool *ok)
{
	if (value)
		*ok = *ok && json_put_string(node, dotted, value);
}

static void put_true(struct json *node, const char *dotted, bool value, bool *ok)
{
	if (value)
		*ok = *ok && json_put_bool(node, dotted, true);
}

static struct json *put_object(struct json *node, const char *dotted, bool *ok)
{
	struct json *object = *ok ? json_put_object(node, dotted) : NULL;

	*ok = *ok && object;
	return object;
}

static struct json *put_array(struct json *node, const char *dotted, bool *ok)
{
	struct json *array = *ok ? json_put_array(node, dotted) : NULL;

	*ok = *ok && array;
	return array;
}

static struct json *put_mark_type(struct json *ovni, int32_t type, const char *title, bool single,
				  bool *ok)
{
	char path[32];
	struct json *mark;

	snprintf(path, sizeof(path), "mark.%d", type);
	mark = put_object(ovni, path, ok);
	put_text(mark, "title", title, ok);
	put_text(mark, "chan_type", single ? "single" : "stack", ok);
	return mark;
}

/* The marks and models of the probes that the stream has. A type stands before its labels. */
static void put_declared(struct json *ovni, const struct description *d, bool *ok)
{
	struct json *mark = NULL, *labels = NULL;
	const struct declaration *type = NULL;
	char key[32];

	for (size_t i = 0; *ok && i < d->actions->ndeclarations; i++) {
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
			put_text(ovni, key, model ? model->version : "", ok);
			continue;
		}
		if (!mark && type)
			mark = put_mark_type(ovni, type->type, type->title, type->single, ok);
		if (!of->label)
			continue;
		if (!labels)
			labels = put_object(mark, "labels", ok);
		snprintf(key, sizeof(key), "%" PRId64, of->value);
		*ok = *ok && json_add_string(labels, key, of->label);
	}
}

/* The metadata that the models of ovni need. */
static void put_ovni(struct json *doc, const struct description *d, bool *ok)
{
	struct json *ovni = put_object(doc, "ovni", ok);

	put_text(ovni, "lib.version", version_string, ok);
	put_text(ovni, "lib.commit", version_commit, ok);
	put_text(ovni, "part", "thread", ok);
	put_int(ovni, "tid", d->tid, ok);
	put_int(ovni, "pid", d->pid, ok);
	put_text(ovni, "loom", d->loom, ok);
	put_int(ovni, "app_id", 1, ok);
	put_text(ovni, "require.ovni", OVNI_MODEL, ok);
	put_text(ovni, "require.bpf", BPF_MODEL, ok);
	if (d->kernel_model)
		put_text(ovni, "require.kernel", KERNEL_MODEL, ok);
	if (d->cpus) {
		struct json *cpus = put_array(ovni, "loom_cpus", ok);

		for (unsigned i = 0; *ok && i < d->ncpus; i++) {
			struct json *cpu = put_object(cpus, NULL, ok);

			put_int(cpu, "index", i, ok);
			put_int(cpu, "phyid", d->cpus[i], ok);
		}
	}
	if (d->cpus && d->rank >= 0) {
		put_int(ovni, "rank", d->rank, ok);
		put_int(ovni, "nranks", d->nranks, ok);
	}
	if (d->marks)
		put_mark_type(ovni, MARK_LOST, "Events lost", false, ok);
	if (d->declared)
		put_declared(ovni, d, ok);
	if (d->finished)
		put_int(ovni, "finished", 1, ok);
}

/* As the parent sees it: the status that the program returned, or the signal that ended it. */
static void put_exit(struct json *bpf, const char *dotted, uint32_t code, bool *ok)
{
	struct json *exit = put_object(bpf, dotted, ok);

	if (WIFSIGNALED((int)code)) {
		put_int(exit, "signal", WTERMSIG((int)code), ok);
		put_true(exit, "core", WCOREDUMP((int)code), ok);
	} else {
		put_int(exit, "status", WEXITSTATUS((int)code), ok);
	}
}

static void put_names(struct json *bpf, const struct description *d, bool *ok)
{
	struct json *list;

	if (!d->nnames)
		return;
	put_text(bpf, "name", d->names[d->nnames - 1].name, ok);
	if (d->nnames == 1)
		return;
	list = put_array(bpf, "renames", ok);
	for (uint32_t i = 0; *ok && i < d->nnames; i++) {
		struct json *change = put_object(list, NULL, ok);

		put_u64(change, "clock", d->names[i].clock, ok);
		put_text(change, "name", d->names[i].name, ok);
	}
	if (d->nnames_more)
		put_int(bpf, "renames_more", d->nnames_more, ok);
}

static void put_thread(struct json *bpf, const struct description *d, bool *ok)
{
	put_names(bpf, d, ok);
	put_true(bpf, "kernel_thread", d->kthread, ok);
	if (d->exited)
		put_exit(bpf, "exit", d->exit_code, ok);
	put_u64(bpf, "events", d->events, ok);
	put_u64(bpf, "repairs", d->repairs, ok);
}

static void put_kind(struct json *cpu, unsigned kind, const struct facts_kind *figures, bool *ok)
{
	struct json *node = put_object(cpu, kind_names[kind], ok);

	put_u64(node, "seen", figures->seen, ok);
	put_u64(node, "written", figures->written, ok);
	put_u64(node, "filtered", figures->filtered, ok);
	put_u64(node, "sampled", figures->sampled, ok);
	put_u64(node, "lost", figures->full + figures->user, ok);
	if (figures->user)
		put_u64(node, "lost_user", figures->user, ok);
	if (figures->aged)
		put_u64(node, "aged", figures->aged, ok);
}

/* The account of the kernel side, by CPU and kind. */
static void put_account(struct json *session, const struct facts *facts, bool *ok)
{
	struct json *list = put_array(session, "account", ok);

	for (size_t i = 0; *ok && i < facts->ncpus; i++) {
		const struct facts_cpu *from = &facts->cpus[i];
		struct json *cpu = put_object(list, NULL, ok);

		put_int(cpu, "cpu", from->cpu, ok);
		for (unsigned kind = 0; kind < EVENT_KINDS; kind++)
			if (facts->kinds & 1u << kind)
				put_kind(cpu, kind, &from->kinds[kind], ok);
		put_u64(cpu, "missed", from->missed, ok);
	}
}

/* The times and the repairs of each CPU. */
static void put_cpus(struct json *session, const struct session *s, bool *ok)
{
	struct json *list = put_array(session, "cpus", ok);

	for (size_t i = 0; *ok && i < s->ncpus; i++) {
		const struct timeline_cpu *from = &s->cpus[i];
		struct json *cpu = put_object(list, NULL, ok), *ns;

		put_int(cpu, "cpu", from->cpu, ok);
		put_int(cpu, "index", from->index, ok);
		ns = put_object(cpu, "ns", ok);
		for (int use = 0; use < CPU_USES; use++)
			put_u64(ns, use_names[use], from->ns[use], ok);
		put_u64(cpu, "records", from->records, ok);
		put_u64(cpu, "repairs", from->repairs, ok);
		put_u64(cpu, "lost", from->lost, ok);
	}
}

static void put_counts(struct json *session, const struct timeline_counts *counts, bool *ok)
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
	struct json *node = put_object(session, "counts", ok);

	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		put_u64(node, figures[i].key, figures[i].value, ok);
}

/* The probed sites and their calls. */
static void put_calls(struct json *session, const struct calls *calls, bool *ok)
{
	struct json *list = put_array(session, "probes.sites", ok);

	for (size_t i = 0; *ok && i < calls->plan->actions->count; i++) {
		const struct call_figures *from = &calls->figures[i];
		const struct site *of = &calls->plan->sites[i];
		struct json *site;

		if (!from->calls)
			continue;
		site = put_object(list, NULL, ok);
		put_text(site, "label", of->label, ok);
		put_text(site, "binary", of->binary, ok);
		put_u64(site, "offset", of->offset, ok);
		put_u64(site, "calls", from->calls, ok);
		if (of->kind != SITE_FUNCTION)
			continue;
		put_u64(site, "wall_ns", from->wall_ns, ok);
		put_u64(site, "on_cpu_ns", from->on_cpu_ns, ok);
		put_u64(site, "left", from->left, ok);
	}
	put_int(session, "probes.attached", (int64_t)calls->plan->actions->count, ok);
	put_u64(session, "probes.unmatched_returns", calls->counts.unmatched, ok);
	put_u64(session, "probes.values_unread", calls->counts.valueless, ok);
	put_u64(session, "probes.too_deep", calls->counts.stacks.too_deep, ok);
	put_u64(session, "probes.equal", calls->counts.stacks.equal, ok);
}

/* Kinds of events by their names. */
static void put_kinds(struct json *session, const char *key, uint32_t kinds, bool *ok)
{
	struct json *list = put_array(session, key, ok);

	for (unsigned kind = 0; *ok && kind < EVENT_OTHER; kind++)
		if (kinds & 1u << kind)
			put_text(list, NULL, kind_names[kind], ok);
}

static void put_session(struct json *bpf, const struct session *s, bool *ok)
{
	const struct facts *facts = s->facts;
	struct json *session = put_object(bpf, "session", ok);

	put_text(session, "version", version_string, ok);
	put_text(session, "commit", version_commit, ok);
	put_text(session, "kernel", facts->kernel, ok);
	put_text(session, "machine", facts->machine, ok);
	if (facts->argv) {
		struct json *options = put_array(session, "options", ok);

		for (const char *const *arg = facts->argv; *ok && *arg; arg++)
			put_text(options, NULL, *arg, ok);
	}
	put_text(session, "mode", facts->mode, ok);
	put_text(session, "sampling", facts->sampling, ok);
	put_kinds(session, "kinds", facts->kinds, ok);
	put_kinds(session, "kinds_off", ~facts->kinds, ok);
	put_u64(session, "buffer_bytes", facts->buffer_bytes, ok);
	put_text(session, "on_full", facts->on_full, ok);
	if (facts->part)
		put_int(session, "part", facts->part, ok);
	put_true(session, "yields_unknown", facts->yields_unknown, ok);
	put_true(session, "interrupts_unknown", facts->interrupts_unknown, ok);
	put_text(session, "wakeup_clock", facts->wakeup_clock, ok);
	put_u64(session, "t0", s->t0, ok);
	if (!s->closed || !*ok)
		return;
	put_u64(session, "t1", s->t1, ok);
	put_text(session, "stopped_by", facts->stopped_by, ok);
	put_text(session, "trigger", facts->trigger, ok);
	if (facts->command_status >= 0)
		put_exit(session, "command", (uint32_t)facts->command_status, ok);
	if (facts->lost != FACTS_UNKNOWN)
		put_u64(session, "lost", facts->lost, ok);
	put_counts(session, &s->counts, ok);
	put_account(session, facts, ok);
	if (s->calls)
		put_calls(session, s->calls, ok);
	put_cpus(session, s, ok);
	*ok = *ok && !names_put(s->names, put_object(bpf, "names", ok));
}

/* Without the life of the runtime's threads there is no breakdown of nOS-V, which every stream of a
 * trace has to say if one of them has events of its model. */
static void put_nosv(struct json *doc, const struct actions *actions, bool *ok)
{
	for (size_t i = 0; actions && i < actions->ndeclarations; i++) {
		if (actions->declarations[i].model != 'V')
			continue;
		*ok = *ok && json_put_bool(doc, "nosv.can_breakdown", false);
		return;
	}
}

struct json *describe_stream(const struct description *d)
{
	struct json *doc = json_new_object(), *bpf;
	bool ok = doc;

	put_int(doc, "version", 3, &ok);
	put_ovni(doc, d, &ok);
	put_nosv(doc, d->actions, &ok);
	bpf = put_object(doc, "bpf", &ok);
	put_thread(bpf, d, &ok);
	if (d->cpus && d->parent_pid)
		put_int(bpf, "parent", d->parent_pid, &ok);
	if (d->facts)
		ok = ok && !process_put(d->facts, d->own, bpf);
	if (d->session)
		put_session(bpf, d->session, &ok);
	if (ok)
		return doc;
	json_free(doc);
	return NULL;
}
