/* SPDX-License-Identifier: MIT */
#include "tools/check/stats_check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "trace/states/intervals.h"
#include "trace/base/log.h"
#include "trace/loom/violation.h"
#include "trace/ovni/stats_file.h"

#define LLU(v)	   ((unsigned long long)(v))
#define SAID_MOST  8	/* findings of one kind; the others are counted */
#define NO_CPU	   (-1) /* the virtual one: what is not recorded */
#define NOT_PAUSED (-1) /* the waker of a thread that stayed runnable */

/* What is known from both sides. */
static const enum stats_counter compared[] = {
	STATS_ACTIVE_NS,	  STATS_RUNNABLE_NS, STATS_BLOCKED_NS, STATS_SWITCHES_VOLUNTARY,
	STATS_SWITCHES_PREEMPTED, STATS_YIELDS,	     STATS_WAKEUPS,    STATS_MIGRATIONS,
};
#define NCOMPARED (sizeof(compared) / sizeof(compared[0]))

enum { ACTIVE, RUNNABLE, BLOCKED, VOLUNTARY, PREEMPTED, YIELDS, WAKEUPS, MIGRATIONS };

struct figures_thread {
	int64_t pid, tid;
	uint64_t streams[NCOMPARED], counters[NCOMPARED];
	uint64_t at;	 /* ns: since then it is in `state` */
	uint64_t life;	 /* of the counters, ns */
	uint64_t before; /* ns off the CPU from the opening of the window to its first run */
	int32_t cpu;
	uint8_t state; /* ACTIVE, RUNNABLE or BLOCKED */
	bool sleeps;   /* to the end, as far as its stream knows */
	bool early;    /* it has not run yet since the window opened */
	bool listed;   /* perf.json has it */
};

/* ---- the rules of the file ---- */

struct judge {
	struct diagnostics *findings;
	uint64_t said[LOOM_RULES];
};

static void judge_found(void *arg, const struct loom_violation *finding)
{
	static const enum severity severities[LOOM_SEVERITIES] = {
		[LOOM_NOTICE] = SEVERITY_NOTE,
		[LOOM_WARNING] = SEVERITY_WARNING,
		[LOOM_ERROR] = SEVERITY_ERROR,
	};
	struct judge *judge = arg;

	/* what was filtered or lost is no news here (P12) */
	if (finding->severity == LOOM_NOTICE || judge->said[finding->rule]++ >= SAID_MOST)
		return;
	diagnostics_add(judge->findings, severities[finding->severity], STATS_FILE ": %s (rule %s)",
			finding->text, loom_rules[finding->rule].id);
}

static void judge_rest(const struct judge *judge)
{
	for (int rule = 0; rule < LOOM_RULES; rule++)
		if (judge->said[rule] > SAID_MOST)
			diagnostics_add(judge->findings,
					loom_rules[rule].severity == LOOM_ERROR ? SEVERITY_ERROR
										: SEVERITY_WARNING,
					STATS_FILE ": %llu more findings of rule %s",
					LLU(judge->said[rule] - SAID_MOST), loom_rules[rule].id);
}

int figures_load(struct figures *f, const struct trace *trace, struct diagnostics *findings)
{
	struct judge judge = {.findings = findings};
	struct loom_violations rules = {.report = judge_found, .arg = &judge};
	struct stat st;
	int err;

	if (fstatat(trace->fd, STATS_FILE, &st, 0) < 0 && errno == ENOENT)
		return 0;
	f->there = true;
	diagnostics_capture(findings, SEVERITY_ERROR);
	err = run_stats_load(&f->perf, trace->fd, STATS_FILE, &rules);
	diagnostics_release();
	if (err)
		return err == -ENOMEM ? err : 0; /* said */
	if (f->perf.form != STATS_OVNI)
		diagnostics_add(findings, SEVERITY_ERROR, STATS_FILE ": has the form %s, not %s",
				stats_form_name(f->perf.form), STATS_SCHEMA);
	else
		err = run_stats_check(&f->perf, &rules);
	judge_rest(&judge);
	f->sound = f->perf.form == STATS_OVNI && !rules.counts[LOOM_ERROR];
	return err;
}

