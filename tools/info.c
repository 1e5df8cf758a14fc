/* SPDX-License-Identifier: MIT */
/*
 * ovni-info: a summary of a trace: its producer, its hosts, and its amount of events.
 *
 *   trace       ovni
 *   made by     ovni-bpf 0.1.0 (3f2a1b0): ovni-bpf -o ovni -- ./solver
 *   kernel      6.1.0-18-amd64 x86_64
 *   when        2026-11-22 03:12:05.250112 +0100 to 2026-11-22 03:12:15.252001 +0100
 *   boot        9b3ec836-a257-4652-b328-6007ba948e66
 *   ended by    trigger: latency>5ms: worker (1205) waited 7.120 ms
 *   duration    10.002 s
 *   loom        node1: 8 CPUs, 9 threads
 *   events seen 12090 = 12044 written + 46 filtered + 0 sampled out + 0 lost
 *   stolen      0.12 s of 80.02 s of the CPUs (0.15 %), most from CPU 3: 0.10 s
 *   their time  38.0 % running, 2.0 % waiting for a CPU, 60.0 % asleep, 0.0 % unknown
 *   cost        programs 0.41 % of the CPUs (15044 runs), the recorder 0.210 s of CPU time
 *   process     1204: application 1, 8 threads, cgroup /job.slice:
 *               ./solver --fast
 *   thread      1204/1205 worker: 12044 events
 *
 * In: a trace; out: facts of its metadata and of its stats.json, and counts of its events. Nothing
 * is judged here: that is ovni-check. All facts are put into one JSON document first, which --json
 * prints and the text is made of.
 */
#include <errno.h>
#include <inttypes.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/lib/job_table.h"
#include "tools/lib/printer.h"
#include "trace/ovni/trace.h"
#include "tools/lib/table.h"
#include "tools/lib/wall_clock.h"
#include "trace/catalog/catalog.h"
#include "trace/base/cli.h"
#include "trace/base/log.h"
#include "trace/base/text.h"
#include "trace/ovni/stats_file.h"

struct options {
	const char *path;
	bool json, threads;
};

struct info {
	struct source source;
	struct json *doc, *looms, *processes, *threads, *models;
	uint64_t events, bytes, models_seen[4];
	uint64_t damaged;
	int64_t first, last;
	struct wall_clock wall;
	struct job job;
	struct clock_table clocks;
	char *text;	 /* of doc; NULL if memory was missing */
	bool no_memory;	 /* for a text in doc */
	bool unreadable; /* stats.json, or a file of a job */
};

#define TO(member) offsetof(struct options, member)

static const struct cli_option cli_options[] = {
	{"threads", 't', NULL, cli_flag, TO(threads), "also print one line per thread"},
	{"json", 'j', NULL, cli_flag, TO(json), "print one JSON object, with all threads"},
	{0},
};

static const struct cli cli = {
	.name = "ovni-info",
	.operands = "TRACE",
	.about = "Print a summary of an ovni trace: its producer, its hosts, and its amount of "
		 "events.",
	.options = cli_options,
	.notes = "Examples:\n"
		 "  # the summary\n"
		 "  ovni-info trace\n\n"
		 "  # and its threads\n"
		 "  ovni-info --threads trace\n\n"
		 "  # everything, for a program\n"
		 "  ovni-info --json trace",
};

/* ---- gathering ---- */

/* The object for `key` below `list`, new ones with a count of 0. Keys may have dots, so they are no
 * paths. */
static struct json *entry(struct json *list, const char *key)
{
	const struct json *node;

	for (node = json_first(list); node; node = json_next(node))
		if (!strcmp(json_string(json_key(node, "name")) ?: "", key))
			return (struct json *)node;
	node = json_put_object(list, NULL);
	json_put_string((struct json *)node, "name", key);
	return (struct json *)node;
}

static void add(struct json *node, const char *key, int64_t more)
{
	json_put_int(node, key, json_int(json_key(node, key)) + more);
}

