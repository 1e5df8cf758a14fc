/* SPDX-License-Identifier: MIT */
/*
 * ovni-check: faults of a trace, and whether it is complete.
 *
 *   error: loom.n1/proc.5/thread.7: event OHr at byte 1204, clock 81: is no legal change ...
 *   CPU 0 of n1: 100 % of 10.002 s = 71.20 threads + 28.80 idle + 0.00 other + 0.00 unknown
 *   invalid: 1 error, 0 warnings
 *
 * In: a trace; out: diagnostics with their severities, and the verdict. The emulator, run without
 * output, gives the verdict; since it stops at the first fault, a survey of each stream then
 * reports the other faults. --repair makes the trace of a crashed program valid again.
 * Specification: emulator.md, models.md.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/emulation.h"
#include "trace/states/cpu_time.h"
#include "tools/check/repair_stats.h"
#include "tools/check/stats_check.h"
#include "tools/check/diagnostics.h"
#include "tools/check/survey.h"
#include "tools/lib/mapped_stream.h"
#include "tools/lib/replace_file.h"
#include "tools/lib/table.h"
#include "trace/base/files/input.h"
#include "trace/base/array.h"
#include "trace/base/build_info.h"
#include "trace/base/cli.h"
#include "trace/base/log.h"
#include "trace/base/text.h"
#include "trace/ovni/trace.h"
#include "trace/states/open_regions.h"
#include "trace/states/state_walk.h"
#include "trace/ovni/write_lock.h"

struct options {
	struct emu_options emu;
	const char *path, *out;
	bool strict, json, quiet, repair, in_place;
};

struct check {
	const struct options *options;
	struct diagnostics diagnostics;
	struct survey survey;
	struct cpu_times cpu_times;
	struct stats_check stats;
	bool accepted;	   /* by the emulator */
	bool clean;	   /* by its lint, too */
	bool contradicted; /* stats.json, by the streams */
};

#define TO(member) offsetof(struct options, member)

static bool repairs(const void *settings)
{
	return ((const struct options *)settings)->repair;
}

static bool repairs_a_copy(const void *settings)
{
	const struct options *options = settings;

	return options->repair && !options->in_place;
}

static const struct cli_option cli_options[] = {
	{"strict", 0, NULL, cli_flag, TO(strict),
	 "report regions that are open at the end as errors"},
	{"json", 'j', NULL, cli_flag, TO(json), "print one JSON object"},
	{"quiet", 'q', NULL, cli_flag, TO(quiet), "print only errors, warnings and the verdict"},
	{"all-models", 'a', NULL, cli_flag, TO(emu.all_models),
	 "enable all models, required or not"},
	{"breakdown", 'b', NULL, cli_flag, TO(emu.breakdown),
	 "also check the events of the breakdown views"},
	{"offsets", 'c', "FILE", cli_text, TO(emu.offsets), "clock offsets between the hosts"},
	{"repair", 0, NULL, cli_flag, TO(repair),
	 "write a valid copy of the trace of a crashed program"},
	{"output", 'o', "DIR", cli_text, TO(out),
	 "with --repair: directory of the copy (TRACE.repaired)", .holds = repairs_a_copy,
	 .rule = "needs --repair, and excludes --in-place"},
	{"in-place", 0, NULL, cli_flag, TO(in_place), "with --repair: repair the trace itself",
	 .holds = repairs, .rule = "needs --repair"},
	{0},
};

static const struct cli cli = {
	.name = "ovni-check",
	.operands = "TRACE",
	.about = "Check whether an ovni trace is valid and complete, and list its faults.",
	.options = cli_options,
	.notes = "Examples:\n"
		 "  # verdict, faults, and the time of each CPU\n"
		 "  ovni-check trace\n\n"
		 "  # regions must be closed at the end, too\n"
		 "  ovni-check --strict trace\n\n"
		 "  # check the statistics of a recording in summary mode\n"
		 "  ovni-check ovni.stats.json\n\n"
		 "  # write trace.repaired after a crash\n"
		 "  ovni-check --repair trace",
};

/* Runs the emulator; its messages become diagnostics. Returns whether it accepts the trace. */
static bool emulate(const struct options *options, bool lint, struct diagnostics *diagnostics)
{
	struct emu_options emu = options->emu;
	bool accepted;

	emu.trace = options->path;
	emu.no_output = emu.quiet = true;
	emu.lint = lint;
	emu.jobs = 1;
	diagnostics_capture(diagnostics, SEVERITY_ERROR);
	accepted = emulator_run(&emu) == 0;
	diagnostics_release();
	return accepted;
}

