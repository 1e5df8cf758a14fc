/* SPDX-License-Identifier: MIT */
/*
 * chrome: a trace as JSON trace events, for chrome://tracing and other programs that read them.
 *
 * In: rows (trace_tables.h); out: one JSON file (new_file.h). Tracks are the CPUs of a loom with
 * their runs, the states of each thread, and its calls. The slices of a track must nest: a call
 * that does not, and a run beside another one on its CPU, is an asynchronous event. Times are us
 * with three digits, so exact, since the begin of the window. A slice needs some 150 bytes: the
 * file has a limit. Specification: docs/export.md.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/export/subjects.h"
#include "tools/export/trace_tables.h"
#include "tools/lib/new_file.h"
#include "trace/analysis/function_calls.h"
#include "trace/base/log.h"
#include "trace/base/text.h"

#define LIMIT	     (256ull << 20) /* bytes: browsers fail above it */
#define CHECK_EVENTS 4096	    /* at least, between two checks of the size */

struct called {
	char *name, *type;
};

struct chrome {
	struct export_request *request;
	struct new_file file;
	struct printer out;
	struct subjects subjects;
	struct called *functions; /* by their numbers in the rows */
	size_t nfunctions;
	int64_t *busy_until; /* of each CPU of the subjects, or INT64_MIN */
	size_t ncpus;
	bool *has_calls;		/* of each thread */
	bool *shown_process;		/* of each process: one of its threads is selected */
	uint64_t events, slices, apart; /* apart: asynchronous ones */
	uint64_t checked;		/* events at the last check of the size */
	bool in_meta;
};

/* ---- numbers of processes and tracks ----
 * Those of Linux where no other thread of the trace has the same one, else free ones. */

#define FREE_NUMBER (4ull * NUMBER_MOST)

static uint64_t nstreams(const struct chrome *c)
{
	return c->request->source->trace.nstreams;
}

static bool first_loom(const struct chrome *c, uint32_t loom)
{
	return c->subjects.looms[loom].number == 0;
}

static uint64_t track_of_thread(const struct chrome *c, int64_t thread)
{
	const struct subject_thread *t = &c->subjects.threads[thread];

	return first_loom(c, t->loom) && t->same == thread ? (uint64_t)t->number
							   : FREE_NUMBER + (uint64_t)thread;
}

static uint64_t track_of_calls(const struct chrome *c, int64_t thread)
{
	return FREE_NUMBER + nstreams(c) + (uint64_t)thread;
}

static uint64_t number_of_process(const struct chrome *c, uint32_t process)
{
	const struct subject_process *p = &c->subjects.processes[process];

	return first_loom(c, p->loom) ? (uint64_t)p->number
				      : FREE_NUMBER + 2 * nstreams(c) + process;
}

static uint64_t process_of_cpus(const struct chrome *c, uint32_t loom)
{
	return FREE_NUMBER + 2 * nstreams(c) + c->subjects.nprocesses + loom;
}

static uint64_t track_of_cpu(const struct chrome *c, uint32_t cpu)
{
	return process_of_cpus(c, (uint32_t)c->subjects.nlooms) + cpu;
}

/* ---- events ---- */

static void put_text(struct chrome *c, const char *key, const char *text)
{
	printer_format(&c->out, "\"%s\":", key);
	printer_json_string(&c->out, text, strlen(text));
}

static void put_time(struct chrome *c, const char *key, int64_t ns)
{
	printer_format(&c->out, ",\"%s\":%" PRId64 ".%03d", key, ns / 1000, (int)(ns % 1000));
}

/* The caller adds further members, and ends the event with "}". */
static void begin_event(struct chrome *c, const char *name, char phase, uint64_t process,
			uint64_t track)
{
	printer_text(&c->out, c->events++ ? ",\n{" : "\n{");
	put_text(c, "name", name);
	printer_format(&c->out, ",\"ph\":\"%c\",\"pid\":%" PRIu64 ",\"tid\":%" PRIu64, phase,
		       process, track);
}

