/* SPDX-License-Identifier: MIT */
#include "tools/view/put_overview.h"

#include <errno.h>
#include <stdlib.h>

#include "tools/lib/table.h"
#include "trace/base/text.h"

#define THREADS_SHOWN  10
#define FINDINGS_SHOWN 100

static int put_finding(struct json *list, const struct overview *o, struct actors *actors,
		       const struct finding *finding)
{
	struct finding_place place = finding_place(o, finding);
	char *text = finding_text(o, finding), *command = finding_command(o, finding);
	struct json *node = json_put_object(list, NULL);
	int err = text && command ? 0 : -ENOMEM;
	uint32_t cpu;

	if (err)
		goto out;
	json_put_string(node, "kind", finding_names[finding->kind]);
	json_put_string(node, "text", text_shown(text));
	json_put_string(node, "command", text_shown(command));
	json_put_int(node, "cost", finding->cost);
	if (place.cpu >= 0) {
		cpu = actors_cpu(actors, place.stream, place.cpu);
		if (cpu == UINT32_MAX)
			err = -ENOMEM;
		json_put_int(node, "cpu", cpu);
	} else {
		json_put_int(node, "thread", place.stream);
	}
	json_put_int(node, "begin", place.begin);
	json_put_int(node, "end", place.end);
	json_put_bool(node, "exact", place.exact);
out:
	free(text);
	free(command);
	return err;
}

static void put_cpu(struct json *list, const struct overview *o, const struct cpu_time *cpu)
{
	struct json *node = json_put_object(list, NULL);
	int64_t used = overview_used(o, cpu), steal = overview_steal(o, cpu);

	json_put_string(node, "loom", text_shown(cpu->loom));
	json_put_int(node, "cpu", cpu->cpu);
	json_put_int(node, "window", cpu->window);
	json_put_int(node, "used", used);
	json_put_int(node, "unknown", cpu->unknown);
	json_put_int(node, "rest", clock_sum(cpu->idle, o->idle_unknown ? cpu->other : 0));
	if (steal != CELL_UNKNOWN)
		json_put_int(node, "steal", steal);
}

static int put_threads(struct json *list, const struct overview *o)
{
	uint32_t *order = overview_order(o);

	for (size_t i = 0; order && i < o->source->trace.nstreams && i < THREADS_SHOWN; i++) {
		const struct thread_use *use = &o->findings.threads[order[i]];
		struct json *node;

		if (!thread_use_wanted(use))
			break;
		node = json_put_object(list, NULL);
		json_put_int(node, "thread", order[i]);
		json_put_int(node, "life", use->life);
		json_put_int(node, "run", use->run);
		json_put_int(node, "waited", clock_sum(use->waited, use->throttled));
		json_put_int(node, "asleep", thread_use_sleep(use));
		json_put_int(node, "runs", (int64_t)use->runs);
	}
	free(order);
	return order ? 0 : -ENOMEM;
}

int put_overview(struct json *root, const struct overview *o, struct actors *actors, bool anonymous)
{
	const struct findings *f = &o->findings;
	struct json *node = json_put_object(root, "overview"), *list;
	char *notes = overview_notes(o), *command = overview_command(o);
	int err = notes && command ? 0 : -ENOMEM;

	if (err)
		goto out;
	json_put_string(node, "command", anonymous ? "" : text_shown(command));
	json_put_string(node, "notes", text_shown(notes));
	json_put_string(node, "efficiency", o->efficiency);
	json_put_int(node, "duration", o->duration);
	json_put_int(node, "findings", (int64_t)f->n);
	json_put_bool(node, "idle_unknown", o->idle_unknown);
	list = json_put_array(node, "cpus");
	for (size_t i = 0; i < f->cpus.ncpus; i++) {
		put_cpu(list, o, &f->cpus.cpus[i]);
		if (i % JSON_PACK_EACH == JSON_PACK_EACH - 1)
			json_pack(list, 2);
	}
	err = put_threads(json_put_array(node, "threads"), o);
	list = json_put_array(root, "findings");
	for (size_t i = 0; i < f->n && i < FINDINGS_SHOWN && err == 0; i++)
		err = put_finding(list, o, actors, &f->list[i]);
out:
	free(notes);
	free(command);
	return err;
}