/* The severity of faults that the emulator does not report. */
static enum severity fault_severity(const struct check *c)
{
	return c->accepted ? SEVERITY_WARNING : SEVERITY_ERROR;
}

/* The verdict: first with lint and, if that refuses the trace, without. */
static void judge(struct check *c)
{
	struct diagnostics lint = {0};
	enum severity highest;

	c->accepted = c->clean = emulate(c->options, true, &lint);
	if (!c->clean)
		c->accepted = emulate(c->options, false, &c->diagnostics);
	highest = c->options->strict ? SEVERITY_ERROR : fault_severity(c);
	for (size_t i = 0; i < lint.n; i++) {
		enum severity severity = lint.list[i].severity;

		diagnostics_add(&c->diagnostics, severity < highest ? highest : severity, "%s",
				lint.list[i].text);
	}
	c->diagnostics.nomem |= lint.nomem;
	diagnostics_free(&lint);
}

static int on_span(void *arg, const struct intervals *intervals, uint32_t stream, int32_t cpu,
		   int64_t from, int64_t to)
{
	struct check *c = arg;

	return cpu_times_add(&c->cpu_times, intervals, stream, cpu, from, to);
}

static int on_event(void *arg, const struct intervals *intervals, uint32_t stream,
		    const struct event *ev)
{
	struct check *c = arg;

	(void)intervals;
	stats_check_event(&c->stats, stream, ev);
	return 0;
}

static void report_cpu_times(struct check *c)
{
	for (size_t i = 0; i < c->cpu_times.ncpus; i++) {
		const struct cpu_time *cpu = &c->cpu_times.cpus[i];
		char window[DURATION_TEXT], overlap[DURATION_TEXT], idle[32] = "";
		double percent = cpu->window ? (double)cpu->window / 100 : 1;

		duration_words(window, cpu->window);
		duration_words(overlap, cpu->overlap);
		if (cpu->idle_known)
			snprintf(idle, sizeof(idle), "%.2f idle + ", (double)cpu->idle / percent);
		diagnostics_add(&c->diagnostics, SEVERITY_NOTE,
				"CPU %d of %s: 100 %% of %s = %.2f threads + %s%.2f %s + %.2f "
				"unknown",
				cpu->cpu, cpu->loom, window,
				(double)(cpu->threads - cpu->overlap) / percent, idle,
				(double)cpu->other / percent,
				cpu->idle_known ? "other" : CPU_TIME_OTHER_OR_IDLE,
				(double)cpu->unknown / percent);
		if (cpu->overlap)
			diagnostics_add(
				&c->diagnostics, fault_severity(c),
				"CPU %d of %s: its threads ran %s longer than the window lasts",
				cpu->cpu, cpu->loom, overlap);
	}
}

/* Adds up the times of CPUs and threads. */
static int walk(struct check *c, struct source *source, struct intervals *intervals)
{
	const struct interval_listener listener = {.span = on_span, .event = on_event};
	int err = source_open(source, c->options->path);

	if (err)
		return err;
	err = stats_check_begin(&c->stats, source);
	if (err)
		return err;
	err = intervals_walk(intervals, source, &listener, c);
	if (err)
		return err;
	return cpu_times_finish(&c->cpu_times, intervals);
}

/* Compares times with the window and with stats.json; impossible for a trace whose streams cannot
 * be walked. Returns 0 or -ENOMEM. */
static int check_times(struct check *c)
{
	struct source source = {0};
	struct intervals intervals = {0};
	int err;

	diagnostics_capture(&c->diagnostics, fault_severity(c));
	err = walk(c, &source, &intervals);
	diagnostics_release();
	if (err)
		goto out;
	report_cpu_times(c);
	c->contradicted = !stats_check_compare(
		&c->stats, &c->survey, c->options->strict ? SEVERITY_ERROR : SEVERITY_WARNING);
out:
	intervals_fini(&intervals);
	source_close(&source);
	return err == -ENOMEM ? err : 0;
}

#define COMPLETENESS (WHOLE_TEXT + 16)

static const char *completeness(const struct check *c, char text[COMPLETENESS])
{
	const struct whole *w = &c->survey.whole;
	char reasons[WHOLE_TEXT];

	if (*whole_text(w, reasons))
		snprintf(text, COMPLETENESS, "incomplete: %s", reasons);
	else
		snprintf(text, COMPLETENESS, "%s",
			 whole_is_verified(w) ? "complete"
					      : "completeness cannot be verified: the trace has no "
						"count of its events");
	return text;
}