/* ---- the streams ---- */

/* The session is the same in all streams that have one. */
static int take_session(struct figures *f, const struct source *source)
{
	for (size_t i = 0; i < source->trace.nstreams && !f->session; i++) {
		struct json *meta = trace_metadata(&source->trace, i);
		const struct json *session, *kinds;

		if (!meta)
			return -EINVAL;
		session = json_get(meta, "bpf.session");
		kinds = json_key(session, "kinds");
		f->session = json_u64(json_key(session, "t0"), &f->t0) &&
			     json_u64(json_key(session, "t1"), &f->t1);
		f->part = json_is_number(json_key(session, "part"));
		f->switches = !json_is_array(kinds);
		for (const struct json *kind = json_first(kinds); kind; kind = json_next(kind))
			f->switches |= json_string(kind) && !strcmp(json_string(kind), "switch");
		json_free(meta);
	}
	return 0;
}

int figures_begin(struct figures *f, const struct source *source)
{
	if (!f->there)
		return 0;
	f->nthreads = source->trace.nstreams;
	f->threads = calloc(f->nthreads + 1, sizeof(*f->threads));
	if (!f->threads) {
		log_no_memory("for the figures of its threads of %s", source->trace.path);
		return -ENOMEM;
	}
	for (size_t i = 0; i < f->nthreads; i++)
		f->threads[i] = (struct figures_thread){
			.pid = source->owners[i].pid, .tid = source->owners[i].tid, .cpu = NO_CPU};
	return take_session(f, source);
}

/* The time up to `clock` was spent in the present state; from there on it is in another. */
static void change(struct figures_thread *t, uint64_t clock, uint8_t state)
{
	t->streams[t->state] += clock - t->at;
	t->at = clock;
	t->state = state;
}

static void leave(struct figures_thread *t, uint64_t clock, const struct event *ev)
{
	uint16_t why = ev->payload_size >= 2 ? get_u16(ev->payload) : OFF_CPU_UNKNOWN;

	if (t->cpu != NO_CPU) {
		change(t, clock, BLOCKED);
		t->streams[off_cpu_runnable(why) ? PREEMPTED : VOLUNTARY]++;
		t->streams[YIELDS] += why == OFF_CPU_YIELDED;
	}
	t->at = clock;
	t->state = BLOCKED;
}

/* Woken at `clock`, or, if it stayed runnable, since it left the CPU. At `t0` it had been before.
 */
static void wake(const struct figures *f, struct figures_thread *t, uint64_t clock,
		 const struct event *ev)
{
	int32_t waker = ev->payload_size >= 4 ? get_i32(ev->payload) : 0;

	if (waker != NOT_PAUSED) {
		change(t, clock, RUNNABLE);
		t->streams[WAKEUPS] += waker != 0 && clock != f->t0;
		t->sleeps = waker == 0 && clock == f->t1;
	}
	t->state = RUNNABLE;
}

/* One switch has one clock: who leaves does so at t, who enters is written at t + 1. */
static void enter(const struct figures *f, struct figures_thread *t, uint64_t clock)
{
	if (t->cpu == NO_CPU) { /* it is closed here, at the clock of the end itself */
		if (t->early)
			t->before = clock - f->t0;
		change(t, clock, ACTIVE);
		return;
	}
	if (t->early)
		t->before = clock - f->t0;
	t->early = false;
	if (t->at == clock) { /* woken, nobody knows when: that event is at the switch, too */
		t->streams[BLOCKED]--;
		t->at--;
	}
	change(t, clock - 1, ACTIVE);
}

