/* SPDX-License-Identifier: MIT */
/*
 * ovni-view: a trace as one HTML page with a timeline, which needs no network and no server.
 *
 * In: a trace, walked once (collect.h), and beside that for its findings (findings_walk.h); out:
 * the page (page_file.h). This file reads the command line and writes the names: threads, CPUs,
 * functions, the session, the overview.
 */
#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lib/wall_clock.h"
#include "tools/view/anonymous.h"
#include "tools/view/collect.h"
#include "tools/view/findings_walk.h"
#include "tools/view/put_overview.h"
#include "trace/base/cli.h"
#include "trace/base/log.h"
#include "trace/base/text.h"
#include "trace/catalog/priorities.h"
#include "trace/loom/modules.h"

#define DEFAULT_TRACE "ovni" /* of ovni-bpf without -o */
#define LEVEL_FAST    1	     /* of deflate: keeps up with the walk */
#define LEVEL_SMALL   6

struct options {
	const char *path, *output;
	bool small, findings, anonymous, quiet;
	uint64_t limit;
	struct filter filter;
};

#define TO(member) offsetof(struct options, member)

static const struct cli_option cli_options[] = {
	{.help = "Options"},
	{"output", 'o', "FILE", cli_text, TO(output),
	 "the page; the trace with .html unless given"},
	{"from", 0, "TIME", moment_option, TO(filter.from),
	 "show detail from this clock on, in ns; +TIME counts from the first event and takes ns, "
	 "us, ms, s; 03:12:05 is a time of day, in the local time of the recording"},
	{"to", 0, "TIME", moment_option, TO(filter.to), "show detail up to this clock"},
	{"tid", 0, "TID", filter_add_tid, TO(filter), "only threads with this id"},
	{"pid", 0, "PID", filter_add_pid, TO(filter), "only processes with this id"},
	{"comm", 0, "GLOB", filter_add_comm, TO(filter),
	 "only threads with such a name, as 'worker*'"},
	{"loom", 0, "LOOM", filter_add_loom, TO(filter), "only this loom"},
	{"no-findings", 0, NULL, cli_clear, TO(findings),
	 "leave out the overview and the findings of ovni-report, which takes less time"},
	{"anonymous", 0, NULL, cli_flag, TO(anonymous),
	 "leave out the names of programs, threads, functions, machines and files, for a page that "
	 "is passed on"},
	{"small", 0, NULL, cli_flag, TO(small), "pack better, which takes longer"},
	{"quiet", 'q', NULL, cli_flag, TO(quiet), "print only warnings and errors"},
	{"limit", 0, "SIZE", cli_size, TO(limit), "end the detail at this size of the page [150M]"},
	{0},
};

static int choose(void *settings, char **operands)
{
	struct options *options = settings;

	options->path = operands[0] ? operands[0] : DEFAULT_TRACE;
	return 0;
}

static const struct cli cli = {
	.name = "ovni-view",
	.operands = "[TRACE]",
	.about = "Write an ovni trace, " DEFAULT_TRACE " if none is given, as one HTML page with a "
		 "timeline of its CPUs and threads. A browser shows it without a network and "
		 "without a server.",
	.options = cli_options,
	.finish = choose,
	.notes = "Examples:\n"
		 "  # the trace in ./ovni as ovni.html\n"
		 "  ovni-view\n\n"
		 "  # a tenth of a second of a long trace\n"
		 "  ovni-view --from +1s --to +1.1s -o part.html trace",
};

/* ---- names ---- */

struct described {
	const struct options *options;
	const struct source *source;
	struct collect *collect;
	struct findings_walk walk; /* of the findings of the overview */
	struct overview overview;
	bool damaged;
};

/* Names as all tools show them: without control characters. */
static void put_name(struct json *node, const char *key, const char *name)
{
	json_put_string(node, key, name ? text_shown(name) : "");
}

/* Whether there is an integer in [least, most] at a key of untrusted metadata. */
static bool within(const struct json *node, const char *key, int64_t least, int64_t most)
{
	const struct json *value = json_key(node, key);

	return json_is_number(value) && json_int(value) >= least && json_int(value) <= most;
}

static void put_same(struct json *to, const char *name, const struct json *node, const char *key)
{
	json_put_int(to, name, json_int(json_key(node, key)));
}