static void report_survey(struct check *c)
{
	const struct survey *s = &c->survey;
	const struct whole *w = &s->whole;
	char repairs[WHOLE_TEXT];

	if (w->lost)
		diagnostics_add(&c->diagnostics, SEVERITY_WARNING,
				"the recorder lost %llu event%s, by its own count",
				(unsigned long long)w->lost, plural(w->lost, "", "s"));
	if (w->recovered)
		diagnostics_add(&c->diagnostics, SEVERITY_WARNING,
				"a repair closed %llu stream%s: later events are missing",
				(unsigned long long)w->recovered, plural(w->recovered, "", "s"));
	if (s->repairs)
		diagnostics_add(&c->diagnostics, SEVERITY_NOTE, "%s",
				whole_repairs(s->repairs, w->lost, repairs));
}

static void print_json(const struct check *c, int status, struct printer *out)
{
	const struct diagnostics *d = &c->diagnostics;
	char text[COMPLETENESS];

	completeness(c, text);
	printer_text(out, "{\"trace\":");
	printer_json_string(out, c->options->path, strlen(c->options->path));
	printer_format(out, ",\n \"valid\":%s,\"status\":%d,\"completeness\":",
		       status == STATUS_FAILED ? "false" : "true", status);
	printer_json_string(out, text, strlen(text));
	printer_format(out,
		       ",\n \"streams\":%llu,\"events\":%llu,\"errors\":%zu,\"warnings\":%zu,"
		       "\n \"lost\":%llu,\"missing\":%llu,\n \"findings\":",
		       (unsigned long long)c->survey.streams, (unsigned long long)c->survey.events,
		       d->counts[SEVERITY_ERROR], d->counts[SEVERITY_WARNING],
		       (unsigned long long)c->survey.whole.lost,
		       (unsigned long long)c->survey.whole.events_missing);
	diagnostics_print_json(d, out);
	printer_text(out, ",\n \"cpus\":[");
	for (size_t i = 0; i < c->cpu_times.ncpus; i++) {
		const struct cpu_time *cpu = &c->cpu_times.cpus[i];

		printer_format(out, "%s\n  {\"loom\":", i ? "," : "");
		printer_json_string(out, cpu->loom, strlen(cpu->loom));
		printer_format(out, ",\"cpu\":%d,\"window\":%lld,\"threads\":%lld", cpu->cpu,
			       (long long)cpu->window, (long long)(cpu->threads - cpu->overlap));
		if (cpu->idle_known)
			printer_format(out, ",\"idle\":%lld", (long long)cpu->idle);
		printer_format(out, ",\"%s\":%lld,\"unknown\":%lld,\"twice\":%lld}",
			       cpu->idle_known ? "other" : "other_or_idle", (long long)cpu->other,
			       (long long)cpu->unknown, (long long)cpu->overlap);
	}
	printer_text(out, c->cpu_times.ncpus ? "\n ]}\n" : "]}\n");
}

static void print_text(const struct check *c, int status, struct printer *out)
{
	static const char *const verdicts[] = {"valid", "invalid", NULL, "valid, but incomplete"};
	const struct diagnostics *d = &c->diagnostics;
	const struct survey *s = &c->survey;
	size_t errors = d->counts[SEVERITY_ERROR], warnings = d->counts[SEVERITY_WARNING];
	char text[COMPLETENESS];

	diagnostics_print(d, out, !c->options->quiet);
	printer_format(out, "%s: %llu stream%s, %llu event%s, %zu error%s, %zu warning%s; ",
		       verdicts[status], (unsigned long long)s->streams,
		       plural(s->streams, "", "s"), (unsigned long long)s->events,
		       plural(s->events, "", "s"), errors, plural(errors, "", "s"), warnings,
		       plural(warnings, "", "s"));
	completeness(c, text);
	printer_escaped(out, text, strlen(text));
	printer_text(out, "\n");
}

static int print(const struct check *c, int status)
{
	struct printer out;

	printer_open(&out, STDOUT_FILENO);
	if (c->options->json)
		print_json(c, status, &out);
	else
		print_text(c, status, &out);
	return printer_close(&out);
}

