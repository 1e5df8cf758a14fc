/* SPDX-License-Identifier: MIT */
/*
 * report without a name: the overview, one screen about a trace.
 *
 *   ovni-bpf -a -d 5s  on node1: 2 CPUs, Linux 6.18.5 x86_64
 *   5.002 s, 9120 events of 14 threads in 6 processes; nothing lost
 *
 *   CPU     busy     idle  unknown  most of it
 *     1  99.31 %   0.69 %   0.00 %  noisy (1205) 61.20 %, latcrit (1204) 37.05 %
 *
 *   process, thread         run          waited           asleep    runs
 *   latcrit (1204)   1.853 s  37.0 %   2.250 s  45.0 %   0.899 s     480
 *
 *   Findings
 *   1. latcrit (1204) waited 45.0 % of 5.002 s for a CPU: 2.250 s; noisy (1205) ran 2.240 s of
 * that, on CPU 1 ovni-report preempt --tid 1204 ovni
 *
 * In: a trace, in one pass (findings.h, culprits.h, cpu_time.h); out: the screen, or one JSON
 * object with the same numbers. Names from the trace are escaped where they are printed.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/lib/losses.h"
#include "tools/report/reports.h"
#include "trace/analysis/findings.h"
#include "trace/base/array.h"
#include "trace/base/log.h"
#include "trace/base/text.h"
#include "trace/catalog/catalog.h"

#define THREADS_SHOWN  10
#define CPUS_SHOWN     8 /* more are summed up */
#define FINDINGS_SHOWN 6
#define RECORD_ALL     " (ovni-bpf -a does)"
#define MOST_SHOWN     3  /* threads in the line of a CPU */
#define CPU_FIGURES    48 /* columns of that line before them */

struct overview {
	struct report *report;
	const char *path;
	struct findings findings;
	struct losses losses;
	struct json *session; /* a copy of the metadata of the stream that has it; NULL: none */
	uint64_t unfinished, repairs;
	int64_t duration;
	bool others;	   /* threads that are not recorded may have run on a CPU */
	bool idle_unknown; /* of a CPU: idle time is within that of other threads */
};

/* ---- metadata ---- */

static int take_metadata(struct overview *o)
{
	const struct source *source = o->report->source;

	for (uint32_t i = 0; i < source->trace.nstreams; i++) {
		struct json *meta = trace_metadata(&source->trace, i);
		uint64_t repairs;

		if (!meta)
			return -EINVAL;
		o->unfinished += !source->owners[i].finished;
		losses_add(&o->losses, meta);
		if (json_u64(json_get(meta, "bpf.repairs"), &repairs))
			o->repairs += repairs;
		if (!o->session && json_is_object(json_get(meta, "bpf.session")))
			o->session = meta;
		else
			json_free(meta);
	}
	for (size_t i = 0; i < o->findings.cpus.ncpus; i++) {
		const struct cpu_time *cpu = &o->findings.cpus.cpus[i];

		o->others |= cpu->other != 0 || !cpu->idle_known;
		o->idle_unknown |= !cpu->idle_known;
	}
	return 0;
}

/* ---- words ---- */

static double percent(int64_t part, int64_t whole)
{
	return whole > 0 ? 100 * (double)part / (double)whole : 0;
}

static const struct owner *owner_of(const struct overview *o, uint32_t stream)
{
	return &o->report->source->owners[stream];
}

/* A party as a sentence names it; for free(). NULL without memory. */
static char *party_text(const struct overview *o, const struct finding_party *party)
{
	const struct owner *owner = owner_of(o, party->stream);
	const char *name = owner->name ? owner->name : "thread";

	switch (party->kind) {
	case PARTY_RANK:
		return xasprintf("rank %" PRId64 " (%s, %" PRId64 ")", party->rank, name,
				 owner->pid);
	case PARTY_PROCESS:
		return xasprintf("%s (%" PRId64 ")", name, owner->pid);
	case PARTY_CPU:
		return xasprintf("CPU %d", party->cpu);
	case PARTY_THREAD:
		if (party->rank >= 0 && owner->tid == owner->pid)
			return xasprintf("rank %" PRId64 " (%s, %" PRId64 ")", party->rank, name,
					 owner->tid);
		if (party->rank >= 0)
			return xasprintf("%s (%" PRId64 ") of rank %" PRId64, name, owner->tid,
					 party->rank);
		return xasprintf("%s (%" PRId64 ")", name, owner->tid);
	default:
		return strdup("");
	}
}

static bool has(const struct finding *finding, enum finding_number number)
{
	return finding->has >> number & 1;
}

/* The numbers of a finding as words. */
struct words {
	char of[DURATION_TEXT], time[DURATION_TEXT], by[DURATION_TEXT], most[DURATION_TEXT],
		mean[DURATION_TEXT], run[DURATION_TEXT], wait[DURATION_TEXT], asleep[DURATION_TEXT],
		cost[DURATION_TEXT];
	char where[32]; /* "on CPU 1", or "there" */
	char *who, *other;
};