static void begin_timed(struct chrome *c, const char *name, char phase, const char *kind,
			uint64_t process, uint64_t track, int64_t clock)
{
	begin_event(c, name, phase, process, track);
	printer_text(&c->out, ",");
	put_text(c, "cat", kind);
	put_time(c, "ts", clock_distance(c->subjects.t0, clock));
}

struct slice {
	const char *name, *kind;
	uint64_t process, track;
	int64_t begin, end;
	bool apart;
	/* arguments: texts, unless they are empty; a number, unless it is CELL_UNKNOWN */
	const char *text_key, *text, *call, *number_key;
	int64_t number, owner_tid; /* owner_tid: 0: none */
};

static void put_arguments(struct chrome *c, const struct slice *s)
{
	bool text = s->text_key && s->text && *s->text, call = s->call && *s->call;
	bool number = s->number_key && s->number != CELL_UNKNOWN;
	bool owner = s->owner_tid > 0;

	if (!text && !call && !number && !owner)
		return;
	printer_text(&c->out, ",\"args\":{");
	if (text)
		put_text(c, s->text_key, s->text);
	if (call) {
		printer_text(&c->out, text ? "," : "");
		put_text(c, "call", s->call);
	}
	if (number)
		printer_format(&c->out, "%s\"%s\":%" PRId64, text || call ? "," : "", s->number_key,
			       s->number);
	if (owner)
		printer_format(&c->out, "%s\"lock_owner_tid\":%" PRId64,
			       text || call || number ? "," : "", s->owner_tid);
	printer_text(&c->out, "}");
}

static void put_slice(struct chrome *c, const struct slice *s)
{
	c->slices++;
	begin_timed(c, s->name, s->apart ? 'b' : 'X', s->kind, s->process, s->track, s->begin);
	if (s->apart)
		printer_format(&c->out, ",\"id\":%" PRIu64, ++c->apart);
	else
		put_time(c, "dur", clock_distance(s->begin, s->end));
	put_arguments(c, s);
	printer_text(&c->out, "}");
	if (!s->apart)
		return;
	begin_timed(c, s->name, 'e', s->kind, s->process, s->track, s->end);
	printer_format(&c->out, ",\"id\":%" PRIu64 "}", c->apart);
}

/* A moment on the track of a thread. */
static void put_instant(struct chrome *c, int64_t thread, const char *name, const char *kind,
			int64_t clock, const char *number_key, int64_t number)
{
	const struct slice arguments = {.number_key = number_key, .number = number};

	begin_timed(c, name, 'i', kind, number_of_process(c, c->subjects.threads[thread].process),
		    track_of_thread(c, thread), clock);
	printer_text(&c->out, ",\"s\":\"t\"");
	put_arguments(c, &arguments);
	printer_text(&c->out, "}");
}

/* ---- rows ---- */

/* Whether a run overlaps the last one of its CPU, or is written after a later one: of a thread that
 * moved while it ran. */
static bool beside_another(struct chrome *c, uint32_t cpu, int64_t begin, int64_t end)
{
	if (begin < c->busy_until[cpu])
		return true;
	c->busy_until[cpu] = end;
	return false;
}

/* Makes room for the CPUs that the subjects have more of. */
static int more_cpus(struct chrome *c)
{
	while (c->ncpus < c->subjects.ncpus) {
		int64_t *until = ARRAY_ADD(c->busy_until, c->ncpus);

		if (!until)
			return log_no_memory("for the CPUs");
		*until = INT64_MIN;
	}
	return 0;
}