/* The command line as one text; arguments are separated by blanks. */
static char *joined(const struct json *list)
{
	char *text = strdup("");

	for (const struct json *node = json_first(list); node && text; node = json_next(node)) {
		const char *word = json_string(node);
		char *longer;

		if (!word)
			continue;
		if (asprintf(&longer, "%s%s%s", text, *text ? " " : "", word) < 0)
			longer = NULL;
		free(text);
		text = longer;
	}
	return text;
}

/* If not all processes of a loom have a rank, it is only in the recorder's metadata. */
static void put_rank(struct json *process, const struct json *meta, const struct owner *owner)
{
	const struct json *rank = json_get(meta, "bpf.rank"),
			  *nranks = json_get(meta, "bpf.nranks");

	if (owner->rank >= 0) {
		json_put_int(process, "rank", owner->rank);
		nranks = json_get(meta, "ovni.nranks");
	} else if (json_is_number(rank) && json_int(rank) >= 0) {
		json_put_int(process, "rank", json_int(rank));
	} else {
		return;
	}
	if (json_int(nranks) > 0)
		json_put_int(process, "nranks", json_int(nranks));
}

/* The cgroup of a process: the one of its threads, or several if they differ. */
static void add_cgroup(struct json *process, const struct owner *owner)
{
	const char *known = json_string(json_key(process, "cgroup"));

	if (!known)
		json_put_string(process, "cgroup", owner->cgroup);
	else if (owner->cgroup && strcmp(known, owner->cgroup) != 0)
		json_put_bool(process, "several_cgroups", true);
}

static void add_process(struct info *info, const struct json *meta, const struct owner *owner)
{
	const struct json *command = json_get(meta, "bpf.command");
	struct json *process;
	char name[64];

	snprintf(name, sizeof(name), "%lld", (long long)owner->pid);
	process = entry(info->processes, name);
	add(process, "threads", 1);
	json_put_string(process, "loom", *owner->loom ? owner->loom : NULL);
	if (owner->app_id)
		json_put_int(process, "app_id", owner->app_id);
	put_rank(process, meta, owner);
	add_cgroup(process, owner);
	json_put_string(process, "executable", json_string(json_get(meta, "bpf.executable")));
	if (json_is_array(command)) {
		char *text = joined(command);

		info->no_memory |= !text;
		json_put_string(process, "command", text);
		free(text);
	}
}

/* The time of day at both ends of the window, by the clocks of both and as text. */
static void add_daytime(struct info *info, struct json *session, const struct json *meta)
{
	struct wall_clock *wall = &info->wall;
	char text[WALL_CLOCK_TEXT];
	struct json *node;

	wall_clock_add(wall, meta);
	if (!wall->known)
		return;
	node = json_put_object(session, "realtime");
	json_put_i64(node, "begin.clock", wall->clock);
	json_put_i64(node, "begin.ns", wall->ns);
	wall_clock_text(wall, wall->clock, text);
	json_put_string(node, "begin.local", text);
	json_put_i64(node, "end.clock", wall->end_clock);
	json_put_i64(node, "end.ns", wall->end_ns);
	wall_clock_text(wall, wall->end_clock, text);
	json_put_string(node, "end.local", text);
	json_put_i64(node, "error_ns", wall->error_ns);
	json_put_int(node, "utc_offset", wall->utc_offset);
	if (wall->step_ns)
		json_put_i64(node, "step_ns", wall->step_ns);
}

/* The time that a hypervisor took from each CPU. */
static void add_steal(struct json *session, const struct json *cpus)
{
	struct json *list = NULL;

	for (const struct json *cpu = json_first(cpus); cpu; cpu = json_next(cpu)) {
		struct json *node;
		uint64_t stolen;

		if (!json_u64(json_key(cpu, "steal"), &stolen))
			continue;
		if (!list)
			list = json_put_array(session, "steal");
		node = json_put_object(list, NULL);
		json_put_int(node, "cpu", json_int(json_key(cpu, "cpu")));
		json_put_u64(node, "ns", stolen);
	}
}

