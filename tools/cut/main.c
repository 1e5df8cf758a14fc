/* SPDX-License-Identifier: MIT */
/*
 * ovni-cut: a part of a trace as a trace of its own.
 *
 * In: a trace, and a selection: a window of time, threads, processes, looms, CPUs, models; out: a
 * new, valid trace. Threads that live at the edges of the window are entered and closed there
 * (cutter.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/cut/cutter.h"
#include "tools/lib/metadata_subset.h"
#include "tools/lib/filter.h"
#include "trace/catalog/catalog.h"
#include "trace/base/cli.h"
#include "trace/base/log.h"
#include "trace/base/text.h"

struct options {
	const char *path, *out;
	struct filter filter;
	int32_t *cpus;
	size_t ncpus;
	bool models[256], some_models;
};

#define TO(member) offsetof(struct options, member)

static int add_cpu(const struct cli_option *option, const char *text, void *to)
{
	struct options *options = to;
	int32_t *grown = realloc(options->cpus, (options->ncpus + 1) * sizeof(*grown));
	uint64_t cpu;
	int err;

	if (!grown)
		return log_no_memory("for the list of CPUs");
	options->cpus = grown;
	err = cli_number(option, text, &cpu);
	if (err)
		return err;
	grown[options->ncpus++] = (int32_t)cpu;
	return 0;
}

static int add_model(const struct cli_option *option, const char *text, void *to)
{
	const struct catalog_model *model = catalog_model_by_name(text);
	struct options *options = to;

	if (!model && strlen(text) == 1)
		model = catalog_model(*text);
	if (!model)
		return cli_refuse(option, text, "no such model; ovni-version lists them");
	options->models[(uint8_t)model->character] = options->some_models = true;
	return 0;
}

static const struct cli_option cli_options[] = {
	{"output", 'o', "DIR", cli_text, TO(out), "new directory of the part (TRACE.cut)"},
	{"from", 0, "TIME", moment_option, TO(filter.from),
	 "begin at this clock, in ns; +TIME counts from the first event and takes ns, us, ms, s"},
	{"to", 0, "TIME", moment_option, TO(filter.to), "end at this clock, which is included"},
	{"tid", 0, "TID", filter_add_tid, TO(filter), "only threads with this id"},
	{"pid", 0, "PID", filter_add_pid, TO(filter), "only processes with this id"},
	{"loom", 0, "LOOM", filter_add_loom, TO(filter), "only this loom"},
	{"cpu", 0, "INDEX", add_cpu, 0,
	 "threads only while they are on this CPU, by its index in the loom", .max = INT32_MAX},
	{"model", 0, "MODEL", add_model, 0,
	 "only events of this model, by name or character; ovni events are always kept"},
	{0},
};

static const struct cli cli = {
	.name = "ovni-cut",
	.operands = "TRACE",
	.about = "Write a part of an ovni trace as a trace of its own.",
	.options = cli_options,
	.notes = "Examples:\n"
		 "  # half a second\n"
		 "  ovni-cut --from +1s --to +1.5s trace\n\n"
		 "  # one thread\n"
		 "  ovni-cut --tid 1204 -o one trace\n\n"
		 "  # the threads on CPU 3, while they are there\n"
		 "  ovni-cut --cpu 3 --model kernel trace",
};

/* Corrects the counts and the window of the recorder, which describe the whole trace. */
static int correct_metadata(struct json *meta, const struct cutter *c, size_t i)
{
	uint64_t t0, t1, events;
	bool ok = true;

	if (json_u64(json_get(meta, "bpf.events"), &events))
		ok = json_put_u64(meta, "bpf.events", c->written[i]);
	if (json_u64(json_get(meta, "bpf.session.t0"), &t0) && c->from > 0 &&
	    t0 < (uint64_t)c->from)
		ok = ok && json_put_u64(meta, "bpf.session.t0", (uint64_t)c->from);
	if (json_u64(json_get(meta, "bpf.session.t1"), &t1) && c->to >= 0 && t1 > (uint64_t)c->to)
		ok = ok && json_put_u64(meta, "bpf.session.t1", (uint64_t)c->to);
	if (json_get(meta, "bpf.session.cpus"))
		ok = ok && json_put_array(meta, "bpf.session.cpus");
	ok = ok && json_put_string(meta, "cut.by", "ovni-cut") &&
	     json_put_i64(meta, "cut.from", c->from) && json_put_i64(meta, "cut.to", c->to);
	return ok ? 0 : -ENOMEM;
}