static char *wait_text(const struct overview *o, const struct finding *finding,
		       const struct words *w)
{
	const int64_t *n = finding->numbers;
	char *begin, *end = NULL, *text = NULL;
	bool most_of_all = *w->other && n[NUMBER_RUN] >= n[NUMBER_BY] / 10 * 9;
	const char *them;

	if (has(finding, NUMBER_THREADS))
		begin = xasprintf(
			"%s: its threads waited %s for a CPU (%.1f %% of their time, %" PRId64
			" %s for more than %d %%)",
			w->who, w->time, percent(n[NUMBER_TIME], n[NUMBER_OF]), n[NUMBER_THREADS],
			plural((uint64_t)n[NUMBER_THREADS], "thread", "threads"),
			FINDING_WAIT_PERCENT);
	else
		begin = xasprintf("%s waited %.1f %% of %s for a CPU: %s", w->who,
				  percent(n[NUMBER_TIME], n[NUMBER_OF]), w->of, w->time);
	switch (finding->kind) {
	case FINDING_NEIGHBOUR:
	case FINDING_KERNEL:
		them = finding->kind == FINDING_KERNEL ? "kernel threads" : "other processes";
		if (most_of_all)
			end = xasprintf("%s ran %s for %s", w->other, w->where, w->run);
		else if (*w->other)
			end = xasprintf("%s ran %s for %s, %s longest: %s", them, w->where, w->by,
					w->other, w->run);
		else
			end = xasprintf("%s ran %s for %s", them, w->where, w->by);
		break;
	case FINDING_SHARED:
		if (most_of_all)
			end = xasprintf("%s of its own process ran %s for %s", w->other, w->where,
					w->run);
		else
			end = xasprintf("other threads of its own process ran %s for %s", w->where,
					w->by);
		break;
	case FINDING_RANKS_SHARE:
		end = xasprintf("%s ran there for %s: the ranks share %s",
				*w->other ? w->other : "other ranks", *w->other ? w->run : w->by,
				has(finding, NUMBER_CPU) ? w->where + strlen("on ") : "CPUs");
		break;
	case FINDING_IDLE:
		end = xasprintf("its CPU was idle for %s of that", w->by);
		break;
	default:
		if (has(finding, NUMBER_TAKER)) {
			char *taker = tid_names_of_tid(&o->report->names, finding->who.stream,
						       (int32_t)n[NUMBER_TAKER]);

			end = taker ? xasprintf("the trace does not tell which thread had the CPU "
						"for %s of that%s; %s took it %" PRId64 " %s",
						w->by, o->others ? RECORD_ALL : "", taker,
						n[NUMBER_COUNT],
						plural((uint64_t)n[NUMBER_COUNT], "time", "times"))
				    : NULL;
			free(taker);
		} else {
			end = xasprintf(
				"the trace does not tell which thread had the CPU for %s of "
				"that",
				w->by);
		}
		break;
	}
	if (begin && end)
		text = xasprintf("%s; %s", begin, end);
	free(begin);
	free(end);
	return text;
}

/* The name of an MPI function by its value in the channel. */
static const char *function_name(int64_t value)
{
	const struct catalog_model *model = catalog_model('M');

	for (size_t i = 0; model && i < model->nevents; i++)
		if (model->events[i].value == value && model->events[i].label)
			return model->events[i].label;
	return "MPI";
}

/* Any cgroup above that of the thread may have the quota, too, but not the root. */
static char *quota_text(const char *cgroup, const struct words *w)
{
	bool named = cgroup && cgroup[0] == '/' && cgroup[1];
	const char *above = named && strchr(cgroup + 1, '/') ? " or of a cgroup above it" : "";

	return xasprintf("%s was throttled by the CPU quota of %s%s: %s of %s", w->who,
			 named ? cgroup : "its cgroup", above, w->time, w->of);
}

static char *sentence_of(const struct overview *o, const struct finding *finding,
			 const struct words *w)
{
	const int64_t *n = finding->numbers;
	uint64_t threads = (uint64_t)n[NUMBER_THREADS], count = (uint64_t)n[NUMBER_COUNT];
	const char *inversion =
		finding->kind == FINDING_INVERSION
			? ": a priority inversion, if that CPU went to threads of lower priority "
			  "than those that slept (priorities are not recorded)"
			: "";

	switch (finding->kind) {
	case FINDING_QUOTA:
		return quota_text(owner_of(o, finding->who.stream)->cgroup, w);
	case FINDING_IMBALANCE:
		return xasprintf("%s: %s worked %s, the mean of %" PRIu64 " threads is %s (load "
				 "balance %.3f)",
				 w->who, w->other, w->most, threads, w->mean,
				 percent(n[NUMBER_MEAN], n[NUMBER_MOST]) / 100);
	case FINDING_RANK_IMBALANCE:
		return xasprintf("%s worked %s, the mean of %" PRIu64 " ranks is %s (load balance "
				 "%.3f)",
				 w->other, w->most, threads, w->mean,
				 percent(n[NUMBER_MEAN], n[NUMBER_MOST]) / 100);
	case FINDING_LOCK:
	case FINDING_INVERSION:
		if (threads > 1)
			return xasprintf("%s: its threads slept %s (%" PRIu64
					 " %s) for mutexes that %" PRIu64
					 " of them held, %s of it for those of %s; in the %s of "
					 "these holds, "
					 "the holders slept %s, ran %s and waited %s for a CPU%s",
					 w->who, w->time, count, plural(count, "time", "times"),
					 threads, w->most, w->other, w->by, w->asleep, w->run,
					 w->wait, inversion);
		return xasprintf("%s held a mutex, for which other threads slept %s (%" PRIu64
				 " %s); in the %s of these holds, it slept %s, ran %s and "
				 "waited %s for a CPU%s",
				 w->other, w->time, count, plural(count, "time", "times"), w->by,
				 w->asleep, w->run, w->wait, inversion);
	case FINDING_LATE_RANK:
		return xasprintf("%s spent %s in MPI, most of it in %s; meanwhile %s, outside of "
				 "MPI, computed for %s and waited %s for a CPU",
				 threads == 1 ? w->who : "other ranks", w->time,
				 function_name(n[NUMBER_FUNCTION]), w->other, w->run, w->wait);
	case FINDING_IO:
		return xasprintf("%s waited for I/O %.1f %% of %s: %s in %" PRIu64
				 " %s, at most %s",
				 w->who, percent(n[NUMBER_TIME], n[NUMBER_OF]), w->of, w->time,
				 count, plural(count, "sleep", "sleeps"), w->most);
	case FINDING_BLOCKED:
		return xasprintf("%s slept uninterruptibly %.1f %% of %s: %s, not for I/O: page "
				 "faults, locks of the kernel or vfork()",
				 w->who, percent(n[NUMBER_TIME], n[NUMBER_OF]), w->of, w->time);
	case FINDING_JITTER:
		return xasprintf("%s runs every %s, but was late %" PRIu64 " of %" PRIu64
				 " times; at worst %s after the run before, of which it waited %s "
				 "for a CPU",
				 w->who, w->mean, count, threads, w->most, w->wait);
	case FINDING_STEAL:
		return xasprintf("the hypervisor took %s of %s (%.1f %%) from %s: run times there "
				 "contain it",
				 w->time, w->of, percent(n[NUMBER_TIME], n[NUMBER_OF]), w->who);
	default:
		return wait_text(o, finding, w);
	}
}

