/* SPDX-License-Identifier: MIT */
#include "tools/check/stats_check.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/log.h"
#include "trace/base/text.h"
#include "trace/ovni/event.h"

#define LLU(v)	      ((unsigned long long)(v))
#define FINDINGS_MOST 8	   /* more are counted */
#define NO_CPU	      (-1) /* the virtual one: not recorded */
#define NOT_RECORDED  (-1) /* a stream that is not the recorder's: of an accelerator */
#define COUNT(array)  (sizeof(array) / sizeof((array)[0]))

typedef unsigned __int128 u128; /* for sums of 64-bit numbers */

/* The counts of a thread in its stream, and in the file. */
struct stats_thread {
	int64_t pid, tid;
	uint64_t switches, migrations;
	uint64_t file_switches, file_migrations;
	int32_t cpu;
	bool is_listed; /* in the file */
};

static void __attribute__((format(printf, 3, 4)))
found(struct stats_check *c, enum severity severity, const char *fmt, ...)
{
	char text[256];
	va_list args;

	if (++c->findings > FINDINGS_MOST)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	diagnostics_add(c->diagnostics, severity, "%s: %s", c->name, text);
}

static void count_rest(struct stats_check *c, enum severity severity)
{
	if (c->findings > FINDINGS_MOST)
		diagnostics_add(c->diagnostics, severity, "%s: %llu more findings", c->name,
				LLU(c->findings - FINDINGS_MOST));
	c->findings = 0;
}

/* ---- the sums of the file ---- */

static const char *line_name(const struct stats_line *line, char name[64])
{
	static const struct {
		const char *noun;
		enum stats_key id;
	} nouns[] = {
		[STATS_NO_SCOPE] = {"events", STATS_NKEYS},
		[STATS_RUN] = {"the run", STATS_NKEYS},
		[STATS_CPU] = {"CPU", STATS_CPU_ID},
		[STATS_PROCESS] = {"process", STATS_PID},
		[STATS_THREAD] = {"thread", STATS_TID},
	};
	enum stats_key id = nouns[line->scope].id;

	if (id == STATS_NKEYS)
		return nouns[line->scope].noun;
	snprintf(name, 64, "%s %llu", nouns[line->scope].noun, LLU(line->values[id]));
	return name;
}

/* The states of a line fill its total. */
static void check_states(struct stats_check *c, const struct stats_line *line)
{
	static const enum stats_key of_thread[] = {STATS_ACTIVE_NS, STATS_RUNNABLE_NS,
						   STATS_BLOCKED_NS, STATS_UNKNOWN_NS};
	static const enum stats_key of_cpu[] = {STATS_ACTIVE_NS, STATS_OTHER_NS, STATS_IDLE_NS,
						STATS_UNKNOWN_NS};
	const enum stats_key *states = line->scope == STATS_CPU ? of_cpu : of_thread;
	char name[64];
	u128 sum = 0;

	for (size_t i = 0; i < COUNT(of_thread); i++)
		sum += line->values[states[i]];
	if (sum != line->values[STATS_TOTAL_NS])
		found(c, SEVERITY_ERROR, "%s: the states add up to %llu ns of %llu",
		      line_name(line, name), LLU(sum), LLU(line->values[STATS_TOTAL_NS]));
	if (line->scope != STATS_CPU &&
	    line->values[STATS_THROTTLED_NS] > line->values[STATS_RUNNABLE_NS])
		found(c, SEVERITY_ERROR,
		      "%s: throttled for %llu ns of the %llu that it was runnable",
		      line_name(line, name), LLU(line->values[STATS_THROTTLED_NS]),
		      LLU(line->values[STATS_RUNNABLE_NS]));
}