/* Checks the streams one by one, then the times. */
static int check_streams(struct check *c)
{
	struct trace trace = {.fd = -1};
	bool accepted = c->accepted && (c->clean || !c->options->strict);
	const char *stats;
	int err;

	diagnostics_capture(&c->diagnostics, SEVERITY_ERROR);
	err = trace_open(&trace, c->options->path);
	diagnostics_release();
	if (err) { /* reported */
		err = accepted ? err : 0;
		goto out;
	}
	if (!trace.nstreams) {
		diagnostics_add(&c->diagnostics, SEVERITY_ERROR, TRACE_NO_STREAMS,
				c->options->path);
		c->accepted = false;
		goto out;
	}
	err = survey_run(&c->survey, &trace, &c->diagnostics, fault_severity(c));
	report_survey(c);
	if (err)
		goto out;
	stats = stats_find(trace.fd);
	if (stats)
		err = stats_check_load(&c->stats, trace.fd, stats);
	if (err)
		goto out;
	err = check_times(c);
out:
	trace_close(&trace);
	return err;
}

static int verdict(const struct check *c)
{
	bool strict = c->options->strict;

	if (!c->accepted || (strict && (!c->clean || c->contradicted)) ||
	    (c->stats.name && !c->stats.sound))
		return STATUS_FAILED;
	return whole_is(&c->survey.whole) ? STATUS_COMPLETE : STATUS_LOST;
}

/* Checks the statistics file of a recording in summary mode, which has no trace. */
static int check_summary(struct check *c)
{
	int err = stats_check_load(&c->stats, AT_FDCWD, c->options->path);

	c->accepted = c->clean = true;
	c->survey.whole = (struct whole){.lost = c->stats.stats.events.values[STATS_DROPPED],
					 .with_lost = c->stats.sound,
					 .sessions = c->stats.sound,
					 .streams = 1};
	report_survey(c);
	if (c->stats.stats.recovered) {
		c->survey.whole.recovered = 1;
		diagnostics_add(&c->diagnostics, SEVERITY_WARNING,
				"a repair closed the statistics: later times, and all counts of "
				"events, are missing");
	}
	return err;
}

/* Can the path be opened as a trace? Otherwise one message says why. */
static bool is_trace(const char *path)
{
	struct trace trace = {.fd = -1};
	int err = trace_open(&trace, path);

	trace_close(&trace);
	return !err;
}

static int check(const struct options *options)
{
	struct check c = {.options = options, .stats = {.diagnostics = &c.diagnostics}};
	int err, status = STATUS_FAILED;

	if (stats_is_file_name(options->path)) {
		err = check_summary(&c);
	} else if (!options->json && !is_trace(options->path)) {
		return STATUS_FAILED; /* no verdict: there is nothing to judge */
	} else {
		judge(&c);
		err = check_streams(&c);
	}
	if (!err && (c.diagnostics.nomem || log_lacks_memory()))
		err = -ENOMEM; /* the errors may only be consequences */
	if (err) {
		log_error("%s: cannot check: %s", options->path, strerror(-err));
		goto out;
	}
	status = verdict(&c);
	if (print(&c, status) < 0)
		status = STATUS_FAILED;
out:
	cpu_times_fini(&c.cpu_times);
	stats_check_free(&c.stats);
	diagnostics_free(&c.diagnostics);
	return status;
}

/*
 * ---- repair: a valid trace from the trace of a crashed program ----
 *
 * In: a trace with streams that are not finished, end inside an event, or lack the metadata that is
 * written at the end; out: a copy (or the trace itself, on request) in which each such stream ends
 * at its last whole event, its open regions are left, its thread is dead, and its metadata is
 * complete. Finished streams are copied unchanged.
 * Invariant: a repair adds nothing but leaving events and ends, and each repaired stream has
 * `bpf.recovered`, so that no reader takes it for complete.
 */

#define CPUS_MOST 65536 /* greater indices are damage */

struct part { /* one stream */
	const char *path;
	struct json *meta; /* NULL: unreadable, left out */
	struct owner owner;
	struct open_regions regions; /* at the end of the kept events */
	size_t size, kept;	     /* bytes of the file, and of its kept part */
	uint64_t events;
	int64_t first, last; /* clocks */
	bool repair;
	int64_t closed_at;  /* clock of its last event, if the repair closes it */
	uint64_t models[4]; /* a bit for each model of its events */
	struct bytes added; /* events that close it */
	uint64_t added_events, dropped;
};

struct repair {
	const char *path, *out;		      /* out: a new directory; NULL: in place */
	uint64_t streams, repaired, left_out; /* left out: unreadable streams */
	uint64_t bytes_cut, events_added, events_dropped;
	struct trace trace;
	struct part *parts;
	size_t n;
	int64_t first; /* clock of the trace */
	int32_t highest_cpu;
	int out_fd;
};

/* ---- repair: reading ---- */