/* The finding as a sentence; for free(). NULL without memory. */
static char *finding_text(const struct overview *o, const struct finding *finding)
{
	const int64_t *n = finding->numbers;
	struct words w = {.who = party_text(o, &finding->who),
			  .other = party_text(o, &finding->by)};
	char *text = NULL;

	duration_words(w.of, n[NUMBER_OF]);
	duration_words(w.time, n[NUMBER_TIME]);
	duration_words(w.by, n[NUMBER_BY]);
	duration_words(w.most, n[NUMBER_MOST]);
	duration_words(w.mean, n[NUMBER_MEAN]);
	duration_words(w.run, n[NUMBER_RUN]);
	duration_words(w.wait, n[NUMBER_WAIT]);
	duration_words(w.asleep, n[NUMBER_SLEEP]);
	if (has(finding, NUMBER_CPU))
		snprintf(w.where, sizeof(w.where), "on CPU %" PRId64, n[NUMBER_CPU]);
	else
		strcpy(w.where, "there");
	if (w.who && w.other)
		text = sentence_of(o, finding, &w);
	free(w.who);
	free(w.other);
	return text;
}

/* A path as a shell takes it. */
static char *shell_word(const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_./+-:,@%";
	struct bytes text = {0};

	if (*word && strspn(word, plain) == strlen(word))
		return strdup(word);
	bytes_put(&text, "'", 1);
	for (; *word; word++) {
		if (*word == '\'')
			bytes_put(&text, "'\\'", 3);
		bytes_put(&text, word, 1);
	}
	bytes_put(&text, "'", 2);
	if (text.failed) {
		bytes_free(&text);
		return NULL;
	}
	return (char *)text.data;
}

/* The options of the part of the recording; "" for all of it. */
static void part_text(const struct overview *o, char text[96])
{
	const struct filter *filter = o->report->filter;
	char from[40] = "", to[40] = "";

	if (filter->from.given)
		snprintf(from, sizeof(from), " --from %" PRId64, filter->first);
	if (filter->to.given)
		snprintf(to, sizeof(to), " --to %" PRId64, filter->last);
	snprintf(text, 96, "%s%s", from, to);
}

/* The command that shows more about a finding; for free(). NULL without memory. */
static char *finding_command(const struct overview *o, const struct finding *finding)
{
	static const char *const reports[FINDING_KINDS] = {
		[FINDING_NEIGHBOUR] = "preempt",
		[FINDING_SHARED] = "preempt",
		[FINDING_RANKS_SHARE] = "preempt",
		[FINDING_KERNEL] = "preempt",
		[FINDING_IDLE] = "latency",
		[FINDING_UNKNOWN] = "preempt",
		[FINDING_QUOTA] = "why",
		[FINDING_IMBALANCE] = "why",
		[FINDING_RANK_IMBALANCE] = "why --by rank",
		[FINDING_LOCK] = "func --by thread",
		[FINDING_INVERSION] = "func --by thread",
		[FINDING_LATE_RANK] = "func --by rank",
		[FINDING_IO] = "why",
		[FINDING_BLOCKED] = "why",
		[FINDING_JITTER] = "timehist",
		[FINDING_STEAL] = "cpu",
	};
	const struct finding_party *party = &finding->who;
	const struct owner *owner = owner_of(o, party->stream);
	char *path = shell_word(o->path), *text = NULL, part[96];
	const char *report = reports[finding->kind];
	int64_t at = finding->numbers[NUMBER_MOST_AT];

	part_text(o, part);
	if (finding->kind == FINDING_JITTER) /* the run before, and the late one */
		snprintf(part, sizeof(part), " --from +%" PRId64 "ns --to +%" PRId64 "ns",
			 clock_distance(clock_sum(finding->numbers[NUMBER_MOST], 1000000), at),
			 clock_sum(at, 1000000));
	if (!path)
		return NULL;
	if (finding->kind == FINDING_STEAL || finding->kind == FINDING_RANK_IMBALANCE ||
	    finding->kind == FINDING_LATE_RANK)
		text = xasprintf("ovni-report %s%s %s", report, part, path);
	else if (party->kind == PARTY_THREAD)
		text = xasprintf("ovni-report %s --tid %" PRId64 "%s %s", report, owner->tid, part,
				 path);
	else
		text = xasprintf("ovni-report %s --pid %" PRId64 "%s %s", report, owner->pid, part,
				 path);
	free(path);
	return text;
}

/* ---- what the trace cannot tell ---- */