/* Each seen event is written, filtered, sampled out or dropped. */
static void check_events(struct stats_check *c, const struct stats_line *line)
{
	const uint64_t *v = line->values;
	u128 sum = (u128)v[STATS_WRITTEN] + v[STATS_FILTERED] + v[STATS_SAMPLED_OUT] +
		   v[STATS_DROPPED];
	u128 dropped = (u128)v[STATS_DROPPED_FULL] + v[STATS_DROPPED_SIZE] + v[STATS_DROPPED_USER];
	char name[64];

	if (sum != v[STATS_SEEN])
		found(c, SEVERITY_ERROR,
		      "%s: seen %llu but written %llu + filtered %llu + sampled out %llu + dropped "
		      "%llu",
		      line_name(line, name), LLU(v[STATS_SEEN]), LLU(v[STATS_WRITTEN]),
		      LLU(v[STATS_FILTERED]), LLU(v[STATS_SAMPLED_OUT]), LLU(v[STATS_DROPPED]));
	if (stats_has(line, STATS_DROPPED_FULL) && dropped != v[STATS_DROPPED])
		found(c, SEVERITY_ERROR, "%s: the breakdown of the drops does not add up to %llu",
		      line_name(line, name), LLU(v[STATS_DROPPED]));
}

static void add_line(u128 sums[STATS_NKEYS], const struct stats_line *line)
{
	for (int key = 0; key < STATS_NKEYS; key++)
		sums[key] += line->values[key];
}

/* Compares `sum`, of the lines `of`, with a number of their sum. */
static void check_sum(struct stats_check *c, const struct stats_line *line, enum stats_key key,
		      u128 sum, const char *of)
{
	char name[64];

	if (stats_has(line, key) && sum != line->values[key])
		found(c, SEVERITY_ERROR, "%s: %s %llu but %s sum to %llu", line_name(line, name),
		      stats_keys[key], LLU(line->values[key]), of, LLU(sum));
}

static void check_thread_sums(struct stats_check *c, const struct stats_line *line,
			      const u128 sums[STATS_NKEYS], const char *of)
{
	static const enum stats_key keys[] = {
		STATS_TOTAL_NS,		  STATS_ACTIVE_NS,
		STATS_RUNNABLE_NS,	  STATS_BLOCKED_NS,
		STATS_UNKNOWN_NS,	  STATS_SWITCHES_VOLUNTARY,
		STATS_SWITCHES_PREEMPTED, STATS_WAKEUPS,
		STATS_MIGRATIONS,	  STATS_CALLS,
		STATS_THROTTLED_NS,
	};

	for (size_t i = 0; i < COUNT(keys); i++)
		check_sum(c, line, keys[i], sums[keys[i]], of);
}

static void check_cpu_sums(struct stats_check *c, const struct stats_line *run,
			   const u128 cpus[STATS_NKEYS], u128 threads_active)
{
	static const enum stats_key keys[][2] = {
		{STATS_CPU_ACTIVE_NS, STATS_ACTIVE_NS}, {STATS_CPU_OTHER_NS, STATS_OTHER_NS},
		{STATS_CPU_IDLE_NS, STATS_IDLE_NS},	{STATS_CPU_UNKNOWN_NS, STATS_UNKNOWN_NS},
		{STATS_SWITCHES, STATS_SWITCHES},	{STATS_PROG_NS, STATS_PROG_NS},
		{STATS_PROG_RUNS, STATS_PROG_RUNS},
	};

	for (size_t i = 0; i < COUNT(keys); i++)
		check_sum(c, run, keys[i][0], cpus[keys[i][1]], "the CPUs");
	/* after a lost switch, a thread may have run while its CPU is unknown */
	if (threads_active < cpus[STATS_ACTIVE_NS] ||
	    threads_active - cpus[STATS_ACTIVE_NS] > cpus[STATS_UNKNOWN_NS])
		check_sum(c, run, STATS_CPU_ACTIVE_NS, threads_active, "active_ns of the threads");
}

