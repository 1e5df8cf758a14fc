/* SPDX-License-Identifier: MIT */
/*
 * ovni-events: the catalogue as a page to read (docs/events.md is this program's output).
 *
 *   | `OAs(i32 cpu)` | moves itself to CPU *cpu* | |
 *   | `VSh` | begins waiting for work (hungry) | subsystem: pushes 6 `Scheduler: Hungry`, until
 * `VSf` |
 *
 * In: the catalogue; out: Markdown, or JSON for scripts, by model in the order of their
 * characters and as the tables have them. Nothing is written here by hand that a table knows.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/lib/printer.h"
#include "trace/catalog/catalog.h"
#include "trace/base/json.h"
#include "trace/base/cli.h"
#include "trace/base/log.h"
#include "trace/base/off_cpu.h"

struct options {
	bool json;
	const struct catalog_model *only; /* NULL: all */
};

#define TO(member) offsetof(struct options, member)

static const struct cli_option cli_options[] = {
	{"json", 'j', NULL, cli_flag, TO(json), "print one JSON object"},
	{0},
};

static int finish(void *settings, char **operands)
{
	struct options *options = settings;
	const char *name = operands[0];

	if (!name)
		return 0;
	options->only = name[0] && !name[1] ? catalog_model(name[0]) : catalog_model_by_name(name);
	if (options->only)
		return 0;
	log_error("no model has the name or character '%s' (ovni-version lists them)", name);
	return -EINVAL;
}

static const struct cli cli = {
	.name = "ovni-events",
	.operands = "[MODEL]",
	.about = "Print the known events, or those of MODEL (a name or a character), as Markdown: "
		 "signature, meaning, and effect on channels.",
	.options = cli_options,
	.finish = finish,
	.notes = "Examples:\n"
		 "  # docs/events.md\n"
		 "  ovni-events\n\n"
		 "  # one model\n"
		 "  ovni-events nosv\n\n"
		 "  # all signatures\n"
		 "  ovni-events --json | jq -r '.models[].events[].signature'",
};

static const char *const when_names[] = {
	[WHEN_ANY] = "in any state of the thread",
	[WHEN_ACTIVE] = "while the thread is active (running, cooling or warming)",
	[WHEN_RUNNING] = "while the thread is running",
};

static const char *const action_names[] = {
	[ACTION_NONE] = NULL,	  [ACTION_PUSH] = "pushes",  [ACTION_POP] = "pops",
	[ACTION_SET] = "sets to", [ACTION_CLEAR] = "clears",
};

/* ---- Markdown ---- */

static const char introduction[] =
	"# Events\n"
	"\n"
	"Every event that the programs of this project know, by model. This page is the output of\n"
	"`ovni-events`, which prints the tables that the programs themselves work with.\n"
	"\n"
	"A signature is the model, category and value characters of the event, `+` if it is a "
	"jumbo\n"
	"event, and its arguments, packed without padding: `u8` to `i64` are integers in the byte "
	"order\n"
	"of the host, `str` is a text ended by NUL. Arguments in brackets may be missing, from the "
	"end\n"
	"on; of one with dots there is any number. A `.` in place of the value character stands "
	"for\n"
	"any. In the meaning, an argument stands in italics, and a part in brackets is left out "
	"if\n"
	"the event does not have the arguments for it.\n"
	"\n"
	"The last column is the effect of the event on a channel of its thread, which the emulator "
	"shows:\n"
	"a number with its label, or a value from the arguments. *Until* names the event "
	"that\n"
	"ends what this one begins.\n";

/* The English of an entry, with its arguments in italics. */
static void print_english(struct printer *out, const char *at)
{
	while (*at) {
		size_t plain = strcspn(at, "%[]");

		printer_bytes(out, at, plain);
		at += plain;
		if (!strncmp(at, "%{", 2)) {
			size_t name = strcspn(at + 2, "}");

			printer_format(out, "*%.*s*", (int)name, at + 2);
			at += 2 + name + (at[2 + name] == '}');
		} else if (*at) {
			printer_format(out, *at == '%' ? "%%" : "\\%c", *at);
			at++;
		}
	}
}