static int describe_stream(const struct cutter *c, const bool *kept, size_t i)
{
	const char *path = c->source->trace.streams[i];
	struct json *meta = metadata_subset(c->source, kept, i);
	int err;

	if (!meta)
		return -EINVAL;
	err = correct_metadata(meta, c, i);
	if (err)
		goto out;
	if (!json_put_int(meta, "ovni.finished", 1)) {
		err = -ENOMEM;
		goto out;
	}
	err = stream_describe(c->out_fd, path, meta);
out:
	json_free(meta);
	if (err)
		log_error("%s: cannot write the metadata: %s", path, strerror(-err));
	return err;
}

static int describe(const struct cutter *c)
{
	size_t n = c->source->trace.nstreams;
	bool *kept = calloc(n + 1, sizeof(*kept));
	int err = 0;

	if (!kept)
		return log_no_memory("while cutting %s", c->source->trace.path);
	for (size_t i = 0; i < n; i++)
		kept[i] = c->written[i];
	for (size_t i = 0; i < n; i++) {
		if (kept[i])
			err = describe_stream(c, kept, i);
		if (err)
			break;
	}
	free(kept);
	return err;
}

static int run(const struct options *options, struct source *source, struct filter *filter)
{
	struct cutter cutter = {.source = source, .out_fd = -1};
	size_t streams = 0;
	bool active;
	int err = filter_start(filter, source, &active);

	if (err)
		return err;
	cutter.from = filter->first;
	cutter.to = filter->last;
	cutter.streams = filter->streams;
	cutter.cpus = options->cpus;
	cutter.ncpus = options->ncpus;
	cutter.models = options->some_models ? options->models : NULL;
	if (mkdir(options->out, 0777) == 0)
		cutter.out_fd = open(options->out, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (cutter.out_fd < 0) {
		err = -errno;
		log_error("cannot create '%s': %s", options->out, strerror(-err));
		return err;
	}
	err = cutter_run(&cutter);
	if (err)
		goto out;
	err = describe(&cutter);
	if (err)
		goto out;
	for (size_t i = 0; i < source->trace.nstreams; i++)
		streams += cutter.written[i] > 0;
	log_info("%s: %zu stream%s, %llu event%s kept, %llu added at the edges, %llu left out",
		 options->out, streams, plural(streams, "", "s"), (unsigned long long)cutter.kept,
		 plural(cutter.kept, "", "s"), (unsigned long long)cutter.added,
		 (unsigned long long)cutter.dropped);
	if (!streams)
		log_warn("%s: the part has no events", options->out);
out:
	cutter_fini(&cutter);
	close(cutter.out_fd);
	return err;
}

int main(int argc, char **argv)
{
	struct options options = {0};
	struct source source;
	char *out = NULL;
	int err;

	options.path = cli_parse(&cli, argc, argv, &options)[0];
	if (!options.out) {
		options.out = out = path_with_suffix(options.path, ".cut");
		if (!out) {
			log_lack("for the name of the output");
			return STATUS_FAILED;
		}
	}
	err = source_open(&source, options.path);
	if (!err)
		err = run(&options, &source, &options.filter);
	filter_free(&options.filter);
	source_close(&source);
	free(options.cpus);
	free(out);
	return err ? STATUS_FAILED : STATUS_COMPLETE;
}