static int put_run(struct chrome *c, const union cell *row)
{
	int64_t thread = row[INTERVAL_THREAD].number;
	const struct subject_thread *subject = &c->subjects.threads[thread];
	uint32_t cpu = subjects_cpu(&c->subjects, subject->loom, (int32_t)row[INTERVAL_CPU].number);
	struct slice run = {
		.name = subject->name,
		.kind = "run",
		.process = process_of_cpus(c, subject->loom),
		.begin = row[INTERVAL_BEGIN].number,
		.end = row[INTERVAL_END].number,
		.text_key = "ended_by",
		.text = row[INTERVAL_LEFT].text,
		.number_key = "tid",
		.number = c->request->source->owners[thread].tid,
	};
	int err;

	if (cpu == NO_SUBJECT)
		return log_no_memory("for the CPUs");
	err = more_cpus(c);
	if (err)
		return err;
	run.track = track_of_cpu(c, cpu);
	run.apart = beside_another(c, cpu, run.begin, run.end);
	put_slice(c, &run);
	return 0;
}

static int put_interval(struct chrome *c, const union cell *row)
{
	int64_t thread = row[INTERVAL_THREAD].number, cpu = row[INTERVAL_CPU].number;
	bool running = strcmp(row[INTERVAL_STATE].text, "running") == 0;
	const struct slice state = {
		.name = row[INTERVAL_STATE].text,
		.kind = "state",
		.process = number_of_process(c, c->subjects.threads[thread].process),
		.track = track_of_thread(c, thread),
		.begin = row[INTERVAL_BEGIN].number,
		.end = row[INTERVAL_END].number,
		.text_key = running ? "ended_by" : "reason",
		.text = running ? row[INTERVAL_LEFT].text : row[INTERVAL_REASON].text,
		.call = row[INTERVAL_CALL].text,
		.number_key = "cpu",
		.number = cpu,
		.owner_tid = row[INTERVAL_LOCK_OWNER_TID].number, /* CELL_UNKNOWN is negative */
	};

	put_slice(c, &state);
	return running && cpu != CELL_UNKNOWN && cpu >= 0 ? put_run(c, row) : 0;
}

static int put_waker(struct chrome *c, const union cell *row)
{
	const char *kind = row[WAIT_WAKER_KIND].text;
	int64_t waker = row[WAIT_WAKER].number;
	char *name;

	if (strcmp(kind, "stayed") == 0)
		return 0;
	name = xasprintf("woken by %s",
			 waker != CELL_UNKNOWN ? c->subjects.threads[waker].name : kind);
	if (!name)
		return log_no_memory("for the name of a waker");
	put_instant(c, row[WAIT_THREAD].number, name, "wakeup", row[WAIT_BEGIN].number, "tid",
		    row[WAIT_WAKER_TID].number);
	free(name);
	return 0;
}

static int keep_function(struct chrome *c, const union cell *row)
{
	struct called *function = ARRAY_ADD(c->functions, c->nfunctions);

	if (!function)
		return log_no_memory("for the functions");
	function->name = strdup(row[1].text);
	function->type = strdup(row[2].text);
	return function->name && function->type ? 0 : log_no_memory("for the functions");
}

static int put_region(struct chrome *c, const union cell *row)
{
	int64_t thread = row[REGION_THREAD].number;
	const struct called *function = &c->functions[row[REGION_FUNCTION].number];
	const struct slice call = {
		.name = function->name,
		.kind = function->type,
		.process = number_of_process(c, c->subjects.threads[thread].process),
		.track = track_of_calls(c, thread),
		.begin = row[REGION_BEGIN].number,
		.end = row[REGION_END].number,
		.apart = row[REGION_APART].number,
		.number_key = "open_at_end",
		.number = row[REGION_RETURNED].number ? CELL_UNKNOWN : 1,
	};

	c->has_calls[thread] = true;
	put_slice(c, &call);
	return 0;
}

static int put_mark(struct chrome *c, const union cell *row)
{
	const char *title = row[3].text ? row[3].text : "mark", *label = row[5].text;
	char *name = label ? xasprintf("%s: %s", title, label) : strdup(title);

	if (!name)
		return log_no_memory("for a mark");
	put_instant(c, row[0].number, name, "mark", row[1].number, "value", row[4].number);
	free(name);
	return 0;
}

