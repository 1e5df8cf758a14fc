/* SPDX-License-Identifier: MIT */
/*
 * ovni-export: a trace as a file for another program.
 *
 * In: a trace, walked once; out: a file of the chosen format (formats.h). This file reads the
 * command line.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/export/formats.h"
#include "trace/base/cli.h"
#include "trace/base/log.h"
#include "trace/base/text.h"

#define DEFAULT_TRACE "ovni" /* of ovni-bpf without -o */

static const struct format {
	const char *option, *suffix;
	int (*write)(struct export_request *request);
} formats[] = {
	{"perfetto", ".pftrace", export_perfetto},
	{"csv", "-csv", export_csv},
	{"sqlite", ".sqlite", export_sqlite},
	{"chrome", ".json", export_chrome},
};

struct options {
	const char *path, *output;
	const struct format *format;
	bool quiet;
	uint64_t split, limit;
	struct filter filter;
};

#define NFORMATS   (sizeof(formats) / sizeof(formats[0]))
#define TO(member) offsetof(struct options, member)

static int choose_format(const struct cli_option *option, const char *text, void *to)
{
	const struct format **format = to;

	(void)text;
	if (*format && strcmp((*format)->option, option->name) != 0)
		return cli_refuse(option, text, "--%s is given, and one run writes one format",
				  (*format)->option);
	for (size_t i = 0; i < NFORMATS; i++)
		if (!strcmp(formats[i].option, option->name))
			*format = &formats[i];
	return 0;
}

static bool is_format(const void *settings, const char *option)
{
	const struct format *format = ((const struct options *)settings)->format;

	return format && strcmp(format->option, option) == 0;
}

static bool is_perfetto(const void *settings)
{
	return is_format(settings, "perfetto");
}

static bool is_chrome(const void *settings)
{
	return is_format(settings, "chrome");
}

static const struct cli_option cli_options[] = {
	{.help = "Formats"},
	{"perfetto", 0, NULL, choose_format, TO(format),
	 "a trace for ui.perfetto.dev and trace_processor"},
	{"sqlite", 0, NULL, choose_format, TO(format),
	 "tables in a database, for questions in SQL"},
	{"csv", 0, NULL, choose_format, TO(format),
	 "the same tables as a directory of comma-separated values"},
	{"chrome", 0, NULL, choose_format, TO(format),
	 "JSON trace events, for chrome://tracing and others; for small traces"},
	{.help = "Options"},
	{"output", 'o', "FILE", cli_text, TO(output),
	 "the file or directory; the trace with the suffix of the format unless given"},
	{"from", 0, "TIME", moment_option, TO(filter.from),
	 "begin at this clock, in ns; +TIME counts from the first event and takes ns, us, ms, s; "
	 "03:12:05 is a time of day, in the local time of the recording"},
	{"to", 0, "TIME", moment_option, TO(filter.to), "end at this clock"},
	{"split", 0, "SIZE", cli_size, TO(split),
	 "begin another file, FILE-2, about each SIZE; each stands alone", .min = 1 << 16,
	 .holds = is_perfetto, .rule = "only --perfetto can split"},
	{"limit", 0, "SIZE", cli_size, TO(limit),
	 "the largest file of --chrome, 256M unless given: above it, nothing is written", .min = 1,
	 .holds = is_chrome, .rule = "only --chrome has a limit"},
	{"quiet", 'q', NULL, cli_flag, TO(quiet), "print only warnings and errors"},
	{"tid", 0, "TID", filter_add_tid, TO(filter), "only threads with this id"},
	{"pid", 0, "PID", filter_add_pid, TO(filter), "only processes with this id"},
	{"comm", 0, "GLOB", filter_add_comm, TO(filter),
	 "only threads with such a name, as 'worker*'"},
	{"loom", 0, "LOOM", filter_add_loom, TO(filter), "only this loom"},
	{0},
};

static int choose(void *settings, char **operands)
{
	struct options *options = settings;

	options->path = operands[0] ? operands[0] : DEFAULT_TRACE;
	if (options->format)
		return 0;
	log_error("no format is chosen: --perfetto, --sqlite, --csv or --chrome");
	return -EINVAL;
}

static const struct cli cli = {
	.name = "ovni-export",
	.operands = "[TRACE]",
	.about = "Write an ovni trace, " DEFAULT_TRACE " if none is given, as a file for another "
		 "program.",
	.options = cli_options,
	.finish = choose,
	.notes = "Examples:\n"
		 "  # the trace in ./ovni as ovni.pftrace, for ui.perfetto.dev\n"
		 "  ovni-export --perfetto\n\n"
		 "  # which functions were called how often\n"
		 "  ovni-export --sqlite trace\n"
		 "  sqlite3 trace.sqlite 'SELECT name, count(*) FROM regions JOIN functions '\\\n"
		 "    'USING (function) GROUP BY name'\n\n"
		 "  # a tenth of a second of a long trace\n"
		 "  ovni-export --perfetto --from +1s --to +1.1s -o part.pftrace trace",
};

static int export_trace(struct options *options, struct source *source, enum status *status)
{
	struct export_request request = {.path = options->path,
					 .source = source,
					 .filter = &options->filter,
					 .split = options->split,
					 .limit = options->limit,
					 .quiet = options->quiet};
	char *output = options->output ? strdup(options->output)
				       : path_with_suffix(options->path, options->format->suffix);
	bool active;
	int err;

	if (!output)
		return log_no_memory("for the name of the output");
	request.output = output;
	err = filter_start(&options->filter, source, &active);
	if (err)
		goto out;
	err = options->format->write(&request);
	if (err)
		goto out;
	*status = whole_report(&source->whole, options->path);
	if (request.lacks)
		err = -EBADMSG; /* after a message */
	if (request.damaged) {
		log_warn("%s: the file ends where the trace is damaged", output);
		err = -EBADMSG;
	}
out:
	free(output);
	return err;
}

int main(int argc, char **argv)
{
	struct options options = {0};
	struct source source = {0};
	enum status status = STATUS_FAILED;
	int err;

	cli_parse(&cli, argc, argv, &options);
	err = source_open(&source, options.path);
	if (!err)
		err = source_correct_clocks(&source);
	if (!err)
		err = export_trace(&options, &source, &status);
	filter_free(&options.filter);
	source_close(&source);
	return err ? STATUS_FAILED : status;
}
