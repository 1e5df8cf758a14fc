/* SPDX-License-Identifier: MIT */
#include "tools/export/subjects.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/log.h"
#include "trace/base/text.h"

#define COMMAND_MOST 64 /* arguments that are kept */

/* ---- CPUs ---- */

static struct hash_key cpu_key(uint32_t loom, int32_t index)
{
	return (struct hash_key){.a = (uint32_t)index, .b = loom};
}

static uint32_t add_cpu(struct subjects *s, uint32_t loom, int32_t index, int32_t number)
{
	uint32_t *at = hash_at(&s->by_cpu, cpu_key(loom, index));
	struct subject_cpu *cpu;

	if (!at)
		return NO_SUBJECT;
	if (*at != HASH_NONE)
		return *at;
	cpu = ARRAY_ADD(s->cpus, s->ncpus);
	if (!cpu)
		return NO_SUBJECT;
	*cpu = (struct subject_cpu){loom, index, number, true};
	return *at = (uint32_t)(s->ncpus - 1);
}

uint32_t subjects_cpu(struct subjects *s, uint32_t loom, int32_t index)
{
	return add_cpu(s, loom, index, index);
}

static int read_cpus(struct subjects *s, uint32_t loom, const struct json *list)
{
	for (const struct json *cpu = json_first(list); cpu; cpu = json_next(cpu)) {
		int64_t index = json_int(json_key(cpu, "index"));
		int64_t number = json_int(json_key(cpu, "phyid"));

		if (index < 0 || index > INT32_MAX || number < 0 || number > INT32_MAX)
			continue; /* no run is on it */
		if (add_cpu(s, loom, (int32_t)index, (int32_t)number) == NO_SUBJECT)
			return -ENOMEM;
	}
	return 0;
}

/* ---- sessions ---- */

/* Whether a CPU had other threads than those of the trace. */
static int read_cpu_times(struct subjects *s, uint32_t loom, const struct json *list)
{
	for (const struct json *cpu = json_first(list); cpu; cpu = json_next(cpu)) {
		int64_t index = json_int(json_key(cpu, "index"));
		int64_t number = json_int(json_key(cpu, "cpu"));
		uint64_t other;
		uint32_t at;

		if (index < 0 || index > INT32_MAX || number < 0 || number > INT32_MAX ||
		    !json_u64(json_get(cpu, "ns.other"), &other))
			continue;
		at = add_cpu(s, loom, (int32_t)index, (int32_t)number);
		if (at == NO_SUBJECT)
			return -ENOMEM;
		s->cpus[at].idle_known = other == 0;
	}
	return 0;
}

static int read_session(struct subjects *s, uint32_t stream, uint32_t loom,
			const struct json *session)
{
	const struct trace *trace = &s->source->trace;
	struct subject_loom *l = &s->looms[loom];
	const char *kernel = json_string(json_key(session, "kernel"));
	const char *machine = json_string(json_key(session, "machine"));
	uint64_t t0, t1, lost;

	if (!json_is_object(session))
		return 0;
	if (json_u64(json_key(session, "t0"), &t0) && t0 <= INT64_MAX &&
	    trace_clock(trace, stream, (int64_t)t0) < s->t0)
		s->t0 = trace_clock(trace, stream, (int64_t)t0);
	if (json_u64(json_key(session, "t1"), &t1) && t1 <= INT64_MAX &&
	    trace_clock(trace, stream, (int64_t)t1) > s->t1)
		s->t1 = trace_clock(trace, stream, (int64_t)t1);
	if (json_u64(json_key(session, "lost"), &lost) && lost <= INT64_MAX - l->lost)
		l->lost += lost;
	if (kernel && !l->kernel) {
		l->kernel = text_escaped(kernel);
		if (!l->kernel)
			return -ENOMEM;
	}
	if (machine && !l->machine) {
		l->machine = text_escaped(machine);
		if (!l->machine)
			return -ENOMEM;
	}
	return read_cpu_times(s, loom, json_key(session, "cpus"));
}

/* ---- processes and threads ---- */