static int put_loss(struct chrome *c, const union cell *row)
{
	int64_t thread = row[0].number;
	const struct slice loss = {
		.name = "events lost",
		.kind = "lost",
		.process = number_of_process(c, c->subjects.threads[thread].process),
		.track = track_of_thread(c, thread),
		.begin = row[2].number,
		.end = row[3].number,
		.apart = true,
		.number_key = "events",
		.number = row[4].number,
	};

	put_slice(c, &loss);
	return 0;
}

/* Names a process or a track; `rank` orders it among the others. */
static void put_name(struct chrome *c, const char *subject, uint64_t process, uint64_t track,
		     const char *name, int64_t rank)
{
	char kind[32];

	snprintf(kind, sizeof(kind), "%s_name", subject);
	begin_event(c, kind, 'M', process, track);
	printer_text(&c->out, ",\"args\":{");
	put_text(c, "name", name);
	printer_text(&c->out, "}}");
	snprintf(kind, sizeof(kind), "%s_sort_index", subject);
	begin_event(c, kind, 'M', process, track);
	printer_format(&c->out, ",\"args\":{\"sort_index\":%" PRId64 "}}", rank);
}

/* The CPUs with a run. */
static int put_cpus(struct chrome *c)
{
	for (uint32_t i = 0; i < c->ncpus; i++) {
		uint32_t loom = c->subjects.cpus[i].loom;
		uint64_t process = process_of_cpus(c, loom);
		char *name = xasprintf("CPUs of %s", c->subjects.looms[loom].shown);
		char cpu[32];

		if (!name)
			return log_no_memory("for the names of the CPUs");
		snprintf(cpu, sizeof(cpu), "CPU %d", c->subjects.cpus[i].number);
		if (c->busy_until[i] != INT64_MIN) {
			put_name(c, "process", process, process, name, -1);
			put_name(c, "thread", process, track_of_cpu(c, i), cpu,
				 c->subjects.cpus[i].number);
		}
		free(name);
	}
	return 0;
}

/* The facts about the trace stand behind all events. */
static int put_meta(struct chrome *c, const union cell *row)
{
	const char *key = row[0].text, *text = row[2].text ? row[2].text : "";
	bool number = row[1].number != CELL_UNKNOWN;
	int err;

	if (!number && !*text)
		return 0;
	if (!c->in_meta) {
		err = put_cpus(c);
		if (err)
			return err;
		printer_format(&c->out, "\n],\"otherData\":{\n\"origin\":%" PRId64, c->subjects.t0);
		c->in_meta = true;
	}
	printer_text(&c->out, ",\n");
	if (number)
		printer_format(&c->out, "\"%s\":%" PRId64 "%s", key, row[1].number,
			       *text ? ",\n" : "");
	if (*text) {
		printer_format(&c->out, "\"%s%s\":", key, number ? "_text" : "");
		printer_json_string(&c->out, text, strlen(text));
	}
	return 0;
}

static int put_thread(struct chrome *c, const union cell *row)
{
	int64_t thread = row[0].number;
	const struct subject_thread *subject = &c->subjects.threads[thread];
	uint64_t process = number_of_process(c, subject->process);
	uint64_t track = track_of_thread(c, thread);
	bool real = track == (uint64_t)row[3].number;
	char *name, *calls;

	if (!c->request->filter->streams[thread])
		return 0;
	c->shown_process[subject->process] = true;
	name = real ? strdup(subject->name)
		    : xasprintf("%s (%" PRId64 ")", subject->name, row[3].number);
	calls = xasprintf("%s: calls", subject->name);
	if (name && calls) {
		put_name(c, "thread", process, track, name, 2 * thread);
		if (c->has_calls[thread])
			put_name(c, "thread", process, track_of_calls(c, thread), calls,
				 2 * thread + 1);
	}
	free(name);
	free(calls);
	return name && calls ? 0 : log_no_memory("for the name of a thread");
}