void figures_event(struct figures *f, uint32_t who, const struct event *ev)
{
	struct figures_thread *t;
	uint64_t clock = (uint64_t)ev->clock;

	if (!f->threads)
		return;
	if (ev->model == 'K' && ev->category == 'C')
		f->switches = false; /* told in another way, with other clocks */
	if (ev->model != 'O')
		return;
	t = &f->threads[who];
	if (ev->category == 'A' && ev->value == 's' && ev->payload_size >= 4) {
		int32_t to = get_i32(ev->payload);

		t->streams[MIGRATIONS] += t->cpu >= 0 && to >= 0;
		t->cpu = to;
	}
	if (ev->category != 'H')
		return;
	switch (ev->value) {
	case 'x':
		t->cpu = ev->payload_size >= 4 ? get_i32(ev->payload) : NO_CPU;
		t->at = clock == f->t0 ? clock : clock - 1;
		t->early = clock == f->t0 && t->cpu == NO_CPU;
		t->state = ACTIVE;
		break;
	case 'p':
		leave(t, clock, ev);
		break;
	case 'w':
		wake(f, t, clock, ev);
		break;
	case 'r':
		enter(f, t, clock);
		break;
	case 'e':
		change(t, clock, ACTIVE);
		break;
	default:
		break;
	}
}

/* ---- both ---- */

static int by_ids(const void *pa, const void *pb)
{
	const struct figures_thread *a = pa, *b = pb;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return a->tid < b->tid ? -1 : a->tid > b->tid;
}

/* Why the streams cannot be held against the counters; NULL if they can. */
static const char *obstacle(const struct figures *f, const struct survey *s)
{
	if (!f->sound)
		return "it breaks its own rules";
	if (!f->session)
		return "no stream tells of its session";
	if (f->part)
		return "it is that of all traces of its session";
	if (s->lost || s->missing || s->recovered || s->unfinished)
		return "events are missing in the streams";
	if (s->repairs)
		return "moves of threads had to be concluded";
	if (f->perf.unlisted.counters[STATS_ACTIVE_NS])
		return "not all threads that ran are listed";
	if (!f->switches)
		return "its switches are not those of the recorder, or were not recorded";
	return NULL;
}

/* Adds up the lines of each thread: one whose number is used again has several. Returns how many
 * ran and have no stream. */
static uint64_t take_counters(struct figures *f)
{
	uint64_t strangers = 0;

	for (size_t i = 0; i < f->perf.nsnapshots; i++) {
		const struct stats_snapshot *s = &f->perf.snapshots[i];
		struct figures_thread key = {.pid = (int64_t)s->pid, .tid = (int64_t)s->tid}, *t;

		if (s->scope != STATS_THREAD || s->interval)
			continue;
		t = bsearch(&key, f->threads, f->nthreads, sizeof(key), by_ids);
		if (!t) {
			strangers += s->counters[STATS_ACTIVE_NS] > 0;
			continue;
		}
		t->listed = true;
		t->life += s->counters[STATS_TOTAL_NS];
		for (size_t k = 0; k < NCOMPARED; k++)
			t->counters[k] += s->counters[compared[k]];
	}
	return strangers;
}

/* `ns` that the stream has as asleep were spent waiting for a CPU, or, below 0, the other way. */
static void swap(struct figures_thread *t, uint64_t ns)
{
	t->streams[RUNNABLE] += ns;
	t->streams[BLOCKED] -= ns;
	t->streams[WAKEUPS] = t->counters[WAKEUPS];
}

static uint64_t off_cpu(const uint64_t figures[NCOMPARED])
{
	return figures[RUNNABLE] + figures[BLOCKED];
}

/* Born before the window, and run first in it: the counters begin with that. */
static void begin_later(struct figures_thread *t)
{
	t->streams[RUNNABLE] = t->counters[RUNNABLE];
	t->streams[BLOCKED] = t->counters[BLOCKED];
	t->streams[WAKEUPS] = t->counters[WAKEUPS];
}