/* Applies an event that is kept. */
static int keep_event(struct repair *w, struct part *p, const struct mapped_stream *stream)
{
	const struct event *ev = &stream->ev;
	int32_t cpu;

	if (open_regions_step(&p->regions, ev) == FAULT_NOMEM)
		return -ENOMEM;
	if (!p->events++)
		p->first = ev->clock;
	p->last = ev->clock;
	p->models[ev->model >> 6] |= 1ull << (ev->model & 63);
	p->kept = (size_t)(stream->at - stream->base);
	cpu = p->regions.thread.cpu;
	if (cpu > w->highest_cpu && cpu < CPUS_MOST)
		w->highest_cpu = cpu;
	return 0;
}

static int read_events(struct repair *w, struct part *p)
{
	struct mapped_stream stream;
	int err = mapped_stream_open(&stream, w->trace.fd, p->path);

	if (err == -EBADMSG) { /* shorter than its header: no event was written */
		p->repair = true;
		return 0;
	}
	if (err)
		return err;
	p->size = stream.size;
	if (memcmp(stream.base, STREAM_MAGIC, 4)) {
		log_error("%s: " STREAM_DATA " is not a stream", p->path);
		err = -EBADMSG;
		goto out;
	}
	p->kept = STREAM_HEADER_SIZE;
	while (mapped_stream_step(&stream) > 0) {
		/* after a crash of the machine a file may end in bytes that were never written */
		if (!p->owner.finished && !catalog_find(event_mcv(&stream.ev), NULL))
			break;
		err = keep_event(w, p, &stream);
		if (err)
			goto out;
	}
	p->repair = p->kept != p->size || !p->owner.finished;
out:
	mapped_stream_close(&stream);
	return err;
}

static int load_stream(struct repair *w, struct part *p, size_t i)
{
	int err;

	p->path = w->trace.streams[i];
	p->regions.thread.cpu = CPU_NONE;
	p->meta = trace_metadata(&w->trace, i);
	if (!p->meta)
		return -EINVAL;
	err = owner_init(&p->owner, p->meta);
	if (err)
		return err;
	if (!p->owner.loom || p->owner.pid <= 0 || p->owner.tid <= 0) {
		log_error("%s: its metadata has no loom, process or thread", p->path);
		return -EINVAL;
	}
	return read_events(w, p);
}

/* A trace that is being written is not repaired: it is not broken, and would change meanwhile. */
static int lock(const struct repair *w)
{
	int err = write_lock_acquire(w->trace.fd, w->trace.path,
				     w->out ? WRITE_LOCK_READER : WRITE_LOCK_WRITER,
				     "a trace that is being written cannot be repaired");

	if (err && err != -EBUSY) {
		write_lock_missing(w->trace.path, err);
		err = 0;
	}
	return err;
}

static int load(struct repair *w)
{
	int err = trace_open(&w->trace, w->path);

	if (err)
		return err;
	err = lock(w);
	if (err)
		return err;
	w->n = w->trace.nstreams;
	w->parts = calloc(w->n + 1, sizeof(*w->parts));
	if (!w->parts)
		return -ENOMEM;
	w->first = INT64_MAX;
	for (size_t i = 0; i < w->n; i++) {
		struct part *p = &w->parts[i];

		err = load_stream(w, p, i);
		if (err == -ENOMEM)
			return err;
		if (err) {
			log_warn("%s: left out, since it cannot be read", p->path);
			json_free(p->meta);
			p->meta = NULL;
			w->left_out++;
			continue;
		}
		if (p->events && p->first < w->first)
			w->first = p->first;
	}
	if (w->first == INT64_MAX)
		w->first = 0;
	return 0;
}

/* ---- repair: closing ---- */

static int add_event(void *arg, uint32_t mcv, const void *payload, size_t size)
{
	struct part *p = arg;
	uint8_t event[EVENT_SIZE_MAX];

	bytes_put(&p->added, event, event_encode(event, mcv, p->last, payload, size));
	if (p->added.failed)
		return -ENOMEM;
	p->added_events++;
	p->models[(mcv >> 16) >> 6] |= 1ull << (mcv >> 16 & 63);
	return 0;
}

static int close_part(struct repair *w, struct part *p)
{
	static const struct __attribute__((packed)) {
		int32_t cpu, creator;
		uint64_t tag;
	} begin = {CPU_VIRTUAL, -1, 0};
	struct sched_state *thread = &p->regions.thread;
	int err;

	if (!p->events)
		p->last = w->first;
	p->closed_at = p->last;
	if (thread->state == THREAD_STATE_UNKNOWN) {
		/* a stream must end with a dead thread: one that never ran begins first */
		err = add_event(p, MCV('O', 'H', 'x'), &begin, sizeof(begin));
		if (err)
			return err;
		thread->state = THREAD_STATE_RUNNING;
		thread->cpu = CPU_VIRTUAL;
	}
	if (thread->state == THREAD_STATE_DEAD && !thread->out)
		return 0;
	return open_regions_close(&p->regions, add_event, p);
}