static void add_session(struct info *info, const struct json *meta)
{
	static const char *const keys[] = {"version",	 "commit",  "kernel",  "machine", "mode",
					   "sampling",	 "on_full", "boot_id", "t0",	  "t1",
					   "stopped_by", "trigger", "lost"};
	const struct json *session = json_get(meta, "bpf.session");
	struct json *node;
	char *text;

	if (!json_is_object(session) || json_get(info->doc, "session"))
		return;
	node = json_put_object(info->doc, "session");
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		json_put_string(node, keys[i], json_string(json_key(session, keys[i])));
	text = joined(json_key(session, "options"));
	info->no_memory |= !text;
	json_put_string(node, "command", text);
	free(text);
	add_daytime(info, node, meta);
	add_steal(node, json_key(session, "cpus"));
}

static void add_events(struct info *info, struct stream *stream, struct json *thread)
{
	uint64_t n = 0;
	int64_t first = 0, last = 0;
	int err;

	while ((err = stream_step(stream)) > 0) {
		if (!n++)
			first = stream->ev.clock;
		last = stream->ev.clock;
		info->models_seen[stream->ev.model >> 6] |= 1ull << (stream->ev.model & 63);
		info->bytes += stream->ev.size;
	}
	json_put_u64(thread, "events", n);
	if (n) {
		json_put_i64(thread, "first", first);
		json_put_i64(thread, "last", last);
		info->first = !info->events || first < info->first ? first : info->first;
		info->last = !info->events || last > info->last ? last : info->last;
	}
	info->events += n;
	if (err < 0) {
		stream_report(stream);
		info->damaged++;
		json_put_bool(thread, "damaged", true);
	}
}

static void add_require(struct info *info, const struct json *meta)
{
	for (const struct json *node = json_first(json_get(meta, "ovni.require")); node;
	     node = json_next(node)) {
		struct json *model;

		if (!json_string(node) || !json_name(node))
			continue;
		model = entry(info->models, json_name(node));
		json_put_string(model, "version", json_string(node));
	}
}

static int add_stream(struct info *info, size_t i)
{
	const struct owner *owner = &info->source.owners[i];
	struct json *meta = trace_metadata(&info->source.trace, i), *thread, *loom;

	if (!meta)
		return -EINVAL;
	thread = json_put_object(info->threads, NULL);
	json_put_string(thread, "stream", info->source.trace.streams[i]);
	json_put_string(thread, "loom", *owner->loom ? owner->loom : NULL);
	json_put_int(thread, "pid", owner->pid);
	json_put_int(thread, "tid", owner->tid);
	json_put_string(thread, "name", owner->name);
	json_put_string(thread, "cgroup", owner->cgroup);
	json_put_bool(thread, "finished", owner->finished);
	loom = entry(info->looms, owner->loom);
	add(loom, "threads", 1);
	if (json_count(json_get(meta, "ovni.loom_cpus")) > (size_t)json_int(json_key(loom, "cpus")))
		json_put_int(loom, "cpus", (int64_t)json_count(json_get(meta, "ovni.loom_cpus")));
	if (!i) {
		json_put_string(info->doc, "library",
				json_string(json_get(meta, "ovni.lib.version")));
		json_put_string(info->doc, "library_commit",
				json_string(json_get(meta, "ovni.lib.commit")));
	}
	add_process(info, meta, owner);
	add_session(info, meta);
	add_require(info, meta);
	add_events(info, &info->source.streams[i], thread);
	json_free(meta);
	return 0;
}

/* Puts the numbers that the line has. */
static void put_line(struct json *node, const struct stats_line *line, const char *prefix)
{
	static const uint64_t keys =
		1ull << STATS_SEEN | 1ull << STATS_WRITTEN | 1ull << STATS_FILTERED |
		1ull << STATS_SAMPLED_OUT | 1ull << STATS_DROPPED | 1ull << STATS_THREADS |
		1ull << STATS_TOTAL_NS | 1ull << STATS_ACTIVE_NS | 1ull << STATS_RUNNABLE_NS |
		1ull << STATS_BLOCKED_NS | 1ull << STATS_UNKNOWN_NS | 1ull << STATS_WINDOW_NS |
		1ull << STATS_CPUS | 1ull << STATS_PROG_RUNS | 1ull << STATS_PROG_NS |
		1ull << STATS_CPU_NS | 1ull << STATS_PEAK_RSS_BYTES;
	char name[64];

	for (int key = 0; key < STATS_NKEYS; key++) {
		if (!(line->has & keys & 1ull << key))
			continue;
		snprintf(name, sizeof(name), "%s%s", prefix, stats_keys[key]);
		json_put_u64(node, name, line->values[key]);
	}
}