/* The run is the sum of all threads, and of all CPUs. */
static void check_run(struct stats_check *c)
{
	u128 threads[STATS_NKEYS] = {0}, cpus[STATS_NKEYS] = {0};
	const struct stats_line *run = NULL;
	size_t nthreads = 0, ncpus = 0;

	for (size_t i = 0; i < c->stats.nlines; i++) {
		const struct stats_line *line = &c->stats.lines[i];

		check_states(c, line);
		if (stats_has(line, STATS_SEEN))
			check_events(c, line);
		if (line->values[STATS_INTERVAL])
			continue;
		if (line->scope == STATS_RUN)
			run = line;
		if (line->scope == STATS_THREAD)
			add_line(threads, line);
		if (line->scope == STATS_CPU)
			add_line(cpus, line);
		nthreads += line->scope == STATS_THREAD;
		ncpus += line->scope == STATS_CPU;
	}
	add_line(threads, &c->stats.unlisted);
	if (run && nthreads)
		check_thread_sums(c, run, threads, "the threads");
	/* threads and CPUs of a running recording are read one after the other */
	if (run && nthreads && ncpus)
		check_cpu_sums(c, run, cpus,
			       c->stats.recovered ? cpus[STATS_ACTIVE_NS]
						  : threads[STATS_ACTIVE_NS]);
}

/* By pid, the process before its threads. */
static int by_pid(const void *a, const void *b)
{
	const struct stats_line *x = *(const struct stats_line *const *)a;
	const struct stats_line *y = *(const struct stats_line *const *)b;

	if (x->values[STATS_PID] != y->values[STATS_PID])
		return x->values[STATS_PID] < y->values[STATS_PID] ? -1 : 1;
	return (int)x->scope - (int)y->scope;
}

/* A process is the sum of the threads with its pid, unless some threads are unlisted, or the pid
 * was used twice. */
static int check_processes(struct stats_check *c)
{
	const struct stats_line **sorted = calloc(c->stats.nlines + 1, sizeof(*sorted));
	size_t n = 0, end;

	if (!sorted)
		return log_no_memory("while reading %s", c->name);
	for (size_t i = 0; i < c->stats.nlines; i++) {
		const struct stats_line *line = &c->stats.lines[i];

		if (!line->values[STATS_INTERVAL] && line->scope >= STATS_PROCESS)
			sorted[n++] = line;
	}
	qsort(sorted, n, sizeof(*sorted), by_pid);
	for (size_t i = 0; i < n && !c->stats.unlisted.values[STATS_THREADS]; i = end) {
		const uint64_t pid = sorted[i]->values[STATS_PID];
		u128 sums[STATS_NKEYS] = {0};
		size_t nprocesses = 0;

		for (end = i; end < n && sorted[end]->values[STATS_PID] == pid; end++) {
			nprocesses += sorted[end]->scope == STATS_PROCESS;
			if (sorted[end]->scope == STATS_THREAD)
				add_line(sums, sorted[end]);
		}
		if (nprocesses == 1)
			check_thread_sums(c, sorted[i], sums, "its threads");
	}
	free(sorted);
	return 0;
}

/* Compares the events by CPU and kind with the recording. */
static void check_kinds(struct stats_check *c)
{
	u128 sums[STATS_NKEYS] = {0};

	check_events(c, &c->stats.events);
	for (size_t i = 0; i < c->stats.nby_kind; i++) {
		check_events(c, &c->stats.by_kind[i]);
		add_line(sums, &c->stats.by_kind[i]);
	}
	for (int key = STATS_SEEN; key <= STATS_DROPPED && c->stats.nby_kind; key++)
		check_sum(c, &c->stats.events, (enum stats_key)key, sums[key],
			  "the counts by CPU and kind");
}

