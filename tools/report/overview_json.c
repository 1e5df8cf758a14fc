/* SPDX-License-Identifier: MIT */
/* overview_json: the overview as one JSON object; ovni-report(1) describes it. */
#include "tools/report/overview.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "trace/base/text.h"

static void put_owner(struct json *to, const struct overview *o, uint32_t stream)
{
	const struct owner *owner = overview_owner(o, stream);
	const struct process_use *p = &o->findings.processes[o->findings.threads[stream].process];

	json_put_int(to, "pid", owner->pid);
	json_put_int(to, "tid", owner->tid);
	json_put_string(to, "name", owner->name);
	json_put_string(to, "loom", owner->loom);
	if (p->rank >= 0)
		json_put_int(to, "rank", p->rank);
}

static void put_party(struct json *to, const struct overview *o, const char *key,
		      const struct finding_party *party)
{
	static const char *const kinds[] = {[PARTY_THREAD] = "thread",
					    [PARTY_PROCESS] = "process",
					    [PARTY_RANK] = "rank",
					    [PARTY_CPU] = "cpu"};
	struct json *node;

	if (party->kind == PARTY_NONE)
		return;
	node = json_put_object(to, key);
	json_put_string(node, "kind", kinds[party->kind]);
	if (party->kind == PARTY_CPU) {
		json_put_int(node, "cpu", party->cpu);
		json_put_string(node, "loom", overview_owner(o, party->stream)->loom);
	} else {
		put_owner(node, o, party->stream);
	}
}

static void put_findings(struct json *doc, const struct overview *o)
{
	struct json *list = json_put_array(doc, "findings");

	for (size_t i = 0; i < o->findings.n; i++) {
		const struct finding *finding = &o->findings.list[i];
		char *text = finding_text(o, finding), *command = finding_command(o, finding);
		struct json *node = json_put_object(list, NULL), *numbers;

		json_put_string(node, "kind", finding_names[finding->kind]);
		json_put_int(node, "cost_ns", finding->cost);
		if (o->findings.targets)
			json_put_bool(node, "target", finding->target);
		put_party(node, o, "who", &finding->who);
		put_party(node, o, "by", &finding->by);
		numbers = json_put_object(node, "numbers");
		for (enum finding_number number = 0; number < NUMBERS; number++)
			if (finding_has(finding, number))
				json_put_int(numbers, finding_number_names[number],
					     finding->numbers[number]);
		if (finding->call)
			json_put_string(node, "call", finding->call);
		if (finding->place)
			json_put_string(node, "place", finding->place);
		if (finding->lock)
			json_put_string(node, "lock", finding->lock);
		if (finding->irq)
			json_put_string(node, "interrupt", finding->irq);
		json_put_string(node, "text", text ? text : "");
		json_put_string(node, "command", command ? command : "");
		free(text);
		free(command);
	}
}

static void put_threads(struct json *doc, const struct overview *o, const uint32_t *order)
{
	struct json *list = json_put_array(doc, "threads");

	for (size_t i = 0; i < o->source->trace.nstreams; i++) {
		const struct thread_use *use = &o->findings.threads[order[i]];
		struct json *node = json_put_object(list, NULL);

		put_owner(node, o, order[i]);
		json_put_int(node, "run_ns", use->run);
		if (use->irq)
			json_put_int(node, "interrupts_ns", use->irq);
		json_put_int(node, "wait_ns", use->waited);
		json_put_int(node, "throttled_ns", use->throttled);
		json_put_int(node, "asleep_ns", thread_use_sleep(use));
		json_put_int(node, "io_ns", use->sleep[OFF_CPU_IO]);
		json_put_int(node, "uninterruptible_ns", use->sleep[OFF_CPU_UNINTERRUPTIBLE]);
		json_put_int(node, "unknown_ns", use->unknown);
		json_put_int(node, "runs", (int64_t)use->runs);
		json_put_int(node, "life_ns", use->life);
		json_put_int(node, "wait_max_ns", use->wait_most);
	}
}