/* The statistics of the recorder: event counts, times, costs. */
static void add_stats(struct info *info)
{
	const char *name = stats_find(info->source.trace.fd);
	struct recorded_stats stats;
	struct json *node;

	if (!name)
		return;
	if (recorded_stats_load(&stats, info->source.trace.fd, name) < 0) {
		info->unreadable = true; /* reported */
		goto out;
	}
	node = json_put_object(info->doc, "perf");
	put_line(node, &stats.events, "");
	for (size_t i = 0; i < stats.nlines; i++) {
		const struct stats_line *line = &stats.lines[i];

		if (line->scope == STATS_RUN && !line->values[STATS_INTERVAL])
			put_line(node, line, "");
	}
	put_line(node, &stats.recorder, "recorder_");
out:
	recorded_stats_free(&stats);
}

static void put_clock(struct json *node, const struct clock_row *row)
{
	double ppb;

	if (!row)
		return;
	json_put_i64(node, "clock_offset_ns", row->fix.offset);
	if (job_table_drift(row, &ppb))
		json_put_real(node, "clock_drift_ppm", ppb / 1e3);
	if (row->bound != CLOCK_BOUND_UNKNOWN)
		json_put_i64(node, "clock_bound_ns", row->bound);
}

/* The nodes of a job. */
static void put_job(struct info *info)
{
	struct json *node, *list;
	int err = job_read(&info->job, info->source.trace.fd);
	const struct job job = info->job;

	if (!err && job.is)
		err = clock_table_load(&info->clocks, info->source.trace.fd, CLOCK_OFFSETS_FILE,
				       true, true);
	info->unreadable |= err != 0; /* reported */
	if (!err && job.is) {
		node = json_put_object(info->doc, "job");
		json_put_string(node, "key", job.apps[0].key);
		if (job_expected_nodes(&job) >= 0)
			json_put_int(node, "nodes", job_expected_nodes(&job));
		json_put_int(node, "nodes_complete", (int64_t)job_complete_nodes(&job));
		if (job_expected_ranks(&job) >= 0)
			json_put_int(node, "ranks", job_expected_ranks(&job));
		json_put_int(node, "ranks_recorded", (int64_t)job_recorded_ranks(&job));
		list = json_put_array(node, "list");
		for (size_t i = 0; i < job.nnodes; i++) {
			const struct job_node *n = &job.nodes[i];
			char ranks[256];

			node = json_put_object(list, NULL);
			json_put_string(node, "node", n->name);
			json_put_int(node, "app_id", n->app);
			json_put_string(node, "ranks",
					job_ranks_text(n->ranks, n->nranks, ranks, sizeof(ranks)));
			json_put_u64(node, "threads", n->threads);
			json_put_u64(node, "events", n->events);
			json_put_u64(node, "lost", n->lost);
			json_put_string(node, "state", n->state);
			json_put_string(node, "why", n->why);
			put_clock(node, clock_table_find(&info->clocks, n->name));
		}
	}
}

static void put_completeness(struct info *info)
{
	const struct whole *w = &info->source.whole;
	char reasons[WHOLE_TEXT], text[WHOLE_TEXT + 16];

	if (info->damaged)
		snprintf(text, sizeof(text), "damaged: a stream ends inside an event");
	else if (*whole_text(w, reasons))
		snprintf(text, sizeof(text), "incomplete: %s", reasons);
	else
		snprintf(text, sizeof(text), "%s",
			 whole_is_verified(w)
				 ? "complete, as the recorder says"
				 : "finished; it is not known whether events are missing");
	json_put_string(info->doc, "completeness", text);
}