/*
 * Where the window opens and closes, streams and counters may know more than each other. Programs
 * are attached one after the other, so that of a thread off its CPU one of them may have missed
 * what happened last; a last wake-up is known to the counters also where the thread has ended
 * before it could be asked; and a thread that has not yet run in the window has a stream, but no
 * life. The sum of waiting and sleeping is the same in any case.
 */
static void allow_for_ends(struct figures_thread *t)
{
	uint64_t more = t->counters[RUNNABLE] - t->streams[RUNNABLE], less = 0 - more;
	bool waits = t->counters[RUNNABLE] > t->streams[RUNNABLE];

	if (!t->life) {
		memcpy(t->streams, t->counters, sizeof(t->streams));
		return;
	}
	if (t->before && off_cpu(t->streams) == off_cpu(t->counters) + t->before - 1)
		begin_later(t);
	else if (waits ? (t->sleeps || more <= t->before) && more <= t->streams[BLOCKED]
		       : less > 0 && less <= t->before)
		swap(t, more);
}

/* The first figure that differs, as a finding if it is among the first. */
static bool thread_agrees(const struct figures_thread *t, bool say, enum severity severity,
			  struct diagnostics *findings)
{
	for (size_t k = 0; k < NCOMPARED; k++) {
		if (t->streams[k] == t->counters[k])
			continue;
		if (say)
			diagnostics_add(findings, severity,
					STATS_FILE ": thread %lld of process %lld: %s is %llu, but "
						   "%llu in its stream",
					(long long)t->tid, (long long)t->pid,
					stats_counter_names[compared[k]], LLU(t->counters[k]),
					LLU(t->streams[k]));
		return false;
	}
	return true;
}

static uint64_t compare_threads(const struct figures *f, enum severity severity,
				struct diagnostics *findings)
{
	bool all = !f->perf.has_unlisted || !f->perf.unlisted.counters[STATS_THREADS];
	uint64_t wrong = 0;

	for (size_t i = 0; i < f->nthreads; i++) {
		struct figures_thread *t = &f->threads[i];

		if (t->listed) {
			allow_for_ends(t);
			wrong += !thread_agrees(t, wrong < SAID_MOST, severity, findings);
		} else if (all) {
			if (wrong++ < SAID_MOST)
				diagnostics_add(findings, severity,
						STATS_FILE
						": thread %lld of process %lld has a stream "
						"and no counters",
						(long long)t->tid, (long long)t->pid);
		}
	}
	if (wrong > SAID_MOST)
		diagnostics_add(findings, severity, STATS_FILE ": %llu more threads do not agree",
				LLU(wrong - SAID_MOST));
	return wrong;
}

bool figures_compare(struct figures *f, const struct survey *survey, enum severity severity,
		     struct diagnostics *findings)
{
	const char *why = obstacle(f, survey);
	uint64_t strangers;

	if (!f->there)
		return true;
	if (why) {
		diagnostics_add(findings, SEVERITY_NOTE,
				STATS_FILE " is not held against the streams: %s", why);
		return true;
	}
	if (f->perf.first_cycle.v != f->t0 || f->perf.end_cycle.v != f->t1) {
		diagnostics_add(findings, severity,
				STATS_FILE
				": its window is %llu to %llu, that of the streams %llu to "
				"%llu: it is of another recording",
				LLU(f->perf.first_cycle.v), LLU(f->perf.end_cycle.v), LLU(f->t0),
				LLU(f->t1));
		return false;
	}
	qsort(f->threads, f->nthreads, sizeof(*f->threads), by_ids);
	strangers = take_counters(f);
	if (strangers && !f->perf.samples)
		diagnostics_add(findings, severity,
				STATS_FILE ": %llu threads ran and have no stream", LLU(strangers));
	return !(compare_threads(f, severity, findings) | (strangers && !f->perf.samples));
}

void figures_free(struct figures *f)
{
	run_stats_free(&f->perf);
	free(f->threads);
	memset(f, 0, sizeof(*f));
}