static void put_cpus(struct json *doc, const struct overview *o)
{
	struct json *list = json_put_array(doc, "cpus");

	for (size_t i = 0; i < o->findings.cpus.ncpus; i++) {
		const struct cpu_time *cpu = &o->findings.cpus.cpus[i];
		struct json *node = json_put_object(list, NULL);

		json_put_string(node, "loom", cpu->loom);
		json_put_int(node, "cpu", cpu->cpu);
		json_put_int(node, "window_ns", cpu->window);
		json_put_int(node, "threads_ns", cpu->threads);
		json_put_int(node, cpu->idle_known ? "other_ns" : "other_or_idle_ns", cpu->other);
		if (cpu->idle_known)
			json_put_int(node, "idle_ns", cpu->idle);
		json_put_int(node, "unknown_ns", cpu->unknown);
		if (overview_steal(o, cpu) != CELL_UNKNOWN)
			json_put_int(node, "steal_ns", overview_steal(o, cpu));
		if (cpu->irq >= 0 && !o->findings.part)
			json_put_int(node, "interrupts_ns", cpu->irq);
	}
}

static void put_classes(struct json *to, const int64_t ns[TIME_CLASSES])
{
	json_put_int(to, "run_ns", ns[CLASS_RUNNING]);
	json_put_int(to, "wait_ns", ns[CLASS_RUNNABLE]);
	json_put_int(to, "throttled_ns", ns[CLASS_THROTTLED]);
	json_put_int(to, "asleep_ns", ns[CLASS_ASLEEP]);
	json_put_int(to, "unknown_ns", ns[CLASS_UNKNOWN]);
}

static void put_path(struct json *doc, const struct overview *o)
{
	const struct finding_path *path = &o->findings.path;
	char *text = path_text(o), *command = path_command(o);
	struct json *node = json_put_object(doc, "path");

	put_owner(json_put_object(node, "end"), o, path->end);
	if (path->complete) {
		struct json *most = json_put_object(node, "most");

		put_classes(node, path->ns);
		put_owner(most, o, path->most);
		put_classes(most, path->most_ns);
	}
	json_put_string(node, "text", text ? text : "");
	json_put_string(node, "command", command ? command : "");
	free(text);
	free(command);
}

int overview_print_json(const struct overview *o, struct printer *out)
{
	static const char *const keys[] = {"version", "kernel", "machine", "mode",
					   "t0",      "t1",	"trigger", "stopped_by"};
	const struct json *session = json_get(o->session, "bpf.session");
	const struct whole *w = &o->source->whole;
	struct json *doc = json_new_object();
	uint32_t *order = overview_order(o);
	int64_t realtime;
	char *command = overview_command(o), *notes = overview_notes(o), *text = NULL;
	int err = -ENOMEM;

	if (!order || !command || !notes)
		goto out;
	json_put_int(doc, "version", 1);
	json_put_string(doc, "trace", o->path);
	for (size_t i = 0; session && i < sizeof(keys) / sizeof(keys[0]); i++) {
		const struct json *node = json_key(session, keys[i]);
		char key[40];
		int64_t clock;

		snprintf(key, sizeof(key), "session.%s", keys[i]);
		if (*keys[i] == 't' && keys[i][2] == '\0' && json_i64(node, &clock))
			json_put_i64(doc, key,
				     trace_clock(&o->source->trace, o->session_stream, clock));
		else
			json_put_string(doc, key, json_string(node));
	}
	if (*command)
		json_put_string(doc, "session.command", command);
	json_put_int(doc, "duration_ns", o->duration);
	if (o->findings.part) {
		json_put_i64(doc, "from", o->findings.cpus.t0);
		json_put_i64(doc, "to", o->findings.cpus.t1);
	}
	if (json_i64(json_get(session, "realtime.begin.ns"), &realtime))
		json_put_i64(doc, "session.realtime_begin_ns", realtime);
	json_put_int(doc, "events", (int64_t)o->findings.events);
	json_put_int(doc, "lost", (int64_t)(w->lost + w->records));
	json_put_int(doc, "repairs", (int64_t)o->repairs);
	json_put_bool(doc, "complete", whole_is(w) && !o->damaged);
	put_cpus(doc, o);
	put_threads(doc, o, order);
	put_findings(doc, o);
	json_put_string(doc, "efficiency", o->efficiency);
	if (o->findings.path.known)
		put_path(doc, o);
	json_put_string(doc, "not_recorded", notes);
	text = json_text(doc);
	if (!text)
		goto out;
	printer_text(out, text);
	err = 0;
out:
	free(text);
	free(order);
	free(command);
	free(notes);
	json_free(doc);
	return err;
}