static int gather(struct info *info, const char *path)
{
	info->doc = json_new_object();
	json_put_string(info->doc, "trace", path);
	info->looms = json_put_array(info->doc, "looms");
	info->processes = json_put_array(info->doc, "processes");
	info->models = json_put_array(info->doc, "models");
	info->threads = json_put_array(info->doc, "threads");
	for (size_t i = 0; i < info->source.trace.nstreams; i++) {
		int err = add_stream(info, i);

		if (err)
			return err;
	}
	for (const struct json *node = json_first(info->models); node; node = json_next(node)) {
		const struct catalog_model *model =
			catalog_model_by_name(json_string(json_key(node, "name")) ?: "");
		uint8_t c = model ? (uint8_t)model->character : 0;

		if (model) /* events of unknown models cannot be recognized */
			json_put_bool((struct json *)node, "used",
				      info->models_seen[c >> 6] >> (c & 63) & 1);
	}
	json_put_int(info->doc, "streams", (int64_t)info->source.trace.nstreams);
	json_put_u64(info->doc, "events", info->events);
	json_put_u64(info->doc, "bytes", info->bytes);
	json_put_u64(info->doc, "duration", (uint64_t)info->last - (uint64_t)info->first);
	put_completeness(info);
	put_job(info);
	add_stats(info);
	info->text = info->no_memory ? NULL : json_text(info->doc);
	return info->text ? 0 : log_no_memory("while reading %s", path);
}

/* ---- printing ---- */

static const char *text_of(const struct json *node, const char *key)
{
	const char *text = json_string(json_get(node, key));

	return text ? text : "";
}

static void print_line(struct printer *out, const char *title, const char *fmt, const char *a,
		       const char *b, const char *c)
{
	char *text;

	printer_format(out, "%-12s", title);
	if (asprintf(&text, fmt, a, b, c) < 0) {
		out->error = -ENOMEM;
		return;
	}
	printer_escaped(out, text, strlen(text));
	printer_text(out, "\n");
	free(text);
}

/* "3 of 4 nodes complete, ", or without their number if it is not known. */
static void print_share(struct printer *out, const struct json *job, const char *what,
			const char *state)
{
	char key[32];
	const struct json *all = json_key(job, what);

	snprintf(key, sizeof(key), "%s_%.*s", what, (int)strcspn(state, ",\n"), state);
	printer_format(out, "%" PRId64, json_int(json_key(job, key)));
	if (json_is_number(all))
		printer_format(out, " of %" PRId64, json_int(all));
	printer_format(out, " %s %s", what, state);
}

/* The table of the nodes. */
static void print_job(struct info *info, struct printer *out)
{
	const struct json *job = json_get(info->doc, "job");

	printer_format(out, "%-12s", "job");
	print_share(out, job, "nodes", "complete, ");
	print_share(out, job, "ranks", "recorded\n");
	job_table_print(out, "            ", &info->job, &info->clocks);
}

static void print_parts(struct info *info, struct printer *out)
{
	const struct json *node;

	for (node = json_first(info->looms); node; node = json_next(node)) {
		char figures[96];

		snprintf(figures, sizeof(figures), "%lld CPU%s, %lld thread%s",
			 (long long)json_int(json_key(node, "cpus")),
			 plural((uint64_t)json_int(json_key(node, "cpus")), "", "s"),
			 (long long)json_int(json_key(node, "threads")),
			 plural((uint64_t)json_int(json_key(node, "threads")), "", "s"));
		print_line(out, "loom", "%s: %s%s", text_of(node, "name"), figures, "");
	}
	for (node = json_first(info->models); node; node = json_next(node))
		print_line(out, "model", "%s %s%s", text_of(node, "name"), text_of(node, "version"),
			   !json_is_bool(json_key(node, "used")) ||
					   json_bool(json_key(node, "used"))
				   ? ""
				   : " (without events)");
	for (node = json_first(info->processes); node; node = json_next(node)) {
		char rank[64] = "", figures[160];
		const char *cgroup = text_of(node, "cgroup"), *more = "";
		char *place;

		if (json_key(node, "nranks"))
			snprintf(rank, sizeof(rank), "rank %lld of %lld, ",
				 (long long)json_int(json_key(node, "rank")),
				 (long long)json_int(json_key(node, "nranks")));
		else if (json_key(node, "rank"))
			snprintf(rank, sizeof(rank), "rank %lld, ",
				 (long long)json_int(json_key(node, "rank")));
		snprintf(figures, sizeof(figures), "%sapplication %lld, %lld thread%s", rank,
			 (long long)json_int(json_key(node, "app_id")),
			 (long long)json_int(json_key(node, "threads")),
			 plural((uint64_t)json_int(json_key(node, "threads")), "", "s"));
		if (json_key(node, "several_cgroups"))
			more = " and others";
		else if (!*cgroup && json_get(info->doc, "session"))
			cgroup = "unknown";
		place = xasprintf("%s%s%s%s", *cgroup ? ", cgroup " : "", cgroup, more,
				  *text_of(node, "command") ? ":" : "");
		print_line(out, "process", "%s: %s%s", text_of(node, "name"), figures,
			   place ? place : "");
		if (!place)
			out->error = -ENOMEM;
		free(place);
		if (*text_of(node, "command"))
			print_line(out, "", "%s%s%s", text_of(node, "command"), "", "");
	}
}