/* One line; for free(). NULL without memory. */
static char *notes_text(const struct overview *o)
{
	const struct findings *f = &o->findings;
	bool threads = false, ranks = false;

	for (size_t i = 0; i < f->nprocesses; i++) {
		threads |= f->processes[i].nthreads > 1;
		ranks |= f->processes[i].rank >= 0;
	}
	return xasprintf("not recorded: %s%s%s%sthe time of interrupts (it counts as run time)",
			 o->others ? "threads outside of the target (-a), " : "",
			 threads && !f->locks ? "mutexes (--api pthread), " : "",
			 ranks && !f->mpi ? "MPI (--api mpi), " : "",
			 threads && !f->openmp ? "OpenMP (--api openmp), " : "");
}

/* ---- text ---- */

static void put_escaped(struct printer *out, const char *text)
{
	printer_escaped(out, text, strlen(text));
}

/* Prints words; lines after the first one begin in column `indent`. */
static void put_wrapped(struct printer *out, const char *text, int at, int indent, int columns)
{
	while (*text) {
		size_t blanks = strspn(text, " "), word = strcspn(text + blanks, " ");
		int width = (int)(blanks + text_escape(NULL, 0, text + blanks, word));

		if (at + width > columns && at > indent) {
			printer_format(out, "\n%*s", indent, "");
			at = indent;
			width -= (int)blanks;
			text += blanks;
			blanks = 0;
		}
		printer_escaped(out, text, blanks + word);
		at += width;
		text += blanks + word;
	}
	printer_text(out, "\n");
}

/* The arguments of the recorder; for free(). NULL without memory. */
static char *command_line(const struct overview *o)
{
	char *text = strdup("");
	const struct json *node;

	for (node = json_first(json_get(o->session, "bpf.session.options")); node && text;
	     node = json_next(node)) {
		char *word = shell_word(json_string(node) ? json_string(node) : "");
		char *more = word ? xasprintf("%s%s%s", text, *text ? " " : "", word) : NULL;

		free(word);
		free(text);
		text = more;
	}
	return text;
}

/* "2026-11-22 03:12:05 +0100", when the window began where it was recorded, or its part; "" if the
 * trace does not say. */
static void start_text(const struct overview *o, char *text, size_t size)
{
	const struct json *session = json_get(o->session, "bpf.session");
	const struct json *realtime = json_key(session, "realtime");
	int64_t ns, clock, offset = json_int(json_key(realtime, "utc_offset"));
	int64_t minutes = (offset < 0 ? -offset : offset) / 60;
	struct tm tm;
	time_t local;

	*text = '\0';
	if (!json_i64(json_get(realtime, "begin.ns"), &ns) || minutes >= 24 * 60)
		return;
	if (o->findings.part && !json_i64(json_get(realtime, "begin.clock"), &clock))
		return;
	if (o->findings.part)
		ns = clock_sum(ns, clock_distance(clock, o->findings.cpus.t0));
	if (ns < 0)
		return;
	local = (time_t)(ns / 1000000000 + offset);
	if (gmtime_r(&local, &tm) && strftime(text, size, ", from %Y-%m-%d %H:%M:%S", &tm))
		snprintf(text + strlen(text), size - strlen(text), " %c%02d%02d",
			 offset < 0 ? '-' : '+', (int)(minutes / 60), (int)(minutes % 60));
}

static int print_head(const struct overview *o, struct printer *out, int columns)
{
	const struct json *session = json_get(o->session, "bpf.session");
	const char *kernel = json_string(json_key(session, "kernel"));
	const char *machine = json_string(json_key(session, "machine"));
	size_t nstreams = o->report->source->trace.nstreams;
	const char *loom = nstreams ? owner_of(o, 0)->loom : NULL;
	char *command = command_line(o), *host = NULL, *amount = NULL;
	char length[DURATION_TEXT], start[64];
	int err = -ENOMEM;

	start_text(o, start, sizeof(start));
	if (!command)
		goto out;
	host = xasprintf("%s: %s%s%zu %s%s%s%s%s", o->path, loom ? loom : "", loom ? ", " : "",
			 o->findings.cpus.ncpus, plural(o->findings.cpus.ncpus, "CPU", "CPUs"),
			 kernel ? ", Linux " : "", kernel ? kernel : "", machine ? " " : "",
			 machine ? machine : "");
	amount = xasprintf("%s%s%s, %" PRIu64 " %s of %zu %s in %zu %s",
			   duration_words(length, o->duration),
			   o->findings.part ? " of the recording" : "", start, o->findings.events,
			   plural(o->findings.events, "event", "events"), nstreams,
			   plural(nstreams, "thread", "threads"), o->findings.nprocesses,
			   plural(o->findings.nprocesses, "process", "processes"));
	if (!host || !amount)
		goto out;
	put_wrapped(out, host, 0, 2, columns);
	if (*command) {
		printer_text(out, "  ");
		put_wrapped(out, command, 2, 4, columns);
	}
	printer_text(out, "  ");
	put_wrapped(out, amount, 2, 4, columns);
	err = 0;
out:
	free(command);
	free(host);
	free(amount);
	return err;
}

/* Whether something is missing in the trace. */
static bool is_incomplete(const struct overview *o)
{
	return o->losses.events || o->losses.records || o->losses.recovered || o->unfinished;
}