static uint32_t add_process(struct subjects *s, uint32_t loom, int64_t pid)
{
	uint32_t *at = hash_at(&s->by_process, (struct hash_key){.a = (uint64_t)pid, .b = loom});
	struct subject_process *process;

	if (!at)
		return NO_SUBJECT;
	if (*at != HASH_NONE)
		return *at;
	process = ARRAY_ADD(s->processes, s->nprocesses);
	if (!process)
		return NO_SUBJECT;
	*process = (struct subject_process){.loom = loom, .pid = pid, .leader = NO_SUBJECT};
	process->number = pid > 0 && pid <= NUMBER_MOST
				  ? (int32_t)pid
				  : NUMBER_MOST + 100000 + (int32_t)s->nprocesses;
	return *at = (uint32_t)(s->nprocesses - 1);
}

static int add_argument(struct subject_process *process, const char *text)
{
	char **argument = ARRAY_ADD(process->command, process->ncommand);

	if (!argument)
		return -ENOMEM;
	*argument = text_escaped(text);
	return *argument ? 0 : -ENOMEM;
}

static int read_process(struct subject_process *process, const struct json *bpf)
{
	const struct json *argument = json_first(json_key(bpf, "command"));
	const char *executable = json_string(json_key(bpf, "executable"));
	int64_t parent = json_int(json_key(bpf, "parent"));

	if (parent > 0 && parent <= NUMBER_MOST)
		process->parent = (int32_t)parent;
	if (process->ncommand)
		return 0;
	for (; argument && process->ncommand < COMMAND_MOST; argument = json_next(argument))
		if (json_string(argument) && add_argument(process, json_string(argument)) < 0)
			return -ENOMEM;
	if (!process->ncommand && executable)
		return add_argument(process, executable);
	return 0;
}

static int name_thread(struct subject_thread *thread, const struct owner *owner)
{
	char number[32];

	snprintf(number, sizeof(number), "%lld", (long long)owner->tid);
	if (owner->tid > 0 && owner->tid <= NUMBER_MOST) {
		thread->name = text_escaped(owner->name && *owner->name ? owner->name : number);
	} else {
		char *name = xasprintf("%s (tid %s)", owner->name ? owner->name : "", number);

		thread->name = name ? text_escaped(name) : NULL;
		free(name);
	}
	return thread->name ? 0 : -ENOMEM;
}

/* The names after the first one, which the thread had when its stream began. */
static int read_renames(struct subject_thread *thread, const struct trace *trace, uint32_t stream,
			const struct json *list)
{
	const struct json *change = json_first(list);

	for (change = change ? json_next(change) : NULL; change; change = json_next(change)) {
		const char *name = json_string(json_key(change, "name"));
		struct subject_rename *rename;
		uint64_t clock;

		if (!name || !json_u64(json_key(change, "clock"), &clock) || clock > INT64_MAX)
			continue;
		rename = ARRAY_ADD(thread->renames, thread->nrenames);
		if (!rename)
			return -ENOMEM;
		*rename = (struct subject_rename){trace_clock(trace, stream, (int64_t)clock),
						  text_escaped(name)};
		if (!rename->name)
			return -ENOMEM;
	}
	return 0;
}

static int read_thread(struct subjects *s, uint32_t stream, const struct json *meta)
{
	const struct owner *owner = &s->source->owners[stream];
	struct subject_thread *thread = &s->threads[stream];
	const struct json *bpf = json_key(meta, "bpf");
	struct subject_process *process;
	int err;

	thread->process = add_process(s, thread->loom, owner->pid);
	if (thread->process == NO_SUBJECT)
		return -ENOMEM;
	process = &s->processes[thread->process];
	process->threads++;
	if (owner->tid == owner->pid)
		process->leader = stream;
	/* a leader has the number of its process */
	thread->number = owner->tid == owner->pid ? process->number
			 : owner->tid > 0 && owner->tid <= NUMBER_MOST
				 ? (int32_t)owner->tid
				 : 2 * NUMBER_MOST + (int32_t)stream;
	thread->kernel = json_bool(json_key(bpf, "kernel_thread"));
	thread->exits = json_is_object(json_key(bpf, "exit"));
	err = read_process(process, bpf);
	if (err)
		return err;
	err = read_session(s, stream, thread->loom, json_key(bpf, "session"));
	if (err)
		return err;
	err = read_cpus(s, thread->loom, json_get(meta, "ovni.loom_cpus"));
	if (err)
		return err;
	err = mark_labels_add(&s->labels, meta);
	if (err)
		return err;
	err = read_renames(thread, &s->source->trace, stream, json_key(bpf, "renames"));
	return err ? err : name_thread(thread, owner);
}