/* The node of an accelerator, its place, and the nodes that drive its inputs (loom.md 9.6). */
static void put_node(const struct json *accel, struct json *thread)
{
	const struct json *input = json_first(json_key(accel, "inputs"));
	struct json *list, *entry;

	if (!within(accel, "core_id", 0, UINT16_MAX) || !within(accel, "hw_node_id", 0, UINT32_MAX))
		return;
	put_same(thread, "core", accel, "core_id");
	put_same(thread, "node", accel, "hw_node_id");
	if (json_key(accel, "lane")) /* its node has the place */
		json_put_bool(thread, "lane", true);
	if (within(accel, "x", -LOOM_PLACE_MOST, LOOM_PLACE_MOST) &&
	    within(accel, "y", -LOOM_PLACE_MOST, LOOM_PLACE_MOST)) {
		put_same(thread, "x", accel, "x");
		put_same(thread, "y", accel, "y");
	}
	list = input ? json_put_array(thread, "inputs") : NULL;
	for (int i = 0; input && i < LOOM_INPUTS; input = json_next(input), i++) {
		if (!within(input, "input", 0, LOOM_INPUTS - 1) ||
		    !within(input, "from", 0, UINT32_MAX))
			continue;
		entry = json_put_object(list, NULL);
		put_same(entry, "input", input, "input");
		put_same(entry, "from", input, "from");
	}
}

/* The name of a thread without one: the label of a part of an accelerator (loom.md), or none. */
static void put_label(const struct described *d, size_t stream, struct json *thread)
{
	struct json *meta = trace_metadata(&d->source->trace, stream);
	const char *label = json_string(json_get(meta, "accel.label"));
	char number[32];

	snprintf(number, sizeof(number), "part %zu", stream + 1);
	put_name(thread, "name", label && d->options->anonymous ? number : label);
	if (label) {
		json_put_bool(thread, "accelerator", true);
		put_node(json_key(meta, "accel"), thread);
	}
	json_free(meta);
}

static void put_threads(const struct described *d, struct json *root)
{
	const struct actors *actors = &d->collect->actors;
	struct json *list = json_put_array(root, "looms");

	for (size_t i = 0; i < actors->nlooms; i++)
		json_put_string(list, NULL, text_shown(actors->looms[i]));
	list = json_put_array(root, "threads");
	for (size_t i = 0; i < d->source->trace.nstreams; i++) {
		const struct owner *owner = &d->source->owners[i];
		struct json *thread = json_put_object(list, NULL);

		if (owner->name)
			put_name(thread, "name", owner->name);
		else
			put_label(d, i, thread);
		json_put_i64(thread, "tid", owner->tid);
		json_put_i64(thread, "pid", owner->pid);
		json_put_int(thread, "loom", actors->loom_of[i]);
		if (owner->known_rank >= 0)
			json_put_i64(thread, "rank", owner->known_rank);
		if (!d->collect->filter->streams[i])
			json_put_bool(thread, "omitted", true);
		if (i % JSON_PACK_EACH == JSON_PACK_EACH - 1)
			json_pack(list, 1);
	}
	list = json_put_array(root, "others");
	for (size_t i = 0; i < actors->nothers; i++) {
		char *name = tid_names_of_tid(&actors->names, actors->others[i].stream,
					      actors->others[i].tid);

		put_name(list, NULL, name);
		free(name);
	}
	list = json_put_array(root, "cpus");
	for (size_t i = 0; i < actors->ncpus; i++) {
		struct json *cpu = json_put_object(list, NULL);

		json_put_int(cpu, "loom", actors->cpus[i].loom);
		json_put_int(cpu, "cpu", actors->cpus[i].cpu);
		if (i % JSON_PACK_EACH == JSON_PACK_EACH - 1)
			json_pack(list, 1);
	}
}

static void put_functions(const struct described *d, struct json *root)
{
	struct json *list = json_put_array(root, "functions");

	for (size_t i = 0; i < d->collect->functions.n; i++) {
		struct json *function = json_put_object(list, NULL);
		char *label, *title;

		function_names(d->source, &d->collect->functions.list[i], &label, &title);
		if (d->options->anonymous && d->collect->functions.list[i].type >= 0) {
			free(label);
			free(title);
			label = xasprintf("function %zu", i + 1);
			title = NULL;
		}
		put_name(function, "label", label);
		put_name(function, "title", title);
		free(label);
		free(title);
	}
}

