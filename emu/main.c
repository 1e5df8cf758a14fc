/* SPDX-License-Identifier: MIT */
/*
 * ovni-emu: an ovni trace in, Paraver traces out.
 *
 * This file has the options, the signals and the exit status: 0 complete, 1 refused or failed,
 * 2 usage, 3 the trace is incomplete, or parts of it were left out (--tolerant).
 */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>

#include "emu/emulation.h"
#include "trace/base/cli.h"
#include "trace/base/log.h"

#define JOBS_MAX 64

struct settings {
	struct emu_options emu;
	uint64_t jobs;
	bool debug;
};

static bool is_not_compat(const void *settings)
{
	return !((const struct settings *)settings)->emu.compat;
}

static bool has_critical(const void *settings)
{
	return ((const struct settings *)settings)->emu.critical;
}

static bool is_plain(const void *settings)
{
	const struct emu_options *emu = &((const struct settings *)settings)->emu;

	return !emu->compat && !emu->critical && !emu->messages;
}

static bool is_clock_alone(const void *settings)
{
	const struct emu_options *emu = &((const struct settings *)settings)->emu;

	return !emu->compat && !emu->offsets;
}

static const char *const clocks[] = {"offsets", "realtime", NULL}; /* enum emu_clock */

#define PART	   .holds = is_plain, .rule = "excludes --compat, --critical and --messages"
#define TO(member) offsetof(struct settings, member)

/* A time since the first event; a '+' before it is as in other tools. */
static int add_time(const struct cli_option *option, const char *text, struct emu_options *emu,
		    bool from)
{
	uint64_t ns;
	int err = cli_time(option, *text == '+' ? text + 1 : text, &ns);

	if (err)
		return err;
	*(from ? &emu->since : &emu->until) = (int64_t)ns;
	*(from ? &emu->from : &emu->to) = true;
	return 0;
}

static int add_from(const struct cli_option *option, const char *text, void *to)
{
	return add_time(option, text, to, true);
}

static int add_to(const struct cli_option *option, const char *text, void *to)
{
	return add_time(option, text, to, false);
}

static int check_times(void *settings, char **operands)
{
	const struct emu_options *emu = &((struct settings *)settings)->emu;

	(void)operands;
	if (!emu->to || emu->since <= emu->until)
		return 0;
	log_error("--from is later than --to");
	return -EINVAL;
}

static const struct cli_option options[] = {
	{"output", 'o', "DIR", cli_text, TO(emu.out), "write into DIR instead of TRACEDIR"},
	{"breakdown", 'b', NULL, cli_flag, TO(emu.breakdown),
	 "also write the breakdown views of the models"},
	{"arrows", 0, NULL, cli_flag, TO(emu.arrows),
	 "also write wake-ups, migrations and waits for locks as communications"},
	{"messages", 0, NULL, cli_flag, TO(emu.messages),
	 "also write messages of MPI as communications", .holds = is_not_compat,
	 .rule = "excludes --compat"},
	{"critical", 0, "TID", cli_number, TO(emu.critical),
	 "also write the critical path to the end of this thread", .min = 1, .max = INT32_MAX,
	 .holds = is_not_compat, .rule = "excludes --compat"},
	{"owners", 0, NULL, cli_flag, TO(emu.owners),
	 "--critical: replace sleeps on locks with the paths of the owners", .holds = has_critical,
	 .rule = "needs --critical"},
	{"looms", 0, "LIST", cli_text, TO(emu.looms), "only these looms, as in n1,n2", PART},
	{"ranks", 0, "LIST", cli_ranks, TO(emu.ranks), "only these ranks of MPI, as in 0-3,7",
	 PART},
	{"from", 0, "TIME", add_from, TO(emu), "only from TIME after the first event on", PART,
	 .max = INT64_MAX},
	{"to", 0, "TIME", add_to, TO(emu), "only up to TIME after the first event", PART,
	 .max = INT64_MAX},
	{"gz", 0, NULL, cli_flag, TO(emu.gzip), "write .prv.gz files (Paraver reads them)"},
	{"jobs", 'j', "N", cli_number, TO(jobs), "use N threads; the output does not depend on N",
	 .min = 1, .max = JOBS_MAX},
	{"clock-offsets", 'c', "FILE", cli_text, TO(emu.offsets),
	 "read the offsets between the clocks of the hosts from FILE"},
	{"clock", 0, NULL, cli_choice, TO(emu.clock),
	 "correct clocks by the measured offsets (default), or, for nodes that nobody has "
	 "measured, "
	 "by their times of day, as far as NTP or PTP keeps these together",
	 .choices = clocks, .holds = is_clock_alone, .rule = "excludes --compat and -c"},
	{"all-models", 'a', NULL, cli_flag, TO(emu.all_models),
	 "enable all models, also those that no stream requires"},
	{"lint", 'l', NULL, cli_flag, TO(emu.lint),
	 "fail if a stack of a thread is not empty at the end"},
	{"tolerant", 0, NULL, cli_flag, TO(emu.tolerant),
	 "leave out damaged streams, with a warning"},
	{"compat", 0, NULL, cli_flag, TO(emu.compat),
	 "write only what the reference emulator writes"},
	{"quiet", 'q', NULL, cli_flag, TO(emu.quiet), "print only warnings and errors"},
	{"debug", 'd', NULL, cli_flag, TO(debug), "print debug messages"},
	{0},
};