/* ---- repair: metadata ---- */

static bool same_text(const char *a, const char *b)
{
	return a && b && !strcmp(a, b);
}

static void put_cpus(struct repair *w, struct part *p)
{
	struct json *list = json_put_array(p->meta, "ovni.loom_cpus");

	for (int32_t i = 0; i <= w->highest_cpu; i++) {
		struct json *cpu = json_put_object(list, NULL);

		json_put_int(cpu, "index", i);
		json_put_int(cpu, "phyid", i);
	}
	json_put_bool(p->meta, "bpf.recovered.cpus_invented", true);
}

/* Adds the metadata that a program writes at its end: CPUs of the loom, application of the process.
 */
static void complete(struct repair *w, struct part *p)
{
	bool cpus = false, app = false;

	for (size_t k = 0; k < w->n; k++) {
		struct part *q = &w->parts[k];

		if (!q->meta || !same_text(q->owner.loom, p->owner.loom))
			continue;
		cpus |= json_count(json_get(q->meta, "ovni.loom_cpus")) > 0;
		app |= q->owner.pid == p->owner.pid && q->owner.app_id > 0;
	}
	if (!cpus)
		put_cpus(w, p);
	if (!app) {
		json_put_int(p->meta, "ovni.app_id", 1);
		p->owner.app_id = 1;
	}
}

static void complete_metadata(struct repair *w, struct part *p)
{
	complete(w, p);
	catalog_require(p->meta, p->models);
	if (!json_is_string(json_get(p->meta, "ovni.lib.version")))
		json_put_string(p->meta, "ovni.lib.version", "unknown");
	if (!json_is_string(json_get(p->meta, "ovni.lib.commit")))
		json_put_string(p->meta, "ovni.lib.commit", "unknown");
	json_put_string(p->meta, "bpf.recovered.by", version_string);
	json_put_u64(p->meta, "bpf.recovered.added", p->added_events);
	json_put_u64(p->meta, "bpf.recovered.dropped", p->dropped);
	json_put_u64(p->meta, "bpf.recovered.cut_bytes", p->size - p->kept);
	json_put_string(p->meta, "bpf.recovered.note",
			"closed after a crash; later events are missing");
	json_put_int(p->meta, "ovni.finished", 1);
}

/* ---- repair: writing ---- */

struct sink {
	const struct repair *work;
	const struct part *part;
	struct replacement replacement;
	bool in_place;
};

static int sink_put(struct sink *sink, const uint8_t *bytes, size_t size)
{
	if (sink->in_place)
		return write_all(sink->replacement.fd, bytes, size);
	return stream_append(sink->work->out_fd, sink->part->path, bytes, size);
}

/* True for an OAr to a thread that the repair closes before it: the emulator refuses it. */
static bool moves_the_dead(const struct repair *w, const struct part *p, const struct event *ev)
{
	if (event_mcv(ev) != MCV('O', 'A', 'r') || ev->payload_size < 8)
		return false;
	for (size_t i = 0; i < w->n; i++) {
		const struct part *q = &w->parts[i];

		if (q->meta && q->repair && q->owner.tid == get_i32(ev->payload + 4) &&
		    same_text(q->owner.loom, p->owner.loom))
			return ev->clock >= q->closed_at;
	}
	return false;
}

/* Copies the kept events, without events that move a closed thread, or only counts these. */
static int copy_events(struct sink *sink, struct part *p, bool count_only)
{
	struct mapped_stream stream;
	size_t from = STREAM_HEADER_SIZE;
	int err;

	if (p->kept <= STREAM_HEADER_SIZE)
		return 0;
	err = mapped_stream_open(&stream, sink->work->trace.fd, p->path);
	if (err)
		return err;
	while ((size_t)(stream.at - stream.base) < p->kept && mapped_stream_step(&stream) > 0) {
		size_t at = mapped_stream_offset(&stream);

		if (!moves_the_dead(sink->work, p, &stream.ev))
			continue;
		if (count_only)
			p->dropped++;
		else
			err = sink_put(sink, stream.base + from, at - from);
		if (err)
			goto out;
		from = (size_t)(stream.at - stream.base);
	}
	if (!count_only)
		err = sink_put(sink, stream.base + from, p->kept - from);
	if (err)
		goto out;
	if (!mapped_stream_sound(&stream))
		err = -EIO;
out:
	mapped_stream_close(&stream);
	return err;
}