static void put_sleeps(const struct described *d, struct json *root)
{
	struct json *list = json_put_array(root, "sleep_calls");

	for (size_t i = 0; i < d->collect->nsleep_calls; i++)
		put_name(list, NULL, d->collect->sleep_calls[i]);
	list = json_put_array(root, "stacks");
	for (size_t i = 0; i < d->collect->details.ntexts; i++)
		put_name(list, NULL, d->collect->details.texts[i]);
}

static void put_density(struct json *root, const char *key, const struct density *density)
{
	struct json *node = json_put_object(root, key), *list = json_put_array(node, "ns");

	json_put_int(node, "width", density->width);
	for (size_t i = 0; i < DENSITY_BUCKETS; i++)
		json_put_real(list, NULL, (double)density->ns[i]);
}

/* The uses of time, so that the page has the words of ovni-report why. */
static void put_uses(struct json *root)
{
	struct json *list = json_put_array(root, "uses");

	for (int i = 0; i < TIME_USES; i++) {
		struct json *use = json_put_object(list, NULL);

		json_put_string(use, "state", time_use_state((enum time_use)i));
		json_put_string(use, "reason", time_use_reason((enum time_use)i));
	}
	json_put_int(root, "asleep", TIME_ASLEEP);
	list = json_put_array(root, "why");
	for (unsigned i = 0; i < OFF_CPU_COUNT; i++)
		json_put_string(list, NULL, off_cpu_word(i));
}

static int put_wall_clock(const struct described *d, struct json *root)
{
	struct wall_clock wall;
	int err = wall_clock_read(&wall, &d->source->trace, d->source->owners);

	if (err || !wall.known)
		return err;
	json_put_i64(root, "wall.clock", wall.clock);
	json_put_i64(root, "wall.ns", wall.ns);
	json_put_int(root, "wall.utc_offset", wall.utc_offset);
	return 0;
}

static void put_session(const struct described *d, struct json *root)
{
	const struct json *session = json_get(d->overview.session, "bpf.session");
	char reasons[WHOLE_TEXT];

	if (!d->options->anonymous)
		put_name(root, "kernel", json_string(json_key(session, "kernel")));
	json_put_u64(root, "lost", d->source->whole.lost + d->source->whole.records);
	put_name(root, "incomplete", whole_text(&d->source->whole, reasons));
	json_put_u64(root, "repairs", d->overview.repairs);
	json_put_bool(root, "damaged", d->damaged);
}

/* The name of the trace, without its directories; for free(). NULL without memory. */
static char *trace_name(const char *path)
{
	char *whole = path_with_suffix(path, ""), *slash = whole ? strrchr(whole, '/') : NULL;
	char *name;

	if (!slash || !slash[1])
		return whole;
	name = strdup(slash + 1);
	free(whole);
	return name;
}

/* The number that is a key of the metadata. */
static bool key_number(const char *key, int64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoll(key, &end, 10);
	return end != key && !*end && !errno;
}

/* Marks without names of a program: of ovni-bpf --why=prio. */
static bool neutral_mark(int32_t type, const struct json *mark)
{
	const char *title = json_string(json_key(mark, "title"));

	return title && ((type == MARK_PRIORITY && !strcmp(title, MARK_PRIORITY_TITLE)) ||
			 (type == MARK_ALLOWED_CPUS && !strcmp(title, MARK_ALLOWED_CPUS_TITLE)));
}

/* One type of marks, from the metadata of one stream; `seen` has the labels of those before. */
static int put_mark(struct json *node, int32_t type, const struct json *mark, struct hash *seen)
{
	const struct json *label = json_first(json_key(mark, "labels"));
	struct json *list = json_put_array(node, "labels");

	if (json_string(json_key(mark, "title")))
		put_name(node, "title", json_string(json_key(mark, "title")));
	for (; label; label = json_next(label)) {
		struct json *entry;
		int64_t value;
		uint32_t *at;

		if (!key_number(json_name(label), &value) || !json_string(label))
			continue;
		at = hash_at(seen, (struct hash_key){.a = (uint64_t)value, .c = (uint32_t)type});
		if (!at)
			return -ENOMEM;
		if (*at != HASH_NONE)
			continue;
		*at = 0;
		entry = json_put_object(list, NULL);
		json_put_i64(entry, "value", value);
		put_name(entry, "label", json_string(label));
	}
	return 0;
}