static void print_event(struct printer *out, const struct catalog_event *event)
{
	printer_format(out, "| `%s` | ", event->signature);
	print_english(out, event->english);
	printer_text(out, " | ");
	if (event->action != ACTION_NONE) {
		printer_format(out, "%s: %s", event->channel, action_names[event->action]);
		if (event->label)
			printer_format(out, " %d `%s`", event->value, event->label);
		else if (event->action != ACTION_CLEAR)
			printer_text(out, " a value of the arguments");
		if (*event->leaves)
			printer_format(out, ", until `%s`", event->leaves);
		printer_text(out, " ");
	}
	printer_text(out, "|\n");
}

static void print_model(struct printer *out, const struct catalog_model *model)
{
	printer_format(out,
		       "\n## %s\n\nCharacter `%c`, version %s. Accepted %s%s. %s\n\n"
		       "| Event | Meaning | Channel |\n| --- | --- | --- |\n",
		       model->name, model->character, model->version, when_names[model->when],
		       model->out_of_cpu ? "" : ", but not while it is out of the CPU (`KCO`)",
		       model->repeats ? "A push may repeat the top of its stack."
				      : "A push must not repeat the top of its stack.");
	for (size_t i = 0; i < model->nevents; i++)
		print_event(out, &model->events[i]);
	if (model->nlabels)
		printer_text(out,
			     "\nFurther values of its channels, for which there is no event:\n\n");
	for (size_t i = 0; i < model->nlabels; i++)
		printer_format(out, "- %s %d: %s\n", model->labels[i].channel,
			       model->labels[i].value, model->labels[i].label);
}

static void print_page(struct printer *out, const struct options *options)
{
	if (!options->only)
		printer_text(out, introduction);
	for (const struct catalog_model *m = catalog_models; m->name; m++)
		if (!options->only || m == options->only)
			print_model(out, m);
	if (options->only)
		return;
	printer_text(out, "\n## Why a thread left the CPU\n\n"
			  "Values of the argument *why* of `OHp` and `KCO`:\n\n");
	for (unsigned i = 0; i < OFF_CPU_COUNT; i++)
		printer_format(out, "- %u: %s\n", i, off_cpu_label(i));
}

/* ---- JSON ---- */

static void add_event(struct json *list, const struct catalog_event *event)
{
	struct json *node = json_put_object(list, NULL);

	json_put_string(node, "signature", event->signature);
	json_put_string(node, "english", event->english);
	if (event->action != ACTION_NONE) {
		json_put_string(node, "channel", event->channel);
		json_put_string(node, "action", action_names[event->action]);
	}
	if (event->label) {
		json_put_int(node, "value", event->value);
		json_put_string(node, "label", event->label);
	}
	if (*event->leaves)
		json_put_string(node, "until", event->leaves);
}

static void add_model(struct json *list, const struct catalog_model *m)
{
	const char character[] = {m->character, '\0'};
	struct json *model = json_put_object(list, NULL), *events, *labels;

	json_put_string(model, "name", m->name);
	json_put_string(model, "character", character);
	json_put_string(model, "version", m->version);
	events = json_put_array(model, "events");
	for (size_t i = 0; i < m->nevents; i++)
		add_event(events, &m->events[i]);
	labels = json_put_array(model, "labels");
	for (size_t i = 0; i < m->nlabels; i++) {
		struct json *label = json_put_object(labels, NULL);

		json_put_string(label, "channel", m->labels[i].channel);
		json_put_int(label, "value", m->labels[i].value);
		json_put_string(label, "label", m->labels[i].label);
	}
}

static struct json *document(const struct options *options)
{
	struct json *doc = json_new_object(), *models = json_put_array(doc, "models");

	for (const struct catalog_model *m = catalog_models; m->name; m++)
		if (!options->only || m == options->only)
			add_model(models, m);
	return doc;
}

int main(int argc, char **argv)
{
	struct options options = {0};
	struct json *doc = NULL;
	struct printer out;
	char *text;

	cli_parse(&cli, argc, argv, &options);
	printer_open(&out, STDOUT_FILENO);
	if (!options.json) {
		print_page(&out, &options);
		goto out;
	}
	doc = document(&options);
	text = json_text(doc);
	if (text)
		printer_text(&out, text);
	else
		out.error = -ENOMEM;
	free(text);
	json_free(doc);
out:
	return printer_close(&out) < 0 ? STATUS_FAILED : STATUS_COMPLETE;
}