static void print_models(void)
{
	char model[64];
	int column = printf("\nModels:") - 1;

	for (size_t i = 0; models[i]; i++) {
		const struct catalog_model *catalog = catalog_model_by_name(models[i]->name);
		int n;

		if (!catalog || !catalog->nevents)
			continue;
		n = snprintf(model, sizeof(model), " %s %s", catalog->name, catalog->version);
		column = column + n > 79 ? printf("\n ") - 1 + n : column + n;
		fputs(model, stdout);
	}
	putchar('\n');
}

static const struct cli cli = {
	.name = "ovni-emu",
	.operands = "TRACEDIR",
	.about = "Turn the ovni trace in TRACEDIR into Paraver traces beside it.",
	.options = options,
	.details = print_models,
	.notes = "Examples:\n"
		 "  # Paraver traces of the trace in ./ovni\n"
		 "  ovni-emu ovni\n"
		 "\n"
		 "  # with wake-up arrows, and two threads\n"
		 "  ovni-emu --arrows -j 2 ovni\n"
		 "\n"
		 "  # with the critical path of thread 7, for cfg/thread/critical-path.cfg\n"
		 "  ovni-emu --critical 7 ovni\n"
		 "\n"
		 "  # the second second of two nodes of a large job\n"
		 "  ovni-emu --looms n1,n2 --from 1s --to 2s trace\n"
		 "\n"
		 "  # of a trace in a read-only directory\n"
		 "  ovni-emu -o views /archive/run1\n"
		 "\n"
		 "  # also check that every region ends\n"
		 "  ovni-emu -l ovni",
	.command = true, /* options precede the directory */
	.finish = check_times,
};

static void on_interrupt(int signo)
{
	emulator_interrupted = 1;
	signal(signo, SIG_DFL); /* a second signal kills */
}

static void catch_signals(void)
{
	struct sigaction act = {.sa_handler = on_interrupt, .sa_flags = SA_RESTART};

	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* write() then returns EFBIG */
}

int main(int argc, char **argv)
{
	struct settings settings = {.jobs = 1};
	struct emu_options *emu = &settings.emu;

	emu->trace = cli_parse(&cli, argc, argv, &settings)[0];
	emu->jobs = (unsigned)settings.jobs;
	if (settings.debug)
		log_setup("ovni-emu", LOG_DEBUG);
	else if (emu->quiet)
		log_setup("ovni-emu", LOG_WARN);
	catch_signals();
	return emulator_run(emu);
}