/* The name of a hardware counter of nOS-V, once. */
static int put_counter(const struct described *d, struct json *list, int32_t type,
		       const struct json *counters, struct hash *seen)
{
	struct json *node;
	const char *name;
	char key[24];
	uint32_t *at;

	snprintf(key, sizeof(key), "%d", type - COUNTER_TYPE);
	name = json_string(json_key(json_key(counters, key), "name"));
	if (!name)
		return 0;
	at = hash_at(seen, (struct hash_key){.b = 1, .c = (uint32_t)type});
	if (!at)
		return -ENOMEM;
	if (*at != HASH_NONE)
		return 0;
	*at = 0;
	node = json_put_object(list, NULL);
	json_put_int(node, "type", type);
	snprintf(key, sizeof(key), "counter %d", type - COUNTER_TYPE);
	put_name(node, "title", d->options->anonymous ? key : name);
	json_put_array(node, "labels");
	return 0;
}

/* Titles and labels of the points. 0, or -errno after one message. */
static int put_marks(const struct described *d, struct json *root)
{
	const struct collect *c = d->collect;
	struct json *list = json_put_array(root, "marks");
	struct hash seen = {0};
	int err = 0;

	for (size_t i = 0; c->ntypes && i < d->source->trace.nstreams && err == 0; i++) {
		struct json *meta = trace_metadata(&d->source->trace, i);
		const struct json *marks = json_get(meta, "ovni.mark");
		const struct json *counters = json_get(meta, "nosv.hwc");

		err = meta ? 0 : -EINVAL;
		for (size_t k = 0; k < c->ntypes && err == 0; k++) {
			char key[16];
			const struct json *mark;
			struct json *node;

			snprintf(key, sizeof(key), "%d", c->types[k]);
			mark = json_key(marks, key);
			if (d->options->anonymous && !neutral_mark(c->types[k], mark))
				mark = NULL; /* the page shows the type */
			if (mark) {
				node = json_put_object(list, NULL);
				json_put_int(node, "type", c->types[k]);
				err = put_mark(node, c->types[k], mark, &seen);
			} else if (c->types[k] >= COUNTER_TYPE) {
				err = put_counter(d, list, c->types[k], counters, &seen);
			}
			if (err)
				log_no_memory("for the marks of the page");
		}
		json_free(meta);
	}
	hash_free(&seen);
	return err;
}

/* The section that stands first: everything but the blocks. */
static int describe(struct described *d, struct page_file *page)
{
	struct collect *c = d->collect;
	struct json *root = json_new_object();
	char *name = d->options->anonymous ? strdup("trace") : trace_name(d->options->path),
	     *text = NULL;
	int64_t end = clock_distance(c->origin, c->end);
	int64_t first = c->first == INT64_MIN ? 0 : clock_distance(c->origin, c->first);
	int64_t last = c->last == INT64_MAX ? end : clock_distance(c->origin, c->last);
	int err;

	json_put_int(root, "version", 1);
	put_name(root, "name", name);
	json_put_i64(root, "origin", c->origin);
	json_put_int(root, "end", end);
	json_put_int(root, "detail.first", first < 0 ? 0 : first > end ? end : first);
	json_put_int(root, "detail.last", last < 0 ? 0 : last > end ? end : last);
	json_put_bool(root, "detail.full", c->full);
	json_put_int(root, "counts.runs", (int64_t)c->runs.runs_written);
	json_put_int(root, "counts.stays", (int64_t)c->nstays);
	json_put_int(root, "counts.calls", (int64_t)c->ncalls);
	json_put_int(root, "counts.points", (int64_t)c->npoints);
	json_put_int(root, "counts.gaps", (int64_t)c->ngaps);
	json_put_int(root, "counts.details", (int64_t)c->details.n);
	put_session(d, root);
	put_uses(root);
	err = put_wall_clock(d, root);
	if (err)
		goto out;
	if (d->options->findings) {
		err = put_overview(root, &d->overview, &c->actors, d->options->anonymous);
		if (err)
			goto lack;
	}
	put_threads(d, root);
	put_functions(d, root);
	put_sleeps(d, root);
	err = put_marks(d, root);
	if (err)
		goto out;
	put_density(root, "busy", &c->busy);
	put_density(root, "runnable", &c->runnable);
	text = json_text(root);
	if (!text)
		goto lack;
	json_free(root);
	root = NULL;
	err = page_file_add(page, "trace", text, strlen(text));
	goto out;
lack:
	err = log_no_memory("for the names of the page");
out:
	free(text);
	free(name);
	json_free(root);
	return err;
}