int stats_check_load(struct stats_check *c, int dirfd, const char *name)
{
	const uint64_t *window = c->stats.window.values;
	int err;

	c->name = name;
	diagnostics_capture(c->diagnostics, SEVERITY_ERROR);
	err = recorded_stats_load(&c->stats, dirfd, name);
	diagnostics_release();
	if (err)
		return err == -ENOMEM ? err : 0; /* reported */
	if (window[STATS_END_CYCLE] - window[STATS_FIRST_CYCLE] != window[STATS_TOTAL_CYCLES])
		found(c, SEVERITY_ERROR, "window: total %llu but it goes from %llu to %llu",
		      LLU(window[STATS_TOTAL_CYCLES]), LLU(window[STATS_FIRST_CYCLE]),
		      LLU(window[STATS_END_CYCLE]));
	check_run(c);
	check_kinds(c);
	err = check_processes(c);
	c->sound = !c->findings;
	count_rest(c, SEVERITY_ERROR);
	return err;
}

/* ---- the streams ---- */

/* The session is the same in all streams that have one. */
static int check_session(struct stats_check *c, const struct source *source)
{
	for (size_t i = 0; i < source->trace.nstreams && !c->has_session; i++) {
		const struct json *session, *kinds;
		struct json *meta;

		if (!source->owners[i].has_host)
			continue;
		meta = trace_metadata(&source->trace, i);
		if (!meta)
			return -EINVAL;
		session = json_get(meta, "bpf.session");
		kinds = json_key(session, "kinds");
		c->has_session = json_u64(json_key(session, "t0"), &c->t0) &&
				 json_u64(json_key(session, "t1"), &c->t1);
		c->is_part = json_is_number(json_key(session, "part"));
		c->has_switches = !json_is_array(kinds);
		for (const struct json *kind = json_first(kinds); kind; kind = json_next(kind))
			c->has_switches |=
				json_string(kind) && !strcmp(json_string(kind), "switch");
		json_free(meta);
	}
	return 0;
}

int stats_check_begin(struct stats_check *c, const struct source *source)
{
	if (!c->sound)
		return 0;
	c->nthreads = source->trace.nstreams;
	c->threads = calloc(c->nthreads + 1, sizeof(*c->threads));
	if (!c->threads)
		return log_no_memory("while reading %s", source->trace.path);
	for (size_t i = 0; i < c->nthreads; i++)
		c->threads[i] = (struct stats_thread){
			.pid = source->owners[i].recorded ? source->owners[i].pid : NOT_RECORDED,
			.tid = source->owners[i].tid,
			.cpu = NO_CPU};
	return check_session(c, source);
}

void stats_check_event(struct stats_check *c, uint32_t i, const struct event *ev)
{
	struct stats_thread *t;
	int32_t to;

	if (!c->threads)
		return;
	t = &c->threads[i];
	if (ev->model == 'K' && ev->category == 'C')
		c->has_switches = false; /* events of another recorder */
	if (ev->model != 'O')
		return;
	if (ev->category == 'H' && ev->value == 'p')
		t->switches += t->cpu != NO_CPU;
	if (ev->payload_size < 4)
		return;
	to = get_i32(ev->payload);
	if (ev->category == 'A' && ev->value == 's') {
		t->migrations += t->cpu >= 0 && to >= 0;
		t->cpu = to;
	}
	if (ev->category == 'H' && ev->value == 'x')
		t->cpu = to;
}

/* ---- both ---- */

static int by_ids(const void *pa, const void *pb)
{
	const struct stats_thread *a = pa, *b = pb;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return a->tid < b->tid ? -1 : a->tid > b->tid;
}

/* The reason not to compare the threads; NULL: they can be compared. */
static const char *obstacle(const struct stats_check *c, const struct survey *s)
{
	if (!c->sound)
		return "it has errors";
	if (!c->has_session)
		return "no stream has its session";
	if (c->is_part)
		return "it is that of all traces of its session";
	if (!whole_is(&s->whole))
		return "events are missing in the streams";
	if (s->repairs)
		return "the kernel did not report all switches";
	if (c->stats.unlisted.values[STATS_ACTIVE_NS])
		return "not all threads that ran are listed";
	if (!c->has_switches)
		return "the switches of the streams are not those of the recorder";
	return NULL;
}

/* Adds up the lines of each thread: a number that is used again has several. Returns the number of
 * threads that ran and have no stream. */