/* Looms in the order of their names, accelerators last; threads with one id in a ring. */
static int list_looms(struct subjects *s)
{
	const struct source *source = s->source;
	uint32_t number = 0;

	for (size_t i = 0; i < source->trace.nstreams; i++) { /* by_tid is sorted by loom, tid */
		uint32_t stream = s->walk.by_tid[i], before = i ? s->walk.by_tid[i - 1] : stream;
		const char *name = source->owners[stream].loom ? source->owners[stream].loom : "";
		struct subject_loom *loom;

		s->threads[stream].same = stream;
		if (s->nlooms && strcmp(s->looms[s->nlooms - 1].name, name) == 0) {
			s->threads[stream].loom = (uint32_t)(s->nlooms - 1);
			if (source->owners[before].tid == source->owners[stream].tid) {
				s->threads[stream].same = s->threads[before].same;
				s->threads[before].same = stream;
			}
			continue;
		}
		loom = ARRAY_ADD(s->looms, s->nlooms);
		if (!loom)
			return -ENOMEM;
		*loom = (struct subject_loom){.name = name};
		loom->accelerator = source->owners[stream].accelerator;
		loom->shown = text_escaped(name);
		if (!loom->shown)
			return -ENOMEM;
		s->threads[stream].loom = (uint32_t)(s->nlooms - 1);
	}
	for (int accelerator = 0; accelerator < 2; accelerator++)
		for (size_t i = 0; i < s->nlooms; i++)
			if (s->looms[i].accelerator == accelerator)
				s->looms[i].number = number++;
	return 0;
}

int subjects_init(struct subjects *s, const struct source *source)
{
	size_t n = source->trace.nstreams;
	int err;

	*s = (struct subjects){.source = source};
	if (!source_start(source, &s->t0)) {
		log_error("%s: no event to export", source->trace.path);
		return -ENODATA;
	}
	s->t1 = s->t0;
	err = state_walk_init(&s->walk, source);
	if (err)
		return err;
	s->threads = calloc(n + 1, sizeof(*s->threads));
	if (!s->threads || list_looms(s) < 0)
		goto lack;
	for (size_t i = 0; i < n; i++) {
		struct json *meta = trace_metadata(&source->trace, i);

		if (!meta)
			return -EINVAL;
		err = read_thread(s, (uint32_t)i, meta);
		json_free(meta);
		if (err)
			goto lack;
	}
	return 0;
lack:
	return log_no_memory("for %zu threads of %s", n, source->trace.path);
}

void subjects_fini(struct subjects *s)
{
	for (size_t i = 0; i < s->nlooms; i++) {
		free(s->looms[i].shown);
		free(s->looms[i].kernel);
		free(s->looms[i].machine);
	}
	for (size_t i = 0; i < s->nprocesses; i++) {
		for (size_t k = 0; k < s->processes[i].ncommand; k++)
			free(s->processes[i].command[k]);
		free(s->processes[i].command);
	}
	for (size_t i = 0; s->threads && i < s->source->trace.nstreams; i++) {
		for (size_t k = 0; k < s->threads[i].nrenames; k++)
			free(s->threads[i].renames[k].name);
		free(s->threads[i].renames);
		free(s->threads[i].name);
	}
	free(s->looms);
	free(s->cpus);
	free(s->processes);
	free(s->threads);
	hash_free(&s->by_cpu);
	hash_free(&s->by_process);
	mark_labels_free(&s->labels);
	state_walk_fini(&s->walk);
}