static void print_losses(const struct overview *o, struct printer *out)
{
	const struct losses *l = &o->losses;

	if (l->events)
		printer_format(out, "  LOST: %" PRIu64 " %s; the times around them are unknown\n",
			       l->events, plural(l->events, "event", "events"));
	if (l->records)
		printer_format(out, "  LOST: %" PRIu64 " %s\n", l->records,
			       plural(l->records, "record", "records"));
	if (l->recovered)
		printer_format(out, "  CLOSED after a crash: %" PRIu64 " %s, without its end\n",
			       l->recovered, plural(l->recovered, "stream", "streams"));
	if (o->unfinished)
		printer_format(out, "  UNFINISHED: %" PRIu64 " %s (see ovni-check --repair)\n",
			       o->unfinished, plural(o->unfinished, "stream", "streams"));
	if (!is_incomplete(o))
		printer_text(out, o->session ? "  nothing lost\n"
					     : "  losses: the trace does not say\n");
	if (o->repairs)
		printer_format(out,
			       "  %" PRIu64
			       " %s of switches that contradict each other: times there are "
			       "uncertain\n",
			       o->repairs, plural(o->repairs, "repair", "repairs"));
}

/* ---- text: CPUs ---- */

#define CPU_COLUMNS(used, busy, rest, free)                                                        \
	{"cpu", "CPU", CELL_TEXT, 4}, {used, busy, CELL_PERCENT, 7},                               \
		{rest, free, CELL_PERCENT, 7}, {"unknown", "unknown %", CELL_PERCENT, 7},          \
		{"steal", "steal %", CELL_PERCENT, 7}, {"most", "most of it", CELL_TEXT, 10},

static const struct table_column cpu_columns[] = {CPU_COLUMNS("busy", "busy %", "idle", "idle %")};
/* Where idle time is not known, the recorded threads alone are shown as using the CPU. */
static const struct table_column recorded_columns[] = {
	CPU_COLUMNS("recorded", "recorded %", "other_or_idle", "other or idle %")};

static int64_t thousandths(int64_t part, int64_t whole)
{
	return (int64_t)(1000 * percent(part, whole));
}

static int by_time(const void *pa, const void *pb)
{
	const struct cpu_span *a = pa, *b = pb;

	if (a->ns != b->ns)
		return a->ns < b->ns ? 1 : -1;
	return a->stream < b->stream ? -1 : a->stream > b->stream;
}

/* The threads with the most time on a CPU; for free(). NULL without memory. */
static char *most_of_cpu(const struct overview *o, const struct cpu_time *cpu)
{
	struct cpu_span top[MOST_SHOWN] = {{0}};
	char *text = strdup("");
	size_t n = 0;

	for (size_t i = 0; i < o->findings.cpus.nspans; i++) {
		const struct cpu_span *p = &o->findings.cpus.spans[i];
		const char *loom = owner_of(o, p->stream)->loom;

		if (p->cpu != cpu->cpu || strcmp(loom ? loom : "", cpu->loom) != 0)
			continue;
		if (n < MOST_SHOWN)
			top[n++] = *p;
		else if (p->ns > top[MOST_SHOWN - 1].ns)
			top[MOST_SHOWN - 1] = *p;
		else
			continue;
		qsort(top, n, sizeof(*top), by_time);
	}
	for (size_t i = 0; i < n && text && percent(top[i].ns, cpu->window) >= 1; i++) {
		char *name = tid_names_of_stream(&o->report->names, top[i].stream);
		char *more = name ? xasprintf("%s%s%s %.1f %%", text, *text ? ", " : "", name,
					      percent(top[i].ns, cpu->window))
				  : NULL;
		bool fits = !more || CPU_FIGURES + (int)strlen(more) <= o->report->terminal.columns;

		free(name);
		if (!fits && *text) {
			free(more);
			break;
		}
		free(text);
		text = more;
	}
	return text;
}

/* ns that the hypervisor took from a CPU, or CELL_UNKNOWN. */
static int64_t steal_of(const struct overview *o, const struct cpu_time *cpu)
{
	for (size_t i = 0; i < o->findings.nsteal && !o->findings.part; i++) {
		const struct cpu_steal *steal = &o->findings.steal[i];
		const char *loom = owner_of(o, steal->stream)->loom;

		if (steal->cpu == cpu->cpu && !strcmp(loom ? loom : "", cpu->loom))
			return steal->ns;
	}
	return CELL_UNKNOWN;
}

/* ns that a CPU was busy, or, where idle time is not known, ran threads of the trace. */
static int64_t used_of(const struct overview *o, const struct cpu_time *cpu)
{
	return clock_sum(cpu->threads, o->idle_unknown ? 0 : cpu->other);
}

/* Takes the ownership of the texts. */
static int add_cpu(const struct overview *o, struct table *table, char *label,
		   const struct cpu_time *cpu, int64_t steal, char *most)
{
	int64_t used = used_of(o, cpu);
	int64_t rest = clock_sum(cpu->idle, o->idle_unknown ? cpu->other : 0);
	union cell row[] = {
		{.text = NULL},
		{.number = thousandths(used, cpu->window)},
		{.number = thousandths(rest, cpu->window)},
		{.number = thousandths(cpu->unknown, cpu->window)},
		{.number = steal == CELL_UNKNOWN ? steal : thousandths(steal, cpu->window)},
		{.text = NULL},
	};

	row[0].text = label;
	row[5].text = most;
	return table_add(table, row);
}

