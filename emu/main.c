/* SPDX-License-Identifier: MIT */
/*
 * ovni-emu: an ovni trace in, Paraver traces out.
 *
 * Options, signals and the exit status: 0 complete, 1 refused or failed, 2 usage, 3 complete but
 * for what --tolerant left out.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/emulator.h"
#include "trace/base/log.h"
#include "trace/base/build_info.h"
#include "trace/base/status.h"

#define JOBS_MAX 64

enum { OPT_GZ = 256, OPT_TOLERANT, OPT_COMPAT, OPT_ARROWS, OPT_VERSION };

/* One line an option: everything about it. */
static const struct {
	const char *name;
	int key;
	const char *argument; /* NULL if it takes none */
	const char *help;
} options[] = {
	{"clock-offsets", 'c', "FILE",
	 "read the offsets between the clocks of the hosts from FILE"},
	{"all-models", 'a', NULL, "enable all models, also those that no stream requires"},
	{"breakdown", 'b', NULL, "also make the breakdown views of the models that have one"},
	{"lint", 'l', NULL, "at the end, every stack of every thread must be empty"},
	{"jobs", 'j', "N", "use N threads; the output is the same for any number"},
	{"output", 'o', "DIR", "write into DIR instead of TRACEDIR"},
	{"gz", OPT_GZ, NULL, "write .prv.gz files (Paraver reads them)"},
	{"arrows", OPT_ARROWS, NULL, "also write wake-ups and migrations as communications"},
	{"compat", OPT_COMPAT, NULL, "write nothing that the reference emulator would not"},
	{"tolerant", OPT_TOLERANT, NULL, "go on past a damaged stream, and say what was left out"},
	{"quiet", 'q', NULL, "only warnings and errors"},
	{"debug", 'd', NULL, "debug messages"},
	{"help", 'h', NULL, "print this and the known models"},
	{"version", OPT_VERSION, NULL, "print the version"},
};
#define NOPTIONS (sizeof(options) / sizeof(options[0]))

static void usage(FILE *out)
{
	fprintf(out, "usage: ovni-emu [OPTION...] TRACEDIR\n\n"
		     "Turns the ovni trace in TRACEDIR into Paraver traces, beside it.\n\n");
	for (size_t i = 0; i < NOPTIONS; i++) {
		char left[40], key[8] = "    ";

		if (options[i].key < 256)
			snprintf(key, sizeof(key), "-%c, ", options[i].key);
		snprintf(left, sizeof(left), "%s--%s%s%s", key, options[i].name,
			 options[i].argument ? "=" : "", options[i].argument ?: "");
		fprintf(out, "  %-26s %s\n", left, options[i].help);
	}
	fprintf(out, "\nModels:");
	for (size_t i = 0; models[i]; i++) {
		const struct catalog_model *catalog = catalog_model_by_name(models[i]->name);

		if (catalog && catalog->nevents)
			fprintf(out, " %s %s", catalog->name, catalog->version);
	}
	fprintf(out, "\n\nExamples:\n"
		     "  ovni-emu ovni                    Paraver traces of the trace in ./ovni\n"
		     "  ovni-emu --arrows -j 2 ovni      with wake-up arrows, two threads\n"
		     "  ovni-emu -o views /archive/run1  of a trace that may not be written to\n"
		     "  ovni-emu -l ovni                 check that the trace is sound\n");
}

static int try_help(void)
{
	fprintf(stderr, "ovni-emu: 'ovni-emu --help' lists the options\n");
	return STATUS_USAGE;
}

static void on_interrupt(int signo)
{
	emulator_interrupted = 1;
	signal(signo, SIG_DFL); /* a second one kills */
}

static void catch_signals(void)
{
	struct sigaction act = {.sa_handler = on_interrupt, .sa_flags = SA_RESTART};

	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a file that grows too large is an error of write() */
}

static bool parse_jobs(const char *text, unsigned *jobs)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (end == text || *end || *text == '-' || n < 1 || n > JOBS_MAX)
		return false;
	*jobs = (unsigned)n;
	return true;
}

/* Returns -1 to go on, or the exit status. */
static int take_option(struct emu_options *opt, int key, enum log_level *level)
{
	switch (key) {
	case 'c':
		opt->offsets = optarg;
		return -1;
	case 'a':
		opt->all_models = true;
		return -1;
	case 'b':
		opt->breakdown = true;
		return -1;
	case 'l':
		opt->lint = true;
		return -1;
	case 'o':
		opt->out = optarg;
		return -1;
	case 'j':
		if (parse_jobs(optarg, &opt->jobs))
			return -1;
		fprintf(stderr, "ovni-emu: -j %s: the number of threads is 1 to %d\n", optarg,
			JOBS_MAX);
		return STATUS_USAGE;
	case OPT_GZ:
		opt->gzip = true;
		return -1;
	case OPT_ARROWS:
		opt->arrows = true;
		return -1;
	case OPT_COMPAT:
		opt->compat = true;
		return -1;
	case OPT_TOLERANT:
		opt->tolerant = true;
		return -1;
	case 'q':
		opt->quiet = true;
		*level = LOG_WARN;
		return -1;
	case 'd':
		*level = LOG_DEBUG;
		return -1;
	case 'h':
		usage(stdout);
		return flush_stdout() ? STATUS_FAILED : STATUS_COMPLETE;
	case OPT_VERSION:
		printf("ovni-emu %s (%s)\n", version_string, version_commit);
		return flush_stdout() ? STATUS_FAILED : STATUS_COMPLETE;
	default: /* getopt_long() has said what is wrong */
		return try_help();
	}
}

int main(int argc, char **argv)
{
	struct option longs[NOPTIONS + 1] = {0};
	char shorts[2 * NOPTIONS + 2] = "+"; /* options come before the directory */
	struct emu_options opt = {.jobs = 1};
	enum log_level level = LOG_INFO;
	size_t n = 1;
	int key, status;

	log_setup("ovni-emu", level);
	for (size_t i = 0; i < NOPTIONS; i++) {
		longs[i] = (struct option){options[i].name,
					   options[i].argument ? required_argument : no_argument,
					   NULL, options[i].key};
		if (options[i].key >= 256)
			continue;
		shorts[n++] = (char)options[i].key;
		if (options[i].argument)
			shorts[n++] = ':';
	}
	while ((key = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		status = take_option(&opt, key, &level);
		if (status >= 0)
			return status;
	}
	if (optind >= argc) {
		fprintf(stderr, "ovni-emu: no trace directory given\n");
		return try_help();
	}
	opt.trace = argv[optind];
	log_setup("ovni-emu", level);
	catch_signals();
	return emulator_run(&opt);
}
