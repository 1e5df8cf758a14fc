/* SPDX-License-Identifier: MIT */
/*
 * ovni-sort: sorts events that were written late into their streams, by clock.
 *
 * In: a trace; out: the same trace, with the regions OU[ ... OU] of each stream sorted, or
 * with --all every stream as a whole. Streams are sorted one by one, in the order of their
 * paths. Invariant: each is replaced in one step or, after a failure, unchanged, and then the
 * program ends.
 * Specification: tools.md 3.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/sort/external_sort.h"
#include "tools/sort/unordered_regions.h"
#include "trace/ovni/trace_input.h"
#include "trace/base/cli.h"
#include "trace/base/log.h"
#include "trace/base/text.h"

struct options {
	const char *path;
	bool check, all, dry_run, durable, quiet;
	uint64_t window, memory;
};

struct totals {
	uint64_t streams, changed, events, regions, moved;
};

#define TO(member) offsetof(struct options, member)

static const struct cli_option cli_options[] = {
	{"check", 'c', NULL, cli_flag, TO(check),
	 "only check: status 0 if all streams are in order, else 1"},
	{"all", 'a', NULL, cli_flag, TO(all), "sort whole streams, not only their regions"},
	{"window", 'n', "N", cli_number, TO(window),
	 "look for the place of a region among the last N events (1000000)", .min = 1,
	 .max = INT64_MAX / 64},
	{"memory", 'm', "SIZE", cli_size, TO(memory),
	 "with --all: use about this much memory (256M)"},
	{"dry-run", 'd', NULL, cli_flag, TO(dry_run), "print the changes, and change nothing"},
	{"durable", 'D', NULL, cli_flag, TO(durable),
	 "wait for the disk before a sorted stream replaces the old one, to survive a power "
	 "failure"},
	{"quiet", 'q', NULL, cli_flag, TO(quiet), "print only warnings and errors"},
	{0},
};

static const struct cli cli = {
	.name = "ovni-sort",
	.operands = "TRACE",
	.about = "Sort the regions OU[ ... OU] of the streams of an ovni trace, in place.",
	.options = cli_options,
	.notes = "Examples:\n"
		 "  # sort the regions\n"
		 "  ovni-sort trace\n\n"
		 "  # is it in order?\n"
		 "  ovni-sort -c trace\n\n"
		 "  # sort everything, in bounded memory\n"
		 "  ovni-sort --all trace\n\n"
		 "  # what would change?\n"
		 "  ovni-sort --dry-run trace",
};

/* Returns 1 if a clock goes back, 0 if none does, -errno if the stream is damaged. */
static int check_stream(struct stream *stream)
{
	uint64_t last = 0;
	int err, jumps = 0;

	stream_rewind(stream);
	while ((err = stream_step(stream)) > 0) {
		uint64_t clock = (uint64_t)stream->ev.clock;

		if (clock < last) {
			log_error("%s: the clock goes back from %llu to %llu at byte %llu",
				  stream->path, (unsigned long long)last, (unsigned long long)clock,
				  (unsigned long long)stream_offset(stream));
			jumps = 1;
		}
		last = clock;
	}
	if (err < 0)
		stream_report(stream);
	return err < 0 ? err : jumps;
}

static int sort_regions(const struct options *options, struct unordered_regions *r,
			struct stream *stream, struct totals *totals)
{
	int err;

	r->path = stream->path;
	err = unordered_regions_sort(r);
	err = unordered_regions_finish(r, err, options->durable);
	totals->events += r->events;
	if (err)
		return err;
	if (r->empty)
		log_warn("%s: %llu region%s empty", stream->path, (unsigned long long)r->empty,
			 plural(r->empty, " is", "s are"));
	if (r->open)
		log_warn("%s: the last region is not closed; it stays unsorted", stream->path);
	totals->regions += r->sorted;
	totals->moved += r->moved;
	totals->changed += r->moved > 0;
	if (r->moved && options->dry_run)
		log_info("%s: would move %llu events of %llu regions", stream->path,
			 (unsigned long long)r->moved, (unsigned long long)r->sorted);
	return 0;
}

static int sort_whole(const struct options *options, struct stream *stream, int trace_fd,
		      struct totals *totals)
{
	struct sort_result result;
	int err = external_sort(trace_fd, stream->path, options->memory, options->dry_run,
				options->durable, &result);

	totals->events += result.events;
	if (err)
		return err;
	totals->changed += result.runs > 0;
	if (result.runs && options->dry_run)
		log_info("%s: would sort %llu events", stream->path,
			 (unsigned long long)result.events);
	return 0;
}

static void say(const struct options *options, const struct totals *totals)
{
	const char *verb = options->dry_run ? "would change" : "changed";

	if (options->quiet)
		return;
	if (options->all)
		log_info("%llu streams, %llu events: %s %llu streams",
			 (unsigned long long)totals->streams, (unsigned long long)totals->events,
			 verb, (unsigned long long)totals->changed);
	else
		log_info("%llu streams, %llu events, %llu regions: %s %llu streams, %llu events "
			 "moved",
			 (unsigned long long)totals->streams, (unsigned long long)totals->events,
			 (unsigned long long)totals->regions, verb,
			 (unsigned long long)totals->changed, (unsigned long long)totals->moved);
}

static int run(const struct options *options, struct source *source)
{
	struct unordered_regions regions = {.trace_fd = source->trace.fd,
					    .window = options->window,
					    .dry_run = options->dry_run};
	struct totals totals = {0};
	int status = 0, err = 0;

	for (size_t i = 0; i < source->trace.nstreams && !err; i++) {
		struct stream *stream = &source->streams[i];

		totals.streams++;
		if (options->check) {
			if (check_stream(stream) != 0)
				status = 1;
			continue;
		}
		if (options->all)
			err = sort_whole(options, stream, source->trace.fd, &totals);
		else
			err = sort_regions(options, &regions, stream, &totals);
	}
	unordered_regions_fini(&regions);
	if (err)
		return 1;
	if (!options->check)
		say(options, &totals);
	else if (!status && !options->quiet)
		log_info("%llu streams, all in order", (unsigned long long)totals.streams);
	return status;
}

int main(int argc, char **argv)
{
	struct options options = {.window = 1000000, .memory = 256 << 20};
	struct source source;
	int err;

	options.path = cli_parse(&cli, argc, argv, &options)[0];
	err = source_open(&source, options.path);
	if (!err)
		err = run(&options, &source);
	source_close(&source);
	return err ? STATUS_FAILED : STATUS_COMPLETE;
}