/* One row for all CPUs of a loom, with their busiest one. */
static int add_cpu_sum(const struct overview *o, struct table *table, size_t from, size_t to)
{
	const struct cpu_time *cpus = o->findings.cpus.cpus;
	struct cpu_time sum = {0};
	size_t busiest = from, least = from;
	int64_t steal = CELL_UNKNOWN;

	for (size_t i = from; i < to; i++) {
		sum.threads = clock_sum(sum.threads, cpus[i].threads);
		sum.other = clock_sum(sum.other, cpus[i].other);
		sum.idle = clock_sum(sum.idle, cpus[i].idle);
		sum.unknown = clock_sum(sum.unknown, cpus[i].unknown);
		sum.window = clock_sum(sum.window, cpus[i].window);
		if (steal_of(o, &cpus[i]) != CELL_UNKNOWN)
			steal = clock_sum(steal == CELL_UNKNOWN ? 0 : steal, steal_of(o, &cpus[i]));
		if (used_of(o, &cpus[i]) > used_of(o, &cpus[busiest]))
			busiest = i;
		if (used_of(o, &cpus[i]) < used_of(o, &cpus[least]))
			least = i;
	}
	if (add_cpu(o, table, xasprintf("all %zu", to - from), &sum, steal,
		    xasprintf("of %s", cpus[from].loom)) ||
	    add_cpu(o, table, xasprintf("most: %d", cpus[busiest].cpu), &cpus[busiest],
		    steal_of(o, &cpus[busiest]), most_of_cpu(o, &cpus[busiest])))
		return -ENOMEM;
	return add_cpu(o, table, xasprintf("least: %d", cpus[least].cpu), &cpus[least],
		       steal_of(o, &cpus[least]), most_of_cpu(o, &cpus[least]));
}

static int print_cpus(const struct overview *o, struct printer *out)
{
	const struct cpu_time *cpus = o->findings.cpus.cpus;
	struct table table;
	int err = 0;

	table_init(&table, o->idle_unknown ? recorded_columns : cpu_columns,
		   sizeof(cpu_columns) / sizeof(cpu_columns[0]), TABLE_TEXT, out);
	for (size_t i = 0, next; i < o->findings.cpus.ncpus; i = next) {
		for (next = i + 1; next < o->findings.cpus.ncpus; next++)
			if (strcmp(cpus[i].loom, cpus[next].loom) != 0)
				break;
		if (o->findings.cpus.ncpus > CPUS_SHOWN) {
			err = add_cpu_sum(o, &table, i, next);
			if (err)
				goto out;
			continue;
		}
		for (size_t cpu = i; cpu < next; cpu++) {
			err = add_cpu(o, &table, xasprintf("%d", cpus[cpu].cpu), &cpus[cpu],
				      steal_of(o, &cpus[cpu]), most_of_cpu(o, &cpus[cpu]));
			if (err)
				goto out;
		}
	}
	table_print(&table, 0);
out:
	table_fini(&table);
	return err;
}

/* ---- text: threads ---- */

static const struct table_column thread_columns[] = {
	{"thread", "process, thread", CELL_TEXT, 24}, {"run", "run", CELL_DURATION, 9},
	{"run_percent", "%", CELL_PERCENT, 6},	      {"wait", "waited", CELL_DURATION, 9},
	{"wait_percent", "%", CELL_PERCENT, 6},	      {"runs", "runs", CELL_COUNT, 5},
	{"asleep", "asleep", CELL_DURATION, 9}, /* not on a narrow terminal */
};
#define THREAD_COLUMNS (sizeof(thread_columns) / sizeof(thread_columns[0]))
#define WIDE	       88

/* ns that a thread ran or wanted to. */
static int64_t wanted(const struct thread_use *use)
{
	return clock_sum(use->run, clock_sum(use->waited, use->throttled));
}

static int by_wanted(const void *pa, const void *pb, void *arg)
{
	const struct thread_use *threads = arg;
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
	int64_t x = wanted(&threads[a]), y = wanted(&threads[b]);

	if (x != y)
		return x < y ? 1 : -1;
	return a < b ? -1 : a > b;
}

/* All streams, those that ran or waited most first; NULL without memory. */
static uint32_t *order_threads(const struct overview *o)
{
	size_t n = o->report->source->trace.nstreams;
	uint32_t *order = calloc(n + 1, sizeof(*order));

	for (uint32_t i = 0; order && i < n; i++)
		order[i] = i;
	if (order && n)
		qsort_r(order, n, sizeof(*order), by_wanted, o->findings.threads);
	return order;
}

/* Takes the ownership of the label. `life` is what the percentages are of. */
static int add_use(struct table *table, char *label, const struct thread_use *use, int64_t life,
		   int64_t asleep)
{
	int64_t waited = clock_sum(use->waited, use->throttled);
	union cell row[] = {
		{.text = NULL},
		{.number = use->run},
		{.number = thousandths(use->run, life)},
		{.number = waited},
		{.number = thousandths(waited, life)},
		{.number = (int64_t)use->runs},
		{.number = asleep},
	};

	row[0].text = label;
	return table_add(table, row);
}

static int add_process(const struct overview *o, struct table *table, uint32_t process)
{
	const struct process_use *p = &o->findings.processes[process];
	const struct owner *owner = owner_of(o, p->stream);
	struct thread_use sum = {.run = p->run, .waited = p->waited, .throttled = p->throttled};
	const char *name = owner->name ? owner->name : "process";
	char rank[40] = "";

	if (p->rank >= 0)
		snprintf(rank, sizeof(rank), "rank %" PRId64 ", ", p->rank);
	for (size_t i = 0; i < o->report->source->trace.nstreams; i++)
		if (o->findings.threads[i].process == process)
			sum.runs += o->findings.threads[i].runs;
	return add_use(table,
		       xasprintf("%s (%" PRId64 "), %s%" PRIu32 " threads", name, owner->pid, rank,
				 p->nthreads),
		       &sum, p->life, p->sleep);
}