static int put_stream(struct sink *sink, struct part *p)
{
	static const uint32_t version = STREAM_VERSION;
	const struct repair *w = sink->work;
	uint8_t header[STREAM_HEADER_SIZE] = STREAM_MAGIC;
	struct json *begin;
	int err;

	if (sink->in_place) {
		memcpy(header + strlen(STREAM_MAGIC), &version, sizeof(version));
		err = replace_file_start(&sink->replacement, w->trace.fd, p->path, STREAM_DATA);
		if (err)
			return err;
		err = sink_put(sink, header, sizeof(header));
	} else {
		begin = json_new_object(); /* not finished, until describe_all() */
		json_put_int(begin, "version", 3);
		err = stream_create(w->out_fd, p->path, begin);
		json_free(begin);
	}
	if (err)
		return err;
	err = copy_events(sink, p, false);
	if (err || !p->added.size)
		return err;
	return sink_put(sink, p->added.data, p->added.size);
}

static int write_part(struct repair *w, struct part *p)
{
	struct sink sink = {.work = w, .part = p, .in_place = !w->out};
	int err;

	if (sink.in_place && !p->repair)
		return 0;
	err = put_stream(&sink, p);
	if (err || !sink.in_place)
		goto out;
	err = replace_file_finish(&sink.replacement, false);
	if (err)
		goto out;
	/* the metadata comes last, since it says that the stream is finished */
	err = stream_describe(w->trace.fd, p->path, p->meta);
out:
	replace_file_abandon(&sink.replacement);
	if (err)
		log_error("cannot write the repaired stream '%s': %s", p->path, strerror(-err));
	return err;
}

static int create_output(struct repair *w)
{
	int err;

	if (!w->out)
		return 0;
	w->out_fd = output_create(w->out);
	if (w->out_fd < 0)
		return w->out_fd;
	err = copy_beside(w->trace.fd, w->out_fd, "clock-offsets.txt", INPUT_TEXT_MAX);
	return err ? err : copy_beside(w->trace.fd, w->out_fd, STATS_FILE, INPUT_STATS_MAX);
}

/* A killed recorder leaves the snapshots of --interval instead of stats.json. */
static int put_stats(struct repair *w)
{
	static const char part[] = STATS_FILE STATS_PART;
	int fd = w->trace.fd, err;

	if (!faccessat(fd, STATS_FILE, F_OK, AT_SYMLINK_NOFOLLOW) ||
	    faccessat(fd, part, F_OK, AT_SYMLINK_NOFOLLOW))
		return 0;
	err = repair_stats(fd, part, w->out ? w->out_fd : fd, STATS_FILE, "full");
	if (err == -ENODATA)
		log_warn("%s: no whole snapshot: there is no " STATS_FILE, part);
	if (err == -ENODATA)
		err = 0;
	if (!err && !w->out)
		unlinkat(fd, part, 0);
	return err;
}

/* The copy lacks the streams that are left out, which nothing else in it may show. */
static void mark_left_out(struct repair *w)
{
	struct part *p = w->parts;
	char text[WHOLE_TEXT];
	const char *other;

	while (p < w->parts + w->n && !p->meta)
		p++;
	if (!w->out || !w->left_out || p == w->parts + w->n)
		return;
	other = json_string(json_get(p->meta, WHOLE_KEY));
	snprintf(text, sizeof(text), "%llu stream%s could not be read%s%s",
		 (unsigned long long)w->left_out, plural(w->left_out, "", "s"), other ? "; " : "",
		 other ? other : "");
	json_put_string(p->meta, WHOLE_KEY, text);
}

/* Finishes the streams of the copy, once it has all of them: a killed repair leaves no trace that
 * looks whole. */
static int describe_all(struct repair *w)
{
	for (size_t i = 0; w->out && i < w->n; i++) {
		const struct part *p = &w->parts[i];
		int err = p->meta ? stream_describe(w->out_fd, p->path, p->meta) : 0;

		if (err) {
			log_error("cannot write the metadata '%s': %s", p->path, strerror(-err));
			return err;
		}
	}
	return 0;
}

static int write_all_parts(struct repair *w)
{
	int err = create_output(w);

	if (err)
		return err;
	mark_left_out(w);
	for (size_t i = 0; i < w->n; i++) {
		if (!w->parts[i].meta)
			continue;
		err = write_part(w, &w->parts[i]);
		if (err)
			return err;
	}
	err = put_stats(w);
	return err ? err : describe_all(w);
}