static void print_threads(struct info *info, struct printer *out)
{
	for (const struct json *node = json_first(info->threads); node; node = json_next(node)) {
		const char *cgroup = text_of(node, "cgroup");
		char figures[96];
		char *place;

		snprintf(figures, sizeof(figures), "%lld/%lld",
			 (long long)json_int(json_key(node, "pid")),
			 (long long)json_int(json_key(node, "tid")));
		place = xasprintf("%s events%s%s", text_of(node, "events"),
				  *cgroup ? ", cgroup " : "", cgroup);
		print_line(out, "thread", "%s %s: %s", figures, text_of(node, "name"),
			   place ? place : "");
		if (!place)
			out->error = -ENOMEM;
		free(place);
	}
}

static double number_of(const struct json *node, const char *key)
{
	uint64_t value = 0;

	(void)json_u64(json_get(node, key), &value);
	return (double)value;
}

static double percent(const struct json *node, const char *part, double whole)
{
	return whole > 0 ? 100 * number_of(node, part) / whole : 0;
}

static void print_perf(const struct json *perf, struct printer *out)
{
	double life = number_of(perf, "total_ns");

	printer_format(
		out,
		"%-12s%s = %s written + %s filtered + %s sampled out + %s lost\n"
		"%-12s%.1f %% running, %.1f %% waiting for a CPU, %.1f %% asleep, %.1f %% "
		"unknown\n"
		"%-12sprograms %.2f %% of the CPUs (%s runs), the recorder %.3f s of CPU "
		"time\n",
		"events seen", text_of(perf, "seen"), text_of(perf, "written"),
		text_of(perf, "filtered"), text_of(perf, "sampled_out"), text_of(perf, "dropped"),
		"their time", percent(perf, "active_ns", life), percent(perf, "runnable_ns", life),
		percent(perf, "blocked_ns", life), percent(perf, "unknown_ns", life), "cost",
		percent(perf, "prog_ns", number_of(perf, "window_ns") * number_of(perf, "cpus")),
		text_of(perf, "prog_runs"), number_of(perf, "recorder_cpu_ns") / 1e9);
}

/* When and where the trace was recorded, and why it ended. */
static void print_when(const struct info *info, const struct json *session, struct printer *out)
{
	const struct wall_clock *wall = &info->wall;
	char step[64];

	if (wall->known)
		print_line(
			out, "when", wall->end_clock > wall->clock ? "%s to %s%s" : "from %s%s%s",
			text_of(session, "realtime.begin.local"),
			wall->end_clock > wall->clock ? text_of(session, "realtime.end.local") : "",
			"");
	if (wall->step_ns) {
		snprintf(step, sizeof(step), "%+.6f", (double)wall->step_ns / 1e9);
		print_line(out, "", "the clock of the machine was set by %s s meanwhile%s%s", step,
			   "", "");
	}
	if (*text_of(session, "boot_id"))
		print_line(out, "boot", "%s%s%s", text_of(session, "boot_id"), "", "");
	if (*text_of(session, "stopped_by"))
		print_line(out, "ended by", "%s%s%s", text_of(session, "stopped_by"),
			   *text_of(session, "trigger") ? ": " : "", text_of(session, "trigger"));
}