static uint64_t check_lines(struct stats_check *c)
{
	uint64_t unknown = 0;

	for (size_t i = 0; i < c->stats.nlines; i++) {
		const struct stats_line *line = &c->stats.lines[i];
		const uint64_t *v = line->values;
		struct stats_thread key = {.pid = (int64_t)v[STATS_PID],
					   .tid = (int64_t)v[STATS_TID]};
		struct stats_thread *t;

		if (line->scope != STATS_THREAD || v[STATS_INTERVAL])
			continue;
		t = bsearch(&key, c->threads, c->nthreads, sizeof(key), by_ids);
		if (!t) {
			unknown += v[STATS_ACTIVE_NS] > 0;
			continue;
		}
		t->is_listed = true;
		t->file_switches += v[STATS_SWITCHES_VOLUNTARY] + v[STATS_SWITCHES_PREEMPTED];
		t->file_migrations += v[STATS_MIGRATIONS];
	}
	return unknown;
}

static void compare_thread(struct stats_check *c, const struct stats_thread *t,
			   enum severity severity)
{
	const struct {
		const char *noun;
		uint64_t file, stream;
	} counts[] = {{"switches", t->file_switches, t->switches},
		      {"migrations", t->file_migrations, t->migrations}};

	if (t->pid == NOT_RECORDED)
		return;
	if (!t->is_listed && !c->stats.unlisted.values[STATS_THREADS])
		found(c, severity, "thread %lld of process %lld has a stream, but no line",
		      (long long)t->tid, (long long)t->pid);
	for (size_t i = 0; i < COUNT(counts) && t->is_listed; i++) {
		if (counts[i].file != counts[i].stream)
			found(c, severity,
			      "thread %lld of process %lld: %llu %s, but %llu in its stream",
			      (long long)t->tid, (long long)t->pid, LLU(counts[i].file),
			      counts[i].noun, LLU(counts[i].stream));
	}
}

bool stats_check_compare(struct stats_check *c, const struct survey *survey, enum severity severity)
{
	const struct recorded_stats *s = &c->stats;
	const char *why = obstacle(c, survey);
	uint64_t unknown;
	bool agrees;

	if (!c->name)
		return true;
	if (c->sound && c->has_session && !c->is_part) {
		uint64_t end = s->window.values[STATS_END_CYCLE];

		/* statistics that a repair closed end earlier */
		if (s->window.values[STATS_FIRST_CYCLE] != c->t0 || end > c->t1 ||
		    (end < c->t1 && !s->recovered))
			found(c, severity,
			      "its window is %llu to %llu, that of the streams %llu to %llu: it is "
			      "of another recording",
			      LLU(s->window.values[STATS_FIRST_CYCLE]),
			      LLU(s->window.values[STATS_END_CYCLE]), LLU(c->t0), LLU(c->t1));
		if (!s->events.values[STATS_DROPPED] && survey->whole.lost)
			found(c, severity, "no event is dropped, but the streams lost some");
	}
	if (why) {
		diagnostics_add(c->diagnostics, SEVERITY_NOTE,
				"%s: its threads are not compared with the streams: %s", c->name,
				why);
		goto out;
	}
	qsort(c->threads, c->nthreads, sizeof(*c->threads), by_ids);
	unknown = check_lines(c);
	if (unknown && s->sampling.values[STATS_KEEP] == s->sampling.values[STATS_OF])
		found(c, severity, "%llu thread%s ran and %s no stream", LLU(unknown),
		      plural(unknown, "", "s"), plural(unknown, "has", "have"));
	for (size_t i = 0; i < c->nthreads; i++)
		compare_thread(c, &c->threads[i], severity);
out:
	agrees = !c->findings;
	count_rest(c, severity);
	return agrees;
}

void stats_check_free(struct stats_check *c)
{
	recorded_stats_free(&c->stats);
	free(c->threads);
	memset(c, 0, sizeof(*c));
}
