/* SPDX-License-Identifier: MIT */
/*
 * ovni-version: the facts about this installation that a bug report needs.
 *
 *   ovni-bpf    0.1.0 (3f2a1b0)
 *   trace       version 3, streams version 1
 *   model 6     nanos6 1.1.0
 *   library     /usr/lib/x86_64-linux-gnu/libcjson.so.1.7.15
 *
 * In: nothing; out: our version, the versions of the formats and of the emulator's models, and the
 * files of the loaded libraries, whose names end in their versions.
 */
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "tools/lib/printer.h"
#include "trace/catalog/catalog.h"
#include "trace/ovni/event.h"
#include "trace/base/json.h"
#include "trace/base/cli.h"
#include "trace/base/log.h"
#include "trace/base/build_info.h"

#define TRACE_VERSION 3

static const struct cli_option cli_options[] = {
	{"json", 'j', NULL, cli_flag, 0, "print one JSON object"},
	{0},
};

static const struct cli cli = {
	.name = "ovni-version",
	.about = "Print the versions of ovni-bpf, of the formats and models, and of the libraries.",
	.options = cli_options,
	.notes = "Examples:\n"
		 "  # for a bug report\n"
		 "  ovni-version\n\n"
		 "  # for a script\n"
		 "  ovni-version --json",
};

static int take_library(struct dl_phdr_info *info, size_t size, void *libraries)
{
	char *path = *info->dlpi_name == '/' ? realpath(info->dlpi_name, NULL) : NULL;

	(void)size;
	json_put_string(libraries, NULL, path); /* the program itself and the vDSO have no name */
	free(path);
	return 0;
}

/* All versions, as JSON. */
static struct json *versions(const struct utsname *system)
{
	struct json *doc = json_new_object(), *models, *libraries;

	json_put_string(doc, "version", version_string);
	json_put_string(doc, "commit", version_commit);
	json_put_int(doc, "trace", TRACE_VERSION);
	json_put_int(doc, "stream", STREAM_VERSION);
	models = json_put_object(doc, "models");
	for (const struct catalog_model *m = catalog_models; m->name; m++)
		json_put_string(models, m->name, m->version);
	libraries = json_put_array(doc, "libraries");
	dl_iterate_phdr(take_library, libraries);
	json_put_string(doc, "kernel", system->release);
	json_put_string(doc, "machine", system->machine);
	return doc;
}

static void print_text(struct printer *out, const struct json *doc)
{
	const struct json *node;

	printer_format(out, "ovni-bpf    %s (%s)\n", version_string, version_commit);
	printer_format(out, "trace       version %d, streams version %d\n", TRACE_VERSION,
		       STREAM_VERSION);
	for (node = json_first(json_get(doc, "models")); node; node = json_next(node))
		printer_format(out, "model %c     %s %s\n",
			       catalog_model_by_name(json_name(node))->character, json_name(node),
			       json_string(node));
	for (node = json_first(json_get(doc, "libraries")); node; node = json_next(node))
		printer_format(out, "library     %s\n", json_string(node));
	printer_format(out, "kernel      %s %s\n", json_string(json_get(doc, "kernel")),
		       json_string(json_get(doc, "machine")));
}

int main(int argc, char **argv)
{
	struct utsname system;
	struct json *doc;
	bool json = false;
	struct printer out;
	char *text;

	cli_parse(&cli, argc, argv, &json);
	if (uname(&system) < 0) {
		log_error("cannot ask for the kernel: %s", strerror(errno));
		return STATUS_FAILED;
	}
	doc = versions(&system);
	text = json_text(doc);
	if (!text) {
		log_no_memory("while starting");
		return STATUS_FAILED;
	}
	printer_open(&out, STDOUT_FILENO);
	if (json)
		printer_text(&out, text);
	else
		print_text(&out, doc);
	free(text);
	json_free(doc);
	return printer_close(&out) < 0 ? STATUS_FAILED : STATUS_COMPLETE;
}