static void print_steal(const struct json *session, struct printer *out)
{
	const struct json *list = json_get(session, "steal");
	uint64_t stolen = 0, greatest = 0, t0, t1;
	char figures[128], most[96] = "";
	double window;

	if (!list || !json_u64(json_get(session, "t0"), &t0) ||
	    !json_u64(json_get(session, "t1"), &t1) || t1 < t0)
		return;
	window = (double)(t1 - t0) * (double)json_count(list);
	for (const struct json *node = json_first(list); node; node = json_next(node)) {
		uint64_t ns = 0;

		(void)json_u64(json_key(node, "ns"), &ns);
		stolen += ns;
		if (ns <= greatest)
			continue;
		greatest = ns;
		snprintf(most, sizeof(most), ", most from CPU %lld: %.2f s",
			 (long long)json_int(json_key(node, "cpu")), (double)ns / 1e9);
	}
	snprintf(figures, sizeof(figures), "%.2f s of %.2f s of the CPUs (%.2f %%)",
		 (double)stolen / 1e9, window / 1e9,
		 window > 0 ? 100 * (double)stolen / window : 0);
	print_line(out, "stolen", "%s%s%s", figures, most, "");
}

static void print_text(struct info *info, struct printer *out, bool threads)
{
	const struct json *session = json_get(info->doc, "session");
	char duration[32];

	print_line(out, "trace", "%s%s%s", text_of(info->doc, "trace"), "", "");
	if (session) {
		print_line(out, "made by", "ovni-bpf %s (%s): %s", text_of(session, "version"),
			   text_of(session, "commit"), text_of(session, "command"));
		print_line(out, "kernel", "%s %s%s", text_of(session, "kernel"),
			   text_of(session, "machine"), "");
		print_when(info, session, out);
	} else {
		print_line(out, "made by", "libovni %s (%s)%s", text_of(info->doc, "library"),
			   text_of(info->doc, "library_commit"), "");
	}
	table_duration(duration, info->events ? clock_distance(info->first, info->last) : 0);
	print_line(out, "duration", "%s%s%s", duration, "", "");
	printer_format(out, "%-12s%llu in %zu %s, %llu bytes\n", "events",
		       (unsigned long long)info->events, info->source.trace.nstreams,
		       plural(info->source.trace.nstreams, "stream", "streams"),
		       (unsigned long long)info->bytes);
	if (*text_of(session, "lost"))
		print_line(out, "lost", "%s%s%s", text_of(session, "lost"), "", "");
	print_line(out, "complete?", "%s%s%s", text_of(info->doc, "completeness"), "", "");
	if (json_get(info->doc, "job"))
		print_job(info, out);
	if (session)
		print_steal(session, out);
	if (json_get(info->doc, "perf"))
		print_perf(json_get(info->doc, "perf"), out);
	print_parts(info, out);
	if (threads)
		print_threads(info, out);
}

int main(int argc, char **argv)
{
	struct options options = {0};
	struct info info = {0};
	struct printer out;
	enum status status = STATUS_FAILED;
	int err;

	options.path = cli_parse(&cli, argc, argv, &options)[0];
	printer_open(&out, STDOUT_FILENO);
	err = source_open(&info.source, options.path);
	if (err)
		goto out;
	err = gather(&info, options.path);
	if (err)
		goto out;
	if (options.json)
		printer_text(&out, info.text);
	else
		print_text(&info, &out, options.threads);
out:
	if (printer_close(&out) < 0)
		err = -EIO;
	free(info.text);
	job_free(&info.job);
	clock_table_fini(&info.clocks);
	json_free(info.doc);
	if (!err && !info.damaged && !info.unreadable)
		status = whole_report(&info.source.whole, options.path);
	source_close(&info.source);
	return status;
}