/* A thread of a process with several is below its process. */
static int add_thread(const struct overview *o, struct table *table, uint32_t stream)
{
	const struct thread_use *use = &o->findings.threads[stream];
	const struct process_use *p = &o->findings.processes[use->process];
	char *name = tid_names_of_stream(&o->report->names, stream), *label = NULL;

	if (name && p->nthreads > 1)
		label = xasprintf("  %s", name);
	else if (name && p->rank >= 0)
		label = xasprintf("%s, rank %" PRId64, name, p->rank);
	else if (name)
		label = strdup(name);
	free(name);
	return add_use(table, label, use, use->life, thread_use_sleep(use));
}

static int print_threads(const struct overview *o, struct printer *out)
{
	const struct thread_use *threads = o->findings.threads;
	size_t n = o->report->source->trace.nstreams, shown = 0;
	uint32_t *order = order_threads(o);
	struct table table;
	int err = 0;

	if (!order)
		return -ENOMEM;
	table_init(&table, thread_columns,
		   o->report->terminal.columns < WIDE ? THREAD_COLUMNS - 1 : THREAD_COLUMNS,
		   TABLE_TEXT, out);
	while (shown < n && shown < THREADS_SHOWN && wanted(&threads[order[shown]]))
		shown++;
	/* a process is where its first thread is */
	for (size_t i = 0; i < shown; i++) {
		uint32_t process = threads[order[i]].process;
		bool done = false;

		for (size_t before = 0; before < i && !done; before++)
			done = threads[order[before]].process == process;
		if (done)
			continue;
		if (o->findings.processes[process].nthreads > 1)
			err = add_process(o, &table, process);
		if (err)
			goto out;
		for (size_t j = i; j < shown; j++) {
			if (threads[order[j]].process == process)
				err = add_thread(o, &table, order[j]);
			if (err)
				goto out;
		}
	}
	table_print(&table, 0);
	if (n > shown)
		printer_format(out, "  and %zu %s with less (ovni-report latency)\n", n - shown,
			       plural(n - shown, "thread", "threads"));
out:
	table_fini(&table);
	free(order);
	return err;
}

/* ---- text: findings ---- */

static int print_findings(const struct overview *o, struct printer *out, int columns)
{
	const struct findings *f = &o->findings;
	char least[DURATION_TEXT], *notes = notes_text(o);
	int64_t threshold = o->duration / 1000 * FINDING_PERMILLE;

	if (!notes)
		return -ENOMEM;
	duration_words(least, threshold > FINDING_LEAST ? threshold : FINDING_LEAST);
	if (f->n && f->targets)
		printer_format(out,
			       "Findings about the command first, then about other processes\n");
	else if (f->n)
		printer_format(out, "Findings, the most expensive first\n");
	else
		printer_format(out,
			       "No finding: no wait, lock, imbalance or delay cost %s or more\n"
			       "(thresholds: ovni-report(1))\n",
			       least);
	for (size_t i = 0; i < f->n && i < FINDINGS_SHOWN; i++) {
		char *text = finding_text(o, &f->list[i]);
		char *command = finding_command(o, &f->list[i]);

		if (text && command) {
			printer_format(out, "%zu. ", i + 1);
			put_wrapped(out, text, 3, 3, columns);
			printer_text(out, "     ");
			put_escaped(out, command);
			printer_text(out, "\n");
		}
		free(text);
		free(command);
		if (!text || !command) {
			free(notes);
			return -ENOMEM;
		}
	}
	if (f->n > FINDINGS_SHOWN)
		printer_format(out, "and %zu more, of less cost (--json has all)\n",
			       f->n - FINDINGS_SHOWN);
	put_wrapped(out, notes, 0, 2, columns);
	free(notes);
	return 0;
}

static int print_text(const struct overview *o, struct printer *out, int columns)
{
	int err = print_head(o, out, columns);

	if (err)
		return err;
	print_losses(o, out);
	printer_text(out, "\n");
	err = print_cpus(o, out);
	if (err)
		return err;
	printer_text(out, "\n");
	err = print_threads(o, out);
	if (err)
		return err;
	printer_text(out, "\n");
	return print_findings(o, out, columns);
}

/* ---- JSON ---- */

static void put_owner(struct json *to, const struct overview *o, uint32_t stream)
{
	const struct owner *owner = owner_of(o, stream);
	const struct process_use *p = &o->findings.processes[o->findings.threads[stream].process];

	json_put_int(to, "pid", owner->pid);
	json_put_int(to, "tid", owner->tid);
	json_put_string(to, "name", owner->name);
	json_put_string(to, "loom", owner->loom);
	if (p->rank >= 0)
		json_put_int(to, "rank", p->rank);
}

static void put_party(struct json *to, const struct overview *o, const char *key,
		      const struct finding_party *party)
{
	static const char *const kinds[] = {[PARTY_THREAD] = "thread",
					    [PARTY_PROCESS] = "process",
					    [PARTY_RANK] = "rank",
					    [PARTY_CPU] = "cpu"};
	struct json *node;

	if (party->kind == PARTY_NONE)
		return;
	node = json_put_object(to, key);
	json_put_string(node, "kind", kinds[party->kind]);
	if (party->kind == PARTY_CPU) {
		json_put_int(node, "cpu", party->cpu);
		json_put_string(node, "loom", owner_of(o, party->stream)->loom);
	} else {
		put_owner(node, o, party->stream);
	}
}