static int make_page(struct options *options, struct source *source, int *status)
{
	struct page_file page = {0};
	struct collect collect = {0};
	struct described described = {
		.options = options,
		.source = source,
		.collect = &collect,
		.overview = {.source = source,
			     .names = &collect.actors.names,
			     .filter = &options->filter,
			     .path = options->anonymous ? DEFAULT_TRACE : options->path}};
	char *output = options->output ? strdup(options->output)
				       : path_with_suffix(options->path, ".html");
	bool active;
	int err;

	if (!output)
		return log_no_memory("for the name of the page");
	err = page_file_init(&page, options->small ? LEVEL_SMALL : LEVEL_FAST);
	if (err)
		goto out;
	err = filter_start(&options->filter, source, &active);
	if (err)
		goto out;
	if (options->anonymous)
		anonymous_calls(source);
	if (options->findings)
		findings_walk_begin(&described.walk, source, &described.overview.findings,
				    options->filter.first, options->filter.last);
	err = collect_trace(&collect, source, &options->filter, &page,
			    options->findings ? &described.walk : NULL, options->limit,
			    &described.damaged);
	if (err)
		goto out;
	if (options->findings) {
		err = findings_walk_end(&described.walk);
		if (err)
			goto out;
	}
	if (options->anonymous) {
		err = anonymous_names(source, &collect, &described.overview.findings);
		if (err)
			goto out;
	}
	described.overview.damaged = described.damaged;
	err = overview_facts(&described.overview);
	if (err)
		goto out;
	streams_free(source->streams, source->trace.nstreams); /* all walks are over */
	source->streams = NULL;
	err = describe(&described, &page);
	if (err)
		goto out;
	err = page_file_write(&page, output);
	if (err)
		goto out;
	if (!options->quiet)
		log_info("%s: %" PRIu64 " %s of %zu %s, %.1f MB", output, collect.runs.runs_written,
			 plural(collect.runs.runs_written, "run", "runs"), source->trace.nstreams,
			 plural(source->trace.nstreams, "thread", "threads"),
			 (double)page.bytes / 1e6);
	*status = whole_report(&source->whole, options->path);
	if (collect.full) {
		log_warn("%s: the detail ends %.6f s after the first event, at %.0f MB (--limit): "
			 "choose a part with --from, --to or --comm",
			 output, (double)clock_distance(collect.origin, collect.last) / 1e9,
			 (double)page.bytes / 1e6);
		*status = STATUS_LOST;
	}
	if (collect.details.damaged)
		err = -EBADMSG; /* after a message */
	if (described.damaged) {
		log_warn("%s: the page ends where the trace is damaged", output);
		err = -EBADMSG;
	}
out:
	findings_walk_fini(&described.walk);
	overview_fini(&described.overview);
	collect_fini(&collect);
	page_file_fini(&page);
	free(output);
	return err;
}

int main(int argc, char **argv)
{
	struct options options = {.limit = 150 << 20, .findings = true};
	struct source source = {0};
	int status = STATUS_FAILED, err;

	cli_parse(&cli, argc, argv, &options);
	mallopt(M_ARENA_MAX, 1); /* other arenas grow by one page per system call */
	err = source_open(&source, options.path);
	if (!err)
		err = source_correct_clocks(&source);
	if (!err)
		err = make_page(&options, &source, &status);
	filter_free(&options.filter);
	source_close(&source);
	return err ? STATUS_FAILED : status;
}