/* Closes one stream, once all closing clocks are known. */
static int repair_part(struct repair *w, struct part *p)
{
	struct sink nowhere = {.work = w};
	uint64_t kept;
	int err = copy_events(&nowhere, p, true);

	if (err)
		return err;
	w->streams++;
	p->repair |= p->dropped > 0;
	if (!p->repair)
		return 0;
	complete_metadata(w, p);
	w->repaired++;
	w->bytes_cut += p->size - p->kept;
	w->events_added += p->added_events;
	w->events_dropped += p->dropped;
	kept = p->events - p->dropped;
	log_info("%s: %llu event%s kept, %zu byte%s cut, %llu event%s added to close it", p->path,
		 (unsigned long long)kept, plural(kept, "", "s"), p->size - p->kept,
		 plural(p->size - p->kept, "", "s"), (unsigned long long)p->added_events,
		 plural(p->added_events, "", "s"));
	return 0;
}

static int repair_streams(struct repair *w)
{
	for (size_t i = 0; i < w->n; i++) {
		int err = 0;

		if (w->parts[i].meta && w->parts[i].repair)
			err = close_part(w, &w->parts[i]);
		if (err)
			return err;
	}
	for (size_t i = 0; i < w->n; i++) {
		int err = w->parts[i].meta ? repair_part(w, &w->parts[i]) : 0;

		if (err)
			return err;
	}
	return 0;
}

/* Repairs, with a message for each stream. Returns 0, or -errno after one message. */
static int repair_run(struct repair *w)
{
	int err = load(w);

	if (err)
		goto out;
	err = repair_streams(w);
	if (err)
		goto out;
	err = write_all_parts(w);
out:
	if (err == -ENOMEM)
		log_no_memory("while repairing %s", w->path);
	for (size_t i = 0; w->parts && i < w->n; i++) {
		json_free(w->parts[i].meta);
		owner_fini(&w->parts[i].owner);
		open_regions_fini(&w->parts[i].regions);
		bytes_free(&w->parts[i].added);
	}
	free(w->parts);
	if (w->out_fd >= 0)
		close(w->out_fd);
	trace_close(&w->trace);
	return err;
}

static int repair_and_check(const struct options *options)
{
	struct options repaired = *options;
	struct repair repair = {.path = options->path, .out_fd = -1, .trace.fd = -1};
	char *beside = NULL;
	int status = STATUS_FAILED;

	if (!options->in_place) {
		repair.out = beside = output_path(options->out, options->path, ".repaired");
		if (!beside)
			return STATUS_FAILED;
	}
	if (repair_run(&repair) < 0)
		goto out;
	repaired.path = repair.out ? repair.out : options->path;
	log_info("%s: repaired %llu of %llu stream%s and left out %llu: %llu byte%s cut, %llu "
		 "event%s added, %llu dropped",
		 repaired.path, (unsigned long long)repair.repaired,
		 (unsigned long long)repair.streams, plural(repair.streams, "", "s"),
		 (unsigned long long)repair.left_out, (unsigned long long)repair.bytes_cut,
		 plural(repair.bytes_cut, "", "s"), (unsigned long long)repair.events_added,
		 plural(repair.events_added, "", "s"), (unsigned long long)repair.events_dropped);
	status = check(&repaired);
	if (status == STATUS_COMPLETE && (repair.repaired || repair.left_out))
		status = STATUS_LOST;
out:
	free(beside);
	return status;
}

/* The same for the snapshots of a recording in mode summary. */
static int repair_and_check_stats(const struct options *options)
{
	struct options repaired = *options;
	size_t len = strlen(options->path) - strlen(STATS_PART);
	char *out = options->out ? strdup(options->out) : strndup(options->path, len);
	int status = STATUS_FAILED, err;

	if (!out) {
		log_no_memory("for the name of the statistics");
		return STATUS_FAILED;
	}
	if (options->in_place || !stats_is_file_name(out)) {
		log_error("the repaired statistics need a name that ends in " STATS_FILE
			  ", and are never written in place");
		goto out;
	}
	err = repair_stats(AT_FDCWD, options->path, AT_FDCWD, out, "summary");
	if (err == -ENODATA)
		log_error("%s: no whole snapshot: nothing can be recovered", options->path);
	if (err)
		goto out;
	repaired.path = out;
	status = check(&repaired);
out:
	free(out);
	return status;
}

int main(int argc, char **argv)
{
	struct options options = {0};

	options.path = cli_parse(&cli, argc, argv, &options)[0];
	if (options.repair && repair_stats_is_for(options.path))
		return repair_and_check_stats(&options);
	return options.repair ? repair_and_check(&options) : check(&options);
}