static void put_findings(struct json *doc, const struct overview *o)
{
	struct json *list = json_put_array(doc, "findings");

	for (size_t i = 0; i < o->findings.n; i++) {
		const struct finding *finding = &o->findings.list[i];
		char *text = finding_text(o, finding), *command = finding_command(o, finding);
		struct json *node = json_put_object(list, NULL), *numbers;

		json_put_string(node, "kind", finding_names[finding->kind]);
		json_put_int(node, "cost_ns", finding->cost);
		if (o->findings.targets)
			json_put_bool(node, "target", finding->target);
		put_party(node, o, "who", &finding->who);
		put_party(node, o, "by", &finding->by);
		numbers = json_put_object(node, "numbers");
		for (enum finding_number number = 0; number < NUMBERS; number++)
			if (has(finding, number))
				json_put_int(numbers, finding_number_names[number],
					     finding->numbers[number]);
		json_put_string(node, "text", text ? text : "");
		json_put_string(node, "command", command ? command : "");
		free(text);
		free(command);
	}
}

static void put_threads(struct json *doc, const struct overview *o, const uint32_t *order)
{
	struct json *list = json_put_array(doc, "threads");

	for (size_t i = 0; i < o->report->source->trace.nstreams; i++) {
		const struct thread_use *use = &o->findings.threads[order[i]];
		struct json *node = json_put_object(list, NULL);

		put_owner(node, o, order[i]);
		json_put_int(node, "run_ns", use->run);
		json_put_int(node, "wait_ns", use->waited);
		json_put_int(node, "throttled_ns", use->throttled);
		json_put_int(node, "asleep_ns", thread_use_sleep(use));
		json_put_int(node, "io_ns", use->sleep[OFF_CPU_IO]);
		json_put_int(node, "uninterruptible_ns", use->sleep[OFF_CPU_UNINTERRUPTIBLE]);
		json_put_int(node, "runs", (int64_t)use->runs);
		json_put_int(node, "life_ns", use->life);
		json_put_int(node, "wait_max_ns", use->wait_most);
	}
}

static void put_cpus(struct json *doc, const struct overview *o)
{
	struct json *list = json_put_array(doc, "cpus");

	for (size_t i = 0; i < o->findings.cpus.ncpus; i++) {
		const struct cpu_time *cpu = &o->findings.cpus.cpus[i];
		struct json *node = json_put_object(list, NULL);

		json_put_string(node, "loom", cpu->loom);
		json_put_int(node, "cpu", cpu->cpu);
		json_put_int(node, "window_ns", cpu->window);
		json_put_int(node, "threads_ns", cpu->threads);
		json_put_int(node, cpu->idle_known ? "other_ns" : "other_or_idle_ns", cpu->other);
		if (cpu->idle_known)
			json_put_int(node, "idle_ns", cpu->idle);
		json_put_int(node, "unknown_ns", cpu->unknown);
		if (steal_of(o, cpu) != CELL_UNKNOWN)
			json_put_int(node, "steal_ns", steal_of(o, cpu));
	}
}

static int print_json(const struct overview *o, struct printer *out)
{
	static const char *const keys[] = {"version", "kernel", "machine", "mode",
					   "t0",      "t1",	"trigger", "stopped_by"};
	const struct json *session = json_get(o->session, "bpf.session");
	struct json *doc = json_new_object();
	uint32_t *order = order_threads(o);
	int64_t realtime;
	char *command = command_line(o), *notes = notes_text(o), *text = NULL;
	int err = -ENOMEM;

	if (!order || !command || !notes)
		goto out;
	json_put_int(doc, "version", 1);
	json_put_string(doc, "trace", o->path);
	for (size_t i = 0; session && i < sizeof(keys) / sizeof(keys[0]); i++) {
		char key[40];

		snprintf(key, sizeof(key), "session.%s", keys[i]);
		json_put_string(doc, key, json_string(json_key(session, keys[i])));
	}
	if (*command)
		json_put_string(doc, "session.command", command);
	json_put_int(doc, "duration_ns", o->duration);
	if (o->findings.part) {
		json_put_i64(doc, "from", o->findings.cpus.t0);
		json_put_i64(doc, "to", o->findings.cpus.t1);
	}
	if (json_i64(json_get(session, "realtime.begin.ns"), &realtime))
		json_put_i64(doc, "session.realtime_begin_ns", realtime);
	json_put_int(doc, "events", (int64_t)o->findings.events);
	json_put_int(doc, "lost", (int64_t)(o->losses.events + o->losses.records));
	json_put_int(doc, "repairs", (int64_t)o->repairs);
	json_put_bool(doc, "complete", !is_incomplete(o));
	put_cpus(doc, o);
	put_threads(doc, o, order);
	put_findings(doc, o);
	json_put_string(doc, "not_recorded", notes);
	text = json_text(doc);
	if (!text)
		goto out;
	printer_text(out, text);
	err = 0;
out:
	free(text);
	free(order);
	free(command);
	free(notes);
	json_free(doc);
	return err;
}

static int print(struct report *report, const char *path)
{
	struct overview o = {.report = report, .path = path};
	int err, printed;

	if (!report->source->trace.nstreams) {
		log_error("%s: no stream is in this directory: it is no trace", path);
		return -ENOENT;
	}
	err = findings_read(&o.findings, report->source,
			    report->filter->from.given ? report->filter->first : INT64_MIN,
			    report->filter->to.given ? report->filter->last : INT64_MAX);
	if (!o.findings.complete)
		goto out;
	o.duration = clock_distance(o.findings.cpus.t0, o.findings.cpus.t1);
	report_output(report);
	printed = take_metadata(&o);
	if (!printed && report->table.format == TABLE_JSON)
		printed = print_json(&o, report->table.out);
	else if (!printed)
		printed = print_text(&o, report->table.out, report->terminal.columns);
	report->incomplete = is_incomplete(&o);
	err = printed ? printed : err;
out:
	findings_fini(&o.findings);
	json_free(o.session);
	return err;
}

const struct report_kind report_overview = {
	.name = "overview",
	.names = true,
	.print = print,
};