static int put_process(struct chrome *c, const union cell *row)
{
	uint32_t process = (uint32_t)row[0].number;
	const struct subject_process *subject = &c->subjects.processes[process];
	uint64_t number = number_of_process(c, process);
	bool real = number == (uint64_t)subject->pid;
	const char *name = row[3].text ? row[3].text : "process";
	char *shown;

	if (!c->shown_process[process])
		return 0;
	shown = real ? strdup(name)
		     : xasprintf("%s (%" PRId64 ", %s)", name, subject->pid,
				 c->subjects.looms[subject->loom].shown);
	if (!shown)
		return log_no_memory("for the name of a process");
	put_name(c, "process", number, number, shown, process);
	free(shown);
	return 0;
}

/* ---- the file ---- */

static uint64_t size_of(const struct chrome *c)
{
	return (uint64_t)lseek(c->file.fd, 0, SEEK_CUR) + c->out.len;
}

static int refuse(const struct chrome *c)
{
	log_error("cannot write '%s': %s", c->file.path, strerror(-c->out.error));
	return c->out.error;
}

static int check_size(const struct chrome *c)
{
	uint64_t limit = c->request->limit ? c->request->limit : LIMIT;

	if (size_of(c) <= limit)
		return 0;
	log_error("%s: the JSON file would be larger than %.0f MB: choose a part with --from, --to "
		  "or --comm, write --perfetto, or allow more with --limit",
		  c->request->path, (double)limit / 1e6);
	return -EFBIG;
}

static int put_row(void *to, enum export_table table, const union cell *row)
{
	struct chrome *c = to;

	if (c->out.error)
		return refuse(c);
	if (c->events - c->checked >= CHECK_EVENTS) {
		int err = check_size(c);

		if (err)
			return err;
		c->checked = c->events;
	}
	switch (table) {
	case EXPORT_INTERVALS:
		return put_interval(c, row);
	case EXPORT_WAITS:
		return put_waker(c, row);
	case EXPORT_FUNCTIONS:
		return keep_function(c, row);
	case EXPORT_REGIONS:
		return put_region(c, row);
	case EXPORT_MARKS:
		return put_mark(c, row);
	case EXPORT_LOSSES:
		put_loss(c, row);
		return 0;
	case EXPORT_PROCESSES:
		return put_process(c, row);
	case EXPORT_THREADS:
		return put_thread(c, row);
	case EXPORT_META:
		return put_meta(c, row);
	default:
		return 0;
	}
}

static int start(struct chrome *c)
{
	size_t n = nstreams(c);
	int err = new_file_open(&c->file, c->request->output);

	if (err)
		return err;
	err = subjects_init(&c->subjects, c->request->source);
	if (err)
		return err;
	c->has_calls = calloc(n + 1, sizeof(*c->has_calls));
	c->shown_process = calloc(c->subjects.nprocesses + 1, sizeof(*c->shown_process));
	if (!c->has_calls || !c->shown_process)
		return log_no_memory("for %zu threads", n);
	printer_open(&c->out, c->file.fd);
	printer_text(&c->out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
	return 0;
}

static int finish(struct chrome *c)
{
	int err;

	printer_text(&c->out, "\n}}\n");
	printer_flush(&c->out);
	if (c->out.error)
		return refuse(c);
	err = check_size(c);
	if (err)
		return err;
	if (!c->request->quiet)
		log_info("%s: %" PRIu64 " %s, %.1f MB", c->request->output, c->slices,
			 plural(c->slices, "slice", "slices"), (double)size_of(c) / 1e6);
	return new_file_finish(&c->file);
}

int export_chrome(struct export_request *request)
{
	struct chrome c = {.request = request};
	int err = start(&c);

	if (!err)
		err = tables_walk(request, put_row, &c);
	if (!err)
		err = finish(&c);
	new_file_abandon(&c.file);
	for (size_t i = 0; i < c.nfunctions; i++) {
		free(c.functions[i].name);
		free(c.functions[i].type);
	}
	free(c.functions);
	free(c.busy_until);
	free(c.has_calls);
	free(c.shown_process);
	free(c.out.buf);
	subjects_fini(&c.subjects);
	return err;
}
